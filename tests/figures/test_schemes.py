"""The figure of schemes: every stored seed, ranks, and clear differences."""

import itertools
import re

import numpy as np
import pytest

from course.evidence import stored
from course.figures import Schemes
from helpers.positions import (
    alibi_bias,
    relative_buckets,
    rotary_frequencies,
    yarn_frequencies,
)
from tests.figures.reading import (
    captions,
    path_of,
    says,
    sentence,
    tells,
    verdict,
)

LENGTHS = [32, 64, 128, 256]
# The places of the rows, from above.
PLACES = [
    "T5's bias",
    "ALiBi",
    "no positions",
    "RoPE, base 10,000",
    "RoPE, base 10,000, YaRN",
    "RoPE, base 500,000",
    "RoPE, base 500,000, YaRN",
    "RoPE, half of the columns",
]
CASES = [
    {"length": n, "questions": test, "yarn": yarn}
    for n in LENGTHS
    for test in ("near", "far")
    for yarn in (False, True)
]


def rows(state):
    """The stored results that a state shows, as the lesson shows them."""
    ways = ("as trained", "YaRN") if state["yarn"] else ("as trained",)
    return [r for r in stored("longer")["results"] if r["rescaled"] in ways]


def name_of(row):
    return row["kind"] + (", YaRN" if row["rescaled"] == "YaRN" else "")


def expected(state):
    """The seeds of each scheme, and how the schemes compare."""
    k = LENGTHS.index(state["length"])
    shares = np.array([row[state["questions"]] for row in rows(state)])
    seeds, medians = shares[:, k], np.median(shares, axis=2)
    ranks = np.argsort(-medians, axis=0, kind="stable")
    wins = [
        (a[:, None] > b).all()
        for a, b in itertools.permutations(seeds, 2)
    ]  # fmt: skip
    T = state["length"]
    spread = [row["weight"][state["questions"]] for row in rows(state)]
    weights = np.mean(spread, axis=2).round(4)
    buckets = relative_buckets(1, T, num_buckets=16, max_distance=32)
    names = [name_of(row) for row in rows(state)]
    return {
        "seeds": seeds,
        "medians": medians[:, k],
        "trained": medians[:, 0],
        "order": ranks[:, k],
        "ranks": ranks[:, 0],
        "better": sum(wins),
        "moved": (ranks[:, k] != ranks[:, 0]).sum(),
        "buckets": buckets[0, ::-1],
        "penalties": alibi_bias(2, T)[:, -1, 0],
        "share": 1 / T,
        "weights": weights[:, k],
        "opposed": opposed(medians[:, k], weights[:, k, 1]),
        "biases": biases(),
        "angles": [angles(name, T) for name in names],
        "trainedAngles": [angles(name, 32) for name in names],
    }


def opposed(medians, far):
    """In how many pairs more weight on far keys goes with a lower median."""
    return sum(
        (m - n) * (a - b) < 0
        for (m, a), (n, b) in itertools.combinations(
            zip(medians, far, strict=True), 2
        )
    )


def biases():
    """What T5's bias adds: a row of 16 numbers per head of each seed."""
    (stored_bias,) = [r["bias"] for r in stored("longer")["results"]
                      if r["kind"] == "T5's bias"]  # fmt: skip
    return [
        [bucket[head] for bucket in seed]
        for seed in stored_bias
        for head in range(2)
    ]


def test_the_axis_holds_all_that_is_added():
    assert -16 < np.min(biases())
    assert np.max(biases()) < 2
    assert -16 < alibi_bias(2, 256).min()


def level(added, top):
    """Where a bias is drawn: 22 units for the numbers from 2 to -16."""
    return top + 22 * (2 - added) / 18


def angles(name, T):
    """The angle of each of eight pairs at the longest distance."""
    found = np.zeros(8)
    if "RoPE" in name:
        base = 500_000 if "500" in name else 10_000
        d = 8 if "half" in name else 16
        theta = rotary_frequencies(d, base=base)
        if "YaRN" in name:
            theta = yarn_frequencies(d, T / 32, 32, base=base)
        found[: d // 2] = (T - 1) * theta
    return found


def turned(sectors, k, drawn):
    """The angle that a sector covers, drawn to a hundredth of a unit."""
    x, y = 8 + (k + 0.5) * 142 / 8, float(drawn[k]["cy"])
    for path in sectors:
        if path.has_attr("cx") and abs(float(path["cx"]) - x) < 0.006:
            if float(path["cy"]) == y:
                return 2 * np.pi
        if path.has_attr("d"):
            at = path_of(path)
            if abs(at[0] - x) < 0.006 and at[1] == y:
                start, end = (
                    np.arctan2(y - b, a - x) for a, b in (at[2:4], at[-2:])
                )
                return (end - start) % (2 * np.pi)
    return 0


def meets(state, expected, svg):
    """What a distance meets: biases, a share, and dials."""
    T = state["length"]
    dials = svg.select(".av-dial, .av-unturned")[2:]
    rotary = [
        i for name in PLACES
        for i, row in enumerate(rows(state))
        if name_of(row) == name and "RoPE" in name
    ]  # fmt: skip
    assert len(dials) == 8 * len(rotary)
    met, unmet = (svg.select(f".av-{it}.av-solid") for it in ("met", "unmet"))
    for n, i in enumerate(rotary):
        own = dials[8 * n : 8 * n + 8]
        known, now = (
            np.minimum(expected[key][i], 2 * np.pi)
            for key in ("trainedAngles", "angles")
        )
        still = [dial["class"] == ["av-unturned"] for dial in own]
        assert still == [angle == 0 for angle in known]
        for k in range(8):
            seen = turned(met, k, own)
            assert seen == pytest.approx(known[k], abs=0.002)
            new = turned(unmet, k, own)
            wanted = max(now[k] - known[k], 0)
            assert new == pytest.approx(wanted, abs=0.004)
    top = 96 + 16  # of T5's bias, whose row is the first
    stairs = svg.select("path.av-of-seed")
    for path, bias in zip(stairs, expected["biases"], strict=True):
        points = np.reshape(path_of(path), (-1, 2))
        distance = (points[:, 0] - 8) / 142 * 255
        # The last step that has begun at a distance is its bucket's.
        begun = [
            points[np.flatnonzero(distance < d + 0.02)[-1], 1]
            for d in range(T)
        ]
        wanted = [level(bias[b], top) for b in expected["buckets"]]
        np.testing.assert_allclose(begun, wanted, atol=0.006)
        assert distance[-1] == pytest.approx(T - 1, abs=0.01)
    told = svg.select_one("tspan.av-scheme + tspan").text
    last = [bias[-1] for bias in expected["biases"]]
    # The last bucket begins 27 back, and training reached 31 back.
    tells(told, 27, 31, (min(last), 1), (max(last), 1))
    axes = [p for p in svg.select("path.av-rule") if "V" in p["d"]]
    for path, y in zip(axes, (top, top + 48), strict=True):
        zero, low = path_of(path)[-2:]
        assert [zero, low] == pytest.approx(
            [level(0, y), level(-16, y)], abs=0.006
        )
        marks = [
            t.text for t in svg.select('text[x="153"]')
            if y < float(t["y"]) < y + 30
        ]  # fmt: skip
        assert marks == ["0", "−16"]
    lines = svg.select("path.av-met:not(.av-solid):not(.av-of-seed)")[1:]
    over = svg.select("path.av-unmet:not(.av-solid)")
    for known, new, least in zip(
        lines, over, expected["penalties"], strict=True
    ):
        *_, middle = np.reshape(path_of(known), (-1, 2)).tolist()
        start, end = path_of(new)[:2], path_of(new)[2:]
        assert (
            middle
            == start
            == pytest.approx(
                [
                    8 + 142 * 31 / 255,
                    level(31 * least / (T - 1), top + 48),
                ],
                abs=0.006,
            )
        )
        assert end == pytest.approx(
            [8 + 142 * (T - 1) / 255, level(least, top + 48)], abs=0.006
        )
    _, share = svg.select("rect.av-key-share")  # after the legend
    assert float(share["width"]) == pytest.approx(142 * 32 / T, abs=0.006)


def shows(state, expected, shown):
    some, order = rows(state), expected["order"]
    names = [name_of(some[i]) for i in order]
    text = sentence(shown)
    first, last = (100 * expected["medians"][i] for i in order[[0, -1]])
    plain = text
    for name in sorted(names, key=len, reverse=True):
        plain = plain.replace(name, "a scheme")
    n = len(some)
    tells(
        plain,
        *(state["length"], (first, 1), (last, 1), expected["better"]),
        *(n * (n - 1) // 2, expected["moved"], n, 32),
    )
    assert text.index(f"({names[0]}), the low") < text.index(f"({names[-1]}).")
    assert text.lower().startswith(state["questions"])
    tells(captions(shown)[0], state["length"] - 1, n, state["length"])
    svg = shown.select_one(".av-schemes")
    # The rows keep their places, and each has its rank.
    there = [name for name in PLACES if name in names]
    labels = [t.text for t in svg.select("tspan.av-scheme")]
    assert labels == there
    of = [[name_of(row) for row in some].index(name) for name in there]
    ranks = [t.text for t in svg.select("text.av-rank")]
    for i, rank in zip(of, ranks, strict=True):
        now, before = (
            list(expected[key]).index(i) + 1 for key in ("order", "ranks")
        )
        assert rank == (str(now) if now == before else f"{before} → {now}")
    meets(state, expected, svg)
    heights = [96 + 48 * place + 22 for place in range(n)]
    # The first of each kind of mark is in the key.
    dots = iter(svg.select(".av-seed")[1:])
    marks = zip(
        svg.select(".av-middle")[1:], svg.select(".av-fell")[1:], strict=True
    )
    for i, y, (mark, fell) in zip(of, heights, marks, strict=True):
        for share in expected["seeds"][i]:
            dot = next(dots)
            assert float(dot["cx"]) == pytest.approx(across(share), abs=0.0051)
            assert float(dot["cy"]) == y
        now, start = (
            across(expected[key][i]) for key in ("medians", "trained")
        )
        assert path_of(mark)[:2] == pytest.approx([now, y - 7], abs=0.0051)
        assert path_of(fell) == pytest.approx([start, y, now], abs=0.0051)
    assert next(dots, None) is None
    bars_show(
        expected, svg, [(i, y + 10) for i, y in zip(of, heights, strict=True)]
    )
    caption = shown.select_one("p.av-caption").text
    if state["length"] > 32:
        tells(caption, expected["opposed"], n * (n - 1) // 2)
    else:
        assert expected["opposed"] == 0
        tells(caption, 32)
    near = state["questions"] == "near"
    for words, at in (("a near one", near), ("a far key too", not near)):
        assert (words in caption) == (at and state["length"] > 32)
    (back,) = [t.text for t in svg.select("text") if "back, " in t.text][1:]
    tells(back, *((5, 11) if near else [state["length"] - 6]))
    verdict(back, farther=state["length"] > 32 and not near)
    # The trained length is the first; the bracket has the others.
    place = float(svg.select_one(".av-trained")["x"])
    assert place == pytest.approx(stop(0), abs=0.0051)
    left, *_, right, _ = path_of(svg.select_one(".av-scheme-track"))
    inside = [left < stop(k) < right for k in range(4)]
    assert inside == [n > 32 for n in LENGTHS]
    x, _ = re.findall(r"[\d.]+", svg.select_one(".av-grip")["transform"])
    place = stop(LENGTHS.index(state["length"]))
    assert float(x) == pytest.approx(place, abs=0.0051)


def bars_show(expected, svg, places):
    """The weight on right keys, on others, and on those too far back."""
    kinds = ("right", "near", "far")
    some = [svg.select(f".av-goes-{kind}")[1:] for kind in kinds]
    # The first of each colour is in the heading.
    numbers = [
        svg.select(f"text > tspan.{kind}:not([dx])")[1:]
        for kind in ("av-is-answer", "av-is-far")
    ]
    bars = zip(*some, *numbers, strict=True)
    for (i, y), (*parts, on_answer, on_far) in zip(places, bars, strict=True):
        right, far = expected["weights"][i]
        start = 0
        for part, share in zip(
            parts, (right, 1 - right - far, far), strict=True
        ):
            assert float(part["y"]) == y
            assert float(part["x"]) == pytest.approx(across(start), abs=0.006)
            assert float(part["width"]) == pytest.approx(
                104 * share, abs=0.011
            )
            start += share
        for text, share in ((on_answer, right), (on_far, far)):
            assert float(text.parent["y"]) == y + 8
            says(text.text.removesuffix("%"), 100 * share)


def across(share):
    """Where a share is drawn."""
    return 178 + 104 * share


def stop(k):
    """Where the handle of a length is."""
    return 178 + 142 * k / 3


def test_far_keys_take_what_the_answer_loses():
    """What the figure says: as far keys gain weight, the answer loses it."""
    for row in stored("longer")["results"]:
        if row["rescaled"] == "as trained":
            right, far = np.mean(row["weight"]["near"], axis=1).T
            assert (np.diff(far) > 0).all()
            assert right[-1] < right[0]
    # With near questions most pairs of schemes agree with it at each length.
    for n in (64, 128, 256):
        assert Schemes(length=n).values["opposed"] >= 13
    # As Figure 25.1 says of ALiBi.
    state = {"length": 256, "questions": "near", "yarn": False}
    names = [name_of(row) for row in rows(state)]
    far = expected(state)["weights"][:, 1]
    order = [names[k] for k in np.argsort(far)]
    assert order[:2] == ["T5's bias", "ALiBi"]


def test_differences_are_those_that_the_lesson_lists():
    """At 256 tokens it lists eleven near and six far."""
    found = [
        Schemes(questions=test).values["better"] for test in ("near", "far")
    ]
    assert found == [11, 6]
