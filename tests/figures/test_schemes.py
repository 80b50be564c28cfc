"""The figure of schemes: every stored seed, ranks, and clear differences."""

import itertools
import re

import numpy as np
import pytest

from helpers.figures import Schemes
from helpers.training import stored
from tests.figures.reading import captions, path_of, sentence, tells

LENGTHS = [32, 64, 128, 256]
CASES = [
    {"length": n, "questions": test, "yarn": yarn}
    for n in LENGTHS
    for test in ("near", "far")
    for yarn in (False, True)
]


def rows(state):
    """The stored results that a state shows, as the lesson shows them."""
    ways = ("as trained", "YaRN") if state["yarn"] else ("as trained",)
    return [r for r in stored("longer")["results"] if r["rescaled"] in ways]


def name_of(row):
    return row["kind"] + (", YaRN" if row["rescaled"] == "YaRN" else "")


def expected(state):
    """The seeds of each scheme, and how the schemes compare."""
    k = LENGTHS.index(state["length"])
    shares = np.array([row[state["questions"]] for row in rows(state)])
    seeds, medians = shares[:, k], np.median(shares, axis=2)
    ranks = np.argsort(-medians, axis=0, kind="stable")
    wins = [
        (a[:, None] > b).all()
        for a, b in itertools.permutations(seeds, 2)
    ]  # fmt: skip
    return {
        "seeds": seeds,
        "medians": medians[:, k],
        "trained": medians[:, 0],
        "order": ranks[:, k],
        "better": sum(wins),
        "moved": (ranks[:, k] != ranks[:, 0]).sum(),
    }


def shows(state, expected, shown):
    some, order = rows(state), expected["order"]
    names = [name_of(some[i]) for i in order]
    text = sentence(shown)
    first, last = (100 * expected["medians"][i] for i in order[[0, -1]])
    plain = text
    for name in sorted(names, key=len, reverse=True):
        plain = plain.replace(name, "a scheme")
    n = len(some)
    tells(
        plain,
        *(state["length"], (first, 1), (last, 1), expected["better"]),
        *(n * (n - 1) // 2, expected["moved"], n, 32),
    )
    assert text.index(f"({names[0]}), the low") < text.index(f"({names[-1]}).")
    assert text.lower().startswith(state["questions"])
    tells(captions(shown)[0], n, state["length"])
    svg = shown.select_one(".av-schemes")
    labels = [t.text for t in svg.select("text") if t.text in names]
    assert labels == names
    heights = [32.5 + 21 * rank for rank in range(n)]
    # The first of each kind of mark is in the key.
    dots = iter(svg.select(".av-seed")[1:])
    marks = zip(
        svg.select(".av-middle")[1:], svg.select(".av-fell")[1:], strict=True
    )
    for i, y, (mark, fell) in zip(order, heights, marks, strict=True):
        for share in expected["seeds"][i]:
            dot = next(dots)
            assert float(dot["cx"]) == pytest.approx(across(share), abs=0.0051)
            assert float(dot["cy"]) == y
        now, start = (
            across(expected[key][i]) for key in ("medians", "trained")
        )
        assert path_of(mark)[:2] == pytest.approx([now, y - 7], abs=0.0051)
        assert path_of(fell) == pytest.approx([start, y, now], abs=0.0051)
    assert next(dots, None) is None
    # The trained length is the first; the bracket has the others.
    place = float(svg.select_one(".av-trained")["x"])
    assert place == pytest.approx(across(0), abs=0.0051)
    left, *_, right, _ = path_of(svg.select_one(".av-scheme-track"))
    inside = [left < across(k / 3) < right for k in range(4)]
    assert inside == [n > 32 for n in LENGTHS]
    x, _ = re.findall(r"[\d.]+", svg.select_one(".av-grip")["transform"])
    place = across(LENGTHS.index(state["length"]) / 3)
    assert float(x) == pytest.approx(place, abs=0.0051)


def across(share):
    """Where a share is drawn."""
    return 168 + 150 * share


def test_differences_are_those_that_the_lesson_lists():
    """At 256 tokens it lists eleven near and six far."""
    found = [
        Schemes(questions=test).values["better"] for test in ("near", "far")
    ]
    assert found == [11, 6]
