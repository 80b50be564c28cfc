"""The figure `Positions`."""

from .._figure import InteractiveFigure


class Positions(InteractiveFigure):
    """Sinusoids, rotations and biases, one method at a time.

    *sinusoid*: `T` positions in ``2 * pairs`` columns; `pair` is drawn as two
    waves. *RoPE*: a query that is (1, 0) in each pair, rotated to position
    `m`, and a key that is `angle` degrees ahead of it in each pair, rotated to
    `n`; `shift` moves both. Scores are divided by the root of ``2 * pairs``,
    and ``by_distance`` runs from -32 to 32. *ALiBi*: slopes by `rule`, and the
    bias of each head at distances 0 to T - 1.

    Examples
    --------
    >>> Positions(kind="ALiBi", heads=2, T=3).values["slopes"]
    [0.0625, 0.00390625]
    """

    _name = "positions"
    _label = "sinusoids, rotations and biases"
