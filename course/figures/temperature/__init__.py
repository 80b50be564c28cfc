"""The figure `Temperature`."""

from .._figure import InteractiveFigure


class Temperature(InteractiveFigure):
    """A soft lookup on a shelf of four jars, at a temperature.

    The jars stand at 0 to 3 and contain 10, 40, 20 and 30 marbles. The score
    of a jar is minus half its squared distance from `place`, plus the distance
    by which its bar was dragged. ``answer`` is the weighted mean of the
    marbles, ``exact`` the number in the jar with the highest score; ``curve``
    and ``stairs`` show both over the shelf, from -0.5 to 3.5.

    Examples
    --------
    >>> Temperature(temperature=0.01, place=0).values["exact"]
    10
    """

    _name = "temperature"
    _label = "a soft lookup on a shelf of jars, at a temperature"
