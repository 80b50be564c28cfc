"""Counts that a sentence states are those of what it counts."""

import pytest

from course import broken
from course.published import load
from tools import chapters, teaching

# One lab, from memory, is shorter than the others.
LABS = len(list((chapters.ROOT / "book" / "labs").glob("*.ipynb")))
LEDGERS = len(list((chapters.ROOT / "course" / "ledgers").glob("*.yml")))
PICKED = ("literature", "long-texts")  # no source of their own
BREAK = "book/labs/break-attention.ipynb"
# By file, what it says, and how many there are.
STATED = [
    ("README.md", "{} bugs to find", broken.COUNT),
    ("book/intro.md", "finding {} bugs", broken.COUNT),
    ("book/intro.md", "{} labs take", LABS - 1),
    ("book/intro.md", "## The {} sources", LEDGERS - len(PICKED)),
    ("book/reference-training.md", "the {} bugs of the lab", broken.COUNT),
    (BREAK, "has {} patients", broken.COUNT),
    (BREAK, "shows the {} patients", broken.COUNT),
    (BREAK, "Each of the {} bugs", broken.COUNT),
    ("book/ledger.ipynb", "the {} sources", LEDGERS - len(PICKED)),
    ("book/literature.ipynb", "all {} ledgers", LEDGERS),
]


@pytest.mark.parametrize(("file", "words", "count"), STATED)
def test_counts_in_sentences(file, words, count):
    text = " ".join((chapters.ROOT / file).read_text("utf-8").split()).lower()
    expected = words.format(teaching.NUMERALS[count])
    says = expected.lower() in text
    assert says, f"{file} must say {expected!r}"


def test_the_entries_of_a_ledger_without_a_source_cite_one_each():
    for slug in PICKED:
        assert all(entry.cite for entry in load(slug).entries.values())
