"""What a page looks like: notes, static figures and cards, in a browser."""

import pytest

from tests.site.javascript import function

NOTES = function("face", "notes")
FIGURES = function("face", "figures")


@pytest.fixture
def tab(browser):
    tab = browser.new_page()
    tab.route("**/*.js*", lambda route: route.abort())  # none is needed
    yield tab
    tab.close()


def test_noted_text_has_its_note_beside_or_below_it(tab, host):
    tab.set_viewport_size({"width": 1600, "height": 900})
    tab.goto(f"{host.address}/book/heads.html")
    (wide,) = tab.evaluate(NOTES)
    assert wide["note"]["left"] >= wide["text"]["right"]
    assert wide["note"]["top"] < wide["text"]["bottom"]
    assert wide["note"]["width"] > 150
    tab.set_viewport_size({"width": 390, "height": 844})
    (narrow,) = tab.evaluate(NOTES)
    assert narrow["note"]["top"] >= narrow["text"]["bottom"]
    assert narrow["note"]["right"] <= narrow["room"]


def test_static_figure_is_as_wide_as_a_phone_and_legible(tab, host):
    """It keeps 4 to 8 px to each edge."""
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{host.address}/book/derivation.html")  # most are in folds
    shown = tab.evaluate(FIGURES)
    assert len(shown) >= 4
    for figure in shown:
        assert figure["width"] >= 374
        assert 3 <= figure["left"] < figure["right"] <= 387
        assert figure["least"] >= 12
