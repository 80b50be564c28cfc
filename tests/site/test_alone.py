"""Each figure has a page of its own, to open or to embed."""

import pytest
from bs4 import BeautifulSoup

from course.figures import classes
from tests.site.javascript import function
from tools import website

# A grid, a text that is typed, a film, and one that computes in a worker.
EACH_DAY = ["heads", "flow", "film", "induction"]
every_figure = pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=() if name in EACH_DAY else pytest.mark.weekly
        )
        for name in classes()
    ],
)

FAULTS = function("alone", "faults")


@every_figure
def test_a_figure_is_live_on_a_page_of_its_own(browser, host, name):
    """On a phone; test_access.py has each figure as wide as a desk too."""
    said = []
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("requestfailed", lambda request: said.append(request.url))
    tab.goto(f"{host.address}/figure/{name}.html")
    tab.wait_for_selector(".av-live")
    said += tab.evaluate(FAULTS)
    tab.close()
    assert not said


def test_a_figure_opens_alone_in_its_state_and_gives_its_line(browser, host):
    tab = browser.new_page()
    tab.goto(f"{host.address}/book/share-keys.html?heads.H=8&step.x=1")
    link = tab.locator("[data-figure=heads] .av-tools a")
    link.focus()
    address = link.get_attribute("href")
    assert address == f"{host.address}/figure/heads.html?heads.H=8"
    tab.goto(address)
    line = tab.locator(".embed input")
    line.focus()
    frame = BeautifulSoup(line.input_value(), "html.parser").iframe
    assert frame["src"] == address
    outer = f"<h1>Another page</h1>{frame}"
    tab.route("**/other.html", lambda r: r.fulfill(body=outer))
    tab.goto(f"{host.address}/other.html")
    inner = tab.frame_locator("iframe")
    inner.locator(".av-live").wait_for()
    assert inner.locator(".embed").is_hidden(), "it is in a frame already"
    home = inner.locator(".imprint a").first
    assert home.get_attribute("target") == "_top"
    assert "#figure-heads" in home.get_attribute("href")
    tab.close()


def test_a_page_of_a_figure_follows_the_system(browser, host):
    tab = browser.new_page(color_scheme="light")
    tab.goto(f"{host.address}/figure/heads.html")
    now = "now => document.documentElement.dataset.theme === now"
    tab.wait_for_function(now, arg="light")
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(now, arg="dark")
    tab.close()


CUT = function("alone", "cut")


@pytest.mark.parametrize("name", ["kvcache", "card", "roof"])
def test_full_screen_shows_the_whole_picture(browser, host, name):
    """Of the figures whose tables stand below the controls: a column."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{host.address}/figure/{name}.html")
    tab.wait_for_selector(".av-live")
    tab.evaluate("() => new Promise(requestAnimationFrame)")
    tab.get_by_role("button", name="Full screen").press("Enter")
    tab.wait_for_function("document.fullscreenElement")
    cut = tab.evaluate(CUT)
    tab.close()
    assert cut
    assert max(cut) <= 1


def test_a_page_of_a_figure_shows_it_without_scripts(site):
    for name in website.ALONE:
        page = BeautifulSoup(
            (site / f"{name}.html").read_text("utf-8"), "lxml"
        )
        (figure,) = page.select(".av-figure")
        assert figure.find(["svg", "table"]), name
        (heading,) = page("h1")
        assert page.title.text.startswith(heading.text)
        (icon,) = page.select("link[rel=icon]")
        assert (site / "figure" / icon["href"]).exists(), name
