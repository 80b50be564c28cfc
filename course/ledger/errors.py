"""The error of a ledger, which says what is wrong and where."""

from contextlib import contextmanager


class LedgerError(AssertionError):
    """The ledger breaks a rule, or the computation disagrees with it.

    The message names the place (source, entry, field) and the rule.
    """


@contextmanager
def located(*where):
    """Add the place at which an argument or a field broke a rule.

    A TypeError or a ValueError in the block becomes a LedgerError.

    Examples
    --------
    >>> try:
    ...     with located("toy", "1-good"):
    ...         raise ValueError("times must be above zero")
    ... except LedgerError as error:
    ...     print(error)
    toy: 1-good: times must be above zero
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise LedgerError(": ".join(map(str, [*where, error]))) from None
