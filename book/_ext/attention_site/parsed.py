"""Read the prose of a written page."""

from . import tags

# Elements without prose.
SILENT = ("script", "style", "svg", "noscript", "table")


class _Prose:
    def __init__(self):
        self.text, self.silent = [], 0

    def start(self, tag, attributes):
        self.silent += tag in SILENT
        self.text.append(" ")

    def end(self, tag):
        self.silent -= tag in SILENT
        self.text.append(" ")

    def data(self, data):
        if not self.silent:
            self.text.append(data)


def article(html):
    """Return the part of a page that is not the same on every page."""
    return html[html.find("<article") : html.find("</article>")]


def prose(article):
    """Return the text of an article, without code that draws or computes."""
    reader = _Prose()
    tags.feed(article, reader)
    return " ".join("".join(reader.text).split())


def pages_of(out):
    """Return the names of the pages in a built site."""
    static = out / "_static"
    return {
        path.relative_to(out).with_suffix("").as_posix()
        for path in out.rglob("*.html")
        if static not in path.parents
    }
