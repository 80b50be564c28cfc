"""The saturation figure: what the width does to scores and weights."""

import numpy as np
from bs4 import BeautifulSoup

from helpers.attention import attention, attention_scores
from helpers.softmax import entropy
from tests.figures.reading import (
    bars,
    call,
    captions,
    curves,
    follows,
    sentence,
    tells,
    verdict,
)

CASES = [
    {"S": 3, "d_k": 2},
    {"S": 4, "d_k": 1, "scale": True},
    {"S": 64, "d_k": 1024, "scale": False},  # scores beyond the picture
]


def mulberry32(seed, n):
    """The first n numbers of the stream, from 0 to 1."""
    t = np.uint32(seed) + np.arange(1, n + 1, dtype=np.uint32) * np.uint32(
        0x6D2B79F5
    )
    t = (t ^ (t >> 15)) * (t | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    return ((t ^ (t >> 14)) + 0.5) / 2**32


def expected(state):
    """Scores and weights of random queries and keys, by the helpers."""
    S, d_k = state["S"], state["d_k"]
    numbers = mulberry32(state["seed"], (32 + S) * 1024)
    radius = np.sqrt(-2 * np.log(numbers[0::2]))
    angle = 2 * np.pi * numbers[1::2]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    vectors = normal.reshape(32 + S, 1024)[:, :d_k]
    Q, K = vectors[:32], vectors[32:]
    scale = None if state["scale"] else 1.0
    scores = attention_scores(Q, K, scale=scale)
    weights = attention(Q, K, K, scale=scale).weights
    return {
        "counts": np.histogram(scores, np.arange(-64, 65, 4))[0],
        "spread": scores.std(),
        "weights": weights[0],
        "largest": weights.max(axis=1).mean(),
        "entropy": entropy(weights).mean(),
    }


def shows(state, expected, shown):
    S, d_k = state["S"], state["d_k"]
    (scores, _, near), (weights, _, close) = map(curves, shown.select("svg"))
    shares = expected["counts"] / (32 * S)
    edges = np.arange(-64, 65, 4)
    cut = np.minimum(shares, 0.6)
    outline = [[edges[0], 0], *bars(edges, cut), [edges[-1], 0]]
    follows(scores[0], outline, near)
    edges = np.arange(S + 1)
    largest_first = np.sort(expected["weights"])[::-1]
    outline = [[0, 0], *bars(edges, largest_first), [S, 0]]
    follows(weights[0], outline, close)
    # The name of the even weight is at the end of its line.
    follows(weights[1], [[0, 1 / S], [4 * np.ceil(S / 4), 1 / S]], close)
    assert shown.select_one(".av-last-state").text == ""
    first, second = captions(shown)
    tells(first, 32, S, (expected["spread"], 2))
    tells(second, *((w, 2) for w in largest_first[:3]))
    beyond = 1 - expected["counts"].sum() / (32 * S)
    high = max(shares) > 0.6
    notes = [t.text for t in shown.select(".av-note-in")]
    assert len(notes) == (high + (beyond > 0))
    if high:
        tells(notes[0], (max(shares), 3))
    if beyond > 0:
        tells(notes[-1], (100 * beyond, 1))
    text = sentence(shown)
    tells(text, d_k, (expected["spread"], 2), (expected["largest"], 3), 32,
          (1 / S, 3))  # fmt: skip
    verdict(text, Not_scaled=not state["scale"])


def haunted(state, last):
    html = call("haunted", state, last, of="saturation")
    return BeautifulSoup(html, "html.parser")


def test_saturation_ghost_is_the_last_state_on_these_axes(drawn_states):
    drawn = drawn_states("saturation", 7)
    for (state, _), (last, before) in zip(drawn, drawn[::-1], strict=True):
        shown = haunted(state, last)
        if state == last:
            assert not shown.select(".av-ghost")
            assert shown.select_one(".av-last-state").text == ""
            continue
        (scores, _, near), (weights, _, close) = map(
            curves, shown.select("svg")
        )
        edges, S = np.arange(-64, 65, 4), last["S"]
        shares = np.minimum(before["counts"] / (32 * S), 0.6)
        follows(scores[-1], [[-64, 0], *bars(edges, shares), [64, 0]], near)
        sorted_ = np.sort(before["weights"])[::-1]
        outline = [[0, 0], *bars(np.arange(S + 1), sorted_), [S, 0]]
        follows(weights[-1], outline, close)
        text = shown.select_one(".av-last-state").text
        tells(text, last["d_k"], (before["largest"], 3))
        verdict(text, not_scaled=not last["scale"])
