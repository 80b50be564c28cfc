"""The figure `FileBlock`."""

from .._figure import InteractiveFigure


class FileBlock(InteractiveFigure):
    """A quantisation block of a file: 32 parameters in 20 bytes.

    The bytes are those of the type Q4_1 in the file of SmolLM2: a scale and a
    minimum as float16, then 16 bytes with the codes of two parameters each.
    ``parameters`` has ``scale * code + minimum`` as float32, where `code`
    replaces the file's code at `at`.

    Examples
    --------
    >>> values = FileBlock().values
    >>> values["bits"], round(values["value"], 4)
    ([1, 0, 1, 1], 0.6647)
    """

    _name = "fileblock"
    _label = "the bytes of a file, and the parameters that they hold"
