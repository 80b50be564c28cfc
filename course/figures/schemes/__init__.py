"""The figure `Schemes`."""

from .._figure import InteractiveFigure


class Schemes(InteractiveFigure):
    """Position schemes beyond the trained length, four seeds each.

    ``python research/train.py longer`` stored the right answers. Each list
    has an entry per scheme, in the order of the setting ``scheme``: ``seeds``
    and ``medians`` hold shares of right answers at 32, 64, 128 and 256
    tokens, and ``weights`` those of the last block at the set length, means
    over its heads and all seeds: on keys that hold the answer, and on others
    at distances beyond training. The rest is what distances meet: the
    ``buckets`` of T5's bias and its trained ``biases``, a row per head of
    each seed, and the ``angles`` of RoPE's pairs at the longest distance, 0
    for pairs that do not rotate; ``trainedAngles`` are those at the longest
    distance of training.

    Examples
    --------
    >>> Schemes(scheme="ALiBi").values["weights"][1]
    [0.2464, 0.228]
    """

    _name = "schemes"
    _label = "right answers past the trained length, by position scheme"
