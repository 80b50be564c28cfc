"""The step figure: every matrix of one call, and what made each entry."""

import numpy as np

from helpers.attention import attention, attention_scores
from helpers.masks import causal_mask
from tests.empty_page import state_of
from tests.figures.reading import (
    Chain,
    call,
    narrow,
    number_says,
    read,
    sentence,
    tells,
    verdict,
    where,
)

CASES = [
    {},
    *({"causal": True, "step": k, "row": 2} for k in (2, 3, 4, 5)),
    {"causal": True, "step": 3, "row": 0, "column": 2},
    {"X": [[1, 0], [2, 3]], "words": "dogs bark", "causal": True},
    # One query of three positions is the last.
    {"Q": [[2.0]], "K": [[1.0], [0.5], [1]], "V": [[3.0], [1], [2]]},
    {"causal": True},
    {"scale": False},
    {"X": [[0.5, 1 / 3], [2, -1], [1e-5, 7]], "causal": True},
    {"Q": [[-100.0]], "K": [[100.0], [90.0]], "V": [[1.0], [2]]},
    {"Q": [[2.0]], "K": [[1.0]], "V": [[3.0, 1.5]], "causal": True},
    {"Q": [[0.0]], "K": [[1.0], [2.0]], "V": [[3.0], [0.25]]},
    {"Q": [[1.0], [2]], "K": [[3.0], [-4.0]], "V": [[1.0], [1]],
     "scale": False, "causal": True},
    # Rounded weights, and one of zero, add up to exactly one.
    {"Q": [[1.0], [2], [3]], "K": [[1.0], [2], [3]],
     "V": [[1.0], [1], [1]], "causal": True},
    {"Q": [[1.0]], "K": [[11.5], [-6.9]], "V": [[1.0], [1]], "scale": False},
    {"Q": [[1.0]], "K": [[11.6], [-7.0]], "V": [[1.0], [1]], "scale": False},
    # exp(11.51293) is a little more than 100,000.
    {"Q": [[1.0]], "K": [[11.51293], [-100.0]], "V": [[1.0], [1]],
     "scale": False},
]  # fmt: skip


def fitted(state):
    """Cut Q, K and V to shapes that fit, and all numbers to moderate ones."""
    Q, K, V = state["Q"], state["K"], state["V"]
    d_k, S = min(len(Q[0]), len(K[0])), min(len(K), len(V))
    T = min(len(Q), S) if state["causal"] else len(Q)
    shapes = {"Q": (T, d_k), "K": (S, d_k), "V": (S, len(V[0]))}
    for key, (n, columns) in shapes.items():
        state[key] = [row[:columns] for row in state[key][:n]]
    for key in "XQKV":
        state[key] = [[round(x / 50, 3) for x in row] for row in state[key]]
    n = len(state["X"] if state.get("what") == "X" else state["K"])
    state["words"] = " ".join(["<b>", "is", "a", "no", "no", "x"][:n])
    return state


def expected(state):
    """Every matrix of one attention call, by the helpers."""
    letters = 3 * "X" if state["what"] == "X" else "QKV"
    Q, K, V = (np.array(state[letter]) for letter in letters)
    scale = None if state["scale"] else 1.0
    mask = causal_mask(len(Q), len(K)) if state["causal"] else None
    output, weights = attention(Q, K, V, mask=mask, scale=scale)
    return {
        "dots": attention_scores(Q, K, scale=1.0),
        "scores": attention_scores(Q, K, scale=scale),
        "weights": weights,
        "output": output,
    }


NAMES = ["dots", "scores", "masked", "weights", "output"]


def opened_of(state, expected):
    """The name of the matrix of the opened entry, and its row and column."""
    names = [name for name in NAMES if name != "masked" or state["causal"]]
    name = names[min(state["step"], len(names)) - 1]
    values = np.array(expected["scores" if name == "masked" else name])
    return name, *(
        min(state[key], n - 1)
        for key, n in zip(("row", "column"), values.shape, strict=True)
    )


def shows(state, expected, shown):
    chain_shows(state, expected, shown)
    chain_shows(state, expected, narrow("step", state))


def chain_shows(state, expected, shown):
    """Every matrix in its shades, and the numbers of the opened entry."""
    svg = shown.select_one("svg.av-chain")
    seen = Chain(svg)
    hidden = logits(state, expected)
    letters = 3 * "X" if state["what"] == "X" else "QKV"
    matrices = {
        **{
            k: np.array(state[c], float)
            for k, c in zip("QKV", letters, strict=True)
        },
        **{k: np.array(x, float) for k, x in expected.items()},
        **({"masked": hidden} if state["causal"] else {}),
    }
    most = {k: np.abs(matrices[k]).max() or 1 for k in ("Q", "K", "V", "dots")}
    most |= {"scores": most["dots"], "masked": most["dots"], "weights": 1,
             "output": most["V"]}  # fmt: skip
    assert set(seen.maps) == set(matrices)
    for key, values in matrices.items():
        seen.map_shows(key, values, most[key], np.isneginf(values))
    name, i, j = opened_of(state, expected)
    assert seen.opened == (name, i, j)
    numbers, sources = entries(state, expected)[f"{name},{i},{j}"]
    for cells, (of, row, column) in zip(seen.sources, sources, strict=True):
        shape = matrices[of].shape
        assert set(cells) == {
            (of, a, b)
            for a, b in np.ndindex(shape)
            if row in (a, None) and column in (b, None)
        }
    tells(svg["aria-label"], *numbers)
    for k, (values, limit, mark) in enumerate(
        strips(matrices, most, name, i, j)
    ):
        seen.strip_shows(k, values, limit, mark)
    assert len(seen.strips) == k + 1
    value = matrices[name][i, j]
    seen.big_shows(value)
    tells(sentence(shown).split(" is ")[0], short(value))
    words = words_of(state)
    labels = [strip[0] for strip in seen.strips]
    if words and name == "dots":
        late = len(words) - len(matrices["Q"])
        both = " ".join(labels[:2])
        verdict(both, **{words[late + i]: True, words[j]: True})
    # A row is called by the title of its matrix.
    if name in ("dots", "output"):
        own = seen.maps[name][0, 0].find_parent("g")
        assert labels[3].startswith(own.select_one(".av-title").text)
    if name == "weights":
        with np.errstate(over="ignore"):
            total = np.exp(hidden[i]).sum()
        told = labels[2].removeprefix("÷ sum").strip()
        told = told or seen.big.select_one("text").text.removeprefix("÷ ")
        number_says(told, total, {"width": 64})
    keys = words or [f"k{k}" for k in range(len(matrices["K"]))]
    for key in ("dots", "scores", "weights"):
        assert seen.names(key, "columns") in ([], keys)
    if state == state_of("step"):
        assert seen.names("weights", "columns") == keys


def strips(matrices, most, name, i, j):
    """The rows of numbers of an entry: numbers, scale, and the marked one."""
    whole = matrices[name][i], most[name], j
    before = "masked" if "masked" in matrices else "scores"
    if name in ("dots", "output"):
        a, b = ("Q", "K") if name == "dots" else ("weights", "V")
        x = matrices[a][i]
        y = matrices[b][j] if name == "dots" else matrices[b][:, j]
        return [
            (x, most[a], None),
            (y, most[b], None),
            (x * y, None, None),
            whole,
        ]
    if name == "weights":
        scores = matrices[before][i]
        with np.errstate(over="ignore"):
            powers = np.exp(scores)
        return [(scores, most[before], j), (powers, None, j), whole]
    source = {"scores": "dots", "masked": "scores"}[name]
    return [(matrices[source][i], most[source], j), whole]


def words_of(state):
    """The words of the keys, if each has one and a query is one of them."""
    Q, K = (state["X" if state["what"] == "X" else c] for c in "QK")
    words = state["words"].split(" ")
    return words if len(words) == len(K) >= len(Q) else None


def logits(state, expected):
    T, S = np.shape(expected["dots"])
    later = np.arange(S) > np.arange(T)[:, None] + S - T
    closed = later & state["causal"]
    return np.where(closed, -np.inf, expected["scores"])


def short(x):
    """What judges a numeral: exact to five decimals, or rounded to four."""

    def judge(numeral, before):
        digits = len(numeral.partition(".")[2])
        near = 1e-11 if digits == 5 else 0.500001e-4
        assert digits <= 5
        assert x == read(numeral) or abs(read(numeral) - x) <= near, (
            numeral,
            x,
        )

    return judge


def entries(state, expected):
    """Of each entry the numbers of its sentence, and what it comes from."""
    letters = 3 * "X" if state["what"] == "X" else "QKV"
    Q, K, V = (np.array(state[c], float) for c in letters)
    dots, scores, weights, output = (
        np.array(expected[key])
        for key in ("dots", "scores", "weights", "output")
    )
    result = {}

    def tell(name, i, j, numbers, *sources):
        numbers = [i, j, *(short(float(x)) for x in numbers)]
        result[f"{name},{i},{j}"] = numbers, list(sources)

    def products(a, b):
        return np.stack([a, b], axis=1).ravel()

    hidden = logits(state, expected)
    last = "scores"
    for i, j in np.ndindex(dots.shape):
        made = [i, j, *products(Q[i], K[j]), dots[i, j]]
        tell("dots", i, j, made, ["Q", i, None], ["K", j, None])
    for i, j in np.ndindex(dots.shape):
        d = len(Q[0])
        divided = where(state["scale"], d, dots[i, j], np.sqrt(d))
        tell("scores", i, j, [i, j, *divided, scores[i, j]], ["dots", i, j])
    if state["causal"]:
        for i, j in np.ndindex(dots.shape):
            made = [-np.inf, j, i]
            if hidden[i, j] > -np.inf:
                made = [i, j, scores[i, j], i, j]
            tell("masked", i, j, made, ["scores", i, j])
        last = "masked"
    for i, j in np.ndindex(dots.shape):
        with np.errstate(over="ignore"):
            top, total = np.exp(hidden[i, j]), np.exp(hidden[i]).sum()
        plain = all(x == 0 or 1e-3 < x < 1e5 for x in (top, total))
        ratio = where(plain and total > 0, top, total)
        made = [hidden[i, j], *hidden[i], *ratio, weights[i, j]]
        tell("weights", i, j, made, [last, i, None])
    for i, c in np.ndindex(output.shape):
        made = [i, c, *products(weights[i], V[:, c]), output[i, c]]
        tell("output", i, c, made, ["weights", i, None], ["V", None, c])
    return result


def test_step_tells_each_entry_with_its_numbers_and_sources(drawn_states):
    for settings in drawn_states("step"):
        state, expected = settings
        result = call("worksAll", state, of="step")
        correct = entries(state, expected)
        assert list(result) == list(correct)
        for at, (text, sources) in result.items():
            numbers, origins = correct[at]
            tells(text, *numbers)
            assert sources == origins
            name, i, j = at.split(",")
            assert text.startswith(f"{name}[{i}][{j}] = ")
            exact_where_it_says_so(text, state, expected, at)


FAR = {"what": "Q, K, V", "Q": [[-100]], "V": [[1], [2]], "scale": False}
SENTENCES = [
    ("dots,0,2", {}, "X[0] · X[2] = 1×1 + 0×1 + 1×0 + 0×0 = 1"),
    ("scores,0,2", {}, "dots[0][2] / √4 = 1 / 2 = 0.5"),
    ("weights,0,2", {}, "exp(0.5) / (exp(1) + exp(0) + exp(0.5)) "
     "≈ 1.6487 / 5.3670 ≈ 0.3072"),
    ("output,0,2", {}, "weights[0] · column 2 of X "
     "= 0.5065×1 + 0.1863×0 + 0.3072×0 ≈ 0.5065"),
    ("masked,0,2", {"causal": True}, "−∞, since key 2 comes after query 0"),
    ("weights,1,2", {"causal": True}, "exp(−∞) / (exp(0) + exp(1) + "
     "exp(−∞)) ≈ 0 / 3.7183 = 0"),
    ("weights,0,1", FAR | {"K": [[100], [90]]},
     "exp(−9,000) / (exp(−10,000) + exp(−9,000)) ≈ 1"),
    ("weights,0,1", FAR | {"K": [[90], [100]]},
     "exp(−10,000) / (exp(−9,000) + exp(−10,000)) ≈ 0"),
    ("weights,0,1", FAR | {"K": [[0], [0]]},
     "exp(0) / (exp(0) + exp(0)) = 1 / 2 = 0.5"),
    ("weights,0,1", FAR | {"K": [[-0.05], [-0.05]]},
     "exp(5) / (exp(5) + exp(5)) ≈ 148.4132 / 296.8263 = 0.5"),
]  # fmt: skip


def test_step_sum_of_an_entry():
    """The digits of the sources, and no zero over a zero."""
    for entry, settings, text in SENTENCES:
        name, i, j = entry.split(",")
        told = call("worksAll", state_of("step", **settings), of="step")
        assert told[entry][0] == f"{name}[{i}][{j}] = {text}"


def exact_where_it_says_so(text, state, expected, at):
    """After an equals sign at the end stands the number and no rounding."""
    name, i, j = at.split(",")
    if name == "masked":
        hidden = logits(state, expected)[int(i), int(j)] == -np.inf
        verdict(text, comes_after=hidden, may_attend=not hidden)
        return
    _, sign, last = text.rsplit(" ", 2)
    x = float(np.array(expected[name])[int(i), int(j)])
    assert sign in "=≈"
    if name == "weights" and min(x, 1 - x) < 1e-12:
        # One of several keys has some of the weight, and not all of it.
        row = logits(state, expected)[int(i)]
        alone = (row > -np.inf).sum() == 1 or row[int(j)] == -np.inf
        assert (sign == "=") == alone
    assert sign == "≈" or abs(read(last) - x) < 1e-11, text
