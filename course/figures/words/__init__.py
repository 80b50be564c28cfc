"""The figure `Words`."""

from .._figure import InteractiveFigure, Moving


class Words(Moving, InteractiveFigure):
    """One word asks, and takes from each word as much as it fits.

    The last word of *the cat drank milk because it* has the query (x, y).
    The keys were chosen by hand: the first number says how much a word is
    alive, the second how much it is a drink. Scores are divided by the root
    of two. On a page the query turns away and returns, once. In the other
    sentences a word asks in one head of the trained word model.

    Examples
    --------
    >>> Words(x=2, y=0).values["dots"]
    [-2, 4, 2, 0, -2, 1]
    """

    _name = "words"
    _label = "a word that asks, and what the others answer"
