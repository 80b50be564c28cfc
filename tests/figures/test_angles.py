"""The figure of angles: what training covered, and what is new past it."""

import re

import numpy as np
import pytest

from helpers.positions import (
    interpolated_frequencies,
    ntk_frequencies,
    rotary_embedding,
    rotary_frequencies,
    yarn_frequencies,
)
from tests.figures.reading import (
    captions,
    narrow,
    on_one_scale,
    path_of,
    sentence,
    sizes,
    spot,
    tells,
    verdict,
    where,
)

# Rotations within the trained 32 positions: those of the first two pairs are
# whole, and pair 2 comes back to angles that it knows.
CASES = [
    {"distance": 0},
    {"distance": 31},
    {"distance": 32},
    {"distance": 62},
    {"distance": 63},
    {"distance": 255, "frequencies": "interpolated", "factor": 8},
    {"distance": 64, "frequencies": "interpolated", "factor": 2},
    {"distance": 63, "frequencies": "NTK-aware", "factor": 4},
    {"distance": 255, "frequencies": "NTK-aware", "factor": 8},
    {"distance": 127, "frequencies": "YaRN", "factor": 4},
    {"distance": 128, "frequencies": "YaRN", "factor": 4},
    {"distance": 40, "frequencies": "YaRN", "factor": 1},
]
WAYS = {
    "as trained": lambda factor: rotary_frequencies(16),
    "interpolated": lambda factor: interpolated_frequencies(16, factor),
    "NTK-aware": lambda factor: ntk_frequencies(16, factor),
    "YaRN": lambda factor: yarn_frequencies(16, factor, 32),
}
ALL = np.arange(256)


def unseen(frequencies):
    """Whether the angle of each pair is new, for each distance.

    The helper rotates a row that points to zero in each pair. An angle was
    seen if it is less than one trained step past that of a trained position.
    """
    ones = np.tile([1.0, 0.0], (256, 8))
    turned = rotary_embedding(
        ones, ALL, frequencies=frequencies, interleaved=True
    )
    angle = np.arctan2(turned[:, 1::2], turned[:, ::2])  # (distances, pairs)
    theta = rotary_frequencies(16)
    past = angle - np.arange(32)[:, None, None] * theta
    past = (past + 1e-9 * theta) % (2 * np.pi)
    return (past >= theta).all(axis=0)


def expected(state):
    """What the pairs do at a distance, by the helpers."""
    new = WAYS[state["frequencies"]](state["factor"])
    theta, distance = rotary_frequencies(16), state["distance"]
    fresh = unseen(new)
    edges = np.diff(np.pad(fresh, ((1, 1), (0, 0))).astype(int), axis=0)
    return {
        "frequency": new,
        "divisors": theta / new,
        "angles": distance * new,
        "before": distance * theta,
        "arcs": np.minimum(32 * theta, 2 * np.pi),
        "fresh": fresh[distance].tolist(),
        "runs": [
            [pair, int(start), int(end) - 1]
            for pair, column in enumerate(edges.T)
            for start, end in zip(
                np.flatnonzero(column == 1),
                np.flatnonzero(column == -1),
                strict=True,
            )
        ],
    }


def shows(state, expected, shown):
    distance, fresh = state["distance"], np.array(expected["fresh"])
    plain = state["frequencies"] == "as trained"
    kept = expected["divisors"][0] == 1
    now, then = np.degrees([expected["frequency"][0], 1])
    text = sentence(shown)
    tells(
        text,
        *(distance, fresh.sum(), 8, 0, 31),
        *where(not plain, 0, (now, 1), *where(not kept, (then, 1))),
    )
    verdict(text, as_in_training=not plain and kept, instead_of=not kept)
    tells(captions(shown)[0], 8, distance, fresh.sum())
    for drawing in (shown, narrow("angles", state)):
        drawing_shows(state, expected, drawing.select_one(".av-angles"))


def drawing_shows(state, expected, svg):
    fresh = expected["fresh"]
    plain = state["frequencies"] == "as trained"
    needles = svg.select("path.av-needle")
    titles = [t.text for t in svg.select("text") if "pair " in t.text]
    zoom = [int((re.findall("×(.*)", title) or [1])[0]) for title in titles]
    ways = [np.exp(1j * z * x) for z, x in zip(zoom, expected["angles"],
                                               strict=True)]  # fmt: skip
    rims = sizes(svg.select("circle.av-rule"), "r")
    assert np.array(list(map(direction, needles))) / rims == pytest.approx(
        np.array(ways), abs=1e-3
    )
    below = [
        t.text for t in svg.select("text") if t.text[:3] in ("new", "see")
    ]
    for words, new, divisor in zip(
        below, fresh, expected["divisors"], strict=True
    ):
        verdict(words, new=new, seen=not new)
        tells(words, *where(not plain, (divisor, 2)))
    strip_shows(state, expected, svg)


def direction(path):
    """Where a line points to from the middle of its dial."""
    x, y, u, v = path_of(path)
    return complex(u - x, y - v)


def strip_shows(state, expected, svg):
    """A row for each pair, bars where it is new, a line at the distance."""
    zones = svg.select(".av-zone")
    left, rows = sizes(zones, "x"), sizes(zones, "y")
    pairs, first, last = np.reshape(expected["runs"], (-1, 3)).T
    trained = svg.select_one("rect.av-covered")
    x, _ = spot(svg.select_one(".av-grip"))
    on_one_scale(
        [*left, *(left + sizes(zones)), x, float(trained["x"])],
        [*first, *(last + 1), state["distance"] + 0.5, 0],
    )
    on_one_scale(rows, pairs)
