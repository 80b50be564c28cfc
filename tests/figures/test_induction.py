"""The trained induction model: what its heads attend to, and what it says."""

import functools
import re

import numpy as np

from course.evidence import stored, trained_induction
from helpers.softmax import softmax
from helpers.training import (
    INDUCTION,
    accuracy,
    induction_batch,
    induction_score,
    previous_token_score,
)
from helpers.transformer import forward
from tests.figures.reading import (
    all_say,
    call,
    captions,
    path_of,
    says,
    sentence,
    tells,
    verdict,
    where,
)

LETTERS = "ABCDEFGHIJKL"
HEADS = [f"head_{i}_{h}" for i in (0, 1) for h in (0, 1)]
CASES = [
    {"symbols": "A"},
    {"symbols": "AA"},
    {"symbols": "LL", "query": 0, "step": 0},
    {"symbols": "FLICKED" * 4 + "FLIC", "query": 20, "step": 100},
    {"symbols": "ABCDEFABCDEF", "query": 3, "head_0_0": False, "step": 300},
    {"symbols": "ABCDEFABCDEF", "query": 5, "step": 300},
    *({"symbols": "CAKEDCAKED", "step": n} for n in (20, 40, 60, 80, 150)),
    *({key: False, "step": 300} for key in HEADS),
    dict.fromkeys(HEADS, False) | {"step": 300},
]


@functools.cache
def trained(step):
    """The weights of a step as they are stored, and how they fare."""
    checkpoints = stored("induction-steps")["checkpoints"]
    accuracy = {c["step"]: c["accuracy"] for c in checkpoints}
    return trained_induction(None if step == 300 else step), accuracy[step]


def scores(score, *arguments):
    """A score of both heads; None where no position counts."""
    try:
        return score(*arguments).tolist()
    except ValueError:
        return [None, None]


def role(values, key):
    """What a head is called, where it does it often and more than evenly."""
    i, h = (int(n) for n in re.findall(r"\d", key))
    names = {"followed": "induction head", "previous": "previous-token head"}
    for score, name in names.items():
        x, even = values[score][i][h], values["evenly"][score]
        if x is not None and x >= 0.4 and x >= 2 * even:
            return name
    return ""


def carried(weights, symbols, query):
    """Whether a head reads the query's symbol just before each key.

    It has at least 0.4 and twice an even weight there, or 0.9.
    """
    found = np.zeros(len(symbols), bool)
    for key in range(1, query):
        w, even = weights[key, key - 1], 1 / (key + 1)
        much = (w >= 0.4 and w >= 2 * even) or w >= 0.9
        found[key] = much and symbols[key - 1] == symbols[query]
    return found


def expected(state):
    """What the trained model says, and what follows from the symbols."""
    symbols = state["symbols"]
    query = min(state["query"], len(symbols) - 1)
    params, right = trained(state["step"])
    heads = [[state[f"head_{i}_{h}"] for h in (0, 1)] for i in (0, 1)]
    tokens = [LETTERS.index(symbol) for symbol in symbols]
    kept = forward(tokens, params, INDUCTION, heads=np.array(heads, float))
    said = kept.logits.argmax(axis=-1)
    weights = [layer.attended.weights for layer in kept.layers]
    T = len(tokens)
    even = np.tril(np.ones((1, T, T))) / np.arange(1, T + 1)[:, None]
    answers = {
        i: tokens[symbols.rindex(symbol, 0, i) + 1]
        for i, symbol in enumerate(symbols)
        if symbol in symbols[:i]
    }
    return {
        "logits": kept.logits,
        "weights": weights,
        "carried": [
            on * carried(w, symbols, query)
            for w, on in zip(weights[0], heads[0], strict=True)
        ],
        "previous": [scores(previous_token_score, w) for w in weights],
        "followed": [scores(induction_score, w, tokens) for w in weights],
        "evenly": {
            "previous": scores(previous_token_score, even)[0],
            "followed": scores(induction_score, even, tokens)[0],
        },
        "chances": softmax(kept.logits[query]),
        "query": query,
        "said": said[query],
        "answer": answers.get(query),
        "counted": len(answers),
        "right": sum(said[i] == answer for i, answer in answers.items()),
        "accuracy": right,
    }


def shows(state, expected, shown):
    query, T = expected["query"], len(state["symbols"])
    weights = [w for layer in expected["weights"] for w in layer]
    panels = shown.select(".av-head")
    for panel, w, key in zip(panels, weights, HEADS, strict=True):
        assert ("av-off" in panel["class"]) == (not state[key])
        seen = {}
        for path in panel.select(".av-arc-picked"):
            found, level = arcs(path)
            assert level
            assert {i for i, _ in found} == {query}
            thin = "av-thin" in path["class"]
            width = path["stroke-width"]
            seen |= {j: (None if thin else width) for _, j in found}
            assert not thin or width == "0.5"
        assert sorted(seen) == list(range(query + 1))
        for j, width in seen.items():
            assert (width is None) == (w[query][j] < 0.02)
            says(width or "0", 6 * w[query][j] if width else 0, 2)
        faint = np.zeros((T, T))
        for path in panel.select(".av-arc"):
            for i, j in arcs(path)[0]:
                faint[i, j] = float(path["stroke-width"]) / 6
        near = np.where(w >= 0.1, w, 0)
        near[query] = 0
        assert abs(faint - near).max() <= 0.0501
        assert ((faint > 0) == (near > 0)).all()
        numbers = panel.select(".av-weight")
        keys = [j for j in range(T) if w[query][j] >= 0.1]
        assert [float(t["x"]) / 20 - 0.5 for t in numbers] == keys
        all_say([t.text for t in numbers], w[query][keys], 2)
        assert panel.select_one("text").text == state["symbols"]
        room = panel.select_one(".av-arcs")["viewbox"].split()[2]
        assert float(room) == 20 * max(T, 12), "few letters do not grow"
        assert marks(panel, 20) == [query]
        before_show(state, query, panel)
        links_show(expected, HEADS.index(key), w, panel)
    bars = [
        re.fullmatch(r"M(\S+) (\S+)h18v(\S+)h-18z", path["d"]).groups()
        for path in shown.select(".av-guess")
    ]
    for (_, top, height), x in zip(bars, expected["chances"], strict=True):
        says(height, 80 * x, 1)
        assert abs(float(top) + float(height) - 96) < 1e-9, "stands on a line"
    (said,) = shown.select(".av-said")
    assert shown.select(".av-guess").index(said) == expected["said"]
    answers = [expected["answer"]] * (expected["answer"] is not None)
    assert marks(shown.select_one(".av-next"), 24) == answers
    above, below = shown.select(".av-heads")
    assert len(above.select(".av-head")) == 4
    shown_next, shown_steps = below.select("svg")
    assert shown_next["class"] == ["av-next"]
    steps_show(state, shown_steps)
    tells_of(state, expected, shown)


def before_show(state, query, panel):
    """Where the symbol was read before is underlined, and what followed."""
    symbols = state["symbols"]
    wanted = [i for i in range(query) if symbols[i] == symbols[query]]
    boxes = [float(r["x"]) for r in panel.select(".av-follows")]
    assert [(x + 8) / 20 - 1.5 for x in boxes] == wanted
    lines = [path_of(p) for p in panel.select(".av-read-before")]
    assert [(start + 6) / 20 - 0.5 for start, *_ in lines] == wanted
    assert all(end - start == 32 for start, _, end in lines)


def kept_for(expected, k):
    """The keys that have the query's symbol from block 0, for a head."""
    first, second = (np.array(keys, bool) for keys in expected["carried"])
    kept = [first, second, first | second, first | second][k]
    return np.flatnonzero(kept).tolist()


def links_show(expected, k, w, panel):
    """Where block 0 carries the query's symbol, and where block 1 has it."""
    kept, query = kept_for(expected, k), expected["query"]
    tags = panel.select_one(".av-tags")
    assert tags.text == panel.select_one("text").text[query] * len(kept)
    at = [float(t["x"]) / 20 - 0.5 for t in tags.select("text")]
    assert at == kept
    boxes = [(float(r["x"]) + 8) / 20 - 0.5 for r in tags.select("rect")]
    assert boxes == kept + [query] * (k > 1 and bool(kept))
    links = panel.select(".av-handed")
    if k > 1:
        assert not links
        return
    drawn = [arcs(path)[0] for path in links]
    assert drawn == [[[key, key - 1]] for key in kept]
    widths = [path["stroke-width"] for path in links]
    all_say(widths, [6 * w[key][key - 1] for key in kept], 2)


def steps_show(state, svg):
    """The stored accuracies, and a mark where the slider stands."""
    checkpoints = stored("induction-steps")["checkpoints"]
    curve, mark = (
        np.array([[float(x) for x in p.split()] for p in d[1:].split("L")])
        for d in (line["d"] for line in svg.select(".av-line"))
    )
    steps = [c["step"] for c in checkpoints]
    rights = [c["accuracy"] for c in checkpoints]
    for places, numbers in zip(curve.T, (steps, rights), strict=True):
        slope, zero = np.polyfit(numbers, places, 1)
        np.testing.assert_allclose(
            zero + slope * np.array(numbers), places, atol=0.1
        )
    assert np.polyfit(rights, curve[:, 1], 1)[0] < -50, "more is higher"
    np.testing.assert_allclose(
        mark[:, 0], curve[steps.index(state["step"]), 0]
    )


def chance(x):
    """What judges a probability in words: "above 0.99" or "of 0.42"."""
    return (0.99, 2) if x >= 0.995 else (x, 2)


def tells_of(state, expected, shown):
    """Captions of heads and the sentence."""
    query, said, answer, counted = (
        expected[k] for k in ("query", "said", "answer", "counted")
    )
    symbols, chances = state["symbols"], expected["chances"]
    weights = [w for layer in expected["weights"] for w in layer]
    heads = [c for c in captions(shown) if c.startswith("Block")]
    for k, (text, w) in enumerate(zip(heads, weights, strict=True)):
        key = int(np.argmax(w[query]))
        kept = kept_for(expected, k)
        tells(text, k // 2, k % 2, key, (w[query][key], 2), *kept)
        verdict(
            text,
            is_carried_to=k < 2 and kept,
            is_stored_at=k > 1 and kept,
        )
        assert f" {symbols[key]} " in text
        named = role(expected, HEADS[k])
        roles = ("previous-token head", "induction head")
        verdict(
            text, off=not state[HEADS[k]], **{r: r == named for r in roles}
        )
    (guess,) = [c for c in captions(shown) if c.startswith("The next")]
    tells(guess, chance(chances[said]))
    verdict(guess, above=chances[said] >= 0.995, followed=answer is not None)
    letters = re.findall(r"\b[A-L]\b", guess)
    assert letters == [LETTERS[k] for k in (said, answer) if k is not None]
    course = shown.select_one(".av-course").text
    tells(
        course,
        *where(state["step"], state["step"]),
        (100 * expected["accuracy"], 1),
    )
    off = [key for key in HEADS if not state[key]]
    verdict(
        course,
        untrained=not state["step"],
        all_heads_on=off,
    )
    verdict(
        shown.select_one(".av-arc-keys").text,
        what_followed=symbols[query] in symbols[:query],
        for_block_1=np.any(expected["carried"]),
    )
    seen = [p.text for p in shown.select(".av-head .av-caption")]
    for k, (text, w) in enumerate(zip(seen, weights, strict=True)):
        row, key = w[query], int(np.argmax(w[query]))
        level = row[key] * (query + 1) < 2
        after = key > 0 and key <= query and symbols[key - 1] == symbols[query]
        kept = kept_for(expected, k)
        writes = k < 2 and bool(kept)
        finds = k > 1 and key in kept and not level
        told = not (level or writes or finds)
        verdict(
            text,
            no_letter_stands_out=level and not writes,
            carries=writes,
            finds=finds,
            what_followed=after and told,
            the_letter_before=key == query - 1 and not after and told,
            itself=key == query and not after and told,
        )
    numbers = [int(n) for key in off for n in re.findall(r"\d", key)]
    text = sentence(shown)
    right = where(counted, expected["right"], counted)
    tells(
        text,
        *(*numbers, query, chance(chances[said]), *right),
        *((100 * expected["accuracy"], 1), state["step"]),
    )
    verdict(
        text,
        above=chances[said] >= 0.995,
        not_read_before=answer is None,
        **{": right": answer == said, ": wrong": answer not in (None, said)},
    )
    told = [symbols[query], LETTERS[said]]
    told += [symbols[query]] * (answer is None)
    told += [LETTERS[answer], symbols[query]] if answer is not None else []
    assert re.findall(r"\b[A-L]\b", text) == told


def marks(svg, width):
    """The places of the symbols that are underlined."""
    places = [
        (float(re.match(r"M(\S+) ", path["d"])[1]) + 6) / width - 0.5
        for path in svg.select(".av-mark")
    ]
    letters = svg.select(":not(.av-tags) > text:not([class])")
    (across,) = [[float(x) for x in t["x"].split()] for t in letters]
    assert across == [width * (k + 0.5) for k in range(len(across))]
    assert len(letters[0].text) == len(across)
    return places


def arcs(path):
    """The query and the key of each arc, and whether they stand level."""
    found, level = [], set()
    for x, y, rx, _, x2, y2 in re.findall(
        r"M(\S+) (\S+?)A(\S+) (\S+) 0 [01] 1 (\S+) ([\d.]+)", path["d"]
    ):
        key, query = float(x) / 20 - 0.5, float(x2) / 20 - 0.5
        if rx == "4":  # a loop ends four to the left and to the right
            key, query = key + 0.2, query - 0.2
        found.append([round(query), round(key)])
        assert abs(found[-1][0] - query) + abs(found[-1][1] - key) < 1e-9
        level |= {y, y2}
    return found, len(level) == 1


def test_stored_previous_is_what_the_model_misses_most():
    batch = induction_batch(np.random.default_rng(0), (200,))
    params = trained_induction()
    right, previous = {}, {}
    for i, h in np.ndindex(2, 2):
        on = np.ones((2, 2))
        on[i, h] = 0
        kept = forward(batch.tokens, params, INDUCTION, heads=on)
        right[f"head_{i}_{h}"] = accuracy(kept.logits, batch)
        weights = kept.layers[i].attended.weights
        previous[f"head_{i}_{h}"] = previous_token_score(weights)[h]
    missed = call("() => STORED_PREVIOUS", of="induction")
    assert missed == min(right, key=right.get)
    # It is one of the two that look at the token before.
    assert missed in sorted(previous, key=previous.get)[-2:]


def test_block_1_finds_keys_by_what_block_0_carries_to_them():
    """Without the heads that carry the query's symbol, block 1 misses it."""
    batch = induction_batch(np.random.default_rng(0), (60,), T=14)
    symbols = ["".join(LETTERS[k] for k in row) for row in batch.tokens]
    found, lost = [], []
    for text in symbols:
        state = {"symbols": text, "query": 13, "step": 300}
        state |= dict.fromkeys(HEADS, True)
        whole = expected(state)
        keys = kept_for(whole, 2)
        if keys:
            off = {HEADS[h]: not any(whole["carried"][h]) for h in (0, 1)}
            without = expected(state | off)
            for seen, values in ((found, whole), (lost, without)):
                weights = [w[13][keys].sum() for w in values["weights"][1]]
                seen.append(max(weights))
    found, lost = np.array(found), np.array(lost)
    assert len(found) > 50
    assert found.mean() > 0.8
    assert lost.mean() < 0.25
    assert (lost < found).all()


def test_about_is_as_rough_as_it_is_known():
    for seconds, words in (
        (0.3, "about 5 seconds"),
        (12, "about 10 seconds"),
        (52, "about 50 seconds"),
        (56, "about 1 minute"),
        (170, "about 3 minutes"),
    ):
        assert call("about", seconds, of="induction") == words


def test_induction_tells_own_training_from_the_stored_one(drawn_states):
    ((state, _), *_) = drawn_states("induction", 1)
    values = call("values", state, of="induction")
    for own, numbers in ((None, [300]), ({"seed": 3, "step": 50}, [50, 3])):
        said = call("sentence", state | {"step": 300}, values, own,
                    of="induction")  # fmt: skip
        tells(said.rpartition("(")[2], *numbers)
        verdict(said, your=own is not None)
