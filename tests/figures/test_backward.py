"""The backward pass: every gradient, and what an entry of dY does."""

import numpy as np

from helpers.attention import attention
from helpers.gradients import attention_vjp
from helpers.masks import causal_mask
from tests.figures.reading import (
    depth,
    ground,
    numbered,
    on_one_scale,
    path_of,
    read,
    says,
    sentence,
    sizes,
    tells,
    verdict,
    where,
)
from tests.figures.test_step import fitted as fitted_step

CASES = [
    *({"entry": k} for k in range(7)),
    {"entry": 15, "causal": False},
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
    mask = causal_mask(len(Q), len(K)) if state["causal"] else None
    weights = attention(Q, K, V, mask=mask).weights
    grads = attention_vjp(dY, Q, K, V, weights)
    return {
        "weights": weights,
        "dA": grads.weights,
        "means": np.diagonal(weights @ grads.weights.T),
        "dS": grads.scores,
        "dV": grads.V,
        "dQ": grads.Q,
        "dK": grads.K,
    }


def shows(state, expected, shown):
    tables = {t.caption.text.split(" ")[0]: t for t in shown.select("table")}
    given = {**expected, "dY": state["dY"], "A": expected["weights"]}
    assert list(tables) == ["dY", "A", "dV", "dA", "dS", "dQ", "dK"]
    T, S = np.shape(expected["weights"])
    later = np.arange(S) > np.arange(T)[:, None] + S - T
    closed = later & state["causal"]
    grads = [given[k] for k in tables if k != "A"]
    most = max(np.abs(g).max() for g in grads)
    for name, table in tables.items():
        values = np.array(given[name], float)
        cells = [row.select("td") for row in table.select("tbody tr")]
        assert np.shape(cells)[:2] == values.shape
        numbered(table, values.shape[1])
        for i, j in np.ndindex(*values.shape):
            if name in ("A", "dS") and closed[i, j]:
                assert cells[i][j].text == "·"
                continue
            digits = 3 if name in ("dY", "A") else 4
            says(cells[i][j].text, values[i, j], digits)
            share = values[i, j] / (1 if name == "A" else most or 1)
            seen = depth(ground(cells[i][j]))
            assert abs(seen - share) < 0.01, "strong is far from zero"
        root = where(name in ("dQ", "dK"), len(state["Q"][0]))
        tells(table.caption.text, *values.shape, *root)
    wide = len(state["dY"][0])
    entry = min(state["entry"], T * wide - 1)
    (picked,) = shown.select(".av-picked")
    assert picked["data-at"] == f"dY,{entry // wide},{entry % wide}"
    tells_of(state, expected, sentence(shown), *divmod(entry, wide))
    svg = shown.select_one(".av-pull")
    pull_shows(state, expected, svg, *divmod(entry, wide))


def pull_shows(state, expected, svg, i, c):
    """A bar for the entry, and one for each score of its row."""
    T, S = np.shape(expected["dS"])
    seen = i + S - T + 1 if state["causal"] else S
    numbers = np.array([state["dY"][i][c], *expected["dS"][i]])
    bars = svg.select("rect")
    texts = [t.text for t in svg.select("text")]
    ticks = [read(text) for text in texts[:7]]
    # An axis of logarithms to both sides: its numbers and the bars' ends.
    far = np.sign(numbers) * np.log1p(np.minimum(100 * abs(numbers), 1000))
    at = np.sign(ticks) * np.log1p(100 * abs(np.array(ticks)))
    left, wide = sizes(bars, "x"), sizes(bars)
    ends = np.where(numbers < 0, left, left + wide)
    rules = [path_of(rule)[0] for rule in svg.select(".av-rule")]
    on_one_scale([*rules[:7], *ends], [*at, *far])
    for bar, x in zip(bars, numbers, strict=True):
        assert np.sign(np.round(depth(bar["fill"]), 1)) == np.sign(x)
    rest = texts[7:]
    says(rest[1], numbers[0], 4)
    for k, (name, number) in enumerate(
        zip(rest[2::2], rest[3::2], strict=True)
    ):
        tells(name, i, k)
        if k < seen:
            says(number, numbers[k + 1], 3)
        else:
            assert number == "·"


def tells_of(state, expected, text, i, c):
    """The sentence: the row's mean, and its largest gradient of a score."""
    means, A, dA, dS = (expected[k] for k in ("means", "weights", "dA", "dS"))
    sizes = np.abs(dS[i])
    # Of two keys the gradients are opposite and equal: the first is told.
    j = int(np.flatnonzero(sizes >= sizes.max() * (1 - 1e-9))[0])
    three = [(x, 3) for x in (A[i, j], dA[i, j], means[i], dS[i, j])]
    tells(text, i, c, (state["dY"][i][c], 4), i, (means[i], 3),
          j, i, j, *three)  # fmt: skip
    none, small = sizes[j] == 0, sizes[j] < 5e-4
    verdict(
        text,
        No_score=none,
        does_not_move=none,
        hardly_moves=small and not none,
        raises=dS[i, j] > 0 and not small,
        lowers=dS[i, j] < 0 and not small,
    )
