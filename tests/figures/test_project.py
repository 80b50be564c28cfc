"""The projections: two tokens, and the query, key and value they make."""

import numpy as np

from helpers.attention import attention_scores
from tests.figures.reading import (
    captions,
    equal_where_it_says_so,
    in_proportion,
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


def shows(state, expected, shown):
    given, made = shown.select("svg")
    kind = {"q": "query", "k": "key", "v": "value"}
    arrows = {f"path.av-token-{n}": [state[f"{n}{i}"] for i in (1, 2)]
              for n in "xy"}  # fmt: skip
    columns = np.transpose(state[state["matrix"]])
    here = [path_of(given.select_one(it)) for it in arrows]
    own = f"path.av-{kind[state['matrix'][-1].lower()]}"
    here += map(path_of, given.select(own))
    arrows_show(here, [*arrows.values(), *columns])
    there = [path_of(made.select_one(f"path.av-{k}")) for k in kind.values()]
    shadow, drop = (path_of(made.select_one(f".av-{k}"))
                    for k in ("shadow", "drop"))  # fmt: skip
    middle = shadow[:2]
    arrows_show(
        [*there, shadow, [*middle, *drop[:2]], [*middle, *drop[2:]]],
        [*(expected[n] for n in kind), expected["foot"], expected["k"],
         expected["foot"]],
    )  # fmt: skip
    tells_of(state, expected, shown)


def arrows_show(paths, vectors):
    """Arrows start in the middle, on one scale for both of their numbers."""
    paths, vectors = np.array(paths)[:, :4], np.array(vectors)
    assert (paths[:, :2] == paths[0, :2]).all()
    (right, down), (a, b) = (paths[:, 2:] - paths[:, :2]).T, vectors.T
    in_proportion([*right, *-down], [*a, *b])


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
        *(q[0], k[0], q[1], k[1], (dots, 4)),
        *where(none, 0),
        *where(not across, (length, 2), (expected["shadow"], 2)),
        *(2, (expected["score"], 2)),
    )
    # The second sign is before the dot product.
    q, k, dot = (np.ravel(expected[key]) for key in ("q", "k", "dot"))
    equal_where_it_says_so(text, {1: [*q, *k, *dot]})
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
