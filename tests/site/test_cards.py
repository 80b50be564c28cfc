"""The landing page has a card for every figure, as the figure looks now."""

from pathlib import Path

import nbformat
import pytest
from attention_site import svg

from helpers import figures
from tools import cards

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", cards.CARDS)
def test_a_card_shows_what_its_figure_shows_now(name):
    stored = (cards.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == cards.card(name), "run: python -m tools.cards"
    assert "<text" not in stored
    drawn = stored.count("<rect") + stored.count("<path")
    assert drawn >= 4, "a drawing, not an empty frame"


def test_every_figure_has_a_card_and_every_card_is_on_the_landing_page():
    kinds = figures.InteractiveFigure.__subclasses__()
    names = {c.__name__ for c in kinds if c.__module__ == "helpers.figures"}
    shown = {type(figure).__name__ for figure, *_ in cards.CARDS.values()}
    assert shown == names - {"Words"}  # it stands on that page itself
    page = nbformat.read(ROOT / "index.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in page.cells)
    stored = {path.stem for path in cards.FOLDER.glob("*.svg")}
    assert stored == set(cards.CARDS)
    for name in stored:
        assert text.count(f":img-top: book/_static/cards/{name}.svg") == 1


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (
            '<svg class="av-film" viewBox="0 0 1 1"><g class="a"/></svg>',
            '<svg aria-hidden="true" class="sd-card-img-top av-film" '
            'viewBox="0 0 1 1"><g class="a"/></svg>',
        ),
        (
            '<svg viewBox="0 0 1 1"><g class="a"/></svg>',
            '<svg aria-hidden="true" class="sd-card-img-top" '
            'viewBox="0 0 1 1"><g class="a"/></svg>',
        ),
    ],
)
def test_a_card_is_drawn_by_the_style_sheet_and_says_nothing(stored, expected):
    assert svg.decorated(stored) == expected
