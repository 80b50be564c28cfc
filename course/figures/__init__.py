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

import numpy as np

from course.evidence import stored
from helpers._extras import extra
from helpers.softmax import softmax
from helpers.transformer import forward

from .. import cards, real_heads, sentences
from ._modules import joined, place_of

with extra("figures"):
    import anywidget
    import quickjs
    from traitlets import Bool, Dict, Float, Int, List, TraitError, Unicode

FOLDER = Path(__file__).resolve().parent
SHOWN, HIDDEN = "<section ", '<section hidden="hidden" '


def _data(name, value):
    """A script that gives data to a module, which reads it with `known`."""
    start = "globalThis.attentionData ??= {};\nglobalThis.attentionData"
    return f'{start}["{name}"] = {json.dumps(value)};\n'


def _untrained():
    """The initial weights of the induction model, and each step's accuracy."""
    checkpoints = stored("induction-steps")["checkpoints"]
    given = {
        "weights": checkpoints[0]["weights"],
        "steps": [c["step"] for c in checkpoints],
        "accuracy": [c["accuracy"] for c in checkpoints],
    }
    return _data("induction", given)


def _compared():
    """The accuracies of every seed, for schemes as trained and with YaRN.

    And the mean of all seeds' weights on right keys, and on others too far,
    and what each head of each seed adds to the scores with T5's bias.
    """
    rows = []
    for found in stored("longer")["results"]:
        way = found["rescaled"]
        if way in ("as trained", "YaRN"):
            rescaled = way == "YaRN"
            name = found["kind"] + ", YaRN" * rescaled
            shares = {test: found[test] for test in ("near", "far")}
            spread = {
                f"{test}Weight": np.mean(weight, axis=1).round(4).tolist()
                for test, weight in found["weight"].items()
            }
            row = {"name": name, "rescaled": rescaled, **shares, **spread}
            if "bias" in found:  # seeds, buckets, heads
                heads = np.swapaxes(found["bias"], 1, 2)
                row["biases"] = np.concatenate(heads).tolist()
            rows.append(row)
    return _data("schemes", rows)


def _evidence():
    """The accuracies of some stored designs, one per seed."""
    runs = {
        f"{v['group']}: {v['name']}": v["accuracy"]
        for v in stored("evidence")["variants"]
        if v["group"] in ("positions", "heads")
    }
    return _data("evidence", runs)


def _texts():
    """The names of the texts, and the data of the first picture."""
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
        *("all_sliding", "delta", "encoders", "filled", "fixed", "gated"),
        *("idle", "kimi", "kinds", "latent", "latent_keys", "lists"),
        *("longest", "matters", "mixed", "names", "own", "parts", "places"),
        *("read", "state_keys", "widest"),
    )
    rules = {name: getattr(cards, name.upper()) for name in names}
    kinds = ("FULL", "SLIDING", "CHUNKED", "LINEAR", "OTHER")
    types = {name: getattr(cards, name) for name in kinds}
    return _data(
        "card", {"models": cards.MODELS, "rules": {**rules, "types": types}}
    )


# Sentences of the landing page whose next word follows from one before.
ASKED = (
    "the queen ate the cake because",
    "the horse ran to the castle because it was",
    "the bird sat in the",
)


def _asked():
    return _data("words", ASKED)


# Data that a module always has.
GIVEN = {
    "flow": _word_model,
    "induction": _untrained,
    "schemes": _compared,
    "evidence": _evidence,
    "realheads": _texts,
    "card": _cards,
    "words": _asked,
}


def _later_steps():
    """The weights after the first step; the final ones have 16 bits."""
    _, *later = stored("induction-steps")["checkpoints"]
    weights = {c["step"]: c["weights"] for c in later}
    weights[later[-1]["step"]] = stored("induction")["weights"]
    return weights


def _trained():
    """What the word model does with each sentence of `ASKED`.

    Of the head that gives some word the most of the last word's weight: its
    rows, and after each word the four likeliest next ones.
    """
    params, found = sentences.trained_words(), {}
    for text in ASKED:
        ids = np.array(sentences.token_ids_of(text.split()))
        kept = forward(ids, params, sentences.WORD_MODEL)
        heads = {
            (block, head): weights.tolist()
            for block, part in enumerate(
                x.attended for x in kept.layers if x.attended is not None
            )
            for head, weights in enumerate(part.weights)
        }
        best = max(heads, key=lambda k: max(heads[k][-1]))
        likely = [
            [
                (sentences.WORDS[i], float(row[i]))
                for i in np.argsort(-row, kind="stable")[:4]
            ]
            for row in softmax(kept.logits)
        ]
        rows = [row[: i + 1] for i, row in enumerate(heads[best])]
        found[text] = {"head": best, "rows": rows, "next": likely}
    return found


# Data that a page loads only when a state asks for it, file by file.
LATER = {
    "induction": {"induction-steps": _later_steps},
    "words": {"words-trained": _trained},
    "realheads": {
        real_heads.file_of(name): partial(real_heads.shown, name)
        for name in real_heads.NAMES
    },
}


@lru_cache
def _later(name):
    """The texts of a module's later files, by name."""
    return {
        file: _data(file, made()) for file, made in LATER.get(name, {}).items()
    }


def _text(name):
    """The module of a figure without the data that is loaded later."""
    given = GIVEN[name]() if name in GIVEN else ""
    return given + joined(FOLDER, f"{name}.js")


def path_of(file):
    """Return the path of a module or a style, of a figure or of the kit.

    Parameters
    ----------
    file : str
        The name of the file, such as "causal.css".

    Returns
    -------
    Path
    """
    return place_of(FOLDER, file)


def module(name):
    """Return the complete ES module of a figure, as Jupyter runs it.

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
    """Return the module of a figure as a script that any page can load.

    A page that is opened from a folder without a server may load scripts but
    not modules. The script sets ``attentionFigures[name]``.

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
    # Strip comments, which would take three of a page's 250 KB.
    text = re.sub(r"^/\*\*.*?\*/\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
    # A module is strict and has its own scope, so the script gets both.
    return f'(() => {{\n"use strict";\n{text}\n}})();\n'


def scripts(name):
    """Return the files of a figure that a page loads.

    Parameters
    ----------
    name : str
        The figure's name, such as "causal".

    Returns
    -------
    dict of str to str
        The text of each script by the name of its file. The first is the
        module's; the others hold data that only some states need.
    """
    later = {f"{file}.js": text for file, text in _later(name).items()}
    return {f"{name}.js": script(name), **later}


def styles(*names):
    """Return the style sheet of some figures.

    Parameters
    ----------
    *names : str
        The figures' names. Shared rules come first, then the rules of each
        figure, if it has its own.

    Returns
    -------
    str
    """
    files = [path_of(f"{name}.css") for name in ("figures", *names)]
    return "".join(f.read_text(encoding="utf-8") for f in files if f.exists())


@lru_cache
def _engine(name):
    """Return a function that calls a figure's module from Python."""
    engine = quickjs.Context()
    engine.set_max_stack_size(4 * 2**20)
    for text in scripts(name).values():
        engine.eval(text)
    return engine.eval(
        # Not JSON.parse, which does not accept NaN and Infinity.
        f"(what, state) => JSON.stringify("
        f"attentionFigures.{name}[what](eval(`(${{state}})`)))"
    )


def controls(name):
    """Return the settings of a figure, as listed by its module.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    list of dict
        Each with ``key``, ``kind`` and ``label``; ``first``, its initial
        value; ``about``, its meaning; and its limits.
    """
    return json.loads(_engine(name)("controls", "null"))


def presets(name):
    """Return the ready-made settings of a figure, as listed by its module.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    dict of str to dict
        The settings of each preset.
    """
    return json.loads(_engine(name)("presets", "null"))


def card(name):
    """Return the part of a figure that its landing-page card shows.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    dict or None
        ``part``, the selector of the drawing; and, unless they are the first
        or the whole, ``which`` of several drawings, the ``box`` that is cut
        out, and the ``state``. None for a figure without a card.
    """
    return json.loads(_engine(name)("card", "null"))


def drawing(stored):
    """Return the part of a stored output that a page shows.

    If a notebook shows a stored output, no kernel has run the cell, and the
    drawing has no style. Then the drawing is hidden, and a note says what to
    do.

    Parameters
    ----------
    stored : str
        The ``text/html`` of a figure's output.

    Returns
    -------
    str
        The result of the figure's `html`.

    Raises
    ------
    ValueError
        If the output contains no figure.
    """
    return stored[stored.index(HIDDEN) :].replace(HIDDEN, SHOWN, 1)


def plain(value):
    """Convert an array or a NumPy number to Python's lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else value


class Setting:
    """A trait that also takes NumPy's values, and states its rule in words."""

    def validate(self, obj, value):
        given = plain(value)
        try:
            # Python treats True as 1, and a trait treats 1 as True, which is a
            # mistake here. A text trait would also accept bytes.
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
    """A setting that is a whole number."""

    rule = "a whole number"


class Number(Setting, Float):
    """A setting that is a real number."""

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
    """The trait of a control, with its initial value."""
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
        first = "str"  # the initial value may be long
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
        # A widget makes a subclass of each figure's class, which has no name.
        if "_name" in vars(cls):
            cls._esm, cls._css = module(cls._name), styles(cls._name)
            cls._declare(controls(cls._name))
        super().__init_subclass__(**options)

    @classmethod
    def _declare(cls, listed):
        """Turn a module's settings into traits, and document them."""
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
        # A misspelt setting would be stored but have no effect.
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
        """The figure's own data beside its settings, as ``own``."""
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
    """An animated figure, which can be drawn at any time."""

    def frame(self, ms):
        """Return the picture at a time after the start.

        Parameters
        ----------
        ms : float
            The time in milliseconds.

        Returns
        -------
        dict
            The settings that change with time as ``own``, the numbers as
            ``values``, and the drawing as ``html``.

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
    """A mask to paint cell by cell, and the outputs under it.

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
    """Every matrix of one attention call, and the origin of each entry.

    Starts from `X`, which then serves as queries, keys and values, or from
    `Q`, `K` and `V` if one of them is given.

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
    """How the width of queries and keys saturates the softmax.

    Thirty-two queries and up to 64 keys hold standard normal numbers,
    generated from the seed by mulberry32 and the Box-Muller transform.

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
    two objects share multiplies the exponential by 4. ``weights`` has the
    weights of both heads, zero if a head owns no column, and ``output`` the
    merged rows, in which the columns of a head that is switched off are zero.

    Examples
    --------
    >>> [round(w, 3) for w in TwoHeads().values["weights"][0][0]]
    [0.444, 0.111, 0.444]
    """

    _name = "objects"
    _label = "three objects, and what one head or two take from each"


class HeadsAndGroups(InteractiveFigure):
    """Columns divided into heads, and heads that share keys and values.

    Head h owns columns ``h * d_k`` to ``h * d_k + d_k - 1`` and reads
    key/value head ``h // (H / H_kv)``. Parameters are those of one layer with
    ``d_model = H * d_k``, ``d_v = d_k`` and no biases; the cache holds 2 bytes
    per number.

    Examples
    --------
    >>> HeadsAndGroups(H=4, H_kv=2).values["kv_head"]
    [0, 0, 1, 1]
    """

    _name = "heads"
    _label = "columns cut into heads, and heads that share keys and values"


class Positions(InteractiveFigure):
    """Sinusoids, rotations and biases, one method at a time.

    *sinusoid*: `T` positions in ``2 * pairs`` columns; `pair` is drawn as two
    waves. *RoPE*: a query that is (1, 0) in each pair, rotated to position
    `m`, and a key that is `angle` degrees ahead of it in each pair, rotated to
    `n`; `shift` moves both. Scores are divided by the root of ``2 * pairs``,
    and ``by_distance`` runs from -32 to 32. *ALiBi*: slopes by `rule`, and the
    bias of each head at distances 0 to T - 1.

    Examples
    --------
    >>> Positions(kind="ALiBi", heads=2, T=3).values["slopes"]
    [0.0625, 0.00390625]
    """

    _name = "positions"
    _label = "sinusoids, rotations and biases"


class KVCacheCalculator(Moving, InteractiveFigure):
    """The bytes that the keys and values of all positions take.

    The cache takes ``n_layers * n_kv_heads * (d_k + d_v)`` numbers for each of
    `S` positions in each of `batch` sequences. ``now`` has the bytes of all
    keys and of all values so far, and ``room`` the positions per sequence that
    fit into `memory`. Counts are exact integers; MiB and GiB are binary. More
    than 1 PiB is refused. ``presets("kvcache")`` contains the sizes of
    published models.

    Examples
    --------
    >>> gpt2 = presets("kvcache")["GPT-2 small"]
    >>> KVCacheCalculator(**gpt2, S=1024).values["mib"]
    36
    """

    _name = "kvcache"
    _label = "calculator for the memory of a KV cache"


class Tiles(Moving, InteractiveFigure):
    """Exact attention that visits one tile of scores at a time.

    The score of query i and key j is ``(1 + j / 8) cos(i - 2 j)``. Blocks are
    visited query block by query block; with `causal`, those above the diagonal
    are left out. ``maxima``, ``factors``, ``added`` and ``sums`` are the
    running state of one query after each of its blocks among the first `step`:
    the maximum so far, the factor on the old sum, the block's addition, and
    the sum of exponentials. ``held`` counts the numbers in memory at once,
    beyond inputs and output: for plain attention all scores, for tiles one
    block of scores and two numbers per query of the block. ``keys_read``
    counts rows of keys. ``tile`` is the content of the on-chip memory after
    the last visit: the block's scores, None where a key is later than the
    query, and the maximum and the sum of each of its queries.

    Examples
    --------
    >>> figure = Tiles(T=8, block_q=4, block_k=4, causal=True)
    >>> figure.values["blocks"]
    [[0, 4, 0, 4], [4, 8, 0, 4], [4, 8, 4, 8]]
    """

    _name = "tiles"
    _label = "attention computed tile by tile"


class Machines(Moving, InteractiveFigure):
    """Eight keys on several machines: what a tree and a ring send.

    The scores of query 0 are the logarithms of 2, 1, 3, 3, 1, 5, 4, 5; those
    of query i are these times cos(i). In the *tree* the queries go out from
    machine 0, each machine attends over its own keys, and the partial results
    are merged in pairs. In the *ring* each machine owns a part of the queries,
    and the keys and values go round. A query counts as one number, a partial
    result as two per query, and a key with its value as two. ``outputs`` and
    ``logsumexps`` have a row for each machine and a column for each query,
    None where the machine has no partial result. ``sent`` counts numbers up to
    the last whole step, ``totals`` those of each plan, and from ``ring_from``
    queries upward the ring sends fewer.

    Examples
    --------
    >>> Machines().values["totals"]
    {'tree': 9, 'ring': 48}
    """

    _name = "machines"
    _label = "a tree and a ring of machines that share the keys"


class Balance(InteractiveFigure):
    """Machines in a ring under a causal mask: which work, and which wait.

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

    The first program is correct, and each of the others has one mistake. If
    `tokens` is 0, the queries and keys are the three unit vectors; if it is 1,
    they share no symmetry. A check compares pairs of numbers: ``found`` and
    ``expected`` are the first pair that differs, or the first of all, by
    program and check; ``refused`` is 1 where they differ, by more than
    rounding, and 0 elsewhere, and ``others`` is the same for the other tokens.
    ``symmetric`` is 1 if the right program's ``scores`` and ``weights`` equal
    their transposes.

    Examples
    --------
    >>> [sum(row) for row in Checks(tokens=0).values["refused"]][:3]
    [0, 2, 2]
    """

    _name = "checks"
    _label = "which checks refuse which wrong programs"


class Digits(InteractiveFigure):
    """A printed number on a line with the value that it should round to.

    The value is an example's count, in the chosen unit, plus `shift`
    hundredths of the last printed digit. It reproduces the printed digits if
    it is within half a unit of the last of them, ties included; ``off`` is its
    distance in these units. The comparison uses whole numbers and is exact.

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


class Induction(InteractiveFigure):
    """A small trained transformer, and what its four heads attend to.

    The model is `helpers.training.INDUCTION` with its stored weights: those
    after 300 steps in 16 bits, and earlier ones in 8. It was trained on
    repeated rows of 6 to 12 different symbols. `logits` has a row for each
    position, and `weights` has one for each head of each block as well.
    ``previous`` and ``followed`` have each head's mean weight on the previous
    symbol, and on the symbol that followed last time. ``answer`` is the symbol
    that followed the last occurrence of the query's symbol, ``counted`` the
    positions that have an answer, and ``right`` the positions where the model
    predicts it.

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


class Words(Moving, InteractiveFigure):
    """One word asks, and takes from each word as much as it fits.

    The last word of *the cat drank milk because it* has the query (x, y).
    The keys were chosen by hand: the first number says how much a word is
    alive, the second how much it is a drink. Scores are divided by the root
    of two. On a page the query turns away and returns, once. In the other
    sentences a word asks in one head of the trained word model.

    Examples
    --------
    >>> Words(x=2, y=0).values["dots"]
    [-2, 4, 2, 0, -2, 1]
    """

    _name = "words"
    _label = "a word that asks, and what the others answer"


class Film(Moving, InteractiveFigure):
    """One query from its words to its output, step by step.

    Rows of `X` serve as queries, keys and values; or, if one of `W_Q`, `W_K`
    and `W_V` is given, the query ``q``, the keys ``K`` and the values ``V``
    are computed from them first, in one step per row. The query meets the
    keys, in one step each; then all dot products are divided by the root of
    d_k, exponentials are taken and summed, each is divided by the sum, and the
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


class Projections(InteractiveFigure):
    """Two tokens in the plane, with a query, a key and a value.

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

    The jars stand at 0 to 3 and contain 10, 40, 20 and 30 marbles. The score
    of a jar is minus half its squared distance from `place`, plus the distance
    by which its bar was dragged. ``answer`` is the weighted mean of the
    marbles, ``exact`` the number in the jar with the highest score; ``curve``
    and ``stairs`` show both over the shelf, from -0.5 to 3.5.

    Examples
    --------
    >>> Temperature(temperature=0.01, place=0).values["exact"]
    10
    """

    _name = "temperature"
    _label = "a soft lookup on a shelf of jars, at a temperature"


class QuadraticCost(InteractiveFigure):
    """The FLOPs of one layer: which grow with the square of the length.

    A layer is attention with its four projections and a feed-forward network
    of `matrices` matrices. ``flops`` counts its parts, ``crossing`` is the
    first length at which the two products of attention take as much as the
    rest, and ``doubled`` the factor in FLOPs for twice as many tokens. Scale
    and softmax are not counted.

    Examples
    --------
    >>> QuadraticCost(d=768).values["crossing"]
    4608
    """

    _name = "quadratic"
    _label = "the FLOPs of one layer as areas, by the length of the text"


class TileTraffic(InteractiveFigure):
    """The numbers that plain and tiled attention move between memories.

    One head of width `d` over `N` positions, and `M` numbers of on-chip
    memory, which hold four blocks of ``rows`` rows. ``moved`` counts the
    numbers of three programs: the standard one, tiles with the keys in the
    outer loop, and with the queries; ``parts`` divides them into inputs and
    output, scores and weights, and running states. From a memory of ``turn``
    numbers upward, the second program moves fewer numbers than the first.

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


class FloatSoftmax(InteractiveFigure):
    """A softmax of four scores, computed in a floating-point type.

    The shift is added to all scores before they are stored. Each exponential
    and each weight is the number of the type that is nearest to the exact
    result; the sum is added up in float32 and rounded once. None represents
    infinity in ``exps`` and ``total``, and NaN in ``weights``. ``spacing`` is
    the distance between adjacent numbers at the largest score, and ``error``
    the largest error of a weight.

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
    """How one query distributes its weight, in five ways.

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
    ``means`` are the means of each row of ``dA`` under its weights.

    Examples
    --------
    >>> Backward(Q=[[1]], K=[[0], [0]], V=[[2], [4]], dY=[[1]]).values["dV"]
    [[0.5], [0.5]]
    """

    _name = "backward"
    _label = "every gradient of attention, from that of its output"


class Angles(InteractiveFigure):
    """The angle of each pair at a distance, and the angles new to it.

    A head of width 16, trained with RoPE on texts of 32 positions. An angle is
    new to a pair, ``fresh``, from one trained step past its last trained angle
    to the full circle; ``runs`` lists a pair with the first and the last of
    consecutive distances at which its angles are new. ``arcs`` are the angles
    that training covers, ``angles`` those at `distance`, and ``before`` those
    at `distance` with the frequencies of training. YaRN follows the rule of
    its code.

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


class Batch(InteractiveFigure):
    """The bytes and FLOPs of one decoding step, for a batch of texts.

    Llama 3 8B in 16 bits on an A100. A step reads the ``weights`` once for all
    texts, and the cache of each text: ``caches`` in total, in bytes. From
    ``crossing`` texts upward, the caches are at least as large as the weights.
    ``intensity`` is in FLOPs per byte; ``limit`` is its supremum over all
    batches, and ``balance`` the machine balance. ``seconds`` is the least time
    of a step, and ``per_second`` the tokens of all texts that it allows.
    ``curves`` has the intensities of 1, 2, 4, ..., 512 texts for each number
    of tokens.

    Examples
    --------
    >>> Batch(S=2048).values["crossing"]
    56
    """

    _name = "batch"
    _label = "what a decoding step reads and does for a batch of texts"


class Schemes(InteractiveFigure):
    """Position schemes beyond the trained length, four seeds each.

    ``python research/train.py longer`` stored the right answers. ``order``
    ranks the schemes by their ``medians``, from the highest; ``trained`` are
    the medians at 32 tokens, and ``moved`` counts the schemes whose rank
    differs from their rank there, in the order ``ranks``. ``better`` counts
    the pairs of schemes in which each seed of one beats each seed of the
    other. ``weights`` are the last block's, means over its heads and all
    seeds: on keys that hold the answer, and on others at distances beyond
    training. ``opposed`` counts the pairs in which the scheme with more of the
    latter has the lower median. The rest is what distances meet: the
    ``buckets`` of T5's bias and its trained ``biases``, a row per head of each
    seed, ALiBi's ``penalties`` at the longest distance, the mean ``share`` of
    a key, and the ``angles`` of RoPE's pairs there, 0 for pairs that do not
    rotate; ``trainedAngles`` are those at the longest distance of training.

    Examples
    --------
    >>> Schemes(questions="far").values["better"]
    6
    """

    _name = "schemes"
    _label = "right answers past the trained length, by position scheme"


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


class ResidualStream(InteractiveFigure):
    """The row of a token on its way through two blocks.

    Tokens, matrices and the feed-forward network are the hand-made ones of the
    lesson on blocks, and are the same in both blocks. ``rows`` are the row
    that enters and the rows after each of the four parts, ``reads`` the inputs
    of the parts, ``changes`` their outputs, and ``sums`` the sums before a
    norm. ``kept`` is the factor of the entering row in the row that leaves,
    and ``whole`` the row that leaves if no part is switched off.

    Examples
    --------
    >>> off = {"attention_0": False, "feed_forward_0": False}
    >>> ResidualStream(token="the", **off).values["rows"][2]
    [1, 0, 1, 0]
    """

    _name = "block"
    _label = "the residual stream: a row on its way through two blocks"


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


class EvidenceOfSeeds(InteractiveFigure):
    """Two designs, and what a few runs of each would have shown.

    The runs are those that the lesson on evidence stores: five seeds for each
    position scheme and each number of heads. A reader has `n` runs of each
    design. A design is ahead if each of its runs beats each run of the other.
    For every choice of runs of the first design (rows) and of the second
    (columns), ``conclusions`` is 1 if the first is ahead, -1 if the second is,
    and 0 if their ranges overlap. ``counts`` counts the 1s, 0s and -1s,
    ``whole`` is the conclusion from all runs, and ``against`` counts the
    choices that contradict the medians.

    Examples
    --------
    >>> EvidenceOfSeeds(n=1).values["counts"]
    [12, 0, 13]
    """

    _name = "evidence"
    _label = "two designs, and what a few runs of each would have shown"


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


class LinearMemory(InteractiveFigure):
    """A memory of two numbers, and the pairs that are written into it.

    The keys have two columns and length one, and the values have one column,
    so the state is a point of the plane. The pairs A, B and C are written in
    this order. ``states`` are the state before the first write and after each;
    the last write started from ``shrunk`` and added its key times ``error``,
    and times beta with the delta rule. A key is ``right`` if its pair is
    written and the value it ``reads`` is at most 0.05 off.

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
    """What latent attention caches per token, and the cost of its two forms.

    Keys and values have ``width`` columns in each head, and ``rotated`` more
    columns of a key are shared by all heads. ``kept`` counts the cached
    numbers per token of one layer: of multi-head attention, of at most eight
    groups, of one group, and of latent attention, which caches as many numbers
    as ``heads`` heads. ``plain`` and ``absorbed`` have the multiply-adds of
    both forms by stage, and from ``from`` queries upward the plain form takes
    fewer (0 if it never does).

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
    """Return the figures of this module, by the names of their modules.

    Returns
    -------
    dict of str to type
        For example, `CausalHeatmap` for "causal".
    """
    return {
        cls._name: cls
        for cls in InteractiveFigure.__subclasses__()
        if cls.__module__ == __name__
    }


class ChooseTokens(InteractiveFigure):
    """One query and sixteen tokens, of which it reads a subset.

    ``picks`` are the numbers by which the ``chosen`` tokens were chosen: index
    scores, mean scores of blocks, positions or the scores themselves.
    ``missed`` is the weight of the other tokens. ``answer`` is the output of
    attention over the chosen tokens, and ``whole`` the output over all.
    ``covered`` and ``best`` are the weights that each budget reads with this
    choice and with the best choice. ``choosing``, ``reading`` and ``all``
    count the FLOPs of products, with the sizes of DeepSeek-V3.2.

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

    The configuration is one of `course.cards.MODELS` or a pasted one.
    Required keys that are missing are named, and so are keys that were not
    read. ``kept`` has the bytes of each layer, ``cache`` their sum; ``flops``
    and ``moved`` are those of attention in one step of decoding, and ``room``
    counts the sequences that fit beside the weights. A state has 32 bits per
    number.

    Examples
    --------
    >>> ModelCard(model="gpt-oss-120b", S=131072).values["cache"] / 2**30
    4.50439453125
    """

    _name = "card"
    _label = "a model card: what attention keeps, moves and computes"
