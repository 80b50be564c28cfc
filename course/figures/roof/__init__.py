"""The figure `Roof`."""

from .._figure import InteractiveFigure


class Roof(InteractiveFigure):
    """The operations of one layer under the roofline of a machine.

    Heads are 128 columns wide, numbers have 16 bits, and the model is as wide
    as its heads together. ``points`` has the FLOPs, the bytes, the FLOPs per
    byte and the attainable FLOPs per second of five operations: attention over
    the prompt with the scores not stored ("prefill") and stored ("stored"),
    the projections of the prompt ("read"), attention of one new token of each
    sequence over `T` keys ("decode"), and its projections ("write").
    ``prompt`` and ``token`` are the least seconds of attention, scores not
    stored, and projections together.

    Examples
    --------
    >>> Roof().values["balance"]
    156
    """

    _name = "roof"
    _label = "attention and its projections under the roof of a machine"
