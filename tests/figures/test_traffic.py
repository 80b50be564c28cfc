"""What tiles move: counted by programs that move it, array by array."""

import bisect
import itertools
import math

import numpy as np

from tests.figures.reading import (
    captions,
    ends_of,
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    read,
    rows,
    sentence,
    significant,
    sizes,
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
    for drawing in (shown, narrow("traffic", state)):
        drawing_shows(state, expected, drawing)


def drawing_shows(state, expected, shown):
    svg = shown.select_one(".av-travels")
    N, d = state["N"], state["d"]
    lines = [
        np.reshape(path_of(svg.select_one(f".av-moves.av-moves-{k}")), (-1, 2))
        for k in range(3)
    ]
    memories = [np.geomspace(LEAST, MOST, len(line)) for line in lines]
    marks = svg.select(".av-traffic-mark")
    spots = np.array([np.mean(ends_of(mark), axis=0) for mark in marks])
    across, up = svg.select(".av-across"), svg.select(".av-up")
    rules = [path_of(svg.select_one(f".av-{k}"))[0] for k in ("turn", "here")]
    on_one_scale(
        [*sizes(across, "x"), *(x for line in lines for x, _ in line),
         *spots[:, 0], *rules],
        [*(read(t.text) for t in across), *np.concatenate(memories),
         *[state["M"]] * len(marks), expected["turn"], state["M"]],
        near=0.25, log=True,
    )  # fmt: skip
    # Rounding may take a quarter power to the other side of a step.
    moved = [
        [sum(program(N, d, round(M)).values()) for M in some[::4]]
        for program, some in zip(PROGRAMS, memories, strict=True)
    ]
    on_one_scale(
        [*(sizes(up, "y") - 4), *(y for line in lines for _, y in line[::4]),
         *spots[:, 1]],
        [*(read(t.text) * 1e6 for t in up), *np.concatenate(moved),
         *expected["moved"][1 : 1 + len(marks)]],
        near=0.25, log=True, up=True,
    )  # fmt: skip
    tells(svg.select_one(".av-of-turn").text, expected["turn"])
    # The square of pairs, and a block of it.
    side = float(svg.select_one(".av-all-pairs")["width"])
    part = float(svg.select_one(".av-block")["width"])
    in_proportion([side, part], [N, min(expected["rows"], N)])
    by_kind = np.transpose(expected["parts"])
    lines = [*by_kind / 1e6, np.array(expected["moved"]) / 1e6]
    for cells, numbers in zip(
        rows(shown.table),
        [*lines, expected["ratios"], 2 * lines[-1]],
        strict=True,
    ):
        for text, x in zip(cells, numbers, strict=True):
            significant(x, 3)(text)
    assert [th.text for th in shown.table.select("thead th")] == NAMES
    text = sentence(shown)
    blocks = expected["blocks"]
    tells(
        text,
        *(state["M"], expected["rows"]),
        significant(expected["ratios"][1], 3),
        significant(expected["ratios"][2], 3),
    )
    assert [t.text for t in svg.select(".av-line-name")] == NAMES
    assert f"{blocks:,} block" in captions(shown)[0]


def test_traffic_turns_where_the_lesson_found_it():
    """By a search that goes through all sizes, one after another."""
    result = expected({"N": 4096, "d": 64, "M": 2**16})
    fewer = Fewer(4096, 64)
    assert result["turn"] == 12_289
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
