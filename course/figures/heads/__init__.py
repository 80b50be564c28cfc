"""The figure `HeadsAndGroups`."""

from .._figure import InteractiveFigure


class HeadsAndGroups(InteractiveFigure):
    """Columns divided into heads, and heads that share keys and values.

    Head h owns columns ``h * d_k`` to ``h * d_k + d_k - 1`` and reads
    key/value head ``h // (H / H_kv)``. Parameters are those of one layer with
    ``d_model = H * d_k``, ``d_v = d_k`` and no biases; the cache holds 2 bytes
    per number.

    Examples
    --------
    >>> HeadsAndGroups(H=4, H_kv=2).values["kv_head"]
    [0, 0, 1, 1]
    """

    _name = "heads"
    _label = "columns cut into heads, and heads that share keys and values"
