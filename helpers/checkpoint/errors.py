"""The error for a file of weights that is refused."""


class CheckpointError(ValueError):
    """A file that cannot be loaded, by a rule that the message states."""


def shown(text, most=60):
    """A value of a file as text for a message, shortened to `most` letters."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else f"{quoted[:most]}…"
