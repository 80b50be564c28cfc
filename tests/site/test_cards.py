"""The gallery has a card for every figure, as the figure looks now."""

import re
from pathlib import Path

import nbformat
import pytest

from tools import cards, chapters

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", cards.CARDS)
def test_a_card_shows_what_its_figure_shows_now(name):
    stored = (cards.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == cards.card(name), "run: python -m tools.cards"
    assert "<text" not in stored
    assert re.search("<(rect|path|circle)", stored), "not an empty frame"


def test_cards_are_in_the_gallery():
    text = (ROOT / "book" / "gallery.md").read_text(encoding="utf-8")
    stored = {path.stem for path in cards.FOLDER.glob("*.svg")}
    assert stored == set(cards.CARDS)
    for name in stored:
        used = text.count(f":img-top: /book/_static/cards/{name}.svg")
        assert used == 1, f"book/gallery.md needs one card with {name}.svg"


def test_a_card_has_the_title_of_its_lesson():
    text = (ROOT / "book" / "gallery.md").read_text(encoding="utf-8")
    titles = re.findall(r"-card\} \[(.+)\]\(([\w-]+)\.ipynb#figure-", text)
    assert len(titles) == len(cards.CARDS)
    for title, page in titles:
        book = nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4)
        own = book.cells[0].source.partition("\n")[0].removeprefix("# ")
        number = chapters.numbers().get(page)
        assert title == (f"{number}. {own}" if number else own)
