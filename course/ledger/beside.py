"""A reader's numbers under the printed ones, without a verdict."""

from decimal import Decimal

import numpy as np

from .compare import misses
from .entries import FIGURES
from .errors import located
from .ledger import entries_of
from .nested import leaves, lists, rows, shape
from .numerals import INFINITE, exact, multiplier


def beside(ledger, values, *, inputs, names=None):
    """Print a reader's numbers beside the printed ones, without a verdict.

    Parameters
    ----------
    ledger : Ledger
    values : dict of str to number, array or nested lists
        The computed number, by the id of its figure.
    inputs : dict of str to number, array or nested lists
        The number used in the computation, by the id of its input.
    names : dict of str to str, optional
        The name of a figure in a lesson, by its id. By default it is the
        ledger's name, in the words of the source.

    Raises
    ------
    LedgerError
        If an id is not in the ledger, its entry has no figures, its values are
        not numbers, or `names` contains a figure that is not shown.

    Notes
    -----
    No number is refused. If you change an input, the output says that it no
    longer compares with the source.

    Examples
    --------
    >>> from course.published import load
    >>> beside(load("tiny-vectors"), {"3.4-sums": [5.36697, 5.36697, 7]},
    ...        inputs={"3.1-d_k": 4}, names={"3.4-sums": "sum of each row"})
    sum of each row (*: 1 differs)
        yours   5.3670  5.3670  7.0000
        printed 5.3670  5.3670  6.0157*
    """
    names = {} if names is None else names
    _check_names(ledger, values, inputs, names)
    changed, lines = [], []
    for name, value in inputs.items():
        with located(ledger.slug, name):
            entry = ledger.entries[name]
            if not _same_shape(entry, value) or _differ(entry, value):
                changed.append(entry.what)
    for name, value in values.items():
        with located(ledger.slug, name):
            entry = ledger.entries[name]
            lines += _lines(entry, value, names.get(name, entry.what))
    if changed:
        print(f"Not the source's inputs any more: {'; '.join(changed)}.")
        print("What differs below need not be an error.")
    print("\n".join(lines))


def _check_names(ledger, values, inputs, names):
    figures = {e.id for e in entries_of(ledger) if e.kind in FIGURES}
    for name in [*values, *inputs]:
        with located(ledger.slug, name):
            if name not in ledger.entries:
                raise ValueError("there is no such entry")
            if name not in figures:
                raise ValueError("has no figures")
    for name in names:
        with located(ledger.slug, name):
            if name not in values:
                raise ValueError("names must belong to figures in values")


def _same_shape(entry, value):
    return shape(lists(value, "value"), "value") == shape(entry.printed)


def _differ(entry, value):
    """The indices at which `value` does not round to the printed figures."""
    return {miss.index for miss in misses(entry, "printed", value, "value")}


def _lines(entry, value, what):
    """The lines that show one entry's figures under the reader's."""
    numbers = lists(value, "value")
    if not _same_shape(entry, value):
        return [
            f"{what}: yours has shape {shape(numbers)}, "
            f"not {shape(entry.printed)}"
        ]
    numbers, texts = leaves(numbers), leaves(entry.printed)
    differ = _differ(entry, value)
    yours = {
        i: _with_decimals_of(texts[i], numbers[i], entry.times) for i in texts
    }
    widest = max(map(len, [*yours.values(), *texts.values()]))

    def our_figure(index):
        return yours[index].rjust(widest) + " "

    def their_figure(index):
        star = "*" if index in differ else " "
        return texts[index].rjust(widest) + star

    return [
        what + _count(differ),
        *_block("yours", rows(entry.printed, our_figure)),
        *_block("printed", rows(entry.printed, their_figure)),
    ]


def _count(differ):
    if not differ:
        return ""
    verb = "differs" if len(differ) == 1 else "differ"
    return f" (*: {len(differ)} {verb})"


def _block(label, rows):
    """Rows of figures, of which only the first shows the label."""
    lines = []
    for row in rows:
        lines.append(f"    {label:8s}{' '.join(row)}".rstrip())
        label = ""
    return lines


def _with_decimals_of(text, number, times):
    """`number` with as many decimals as `text`, in the unit of `text`."""
    if text in INFINITE or not np.isfinite(float(number)):
        return str(float(number))
    decimals = max(0, -Decimal(text).as_tuple().exponent)
    return f"{float(exact(number) / multiplier(times)):z.{decimals}f}"
