"""Figures that move: a frame is a function of the data and the time alone."""

import random

import numpy as np
import pytest

from course.figures import Film, KVCacheCalculator, Tiles, Words
from tests.figures.expected_figures import EXPECTED

TIMES = [0, 499, 500, 700, 1150, 1800, 2000, 2700, 3350, 3900, 4000, 10**6]


@pytest.mark.parametrize("state", [{}, {"x": -3, "y": 3}, {"x": 0.5, "y": -2}])
def test_a_frame_shows_the_numbers_of_its_time(state):
    figure = Words(**state)
    for ms in TIMES:
        frame = figure.frame(ms)
        shown = {"sentence": figure.sentence, **frame["own"]}
        expected = EXPECTED["words"](shown)
        for key, numbers in expected.items():
            np.testing.assert_allclose(
                frame["values"][key], numbers, rtol=1e-9, atol=1e-9
            )


# From the first step, and from the middle of one, for three to four rows.
FILMS = [
    {"at": 0},
    {"at": 2.5, "query": 2},
    {"at": 0, "words": "a b c d", "X": [[1], [-2], [0.25], [2]], "query": 1},
    {"at": 0, "query": 1, "what": "X, W_Q, W_K, W_V"},
    {"at": 6.25, "W_Q": [[1], [0], [2], [-1]], "W_K": [[1], [1], [0], [1]]},
]


@pytest.mark.parametrize("state", FILMS)
def test_a_frame_of_the_film_shows_the_numbers_of_its_time(state):
    figure = Film(**state)
    settings = {key: getattr(figure, key) for key in figure._settings()}
    made = figure.what != "X"
    for ms in range(0, 29_000 if made else 12_000, 710 if made else 290):
        frame = figure.frame(ms)
        here = settings | frame["own"]
        for key, numbers in EXPECTED["film"](here).items():
            np.testing.assert_allclose(
                frame["values"][key], numbers, rtol=1e-9, atol=1e-9
            )
        # Playing gives what the bar gives, put where the film is.
        assert frame["html"] == Film(**here).frame(0)["html"], ms


def test_a_row_that_is_made_takes_longer_than_a_key_that_is_met():
    figure = Film(at=0, what="X, W_Q, W_K, W_V")
    # Seven rows are made, then eight more steps.
    ends = np.cumsum([2100] * 7 + [1400] * 8)
    for k, end in enumerate(ends, 1):
        assert figure.frame(float(end) - 501)["own"]["at"] < k
        for ms in (end - 500, end - 1, end):
            assert figure.frame(float(ms))["own"]["at"] == pytest.approx(k)
        after = figure.frame(float(end) + 200)["own"]["at"]
        assert k < after < k + 1 or k == after == 15
    # From the middle of a step as well: by one, and then it stands.
    figure = Film(at=6.5, what="X, W_Q, W_K, W_V")
    assert figure.frame(1600)["own"]["at"] == pytest.approx(7.5)
    assert figure.frame(2100)["own"]["at"] == pytest.approx(7.5)
    assert figure.frame(2550)["own"]["at"] == pytest.approx(8)


def test_seeking_gives_what_playing_gives_and_backward_what_forward_gives():
    for figure, end in (
        (Words(), 4_200),
        (Film(at=0), 10_500),
        (Film(at=0, what="X, W_Q, W_K, W_V"), 26_500),
        (KVCacheCalculator(filled=0), 6_500),
        (Tiles(step=0), 6_000),
    ):
        times = [*range(0, end, max(70, end // 40))]
        played = {ms: figure.frame(ms) for ms in times}
        mixed = random.Random(0).sample(times, len(times))
        for order in (times[::-1], mixed):
            assert {ms: figure.frame(ms) for ms in order} == played


def test_the_opening_begins_and_ends_where_it_rests():
    figure = Words(x=1.5, y=-0.5)
    rest = {"x": 1.5, "y": -0.5}
    for ms in (0, 500, 4000, 10**6):
        assert figure.frame(ms)["own"] == pytest.approx(rest)
    away = figure.frame(2200)["own"]
    assert away == pytest.approx({"x": -0.2, "y": 2.2})
    html = figure.frame(0)["html"]
    assert html in figure.html(), "the first frame is what stands there"


# Each film of jumps: its class, where it starts, its bar, how long it takes.
JUMPS = [
    (KVCacheCalculator, {"filled": 0}, "filled", 6_000),
    (KVCacheCalculator, {"filled": 3, "S": 11, "batch": 7}, "filled", 4_400),
    (KVCacheCalculator, {"filled": 0, "S": 10**7}, "filled", 6_000),
    (Tiles, {"step": 0}, "step", 6 * 700),
    (Tiles, {"step": 2, "T": 9, "block_q": 3, "block_k": 2}, "step", 8 * 700),
    (
        Tiles,
        {"step": 0, "T": 64, "block_q": 2, "causal": False},
        "step",
        20_000,
    ),
]


@pytest.mark.parametrize(("cls", "state", "bar", "length"), JUMPS)
def test_a_film_of_jumps_shows_the_numbers_of_its_time(
    cls, state, bar, length
):
    figure = cls(**state)
    settings = {key: getattr(figure, key) for key in figure._settings()}
    seen = []
    for ms in np.linspace(0, 1.1 * length, 23):
        frame = figure.frame(float(ms))
        assert list(frame["own"]) == [bar]
        here = settings | frame["own"]
        expected = EXPECTED[cls._name](here)
        for key in ("now", "filled", "room", "maxima", "sums", "done"):
            if key in expected:
                np.testing.assert_allclose(
                    frame["values"][key], expected[key], rtol=1e-9, atol=1e-9
                )
        if expected.get("tile"):
            for key in ("maxima", "sums", "scores"):
                np.testing.assert_allclose(
                    np.array(frame["values"]["tile"][key], float),
                    expected["tile"][key],
                    rtol=1e-9,
                    atol=1e-9,
                )
        # Playing gives what the bar gives, put where the film is.
        assert frame["html"] == cls(**here).frame(0)["html"], ms
        seen.append(frame["own"][bar])
    assert (np.diff(seen) >= 0).all()
    assert seen[0] == state[bar]
    last = figure.frame(float(length))["own"][bar]
    assert last == seen[-1] > figure.frame(0.98 * length - 1)["own"][bar]


def test_a_film_grows_evenly_and_a_block_stands_for_a_while():
    figure = KVCacheCalculator(filled=0, S=6000)
    for ms in (-5, 0, 1, 17, 999.5, 5999, 6000, 10**6):
        filled = figure.frame(ms)["own"]["filled"]
        assert filled == min(max(int(ms), 0), 6000)
    figure = Tiles(step=1)
    steps = [
        figure.frame(ms)["own"]["step"] for ms in (0, 699, 700, 1399, 1400)
    ]
    assert steps == [1, 1, 2, 2, 3]
    assert Tiles(step=4096).frame(0)["own"] == {"step": 6}
    assert KVCacheCalculator(filled=10**7).frame(0)["own"]["filled"] == 8192
