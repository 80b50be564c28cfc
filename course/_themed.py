"""A stored drawing in the colours of a page.

The build puts each stored figure into its page, and a page that runs puts
there what its reader's own Python has drawn.
"""

import re

from ._colours import DARK, GROUND, INK, ROLES

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


def figure(svg, number):
    """Return a stored figure as HTML, with its drawing for a phone.

    Ids begin with `f` and the number, which no two figures of a page share.
    """
    drawings = re.split(r"(?<=</svg>)\s*(?=<svg)", svg)
    if len(drawings) == 1:
        return f'<div class="figure">{themed(svg, f"f{number}-")}</div>'
    kinds = zip(("wide", "narrow"), drawings, strict=True)
    drawn = "".join(
        themed(drawing, f"f{number}{kind[0]}-").replace(
            "<svg", f'<svg class="{kind}"', 1
        )
        for kind, drawing in kinds
    )
    return f'<div class="figure">{drawn}</div>'
