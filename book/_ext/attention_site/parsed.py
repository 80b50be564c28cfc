"""What the site needs to know of each written page, from one parse of it."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

from .lean import faces
from .lean.styles import CUSTOM

# What scripts and styles say is no text, nor is a picture's. A table lists.
SILENT = ("script", "style", "svg", "noscript", "table")
# What our own layout.html links, with the place of a digest.
LINKED = re.compile(
    r"(_static/(?:bundle\.css|site\.js|bundle\.js)\?v=)([0-9a-f]{8})"
)


class Parsed(NamedTuple):
    """Of one page: what style sheets, fonts and the search ask for."""

    words: frozenset  # classes, ids, and custom properties that it asks for
    elements: frozenset
    text: str  # of its article, without what is silent
    characters: str
    in_formulas: str


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.elements, self.text = set(), set(), []
        self.silent = self.articles = 0

    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        for name, value in attributes:
            if name in ("class", "id"):
                self.words |= set((value or "").split())
            else:
                self.words |= set(CUSTOM.findall(value or ""))
        self.silent += tag in SILENT
        self.articles += tag == "article"
        self.text.append(" ")

    def handle_endtag(self, tag):
        self.silent -= tag in SILENT
        self.articles -= tag == "article"
        self.text.append(" ")

    def handle_data(self, data):
        if self.lasttag == "style":
            self.words |= set(CUSTOM.findall(data))
        if self.articles and not self.silent:
            self.text.append(data)


def parse(html):
    page = _Page()
    page.feed(html)
    return Parsed(
        frozenset(page.words),
        frozenset(page.elements),
        " ".join("".join(page.text).split()),
        "".join(sorted(set(unescape(html)))),
        "".join(sorted(faces.formula_characters(html))),
    )


def of(app, html):
    """What a written page says; that it was linked to a bundle is not it."""
    return app.kept(parse, LINKED.sub(r"\g<1>00000000", html))


def pages_of(out):
    """The names of the pages in a site."""
    static = out / "_static"
    return {
        path.relative_to(out).with_suffix("").as_posix()
        for path in out.rglob("*.html")
        if static not in path.parents
    }
