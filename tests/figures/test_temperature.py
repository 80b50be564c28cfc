"""The temperature figure: a soft lookup, its weights and its scores."""

import numpy as np
from bs4 import BeautifulSoup

from helpers.attention import attention, attention_scores
from helpers.softmax import entropy
from tests.figures.reading import (
    all_say,
    call,
    captions,
    narrow,
    on_one_scale,
    path_of,
    read,
    sentence,
    sizes,
    spot,
    tells,
)

JARS = np.arange(4.0)
MARBLES = np.array([[10.0], [40], [20], [30]])
SHELF = -0.5 + 4 * (np.arange(400) + 0.5) / 400
CASES = [
    *({"temperature": t} for t in (0.01, 1, 100)),
    {"place": 0, "pull3": 2, "pull0": -2},
    {"place": 3, "pull0": 1.5, "temperature": 2},
    {"place": 1.5, "pull1": 0.35, "pull2": -0.7},
]


def asked(places, state):
    """A lookup as attention, and scores of squared distances.

    The dot product of (a, 1) with (p, pull - p² / 2) is half the negative
    squared distance and the pull, but for a² / 2, which changes no weight.
    """
    pulls = np.array([state[f"pull{p}"] for p in range(4)], float)
    keys = np.stack([JARS, pulls - JARS**2 / 2], axis=1)
    queries = np.stack([places, np.ones(len(places))], axis=1)
    result = attention(queries, keys, MARBLES, scale=1 / state["temperature"])
    scores = attention_scores(queries, keys, scale=1)
    return result, scores - np.square(places)[:, None] / 2


def expected(state):
    result, scores = asked(np.array([state["place"]], float), state)
    curve, over = asked(SHELF, state)
    return {
        "scores": scores[0],
        "weights": result.weights[0],
        "answer": result.output[0, 0],
        "exact": MARBLES[scores[0].argmax(), 0],
        "entropy": entropy(result.weights[0]),
        "curve": curve.output[:, 0],
        "stairs": MARBLES[over.argmax(axis=1), 0],
    }


def fitted(state):
    """The state, if no two jars are the highest at one place that is shown."""
    _, scores = asked(np.append(SHELF, state["place"]), state)
    best = np.sort(scores, axis=1)
    return state if (best[:, -1] - best[:, -2]).min() > 1e-9 else None


def scales(svg):
    """The axis of each panel, from its lines and the numbers beside them."""
    lines = [path_of(p)[1] for p in svg.select(".av-rule")]
    texts = [read(t.text) for t in svg.select(".av-scale")]
    result, start = [], 0
    for n in (3, 3, 5):
        y, v = lines[start : start + n], texts[start : start + n]
        slope = (v[-1] - v[0]) / (y[-1] - y[0])
        np.testing.assert_allclose(
            v[0] + slope * (np.array(y) - y[0]), v, atol=2.5 * abs(slope) * 0.1
        )
        result.append((y[0] - v[0] / slope, 1 / slope))
        start += n
    assert start == len(lines) == len(texts)
    return [lambda v, a=a, b=b: a + b * np.array(v) for a, b in result]


def shows(state, expected, shown):
    for drawing in (shown, narrow("temperature", state)):
        drawing_shows(expected, drawing.select_one(".av-shelf"))
    (label,) = captions(shown)
    tells(label, (state["place"], 4))
    tells(
        sentence(shown),
        *((state["place"], 4), (state["temperature"], 2)),
        *((expected["answer"], 1), expected["exact"]),
        (np.exp(expected["entropy"]), 1),
    )


def drawing_shows(expected, svg):
    answer, weight, score = scales(svg)
    where, heights = np.transpose([spot(c) for c in svg.select(".av-jar")])
    across = on_one_scale(where, JARS, near=0.2)
    np.testing.assert_allclose(heights, answer(MARBLES[:, 0]), atol=0.2)
    for kind, key in (("answer", "curve"), ("stairs", "stairs")):
        x, y = np.reshape(path_of(svg.select_one(f".av-{kind}")), (-1, 2)).T
        np.testing.assert_allclose(x, across(SHELF), atol=0.25)
        np.testing.assert_allclose(y, answer(expected[key]), atol=0.25)
    for kind, key, axis in (
        ("tall", "weights", weight),
        ("pulled", "scores", score),
    ):
        bars = svg.select(f"rect.av-{kind}")
        top, high = sizes(bars, "y"), sizes(bars, "height")
        ends = np.sort([axis(np.zeros(4)), axis(expected[key])], axis=0)
        np.testing.assert_allclose([top, top + high], ends, atol=0.25)
    numbers, here = svg.select(".av-weight"), [expected["answer"]]
    all_say([t.text for t in numbers[:4]], expected["weights"], 2)
    all_say([t.text for t in numbers[4:]], here, 1)
    all_say([t.text for t in svg.select(".av-score")], expected["scores"], 2)


def test_temperature_says_that_an_exact_answer_is_a_tie():
    """Halfway between two jars the exact answer is that of the first."""
    state = {"temperature": 0.01, **{f"pull{p}": 0 for p in range(4)}}
    for place, message in ((0.5, "10 (a tie)"), (1.5, "40 (a tie)"),
                        (2.5, "20 (a tie)"), (1.45, "40")):  # fmt: skip
        html = call("picture", {**state, "place": place}, of="temperature")
        text = sentence(BeautifulSoup(html, "html.parser"))
        assert f"(dashed) {message}. The weights" in text
