"""The figure `InfluenceTest`."""

from .._figure import InteractiveFigure


class InfluenceTest(InteractiveFigure):
    """A token is changed, and the outputs that change with it are recorded.

    Programs that apply a causal mask to *the cat sat down*. ``influence`` has
    a row per output and a column per token whose key and value are changed; an
    output changes if it moves by more than a billionth. ``leaks`` and
    ``misses`` count disagreements with the ``mask``; ``after`` are the outputs
    with `token` changed.

    Examples
    --------
    >>> InfluenceTest(program="right").values["leaks"]
    0
    >>> InfluenceTest(program="weights × mask").values["leaks"]
    6
    """

    _name = "influence"
    _label = "a token that is changed, and the outputs that change with it"
