"""What a file of weights may be refused with."""


class CheckpointError(ValueError):
    """A file that cannot be loaded; the message names the file and the rule."""


def shown(text, most=60):
    """What a file holds, as a message quotes it: it may be long, or strange."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else f"{quoted[:most]}…"
