"""The figure `Angles`."""

from .._figure import InteractiveFigure


class Angles(InteractiveFigure):
    """The angle of each pair at a distance, and the angles new to it.

    A head of width 16, trained with RoPE on texts of 32 positions. An angle is
    new to a pair, ``fresh``, from one trained step past its last trained angle
    to the full circle; ``runs`` lists a pair with the first and the last of
    consecutive distances at which its angles are new. ``arcs`` are the angles
    that training covers, ``angles`` those at `distance`, and ``before`` those
    at `distance` with the frequencies of training. YaRN follows the rule of
    its code.

    Examples
    --------
    >>> sum(Angles(distance=63).values["fresh"])
    5
    >>> sum(Angles(distance=63, frequencies="YaRN").values["fresh"])
    0
    """

    _name = "angles"
    _label = "the angle of each pair past the trained length"
