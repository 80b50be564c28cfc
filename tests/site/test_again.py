"""A lesson's figure, shown again in the state that its text sets."""

import pytest

from course import figures
from tests.figures.agreement import assert_same
from tools import website

EACH_DAY = "book/mask"
PAGES = [
    pytest.param(page, marks=() if page == EACH_DAY else pytest.mark.weekly)
    for page in website.pages_with_figures()
    if page in website.LESSONS
]
OPEN = "(all) => all.forEach((it) => (it.open = true))"
VALUES = "(figure) => figure.values"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "most"), [(1440, 850), (390, 844)])
def test_each_is_live_in_its_state_and_fits_the_screen(
    browser, host, page, width, most
):
    errors = []
    tab = browser.new_page(viewport={"width": width, "height": 844})
    tab.on("pageerror", lambda error: errors.append(str(error)))
    address = f"{host.address}/{page}.html"
    told = figures.shown_again(tab.request.get(address).text())
    tab.goto(address)
    website.open_deeper(tab)
    tab.locator("details.av-reveal").evaluate_all(OPEN)
    places = tab.locator("[data-again]").all()
    for place, (name, state, _) in zip(places, told, strict=True):
        place.evaluate("(it) => it.scrollIntoView()")
        figure = place.locator(".av-live")
        figure.wait_for()
        expected = figures.classes()[name](**state).values
        assert_same(figure.evaluate(VALUES), expected)
        assert place.bounding_box()["height"] <= most, name
    tab.close()
    assert told
    assert not errors


def test_what_a_reader_does_there_stays_there(browser, host):
    tab = browser.new_page()
    tab.goto(f"{host.address}/{EACH_DAY}.html")
    first = tab.locator("[data-figure=mask][data-state]")
    first.locator(".av-controls").wait_for()
    before = first.evaluate(VALUES)
    place = tab.locator("[data-again]").first
    place.evaluate("(it) => it.scrollIntoView()")
    again = place.locator(".av-live")
    again.wait_for()
    there = again.evaluate("(figure) => JSON.stringify(figure.values)")
    again.locator("[data-handle]").first.click()
    changed = "([it, old]) => JSON.stringify(it.values) !== old"
    website.until(tab, changed, arg=[again.element_handle(), there])
    assert first.evaluate(VALUES) == before
    assert "?" not in tab.url
    tab.emulate_media(media="print")
    assert not place.is_visible()
    tab.close()
