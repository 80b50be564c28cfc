"""Pair each picture with its caption, which stands in the margin beside it."""

from docutils import nodes

OPENS, CLOSES = '<div class="captioned">', "</div>"


def is_caption(node):
    return isinstance(node, nodes.raw) and 'class="caption"' in node.astext()


def raw(html):
    return nodes.raw("", html, format="html")


def pair(app, doctree):
    """Put a cell with a picture, and the caption after it, into one box.

    A live figure is as wide as the column and the margin, so its caption
    stays below it.
    """
    for caption in [n for n in doctree.findall(nodes.raw) if is_caption(n)]:
        above = caption.parent
        at = above.index(caption)
        cell = above[at - 1]
        if "data-figure=" in cell.astext() or "cell" not in cell["classes"]:
            continue
        end = next(
            i
            for i in range(at, len(above))
            if isinstance(above[i], nodes.raw)
            and above[i].astext().strip() == CLOSES
        )
        above.insert(end + 1, raw(CLOSES))
        above.insert(at - 1, raw(OPENS))


def setup(app):
    app.connect("doctree-read", pair)
