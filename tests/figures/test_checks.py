"""Programs and checks: every verdict, and the two numbers behind it."""

import numpy as np

from helpers.attention import attention
from helpers.masks import causal_mask
from tests.figures.reading import depth, rows, sentence, tells, verdict

PROGRAMS = [
    "right", "no 1/√dₖ", "softmax over the queries", "A.T @ V",
    "V returned unchanged", "Q and K swapped", "no mask", "mask off by one",
    "mask after the softmax",
]  # fmt: skip
CHECKS = [
    "rows sum to 1", "no later key", "size of the output", "output by loops",
    "masked, by loops", "masked, ones give 1",
]  # fmt: skip
CASES = [
    {"tokens": 0},
    {"tokens": 0, "program": "no mask", "check": "no later key"},
    *({"program": PROGRAMS[k], "check": CHECKS[k % 6]} for k in range(9)),
]  # fmt: skip


def wrong(name, Q, K, V, mask):
    """Weights and output of a program, made from the right one."""
    T = len(Q)
    full, lower = np.ones((T, T), bool), mask.all()
    weights, output = attention(Q, K, V, mask=mask)[::-1]
    if name == "no 1/√dₖ":
        output, weights = attention(Q, K, V, mask=mask, scale=1.0)
    elif name == "softmax over the queries":
        weights = attention(K, Q, V, mask=mask.T).weights.T
        output = weights @ V
    elif name == "A.T @ V":
        output = weights.T @ V
    elif name == "V returned unchanged":
        output = V
    elif name == "Q and K swapped":
        output, weights = attention(K, Q, V, mask=mask)
    elif name == "no mask":
        output, weights = attention(Q, K, V, mask=full)
    elif name == "mask off by one" and not lower:
        output, weights = attention(Q, K, V, mask=np.tri(T, T, 1, dtype=bool))
    elif name == "mask after the softmax":
        weights = attention(Q, K, V, mask=full).weights * mask
        output = weights @ V
    return weights, output


def data(t):
    """Queries, keys and values between the demo's and others."""
    demo = np.eye(3), np.eye(3), np.array([[10.0, 0], [0, 5], [0, 0]])
    other = (
        np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0]]),
        np.array([[0, 1, -1], [1, -1, 2], [-1, 0, 1]]),
        np.array([[1, 4], [-2, 0], [3, 1]]),
    )
    return [(1 - t) * a + t * b for a, b in zip(demo, other, strict=True)]


def compared(program, check, t):
    """All that a check finds in a program, and all that it expects."""
    Q, K, V = data(t)
    full, causal = np.ones((3, 3), bool), causal_mask(3)
    if check == "rows sum to 1":
        return wrong(program, Q, K, V, full)[0].sum(axis=1), np.ones(3)
    if check == "no later key":
        weights = wrong(program, Q, K, V, causal)[0]
        return weights[np.triu_indices(3, 1)], np.zeros(3)
    if check == "size of the output":
        return np.array([wrong(program, Q, K, V, causal)[1].size]), [V.size]
    if check == "masked, ones give 1":
        ones = np.ones((3, 1))
        return wrong(program, Q, K, ones, causal)[1].ravel(), np.ones(3)
    mask = full if check == "output by loops" else causal
    result = wrong(program, Q, K, V, mask)[1]
    return result.ravel(), attention(Q, K, V, mask=mask).output.ravel()


def verdicts(tokens):
    """What each check finds and expects in each program, and its verdict."""
    shape = len(PROGRAMS), len(CHECKS)
    result, due, refused = np.zeros((3, *shape))
    for i, program in enumerate(PROGRAMS):
        for j, check in enumerate(CHECKS):
            x, y = map(np.asarray, compared(program, check, tokens))
            apart = ~np.isclose(x, y, rtol=1e-9, atol=1e-12)
            k = apart.argmax()  # the first that differs, or the first
            result[i, j], due[i, j], refused[i, j] = x[k], y[k], apart.any()
    return result, due, refused


def expected(state):
    result, due, refused = verdicts(state["tokens"])
    Q, K, V = data(state["tokens"])
    weights = attention(Q, K, V).weights
    alike = [np.allclose(of, of.T) for of in (Q @ K.T, weights)]
    assert alike[0] == alike[1]
    return {
        "found": result,
        "expected": due,
        "refused": refused,
        "others": verdicts(1)[2],
        "scores": Q @ K.T,
        "weights": weights,
        "symmetric": all(alike),
    }


def shows(state, expected, shown):
    refused, others = (
        np.array(expected[key], bool) for key in ("refused", "others")
    )
    table = shown.table
    sign = "=" if expected["symmetric"] else "≠"
    reasons = [why.text for why in table.select("tbody th small")]
    assert reasons == [*[f"unmasked Aᵀ {sign} A"] * 2, f"K Qᵀ {sign} Q Kᵀ"]
    heads = [th.text for th in table.select("thead th")]
    names = [th.contents[0].text for th in table.select("tbody th")]
    assert (heads, names) == (CHECKS, PROGRAMS)
    marks = np.array(rows(table))
    was, now = (np.where(x, "✗", "✓") for x in (others, refused))
    changed = np.char.add(np.char.add(was, "→"), now)
    np.testing.assert_array_equal(marks, np.where(was == now, now, changed))
    flips = (refused != others).sum()
    tells(table.caption.text, *[flips] * bool(flips))
    mirror = shown.select_one(".av-mirror")
    verdict(
        mirror["aria-label"],
        equal=expected["symmetric"],
        differ_from=not expected["symmetric"],
    )
    scores, weights = (np.array(expected[k]) for k in ("scores", "weights"))
    shares = [scores / abs(scores).max(), weights]
    shades = [depth(cell["fill"]) for cell in mirror.select("rect")]
    due = np.ravel([[one, one.T] for one in shares])
    assert abs(np.array(shades) - due).max() < 0.01
    signs = [t.text for t in mirror.select(".av-alike, .av-unlike")]
    assert signs == [sign] * 2
    i, j = names.index(state["program"]), heads.index(state["check"])
    picked = table.select_one("td.av-picked")
    assert table.select("tbody td").index(picked) == i * len(heads) + j
    head, numbers = sentence(shown).split("”: ")
    tells(
        numbers,
        *((expected[key][i][j], 4) for key in ("found", "expected")),
        *(refused[1:, j].sum(), len(names) - 1, len(heads)),
        (~refused[1:].any(axis=1)).sum(),
    )
    assert f"“{state['check']}”" in head
    assert head.endswith(f"“{state['program']}")
    verdict(head, refuses=refused[i, j], passes=not refused[i, j], wrong=i)


def test_the_right_program_passes_and_each_wrong_one_is_refused_by_one():
    for t in (0.05, 0.5, 1):
        refused = expected({"tokens": t})["refused"]
        assert not refused[0].any()
        assert refused[1:].any(axis=1).all()
    alike = expected({"tokens": 0})["refused"]
    assert not alike[PROGRAMS.index("Q and K swapped")].any()
