"""The figure `Flow`."""

from .._figure import InteractiveFigure


class Flow(InteractiveFigure):
    """A sentence on its way through a small trained model to its next word.

    The model is `course.sentences.WORD_MODEL` with its stored weights. For
    each word, ``embedded`` has the row that enters the first block,
    ``attended`` and ``after`` the rows after the attention and after the
    network of each block, and ``hidden`` the rows within its network;
    ``added`` has what each of these four parts adds to the rows;
    ``queries``, ``keys``, ``values``, ``weights`` and ``mixed`` are those of
    `head` in each block. ``chances`` are the probabilities of the word after
    `word` at `temperature`, and ``order`` ranks the words by them; ``said`` is
    the most probable word after the last. ``drawn`` has ``u``, the first
    number of mulberry32 with `seed`, and ``id``, the word that it draws: from
    0 to 1, each word has a part as long as its probability after the last
    word, the most probable word first, and ``u`` is in the part of one.
    ``opened`` shows how one number was computed: its ``parts``, which are
    products or exponentials, their ``total``, and its ``value``.

    Examples
    --------
    >>> from course.sentences import WORDS
    >>> WORDS[Flow(text="the king ate the").values["said"]]
    'bread'
    """

    _name = "flow"
    _label = "a sentence on its way to its next word"
