"""The figure `Sinks`."""

from .._figure import InteractiveFigure


class Sinks(InteractiveFigure):
    """How one query distributes its weight, in five ways.

    The keys have values 10, 40, 20, 30 and 50, and each score is `length`
    times a fit. The ways are, in this order: none, a sink, a gate on the
    answer, a soft cap, and a norm that gives the query length 4. ``taken`` is
    the weight of the sink, and ``coins`` are 100 coins in proportion: of the
    keys, and of the sink or what the gate holds back.

    Examples
    --------
    >>> [round(float(s), 2) for s in Sinks(gate=0.25).values["spent"]]
    [1.0, 0.21, 0.25, 1.0, 1.0]
    """

    _name = "sinks"
    _label = "one query that spends its weight in five ways"
