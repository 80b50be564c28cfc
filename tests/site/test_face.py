"""What a page looks like: notes, static figures and cards, in a browser."""

import pytest

NOTES = """() => [...document.querySelectorAll(".noted")].map((box) => {
  const [text, note] = [...box.querySelectorAll("p")].map((p) =>
    p.getBoundingClientRect());
  return { text, note, room: document.documentElement.clientWidth };
})"""
# Folds are opened: a figure in one is read as any other.
FIGURES = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  return [...document.querySelectorAll(".figure svg")].map((svg) => {
    const { width, left, right } = svg.getBoundingClientRect();
    const scale = width / svg.viewBox.baseVal.width;
    const sizes = [...svg.querySelectorAll("text, tspan")].map((text) =>
      parseFloat(getComputedStyle(text).fontSize) * scale);
    return { width, left, right, least: Math.min(...sizes) };
  });
}"""
CARDS = """() => [...document.querySelectorAll("svg.sd-card-img-top")].map(
  (svg) => {
    const room = svg.closest(".sd-card").getBoundingClientRect();
    const { top, bottom } = svg.getBoundingClientRect();
    const { width, height } = svg.getBBox();
    return {
      top: Math.round(room.top),
      height: Math.round(bottom - top),
      least: Math.min(width, height),
      margin: Math.min(top - room.top, room.bottom - bottom),
    };
  })"""


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
    """It keeps 4 px to each edge."""
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{host.address}/book/derivation.html")  # most are in folds
    shown = tab.evaluate(FIGURES)
    assert len(shown) >= 4
    for figure in shown:
        assert figure["width"] >= 381
        assert 3 <= figure["left"] < figure["right"] <= 387
        assert figure["least"] >= 9


@pytest.mark.parametrize("page", ["index", "book/gallery"])
def test_card_images_are_drawn_clear_of_the_edges(tab, host, page):
    tab.goto(f"{host.address}/{page}.html")
    shown = tab.evaluate(CARDS)
    assert shown
    assert min(card["least"] for card in shown) > 1
    assert min(card["margin"] for card in shown) > 8
    rows = {(card["top"], card["height"]) for card in shown}
    assert len(rows) == len({top for top, _ in rows}), "of a row: equally high"
