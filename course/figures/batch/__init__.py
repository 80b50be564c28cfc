"""The figure `Batch`."""

from .._figure import InteractiveFigure


class Batch(InteractiveFigure):
    """The bytes and FLOPs of one decoding step, for a batch of texts.

    Llama 3 8B in 16 bits on an A100. A step reads the ``weights`` once for all
    texts, and the cache of each text: ``caches`` in total, in bytes. From
    ``crossing`` texts upward, the caches are at least as large as the weights.
    ``intensity`` is in FLOPs per byte; ``limit`` is its supremum over all
    batches, and ``balance`` the machine balance. ``seconds`` is the least time
    of a step, and ``per_second`` the tokens of all texts that it allows.
    ``curves`` has the intensities of 1, 2, 4, ..., 512 texts for each number
    of tokens.

    Examples
    --------
    >>> Batch(S=2048).values["crossing"]
    56
    """

    _name = "batch"
    _label = "what a decoding step reads and does for a batch of texts"
