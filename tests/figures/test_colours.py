"""One colour for each role, for every eye."""

import itertools
import re

import numpy as np
import pytest

from course import figures
from course._colours import COLORS, ROLES, STOPS
from tests.figures.expected_figures import drawn, every_state
from tests.figures.reading import call

# Roles that one picture may have.
TOGETHER = [
    ("query", "key", "value", "weight"),
    ("query", "key", "value", "gradient"),
    ("weight", "feed-forward", "embedding"),
    ("key", "value", "kept", "new"),
    ("right", "wrong"),
]
# The page's own ground, and that of code and cards, in each scheme.
GROUNDS = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#14181e", "#29313d")}
# Machado, Oliveira and Fernandes 2009, table 1, severity 1: how a colour
# looks to someone whose eyes lack one of three kinds of cones.
EYES = {
    "all cones": np.eye(3),
    "no long waves": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no middle waves": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short waves": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour):
    """The red, green and blue light of a colour such as #084a6e."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(
        rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4
    )


def contrast(a, b):
    """The contrast of two colours, by the rule of WCAG 2."""
    low, high = sorted(linear(c) @ [0.2126, 0.7152, 0.0722] for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(light):
    """CIE L*a*b* of linear light, whose distances are those that are seen."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722],
              [0.0193, 0.1192, 0.9505]]  # fmt: skip
    x, y, z = np.cbrt(
        to_xyz @ np.clip(light, 0, 1) / [0.9505, 1, 1.089] + 1e-9
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palettes():
    """The colour of each role in each scheme, from the style sheet."""
    css = figures.path_of("tokens.css").read_text(encoding="utf-8")
    found = re.findall(
        r"--av-([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", css
    )
    return {
        scheme: {role: colours[k] for role, *colours in found}
        for k, scheme in enumerate(GROUNDS)
    }


@pytest.mark.parametrize("scheme", GROUNDS)
def test_the_colours_of_the_roles_are_legible(scheme):
    for role, colour in palettes()[scheme].items():
        least = 3 if role == "kept" else 4.5  # an area, and never a text
        for ground in GROUNDS[scheme]:
            assert contrast(colour, ground) >= least, (role, ground)


@pytest.mark.parametrize("scheme", GROUNDS)
@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("roles", TOGETHER)
def test_roles_that_meet_are_told_apart(roles, scheme, eyes):
    seen = {
        role: lab(EYES[eyes] @ linear(colour))
        for role, colour in palettes()[scheme].items()
    }
    for a, b in itertools.combinations(roles, 2):
        # At about 2.3 a difference is just seen.
        assert np.linalg.norm(seen[a] - seen[b]) > 15, (a, b)


def test_plots_have_the_colours_of_the_style_sheet():
    assert ROLES.items() <= palettes()["light"].items()
    css = figures.path_of("tokens.css").read_text(encoding="utf-8")
    series = re.findall(r"--series-\d: (?:light-dark\()?(#\w{6})", css)
    assert series == COLORS


@pytest.mark.parametrize("name", figures.classes())
def test_colours_come_from_roles_or_series(name):
    css = re.sub(r"/\*.*?\*/", "", figures.styles(name), flags=re.S)
    ours = {*ROLES.values(), *COLORS}
    for line in css.splitlines():
        if not line.strip().startswith("--"):
            assert not ours & set(re.findall(r"#\w{6}", line)), line


# --- shades of numbers, and the ink on them ----------------------------------

INKS = {"#000": "#000000", "#fff": "#ffffff"}


def hexed(rgb):
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def test_ink_can_be_read_on_any_ground():
    greys = [[k, k, k] for k in range(256)]
    tones = [[min(32 * c, 255) for c in rgb] for rgb in np.ndindex(9, 9, 9)]
    for rgb in greys + tones + [[10, 11, 12], [9, 10, 11], [0, 10, 80]]:
        assert contrast(hexed(rgb), INKS[call("ink", rgb)]) >= 4.5, rgb


PAIR = r"light-dark\((#\w+), ?(#\w+)\)"
MIXED = r"color-mix\(in srgb,(.+) ([\d.]+)%,(.+)\)"


def grounds_of(text):
    """The colours of a shade in both schemes, mixed as a browser does."""
    mixed = re.fullmatch(MIXED, text)
    if not mixed:
        return re.fullmatch(PAIR, text).groups()
    css = figures.path_of("tokens.css").read_text(encoding="utf-8")
    end = mixed[1].replace(
        "var(--av-gradient)",
        re.search(rf"--av-gradient: ({PAIR})", css)[1],
    )
    part = float(mixed[2]) / 100
    return [
        hexed([
            round(part * int(a[k : k + 2], 16)
                  + (1 - part) * int(b[k : k + 2], 16))
            for k in (1, 3, 5)
        ])
        for a, b in zip(grounds_of(end), grounds_of(mixed[3]), strict=True)
    ]  # fmt: skip


def test_gradients_of_either_sign_look_equally_strong():
    """As light as each other, whatever their size."""
    html = drawn("backward", {"dY": [[x, -x] for x in (0.3, 1, 2)]})[1]
    for i in range(3):
        more, less = (
            grounds_of(
                re.search(rf'"dY,{i},{c}"[^>]* fill="([^"]+)"', html)[1]
            )
            for c in (0, 1)
        )
        for a, b in zip(more, less, strict=True):
            assert a != b
            assert contrast(a, b) < 1.1


@pytest.mark.parametrize("name", ["causal", "step", "backward"])
def test_numbers_can_be_read_on_their_shades(name):
    result = set()
    for settings in every_state(name):
        html = drawn(name, settings)[1]
        result.update(re.findall(r"background:([^;]+);color:([^;\"]+)", html))
        # In a drawing a number follows its shade.
        result.update(re.findall(
            r'fill(?:="|:)([^"]+)"/><text [^>]*style="fill:([^"]+)"', html
        ))  # fmt: skip
    assert result
    for ground, ink in result:
        inks = re.fullmatch(PAIR, ink).groups()
        for under, over in zip(grounds_of(ground), inks, strict=True):
            assert contrast(under, INKS[over]) >= 4.5, (ground, ink)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shade_passes_the_stops_of_plotting_evenly(scheme):
    """Python's colour maps and the page's are one."""
    stops = [
        [int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in STOPS[scheme]
    ]
    assert call("shade", -3, scheme) == stops[0]
    assert call("shade", 3, scheme) == stops[-1]
    for x in np.linspace(-1, 1, 121):
        expected = [
            np.interp(x, np.linspace(-1, 1, 7), channel)
            for channel in zip(*stops, strict=True)
        ]
        result = call("shade", x, scheme)
        assert np.abs(np.subtract(result, expected)).max() <= 0.501


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shade_of_much_stands_out_from_the_page(scheme):
    """Weight by weight: dark on white, and bright in the dark."""
    page = {"light": "#ffffff", "dark": "#121212"}[scheme]
    for way in (1, -1):
        shades = [
            hexed(call("shade", way * x, scheme))
            for x in np.arange(0, 1.01, 0.02)
        ]
        seen = [contrast(shade, page) for shade in shades]
        assert seen == sorted(seen), "more is never less seen"
        assert contrast(shades[0], shades[-1]) >= 7
        assert seen[0] < 1.5, "nothing does not dazzle"
