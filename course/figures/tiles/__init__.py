"""The figure `Tiles`."""

from .._figure import InteractiveFigure, Moving


class Tiles(Moving, InteractiveFigure):
    """Exact attention that visits one tile of scores at a time.

    The score of query i and key j is ``(1 + j / 8) cos(i - 2 j)``. Blocks are
    visited query block by query block; with `causal`, those above the diagonal
    are left out. ``maxima``, ``factors``, ``added`` and ``sums`` are the
    running state of one query after each of its blocks among the first `step`:
    the maximum so far, the factor on the old sum, the block's addition, and
    the sum of exponentials. ``held`` counts the numbers in memory at once,
    beyond inputs and output: for plain attention all scores, for tiles one
    block of scores and two numbers per query of the block. ``keys_read``
    counts rows of keys. ``tile`` is the content of the on-chip memory after
    the last visit: the block's scores, None where a key is later than the
    query, and the maximum and the sum of each of its queries.

    Examples
    --------
    >>> figure = Tiles(T=8, block_q=4, block_k=4, causal=True)
    >>> figure.values["blocks"]
    [[0, 4, 0, 4], [4, 8, 0, 4], [4, 8, 4, 8]]
    """

    _name = "tiles"
    _label = "attention computed tile by tile"
