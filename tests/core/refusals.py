"""What a call says that is refused."""

import re

import pytest


def refused(call, message, error=ValueError):
    """Expect an error whose message begins with `message`."""
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        call()


def each(table):
    """Run a test for each row of a table of calls by their message."""
    return pytest.mark.parametrize(("message", "call"), table.items())
