"""The ledger of published numbers: load it, compare with it, close it.

A ledger holds every figure that one source gives on its subject, as printed,
and what became of it. A chapter computes each figure and calls
`Ledger.compare`; the verdict follows from the two numbers, and the one on file
must agree. `helpers.ledger_page` shows ledgers as tables, and `helpers.ledger`
holds the parts of both.
"""

from .ledger.beside import beside
from .ledger.entries import FIGURES, STATEMENTS, Entry, errata
from .ledger.errors import LedgerError
from .ledger.files import FOLDER
from .ledger.ledger import Ledger, basis, load, summary
from .ledger.nested import leaves, shape
from .ledger.numerals import exact, matches, unit
from .ledger.rules import check

__all__ = [
    "FIGURES",
    "FOLDER",
    "STATEMENTS",
    "Entry",
    "Ledger",
    "LedgerError",
    "basis",
    "beside",
    "check",
    "errata",
    "exact",
    "leaves",
    "load",
    "matches",
    "shape",
    "summary",
    "unit",
]
