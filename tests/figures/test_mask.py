"""The painted mask: weights, outputs, and what the sentence says of them."""

import numpy as np

from course import figures
from helpers.attention import attention
from helpers.masks import causal_mask, padding_mask, window_mask
from tests.figures.reading import (
    all_say,
    depth,
    narrow,
    sentence,
    tells,
    verdict,
)

CALLED = ["dogs", "bark", "pad 1", "pad 2"]
# The lesson's second sentence, as its first cells have it.
Q = np.array([[1, 0, 5, 5], [2, 1, 6, 5], [0, 1, 4, 4], [1, 1, 4, 4]], float)
K = 2 * np.eye(4)
V = np.array([[1, 0], [0, 1], [100, 100], [100, 100]], float)

PADDING = np.broadcast_to(padding_mask([2], 4)[0, 0], (4, 4))
RULES = {
    "none": np.ones((4, 4), bool),
    "causal": causal_mask(4),
    "window of 2": window_mask(4, left=1, right=0),
    "padding": PADDING,
    "causal and padding": causal_mask(4) & PADDING,
}
CASES = [
    *({"may": rule.astype(int).tolist()} for rule in RULES.values()),
    {"may": [[0] * 4] * 4},
    {"may": [[0, 0, 1, 0], [0] * 4, [1, 1, 0, 0], [0] * 4]},
]


def expected(state):
    """Weights and outputs by the helper, under the mask that is painted."""
    may = np.array(state["may"]) == 1
    output, weights = attention(Q, K, V, mask=may)
    later = np.arange(4) > np.arange(4)[:, None]
    return {
        "weights": weights,
        "output": output,
        "padding": weights[:, 2:].sum(axis=1),
        "later": (weights * later).sum(axis=1),
        "empty": np.flatnonzero(~may.any(axis=1)),
    }


def test_ready_masks_are_those_of_the_helpers():
    result = figures.presets("mask")
    assert list(result) == list(RULES)
    for name, rule in RULES.items():
        np.testing.assert_array_equal(np.array(result[name]["may"]) == 1, rule)


def shows(state, expected, shown):
    paint_shows(state, expected, shown)
    paint_shows(state, expected, narrow("mask", state))


def paint_shows(state, expected, shown):
    may = np.array(state["may"]) == 1
    cells = shown.select("[data-handle]")
    assert [c["data-handle"] for c in cells] == [
        f"cell-{i}-{j}" for i, j in np.ndindex(4, 4)
    ]
    for (i, j), cell in zip(np.ndindex(4, 4), cells, strict=True):
        is_seen = {
            part.name: "opacity:1" in part["style"]
            for part in cell.select("text, .av-hatch")
        }
        assert is_seen == {"text": may[i, j], "path": not may[i, j]}
        if may[i, j]:
            all_say([cell.text], [expected["weights"][i, j]], 2)
            shade = depth(cell.rect["style"].partition("fill:")[2])
            assert abs(shade - expected["weights"][i, j]) < 0.01
    svg = shown.select_one(".av-paint")
    for role in ("key", "query"):
        assert [t.text for t in svg.select(f".av-of-{role}")] == CALLED
    values = [t.text for t in svg.select(".av-of-value")]
    for text, value in zip(values, V, strict=True):
        tells(text, *value)
    outputs = svg.select(".av-sum, .av-none")
    for text, out in zip(outputs, expected["output"], strict=True):
        tells(text.text, *((x, 1) for x in out))
    empty = list(expected["empty"])
    none = [k for k, t in enumerate(outputs) if "av-none" in t["class"]]
    assert none == empty
    says_what_is_forbidden(expected, sentence(shown))


def says_what_is_forbidden(expected, text):
    empty = list(expected["empty"])
    shares, _, rest = text.partition(". ")
    tells(shares, *((x, 2) for x in expected["padding"][:2]))
    later, _, nothing = rest.partition(".")
    verdict(later, No_later=not expected["later"].any())
    for k, name in enumerate(CALLED):
        assert (name in later) == (expected["later"][k] > 0)
        assert (name in nothing) == (k in empty)
    verdict(nothing, exactly_zero=bool(empty))


def test_a_ready_mask_is_named_until_a_cell_differs(page):
    page.open("mask")
    assert page.run("mask.chooseReadyMask") == [
        ["causal and padding", [0, 0, 0, 0]],
        "own numbers",
        [0],
    ]
