"""The opening figure: what one word asks for, and what it gets."""

import numpy as np
import pytest

from helpers.attention import attention, attention_scores
from helpers.figures import Words
from tests.figures.reading import (
    all_say,
    captions,
    path_of,
    says,
    sentence,
    tells,
)

KEYS_OF_WORDS = {
    "the": (-1, 0),
    "cat": (2, 0),
    "drank": (1, 1),
    "milk": (0, 2),
    "because": (-1, -1),
    "it": (0.5, 0.5),
}
CASES = [
    {"x": 0, "y": 0},
    {"x": 3, "y": 3},
    {"x": -3, "y": -3},
    {"x": 0, "y": 2.2},
    {"x": -0.25, "y": -1.5},
    {"x": 0, "y": 1},
]


def expected(state):
    """One query over the keys of six words, by the helpers."""
    query = np.array([[state["x"], state["y"]]], float)
    keys = np.array(list(KEYS_OF_WORDS.values()), float)
    weights = attention(query, keys, keys).weights[0]
    return {
        "dots": attention_scores(query, keys, scale=1.0)[0],
        "exponentials": np.exp(attention_scores(query, keys)[0]),
        "weights": weights,
        "most": int(weights.argmax()),
    }


def shows(state, expected, shown):
    weights = expected["weights"]
    sentence_, plane = shown.select("svg")
    all_say([t.text for t in sentence_.select(".av-weight")], weights, 2)
    places = [float(t["x"]) for t in sentence_.select("text:not(.av-part)")][
        ::2
    ]
    assert places == sorted(places), "the words stand in their order"
    for link, w, place in zip(
        sentence_.select(".av-link"), weights, places, strict=True
    ):
        says(link["stroke-width"], max(17 * w, 0.8), 2)
        assert link.has_attr("stroke-dasharray") == (w < 0.02)
        start, *_, end, _ = path_of(link)
        if place == places[-1]:  # a loop
            assert start > place > end
        else:
            assert end == place
            assert abs(start - places[-1]) < 8
    parts = sentence_.select("rect.av-value")
    ends = np.cumsum([0, *weights]) * 360
    all_say([p["width"] for p in parts], np.diff(ends), 1)
    all_say([p["x"] for p in parts], ends[:-1], 1)
    # The plane: 230 wide, from -3.35 to 3.35 each way, upwards.
    unit = 115 / 3.35
    for key, dot in zip(
        KEYS_OF_WORDS.values(), plane.select("circle.av-key"), strict=True
    ):
        says(dot["cx"], 115 + unit * key[0], 1)
        says(dot["cy"], 115 - unit * key[1], 1)
    here = [115 + unit * state["x"], 115 - unit * state["y"]]
    for dot in plane.select("circle.av-query, .av-reach"):
        says(dot["cx"], here[0], 1)
        says(dot["cy"], here[1], 1)
    (arrow,) = plane.select("path.av-query")
    assert path_of(arrow)[2:] == pytest.approx(here, abs=0.051)
    most = expected["most"]
    word, key = list(KEYS_OF_WORDS.items())[most]
    text = sentence(shown)
    dot = (expected["dots"][most], 5)
    exps = expected["exponentials"]
    tells(
        text,
        *((state["x"], 4), (key[0], 4), (state["y"], 4), (key[1], 4), dot),
        *(dot, 2, (exps[most], 2), (exps.sum(), 2), (weights[most], 2)),
    )
    assert f"key of {word} =" in text
    tells(captions(shown)[0], *((w, 2) for w in weights))
    # Each name beside its key, and its weight below the word.
    words = [t.text for t in sentence_.select("text:not(.av-part)")]
    assert words[::2] == list(KEYS_OF_WORDS)
    names = [t.text for t in plane.select("text.av-key")]
    assert names == list(KEYS_OF_WORDS)


def smooth(p):
    """From 0 to 1, slowly at both ends."""
    p = min(max(p, 0), 1)
    return 3 * p**2 - 2 * p**3


@pytest.mark.parametrize("state", [{}, {"x": -3, "y": 3}])
def test_words_query_turns_to_a_drink_and_back(state):
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
