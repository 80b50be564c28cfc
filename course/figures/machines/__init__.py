"""The figure `Machines`."""

from .._figure import InteractiveFigure, Moving


class Machines(Moving, InteractiveFigure):
    """Eight keys on several machines: what a tree and a ring send.

    The scores of query 0 are the logarithms of 2, 1, 3, 3, 1, 5, 4, 5; those
    of query i are these times cos(i). In the *tree* the queries go out from
    machine 0, each machine attends over its own keys, and the partial results
    are merged in pairs. In the *ring* each machine owns a part of the queries,
    and the keys and values go round. A query counts as one number, a partial
    result as two per query, and a key with its value as two. ``outputs`` and
    ``logsumexps`` have a row for each machine and a column for each query,
    None where the machine has no partial result. ``sent`` counts numbers up to
    the last whole step, ``totals`` those of each plan, and from ``ring_from``
    queries upward the ring sends fewer.

    Examples
    --------
    >>> Machines().values["totals"]
    {'tree': 9, 'ring': 48}
    """

    _name = "machines"
    _label = "a tree and a ring of machines that share the keys"
