"""Interactive figures: one Python object, one JavaScript module each.

In Jupyter an object is a widget whose traits follow its sliders. On the
static page the same module runs with no kernel. Without scripts the page
shows the figure's first state, which the module itself has drawn: Python runs
it in a small JavaScript engine and stores what it returns.

A module lists its settings once, as its ``controls``: each with what it sets,
its limits, and the value it starts with. Traits and docstrings below are made
from that list. `classes` gives the figures by the names of their modules.
"""

import inspect
import json
import re
import textwrap
from functools import lru_cache, partial
from html import escape
from pathlib import Path

from . import cards, real_heads
from ._extras import extra
from ._modules import joined
from .training import stored

with extra("figures"):
    import anywidget
    import quickjs
    from traitlets import Bool, Dict, Float, Int, List, TraitError, Unicode

FOLDER = Path(__file__).resolve().parent / "js"
SHOWN, HIDDEN = "<section ", '<section hidden="hidden" '


def _data(name, value):
    """A script that gives a module data, which it asks for with `known`."""
    start = "globalThis.attentionData ??= {};\nglobalThis.attentionData"
    return f'{start}["{name}"] = {json.dumps(value)};\n'


def _untrained():
    """The first weights of the induction model, and how each step fares."""
    checkpoints = stored("induction-steps")["checkpoints"]
    given = {
        "weights": checkpoints[0]["weights"],
        "steps": [c["step"] for c in checkpoints],
        "accuracy": [c["accuracy"] for c in checkpoints],
    }
    return _data("induction", given)


def _compared():
    """The right answers of every seed, of schemes as trained and with YaRN."""
    rows = []
    for found in stored("longer")["results"]:
        way = found["rescaled"]
        if way in ("as trained", "YaRN"):
            rescaled = way == "YaRN"
            name = found["kind"] + ", YaRN" * rescaled
            shares = {test: found[test] for test in ("near", "far")}
            rows.append({"name": name, "rescaled": rescaled, **shares})
    return _data("schemes", rows)


def _evidence():
    """The shares right of some stored designs, one for each seed."""
    runs = {
        f"{v['group']}: {v['name']}": v["accuracy"]
        for v in stored("evidence")["variants"]
        if v["group"] in ("positions", "heads")
    }
    return _data("evidence", runs)


def _texts():
    """The names of the texts, and of the first what the picture needs."""
    names = real_heads.NAMES
    return _data("realheads", {"names": names, "first": real_heads.opening()})


def _word_model():
    """The words and the parameters of the word model, in hundredths."""
    kept = stored("words")
    given = {"words": kept["vocabulary"], "hundredths": kept["hundredths"]}
    return _data("flow", given)


def _cards():
    """Configurations, and which of their keys are read or refused."""
    names = (
        *("all_sliding", "delta", "gated", "idle", "kimi", "longest"),
        *("read", "refused", "state_keys", "widest"),
    )
    rules = {name: getattr(cards, name.upper()) for name in names}
    types = (cards.FULL, cards.SLIDING, cards.CHUNKED, cards.LINEAR)
    return _data(
        "card", {"models": cards.MODELS, "rules": {**rules, "types": types}}
    )


# Data that a module always has.
GIVEN = {
    "flow": _word_model,
    "induction": _untrained,
    "schemes": _compared,
    "evidence": _evidence,
    "realheads": _texts,
    "card": _cards,
}


def _later_steps():
    """The weights after the first step, the last of them in 16 bits."""
    _, *later = stored("induction-steps")["checkpoints"]
    weights = {c["step"]: c["weights"] for c in later}
    weights[later[-1]["step"]] = stored("induction")["weights"]
    return weights


# Data that a page loads only when a state asks for it, file by file.
LATER = {
    "induction": {"induction-steps": _later_steps},
    "realheads": {
        real_heads.file_of(name): partial(real_heads.shown, name)
        for name in real_heads.NAMES
    },
}


@lru_cache
def _later(name):
    """The texts of these files, by their names."""
    return {
        file: _data(file, made()) for file, made in LATER.get(name, {}).items()
    }


def _text(name):
    """The module of a figure without what is loaded later."""
    given = GIVEN[name]() if name in GIVEN else ""
    return given + joined(FOLDER, f"{name}.js")


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
    return "".join(_later(name).values()) + _text(name)


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
    text = re.sub(r"^/\*\*.*?\*/\n", "", text, flags=re.MULTILINE | re.DOTALL)
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
        module's; others hold data that only some states ask for.
    """
    later = {f"{file}.js": text for file, text in _later(name).items()}
    return {f"{name}.js": script(name), **later}


def styles(*names):
    """The style sheet of some figures.

    Parameters
    ----------
    *names : str
        The figures' names. What several figures have comes first, then the
        rules of each, where it has some of its own.

    Returns
    -------
    str
    """
    files = [FOLDER / f"{name}.css" for name in ("figures", *names)]
    return "".join(f.read_text(encoding="utf-8") for f in files if f.exists())


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
    """The settings of a figure, as its module lists them.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    list of dict
        Each with ``key``, ``kind`` and ``label``; ``first``, which it starts
        with; ``about``, what it sets; and its limits.
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


def card(name):
    """The part of a figure that its card on the landing page shows.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    dict or None
        The selector of the drawing as ``part``; ``which`` of several, the
        ``box`` that is cut out, and the ``state``, where they are not the
        first or the whole. None for a figure that has no card.
    """
    return json.loads(_engine(name)("card", "null"))


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
            # And a text takes bytes.
            flag = isinstance(given, bool) != isinstance(self, Bool)
            if flag or isinstance(given, bytes):
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
    """A setting that is a matrix."""

    rule = "rows of numbers"

    def __init__(self, first):
        super().__init__(List(Number()), first)


TRAITS = {
    "choice": Text,
    "symbols": Text,
    "words": Text,
    "text": Text,
    "flag": Flag,
    "matrix": Matrix,
}


def _trait(control):
    """The trait of a control, with the value that it starts with."""
    kind, first = control["kind"], control["first"]
    if kind in TRAITS:
        return TRAITS[kind](first)
    stops = control.get("stops", [first])
    whole = kind == "power" or control.get("step", 1) == 1
    if whole and all(isinstance(stop, int) for stop in stops):
        return Whole(first)
    return Number(float(first))


def _limits(control):
    """The values that a setting may have, in words."""
    kind = control["kind"]
    low, high = control.get("min"), control.get("max")
    if kind == "choice":
        quoted = [f'"{option}"' for option in control["options"]]
        return f"one of {', '.join(quoted)}"
    if kind == "stops":
        return f"one of {', '.join(map(str, control['stops']))}"
    if kind == "power":
        return f"a power of two from {low} to {high}"
    if kind == "symbols":
        letters = control["letters"]
        return f"{low} to {high} letters from {letters[0]} to {letters[-1]}"
    if kind == "words":
        return (
            f"from {low} to {high}, each of at most {control['letters']} "
            "letters, with a blank between them"
        )
    if kind == "text":
        return f"at most {high} characters"
    if kind == "matrix":
        rows, columns = (
            f"{least} to {most}" if least < most else f"{most}"
            for least, most in (control["rows"], control["columns"])
        )
        row = "row" if rows == "1" else "rows"
        return f"{rows} {row} of {columns} numbers from {low} to {high}"
    return f"from {low} to {high}"


def _parameter(control, trait):
    """A setting as numpydoc writes a parameter."""
    if isinstance(trait, Matrix):
        first = f"{control['shape']} array"
    elif control["kind"] == "text":
        first = "str"  # what it starts with may be long
    else:
        name = type(trait.default_value).__name__
        quote = '"' if name == "str" else ""
        first = f"{name}, default {quote}{trait.default_value}{quote}"
    text = control["about"]
    if not isinstance(trait, Flag):
        text += f"; {_limits(control)}"
    about = textwrap.indent(textwrap.fill(f"{text}.", 71), "    ")
    return f"{control['key']} : {first}\n{about}"


def _documented(doc, parameters):
    """A class's docstring with its settings before its examples."""
    about, heading, examples = inspect.cleandoc(doc).partition("Examples\n---")
    lines = [about.rstrip(), "", "Parameters", "----------", *parameters]
    return "\n".join([*lines, "", heading + examples])


class InteractiveFigure(anywidget.AnyWidget):
    """A figure with sliders; each subclass names its module.

    Every trait that is synced is one setting, as the module's controls list
    it. A setting that the figure cannot show is refused with the message that
    the page would show.

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

    def __init_subclass__(cls, **options):
        # A widget puts a class of its own below each figure's: no name there.
        if "_name" in vars(cls):
            cls._esm, cls._css = module(cls._name), styles(cls._name)
            cls._declare(controls(cls._name))
        super().__init_subclass__(**options)

    @classmethod
    def _declare(cls, listed):
        """Make the settings that a module lists traits, and document them."""
        parameters = []
        for control in listed:
            missing = [k for k in ("first", "about") if k not in control]
            if missing:
                raise ValueError(
                    f"control {control['key']!r} of {cls._name}.js needs "
                    f"{' and '.join(missing)}"
                )
            trait = _trait(control).tag(sync=True)
            setattr(cls, control["key"], trait)
            trait.class_init(cls, control["key"])
            parameters.append(_parameter(control, trait))
        cls.__doc__ = _documented(cls.__doc__, parameters)

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

    def _own(self):
        """What the figure has beside its settings, by the name ``own``."""
        return {}

    def _call(self, what, **more):
        state = {name: getattr(self, name) for name in self._settings()}
        state |= more
        if what in ("shell", "values"):
            state |= self._own()
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
    """A figure that moves by itself; it can be asked for any moment."""

    def frame(self, ms):
        """The picture that many milliseconds after the start.

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

    Examples
    --------
    >>> CausalHeatmap(T=3, mask="causal").values["weights"][0]
    [1, 0, 0]
    """

    _name = "causal"
    _label = "attention weights under masks, ALiBi and temperature"


class MaskPainter(InteractiveFigure):
    """A mask that is painted cell by cell, and the outputs under it.

    The sentence is *dogs bark pad pad*, where the last two tokens are padding.
    The scores and values are fixed. ``padding`` and ``later`` are the weights
    that each query gives to padding and to later words, and ``empty`` lists
    the queries that may attend to nothing.

    Examples
    --------
    >>> MaskPainter(may=[[0, 0, 0, 0]] * 4).values["output"][1]
    [0, 0]
    """

    _name = "mask"
    _label = "a mask to paint, and the weights and outputs under it"


class StepThrough(InteractiveFigure):
    """Every matrix of one attention call, and what made each entry.

    Starts from `X`, which is then queries, keys and values at once, or from
    `Q`, `K` and `V` where one of them is given.

    Examples
    --------
    >>> StepThrough(X=[[1, 0], [1, 1]]).values["dots"]
    [[1, 1], [1, 2]]
    """

    _name = "step"
    _label = "attention step by step, from the numbers that you type"

    def __init__(self, **settings):
        if not {"Q", "K", "V"}.isdisjoint(settings):
            settings.setdefault("what", "Q, K, V")
        super().__init__(**settings)


class Saturation(InteractiveFigure):
    """How the width of queries and keys hardens the softmax.

    Thirty-two queries and up to 64 keys hold standard normal numbers, made
    from the seed by mulberry32 and the Box-Muller formula.

    Examples
    --------
    >>> figure = Saturation(d_k=1024, scale=False)
    >>> figure.values["largest"] > 0.8
    True
    """

    _name = "saturation"
    _label = "scores and weights as the width d_k grows"


class TwoHeads(InteractiveFigure):
    """Three objects that look for objects like themselves, with two heads.

    Head 0 owns the first `cut` columns of red, blue, ball and box, and head 1
    the others; each compares and mixes its own columns only. A feature that
    two objects share multiplies the exponential by 4. ``weights`` has those of
    both heads, zero where a head owns no column, and ``output`` the merged
    rows, where the columns of a head that is off are zero.

    Examples
    --------
    >>> [round(w, 3) for w in TwoHeads().values["weights"][0][0]]
    [0.444, 0.111, 0.444]
    """

    _name = "objects"
    _label = "three objects, and what one head or two take from each"


class HeadsAndGroups(InteractiveFigure):
    """Columns cut into heads, and heads that share keys and values.

    Head h owns columns ``h * d_k`` to ``h * d_k + d_k - 1`` and reads
    key/value head ``h // (H / H_kv)``. Parameters are those of one layer
    with ``d_model = H * d_k``, ``d_v = d_k`` and no biases; the cache holds
    2 bytes a number.

    Examples
    --------
    >>> HeadsAndGroups(H=4, H_kv=2).values["kv_head"]
    [0, 0, 1, 1]
    """

    _name = "heads"
    _label = "columns cut into heads, and heads that share keys and values"


class Positions(InteractiveFigure):
    """Sinusoids, rotations and biases, one method at a time.

    *sinusoid*: `T` positions in ``2 * pairs`` columns; `pair` is drawn as
    two waves. *RoPE*: a query that is (1, 0) in each pair, turned to
    position `m`, and a key that is `angle` degrees ahead of it in each
    pair, turned to `n`; `shift` moves both. Scores are divided by the root
    of ``2 * pairs``, and ``by_distance`` runs from -32 to 32. *ALiBi*:
    slopes by `rule`, and the bias of each head at distances 0 to T - 1.

    Examples
    --------
    >>> Positions(kind="ALiBi", heads=2, T=3).values["slopes"]
    [0.0625, 0.00390625]
    """

    _name = "positions"
    _label = "sinusoids, rotations and biases"


class KVCacheCalculator(Moving, InteractiveFigure):
    """The bytes that the keys and values of all positions take.

    ``n_layers * n_kv_heads * (d_k + d_v)`` numbers for each of `S`
    positions in each of `batch` sequences. ``now`` are the bytes of all keys
    and of all values so far, ``room`` the positions of each sequence that
    `memory` has room for. Counts are exact integers; MiB
    and GiB are binary. More than 1 PiB is refused. ``presets("kvcache")``
    holds the sizes of published models.

    Examples
    --------
    >>> gpt2 = presets("kvcache")["GPT-2 small"]
    >>> KVCacheCalculator(**gpt2, S=1024).values["mib"]
    36
    """

    _name = "kvcache"
    _label = "calculator for the memory of a KV cache"


class Tiles(Moving, InteractiveFigure):
    """Exact attention that visits one block of scores at a time.

    The score of query i and key j is ``(1 + j / 8) cos(i - 2 j)``. Blocks
    are visited query block by query block; with `causal`, those above the
    diagonal are left out. ``maxima``, ``factors``, ``added`` and ``sums``
    are what one query remembers after each of its blocks among the first
    `step`: the maximum so far, the factor on the old sum, what the block
    adds, and the sum of exponentials. ``held`` counts numbers in memory at
    once, beyond inputs and output: for plain attention all scores, for
    tiles one block of scores and two numbers per query of the block.
    ``keys_read`` counts rows of keys. ``tile`` is what the on-chip memory
    has after the last visit: the block's scores, None where a key is later
    than the query, and the maximum and the sum of each of its queries.

    Examples
    --------
    >>> figure = Tiles(T=8, block_q=4, block_k=4, causal=True)
    >>> figure.values["blocks"]
    [[0, 4, 0, 4], [4, 8, 0, 4], [4, 8, 4, 8]]
    """

    _name = "tiles"
    _label = "attention computed block by block"


class Machines(Moving, InteractiveFigure):
    """Eight keys on several machines: what a tree sends, and what a ring.

    The scores of query 0 are the logarithms of 2, 1, 3, 3, 1, 5, 4, 5; those
    of query i are these times cos(i). In the *tree* the queries go out from
    machine 0, each machine attends over its own keys, and the partial results
    are merged in pairs. In the *ring* each machine owns a part of the queries,
    and the keys and values go round. A query is one number, a partial result
    two for each query, a key with its value two. ``outputs`` and
    ``logsumexps`` have a row for each machine and a column for each query,
    None where the machine has no partial result. ``sent`` counts numbers up
    to the last whole step, ``totals`` those of each plan, and from
    ``ring_from`` queries on the ring sends fewer.

    Examples
    --------
    >>> Machines().values["totals"]
    {'tree': 9, 'ring': 48}
    """

    _name = "machines"
    _label = "a tree and a ring of machines that share the keys"


class Balance(InteractiveFigure):
    """Machines in a ring under a causal mask: who works, and who waits.

    Each machine has queries and keys at its positions, and computes the pairs
    of its queries. In round r machine w holds the keys of machine w - r, and
    a round lasts until its slowest machine is done; a pair takes one unit of
    time. ``rounds`` has the pairs of each round and machine, ``ends`` the
    time that each plan takes, ``when`` the time at which each pair is done,
    None where the mask forbids, and ``busy`` the share of the machines' time
    in which they compute.

    Examples
    --------
    >>> Balance().values["ends"]
    {'contiguous': 58, 'striped': 40, 'zigzag': 34}
    """

    _name = "balance"
    _label = "who works and who waits under a causal mask"


class Checks(InteractiveFigure):
    """Nine programs for attention, and six checks of each.

    The first program is right, and each of the others has one mistake. At
    `tokens` 0 the queries and keys are the three unit vectors, at 1 they share
    no symmetry. A check compares pairs of numbers: ``found`` and ``expected``
    are the first pair that differs, or the first of all, by program and check;
    ``refused`` is 1 where they differ, by more than rounding, and 0 elsewhere.

    Examples
    --------
    >>> [sum(row) for row in Checks(tokens=0).values["refused"]][:3]
    [0, 2, 2]
    """

    _name = "checks"
    _label = "which checks refuse which wrong programs"


class Digits(InteractiveFigure):
    """A printed number on a line with the value that it should round to.

    The value is what an example counts, in the unit that is chosen, plus
    `shift` hundredths of the last printed digit. It reproduces the printed
    digits if it is within half a unit of the last of them, ties included;
    ``off`` is how far it is away, in these units. The comparison is one of
    whole numbers, and exact.

    Examples
    --------
    >>> Digits(prefix="decimal").values["reproduced"]
    0
    >>> Digits(prefix="binary").values["value"]
    1.5625
    """

    _name = "digits"
    _label = "a printed number, and the value that it should round to"


class FileBlock(InteractiveFigure):
    """A quantisation block of a file: 32 parameters in 20 bytes.

    The bytes are those of the type Q4_1 in the file of SmolLM2: a scale and a
    minimum as float16, then 16 bytes with the codes of two parameters each.
    ``parameters`` has ``scale * code + minimum`` as float32, with `code` in
    place of the one that the file has at `at`.

    Examples
    --------
    >>> values = FileBlock().values
    >>> values["bits"], round(values["value"], 4)
    ([1, 0, 1, 1], 0.6647)
    """

    _name = "fileblock"
    _label = "the bytes of a file, and the parameters that they hold"


class Induction(InteractiveFigure):
    """A small trained transformer, and what its four heads attend to.

    The model is `helpers.training.INDUCTION` with its stored weights: after
    300 steps those of 16 bits, before that those of 8. It was trained on
    rows of 6 to 12 different symbols that repeat. Of each position that the
    model reads, `logits` has a row, and of each head of each block `weights`
    has one. ``previous`` and ``followed`` have each head's mean weight on the
    symbol before, and on what followed the last time. ``answer`` is what
    followed the last time that the symbol of the query was read, ``counted``
    the positions that have one, ``right`` those where the model says it.

    Examples
    --------
    >>> values = Induction(symbols="FLICKEDFLICK", step=300).values
    >>> "ABCDEFGHIJKL"[values["said"]]
    'E'
    """

    _name = "induction"
    _label = "a trained transformer and its four heads"


class Flow(InteractiveFigure):
    """A sentence on its way through a small trained model to its next word.

    The model is `helpers.sentences.WORD_MODEL` with its stored weights. Of
    every word, ``embedded`` has the row that enters the first block,
    ``attended`` and ``after`` those after the attention and after the network
    of each block, and ``hidden`` those inside its network; ``queries``,
    ``keys``, ``values``, ``weights`` and ``mixed`` are those of `head` in each
    block. ``chances`` are the probabilities of what follows `word`, and
    ``order`` has the words by them; ``said`` is the likeliest word after the
    last. ``opened`` is how one number was made: its ``parts``, which are
    products or exponentials, their ``total``, and its ``value``.

    Examples
    --------
    >>> from helpers.sentences import WORDS
    >>> WORDS[Flow(text="the king ate the").values["said"]]
    'bread'
    """

    _name = "flow"
    _label = "a sentence on its way to its next word"


class Words(Moving, InteractiveFigure):
    """One word asks, and takes from each word as much as it fits.

    The last word of *the cat drank milk because it* has the query (x, y).
    The keys were chosen by hand: the first number says how much a word is
    alive, the second how much it is a drink. Scores are divided by the root
    of two. On a page the query turns away and returns, once.

    Examples
    --------
    >>> Words(x=2, y=0).values["dots"]
    [-2, 4, 2, 0, -2, 1]
    """

    _name = "words"
    _label = "a word that asks, and what the others answer"


class Film(Moving, InteractiveFigure):
    """One query from its words to its output, step by step.

    Rows of `X` are queries, keys and values at once; or, where one of `W_Q`,
    `W_K` and `W_V` is given, the query ``q``, the keys ``K`` and the values
    ``V`` are made from them first, a step for each row. The query meets each
    key, a step each; then all dot products are divided by the root of d_k,
    exponentials are taken and summed, each is divided by the sum, and the
    values, each times its weight, are added up. A page without scripts shows
    the film as a strip of stills.

    Examples
    --------
    >>> Film().values["dots"]
    [2, 0, 1]
    >>> Film(what="X, W_Q, W_K, W_V").values["q"]
    [2, 0]
    """

    _name = "film"
    _label = "one query on its way, as a film"
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

    Examples
    --------
    >>> Roof().values["balance"]
    156
    """

    _name = "roof"
    _label = "the work of one layer under the roof of a machine"


class Projections(InteractiveFigure):
    """Two tokens in the plane, and the query, key and value made of them.

    Token x asks and token y is asked: ``q = x W_Q``, ``k = y W_K`` and
    ``v = y W_V``, each a row times a matrix. The dot product of q and k is the
    ``length`` of q times the ``shadow`` of k on it, which ends at ``foot``.

    Examples
    --------
    >>> Projections(x1=2, x2=0, W_Q=[[1, 0], [0, 1]]).values["q"]
    [2, 0]
    """

    _name = "project"
    _label = "queries, keys and values as arrows in the plane"


class Temperature(InteractiveFigure):
    """A soft lookup on a shelf of four jars, at a temperature.

    The jars stand at 0 to 3 and hold 10, 40, 20 and 30 marbles. The score of
    a jar is minus half its squared distance from `place`, plus what its bar
    was pulled by. ``answer`` is the mean of the marbles under the weights,
    ``exact`` those of the jar with the highest score; ``curve`` and
    ``stairs`` are both over the shelf, from -0.5 to 3.5.

    Examples
    --------
    >>> Temperature(temperature=0.01, place=0).values["exact"]
    10
    """

    _name = "temperature"
    _label = "a soft lookup on a shelf of jars, at a temperature"


class QuadraticCost(InteractiveFigure):
    """The FLOPs of one layer: what grows with the square of the length.

    A layer is attention with its four projections and a feed-forward network
    of `matrices` matrices. ``flops`` counts its parts, ``crossing`` is the
    first length at which the two products of attention take as much as the
    rest, and ``doubled`` the factor that twice as many tokens cost. Scale and
    softmax are left out.

    Examples
    --------
    >>> QuadraticCost(d=768).values["crossing"]
    4608
    """

    _name = "quadratic"
    _label = "the FLOPs of one layer as areas, by the length of the text"


class TileTraffic(InteractiveFigure):
    """What plain attention and attention in tiles move between memories.

    One head of width `d` over `N` positions, and `M` numbers of on-chip
    memory, which hold four blocks of ``rows`` rows. ``moved`` counts the
    numbers of three programs: the standard one, tiles with the keys in the
    outer loop, and with the queries; ``parts`` divides them into inputs and
    output, scores and weights, and running states. From ``turn`` upward the
    second moves fewer than the first.

    Examples
    --------
    >>> TileTraffic(N=4096, d=64).values["turn"]
    12289
    """

    _name = "traffic"
    _label = "what plain attention and tiles move, by the memory on the chip"


class InfluenceTest(InteractiveFigure):
    """A token is changed, and the outputs that change with it are recorded.

    Programs that apply a causal mask to *the cat sat down*. ``influence`` has
    a row per output and a column per token whose key and value are changed;
    an output changes if it moves by more than a billionth. ``leaks`` and
    ``misses`` count where it is not the ``mask``; ``after`` are the outputs
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


class FloatSoftmax(InteractiveFigure):
    """A softmax of four scores, computed in a floating-point type.

    The shift is added to all scores before they are stored. Each exponential
    and each weight is the number of the type that is nearest to the exact
    result; the sum is added up in float32 and rounded once. None stands for
    infinity in ``exps`` and ``total``, and in ``weights`` for what is not a
    number. ``spacing`` is the distance of neighbouring numbers at the largest
    score, and ``error`` the largest of a weight.

    Examples
    --------
    >>> FloatSoftmax(shift=12).values["weights"]
    [None, None, None, None]
    >>> FloatSoftmax(shift=12, subtract=True).values["weights"][1]
    0.404052734375
    """

    _name = "floats"
    _label = "a softmax in a floating-point type, and its limits"


class Sinks(InteractiveFigure):
    """How one query spends its weight, in five ways.

    The keys have values 10, 40, 20, 30 and 50, and each score is `length`
    times a fit. The ways are, in this order: none, a sink, a gate on the
    answer, a soft cap, and a norm that gives the query length 4. ``taken`` is
    the weight of the sink.

    Examples
    --------
    >>> [round(float(s), 2) for s in Sinks(gate=0.25).values["spent"]]
    [1.0, 0.21, 0.25, 1.0, 1.0]
    """

    _name = "sinks"
    _label = "one query that spends its weight in five ways"


class Backward(InteractiveFigure):
    """A gradient of the output, and every gradient that follows from it.

    `dY` is the gradient of a loss with respect to the output of attention;
    ``means`` are those of each row of ``dA`` under its weights.

    Examples
    --------
    >>> Backward(Q=[[1]], K=[[0], [0]], V=[[2], [4]], dY=[[1]]).values["dV"]
    [[0.5], [0.5]]
    """

    _name = "backward"
    _label = "every gradient of attention, from that of its output"


class Angles(InteractiveFigure):
    """The angle of each pair at a distance, and which are new to it.

    A head of width 16, trained with RoPE on texts of 32 positions. An angle
    is new to a pair, ``fresh``, from one trained step past its last trained
    angle to the full circle; each of ``runs`` is a pair with the first and
    the last of some distances in a row at which it is. ``arcs`` are the
    angles that training covers, ``angles`` those of `distance`, and
    ``before`` those that it has with the frequencies of training. YaRN has
    the rule of its code.

    Examples
    --------
    >>> sum(Angles(distance=63).values["fresh"])
    5
    >>> sum(Angles(distance=63, frequencies="YaRN").values["fresh"])
    0
    """

    _name = "angles"
    _label = "the angle of each pair past the trained length"


class Pages(Moving, InteractiveFigure):
    """A server's memory for keys and values, which texts fill and free.

    Ten requests come in steps 0 to 6 to a memory of 64 slots, a slot per
    token. In a step the texts that are complete leave, each of the others
    writes a token, and requests are let in by their order while there is
    memory for their prompts. A text takes a page when it has filled the one
    before, or it has reserved 16 slots, as many as any text may need. Of
    each slot ``owner`` is the text that has it, or -1, and ``filled`` tells
    whether it holds a token. ``pages`` and ``pieces`` count the texts that
    run in each step, ``run`` and ``waits`` those of `step`, in the chosen
    memory and in the other.

    Examples
    --------
    >>> Pages(memory="one piece per text").values["waits"]
    [5, 1]
    """

    _name = "pages"
    _label = "the memory of a server that continues many texts"


class Batch(InteractiveFigure):
    """What one decoding step reads and does, for a batch of texts.

    Llama 3 8B in 16 bits on an A100. A step reads the ``weights`` once for
    all texts, and of each text its cache: ``caches`` in all, in bytes. From
    ``crossing`` texts on the caches are no less than the weights.
    ``intensity`` is in FLOPs per byte; no batch reaches ``limit``, and the
    device needs ``balance``. ``seconds`` is the least time of a step, and
    ``per_second`` the tokens of all texts that it allows. ``curves`` has the
    intensities of 1, 2, 4, ..., 512 texts for each number of tokens.

    Examples
    --------
    >>> Batch(S=2048).values["crossing"]
    56
    """

    _name = "batch"
    _label = "what a decoding step reads and does for a batch of texts"


class Schemes(InteractiveFigure):
    """Position schemes past the trained length, four seeds each.

    The stored right answers of ``python tools/train.py longer``. ``order``
    has the schemes by their ``medians``, from the highest; ``trained`` are
    the medians at 32 tokens, and ``moved`` counts those whose rank differs
    from the one there. ``better`` counts the pairs of schemes of which each
    seed of one beats each seed of the other.

    Examples
    --------
    >>> Schemes(questions="far").values["better"]
    6
    """

    _name = "schemes"
    _label = "right answers past the trained length, by position scheme"


class Decode(InteractiveFigure):
    """What each decoding step computes, with a KV cache and without.

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


class ResidualStream(InteractiveFigure):
    """The row of a token on its way through two blocks.

    Tokens, matrices and the feed-forward network are the hand-made ones of
    the lesson on blocks; both blocks have the same. ``rows`` are the row that
    enters and that after each of the four parts, ``reads`` what each part
    reads, ``changes`` what it adds, ``sums`` the sums before a norm. ``kept``
    is the factor with which the row that entered is in the row that leaves,
    ``whole`` the row that leaves where no part is switched off.

    Examples
    --------
    >>> off = {"attention_0": False, "feed_forward_0": False}
    >>> ResidualStream(token="the", **off).values["rows"][2]
    [1, 0, 1, 0]
    """

    _name = "block"
    _label = "the residual stream: a row on its way through two blocks"


class ParameterAreas(InteractiveFigure):
    """Where the parameters of a transformer are, part by part.

    The model is built as GPT-2: layer norm, biases, 1,024 learned positions,
    and ``d_model = 64 * heads``; an output matrix of its own has a bias.
    ``parts`` has the parameters of all blocks together, ``block`` those of
    one. ``presets("parameters")`` holds the four models of GPT-2's paper.

    Examples
    --------
    >>> ParameterAreas().values["total"]
    124439808
    """

    _name = "parameters"
    _label = "the parameters of a transformer, part by part"


class EvidenceOfSeeds(InteractiveFigure):
    """Two designs, and what a few runs of each would have shown.

    Runs are those that the lesson on evidence stores: five seeds for each kind
    of positions and each number of heads. A reader has `n` runs of each
    design. One is ahead where each of its runs beats each of the other: 1 in
    ``conclusions`` where it is the first, -1 where it is the second, and 0
    where ranges overlap, for every choice of runs of the first (rows) and of
    the second (columns). ``counts`` has how many of them say 1, 0 and -1,
    ``whole`` the conclusion from all runs, and ``against`` the choices that
    say the opposite of the medians.

    Examples
    --------
    >>> EvidenceOfSeeds(n=1).values["counts"]
    [12, 0, 13]
    """

    _name = "evidence"
    _label = "two designs, and what a few runs of each would have shown"


class RealHeads(InteractiveFigure):
    """What the heads of a published model do with a text.

    The model is SmolLM2-135M-Instruct, 30 layers of 9 query heads; `of` shows
    another model or a text of your own. ``first``, ``previous`` and
    ``followed`` are the mean weights of each head on the first token, on the
    token before, and on what followed the same token last time, from
    ``asked`` queries; ``evenly`` are those of even rows. ``kinds`` says what
    each head does: 1 first token, 2 previous token, 3 induction, and 0 none
    of them; ``counts`` counts them from 0 to 3. ``weights`` are all weights
    of the two chosen ``heads``, stored as bytes, and ``chances`` the
    probabilities of the likeliest next tokens.

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
        """The figure for a text of your own, which a model reads now.

        Parameters
        ----------
        checkpoint : Checkpoint
            From `helpers.checkpoint.load`: at most 48 layers of 16 heads.
        text : str
            What the model reads: 2 to 48 tokens.
        **settings
            As the figure takes them; without `query`, the last token.

        Returns
        -------
        RealHeads

        Raises
        ------
        ValueError
            As `helpers.real_heads.record`.
        """
        given = real_heads.record(checkpoint, text)
        figure = cls(**{"query": len(given["ids"]) - 1, **settings})
        figure._given = given
        return figure

    def _own(self):
        return {} if self._given is None else {"own": self._given}

    def html(self):
        # A page has no kernel that read the text: there this stays as drawn.
        shown = super().html()
        if self._given is None:
            return shown
        return shown.replace(f'data-figure="{self._name}" ', "", 1)


class LinearMemory(InteractiveFigure):
    """A memory of two numbers, and the pairs that are written into it.

    The keys have two columns and length one, and the values one, so the
    state is a point of the plane. The pairs A, B and C are written in this
    order. ``states`` are the state before the first write and after each;
    the last write started from ``shrunk`` and added its key times ``error``,
    and beta with the delta rule. A key is ``right`` if its pair is written
    and what it ``reads`` is at most 0.05 off its value.

    Examples
    --------
    >>> LinearMemory(written=2).values["right"]
    [True, True, False]
    >>> LinearMemory().values["right"]
    [False, False, True]
    """

    _name = "linear"
    _label = "a memory of two numbers, and what three keys read from it"


class LatentVector(InteractiveFigure):
    """What latent attention keeps of a token, and what its two forms multiply.

    Keys and values have ``width`` columns in each head, and ``rotated`` more
    columns of a key are shared by all. ``kept`` counts the numbers per token
    of one layer: of multi-head attention, of at most eight groups, of one,
    and of latent attention, which keeps as many as ``heads`` heads. ``plain``
    and ``absorbed`` have the multiply-adds of both forms by stage, and from
    ``from`` queries upward the plain form takes fewer (0: for no number).

    Examples
    --------
    >>> LatentVector().values["kept"]
    [32768, 2048, 256, 576]
    >>> LatentVector().values["from"]
    164
    """

    _name = "latent"
    _label = "what is kept of a token, and the multiply-adds of two forms"


def classes():
    """The figures that this module defines, by the names of their modules.

    Returns
    -------
    dict of str to type
        Such as `CausalHeatmap` for "causal".
    """
    return {
        cls._name: cls
        for cls in InteractiveFigure.__subclasses__()
        if cls.__module__ == __name__
    }


class ChooseTokens(InteractiveFigure):
    """One query and sixteen tokens, of which it reads a part.

    ``picks`` are the numbers by which the ``chosen`` tokens were chosen:
    index scores, mean scores of blocks, positions or the scores themselves.
    ``missed`` is the weight of the others. ``answer`` is what attention over
    the chosen tokens gives, and ``whole`` what it gives over all. ``covered``
    and ``best`` are the weight that each budget reads, chosen so and at best.
    ``choosing``, ``reading`` and ``all`` count the FLOPs of products, in the
    sizes of DeepSeek-V3.2.

    Examples
    --------
    >>> found = ChooseTokens(k=4, error=0).values
    >>> [j for j, read in enumerate(found["chosen"]) if read]
    [3, 4, 14, 15]
    >>> found["choosing"] / found["all"] == 1 / 17
    True
    """

    _name = "sparse"
    _label = "one query, and the tokens that it reads with a budget"


class ModelCard(InteractiveFigure):
    """What attention keeps and moves, from a model's configuration.

    The configuration is one of `helpers.cards.MODELS`, or what is pasted:
    a key that is needed and missing is named, and so are keys that were not
    read. ``kept`` has the bytes of each layer, ``cache`` their sum; ``flops``
    and ``moved`` are of one step of decoding, attention alone, and ``room``
    counts the sequences that fit beside the weights. A state has 32 bits.

    Examples
    --------
    >>> ModelCard(model="gpt-oss-120b", S=131072).values["cache"] / 2**30
    4.50439453125
    """

    _name = "card"
    _label = "a model card: what attention keeps, moves and computes"
