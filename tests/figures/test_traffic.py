"""What tiles move: counted by programs that move it, array by array."""

import bisect
import itertools
import math
import re

import numpy as np
import pytest

from tests.figures.reading import (
    captions,
    path_of,
    read,
    rows,
    sentence,
    significant,
    tells,
)

LEAST, MOST = 2**10, 2**18
CASES = [
    {"M": LEAST},
    {"M": MOST, "N": 512, "d": 32},
    {"M": 2**14},
    {"M": 2**13},
    {"M": LEAST, "N": 16384, "d": 128},
    {"M": 2**15, "N": 1024, "d": 128},
]


def fitted(state):
    return state | {
        "M": max(state["M"], LEAST),
        "N": max(state["N"], 512),
    }


class Moved:
    """What a program loads and stores, by what it is; no number is made."""

    def __init__(self, N, d):
        self.parts = {"ends": 0, "square": 0, "states": 0}
        self.N, self.d = N, d

    def __call__(self, kind, rows, columns):
        self.parts[kind] += rows * columns


def standard(N, d, M):
    """Scores, softmax, weighted sum: each step stores what it made."""
    moved = Moved(N, d)
    for kind, columns in (
        *(("ends", d),) * 2,  # Q and K
        *(("square", N),) * 2,  # scores out and in
        *(("square", N),) * 2,  # weights out and in
        *(("ends", d),) * 2,  # V and the output
    ):
        moved(kind, N, columns)
    return moved.parts


def block(d, M):
    return math.ceil(M / (4 * d))


def keys_outside(N, d, M):
    """FlashAttention, algorithm 1; the states travel with their queries."""
    moved = Moved(N, d)
    for start in range(0, N, block(d, M)):
        here = min(block(d, M), N - start)
        moved("ends", here, d), moved("ends", here, d)  # K and V
        moved("ends", N, d)  # all queries pass by
        for columns in (d, 1, 1):  # mix, top and total, in and out
            moved("states", N, columns), moved("states", N, columns)
    return moved.parts


def queries_outside(N, d, M):
    """FlashAttention-2: the states stay, and keys and values pass by."""
    moved = Moved(N, d)
    for start in range(0, N, block(d, M)):
        here = min(block(d, M), N - start)
        moved("ends", here, d), moved("ends", here, d)  # Q and the output
        moved("ends", N, d), moved("ends", N, d)  # K and V
    return moved.parts


PROGRAMS = [standard, keys_outside, queries_outside]
NAMES = ["standard", "tiles, keys outside", "tiles, queries outside"]


class Fewer:
    """Whether tiles, keys outside, move fewer numbers, for each memory."""

    def __init__(self, N, d):
        self.N, self.d = N, d
        self.most = sum(standard(N, d, 1).values())

    def __getitem__(self, M):
        return sum(keys_outside(self.N, self.d, M).values()) < self.most


def expected(state):
    N, d, M = state["N"], state["d"], state["M"]
    parts = [list(f(N, d, M).values()) for f in PROGRAMS]
    moved = [sum(one) for one in parts]
    return {
        "parts": parts,
        "moved": moved,
        "ratios": [n / moved[0] for n in moved],
        "rows": block(d, M),
        "blocks": len(range(0, N, block(d, M))),
        # With more memory there are never more blocks: halving finds it.
        "turn": bisect.bisect_left(Fewer(N, d), True, lo=1, hi=N * 4 * d),
    }


def shows(state, expected, shown):
    svg = shown.select_one(".av-travels")
    up = {read(t.text) * 1e6: float(t["y"]) - 4 for t in svg.select(".av-up")}
    across = {read(t.text): float(t["x"]) for t in svg.select(".av-across")}

    def axis(places):
        values, pixels = np.log(list(places)), list(places.values())
        slope, start = np.polyfit(values, pixels, 1)
        assert abs(slope * values + start - pixels).max() < 0.11
        return lambda x: slope * np.log(x) + start

    px, py = axis(across), axis(up)
    N, d = state["N"], state["d"]
    for k, program in enumerate(PROGRAMS):
        line = path_of(svg.select_one(f".av-moves.av-moves-{k}"))
        line = np.reshape(line, (-1, 2))
        memories = np.geomspace(LEAST, MOST, len(line))
        assert len(line) == (33 if k else 2)
        np.testing.assert_allclose(line[:, 0], px(memories), atol=0.2)
        # Rounding may take a quarter power to the other side of a step.
        for (_, y), M in list(zip(line, memories, strict=True))[::4]:
            n = sum(program(N, d, round(M)).values())
            assert y == pytest.approx(py(n), abs=0.2)
    for k, mark in enumerate(svg.select(".av-traffic-mark"), 1):
        x, y = (
            (float(mark["cx"]), float(mark["cy"]))
            if mark.name == "circle"
            else (float(mark["x"]) + 4.5, float(mark["y"]) + 4.5)
        )
        assert (x, y) == pytest.approx(
            (px(state["M"]), py(expected["moved"][k])), abs=0.25
        )
    turn = svg.select_one(".av-of-turn").text
    tells(turn, expected["turn"])
    for kind, M in (("turn", expected["turn"]), ("here", state["M"])):
        line = path_of(svg.select_one(f".av-{kind}"))
        assert line[0] == pytest.approx(px(M), abs=0.2)
    # The square of pairs, cut where a block of keys ends.
    side = float(svg.select_one(".av-all-pairs")["width"])
    left = float(svg.select_one(".av-all-pairs")["x"])
    unit = side * expected["rows"] / N
    assert float(svg.select_one(".av-block")["width"]) == pytest.approx(
        min(unit, side), abs=0.051
    )
    cuts = svg.select_one(".av-parted")
    assert (cuts is None) == (unit < 1.5)
    assert bool(svg.select(".av-dense")) == (unit < 1.5)
    if cuts:
        places = [float(x) for x in re.findall(r"M([\d.]+)", cuts["d"])]
        wanted = [left + unit * k for k in range(1, expected["blocks"])]
        np.testing.assert_allclose(places, wanted, atol=0.051)
    table = rows(shown.table)
    by_kind = np.transpose(expected["parts"])
    for cells, numbers in zip(
        table, [*by_kind / 1e6, np.array(expected["moved"]) / 1e6,
                expected["ratios"]], strict=True
    ):  # fmt: skip
        for text, x in zip(cells, numbers, strict=True):
            significant(x, 3)(text)
    heads = [th.text for th in shown.table.select("thead th")]
    assert heads == NAMES
    # A sign before each name, in the legend above the picture too.
    legend = shown.select_one(".av-caption")
    assert legend.find_next("svg") is svg
    assert legend.text.split(" \N{EM SPACE} ") == NAMES
    signs = [key["class"][1] for key in legend.select(".av-line-key")]
    assert signs == ["av-moves-0", "av-moves-1", "av-moves-2"]
    text = sentence(shown)
    blocks = expected["blocks"]
    assert ("once" in text) == (blocks == 1)
    tells(
        text,
        state["M"],
        expected["rows"],
        N,
        *([] if blocks == 1 else [blocks]),
        significant(expected["moved"][0] / 1e6, 3),
        significant(2 * expected["moved"][0] / 1e6, 3),
        16,
        significant(expected["ratios"][1], 3),
        significant(expected["ratios"][2], 3),
        expected["turn"],
    )
    assert f"{blocks:,} block" in captions(shown)[0]


def test_traffic_turns_where_the_lesson_found_it():
    """By a search that goes through all sizes, one after another."""
    found = expected({"N": 4096, "d": 64, "M": 2**16})
    fewer = Fewer(4096, 64)
    assert found["turn"] == 12_289
    assert not any(fewer[M] for M in range(11_000, 12_289, 7))
    assert all(fewer[M] for M in range(12_289, 2**16, 997))


def test_traffic_counts_are_of_programs_that_attend():
    """The same counts from the loops of chapter 17, at a small size."""
    N, d, M = 100, 6, 300
    b = block(d, M)
    seen = 0
    for j, i in itertools.product(range(0, N, b), range(0, N, min(b, d))):
        here, queries = min(b, N - j), min(min(b, d), N - i)
        seen += 2 * here * d if i == 0 else 0
        seen += queries * d + 2 * queries * (d + 2)
    assert seen == sum(keys_outside(N, d, M).values()) == 18_800
    assert sum(standard(N, d, M).values()) == 42_400
