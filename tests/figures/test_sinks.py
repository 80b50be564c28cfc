"""The sinks figure: five ways to spend a row's weight."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from helpers.attention import attention
from tests.figures.reading import (
    all_say,
    narrow,
    on_one_scale,
    path_of,
    says,
    sentence,
    sizes,
    spot,
    tells,
    verdict,
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
    spent = factor * weights.sum(1)
    shares = np.column_stack([factor[:, None] * weights, 1 - spent])
    return {
        "scores": (query @ fits.T)[0],
        "weights": weights,
        "spent": spent,
        "coins": [coins_of(row) for row in shares],
        "answers": factor * [rows[w].output[0, 0] for w in WAYS],
        "taken": 1 - weights[1].sum(),
    }


def coins_of(shares):
    """Whole coins of 100, by the largest remainders; the first of equals."""
    exact = [Fraction(round(100 * x, 9)) for x in shares]
    coins = [math.floor(x) for x in exact]
    rests = [round(float(x - n), 9) for x, n in zip(exact, coins, strict=True)]
    order = sorted(range(len(shares)), key=lambda j: -rests[j])
    for j in order[: 100 - sum(coins)]:
        coins[j] += 1
    return coins


def effect_of(state, expected):
    """The scores, as the way makes them."""
    scores, cap = expected["scores"], state["cap"]
    return {
        "cap": cap * np.tanh(scores / cap),
        "norm": 4 * scores / state["length"],
    }.get(state["way"], scores)


def shows(state, expected, shown):
    picture_shows(state, expected, shown.svg, 7)
    picture_shows(state, expected, narrow("sinks", state).svg, 5)
    i = WAYS.index(state["way"])
    most, cap = expected["scores"].max(), state["cap"]
    held = expected["coins"][i][5]
    told = {
        "none": [100],
        "sink": [held, 100],
        "gate": [100, held],
        "cap": [(most, 2), (cap * np.tanh(most / cap), 2), 100],
        "norm": [4, (state["length"], 1), 100],
    }[state["way"]]
    tells(sentence(shown), *told, (expected["answers"][i], 1))
    verdict(sentence(shown), below_every_value=expected["answers"][i] < 10)


def picture_shows(state, expected, svg, abreast):
    way = state["way"]
    i = WAYS.index(way)
    seen = {
        name: [t for t in svg.select(f".av-{name}") if t.get("opacity") != "0"]
        for name in ("scale", "pile", "worth", "said", "ghost", "drain")
    }
    # Scores stand on the axis; what the way makes of them is filled.
    lines = [path_of(p)[1] for p in svg.select(".av-rule")]
    assert [t.text for t in seen["scale"][:3]] == ["−10", "0", "10"]
    scores, effect = expected["scores"], effect_of(state, expected)
    ghosts = abs(effect - scores) > 1e-9
    columns = [*svg.select(".av-scored"), *seen["ghost"], *seen["drain"]]
    numbers = [*effect, *scores[ghosts]]
    if way == "sink":
        numbers.append(state["sink"])
    numbers = np.array(numbers)
    top, high = sizes(columns, "y"), sizes(columns, "height")
    ends = np.where(numbers > 0, top, top + high)
    tips = svg.select(".av-tip")
    marks = sizes(tips, "y") + sizes(tips, "height") / 2
    on_one_scale(
        [*lines, *ends, *marks], [-10, 0, 10, *numbers, *effect],
        near=0.25, up=True,
    )  # fmt: skip
    starts = np.where(numbers > 0, top + high, top)
    assert starts == pytest.approx(np.full(len(starts), lines[1]), abs=0.25)
    # A hundred coins, in columns of the keys and of the bin.
    names = [
        t
        for t in svg.select("text")
        if re.match("key|bin shut|sink$|gate$", t.text)
    ]
    middles = sizes(names, "x")
    coins = svg.select(".av-coin")
    assert len(coins) == 100
    places = np.array([spot(coin) for coin in coins])
    assert len({tuple(place) for place in places}) == 100
    nearest = abs(places[:, :1] - middles).argmin(axis=1)
    counts = np.bincount(nearest, minlength=6)
    assert counts.tolist() == expected["coins"][i]
    withheld = [("av-withheld" in coin["class"]) for coin in coins]
    assert (nearest == 5).tolist() == withheld
    # They lie on the floor, so many abreast.
    step = np.diff(np.unique(places[:, 1]))
    floor = places[:, 1].max()
    for j in range(6):
        rows = np.unique(places[nearest == j][:, 1])
        assert len(rows) == math.ceil(counts[j] / abreast)
        assert not len(rows) or rows[-1] == floor
    assert np.ptp(step) < 0.11 if len(step) else True
    open_ = way in ("sink", "gate")
    shown = counts if open_ else counts[:5]
    assert [t.text for t in seen["pile"]] == [str(n) for n in shown]
    assert names[5].text == (way if open_ else "bin shut")
    # The answer, on the axis of the values.
    all_say([t.text for t in svg.select(".av-score")], effect, 2)
    worth = [t.text for t in seen["worth"]]
    assert worth == [*map(str, [10, 40, 20, 30, 50]), *["0"] * open_,
                     *map(str, [10, 40, 20, 30, 50])]  # fmt: skip
    marks = svg.select(".av-worth-at")
    (answer,) = svg.select(".av-outcome")
    on_one_scale(
        [*sizes(marks, "cx"), spot(answer)[0]],
        [0, *VALUES[:, 0], expected["answers"][i]],
    )
    says(seen["said"][-1].text.split()[-1], expected["answers"][i], 1)
    digits = {"sink": 1, "gate": 2, "cap": 4}
    if way in digits:
        says(seen["said"][0].text.split()[-1], state[way], digits[way])
    (chip,) = svg.select("g:has(> .av-taken)")
    assert chip["data-handle"] == f"way-{way}"
