"""The film: one query from its words to its output, step by step."""

from collections import namedtuple

import numpy as np
import pytest
from bs4 import BeautifulSoup

from course.figures import Film
from helpers.attention import attention, attention_scores
from tests.figures.reading import (
    all_say,
    captions,
    read,
    rounded_or_equal,
    says,
    sentence,
    significant,
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
    """The chips of a kind that stand whole: where each is, and its text."""
    found = []
    for box in shown.select(f"rect.av-{kind}:not(.av-passing)"):
        text = box.find_next_sibling("text")
        assert f"av-chip-{kind}" in text["class"]
        if not box.has_attr("opacity"):
            found.append((float(box["x"]), float(box["y"]), text.text))
    return found


def row_of(found, y, left=0, right=360):
    """The numbers of one row of chips, from the left to the right."""
    return [t for x, at, t in sorted(found) if at == y and left <= x < right]


def all_near(texts, numbers):
    """Chips have two decimals, or one from 10 on."""
    for text, x in zip(texts, numbers, strict=True):
        says(text, x, 2 if abs(x) < 9.995 else 1)


def film_makes(state, expected, shown):
    """Before the query meets the keys: rows, a matrix, and what they make."""
    X, time = np.array(state["X"], float), expected["time"]
    n, width = X.shape
    query, keys = expected["q"], expected["K"]
    made = [query, *keys, *expected["V"]]
    rows = [min(state["query"], n - 1), *range(n), *range(n)]
    kinds = ["query", *["key"] * n, *["value"] * n]
    top = 60 + 19 * (width + 1) + 24  # where the rows of X stand
    step = min(int(np.ceil(time)) - 1, len(made)) if time else 0
    # What was made stands whole in its place.
    places = [28, *[top + 22 * j for j in range(n)] * 2]
    for k in range(min(int(time), len(made))):
        if time <= len(made):
            here = row_of(chips(shown, kinds[k]), places[k])
            all_near(here, made[k])
    if time >= len(made) + 1:  # all take their places
        low = {"query": [28], "key": [88 + 58 * j for j in range(n)]}
        low["value"] = [y + 19 for y in low["key"]]
        for kind, rows_ in (("key", keys), ("value", expected["V"])):
            for y, row in zip(low[kind], rows_, strict=True):
                all_near(row_of(chips(shown, kind), y)[: len(row)], row)
        assert not shown.select("rect.av-token")
        return
    if step == len(made):
        return  # on their way
    kind, row = kinds[step], rows[step]
    W = np.array(state[f"W_{kind[0].upper()}"], float)
    # The matrix, row by row, and the rows of X below it.
    grid = chips(shown, f"w-{kind}")
    if time - step > 0.12 or step in (0, *range(2, n + 1)):
        for a in range(width):
            all_near(row_of(grid, 60 + 19 * a), W[a])
    for j in range(n):
        all_near(row_of(chips(shown, "token"), top + 22 * j), X[j])
    # Each product stands beside its factors, each sum below its products.
    said = written(shown.select(".av-film text"), "av-number")
    columns = {}
    for text, x, _ in sorted(said, key=lambda t: t[1:]):
        columns.setdefault(x, []).append(text.removeprefix("= "))
    if time - step > 0.12:  # those of the row before are gone
        for c, texts in enumerate(columns.values()):
            all_near(texts, X[row] * W[:, c])
    done = 0.16 + 0.62 * np.arange(1, len(made[step]) + 1) / len(made[step])
    here = time - step if time else 0
    assert len(columns) >= (done <= here).sum()
    sums = row_of(chips(shown, kind), 64 + 19 * width)
    if 0.12 < here <= 0.8 or here == 1:
        total = (done <= here + 1e-9).sum()
        all_near(sums[:total], made[step][:total])
        assert len(sums) == total
        # Until all are there none of them leaves.
        before = sum(
            len(row)
            for row, other in zip(made[:step], kinds, strict=False)
            if other == kind
        )
        if here < 1:
            assert len(chips(shown, kind)) == before + total
    # The row of X stands upright beside the column that it visits.
    if here == 1:
        last = max(x for x, _, _ in grid)
        upright = [t for t in chips(shown, "token") if t[1] < top]
        assert {round(last - x) for x, _, _ in upright} <= {31, 35}
        all_near([t for *_, t in sorted(upright, key=lambda t: t[1])], X[row])


def shows(state, expected, shown):
    X = np.array(state["X"], float)
    (n, d), time = X.shape, expected["time"]
    texts = shown.select(".av-film text")
    pitch, ahead, d = 41, 0, len(expected["q"])
    if state["what"] != "X":
        film_makes(state, expected, shown)
        pitch, ahead = 58, 2 * n + 2
    step_tells(state, expected, sentence(shown), int(np.ceil(time)))
    last = steps_of(state)
    (label,) = captions(shown)
    tells(label, n, significant(time, 3), last)
    time -= ahead  # from here on since all rows are there
    if time < 0:
        return
    rows_ = [101 + pitch * j for j in range(n)]
    # What each step brings is there, whole, from its end on.
    steps = [*range(1, n + 1), n + 1, n + 2, n + 3]
    columns = [["dots", j] for j in range(n)]
    columns += [["scores", None], ["exponentials", None], ["weights", None]]
    due = []
    for end, (name, j) in zip(steps, columns, strict=True):
        if time >= end:
            keys = range(n) if j is None else [j]
            due += [(rows_[k], expected[name][k], name) for k in keys]
    numbers = [
        (text, y)
        for text, _, y in written(texts, "av-number")
        + written(texts, "av-weight")
    ]
    assert len(numbers) == len(due)
    for y in rows_:
        here = [text for text, at in numbers if at == y]
        there = [(x, name) for at, x, name in due if at == y]
        # dots, scores and exponentials from left to right; weights last.
        for text, (x, name) in zip(here, there, strict=True):
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
    output = row_of(chips(shown, "value"), 102 + pitch * n)
    if time >= n + 4:
        all_near(output, expected["output"])
    bars = shown.select(".av-grow")
    wide = (360 - 74 - 30 * d) / 4 - 6
    exps, weights = expected["exponentials"], expected["weights"]
    if n + 1 < time <= n + 2:  # they grow, smoothly, in the first 60 %
        grown = min((time - n - 1) / 0.6, 1)
        grown *= grown * (3 - 2 * grown)
        full = wide * exps / exps.max()
        all_say([b["width"] for b in bars], grown * full, 1)
    if time >= n + 3:
        all_say([b["width"] for b in bars[1::2]], wide * weights, 1)
    # The query is copied: it stays, and its copy meets one key after another.
    places = sorted({float(r["y"]) for r in shown.select("rect.av-query")})
    assert places[0] == 28
    if time in range(1, n + 1):
        assert places == [28, rows_[int(time) - 1] - 13 - 17]


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

    told = [[]]
    whose = [names[i]]
    if state["what"] != "X":
        jobs = [("W_Q", i), *(("W_K", j) for j in range(n))]
        jobs += [("W_V", j) for j in range(n)]
        for name, j in jobs:
            columns = np.array(state[name], float).T
            told += [[x for c in columns for x in products(X[j], c)]]
            whose += [names[j]]
        told, whose = [*told, []], [*whose, names[i]]
    told += [products(q, K[j]) for j in range(n)]
    whose += names
    exps = expected["exponentials"]
    told += [
        [len(q), *((x, 3) for x in expected["scores"])],
        [*map(four, exps), four(exps.sum())],
        [(w, 3) for w in expected["weights"]],
        [(x, 3) for x in expected["output"]],
    ]
    whose += ["", "", "", names[-1]]
    assert len(told) == steps_of(state) + 1
    tells(text, *told[step])
    assert whose[step] in text


@pytest.mark.parametrize("settings", CASES[-8:])
def test_film_stills_are_its_frames(look, settings):
    """Four to seven pictures, each what the film shows at its time."""
    figure = Film(**settings)
    state = {key: getattr(figure, key) for key in figure._settings()}
    page = BeautifulSoup(figure.html(), "html.parser")
    pictures = page.select_one(".av-stills").find_all("li", recursive=False)
    assert 4 <= len(pictures) <= 7
    told = 0
    for picture in pictures:
        steps = picture.select_one(".av-steps")
        assert int(steps["start"]) == told, "no step is left out"
        for line in steps.select("li"):
            moment = state | {"at": float(told)}
            step_tells(moment, expected(moment), line.text, told)
            told += 1
        _, _, shown = look("film", {**settings, "at": float(told - 1)})
        assert str(picture.svg) == str(shown.svg)
    assert told - 1 == steps_of(state), "the end is shown"


# --- between two steps -------------------------------------------------------

NAMES = "here there"
ROWS = [[1, 0.5, 0.25, -1], [-0.5, 0.75, 1.5, 0]]
W_Q = [[0.2, 0.5, -1], [0.3, -0.5, 0], [0, 1, 0.75], [-1, 0.75, 1]]
W_K = [[0.5, 1, 0.6], [0.4, -1, 0.25], [-1, 0, 0.7], [0.8, 0.1, -0.5]]
W_V = [[-1, 2, 0.5], [0.5, 0, 1], [1, 0.35, -2], [0, -0.75, 2]]
MATRICES = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}
# A row is made: it comes, visits three columns, and its sums leave.
COME, LEAVE = 0.16, 0.78
SLOT = (LEAVE - COME) / 3
JOBS = [("W_Q", 1), ("W_K", 0), ("W_K", 1), ("W_V", 0), ("W_V", 1)]
KINDS = {"W_Q": "query", "W_K": "key", "W_V": "value"}
Chip = namedtuple("Chip", "text x y width opacity")


def film(at, **more):
    settings = {"words": NAMES, "X": ROWS, "query": 1, "at": at, **more}
    html = Film(**settings).frame(0)["html"]  # at rest there: without stills
    return BeautifulSoup(html, "html.parser").svg


def made(at):
    """The film from the rows of X on; `at` may lie between two steps."""
    return film(round(at, 4), **THROUGH, **MATRICES)


def boxes(svg, kind):
    """Boxes of one kind with what stands in them, as they follow.

    What passes over other numbers is an outline, and holds none.
    """
    return [
        Chip(
            "" if "av-passing" in box["class"] else box.find_next("text").text,
            *(float(box[key]) for key in ("x", "y", "width")),
            float(box.get("opacity", 1)),
        )
        for box in svg.select(f"rect.av-{kind}")
    ]


def places(some):
    return np.array([(chip.x, chip.y, chip.width) for chip in some])


def halfway(middle, start, end):
    """Drawn to a tenth, so that two of them are off by as much at most."""
    mean = (places(start) + places(end)) / 2
    np.testing.assert_allclose(places(middle), mean, atol=0.11)


def lie_on(some, others):
    np.testing.assert_allclose(places(some), places(others), atol=0.11)


@pytest.mark.parametrize("k", range(len(JOBS)))
def test_film_row_visits_each_column_and_its_sums_leave(k):
    name, row = JOBS[k]
    kind = KINDS[name]
    own = boxes(made(0), "token")[:8][4 * row : 4 * row + 4]
    stops = []
    for c in range(3):
        svg = made(k + COME + SLOT * (c + 0.99))
        matrix = boxes(svg, f"w-{kind}")
        column = [chip for j, chip in enumerate(matrix) if j % 3 == c]
        here = boxes(svg, "token")[-4:]
        beside = places(column) - [column[0].width + 7, 0, 0]
        np.testing.assert_allclose(places(here), beside, atol=0.11)
        assert [chip.text for chip in here] == [chip.text for chip in own]
        stops.append(here)
    halfway(boxes(made(k + COME / 2), "token")[-4:], own, stops[0])
    # Of a kind the bench is drawn first, and last what came last from it.
    bench = boxes(made(k + LEAVE), kind)[:3]
    goal = boxes(made(k + 1), kind)[-3:]
    middle = boxes(made(k + (LEAVE + 0.02 + 1) / 2), kind)[-3:]
    halfway(middle, bench, goal)


def test_film_keys_and_values_gather_where_the_query_meets_them():
    before, middle, after = made(5), made(5.3), made(6)
    for kind in ("key", "value"):
        start, goal = (boxes(svg, kind)[-6:] for svg in (before, after))
        halfway(boxes(middle, kind)[-6:], start, goal)


@pytest.mark.parametrize("draw", [film, made])
def test_film_values_fall_and_fade_to_their_weights(draw):
    last = (6 if draw is made else 0) + 2 + 4
    rest = boxes(draw(last - 1), "value" if draw is made else "key")
    output = boxes(draw(last), "value")
    output = output[len(rest) * (draw is made) :]
    n = len(rest) // 2
    # Those that fall come after those that stay where they are.
    start, middle, end = (
        boxes(draw(last - 1 + part), "value")[-2 * n :]
        for part in (0.01, 0.3, 0.59)
    )
    lie_on(start, rest)
    halfway(middle, rest, [*output, *output])
    weights = Film(
        **{"words": NAMES, "X": ROWS, "query": 1, "at": 0},
        **({**THROUGH, **MATRICES} if draw is made else {}),
    ).values["weights"]
    wanted = np.repeat(weights, n)
    for some, part in ((start, 0), (middle, 0.5), (end, 1)):
        clear = [chip.opacity for chip in some]
        np.testing.assert_allclose(clear, 1 - part * (1 - wanted), atol=0.0081)


@pytest.mark.parametrize("key", range(2))
def test_film_products_come_one_after_another_and_go(key):
    """Under its key, while the query is there and not before or after."""
    q, row = np.array(ROWS[1]), np.array(ROWS[key])

    def seen(time):
        svg = film(time)
        return [read(t.text.lstrip("+ ")) for t in svg.select(".av-product")]

    assert seen(key + 0.6) == []
    counts = [len(seen(key + t)) for t in (0.62, 0.68, 0.74, 0.8, 1)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == len(q)
    assert seen(key + 1) == pytest.approx(q * row, abs=0.00501)  # as written
    assert seen(key + 1.59) == []
