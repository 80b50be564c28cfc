"""Figures that move: a frame is a function of the data and the time alone."""

import random

import numpy as np
import pytest

from tests.figures.agreement import assert_same
from tests.figures.expected_figures import CLASSES, EXPECTED
from tests.figures.reading import call

# Where films start, and the seconds that each takes.
FILMS = [
    ("film", 10.5, {"at": 0}),
    ("film", 7, {"at": 2.5, "query": 2}),
    ("film", 12, {"at": 0, "words": "a b c d", "query": 1,
                  "X": [[1], [-2], [0.25], [2]]}),
    ("film", 26.5, {"at": 0, "query": 1, "what": "X, W_Q, W_K, W_V"}),
    ("film", 13, {"at": 6.25, "W_Q": [[1], [0], [2], [-1]],
                 "W_K": [[1], [1], [0], [1]]}),
    ("machines", 3.6, {"step": 0}),
    ("machines", 5.4, {"step": 0, "machines": 8, "T": 3}),
    ("machines", 6.3, {"step": 0, "machines": 8, "T": 5, "plan": "ring"}),
    ("pages", 13.8, {"step": 0}),
    ("tiles", 4.2, {"step": 0}),
    ("tiles", 5.6, {"step": 2, "T": 9, "block_q": 3, "block_k": 2}),
    ("tiles", 20, {"step": 0, "T": 64, "block_q": 2, "causal": False}),
    ("words", 4, {}),
    ("words", 4, {"x": -3, "y": 3}),
]  # fmt: skip


def test_films_are_all_tried():
    moving = [
        name
        for name in CLASSES
        if call("() => typeof figure.at", of=name) == "function"
    ]
    assert sorted(moving) == sorted({name for name, *_ in FILMS})


@pytest.mark.parametrize(("name", "seconds", "state"), FILMS)
def test_film_shows_what_its_bar_shows(name, seconds, state):
    """Put where the film is; and seeking gives what playing gives."""
    figure = CLASSES[name](**state)
    settings = {key: getattr(figure, key) for key in figure._settings()}
    times = [-5, 1e6, *np.linspace(0, 1000 * seconds, 24)]
    frames = {float(ms): figure.frame(float(ms)) for ms in times}
    for ms, frame in frames.items():
        here = settings | frame["own"]
        assert_same(frame["values"], EXPECTED[name](here))
        assert frame["html"] == CLASSES[name](**here).frame(0)["html"], ms
    mixed = random.Random(0).sample(list(frames), len(frames))
    assert all(figure.frame(ms) == frames[ms] for ms in mixed)
    places = np.array([[*frames[ms]["own"].values()] for ms in sorted(frames)])
    start = [settings[key] for key in frames[0.0]["own"]]
    assert places[0].tolist() == places[1].tolist() == start
    assert len(np.unique(places)) > 5
    if name == "words":  # it turns back
        assert places[-1].tolist() == start
    else:
        assert (np.diff(places, axis=0) >= 0).all()
        assert (places[-2:] == places[-1]).all(), "it ends"
