"""Put each stored SVG output into the page, in the page's colours."""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

from course._colours import DARK, GROUND, INK, NARROW, ROLES


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
        drawings = re.split("(?<=</svg>)\\s*(?=<svg)", svg)
        if len(drawings) == 1:
            drawn = themed(svg, f"f{number}-")
        else:
            kinds = zip(("wide", "narrow"), drawings, strict=True)
            drawn = "".join(
                themed(drawing, f"f{number}{kind[0]}-").replace(
                    "<svg", f'<svg class="{kind}"', 1
                )
                for kind, drawing in kinds
            )
        return f'<div class="figure">{drawn}</div>'


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


PAINT = re.compile(r"(?<=fill: |roke: )#[0-9a-f]{6}")
GROUP = re.compile(r"<g>|<g [^>]*>|</g>")
# What Matplotlib writes into each figure. On a page it is a rule for all of
# it, and the browser styles the page anew, figure by figure.
STROKES = (
    '<style type="text/css">'
    "*{stroke-linejoin: round; stroke-linecap: butt}</style>"
)


def slim(svg):
    """Drop groups, ids, comments and rules that draw nothing.

    Matplotlib puts every part of a figure into a named group, so a page of
    figures has about a thousand such elements. Its rule for the ends of lines
    becomes a setting of the figure, which its parts inherit.
    """
    svg = re.sub(rf"<defs>\s*{re.escape(STROKES)}\s*</defs>", "", svg)
    svg = re.sub("(<svg [^>]*)", r'\1 stroke-linejoin="round"', svg, count=1)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", svg)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    kept, parts, end = [], [], 0
    for tag in GROUP.finditer(svg):
        draws = kept.pop() if tag[0] == "</g>" else tag[0] != "<g>"
        if tag[0] != "</g>":
            kept.append(draws)
        parts.append(svg[end : tag.end() if draws else tag.start()])
        end = tag.end()
    return re.sub(r"\s*\n\s*", "\n", "".join([*parts, svg[end:]]))


def in_both_schemes(color):
    """Return a colour of the maps with its counterpart for dark pages."""
    light, dark = color[0], DARK.get(color[0])
    return f"light-dark({light},{dark})" if dark else light


def themed(svg, prefix):
    """Return `svg` in the page's colours and font, with unique ids."""
    svg = slim(svg).replace(f" {GROUND}", "", 1)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    svg = re.sub(r" ?font-family: [^;\"]+;?", "", svg)
    for role, color in ROLES.items():
        svg = svg.replace(color, f"var(--av-{role})")
    svg = PAINT.sub(in_both_schemes, svg)
    return svg.replace(INK, "var(--ink)")


def setup(app):
    app.connect("source-read", join_drawings)
    app.add_transform(InlineFigures)
    app.add_transform(InlineCards)
