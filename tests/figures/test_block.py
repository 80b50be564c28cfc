"""The residual stream: what each part of two blocks adds to a row."""

import re

import numpy as np
import pytest

from course.figures import ResidualStream
from helpers import transformer as whole
from helpers.attention import attention
from helpers.heads import merge_heads, split_heads
from helpers.masks import causal_mask
from tests.figures.reading import (
    captions,
    on_one_scale,
    path_of,
    read,
    says,
    sentence,
    sizes,
)

# The hand-made numbers of the lesson on blocks.
E = np.array([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 0, 0]])
WORDS = ["the", "cat", "sat"]
ASK = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]])
ANSWER = np.array([[1.0, 1], [1, 0], [0, 1], [1, 0]])
OVER = np.array([[1.0, 0], [0, 1], [1, 1], [0, 1]])
MATRICES = {
    "W_Q": np.hstack([ASK, ANSWER]),
    "W_K": np.hstack([ANSWER, ASK]),
    "W_V": np.hstack([OVER, OVER[::-1]]),
    "W_O": np.eye(4) / 2,
    "W_1": np.hstack([np.eye(4), -np.eye(4)]),
    "W_1.bias": np.full(8, -0.5),
    "W_2": np.vstack([np.eye(4), np.eye(4)]),
}
PARTS = ["attention_0", "feed_forward_0", "attention_1", "feed_forward_1"]
OFF = dict.fromkeys(PARTS, False)
CASES = [
    {"place": "post-norm", "token": "sat"},
    {"norms": False, "token": "sat", "column": 0},  # numbers up to 9
    {"norms": False, "place": "post-norm"},
    {"stream": False, "column": 1},
    {"stream": False, "place": "post-norm", "attention_0": False},
    {**OFF, "token": "the"},
    {"attention_0": False},
    {"feed_forward_0": False, "attention_1": False, "place": "post-norm"},
]


def norm(X):
    return whole.layer_norm(X, np.ones(4), np.zeros(4))


def attend(X):
    Q, K, V = (split_heads(X @ MATRICES[f"W_{r}"], 2) for r in "QKV")
    heads = attention(Q, K, V, mask=causal_mask(len(X)))
    return merge_heads(heads.output) @ MATRICES["W_O"]


def feed(X):
    hidden = MATRICES["W_1"], MATRICES["W_1.bias"]
    return whole.feed_forward(
        X, *hidden, MATRICES["W_2"], None, activation="relu"
    )


def run(state):
    """Reads, changes, sums and rows after each part, of all tokens."""
    X, pre = E, state["place"] == "pre-norm"
    kept = []
    for part, f in zip(PARTS, [attend, feed, attend, feed], strict=True):
        read = norm(X) if pre and state["norms"] else X
        change = f(read) * state[part]
        total = change + X if state["stream"] else change
        X = norm(total) if not pre and state["norms"] else total
        kept.append((read, change, total, X))
    return [np.array(some) for some in zip(*kept, strict=True)]


def expected(state):
    """The row of one token through both blocks, by the helpers."""
    i = WORDS.index(state["token"])
    reads, changes, sums, rows = (x[:, i] for x in run(state))
    on = dict.fromkeys([*PARTS, "norms", "stream"], True)
    # The slope of a norm along the row, with its mean and its root held.
    post = state["place"] == "post-norm" and state["norms"]
    roots = np.sqrt(sums.var(axis=1) + 1e-5) if post else np.ones(4)
    return {
        "rows": np.array([E[i], *rows]),
        "reads": reads,
        "changes": changes,
        "sums": sums,
        "kept": state["stream"] / roots.prod(),
        "whole": run(state | on)[3][-1, i],
    }


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("off", [[], PARTS[:1], PARTS[1:3], PARTS])
def test_block_is_the_model_with_matrices_of_zeros(place, off):
    """The model of the helpers, where a part that is off adds nothing."""
    config = whole.TransformerConfig(
        vocab=3, max_len=3, d_model=4, n_layers=2, n_heads=2, d_ff=8,
        norm=place, activation="relu", positions=None,
    )  # fmt: skip
    params = {
        name: np.ones(s) if name.endswith("gain") else np.zeros(s)
        for name, s in whole.parameter_shapes(config).items()
    }
    params["embedding"] = E
    for i in range(2):
        for name, W in MATRICES.items():
            params[f"{i}.{name}"] = W
        if f"attention_{i}" in off:
            params[f"{i}.W_O"] = np.zeros((4, 4))
        if f"feed_forward_{i}" in off:
            params[f"{i}.W_2"] = np.zeros((8, 4))
    stream = whole.forward([0, 1, 2], params, config).stream
    for i, token in enumerate(WORDS):
        figure = ResidualStream(
            place=f"{place}-norm", token=token, **dict.fromkeys(off, False)
        )
        result = figure.values["rows"][-1]
        np.testing.assert_allclose(result, stream[i], rtol=0, atol=1e-9)


# --- the picture -------------------------------------------------------------


def shows(state, expected, shown):
    svg, rows, changes = shown.svg, expected["rows"], expected["changes"]
    texts = [t.text for t in svg.select("text.av-value")]
    for text, x in zip(texts, np.ravel([rows[0], *changes, rows[-1]]),
                       strict=True):  # fmt: skip
        says(text.replace("+", ""), x, 2)
    for text, x in zip(texts[4:-4], np.ravel(changes), strict=True):
        assert text.startswith("+") == (round(x, 2) > 0)
    # Each number has a scale of its own: bars from what entered to the sum.
    kept = rows[:-1] * state["stream"]
    none = 0 * rows[0]
    starts = np.array([none, *kept, none])
    ends = np.array([rows[0], *expected["sums"], rows[-1]])
    bars = svg.select("rect[class^=av-bar]")
    left, wide = (np.reshape(sizes(bars, k), (6, 4)) for k in ("x", "width"))
    less = np.reshape(["av-bar-less" in bar["class"] for bar in bars], (6, 4))
    np.testing.assert_array_equal(less, ends < starts)
    ghosts = [path_of(g)[0] for g in svg.select("path.av-ghost")]
    pre = state["place"] == "pre-norm"
    dots = svg.select("circle.av-read-row" if pre else "circle.av-row-pull")
    spots = np.reshape(sizes(dots, "cx"), (-1, 4))
    normed = (expected["reads"] if pre else rows[1:])[: len(spots)]
    for c in range(4):
        on_one_scale(
            [*left[:, c], *(left + wide)[:, c], ghosts[c], *spots[:, c]],
            [*np.minimum(starts, ends)[:, c], *np.maximum(starts, ends)[:, c],
             expected["whole"][c], *normed[:, c]],
            near=0.11,
        )  # fmt: skip
    chosen = svg.select("rect.av-unit-chosen")
    beside = [box.find_next("text").text for box in chosen]
    assert beside == [state["place"], state["token"]]
    words_show(state, expected, shown)


def words_show(state, expected, shown):
    c, rows = state["column"], expected["rows"]
    text = sentence(shown)
    post = state["place"] == "post-norm" and state["norms"]
    numbers = [read(n) for n in re.findall(r"−?\d+(?:\.\d+)?", text)]
    assert ("reaches up to 16.5" in text) == (not state["norms"])
    assert numbers[0] == c
    if not state["stream"] or post:
        assert "plus the changes" not in text
        correct = [rows[0, c], rows[-1, c]]
        if state["stream"]:
            says(re.search(r"factor of (\S+);", text)[1], expected["kept"], 3)
        else:
            assert "takes the place" in text
        np.testing.assert_allclose(numbers[1:3], correct, atol=0.00501)
    else:
        assert "is the row that entered plus the changes" in text
        signs = re.findall(r"([+−]) (\d[\d.]*)", text)
        result = [float(n) * (1 if s == "+" else -1) for s, n in signs]
        np.testing.assert_allclose(
            result, expected["changes"][:, c], atol=0.00501
        )
        says(re.search(r"≈ (−?[\d.]+)\.", text)[1], rows[-1, c], 2)
        assert (
            abs(expected["changes"].sum(0) + rows[0] - rows[-1]).max() < 1e-9
        )
    label = captions(shown)[0]
    result = [read(n) for n in re.findall(r"−?\d+(?:\.\d+)?", label)]
    np.testing.assert_allclose(result, [*rows[0], *rows[-1]], atol=0.00501)
    assert f"row of {state['token']} through" in label


# --- hands -------------------------------------------------------------------
