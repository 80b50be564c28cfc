"""The figure `Film`."""

from .._figure import InteractiveFigure, Moving


class Film(Moving, InteractiveFigure):
    """One query from its words to its output, step by step.

    Rows of `X` serve as queries, keys and values; or, if one of `W_Q`, `W_K`
    and `W_V` is given, the query ``q``, the keys ``K`` and the values ``V``
    are computed from them first, in one step per row. The query meets the
    keys, in one step each; then all dot products are divided by the root of
    d_k, exponentials are taken and summed, each is divided by the sum, and the
    values, each times its weight, are added up. A page without scripts shows
    the film as a strip of stills.

    Examples
    --------
    >>> Film().values["dots"]
    [2, 0, 1]
    >>> Film(what="X, W_Q, W_K, W_V").values["q"]
    [2, 0]
    """

    _name = "film"
    _label = "one query on its way, as a film"
    _without = "Without scripts the film has no controls: here are its stills."

    def __init__(self, **settings):
        if not {"W_Q", "W_K", "W_V"}.isdisjoint(settings):
            settings.setdefault("what", "X, W_Q, W_K, W_V")
        what = settings.get("what")
        if isinstance(what, str) and what != "X":
            settings.setdefault("at", 18.0)
        super().__init__(**settings)
