"""Draw the cards of the landing page from the figures they lead to.

    python -m tools.cards

Writes book/_static/cards/: each figure's own drawing in one state, without
its words, which would be too small to read. The site puts the drawings into
the page, where figures.css colours them in both schemes.
"""

import re
from pathlib import Path

from bs4 import BeautifulSoup

from helpers import figures

ROOT = Path(__file__).resolve().parent.parent

FOLDER = ROOT / "book" / "_static" / "cards"
CELL = 20
# A figure, which of the drawings in it, and the part of that, or all.
CARDS = {
    "film": (figures.Film(at=6), ".av-film", 0, "60 22 296 175"),
    "step": (figures.StepThrough(), "table", 3, None),
    "saturation": (figures.Saturation(), ".av-of-weights", 0, "30 90 200 110"),
    "causal": (figures.CausalHeatmap(), "table", 0, None),
    "heads": (figures.HeadsAndGroups(), ".av-cuts", 0, "0 14 340 162"),
    "positions": (
        figures.Positions(kind="RoPE"),
        ".av-plane",
        0,
        "-115 -115 230 135",
    ),
    "kvcache": (figures.KVCacheCalculator(), ".av-store", 0, "0 12 340 126"),
    "tiles": (figures.Tiles(), ".av-tiles", 0, None),
    "induction": (figures.Induction(), ".av-arcs", 2, "0 10 240 60"),
    "projections": (figures.Projections(), ".av-made", 0, "40 62 150 92"),
    "temperature": (figures.Temperature(), ".av-warm", 0, "40 20 318 162"),
    "roof": (figures.Roof(), ".av-roof", 0, "40 26 316 198"),
    "backward": (figures.Backward(), "table", 1, None),
}


def squares(table):
    """The cells of a table as squares of the colours they have."""
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
    """The colour behind a cell's number."""
    return re.match(r"background: ?([^;]+)", cell["style"])[1]


def card(name):
    """The drawing of a card as SVG."""
    figure, what, which, part = CARDS[name]
    page = BeautifulSoup(figure.html(), "html.parser")
    shown = page.select(what)[which]
    if what == "table":
        shown = BeautifulSoup(squares(shown), "html.parser").svg
    for text in shown.select("text, title"):
        text.decompose()
    box = part or shown.get("viewbox") or shown["viewBox"]
    for attribute in ("viewbox", "viewBox", "role", "aria-label", "tabindex"):
        del shown[attribute]
    shown["xmlns"], shown["viewBox"] = "http://www.w3.org/2000/svg", box
    return f"{shown}\n"


if __name__ == "__main__":
    for name in CARDS:
        path = FOLDER / f"{name}.svg"
        path.write_text(card(name), encoding="utf-8")
