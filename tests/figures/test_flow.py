"""A sentence through the word model: every number, and what made it."""

import base64
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from traitlets import TraitError

from course.figures import Flow, controls
from course.sentences import (
    WORD_MODEL,
    WORDS,
    token_ids_of,
    trained_words,
)
from helpers.softmax import softmax
from helpers.transformer import forward, rms_norm
from tests.empty_page import DESK, PHONE
from tests.figures.reading import (
    call,
    chance_says,
    depth,
    path_of,
    read,
    says,
    sentence,
    shade_shows,
    significant,
    style_of,
    tells,
    where,
)
from tests.figures.test_saturation import mulberry32

LONG = "the small dog slept by the fire because it was tired"
ATTENTION = ["query", "key", "value", "score", "weight", "mix", "attention"]
CASES = [
    {"text": "the", "step": "weight", "key": 0},
    {"text": "the", "step": "probability", "rank": 49},
    {"text": "The cat, SAT on the mat.", "step": "word"},
    {"text": LONG, "step": "score", "block": 1, "head": 1, "key": 3},
    {"text": LONG, "step": "weight", "block": 1, "key": 10, "word": 4},
    {"text": "milk the sea sat she", "step": "hidden", "number": 31},
    {"text": "milk the sea sat she", "step": "network", "block": 1},
    {"text": "the old king", "step": "logit", "rank": 7, "word": 1},
    *({"step": step, "block": 1, "head": 1, "number": 5}
      for step in ATTENTION),
    *({"step": f"{name} norm", "number": 15}
      for name in ("attention", "network", "last")),
    {"step": "embedding", "number": 3, "word": 1},
    {"text": "the king ate the bread", "step": "hidden", "block": 1},
    {"text": "the dog", "temperature": 2, "seed": 5, "rank": 9},
    {"text": "the dog ran", "temperature": 0.2, "rank": 2},
    {"text": "the small dog ran", "temperature": 0.2, "seed": 999},
    {"text": "the cat sat on the mat", "temperature": 1.3, "word": 2},
]  # fmt: skip
PARAMS = trained_words()
ROOT8 = np.sqrt(8)
WIDTHS = {"query": 8, "key": 8, "value": 8, "mix": 8, "hidden": 32}


def words_of(state):
    return re.sub("[.,]", " ", state["text"].lower()).split()


def fitted(state):
    """A random state with a random sentence."""
    rng = random.Random(json.dumps(state))
    words = [word for word in WORDS if word != "."]
    return state | {"text": " ".join(rng.choices(words, k=rng.randint(1, 11)))}


def place_of(state):
    T = len(words_of(state))
    i = min(state["word"], T - 1)
    c = min(state["number"], WIDTHS.get(state["step"], 16) - 1)
    return i, min(state["key"], i), state["block"], state["head"], c


def chances_after(state, logits):
    return softmax(np.array(logits) / state["temperature"])


def drawn_from(state, logits):
    """The number of the seed, and the word in whose part of 0 to 1 it is."""
    u = mulberry32(state["seed"], 1)[0]
    order = np.argsort(-logits, kind="stable")
    ends = np.cumsum(chances_after(state, logits)[order])
    return {"u": u, "id": int(order[np.searchsorted(ends, u, "right")])}


def run(state):
    """All that the model computes on the way, by the helpers."""
    tokens = token_ids_of(words_of(state))
    kept = forward(tokens, PARAMS, WORD_MODEL)
    attention, network = kept.layers[::2], kept.layers[1::2]
    return {
        "tokens": tokens,
        "kept": kept,
        "X": [layer.normed for layer in attention],
        "attended": [layer.normed for layer in network],
        "after": [attention[1].normed, kept.stream],
        "reread": [layer.read for layer in network],
        "heads": [layer.attended for layer in attention],
        "hidden": [
            np.maximum(layer.read @ PARAMS[f"{b}.W_1"], 0)
            for b, layer in enumerate(network)
        ],
        "final": rms_norm(kept.stream, PARAMS["norm.gain"]),
    }


def added_rows(net):
    """What attention and network of each block add, in turn, by products."""
    return [
        part
        for b, heads in enumerate(net["heads"])
        for part in (
            np.concatenate(heads.heads, axis=1) @ PARAMS[f"{b}.W_O"],
            net["hidden"][b] @ PARAMS[f"{b}.W_2"],
        )
    ]


def opened(state, net):
    """The parts of the opened number, their sum, and the number."""
    i, j, b, h, c = place_of(state)
    heads = net["heads"][b]
    Q, K, V = (x[h] for x in (heads.Q, heads.K, heads.V))
    scores = Q[i] @ K[: i + 1].T / ROOT8
    logits = net["kept"].logits[i]
    order = np.argsort(-logits, kind="stable")
    id_ = int(order[state["rank"]])
    merged = np.concatenate(heads.heads[:, i])
    column = h * 8 + c

    def normed(x, gain):
        return x * x, rms_norm(x, PARAMS[gain])[c]

    def projected(row, W, column, value):
        return row * PARAMS[W][:, column], value

    table, positions = PARAMS["embedding"], PARAMS["positions"]
    id_of = net["tokens"][i]
    hidden, reread = net["hidden"][b][i], net["reread"][b][i]
    attended = net["attended"][b][i]
    parts, value = {
        "word": lambda: ([], id_of),
        "embedding": lambda: (
            [table[id_of][c], positions[i][c]], net["X"][0][i][c]
        ),
        "attention norm": lambda: normed(
            net["X"][b][i], f"{b}.norm_1.gain"
        ),
        "network norm": lambda: normed(attended, f"{b}.norm_2.gain"),
        "last norm": lambda: normed(net["kept"].stream[i], "norm.gain"),
        "query": lambda: projected(heads.X[i], f"{b}.W_Q", column, Q[i][c]),
        "key": lambda: projected(heads.X[j], f"{b}.W_K", column, K[j][c]),
        "value": lambda: projected(heads.X[j], f"{b}.W_V", column, V[j][c]),
        "score": lambda: (Q[i] * K[j], scores[j]),
        "weight": lambda: (np.exp(scores), heads.weights[h][i][j]),
        "mix": lambda: (
            heads.weights[h][i][: i + 1] * V[: i + 1, c],
            heads.heads[h][i][c],
        ),
        "attention": lambda: projected(merged, f"{b}.W_O", c, attended[c]),
        "hidden": lambda: projected(
            reread, f"{b}.W_1", c, hidden[c]
        ),
        "network": lambda: projected(
            hidden, f"{b}.W_2", c, net["after"][b][i][c]
        ),
        "logit": lambda: (net["final"][i] * table[id_], logits[id_]),
        "probability": lambda: (
            np.exp(logits[order] / state["temperature"]),
            chances_after(state, logits)[id_],
        ),
    }[state["step"]]()  # fmt: skip
    parts = np.array(parts, float)
    total = parts.sum() if len(parts) else value
    return {"id": id_, "parts": parts, "total": total, "value": value}


def expected(state):
    net = run(state)
    i, _, _, h, _ = place_of(state)
    logits = net["kept"].logits
    return {
        "tokens": net["tokens"],
        "embedded": net["X"][0],
        "attended": net["attended"],
        "hidden": net["hidden"],
        "after": net["after"],
        "added": added_rows(net),
        "queries": [heads.Q[h] for heads in net["heads"]],
        "keys": [heads.K[h] for heads in net["heads"]],
        "values": [heads.V[h] for heads in net["heads"]],
        "weights": [heads.weights[h] for heads in net["heads"]],
        "mixed": [heads.heads[h] for heads in net["heads"]],
        "logits": logits,
        "chances": chances_after(state, logits[i]),
        "said": int(np.argmax(logits[-1])),
        "drawn": drawn_from(state, logits[-1]),
        "order": np.argsort(-logits[i], kind="stable"),
        "opened": opened(state, net),
    }


# --- the picture -------------------------------------------------------------


def row_of(name, state, expected, net):
    """The numbers that cells of a name show, as places in them are written."""
    i, _, b, h, _ = place_of(state)
    heads = net["heads"][b]
    entering = stage_of(state["step"]) == "attention"  # the row before it
    return {
        "embedding": lambda: net["X"][0][i],
        "attention-norm": lambda: heads.X[i],
        "query": lambda: heads.Q[h][i],
        "key": lambda: heads.K[h],
        "value": lambda: heads.V[h],
        "score": lambda: heads.Q[h][i] @ heads.K[h].T / ROOT8,
        "weight": lambda: heads.weights[h][i],
        "mix": lambda: heads.heads[h][i],
        "attention": lambda: net["attended"][b][i],
        "network-norm": lambda: net["reread"][b][i],
        "hidden": lambda: net["hidden"][b][i],
        "network": lambda: (
            [after[i] for after in net["after"]]
            if entering else net["after"][b][i]
        ),
        "last-norm": lambda: net["final"][i],
        "logit": lambda: net["kept"].logits[i][expected["order"]],
        "probability": lambda: expected["chances"][expected["order"]],
    }[name]()  # fmt: skip


def number_of(handle, *given):
    name, *places = re.fullmatch(r"(\D+)-(\d+)(?:-(\d+))?", handle).groups()
    x = row_of(name, *given)
    for place in places:
        x = x if place is None else x[int(place)]
    return x


def stage_of(step):
    if step == "attention norm" or step in ATTENTION:
        return "attention"
    others = {"hidden": "network", "network norm": "network"}
    others |= dict.fromkeys(["logit", "probability", "last norm"], "next")
    return others.get(step, step)


def shows(state, expected, shown):
    net = run(state)
    cells = shown.select(".av-within .av-num[data-handle]")
    assert cells or state["step"] == "word"
    for cell in cells:
        x = number_of(cell["data-handle"], state, expected, net)
        cell_says(cell, x)
        if cell.has_attr("style"):
            shade_shows(cell, np.clip(x / 3, -1, 1))
        bar = cell.find_next("i")
        if re.match("weight|probability", cell["data-handle"]):
            says(f"{style_of(bar, 'width'):g}", 100 * x, 1)
    opened_is_marked(state, shown)
    flow_shows(state, expected, shown, net)
    residual_shows(state, shown, net)
    all_queries_show(state, shown, net)
    if stage_of(state["step"]) == "next":
        listed_words_show(expected, shown)
        says(shown.select_one(".av-warming b").text, state["temperature"], 4)
        draw_shows(state, expected, shown, net)
    made_shows(state, expected, shown)
    way_shows(state, shown)
    sentence_tells(state, expected, sentence(shown), net)


def sentence_tells(state, expected, text, net):
    chances = chances_after(state, net["kept"].logits[-1])
    best, value = chances[expected["said"]], expected["opened"]["value"]
    shown_value = (value, 0 if state["step"] == "word" else 3)
    if bound_of(state["step"], value):
        sign, bound = bound_of(state["step"], value)
        shown_value = (bound, 3)
        word = {">": "above", "<": "below"}[sign]
        assert f": here {word} {bound:.3f}. " in text
    # Numerals of the explanations, which are the names of matrices, 0 and 8.
    fixed = {"score": [8], "hidden": [1, 0, 0], "network": [2]}
    t = state["temperature"]
    tells(
        text,
        *fixed.get(state["step"], []),
        *(shown_value, (0.99 if best >= 0.995 else best, 2)),
        *where(t != 1, (t, 4)),
    )
    likeliest = WORDS[expected["said"]]
    assert (f"“{likeliest}”" in text) == (likeliest != ".")
    # The next word is not that of the word which is followed.
    before = place_of(state)[0] < len(net["tokens"]) - 1
    assert ("After the last word, the " in text) == before


def opened_is_marked(state, shown):
    """The open number's cell is the marked one."""
    _, j, _, _, c = place_of(state)
    step, rank = state["step"], state["rank"]
    place = {"key": f"{j}-{c}", "value": f"{j}-{c}", "score": j, "weight": j}
    place |= {"logit": rank, "probability": rank}
    marked = [
        it["data-handle"] for it in shown.select(".av-num-on[data-handle]")
    ]
    handle = f"{step.replace(' ', '-')}-{place.get(step, c)}"
    assert marked == ([] if step == "word" else [handle])


def listed_words_show(expected, shown):
    """The words beside the numbers of their ranks."""
    ranks = [
        int(cell["data-handle"].partition("-")[2])
        for cell in shown.select(".av-within [data-handle^=logit]")
    ]
    listed = [b.text for b in shown.select(".av-listing > b")]
    assert listed == [WORDS[expected["order"][rank]] for rank in ranks]


def residual_shows(state, shown, net):
    """Three rows: before, what the part adds, and their sum."""
    part, stage = ["attention", "network"], stage_of(state["step"])
    lines = shown.select(".av-residual > .av-sixteen")
    assert len(lines) == 3 * (stage in part)
    if not lines:
        return
    i, _, b, *_ = place_of(state)
    whole = added_rows(net)[2 * b + part.index(stage)][i]
    before = (net["X"] if stage == "attention" else net["attended"])[b][i]
    for line, row in zip(lines, (before, whole, before + whole), strict=True):
        for cell, x in zip(line.select(".av-num"), row, strict=True):
            says(cell.text, x, 2)
            shade_shows(cell, np.clip(x / 3, -1, 1))


def all_queries_show(state, shown, net):
    """A row of weights for each query, and blank where a key comes later."""
    _, _, b, h, _ = place_of(state)
    lines = shown.select(".av-weighing[data-handle]")
    if state["step"] != "weight":
        assert not lines
        return
    weights, words = net["heads"][b].weights[h], words_of(state)
    heads = shown.select(".av-weighing > .av-over")
    assert [head.text for head in heads] == words
    assert [line.select_one(".av-label").text for line in lines] == words
    for k, (line, row) in enumerate(zip(lines, weights, strict=True)):
        _, *cells = line.find_all("span")
        assert [cell.text for cell in cells[k + 1 :]] == [""] * (
            len(words) - k - 1
        )
        for cell, x in zip(cells[: k + 1], row, strict=False):
            says(cell.text, x, 2)
            shade_shows(cell, x)


def cell_says(cell, x):
    likely = cell["data-handle"].startswith("probability")
    (chance_says if likely else lambda text, x: says(text, x, 2))(cell.text, x)


def bound_of(step, x):
    """A rounded share is neither 0 nor 1, but for a weight on one word."""
    if step == "probability" or (step == "weight" and x != 1):
        if x >= 0.9995:
            return ">", 0.999
        if x < 0.0005:
            return "<", 0.001
    return None


def draw_shows(state, expected, shown, net):
    """The line that the words share, and the number that falls on one."""
    i, *_ = place_of(state)
    line = shown.select_one(".av-draws")
    assert bool(line) == (i == len(net["tokens"]) - 1)
    result, chances = expected["drawn"], expected["chances"]
    ends = WORDS[result["id"]] == "."
    chip = shown.select_one("[data-handle=draw]").text
    assert chip == ("it ends here: draw again" if ends else "draw a word")
    if not line:
        return
    order = [k for k in expected["order"] if chances[k] >= 0.001]
    for piece, k in zip(line.select(".av-chance"), order, strict=True):
        says(f"{style_of(piece, 'width'):g}", 100 * chances[k], 1)
        assert ("av-chance-drawn" in piece["class"]) == (k == result["id"])
    says(f"{style_of(line.i, 'left'):g}", 100 * result["u"], 1)
    text = shown.select_one(".av-falls > span").text
    tells(text, (result["u"], 2), state["seed"])
    assert ("falls on the end of the sentence." in text) == ends
    assert (f"falls on “{WORDS[result['id']]}”, " in text) != ends


def flow_shows(state, expected, shown, net):
    """The flow: words, rows of all words, weights, and what comes next."""
    i, _, _, h, _ = place_of(state)
    T, words = len(net["tokens"]), words_of(state)
    followed = shown.select_one(".av-word-on").text
    assert [w.text for w in shown.select(".av-word")] == words
    assert followed == words[i]
    rows = [
        net["X"][0],
        *np.stack([net["attended"], net["after"]], 1).reshape(4, T, 16),
    ]
    for svg, row in zip(shown.select(".av-strip"), rows, strict=True):
        strip_shows(svg, row)
    maps = shown.select(".av-ribbons[role=img]")
    for block, (svg, heads) in enumerate(zip(maps, net["heads"], strict=True)):
        weights = heads.weights[h]
        own, others = (
            {(end, start): width for start, end, width in ribbons(svg, kind)}
            for kind in (".av-ribbon-own", ".av-ribbon-other")
        )
        assert sorted(own) == [(i, k) for k in range(i + 1)]
        strong = [(q, k) for q, k in np.argwhere(weights >= 0.1) if q != i]
        assert sorted(others) == sorted(strong)
        for pair, width in (own | others).items():
            says(width, max(15 * weights[pair], 0.6), 2)
        most = int(weights[i].argmax())
        label = svg["aria-label"]
        tells(label, block, h, most, (weights[i][most], 2))
        assert f": {words[i]} looks most at {words[most]}," in label
    chances, order = expected["chances"], expected["order"]
    fan = ribbons(shown.select_one(".av-fan"), "path")
    options = shown.select(".av-candidate")
    for rank, (option, ribbon) in enumerate(zip(options, fan, strict=True)):
        p = chances[order[rank]]
        assert ribbon[:2] == (i, rank)
        says(ribbon[2], max(15 * p, 0.6), 2)
        says(f"{style_of(option.i, 'width'):g}", 100 * p, 1)
        assert option.b.text == WORDS[order[rank]]
        percent_shows(option.text, p)
    assert len(options) == 5
    last = chances_after(state, net["kept"].logits[-1])
    best = np.argsort(-net["kept"].logits[-1], kind="stable")[:3]
    best = [k for n, k in enumerate(best) if n == 0 or last[k] >= 0.01]
    chips = shown.select(
        ".av-writing .av-chip:not(.av-chip-plain, .av-chip-draw)"
    )
    for chip, id_ in zip(chips, best, strict=True):
        percent_shows(chip.text, last[id_])
        if WORDS[id_] != ".":
            assert chip.text.startswith(f"+ {WORDS[id_]} ")


IN_BLOCK = [
    "attention norm", "query", "key", "score", "weight", "value", "mix",
    "attention", "network norm", "hidden", "network",
]  # fmt: skip
WHOLE_WAY = [
    ("word", None), ("embedding", None),
    *((step, block) for block in (0, 1) for step in IN_BLOCK),
    ("last norm", None), ("logit", None), ("probability", None),
]  # fmt: skip
WAY = [
    *WHOLE_WAY[:4], ("score", 0), ("weight", 0), ("mix", 0),
    ("attention", 0), ("hidden", 0), ("network", 0), ("weight", 1),
    ("logit", None), ("probability", None),
]  # fmt: skip


def stop_of(state):
    """The step of a state and, where it has one, its block."""
    block = state["block"] if state["step"] in IN_BLOCK else None
    return state["step"], block


def way_shows(state, shown):
    """How many stops of the way are passed, and to which the arrows lead."""
    here = stop_of(state)
    far = WHOLE_WAY.index(here)
    passed = sum(WHOLE_WAY.index(stop) <= far for stop in WAY)
    back, at, on = (it.text for it in shown.select(".av-along > span"))
    assert on == f"{passed % 13 + 1} →"
    if here in WAY:
        assert at == f"step {passed} of 13"
        assert back == f"← {passed - 1 or 13}"
    else:
        assert at == f"between {passed} and {passed + 1}"
        assert back == f"← {passed}"


def percent_shows(text, p):
    sign, number = re.search(r"([<>]?)(\d+)%", text).groups()
    if sign:
        assert int(number) == {"<": 1, ">": 99}[sign]
        assert p < 0.005 if sign == "<" else p >= 0.995
    else:
        assert abs(int(number) - 100 * p) <= 0.5000001


def ribbons(svg, kind):
    """From which row each ribbon leads to which, and how wide it is."""
    result = []
    for path in svg.select(kind):
        _, y, *_, y2 = path_of(path)
        rows = [(v - 12) / 24 for v in (y, y2)]
        assert all(row == int(row) for row in rows)
        result.append((*map(int, rows), path["stroke-width"]))
    return result


def strip_shows(svg, rows):
    seen = np.full(rows.shape, np.nan)
    for path in svg.select("path"):
        for c, y in re.findall(r"M(\d+) ([\d.]+)h1v0.6h-1z", path["d"]):
            seen[int(float(y)), int(c)] = depth(path["fill"])
    assert abs(seen - np.clip(rows / 3, -1, 1)).max() < 0.5 / 24 + 0.01


def made_shows(state, expected, shown):
    """The terms of the opened number, their sum, and what becomes of it."""
    opened_, step = expected["opened"], state["step"]
    cards = [card.find_all("b")[-1].text for card in shown.select(".av-term")]
    parts = opened_["parts"]
    if step == "probability":
        ranks = [*range(5), *([state["rank"]] if state["rank"] > 4 else [])]
        parts = [*parts[ranks], np.delete(parts, ranks).sum()]
        divisors = [card.find_all("i")[-1].text for card in
                    shown.select(".av-term:has(.av-num)")]  # fmt: skip
        t = state["temperature"]
        for text in divisors:
            assert text.startswith("÷ ") == (t != 1)
            assert t == 1 or read(text[2:]) == t
    digits = 2 if step in ("embedding", "weight", "probability") else 3
    for text, x in zip(cards, parts, strict=True):
        says_short(text, x, digits)
    if step == "word":
        assert not shown.select(".av-worked-end")
        return
    end = shown.select_one(".av-worked-end")
    total, value = opened_["total"], opened_["value"]
    numbers = [b.text for b in end.find_all("b", recursive=False)]
    says_short(numbers[0], total, 3)
    bound = bound_of(step, value)
    if bound:
        assert end.text.endswith(f" ÷ sum {bound[0]} {bound[1]:.3f}")
    else:
        says(numbers[-1], value, 3)
    for sign, number in re.findall(r"([=≈]) (−?[\d,]+\.\d+)", end.text):
        near = [x for x in (total, value) if abs(x - read(number)) < 6e-4]
        exact = any(abs(x - read(number)) < 1e-9 for x in near)
        assert not near or (sign == "=") == exact, end.text


def says_short(text, x, digits):
    """Large numbers have no decimals, and very large ones five digits."""
    if abs(x) >= 1e6:
        assert re.fullmatch(r"\d\.\d{4}e\d+", text)
        significant(x, 5)(text)
    else:
        says(text, x, digits if abs(x) < 1000 else 0)


# --- each number leads to what made it ---------------------------------------


def presses(state):
    """The settings that a press on each part of the picture gives."""
    result = Flow(**state)._call("handles")
    return {handle["id"]: handle.get("presses") for handle in result}


def value_after(state, settings):
    return Flow(**(state | settings)).values["opened"]["value"]


STEPS = next(c["options"] for c in controls("flow") if c["key"] == "step")


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("step", STEPS[1:])
def test_flow_factors_lead_to_the_numbers_that_they_are(look, step, block):
    """Each computed factor opens, and what it opens has its value."""
    state = {"text": LONG, "step": step, "block": block, "head": 1}
    state |= {"key": 2, "number": 5, "word": 8, "rank": 3, "temperature": 0.5}
    _, expected, shown = look("flow", state)
    parts = expected["opened"]["parts"]
    led = presses(state)
    factors = {cell["data-handle"]: read(cell.text) for cell in
               shown.select(".av-worked .av-num[data-handle]")}  # fmt: skip
    assert all(handle in led for handle in factors)
    values = {handle: value_after(state, led[handle]) for handle in factors}
    for handle, x in values.items():
        says(f"{factors[handle]:.2f}", x, 2)
    for m, card in enumerate(shown.select(".av-term")[: len(parts)]):
        numbers = card.select(".av-num")
        if not numbers:  # the words that are not listed
            break
        # What is learned leads no further: it is stored with two decimals.
        a, *b = (
            values[n["data-handle"]]
            if n.has_attr("data-handle")
            else read(n.text)
            for n in numbers
        )
        if step in ("weight", "probability"):
            part = np.exp(a / (0.5 if step == "probability" else 1))
        elif step.endswith("norm"):
            part = a * a
        else:
            part = a * b[0] if b else a
        assert abs(part - parts[m]) < 1e-9 * max(1, abs(part))
    if step in ("attention", "network"):
        total = expected["opened"]["total"] + values["from-x"]
        assert abs(total - expected["opened"]["value"]) < 1e-9


def test_flow_way_leads_to_the_probability_and_back():
    """Each number of the way is used further on, and the way back is it."""
    state = {"text": LONG, "step": "probability", "word": 8, "head": 0}
    state |= {"block": 0, "key": 3, "number": 2, "rank": 5}
    there = []
    for _ in WAY:
        state |= presses(state)["way-on"]
        there.append(dict(state))
    assert [stop_of(stop) for stop in there] == WAY
    back = [there[-1]]
    for _ in WAY[1:]:
        back.append(back[-1] | presses(back[-1])["way-back"])
    assert back[::-1] == there
    weights = [heads.weights[0][8] for heads in run(state)["heads"]]
    for stop in there[4:6] + there[10:11]:
        assert stop["key"] == np.argmax(weights[stop["block"]])
    aside = state | {"step": "value", "block": 0}
    assert presses(aside)["way-on"]["step"] == "mix"
    assert presses(aside)["way-back"]["step"] == "weight"


def test_flow_grows_by_a_press_and_shrinks():
    state = {"text": "the queen drank the", "step": "score", "word": 1}
    led = presses(state)
    best = WORDS[Flow(**state).values["said"]]
    assert led["add-0"]["text"] == f"the queen drank the {best}"
    assert Flow(**(state | led["add-0"])).word == 10, (
        "the new word is followed"
    )
    assert led["less"]["text"] == "the queen drank"
    assert presses({"text": "the"})["less"]["text"] == "the", "one word stays"
    assert (
        presses({"text": "the", "step": "word"})["know-4"]["text"] == "the cat"
    )
    texts = ["the"]
    while texts[-1] not in texts[:-1]:
        texts.append(presses({"text": texts[-1]})["other"]["text"])
    assert len(texts) > 5
    ends = presses({"text": "the king ate the bread because he was hungry"})
    assert "add-0" not in ends, "the sentence is complete"


def test_flow_draws_as_often_as_the_probabilities_say():
    """All seeds, and a sentence that may end."""
    for text, t in (("the dog", 1), ("the dog", 0.4), ("the cat sat", 2)):
        state = {"text": text, "temperature": t}
        logits = run(state)["kept"].logits[-1]
        result = [
            call("drawnIn", state | {"seed": k}, of="flow")["id"]
            for k in range(1000)
        ]
        share = np.bincount(result, minlength=len(WORDS)) / 1000
        chances = chances_after(state, logits)
        noise = np.sqrt(chances * (1 - chances) / 1000)
        assert (abs(share - chances) <= 4 * noise + 1e-3).all(), (text, t)
        assert abs(share.sum() - 1) < 1e-12


def test_flow_adds_the_word_that_it_draws():
    state = {"text": "the dog", "temperature": 2, "step": "weight"}
    words = set()
    for seed in (0, 1, 2, 3, 999):
        state["seed"] = seed
        word = WORDS[Flow(**state).values["drawn"]["id"]]
        led = presses(state)["draw"]
        assert led["text"] == f"the dog {word}"
        assert led["seed"] == (seed + 1) % 1000
        assert Flow(**(state | led)).word == 10, "the new word is followed"
        words.add(word)
    assert len(words) > 1
    state |= {"text": "the king ate the bread because he was hungry"}
    assert presses(state | {"temperature": 0.2})["draw"] == {"seed": 0}, (
        "the end adds no word"
    )
    assert presses({"seed": 4, "step": "logit"})["seed"] == {"seed": 5}
    assert "seed" not in presses({"step": "weight"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "the zebra sat",
            "of the 49 words that the model knows; got “zebra”",
        ),
        (
            ". , .",
            "your sentence must have 1 to 11 words; got 0 (setting text)",
        ),
        ("the, " * 11 + "cat!", "each; got 12 words (setting text)"),
        (
            "the " * 25,
            "must be 1 to 11 words of at most 24 letters each; got 25",
        ),
        ("the,cat " * 6, "must have 1 to 11 words; got 12"),
    ],
)
def test_flow_refuses_in_words(text, message):
    with pytest.raises(TraitError, match=re.escape(message)):
        Flow(text=text.strip())


# --- on a page ---------------------------------------------------------------


def test_flow_replaces_a_word_that_it_does_not_know(page):
    page.open("flow")
    message, shown, offered, text, after, words = page.run("flow.replaceWord")
    assert "words that the model knows; got “qeen”" in message
    assert shown == Flow().text, "the last sentence that fits stays"
    assert offered[0] == "queen"
    assert len(offered) == 4
    assert (text, after, words) == ("the queen drank", "", text.split())


FONTS = Path("book/_static/fonts")


@pytest.mark.parametrize("width", [342, 420, 540, 600, 684, 780, 860])
def test_flow_numbers_fit_their_cells(page, width):
    """In the type of the site, at every width of a card."""
    faces = [
        "@font-face { font-family: Site; font-weight: "
        f"{weight}; src: url(data:font/woff2;base64,"
        + base64.b64encode(
            (FONTS / f"atkinson-hyperlegible-next-{name}.woff2").read_bytes()
        ).decode()
        + ") }"
        for name, weight in (("regular", 400), ("semibold", "500 700"))
    ]
    style = f"<style>{''.join(faces)}</style>"
    page.tab.set_viewport_size(PHONE if width < 400 else DESK)
    page.open("flow", step="weight", static=True)
    fits = page.run("flow.numbersFit", style, width)
    assert len(fits) > 100
    assert all(fits)


def test_flow_is_pressed_by_keys_and_goes_back(page):
    page.open("flow", text="the queen drank the", step="weight", key=1)
    texts, steps, focused, ended = page.run("flow.pressAndGoBack")
    best = WORDS[Flow(text="the queen drank the").values["said"]]
    grown = f"the queen drank the {best}"
    start = "the queen drank the"
    assert texts == [start, grown, grown, grown, grown, grown, start]
    assert [step for step, _, _ in steps] == [
        "weight", "weight", "score", "key", "score", "weight", "weight",
    ]  # fmt: skip
    assert [off for _, _, off in steps] == [True, *[False] * 5, True]
    assert focused == "key-1-0", "of a factor that is gone, to its number"
    assert ended == "the queen drank"


def test_flow_temperature_is_dragged_and_a_word_is_drawn(page):
    """By a finger and by keys; the address of a draw gives the same word."""
    page.tab.set_viewport_size(PHONE)
    page.tab.emulate_media(reduced_motion="reduce")
    page.open("flow", text="the dog", step="logit", seed=5, static=True)
    shares, states, message = page.run("flow.dragTemperature")
    assert len({t for t, _ in shares}) == 4
    assert shares[1][0] < 1
    assert shares[2][0] == pytest.approx(shares[1][0] + 0.1)
    assert shares[3][0] == pytest.approx(shares[2][0] + 1)
    for t, width in shares:
        state = {"text": "the dog", "temperature": t}
        chances = chances_after(state, run(state)["kept"].logits[-1])
        says(f"{read(width[:-1]):.1f}", 100 * chances.max(), 1)
    assert message[:2] == [44, 44]
    assert read(message[2]) == pytest.approx(shares[3][0])
    assert message[3:] == [f"temperature {shares[3][0]:g}", "slider"]
    text = "the dog"
    for seed, state in enumerate(states, 5):
        before = {"text": text, "seed": seed, "temperature": shares[3][0]}
        drawn = drawn_from(before, run(before)["kept"].logits[-1])
        text = f"{text} {WORDS[drawn['id']]}".removesuffix(" .")
        assert [state["text"], state["seed"]] == [text, seed + 1]


def test_flow_way_goes_by_keys_and_keeps_the_focus(page):
    page.open("flow", static=True)
    stops, focused = page.run("flow.goTheWay")
    assert [step for step, _ in stops] == [
        step for step, _ in [*WAY[1:], WAY[0]]
    ]
    assert [re.search(r"step (\d+) of 13", text)[1] for _, text in stops] == [
        str(k % 13 + 1) for k in range(1, 14)
    ]
    assert focused == "way-on"


def test_flow_new_word_runs_through_and_all_numbers_stand_at_once(page):
    """Within 1.5 s, and only where a word was added."""
    page.tab.emulate_media(reduced_motion="no-preference")
    page.open("flow", text="the queen drank the", static=True)
    seen, moving, ends, after, others = page.run("flow.addWord")
    assert seen == [True, 5, True]
    assert sum("av-strip" in name for name in moving) == 5
    assert sum("av-word" in name for name in moving) == 1, "the new word"
    assert max(ends) <= 1400
    assert after == [False, 0]
    assert others[:5] == [False, False, True, False, False]
    assert others[5:] == [False, False], "other words, though one more"


def test_flow_new_word_stands_where_no_motion_is_wanted(page):
    page.tab.emulate_media(reduced_motion="reduce")
    page.open("flow", text="the queen drank the", static=True)
    words, moving = page.run("flow.addWordAtRest")
    assert words == 5
    assert moving == [False, []]


def test_flow_names_what_may_come_next_in_whole_words(page):
    """On a phone the longest of them were cut."""
    page.tab.set_viewport_size(PHONE)
    page.open("flow", text="the small dog slept by the fire", static=True)
    texts, cut = page.run("flow.nextWords")
    assert texts[0].startswith("because ")
    assert not cut


def test_flow_link_of_the_page_leads_to_a_state(page):
    page.open("flow", static=True)
    at, first, other, back = page.run("flow.followLink")
    assert at == "?flow.text=the+old+king&flow.step=mix&flow.block=0"
    assert first == ["the old king", "mix", 0]
    assert other == ["the old king", "key", 0], "another tab is the browser's"
    assert back == 3


def test_flow_brings_each_source_into_sight(page):
    """On a phone the query is out of sight where the last keys are read."""
    page.tab.set_viewport_size(PHONE)
    page.open("flow", text=LONG, step="score", key=10, static=True)
    seen, still = page.run("flow.seekSources")
    assert still, "the page does not move"
    assert seen[0] == [False, False]
    assert seen[1][0], "first the query"
    assert any(key for _, key in seen[1:]), "then the key"


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_flow_keeps_its_height_and_its_arrow_at_every_step(page, size):
    """And the opened number is in the window of its stage."""
    page.tab.set_viewport_size(size)
    page.tab.emulate_media(reduced_motion="reduce")
    page.open("flow", text=LONG, static=True)
    stops, wide = page.run("flow.keepsItsPlace")
    places = np.array([stop[1:3] for stop in stops])
    assert np.ptp(places, axis=0).max() < 1
    assert all(stop[3] for stop in stops)
    assert wide <= size["width"]


def test_flow_has_room_for_a_finger(page):
    """On a phone 44 pixels, or 24 in a grid, and none covers another."""
    page.tab.set_viewport_size(PHONE)
    page.tab.emulate_media(reduced_motion="reduce")
    page.open("flow", text=LONG, static=True)
    result = page.run("flow.targetsOfSteps", STEPS)
    assert len({step for step, *_ in result}) == len(STEPS)
    for step, small, covered, number in result:
        assert number > 50, step
        assert small == [], step
        assert covered == [], step


@pytest.mark.parametrize("step", ["embedding", "score", "hidden", "logit"])
def test_flow_fields_reach_what_a_small_cell_opens(page, step):
    """Each press on a small part is a choice of the fields as well."""
    page.tab.set_viewport_size(PHONE)
    start = {"text": LONG, "step": step, "block": 1, "word": 6, "key": 2}
    page.tab.emulate_media(reduced_motion="reduce")
    page.open("flow", **start, static=True)
    pairs = page.run("flow.openByFields")
    assert len(pairs) > 1
    assert len({expected for _, expected, _ in pairs}) > 1
    for name, expected, result in pairs:
        assert result == expected, name
