"""The figure of positions: sinusoids, rotations, and ALiBi's slopes."""

import re

import numpy as np
import pytest

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
    captions,
    cells_show,
    curves,
    follows,
    path_of,
    sentence,
    significant,
    sizes,
    spot,
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


def shows(state, expected, shown):
    {"sinusoid": waves_show, "RoPE": turns_show, "ALiBi": charges_show}[
        state["kind"]
    ](state, expected, shown)


def sheet_shows(shown, table, per, asides):
    """A row of cells per column of the table, and what is said beside it."""
    svg = shown.select_one(".av-sheet")
    T, rows = np.shape(table)
    cells_show(svg, np.transpose(table))
    unit, _, _, high, left, top = map(
        float, re.findall(r"-?[\d.]+", svg.g["transform"])
    )
    _, knob = svg.select("path.av-end, circle.av-knob")
    x, y = spot(knob.parent)
    assert (x, y) == pytest.approx((left + T * unit, top + rows * high), 0.01)
    # The chart below has the same axis.
    _, *numbers = shown.select(".av-chart text:not(.av-name)")
    ticks = {t.text: float(t["x"]) for t in numbers if t.text in ("16", "48")}
    scale = (ticks["48"] - ticks["16"]) / 32
    assert unit == pytest.approx(scale, abs=0.01)
    assert left + 16.5 * unit == pytest.approx(ticks["16"], abs=0.02)
    groups = svg.select("text[text-anchor=end]")[1:]
    beside = svg.select(".av-aside")
    ranked = [int(text.text) for text in groups]
    assert 1 <= len(ranked) <= rows / per
    for text, aside, k in zip(groups, beside, ranked, strict=True):
        middle = top + (k + 0.5) * per * high
        assert float(text["y"]) - 4 == pytest.approx(middle, abs=0.06)
        assert aside["y"] == text["y"]
        significant(asides[k], 4)(aside.text)
    lines = np.diff(sizes(groups, "y"))
    assert (lines >= 13).all(), "no row's number touches another's"


def waves_show(state, expected, shown):
    pair = min(state["pair"], state["pairs"] - 1)
    periods = 2 * np.pi * 10000 ** (np.arange(16) / state["pairs"])
    sheet_shows(shown, expected["table"], 2, periods)
    (on,) = shown.select(".av-followed")
    assert on["data-handle"] == f"pair-{pair}"
    fine = np.arange(505) / 8
    lines, _, near = curves(shown.select_one(".av-chart"))
    waves = np.transpose(expected["waves"])[:, :505]
    for line, wave in zip(lines, waves, strict=True):
        follows(line, np.stack([fine, wave], axis=1), near)
    w = expected["wavelength"]
    tells(sentence(shown), pair, (360 / w, 3), (w, 2))
    matrix, chart = captions(shown)
    tells(matrix, 0, state["T"] - 1, 2 * state["pairs"])
    tells(chart, pair)
    names = [t.text for t in shown.select(".av-chart .av-name")]
    assert names == ["sine", "cosine"]


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
    fine = zip(np.arange(-256, 257) / 8, expected["curve"], strict=True)
    follows(line, list(fine), near)
    follows(dot, (m - n, expected["score"]), near)
    score = (expected["score"], 4)
    tells(
        sentence(shown),
        *(m + shift, n + shift, m - n, score),
        *where(shift, m, n, (expected["unmoved"], 4)),
    )
    (mark,) = [t for t in shown.select(".av-chart .av-name") if t.text]
    tells(mark.text, score)
    tells(captions(shown)[0], state["pairs"])
    tells(captions(shown)[1], pair, m + shift, n + shift)
    dial_shows(state, expected, shown.select_one(".av-plane"))


def clocks_show(state, expected, svg):
    """A small clock per pair with both hands."""
    for i, face in enumerate(svg.select("[data-handle]")):
        tells(face.text, i)
        for kind in ("query", "key"):
            x, y, u, v = path_of(face.select_one(f"path.av-{kind}"))
            tip = expected[kind][2 * i : 2 * i + 2]
            assert [(u - x) / 20, (y - v) / 20] == pytest.approx(
                list(tip), abs=1e-3
            )


def dial_shows(state, expected, plane):
    """The numbers of positions, and the arc the shorter way to the key."""
    step, at, to = expected["turns"]

    def same(x, y, degrees):
        off = np.rad2deg(np.arctan2(-y, x)) - degrees
        assert abs((off + 180) % 360 - 180) < 0.05

    for text in plane.select(".av-axis"):
        same(float(text["x"]), float(text["y"]) - 4, int(text.text) * step)
    x, y = np.reshape(path_of(plane.select_one(".av-swing")), (-1, 2)).T
    whole = np.unwrap(np.rad2deg(np.arctan2(-y, x)), period=360)
    same(x[0], y[0], at)
    way = whole[-1] - whole[0]
    assert way == pytest.approx((to - at + 180) % 360 - 180, abs=0.05)


def charges_show(state, expected, shown):
    slopes, bias = expected["slopes"], expected["bias"]
    sheet_shows(shown, np.transpose(expected["left"]), 1, slopes)
    lines, _, near = curves(shown.select_one(".av-chart"))
    steep, flat = slopes.argmax(), slopes.argmin()
    # A line goes on beyond the table, which the helper's bias ends with.
    for line, head in zip(lines, dict.fromkeys((steep, flat)), strict=True):
        follows(
            line, [(0, 0), (64, 64 * bias[head][-1] / (state["T"] - 1))], near
        )
    text = sentence(shown)
    tells(text, len(slopes), *where(steep != flat, steep, flat))
    verdict(text, paper=state["rule"] == "paper")
    tells(captions(shown)[0], 0, state["T"] - 1)
    names = [t.text for t in shown.select(".av-chart .av-name")]
    assert names == [f"head {h}" for h in dict.fromkeys((steep, flat))]


def test_hands_go_round_as_often_as_they_are_drawn_round(page):
    """The query goes on past a whole turn, and stays at a whole position."""
    start = {"pairs": 4, "pair": 0, "m": 3, "n": 1, "shift": 0}
    page.open("positions", kind="RoPE", **start)
    box = page.tab.locator(".av-plane").bounding_box()
    unit = box["width"] / 260

    def to(radians):
        x, y = 100 * np.cos(radians), -100 * np.sin(radians)
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
