"""Write each interactive figure as a page of its own, to open or to embed.

`site.js` adds a link to this page below each figure, with the state in its
address, and writes the line of HTML that embeds the page.
"""

import re
from pathlib import Path

from course import figures

FOLDER = "figure"
MARK = re.compile('id="figure-([^"]+)"')


def homes(app):
    """Return the first page of the book that has each figure.

    The landing page does not count, because a lesson explains its figures.
    """
    found = {}
    for page in sorted(app.env.found_docs - {app.config.root_doc}):
        written = Path(app.builder.get_outfilename(page))
        for name in MARK.findall(written.read_text(encoding="utf-8")):
            found.setdefault(name, page)
    return found


def drawing(name):
    return figures.classes()[name]().html()


def pages(app):
    """Yield the page of each figure with its context and template."""
    of_figure, root = homes(app), app.config.root_doc
    for name, kind in sorted(figures.classes().items()):
        page = f"{FOLDER}/{name}"
        lesson = of_figure.get(name, root)
        section = f"#figure-{name}" if name in of_figure else ""
        yield (
            page,
            {
                "drawing": app.kept(
                    drawing, name, because_of=figures.script(name)
                ),
                "label": kind._label,
                "lesson": app.builder.get_relative_uri(page, lesson) + section,
            },
            "figure.html",
        )


def setup(app):
    app.connect("html-collect-pages", pages)
