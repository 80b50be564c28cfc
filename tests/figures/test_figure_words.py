"""Where the opening figure puts things, and when its query turns."""

from itertools import accumulate, pairwise

import pytest
from bs4 import BeautifulSoup

from helpers.figures import Words
from tests.figures.expected_figures import KEYS_OF_WORDS
from tests.figures.test_shown import path_of

WIDE, GAP = 360, 15


def smooth(p):
    """From 0 to 1, slowly at both ends."""
    p = min(max(p, 0), 1)
    return 3 * p**2 - 2 * p**3


@pytest.mark.parametrize("state", [{}, {"x": -3, "y": 3}])
def test_the_query_turns_to_a_drink_stays_and_comes_back(state):
    figure = Words(**state)
    for ms in range(450, 4050, 23):
        # It waits half a second; a turn takes 1.3 s, the stay 0.9 s.
        away = smooth((ms - 500) / 1300) - smooth((ms - 2700) / 1300)
        own = figure.frame(ms)["own"]
        for from_, to, found in (
            (figure.x, -0.2, own["x"]), (figure.y, 2.2, own["y"]),
        ):  # fmt: skip
            exact = from_ + away * (to - from_)
            assert abs(found - exact) <= 0.005 + 1e-9, ms
            assert round(found, 2) == found


@pytest.fixture(scope="module")
def sentence():
    form = BeautifulSoup(Words().html(), "html.parser")
    return form.select_one("svg.av-sentence")


def middles():
    """Each word has a box as wide as its letters; together they fill all."""
    letter = (WIDE - GAP * 6) / sum(map(len, KEYS_OF_WORDS))
    widths = [letter * len(word) + GAP for word in KEYS_OF_WORDS]
    ends = list(accumulate(widths, initial=0))
    assert ends[-1] == pytest.approx(WIDE)
    return [(left + right) / 2 for left, right in pairwise(ends)]


def test_each_word_and_its_weight_stand_in_the_middle_of_its_box(sentence):
    texts = sentence.select("text:not(.av-part)")
    for place, word, weight in zip(
        middles(), texts[::2], texts[1::2], strict=True
    ):
        assert abs(float(word["x"]) - place) <= 0.05 + 1e-9
        assert weight["x"] == word["x"]
        assert float(weight["y"]) > float(word["y"])
        assert word["text-anchor"] == weight["text-anchor"] == "middle"


def test_arcs_rise_with_the_way_and_stay_in_the_picture(sentence):
    """A cubic curve rises to three quarters of its controls' height."""
    *arcs, loop = [path_of(link) for link in sentence.select(".av-link")]
    height = float(sentence["viewbox"].split()[3])
    (ground,) = {arc[1] for arc in (*arcs, loop)}
    tops = [arc[3] for arc in (*arcs, loop)]
    assert tops[:-1] == sorted(tops[:-1])
    assert len(set(tops)) == 6
    for start, low, out, top, back, level, end, ground_ in (*arcs, loop):
        assert (out, back, level, ground_) == (start, end, top, low)
        assert 0 < 0.25 * ground + 0.75 * top < ground - 10 < height
    # They leave side by side, and none across another.
    starts = [arc[0] for arc in arcs]
    for one, two in pairwise(starts):
        assert one - two == pytest.approx(3, abs=0.11)
    assert loop[6] < middles()[-1] < loop[0]
