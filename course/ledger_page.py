"""The tables of the ledger, under the name that notebooks import."""

from .ledger.page import overview, table, totals, verdicts
from .ledger.wall import puzzle, wall

__all__ = ["overview", "puzzle", "table", "totals", "verdicts", "wall"]
