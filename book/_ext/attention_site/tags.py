"""Read the tags and the text of a page that Sphinx has written.

This parser is several times as fast as `html.parser`, because it leaves out
checks that only broken pages need. `tests/site/test_html.py` compares the two.
"""

import re
from functools import lru_cache
from html import unescape

TOKEN = re.compile(
    r"<!--.*?-->|<[!?][^>]*>"
    r"""|<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']+|"[^"]*"|'[^']*')*+)>""",
    re.S,
)
ATTRIBUTE = re.compile(
    r"""([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?"""
)
RAW = ("script", "style")  # elements whose text has no tags


@lru_cache(maxsize=10_000)
def attributes(text):
    """Return the attributes of a tag, cached because most tags repeat."""
    return {
        name.lower(): unescape(double or single or bare)
        for name, double, single, bare in ATTRIBUTE.findall(text)
    }


def feed(html, reader):
    """Call a reader's `start` and `end` for tags, and its `data` for text."""
    at = 0
    while token := TOKEN.search(html, at):
        if token.start() > at:
            reader.data(unescape(html[at : token.start()]))
        at = token.end()
        ends, name, inside = token.groups()
        if not name:  # a comment
            continue
        name = name.lower()
        if ends:
            reader.end(name)
            continue
        reader.start(name, attributes(inside))
        if inside.endswith("/"):
            reader.end(name)
        elif name in RAW:
            stop = html.find(f"</{name}", at)
            reader.data(html[at:stop])
            at = stop
    if at < len(html):
        reader.data(unescape(html[at:]))
