"""The causal figure: masks, ALiBi and temperature on one matrix."""

import numpy as np
import pytest

from helpers.attention import attention
from helpers.masks import causal_mask, padding_mask, window_mask
from tests.figures.reading import (
    captions,
    matrix_shows,
    path_of,
    says,
    sentence,
    tells,
    verdict,
    where,
)

CASES = [{"T": 12}, {"T": 13}, {"T": 6, "query": 1, "key": 4}]


def expected(state):
    """What the causal heatmap shows, by the helpers."""
    T = state["T"]
    length = min(state["length"], T)
    mask = {
        "none": np.ones((T, T), bool),
        "causal": causal_mask(T),
        "sliding": window_mask(T, left=state["window"] - 1, right=0),
        "padding": padding_mask([length], T)[0, 0],
        "causal and left padding": causal_mask(T)
        & padding_mask([length], T)[0, 0, :, ::-1],
    }[state["mask"]]
    i, j = np.arange(T)[:, None], np.arange(T)
    scores = np.cos(i - 2 * j) / state["temperature"]
    # One query and one key of width one make any score: q = 0, bias = score.
    bias = scores - state["slope"] * abs(i - j)
    zeros = np.zeros((T, 1))
    weights = attention(zeros, zeros, zeros, mask=mask, bias=bias).weights
    picked = [min(state[key], T - 1) for key in ("query", "key")]
    return {
        "weights": weights,
        "picked": picked,
        "score": bias[tuple(picked)],
    }


def shows(state, expected, shown):
    weights, T = np.array(expected["weights"]), state["T"]
    closed = weights == 0  # a weight that is allowed is never zero here
    # A large map is shaded up to its largest weight, which its key names.
    most = 1 if T <= 12 else weights.max() or 1
    matrix_shows(shown, weights, 2, closed, far=most)
    if T > 12:
        says(shown.select(".av-mosaic text")[-1].text, most, 2)
    (label,) = captions(shown)
    tells(label)  # no number
    mask, length = state["mask"], min(state["length"], T)
    window = min(state["window"], T)
    settings = shown.select(".av-caption")[-1].text
    slope, tau = (state["slope"], 4), (state["temperature"], 4)
    tells(
        settings,
        *where(mask == "sliding", window),
        *where(mask.endswith("padding"), length),
        *(T, slope, tau),
    )
    assert mask in settings
    verdict(label, hatched=mask != "none")
    i, j = expected["picked"]
    shut = closed[i, j]
    empty = np.flatnonzero(closed.all(axis=1))
    assert empty.tolist() == list(range(len(empty))), "they stand together"
    angle, steps = (i - 2 * j, 4), (abs(i - j), 4)
    score, weight = (expected["score"], 4), (weights[i, j], 4)
    text = sentence(shown)
    tells(
        text,
        *(i, j),
        *where(shut, 0),
        *where(not shut, angle, tau, slope, steps, score, weight),
        *where(len(empty), 0),
        *where(len(empty) > 1, len(empty) - 1),
    )
    verdict(text, forbids=shut, nothing=len(empty))
    # The entry that is read is marked, in the table as in the picture.
    picked = [
        [
            cell.parent.parent.select("tr").index(cell.parent),
            cell.parent.select("td").index(cell),
        ]
        for cell in shown.select("td.av-picked")
    ]
    for ring in shown.select(".av-ring"):
        x, y, width, height, _ = path_of(ring)
        sx = 294 / T
        sy = min(sx, 22)
        assert [width, height] == pytest.approx([sx + 2, sy + 2], abs=0.01)
        picked.append([round((y + 1 - 34) / sy), round((x + 1 - 40) / sx)])
    assert picked == [[i, j]]
