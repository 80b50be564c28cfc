"""What the page for teachers says follows from the chapters."""

import re

import pytest

from tools import chapters, reading, teaching


@pytest.fixture(scope="module")
def text():
    return teaching.PAGE.read_text(encoding="utf-8")


def test_its_tables_are_those_of_the_chapters(text):
    typed = re.sub(r"\| \d+ \| \d+ \|", "| 1 | 2 |", text, count=1)
    assert typed != text
    assert teaching.fill(typed) == text, "run: make texts"
    blocks = [name for _, name, _ in teaching.BLOCK.findall(text)]
    assert blocks == ["times", *teaching.PLANS]


def test_the_minutes_are_those_that_each_chapter_states(text):
    rows = re.findall(
        r"^\| \[\d+\]\(([\w-]+)\.ipynb\) [^|]+ \| (\d+) \| (\d+) \|",
        text,
        flags=re.M,
    )
    listed = [name for name, *_ in rows]
    assert listed == list(chapters.numbers()), "run: make texts"
    for name, core, everything in rows:
        stated = reading.TIME.search(teaching.prose(name))[0]
        said = re.findall(r"\d+", stated)
        assert (said[0], said[-1]) == (core, everything)


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
    for classes in teaching.PLANS.values():
        every = [name for names in classes for name in names if name]
        assert len(every) == len({*every}), "the plan has a chapter twice"
        assert {*every} <= {*chapters.numbers()}


def test_a_class_reads_two_cores_and_leaves_time_for_questions(text):
    rows = re.findall(
        r"^\| \d+ \| (.+) \| (\d+) min \| (\d+) min \|", text, re.M
    )
    assert len(rows) > len(chapters.numbers()) / 2  # the term and others
    for links, read, left in rows:
        names = re.findall(r"\(([\w-]+)\.ipynb\)", links)
        stated = [
            reading.TIME.search(teaching.prose(name))[0] for name in names
        ]
        cores = [int(re.search(r"\d+", time)[0]) for time in stated]
        assert len(cores) <= 2
        assert (int(read), int(left)) == (sum(cores), 90 - sum(cores))
        assert int(left) >= 30, "time for the questions of the two cores"


def test_a_plan_that_skips_is_told(monkeypatch):
    monkeypatch.setattr(teaching, "PLANS", {"short": (("mask",),)})
    assert ("short", "mask", "three-tokens") in list(teaching.unmet())
