"""The figure `CausalHeatmap`."""

from .._figure import InteractiveFigure


class CausalHeatmap(InteractiveFigure):
    """Masks, ALiBi and temperature on one matrix of weights.

    The score of query i and key j is ``cos(i - 2 j)``, divided by the
    temperature, minus ``slope * |i - j|``.

    Examples
    --------
    >>> CausalHeatmap(T=3, mask="causal").values["weights"][0]
    [1, 0, 0]
    """

    _name = "causal"
    _label = "attention weights under masks, ALiBi and temperature"
