"""Parse each written page once for all parts that need to know it."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

from .lean import faces
from .lean.styles import CUSTOM

# Elements without prose.
SILENT = ("script", "style", "svg", "noscript", "table")
# The links of our layout.html, with the place of the digest.
LINKED = re.compile(
    r"(_static/(?:bundle\.css|site\.js|bundle\.js)\?v=)([0-9a-f]{8})"
)


class Parsed(NamedTuple):
    """The facts on a page that style sheets, fonts and the search need."""

    words: frozenset  # classes, ids, and custom properties used
    elements: frozenset
    text: str  # the prose of its article
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
    """Return the facts of a written page, whatever the digests it links."""
    return app.kept(parse, LINKED.sub(r"\g<1>00000000", html))


def pages_of(out):
    """Return the names of the pages in a built site."""
    static = out / "_static"
    return {
        path.relative_to(out).with_suffix("").as_posix()
        for path in out.rglob("*.html")
        if static not in path.parents
    }
