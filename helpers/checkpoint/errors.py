"""What a file of weights may be refused with."""


class CheckpointError(ValueError):
    """A file that cannot be loaded, by a rule that the message states."""


def shown(text, most=60):
    """A value of a file as a message quotes it, of a bearable length."""
    quoted = repr(text)
    return quoted if len(quoted) <= most else f"{quoted[:most]}…"
