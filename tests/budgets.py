"""The rules of all budgets: a warning above the limit, and a failure or none.

A length of prose is a matter of taste: it warns. The bytes of a page are what
a reader waits for. The text, a browser or an address moves them by a little,
which is no fault; a tenth above the limit, something else has happened.
"""

import warnings

SLACK = 1.1


def advise(what, measured, limit):
    """Warn where `measured` is over `limit`."""
    message = f"budget: {what}: {measured:,} of {limit:,}"
    if measured > limit:
        warnings.warn(message, stacklevel=2)
    return message


def keep(what, measured, limit):
    """Warn where `measured` is over `limit`; fail where it is far over."""
    message = advise(what, measured, limit)
    assert measured <= SLACK * limit, message
