"""Interactive figures: their words, their markup and their drawing.

The numbers are compared in `test_figures.py` and read back in
`test_shown.py`. Here is the rest of what a reader meets: captions, headings
and labels, written out anew from the state; markup that a browser
understands; ink that can be read; and charts that stand upright.
"""

import decimal
import functools
import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import quickjs
from bs4 import BeautifulSoup

from helpers import figures, plotting
from tests.figures.expected_figures import (
    CASES,
    CLASSES,
    EXPECTED,
    KEYS_OF_WORDS,
    controls,
    model_sizes,
    states,
)

STYLES = (figures.FOLDER / "figures.css").read_text(encoding="utf-8")


@functools.cache
def inside(folder, name):
    """The names of a figure's module, callable one by one."""
    engine = quickjs.Context()
    text = figures.module(name).replace("export default", "const whole_ =")
    engine.eval(text)
    return engine.eval(
        "(what, all) => JSON.stringify(eval(what)(...eval(all)))"
    )


def call(function, *arguments, of="causal"):
    """What a function of a module returns; arguments are Python's values."""
    engine = inside(figures.FOLDER, of)
    found = engine(function, json.dumps(arguments))
    return None if found is None else json.loads(found)


@functools.cache
def drawn(folder, name, settings):
    """The state of a figure, and all its HTML, as a page receives it."""
    figure = CLASSES[name](**json.loads(settings))
    state = {key: getattr(figure, key) for key in figure._settings()}
    return state, figure.html()


def look(name, settings):
    """A figure's state, what the helpers say, and what it shows."""
    state, html = drawn(figures.FOLDER, name, json.dumps(settings))
    return state, EXPECTED[name](state), BeautifulSoup(html, "html.parser")


def some_states(name):
    return [{}, *CASES.get(name, ()), *states(name, 12)]


# --- numbers --------------------------------------------------------------


def rounded(x, digits):
    """A number as it is printed: ties away from zero, no minus for zero."""
    place = decimal.Decimal(1).scaleb(-digits)
    exact = decimal.Decimal(x).quantize(place, decimal.ROUND_HALF_UP)
    return f"{abs(exact) if exact == 0 else exact:,f}".replace("-", "−")


NUMBERS = [0, -0.001, 0.001, -0.004999, -0.005, 0.005, 0.125, -0.125, 1.005]
NUMBERS += [-0.5, 0.5, -1.5, 2.5, 10, -12.3456, 99.995, 1234.5678, -0.04, -10]


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4])
def test_numbers_are_rounded_and_zero_has_no_sign(digits):
    for x in NUMBERS:
        assert call("fixed", x, digits) == rounded(x, digits), x
    assert call("fixed", -1.005) == rounded(-1.005, 2)
    assert call("fixed", float("-inf"), digits) == "−∞"


def shortest(x, digits):
    """A number rounded to so many significant digits, without zeros after."""
    context = decimal.Context(digits, decimal.ROUND_HALF_UP)
    text = f"{context.create_decimal_from_float(float(x)):,f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace(
        "-", "−"
    )


def test_ticks_and_settings_are_written_short():
    for x in [0, 0.25, -0.25, 1 / 3, -64, 123.4, 0.0625, 40, -2.505]:
        assert call("tick", x) == shortest(x, 3), x
    for x in [0, -180, 0.0625, 0.03125, 0.12345678, -0.00004, 4, 12.5]:
        wanted = rounded(x, 4).rstrip("0").rstrip(".")
        assert call("setting", x) == wanted, x


def test_thousands_are_parted():
    for n in [0, 1, 999, 1000, 12345, 123456, 1234567, 2**50]:
        assert call("whole", n) == f"{n:,}"
    assert call("count", 1, "row") == "1 row"
    assert call("count", 0, "row") == "0 rows"
    assert call("count", 4000, "row") == "4,000 rows"


# --- ink ------------------------------------------------------------------


def contrast(a, b):
    """The contrast of two colours, by the rule of WCAG 2."""

    def light(colour):
        parts = [c / 255 for c in colour]
        r, g, b = (
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4
            for p in parts
        )
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(a), light(b)))
    return (high + 0.05) / (low + 0.05)


COLOUR = r"light-dark\((#[0-9a-f]{6}),(#[0-9a-f]{6})\)"
INK = r"light-dark\(#(?:000|fff),#(?:000|fff)\)"
INKS = {"#000": (0, 0, 0), "#fff": (255, 255, 255)}


def test_ink_is_what_can_be_read_on_its_ground():
    greys = [[k, k, k] for k in range(256)]
    tones = [[int(c) for c in rgb] for rgb in np.ndindex(9, 9, 9)]
    tones = [[min(32 * c, 255) for c in rgb] for rgb in tones]
    for rgb in greys + tones + [[10, 11, 12], [9, 10, 11], [0, 10, 80]]:
        found = call("ink", rgb)
        best = max(INKS, key=lambda ink: contrast(rgb, INKS[ink]))
        equal = np.isclose(*(contrast(rgb, ink) for ink in INKS.values()))
        assert found == best or equal, rgb
        assert contrast(rgb, INKS[found]) >= 4.5


@pytest.mark.parametrize("name", ["causal", "step", "positions"])
def test_every_number_can_be_read_on_its_shade(name):
    for settings in some_states(name):
        _, _, shown = look(name, settings)
        for cell in shown.select("td[style]"):
            found = re.fullmatch(
                rf"background:{COLOUR};color:light-dark\((#000|#fff),"
                r"(#000|#fff)\)",
                cell["style"],
            ).groups()
            for ground, ink in zip(found[:2], found[2:], strict=True):
                assert contrast(rgb(ground), INKS[ink]) >= 4.5


def rgb(text):
    return [int(text[k : k + 2], 16) for k in (1, 3, 5)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shades_pass_their_stops_evenly_and_end_there(scheme):
    """Python's colour maps and the page's are one."""
    stops = [rgb(stop) for stop in plotting._STOPS[scheme]]
    assert call("shade", -3, scheme) == stops[0]
    assert call("shade", 3, scheme) == stops[-1]
    for x in np.linspace(-1, 1, 121):
        wanted = [
            np.interp(x, np.linspace(-1, 1, 7), channel)
            for channel in zip(*stops, strict=True)
        ]
        found = call("shade", x, scheme)
        assert np.abs(np.subtract(found, wanted)).max() <= 0.501


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_much_stands_out_from_the_ground_of_each_scheme(scheme):
    """Weight by weight: dark on white, and bright in the dark."""
    page = {"light": [255] * 3, "dark": rgb("#121212")}[scheme]
    for way in (1, -1):
        cells = [
            call("shade", way * x, scheme) for x in np.arange(0, 1.01, 0.02)
        ]
        seen = [contrast(cell, page) for cell in cells]
        assert seen == sorted(seen), "more is never less seen"
        assert contrast(cells[0], cells[-1]) >= 7
        assert seen[0] < 1.5, "nothing does not dazzle"
        for cell in cells:
            assert contrast(cell, INKS[call("ink", cell)]) >= 4.5


# --- markup ---------------------------------------------------------------

N = r"-?\d+(\.\d+)?(e-\d+)?"
ATTRIBUTES = {
    "aria-hidden": "true",
    "aria-label": ".*",
    "aria-valuetext": N,
    "autocapitalize": "characters",
    "autocomplete": "off",
    "checked": "",
    "colspan": r"\d+",
    "cols": r"\d+",
    "cx": N,
    "cy": N,
    "d": rf"([MLHVhv] ?{N}( {N})?|A{N} {N} 0 [01] 1 {N} {N}"
    rf"|C{N}( {N}){{5}}|l{N} {N}|z)+",
    "data-at": r"(X|Q|K|V|dY|dots|scores|masked|weights|output),\d,\d",
    "data-figure": r"\w+",
    "data-state": r"\{.*\}",
    "fill": rf"{COLOUR}|{INK}|none|#[0-9a-f]{{6}}",
    "font-size": N,
    "height": N,
    "hidden": "",
    "inputmode": "decimal",
    "max": N,
    "min": N,
    "name": r"\w+",
    "preserveaspectratio": "none",
    "r": N,
    "role": "alert|img|status",
    "rows": r"\d",
    "scope": "col|colgroup|row",
    "selected": "",
    "shape-rendering": "crispEdges",
    "size": "28|32",
    "spellcheck": "false",
    "step": rf"any|{N}",
    "stroke": COLOUR,
    "stroke-dasharray": "6 4|3 3|",
    "stroke-width": N,
    "style": rf"background:{COLOUR};color:{INK}|width:\d+\.\d\d%",
    "start": r"\d\d?",
    "opacity": r"[01]|0\.\d\d?",
    "text-anchor": "start|middle|end",
    "transform": rf"translate\(12 {N}\) rotate\(-90\)|matrix\(20 0 0 2 0 1\)"
    rf"|matrix\({N} 0 0 {N} (40 34|34 40)\)",
    "type": "checkbox|number|range|text",
    "value": rf"{N}|[A-L]*|[\w<> ]*",
    "viewbox": rf"{N} {N} {N} {N}",
    "width": N,
    "x": rf"{N}( {N})*",
    "y": N,
}
WORDS = {"b", "caption", "label", "li", "mark", "option", "output", "p"}
WORDS |= {"span", "td", "text", "textarea", "th"}
BOXES = {"circle", "div", "form", "g", "i", "input", "noscript", "ol", "path"}
BOXES |= {"rect", "section", "select", "svg", "table", "tbody", "thead"}
BOXES |= {"tr", "ul"}
ALONE = {"circle", "path", "rect"}  # these close themselves
# Classes that find an element, where they do not also dress it.
HOOKS = {"av-name", "av-line-0", "av-hold-x", "av-hold-y", ""}


class Strict(HTMLParser):
    """Refuses markup that a browser would have to repair."""

    def __init__(self, html):
        super().__init__()
        self.open = []
        self.feed(html)
        self.close()
        assert not self.open, f"{self.open} stay open"

    def handle_starttag(self, tag, attrs):
        assert tag in WORDS | BOXES, tag
        assert tag not in ALONE, f"{tag} stays open"
        self.look(attrs)
        if tag != "input":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in ALONE, f"{tag} closes itself"
        self.look(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes too early"

    def handle_data(self, data):
        within = self.open[-1]
        assert within in WORDS or not data.strip(), f"{data} in {within}"

    def look(self, attrs):
        names = [key for key, _ in attrs]
        assert len(names) == len(set(names)), f"twice: {names}"
        for key, value in attrs:
            if key == "class":
                for word in (value or "").split():
                    known = f".{word}" in STYLES or word in HOOKS
                    assert known, f"class {word}"
            else:
                assert key in ATTRIBUTES, key
                wanted = ATTRIBUTES[key]
                assert re.fullmatch(wanted, value or ""), (key, value)


@pytest.mark.parametrize("name", CLASSES)
def test_the_markup_needs_no_repair(name):
    for settings in some_states(name):
        _, html = drawn(figures.FOLDER, name, json.dumps(settings))
        Strict(html)
        page = BeautifulSoup(html, "html.parser")
        shown = page.select_one(".av-result").get_text(" ")
        assert not re.search(r"NaN|undefined|null|\[object|Infinity", html)
        assert not re.search(r"[-−]0(\.0*)?(?![\d.])", shown), "minus zero"
        assert not re.search(r"(?<!\w)-\d", shown), "a minus is printed as one"


def test_text_is_never_markup():
    assert (
        call("escape", '<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    )
    assert call("say", "<b>") == '<p class="av-say">&lt;b&gt;</p>'


# --- words ----------------------------------------------------------------


def number_of(n, thing):
    return f"{n:,} {thing}{'s' * (n != 1)}"


def words(shown):
    """Captions, headings and labels of a figure, in the order of the page."""
    found = []
    for part in shown.select_one(".av-result").find_all(True):
        if part.get("aria-label"):
            found.append(part["aria-label"])
        small = part.name in ("caption", "th")
        if small or "av-caption" in part.get("class", ()):
            found.append(part.text)
        if part.name == "text" and not part.has_attr("font-size"):
            if not re.fullmatch(r"−?[\d.e]+", part.text) or part.get("class"):
                found.append(part.text)
    return [text for text in found if text]


def table_words(caption, columns, rows):
    return [caption, *map(str, columns), *map(str, rows)]


def matrix_words(label, columns, rows, names, largest_table=(16, 12), here=()):
    """A small matrix has headings, a large one its label twice and axes."""
    if len(rows) <= largest_table[0] and len(columns) <= largest_table[1]:
        return table_words(label, columns, rows)
    picked = [str(k) for k in here[::-1]]
    return [label, label, f"↓ {names[0]}", f"{names[1]} →", *picked]


def causal_words(state, expected):
    T = state["T"]
    small = T <= 12
    label = "Attention weights: a row a query, a column a key; hatched"
    label += ", with a dot," * small + " where the mask forbids"
    rows = [f"query {i}" for i in range(T)]
    length = min(state["length"], T)
    detail = {
        "sliding": f", window {min(state['window'], T)}",
        "padding": f", {number_of(length, 'real token')}",
        "causal and left padding": f", {number_of(length, 'real token')}",
    }.get(state["mask"], "")
    settings = (
        f"Mask {state['mask']}{detail}; {T} tokens, ALiBi slope "
        f"{setting(state['slope'])}, temperature "
        f"{setting(state['temperature'])}."
    )
    names, here = ("queries", "keys"), expected["picked"]
    return [
        *matrix_words(label, range(T), rows, names, (12, 12), here),
        settings,
    ]


def step_words(state, expected):
    one = state["what"] == "X"
    given = [np.array(state[k]) for k in (3 * "X" if one else "QKV")]
    Q, K, V = given
    q, k, v = 3 * "X" if one else "QKV"
    T, S = len(Q), len(K)
    queries = [f"{'' if one else 'q'}{i}" for i in range(T)]
    keys = [f"{'' if one else 'k'}{j}" for j in range(S)]
    if one:
        parts = [("X", "Q = K = V", Q, queries)]
    else:
        titles = [("Q", "queries", Q, queries), ("K", "keys", K, keys)]
        parts = [*titles, ("V", "values", V, keys)]
    found = []
    for name, title, A, rows in parts:
        label = f"{name} ({len(A)}, {len(A[0])})\n{title}"
        found += table_words(label, range(len(A[0])), rows)
    titles = {"dots": f"{q} {k}ᵀ"}
    if state["scale"]:
        titles["scores"] = f"dots / √{len(Q[0])}"
    if state["causal"]:
        titles["masked"] = "no later key"
    titles["weights"] = "softmax by row"
    queries, keys = (
        [f"{letter}{i}" for i in range(n)]
        for letter, n in (("q", T), ("k", S))
    )
    for name, title in titles.items():
        found += table_words(f"{name} ({T}, {S})\n{title}", keys, queries)
    width = len(V[0])
    label = f"output ({T}, {width})\nweights {v}"
    return [*found, *table_words(label, range(width), queries)]


def saturation_words(state, expected):
    S = state["S"]
    largest = np.sort(expected["weights"])[::-1][:3]
    listed = ", ".join(rounded(w, 2) for w in largest)
    more = " and so on" if S > 3 else ""
    return [
        f"Distribution of the scores of 32 queries and {S} keys: standard "
        f"deviation {rounded(expected['spread'], 2)}",
        "score",
        "share of the scores",
        f"The weights of the first query, largest first: {listed}{more}",
        "even",
        "keys of the first query, by weight",
        "weight",
    ]


def heads_words(state, expected):
    H, H_kv, d, T = (state[key] for key in ("H", "H_kv", "d_k", "T"))
    n, tokens = H * d, list("abcdef"[:T])
    at, head, _, group = expected["followed"]
    some, few = number_of(H, "head"), number_of(H_kv, "head")
    kept = f"{number_of(H_kv * d, 'column')} in {few}"
    found = [
        f"{number_of(n, 'column')} of queries in {some}, which read {few} of "
        f"keys and of values; column {at} is marked, in Q{head}, which reads "
        f"K{group} and V{group}",
        f"queries: {number_of(n, 'column')} in {some}",
        *[f"Q{h}" for h in range(H) if H <= 18],
        *[f"K{g}" for g in range(H_kv) if H <= 18],
        f"keys: {kept}",
        *[f"V{g}" for g in range(H_kv) if H <= 18],
        f"values: {kept}",
    ]
    if n <= 10:
        owners = [f"Q{h}" for h in range(H)]
        caption = f"Merged ({T}, {n}): one row a token"
        found += table_words(caption, [*owners, *range(n)], tokens)
        found += [
            f"Split ({H}, {T}, {d}): the same entries, one table a query head"
        ]
        for h, g in enumerate(expected["kv_head"]):
            found += table_words(f"Q{h} reads K{g} V{g}", range(d), tokens)
    found += ["Who reads whose keys and values, and the columns of each"]
    caption = (
        f"One layer with d_model = {n:,}: parameters, and bytes to cache in "
        "float16"
    )
    rows = ["W_Q", "W_K", "W_V", "W_O", "all four", "cache, bytes a token"]
    return found + table_words(
        caption, [f"H_kv = {H_kv}", f"H_kv = {H}"], rows
    )


def store_words(state, expected):
    S, filled, now = state["S"], expected["filled"], expected["now"]
    whole, _, rest = rounded(sum(now) / 10**9, 3).partition(".")
    rest = rest.rstrip("0")
    gb = f"{whole}{f'.{rest}' * bool(rest)} GB"
    memory, so_far = f"{state['memory']:,} GB", f"{filled:,} of"
    scale = 336 / max(expected["total"], state["memory"] * 10**9)
    long = 336 * filled / S > 16
    return [
        f"{so_far} {number_of(S, 'position')}; {gb} in a memory of {memory}",
        f"one sequence: {so_far} {number_of(S, 'position')}",
        *["keys", "values"] * long,
        f"{number_of(state['batch'], 'sequence')}: {gb}",
        *["K"] * (now[0] * scale > 16),
        *["V"] * (now[1] * scale > 16),
        f"memory: {memory}",
    ]


def kvcache_words(state, expected):
    size = {"float32": 4, "float16 or bfloat16": 2, "8 bits": 1}
    caption = (
        f"Keys and values: {state['n_layers']} · {state['n_kv_heads']} · "
        f"({state['d_k']} + {state['d_v']}) · {size[state['dtype']]} · "
        f"{state['S']:,} · {state['batch']:,} bytes"
    )
    rows = ["one position, one layer", "one position, all layers"]
    rows += ["one sequence", "all sequences"]
    found = store_words(state, expected)
    found += table_words(caption, ["bytes", "binary units"], rows)
    caption = f"Bytes of one position in all layers, {state['dtype']}"
    named = preset_of(state)
    models = [] if named else ["▸ own numbers"]
    models += [f"{'▸ ' * (m == named)}{m}" for m in expected["models"]]
    return found + table_words(caption, ["bytes"], models)


def preset_of(state):
    """The model whose sizes a calculator holds, if there is one."""
    for name, sizes in figures.presets("kvcache").items():
        if state | sizes == state:
            return name
    return None


def sinusoid_words(state, expected):
    T, n = state["T"], 2 * state["pairs"]
    pair = min(state["pair"], state["pairs"] - 1)
    label = (
        f"Rows are positions 0 to {T - 1}, columns 0 to {n - 1}: "
        "−1 orange, 1 blue"
    )
    rows = [f"t = {t}" for t in range(T)]
    return [
        *matrix_words(label, range(n), rows, ("positions", "columns")),
        f"Sine and cosine of pair {pair} over the positions",
        f"sine, {2 * pair}",
        f"cosine, {2 * pair + 1}",
        "position",
        f"pair {pair}",
    ]


def rim(step):
    """The numbers on the rim of a dial: those of the first turn, apart."""
    every = next((k for k in (1, 2, 4, 8, 16) if k * step >= 15), 32)
    return [
        str(p)
        for p in range(0, 33, every)
        if p == 0 or (p * step < 360 and 360 - p * step >= 15)
    ]


def rotation_words(state, expected):
    pair = min(state["pair"], state["pairs"] - 1)
    q, k = state["m"] + state["shift"], state["n"] + state["shift"]
    step, at, to = map(float, expected["turns"])
    return [
        f"Pair {pair}: the query turned to position {q}, the key to position "
        f"{k}",
        *rim(step),
        "q",
        "k",
        "The score over the distance, query position minus key position",
        "score",
        str(state["m"] - state["n"]).replace("-", "−"),
        "distance m − n",
        "score",
        f"Pair {pair} turns by {rounded(step, 3)} degrees a position. At {q} "
        f"the query q points to {rounded(at, 1)} degrees, and at {k} the key "
        f"k, {setting(state['angle'])} ahead from the start, to "
        f"{rounded(to, 1)}. Faint: where they began. Numbers: where q points "
        "at that position. The curve is the score over the distance, the "
        "dots are whole distances.",
    ]


def alibi_words(state, expected):
    T, slopes = state["T"], expected["slopes"]
    label = (
        f"Rows are heads, columns distances 0 to {T - 1}: the farther below "
        "0, the stronger"
    )
    rows = [f"head {h}: {shortest(m, 4)}" for h, m in enumerate(slopes)]
    ends = dict.fromkeys((slopes.argmax(), slopes.argmin()))
    return [
        *matrix_words(label, range(T), rows, ("heads", "distances"), (16, 4)),
        "The bias of the steepest and of the flattest head over the distance",
        *(f"head {h}" for h in ends),
        "distance",
        "bias",
    ]


def positions_words(state, expected):
    kinds = [sinusoid_words, rotation_words, alibi_words]
    chosen = ["sinusoid", "RoPE", "ALiBi"].index(state["kind"])
    return kinds[chosen](state, expected)


def small_words(state, expected):
    T, done, tile = state["T"], expected["done"], expected["tile"]
    told = f"small memory: room for {expected['held']['tiled']:,} numbers"
    told = [told, "max", "sum"]
    if tile is None:
        return ["The small memory is empty", *told]
    a, b, c, d = expected["blocks"][done - 1]
    wide = 190 / min(state["block_k"], T)
    high = 190 / min(state["block_q"], T)
    row = min(state["row"], T - 1)
    numbers = np.array(tile["scores"], float)
    cells = [rounded(x, 2) for x in numbers[~np.isnan(numbers)]]
    return [
        f"In the small memory: scores of queries {a} to {b - 1} and keys {c} "
        f"to {d - 1}, and a maximum and a sum for each query",
        *told,
        *[f"k{j}" for j in range(c, d) if wide >= 24],
        *cells * (wide >= 34 and high >= 13),
        *[f"q{i}" for i in range(a, b) if high >= 13 or i == row],
    ]


def tiles_words(state, expected):
    T, done, blocks = state["T"], expected["done"], expected["blocks"]
    row = min(state["row"], T - 1)
    seen = [b for b in blocks[:done] if b[0] <= row < b[1]]
    rows = [f"keys {c} to {d - 1}" for _, _, c, d in seen]
    if len(rows) > 8:
        rows = [f"{len(rows) - 8} earlier", *rows[-8:]]
    empty = "Empty: above the diagonal, left out. " * state["causal"]
    return [
        f"Scores of {T} queries, which are rows, and {T} keys. {done} of "
        f"{number_of(len(blocks), 'block')} visited.",
        *small_words(state, expected),
        f"{empty}Faint blue: to come. Strong blue: visited. Orange with a "
        "thick edge: visited last, and in the small memory. Rows are "
        f"queries, columns keys; the marks at the sides: query {row}.",
        *table_words(
            f"What query {row} remembers after each of its blocks; the "
            "factor is for the old sum",
            ["maximum", "factor", "added", "sum"],
            [*rows, "plain, whole row"],
        ),
        *table_words(
            "Plain against tiled",
            ["plain", "tiled", "so far"],
            [
                "numbers held at once",
                "scores computed",
                "keys read, and values",
            ],
        ),
    ]


def short(x):
    """Two digits, without a zero before the point."""
    return rounded(x, 2).removeprefix("0")


def chance(x):
    return "above 0.99" if x >= 0.995 else f"of {rounded(x, 2)}"


def head_words(state, expected, i, h):
    """The caption of one head, its symbols, and the weights that matter."""
    row, symbols = (
        expected["weights"][i][h][expected["query"]],
        state["symbols"],
    )
    key = int(np.argmax(row))
    off = "" if state[f"head_{i}_{h}"] else " (off)"
    label = (
        f"Block {i}, head {h}{off}: most on {symbols[key]} at {key}, weight "
        f"{rounded(row[key], 2)}"
    )
    return [label, label, symbols, *(short(w) for w in row if w >= 0.1)]


def strip_words(state, expected, k):
    """The caption of one row of strips, and its symbols."""
    name = ("Embeddings", "After block 0", "After block 1")[k]
    most = rounded(np.abs(expected["stream"][k]).max(), 2)
    label = f"{name}, −{most} (orange) to {most} (blue)"
    return [label, label, state["symbols"]]


def induction_words(state, expected):
    found = []
    for i in (0, 1):
        found += strip_words(state, expected, i)
        for h in (0, 1):
            found += head_words(state, expected, i, h)
    found += strip_words(state, expected, 2)
    chances, said, answer = (
        expected[k] for k in ("chances", "said", "answer")
    )
    label = f"The next symbol: {LETTERS[said]} with a chance "
    label += chance(chances[said])
    if answer is not None:
        label += f"; underlined: {LETTERS[answer]}, which followed last time"
    found += [label, label]
    found += [">.99" if c >= 0.995 else short(c) for c in chances if c >= 0.1]
    return [*found, LETTERS]


def words_words(state, expected):
    """The words with their weights, the mixture, and the keys."""
    weights = [float(w) for w in expected["weights"]]
    pairs = list(zip(KEYS_OF_WORDS, weights, strict=True))
    said = ", ".join(f"{word} {rounded(w, 2)}" for word, w in pairs)
    # A part of the mixture has its name where there is room for it.
    named = [word for word, w in pairs if 360 * w > 9 * len(word)]
    return [
        f"Arcs from it to each word, as thick as its weight: {said}",
        *(text for word, w in pairs for text in (word, rounded(w, 2))),
        *named,
        "The keys of the words in a plane, and the query of it",
        "alive →",
        "↑ a drink",
        "● drag what “it” asks for",
        *KEYS_OF_WORDS,
    ]


def significant(x):
    """Four digits that count, or all digits of a number from 1,000."""
    if not 1e-3 <= x < 1e5:
        power = int(np.floor(np.log10(float(x))))
        exact = decimal.Decimal(float(x)).scaleb(-power)
        first = exact.quantize(decimal.Decimal("0.1"), decimal.ROUND_HALF_UP)
        if first == 10:
            first, power = decimal.Decimal("1.0"), power + 1
        return f"{first}e{power}".replace("-", "−")
    return rounded(float(x), 0) if x >= 1000 else shortest(x, 4)


def smooth(p):
    return p * p * (3 - 2 * p)


def film_words(state, expected):
    """What the film says at a time, from the top to the bottom."""
    X, time = state["X"], expected["time"]
    n, i = len(X), min(state["query"], len(X) - 1)
    names = state["words"].split(" ")
    if state["what"] != "X":
        return made_words(state, expected)

    def part(step, start, length):
        return smooth(min(max((time - (step - 1) - start) / length, 0), 1))

    def told(step):  # the second part of a step shows its number
        return part(step, 0.6, 0.4) > 0.05

    def chips(j):
        return [setting(x) for x in X[j]]

    dots, scores, exps, weights = (
        [float(x) for x in expected[key]]
        for key in ("dots", "scores", "exponentials", "weights")
    )
    found = [
        f"The query of {names[i]} meets {number_of(n, 'key')}; step "
        f"{shortest(time, 3)} of {n + 4}",
        *("its query", "keys", names[i], "q·k", "÷√d", "exp", "weight"),
    ]
    dots, grown = decimals_of(dots, 4), exponentials(exps)
    for j in range(n):
        found += [names[j], *chips(j)]
        found += [dots[j]] * told(j + 1)
        found += [rounded(scores[j], min(map(room, scores)))] * told(n + 1)
        found += [grown[j]] * told(n + 2)
        found += [rounded(weights[j], 3)] * told(n + 3)
    found += [f"sum {significant(sum(exps))}"] * told(n + 2)
    if told(n + 4):
        found += [rounded(float(x), 2) for x in expected["output"]]
        found += ["output", "weights × values, summed"]
    # The query is copied. On its way over digits it is an outline without any.
    places = [28, *(88 + 41 * j - 17 for j in range(n)), 28]
    y = 28 + sum(
        part(k + 1, 0, 0.6) * (places[k + 1] - places[k]) for k in range(n + 1)
    )
    over = any(0.5 < abs(y - at) < 16.5
               for at in (28, *(88 + 41 * j for j in range(n))))  # fmt: skip
    return [*found, *chips(i) * (1 + (0 < time < n + 1 and not over))]


def chip(x):
    """A number of a chip: two decimals, or one from 10 on."""
    text = rounded(float(x), 2 if abs(x) < 9.995 else 1)
    return text.rstrip("0").rstrip(".") if "." in text else text


def room(x):
    """Decimals of a column: fewer, the larger its largest number is."""
    return 3 if abs(x) < 10 else 2 if abs(x) < 100 else 1


def decimals_of(numbers, most):
    """The numbers of a column, with the decimals that one of them needs."""
    exact = [decimal.Decimal(rounded(float(x), most).replace(",", "")
             .replace("−", "-")).normalize() for x in numbers]  # fmt: skip
    needed = max(max(-x.as_tuple().exponent, 0) for x in exact)
    return [rounded(float(x), needed) for x in numbers]


def exponentials(numbers):
    """The numbers of a column, all with a power of ten or none with one."""
    if any(x >= 1e5 or x < 1e-3 for x in numbers):
        texts = [f"{decimal.Decimal(float(x)):.1e}" for x in numbers]
        return [re.sub(r"e\+?", "e", t).replace("-", "−") for t in texts]
    most = max(numbers)
    return [rounded(float(x), 0 if most >= 1000 else room(most))
            for x in numbers]  # fmt: skip


def made_words(state, expected):
    """What the film says where matrices make the rows: a word a piece.

    Written out at whole steps; between them, what a bench or a table shows
    is read back in `test_shown.py`.
    """
    X, time = np.array(state["X"], float), expected["time"]
    n, i = len(X), min(state["query"], len(X) - 1)
    names, q, K, V = state["words"].split(" "), *map(expected.get, "qKV")
    jobs = [("W_Q", i, q), *(("W_K", j, k) for j, k in enumerate(K))]
    jobs += [("W_V", j, v) for j, v in enumerate(V)]
    ahead = len(jobs) + 1
    if time != int(time):
        return None
    said = [
        f"Query, {number_of(n, 'key')} and values are made; the query of "
        f"{names[i]} meets the keys; step {shortest(time, 3)} of "
        f"{ahead + n + 4}",
        "its query",
    ]
    met, scaled, grown, shared, mixed = (
        time - ahead >= k for k in (0, n + 1, n + 2, n + 3, n + 4)
    )
    said += ["keys"] * met + [names[i]]
    said += ["q·k", "÷√d", "exp", "weight"] * met

    def fewest(column):
        return min(map(room, column))

    scores = expected["scores"]
    dots = decimals_of(expected["dots"], fewest(expected["dots"]))
    for j in range(n):
        said += [names[j]] + ["value"] * met
        if time - ahead > j:
            said += [dots[j]]
        said += [rounded(float(scores[j]), fewest(scores))] * scaled
        said += [exponentials(expected["exponentials"])[j]] * grown
        said += [rounded(float(expected["weights"][j]), 3)] * shared
    said += [f"sum {significant(sum(expected['exponentials']))}"] * grown
    if not met:
        said += ["X", "keys", "values"] + [chip(x) for x in X.ravel()]
        name, row, sums = jobs[max(int(time) - 1, 0)]
        W = np.array(state[name], float)
        said += [name, *(chip(w) for w in W.ravel())]
        if time:
            for c, total in enumerate(sums):
                said += [f"= {chip(x)}" for x in X[row] * W[:, c]]
                said += ["sum", chip(total)]
            said += [chip(x) for x in X[row]] * len(sums)
    for _, _, made in jobs[: int(time)]:
        said += [chip(x) for x in made]
    if mixed:
        said += [
            rounded(float(x), 2 if abs(x) < 9.995 else 1)
            for x in expected["output"]
        ]
        said += ["output", "weights × values, summed"]
    return [*said, *[chip(x) for x in q] * (0 < time - ahead < n + 1)]


def film_sentence(state, expected):
    """The sentence of the step that the film is in."""
    return film_sentences(state, expected)[int(np.ceil(expected["time"]))]


def film_sentences(state, expected):
    """The sentences of all steps."""
    X, n = state["X"], len(state["X"])
    i, names = min(state["query"], n - 1), state["words"].split(" ")
    q, K = expected["q"].tolist(), expected["K"].tolist()

    def listed(numbers, write=lambda x: rounded(float(x), 3)):
        return ", ".join(write(x) for x in numbers)

    def factor(x):
        return f"({setting(x)})" if x < 0 else setting(x)

    def sum_of(a, b):
        """Products, their sum, and whether four decimals hold it."""
        pairs = list(zip(map(exact, a), map(exact, b), strict=True))
        total = sum(x * y for x, y in pairs)
        sign = "=" if total == round(total, 4) else "≈"
        text = " + ".join(f"{factor(x)}×{factor(y)}" for x, y in pairs)
        return f"{text} {sign} {setting(total)}"

    def exact(x):
        return decimal.Decimal(repr(round(x, 4)))

    steps = []
    if state["what"] != "X":
        steps += [
            "Each word is a row of X. W_Q makes the query of "
            f"{names[i]}, W_K a key of each word, W_V a value."
        ]
        jobs = [("Query", "W_Q", i)]
        jobs += [("Key", "W_K", j) for j in range(n)]
        jobs += [("Value", "W_V", j) for j in range(n)]
        for what, name, j in jobs:
            columns = list(zip(*state[name], strict=True))
            every = "the" if len(columns) == 1 else "each"
            sums = "; ".join(sum_of(X[j], column) for column in columns)
            steps += [
                f"{what} of {names[j]} = its row of X times {every} column "
                f"of {name}: {sums}."
            ]
    steps += [f"The query of {names[i]} asks which keys fit it."]
    steps += [
        f"Query of {names[i]} · key of {names[j]} = {sum_of(q, K[j])}."
        for j in range(n)
    ]
    exps = expected["exponentials"]
    steps += [
        f"Divided by √{len(q)}: {listed(expected['scores'])}.",
        f"exp of each: {listed(exps, significant)}; their sum: "
        f"{significant(exps.sum())}.",
        f"Each over the sum is a weight: {listed(expected['weights'])}.",
        f"The values of {', '.join(names)}, each times its weight, add up to "
        f"the output ({listed(expected['output'])}).",
    ]
    return steps


def setting(x):
    """A number to four decimals at most."""
    text = rounded(float(x), 4)
    return text.rstrip("0").rstrip(".") if "." in text else text


WORKS = {
    "prefill": "prefill, attention",
    "stored": "prefill, scores stored",
    "read": "prefill, projections",
    "decode": "decode, attention",
    "write": "decode, projections",
}


def by_intensity(expected):
    """The kinds of work from the left to the right of the roof."""
    points = expected["points"]
    return [WORKS[k] for k in sorted(WORKS, key=lambda k:
                                     points[k]["intensity"])]  # fmt: skip


def roof_words(state, expected):
    order = by_intensity(expected)
    # Smaller numbers are no words; the last is of the other axis.
    ticks = ["1,000", "10,000", "1,000"]
    return [
        f"The roof of the {state['device']}: speed over FLOPs per byte. From "
        f"left to right: {'; '.join(order)}",
        *ticks,
        "FLOPs per byte",
        "TFLOP/s at most",
        "memory-bound",
        "compute-bound",
        *order,
        *table_words(
            "The work of one layer, in 16 bits",
            ["FLOPs", "bytes", "FLOPs per byte", "TFLOP/s at most"],
            WORKS.values(),
        ),
    ]


def lasting(seconds):
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1, "s")):
        if seconds * factor < 1000 or unit == "s":
            return f"{shortest(seconds * factor, 3)} {unit}"
    return None


def roof_sentence(state, expected):
    balance, points = expected["balance"], expected["points"]

    def named(bound):
        found = [WORKS[k] for k in WORKS
                 if (points[k]["intensity"] >= balance) == bound]  # fmt: skip
        return "; ".join(found) or "nothing"

    H = state["heads"]
    shared = H // min(state["shared"], H)
    return (
        f"The {state['device']} needs {rounded(balance, 0)} FLOPs per byte. "
        f"Compute-bound: {named(True)}. Memory-bound: {named(False)}. "
        f"Attention and projections of one layer, {number_of(H, 'head')} on "
        f"{number_of(shared, 'key/value head')}, take at least "
        f"{lasting(expected['prompt'])} to read {state['batch']} × "
        f"{number_of(state['T'], 'token')} and {lasting(expected['token'])} "
        "to write the next."
    )


def vector(numbers):
    return f"({', '.join(setting(x) for x in numbers)})"


def project_words(state, expected):
    x, y = (vector([state[f"{t}1"], state[f"{t}2"]]) for t in "xy")
    q, k, v = (vector(expected[n]) for n in "qkv")
    label = (
        f"The query of x {q}, the key {k} and the value {v} of y; the shadow "
        f"of the key on the query is {rounded(float(expected['shadow']), 2)} "
        "long"
    )
    return [
        "Tokens: drag x, y", f"The tokens x {x} and y {y}", "y", "x",
        "q of x; k, v of y", label, "v", "k", "q",
    ]  # fmt: skip


def project_sentence(state, expected):
    q, k, v = (expected[n] for n in "qkv")
    dots, length = float(expected["dot"]), float(expected["length"])

    def made(numbers, text):
        short = all(abs(x - round(float(x), 4)) < 1e-12 for x in numbers)
        return f"{'=' if short else '≈'} {text}"

    def factor(x):
        return f"({setting(x)})" if x < 0 else setting(x)

    way = (
        f"that is the length of q, {rounded(length, 2)}, times the shadow of "
        f"k on it, {rounded(float(expected['shadow']), 2)}"
    )
    way += ", which falls against q" * (dots < 0)
    if abs(dots) < 1e-9:
        way = "k stands across q and casts no shadow on it"
    if length < 1e-9:
        way = "q is zero, so each key would score 0"
    pairs = zip(q, k, strict=True)
    product = " + ".join(f"{factor(a)}×{factor(b)}" for a, b in pairs)
    return (
        f"q = x W_Q {made(q, vector(q))}, k = y W_K {made(k, vector(k))}: "
        f"q · k = {product} {made([*q, *k, dots], setting(dots))}; {way}. "
        f"Score: {setting(dots)} / √2 ≈ "
        f"{rounded(float(expected['score']), 2)}. What y would give: "
        f"v = y W_V {made(v, vector(v))}."
    )


def plain(x):
    """A number as a page writes it, whole ones without a point."""
    return f"{x:g}"


def temperature_words(state, expected):
    weights, ghost = (
        [rounded(float(w), 2) for w in expected[key]]
        for key in ("weights", "ghost")
    )
    label = (
        f"The weights of {len(weights)} scores at temperature "
        f"{plain(state['temperature'])}: {', '.join(weights)}; outlined those "
        f"at {plain(state['ghost'])}: {', '.join(ghost)}"
    )
    # Ticks and scores are plain numbers; a weight is set apart.
    return [label, "weight", *weights, "scores; dotted: all weights equal"]


def temperature_sentence(state, expected):
    weights, nats = expected["weights"], float(expected["entropy"])
    return (
        f"At temperature {plain(state['temperature'])} the largest weight is "
        f"{rounded(float(weights.max()), 2)}, and the entropy "
        f"{rounded(nats, 2)} nats of at most "
        f"{rounded(float(np.log(len(weights))), 2)}: as spread out as "
        f"{rounded(float(np.exp(nats)), 1)} equal weights. The outlines are "
        f"those of temperature {plain(state['ghost'])}: largest "
        f"{rounded(float(expected['ghost'].max()), 2)}, entropy "
        f"{rounded(float(expected['before']), 2)}."
    )


def backward_words(state, expected):
    T, S = np.shape(expected["weights"])
    d_k, d_v = len(state["Q"][0]), len(state["V"][0])
    queries, keys = [f"q{i}" for i in range(T)], [f"k{j}" for j in range(S)]
    found = []
    for name, formula, rows, columns in (
        ("dY", "you give it", queries, range(d_v)),
        ("A", "the weights", queries, keys),
        ("dV", "Aᵀ dY", keys, range(d_v)),
        ("dA", "dY Vᵀ", queries, keys),
        ("dS", "A × (dA − mean)", queries, keys),
        ("dQ", f"dS K / √{d_k}", queries, range(d_k)),
        ("dK", f"dSᵀ Q / √{d_k}", keys, range(d_k)),
    ):
        label = f"{name} ({len(rows)}, {len(columns)})\n{formula}"
        found += table_words(label, columns, rows)
    return found


def backward_sentence(state, expected):
    wide = len(state["dY"][0])
    i, c = divmod(min(state["entry"], len(state["dY"]) * wide - 1), wide)
    means, A, dA, dS = (expected[k] for k in ("means", "weights", "dA", "dS"))
    sizes = np.abs(dS[i])
    j = int(np.flatnonzero(sizes >= sizes.max() * (1 - 1e-9))[0])
    mean, weight, grad, score = (
        rounded(float(x), 3) for x in (means[i], A[i, j], dA[i, j], dS[i, j])
    )
    way = "raises" if dS[i, j] > 0 else "lowers"
    way = "hardly moves" if sizes[j] < 5e-4 else way
    less = f"({mean})" if means[i] < 0 else mean
    return (
        f"dY[{i}][{c}] = {setting(state['dY'][i][c])}. In row {i} the mean of "
        f"dA under the weights is {mean}. The score of key {j} has the "
        f"largest gradient there: dS[{i}][{j}] = A × (dA − mean) = {weight} × "
        f"({grad} − {less}) ≈ {score}: a higher score {way} the loss."
    )


LETTERS = "ABCDEFGHIJKL"
WORDS_OF = {
    "project": project_words,
    "temperature": temperature_words,
    "backward": backward_words,
    "roof": roof_words,
    "causal": causal_words,
    "step": step_words,
    "saturation": saturation_words,
    "heads": heads_words,
    "kvcache": kvcache_words,
    "positions": positions_words,
    "tiles": tiles_words,
    "induction": induction_words,
    "words": words_words,
    "film": film_words,
}


@pytest.mark.parametrize("name", CLASSES)
def test_captions_headings_and_labels_say_what_is_shown(name):
    for settings in some_states(name):
        state, expected, shown = look(name, settings)
        known = WORDS_OF[name](state, expected)
        assert known in (None, words(shown)), settings


# --- sentences ------------------------------------------------------------


def heads_sentence(state, expected):
    H, H_kv, d = state["H"], state["H_kv"], state["d_k"]
    column, head, place, group = expected["followed"]
    kind = {1: "Multi-query", H: "Multi-head"}.get(H_kv, "Grouped-query")
    share = H // H_kv
    of_all = f", 1/{share} of what multi-head attention takes" * (share > 1)
    return (
        f"{kind} attention: {number_of(share, 'query head')} to a key/value "
        f"head. Column {column} is place {place} of query head {head}, since "
        f"{column} = {head} · {d} + {place}; that head reads K{group} and "
        f"V{group}. The cache takes {expected['cache']:,} bytes a token"
        f"{of_all}."
    )


def size(n):
    names = ["KiB", "MiB", "GiB", "TiB"]
    k = max(i for i in range(4) if i == 0 or n >= 2 ** (10 * (i + 1)))
    text = rounded(n / 2 ** (10 * (k + 1)), 3).rstrip("0").rstrip(".")
    return f"{text} {names[k]}"


def kvcache_sentence(state, expected):
    S, batch, now = state["S"], state["batch"], sum(expected["now"])
    filled, room = expected["filled"], expected["room"]
    each = f"each of {batch:,} sequences" if batch > 1 else "one sequence"
    one = "s" * (filled * batch == 1)
    whole, _, rest = rounded(now / 2**20, 3).partition(".")
    rest = rest.rstrip("0")
    mib = f", which is {whole}{f'.{rest}' * bool(rest)} MiB"
    name = preset_of(state)
    latent = (
        " It keeps one latent vector of 512 numbers, entered as the key, from "
        "which keys and values are made again, and a rotary key of 64, "
        "entered as the value."
    )
    verdict = f"are full after {room:,} of {number_of(S, 'position')}"
    if expected["total"] <= state["memory"] * 10**9:
        verdict = "have room for all of them, and for "
        verdict += number_of(room, "position")
    return (
        f"{name or 'These sizes'}: {number_of(expected['per_token'], 'byte')} "
        f"a position. {number_of(filled, 'position')} in {each} take{one} "
        f"{size(now)}{mib * (now >= 2**30)}. {state['memory']:,} GB {verdict}"
        f"{' in each sequence' * (batch > 1)}."
        f"{latent * (name == 'DeepSeek-V3')}"
    )


def tiles_sentence(state, expected):
    row = min(state["row"], state["T"] - 1)
    seen, own = expected["of_row"]
    said = f"Query {row} was not reached yet."
    if seen:
        said = (
            f"Query {row} has seen {seen} of its {number_of(own, 'block')}: "
            f"maximum {rounded(expected['maxima'][-1], 4)}, "
            f"sum {rounded(expected['sums'][-1], 4)}."
        ) + " Plain attention has the same." * (seen == own)
    held = expected["held"]
    return (
        f"{expected['done']} of {number_of(len(expected['blocks']), 'block')} "
        f"visited. {said} Plain attention holds {held['plain']:,} scores at "
        f"once, tiles {held['tiled']:,} numbers."
    )


def induction_sentence(state, expected):
    query, said, answer, counted = (
        expected[key] for key in ("query", "said", "answer", "counted")
    )
    symbol = state["symbols"][query]
    off = [
        f"block {i} head {h}"
        for i, h in ((0, 0), (0, 1), (1, 0), (1, 1))
        if not state[f"head_{i}_{h}"]
    ]
    verdict = f"{symbol} was not read before, so nothing tells what follows"
    if answer is not None:
        verdict = "right" if said == answer else "wrong"
        verdict += f", as {LETTERS[answer]} followed {symbol} last time"
    without = f"Switched off: {', '.join(off)}. "
    here = f"{expected['right']} of {number_of(counted, 'time')} here and "
    return (
        f"{without * bool(off)}"
        f"At {query} the model reads {symbol} and says {LETTERS[said]} with a "
        f"chance {chance(expected['chances'][said])}: {verdict}. Where a "
        f"symbol was read before, it is right {here * (counted > 0)}"
        f"{rounded(100 * expected['accuracy'], 1)} % of the time in new "
        f"sequences ({number_of(state['step'], 'step')} of training"
        f"{', all heads on' * bool(off)})."
    )


def alibi_sentence(state, expected):
    slopes = expected["slopes"]
    rule = {"paper": "paper", "reference": "published code, the reference"}
    listed = ", ".join(shortest(m, 4) for m in slopes)
    steep, flat = slopes.argmax(), slopes.argmin()
    both = f" Head {steep} is the steepest, head {flat} the flattest."
    both = both if steep != flat else ""
    return (
        f"{number_of(len(slopes), 'head')}, rule of the "
        f"{rule[state['rule']]}. Slopes: {listed}.{both}"
    )


def words_sentence(state, expected):
    most = expected["most"]
    word, key = list(KEYS_OF_WORDS.items())[most]
    first, second = (
        f"{brief(q)}×{f'({brief(k)})' if k < 0 else brief(k)}"
        for q, k in zip((state["x"], state["y"]), key, strict=True)
    )
    second = f"({second})" if state["y"] < 0 else second
    dot = brief(expected["dots"][most])
    top, total = expected["exponentials"][most], expected["exponentials"].sum()
    return (
        f"query of it · key of {word} = {first} + {second} = {dot}; "
        f"exp({dot} / √2) ≈ {rounded(float(top), 2)} of "
        f"{rounded(float(total), 2)} in all ≈ "
        f"{rounded(float(expected['weights'][most]), 2)}"
    )


SENTENCES = {
    "project": project_sentence,
    "temperature": temperature_sentence,
    "backward": backward_sentence,
    "roof": roof_sentence,
    "film": film_sentence,
    "words": words_sentence,
    "heads": heads_sentence,
    "kvcache": kvcache_sentence,
    "tiles": tiles_sentence,
    "positions": alibi_sentence,
    "induction": induction_sentence,
}
# States at the edges of what the sentences tell apart.
EDGES = {
    "project": [{"x1": -2, "x2": -2, "y1": 2, "y2": 2}],
    "temperature": [{"scores": [[0, 0.125]], "temperature": 100}],
    "backward": [{"entry": k} for k in range(7)],
    "roof": [{"T": 1, "batch": 256}, {"batch": 512 // 2, "T": 32768}],
    "film": [{"at": 0}, {"query": 3, "at": 4.1}],
    "words": [{"x": -1, "y": -1}, {"x": 0, "y": 1}],
    "heads": [
        {"H": 1, "H_kv": 1},
        {"H": 4, "H_kv": 1},
        {"H": 4, "H_kv": 4},
        {"H": 25, "H_kv": 5, "d_k": 1},  # a column too many to be drawn
    ],
    "kvcache": [
        *({**sizes} for sizes in figures.presets("kvcache").values()),
        {"S": 1, "n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1},
        {"S": 1, "n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1023},
        {"S": 2, "batch": 2},
        {"S": 8192, "n_layers": 1, "n_kv_heads": 1, "d_k": 32, "d_v": 32},
        {"S": 8191, "n_layers": 1, "n_kv_heads": 1, "d_k": 32, "d_v": 32},
        {"S": 8193, "batch": 2, "dtype": "float32"},
        {"S": 2**20, "batch": 8},
        {"S": 2**20, "batch": 7, "n_layers": 33},
        {"S": 2**23, "batch": 1024, "dtype": "8 bits"},
    ],
    "tiles": [{"T": 4, "block_q": 64, "block_k": 64, "step": 1, "row": 3}],
    "induction": [{"symbols": "AA"}, {"symbols": "ABCDEFABCDEF", "query": 5}],
    "positions": [
        {"kind": "ALiBi", "heads": n, "T": 3, "rule": rule}
        for n in range(1, 17)
        for rule in ("paper", "reference")
    ]
    + [{"kind": "ALiBi", "heads": 2, "T": T} for T in (12, 13, 14)]
    # The axis ends at the next number whose quarter is whole.
    + [{"kind": "sinusoid", "T": T} for T in (6, 17, 18)],
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentence_says_what_the_helpers_say(name):
    for settings in [*some_states(name), *EDGES[name]]:
        state, expected, shown = look(name, settings)
        if state.get("kind", "ALiBi") == "ALiBi":
            said = shown.select_one(".av-say").text
            assert said == SENTENCES[name](state, expected), settings


@pytest.mark.parametrize("name", SENTENCES)
def test_captions_at_the_edges_say_what_is_shown(name):
    for settings in EDGES[name]:
        state, expected, shown = look(name, settings)
        known = WORDS_OF[name](state, expected)
        assert known in (None, words(shown)), settings


def test_a_preset_has_the_sizes_of_its_models():
    keys = ("n_layers", "n_kv_heads", "d_k", "d_v")
    for names, preset in figures.presets("kvcache").items():
        for name in names.split(", "):
            sizes = dict(zip(keys, model_sizes(name), strict=True))
            assert preset == sizes, name


def decimals(x):
    """The fewest decimals that write a number exactly, if five do."""
    for digits in range(6):
        if abs(x - round(x, digits)) < 1e-12:
            return digits
    return None


def brief(x):
    if np.isinf(x):
        return "−∞"
    digits = decimals(x)
    return rounded(float(x), 4 if digits is None else digits)


def equals(x, exactly=True):
    sign = "=" if exactly and decimals(x) is not None else "≈"
    return f"{sign} {brief(x)}"


def product(a, b):
    def factor(x):
        return f"({brief(x)})" if x < 0 else brief(x)

    pairs = zip(a, b, strict=True)
    return " + ".join(f"{factor(x)}×{factor(y)}" for x, y in pairs)


def step_sentences(state, expected):
    """Each entry's sentence, and the entries that it comes from."""
    one = state["what"] == "X"
    Q, K, V = (np.array(state[c], float) for c in (3 * "X" if one else "QKV"))
    q, k, v = 3 * "X" if one else "QKV"
    dots, scores, weights, output = (
        np.array(expected[key])
        for key in ("dots", "scores", "weights", "output")
    )
    (T, S), width = dots.shape, Q.shape[1]
    found = {}

    def tell(name, i, j, text, *sources):
        found[f"{name},{i},{j}"] = f"{name}[{i}][{j}] = {text}", list(sources)

    for i, j in np.ndindex(T, S):
        known = all(decimals(x) is not None for x in [*Q[i], *K[j]])
        made = equals(dots[i, j], known)
        text = f"{q}[{i}] · {k}[{j}] = {product(Q[i], K[j])} {made}"
        tell("dots", i, j, text, [q, i, None], [k, j, None])
    last = "dots"
    if state["scale"]:
        for i, j in np.ndindex(T, S):
            text = f"{last}[{i}][{j}] / √{width} = {brief(dots[i, j])} / "
            text += f"{brief(np.sqrt(width))} {equals(scores[i, j])}"
            tell("scores", i, j, text, [last, i, j])
        last = "scores"
    hidden = np.arange(S) > np.arange(T)[:, None] + S - T
    hidden &= state["causal"]
    logits = np.where(hidden, -np.inf, scores)
    if state["causal"]:
        for i, j in np.ndindex(T, S):
            text = (
                f"−∞, since key {j} comes after query {i}"
                if hidden[i, j]
                else f"{last}[{i}][{j}] = {brief(scores[i, j])}, since query "
                f"{i} may attend to key {j}"
            )
            tell("masked", i, j, text, [last, i, j])
        last = "masked"
    for i, j in np.ndindex(T, S):
        powers = [f"exp({brief(x)})" for x in logits[i]]
        with np.errstate(over="ignore"):
            top, total = np.exp(logits[i, j]), np.exp(logits[i]).sum()
        short = all(x == 0 or 1e-3 < x < 1e5 for x in (top, total))
        known = decimals(top) is not None and decimals(total) is not None
        ratio = f"{'=' if known else '≈'} {brief(top)} / {brief(total)} "
        # One key of several has some of the weight, and not all of it.
        alone = hidden[i, j] or (~hidden[i]).sum() == 1
        w = weights[i, j]
        sure = alone or 1e-12 <= w <= 1 - 1e-12
        text = f"{powers[j]} / ({' + '.join(powers)}) "
        text += f"{ratio if short and total > 0 else ''}{equals(w, sure)}"
        tell("weights", i, j, text, [last, i, None])
    for i, c in np.ndindex(*output.shape):
        known = all(decimals(w) is not None for w in weights[i])
        text = f"weights[{i}] · column {c} of {v} = "
        text += f"{product(weights[i], V[:, c])} {equals(output[i, c], known)}"
        tell("output", i, c, text, ["weights", i, None], [v, None, c])
    return found


ALL_STEPS = """(state) => {
  const list = steps(state, figure.compute(state));
  const made = list.filter((A) => A.made);
  return Object.fromEntries(made.flatMap((A) => A.values.flatMap((row, i) =>
    row.map((_, j) => {
      const at = `${A.name},${i},${j}`;
      const { entry, text, from } = worked(list, at);
      return [at, [text, from, entry]];
    }))));
}"""
STEPS = [
    {},
    {"causal": True},
    {"scale": False},
    {"X": [[0.5, 1 / 3], [2, -1], [1e-5, 7]], "causal": True},
    {"Q": [[-100.0]], "K": [[100.0], [90.0]], "V": [[1.0], [2]]},
    {"Q": [[2.0]], "K": [[1.0]], "V": [[3.0, 1.5]], "causal": True},
    {"Q": [[0.0]], "K": [[1.0], [2.0]], "V": [[3.0], [0.25]]},
    {"Q": [[1.0], [2]], "K": [[3.0], [-4.0]], "V": [[1.0], [1]],
     "scale": False, "causal": True},
    # Weights that were shortened, and one of zero, make exactly one.
    {"Q": [[1.0], [2], [3]], "K": [[1.0], [2], [3]],
     "V": [[1.0], [1], [1]], "causal": True},
    {"Q": [[1.0]], "K": [[11.5], [-6.9]], "V": [[1.0], [1]], "scale": False},
    {"Q": [[1.0]], "K": [[11.6], [-7.0]], "V": [[1.0], [1]], "scale": False},
    # exp(11.51293) is a little more than 100,000.
    {"Q": [[1.0]], "K": [[11.51293], [-100.0]], "V": [[1.0], [1]],
     "scale": False},
]  # fmt: skip


def test_step_computes_each_entry_in_a_sentence():
    for settings in [*STEPS, *states("step", 12)]:
        figure = CLASSES["step"](**settings)
        state = {key: getattr(figure, key) for key in figure._settings()}
        expected = step_sentences(state, EXPECTED["step"](state))
        found = call(ALL_STEPS, state, of="step")
        assert list(found) == list(expected)
        for at, (text, sources) in expected.items():
            assert found[at] == [text, sources, at], settings


@pytest.mark.parametrize("settings", [*STEPS, {"X": [[1.0]] * 6}])
def test_step_starts_with_the_last_product_of_the_first_row(settings):
    state, expected, shown = look("step", settings)
    sentences = step_sentences(state, expected)
    last = len(expected["dots"][0]) - 1
    text, sources = sentences[f"dots,0,{last}"]
    assert shown.select_one(".av-say").text == text
    (picked,) = shown.select(".av-picked")
    assert picked["data-at"] == f"dots,0,{last}"
    wanted = set()
    for cell in shown.select("[data-at]"):
        name, i, j = cell["data-at"].split(",")
        for matrix, row, column in sources:
            fits = row in (None, int(i)) and column in (None, int(j))
            if name == matrix and fits:
                wanted.add(cell["data-at"])
    sources = {cell["data-at"] for cell in shown.select(".av-source")}
    assert sources == wanted


def test_an_entry_that_is_not_there_is_the_one_to_start_with():
    script = """(state, at) =>
      worked(steps(state, figure.compute(state)), at).entry"""
    state = {"what": "X", "X": [[1, 2], [3, 4], [5, 6]], "scale": True}
    for at in ("dots,3,0", "dots,0,3", "masked,0,0", "X,0,0", "undefined"):
        assert call(script, state, at, of="step") == "dots,0,2"
    assert call(script, state, "dots,2,0", of="step") == "dots,2,0"


# --- charts ---------------------------------------------------------------


def chart(**given):
    """A chart, read as SVG; and the frame that its rules and ticks show."""
    settings = {"label": "L", "x": [0, 8], "y": [0, 4], "lines": [LINE]}
    settings |= {"xlabel": "across", "ylabel": "up", **given}
    html = call("chart", settings)
    Strict(html)
    svg = BeautifulSoup(html, "html.parser").svg
    rules = [
        [
            float(x)
            for x in re.fullmatch(r"M(\S+) (\S+)H(\S+)", p["d"]).groups()
        ]
        for p in svg.select(".av-rule")
    ]
    left, right = rules[0][0], rules[0][2]
    assert all(rule[0] == left and rule[2] == right for rule in rules)
    bottom, *_, top = (rule[1] for rule in rules)
    return svg, (left, right, top, bottom)


LINE = {"points": [[0, 0], [2, 1], [8, 4]], "name": "line"}


def texts(svg, anchor=None):
    """The texts of a chart: words, x and y."""
    return [
        (t.text, float(t["x"]), float(t["y"]))
        for t in svg.select("text")
        if t.has_attr("x") and t.get("text-anchor") == anchor
    ]


def test_a_chart_that_is_not_told_its_size_leaves_room_for_names():
    svg, (_, right, _, _) = chart()
    assert svg["viewbox"] == "0 0 340 220"
    assert right == 340 - 80


@pytest.mark.parametrize("width", [340, 320])
@pytest.mark.parametrize("right", [80, 36])
@pytest.mark.parametrize("y", [[0, 4], [-1, 1], [-0.002, 0], [0, 0.05]])
def test_a_chart_stands_upright_in_its_frame(y, right, width):
    x = [-8, 8]
    points = [[-8, y[0]], [0, y[1]], [8, (y[0] + y[1]) / 2]]
    line = {"points": points, "name": "<n>"}
    sizes = {"width": width, "height": 220, "right": right}
    svg, frame = chart(x=x, y=y, lines=[line], label='<"l">', **sizes)
    x0, x1, top, bottom = frame
    assert svg["viewbox"] == f"0 0 {width} 220"
    assert svg["aria-label"] == '<"l">'
    # Room for the ticks on the left, and for the names on the right.
    assert x1 == width - right
    ticks = [shortest(v, 3) for v in np.linspace(*y, 5)]
    assert x0 == 26 + 7 * max(4, *map(len, ticks))
    assert (top, bottom) == (12, 180), "y grows upwards"
    across, up = texts(svg, "middle"), texts(svg, "end")
    assert [t for t, _, _ in up] == ticks
    heights = np.linspace(bottom, top, 5)
    np.testing.assert_allclose([y_ for _, _, y_ in up], heights + 4)
    assert {x_ for _, x_, _ in up} == {x0 - 6}
    assert [t for t, _, _ in across[:5]] == ["−8", "−4", "0", "4", "8"]
    np.testing.assert_allclose(
        [x_ for _, x_, _ in across[:5]], np.linspace(x0, x1, 5)
    )
    assert {y_ for _, _, y_ in across[:5]} == {bottom + 16}
    assert across[5] == ("across", (x0 + x1) / 2, 216)
    (turned,) = svg.select("text[transform]")
    assert turned.text == "up"
    assert turned["text-anchor"] == "middle"
    middle = (top + bottom) / 2
    assert turned["transform"] == f"translate(12 {middle:g}) rotate(-90)"
    # The line goes through its points, and its name stands at its end.
    (path,) = svg.select(".av-line")
    assert path["class"] == ["av-line", "av-line-0"]
    assert path["stroke-dasharray"] == ""
    ends = [(x0, bottom), ((x0 + x1) / 2, top), (x1, middle)]
    drawn = re.findall(r"([ML])(\d+\.\d) (\d+\.\d)(?=L|$)", path["d"])
    assert [letter for letter, _, _ in drawn] == ["M", "L", "L"]
    np.testing.assert_allclose(
        [(float(a), float(b)) for _, a, b in drawn], ends, atol=0.051
    )
    (name,) = texts(svg)
    assert name == ("<n>", x1 + 6, middle + 4)
    assert svg.select_one(".av-name")["y"] == f"{middle + 4:.1f}"


@pytest.mark.parametrize(
    ("name", "width", "right"),
    [("saturation", 320, 36), ("positions", 340, 80)],
)
def test_the_charts_of_a_figure_have_their_size(name, width, right):
    _, _, shown = look(name, {})
    for svg in shown.select(".av-chart"):
        assert svg["viewbox"] == f"0 0 {width} 220"
        assert svg.select_one(".av-rule")["d"].endswith(f"H{width - right}")


def test_a_chart_tells_its_lines_apart():
    second = {"points": [[0, 2], [8, 1]], "name": "b", "dash": "6 4"}
    third = {"points": [[0, 2], [8, 3]], "name": "c", "filled": True}
    svg, _ = chart(lines=[LINE, second, third])
    lines = svg.select(".av-line")
    assert [line["class"] for line in lines] == [
        ["av-line", "av-line-0"],
        ["av-line", "av-line-1"],
        ["av-line", "av-line-2", "av-filled"],
    ]
    assert [line["stroke-dasharray"] for line in lines] == ["", "6 4", ""]


@pytest.mark.parametrize("a", [0, 0.2, 2, 2.2, 3.8, 4])
@pytest.mark.parametrize("b", [0, 0.1, 1.9, 2.35, 2.4, 4])
def test_the_names_of_two_lines_stand_apart_in_their_order(a, b):
    lines = [
        {"points": [[0, 0], [8, end]], "name": name}
        for end, name in ((a, "a"), (b, "b"))
    ]
    svg, (_, _, top, bottom) = chart(lines=lines)
    found = [y for _, _, y in texts(svg)]
    at = [bottom - (bottom - top) * end / 4 + 4 for end in (a, b)]
    if abs(at[0] - at[1]) >= 14:
        np.testing.assert_allclose(found, at, atol=0.051)
    else:
        # Where they would overlap they keep their middle, inside the frame.
        middle = np.clip(np.mean(at), top + 11, bottom)
        order = -1 if at[0] <= at[1] else 1
        wanted = [middle + 7 * order, middle - 7 * order]
        np.testing.assert_allclose(found, wanted, atol=0.051)


@pytest.mark.parametrize("lines", [1, 3])
def test_the_names_of_other_lines_stay_at_their_ends(lines):
    given = [{"points": [[8, 2 + k / 10]], "name": f"n{k}"}
             for k in range(lines)]  # fmt: skip
    svg, (_, _, top, bottom) = chart(lines=given)
    found = [y for _, _, y in texts(svg)]
    wanted = [bottom - (bottom - top) * (2 + k / 10) / 4 + 4
              for k in range(lines)]  # fmt: skip
    np.testing.assert_allclose(found, wanted, atol=0.051)


@pytest.mark.parametrize("x", [0, 1, 6.5, 6.81, 7, 8])
@pytest.mark.parametrize("y", [0, 3, 3.6, 3.7, 4])
def test_the_name_of_a_dot_stays_in_the_frame(x, y):
    svg, (x0, x1, top, bottom) = chart(marks=[[x, y, "<d>"]])
    (dot,) = svg.select("circle.av-dot")
    at = x0 + (x1 - x0) * x / 8, bottom - (bottom - top) * y / 4
    assert dot["r"] == "5"
    np.testing.assert_allclose(
        [float(dot["cx"]), float(dot["cy"])], at, atol=0.051
    )
    name = svg.select("text.av-name")[-1]
    assert name.text == "<d>"
    for text in (dot["cx"], dot["cy"], name["x"], name["y"]):
        assert re.fullmatch(r"\d+\.\d", text), "no longer than that"
    late, high = at[0] > x1 - 30, at[1] < top + 16
    assert name["text-anchor"] == ("end" if late else "start")
    np.testing.assert_allclose(
        [float(name["x"]), float(name["y"])],
        [at[0] + (-8 if late else 8), at[1] + (18 if high else -8)],
        atol=0.051,
    )


def test_a_chart_marks_several_points():
    svg, _ = chart(marks=[[0, 0, "a"], [8, 4, "b"]])
    assert len(svg.select("circle")) == 2
    assert [name.text for name in svg.select(".av-name")] == ["line", "a", "b"]


def test_an_axis_ends_at_a_number_whose_quarters_are_round():
    for x in [1, 1.1, 2, 3, 4.1, 5.9, 7, 9.99, 10, 0.0024, 0.35, 63, 240]:
        found = call("end", x, of="positions")
        power = 10.0 ** np.floor(np.log10(x))
        wanted = min(p for p in (1, 2, 4, 6, 8, 10) if p * power >= x)
        assert found == pytest.approx(wanted * power), x


def axes(shown):
    """The ends of the axes of each chart of a figure."""
    found = []
    for svg in shown.select(".av-chart"):
        numbers = [
            [t.text for t in svg.select(f"text[text-anchor={anchor}]")
             if not t.get("class") and re.fullmatch(r"−?[\d.e-]+", t.text)]
            for anchor in ("middle", "end")
        ]  # fmt: skip
        found.append(
            [
                [float(n[0].replace("−", "-")), float(n[-1].replace("−", "-"))]
                for n in numbers
            ]
        )
    return found  # fmt: skip


def test_the_axes_of_the_figures_hold_what_they_show():
    for settings in some_states("saturation"):
        state, expected, shown = look("saturation", settings)
        (x, y), (across, up) = axes(shown)
        assert x == [-64, 64]
        assert y == [0, 0.5], "the same whatever is moved"
        assert across == [0, 4 * np.ceil(state["S"] / 4)]
        assert up == [0, 1]
    for settings in [*some_states("positions"), *EDGES["positions"]]:
        state, expected, shown = look("positions", settings)
        ((x, y),) = axes(shown)
        last = 4 * np.ceil((state["T"] - 1) / 4)
        most = np.sqrt(state["pairs"] / 2)
        if state["kind"] == "RoPE":
            assert x == [-32, 32]
            assert y[0] == -y[1]
        elif state["kind"] == "ALiBi":
            most = -expected["bias"].min()
            assert x == [0, last]
            assert y[1] == 0
        else:
            most = 1
            assert (x, y) == ([0, last], [-1, 1])
        power = 10.0 ** np.floor(np.log10(most))
        wanted = min(p for p in (1, 2, 4, 6, 8, 10) if p * power >= most)
        assert max(-y[0], y[1]) == pytest.approx(wanted * power, rel=6e-3)


def test_lines_of_a_pair_are_told_apart_by_their_dashes():
    for name, dashes in {
        "saturation": ["", "", "6 4"],
        "positions": ["", "6 4"],
    }.items():
        _, _, shown = look(name, {})
        lines = shown.select("path.av-line")
        assert [line["stroke-dasharray"] for line in lines] == dashes
    filled = look("saturation", {})[2].select(".av-filled")
    assert len(filled) == 2
    shown = look("positions", {"kind": "RoPE"})[2]
    dashes = [p["stroke-dasharray"] for p in shown.select("path.av-line")]
    assert dashes == [""]
    hands = [p["stroke-dasharray"] for p in shown.select("path.av-hand")]
    assert hands == ["", "6 4"], "the key is dashed"
    shown = look("positions", {"kind": "ALiBi"})[2]
    dashes = [p["stroke-dasharray"] for p in shown.select("path.av-line")]
    assert dashes == ["", "6 4"]


@pytest.mark.parametrize(("x", "y"), [(2.0, 0.5), (-0.2, 2.2)])
def test_no_name_lies_under_the_handle_where_the_query_stays(x, y):
    """At rest, and where the opening turns it to; letters are 16 high."""
    _, _, shown = look("words", {"x": x, "y": y})
    plane = shown.select_one(".av-ask")
    handle = plane.select_one("circle.av-query")
    cx, cy, r = (float(handle[k]) for k in ("cx", "cy", "r"))
    for name in plane.select("text.av-key"):
        width = 0.55 * 16 * len(name.text)
        left = float(name["x"])
        if name.get("text-anchor") == "middle":
            left -= width / 2
        foot = float(name["y"])
        nearest = (
            min(max(cx, left), left + width),
            min(max(cy, foot - 12), foot),
        )
        assert np.hypot(cx - nearest[0], cy - nearest[1]) > r, name.text


@pytest.mark.parametrize("settings", [
    {}, {"pairs": 1, "m": 0, "n": 0}, {"m": 20, "n": 3, "angle": -30.0},
    {"pairs": 1, "m": 3, "n": 0, "angle": -170.0},  # across 180 degrees
    {"pairs": 1, "m": 16, "n": 0, "angle": 170.0},  # the other way
    {"pairs": 6, "pair": 1}, {"pairs": 8, "pair": 1},  # a number too many
])  # fmt: skip
def test_the_plane_of_a_pair_has_its_arrows_and_their_names(settings):
    state, expected, shown = look("positions", {"kind": "RoPE", **settings})
    plane = shown.select_one(".av-plane")
    assert plane["viewbox"] == "-130 -130 260 260"
    circle = plane.select_one(".av-rule")
    assert (circle["r"], circle["fill"]) == ("100", "none")
    pair = min(state["pair"], state["pairs"] - 1)
    arrows = zip(
        plane.select("path.av-hand"), plane.select("circle.av-hand"),
        plane.select("text:not(.av-axis)"), ("query", "key"), strict=True,
    )  # fmt: skip
    for k, (path, tip, name, key) in enumerate(arrows):
        x, y = np.array(expected[key][2 * pair : 2 * pair + 2])
        assert path["class"] == tip["class"] == ["av-hand", f"av-{key}"]
        assert (name.text, name["text-anchor"]) == (key[0], "middle")
        assert name["class"] == [f"av-{key}"]
        assert tip["r"] == "6"
        ends = re.fullmatch(r"M0 0L(\S+) (\S+)", path["d"]).groups()
        far = 62 + 18 * k  # the names stand beside their arrows, apart
        np.testing.assert_allclose(
            [float(a) for a in (*ends, tip["cx"], tip["cy"],
                                name["x"], name["y"])],
            [100 * x, -100 * y, 100 * x, -100 * y,
             far * x - 14 * y, -far * y - 14 * x + 5],
            atol=0.0051,
        )  # fmt: skip
        for text in (*ends, tip["cx"], tip["cy"], name["x"], name["y"]):
            assert re.fullmatch(r"-?\d+\.\d\d", text), "no longer than that"
    # A tick where the query points at each position of its first turn.
    step = expected["turns"][0]

    def points(path):
        found = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path["d"])
        x, y = np.array(found, float).T
        return np.hypot(x, y), np.rad2deg(np.arctan2(-y, x))

    radius, degrees = points(plane.select_one(".av-tick"))
    n = min(int(np.ceil(360 / step)), 33)
    np.testing.assert_allclose(radius, [100, 107] * n, atol=0.01)
    off = (degrees - np.repeat(np.arange(n) * step, 2) + 180) % 360 - 180
    np.testing.assert_allclose(off, 0, atol=0.01)
    # Every so many of them has its number; the last keeps away from the first.
    every = next(k for k in (1, 2, 4, 8, 16, 32) if k * step >= 15 or k == 32)
    wanted = [p for p in range(0, n, every) if p * step <= 345]
    found = [int(text.text) for text in plane.select(".av-axis")]
    assert found == wanted
    radius, degrees = points(plane.select_one(".av-began"))
    wanted = (state["angle"] + 180) % 360 - 180
    assert degrees[[1, 3]] == pytest.approx([0, wanted], abs=0.01)
    # The arc goes the shorter way from the query to the key.
    radius, degrees = points(plane.select_one(".av-swing"))
    np.testing.assert_allclose(radius, 34, atol=0.01)
    whole = np.unwrap(degrees, period=360)
    _, at, to = expected["turns"]
    short = (to - at + 180) % 360 - 180
    assert whole[-1] - whole[0] == pytest.approx(short, abs=0.05)
    assert (whole[0] - at + 180) % 360 - 180 == pytest.approx(0, abs=0.05)


# --- heads ----------------------------------------------------------------


def test_neighbouring_groups_are_told_apart_in_the_colours_of_their_roles():
    for settings in some_states("heads"):
        state, expected, shown = look("heads", settings)
        rects = [rect["class"] for rect in shown.select(".av-cuts rect")]
        groups = range(state["H_kv"])
        wanted = [("query", g) for g in expected["kv_head"]]
        wanted += [(kind, g) for kind in ("key", "value") for g in groups]
        assert rects == [
            [f"av-{kind}", ("av-group-even", "av-group-odd")[g % 2]]
            for kind, g in wanted
        ]


def test_columns_are_written_and_cut_where_there_is_room():
    for n, tables in ((10, 1), (11, 0)):
        _, _, shown = look("heads", {"H": n, "H_kv": 1, "d_k": 1})
        merged = [c for c in shown.select("caption") if "Merged" in c.text]
        assert len(merged) == tables
    for H, names in ((18, 18), (19, 0)):
        _, _, shown = look("heads", {"H": H, "H_kv": 1, "d_k": 1})
        found = [text.text for text in shown.select(".av-name")]
        assert sum(name.startswith("Q") for name in found) == names
    for H, cuts in ((42, 83), (43, 0)):  # columns of 4, and of less
        _, _, shown = look("heads", {"H": H, "H_kv": 1, "d_k": 2})
        fine = shown.select_one(".av-fine")
        assert (fine["d"].count("M") if fine else 0) == cuts


# --- matrices and tiles ---------------------------------------------------


def test_a_small_matrix_is_a_table_and_a_large_one_a_picture():
    for T, tables in ((12, 1), (13, 0)):
        _, _, shown = look("causal", {"T": T})
        assert len(shown.select("table")) == tables
        assert len(shown.select(".av-mosaic")) == 1 - tables
    for T, pairs, tables in ((16, 6, 1), (17, 6, 0), (16, 7, 0)):
        _, _, shown = look("positions", {"T": T, "pairs": pairs})
        assert len(shown.select("table")) == tables
        if not tables:
            down = np.clip(T * min(294 / (2 * pairs), 22), 90, 294)
            units = [294 / (2 * pairs), 0, 0, down / T, 40, 34]
            scale = shown.select_one(".av-mosaic g")["transform"]
            found = [float(x) for x in re.findall(r"[\d.]+", scale)]
            assert found == pytest.approx(units, abs=0.0051)
            box = shown.select_one(".av-mosaic")["viewbox"].split()
            assert float(box[3]) == pytest.approx(34 + down + 36, abs=0.0051)


def in_both(x):
    """The colours of a share, as the page writes them."""
    light, dark = (
        "#{:02x}{:02x}{:02x}".format(*call("shade", x, scheme))
        for scheme in ("light", "dark")
    )
    return f"light-dark({light},{dark})"


@pytest.mark.parametrize("low", [0, -1])
def test_a_large_matrix_has_a_shade_a_24th(low):
    numbers = np.linspace(low, 1, 401)
    given = {"label": "L", "values": [numbers.tolist()], "low": low}
    html = call("mosaic", given)
    svg = BeautifulSoup(html, "html.parser").svg
    key = [rect["fill"] for rect in svg.select("rect")]
    assert key == [in_both(low + (1 - low) * k / 24) for k in range(25)]
    nearest = np.floor(24 * numbers + 0.5)
    found = {path["fill"]: path["d"] for path in svg.select("path")}
    assert found == {
        in_both(k / 24): "".join(
            f"M{j} 0h1v1h-1z" for j in np.flatnonzero(nearest == k)
        )
        for k in range(24 * low, 25)
    }
    assert [text.text for text in svg.select("text")[-2:]] == ["0", "1"]


@pytest.mark.parametrize(
    ("T", "S", "picked"),
    [
        *((20, 30, None), (20, 30, [7, 11]), (64, 64, [63, 0])),
        *((13, 400, [0, 13]), (13, 200, None), (43, 26, None)),
    ],
)
def test_the_numbers_of_a_large_matrix_stand_at_their_cells(T, S, picked):
    """The first that stand far enough apart, and the one that is picked."""
    values = np.zeros((T, S)).tolist()
    html = call("mosaic", {"label": "L", "values": values, "picked": picked})
    svg = BeautifulSoup(html, "html.parser").svg
    down = np.clip(T * min(294 / S, 22), 90, 294)
    i, j = picked or (None, None)
    for key, n, start, unit, room, here, own in (
        ("x", S, 40, 294 / S, 22, j, {"text-anchor": "middle"}),
        ("y", T, 38, down / T, 13, i, {"text-anchor": "end", "x": "34"}),
    ):
        steps = (2**k for k in range(5) if 2**k * unit >= room)
        wanted = set(range(0, n, next(steps, 32)))
        if picked:
            wanted = {k for k in wanted if abs(k - here) * unit >= room}
            wanted.add(here)
        texts = svg.find_all("text", own)
        assert [int(text.text) for text in texts] == sorted(wanted)
        for text in texts:
            k = int(text.text)
            middle = start + (k + 0.5) * unit
            assert float(text[key]) == pytest.approx(middle, abs=0.0051)
            assert ("av-here" in text.get("class", ())) == (k == here)


def test_what_stands_around_a_large_matrix():
    asked = {"label": "L", "rows": "queries", "columns": "keys"}
    html = call(
        "mosaic",
        {
            **asked,
            "values": np.zeros((20, 30)).tolist(),
            "ends": ["least", "most"],
            "picked": [7, 11],
        },
    )
    svg = BeautifulSoup(html, "html.parser").svg
    height = float(svg["viewbox"].split()[3])
    (wide, left), (high, top) = (294 / 30, 40), (294 / 30, 34)
    right, bottom = left + 30 * wide, top + 20 * high
    texts = {t.text: t for t in svg.select("text")}
    x, y = ({key: float(t[k]) for key, t in texts.items()} for k in "xy")

    # Each number is as far from the matrix as those of the other axis.
    assert left - x["4"] == top - y["24"] == 6
    # The names of the axes share a line above, from edge to edge.
    assert y["↓ queries"] == y["keys →"] < y["24"] - 11
    assert 0 <= x["↓ queries"] < 5
    assert x["keys →"] == right
    assert texts["keys →"]["text-anchor"] == "end"
    assert texts["↓ queries"]["text-anchor"] == "start"

    # The key: 25 bars side by side, a name on either side, as far away.
    bars = svg.select("rect")
    starts = [float(bar["x"]) for bar in bars]
    assert np.ptp(np.diff(starts)) == 0
    assert starts[1] - starts[0] == float(bars[0]["width"])
    assert len(bars) == 25
    end = starts[-1] + float(bars[-1]["width"])
    assert starts[0] - x["least"] == x["most"] - end == 6
    assert texts["least"]["text-anchor"] == "end"
    assert texts["most"]["text-anchor"] == "start"
    tops = {float(bar["y"]) for bar in bars}
    assert len(tops) == 1
    # Its names stand in the middle of its height, below the matrix.
    (low,) = tops
    tall = float(bars[0]["height"])
    assert y["least"] == y["most"] == pytest.approx(low + tall - 2)
    assert bottom + 8 < low < low + tall < height - 4
    assert left < x["least"] < end < right

    # A ring lies around what is picked, a unit outside on each side.
    rings = {path["d"] for path in svg.select("[class^=av-ring]")}
    (ring,) = rings
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", ring)]
    assert re.sub(r"-?[\d.]+", "#", ring) == "M# #h#v#h#z"
    wanted = [left + 11 * wide - 1, top + 7 * high - 1]
    wanted += [wide + 2, high + 2, -wide - 2]
    assert numbers == pytest.approx(wanted, abs=0.0051)


def test_the_key_of_a_large_table_says_its_least_and_its_most():
    for kind, ends in (("sinusoid", ["−1", "1"]), ("ALiBi", ["−8.5", "0"])):
        _, _, shown = look("positions", {"kind": kind, "T": 18, "heads": 8})
        texts = shown.select(".av-mosaic text")[-2:]
        assert [text.text for text in texts] == ends


def test_a_distance_of_none_has_no_brackets():
    for m, written in ((3, "0"), (2, "(−1)"), (4, "1")):
        _, _, shown = look("positions", {"kind": "RoPE", "m": m, "n": 3})
        assert f"− {written} · " in shown.select_one(".av-say").text


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (
            "short",
            {
                999: "999",
                1000: "1 K",
                999499: "999 K",
                999700: "1 M",
                1e6: "1 M",
                2.5e15: "2.5 P",
            },
        ),
        ("lasts", {5e-4: "500 µs", 1e-3: "1 ms", 1: "1 s", 1.5: "1.5 s"}),
        (
            "ratio",
            {
                12.345: "12.3",
                999.4: "999",
                999.5: "1,000",
                999.7: "1,000",
                1000: "1,000",
                1000.4: "1,000",
            },
        ),
    ],
)
def test_numbers_of_the_roof_have_three_digits_and_a_unit(function, numbers):
    for x, wanted in numbers.items():
        assert call(function, x, of="roof") == wanted, x


def test_a_cell_that_is_picked_is_marked_also_where_it_is_closed():
    for query, key, kinds in (
        (1, 4, ["av-closed", "av-picked"]),
        (4, 1, ["av-picked"]),
    ):
        _, _, shown = look("causal", {"T": 6, "query": query, "key": key})
        (row,) = shown.select(f"tbody tr:nth-child({query + 1})")
        assert row.select("td")[key]["class"] == kinds
        assert len(shown.select("td[class*=picked]")) == 1


def test_a_part_of_the_mixture_has_its_name_where_that_has_room():
    named = set()
    for x, y in itertools.product(np.arange(-3, 3.1, 0.5), repeat=2):
        settings = {"x": round(x, 1), "y": round(y, 1)}
        _, expected, shown = look("words", settings)
        names = [text.text for text in shown.select(".av-part")]
        wanted = [
            word
            for word, weight in zip(
                KEYS_OF_WORDS, expected["weights"], strict=True
            )
            if 360 * weight > 9 * len(word)  # pixels a letter
        ]
        assert names == wanted, settings
        named.update(wanted)
    assert len(named) >= 5


def test_a_block_of_one_query_names_its_keys():
    settings = {"T": 6, "block_q": 1, "block_k": 3, "causal": False}
    _, _, shown = look("tiles", {**settings, "step": 2})
    texts = [text.text for text in shown.select(".av-small text")]
    assert [t for t in texts if t.startswith("k")] == ["k3", "k4", "k5"]


def test_rows_of_a_block_are_written_while_they_are_high_enough():
    for block, written in ((14, 14), (15, 1)):  # 13.6 and 12.7 high
        settings = {"T": 30, "block_q": block, "block_k": 30, "row": 3}
        _, _, shown = look("tiles", {**settings, "causal": False, "step": 1})
        texts = [text.text for text in shown.select(".av-small text")]
        assert sum(text.startswith("q") for text in texts) == written


@pytest.mark.parametrize("causal", [True, False])
def test_what_is_pressed_is_in_one_block_or_in_none(causal):
    state = {"T": 7, "block_q": 2, "block_k": 3, "causal": causal}
    blocks = call("visits", state, of="tiles")
    for i, j in np.argwhere(np.ones((9, 9))) - 1:
        holds = [
            k
            for k, (q0, q1, k0, k1) in enumerate(blocks)
            if i in range(q0, q1) and j in range(k0, k1)
        ]
        (found,) = holds or [-1]
        assert call("blockAt", blocks, int(i), int(j), of="tiles") == found


def test_what_is_filled_has_its_name_where_that_has_room():
    for filled, names in ((1, []), (2, ["keys", "values"])):  # 16 wide, and 32
        sizes = {"S": 21, "filled": filled, "batch": 1, "memory": 10_000}
        _, _, shown = look("kvcache", sizes)
        texts = [text.text for text in shown.select("[class^=av-chip]")]
        assert texts == names


def test_the_name_of_the_memory_stays_in_the_picture():
    """It stands after the memory's edge, or where that is late before it."""
    sizes = {"n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1, "memory": 1}
    for batch, side in ((1995, "end"), (2002, "start")):
        # The memory is this share of what is stored, 2 bytes a position.
        more = {"S": 302_500, "batch": batch, "filled": 0}
        _, _, shown = look("kvcache", {**sizes, **more, "dtype": "8 bits"})
        edge = 2 + 336 * 1e9 / (2 * more["S"] * batch)
        text = shown.select("svg text")[-1]
        assert float(text["x"]) == pytest.approx(edge, abs=0.0051)
        assert 279 < edge < 281
        assert (edge > 280) == (side == "end")
        assert text["text-anchor"] == side


def test_a_long_row_of_symbols_takes_the_whole_width():
    for n, long in ((20, False), (21, True)):
        symbols = ("AB" * n)[:n]
        _, _, shown = look("induction", {"symbols": symbols})
        boxes = shown.select(".av-heads")
        assert {"av-long" in box["class"] for box in boxes} == {long}


def test_training_in_the_page_is_told_from_the_stored_one():
    for own, wanted in (
        (None, "(300 steps of training"),
        ({"seed": 3, "step": 50}, "(50 steps of your training, seed 3"),
    ):
        figure = CLASSES["induction"]()
        state = {key: getattr(figure, key) for key in figure._settings()}
        said = call("sentence", state, figure.values, own, of="induction")
        assert wanted in said
    stops = figures.controls("induction")
    (steps,) = (c["stops"] for c in stops if c["key"] == "step")
    later = [call("figure.later", {"step": k}, of="induction") for k in steps]
    assert later == ["induction-steps"] * (len(steps) - 1) + [None]


def test_a_cell_of_the_causal_table_has_two_decimals_or_is_closed():
    _, _, shown = look("causal", {"T": 3})
    cells = [cell.text for cell in shown.select("tbody td")]
    assert all(re.fullmatch(r"\d\.\d\d|·", text) for text in cells)
    closed = [cell.text for cell in shown.select(".av-closed")]
    assert closed == ["·"] * 3
    _, _, shown = look("positions", {"T": 3})
    cells = [cell.text for cell in shown.select("tbody td")]
    assert all(re.fullmatch(r"−?\d\.\d{3}", text) for text in cells)


def test_the_shades_of_the_step_tables_fit_what_they_hold():
    """Weights are strong at one; scores where they are largest."""
    strong, faint = in_both(1), in_both(0)
    figure = {"X": [[3.0, 0], [0, -1]], "causal": True}
    _, _, shown = look("step", figure)
    grounds = {
        cell["data-at"]: cell["style"].partition(";")[0].partition(":")[2]
        for cell in shown.select("[data-at]")
    }
    assert grounds["weights,0,0"] == strong, "a weight of one"
    assert grounds["weights,0,1"] == faint, "a weight of zero"
    assert grounds["dots,0,0"] == grounds["masked,0,0"] == strong
    assert grounds["dots,0,1"] == faint
    assert grounds["masked,0,1"] == faint, "minus infinity stands out least"
    given = {v for k, v in grounds.items() if k[0] in "Xo"}
    assert given == {faint}, "inputs and output have no shades"
    _, _, shown = look("step", {"X": [[-1.0]], "scale": False})
    cells = {c["data-at"]: c["style"] for c in shown.select("[data-at]")}
    assert strong in cells["dots,0,0"]
    _, _, shown = look("step", {"X": [[0.5]], "scale": False})
    cells = {c["data-at"]: c["style"] for c in shown.select("[data-at]")}
    assert strong in cells["dots,0,0"], "a quarter, where nothing is more"
    _, _, shown = look("step", {"Q": [[-1.0]], "K": [[1.0]], "V": [[1.0]]})
    cells = {c["data-at"]: c["style"] for c in shown.select("[data-at]")}
    assert faint in cells["dots,0,0"]


@pytest.mark.parametrize("settings", [
    {}, {"step": 0}, {"T": 64, "block_q": 1, "block_k": 9, "step": 70},
    {"T": 60, "block_q": 5, "block_k": 5}, {"T": 40, "block_q": 3},
    {"T": 64, "block_q": 5, "block_k": 5, "causal": False},
    {"T": 2, "row": 1, "step": 1}, {"T": 5, "block_k": 1, "row": 4},
])  # fmt: skip
def test_the_map_of_tiles_is_drawn_to_scale(settings):
    state, expected, shown = look("tiles", settings)
    T, blocks, done = state["T"], expected["blocks"], expected["done"]
    svg = shown.select_one("svg.av-tiles")
    box = [float(x) for x in svg["viewbox"].split()]
    pad = T / 20
    wanted = [-pad, -pad, T + 2 * pad, T + 2 * pad]
    np.testing.assert_allclose(box, wanted, atol=5e-4)
    kinds = ["skipped", "open"]
    kinds += ["done", "last"] if done else []
    kinds += ["row"]
    classes = [path["class"][0] for path in svg.select("path")]
    assert classes == [f"av-tile-{kind}" for kind in kinds]
    assert svg.path["d"] == f"M0 0H{T}V{T}H0z"
    row = min(state["row"], T - 1)
    # A mark on each side points at the row, and lies on no block.
    marks = re.findall(
        r"M(\S+) (\S+?)l(\S+) (\S+?)l(\S+) (\S+?)z",
        svg.select_one(".av-tile-row")["d"],
    )
    for mark, edge, way in zip(marks, (-pad, T + pad), (1, -1), strict=True):
        x, y, across, down, back, down_again = map(float, mark)
        assert [x, y + down] == pytest.approx([edge, row + 0.5], abs=2e-3)
        assert [across, back] == pytest.approx(
            [0.8 * way * pad, -0.8 * way * pad], abs=1e-3
        )
        assert down == down_again == pytest.approx(pad / 2, abs=1e-3)
    # A number in each block, where it is not too small to be read.
    large = min(state["block_q"], state["block_k"], T) / 2.6
    numbers = svg.select("text")
    assert len(numbers) == (len(blocks) if large >= 0.03 * T else 0)
    for k, text in enumerate(numbers):
        ink = "av-tile-in" if k < done - 1 else "av-tile-out"
        assert text["class"] == [ink]
        assert text.text == str(k + 1)
        for attribute in ("y", "font-size"):
            assert re.fullmatch(r"\d+\.\d\d", text[attribute])
        np.testing.assert_allclose(
            [float(text[a]) for a in ("x", "y", "font-size")],
            [blocks[k][2] + large / 4, blocks[k][0] + large, large],
            atol=0.0051,
        )


def test_the_last_line_of_what_a_query_remembers_is_the_plain_one():
    for settings in some_states("tiles"):
        _, expected, shown = look("tiles", settings)
        memory, costs = shown.select("table")
        *_, plain = memory.select("tr")
        maximum, _, _, total = [cell.text for cell in plain.select("td")]
        assert maximum == rounded(expected["plain"]["maximum"], 4)
        assert total == rounded(expected["plain"]["sum"], 4)
        first = costs.select("tbody tr")[0].select("td")
        held = expected["held"]
        told = [f"{held['plain']:,}", f"{held['tiled']:,}", ""]
        assert [cell.text for cell in first] == told


def test_the_columns_and_groups_of_heads_have_their_colours():
    _, expected, shown = look("heads", {"H": 16, "H_kv": 8, "d_k": 1})
    items = shown.select(".av-groups li")
    kinds = [["av-group-even"], ["av-group-odd"]]
    assert [item["class"] for item in items] == 4 * kinds
    assert items[0].text == "K0 V0 (0) read by Q0 (0) Q1 (1)"
    _, expected, shown = look("heads", {"H": 10, "H_kv": 5, "d_k": 1})
    merged = shown.select_one("table")
    for cell, group in zip(
        merged.select("tbody td")[:10], expected["kv_head"], strict=True
    ):
        assert cell["class"] == kinds[group % 2]
    owners = merged.select("th[colspan]")
    assert [th["colspan"] for th in owners] == ["1"] * 10
    _, _, shown = look("heads", {})
    owners = shown.select("th[colspan]")
    assert [th["colspan"] for th in owners] == ["2"] * 4
    for text, chips in (
        ("K0 V0 (0–1) read by Q0 (0–1) Q1 (2–3)", 0),
        ("K1 V1 (2–3) read by Q2 (4–5) Q3 (6–7)", 1),
    ):
        assert shown.select(".av-groups li")[chips].text == text  # fmt: skip


# --- controls -------------------------------------------------------------

LABELS = {
    "project": {k: k for k in ("x1", "x2", "y1", "y2", "W_Q", "W_K", "W_V")},
    "temperature": {
        "temperature": "temperature",
        "ghost": "ghost at",
        "scores": "scores",
    },
    "backward": {
        "entry": "entry of dY",
        **{k: k for k in ("dY", "Q", "K", "V")},
        "causal": "causal mask",
    },
    "roof": {
        "device": "device",
        "T": "tokens T",
        "batch": "sequences in the batch",
        "heads": "query heads",
        "shared": "heads that share keys",
    },
    "causal": {
        "mask": "mask",
        "T": "tokens T",
        "window": "window",
        "length": "real tokens",
        "slope": "ALiBi slope",
        "temperature": "temperature",
        "query": "query to read",
        "key": "key to read",
    },
    "step": {
        "what": "start from",
        "X": "X, a row a line",
        "Q": "Q",
        "K": "K",
        "V": "V",
        "scale": "divide by √d_k",
        "causal": "causal mask",
    },
    "saturation": {
        "d_k": "width d_k",
        "scale": "divide by √d_k",
        "S": "keys S",
        "seed": "seed",
    },
    "heads": {
        "T": "tokens T",
        "d_k": "width of a head d_k",
        "H": "query heads H",
        "H_kv": "key/value heads H_kv",
        "column": "column to follow",
    },
    "kvcache": {
        "preset": "model",
        "n_layers": "layers L",
        "n_kv_heads": "key/value heads H_kv",
        "d_k": "width of a key d_k",
        "d_v": "width of a value d_v",
        "S": "positions S",
        "batch": "sequences B",
        "filled": "positions so far",
        "memory": "memory in GB",
        "dtype": "numbers",
    },
    "positions": {
        "kind": "method",
        "T": "positions T",
        "pairs": "pairs of columns",
        "pair": "pair to follow",
        "m": "position of the query m",
        "n": "position of the key n",
        "shift": "move both by",
        "angle": "key ahead (degrees)",
        "heads": "heads H",
        "rule": "rule",
    },
    "tiles": {
        "T": "tokens T",
        "block_q": "queries a block",
        "block_k": "keys a block",
        "causal": "causal",
        "step": "blocks visited",
        "row": "query to follow",
    },
    "words": {"x": "it asks for: alive", "y": "a drink"},
    "film": {
        "at": "step",
        "words": "words",
        "X": "X, a row a word",
        "query": "query",
        "what": "start from",
        **{f"W_{c}": f"W_{c}" for c in "QKV"},
    },
    "induction": {
        "symbols": "symbols",
        "query": "query at",
        "step": "training step",
        "head_0_0": "block 0 head 0",
        "head_0_1": "block 0 head 1",
        "head_1_0": "block 1 head 0",
        "head_1_1": "block 1 head 1",
    },
}
FIELDS = {
    "choice": {"mask", "what", "preset", "dtype", "kind", "rule", "device"},
    "flag": {"scale", "causal"}
    | {f"head_{i}_{h}" for i in (0, 1) for h in (0, 1)},
    "matrix": {*"XQKV", "W_Q", "W_K", "W_V", "scores", "dY"},
    "number": {"seed"},
    "symbols": {"symbols"},
    "words": {"words"},
}
STEP_OF = {"slope": 0.0625, "temperature": 0.1, "angle": 15}
STEP_OF |= {"x": 0.1, "y": 0.1, "at": 0.01}
STEP_OF |= {"x1": 0.1, "x2": 0.1, "y1": 0.1, "y2": 0.1}


def kind_of(name, key):
    """The kind of a field; what is not named is a slider."""
    if (name, key) == ("saturation", "d_k"):
        return "power"
    if name == "roof" and key != "device":
        return "power"
    if (name, key) == ("induction", "step"):
        return "stops"
    if name == "temperature" and key != "scores":
        return "stops"
    for kind, keys in FIELDS.items():
        if key in keys:
            return kind
    if key == "filled":
        return "range"
    return "number" if name == "kvcache" else "range"


def hidden(name, key, state):
    """Whether a setting does not matter in a state."""
    if name == "causal":
        padded = state["mask"] in ("padding", "causal and left padding")
        return {"window": state["mask"] != "sliding",
                "length": not padded}.get(key, False)  # fmt: skip
    if name == "film":
        return key.startswith("W_") and state["what"] == "X"
    if name == "step":
        one = state["what"] == "X"
        return not one if key == "X" else one and key in "QKV"
    if name == "positions":
        of = {"T": "sinusoid ALiBi", "pairs": "sinusoid RoPE",
              "pair": "sinusoid RoPE", "heads": "ALiBi", "rule": "ALiBi",
              "kind": "sinusoid RoPE ALiBi"}.get(key, "RoPE")  # fmt: skip
        return state["kind"] not in of.split()
    return False


def last_of(name, key, state, expected):
    """Where a slider ends because another setting says so."""
    ends = {
        ("causal", "window"): lambda: state["T"],
        ("causal", "length"): lambda: state["T"],
        ("causal", "query"): lambda: state["T"] - 1,
        ("causal", "key"): lambda: state["T"] - 1,
        ("heads", "column"): lambda: state["H"] * state["d_k"] - 1,
        ("positions", "pair"): lambda: state["pairs"] - 1,
        ("kvcache", "filled"): lambda: state["S"],
        ("tiles", "block_q"): lambda: state["T"],
        ("tiles", "block_k"): lambda: state["T"],
        ("tiles", "step"): lambda: len(expected["blocks"]),
        ("tiles", "row"): lambda: state["T"] - 1,
        ("induction", "query"): lambda: len(state["symbols"]) - 1,
        ("roof", "shared"): lambda: state["heads"],
        ("backward", "entry"): lambda: np.size(state["dY"]) - 1,
        ("film", "query"): lambda: len(state["X"]) - 1,
        ("film", "at"): lambda: (
            (1 if state["what"] == "X" else 3) * len(state["X"])
            + (4 if state["what"] == "X" else 6)
        ),
    }
    return ends[name, key]() if (name, key) in ends else None


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_shows_its_setting(name):
    limits = {control["key"]: control for control in controls(name)}
    for settings in [*some_states(name), *EDGES.get(name, ())]:
        state, expected, shown = look(name, settings)
        form = shown.select_one("form.av-controls")
        assert form.has_attr("hidden"), "no controls without scripts"
        boxes = form.find_all("div", recursive=False)
        labels = LABELS[name]
        for key, box in zip(labels, boxes, strict=True):
            field = box.label.select_one(f"[name={key}]")
            assert box.label.text == f"{labels[key]} {field.text}"
            assert box.has_attr("hidden") == hidden(name, key, state), key
            value = state.get(key, preset_of(state) or "own numbers")
            kind = kind_of(name, key)
            if key == "preset":
                options = ["own numbers", *figures.presets(name)]
                choice_shows(field, value, options)
                continue
            assert limits[key]["kind"] == kind
            if kind == "power":
                last = last_of(name, key, state, expected)
                last = last or limits[key]["max"]
                power_shows(box, field, min(value, last), last)
            elif kind == "stops":
                stop_shows(box, field, value, name)
            elif kind == "symbols":
                assert (field["type"], field["size"]) == ("text", "32")
                assert field["value"] == value
            elif kind == "words":
                assert (field["type"], field["size"]) == ("text", "28")
                assert field["value"] == value
            elif kind == "choice":
                choice_shows(field, value, limits[key]["options"])
            elif kind == "flag":
                assert field["type"] == "checkbox"
                assert field.has_attr("checked") == value
            elif kind == "matrix":
                rows = [line.split(" ") for line in field.text.split("\n")]
                assert [[float(x) for x in row] for row in rows] == value
                assert field["rows"] == str(len(value))
                first = field.text.find("\n")
                assert field["cols"] == str(first + 4)
            elif kind == "number":
                number_shows(field, value, limits[key])
            else:
                end = last_of(name, key, state, expected)
                slider_shows(box, field, value, limits[key], end)


def choice_shows(field, value, options):
    assert [option.text for option in field.select("option")] == options
    (chosen,) = field.select("option[selected]")
    assert chosen.text == value


def parted(x):
    """A setting as it is, its thousands parted."""
    return f"{int(x) if x == int(x) else x:,}"


def power_shows(box, field, value, last):
    power, most = (n.bit_length() - 1 for n in (value, last))
    assert (field["type"], field["min"]) == ("range", "0")
    assert field["max"] == str(most)
    assert (field["step"], field["value"]) == ("1", str(power))
    assert field["aria-valuetext"] == str(value), "2 to that power is said"
    assert box.output.text == f"{value:,}"
    assert box.output["aria-hidden"] == "true"


def stop_shows(box, field, value, name):
    stops = [0, 20, 40, 60, 80, 100, 150, 300]
    if name == "temperature":
        few = [float(f"{n}e{k}") for k in (-2, -1, 0) for n in (1, 2, 5)]
        stops = sorted([*few, 0.3, 0.7, 1.5, 3, 10, 20, 50, 100])
    assert (field["type"], field["min"]) == ("range", "0")
    assert int(field["max"]) == len(stops) - 1
    assert (field["step"], stops[int(field["value"])]) == ("1", value)
    assert float(field["aria-valuetext"]) == value, "the stop is said"
    assert box.output.text == parted(value)


def number_shows(field, value, limits):
    assert (field["type"], field["inputmode"]) == ("number", "decimal")
    assert field["value"] == str(value)
    assert field["step"] == "1"
    assert field["min"] == str(limits["min"])
    assert field["max"] == str(limits["max"])


def slider_shows(box, field, value, limits, end):
    low, high = limits["min"], limits["max"]
    if end is not None:
        high = min(high, end)
        value = min(value, high)
    key = limits["key"]
    step = STEP_OF.get(key, 1)
    steps = (value - low) / step
    between = abs(steps - round(steps)) > 1e-9
    assert field["type"] == "range"
    assert field["step"] == ("any" if between else f"{step:g}"), (key, value)
    assert float(field["min"]) == low
    assert float(field["max"]) == high
    assert float(field["value"]) == value
    assert box.output.text == parted(value)
    assert not field.has_attr("aria-valuetext")
    assert box.output["aria-hidden"] == "true"


@pytest.mark.parametrize("name", CLASSES)
def test_the_address_calls_a_figure_as_its_file(name):
    assert call("() => figure.name", of=name) == name


@pytest.mark.parametrize("name", CLASSES)
def test_the_frame_of_a_figure(name):
    _, _, shown = look(name, {})
    section = shown.section
    assert section["data-figure"] == name
    parts = [part.get("class", [None])[0] for part in section.children]
    stills = ["av-stills"] if name == "film" else []
    shell = ["av-controls", "av-error", "av-result", "av-spoken"]
    assert parts == [*shell, *stills, None]
    error, spoken = (section.select_one(f".{c}") for c in
                     ("av-error", "av-spoken"))  # fmt: skip
    assert (error["role"], spoken["role"]) == ("alert", "status")
    assert error.text == spoken.text == ""


def test_a_state_that_cannot_be_shown_has_a_message_and_no_result():
    state = dict.fromkeys(("T", "d_k"), 2) | {"H": 4, "H_kv": 3, "column": 0}
    shown = BeautifulSoup(call("(state) => shell(figure, state)", state,
                               of="heads"), "html.parser")  # fmt: skip
    assert shown.select_one(".av-error").text.startswith("H_kv must divide H")
    assert shown.select_one(".av-result").text == ""


def test_what_a_message_names():
    """Each rule, the name that the page has for the setting, what was got."""
    whole = {"key": "S", "label": "keys S", "min": 2, "max": 64, "step": 1,
             "kind": "range"}  # fmt: skip
    half = whole | {"step": 0.5, "key": "slope", "label": "ALiBi slope"}
    flag = {"key": "scale", "label": "divide by √d_k", "kind": "flag"}
    mask = {"key": "mask", "label": "mask", "kind": "choice",
            "options": ["a", "b"]}  # fmt: skip
    A = {"key": "X", "label": "X, a row a line", "kind": "matrix", "min": -9,
         "max": 9, "rows": [1, 2], "columns": [1, 3]}  # fmt: skip
    power = whole | {"kind": "power", "min": 1}
    stops = whole | {"kind": "stops", "stops": [0, 20, 40]}
    letters = whole | {"kind": "symbols", "letters": "ABC", "min": 1,
                       "max": 3}  # fmt: skip
    some = whole | {"kind": "words", "letters": 3, "min": 2, "max": 3}
    blank = "keys S must be 2 to 3 of at most 3 letters, a blank between; got"
    few = "keys S must be 1 to 3 letters from A to C; got"
    nan = float("nan")
    shape = "X must have 1 to 2 rows of 1 to 3 numbers, all rows equally long"
    each = "each number of X must be a number from -9 to 9, with a decimal "
    each += "point; got"
    long = "a" * 41
    for control, value, message in (
        (some, "a bc", ""),
        (some, "a b cde", ""),
        (some, "a", f"{blank} 1 word"),
        (some, "a b c d", f"{blank} 4 words"),
        (some, "a bcde", f"{blank} bcde"),
        (some, "a  b", f"{blank} no word"),
        (some, "a\tb c", f"{blank} a\tb"),
        (some, "", f"{blank} no word"),
        (some, 5, f"{blank} 5"),
        (whole, 2, ""),
        (whole, 64, ""),
        (whole, 1, "keys S must be a whole number from 2 to 64; got 1"),
        (whole, 65, "keys S must be a whole number from 2 to 64; got 65"),
        (whole, 2.5, "keys S must be a whole number from 2 to 64; got 2.5"),
        (whole, nan, "keys S must be a whole number from 2 to 64; "
                     "got no number"),
        (whole, float("inf"), "keys S must be a whole number from 2 to 64; "
                              "got Infinity"),
        (half, 2.7, ""),
        (half, 70, "ALiBi slope must be a number from 2 to 64; "
                   "got 70"),
        (flag, True, ""),
        (flag, False, ""),
        (flag, "yes", "divide by √d_k (scale) must be true or false; "
                      "got yes"),
        (flag, 1, "divide by √d_k (scale) must be true or false; got 1"),
        (mask, "b", ""),
        (mask, "c", "mask must be one of a, b; got c"),
        (mask, long, f"mask must be one of a, b; got {'a' * 40}…"),
        (mask, long[1:], f"mask must be one of a, b; got {'a' * 40}"),
        (power, 1, ""),
        (power, 64, ""),
        (power, 3, "keys S must be a power of two from 1 to 64; got 3"),
        (power, 128, "keys S must be a power of two from 1 to 64; got 128"),
        (power, 0.5, "keys S must be a power of two from 1 to 64; got 0.5"),
        (stops, 0, ""),
        (stops, 40, ""),
        (stops, 30, "keys S must be one of 0, 20, 40; got 30"),
        (stops, nan, "keys S must be one of 0, 20, 40; got no number"),
        (letters, "A", ""),
        (letters, "CCC", ""),
        (letters, "", f"{few} no letter"),
        (letters, "ABCA", f"{few} 4 letters"),
        (letters, "ABD", f"{few} D"),
        (letters, "a", f"{few} a"),
        (letters, "A B", f"{few}  "),
        (letters, 3, f"{few} 3"),
        (A, [[1, 2, 3], [4, -9, 9]], ""),
        (A, [], f"{shape}; got 0 rows"),
        (A, [[]], f"{shape}; got 1 row of 0"),
        (A, 5, f"{shape}; got 0 rows"),
        (A, [1, 2], f"{shape}; got 0 rows"),
        (A, [[1], 2], f"{shape}; got 0 rows"),
        (A, [[1]] * 3, f"{shape}; got 3 rows of 1"),
        (A, [[1] * 4], f"{shape}; got 1 row of 4"),
        (A, [[1], [1, 2]], f"{shape}; got 2 rows of 1 and 2"),
        (A, [[0] * k for k in (1, 2, 3, 4, 5)], f"{shape}; got 5 rows of 1 "
                                                "and 2 and 3 and 4"),
        (A, [[1, 10]], f"{each} 10"),
        (A, [[1, "1,5"]], f"{each} 1,5"),
        (A, [[nan]], f"{each} NaN"),
    ):  # fmt: skip
        assert call("complaint", control, value) == message


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("heads", {"H": 12, "H_kv": 5}, "H_kv must divide H: 12 query heads "
         "can share 1, 2, 3, 4, 6, 12 key/value heads; got 5"),
        ("heads", {"H": 12, "H_kv": 6}, ""),
        ("heads", {"H": 7, "H_kv": 2}, "H_kv must divide H: 7 query heads "
         "can share 1, 7 key/value heads; got 2"),
        ("kvcache", {"S": 10**7, "batch": 4096}, "the cache would take more "
         "than 1 PiB, where the figure stops; lower positions S or sequences "
         "B"),
        ("kvcache", {"n_layers": 256, "n_kv_heads": 256, "d_k": 1024,
                     "d_v": 1024, "S": 1, "batch": 4096}, ""),
        # Exactly 1 PiB, and one position more.
        ("kvcache", {"n_layers": 256, "n_kv_heads": 256, "d_k": 1024,
                     "d_v": 1024, "S": 1024, "batch": 4096,
                     "dtype": "float16 or bfloat16"}, ""),
        ("kvcache", {"n_layers": 256, "n_kv_heads": 256, "d_k": 1024,
                     "d_v": 1024, "S": 1025, "batch": 4096}, "the cache "
         "would take more than 1 PiB, where the figure stops; lower "
         "positions S or sequences B"),
        ("step", {"what": "Q, K, V", "Q": [[1, 2]]}, "Q and K must have rows "
         "of one length; got Q (1, 2) and K (3, 4)"),
        ("step", {"what": "Q, K, V", "V": [[1]]}, "K and V must have as many "
         "rows; got K (3, 4) and V (1, 1)"),
        ("step", {"what": "Q, K, V", "K": [[0] * 4], "V": [[1]],
                  "causal": True}, "with a causal mask Q has at most as many "
         "rows as K; got Q (3, 4) and K (1, 4)"),
        ("step", {"what": "Q, K, V", "K": [[0] * 4], "V": [[1]]}, ""),
        ("step", {"what": "Q, K, V", "K": [[0] * 4] * 5, "V": [[1]] * 5,
                  "causal": True}, ""),
        # What is wrong in X alone says so before what does not fit.
        ("step", {"X": []}, "X must have 1 to 6 rows of 1 to 6 numbers, all "
         "rows equally long; got 0 rows"),
        ("causal", {"mask": "x", "T": 1}, "mask must be one of none, causal, "
         "sliding, padding, causal and left padding; got x"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together(name, settings, message):
    figure = CLASSES[name]()
    state = {key: getattr(figure, key) for key in figure._settings()}
    found = call("(state) => problem(figure, state)", state | settings,
                 of=name)  # fmt: skip
    assert found == message


# --- what is typed --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1 0\n−2 1.5", [[1, 0], [-2, 1.5]]),
        ("1,0\n-2,1.5", [[1, 0], [-2, 1.5]]),
        ("[[1, 0], [-2, 1.5]]", [[1, 0], [-2, 1.5]]),
        ("[[ 1.   0. ]\n [-2.   1.5]]", [[1, 0], [-2, 1.5]]),
        ("1\t0\r\n-2\t1.5\r\n", [[1, 0], [-2, 1.5]]),
        ("1 0;\n\n-2 1.5;", [[1, 0], [-2, 1.5]]),
        ("1;2", [[1], [2]]),
        ("1, 2 ,3", [[1, 2, 3]]),
        ("1 two; 3 4e1", [[1, "two"], [3, 40]]),
        ("0,5 1,5", [["0,5", "1,5"]]),
        ("−1 −2 −3;[4] [5]", [[-1, -2, -3], [4], [5]]),
        ("", []),
        (" ;\n,", []),
    ],
)
def test_a_matrix_is_read_as_it_is_pasted(text, rows):
    assert call("matrix", text) == rows
    assert call("parse", {"kind": "matrix"}, text) == rows


def test_a_field_is_read():
    for text, number in (("5", 5), (" 5 ", 5), ("−2.5", -2.5), ("-2", -2),
                         ("1e3", 1000), ("", None), ("  ", None),
                         ("zwei", None), ("1−2", None)):  # fmt: skip
        assert call("parse", {"kind": "range"}, text) == number, text
    for text, value in (("true", True), ("false", False), (True, True),
                        (False, False), ("maybe", "maybe"),
                        ("", "")):  # fmt: skip
        assert call("parse", {"kind": "flag"}, text) == value
    assert call("parse", {"kind": "choice"}, "−a") == "−a"
    for text, symbols in (("ABL", "ABL"), (" a, b\nl ", "ABL"), ("", ""),
                          ("m1", "M1")):  # fmt: skip
        assert call("parse", {"kind": "symbols"}, text) == symbols
    assert call("parse", {"kind": "words"}, "  a\n  −b ") == "a −b"
    assert call("parse", {"kind": "stops"}, "150") == 150


def test_a_setting_is_written_as_it_is_read():
    for kind, value, text in (
        ("matrix", [[1, -2.5], [3, 4]], "1 -2.5\n3 4"),
        ("flag", True, "true"),
        ("range", 0.1, "0.1"),
        ("choice", "a b", "a b"),
    ):
        assert call("show", {"kind": kind}, value) == text
        assert call("parse", {"kind": kind}, text) == value


def test_a_slider_has_its_step_where_its_value_fits():
    for low, step, value, wanted in (
        (0, 1, 3, 1),
        (0.1, 0.1, 0.7, 0.1),
        (0.1, 0.1, 0.75, "any"),
        (0, 0.0625, 0.03, "any"),
        (-180, 15, 90, 15),
        (-180, 15, 91, "any"),
        (1, 2, 4, "any"),
        (0.5, 2, 2.5, 2),
        (0, 1, 3 + 4e-10, 1),
        (0, 1, 3 + 6e-10, "any"),
    ):
        control = {"min": low, "step": step}
        assert call("stepTo", control, value) == wanted
    assert call("stepTo", {"min": 0}, 3) == "any"


def test_a_place_on_a_slider_stands_for_a_value():
    """A slider of powers moves in exponents, one of stops from each to the
    next; a browser asks for the value of a place."""
    value = "(kind, control, place) => PLACES[kind].at(control, place)"
    for place, power in ((0, 1), (1, 2), (5, 32), (10, 1024)):
        assert call(value, "power", {}, place) == power
    stops = {"stops": [0, 20, 40, 300]}
    for place, stop in enumerate(stops["stops"]):
        assert call(value, "stops", stops, place) == stop


def test_data_that_no_page_has_loaded_is_not_known():
    assert call("known", "steps") is None
    assert call("""(name) => {
      globalThis.attentionData = { [name]: 7 };
      const found = [known(name), known("other") ?? 0];
      delete globalThis.attentionData;
      return found;
    }""", "steps") == [7, 0]  # fmt: skip
