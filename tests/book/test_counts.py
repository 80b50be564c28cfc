"""Counts that a sentence states are those of what it counts."""

import pytest

from course import broken
from course.published import load
from tools import chapters, teaching

# One lab, from memory, is shorter than the others.
LABS = len(list((chapters.ROOT / "book" / "labs").glob("*.ipynb")))
LEDGERS = len(list((chapters.ROOT / "course" / "ledgers").glob("*.yml")))
BREAK = "book/labs/break-attention.ipynb"
# By file, what it says, and how many there are.
STATED = [
    ("README.md", "{} bugs to find", broken.COUNT),
    ("book/intro.md", "finding {} bugs", broken.COUNT),
    ("book/intro.md", "{} labs take", LABS - 1),
    ("book/intro.md", "## The {} sources", LEDGERS - 1),
    ("book/reference-training.md", "the {} bugs of the lab", broken.COUNT),
    (BREAK, "has {} patients", broken.COUNT),
    (BREAK, "shows the {} patients", broken.COUNT),
    (BREAK, "Each of the {} bugs", broken.COUNT),
    ("book/ledger.ipynb", "the {} sources", LEDGERS - 1),
    ("book/literature.ipynb", "all {} ledgers", LEDGERS),
]


@pytest.mark.parametrize(("file", "words", "count"), STATED)
def test_counts_in_sentences(file, words, count):
    text = " ".join((chapters.ROOT / file).read_text("utf-8").split()).lower()
    expected = words.format(teaching.NUMERALS[count])
    says = expected.lower() in text
    assert says, f"{file} must say {expected!r}"


def test_one_ledger_is_no_source():
    assert load("literature").slug == "literature"
