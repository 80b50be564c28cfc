"""The figure `Saturation`."""

from .._figure import InteractiveFigure


class Saturation(InteractiveFigure):
    """How the width of queries and keys saturates the softmax.

    Thirty-two queries and up to 64 keys hold standard normal numbers,
    generated from the seed by mulberry32 and the Box-Muller transform.

    Examples
    --------
    >>> figure = Saturation(d_k=1024, scale=False)
    >>> figure.values["largest"] > 0.8
    True
    """

    _name = "saturation"
    _label = "scores and weights as the width d_k grows"
