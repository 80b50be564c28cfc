"""The figure of angles: what training covered, and what is new past it."""

import re

import numpy as np
import pytest

from course.figures import Angles
from helpers.positions import (
    interpolated_frequencies,
    ntk_frequencies,
    rotary_embedding,
    rotary_frequencies,
    yarn_frequencies,
)
from tests.figures.reading import (
    captions,
    path_of,
    sentence,
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
        *(distance, fresh.sum(), 8, 0, 31, *np.flatnonzero(fresh)),
        *where(not plain, 0, (now, 1), *where(not kept, (then, 1))),
    )
    verdict(text, as_in_training=not plain and kept, instead_of=not kept)
    tells(captions(shown)[0], 8, distance, fresh.sum())
    svg = shown.select_one(".av-angles")
    needles = svg.select("path.av-needle")
    covered = svg.select(".av-covered")
    assert [n.name for n in covered] == ["circle"] * 2 + ["path"] * 6 + [
        "rect"
    ]
    titles = [t.text for t in svg.select("text") if "pair " in t.text]
    for i, needle in enumerate(needles):
        zoom = 10 if i > 5 else 1
        assert titles[i] == f"pair {i}" + ", ×10" * (zoom > 1)
        assert direction(needle) == pytest.approx(
            np.exp(1j * zoom * expected["angles"][i]), abs=1e-3
        )
        assert ("av-fresh" in needle["class"]) == fresh[i]
        if i > 1:
            sector_shows(covered[i], zoom * expected["arcs"][i])
    below = [
        t.text for t in svg.select("text") if t.text[:3] in ("new", "see")
    ]
    for words, x, divisor in zip(
        below, fresh, expected["divisors"], strict=True
    ):
        verdict(words, new=x, seen=not x)
        tells(words, *where(not plain, (divisor, 2)))
    ghosts = svg.select(".av-was")
    moved = expected["divisors"] != 1
    assert len(ghosts) == (np.sum(moved) if distance else 0)
    for ghost, i in zip(ghosts, np.flatnonzero(moved), strict=distance > 0):
        zoom = 10 if i > 5 else 1
        assert direction(ghost) == pytest.approx(
            np.exp(1j * zoom * expected["before"][i]), abs=1e-3
        )
    strip_shows(state, expected, svg)


def direction(path):
    """Where a line points to from the middle of its dial, 27 long."""
    x, y, u, v = path_of(path)
    return complex(u - x, y - v) / 27


def sector_shows(path, arc):
    """A sector goes counterclockwise from the right, and no further."""
    x, y, *rest = path_of(path)
    right, level, rx, ry, _, large, sweep, u, v = rest
    assert (right - x, level, rx, ry, sweep) == (27, y, 27, 27, 0)
    assert large == (arc > np.pi)
    assert complex(u - x, y - v) / 27 == pytest.approx(
        np.exp(1j * arc), abs=1e-3
    )


def strip_shows(state, expected, svg):
    """A row for each pair, bars where it is new, a line at the distance."""
    unit = 292 / 256  # 340, less 34 and 14
    zones = [
        [float(zone[key]) for key in ("x", "y", "width", "height")]
        for zone in svg.select(".av-zone")
    ]
    wanted = [
        (34 + unit * a, 219.5 + 10 * i, unit * (b + 1 - a), 7)
        for i, a, b in expected["runs"]
    ]
    np.testing.assert_allclose(
        np.reshape(zones, (-1, 4)), np.reshape(wanted, (-1, 4)), atol=0.0051
    )
    x, _ = re.findall(r"[\d.]+", svg.select_one(".av-grip")["transform"])
    assert float(x) == pytest.approx(
        34 + unit * (state["distance"] + 0.5), abs=0.0051
    )
    (box,) = svg.select("rect.av-covered")
    assert float(box["width"]) == pytest.approx(32 * unit, abs=0.0051)


@pytest.mark.parametrize(
    ("settings", "new"),
    [
        # In the first distances past the end, all pairs but the two fast
        # ones; at 63 pair 2 has gone around its circle.
        ({"distance": 32}, [2, 3, 4, 5, 6, 7]),
        ({"distance": 62}, [2, 3, 4, 5, 6, 7]),
        ({"distance": 63}, [3, 4, 5, 6, 7]),
        ({"distance": 31}, []),
        # Of the divisors 2^(i/7) only the last is above 63/32.
        ({"frequencies": "NTK-aware"}, [2, 3, 4, 5, 6]),
        ({"frequencies": "interpolated"}, []),
        ({"frequencies": "YaRN"}, []),
        ({"frequencies": "YaRN", "distance": 64}, [2, 3, 4, 5, 6, 7]),
    ],
)
def test_pairs_that_are_new_by_hand(settings, new):
    figure = Angles(**{"distance": 63, "factor": 2} | settings)
    assert np.flatnonzero(figure.values["fresh"]).tolist() == new
