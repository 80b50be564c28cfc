"""The error of a ledger, which says what is wrong and where."""

from contextlib import contextmanager


class LedgerError(AssertionError):
    """The ledger breaks a rule, or the computation disagrees with it.

    The message names the place (source, entry, field) and the rule.
    """


@contextmanager
def located(*where):
    """Add the place at which an argument or a field broke a rule.

    Parameters
    ----------
    *where : str
        The source and, if applicable, the entry.

    Raises
    ------
    LedgerError
        In place of a TypeError or a ValueError in the block.

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
