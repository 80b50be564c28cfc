"""Put each stored SVG output into the page, in the page's colours."""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

from course._colours import NARROW
from course._themed import figure


class _Inline(SphinxTransform):
    """Replace some images of a page by HTML made from their SVG."""

    default_priority = 400

    def apply(self):
        every = self.document.findall(nodes.image)
        for number, image in enumerate(filter(self.takes, list(every))):
            path = Path(self.env.srcdir, image["uri"].lstrip("/"))
            html = self.html(path.read_text(encoding="utf-8"), number)
            image.replace_self(nodes.raw("", html, format="html"))


class InlineFigures(_Inline):
    """Inline the figures among the outputs into the page."""

    def takes(self, image):
        return image["uri"].endswith(".svg") and _is_output(image)

    def html(self, svg, number):
        return figure(svg, number)


def join_drawings(app, docname, source):
    """Append to a stored figure its drawing for a phone.

    MyST-NB passes on the kinds of outputs that it knows.
    """
    if NARROW not in source[0]:
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            drawing = output.get("data", {}).pop(NARROW, None)
            if drawing:
                output["data"]["image/svg+xml"] += drawing
    source[0] = json.dumps(notebook)


class InlineCards(_Inline):
    """Inline the drawings of cards into the page, so that styles apply."""

    def takes(self, image):
        return (
            "/cards/" in image["uri"] and "sd-card-img-top" in image["classes"]
        )

    def html(self, svg, _):
        return sliced(decorated(svg))


LONG = 3  # widths per height


def sliced(svg):
    """Let a card show the right end of a long drawing, not a thin strip."""
    box = re.search('viewBox="([^"]*)"', svg)
    _, _, width, height = map(float, box[1].split())
    if width <= LONG * height:
        return svg
    return svg.replace(
        "<svg ", '<svg preserveAspectRatio="xMaxYMid slice" ', 1
    )


def decorated(svg):
    """Hide the drawing of a card from screen readers; its text suffices."""
    named = '<svg aria-hidden="true" class="sd-card-img-top '
    if 'class="' not in svg.partition(">")[0]:
        return svg.replace("<svg ", f'{named.rstrip()}" ', 1)
    return re.sub(r'<svg class="', named, svg, count=1)


def _is_output(node):
    while node is not None:
        if "cell_output" in node.get("classes", ()):
            return True
        node = node.parent
    return False


def setup(app):
    app.connect("source-read", join_drawings)
    app.add_transform(InlineFigures)
    app.add_transform(InlineCards)
