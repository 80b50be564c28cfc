"""The figure `ParameterAreas`."""

from .._figure import InteractiveFigure


class ParameterAreas(InteractiveFigure):
    """The parameters of a transformer, part by part.

    The model is built like GPT-2: layer norm, biases, 1,024 learned positions,
    and ``d_model = 64 * heads``; a separate output matrix has a bias.
    ``parts`` has the parameters of all blocks together, ``block`` those of
    one. ``presets("parameters")`` contains the four models of GPT-2's paper.

    Examples
    --------
    >>> ParameterAreas().values["total"]
    124439808
    """

    _name = "parameters"
    _label = "the parameters of a transformer, part by part"
