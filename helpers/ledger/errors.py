"""How a ledger says what is wrong, and where."""

from contextlib import contextmanager


class LedgerError(AssertionError):
    """The ledger breaks a rule, or the computation disagrees with it.

    The message says where (source, entry, field) and which rule.
    """


@contextmanager
def located(*where):
    """Say where it was that an argument or a field broke a rule.

    Parameters
    ----------
    *where : str
        The source, and the entry if it was in one.

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
