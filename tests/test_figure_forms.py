"""Interactive figures: their words, their markup and their drawing.

The numbers are compared in `test_figures.py` and read back in
`test_shown.py`. Here is the rest of what a reader meets: captions, headings
and labels, written out anew from the state; markup that a browser
understands; ink that can be read; and charts that stand upright.
"""

import decimal
import functools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import quickjs
from bs4 import BeautifulSoup
from expected_figures import (
    CASES,
    CLASSES,
    EXPECTED,
    controls,
    model_sizes,
    states,
)

from helpers import figures

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
    return str(abs(exact) if exact == 0 else exact).replace("-", "−")


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
    text = f"{context.create_decimal_from_float(float(x)):f}"
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
            style = cell["style"]
            ground = [int(c) for c in re.findall(r"\d+(?=[,)])", style)]
            ink = re.fullmatch(
                r"background:rgb\(\d+,\d+,\d+\);color:(#000|#fff)", style
            )[1]
            assert contrast(ground, INKS[ink]) >= 4.5


def test_shades_go_from_light_to_dark_and_stop_there():
    ends = {0: [234, 241, 247], 1: [0, 48, 77]}
    assert call("shade", 0) == call("shade", -3) == ends[0]
    assert call("shade", 1) == call("shade", 3) == ends[1]
    stops = [[234, 241, 247], [143, 191, 224], [0, 114, 178], [0, 48, 77]]
    for x in np.linspace(0, 1, 61):
        wanted = [
            np.interp(x, np.linspace(0, 1, 4), channel)
            for channel in zip(*stops, strict=True)
        ]
        assert np.abs(np.subtract(call("shade", x), wanted)).max() <= 0.501


# --- markup ---------------------------------------------------------------

N = r"-?\d+(\.\d+)?(e-\d+)?"
COLOUR = r"rgb\(\d+,\d+,\d+\)"
ATTRIBUTES = {
    "aria-hidden": "true",
    "aria-label": ".*",
    "aria-valuetext": r"\d+",
    "autocapitalize": "characters",
    "autocomplete": "off",
    "checked": "",
    "colspan": r"\d+",
    "cols": r"\d+",
    "cx": N,
    "cy": N,
    "d": rf"([MLHVhv] ?{N}( {N})?|A{N} {N} 0 [01] 1 {N} {N}|z)+",
    "data-at": r"(X|Q|K|V|dots|scores|masked|weights|output),\d,\d",
    "data-figure": r"\w+",
    "data-state": r"\{.*\}",
    "fill": rf"{COLOUR}|none",
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
    "size": "32",
    "spellcheck": "false",
    "step": rf"any|{N}",
    "stroke-dasharray": "6 4|",
    "stroke-width": N,
    "style": rf"background:({COLOUR};color:#(000|fff)|#[0-9a-f]{{6}}"
    r"(;color:#000)?)|width:\d+\.\d\d%",
    "text-anchor": "start|middle|end",
    "transform": rf"translate\(12 {N}\) rotate\(-90\)",
    "type": "checkbox|number|range|text",
    "value": rf"{N}|[A-L]*",
    "viewbox": rf"{N} {N} {N} {N}",
    "x": rf"{N}( {N})*",
    "y": N,
}
WORDS = {"b", "caption", "label", "li", "mark", "option", "output", "p"}
WORDS |= {"span", "td", "text", "textarea", "th"}
BOXES = {"circle", "div", "form", "i", "input", "noscript", "path", "section"}
BOXES |= {"select", "svg", "table", "tbody", "thead", "tr", "ul"}
ALONE = {"circle", "path"}  # these close themselves
# Classes that find an element, where they do not also dress it.
HOOKS = {"av-name", "av-line-0", ""}


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


def matrix_words(label, columns, rows, largest_table=(16, 12)):
    """A small matrix has headings, a large one says its label twice."""
    if len(rows) <= largest_table[0] and len(columns) <= largest_table[1]:
        return table_words(label, columns, rows)
    return [label, label]


def causal_words(state, expected):
    T = state["T"]
    small = T <= 12
    label = "Attention weights: a row a query, a column a key; hatched"
    label += ", with a dot," * small + " where the mask forbids"
    label += "; 0 is light, 1 dark" * (not small)
    rows = [f"query {i}" for i in range(T)]
    return matrix_words(label, range(T), rows, (12, 12))


def step_words(state, expected):
    one = state["what"] == "X"
    given = [np.array(state[k]) for k in ("XXX" if one else "QKV")]
    Q, K, V = given
    q, k, v = "XXX" if one else "QKV"
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
    n, found, tokens = H * d, [], list("abcdef"[:T])
    if n > 24:
        found += [
            f"{n:,} columns are too many to draw. Head h owns columns "
            f"h · {d} to h · {d} + {d - 1}."
        ]
    else:
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


def kvcache_words(state, expected):
    size = {"float32": 4, "float16 or bfloat16": 2, "8 bits": 1}
    caption = (
        f"Keys and values: {state['n_layers']} · {state['n_kv_heads']} · "
        f"({state['d_k']} + {state['d_v']}) · {size[state['dtype']]} · "
        f"{state['S']:,} · {state['batch']:,} bytes"
    )
    rows = ["one position, one layer", "one position, all layers"]
    rows += ["one sequence", "all sequences"]
    found = table_words(caption, ["bytes", "binary units"], rows)
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
        "−1 light, 1 dark"
    )
    rows = [f"t = {t}" for t in range(T)]
    return [
        *matrix_words(label, range(n), rows),
        f"Sine and cosine of pair {pair} over the positions",
        f"sine, {2 * pair}",
        f"cosine, {2 * pair + 1}",
        "position",
        f"pair {pair}",
    ]


def rotation_words(state, expected):
    pair = min(state["pair"], state["pairs"] - 1)
    q, k = state["m"] + state["shift"], state["n"] + state["shift"]
    return [
        f"The plane of pair {pair}: q is the query, turned to position {q}, "
        f"k the key, turned to {k}. The curve is the score over the distance.",
        f"Pair {pair}: the query turned to position {q}, the key to position "
        f"{k}",
        "q",
        "k",
        "The score over the distance, query position minus key position",
        "score",
        str(state["m"] - state["n"]).replace("-", "−"),
        "distance m − n",
        "score",
    ]


def alibi_words(state, expected):
    T, slopes = state["T"], expected["slopes"]
    low = rounded(expected["bias"].min(), 3)
    label = (
        f"Rows are heads, columns distances 0 to {T - 1}: {low} light, 0 dark"
    )
    rows = [f"head {h}: {shortest(m, 4)}" for h, m in enumerate(slopes)]
    ends = dict.fromkeys((slopes.argmax(), slopes.argmin()))
    return [
        *matrix_words(label, range(T), rows),
        "The bias of the steepest and of the flattest head over the distance",
        *(f"head {h}" for h in ends),
        "distance",
        "bias",
    ]


def positions_words(state, expected):
    kinds = [sinusoid_words, rotation_words, alibi_words]
    chosen = ["sinusoid", "RoPE", "ALiBi"].index(state["kind"])
    return kinds[chosen](state, expected)


def tiles_words(state, expected):
    T, done, blocks = state["T"], expected["done"], expected["blocks"]
    row = min(state["row"], T - 1)
    seen = [b for b in blocks[:done] if b[0] <= row < b[1]]
    rows = [f"keys {c} to {d - 1}" for _, _, c, d in seen]
    if len(rows) > 8:
        rows = [f"{len(rows) - 8} earlier", *rows[-8:]]
    empty = "Empty: above the diagonal, left out. " * state["causal"]
    return [
        f"{empty}Pale: to come. Dark: visited. Orange with a thick edge: "
        f"visited last. Dashed: query {row}. Rows are queries, columns keys.",
        f"Scores of {T} queries, which are rows, and {T} keys. {done} of "
        f"{number_of(len(blocks), 'block')} visited.",
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


def induction_words(state, expected):
    found = []
    for i, h in ((0, 0), (0, 1), (1, 0), (1, 1)):
        found += head_words(state, expected, i, h)
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


LETTERS = "ABCDEFGHIJKL"
WORDS_OF = {
    "causal": causal_words,
    "step": step_words,
    "saturation": saturation_words,
    "heads": heads_words,
    "kvcache": kvcache_words,
    "positions": positions_words,
    "tiles": tiles_words,
    "induction": induction_words,
}


@pytest.mark.parametrize("name", CLASSES)
def test_captions_headings_and_labels_say_what_is_shown(name):
    for settings in some_states(name):
        state, expected, shown = look(name, settings)
        assert words(shown) == WORDS_OF[name](state, expected), settings


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
    S, batch, total = state["S"], state["batch"], expected["total"]
    each = f"each of {batch:,} sequences" if batch > 1 else "one sequence"
    one = "s" * (S * batch == 1)
    whole, _, rest = rounded(total / 2**20, 3).partition(".")
    rest = rest.rstrip("0")
    mib = f", which is {int(whole):,}{f'.{rest}' * bool(rest)} MiB"
    name = preset_of(state)
    latent = (
        " It keeps one latent vector of 512 numbers, entered as the key, from "
        "which keys and values are made again, and a rotary key of 64, "
        "entered as the value."
    )
    return (
        f"{name or 'These sizes'}: {number_of(expected['per_token'], 'byte')} "
        f"a position. {number_of(S, 'position')} in {each} take{one} "
        f"{size(total)}{mib * (total >= 2**30)}. 1 GiB holds "
        f"{number_of(expected['tokens_per_gib'], 'position')}."
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


SENTENCES = {
    "heads": heads_sentence,
    "kvcache": kvcache_sentence,
    "tiles": tiles_sentence,
    "positions": alibi_sentence,
    "induction": induction_sentence,
}
# States at the edges of what the sentences tell apart.
EDGES = {
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
        assert words(shown) == WORDS_OF[name](state, expected), settings


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
    Q, K, V = (np.array(state[c], float) for c in ("XXX" if one else "QKV"))
    q, k, v = "XXX" if one else "QKV"
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
    tops = [0.02, 0.05, 0.1, 0.2, 0.5, 1]
    for x in [0, *tops, *(t + 1e-3 for t in tops[:-1])]:
        wanted = min(top for top in tops if top >= x)
        assert call("nice", x, of="saturation") == wanted


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
        most = expected["counts"].max() / (32 * state["S"])
        (x, y), (across, up) = axes(shown)
        assert x == [-64, 64]
        tops = (0.02, 0.05, 0.1, 0.2, 0.5, 1)
        assert y == [0, min(t for t in tops if t >= most)]
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
    assert dashes == ["", "6 4", ""]
    shown = look("positions", {"kind": "ALiBi"})[2]
    dashes = [p["stroke-dasharray"] for p in shown.select("path.av-line")]
    assert dashes == ["", "6 4"]


@pytest.mark.parametrize("settings", [
    {}, {"pairs": 1, "m": 0, "n": 0}, {"m": 20, "n": 3, "angle": -30.0},
])  # fmt: skip
def test_the_plane_of_a_pair_has_its_arrows_and_their_names(settings):
    state, expected, shown = look("positions", {"kind": "RoPE", **settings})
    plane = shown.select_one(".av-plane")
    assert plane["viewbox"] == "-145 -145 290 290"
    axes_, circle = plane.select(".av-rule")
    assert axes_["d"] == "M-110 0H110M0 -110V110"
    assert (circle["r"], circle["fill"]) == ("100", "none")
    pair = min(state["pair"], state["pairs"] - 1)
    arrows = zip(
        plane.select("path.av-line"), plane.select("circle.av-line"),
        plane.select("text"), ("query", "key"), strict=True,
    )  # fmt: skip
    for k, (path, tip, name, key) in enumerate(arrows):
        x, y = 100 * np.array(expected[key][2 * pair : 2 * pair + 2])
        y = -y  # upwards
        assert path["class"] == tip["class"] == ["av-line", f"av-line-{k}"]
        assert (name.text, name["text-anchor"]) == (key[0], "middle")
        assert tip["r"] == "4"
        ends = re.fullmatch(r"M0 0L(\S+) (\S+)", path["d"]).groups()
        far = 1.15 + 0.2 * k  # the names stand beyond the circle, apart
        np.testing.assert_allclose(
            [float(a) for a in (*ends, tip["cx"], tip["cy"],
                                name["x"], name["y"])],
            [x, y, x, y, far * x, far * y + 5],
            atol=0.0051,
        )  # fmt: skip
        for text in (*ends, tip["cx"], tip["cy"], name["x"], name["y"]):
            assert re.fullmatch(r"-?\d+\.\d\d", text), "no longer than that"


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
            box = shown.select_one(".av-mosaic")["viewbox"]
            assert box == f"0 0 {2 * pairs} {T}"


def test_a_large_matrix_has_25_shades():
    numbers = np.linspace(0, 1, 401)
    html = call("mosaic", {"label": "L", "values": [numbers.tolist()]})
    svg = BeautifulSoup(html, "html.parser").svg
    nearest = np.floor(24 * numbers + 0.5)
    for k, path in enumerate(svg.select("path")):
        red, green, blue = call("shade", k / 24)
        assert path["fill"] == f"rgb({red},{green},{blue})"
        columns = np.flatnonzero(nearest == k)
        assert path["d"] == "".join(f"M{j} 0h1v1h-1z" for j in columns)
    assert k == 24


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
    """Weights are dark at one; scores where they are largest."""
    dark, light = "rgb(0,48,77)", "rgb(234,241,247)"
    figure = {"X": [[3.0, 0], [0, -1]], "causal": True}
    _, _, shown = look("step", figure)
    grounds = {
        cell["data-at"]: cell["style"].partition(";")[0].split(":")[1]
        for cell in shown.select("[data-at]")
    }
    assert grounds["weights,0,0"] == dark, "a weight of one"
    assert grounds["weights,0,1"] == light, "a weight of zero"
    assert grounds["dots,0,0"] == grounds["masked,0,0"] == dark
    assert grounds["dots,0,1"] == light
    given = {v for k, v in grounds.items() if k[0] in "Xo"}
    assert given == {light}, "inputs and output have no shades"
    _, _, shown = look("step", {"X": [[-1.0]], "scale": False})
    cells = {c["data-at"]: c["style"] for c in shown.select("[data-at]")}
    assert dark in cells["dots,0,0"]
    _, _, shown = look("step", {"X": [[0.5]], "scale": False})
    cells = {c["data-at"]: c["style"] for c in shown.select("[data-at]")}
    assert dark in cells["dots,0,0"], "a quarter, where nothing is more"
    _, _, shown = look("step", {"Q": [[-1.0]], "K": [[1.0]], "V": [[1.0]]})
    cells = {c["data-at"]: c["style"] for c in shown.select("[data-at]")}
    assert light in cells["dots,0,0"]


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
    np.testing.assert_allclose(box, [-T / 100, -T / 100, 1.02 * T, 1.02 * T])
    kinds = ["skipped", "open"]
    kinds += ["done", "last"] if done else []
    kinds += ["edge", "row"]
    classes = [path["class"][0] for path in svg.select("path")]
    assert classes == [f"av-tile-{kind}" for kind in kinds]
    assert svg.path["d"] == f"M0 0H{T}V{T}H0z"
    row = min(state["row"], T - 1)
    for band in svg.select(".av-tile-edge, .av-tile-row"):
        assert band["d"] == f"M0 {row}H{T}V{row + 1}H0z"
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
    tints = [re.search("#[0-9a-f]{6}", item["style"])[0] for item in items]
    assert len(set(tints[:6])) == 6
    assert tints[6:] == tints[:2], "six colours, then again from the first"
    assert items[0].text == "K0 V0 (0) read by Q0 (0) Q1 (1)"
    for tint in tints:
        ground = [int(tint[k : k + 2], 16) for k in (1, 3, 5)]
        assert contrast(ground, (0, 0, 0)) >= 7
    merged = shown.select_one("table")
    for cell, group in zip(
        merged.select("tbody td")[:16], expected["kv_head"], strict=True
    ):
        assert cell["style"] == f"background:{tints[group]};color:#000"
    owners = merged.select("th[colspan]")
    assert [th["colspan"] for th in owners] == ["1"] * 16
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
    "causal": {
        "mask": "mask",
        "T": "tokens T",
        "window": "window",
        "length": "real tokens",
        "slope": "ALiBi slope",
        "temperature": "temperature",
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
    "choice": {"mask", "what", "preset", "dtype", "kind", "rule"},
    "flag": {"scale", "causal"}
    | {f"head_{i}_{h}" for i in (0, 1) for h in (0, 1)},
    "matrix": set("XQKV"),
    "number": {"seed"},
    "symbols": {"symbols"},
}
STEP_OF = {"slope": 0.0625, "temperature": 0.1, "angle": 15}


def kind_of(name, key):
    """The kind of a field; what is not named is a slider."""
    if (name, key) == ("saturation", "d_k"):
        return "power"
    if (name, key) == ("induction", "step"):
        return "stops"
    for kind, keys in FIELDS.items():
        if key in keys:
            return kind
    return "number" if name == "kvcache" else "range"


def hidden(name, key, state):
    """Whether a setting does not matter in a state."""
    if name == "causal":
        padded = state["mask"] in ("padding", "causal and left padding")
        return {"window": state["mask"] != "sliding",
                "length": not padded}.get(key, False)  # fmt: skip
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
        ("heads", "column"): lambda: state["H"] * state["d_k"] - 1,
        ("positions", "pair"): lambda: state["pairs"] - 1,
        ("tiles", "block_q"): lambda: state["T"],
        ("tiles", "block_k"): lambda: state["T"],
        ("tiles", "step"): lambda: len(expected["blocks"]),
        ("tiles", "row"): lambda: state["T"] - 1,
        ("induction", "query"): lambda: len(state["symbols"]) - 1,
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
                power_shows(box, field, value)
            elif kind == "stops":
                stop_shows(box, field, value)
            elif kind == "symbols":
                assert (field["type"], field["size"]) == ("text", "32")
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


def power_shows(box, field, value):
    power = value.bit_length() - 1
    assert (field["type"], field["min"], field["max"]) == ("range", "0", "10")
    assert (field["step"], field["value"]) == ("1", str(power))
    assert field["aria-valuetext"] == str(value), "2 to that power is said"
    assert box.output.text == str(value)
    assert box.output["aria-hidden"] == "true"


def stop_shows(box, field, value):
    stops = [0, 20, 40, 60, 80, 100, 150, 300]
    assert (field["type"], field["min"], field["max"]) == ("range", "0", "7")
    assert (field["step"], stops[int(field["value"])]) == ("1", value)
    assert field["aria-valuetext"] == str(value), "the step itself is said"
    assert box.output.text == str(value)


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
    assert float(box.output.text) == value
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
    assert parts == ["av-controls", "av-error", "av-result", "av-spoken", None]
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
    few = "keys S must be 1 to 3 letters from A to C; got"
    nan = float("nan")
    shape = "X must have 1 to 2 rows of 1 to 3 numbers, all rows equally long"
    each = "each number of X must be a number from -9 to 9, with a decimal "
    each += "point; got"
    long = "a" * 41
    for control, value, message in (
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
