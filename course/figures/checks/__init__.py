"""The figure `Checks`."""

from .._figure import InteractiveFigure


class Checks(InteractiveFigure):
    """Nine programs for attention, and six checks of each.

    The first program is correct, and each of the others has one mistake. If
    `tokens` is 0, the queries and keys are the three unit vectors; if it is 1,
    they share no symmetry. A check compares pairs of numbers: ``found`` and
    ``expected`` are the first pair that differs, or the first of all, by
    program and check; ``refused`` is 1 where they differ, by more than
    rounding, and 0 elsewhere, and ``others`` is the same for the other tokens.
    ``symmetric`` is 1 if the right program's ``scores`` and ``weights`` equal
    their transposes.

    Examples
    --------
    >>> [sum(row) for row in Checks(tokens=0).values["refused"]][:3]
    [0, 2, 2]
    """

    _name = "checks"
    _label = "which checks refuse which wrong programs"
