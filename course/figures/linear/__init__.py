"""The figure `LinearMemory`."""

from .._figure import InteractiveFigure


class LinearMemory(InteractiveFigure):
    """A memory of two numbers, and the pairs that are written into it.

    The keys have two columns and length one, and the values have one column,
    so the state is a point of the plane. The pairs A, B and C are written in
    this order. ``states`` are the state before the first write and after each;
    the last write started from ``shrunk`` and added its key times ``error``,
    and times beta with the delta rule. A key is ``right`` if its pair is
    written and the value it ``reads`` is at most 0.05 off.

    Examples
    --------
    >>> LinearMemory(written=2).values["right"]
    [True, True, False]
    >>> LinearMemory().values["right"]
    [False, False, True]
    """

    _name = "linear"
    _label = "a memory of two numbers, and what three keys read from it"
