"""What a call says that is refused."""

import re

import pytest


def refused(call, message, error=ValueError):
    """Expect an error whose message begins with `message`."""
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        call()


def each(table):
    """Run a test for each row of a table: a call, or several, by message."""
    rows = [
        (message, call)
        for message, calls in table.items()
        for call in (calls if isinstance(calls, list) else [calls])
    ]
    return pytest.mark.parametrize(("message", "call"), rows)
