"""The figure `TileTraffic`."""

from .._figure import InteractiveFigure


class TileTraffic(InteractiveFigure):
    """The numbers that plain and tiled attention move between memories.

    One head of width `d` over `N` positions, and `M` numbers of on-chip
    memory, which hold four blocks of ``rows`` rows. ``moved`` counts the
    numbers of three programs: the standard one, tiles with the keys in the
    outer loop, and with the queries; ``parts`` divides them into inputs and
    output, scores and weights, and running states. From a memory of ``turn``
    numbers upward, the second program moves fewer numbers than the first.

    Examples
    --------
    >>> TileTraffic(N=4096, d=64).values["turn"]
    12289
    """

    _name = "traffic"
    _label = "what plain attention and tiles move, by the memory on the chip"
