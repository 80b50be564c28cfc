"""Show each interactive figure, list it among the contents of its page, and
write its script beside the pages."""

import collections
import re
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError

from course import figures


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


def called(raw):
    """Return the number in the caption of a shown figure, and its label."""
    label = unescape(re.search(r'aria-label="([^"]*)"', raw.astext())[1])
    after = {"siblings": True, "ascend": True}
    caption = raw.next_node(nodes.raw, **after)
    if caption and 'class="caption"' in caption.astext():
        bold = caption.next_node(nodes.strong, **after).astext()
        if number := re.fullmatch(r"(Figure \d+\.\d+)\.", bold):
            return f"{number[1]}: {label}"
    return label[0].upper() + label[1:]


def list_in(contents, raw, page):
    """Put a shown figure first among the contents of its section."""
    section = raw.parent
    while not isinstance(section, nodes.section):
        section = section.parent
    title = isinstance(section.parent, nodes.document)
    heading = "" if title else f"#{section['ids'][0]}"
    entry = next(
        link.parent.parent
        for link in contents.findall(nodes.reference)
        if link["anchorname"] == heading
    )
    if not isinstance(entry[-1], nodes.bullet_list):
        entry += nodes.bullet_list()
    anchor = re.search(r'id="(figure-[\w-]+)"', raw.astext())[1]
    link = nodes.reference(
        *("", called(raw)), internal=True, refuri=page, anchorname=f"#{anchor}"
    )
    line = addnodes.compact_paragraph("", "", link)
    entry[-1].insert(0, nodes.list_item("", line))


def widen(node):
    """Let the cell around a figure take the margin, too."""
    while node and "cell" not in node.get("classes", ()):
        node = node.parent
    if node:
        node["classes"].append("wide")


def check_again(doctree, page):
    """Stop the build at a figure that cannot be shown as a text sets it."""
    html = "".join(raw.astext() for raw in doctree.findall(nodes.raw))
    for _, _, wrong in figures.shown_again(html):
        if wrong:
            raise ExtensionError(f"attention_site.figures: {page}: {wrong}")


def show(app, doctree):
    """Show the drawing, and drop the note that only notebooks need."""
    before = collections.Counter()
    page = app.env.docname
    check_again(doctree, page)
    shown = [
        raw
        for raw in doctree.findall(nodes.raw)
        if "data-figure=" in raw.astext()
    ]
    for raw in shown:
        html = figures.drawing(raw.astext())
        raw[0] = nodes.Text(anchored(html, before))
        widen(raw.parent)
    for raw in reversed(shown):
        list_in(app.env.tocs[page], raw, page)


def write_scripts(app):
    folder = Path(app.outdir, "_static", "figures")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        for file, text in figures.scripts(name).items():
            (folder / file).write_text(text, encoding="utf-8")
    css = figures.styles(*names())
    (folder.parent / "figures.css").write_text(css, encoding="utf-8")


def setup(app):
    app.connect("doctree-read", show)
