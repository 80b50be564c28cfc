"""The film between its steps: halfway in time is halfway in place.

What stands at whole steps is compared elsewhere. Here the numbers that move
are read back at chosen times: where a step begins and ends they lie on what
was there, and in the middle of a move in the middle of its way.
"""

import re
from collections import namedtuple

import numpy as np
import pytest
from bs4 import BeautifulSoup

from helpers.figures import Film
from tests.figures.test_figure_forms import call

WORDS, X = "here there", [[1, 0.5, 0.25, -1], [-0.5, 0.75, 1.5, 0]]
W_Q = [[0.2, 0.5, -1], [0.3, -0.5, 0], [0, 1, 0.75], [-1, 0.75, 1]]
W_K = [[0.5, 1, 0.6], [0.4, -1, 0.25], [-1, 0, 0.7], [0.8, 0.1, -0.5]]
W_V = [[-1, 2, 0.5], [0.5, 0, 1], [1, 0.35, -2], [0, -0.75, 2]]
MATRICES = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}
WAY = "X, W_Q, W_K, W_V"
# A row is made: it comes, visits three columns, and its sums leave.
COME, LEAVE = 0.16, 0.78
SLOT = (LEAVE - COME) / 3
JOBS = [("W_Q", 1), ("W_K", 0), ("W_K", 1), ("W_V", 0), ("W_V", 1)]
KINDS = {"W_Q": "query", "W_K": "key", "W_V": "value"}

Chip = namedtuple("Chip", "kind text x y width opacity")


def film(at, **more):
    settings = {"words": WORDS, "X": X, "query": 1, "at": at, **more}
    html = Film(**settings).frame(0)["html"]  # at rest there: without stills
    return BeautifulSoup(html, "html.parser").svg


def made(at):
    """The film from the rows of X on; `at` may lie between two steps."""
    return film(round(at, 4), what=WAY, **MATRICES)


def chips(svg, kind):
    """Boxes of one kind with what stands in them, as they follow.

    What passes over other numbers is an outline, and holds none.
    """
    return [
        Chip(
            kind,
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


def copies(svg):
    """The row that is on its way: the last four tokens."""
    return chips(svg, "token")[-4:]


@pytest.mark.parametrize("k", range(len(JOBS)))
def test_a_row_comes_from_its_table_and_visits_each_column(k):
    name, row = JOBS[k]
    table = chips(made(0), "token")[:8]
    own = table[4 * row : 4 * row + 4]
    lie_on(copies(made(k + 0.001)), own)

    stops = []
    for c in range(3):
        for part in (0.41, 0.99):
            svg = made(k + COME + SLOT * (c + part))
            matrix = chips(svg, f"w-{KINDS[name]}")
            column = [chip for j, chip in enumerate(matrix) if j % 3 == c]
            here = copies(svg)
            # Beside the column, as high and as wide, and nothing between.
            beside = places(column) - [column[0].width + 7, 0, 0]
            np.testing.assert_allclose(places(here), beside, atol=0.11)
            assert {chip.opacity for chip in here} == {1}
            assert [c.text for c in here] == [c.text for c in own]
        stops.append(here)
        # What it has left stays there, paler, so that products have factors.
        tokens = chips(svg, "token")
        traces, left = tokens[8:-4], [s for stop in stops[:-1] for s in stop]
        assert len(traces) == len(left) == 4 * c
        if traces:
            lie_on(traces, left)
        assert {trace.opacity for trace in traces} <= {0.65}

    halfway(copies(made(k + COME / 2)), own, stops[0])
    for c in (1, 2):
        svg = made(k + COME + SLOT * (c + 0.2))
        halfway(copies(svg), stops[c - 1], stops[c])
        # Only the one that is left fades in: those before it are there.
        pale = [chip.opacity for chip in chips(svg, "token")[8:-4]]
        wanted = [0.65] * 4 * (c - 1) + [0.325] * 4
        assert pale == pytest.approx(wanted, abs=0.006)


def shown(svg, pattern):
    """How clearly texts are drawn that a pattern describes."""
    return [
        float(text.get("opacity", 1))
        for text in svg.select("text")
        if re.fullmatch(pattern, text.text)
    ]


@pytest.mark.parametrize("k", range(len(JOBS)))
def test_products_come_when_the_row_is_there_and_then_their_sum(k):
    for c in range(3):
        start = k + COME + SLOT * c
        for part, products, sums in (
            *((0.36, 0, 0), (0.5, 0.5, 0), (0.64, 1, 0)),
            *((0.66, 1, 0), (0.825, 1, 0.5), (0.99, 1, 1)),
        ):
            svg = made(start + SLOT * part)
            drawn = shown(svg, "= .*")
            assert drawn[: 4 * c] == [1] * 4 * c, "columns before stay"
            now = drawn[4 * c :] or [0] * 4
            assert now == pytest.approx([products] * 4, abs=0.06)
            drawn = shown(svg, "sum")
            assert drawn[:c] == [1] * c
            assert (drawn[c:] or [0]) == pytest.approx([sums], abs=0.06)


@pytest.mark.parametrize("k", range(len(JOBS)))
def test_sums_leave_the_bench_for_their_table(k):
    kind = KINDS[JOBS[k][0]]
    # Of a kind the bench is drawn first, and last what came last from it.
    bench = chips(made(k + LEAVE), kind)[:3]
    goal = chips(made(k + 1), kind)[-3:]
    middle = chips(made(k + (LEAVE + 0.02 + 1) / 2), kind)[-3:]
    halfway(middle, bench, goal)
    if kind == "query":  # its place is above, and not in the table
        assert [chip.width for chip in goal] == [28] * 3
    lie_on(chips(made(k + LEAVE + 0.021), kind)[-3:], bench)


def test_the_table_has_all_the_room_and_its_parts_stand_apart():
    svg = made(5)
    tokens, keys, values = (
        places(chips(svg, kind)) for kind in ("token", "key", "value")
    )
    # A box is two narrower than its place.
    tokens, keys, values = tokens[:8], keys[-6:], values[-6:]
    assert values[:, [0, 2]].sum(1).max() + 2 == pytest.approx(360, abs=0.2)
    ends = [part[:, [0, 2]].sum(1).max() for part in (tokens, keys)]
    gaps = [keys[:, 0].min() - ends[0], values[:, 0].min() - ends[1]]
    assert gaps == pytest.approx([12, 12], abs=0.2)
    # Rows of X, keys and values side by side; they end where the query meets.
    assert set(tokens[:, 1]) == set(keys[:, 1]) == set(values[:, 1])


def test_keys_and_values_gather_where_the_query_meets_them():
    before, middle, after = made(5), made(5.3), made(6)
    for kind in ("key", "value"):
        start, goal = (chips(svg, kind)[-6:] for svg in (before, after))
        halfway(chips(middle, kind)[-6:], start, goal)
    # A value stands below its key.
    keys, values = (places(chips(after, kind)) for kind in ("key", "value"))
    np.testing.assert_allclose(values - keys, [[0, 19, 0]] * 6, atol=0.11)
    assert all(keys[:, 2] == 28)


@pytest.mark.parametrize("draw", [film, made])
def test_values_fall_from_where_they_are_and_fade_to_their_weights(draw):
    last = (6 if draw is made else 0) + 2 + 4
    rest = chips(draw(last - 1), "value" if draw is made else "key")
    output = chips(draw(last), "value")
    output = output[len(rest) * (draw is made) :]
    n = len(rest) // 2
    # Those that fall come after those that stay where they are.
    start, middle, end = (
        chips(draw(last - 1 + part), "value")[-2 * n :]
        for part in (0.01, 0.3, 0.59)
    )
    lie_on(start, rest)
    halfway(middle, rest, [*output, *output])
    weights = Film(
        **{"words": WORDS, "X": X, "query": 1, "at": 0},
        **({"what": WAY, **MATRICES} if draw is made else {}),
    ).values["weights"]
    wanted = np.repeat(weights, n)
    for some, part in ((start, 0), (middle, 0.5), (end, 1)):
        clear = [chip.opacity for chip in some]
        np.testing.assert_allclose(clear, 1 - part * (1 - wanted), atol=0.0081)


@pytest.mark.parametrize("k", range(1, len(JOBS)))
def test_what_was_worked_out_fades_and_a_matrix_stays_in_use(k):
    svg = made(k + 0.06)
    before, here = JOBS[k - 1][0], JOBS[k][0]
    for name in {before, here}:
        matrix = chips(svg, f"w-{KINDS[name]}")
        clear = 1 if before == here else 0.5
        assert [chip.opacity for chip in matrix] == [clear] * 12
        assert shown(svg, name) == [clear]
    assert shown(svg, "= .*") == [0.5] * 12
    assert shown(svg, "sum") == [0.5] * 3
    assert [c.opacity for c in chips(svg, KINDS[before])[:3]] == [0.5] * 3
    # The row that comes is there at once; that which goes fades.
    tokens = [chip.opacity for chip in chips(svg, "token")[8:]]
    assert tokens[-4:] == [1] * 4
    assert max(tokens[:-4]) == 0.5
    assert svg.find_all(string=True, recursive=False) == []
    assert not shown(made(k + 0.13), "= .*"), "it is gone"


def test_words_go_along_with_their_rows():
    heights = [
        [
            float(svg.find("text", class_="av-plain", string=word)["y"])
            for word in WORDS.split()
        ]
        for svg in (made(5), made(5.3), made(6))
    ]
    start, middle, end = np.array(heights)
    np.testing.assert_allclose(middle, (start + end) / 2, atol=0.11)
    keys = places(chips(made(6), "key"))
    np.testing.assert_allclose(end, keys[::3, 1] + 13)


def test_a_dot_product_is_exact_where_its_numbers_are_short():
    rows = [[0.37], [0.53]]
    assert shown(film(1, X=rows, query=0), r"0\.1369") == [1]
    same = {"what": WAY, "W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}
    svg = film(7, X=rows, query=0, **same)
    assert shown(svg, r"0\.137") == [1]
    assert not shown(svg, r"0\.1369")


def test_numbers_of_five_signs_are_written_smaller():
    rows = [[1, 0.5], [0.5, 0]]
    plain = {"what": WAY, "W_Q": rows, "W_K": rows, "W_V": rows}
    assert "av-tight" not in film(0, **plain, X=rows)["class"]
    for name in ("X", "W_Q", "W_K", "W_V"):
        longer = {**plain, "X": rows, name: [[1, -0.25], [0.5, 0]]}
        assert "av-tight" in film(0, **longer)["class"], name


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (
            "short",
            {1.5: "1.5", 1.236: "1.24", -0.254: "−0.25", 9.99: "9.99"}
            | {9.995: "10", 10.56: "10.6", -12.34: "−12.3", 0: "0"},
        ),
        (
            "twice",
            {1.5: "1.50", 1.236: "1.24", -0.254: "−0.25", 9.99: "9.99"}
            | {9.995: "10.0", 10.56: "10.6", -12.34: "−12.3"},
        ),
        (
            "equals",
            {0.1234: "= 0.1234", -1.5: "= −1.5", 0.12346: "≈ 0.1235"}
            | {0.123401: "≈ 0.1234"},
        ),
        ("digitsOf", {9.9: 3, 10: 2, -99: 2, 100: 1, 100.5: 1}),
        (
            "big",
            {0.0012: "0.0012", 0.0009: "9.0e−4", 1: "1", 999.96: "1,000"}
            | {1000.4: "1,000", 99_999: "99,999", 100_000: "1.0e5"}
            | {100_000.5: "1.0e5", 1.6e48: "1.6e48"},
        ),
    ],
)
def test_numbers_are_written_as_short_as_their_place_asks(function, numbers):
    for x, wanted in numbers.items():
        assert call(function, x, of="film") == wanted, x
