"""The sinks figure: five ways to spend a row's weight."""

import numpy as np
import pytest

from helpers.attention import attention
from tests.figures.reading import (
    all_say,
    in_proportion,
    on_one_scale,
    path_of,
    read,
    sentence,
    sizes,
    tells,
)

VALUES = np.array([[10.0], [40], [20], [30], [50]])
WAYS = ["none", "sink", "gate", "cap", "norm"]
CASES = [
    *({"way": way} for way in WAYS),
    {"way": "sink", "sink": -10, "fit2": 0.9},
    {"way": "gate", "gate": 0},
    {"way": "cap", "cap": 0.5, "length": 10, "fit2": 1, "fit0": -1},
    {"way": "norm", "length": 0.5, "fit1": 0.8},
    {"sink": 10, "gate": 1, "cap": 10, "length": 10},
]


def expected(state):
    fits = np.array([[state[f"fit{j}"]] for j in range(5)], float)
    query = np.array([[state["length"]]], float)

    def attend(query=query, **options):
        return attention(query, fits, VALUES, scale=1, **options)

    rows = {
        "none": attend(),
        "sink": attend(sinks=state["sink"]),
        "gate": attend(),
        "cap": attend(softcap=state["cap"]),
        "norm": attend(query / np.linalg.norm(query) * 4),
    }
    factor = np.array([state["gate"] if w == "gate" else 1.0 for w in WAYS])
    weights = np.array([rows[w].weights[0] for w in WAYS])
    return {
        "scores": (query @ fits.T)[0],
        "weights": weights,
        "spent": factor * weights.sum(1),
        "answers": factor * [rows[w].output[0, 0] for w in WAYS],
        "taken": 1 - weights[1].sum(),
    }


def shows(state, expected, shown):
    svg = shown.select_one(".av-sinks")
    ticks = [
        read(t.text) for t in svg.select(".av-scale") if t.text[-1].isdigit()
    ]
    lines = [path_of(p)[1] for p in svg.select(".av-rule")]
    zero = lines[ticks.index(0)]
    scores = np.array([*expected["scores"], state["sink"]])
    columns = svg.select(".av-scored, .av-drain")
    top, high = sizes(columns, "y"), sizes(columns, "height")
    ends = np.where(scores > 0, top, top + high)
    on_one_scale([*lines, *ends], [*ticks, *scores], near=0.25, up=True)
    assert np.where(scores > 0, top + high, top) == pytest.approx(
        zero, abs=0.25
    )
    # A row for each way: its parts, one after another, and what is left.
    spent = svg.select(".av-spent")
    rows = [np.reshape(sizes(spent, k), (5, 5)) for k in ("x", "width", "y")]
    x, wide, y = rows
    factor = np.where(np.array(WAYS) == "gate", state["gate"], 1)
    shares = factor[:, None] * expected["weights"]
    in_proportion(wide, shares, near=0.25)
    starts = np.cumsum(shares, axis=1) - shares
    on_one_scale(x, starts, near=0.25)
    rests = svg.select(".av-rest")
    left = dict(zip(sizes(rests, "y"), sizes(rests), strict=True))
    for i, share in enumerate(expected["spent"]):
        if 1 - share > 1e-3:
            in_proportion([wide[i].sum(), left[y[i, 0]]], [share, 1 - share],
                          near=0.3)  # fmt: skip
    all_say(
        [t.text for t in svg.select(".av-answer-is")], expected["answers"], 1
    )
    all_say([t.text for t in svg.select(".av-worth")], [*VALUES[:, 0], 0], 0)
    assert svg.select_one(".av-picked").text == state["way"]
    i, most, cap = (
        WAYS.index(state["way"]), expected["scores"].max(), state["cap"]
    )  # fmt: skip
    more = {
        "none": [],
        "sink": [(state["sink"], 1), (expected["taken"], 2)],
        "gate": [(state["gate"], 2)],
        "cap": [(cap, 4), (most, 3), (cap * np.tanh(most / cap), 3)],
        "norm": [
            4,
            (state["length"], 1),
            (most, 1),
            (4 * most / state["length"], 1),
        ],
    }[state["way"]]
    tells(
        sentence(shown),
        (expected["weights"][i].sum(), 2),
        (expected["answers"][i], 1),
        *more,
    )
