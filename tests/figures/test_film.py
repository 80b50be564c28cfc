"""The film: one query from its words to its output, step by step."""

import numpy as np
import pytest
from bs4 import BeautifulSoup

from course.figures import Film
from helpers.attention import attention, attention_scores
from tests.figures.reading import (
    captions,
    in_proportion,
    read,
    rounded_or_equal,
    says,
    sentence,
    significant,
    sizes,
    tells,
)

# The film from X through three matrices, over all of its steps.
THROUGH = {"what": "X, W_Q, W_K, W_V"}
NARROW = {"W_Q": [[0.5]], "W_K": [[-1]], "W_V": [[2, 0.25, -0.75]]}
CASES = [
    *({"at": k / 4} for k in range(0, 29, 2)),
    *({"at": k + 0.3} for k in (0.1, 3, 4, 5, 6)),
    {"query": 3, "at": 4.1},
    {"words": "it is", "X": [[1], [-2]], "query": 1, "at": 6},
    {"words": "a b c d", "X": 4 * [[2, 2, 2, 2]], "query": 3, "at": 8},
    *({**THROUGH, "query": 1, "at": k} for k in range(16)),
    *({**THROUGH, "at": 4 + k / 10} for k in (0.5, 2, 4, 5, 7, 9.5)),
    # A dot product that four decimals do not hold.
    {**THROUGH, "words": "it is", "X": [[0.37], [0.53]], "at": 7}
    | {"W_Q": [[0.21]], "W_K": [[0.13]], "W_V": [[1]]},
    {**THROUGH, **NARROW, "words": "it is", "X": [[1], [-2]], "at": 3.9},
    {**THROUGH, "words": "a b c d", "X": 4 * [[2, -2, 2, 2]], "at": 18}
    | {f"W_{c}": 4 * [[2, -2, 1.25]] for c in "QKV"},
]


def fitted(state):
    """One decimal, and matrices of whole numbers that fit X and each other.

    So no number is halfway between two that could be shown.
    """
    state["X"] = [[round(x, 1) for x in row] for row in state["X"]]
    rows = len(state["X"])
    state["words"] = " ".join(["<b>", "is", "a", "lookup"][:rows])
    d, width = len(state["X"][0]), len(state["W_Q"][0])
    given = {
        name: [x for row in state[name] for x in row]
        for name in ("W_Q", "W_K", "W_V")
    }
    return state | {
        name: [
            [round(x[(columns * a + c) % len(x)]) for c in range(columns)]
            for a in range(d)
        ]
        for name, x in given.items()
        for columns in [len(state[name][0]) if name == "W_V" else width]
    }


def expected(state):
    """One row of self-attention over the rows of X, by the helpers."""
    X = np.array(state["X"], float)
    i, end = min(state["query"], len(X) - 1), len(X) + 4
    Q = K = V = X
    if state["what"] != "X":
        Q, K, V = (X @ np.array(state[f"W_{c}"], float) for c in "QKV")
        end += 1 + len(K) + len(V) + 1  # q, keys, values; all take places
    output, weights = attention(Q, K, V)
    scores = attention_scores(Q, K)[i]
    return {
        "q": Q[i],
        "K": K,
        "V": V,
        "dots": attention_scores(Q, K, scale=1.0)[i],
        "scores": scores,
        "exponentials": np.exp(scores),
        "weights": weights[i],
        "output": output[i],
        "time": min(state["at"], end),
    }


# --- what a moment shows -----------------------------------------------------


def written(texts, kind):
    """The texts of a kind that are there in full, with their places."""
    return [
        (t.text, float(t["x"]), float(t["y"]))
        for t in texts
        if kind in t["class"] and not t.has_attr("opacity")
    ]


def chips(shown, kind):
    """The chips of a kind that stand whole, row by row: places and texts."""
    result = [
        (float(box["y"]), float(box["x"]), box.find_next_sibling("text").text)
        for box in shown.select(f"rect.av-{kind}:not(.av-passing)")
        if not box.has_attr("opacity")
    ]
    return sorted(result)


def all_near(texts, numbers):
    """Chips have two decimals, or one from 10 on."""
    for text, x in zip(texts, numbers, strict=True):
        says(text, x, 2 if abs(x) < 9.995 else 1)


def made_rows_show(state, expected, shown):
    """What was made by now stands whole: the query, then keys, then values."""
    n, done = len(state["X"]), int(expected["time"])
    made = [expected["q"], *expected["K"], *expected["V"]]
    kinds = ["query", *["key"] * n, *["value"] * n]
    for kind in ("query", "key", "value"):
        numbers = [
            x for row, its in zip(made[:done], kinds, strict=False)
            if its == kind for x in row
        ]  # fmt: skip
        # What is being made stands above; of the query there is one row.
        texts = [text for *_, text in chips(shown, kind)]
        all_near(texts[len(texts) - len(numbers) :], numbers)


def shows(state, expected, shown):
    n, time = len(state["X"]), expected["time"]
    step_tells(state, expected, sentence(shown), int(np.ceil(time)))
    (label,) = captions(shown)
    tells(label, n, significant(time, 3), steps_of(state))
    if state["what"] != "X":
        if time <= 2 * n + 1:
            made_rows_show(state, expected, shown)
        time -= 2 * n + 2  # from here on since all rows are there
    if time >= 0:
        columns_show(state, expected, shown, time)


def columns_show(state, expected, shown, time):
    """What each step brings is there, whole, from its end on."""
    n = len(state["X"])
    steps = [*range(1, n + 1), n + 1, n + 2, n + 3]
    columns = [["dots", j] for j in range(n)]
    columns += [["scores", None], ["exponentials", None], ["weights", None]]
    due = [[] for _ in range(n)]
    for end, (name, j) in zip(steps, columns, strict=True):
        for k in range(n) if j is None else [j]:
            if time >= end:
                due[k].append((expected[name][k], name))
    texts = shown.select(".av-film text")
    numbers = [
        (y, text)
        for text, _, y in written(texts, "av-number")
        + written(texts, "av-weight")
    ]
    # A key below another; in its row dots, scores, exponentials, weights.
    rows = sorted({y for y, _ in numbers})
    filled = [there for there in due if there]
    for y, there in zip(rows, filled, strict=True):
        here = [text for at, text in numbers if at == y]
        for text, (x, name) in zip(here, there, strict=True):
            number_says(text, x, name, state, expected)
    if time >= n + 4:
        values = [text for *_, text in chips(shown, "value")]
        all_near(values[-len(expected["output"]) :], expected["output"])
    bars = sizes(shown.select(".av-grow"))
    if time == n + 2:
        in_proportion(bars, expected["exponentials"])
    if time >= n + 3:
        in_proportion(bars[1::2], expected["weights"])


def number_says(text, x, name, state, expected):
    if name == "exponentials":
        if "e" in text:
            assert abs(read(text) / x - 1) < 0.051
        else:
            assert abs(read(text) - x) < (0.51 if x > 99 else 0.051)
    elif state["what"] == "X":
        says(text, x, 4 if name == "dots" else 3)
    else:
        # As many decimals as the largest of the column has room for.
        far = max(map(abs, expected[name]))
        says(text, x, 3 if far < 10 else 2 if far < 100 else 1)


def steps_of(state):
    """How many steps the film has."""
    n = len(state["X"])
    return n + 4 if state["what"] == "X" else 3 * n + 6


def four(x):
    """What judges an exponential: four digits that count, or a power."""

    def judge(numeral, before):
        if "e" in numeral:
            assert not 1e-3 <= x < 1e5
            significant(x, 2)(numeral)
        elif x >= 1000:
            says(numeral, x)
        else:
            significant(x, 4)(numeral)

    return judge


def step_tells(state, expected, text, step):
    """The sentence of a step: each product and sum, and whose they are."""
    X, q, K = np.array(state["X"], float), expected["q"], expected["K"]
    n = len(X)
    i, names = min(state["query"], n - 1), state["words"].split(" ")
    # Names may be markup, as in "<b>", but hold no digits.

    def products(a, b):
        pairs = [(float(x), 4) for pair in zip(a, b, strict=True)
                 for x in pair]  # fmt: skip
        return [*pairs, rounded_or_equal(float(np.dot(a, b)), 4)]

    message = [[]]
    whose = [names[i]]
    if state["what"] != "X":
        jobs = [("W_Q", i), *(("W_K", j) for j in range(n))]
        jobs += [("W_V", j) for j in range(n)]
        for name, j in jobs:
            columns = np.array(state[name], float).T
            message += [[x for c in columns for x in products(X[j], c)]]
            whose += [names[j]]
        message, whose = [*message, []], [*whose, names[i]]
    message += [products(q, K[j]) for j in range(n)]
    whose += names
    exps = expected["exponentials"]
    message += [
        [len(q), *((x, 3) for x in expected["scores"])],
        [*map(four, exps), four(exps.sum())],
        [(w, 3) for w in expected["weights"]],
        [(x, 3) for x in expected["output"]],
    ]
    whose += ["", "", "", names[-1]]
    assert len(message) == steps_of(state) + 1
    tells(text, *message[step])
    assert whose[step] in text


@pytest.mark.parametrize("settings", CASES[-8:])
def test_film_stills_are_its_frames(look, settings):
    """Four to seven pictures, each what the film shows at its time."""
    figure = Film(**settings)
    state = {key: getattr(figure, key) for key in figure._settings()}
    page = BeautifulSoup(figure.html(), "html.parser")
    pictures = page.select_one(".av-stills").find_all("li", recursive=False)
    assert 4 <= len(pictures) <= 7
    message = 0
    for picture in pictures:
        steps = picture.select_one(".av-steps")
        assert int(steps["start"]) == message, "no step is left out"
        for line in steps.select("li"):
            moment = state | {"at": float(message)}
            step_tells(moment, expected(moment), line.text, message)
            message += 1
        _, _, shown = look("film", {**settings, "at": float(message - 1)})
        assert str(picture.svg) == str(shown.svg)
    assert message - 1 == steps_of(state), "the end is shown"
