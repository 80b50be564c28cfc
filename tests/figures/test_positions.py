"""The figure of positions: sinusoids, rotations, and ALiBi's slopes."""

import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from helpers.attention import attention_scores
from helpers.positions import (
    alibi_bias,
    alibi_slopes,
    rotary_embedding,
    sinusoidal_encoding,
)
from helpers.softmax import softmax
from tests.figures.reading import (
    all_say,
    axes,
    captions,
    curves,
    follows,
    matrix_shows,
    path_of,
    sentence,
    significant,
    tells,
    verdict,
    where,
)

CASES = [
    {"kind": "sinusoid", "T": 2, "pairs": 3, "pair": 15},
    {"kind": "sinusoid", "T": 17},
    {"kind": "sinusoid", "T": 6, "pairs": 7},
    {"kind": "RoPE", "pairs": 16, "m": 0, "n": 32, "shift": 1000},
    {"kind": "RoPE", "m": 20, "n": 3, "angle": -30.0},
    {"kind": "RoPE", "m": 3, "n": 3},
    # The directions of a slow pair are too close for more than one number.
    {"kind": "RoPE", "pairs": 4, "pair": 3},
    # The shorter way goes across 180 degrees, one way and the other.
    {"kind": "RoPE", "pairs": 1, "m": 3, "n": 0, "angle": -170.0},
    {"kind": "RoPE", "pairs": 1, "m": 16, "n": 0, "angle": 170.0},
    *(
        {"kind": "ALiBi", "T": T, "heads": n, "rule": rule}
        for T, n in ((5, 1), (13, 2), (5, 8), (3, 12))
        for rule in ("paper", "reference")
    ),
]


def expected(state):
    """What the positions show, by the helpers."""
    T, pairs = state["T"], state["pairs"]
    if state["kind"] == "sinusoid":
        pair = min(state["pair"], pairs - 1)
        wavelength = 2 * np.pi * 10000 ** (pair / pairs)
        # A wave is the shadow of a point that goes round once a wavelength.
        fine = np.exp(2j * np.pi * np.arange(513) / 8 / wavelength)
        return {
            "table": sinusoidal_encoding(T, 2 * pairs),
            "waves": np.stack([fine.imag, fine.real], axis=1),
            "wavelength": wavelength,
        }
    if state["kind"] == "ALiBi":
        H, rule = state["heads"], state["rule"]
        bias = alibi_bias(H, 1, T, rule=rule)[:, 0, ::-1]
        # Against distance 0, where all scores are equal: a ratio of weights.
        weights = softmax(bias)
        return {
            "slopes": alibi_slopes(H, rule=rule),
            "bias": bias,
            "left": weights / weights[:, :1],
        }
    angle = np.deg2rad(state["angle"])
    q = np.tile([1.0, 0.0], (1, pairs))
    k = np.tile([np.cos(angle), np.sin(angle)], (1, pairs))

    def turned(row, at):
        return rotary_embedding(row, [at], interleaved=True)

    def score(distance):
        """Turn the query alone: the distance is all that counts."""
        return attention_scores(turned(q, distance), k)[0, 0]

    m, n, shift = state["m"], state["n"], state["shift"]
    theta = 10000.0 ** (-np.arange(pairs) / pairs)
    step = np.rad2deg(theta[min(state["pair"], pairs - 1)])
    return {
        "query": turned(q, m + shift)[0],
        "key": turned(k, n + shift)[0],
        "score": score(m - n),
        "unmoved": score(m - n),
        "by_distance": [score(distance) for distance in range(-32, 33)],
        # Between whole distances too: one cosine for each pair.
        "curve": np.cos(np.outer(np.arange(-256, 257) / 8, theta) - angle).sum(
            axis=1
        )
        / np.sqrt(2 * pairs),
        "turns": [
            step,
            (m + shift) * step,
            state["angle"] + (n + shift) * step,
        ],
    }


# What any setting can give fits on these axes.
AXES = {
    "sinusoid": [[0, 64], [-1, 1]],
    "RoPE": [[-32, 32], [-3, 3]],
    "ALiBi": [[0, 64], [-48, 0]],
}


def shows(state, expected, shown):
    assert axes(shown) == [AXES[state["kind"]]]
    {"sinusoid": waves_show, "RoPE": turns_show, "ALiBi": charges_show}[
        state["kind"]
    ](state, expected, shown)


def waves_show(state, expected, shown):
    pair = min(state["pair"], state["pairs"] - 1)
    table = expected["table"]
    matrix_shows(shown, table, 3)
    at = np.arange(state["T"])
    fine = np.arange(513) / 8
    lines, _, near = curves(shown.select_one(".av-chart"))
    for line, wave in zip(lines, np.transpose(expected["waves"]), strict=True):
        follows(line, np.stack([fine, wave], axis=1), near)
    pale_after(shown, state["T"] - 1)
    numbers = table[:, 2 * pair : 2 * pair + 2].ravel()
    both = np.stack([np.repeat(at, 2), numbers])
    follows(dots_of(shown), both.T, near)
    w = expected["wavelength"]
    text = sentence(shown)
    tells(text, pair, 2 * pair, 2 * pair + 1, (360 / w, 3), (w, 2))
    matrix, chart = captions(shown)
    tells(matrix, 0, state["T"] - 1, 0, 2 * state["pairs"] - 1, -1, 1)
    tells(chart, pair)
    sine, cosine = (t.text for t in shown.select(".av-chart .av-name"))
    tells(sine, 2 * pair)
    tells(cosine, 2 * pair + 1)
    verdict(sine + cosine.upper(), sine=True, COSINE=True)


def pale_after(shown, last):
    """All beyond the last position is pale."""
    x, _, right = path_of(shown.select_one(".av-beyond"))[:3]
    frame = path_of(shown.select_one(".av-chart .av-rule"))
    left, end = frame[0], frame[2]
    assert right == end + 3
    assert x == pytest.approx(left + (end - left) * last / 64, abs=0.051)


def dots_of(shown):
    """The dots of a chart, at whole positions, in the units of its axes."""
    spots = shown.select_one(".av-points")["d"]
    svg = BeautifulSoup(str(shown.select_one(".av-chart")), "html.parser")
    line, *others = svg.select(".av-line")
    line["d"] = re.sub("h0", "", spots).replace("M", "L")
    for other in others:
        other.decompose()
    (dots,), *_ = curves(svg)
    return dots


def turns_show(state, expected, shown):
    m, n, shift = state["m"], state["n"], state["shift"]
    pair = min(state["pair"], state["pairs"] - 1)
    arrows = shown.select(".av-plane path.av-hand")
    for arrow, key in zip(arrows, ("query", "key"), strict=True):
        x, y = re.fullmatch(r"M0 0L(\S+) (\S+)", arrow["d"]).groups()
        tip = expected[key][2 * pair : 2 * pair + 2]
        all_say((x, y), (100 * tip[0], -100 * tip[1]), 2)
    clocks_show(state, expected, shown.select_one(".av-clocks"))
    (line,), (dot,), near = curves(shown.select_one(".av-chart"))
    by_distance = zip(range(-32, 33), expected["by_distance"], strict=True)
    fine = zip(np.arange(-256, 257) / 8, expected["curve"], strict=True)
    follows(line, list(fine), near)
    follows(dots_of(shown), list(by_distance), near)
    follows(dot, (m - n, expected["score"]), near)
    step, at, to = expected["turns"]
    ahead = (state["angle"], 4)
    tells(
        sentence(shown),
        *(m + shift, n + shift, *where(shift, shift), m - n),
        (expected["score"], 4),
        *where(shift, m, n, (expected["unmoved"], 4)),
        *(pair, ahead, m - n, (step, 3), (to - at, 3)),
    )
    tells(captions(shown)[0], state["pairs"])
    tells(captions(shown)[1], pair, m + shift, n + shift)
    tells(
        shown.select_one(".av-caption").text,
        *(pair, (step, 3), m + shift, (at, 1), n + shift, ahead, (to, 1)),
    )
    dial_shows(state, expected, shown.select_one(".av-plane"))


def clocks_show(state, expected, svg):
    """A small clock per pair with both hands, and the followed one marked."""
    pairs = state["pairs"]
    faces = svg.select("[data-handle]")
    assert [f["data-handle"] for f in faces] == [
        f"pair-{i}" for i in range(pairs)
    ]
    for i, face in enumerate(faces):
        tells(face.text, i)
        middle = [float(face.circle[k]) for k in ("cx", "cy")]
        for kind in ("query", "key"):
            points = path_of(face.select_one(f"path.av-{kind}"))
            assert points[:2] == middle
            way = (np.array(points[2:]) - middle) * [1, -1] / 20
            tip = expected[kind][2 * i : 2 * i + 2]
            assert way == pytest.approx(list(tip), abs=1e-3)
        followed = "av-followed" in face.circle["class"]
        assert followed == (i == min(state["pair"], pairs - 1))


def dial_shows(state, expected, plane):
    """Where the query points at each position, and the way to the key."""
    step, at, to = expected["turns"]

    def points(path):
        x, y = np.reshape(path_of(path), (-1, 2)).T
        return np.hypot(x, y), np.rad2deg(np.arctan2(-y, x))

    def same(found, wanted, near=0.05):
        off = (np.array(found) - wanted + 180) % 360 - 180
        np.testing.assert_allclose(off, 0, atol=near)

    _, degrees = points(plane.select_one(".av-tick"))
    n = min(int(np.ceil(360 / step)), 33)
    same(degrees, np.repeat(np.arange(n) * step, 2))
    numbered = [int(text.text) for text in plane.select(".av-axis")]
    assert numbered[0] == 0
    assert (np.diff([*numbered, 360 / step]) * step >= 15 - 1e-9).all()
    for text in plane.select(".av-axis"):
        x, y = float(text["x"]), float(text["y"]) - 4
        same(np.rad2deg(np.arctan2(-y, x)), int(text.text) * step)
    _, degrees = points(plane.select_one(".av-began"))
    same(degrees[[1, 3]], [0, state["angle"]])
    # The arc goes the shorter way from the query to the key.
    _, degrees = points(plane.select_one(".av-swing"))
    whole = np.unwrap(degrees, period=360)
    way = whole[-1] - whole[0]
    assert way == pytest.approx((to - at + 180) % 360 - 180, abs=0.05)
    same(whole[0], at)
    names = [t.text for t in plane.select("text:not(.av-axis)")]
    assert names == ["q", "k"]


def charges_show(state, expected, shown):
    slopes, bias = expected["slopes"], expected["bias"]
    matrix_shows(shown, expected["left"], 3)
    lines, _, near = curves(shown.select_one(".av-chart"))
    steep, flat = slopes.argmax(), slopes.argmin()
    # A line goes on beyond the table, which the helper's bias ends with.
    for line, head in zip(lines, dict.fromkeys((steep, flat)), strict=True):
        follows(
            line, [(0, 0), (64, 64 * bias[head][-1] / (state["T"] - 1))], near
        )
    pale_after(shown, state["T"] - 1)
    text = sentence(shown)
    four = [significant(m, 4) for m in slopes]
    tells(text, len(slopes), *four, *where(steep != flat, steep, flat))
    verdict(text, paper=state["rule"] == "paper")
    tells(captions(shown)[0], 0, state["T"] - 1)
    names = [t.text for t in shown.select(".av-chart .av-name")]
    assert names == [f"head {h}" for h in dict.fromkeys((steep, flat))]
    table = shown.select_one("table.av-grid")
    if table:
        for th, m in zip(table.select("tbody th"), slopes, strict=True):
            tells(th.text.partition(":")[2], significant(m, 4))
    else:
        low, high = shown.select(".av-mosaic text")[-2:]
        assert [low.text, high.text] == ["0", "1"]


def test_hands_go_round_as_often_as_they_are_drawn_round(page):
    """The query goes on past a whole turn, and stays at a whole position."""
    start = {"pairs": 4, "pair": 0, "m": 3, "n": 1, "shift": 0}
    page.open("positions", kind="RoPE", **start)
    box = page.tab.locator(".av-plane").bounding_box()
    unit = box["width"] / 260

    def to(radians, far=100):
        x, y = far * np.cos(radians), -far * np.sin(radians)
        page.tab.mouse.move(
            box["x"] + unit * (130 + x), box["y"] + unit * (130 + y)
        )

    to(3)
    page.tab.mouse.down()
    for radians in np.arange(3.5, 10.01, 0.5):
        to(radians)
        page.do("await frame(); return null")
    page.tab.mouse.up()
    assert page.do("[m.state.m, m.state.n, error()]") == [10, 1, ""]
    # The key is 90 degrees ahead: at position 1 it points to 1 + π / 2.
    to(1 + np.pi / 2)
    page.tab.mouse.down()
    to(3 + np.pi / 2)
    page.tab.mouse.up()
    assert page.do("await frame(); return [m.state.m, m.state.n]") == [10, 3]
    assert page.run("positions.pressPair") == [2, 1]


def test_a_longer_text_does_not_move_the_controls(page):
    """A table of any size and a picture take the same space."""
    page.open("positions", kind="sinusoid")
    heights = page.run("positions.heightsBySize")
    assert len(set(heights)) == 1, heights
