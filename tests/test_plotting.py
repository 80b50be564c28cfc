"""Figures are named, deterministic, readable, and refuse what does not fit."""

import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import plotting

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


def test_the_same_figure_gives_the_same_bytes(monkeypatch):
    svgs = {
        shown(plotting.show_weights(WEIGHTS, **NAMES).figure, monkeypatch)[
            "image/svg+xml"
        ]
        for _ in range(2)
    }
    assert len(svgs) == 1


def test_rows_are_queries_and_columns_are_keys():
    ax = plotting.show_weights(WEIGHTS, **NAMES)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("queries", "keys")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["c", "d"]
    written = [text.get_text() for text in ax.texts]
    assert written == ["1.00", "0.00", "0.40", "0.60"]


@pytest.mark.parametrize("cmap", [plotting.CMAP, "viridis", "RdBu"])
def test_values_in_cells_have_enough_contrast(cmap):
    values = np.linspace(0, 1, 40).reshape(2, 20)
    ax = plotting.show_weights(
        values, queries=list("ab"), keys=range(20), cmap=cmap
    )
    cells = ax.collections[0].get_facecolors()
    for text, cell in zip(ax.texts, cells, strict=True):
        pair = [plotting._luminance(c) for c in (text.get_color(), cell)]
        contrast = (max(pair) + 0.05) / (min(pair) + 0.05)
        assert contrast >= 4.5


def test_colours_are_seen_on_white_and_on_dark():
    # WCAG 2.2, 1.4.11: graphical objects need 3 to 1; ours are lines and
    # bars with labels beside them, held to 1.9 on both grounds at once.
    for color in plotting.COLORS:
        light = plotting._luminance(color)
        assert 1.05 / (light + 0.05) >= 1.9
        assert (light + 0.05) / (plotting._luminance("#121212") + 0.05) >= 1.9


def test_one_heatmap_a_head():
    fig = plotting.show_heads(np.stack([WEIGHTS] * 3), **NAMES)
    assert len(fig.axes) == 3
    labels = [ax.get_xlabel() for ax in fig.axes]
    assert labels == ["keys\nhead 0", "keys\nhead 1", "keys\nhead 2"]


def test_shapes_are_drawn_in_proportion():
    fig = plotting.show_shapes([("Q", (2, 4)), ("K", (4, 2))])
    a, b = fig.axes[0].patches
    assert a.get_width() == 2 * a.get_height() == b.get_height()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plotting.show(plt.figure(), alt=" "),
            "alt must say what is seen",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, queries=["a"], keys=["b"]),
            "got (2, 2), 1 queries and 1 keys",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS * np.nan, **NAMES),
            "weights must be finite",
        ),
        (
            lambda: plotting.show_heads(WEIGHTS, **NAMES),
            "weights must be (H, T, S); got (2, 2)",
        ),
        (
            lambda: plotting.show_heads(WEIGHTS[None][:0], **NAMES),
            "weights must be (H, T, S); got (0, 2, 2)",
        ),
        (
            lambda: plotting.show_weights([], queries=[], keys=[]),
            "got (0,), 0 queries and 0 keys",
        ),
        (
            lambda: plotting.show_weights([[]], queries=["a"], keys=[]),
            "weights must hold entries; got (1, 0)",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, vmax=np.inf, **NAMES),
            "vmax must be finite; got inf",
        ),
        (
            lambda: plotting.show_shapes([("Q", (2, 0))]),
            "a size of Q must be at least 1; got 0",
        ),
        (
            lambda: plotting.show_heads(WEIGHTS[None], labels=[], **NAMES),
            "1 heads need 1 labels; got 0",
        ),
        (lambda: plotting.show_shapes([]), "stages must hold labels"),
        (lambda: plotting.show_shapes([("Q", (1,))]), "shapes of two axes"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def drawn(weights):
    texts = plotting.show_weights(weights, **NAMES, fmt="z.1f").texts
    return [text.get_text() for text in texts]


def test_any_numbers_are_drawn_and_a_mask_as_zeros_and_ones():
    mask = np.array([[True, False], [True, True]])
    for matrix in (mask, mask.astype(int), mask.astype("f2"), mask.tolist()):
        assert drawn(matrix) == ["1.0", "0.0", "1.0", "1.0"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: drawn(MASKED),
            "weights must not be a masked array",
        ),
        (lambda: drawn([["1", "0"]] * 2), "weights must hold real numbers"),
        (lambda: drawn(WEIGHTS * 1j), "weights must hold real numbers"),
        (
            lambda: plotting.show_heads(MASKED[None], **NAMES),
            "weights must not be a masked array",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, queries=2, keys="ab"),
            "queries must be names; got 2",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, queries="ab", keys=None),
            "keys must be names; got None",
        ),
        (
            lambda: plotting.show_heads(WEIGHTS[None], labels=1, **NAMES),
            "labels must be names; got 1",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, cbar="no", **NAMES),
            "cbar must be True or False; got 'no'",
        ),
        (
            lambda: plotting.show_weights(WEIGHTS, vmin="0", **NAMES),
            "vmin must be a number; got '0'",
        ),
        (
            lambda: plotting.show(plt.figure(), alt=None),
            "alt must be a text; got None",
        ),
        (
            lambda: plotting.show_shapes([("Q", (2.5, 1))]),
            "a size of Q must be an integer; got 2.5",
        ),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused(call, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        call()
