"""The figure `Induction`."""

from .._figure import InteractiveFigure


class Induction(InteractiveFigure):
    """A small trained transformer, and what its four heads attend to.

    The model is `helpers.training.INDUCTION` with its stored weights: those
    after 300 steps in 16 bits, and earlier ones in 8. It was trained on
    repeated rows of 6 to 12 different symbols. `logits` has a row for each
    position, and `weights` has one for each head of each block as well.
    ``previous`` and ``followed`` have each head's mean weight on the previous
    symbol, and on the symbol that followed last time. ``answer`` is the symbol
    that followed the last occurrence of the query's symbol, ``counted`` the
    positions that have an answer, and ``right`` the positions where the model
    predicts it.

    Examples
    --------
    >>> values = Induction(symbols="FLICKEDFLICK", step=300).values
    >>> "ABCDEFGHIJKL"[values["said"]]
    'E'
    """

    _name = "induction"
    _label = "a trained transformer and its four heads"
