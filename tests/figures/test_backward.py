"""The backward pass: every gradient, and what an entry of dY does."""

import numpy as np

from helpers.attention import attention
from helpers.gradients import attention_vjp
from helpers.masks import causal_mask
from tests.figures.reading import (
    Chain,
    box_of,
    narrow,
    sentence,
    tells,
    verdict,
)
from tests.figures.test_step import fitted as fitted_step

GRADIENTS = ["dV", "dA", "dS", "dQ", "dK"]
CASES = [
    *({"entry": k, "alone": True} for k in range(7)),
    *({"step": k, "row": k % 3} for k in range(1, 6)),
    {"step": 3, "row": 0, "column": 2},
    {"entry": 15, "causal": False, "alone": True, "step": 5, "row": 3},
    {"dY": [[0, 0]] * 3},
    {"Q": [[1]], "K": [[0], [0]], "V": [[2], [4]], "dY": [[1]]},
    {
        "Q": [[10] * 4] * 4,
        "K": [[-10] * 4] * 4,
        "V": [[10] * 4] * 4,
        "dY": [[10, -10, 10, -10]] * 4,
        "causal": False,
    },
    {
        "Q": [[1, 2]],
        "K": [[3, 1], [0, 1], [1, 1], [2, 0]],
        "V": [[1], [2], [3], [-4]],
        "dY": [[-0.5]],
        "entry": 0,
    },
]


def fitted(state):
    """Shapes that fit, and numbers at which softmax is not yet a choice."""
    state["X"] = [[0]]  # the step figure cuts Q, K and V
    state = fitted_step(state)
    del state["X"], state["words"]
    T, width = len(state["Q"]), len(state["V"][0])
    given = [x for row in state["dY"] for x in row]
    state["dY"] = [
        [given[(width * i + c) % len(given)] for c in range(width)]
        for i in range(T)
    ]
    for key in "QKV":
        state[key] = [[round(5 * x, 3) for x in row] for row in state[key]]
    return state


def expected(state):
    """Each gradient of attention, by the helper that carries them back."""
    Q, K, V, dY = (np.array(state[k], float) for k in ("Q", "K", "V", "dY"))
    if state["alone"]:
        last = min(state["entry"], dY.size - 1)
        dY = np.eye(dY.size)[last].reshape(dY.shape)
    mask = causal_mask(len(Q), len(K)) if state["causal"] else None
    weights = attention(Q, K, V, mask=mask).weights
    grads = attention_vjp(dY, Q, K, V, weights)
    return {
        "loss": dY,
        "weights": weights,
        "dA": grads.weights,
        "means": np.diagonal(weights @ grads.weights.T),
        "dS": grads.scores,
        "dV": grads.V,
        "dQ": grads.Q,
        "dK": grads.K,
    }


def shows(state, expected, shown):
    chain_shows(state, expected, shown)
    chain_shows(state, expected, narrow("backward", state))


def chain_shows(state, expected, shown):
    """Every matrix above its gradient, and the terms of the opened entry."""
    seen = Chain(shown.select_one("svg.av-chain"))
    Q, K, V = (np.array(state[key], float) for key in "QKV")
    A = np.array(expected["weights"])
    matrices = {"Q": Q, "K": K, "V": V, "S": Q @ K.T / len(Q[0]) ** 0.5,
                "A": A, "Y": A @ V, "dY": expected["loss"]}  # fmt: skip
    matrices |= {key: expected[key] for key in GRADIENTS}
    matrices = {key: np.array(x, float) for key, x in matrices.items()}
    most = {key: max(np.abs(x).max(), 1e-9) for key, x in matrices.items()}
    most |= {"A": 1, "Y": most["V"]}
    T, S = A.shape
    later = np.arange(S) > np.arange(T)[:, None] + S - T
    assert set(seen.maps) == set(matrices)
    for key, values in matrices.items():
        hides = later & state["causal"] & (key in ("S", "A", "dS", "dA"))
        closed = hides if hides.any() else None
        seen.map_shows(key, values, most[key], closed, key.startswith("d"))
    # Shapes are compared at a glance: a gradient is below its matrix.
    for key in ("Q", "K", "S", "A", "V", "Y"):
        over, under = (box_of(seen.maps[k][0, 0]) for k in (key, f"d{key}"))
        assert over[0, 0] == under[0, 0]
        assert over[0, 1] < under[0, 1]
    assert [seen.leads(key) for key in ("dY", "dS")] == ["dA", "dQ"]
    # Names of rows stand where they change: keys are not called queries.
    for key in ("K", "V", "dK", "dV"):
        assert seen.names(key) == [f"k{k}" for k in range(S)]
    for key in ("Q", "S", "Y", "dQ", "dS", "dY"):
        assert seen.names(key) == [f"q{k}" for k in range(T)]
    name = GRADIENTS[state["step"] - 1]
    i, j = (
        min(state[key], n - 1)
        for key, n in zip(("row", "column"), matrices[name].shape, strict=True)
    )
    assert seen.opened == (name, i, j)
    origins, rows = terms(matrices, most, expected["means"], name, i, j)
    for cells, (of, row, column) in zip(seen.sources, origins, strict=True):
        assert set(cells) == {
            (of, a, b)
            for a, b in np.ndindex(matrices[of].shape)
            if row in (a, None) and column in (b, None)
        }
    for k, (values, limit, mark) in enumerate(rows):
        seen.strip_shows(k, values, limit, mark)
    assert len(seen.strips) == len(rows)
    x = matrices[name][i, j]
    seen.big_shows(x)
    entry = min(state["entry"], np.size(expected["loss"]) - 1)
    spot = ("dY", *divmod(entry, len(V[0])))
    assert seen.chosen == ([spot] if state["alone"] else None)
    text = sentence(shown)
    hidden = name in ("dA", "dS") and later[i, j] and state["causal"]
    verdict(
        text,
        hidden_from=hidden,
        does_not_move=x == 0 and not hidden,
        hardly_moves=0 < abs(x) < 5e-4,
        raises=x >= 5e-4,
        lowers=x <= -5e-4,
    )
    if not hidden:
        digits = 4 if abs(x) < 0.1 else 3
        tells(text.split(":")[0], i, j, (x, digits))


def terms(matrices, most, means, name, i, j):
    """Where the terms of an entry stand, and the rows of their numbers."""

    def row(of, k):
        return (of, k, None), matrices[of][k], most[of]

    def column(of, k):
        return (of, None, k), matrices[of][:, k], most[of]

    whole = matrices[name][i], most[name], j
    if name == "dS":
        one, other = row("A", i), row("dA", i)
        rest = other[1] - means[i], most["dA"], None
        last = [rest, whole]
    else:
        one, other = {
            "dV": lambda: (column("A", i), column("dY", j)),
            "dA": lambda: (row("dY", i), row("V", j)),
            "dQ": lambda: (row("dS", i), column("K", j)),
            "dK": lambda: (column("dS", i), column("Q", j)),
        }[name]()
        last = [(one[1] * other[1], None, None), whole]
    both = [(numbers, limit, None) for _, numbers, limit in (one, other)]
    return [one[0], other[0]], both + last
