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
    in_proportion,
    on_one_scale,
    path_of,
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
    result = np.zeros(len(symbols), bool)
    for key in range(1, query):
        w, even = weights[key, key - 1], 1 / (key + 1)
        much = (w >= 0.4 and w >= 2 * even) or w >= 0.9
        result[key] = much and symbols[key - 1] == symbols[query]
    return result


def expected(state):
    """What the trained model says, and what follows from the symbols."""
    symbols = state["symbols"]
    query = min(state["query"], len(symbols) - 1)
    params, right = trained(state["step"])
    heads = [[state[f"head_{i}_{h}"] for h in (0, 1)] for i in (0, 1)]
    tokens = [LETTERS.index(symbol) for symbol in symbols]
    kept = forward(tokens, params, INDUCTION, heads=np.array(heads, float))
    message = kept.logits.argmax(axis=-1)
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
        "said": message[query],
        "answer": answers.get(query),
        "counted": len(answers),
        "right": sum(message[i] == answer for i, answer in answers.items()),
        "accuracy": right,
    }


def shows(state, expected, shown):
    query, symbols = expected["query"], state["symbols"]
    weights = [w for layer in expected["weights"] for w in layer]
    panels = shown.select(".av-one-head")
    for k, (panel, w) in enumerate(zip(panels, weights, strict=True)):
        assert ("av-off" in panel["class"]) == (not state[HEADS[k]])
        assert panel.select_one("text").text == symbols
        row = w[query]
        # Arcs of the query: as wide as their weights, the others are thin.
        ends = sorted(
            (*pair, float(path["stroke-width"]))
            for path in panel.select(".av-arc-picked:not(.av-thin)")
            for pair in arcs(path)
        )
        drawn = np.flatnonzero(row >= 0.02)
        assert [pair for *pair, _ in ends] == [[query, j] for j in drawn]
        in_proportion([wide for *_, wide in ends], row[drawn])
        strong = row[row >= 0.1]
        all_say([t.text for t in panel.select(".av-weight")], strong, 2)
        kept = kept_for(expected, k)
        assert panel.select_one(".av-tags").text == symbols[query] * len(kept)
        links = [it for p in panel.select(".av-handed") for it in arcs(p)]
        assert links == [(key, key - 1) for key in kept if k < 2]
    bars = shown.select(".av-guess")
    heights = [path_of(path)[3] for path in bars]
    in_proportion(heights, expected["chances"])
    assert bars.index(shown.select_one(".av-said")) == expected["said"]
    steps_show(state, shown.select(".av-below svg")[1])
    tells_of(state, expected, shown)


def kept_for(expected, k):
    """The keys that have the query's symbol from block 0, for a head."""
    first, second = (np.array(keys, bool) for keys in expected["carried"])
    kept = [first, second, first | second, first | second][k]
    return np.flatnonzero(kept).tolist()


def steps_show(state, svg):
    """The stored accuracies, and a mark where the slider stands."""
    checkpoints = stored("induction-steps")["checkpoints"]
    steps = [c["step"] for c in checkpoints]
    curve, mark = (
        np.reshape(path_of(line), (-1, 2)) for line in svg.select(".av-line")
    )
    on_one_scale(
        [*curve[:, 0], *mark[:, 0]], [*steps, *[state["step"]] * len(mark)],
        near=0.1,
    )  # fmt: skip
    accuracies = [c["accuracy"] for c in checkpoints]
    on_one_scale(curve[:, 1], accuracies, near=0.1, up=True)


def chance(x):
    """What judges a probability in words: "above 0.99" or "of 0.42"."""
    return (0.99, 2) if x >= 0.995 else (x, 2)


def tells_of(state, expected, shown):
    """Captions of heads and the sentence."""
    query, words, answer, counted = (
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
    tells(guess, chance(chances[words]))
    verdict(guess, above=chances[words] >= 0.995, followed=answer is not None)
    letters = re.findall(r"\b[A-L]\b", guess)
    assert letters == [LETTERS[k] for k in (words, answer) if k is not None]
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
    numbers = [int(n) for key in off for n in re.findall(r"\d", key)]
    text = sentence(shown)
    right = where(counted, expected["right"], counted)
    tells(
        text,
        *(*numbers, query, chance(chances[words]), *right),
        state["step"],
    )
    verdict(
        text,
        above=chances[words] >= 0.995,
        not_read_before=answer is None,
        **{": right": answer == words, ": wrong": answer not in (None, words)},
    )
    message = [symbols[query], LETTERS[words]]
    message += [symbols[query]] * (answer is None)
    message += [LETTERS[answer], symbols[query]] if answer is not None else []
    assert re.findall(r"\b[A-L]\b", text) == message


def arcs(path):
    """The query and the key of each arc."""
    result = []
    for x, rx, x2 in re.findall(
        r"M(\S+) \S+?A(\S+) \S+ 0 [01] 1 (\S+) [\d.]+", path["d"]
    ):
        key, query = float(x) / 20 - 0.5, float(x2) / 20 - 0.5
        if rx == "4":  # a loop ends four to the left and to the right
            key, query = key + 0.2, query - 0.2
        result.append((round(query), round(key)))
    return result


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
    result, lost = [], []
    for text in symbols:
        state = {"symbols": text, "query": 13, "step": 300}
        state |= dict.fromkeys(HEADS, True)
        whole = expected(state)
        keys = kept_for(whole, 2)
        if keys:
            off = {HEADS[h]: not any(whole["carried"][h]) for h in (0, 1)}
            without = expected(state | off)
            for seen, values in ((result, whole), (lost, without)):
                weights = [w[13][keys].sum() for w in values["weights"][1]]
                seen.append(max(weights))
    result, lost = np.array(result), np.array(lost)
    assert len(result) > 50
    assert result.mean() > 0.8
    assert lost.mean() < 0.25
    assert (lost < result).all()


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
        message = call("sentence", state | {"step": 300}, values, own,
                    of="induction")  # fmt: skip
        tells(re.split("after |had ", message)[-1], *numbers)
        verdict(message, your=own is not None)
