"""The heads of a published model: their weights, their map, two of them."""

import base64
import functools
import gzip
import re
from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np
import pytest
from bs4 import BeautifulSoup
from traitlets import TraitError

from course import figures
from course.checkpoint import Checkpoint
from course.real_heads import (
    LONGEST,
    NAMES,
    file_of,
    packed,
    record,
    recorded,
    unpacked,
)
from helpers.softmax import softmax
from helpers.training import (
    first_token_score,
    induction_score,
    previous_token_score,
)
from helpers.transformer import TransformerConfig, forward, init_transformer
from research import real_heads as command
from tests import budgets
from tests.empty_page import PHONE, state_of
from tests.figures.agreement import assert_same
from tests.figures.reading import (
    all_say,
    call,
    chance_says,
    depth,
    in_proportion,
    says,
    sentence,
    sizes,
    spot,
    style_of,
)

CASES = [
    *({"text": name} for name in NAMES[1:]),
    {"query": 0},
    {"query": 23, "layer": 47, "head": 15},
    {"layer": 7, "head": 3, "other_layer": 7, "other_head": 3},
    {"query": 14, "layer": 18, "head": 6, "other_layer": 11, "other_head": 1},
    {"text": "code", "query": 10, "layer": 29, "head": 8},
    {"text": "Spanish", "query": 23, "other_layer": 0, "other_head": 8},
    {"text": "a chat", "query": 4, "layer": 0, "head": 0},
    {"off": "A"},
    {"off": "B"},
    {"text": "a bracket", "off": "A"},  # 0.36 as before, in two digits
    {"text": "capitals", "off": "B", "other_layer": 23, "other_head": 4},
]
CLASSES = [
    "av-real-none",
    "av-real-first",
    "av-real-previous",
    "av-real-induction",
]
ROLES = ["no role", "first token", "previous token", "induction"]
KINDS = [
    "no role", "on average a first-token head",
    "on average a previous-token head", "on average an induction head",
]  # fmt: skip


@functools.cache
def read(name):
    """Every head's map, byte by byte, and what the heads do on average."""
    result = recorded(name)
    raw = base64.b64decode(result["weights"])
    T = len(result["ids"])
    ends = [0, *accumulate(range(1, T + 1))]
    maps = []
    for head in range(270):
        start = head * ends[-1]
        rows = [raw[start + a : start + b] for a, b in pairwise(ends)]
        maps.append([[*row, *[0] * (T - len(row))] for row in rows])
    weights = np.array(maps) / 255  # (270, T, T)
    even = np.tril(np.ones((1, T, T))) / np.arange(1, T + 1)[:, None]
    ids = result["ids"]
    again = [i for i, token in enumerate(ids) if token in ids[:i]]
    scores = {"first": first_token_score, "previous": previous_token_score}
    if again:
        scores["followed"] = functools.partial(induction_score, tokens=ids)
    means = {key: score(weights) for key, score in scores.items()}
    evenly = {key: score(even).item() for key, score in scores.items()}
    kinds = np.zeros(270, int)
    for kind, key in enumerate(scores, start=1):  # a later one counts
        least = max(0.4, 2 * evenly[key])
        kinds[means[key] >= least] = kind
    return result, weights, means, evenly, kinds, len(again)


def expected(state):
    """What the stored bytes say, by the helpers' definitions."""
    result, weights, means, evenly, kinds, asked = read(state["text"])
    nothing = np.zeros(270)
    heads = [
        [min(state["layer"], 29), min(state["head"], 8)],
        [min(state["other_layer"], 29), min(state["other_head"], 8)],
    ]
    keys = ("first", "previous", "followed")
    before = [p for _, p in result["next"]]
    chances, logits = before, [0] * 6
    if state["off"] != "no head":
        at, h = heads["AB".index(state["off"])]
        chances, logits = result["without"][9 * at + h]
    return {
        **{key: means.get(key, nothing).reshape(30, 9) for key in keys},
        "evenly": [evenly.get(key, 0) for key in keys],
        "asked": asked,
        "kinds": kinds.reshape(30, 9),
        "counts": [(kinds == kind).sum() for kind in range(4)],
        "heads": heads,
        "weights": [weights[9 * at + h] for at, h in heads],
        "query": min(state["query"], len(result["ids"]) - 1),
        "before": before,
        "chances": chances,
        "logits": logits,
    }


def amount(expected, at, h):
    """The score that gives a head its role."""
    kind = expected["kinds"][at][h]
    keys = (None, "first", "previous", "followed")
    return expected[keys[kind]][at][h] if kind else 0


def map_shows(svg, expected):
    """Each head's cell has the colour and the shade of its role."""
    kinds, shades = np.full((30, 9), -1), np.zeros((30, 9))
    for path in svg.select("path:not(.av-real-sign)"):
        for x, y in re.findall(r"M(\d+) (\d+)", path["d"]):
            at, up = (int(x) - 26) // 20, (int(y) - 14) // 20
            kinds[at, 8 - up] = CLASSES.index(path["class"][0])
            shades[at, 8 - up] = float(path["fill-opacity"])
    np.testing.assert_array_equal(kinds, expected["kinds"])
    scores = [amount(expected, *head) for head in np.argwhere(kinds > 0)]
    shares = 0.3 + 0.7 * (np.array(scores) - 0.4) / 0.6
    np.testing.assert_allclose(shades[kinds > 0], shares, rtol=0, atol=0.04)
    assert shades[kinds == 0].max() < shades[kinds > 0].min()
    tags = [svg.select_one(f"[data-handle={name}]") for name in "AB"]
    layers, heads = np.transpose(expected["heads"])
    x, y = np.transpose([spot(tag) for tag in tags])
    assert x.tolist() == (36 + 20 * layers).tolist()
    assert y.tolist() == (24 + 20 * (8 - heads)).tolist()


def facts_show(side, expected, k):
    at, h = expected["heads"][k]
    assert f"layer {at}, head {h} " in side.p.text
    role = ROLES[expected["kinds"][at][h]]
    assert side.select_one(".av-real-role").text == role
    keys = ("first", "previous", "followed")
    for key, cell in zip(keys, side.select("dd"), strict=True):
        x = expected[key][at][h]
        assert abs(style_of(cell.parent, "share") - 100 * x) <= 0.051
        if key == "followed" and not expected["asked"]:
            assert cell.text == "–"
        else:
            says(cell.text, x, 2)


def shows(state, expected, shown):
    query, T = expected["query"], len(recorded(state["text"])["ids"])
    map_shows(shown.select_one(".av-real-map"), expected)
    counts = [int(b.text) for b in shown.select(".av-real-legend b")]
    assert counts == [expected["counts"][kind] for kind in (1, 2, 3, 0)]
    for k, side in enumerate(shown.select(".av-real-side")):
        facts_show(side, expected, k)
    svg = shown.select_one(".av-real-wings")
    words = svg.select("[data-handle]")
    asks = ["av-real-asks" in word["class"] for word in words]
    assert asks == [k == query for k in range(T)]
    rows = np.array(expected["weights"])[:, query, : query + 1]
    numbers = svg.select(".av-real-number")
    all_say([t.text for t in numbers], rows.ravel(), 2)
    # Each number is beside its word, A's to the left and B's to the right.
    heights = [float(w.select_one("text")["y"]) for w in words[: query + 1]]
    beside = np.reshape(sizes(numbers, "y"), rows.shape)
    assert np.ptp(beside - heights) == 0
    grounds = [depth(rect["fill"]) for rect in svg.select("rect[fill]")]
    assert abs(grounds - rows.ravel()).max() < 0.01
    arcs = svg.select(".av-real-arc-picked")
    thick = [
        float(p["stroke-width"])
        for p in arcs
        for _ in range(p["d"].count("M"))
    ]
    strong = rows[rows >= 0.02]
    in_proportion(np.sort(thick), np.sort(strong))
    next_shows(state, expected, shown)
    way_shows(state, expected, shown, [w.text for w in words])
    text = sentence(shown)
    for k, name in enumerate("AB"):
        weight, key = re.search(
            rf"{name} gives ([\d.]+) to “.*?” at (\d+)", text
        ).groups()
        says(weight, rows[k].max(), 2)
        assert int(key) == rows[k].argmax()


def next_shows(state, expected, shown):
    """The next tokens, and what becomes of them without a head."""
    off = state["off"]
    cut = off != "no head"
    switches = [s.text for s in shown.select(".av-real-switch")]
    assert switches == ["off" if off == name else "on" for name in "AB"]
    bars = shown.select(".av-real-after .av-real-next .av-real-bar")
    for bar, p, was, x in zip(
        bars, expected["chances"], expected["before"], expected["logits"],
        strict=True,
    ):  # fmt: skip
        assert abs(style_of(bar, "share") - 100 * p) <= 0.051
        *old, now = bar.dd.text.split(" → ")
        chance_says(now, p)
        assert len(old) == cut
        if cut:
            chance_says(old[0], was)
            change = bar.select_one(".av-real-logit").text
            says(change.removeprefix("+"), x, 2)
        if p != was:
            assert abs(style_of(bar, "real-was") - 100 * was) <= 0.051
        assert ("av-real-fell" in bar["class"]) == (cut and p < was)
    text = sentence(shown)
    assert text.startswith(f"Without {off}, ") == cut
    if cut:
        # As in the table, and only if the two differ there.
        result = re.search(
            r"probability ([\d.<>]+?)(?: instead of ([\d.<>]+))?\. ", text
        )
        was, now = bars[0].dd.text.split(" → ")
        assert result.groups() == (now, was if was != now else None)
        assert ("still" in text) == (was == now)


def way_shows(state, expected, shown, words):
    """From each head's largest weight at the last position to the next."""
    way = shown.select_one(".av-real-way")
    *keys, at, token = [chip.text for chip in way.select(".av-real-chip")]
    rows = np.array(expected["weights"])[:, -1]
    assert keys == [words[row.argmax()] for row in rows]
    assert at == words[-1]
    assert token == recorded(state["text"])["next"][0][0].strip()
    for leg, name, row in zip(way.select(".av-real-leg"), "AB", rows,
                              strict=False):  # fmt: skip
        says(leg.b.next_sibling.strip(), row.max(), 2)
        assert abs(style_of(leg, "line") - 7 * row.max()) <= 0.051
        assert ("av-real-cut" in leg["class"]) == (state["off"] == name)
        part = f"{name} gives {row.max():.2f} of its weight to "
        assert part in way["aria-label"]
    effect = shown.select_one(".av-real-effect")
    assert bool(effect.text) == (state["off"] != "no head")
    if effect.text:
        x = expected["logits"][0]
        verb = f"falls by {-x:.2f}" if x < 0 else f"rises by {x:.2f}"
        assert effect.text == (
            f"without {state['off']}: logit of {token} "
            f"{verb if x else 'stays'}"
        )


def test_an_effect_of_none_is_named():
    """Of every stored text, the first head that leaves the likeliest logit."""
    tried = 0
    for name in NAMES:
        for k, (_, logits) in enumerate(recorded(name)["without"]):
            if logits[0] == 0:
                html = figures.RealHeads(
                    text=name, layer=k // 9, head=k % 9, off="A"
                ).html()
                shown = BeautifulSoup(html, "html.parser")
                assert shown.select_one(".av-real-effect").text.endswith(
                    " stays"
                )
                tried += 1
                break
    assert tried


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ({"first": 0.5, "previous": 0.5, "followed": 0.5}, 3),
        ({"first": 0.5, "previous": 0.5, "followed": 0.39}, 2),
        ({"first": 0.5, "previous": 0.39, "followed": 0.39}, 1),
        ({"first": 0.4, "previous": 0.45, "followed": 0}, 1),
        ({"first": 0.39, "previous": 0.45, "followed": 0}, 0),
        ({"first": 0.39, "previous": 0.5}, 2),
    ],
)
def test_a_head_of_two_roles_has_the_last_of_them(scores, kind):
    even = {"first": 0.1, "previous": 0.23, "followed": 0.1}
    assert call("kindOf", scores, even, of="realheads") == kind


# What each preset is named for: of head A or B, the key and its least weight.
NAMED = {
    "what followed last time": [(0, " lamps", 0.8), (1, " nine", 0.9)],
    "Italy or Madrid": [(0, " Italy", 0.8), (1, " Madrid", 0.8)],
    "from it to the dog": [(0, " dog", 0.4), (1, " dog", 0.4)],
    "the open bracket": [(0, " (", 0.9), (1, "The", 0.9)],
    "the bracket in code": [(0, "(", 0.9), (1, "(", 0.8)],
    "the same token before": [(0, " total", 0.9), (1, " total", 0.8)],
}


def test_presets_show_what_they_are_named_for():
    presets = figures.presets("realheads")
    assert list(presets) == list(NAMED)
    for name, settings in presets.items():
        values = figures.RealHeads(**settings).values
        pieces = recorded(settings["text"])["pieces"]
        for side, piece, least in NAMED[name]:
            row = values["weights"][side][settings["query"]]
            assert pieces[np.argmax(row)] == piece, name
            assert max(row) >= least, name


# --- what is stored ----------------------------------------------------------


def test_a_text_that_the_model_reads_again_is_as_stored(smollm2):
    """One text and two layers; `research.real_heads check` does all."""
    name = "capitals"
    stored = recorded(name)
    assert command.largest_difference(smollm2, name) <= command.NEAR
    result = command.without_each(smollm2, stored["ids"], (16, 23))
    expected = [
        stored["without"][9 * at + h] for at in (16, 23) for h in range(9)
    ]
    np.testing.assert_allclose(result, expected, atol=command.CLOSE)


def test_texts_are_all_stored_and_small():
    assert tuple(command.TEXTS) == NAMES
    scripts = figures.scripts("realheads")
    later = [f"{file_of(name)}.js" for name in NAMES]
    assert list(scripts) == ["realheads.js", *later]
    for name, text in scripts.items():
        most = 120_000 if name in later else 50_000
        size = len(gzip.compress(text.encode()))
        budgets.keep(f"bytes of {name}", size, most)
    for name in NAMES:
        stored = recorded(name)
        assert stored["text"] == command.TEXTS[name]
        assert "".join(stored["pieces"]) == stored["text"]
        assert 16 <= len(stored["ids"]) <= 28


@pytest.mark.parametrize("name", NAMES)
def test_stored_rows_sum_to_one_but_for_their_bytes(name):
    weights = unpacked(recorded(name))
    T = weights.shape[-1]
    np.testing.assert_array_equal(weights, np.tril(weights))
    off = abs(weights.sum(-1) - 1).max((0, 1))
    assert (off <= np.arange(1, T + 1) / 510 + 1e-9).all()


@pytest.mark.parametrize("T", [1, 2, 5])
def test_packed_weights_come_back_within_half_a_step(rng, T):
    weights = np.tril(rng.random((3, 2, T, T)))
    weights /= weights.sum(-1, keepdims=True)
    back = unpacked(
        {"ids": [0] * T, "layers": 3, "heads": 2, "weights": packed(weights)}
    )
    assert abs(back - weights).max() <= 1 / 510 + 1e-12


def test_record_refuses_what_the_figure_cannot_show(smollm2):
    with pytest.raises(ValueError, match="2 to 48 tokens; got 1"):
        record(smollm2, "The")
    with pytest.raises(ValueError, match=f"2 to {LONGEST} tokens; got 49"):
        record(smollm2, " a" * 49)
    with pytest.raises(ValueError, match="must have a tokenizer"):
        record(smollm2._replace(tokenizer=None), "The cat")
    with pytest.raises(ValueError, match=r"name must be one of .* got two"):
        recorded("two")


# --- live data, in Jupyter ---------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    """A model of three layers of two heads, and a tokenizer of letters."""
    config = TransformerConfig(
        vocab=30, d_model=8, n_layers=3, n_heads=2, positions="rotary"
    )
    params = init_transformer(np.random.default_rng(0), config)
    return Checkpoint(config, params, Letters())


class Letters:
    """A token for each letter."""

    def encode(self, text):
        return [ord(letter) - ord("a") for letter in text]

    def decode(self, ids):
        return "".join(chr(i + ord("a")) for i in ids)


def test_of_shows_what_the_model_reads_now(tiny):
    figure = figures.RealHeads.of(tiny, "abcab", layer=2, head=1)
    assert figure.query == 4
    values = figure.values
    kept = forward([0, 1, 2, 0, 1], tiny.params, tiny.config)
    maps = [x.attended.weights for x in kept.layers if x.attended is not None]
    near = 1 / 510 + 1e-9
    assert values["heads"] == [[2, 1], [2, 0]], "what is beyond is the last"
    for k, (at, h) in enumerate(values["heads"]):
        assert abs(values["weights"][k] - maps[at][h]).max() <= near
    for key, score in (
        ("first", [first_token_score(w) for w in maps]),
        ("previous", [previous_token_score(w) for w in maps]),
        ("followed", [induction_score(w, [0, 1, 2, 0, 1]) for w in maps]),
    ):
        assert abs(np.array(values[key]) - score).max() <= near
    chances = softmax(kept.logits[-1])
    assert values["chances"] == pytest.approx(
        sorted(chances)[:-7:-1], abs=6e-5
    )
    html = figure.html()
    assert "From “…b” at 4, after which “…c” followed last time" in html
    assert "Map of 6 heads: " in html
    form = html[: html.index("</form>")]
    assert re.search(r"<div hidden [^>]*><label><span>text<", form)
    assert [int(m) for m in re.findall(r'max="(\d+)"', form)] == [
        4,
        2,
        1,
        2,
        1,
    ]


def test_of_leaves_a_still_where_there_is_no_kernel(tiny):
    """A page would draw the stored text in its place."""
    html = figures.RealHeads.of(tiny, "abcab").html()
    assert "data-figure" not in html
    assert "data-figure" in figures.RealHeads().html()


def test_of_refuses_what_does_not_fit(tiny):
    with pytest.raises(ValueError, match="2 to 48 tokens; got 1"):
        figures.RealHeads.of(tiny, "a")
    with pytest.raises(TraitError, match="layer"):
        figures.RealHeads.of(tiny, "ab", layer=48)
    deep = tiny._replace(config=replace(tiny.config, n_layers=49))
    with pytest.raises(ValueError, match="48 layers of 16 heads; got 49 of 2"):
        figures.RealHeads.of(deep, "ab")


def test_widget_of_another_text_is_drawn_from_what_python_has(page, tiny):
    figure = figures.RealHeads.of(tiny, "abcab")
    page.open("realheads")
    result = page.run(
        "realheads.openOtherText", state_of("realheads"), figure._given
    )
    assert result == [[[1, 1], [2, 0]], True, [2, True], 1, "2"]


# --- on the page -------------------------------------------------------------


def opened(page):
    """The figure on an empty page, with all of its first text."""
    text = figures.scripts("realheads")["heads-a-repeat.js"]
    page.open("realheads", first=text)


def test_map_is_one_stop_and_its_arrows_go_from_head_to_head(page):
    opened(page)
    result = page.run("realheads.moveOnMap")
    assert result == [
        [
            [[[16, 5], [16, 0]], "A"],
            [[[16, 6], [16, 0]], "A"],
            [[[16, 6], [17, 0]], "B"],
            [[[16, 6], [17, 0]], "B"],
        ],
        "slider", 0, "layer 16, head 6: no role",
    ]  # fmt: skip


def test_press_on_the_map_moves_a_head_there(page):
    opened(page)
    svg = page.tab.locator(".av-real-map").bounding_box()
    unit = svg["width"] / (26 + 20 * 30 + 14)

    def press_at(layer, head, modifiers=()):
        page.tab.locator(".av-real-map").click(
            position={
                "x": unit * (26 + 20 * layer + 4),
                "y": unit * (14 + 20 * (8 - head) + 16),
            },
            modifiers=modifiers,
            force=True,
        )
        page.do("await frame(); return null")
        return page.do("el.values.heads")

    assert press_at(18, 6) == [[18, 6], [16, 0]]
    assert press_at(11, 1, ["Shift"]) == [[18, 6], [11, 1]]
    # Where a head is, above the map and beside it nothing is pressed.
    assert press_at(11, 1) == [[18, 6], [11, 1]]
    assert press_at(-1, 4) == press_at(4, 9) == [[18, 6], [11, 1]]


def test_words_are_one_stop_and_each_shows_its_row(page):
    opened(page)
    word = page.tab.locator("[data-handle=w12]")
    word.click()
    page.do("await frame(); return null")
    assert page.do("el.values.query") == 12
    numbers = page.tab.locator(".av-real-number").all_text_contents()
    weights = np.array(page.do("el.values.weights"))[:, 12, :13]
    all_say(numbers, weights.ravel(), 2)
    named = page.run("realheads.pressWords")
    a, b = weights[:, 7]
    assert named == [f"lamps, at 7: A {a:.2f}, B {b:.2f}", "sold, at 13"]
    stops = page.do(
        '[...el.querySelectorAll("[data-handle^=w]")].map((w) => w.tabIndex)'
    )
    assert sorted(stops) == [-1] * 15 + [0]
    page.do("el.querySelector('[data-handle=w12]').focus(); return null")
    page.tab.keyboard.press("ArrowUp")
    page.tab.keyboard.press("Enter")
    page.do("await frame(); return null")
    assert page.do("el.values.query") == 11
    assert page.do("document.activeElement.dataset.handle") == "w11"


def test_press_switches_a_head_off_and_on_again(page):
    opened(page)
    result = page.run("realheads.switchHeads")
    stored = recorded("a repeat")
    whole = stored["next"][0][1]
    without = [
        stored["without"][9 * at + h][0][0] for at, h in ((17, 5), (16, 0))
    ]
    assert result == [
        ["A", "off", "false", without[0]],
        ["B", "off", "false", without[1]],
        ["no head", "on", "true", whole],
    ]


def test_text_is_loaded_when_it_is_asked_for(page, page_in_a_folder):
    tab, asked = page.tab, []

    def hear(request):
        asked.append(request.url.rpartition("/")[2])

    tab.on("request", hear)
    tab.set_viewport_size(PHONE)
    tab.goto(page_in_a_folder("realheads"))
    tab.wait_for_selector(".av-live")
    assert not [name for name in asked if name.startswith("heads-")]
    tab.locator("[name=text]").select_option("code")
    tab.wait_for_function(
        "document.querySelector('.av-figure').values.weights[0].length === 19"
    )
    assert [n for n in asked if n.startswith("heads-")] == ["heads-code.js"]
    seen = tab.evaluate("document.querySelector('.av-figure').values")
    state = state_of("realheads", text="code")
    assert_same(seen, expected(state))
    wide = "document.documentElement.scrollWidth"
    assert tab.evaluate(wide) <= PHONE["width"]
    tab.remove_listener("request", hear)
