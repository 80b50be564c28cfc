"""The sinks figure: five ways to spend a row's weight."""

import numpy as np
import pytest

from helpers.attention import attention
from tests.figures.reading import all_say, captions, read, sentence, tells

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


def sides(element):
    return [float(element[k]) for k in ("x", "y", "width", "height")]


def shows(state, expected, shown):
    svg = shown.select_one(".av-sinks")
    ticks = [
        read(t.text) for t in svg.select(".av-scale") if t.text[-1].isdigit()
    ]
    lines = [
        float(p["d"].split()[1].split("H")[0]) for p in svg.select(".av-rule")
    ]
    zero = lines[ticks.index(0)]
    unit = (lines[-1] - lines[0]) / (ticks[-1] - ticks[0])
    scores = [*expected["scores"], state["sink"]]
    columns = svg.select(".av-scored, .av-drain")
    for column, score in zip(columns, scores, strict=True):
        _, y, _, high = sides(column)
        ends = sorted([zero, zero + unit * score])
        assert [y, y + high] == pytest.approx(ends, abs=0.25)
    spent = np.reshape([sides(r) for r in svg.select(".av-spent")], (5, 5, 4))
    x, y, wide, _ = np.moveaxis(spent, -1, 0)
    assert (np.ptp(y, axis=1) == 0).all()
    whole = 310
    factor = np.where(np.array(WAYS) == "gate", state["gate"], 1)
    np.testing.assert_allclose(
        wide, whole * factor[:, None] * expected["weights"], atol=0.25
    )
    np.testing.assert_allclose(x[:, 1:], (x + wide)[:, :-1], atol=0.25)
    rests = {sides(r)[1]: sides(r) for r in svg.select(".av-rest")}
    for i, share in enumerate(expected["spent"]):
        left = whole * (1 - share)
        if left > 0.3:
            start, _, rest, _ = rests[y[i, 0]]
            assert [start, rest] == pytest.approx(
                [x[0, 0] + whole * share, left], abs=0.25
            )
        elif left < 0.02:
            assert y[i, 0] not in rests
    all_say(
        [t.text for t in svg.select(".av-answer-is")], expected["answers"], 1
    )
    all_say([t.text for t in svg.select(".av-worth")], [*VALUES[:, 0], 0], 0)
    names = [t.text for t in svg.select("text") if float(t["y"]) > y[0, 0]]
    assert [name for name in names if name in WAYS] == WAYS
    assert svg.select_one(".av-picked").text == state["way"]
    keys = [t.text for t in svg.select("text") if t.text.startswith("key")]
    assert keys == ["key 0", "key 1", "key 2", "key 3", "key 4"]
    pieces = {t.text for t in svg.select(".av-piece")}
    assert pieces <= set("01234")
    captions(shown)
    i, most = WAYS.index(state["way"]), expected["scores"].max()
    said = [
        (expected["weights"][i].sum(), 2),
        (expected["answers"][i], 1),
    ]
    cap = state["cap"]
    said += {
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
    tells(sentence(shown), *said)
