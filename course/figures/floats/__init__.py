"""The figure `FloatSoftmax`."""

from .._figure import InteractiveFigure


class FloatSoftmax(InteractiveFigure):
    """A softmax of four scores, computed in a floating-point type.

    The shift is added to all scores before they are stored. Each exponential
    and each weight is the number of the type that is nearest to the exact
    result; the sum is added up in float32 and rounded once. None represents
    infinity in ``exps`` and ``total``, and NaN in ``weights``. ``spacing`` is
    the distance between adjacent numbers at the largest score, and ``error``
    the largest error of a weight.

    Examples
    --------
    >>> FloatSoftmax(shift=12).values["weights"]
    [None, None, None, None]
    >>> FloatSoftmax(shift=12, subtract=True).values["weights"][1]
    0.404052734375
    """

    _name = "floats"
    _label = "a softmax in a floating-point type, and its limits"
