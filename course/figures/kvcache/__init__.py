"""The figure `KVCacheCalculator`."""

from .._figure import InteractiveFigure


class KVCacheCalculator(InteractiveFigure):
    """The bytes that the keys and values of all positions take.

    The cache takes ``n_layers * n_kv_heads * (d_k + d_v)`` numbers for each of
    `S` positions in each of `batch` sequences. ``halves`` has the bytes of all
    keys and of all values, and ``room`` the positions per sequence that fit
    into `memory` beside the weights. Counts are exact integers; MiB and GiB
    are binary. More than 1 PiB is refused. ``presets("kvcache")`` contains the
    sizes of published models.

    Examples
    --------
    >>> from course.figures import presets
    >>> gpt2 = presets("kvcache")["GPT-2 small"]
    >>> KVCacheCalculator(**gpt2, S=1024).values["mib"]
    36
    """

    _name = "kvcache"
    _label = "calculator for the memory of a KV cache"
