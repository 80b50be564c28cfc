"""Draw the cards of the gallery from the figures to which they lead.

    python -m tools.cards

The command writes book/_static/cards/: each figure's own drawing in one state,
without its text, which would be too small to read. The site inlines the
drawings, so that figures.css colours them in both schemes.
"""

import re
from math import hypot
from pathlib import Path

from bs4 import BeautifulSoup

from course import figures

ROOT = Path(__file__).resolve().parent.parent

FOLDER = ROOT / "book" / "_static" / "cards"
CELL = 20
# The `card` of each module; the figure on the landing page itself has none.
CARDS = {name: figures.on_card(name) for name in figures.classes()}
CARDS = {name: card for name, card in CARDS.items() if card}


def squares(table):
    """Draw the cells of a table as coloured squares."""
    lines = [row.select("td[style]") for row in table.select("tr")]
    lines = [line for line in lines if line]
    drawn = "".join(
        f'<rect x="{CELL * j}" y="{CELL * i}" width="{CELL - 1}" '
        f'height="{CELL - 1}" fill="{ground(cell)}"/>'
        for i, line in enumerate(lines)
        for j, cell in enumerate(line)
    )
    size = f"{CELL * max(map(len, lines))} {CELL * len(lines)}"
    return f'<svg viewBox="0 0 {size}">{drawn}</svg>'


def ground(cell):
    """Return the background colour of a cell."""
    return re.match(r"background: ?([^;]+)", cell["style"])[1]


def thinned(points):
    """Leave out points within a tenth of a unit of a line through the rest.

    The algorithm is that of Ramer 1972 and of Douglas and Peucker 1973.
    """
    (x, y), (u, v) = points[0], points[-1]
    off = [abs((u - x) * (b - y) - (v - y) * (a - x)) for a, b in points]
    k = off.index(max(off))
    if off[k] <= 0.1 * hypot(u - x, v - y):
        return [points[0], points[-1]]
    return thinned(points[: k + 1])[:-1] + thinned(points[k:])


def short(path):
    """Return the form of an open line of many points with fewer of them."""
    if not re.fullmatch(r"M[-\d. ]+(L[-\d. ]+){9,}", path):
        return path
    points = [
        tuple(map(float, point.split())) for point in path[1:].split("L")
    ]
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in thinned(points))


def card(name):
    """Return the drawing of a card as SVG."""
    given = CARDS[name]
    figure = figures.classes()[name](**given.get("state", {}))
    page = BeautifulSoup(figure.html(), "html.parser")
    what = given["part"]
    shown = page.select(what)[given.get("which", 0)]
    if what == "table":
        shown = BeautifulSoup(squares(shown), "html.parser").svg
    for text in shown.select("text, title"):
        text.decompose()
    for line in shown.select("path[d]"):
        line["d"] = short(line["d"])
    box = given.get("box") or shown.get("viewbox") or shown["viewBox"]
    for attribute in ("viewbox", "viewBox", "role", "aria-label", "tabindex"):
        del shown[attribute]
    if "box" in given:
        cut_to(shown, box)
    shown["xmlns"], shown["viewBox"] = "http://www.w3.org/2000/svg", box
    return f"{shown}\n"


def cut_to(drawing, box):
    """Cut a drawing at the edges of a box.

    A card has another shape than the box, and would show what is beyond it.
    """
    inner = BeautifulSoup(f'<svg viewBox="{box}"/>', "html.parser").svg
    sides = zip(("x", "y", "width", "height"), box.split(), strict=True)
    inner.attrs = dict(sides) | {"viewBox": box}
    for part in list(drawing.children):
        inner.append(part)
    drawing.append(inner)


if __name__ == "__main__":
    for name in CARDS:
        path = FOLDER / f"{name}.svg"
        path.write_text(card(name), encoding="utf-8")
