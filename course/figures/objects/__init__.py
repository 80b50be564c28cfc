"""The figure `TwoHeads`."""

from .._figure import InteractiveFigure


class TwoHeads(InteractiveFigure):
    """Three objects that look for objects like themselves, with two heads.

    Head 0 owns the first `cut` columns of red, blue, ball and box, and head 1
    the others; each compares and mixes its own columns only. A feature that
    two objects share multiplies the exponential by 4. ``weights`` has the
    weights of both heads, zero if a head owns no column, and ``output`` the
    merged rows, in which the columns of a head that is switched off are zero.

    Examples
    --------
    >>> [round(w, 3) for w in TwoHeads().values["weights"][0][0]]
    [0.444, 0.111, 0.444]
    """

    _name = "objects"
    _label = "three objects, and what one head or two take from each"
