"""The tables of the ledger, under the name that notebooks import."""

from .ledger.page import table, totals

__all__ = ["table", "totals"]
