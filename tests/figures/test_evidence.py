"""A few runs of two designs: every choice of runs, counted in plain Python."""

import itertools
import re
import statistics

import numpy as np

from course.evidence import stored
from tests.figures.reading import (
    captions,
    narrow,
    on_one_scale,
    path_of,
    sentence,
    sizes,
    tells,
    verdict,
    where,
)

RUNS = {
    f"{v['group']}: {v['name']}": v["accuracy"]
    for v in stored("evidence")["variants"]
    if v["group"] in ("positions", "heads")
}
CASES = [
    {"n": 2},
    {"n": 3, "reader": 57},
    {"n": 5, "reader": 0},
    {"n": 2, "a": "positions: rotary", "reader": 99},  # ahead of ALiBi
    {"n": 1, "b": "positions: rotary", "reader": 24},
    {"n": 4, "a": "heads: 1 of 32", "b": "positions: learned", "reader": 80},
    {"a": "heads: 2 of 16", "b": "positions: rotary", "n": 2},  # the same runs
    {"a": "heads: 1 of 32", "b": "positions: sinusoidal", "n": 1},
]


def ahead(x, y):
    """1 or -1 where every run beats every other run, else 0."""
    return all(p > q for p in x for q in y) - all(p < q for p in x for q in y)


def expected(state):
    A, B, n = RUNS[state["a"]], RUNS[state["b"]], state["n"]
    readers = list(itertools.product(
        itertools.combinations(range(5), n), repeat=2
    ))  # fmt: skip
    message = [ahead([A[s] for s in i], [B[s] for s in j]) for i, j in readers]
    chosen = readers[min(state["reader"], len(readers) - 1)]
    side = round(len(readers) ** 0.5)
    medians = [statistics.median(A), statistics.median(B)]
    order = (medians[0] > medians[1]) - (medians[0] < medians[1])
    return {
        "chosen": [list(c) for c in chosen],
        "ranges": [
            [min(R[s] for s in c), max(R[s] for s in c)]
            for R, c in zip((A, B), chosen, strict=True)
        ],
        "conclusions": np.reshape(message, (side, side)),
        "counts": [message.count(1), message.count(0), message.count(-1)],
        "readers": len(readers),
        "whole": ahead(A, B),
        "medians": medians,
        "against": message.count(-order) if order else 0,
    }


def shows(state, expected, shown):
    picture_shows(state, expected, shown.svg)
    picture_shows(state, expected, narrow("evidence", state).svg)
    words_show(state, expected, shown)


def picture_shows(state, expected, svg):
    pair = state["a"], state["b"]
    dots = svg.select("circle.av-run")
    for k, order in enumerate(["first", "second"]):
        filled = [f"av-run-{order}" in d["class"] for d in dots[5 * k :][:5]]
        assert np.flatnonzero(filled).tolist() == expected["chosen"][k]
    spans = [path_of(svg.select_one(f".av-span-{k}")) for k in
             ("first", "second")]  # fmt: skip
    ticks = [t for t in svg.select("text") if re.fullmatch(r"\d+%", t.text)]
    on_one_scale(
        [*sizes(dots, "cx"), *sizes(ticks, "x"),
         *(x for span in spans for x in (span[0], span[2]))],
        [*RUNS[pair[0]], *RUNS[pair[1]], *(int(t.text[:-1]) / 100
           for t in ticks),
         *np.ravel(expected["ranges"])],
    )  # fmt: skip
    (a, b), (c, d) = expected["ranges"]
    assert bool(svg.select("rect.av-both")) == (max(a, c) <= min(b, d))
    names = {1: "av-says-first", 0: "av-says-none", -1: "av-says-second"}
    cells = svg.select("[data-handle^=reader-] rect")
    results = expected["conclusions"].ravel()
    here = min(state["reader"], results.size - 1)
    for number, (cell, result) in enumerate(zip(cells, results, strict=True)):
        assert names[result] in cell["class"]
        assert ("av-me" in cell["class"]) == (number == here)
    counts = [t.text for t in svg.select("text.av-readers-count")]
    assert counts == [str(n) for n in expected["counts"]]


def words_show(state, expected, shown):
    a, b, text = state["a"], state["b"], sentence(shown)
    (title,) = [t.text for t in shown.select("text") if "for each" in t.text]
    tells(title, expected["readers"])
    if expected["whole"]:
        first, last = (a, b) if expected["whole"] > 0 else (b, a)
        assert f"runs of {first} beats each of {last}," in text
        assert expected["against"] == 0, "no choice can say the opposite"
    else:
        x, y = expected["medians"]
        against = where(x != y, expected["readers"], expected["against"])
        tells(text, (100 * x, 1), (100 * y, 1), *against)
        verdict(text, are_equal=x == y)
    heard = captions(shown)[0]
    for name, chosen in zip((a, b), expected["chosen"], strict=True):
        runs = ", ".join(f"{100 * RUNS[name][s]:.1f}%" for s in chosen)
        assert f"{name} {runs}" in heard


# --- hands -------------------------------------------------------------------


def test_evidence_reader_is_pressed_and_runs_are_added(page):
    page.open("evidence")
    result = page.run("evidence.addRuns")
    *seen, ended = result
    assert ended
    assert seen[0] == [1, 13, [[2], [3]]]
    steps = [len(chosen[0]) for _, _, chosen in seen]
    assert steps == [1, 2, 3, 2, 3, 4, 5]
    for (_, _, before), (n, reader, after) in itertools.pairwise(seen):
        few, many = sorted([before, after], key=lambda c: len(c[0]))
        for x, y in zip(few, many, strict=True):
            assert set(x) < set(y), "the runs that were seen stay"
        assert n == len(after[0])
        assert reader < len(list(itertools.combinations(range(5), n))) ** 2
