"""The figure `Schemes`."""

from .._figure import InteractiveFigure


class Schemes(InteractiveFigure):
    """Position schemes beyond the trained length, four seeds each.

    ``python research/train.py longer`` stored the right answers. ``order``
    ranks the schemes by their ``medians``, from the highest; ``trained`` are
    the medians at 32 tokens, and ``moved`` counts the schemes whose rank
    differs from their rank there, in the order ``ranks``. ``better`` counts
    the pairs of schemes in which each seed of one beats each seed of the
    other. ``weights`` are the last block's, means over its heads and all
    seeds: on keys that hold the answer, and on others at distances beyond
    training. ``opposed`` counts the pairs in which the scheme with more of the
    latter has the lower median. The rest is what distances meet: the
    ``buckets`` of T5's bias and its trained ``biases``, a row per head of each
    seed, ALiBi's ``penalties`` at the longest distance, the mean ``share`` of
    a key, and the ``angles`` of RoPE's pairs there, 0 for pairs that do not
    rotate; ``trainedAngles`` are those at the longest distance of training.

    Examples
    --------
    >>> Schemes(questions="far").values["better"]
    6
    """

    _name = "schemes"
    _label = "right answers past the trained length, by position scheme"
