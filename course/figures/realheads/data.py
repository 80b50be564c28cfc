"""What the figure `RealHeads` is given: what a real model read."""

from course import real_heads


def first():
    """The names of the texts, and the data of the first picture."""
    return {"names": real_heads.NAMES, "first": real_heads.opening()}


def later():
    """All heads, text by text."""
    return {
        real_heads.file_of(name): real_heads.shown(name)
        for name in real_heads.NAMES
    }
