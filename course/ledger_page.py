"""The tables of the ledger, under the name that notebooks import."""

from .ledger.page import overview, table, totals, verdicts

__all__ = ["overview", "table", "totals", "verdicts"]
