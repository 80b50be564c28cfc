"""The colours of the book's figures, on white and in the dark.

The site needs them for stored figures, and is built faster without Matplotlib,
whose colour maps `plotting` makes from them.
"""

import numpy as np

INK = "#1f2933"
# Dark ink in a dark notebook needs a light background; the site removes it.
GROUND = 'style="background: #fff"'
# The kind of output that holds a figure's drawing for a phone. Jupyter shows
# the other drawing; the site has both, each at its widths.
NARROW = "text/vnd.attention.narrow.svg+xml"
# Each role has its colour, as in formulas and live figures (tokens.css, light;
# docs/look.md says what they are for).
ROLES = {
    "query": "#b90795",
    "key": "#ab3a00",
    "value": "#00794a",
    "weight": "#084a6e",
    "feed-forward": "#9c6200",
    "embedding": "#09788a",
    "kept": "#708090",
    "new": "#1565db",
    "gradient": "#7a3db8",
    "right": "#006f6a",
    "wrong": "#b3261e",
}
# Okabe and Ito's palette, without yellow and black: distinguishable with every
# kind of colour vision, and visible on white and on near-black.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
# From -1 over 0 to 1: zero is close to the page's background, and large values
# contrast with it: dark on white, and bright in the dark (svg.js has both).
STOPS = {
    "light": [
        "#532700", "#b05e10", "#ecb482",
        "#eaf1f7", "#8fbfe0", "#006eac", "#00304d",
    ],
    "dark": [
        "#ffe9d6", "#e08b3e", "#6f3a0e",
        "#1c2b3a", "#17527e", "#4a9fdc", "#e3f2ff",
    ],
}  # fmt: skip
LEVELS, SIGNED_LEVELS = 256, 511  # from 0 to 1, and from -1 to 1


def shades(stops, levels):
    """Return colours at equal distances from the first stop to the last."""
    rgb = [[int(s[k : k + 2], 16) for k in (1, 3, 5)] for s in stops]
    at = np.linspace(0, len(stops) - 1, levels)
    columns = [np.interp(at, range(len(stops)), c) for c in np.transpose(rgb)]
    return [
        "#" + "".join(f"{round(part):02x}" for part in color)
        for color in np.transpose(columns).tolist()
    ]


# The dark counterpart of each colour of the two maps. No line, no role and no
# other element has one of these colours, so that each colour has one meaning.
DARK = {
    light: dark
    for first, levels in [(0, SIGNED_LEVELS), (3, LEVELS)]
    for light, dark in zip(
        shades(STOPS["light"][first:], levels),
        shades(STOPS["dark"][first:], levels),
        strict=True,
    )
}
# Numbers on cells that need another ink on dark pages: indistinguishable from
# black and white, but recognisable by their codes.
TURNS_WHITE, TURNS_BLACK = "#010101", "#fefefe"
DARK |= {TURNS_WHITE: "#ffffff", TURNS_BLACK: "#000000"}
