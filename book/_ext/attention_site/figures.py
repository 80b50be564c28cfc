"""Show each interactive figure, and write its script beside the pages."""

import collections
import re
from pathlib import Path

from docutils import nodes

from helpers import figures


def names():
    """Return the names of all figures."""
    return sorted(figures.classes())


def anchored(html, before):
    """Return a figure with an anchor; `before` counts the figures so far.

    For example, the first figure of a kind gets `figure-heads` and the second
    `figure-heads-2`, so that adding a figure later breaks no link.
    """
    name = re.search(r'data-figure="(\w+)"', html)[1]
    before[name] += 1
    number = f"-{before[name]}" if before[name] > 1 else ""
    return html.replace(
        figures.SHOWN, f'{figures.SHOWN}id="figure-{name}{number}" ', 1
    )


def show(app, doctree):
    """Show the drawing, and drop the note that only notebooks need."""
    before = collections.Counter()
    for raw in doctree.findall(nodes.raw):
        if "data-figure=" in raw.astext():
            html = figures.drawing(raw.astext())
            raw[0] = nodes.Text(anchored(html, before))


def write_scripts(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "figures")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        for file, text in figures.scripts(name).items():
            (folder / file).write_text(text, encoding="utf-8")
    css = figures.styles(*names())
    (folder.parent / "figures.css").write_text(css, encoding="utf-8")


def setup(app):
    app.connect("doctree-read", show)
    app.connect("build-finished", write_scripts, priority=800)
