"""The figure `LatentVector`."""

from .._figure import InteractiveFigure


class LatentVector(InteractiveFigure):
    """What latent attention caches per token, and the cost of its two forms.

    Keys and values have ``width`` columns in each head, and ``rotated`` more
    columns of a key are shared by all heads. ``kept`` counts the cached
    numbers per token of one layer: of multi-head attention, of at most eight
    groups, of one group, and of latent attention, which caches as many numbers
    as ``heads`` heads. ``plain`` and ``absorbed`` have the multiply-adds of
    both forms by stage, and from ``from`` queries upward the plain form takes
    fewer (0 if it never does).

    Examples
    --------
    >>> LatentVector().values["kept"]
    [32768, 2048, 256, 576]
    >>> LatentVector().values["from"]
    164
    """

    _name = "latent"
    _label = "what is kept of a token, and the multiply-adds of two forms"
