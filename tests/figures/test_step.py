"""The step figure: every matrix of one call, and what made each entry."""

import numpy as np

from helpers.attention import attention, attention_scores
from helpers.masks import causal_mask
from tests.figures.reading import (
    all_say,
    call,
    depth,
    ground,
    numbered,
    read,
    rows,
    sentence,
    tells,
    verdict,
    where,
)

CASES = [
    {},
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


def shows(state, expected, shown):
    tables = {
        table.caption.text.split(" ")[0]: table
        for table in shown.select("table")
    }
    one = state["what"] == "X"
    names = [["Q", "K", "V"], ["X"]][one]
    names += ["dots", "scores"]
    names += [*["masked"] * state["causal"], "weights", "output"]
    assert list(tables) == names
    masked = logits(state, expected)
    given = {name: state[name] for name in names if name in state}
    for name, values in {**given, **expected, "masked": masked}.items():
        if name not in tables:
            continue
        values = np.array(values, float)
        texts = rows(tables[name])
        finite = [t for row in texts for t in row if t != "−∞"]
        (digits,) = {len(text.partition(".")[2]) for text in finite}
        for row, numbers in zip(texts, values, strict=True):
            all_say(row, numbers, digits)
        exact = values[np.isfinite(values)]
        short = np.allclose(exact, exact.round(digits), rtol=0, atol=1e-11)
        assert digits == 3 or short, "too few digits"
        named(tables[name], name, state)
        width = np.shape(state["X" if one else "Q"])[1]
        root = where(name == "scores" and state["scale"], width)
        tells(tables[name].caption.text, *values.shape, *root)
        if name == "weights":  # strong at one, faint at zero
            for cell in tables[name].select("td[data-at]"):
                i, j = map(int, cell["data-at"].split(",")[1:])
                assert abs(depth(ground(cell)) - values[i, j]) < 0.01
    # At first the sentence is of the last product of the first row.
    last = len(expected["dots"][0]) - 1
    numbers, _ = entries(state, expected)[f"dots,0,{last}"]
    tells(sentence(shown), *numbers)
    (picked,) = shown.select(".av-picked")
    assert picked["data-at"] == f"dots,0,{last}"


def words_of(state):
    """The words of the keys, if each has one and a query is one of them."""
    Q, K = (state["X" if state["what"] == "X" else c] for c in "QK")
    words = state["words"].split(" ")
    return words if len(words) == len(K) >= len(Q) else None


def named(table, name, state):
    """Words name what is a query or a key, and else numbers do."""
    numbered(table, len(table.select("tbody tr")[0].select("td")))
    words = words_of(state)
    if words:
        heads = [th.text for th in table.select("thead th")]
        names = [th.text for th in table.select("tbody th")]
        assert names == (words if name in "XKV" else words[-len(names) :])
        between = name in ("dots", "scores", "masked", "weights")
        assert (heads == words) == between


def who(state, name, i, j):
    """Whose entry a sentence says that it is of, before it begins."""
    words = words_of(state)
    if not words:
        return ""
    late = len(words) - len(state["X" if state["what"] == "X" else "Q"])
    query = f"Query {words[int(i) + late]}"
    return (
        f"{query}: "
        if name == "output"
        else (f"{query}, key {words[int(j)]}: ")
    )


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
    one = state["what"] == "X"
    q, k, v = 3 * "X" if one else "QKV"
    Q, K, V = (np.array(state[c], float) for c in (q, k, v))
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
        tell("dots", i, j, made, [q, i, None], [k, j, None])
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
        tell("output", i, c, made, ["weights", i, None], [v, None, c])
    return result


def test_step_tells_each_entry_with_its_numbers_and_sources(drawn_states):
    for settings in drawn_states("step"):
        state, expected = settings
        result = call("worksAll", state, of="step")
        correct = entries(state, expected)
        assert list(result) == list(correct)
        for at, (text, sources, own) in result.items():
            numbers, origins = correct[at]
            tells(text, *numbers)
            assert (sources, own) == (origins, at)
            name, i, j = at.split(",")
            begins = f"{who(state, name, i, j)}{name}[{i}][{j}] = "
            assert text.startswith(begins)
            exact_where_it_says_so(text, state, expected, at)


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
