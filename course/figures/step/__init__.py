"""The figure `StepThrough`."""

from .._figure import InteractiveFigure


class StepThrough(InteractiveFigure):
    """Every matrix of one attention call, and the origin of each entry.

    Starts from `X`, which then serves as queries, keys and values, or from
    `Q`, `K` and `V` if one of them is given.

    Examples
    --------
    >>> StepThrough(X=[[1, 0], [1, 1]]).values["dots"]
    [[1, 1], [1, 2]]
    """

    _name = "step"
    _label = "attention step by step, from the numbers that you type"

    def __init__(self, **settings):
        if not {"Q", "K", "V"}.isdisjoint(settings):
            settings.setdefault("what", "Q, K, V")
        super().__init__(**settings)
