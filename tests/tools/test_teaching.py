"""What the page for teachers says follows from the chapters."""

import re
from pathlib import Path

import numpy as np
import pytest

from tools import chapters, layered, teaching

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def text():
    return teaching.PAGE.read_text(encoding="utf-8")


def test_its_tables_and_its_drawing_are_those_of_the_chapters(text):
    typed = re.sub(r"\| \d+ \| \d+ \|", "| 1 | 2 |", text, count=1)
    assert typed != text
    assert teaching.fill(typed) == text, "run: make texts"
    blocks = [name for _, name, _ in teaching.BLOCK.findall(text)]
    assert blocks == ["times", "graph", *teaching.PLANS]


def test_the_minutes_are_those_that_each_chapter_states(text):
    rows = re.findall(
        r"^\| \[\d+\]\(([\w-]+)\.ipynb\) [^|]+ \| (\d+) \|", text, flags=re.M
    )
    listed = [name for name, _ in rows]
    assert listed == list(chapters.numbers()), "run: make texts"
    for name, said in rows:
        assert f"about {said} minutes" in teaching.prose(name)


def test_a_chapter_needs_only_what_comes_before_it():
    for name, wanted in teaching.needs().items():
        for need in wanted:
            assert chapters.numbers()[need] < chapters.numbers()[name]


def test_each_plan_has_what_a_chapter_needs_before_it():
    for plan, name, need in teaching.unmet():
        pytest.fail(
            f"the plan {plan!r} has {name} and not {need} before it, which "
            f"{name} needs; put {need} into a session of PLANS in "
            "tools/teaching.py, and run: make texts"
        )
    whole = [name for names in teaching.PLANS["weeks"] for name in names]
    missing = sorted(set(chapters.numbers()) - set(whole))
    assert not missing, (
        f"the plan 'weeks' has every chapter, and lacks {missing}; put each "
        "into a session of PLANS in tools/teaching.py, and run: make texts"
    )
    assert len(whole) == len(set(whole)) == len(chapters.numbers())


def test_a_plan_that_skips_is_told(monkeypatch):
    monkeypatch.setattr(teaching, "PLANS", {"short": (("mask",),)})
    assert ("short", "mask", "three-tokens") in list(teaching.unmet())


def test_the_drawing_leaves_out_what_a_longer_way_says():
    wanted = {"a": [], "b": ["a"], "c": ["a", "b"], "d": ["a"]}
    assert teaching.reduced(wanted) == [("a", "b"), ("b", "c"), ("a", "d")]


def curve(path):
    """Points of a line of the drawing, which is a curve and then straight."""
    x, start, a, b, c, d, u, v, *straight = map(
        float, re.findall(r"[\d.]+", path)
    )
    p = np.linspace(0, 1, 100)[:, None]
    corners = np.array([(x, start), (a, b), (c, d), (u, v)])
    weights = np.hstack(
        [(1 - p) ** 3, 3 * p * (1 - p) ** 2, 3 * p**2 * (1 - p), p**3]
    )
    end = [(u, y) for y in np.linspace(v, *straight, 40)] if straight else []
    return np.array([*weights @ corners, *end])


def test_no_line_of_the_drawing_passes_a_circle():
    wanted = teaching.needs()
    depth, edges = layered.depths(wanted), teaching.reduced(wanted)
    at, lines, _ = layered.drawing(depth, edges)
    circles = np.array([at[name] for name in wanted])
    for line in lines:
        away = np.linalg.norm(curve(line)[:, None] - circles, axis=-1)
        assert away.min() > layered.RADIUS - 0.01, line


def test_the_lines_of_the_drawing_are_what_chapters_need():
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("a", "d")]
    depth = {"a": 0, "b": 1, "c": 1, "d": 3}
    below = {}
    for start, end in layered.strands(edges, depth):
        below.setdefault(start, []).append(end)

    def reached(x):
        return (
            {x}
            if isinstance(x, str)
            else {name for y in below[x] for name in reached(y)}
        )

    assert {
        (a, b) for a in "abcd" for y in below.get(a, ()) for b in reached(y)
    } == set(edges)


def test_a_chapter_before_what_it_needs_is_told(monkeypatch):
    monkeypatch.setattr(teaching, "needs", lambda: {"a": ["b"], "b": []})
    with pytest.raises(ValueError, match="must list b before a"):
        list(teaching.graph())
