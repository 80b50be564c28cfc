"""The figure `Digits`."""

from .._figure import InteractiveFigure


class Digits(InteractiveFigure):
    """A printed number on a line with the value that it should round to.

    The value is an example's count, in the chosen unit, plus `shift`
    hundredths of the last printed digit. It reproduces the printed digits if
    it is within half a unit of the last of them, ties included; ``off`` is its
    distance in these units. The comparison uses whole numbers and is exact.

    Examples
    --------
    >>> Digits(prefix="decimal").values["reproduced"]
    0
    >>> Digits(prefix="binary").values["value"]
    1.5625
    """

    _name = "digits"
    _label = "a printed number, and the value that it should round to"
