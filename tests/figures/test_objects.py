"""Three objects and two heads: weights, merged outputs, and the cut."""

import re

import numpy as np

from helpers.attention import attention
from tests.figures.reading import (
    all_say,
    captions,
    in_proportion,
    narrow,
    sentence,
    sizes,
    spot,
    tells,
    verdict,
    where,
)

OBJECTS = ["red ball", "blue ball", "red box"]
FEATURES = ["red", "blue", "ball", "box"]
X = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]], float)
CASES = [
    {"cut": 1, "query": 1},
    {"cut": 4},
    {"cut": 4, "head1": False, "query": 2},
    {"head0": False},
    {"head0": False, "head1": False},
    {"cut": 3, "query": 2},
]


def expected(state):
    """Each head by the helper, on the columns that it owns."""
    weights, merged = [], []
    for h, block in enumerate(np.split(X, [state["cut"]], axis=1)):
        if block.shape[1] == 0:
            weights.append(np.zeros((3, 3)))
            continue
        result = attention(np.log(4) * block, block, block, scale=1)
        weights.append(result.weights)
        merged.append(result.output * state[f"head{h}"])
    return {"weights": weights, "output": np.hstack(merged)}


def shows(state, expected, shown):
    for drawing in (shown, narrow("objects", state)):
        drawing_shows(state, expected, drawing.select_one(".av-objects"))
    tells_of(state, captions(shown)[0], sentence(shown))


def drawing_shows(state, expected, svg):
    cut, query = state["cut"], state["query"]
    heads = [h for h in (0, 1) if state[f"head{h}"] and (h == 0 or cut < 4)]
    weights = [expected["weights"][h][query] for h in heads]
    seen = '[opacity="1"] > '
    numbers = [t.text for t in svg.select(f"{seen}.av-weight")]
    all_say(numbers, np.ravel(weights), 2)
    lines = svg.select(f"{seen}.av-takes")
    wide = [float(p["stroke-width"]) - 1 for p in lines]
    in_proportion(wide, np.ravel(weights))
    cells = svg.select(".av-feature")
    numbers = [cell.find_next_sibling("text").text for cell in cells]
    all_say(numbers[:12], X.ravel())
    all_say(numbers[12:], expected["output"][query], 2)
    # The cut is drawn between the columns that it parts.
    at, _ = spot(svg.select_one("[data-handle=cut]"))
    left = sizes(cells[:4], "x")
    assert (left < at).tolist() == [k < cut for k in range(4)]
    asks = [
        k
        for k in range(3)
        if svg.select(f"[data-handle=object-{k}] .av-asking")
    ]
    assert asks == [query]
    for h in (0, 1):
        words = svg.select_one(f"[data-handle=head-{h}]").text
        there = h == 0 or cut < 4
        verdict(words, off=there and not state[f"head{h}"])


def tells_of(state, label, text):
    cut, query = state["cut"], state["query"]
    assert OBJECTS[query] in label
    assert ("one wide head" in label) == (cut == 4)
    first, *parts = re.split(r"\. (?=[TH])", text)
    assert first == f"The {OBJECTS[query]} asks"
    for h, part in enumerate(parts):
        on = state[f"head{h}"]
        owned = FEATURES[:cut] if h == 0 else FEATURES[cut:]
        tells(part, h, *where(owned and not on, 0))
        for name in FEATURES:
            assert (name in part) == (on and name in owned)
