"""Each figure for each reader: zoomed in, in two colours, at rest, on paper.

One figure of each kind is taken from its page, in the elements around it, and
some share a page of the same site. Its one tab then plays every part: a window
of 1280 pixels at 400 %, which is 320 by 256 (WCAG 1.4.10), a reader who asked
for less motion, one who chose two colours for everything, axe, a printer.
"""

import copy

import pytest
from lxml import html

from tests.site import accessibility
from tests.site.javascript import function
from tools import website

ZOOMED = {"width": 320, "height": 256}
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 900}
PAPER = {"width": 718, "height": 1047}  # A4 with the browser's margins
EACH = function("access", "each")


def fainter(before, after):
    """The marks that stood out, and do not any more."""
    return [
        f"{name} does not stand out: {now:.2f}"
        for (name, then, least), (_, now, _) in zip(
            before["marks"], after["marks"], strict=True
        )
        if then >= least > now
    ]


class Figures:
    """The figures of a page, and what the checks of this file say of them.

    A window, a scheme and a printer are changed once for all of them.
    """

    def __init__(self, tab):
        self.tab = tab
        self.all = tab.locator("[data-figure]")
        self.names = self.all.evaluate_all(
            "all => all.map((it) => it.dataset.figure)"
        )

    def do(self, check, given=None):
        """What a check returns of each figure."""
        return self.all.evaluate_all(EACH, [check, given])

    def told(self, check, given=None):
        """The sentences of a check, each with its figure."""
        return self.named(self.do(check, given))

    def named(self, sentences):
        """Sentences on each figure in one list, with its name before each."""
        return [
            f"{name}: {sentence}"
            for name, some in zip(self.names, sentences, strict=True)
            for sentence in some
        ]

    def in_colours(self, scheme, **media):
        """Their marks in the light or in the dark, on a screen or not."""
        self.tab.emulate_media(color_scheme=scheme, **media)
        theme = "theme => { document.documentElement.dataset.theme = theme; }"
        self.tab.evaluate(theme, scheme)
        return self.do("marks")

    def fainter(self, before, after):
        """The marks that stood out, and do not any more."""
        return self.named(map(fainter, before, after))

    def zoomed(self):
        self.tab.set_viewport_size(ZOOMED)
        return self.told("reflow")

    def at_rest(self):
        return self.told("still")

    def clear(self):
        """What is wrong in the light and in the dark."""
        self.tab.set_viewport_size(WIDE)
        wrong = []
        for scheme in ("light", "dark"):
            self.in_colours(scheme)
            wrong += self.told("clear")
        return wrong

    def in_two_colours(self):
        """What is lost under forced colours, on white and on black."""
        self.tab.set_viewport_size(WIDE)
        wrong = []
        for scheme in ("light", "dark"):
            before = self.in_colours(scheme, forced_colors="none")
            after = self.in_colours(scheme, forced_colors="active")
            wrong += self.fainter(before, after)
            wrong += [
                f"{name}: the shades are not those of the page"
                for name, was, now in zip(
                    self.names, before, after, strict=True
                )
                if was["shades"] != now["shades"]
            ]
            wrong += self.told("controls")
        wrong += self.told("noWider")
        self.tab.emulate_media(forced_colors="none")
        return wrong

    def on_paper(self):
        """What is wrong on paper, for a reader of the dark scheme."""
        told = self.do("move")
        light = self.in_colours("light")
        self.tab.set_viewport_size(PAPER)
        paper = self.in_colours("dark", media="print")
        wrong = self.fainter(light, paper) + self.told("printed", told)
        self.tab.emulate_media(media="screen", color_scheme="light")
        return wrong

    def labelled(self):
        self.tab.set_viewport_size(WIDE)
        return self.told("labels")


CHECKS = {
    "at rest": Figures.at_rest,  # first: a field that gets the focus is spoken
    "zoomed in": Figures.zoomed,
    "clear": Figures.clear,
    "in two colours": Figures.in_two_colours,
    "labelled": Figures.labelled,
    "on paper": Figures.on_paper,  # last: it leaves the first state
}


def judged(tab):
    """What axe finds in figures on a dark phone, and on a wide light screen.

    Nothing but the figures is on the page.
    """
    wrong = []
    for size, scheme in ((PHONE, "dark"), (WIDE, "light")):
        tab.set_viewport_size(size)
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function(
            "now => document.documentElement.dataset.theme === now",
            arg=scheme,
        )
        wrong += accessibility.problems(tab, "article")
    return wrong


# The page of each kind of figure: the first of the book.
PAGE_OF = {
    name: page
    for page in reversed(website.pages_with_figures())
    for name in website.figures(page)
}
LOTS = 2  # pages that share the figures between them


def parsed(site, page):
    return html.parse(str(site / f"{page}.html")).getroot()


def alone(figure):
    """A figure in elements like those around it, without their contents."""
    inner = copy.deepcopy(figure)
    inner.tail = None
    for around in figure.iterancestors():
        if around.tag == "article":
            return inner
        outer = html.Element(around.tag, around.attrib)
        outer.attrib.pop("id", None)  # of a section of another page
        if around.tag == "details":
            outer.set("open", "")
        outer.append(inner)
        inner = outer
    raise AssertionError("a figure stands outside of the article")


def page_of_figures(site, names):
    """A page of the site whose article has some figures and nothing else."""
    page = parsed(site, website.LESSONS[0])
    (article,) = page.iter("article")
    article[:] = [
        alone(
            parsed(site, PAGE_OF[name]).xpath(f"//*[@data-figure='{name}']")[0]
        )
        for name in names
    ]
    article.text = None
    return html.tostring(page, doctype="<!DOCTYPE html>", encoding="unicode")


@pytest.fixture
def opened(host, site, browser):
    """Open a page of some figures, as wide as one that is zoomed in."""
    with browser.new_context(
        viewport=ZOOMED, reduced_motion="reduce"
    ) as context:

        def opened(names):
            tab = context.new_page()
            body = page_of_figures(site, names)
            address = f"{host.address}/book/figures-alone.html"
            tab.route(
                address,
                lambda route: route.fulfill(
                    body=body, content_type="text/html; charset=utf-8"
                ),
            )
            tab.goto(address)
            website.scroll_through(tab)
            return tab

        yield opened


@pytest.mark.parametrize("lot", range(LOTS))
def test_every_figure_is_for_every_reader(opened, lot):
    names = sorted(PAGE_OF)[lot::LOTS]
    tab = opened(names)
    figures = Figures(tab)
    assert figures.names == names
    wrong = judged(tab) + [
        f"{way}: {told}"
        for way, check in CHECKS.items()
        for told in check(figures)
    ]
    assert not wrong, "\n".join(wrong)
