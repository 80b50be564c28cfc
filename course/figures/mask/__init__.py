"""The figure `MaskPainter`."""

from .._figure import InteractiveFigure


class MaskPainter(InteractiveFigure):
    """A mask to paint cell by cell, and the outputs under it.

    The sentence is *dogs bark pad pad*, where the last two tokens are padding.
    The scores and values are fixed. ``padding`` and ``later`` are the weights
    that each query gives to padding and to later words, and ``empty`` lists
    the queries that may attend to nothing.

    Examples
    --------
    >>> MaskPainter(may=[[0, 0, 0, 0]] * 4).values["output"][1]
    [0, 0]
    """

    _name = "mask"
    _label = "a mask to paint, and the weights and outputs under it"
