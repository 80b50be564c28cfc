"""The temperature figure: a row of weights, and what it was before."""

import numpy as np
import pytest

from helpers.softmax import entropy, softmax
from tests.figures.reading import (
    all_say,
    captions,
    path_of,
    sentence,
    tells,
)

CASES = [
    *({"temperature": t, "ghost": t} for t in (0.01, 1, 100)),
    {"scores": [[10, -10]], "temperature": 0.01, "ghost": 100},
    {"scores": [[1, 1, 1, 1, 1, 1, 1, 1]]},
    {"scores": [[0.5, -0.5, 0.5]], "temperature": 0.02},
    {"scores": [[0, 0.125]], "temperature": 100},
]


def expected(state):
    """Weights and entropy at a temperature, and at that of the ghost."""
    scores = np.array(state["scores"][0], float)
    weights, ghost = (
        softmax(scores / state[key]) for key in ("temperature", "ghost")
    )
    return {
        "weights": weights,
        "ghost": ghost,
        "entropy": entropy(weights),
        "before": entropy(ghost),
    }


def shows(state, expected, shown):
    svg = shown.select_one(".av-warm")
    low, *_, high = (path_of(p)[1] for p in svg.select(".av-rule"))
    bars, ghosts = svg.select("rect.av-tall"), svg.select("rect.av-ghost")
    for boxes, key in ((bars, "weights"), (ghosts, "ghost")):
        for box, w in zip(boxes, expected[key], strict=True):
            tall = float(box["height"])
            assert tall == pytest.approx(w * (low - high), abs=0.11)
            foot = float(box["y"]) + tall
            assert foot == pytest.approx(low, abs=0.11), "it stands"
    middles, around = (
        [float(b["x"]) + float(b["width"]) / 2 for b in boxes]
        for boxes in (bars, ghosts)
    )
    assert middles == pytest.approx(around, abs=0.11)
    assert np.ptp(np.diff(around)) < 0.21, "side by side, evenly"
    assert around[1] - around[0] > float(bars[0]["width"])
    weights, ghost = expected["weights"], expected["ghost"]
    n, tau, old = len(weights), state["temperature"], state["ghost"]
    all_say([t.text for t in svg.select(".av-weight")], weights, 2)
    written = [
        t.text
        for t in svg.select('text[text-anchor="middle"]')
        if not t.has_attr("class") and not t.has_attr("transform")
    ]
    all_say(written[:n], state["scores"][0], 4)
    even = path_of(svg.select_one(".av-even"))[1]
    assert even == pytest.approx(low - (low - high) / n, abs=0.11)
    (label,) = captions(shown)
    two = [[(w, 2) for w in row] for row in (weights, ghost)]
    tells(label, n, (tau, 2), *two[0], (old, 2), *two[1])
    nats = expected["entropy"]
    tells(
        sentence(shown),
        *((tau, 2), (weights.max(), 2), (nats, 2), (np.log(n), 2)),
        *((np.exp(nats), 1), (old, 2), (ghost.max(), 2)),
        (expected["before"], 2),
    )
