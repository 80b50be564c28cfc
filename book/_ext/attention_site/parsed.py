"""Parse each written page once, for all parts of the extension."""

import re
from html import unescape
from typing import NamedTuple

from . import tags
from .lean import faces
from .lean.styles import CUSTOM

# Elements without prose.
SILENT = ("script", "style", "svg", "noscript", "table")
# The links of our layout.html, including the place of the digest.
LINKED = re.compile(
    r"(_static/(?:bundle\.css|site\.js|bundle\.js)\?v=)([0-9a-f]{8})"
)


class Parsed(NamedTuple):
    """The facts about a page that style sheets, fonts and the search need."""

    words: frozenset  # classes, ids, and custom properties used
    elements: frozenset
    text: str  # the prose of its article
    characters: str
    in_formulas: str


class _Page:
    def __init__(self):
        self.words, self.elements, self.text = set(), set(), []
        self.silent = self.articles = 0
        self.last = ""

    def start(self, tag, attributes):
        self.last = tag
        self.elements.add(tag)
        for name, value in attributes.items():
            if name in ("class", "id"):
                self.words.update(value.split())
            elif "--" in value:
                self.words.update(CUSTOM.findall(value))
        self.silent += tag in SILENT
        self.articles += tag == "article"
        self.text.append(" ")

    def end(self, tag):
        self.silent -= tag in SILENT
        self.articles -= tag == "article"
        self.text.append(" ")

    def data(self, data):
        if self.last == "style":
            self.words.update(CUSTOM.findall(data))
        if self.articles and not self.silent:
            self.text.append(data)


def parse(html):
    page = _Page()
    tags.feed(html, page)
    return Parsed(
        frozenset(page.words),
        frozenset(page.elements),
        " ".join("".join(page.text).split()),
        "".join(sorted(set(unescape(html)))),
        "".join(sorted(faces.formula_characters(html))),
    )


def of(app, html):
    """Return the facts about a written page, ignoring its digests."""
    return app.kept(parse, LINKED.sub(r"\g<1>00000000", html))


def pages_of(out):
    """Return the names of the pages in a built site."""
    static = out / "_static"
    return {
        path.relative_to(out).with_suffix("").as_posix()
        for path in out.rglob("*.html")
        if static not in path.parents
    }
