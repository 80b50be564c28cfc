"""The figure `Decode`."""

from .._figure import InteractiveFigure


class Decode(InteractiveFigure):
    """What each decoding step computes, with a KV cache and without it.

    The text is ``a rose is a rose is a rose``. ``counts`` says how often the
    steps so far compute each score, query by key; ``keys`` and ``scores``
    how many keys and scores they compute, ``newKeys`` and ``newScores`` how
    many in the last step, and ``otherKeys`` and ``otherScores`` how many so
    far with the other setting of `cache`. ``output`` belongs to the newest
    token.

    Examples
    --------
    >>> values = Decode(step=5, cache=False).values
    >>> values["scores"], values["otherScores"]
    (55, 15)
    """

    _name = "decode"
    _label = "what each decoding step computes and keeps"
