"""The figure `Projections`."""

from .._figure import InteractiveFigure


class Projections(InteractiveFigure):
    """Two tokens in the plane, with a query, a key and a value.

    Token x asks and token y is asked: ``q = x W_Q``, ``k = y W_K`` and
    ``v = y W_V``, each a row times a matrix. The dot product of q and k is the
    ``length`` of q times the ``shadow`` of k on it, which ends at ``foot``.

    Examples
    --------
    >>> Projections(x1=2, x2=0, W_Q=[[1, 0], [0, 1]]).values["q"]
    [2, 0]
    """

    _name = "project"
    _label = "queries, keys and values as arrows in the plane"
