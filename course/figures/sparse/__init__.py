"""The figure `ChooseTokens`."""

from .._figure import InteractiveFigure


class ChooseTokens(InteractiveFigure):
    """One query and sixteen tokens, of which it reads a subset.

    ``picks`` are the numbers by which the ``chosen`` tokens were chosen: index
    scores, mean scores of blocks, positions or the scores themselves.
    ``missed`` is the weight of the other tokens. ``answer`` is the output of
    attention over the chosen tokens, and ``whole`` the output over all.
    ``covered`` and ``best`` are the weights that each budget reads with this
    choice and with the best choice. ``choosing``, ``reading`` and ``all``
    count the FLOPs of products, with the sizes of DeepSeek-V3.2.

    Examples
    --------
    >>> found = ChooseTokens(k=4, error=0).values
    >>> [j for j, read in enumerate(found["chosen"]) if read]
    [3, 4, 14, 15]
    >>> found["choosing"] / found["all"] == 1 / 17
    True
    """

    _name = "sparse"
    _label = "one query, and the tokens that it reads with a budget"
