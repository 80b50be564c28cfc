"""The one rule of all budgets: a warning above the limit, then a failure.

The text, a browser or an address moves what a budget measures by a little,
which is no fault. A tenth above the limit, something else has happened.
"""

import warnings

SLACK = 1.1


def keep(what, measured, limit):
    """Warn where `measured` is over `limit`; fail where it is far over."""
    told = f"budget: {what}: {measured:,} of {limit:,}"
    if measured > limit:
        warnings.warn(told, stacklevel=2)
    assert measured <= SLACK * limit, told
