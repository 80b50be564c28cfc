"""Every page opened in a browser once, and its kinds judged by axe.

What can be read from the HTML alone is in `tests/site/test_html.py`.
"""

import pytest

from course import published
from tests import budgets
from tests.site import accessibility
from tests.site.javascript import function
from tools import website

SIZES = {
    "phone": {"width": 390, "height": 844},
    "wide": {"width": 1280, "height": 900},
}
# A page of each kind; each figure is judged in tests/site/test_access.py.
KINDS = [
    "index", "book/three-tokens", "book/audit/tiny-vectors",
    "book/practice/soften-and-sharpen", "book/labs/audit-a-page",
    "book/ledger", "book/glossary", "book/reference", "404", "search",
]  # fmt: skip
# Before any press, scrolled through. The search loads its index, which has
# every word of the book.
BYTES, MORE_BYTES = 300_000, {"search": 310_000}
# A phone lays out every element of a page before it shows the first.
MOST_ELEMENTS = 8_500
ENTRIES = sum(
    len(published.load(path.stem).entries)
    for path in published.FOLDER.glob("*.yml")
)
ELEMENTS = {
    "book/ledger": 11 * ENTRIES,
    # A row for each of its 202 entries, and two drawings of each plot.
    "book/audit/attention-math": 10_000,
}
MARK = "/_static/favicon.svg"  # asked for at will

FORM = function("visits", "form")

OTHERS_JUDGE = function("visits", "othersJudge")


class Heard:
    """What a tab says, and what it asks for and gets."""

    def __init__(self, tab):
        tab.on("console", self.console)
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on("requestfinished", lambda r: self.done.append(r.url))
        tab.on("requestfailed", lambda r: self.failed.append(r.url))
        tab.on("response", self.response)
        self.clear()

    def clear(self):
        self.said, self.asked, self.done, self.failed = [], [], [], []

    def console(self, message):
        if message.type == "error":
            self.said.append(message.text)

    def response(self, response):
        if response.status >= 400:
            self.failed.append(response.url)

    def check(self, tab, host):
        """All that was asked for came, from this host."""
        tab.wait_for_timeout(50)  # what has just come into view is asked for
        while len(self.done) + len(self.failed) < len(self.asked):
            tab.wait_for_timeout(20)
        asked = [url for url in self.asked if not url.startswith("data:")]
        outside = [url for url in asked if not url.startswith(host.address)]
        assert not outside, f"requests leave the site: {outside}"
        assert not self.failed, f"requests failed: {self.failed}"
        assert not self.said, f"errors in the console: {self.said}"
        sent = sorted(path for path, _ in host.sent if path != MARK)
        paths = (url.removeprefix(host.address) for url in asked)
        assert sent == sorted(path for path in paths if path != MARK)


@pytest.fixture(scope="module")
def tabs():
    return []


@pytest.fixture
def phone(browser, tabs):
    """The tab of all visits, and what it hears."""
    if not tabs or tabs[-1][0].is_closed():
        tab = browser.new_page(reduced_motion="reduce")
        tab.set_default_timeout(120_000)  # beside six busy processes too
        tabs.append((tab, Heard(tab)))
    return tabs[-1]


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_a_page_on_a_phone(host, phone, page):
    tab, heard = phone
    tab.set_viewport_size(SIZES["phone"])
    tab.emulate_media(color_scheme="dark")
    tab.goto("about:blank")
    host.sent.clear()
    heard.clear()
    tab.goto(f"{host.address}/{page}.html", wait_until="load")
    website.scroll_through(tab)
    wrong, elements = tab.evaluate(FORM)
    heard.check(tab, host)
    moved = sum(size for path, size in host.sent if path != MARK)
    budgets.keep(f"bytes of {page}", moved, MORE_BYTES.get(page, BYTES))
    if page in KINDS:
        wrong += judged(tab, themed=page != "404")  # that page loads nothing
    assert not wrong, "\n".join(wrong)
    most = ELEMENTS.get(page, MOST_ELEMENTS)
    budgets.keep(f"elements of {page}", elements, most)


def judged(tab, themed):
    """What is wrong on a wide light screen, and for axe on both."""
    tab.set_viewport_size(SIZES["wide"])
    wrong = [f"wide: {told}" for told in tab.evaluate(FORM)[0]]
    tab.evaluate(OTHERS_JUDGE)
    tab.evaluate(accessibility.THINNED)
    for size, scheme in (("wide", "light"), ("phone", "dark")):
        tab.set_viewport_size(SIZES[size])
        tab.emulate_media(color_scheme=scheme)
        if themed:
            theme = "now => document.documentElement.dataset.theme === now"
            tab.wait_for_function(theme, arg=scheme)
        # The page is shorter now, so another field may be under the bar.
        tab.evaluate(website.CLEAR_OF_THE_BAR)
        found = accessibility.problems(tab)
        menu = tab.locator("button.primary-toggle:visible")
        if menu.count() != themed:
            found.append("one button opens and closes the menu")
        shown = tab.locator(".bd-docs-nav").is_visible()
        if shown != (themed and size == "wide"):
            found.append("the menu is not where it belongs")
        wrong += [f"{size}, {scheme}: {told}" for told in found]
    return wrong
