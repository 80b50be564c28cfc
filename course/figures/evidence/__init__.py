"""The figure `EvidenceOfSeeds`."""

from .._figure import InteractiveFigure


class EvidenceOfSeeds(InteractiveFigure):
    """Two designs, and what a few runs of each would have shown.

    The runs are those that the lesson on evidence stores: five seeds for each
    position scheme and each number of heads. A reader has `n` runs of each
    design. A design is ahead if each of its runs beats each run of the other.
    For every choice of runs of the first design (rows) and of the second
    (columns), ``conclusions`` is 1 if the first is ahead, -1 if the second is,
    and 0 if their ranges overlap. ``counts`` counts the 1s, 0s and -1s,
    ``whole`` is the conclusion from all runs, and ``against`` counts the
    choices that contradict the medians.

    Examples
    --------
    >>> EvidenceOfSeeds(n=1).values["counts"]
    [12, 0, 13]
    """

    _name = "evidence"
    _label = "two designs, and what a few runs of each would have shown"
