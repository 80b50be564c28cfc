"""The figure `ModelCard`."""

from .._figure import InteractiveFigure


class ModelCard(InteractiveFigure):
    """What attention keeps and moves, from a model's configuration.

    The configuration is one of `course.cards.MODELS` or a pasted one.
    Required keys that are missing are named, and so are keys that were not
    read. ``kept`` has the bytes of each layer, ``cache`` their sum; ``flops``
    and ``moved`` are those of attention in one step of decoding, and ``room``
    counts the sequences that fit beside the weights. A state has 32 bits per
    number.

    Examples
    --------
    >>> ModelCard(model="gpt-oss-120b", S=131072).values["cache"] / 2**30
    4.50439453125
    """

    _name = "card"
    _label = "a model card: what attention keeps, moves and computes"
