"""Figures are named, deterministic, readable, and refuse what does not fit."""

import contextlib
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

from course import _colours, plotting
from tools import refresh

ROOT = Path(__file__).resolve().parents[2]

WEIGHTS = np.array([[1.0, 0.0], [0.4, 0.6]])
MASKED = np.ma.array(WEIGHTS, mask=WEIGHTS > 0)
NAMES = {"queries": ["a", "b"], "keys": ["c", "d"]}


@pytest.fixture(autouse=True)
def _style():
    with mpl.rc_context():
        plotting.use_book_style()
        yield
    plt.close("all")


def shown(fig, monkeypatch, alt="What is seen."):
    caught = []
    monkeypatch.setattr(plotting, "display", caught.append)
    plotting.show(fig, alt=alt)
    return caught[0]._repr_mimebundle_()


def test_a_figure_is_svg_with_alt_text_and_no_date(monkeypatch):
    fig = plotting.show_weights(WEIGHTS, **NAMES).figure
    data = shown(fig, monkeypatch, alt='More "here" & <there>.')
    root = ET.fromstring(data["image/svg+xml"])
    assert root.tag.endswith("svg")
    assert root.get("role") == "img"
    assert root.get("aria-label") == 'More "here" & <there>.'
    assert "metadata" not in data["image/svg+xml"]
    assert data["text/plain"] == 'Figure: More "here" & <there>.'
    assert fig.number not in plt.get_fignums(), "show closes the figure"


def test_the_texts_of_an_older_matplotlib_are_set_as_well():
    """Of the version that runs in a browser, which writes `font: 11px X`."""
    family = "'DejaVu Sans', sans-serif"
    words = '<text style="{}" transform="x">d_k</text>'
    for old, new in [
        (
            f"fill: #1f2933; opacity: 0.5; font: 9.5px {family}; "
            "text-anchor: end",
            f"font-size: 9.5px; font-family: {family}; text-anchor: end; "
            "fill: #1f2933; opacity: 0.5",
        ),
        (f"font: 11px {family}", f"font-size: 11px; font-family: {family}"),
    ]:
        now = words.format(new)
        assert plotting._longhand(words.format(old)) == now
        assert plotting._longhand(now) == now


def test_the_same_figure_gives_the_same_bytes(monkeypatch):
    svgs = {
        shown(plotting.show_weights(WEIGHTS, **NAMES).figure, monkeypatch)[
            "image/svg+xml"
        ]
        for _ in range(2)
    }
    assert len(svgs) == 1


# --- the same whatever a reader has set --------------------------------------

WHERE = {"backend", "backend_fallback", "interactive"}
ELSEWISE = [
    "tight", "serif", "cursive", "log", "left", "both", "blocked", "--",
    "viridis", "pink", "#123456", "x-large", "path", "constrained", "mono",
    "10pt", "UTC", "svg", "bold", "round", "%Y", "1970-01-01T00:00:00", 0,
    0.5, 3, 17.5, (2.0, 7.0), ["x"], "stixsans", "linear", "lanczos", "lower",
    "center", "o", "z", None, mpl.cycler(color=["r"]),
]  # fmt: skip


def another(key):
    """A value of a setting that is allowed, and is not the default."""
    default = mpl.rcParamsDefault[key]
    tried = [not default] if isinstance(default, bool) else ELSEWISE
    for value in tried:
        with contextlib.suppress(Exception), mpl.rc_context():
            mpl.rcParams[key] = value
            if mpl.rcParams[key] != default:
                return value
    return default


def stored_drawings(path):
    """The cells up to a notebook's second drawing, and both drawings."""
    sources, drawings = [], []
    for cell in nbformat.read(path, as_version=4).cells[2:]:
        if cell.cell_type == "code" and len(drawings) < 2:
            sources.append(cell.source)
            drawings += [
                output.data["image/svg+xml"]
                for output in cell.outputs
                if "image/svg+xml" in output.get("data", {})
            ]
    return sources, drawings


@pytest.mark.filterwarnings("ignore")  # what odd settings warn of
def test_no_setting_of_a_reader_changes_a_chapter(monkeypatch):
    plain = {**mpl.rcParams}
    odd = {key: another(key) for key in set(plain) - WHERE}
    changed = [k for k in odd if odd[k] != mpl.rcParamsDefault[k]]
    assert len(changed) >= 290, sorted(set(odd) - set(changed))
    assert {"axes.grid", "text.usetex", "savefig.bbox", "font.family"} <= {
        *changed
    }
    mpl.rcParams.update(odd)
    mpl.rcParams["interactive"] = not plain["interactive"]
    plotting.use_book_style()
    here = {**mpl.rcParams}
    assert here.pop("interactive") is not plain.pop("interactive")
    assert here == plain
    # And so a chapter, which asks for the style first, has the same drawings.
    mpl.rcParams.update(odd)
    caught = []
    monkeypatch.setattr(plotting, "display", caught.append)
    sources, stored = stored_drawings(ROOT / "book" / "mask.ipynb")
    space = {}
    for source in sources:
        exec(source, space)
    drawn = [figure.svg for figure in caught]
    assert drawn == stored
    assert len(stored) == 2


# --- the same on every processor ---------------------------------------------

AT = np.array([0.1, 0.25, 0.7])
# One value in the middle, on an axis from 0 to 1, and the kinds that show it.
KINDS = {
    "line": lambda ax, y: ax.plot(AT, y),
    "bars": lambda ax, y: ax.bar(AT, y, width=0.1),
    "scatter": lambda ax, y: ax.scatter(AT, y),
    "cells": lambda ax, y: plotting.show_weights(
        [y], queries="a", keys="bcd", fmt="", ax=ax
    ),
    "signed cells": lambda ax, y: plotting.show_weights(
        [[1 / 7, *y]],
        queries="a",
        keys="bcde",
        fmt="",
        ax=ax,
        vmin=-2 * y[1],
        vmax=2 * y[1],
    ),
}


def plotted(kind, y, monkeypatch, corner=(0.2, 0.3)):
    """The SVG of a small figure whose axes stand at a corner of it."""
    fig = plt.figure(figsize=(3, 2), layout="none")
    ax = fig.add_axes((*corner, 0.7, 0.6))
    ax.set(xlim=(0, 1), ylim=(0, 1))
    KINDS[kind](ax, np.array([0.1, y, 0.7]))
    return shown(fig, monkeypatch)["image/svg+xml"]


# On 3 by 2 inches the first corner is half a hundredth of a point from both
# edges, where the least noise decides whether that is rounded up or down; and
# it gives 0 a sign. The noise is of double and of single precision.
@pytest.mark.parametrize("corner", [(1 / 43200, 1 / 28800), (0, 0)])
@pytest.mark.parametrize("y", [0.25, 0.345])
@pytest.mark.parametrize("kind", KINDS)
def test_last_bits_change_nothing(kind, y, corner, monkeypatch):
    svgs = {
        plotted(kind, y + noise, monkeypatch, np.add(corner, noise))
        for noise in (-1e-8, -1e-17, 0, 1e-17, 1e-8)
    }
    assert len(svgs) == 1


@pytest.mark.parametrize("way", [-0.01, 0.01])
@pytest.mark.parametrize("y", [0.25, 0.345])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundredth_of_the_axis_is_seen(kind, y, way, monkeypatch):
    moved = plotted(kind, y + way, monkeypatch)
    assert moved != plotted(kind, y, monkeypatch)


def test_ids_are_counted_and_no_figure_has_those_of_another(monkeypatch):
    defined = {}
    for alt in ("one", "another"):
        fig = plt.figure(figsize=(3, 2))
        fig.add_subplot().plot(AT, AT, marker="o")
        svg = shown(fig, monkeypatch, alt)["image/svg+xml"]
        ids = re.findall(r'\bid="([^"]*)"', svg)
        used = re.findall(r'(?:href="|url\()#([^")]*)', svg)
        first = dict.fromkeys(re.findall(r"\bf[0-9a-f]{6}-[0-9]+\b", svg))
        assert [int(i.split("-")[1]) for i in first] == [
            *range(1, len(ids) + 1)
        ]
        assert set(used) < set(ids) == set(first)
        defined[alt] = set(ids)
    assert not defined["one"] & defined["another"]


def drawn_for_a_phone(monkeypatch, wide, noise=0.0, words=None):
    """The narrow drawing of three maps and a legend, if there is one."""
    fig, axes = plt.subplots(1, 3, figsize=(wide, 2), layout="constrained")
    for ax in axes:
        plotting.show_weights(WEIGHTS + noise, **NAMES, ax=ax)
    axes[0].plot([0, 1 + noise], [0, 1], label="a line")
    axes[0].legend(loc="upper left")
    caught = []
    monkeypatch.setattr(plotting, "display", caught.append)
    plotting.show(fig, alt="Three maps.", narrow=words)
    return caught[0]._repr_mimebundle_().get(_colours.NARROW)


def test_last_bits_change_no_narrow_drawing(monkeypatch):
    svgs = {
        drawn_for_a_phone(monkeypatch, 6.4, noise)
        for noise in (-1e-12, -1e-17, 0, 1e-17, 1e-12)
    }
    assert len(svgs) == 1


def test_a_wide_figure_has_axes_below_one_another_on_a_phone(monkeypatch):
    svg = drawn_for_a_phone(monkeypatch, 6.4, words={"0.40": "few"})
    width, height = map(float, ET.fromstring(svg).get("viewBox").split()[2:])
    assert 4 / 3 * width < PHONE
    assert height > 2 * 72 * 2 * 0.8
    assert min(size for _, size in sizes_on_a_phone(svg)) >= LEAST
    words = words_of(svg, "#000000") + words_of(svg, "#ffffff")
    assert svg.count(">few<") == 3
    assert words.count("0.40") == 0


def test_a_figure_that_fits_a_phone_is_drawn_once(monkeypatch):
    assert drawn_for_a_phone(monkeypatch, 4.8) is None


def test_arrays_have_lines_on_a_phone(monkeypatch):
    parts = [("Q", np.ones((3, 9))), "·", ("K", np.ones((9, 12))), "=", "?"]
    fig = plotting.show_arrays(parts, rows=["a", "b", "c"])
    caught = []
    monkeypatch.setattr(plotting, "display", caught.append)
    plotting.show(fig, alt="A product.")
    svg = caught[0]._repr_mimebundle_()[_colours.NARROW]
    texts = ET.fromstring(svg).iter(f"{SVG}text")
    at = {t.text: float(t.get("y")) for t in texts}
    assert at["K"] > at["c"] > at["a"] > at["Q"]
    assert not plt.get_fignums(), "Jupyter would show what is open"


def test_what_is_written_keeps_its_digits(monkeypatch):
    fig = plt.figure(figsize=(3, 2))
    fig.text(0.5, 0.5, "0.123456 > -0")
    data = shown(fig, monkeypatch, alt="At 0.123456 > -0.")
    root = ET.fromstring(data["image/svg+xml"])
    assert root.get("aria-label") == "At 0.123456 > -0."
    assert [e.text for e in root.iter(f"{SVG}text")] == ["0.123456 > −0"]


def test_rows_are_queries_and_columns_are_keys():
    ax = plotting.show_weights(WEIGHTS, **NAMES)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("queries", "keys")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["c", "d"]
    written = [text.get_text() for text in ax.texts]
    assert written == ["1.00", "0.00", "0.40", "0.60"]


MAPS = [plotting.CMAP, plotting.SIGNED]


def contrast(a, b):
    low, high = sorted(plotting._luminance(c) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("cmap", [*MAPS, "viridis", "RdBu"])
def test_values_in_cells_have_enough_contrast(cmap):
    values = np.linspace(0, 1, 40).reshape(2, 20)
    ax = plotting.show_weights(
        values, queries=list("ab"), keys=range(20), cmap=cmap
    )
    cells = ax.collections[0].get_facecolors()
    for text, cell in zip(ax.texts, cells, strict=True):
        pair = [mpl.colors.to_hex(c) for c in (text.get_color(), cell)]
        assert contrast(*pair) >= 4.5
        assert (pair[1] in plotting.DARK) == (cmap in MAPS)
        assert contrast(*(plotting.DARK.get(c, c) for c in pair)) >= 4.5


def test_words_are_written_in_place_of_numbers():
    ax = plotting.show_weights(WEIGHTS, words=[["a", "b"], ["", "·"]], **NAMES)
    assert [text.get_text() for text in ax.texts] == ["a", "b", "", "·"]


@pytest.mark.parametrize("cmap", MAPS)
def test_much_stands_out_from_the_page_in_both_schemes(cmap):
    """Darkest on white and brightest in the dark, and nothing is faint."""
    nothing = mpl.colors.to_hex(plotting.CMAP(0.0))
    ends = {mpl.colors.to_hex(cmap(x)) for x in (0.0, 1.0)} - {nothing}
    for page, twin in (("#ffffff", {}), ("#121212", plotting.DARK)):
        faint = twin.get(nothing, nothing)
        assert contrast(faint, page) < 1.5
        for end in (twin.get(end, end) for end in ends):
            assert contrast(end, faint) >= 7
            assert contrast(end, page) >= 7


def test_the_twins_of_colours_are_on_matplotlibs_maps():
    for first, light in [(3, plotting.CMAP), (0, plotting.SIGNED)]:
        dark = mpl.colors.LinearSegmentedColormap.from_list(
            "dark", _colours.STOPS["dark"][first:], light.N
        )
        for k in range(light.N):
            pair = [mpl.colors.to_hex(cmap(k)) for cmap in (light, dark)]
            assert _colours.DARK[pair[0]] == pair[1]


def test_the_colours_of_maps_are_those_of_nothing_else():
    others = {*plotting.COLORS, *plotting.ROLES.values(), plotting.INK}
    others |= {"#ffffff", "#000000"}
    assert not others & set(plotting.DARK)


def test_colours_are_seen_on_white_and_on_dark():
    # WCAG 2.2, 1.4.11: graphical objects need 3 to 1; ours are lines and
    # bars with labels beside them, held to 1.9 on both grounds at once.
    for color in plotting.COLORS:
        light = plotting._luminance(color)
        assert 1.05 / (light + 0.05) >= 1.9
        assert (light + 0.05) / (plotting._luminance("#121212") + 0.05) >= 1.9


# --- on a phone, and in the colours of the roles -----------------------------

# Pixels: a picture on a page 390 wide (site.css), and its smallest letters.
PHONE, LEAST = 382, 12
SVG = "{http://www.w3.org/2000/svg}"


def sizes_on_a_phone(svg):
    """The words of a figure with the size in pixels that a phone shows.

    A figure is as wide as the phone, or as it was drawn where that is less:
    a point is 4/3 of a pixel.
    """
    root = ET.fromstring(svg)
    drawn = float(root.get("viewBox").split()[2])
    scale = min(PHONE / drawn, 4 / 3)
    for text in root.iter(f"{SVG}text"):
        for part in text.iter():
            if (part.text or "").strip():
                style = part.get("style") or text.get("style")
                size = re.search(
                    r"font(?:-size)?: (?:\w+ )*?([\d.]+)px", style
                )
                yield part.text, float(size[1]) * scale


def stored_figures():
    """Every figure of the book: its place, its SVG, and that for a phone."""
    for path in refresh.notebooks():
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                svg = data.get("image/svg+xml")
                if svg:
                    place = f"{path.stem}: {cell.source.splitlines()[0]}"
                    yield place, svg, data.get(_colours.NARROW, svg)


def test_every_label_of_every_figure_is_read_on_a_phone():
    small = [
        f"{place}: {word!r} has {size:.1f} px"
        for place, _, svg in stored_figures()
        for word, size in sizes_on_a_phone(svg)
        if size < LEAST
    ]
    assert not small, "\n".join(small)


def shades(svg):
    """How often each colour of the maps fills something."""
    fills = re.findall("<path [^>]*fill: (#[0-9a-f]{6})", svg)
    return Counter(color for color in fills if color in _colours.DARK)


def test_a_phone_shows_the_same_figure_in_another_layout():
    for place, wide, narrow in stored_figures():
        roots = [ET.fromstring(svg) for svg in (wide, narrow)]
        assert len({root.get("aria-label") for root in roots}) == 1, place
        assert shades(wide) == shades(narrow), place
        high = [float(root.get("viewBox").split()[3]) for root in roots]
        inside = [
            0 <= float(t.get("y", 0)) <= high[1]
            for t in roots[1].iter(f"{SVG}text")
        ]
        assert all(inside), place


def test_every_colour_of_every_figure_is_readable_in_the_dark():
    """The site knows the colours of the book, and none inside a raster."""
    known = {plotting.INK, *plotting.ROLES.values(), *plotting.COLORS}
    paint = re.compile("(?:fill|stroke): ?(#[0-9a-f]+)")
    for place, *drawings in stored_figures():
        svg = "".join(drawings)
        assert "<image" not in svg, place
        assert {*paint.findall(svg)} <= known | {*plotting.DARK}, place


def words_of(svg, color):
    """The words of a figure that have a colour, in the figure's order."""
    texts = [e for e in ET.fromstring(svg).iter() if e.tag == f"{SVG}text"]
    return [e.text for e in texts if f"fill: {color}" in e.get("style", "")]


def test_powers_on_a_logarithmic_axis_are_written_out(monkeypatch):
    fig, ax = plt.subplots()
    ax.set(xscale="log", xticks=[1e-6, 1e-3, 1, 1e4, 1e7])
    ax.set_yscale("log", base=2)
    ax.set_yticks([2, 2**17])
    svg = shown(fig, monkeypatch)["image/svg+xml"]
    words = words_of(svg, plotting.INK)
    assert words == ["1e-6", "1e-3", "1", "10k", "10M", "2", "131,072"]
    assert "tspan" not in svg


@pytest.mark.parametrize(
    ("ticks", "expected"),
    [
        ([0.001, 1, 1000, 10000], ["0.001", "1", "1,000", "10,000"]),
        ([1, 1000, 1e5, 1e6], ["1", "1k", "100k", "1M"]),
        ([1e9, 1e12, 1e13, 1e15], ["1G", "1T", "10T", "1P"]),
    ],
)
def test_the_powers_of_an_axis_have_one_form(monkeypatch, ticks, expected):
    fig, ax = plt.subplots()
    ax.set(xscale="log", xlim=(ticks[0], ticks[-1]), xticks=ticks, yticks=[])
    ax.minorticks_off()
    svg = shown(fig, monkeypatch)["image/svg+xml"]
    assert words_of(svg, plotting.INK) == expected


def test_thousands_on_a_linear_axis_have_commas(monkeypatch):
    fig, ax = plt.subplots()
    ax.set(xlim=(-1500, 20000), xticks=[-1500, 0, 999, 20000], yticks=[0.5])
    words = words_of(shown(fig, monkeypatch)["image/svg+xml"], plotting.INK)
    assert words == ["−1,500", "0", "999", "20,000", "0.5"]


def test_ticks_that_a_figure_names_itself_are_kept(monkeypatch):
    fig, ax = plt.subplots()
    ax.set(xscale="log", xlim=(1, 20))
    ax.set_xticks([1, 14], ["one", "fourteen"])
    ax.minorticks_off()
    words = words_of(shown(fig, monkeypatch)["image/svg+xml"], plotting.INK)
    assert words[:2] == ["one", "fourteen"]


def test_a_line_that_names_a_role_has_its_colour(monkeypatch):
    fig, ax = plt.subplots()
    ax.set(xlabel="keys\nhead 0", ylabel="queries", xticks=[], yticks=[])
    for y, name in enumerate(["Q0", "∂V", "weight", "keyhole", "the keys"]):
        ax.text(0, y / 9, name)
    svg = shown(fig, monkeypatch)["image/svg+xml"]
    found = {role: words_of(svg, c) for role, c in plotting.ROLES.items()}
    assert {role: words for role, words in found.items() if words} == {
        "query": ["queries", "Q0"],
        "key": ["keys"],
        "value": ["∂V"],
        "weight": ["weight"],
    }
    others = words_of(svg, plotting.INK)
    assert others == ["head 0", "keyhole", "the keys"]


def test_a_legend_leaves_colours_to_its_swatches(monkeypatch):
    fig, ax = plt.subplots()
    ax.bar(1, 1, label="values")
    ax.set(ylabel="weights", xticks=[], yticks=[])
    ax.legend()
    svg = shown(fig, monkeypatch)["image/svg+xml"]
    assert words_of(svg, plotting.INK) == ["values"]
    assert words_of(svg, plotting.ROLES["weight"]) == ["weights"]


@pytest.mark.parametrize(
    ("written", "expected", "italic"),
    [
        ("-0.5 of -inf", "−0.5 of −inf", []),
        ("(N - 1)", "(N − 1)", []),
        ("GPT-2, 3-4, 1e-6, mid-range", "GPT-2, 3-4, 1e-6, mid-range", []),
        ("Q K^T", "Q Kᵀ", []),
        ("√d_k + W_O x", "√dk + WO x", ["d", "W"]),
    ],
)
def test_signs_and_indices_are_set_as_in_formulas(
    monkeypatch, written, expected, italic
):
    fig = plt.figure(figsize=(3, 2))
    fig.text(0.5, 0.5, written)
    root = ET.fromstring(shown(fig, monkeypatch)["image/svg+xml"])
    [text] = root.iter(f"{SVG}text")
    assert "".join(text.itertext()) == expected
    parts = [*text.iter(f"{SVG}tspan")]
    assert [p.text for p in parts if "italic" in p.get("style", "")] == italic
    # Each index is below the line, and what follows it is on the line again.
    rest = parts[-1].text if expected.endswith("x") else ""
    assert sum(float(p.get("dy", 0)) for p in parts) == 0 or not rest


def test_shapes_of_roles_have_their_colours():
    fig = plotting.show_shapes([("Q", (1, 1)), ("∂V", (1, 1)), ("S", (1, 1))])
    colors = [
        mpl.colors.to_hex(p.get_facecolor()) for p in fig.axes[0].patches
    ]
    roles = plotting.ROLES
    assert colors == [roles["query"], roles["value"], plotting.INK]


def test_many_heads_are_no_wider_than_the_column():
    wide = plotting.show_heads(np.ones((3, 4, 4)), queries="abcd", keys="abcd")
    assert wide.get_figwidth() == plotting.WIDEST
    small = plotting.show_heads(np.ones((1, 2, 2)), **NAMES)
    assert small.get_figwidth() < plotting.WIDEST


def test_one_heatmap_a_head():
    fig = plotting.show_heads(np.stack([WEIGHTS] * 3), **NAMES)
    assert len(fig.axes) == 3
    labels = [ax.get_xlabel() for ax in fig.axes]
    assert labels == ["keys\nhead 0", "keys\nhead 1", "keys\nhead 2"]


def test_shapes_are_drawn_in_proportion():
    fig = plotting.show_shapes([("Q", (2, 4)), "·", ("K", (4, 2))])
    a, b = fig.axes[0].patches
    assert a.get_width() == 2 * a.get_height() == b.get_height()
    (sign,) = [t for t in fig.axes[0].texts if t.get_text() == "·"]
    assert a.get_x() + a.get_width() < sign.get_position()[0] < b.get_x()


def test_arrays_are_drawn_side_by_side_with_their_entries():
    """Read back from the positions of the texts, row by row."""
    Q, names = [[1, 0.5], [-2, 3]], [["a0"], ["b0"]]
    fig = plotting.show_arrays([("Q", Q), "→", ("names", names)], rows="xy")
    ax = fig.axes[0]
    rows = {}
    for text in ax.texts:
        x, y = text.get_position()
        rows.setdefault(y, []).append((x, text.get_text()))
    found = [
        [word for _, word in sorted(rows[y])]
        for y in sorted(rows, reverse=True)
    ]
    assert found == [
        ["Q", "names"],
        ["x", "1", "0.5", "a0"],
        ["→"],
        ["y", "-2", "3", "b0"],
    ]
    # The texts are inside the figure, whose units are points.
    (low, high), width = ax.get_xlim(), 72 * fig.get_figwidth()
    assert high - low == pytest.approx(width)


def test_only_numbers_that_are_not_integers_are_formatted():
    parts = [("f", [[0.5, -0.0]]), ("i", [[7]]), ("b", [[True, False]])]
    texts = plotting.show_arrays(parts, fmt="z.2f").axes[0].texts
    found = [text.get_text() for text in texts]
    assert found == ["f", "0.50", "0.00", "i", "7", "b", "1", "0"]


def test_marks_say_which_entries_of_an_array_are_coloured():
    fig = plotting.show_arrays(
        [("Kᵀ", [[1, 2, 3]], [[0, 1, 2]]), "+", ("x", [[4, 5]])]
    )
    faces = [p.get_facecolor() for p in fig.axes[0].patches]
    assert faces[0][3] == 0
    colors = [mpl.colors.to_hex(face) for face in faces[1:]]
    blue, red = plotting.COLORS[:2]
    assert colors == [plotting.ROLES["key"], red, blue, blue]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plotting.show(plt.figure(), alt=" "), "alt"),
        (lambda: plotting.show_arrays([("Q", [1, 2])]), r"Q .*\(2,\)"),
        (lambda: plotting.show_arrays([("Q", [[]])]), r"Q .*\(1, 0\)"),
        (lambda: plotting.show_arrays([("Q", [[1], [2]])], rows="a"), "rows"),
        (lambda: plotting.show_arrays(["="]), "rows"),
        (
            lambda: plotting.show_weights(WEIGHTS, queries="a", keys="b"),
            r"\(2, 2\), 1 queries and 1 keys",
        ),
        (lambda: drawn(WEIGHTS * np.nan), "weights"),
        (lambda: drawn(MASKED.filled(np.inf)), "weights"),
        (lambda: plotting.show_heads(WEIGHTS, **NAMES), r"weights .*\(2, 2\)"),
        (
            lambda: plotting.show_weights([[]], queries="a", keys=[]),
            r"weights .*\(1, 0\)",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, words=["a"], **NAMES),
            r"words .*\(2, 2\).*\(1,\)",
        ),
        (
            lambda: plotting.show_heads(WEIGHTS[None], labels=[], **NAMES),
            "1 heads need 1 labels",
        ),
        (lambda: plotting.show_shapes(["="]), "stages"),
        (lambda: plotting.show_shapes([("Q", (1,))]), "two axes"),
    ],
)
def test_plots_refuse_what_does_not_fit(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def drawn(weights):
    texts = plotting.show_weights(weights, **NAMES, fmt="z.1f").texts
    return [text.get_text() for text in texts]


def test_any_numbers_are_drawn_and_a_mask_as_zeros_and_ones():
    mask = np.array([[True, False], [True, True]])
    for matrix in (mask, mask.astype(int), mask.astype("f2"), mask.tolist()):
        assert drawn(matrix) == ["1.0", "0.0", "1.0", "1.0"]


@pytest.mark.parametrize("weights", [MASKED, [["1", "0"]] * 2, WEIGHTS * 1j])
def test_plots_refuse_what_is_no_matrix_of_real_numbers(weights):
    with pytest.raises(TypeError, match="weights must"):
        drawn(weights)


def test_arrays_that_are_too_wide_leave_no_figure_open():
    """In Jupyter an open figure would be drawn, in gigabytes."""
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="parts must fit"):
        plotting.show_arrays([("Q", np.ones((1, 40)))])
    assert plt.get_fignums() == before
