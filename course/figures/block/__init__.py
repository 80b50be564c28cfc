"""The figure `ResidualStream`."""

from .._figure import InteractiveFigure


class ResidualStream(InteractiveFigure):
    """The row of a token on its way through two blocks.

    Tokens, matrices and the feed-forward network are the hand-made ones of the
    lesson on blocks, and are the same in both blocks. ``rows`` are the row
    that enters and the rows after each of the four parts, ``reads`` the inputs
    of the parts, ``changes`` their outputs, and ``sums`` the sums before a
    norm. ``kept`` is the factor of the entering row in the row that leaves.
    ``whole`` and ``wholeSums`` are the rows and the sums if no part is
    switched off.

    Examples
    --------
    >>> off = {"attention_0": False, "feed_forward_0": False}
    >>> ResidualStream(token="the", **off).values["rows"][2]
    [1, 0, 1, 0]
    """

    _name = "block"
    _label = "the residual stream: a row on its way through two blocks"
