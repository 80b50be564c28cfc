"""The rules of a ledger that a schema cannot express."""

from fractions import Fraction

from .entries import errata, read_entry
from .errors import located
from .nested import leaves, shape
from .numerals import INFINITE, matches, multiplier, unit
from .schema import check_form


def check(record):
    """Refuse a record that breaks a rule of the ledger.

    Examples
    --------
    >>> from course.published import LedgerError
    >>> try:
    ...     check({"slug": "toy", "title": "Toy"})
    ... except LedgerError as error:
    ...     print(error)
    toy: entries must be there
    """
    check_form(record)
    slug, causes = record["slug"], record.get("causes", {})
    with located(slug):
        _check_causes(causes, record.get("rivals", {}), record["entries"])
    earlier = set()
    for fields in record["entries"]:
        with located(slug, fields["id"]):
            entry = read_entry(fields)
            _check_links(entry, earlier, causes)
            if entry.printed is not None:
                _check_digits(entry, "printed")
            if entry.corrected is not None:
                _check_digits(entry, "corrected")
                _check_corrections(entry)
        earlier.add(entry.id)


def _check_causes(causes, rivals, entries):
    """Require that each cause explains an entry and each rival has a cause."""
    for cause in rivals:
        if cause not in causes:
            raise ValueError(f"rivals must belong to a cause; got {cause!r}")
    used = {entry.get("cause") for entry in entries}
    for cause in causes:
        if cause not in used:
            raise ValueError(f"causes must be used; {cause} is not")


def _check_links(entry, earlier, causes):
    """Require new ids, listed causes, and errors from earlier entries."""
    if entry.id in earlier:
        raise ValueError("id must be used once")
    if entry.cause is not None and entry.cause not in causes:
        raise ValueError(
            f"cause must be one of {', '.join(causes)}; got {entry.cause!r}"
        )
    if entry.from_ is not None and entry.from_ not in earlier:
        raise ValueError(
            f"from must name an earlier entry; got {entry.from_!r}"
        )


def _check_digits(entry, field):
    """Require figures that fill a shape and whose last digit has a unit."""
    figures = getattr(entry, field)
    shape(figures, field)
    for text in leaves(figures).values():
        if text not in INFINITE:
            unit(text, **entry.how)


def _check_corrections(entry):
    """Require corrected digits of the same number that differ noticeably."""
    ours, theirs = shape(entry.corrected), shape(entry.printed)
    if ours != theirs:
        raise ValueError(
            f"corrected must have the shape of printed, {theirs}; got {ours}"
        )
    if not errata(entry):
        raise ValueError("corrected must differ from printed somewhere")
    printed, corrected = leaves(entry.printed), leaves(entry.corrected)
    for index in errata(entry):
        if not {printed[index], corrected[index]} & set(INFINITE):
            _check_correction(entry, index, printed[index], corrected[index])


def _check_correction(entry, index, wrong, right):
    must = f"corrected at {list(index)} must"
    if unit(right, **entry.how) > unit(wrong, **entry.how):
        raise ValueError(
            f"{must} have as many decimals as {wrong}; got {right}"
        )
    if matches(wrong, Fraction(right) * multiplier(entry.times), **entry.how):
        raise ValueError(
            f"{must} be more than half a unit from {wrong}; got {right}"
        )
