"""Write each interactive figure as a page of its own, to open or to embed.

`site.js` adds a link to this page below each figure, with the state in its
address, and writes the line of HTML that embeds the page.
"""

from helpers import figures

FOLDER = "figure"


def home(app, name):
    """Return the first page of the book that has a figure, or its root.

    The landing page does not count, because a lesson explains its figures.
    """
    mark = f'id="figure-{name}"'
    root = app.config.root_doc
    for page in sorted(app.env.found_docs - {root}):
        written = app.builder.get_outfilename(page)
        with open(written, encoding="utf-8") as file:
            if mark in file.read():
                return page, f"#figure-{name}"
    return root, ""


def pages(app):
    """Yield the page of each figure with its context and template."""
    for name, kind in sorted(figures.classes().items()):
        drawn, page = kind(), f"{FOLDER}/{name}"
        lesson, section = home(app, name)
        yield (
            page,
            {
                "drawing": drawn.html(),
                "label": kind._label,
                "lean": app.config.lean,
                "lesson": app.builder.get_relative_uri(page, lesson) + section,
            },
            "figure.html",
        )


def setup(app):
    app.connect("html-collect-pages", pages)
