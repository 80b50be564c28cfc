"""The projections: two tokens, and the query, key and value they make."""

import itertools
import re

import numpy as np
import pytest

from helpers.attention import attention_scores
from tests.figures.reading import (
    captions,
    equal_where_it_says_so,
    path_of,
    sentence,
    tells,
    verdict,
    where,
)

# Matrices that leave a token as it is.
SAME_THREE = {f"W_{c}": [[1, 0], [0, 1]] for c in "QKV"}
CASES = [
    {"x1": 0, "x2": 0},
    {"y1": 0, "y2": 0},
    {"x1": -2, "x2": -2, "y1": 2, "y2": 2},
    {"x1": 1, "x2": 0, "y1": 0, "y2": 1, **SAME_THREE},
    {"x1": 2, "x2": 2, "y1": -2, "y2": -2, **SAME_THREE},
    {"x1": 0.5, "x2": -1, "W_Q": [[0.25, 1 / 3], [0, -1]]},
    {"matrix": "W_V", "W_V": [[-1, 0], [1, 0]]},
]


def expected(state):
    """Query, key and value of two tokens, and the shadow of k on q."""
    x, y = ([state[f"{t}1"], state[f"{t}2"]] for t in "xy")
    q, k, v = (
        (np.array([row], float) @ np.array(state[W], float))[0]
        for row, W in ((x, "W_Q"), (y, "W_K"), (y, "W_V"))
    )
    length = np.sqrt(q @ q)
    # The line through q is where k is nearest to its foot.
    along = np.outer(q, q) / (q @ q) if length > 1e-9 else np.zeros((2, 2))
    foot = along @ k
    dots = attention_scores([q], [k], scale=1.0)[0, 0]
    return {
        "q": q,
        "k": k,
        "v": v,
        "dot": dots,
        "score": attention_scores([q], [k])[0, 0],
        "length": length,
        "shadow": np.copysign(np.sqrt(foot @ foot), dots),
        "foot": foot,
    }


def plane_of(svg, end):
    """What turns a place of a plane, 230 wide, into a vector."""
    assert svg["viewbox"] == "0 0 230 230"
    unit = 115 / (end + 0.35)
    return lambda x, y: [(float(x) - 115) / unit, (115 - float(y)) / unit]


def translation(group):
    """Where a group is drawn."""
    return re.findall(r"[-.\d]+", group["transform"])


def arrow_is(svg, kind, vector, end, k=0):
    """An arrow goes from the middle to its tip, where its head is."""
    of = plane_of(svg, end)
    path = svg.select(f"path.av-{kind}")[k]
    points = path_of(path)
    assert points[:2] == [115, 115]
    assert of(*points[2:]) == pytest.approx(list(vector), abs=2e-3 * end)
    head = svg.select(f"circle.av-{kind}, rect.av-{kind}")[k]
    half = float(head.get("width", 0)) / 2
    x, y = (head.get(a) or head[b] for a, b in (("cx", "x"), ("cy", "y")))
    tip = of(float(x) + half, float(y) + half)
    assert tip == pytest.approx(list(vector), abs=2e-3 * end)


def shows(state, expected, shown):
    given, made = shown.select("svg")
    tokens = {n: [state[f"{n}1"], state[f"{n}2"]] for n in "xy"}
    kinds = {"q": "query", "k": "key", "v": "value"}
    for name, token in tokens.items():
        arrow_is(given, f"token-{name}", token, 2)
        (hold,) = given.select(f".av-hold-{name}")
        here = plane_of(given, 2)(*translation(hold.parent))
        assert here == pytest.approx(token, abs=4e-3)
    columns = np.transpose(state[state["matrix"]])
    for k, column in enumerate(columns):
        arrow_is(given, kinds[state["matrix"][-1].lower()], column, 2, k)
    for name, kind in kinds.items():
        arrow_is(made, kind, expected[name], 4)
    of = plane_of(made, 4)
    shadow, drop = (path_of(made.select_one(f".av-{k}"))
                    for k in ("shadow", "drop"))  # fmt: skip
    assert shadow[:2] == [115, 115]
    assert shadow[2:] == drop[2:]
    foot, k = of(*drop[2:]), of(*drop[:2])
    assert foot == pytest.approx(list(expected["foot"]), abs=8e-3)
    assert k == pytest.approx(list(expected["k"]), abs=8e-3)
    # What the eye sees: the drop is at a right angle to the query.
    assert abs(np.subtract(k, foot) @ expected["q"]) < 0.1
    names_stand_clear(given, {**tokens, "w0": columns[0], "w1": columns[1]})
    names_stand_clear(made, {n: expected[n] for n in kinds})
    tells_of(state, expected, shown)


def names_stand_clear(svg, arrows):
    """A name stands nearest to the tip of its own arrow, and apart."""
    of = plane_of(svg, 2 if "x" in arrows else 4)
    one = svg.select_one(".av-one")
    assert one.text == "1"
    assert of(one["x"], 115) == pytest.approx([1, 0], abs=2e-3)
    names = {
        t.text: of(t["x"], float(t["y"]) - 5)
        for t in svg.select("text:not(.av-product, .av-one)")
    }
    assert set(names) == set(arrows)
    far = 0.11 if "x" in arrows else 0.2
    inside = 2.15 if "x" in arrows else 4.15
    for a, b in itertools.combinations(arrows, 2):
        apart = np.hypot(*np.subtract(names[a], names[b]))
        assert apart > far, "names stand apart"
    for name, here in names.items():
        away = np.hypot(*np.subtract(here, arrows[name]))
        assert away < 5 * far
        assert max(map(abs, here)) < inside, "names are inside the plane"


def tells_of(state, expected, shown):
    x, y = ([(state[f"{t}{i}"], 4) for i in (1, 2)] for t in "xy")
    q, k, v = ([(n, 4) for n in expected[name]] for name in "qkv")
    given, made = captions(shown)
    tells(
        given, *x, *y, *((w, 4) for w in np.ravel(state[state["matrix"]], "F"))
    )
    tells(made, *q, *k, *v, (expected["shadow"], 2))
    dots, length = expected["dot"], expected["length"]
    tells(shown.select_one(".av-product").text, (dots, 4))
    across, none = abs(dots) < 1e-9, length < 1e-9
    text = sentence(shown)
    tells(
        text,
        *(*q, *k, q[0], k[0], q[1], k[1], (dots, 4)),
        *where(none, 0),
        *where(not across, (length, 2), (expected["shadow"], 2)),
        *((dots, 4), 2, (expected["score"], 2), *v),
    )
    # Each of q, k and v is named with a sign before the one that is judged.
    q, k, v, dot = (np.ravel(expected[key]) for key in ("q", "k", "v", "dot"))
    equal_where_it_says_so(text, {1: q, 3: k, 5: [*q, *k, *dot], -1: v})
    verdict(
        text,
        against=dots < 0 and not across,
        across=across and not none,
        **{"is zero": none},
    )


def test_token_snaps_where_the_score_is_zero_and_only_there(page):
    """Half a step from the line where q and k are at a right angle."""
    page.open("project", **SAME_THREE, x1=1, x2=1, y1=1, y2=0)
    assert page.run("project.moveByKeys")[:3] == [
        [0.1, 1, False, False], [0, 1, True, True], [-0.1, 1, False, False],
    ]  # fmt: skip
    # y = (1, 0.02): the line of x is at a right angle to it.
    x1, x2, zero, says = page.run("project.whereItIs")
    assert abs(x1 + 0.02 * x2) < 1e-9
    assert abs(zero) < 1e-9
    assert "the score is 0" in says
