"""The influence test: programs that mask, run with NumPy and the helpers."""

import re

import numpy as np

from helpers.attention import attention, attention_scores
from helpers.masks import causal_mask
from helpers.softmax import softmax
from tests.figures.reading import (
    captions,
    narrow,
    rows,
    says,
    sentence,
    tells,
    verdict,
)

NAMES = ["the", "cat", "sat", "down"]
Q = np.array([[1, 0, 2, 1], [0, 1, 1, 2], [0, 2, 1, 3], [1, 0, 2, 1]]) * 1.0
K = 2 * np.eye(4)
V = np.array([[1.0, 0], [0, 1], [1, 1], [2, 0]])
STEP = np.array([1, -1, 0.5, 1.5])
NONE, INF = "not a number", np.inf
CASES = [
    *(
        {"program": program, "padding": padding, "token": token}
        for program, token in zip(
            ["right", "transposed", "off by one", "opposite",
             "or for and", "scores × mask", "fill −1e9",
             "0 × −inf", "weights × mask ÷ sum"],
            3 * ["the", "cat", "down"], strict=True,
        )
        for padding in (False, True)
    ),
    {"program": "wrong axis", "queries": False},
    {"program": "wrong axis", "queries": True},
    {"program": "right", "queries": True, "padding": True, "token": "the"},
]  # fmt: skip


def plain(x):
    """A softmax that knows no mask."""
    exps = np.exp(x - x.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def again(x, mask):
    kept = plain(x) * mask
    return kept / kept.sum(axis=-1, keepdims=True)


def run(program, mask, real, q, k):
    """The weights of a program: the helper's, or those of a slip."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x = attention_scores(q, k)
        allowed = {
            "right": mask,
            "transposed": mask.T,
            "off by one": np.tri(4, 4, 1, dtype=bool) & real,
            "opposite": ~mask,
            "or for and": causal_mask(4) | real,
        }
        if program in allowed:
            return attention(q, k, V, mask=allowed[program]).weights
        return {
            "scores × mask": lambda: plain(x * mask),
            "weights × mask": lambda: plain(x) * mask,
            "weights × mask ÷ sum": lambda: again(x, mask),
            "fill −1e9": lambda: plain(np.where(mask, x, -1e9)),
            "0 × −inf": lambda: plain(x + (1 - mask) * -INF),
            "wrong axis": lambda: softmax(x, axis=-2, where=mask),
        }[program]()


def expected(state):
    real = np.arange(4) >= state["padding"]
    mask = causal_mask(4) & real
    weights = run(state["program"], mask, real, Q, K)
    output = weights @ V
    after, moved = [], []
    for j in range(4):
        here = (np.arange(4) == j)[:, None]
        q = Q + here * STEP * state["queries"]
        changed = run(state["program"], mask, real, q, K + here * STEP) @ (
            V + here
        )
        after.append(changed)
        # What is not a number is no smaller than any tolerance.
        moved.append(~(abs(changed - output) <= 1e-9).all(axis=-1))
    moved = np.stack(moved, axis=-1)
    return {
        "mask": mask,
        "weights": weights,
        "output": output,
        "after": after[NAMES.index(state["token"])],
        "influence": moved,
        "leaks": (moved & ~mask).sum(),
        "misses": (~moved & mask).sum(),
    }


def kind(expected, i, j):
    moves, may = expected["influence"][i][j], expected["mask"][i][j]
    return {
        (True, True): "moves",
        (True, False): "leak",
        (False, True): "miss",
        (False, False): "still",
    }[bool(moves), bool(may)]


def pair_shown(text, numbers):
    if np.isnan(numbers).any():
        assert text == NONE
        return
    for shown, x in zip(text.split(), numbers, strict=True):
        says(shown, x, 2)


def shows(state, expected, shown):
    j = NAMES.index(state["token"])
    kinds = [kind(expected, i, j) for i in range(4)]
    for page in (shown, narrow("influence", state)):
        outputs_show(expected, page.select_one(".av-test"), kinds)
    influence, weights = shown.select("table")
    words = {"moves": "x", "still": "·", "leak": "leak", "miss": "miss"}
    assert rows(influence) == [
        [words[kind(expected, i, k)] for k in range(4)] for i in range(4)
    ]
    for texts, row in zip(rows(weights), expected["weights"], strict=True):
        for text, w in zip(texts, row, strict=True):
            assert text == "·" if np.isnan(w) else not says(text, w, 2)
    sentence_tells(state, expected, sentence(shown), kinds)
    assert state["token"] in captions(shown)[0]


def outputs_show(expected, svg, kinds):
    """The outputs before and after, and the lines to those that change."""
    befores, afters = (svg.select(f".av-{k}") for k in ("before", "after"))
    moved = [i for i in range(4) if kinds[i] in ("moves", "leak")]
    for text, numbers in zip(befores, expected["output"], strict=True):
        pair_shown(text.text, numbers)
    for text, i in zip(afters, moved, strict=True):
        pair_shown(text.text, expected["after"][i])
    for i, out in enumerate(svg.select(".av-out")):
        assert out["class"][1] == f"av-out-{kinds[i]}"
        name = out.find_next("text").text
        assert name.startswith(NAMES[i])
        verdict(name, leak=kinds[i] == "leak", miss=kinds[i] == "miss")
    lines = [line["class"][1] for line in svg.select(".av-touch")]
    assert lines == [f"av-touch-{what}" for what in kinds]


def sentence_tells(state, expected, text, kinds):
    """Whom a change moves, which of them leak, how many pairs are wrong."""
    changes, _, rest = text.partition(". With all")
    touched, leaks = (
        [n for n, what in zip(NAMES, kinds, strict=True) if what in some]
        for some in (("leak", "moves"), ("leak",))
    )
    first, _, second = changes.partition("; ")
    assert first.startswith(f"Changing “{state['token']}” moves ")
    assert ("no output" in first) == (not touched)
    for part, names in ((first, touched), (second, leaks)):
        result = part.partition(" of ")[2]
        assert re.findall(r"\b(?:the|cat|sat|down)\b", result) == names
    verdict(second, must_not_move=leaks)
    tells(rest, expected["leaks"], expected["misses"])
    right = expected["leaks"] == expected["misses"] == 0
    verdict(rest, passes=right, fails=not right)
