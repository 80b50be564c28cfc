"""The error for a file of weights that is refused."""

import reprlib

MOST_LETTERS = 400  # of a message, as a file may hold names of any length
SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 60
SHORT.maxlevel = 3


class CheckpointError(ValueError):
    """A file that cannot be loaded, by a rule that the message states."""

    def __init__(self, message):
        cut = len(message) > MOST_LETTERS
        super().__init__(f"{message[:MOST_LETTERS]}…" if cut else message)


def shown(value, most=60):
    """A value of a file as text for a message, shortened to `most` letters."""
    quoted = SHORT.repr(value)
    return quoted if len(quoted) <= most else f"{quoted[:most]}…"
