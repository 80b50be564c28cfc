"""The figure `RealHeads`."""

from traitlets import Dict

from ... import real_heads
from .._figure import InteractiveFigure


class RealHeads(InteractiveFigure):
    """How the heads of a published model read a text.

    The model is SmolLM2-135M-Instruct, 30 layers of 9 query heads; `of` shows
    another model or a text of your own. ``first``, ``previous`` and
    ``followed`` are the mean weights of each head on the first token, on the
    previous token, and on the token that followed the last occurrence of the
    query's token, from ``asked`` queries; ``evenly`` are the same means for
    uniform rows. ``kinds`` gives the role of each head: 1 first token, 2
    previous token, 3 induction, and 0 none of them; ``counts`` counts them
    from 0 to 3. ``weights`` are all weights of the two chosen ``heads``,
    stored as bytes, and ``before`` the probabilities of the most probable next
    tokens. With head A or B switched off by `off` these become ``chances``,
    and ``logits`` are the changes of their logits; only the stored texts have
    them.

    Examples
    --------
    >>> values = RealHeads().values
    >>> values["counts"], values["heads"]
    ([42, 210, 9, 9], [[17, 5], [16, 0]])
    >>> round(values["weights"][0][15][7], 2)
    0.87
    """

    _name = "realheads"
    _label = "what the heads of a published model attend to"
    _given = Dict(default_value=None, allow_none=True).tag(sync=True)

    @classmethod
    def of(cls, checkpoint, text, **settings):
        """Make the figure for a text of your own, which a model reads now.

        Parameters
        ----------
        checkpoint : Checkpoint
            From `course.checkpoint.load`: at most 48 layers of 16 heads.
        text : str
            What the model reads: 2 to 48 tokens.
        **settings
            Settings of the figure; `query` is the last token by default.

        Returns
        -------
        RealHeads

        Raises
        ------
        ValueError
            As `course.real_heads.record`.
        """
        given = real_heads.record(checkpoint, text)
        figure = cls(**{"query": len(given["ids"]) - 1, **settings})
        figure._given = given
        return figure

    def _own(self):
        return {} if self._given is None else {"own": self._given}

    def html(self):
        # A page has no kernel that has read the text, so this figure is static
        # there.
        shown = super().html()
        if self._given is None:
            return shown
        return shown.replace(f'data-figure="{self._name}" ', "", 1)
