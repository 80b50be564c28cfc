"""Interactive figures: one Python object, one JavaScript module each.

In Jupyter an object is a widget whose traits follow its sliders. On the
static page the same module runs with no kernel. Without scripts the page
shows the figure's first state, which the module itself has drawn: Python runs
it in a small JavaScript engine and stores what it returns.

The names of the modules: "causal", "step", "saturation", "heads",
"positions", "kvcache", "tiles", "induction", "words", "film", "roof",
"project", "temperature" and "backward".
"""

import json
import re
from functools import lru_cache
from html import escape
from pathlib import Path

from ._extras import extra
from .training import stored

with extra("figures"):
    import anywidget
    import quickjs
    from traitlets import Bool, Float, Int, List, TraitError, Unicode

FOLDER = Path(__file__).resolve().parent / "js"
THREE_TOKENS = [[1.0, 0, 1, 0], [0.0, 1, 0, 1], [1.0, 1, 0, 0]]
SHOWN, HIDDEN = "<section ", '<section hidden="hidden" '


# What a module starts with; and data that a page loads only when asked for.
PARTS = {
    **{
        name: ("common.js", "player.js", f"{name}.js")
        for name in ("film", "kvcache", "tiles")
    },
    "induction": ("common.js", "transformer.js", "induction.js"),
    "practice": ("practice.js",),
}
LATER = {"induction": "induction-steps"}


def _trained():
    """The last weights of the induction model, and how each step fares."""
    checkpoints = stored("induction-steps")["checkpoints"]
    given = {
        "weights": stored("induction")["weights"],
        "steps": [c["step"] for c in checkpoints],
        "accuracy": [c["accuracy"] for c in checkpoints],
    }
    return f"const TRAINED = {json.dumps(given)};\n"


def _earlier_steps():
    """The weights of the steps before the last, as a script."""
    *earlier, _ = stored("induction-steps")["checkpoints"]
    weights = json.dumps({c["step"]: c["weights"] for c in earlier})
    return (
        "globalThis.attentionData ??= {};\n"
        f'globalThis.attentionData["{LATER["induction"]}"] = {weights};\n'
    )


def _text(name):
    """The module of a figure without what is loaded later."""
    parts = PARTS.get(name, ("common.js", f"{name}.js"))
    text = "\n".join((FOLDER / p).read_text(encoding="utf-8") for p in parts)
    return _trained() + text if name == "induction" else text


def module(name):
    """The complete ES module of a figure, as Jupyter runs it.

    Parameters
    ----------
    name : str
        The figure's name, such as "causal".

    Returns
    -------
    str
    """
    return (_earlier_steps() if name in LATER else "") + _text(name)


def script(name):
    """The module of a figure as a script that any page can load.

    A page that is opened from a folder, with no server, may load scripts but
    no modules. The script sets ``attentionFigures[name]``.

    Parameters
    ----------
    name : str
        The figure's name, such as "causal".

    Returns
    -------
    str
    """
    start = f"globalThis.attentionFigures ??= {{}};\nattentionFigures.{name} ="
    text = _text(name).replace("export default", start)
    # Readers load no comments: of a page's 250 KB they would take three.
    text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
    # A module is strict and has a scope of its own; a script is given both.
    return f'(() => {{\n"use strict";\n{text}\n}})();\n'


def scripts(name):
    """The files of a figure that a page loads.

    Parameters
    ----------
    name : str
        The figure's name, such as "causal".

    Returns
    -------
    dict of str to str
        The text of each script by the name of its file. The first is the
        module's; another holds data that only some states ask for.
    """
    found = {f"{name}.js": script(name)}
    if name in LATER:
        found[f"{LATER[name]}.js"] = _earlier_steps()
    return found


@lru_cache
def _engine(name):
    """The functions of a figure's module, callable from Python."""
    engine = quickjs.Context()
    engine.set_max_stack_size(4 * 2**20)
    for text in scripts(name).values():
        engine.eval(text)
    return engine.eval(
        # Not JSON.parse, which knows neither NaN nor Infinity.
        f"(what, state) => JSON.stringify("
        f"attentionFigures.{name}[what](eval(`(${{state}})`)))"
    )


def controls(name):
    """What can be set in a figure, as its module lists it.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    list of dict
        Each with ``key``, ``kind`` and its limits.
    """
    return json.loads(_engine(name)("controls", "null"))


def presets(name):
    """The ready-made settings of a figure, as its module lists them.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    dict of str to dict
        For each preset the settings that it fills in.
    """
    return json.loads(_engine(name)("presets", "null"))


def drawing(stored):
    """The part of a stored output that a page shows.

    A notebook that shows a stored output has no kernel that ran the cell, and
    no style for the drawing: there it is hidden, and a note says what to do.

    Parameters
    ----------
    stored : str
        The ``text/html`` of a figure's output.

    Returns
    -------
    str
        What the figure's `html` gave.

    Raises
    ------
    ValueError
        If no figure is there.
    """
    return stored[stored.index(HIDDEN) :].replace(HIDDEN, SHOWN, 1)


def plain(value):
    """An array or a NumPy number as Python's lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else value


class Setting:
    """A trait that takes NumPy's values too, and says its rule in words."""

    def validate(self, obj, value):
        given = plain(value)
        try:
            # To Python True is 1, and to a trait 1 is True: a slip, here.
            if isinstance(given, bool) != isinstance(self, Bool):
                self.error(obj, given)
            return super().validate(obj, given)
        except (TraitError, OverflowError):
            got = repr(value)
            got = got if len(got) <= 40 else f"{got[:40]}…"
            raise TraitError(
                f"{self.name} must be {self.rule}; got {got}"
            ) from None


class Text(Setting, Unicode):
    """A setting that is chosen from a list of texts."""

    rule = "a text"


class Whole(Setting, Int):
    """A setting that counts."""

    rule = "a whole number"


class Number(Setting, Float):
    """A setting that measures."""

    rule = "a number"


class Flag(Setting, Bool):
    """A setting that is on or off."""

    rule = "True or False"


class Matrix(Setting, List):
    """A setting that is a matrix; three tokens, if it is not told."""

    rule = "rows of numbers"

    def __init__(self, first=THREE_TOKENS):
        super().__init__(List(Number()), first)


class InteractiveFigure(anywidget.AnyWidget):
    """A figure with sliders; each subclass names its module and its state.

    Every trait that is synced is one setting. A setting that the figure
    cannot show is refused with the message that the page would show.

    Raises
    ------
    traitlets.TraitError
        If a setting has the wrong type or is out of range.
    """

    _name = ""
    _label = ""
    _without = (
        "Without scripts the figure has no controls and shows its first state."
    )
    _css = (FOLDER / "figures.css").read_text(encoding="utf-8")

    def __init_subclass__(cls, **options):
        # A widget puts a class of its own below each figure's: no name there.
        if "_name" in vars(cls):
            cls._esm = module(cls._name)
        super().__init_subclass__(**options)

    def __init__(self, **settings):
        for name in settings:
            self._know(name)
        super().__init__(**settings)
        self._check()

    def __setattr__(self, name, value):
        # A misspelt setting would be kept, and change nothing.
        if not hasattr(type(self), name) and not name.startswith("_"):
            self._know(name)
        super().__setattr__(name, value)

    @classmethod
    def _know(cls, name):
        if name not in cls._settings():
            raise TraitError(
                f"{cls.__name__} has no setting {name!r}; "
                f"it has {', '.join(cls._settings())}"
            )

    @classmethod
    def _settings(cls):
        inherited = anywidget.AnyWidget.class_trait_names()
        return [
            name
            for name in cls.class_trait_names(sync=True)
            if name not in inherited and not name.startswith("_")
        ]

    def _call(self, what, **more):
        state = {name: getattr(self, name) for name in self._settings()}
        state |= more
        return json.loads(_engine(self._name)(what, json.dumps(state)))

    def _check(self):
        """Refuse settings that cannot be shown, also when set later."""
        wrong = self._call("problem")
        if wrong:
            raise TraitError(wrong)

    @property
    def values(self):
        """The numbers that the figure shows, as its module computes them."""
        self._check()
        return self._call("values")

    def __repr__(self):
        return f"Interactive figure: {self._label}"

    def html(self):
        """The figure as a page shows it before its script runs."""
        self._check()
        state = {name: getattr(self, name) for name in self._settings()}
        return (
            f'<section class="av-figure" data-figure="{self._name}" '
            f'data-state="{escape(json.dumps(state))}" '
            f'aria-label="{escape(self._label)}">{self._call("shell")}'
            f"<noscript><p>{self._without}</p></noscript></section>"
        )

    def _repr_mimebundle_(self, **kwargs):
        note = (
            f"<p>Interactive figure: {escape(self._label)}. To see and move "
            "it, run this cell and those above it (menu Run: Run All "
            "Cells).</p>"
        )
        html = note + self.html().replace(SHOWN, HIDDEN, 1)
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        shown = {"text/plain": repr(self), "text/html": html}
        return {**data, **shown}, metadata


class Moving:
    """What a figure that moves by itself can be asked besides."""

    def frame(self, ms):
        """What is shown that many milliseconds after the start.

        Parameters
        ----------
        ms : float
            Milliseconds.

        Returns
        -------
        dict
            What changes with time as ``own``, the numbers as ``values``, and
            the drawing as ``html``.

        Examples
        --------
        >>> Words().frame(0)["own"]
        {'x': 2, 'y': 0.5}
        """
        self._check()
        return self._call("frame", ms=ms)


class CausalHeatmap(InteractiveFigure):
    """Masks, ALiBi and temperature on one matrix of weights.

    The score of query i and key j is ``cos(i - 2 j)``, divided by the
    temperature, minus ``slope * |i - j|``.

    Parameters
    ----------
    mask : str, default "causal"
        "none", "causal", "sliding", "padding" or "causal and left padding".
    T : int, default 8
        Tokens, from 2 to 64.
    window : int, default 3
        Keys that a query of the sliding mask sees, from 1 to 64.
    length : int, default 5
        Real tokens under the padding masks, from 0 to 64; more than `T`
        count as `T`.
    slope : float, default 0.0
        The ALiBi slope, from 0 to 1.
    temperature : float, default 1.0
        Divides the scores; from 0.1 to 4.
    query : int, default 5
        The row of the entry that is read out, from 0 to 63; one beyond the
        last counts as the last.
    key : int, default 3
        Its column, from 0 to 63; one beyond the last counts as the last.

    Examples
    --------
    >>> CausalHeatmap(T=3, mask="causal").values["weights"][0]
    [1, 0, 0]
    """

    _name = "causal"
    _label = "attention weights under masks, ALiBi and temperature"
    mask = Text("causal").tag(sync=True)
    T = Whole(8).tag(sync=True)
    window = Whole(3).tag(sync=True)
    length = Whole(5).tag(sync=True)
    slope = Number(0.0).tag(sync=True)
    temperature = Number(1.0).tag(sync=True)
    query = Whole(5).tag(sync=True)
    key = Whole(3).tag(sync=True)


class StepThrough(InteractiveFigure):
    """Every matrix of one attention call, and what made each entry.

    Starts from `X`, which is then queries, keys and values at once, or from
    `Q`, `K` and `V` where one of them is given.

    Parameters
    ----------
    what : str, default "X"
        What is shown: "X" or "Q, K, V".
    X : (T, d) array
        Queries, keys and values at once. All four matrices have 1 to 6 rows
        of 1 to 6 numbers, each from -100 to 100.
    Q : (T, d_k) array
        Queries.
    K : (S, d_k) array
        Keys.
    V : (S, d_v) array
        Values.
    scale : bool, default True
        Divide the scores by the root of d_k.
    causal : bool, default False
        Hide later keys; the queries are the last of the positions.

    Examples
    --------
    >>> StepThrough(X=[[1, 0], [1, 1]]).values["dots"]
    [[1, 1], [1, 2]]
    """

    _name = "step"
    _label = "attention step by step, from the numbers that you type"
    what = Text("X").tag(sync=True)
    X = Matrix().tag(sync=True)
    Q = Matrix().tag(sync=True)
    K = Matrix().tag(sync=True)
    V = Matrix().tag(sync=True)
    scale = Flag(True).tag(sync=True)
    causal = Flag(False).tag(sync=True)

    def __init__(self, **settings):
        if not {"Q", "K", "V"}.isdisjoint(settings):
            settings.setdefault("what", "Q, K, V")
        super().__init__(**settings)


class Saturation(InteractiveFigure):
    """How the width of queries and keys hardens the softmax.

    Thirty-two queries and up to 64 keys hold standard normal numbers, made
    from the seed by mulberry32 and the Box-Muller formula.

    Parameters
    ----------
    d_k : int, default 64
        Width of queries and keys: a power of two from 1 to 1024.
    scale : bool, default False
        Divide the scores by the root of d_k.
    S : int, default 32
        Keys, from 2 to 64.
    seed : int, default 0
        Which random numbers; from 0 to 9999.

    Examples
    --------
    >>> figure = Saturation(d_k=1024, scale=False)
    >>> figure.values["largest"] > 0.8
    True
    """

    _name = "saturation"
    _label = "scores and weights as the width d_k grows"
    d_k = Whole(64).tag(sync=True)
    scale = Flag(False).tag(sync=True)
    S = Whole(32).tag(sync=True)
    seed = Whole(0).tag(sync=True)


class HeadsAndGroups(InteractiveFigure):
    """Columns cut into heads, and heads that share keys and values.

    Head h owns columns ``h * d_k`` to ``h * d_k + d_k - 1`` and reads
    key/value head ``h // (H / H_kv)``. Parameters are those of one layer
    with ``d_model = H * d_k``, ``d_v = d_k`` and no biases; the cache holds
    2 bytes a number.

    Parameters
    ----------
    H : int, default 4
        Query heads, from 1 to 64.
    H_kv : int, default 2
        Key/value heads, from 1 to 64; they divide `H`.
    d_k : int, default 2
        Width of a head, from 1 to 128.
    T : int, default 3
        Tokens, from 1 to 6.
    column : int, default 5
        The column to follow, from 0 to 8191; one beyond the last counts as
        the last.

    Examples
    --------
    >>> HeadsAndGroups(H=4, H_kv=2).values["kv_head"]
    [0, 0, 1, 1]
    """

    _name = "heads"
    _label = "columns cut into heads, and heads that share keys and values"
    H = Whole(4).tag(sync=True)
    H_kv = Whole(2).tag(sync=True)
    d_k = Whole(2).tag(sync=True)
    T = Whole(3).tag(sync=True)
    column = Whole(5).tag(sync=True)


class Positions(InteractiveFigure):
    """Sinusoids, rotations and biases, one method at a time.

    *sinusoid*: `T` positions in ``2 * pairs`` columns; `pair` is drawn as
    two waves. *RoPE*: a query that is (1, 0) in each pair, turned to
    position `m`, and a key that is `angle` degrees ahead of it in each
    pair, turned to `n`; `shift` moves both. Scores are divided by the root
    of ``2 * pairs``, and ``by_distance`` runs from -32 to 32. *ALiBi*:
    slopes by `rule`, and the bias of each head at distances 0 to T - 1.

    Parameters
    ----------
    kind : str, default "sinusoid"
        "sinusoid", "RoPE" or "ALiBi".
    T : int, default 8
        Positions, from 2 to 64.
    pairs : int, default 4
        Pairs of columns, from 1 to 16.
    pair : int, default 1
        The pair to follow, from 0 to 15; one beyond the last counts as the
        last.
    m : int, default 3
        Position of the query, from 0 to 32.
    n : int, default 1
        Position of the key, from 0 to 32.
    shift : int, default 0
        Positions by which both are moved, from 0 to 1000.
    angle : float, default 90.0
        Degrees by which the key is ahead, from -180 to 180.
    heads : int, default 8
        Heads, from 1 to 16.
    rule : str, default "reference"
        "reference" or "paper", as in `helpers.positions.alibi_slopes`.

    Examples
    --------
    >>> Positions(kind="ALiBi", heads=2, T=3).values["slopes"]
    [0.0625, 0.00390625]
    """

    _name = "positions"
    _label = "sinusoids, rotations and biases"
    kind = Text("sinusoid").tag(sync=True)
    T = Whole(8).tag(sync=True)
    pairs = Whole(4).tag(sync=True)
    pair = Whole(1).tag(sync=True)
    m = Whole(3).tag(sync=True)
    n = Whole(1).tag(sync=True)
    shift = Whole(0).tag(sync=True)
    angle = Number(90.0).tag(sync=True)
    heads = Whole(8).tag(sync=True)
    rule = Text("reference").tag(sync=True)


class KVCacheCalculator(Moving, InteractiveFigure):
    """The bytes that the keys and values of all positions take.

    ``n_layers * n_kv_heads * (d_k + d_v)`` numbers for each of `S`
    positions in each of `batch` sequences. ``now`` are the bytes of all keys
    and of all values so far, ``room`` the positions of each sequence that
    `memory` has room for. Counts are exact integers; MiB
    and GiB are binary. More than 1 PiB is refused. ``presets("kvcache")``
    holds the sizes of published models.

    Parameters
    ----------
    n_layers : int, default 32
        Layers, from 1 to 256.
    n_kv_heads : int, default 8
        Key/value heads, from 1 to 256.
    d_k : int, default 128
        Width of a key in one head, from 1 to 1024.
    d_v : int, default 128
        Width of a value in one head, from 1 to 1024.
    S : int, default 8192
        Positions, from 1 to 10000000.
    batch : int, default 1
        Sequences, from 1 to 4096.
    filled : int, default 10000000
        Positions that each sequence has by now, from 0 to 10000000; more
        than `S` count as `S`. The film moves them.
    memory : int, default 80
        What the memory holds, in GB of 10**9 bytes, from 1 to 10000.
    dtype : str, default "float16 or bfloat16"
        "float32", "float16 or bfloat16" or "8 bits".

    Examples
    --------
    >>> gpt2 = presets("kvcache")["GPT-2 small"]
    >>> KVCacheCalculator(**gpt2, S=1024).values["mib"]
    36
    """

    _name = "kvcache"
    _label = "calculator for the memory of a KV cache"
    n_layers = Whole(32).tag(sync=True)
    n_kv_heads = Whole(8).tag(sync=True)
    d_k = Whole(128).tag(sync=True)
    d_v = Whole(128).tag(sync=True)
    S = Whole(8192).tag(sync=True)
    batch = Whole(1).tag(sync=True)
    filled = Whole(10000000).tag(sync=True)
    memory = Whole(80).tag(sync=True)
    dtype = Text("float16 or bfloat16").tag(sync=True)


class Tiles(Moving, InteractiveFigure):
    """Exact attention that visits one block of scores at a time.

    The score of query i and key j is ``(1 + j / 8) cos(i - 2 j)``. Blocks
    are visited query block by query block; with `causal`, those above the
    diagonal are left out. ``maxima``, ``factors``, ``added`` and ``sums``
    are what one query remembers after each of its blocks among the first
    `step`: the maximum so far, the factor on the old sum, what the block
    adds, and the sum of exponentials. ``held`` counts numbers in memory at
    once, besides inputs and output: plain attention all scores, tiles one
    block of scores and two numbers for each of its queries. ``keys_read``
    counts rows of keys. ``tile`` is what the small memory has after the last
    visit: the block's scores, None where a key is later than the query, and
    the maximum and the sum of each of its queries.

    Parameters
    ----------
    T : int, default 12
        Tokens, from 2 to 64.
    block_q : int, default 4
        Queries in a block, from 1 to 64; more than `T` count as `T`.
    block_k : int, default 4
        Keys in a block, from 1 to 64; more than `T` count as `T`.
    causal : bool, default True
        Leave out the blocks above the diagonal.
    step : int, default 5
        Blocks visited, from 0 to 4096; more than there are count as all.
    row : int, default 10
        The query to follow, from 0 to 63; one beyond the last counts as the
        last.

    Examples
    --------
    >>> figure = Tiles(T=8, block_q=4, block_k=4, causal=True)
    >>> figure.values["blocks"]
    [[0, 4, 0, 4], [4, 8, 0, 4], [4, 8, 4, 8]]
    """

    _name = "tiles"
    _label = "attention computed block by block"
    T = Whole(12).tag(sync=True)
    block_q = Whole(4).tag(sync=True)
    block_k = Whole(4).tag(sync=True)
    causal = Flag(True).tag(sync=True)
    step = Whole(5).tag(sync=True)
    row = Whole(10).tag(sync=True)


class Induction(InteractiveFigure):
    """A small trained transformer, and what its four heads attend to.

    The model is `helpers.training.INDUCTION` with its stored weights: after
    300 steps those of 16 bits, before that those of 8. It was trained on
    rows of 6 to 12 different symbols that repeat. Of each position that the
    model reads, `logits` has a row, of each head of each block `weights` has
    one, and ``stream`` has three: the embedding that enters block 0, what
    enters block 1, and what leaves it. ``answer`` is what followed the last
    time that the symbol of the query was read, ``counted`` the positions that
    have one, ``right`` those of them where the model says it.

    Parameters
    ----------
    symbols : str, default "FLICKEDFLICK"
        What the model reads: letters from A to L, from 1 to 32 of them.
    query : int, default 31
        The position to follow, from 0 to 31; one beyond the last counts as
        the last.
    step : int, default 300
        Steps of training: 0, 20, 40, 60, 80, 100, 150 or 300.
    head_0_0 : bool, default True
        Whether head 0 of block 0 is switched on.
    head_0_1 : bool, default True
        Whether head 1 of block 0 is.
    head_1_0 : bool, default True
        Whether head 0 of block 1 is.
    head_1_1 : bool, default True
        Whether head 1 of block 1 is.

    Examples
    --------
    >>> values = Induction(symbols="FLICKEDFLICK").values
    >>> "ABCDEFGHIJKL"[values["said"]]
    'E'
    """

    _name = "induction"
    _label = "a trained transformer and its four heads"
    symbols = Text("FLICKEDFLICK").tag(sync=True)
    query = Whole(31).tag(sync=True)
    step = Whole(300).tag(sync=True)
    head_0_0 = Flag(True).tag(sync=True)
    head_0_1 = Flag(True).tag(sync=True)
    head_1_0 = Flag(True).tag(sync=True)
    head_1_1 = Flag(True).tag(sync=True)


class Words(Moving, InteractiveFigure):
    """One word asks, and takes from each word as much as it fits.

    The last word of *the cat drank milk because it* has the query (x, y).
    The keys were chosen by hand: the first number says how much a word is
    alive, the second how much it is a drink. Scores are divided by the root
    of two. On a page the query turns away and returns, once.

    Parameters
    ----------
    x : float, default 2.0
        How much the query asks for what is alive; from -3 to 3.
    y : float, default 0.5
        How much it asks for a drink; from -3 to 3.

    Examples
    --------
    >>> Words(x=2, y=0).values["dots"]
    [-2, 4, 2, 0, -2, 1]
    """

    _name = "words"
    _label = "a word that asks, and what the others answer"
    x = Number(2.0).tag(sync=True)
    y = Number(0.5).tag(sync=True)


class Film(Moving, InteractiveFigure):
    """One query from its words to its output, step by step.

    Rows of `X` are queries, keys and values at once; or, where one of `W_Q`,
    `W_K` and `W_V` is given, the query ``q``, the keys ``K`` and the values
    ``V`` are made from them first, a step for each row. The query meets each
    key, a step each; then all dot products are divided by the root of d_k,
    exponentials are taken and summed, each is divided by the sum, and the
    values, each times its weight, are added up. A page without scripts shows
    the film as a strip of stills.

    Parameters
    ----------
    words : str, default "cat sat mat"
        A word for each row of `X`: from 2 to 4 of at most 7 letters, with a
        blank between them.
    X : (T, d) array
        2 to 4 rows of 1 to 4 numbers, each from -2 to 2 and of at most two
        decimals.
    query : int, default 0
        The row that asks, from 0 to 3; one beyond the last counts as the
        last.
    what : str, default "X"
        What the film starts from: "X" or "X, W_Q, W_K, W_V".
    W_Q : (d, d_k) array
        Makes queries; it and the other two have 1 to 4 rows, as many as `X`
        has columns, of 1 to 3 such numbers.
    W_K : (d, d_k) array
        Makes keys.
    W_V : (d, d_v) array
        Makes values.
    at : float, default 7.0
        Where the film is, in steps, from 0 to 18; beyond its end it is at its
        end. With matrices the default is the end.

    Examples
    --------
    >>> Film().values["dots"]
    [2, 0, 1]
    >>> Film(what="X, W_Q, W_K, W_V").values["q"]
    [2, 0]
    """

    _name = "film"
    _label = "one query on its way, as a film"
    words = Text("cat sat mat").tag(sync=True)
    X = Matrix().tag(sync=True)
    query = Whole(0).tag(sync=True)
    what = Text("X").tag(sync=True)
    W_Q = Matrix([[1.0, 0], [0, 1], [1, 0], [0, 1]]).tag(sync=True)
    W_K = Matrix([[1.0, 1], [1, 0], [0, 1], [1, 0]]).tag(sync=True)
    W_V = Matrix([[1.0, 0], [0, 1], [1, 1], [0, 1]]).tag(sync=True)
    at = Number(7.0).tag(sync=True)
    _without = "Without scripts the film has no controls: here are its stills."

    def __init__(self, **settings):
        if not {"W_Q", "W_K", "W_V"}.isdisjoint(settings):
            settings.setdefault("what", "X, W_Q, W_K, W_V")
        what = settings.get("what")
        if isinstance(what, str) and what != "X":
            settings.setdefault("at", 18.0)
        super().__init__(**settings)


class Roof(InteractiveFigure):
    """The work of one layer under the roof of a machine.

    Heads are 128 columns wide, numbers have 16 bits, and the model is as wide
    as its heads together. ``points`` has FLOPs, bytes, FLOPs per byte and the
    most FLOPs in a second of five kinds of work: attention over the prompt
    with the scores not stored ("prefill") and stored ("stored"), the
    projections of the prompt ("read"), attention of one new token of each
    sequence over `T` keys ("decode"), and its projections ("write").
    ``prompt`` and ``token`` are the least seconds of attention, scores not
    stored, and projections together.

    Parameters
    ----------
    device : str, default "A100"
        "A100", "TPU v5e" or "H100".
    T : int, default 2048
        Tokens of a sequence: a power of two from 1 to 32768.
    batch : int, default 1
        Sequences: a power of two from 1 to 256.
    heads : int, default 32
        Query heads: a power of two from 1 to 64.
    shared : int, default 4
        Query heads that share one key/value head: a power of two from 1 to
        64; more than `heads` count as all.

    Examples
    --------
    >>> Roof().values["balance"]
    156
    """

    _name = "roof"
    _label = "the work of one layer under the roof of a machine"
    device = Text("A100").tag(sync=True)
    T = Whole(2048).tag(sync=True)
    batch = Whole(1).tag(sync=True)
    heads = Whole(32).tag(sync=True)
    shared = Whole(4).tag(sync=True)


class Projections(InteractiveFigure):
    """Two tokens in the plane, and the query, key and value made of them.

    Token x asks and token y is asked: ``q = x W_Q``, ``k = y W_K`` and
    ``v = y W_V``, each a row times a matrix. The dot product of q and k is the
    ``length`` of q times the ``shadow`` of k on it, which ends at ``foot``.

    Parameters
    ----------
    x1 : float, default 1.0
        First number of x; from -2 to 2.
    x2 : float, default 1.5
        Second number of x; from -2 to 2.
    y1 : float, default 1.5
        First number of y; from -2 to 2.
    y2 : float, default -1.0
        Second number of y; from -2 to 2.
    W_Q : (2, 2) array
        Makes queries; this and the other two hold numbers from -1 to 1.
    W_K : (2, 2) array
        Makes keys.
    W_V : (2, 2) array
        Makes values.

    Examples
    --------
    >>> Projections(x1=2, x2=0, W_Q=[[1, 0], [0, 1]]).values["q"]
    [2, 0]
    """

    _name = "project"
    _label = "queries, keys and values as arrows in the plane"
    x1 = Number(1.0).tag(sync=True)
    x2 = Number(1.5).tag(sync=True)
    y1 = Number(1.5).tag(sync=True)
    y2 = Number(-1.0).tag(sync=True)
    W_Q = Matrix([[1.0, -0.5], [1.0, 0.5]]).tag(sync=True)
    W_K = Matrix([[0.5, 1.0], [-1.0, 0.0]]).tag(sync=True)
    W_V = Matrix([[-1.0, 0.0], [0.5, 1.0]]).tag(sync=True)


class Temperature(InteractiveFigure):
    """The weights of a row of scores that are divided by a temperature.

    On a page the ghost goes where the temperature was when the reader took
    hold of its slider. ``entropy`` is that of the weights, ``before`` that of
    the ghost.

    Parameters
    ----------
    temperature : float, default 0.2
        Divides the scores: 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5,
        2, 3, 5, 10, 20, 50 or 100.
    ghost : float, default 1.0
        The temperature of the weights that are outlined: 0.01, 0.02, 0.05,
        0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50 or 100.
    scores : (1, n) array
        Two to eight scores, each from -10 to 10.

    Examples
    --------
    >>> Temperature(scores=[[3, 3]]).values["weights"]
    [0.5, 0.5]
    """

    _name = "temperature"
    _label = "the weights of a row of scores at a temperature"
    temperature = Number(0.2).tag(sync=True)
    ghost = Number(1.0).tag(sync=True)
    scores = Matrix([[0.0, 0.75, 0.5, -0.75]]).tag(sync=True)


class Backward(InteractiveFigure):
    """A gradient of the output, and every gradient that follows from it.

    `dY` is the gradient of a loss with respect to the output of attention;
    ``means`` are those of each row of ``dA`` under its weights.

    Parameters
    ----------
    entry : int, default 4
        The entry of `dY` that is followed and stepped, counted row by row;
        from 0 to 15. One beyond the last counts as the last.
    dY : (T, d_v) array
        The gradient of the output. All four matrices have 1 to 4 rows of 1 to
        4 numbers, each from -10 to 10.
    Q : (T, d_k) array
        Queries.
    K : (S, d_k) array
        Keys.
    V : (S, d_v) array
        Values.
    causal : bool, default True
        Hide later keys; the queries are the last of the positions.

    Examples
    --------
    >>> Backward(Q=[[1]], K=[[0], [0]], V=[[2], [4]], dY=[[1]]).values["dV"]
    [[0.5], [0.5]]
    """

    _name = "backward"
    _label = "every gradient of attention, from that of its output"
    entry = Whole(4).tag(sync=True)
    dY = Matrix([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]).tag(sync=True)
    Q = Matrix([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).tag(sync=True)
    K = Matrix([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).tag(sync=True)
    V = Matrix([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]]).tag(sync=True)
    causal = Flag(True).tag(sync=True)
