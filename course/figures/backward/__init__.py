"""The figure `Backward`."""

from .._figure import InteractiveFigure


class Backward(InteractiveFigure):
    """A gradient of the output, and every gradient that follows from it.

    `dY` is the gradient of a loss with respect to the output of attention;
    ``means`` are the means of each row of ``dA`` under its weights.

    Examples
    --------
    >>> Backward(Q=[[1]], K=[[0], [0]], V=[[2], [4]], dY=[[1]]).values["dV"]
    [[0.5], [0.5]]
    """

    _name = "backward"
    _label = "every gradient of attention, from that of its output"
