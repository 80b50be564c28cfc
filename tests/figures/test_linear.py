"""The figure of a memory of two numbers: writes, reads, lines, handles."""

import re

import numpy as np
import pytest

from helpers.linear import gated_delta_rule, linear_attention
from tests.figures.reading import (
    captions,
    in_proportion,
    path_of,
    sentence,
    tells,
    verdict,
    where,
)

LINEAR = {"rule": "linear attention"}
CASES = [
    {"written": 0},
    {"written": 1},
    {"written": 2, "angleB": 180, "valueB": 2.5},
    {"beta": 0},
    {"beta": 0.5, "decay": 0.5},
    {"beta": 2},
    {"decay": 0},
    {"angleC": 0, "angleB": 0},
    {"angleB": 37, "valueB": 0.5},  # one line and one dot with C
    {f"{key}{x}": 1 for key in ("angle", "value") for x in "ABC"},
    LINEAR,
    LINEAR | {"decay": 0.5, "angleB": 359},
    LINEAR | {"valueA": 2.5, "valueB": 2.5, "angleB": 10, "angleC": 10},
]
LETTERS = "ABC"


def memory(state, n):
    """The state after n writes, by the helpers."""
    turns = np.radians([float(state[f"angle{x}"]) for x in LETTERS])
    keys = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    values = np.array([[float(state[f"value{x}"])] for x in LETTERS])
    K, V = keys[:n], values[:n]
    with np.errstate(divide="ignore"):
        logs = np.full(n, np.log(float(state["decay"])))
    if state["rule"] == "linear attention":
        _, S = linear_attention(K, K, V, logs, scale=1)
    else:
        beta = np.full(n, float(state["beta"]))
        _, S = gated_delta_rule(K, K, V, beta, logs, scale=1)
    return keys, values[:, 0], S[:, 0]


def expected(state):
    n = state["written"]
    keys, values, S = memory(state, n)
    states = [memory(state, i)[2] for i in range(n + 1)]
    shrunk = states[n - 1] * state["decay"] if n else np.zeros(2)
    error = 0.0
    if n:
        error = values[n - 1]
        if state["rule"] == "delta rule":
            error = error - keys[n - 1] @ shrunk
    reads = keys @ S
    near = np.abs(reads - values) <= 0.05 + 1e-9
    return {
        "keys": keys,
        "states": states,
        "reads": reads,
        "right": (near & (np.arange(3) < n)).tolist(),
        "shrunk": shrunk,
        "error": error,
    }


def shows(state, expected, shown):
    n, right = state["written"], expected["right"]
    text, S = sentence(shown), expected["states"][-1]
    pair = (S[0], 2), (S[1], 2)
    tells(text, *((n, *pair, sum(right), n) if n else pair))
    verdict(
        text.partition("read right")[2], **dict(zip("ABC", right, strict=True))
    )
    delta = state["rule"] == "delta rule"
    verdict(text, delta_rule=n and delta, linear_attention=n and not delta)
    tells(captions(shown)[0], *pair)

    plane = shown.select_one(".av-memory")
    plane_shows(state, expected, plane)
    memory = plane.select(".av-reading")[-1].text
    if memory != "state":  # which is drawn at the edge
        tells(memory, *((x, 2) for x in expected["states"][-1]))
    lines = {letters[0]: letters for letters in shared(state)}
    found = plane.select(".av-is-right, .av-is-wrong, .av-is-value")
    for line, (letter, letters) in zip(found, lines.items(), strict=True):
        names = re.findall("[ABC]", line.text)
        assert names == letters
        i = LETTERS.index(letter)
        value = (state[f"value{letter}"], 2)
        written = i < n
        reads = (*where(written, (expected["reads"][i], 2)),)
        tells(line.text, *reads, *where(not (written and right[i]), value))
        verdict(line.text, should=not written, right=written and right[i])
        if written:
            (kind,) = line["class"][1:]
            assert kind == f"av-is-{'right' if right[i] else 'wrong'}"


def shared(state):
    """For each pair, all that have its key and its value."""
    pairs = [(state[f"angle{x}"], state[f"value{x}"]) for x in LETTERS]
    return [
        [x for x, other in zip(LETTERS, pairs, strict=True) if other == pair]
        for pair in pairs
    ]


def plane_shows(state, expected, svg):
    """Lines give each key its value; states go from one to the next.

    In units of the plane, which has no axes: its middle is 0, and a key's
    arrow is as long as its value.
    """
    arrows = np.array([path_of(it) for it in svg.select(".av-key-arrow")])
    values = np.array([float(state[f"value{x}"]) for x in LETTERS])
    middle, feet = arrows[0, :2], values[:, None] * expected["keys"]
    states = np.array(expected["states"])
    faded = [path_of(path) for path in svg.select(".av-decay-way")]
    writes = [path_of(path) for path in svg.select(".av-write-way")]
    ways = np.reshape([*faded, *writes], (-1, 4))
    before = states[:-1] * state["decay"]
    points = [*np.c_[states[:-1], before], *np.c_[before, states[1:]]]
    off = np.r_[arrows[:, 2:], ways[:, :2], ways[:, 2:]] - middle
    vectors = np.r_[feet, np.reshape(points, (-1, 4))[:, :2],
                    np.reshape(points, (-1, 4))[:, 2:]]  # fmt: skip
    in_proportion(off * [1, -1], vectors)
    unit = np.hypot(*(arrows[:, 2:] - middle).T).sum() / np.abs(values).sum()
    for i, path in enumerate(svg.select(".av-value-line")):
        ends = (np.reshape(path_of(path), (2, 2)) - middle) * [1, -1] / unit
        reads = ends @ expected["keys"][i]
        assert reads == pytest.approx([values[i]] * 2, abs=5e-3)
        assert ("av-holds" in path["class"]) == expected["right"][i]
