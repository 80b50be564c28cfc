"""What a reader relies on in the page of questions that people ask."""

import re

import pytest
from docutils.nodes import make_id

from tests.book import test_chapters as chapters

PAGE = chapters.ROOT / "book" / "questions.ipynb"
QUESTION = re.compile(r"^### (.+)\n\n(.+)\n\nTaught in (.+) Asked in (.+)$")
LINK = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.ipynb#([\w-]+)\)")
SOURCE = re.compile(r"\[[^\]]+\]\(https://[^)]+\)\.")
LONGEST = 50  # words of an answer


QUESTIONS = [
    part
    for part in re.split(r"\n\n(?=##)", chapters.prose(PAGE))
    if part.startswith("### ")
]


@pytest.mark.parametrize("part", QUESTIONS)
def test_a_question_has_a_short_answer_what_teaches_it_and_its_source(part):
    heading, answer, taught, source = QUESTION.fullmatch(part).groups()
    assert heading.endswith("?")
    assert len(answer.split()) <= LONGEST
    assert SOURCE.fullmatch(source)
    sections = LINK.findall(taught)
    assert sections
    for text, name, anchor in sections:
        lesson = chapters.ROOT / "book" / f"{name}.ipynb"
        headings = re.findall(r"^#+ (.+)$", chapters.prose(lesson), re.M)
        # What every lesson has is named with its lesson.
        named = {make_id(it): it for it in headings}
        assert text in (named[anchor], f"{headings[0]}, {named[anchor]}")


def test_no_question_is_asked_twice():
    asked = {QUESTION.fullmatch(part)[4] for part in QUESTIONS}
    assert len(asked) == len(QUESTIONS) >= 45


def test_a_long_number_of_an_answer_is_computed():
    chapters.test_a_long_number_of_the_prose_is_in_code_or_output(PAGE)
