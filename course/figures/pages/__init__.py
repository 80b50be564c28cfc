"""The figure `Pages`."""

from .._figure import InteractiveFigure, Moving


class Pages(Moving, InteractiveFigure):
    """A server's memory for keys and values, which texts fill and free.

    Ten requests arrive in steps 0 to 6 at a memory of 64 slots, one slot per
    token. In each step complete texts leave, every other text writes a token,
    and requests are admitted in order while there is memory for their prompts.
    Either a text takes a page when it has filled the last one, or it has
    reserved 16 slots, the most that any text may need. For each slot,
    ``owner`` is the text that has it, or -1, and ``filled`` whether it
    contains a token. ``pages`` and ``pieces`` count the running texts per
    step, and ``run`` and ``waits`` count the running and waiting texts of
    `step`, in the chosen memory and in the other.

    Examples
    --------
    >>> Pages(memory="one piece per text").values["waits"]
    [5, 1]
    """

    _name = "pages"
    _label = "the memory of a server that continues many texts"
