"""The ledger of published numbers: load it, compare with it, close it.

A ledger contains every figure that one source gives on its subject, as
printed, with a verdict. A chapter computes each figure and calls
`Ledger.compare`; the verdict follows from the two numbers, and must agree with
the stored verdict. `course.ledger_page` shows ledgers as tables, and
`course.ledger` contains the parts of both.
"""

from .ledger.beside import beside
from .ledger.entries import FIGURES, STATEMENTS, Entry, errata
from .ledger.errors import LedgerError
from .ledger.files import FOLDER
from .ledger.ledger import Ledger, basis, load, summary
from .ledger.nested import leaves, shape
from .ledger.numerals import exact, matches, unit
from .ledger.rules import check
from .ledger.show import told

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
    "told",
    "unit",
]
