"""The figure `QuadraticCost`."""

from .._figure import InteractiveFigure


class QuadraticCost(InteractiveFigure):
    """The FLOPs of one layer: which grow with the square of the length.

    A layer is attention with its four projections and a feed-forward network
    of `matrices` matrices. ``flops`` counts its parts, ``crossing`` is the
    first length at which the two products of attention take as much as the
    rest, and ``doubled`` the factor in FLOPs for twice as many tokens. Scale
    and softmax are not counted.

    Examples
    --------
    >>> QuadraticCost(d=768).values["crossing"]
    4608
    """

    _name = "quadratic"
    _label = "the FLOPs of one layer as areas, by the length of the text"
