"""A softmax in a type: each operation exact, then rounded once, in Python."""

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from helpers.softmax import softmax
from tests.figures.reading import (
    captions,
    path_of,
    read,
    rows,
    says,
    sentence,
    significant,
    tells,
    verdict,
)

# The largest number, the smallest, and the digits after the leading one: of
# two types as NumPy has them, and bfloat16 as it is defined, by its bits.
TYPES = {
    kind: (float(info.max), float(info.smallest_subnormal), info.nmant)
    for kind, info in {t: np.finfo(t) for t in ("float16", "float32")}.items()
}
TYPES["bfloat16"] = (255 * 2.0**120, 2.0**-133, 7)
CASES = [
    {"shift": 0},
    {"shift": 10},
    {"shift": 12, "subtract": True},
    {"shift": -20},
    {"shift": -17},
    {"shift": 100, "type": "bfloat16", "subtract": True},
    {"shift": 89, "type": "float32"},
    {"shift": 88, "type": "bfloat16"},
    {"shift": -104, "type": "float32"},
    {"shift": 64, "type": "bfloat16", "subtract": True},
    {"shift": 3, "type": "float32", **{f"score{j}": 0 for j in range(4)}},
    {"shift": 14, "type": "bfloat16", "subtract": True},
]


def spacing(x, kind):
    """The distance from |x| to the next number of the type."""
    _, smallest, digits = TYPES[kind]
    if not x:
        return smallest
    _, exponent = math.frexp(abs(x))  # x is m 2**exponent, m from 1/2 to 1
    return max(2.0 ** (exponent - 1 - digits), smallest)


def rounded(x, kind):
    """The number of a type that is nearest to an exact one."""
    largest, _, _ = TYPES[kind]
    unit = Fraction(spacing(float(x), kind))
    found = round(Fraction(x) / unit) * unit  # half way: to the even one
    if abs(found) > Fraction(largest):
        return math.copysign(math.inf, x)
    return float(found)


def exponential(x, kind):
    with localcontext(prec=60):
        return rounded(Fraction(Decimal(x).exp()), kind)


def total_of(exps, kind):
    with np.errstate(over="ignore"):
        total = np.float32(0)
        for e in exps:
            total += np.float32(e)
    return rounded(float(total), kind) if np.isfinite(total) else math.inf


def quotient(e, total, kind):
    if math.isinf(total):
        return math.nan if math.isinf(e) else 0.0
    return rounded(Fraction(e) / Fraction(total), kind) if total else math.nan


def expected(state):
    kind = state["type"]
    scores = [state["shift"] + state[f"score{j}"] for j in range(4)]
    kept = [rounded(s, kind) for s in scores]
    top = max(kept)
    exponents = [
        rounded(Fraction(z) - Fraction(top), kind) if state["subtract"] else z
        for z in kept
    ]
    exps = [exponential(z, kind) for z in exponents]
    total = total_of(exps, kind)
    weights = [quotient(e, total, kind) for e in exps]
    exact = softmax(np.array(scores, float))
    error = np.max(np.abs(weights - exact))

    def finite(x):
        return x if math.isfinite(x) else math.nan

    return {
        "stored": kept,
        "exponents": exponents,
        "exps": [finite(e) for e in exps],
        "total": finite(total),
        "weights": weights,
        "exact": exact,
        "error": error,
        "spacing": spacing(top, kind),
    }


def shown_as(text, x, none):
    if math.isnan(x):
        assert text == none
    else:
        significant(x, 3)(text.replace("e−", "e-"))


def shows(state, expected, shown):
    kind = state["type"]
    largest, smallest, _ = TYPES[kind]
    over, under = math.log(largest), math.log(smallest) - math.log(2)
    svg = shown.select_one(".av-floats")
    # The magnified line: the exact scores, what is stored, and all numbers.
    axis = [t for t in svg.select("text") if re.fullmatch(r"−?\d+", t.text)]
    low, high = axis[0], axis[6]
    assert [read(t.text) for t in axis[:7]] == [
        state["shift"] + k for k in range(-3, 4)
    ]
    unit = (float(high["x"]) - float(low["x"])) / 6

    def sx(score):
        return float(low["x"]) + unit * (score - state["shift"] + 3)

    rings = svg.select('[data-handle^="score-"]')
    dots = svg.select(".av-stored-score")
    for j, (ring, dot) in enumerate(zip(rings, dots, strict=True)):
        x = float(re.search(r"[\d.]+", ring["transform"])[0])
        exact = state["shift"] + state[f"score{j}"]
        assert x == pytest.approx(sx(exact), abs=0.051)
        assert float(dot["cx"]) == pytest.approx(
            sx(expected["stored"][j]), abs=0.051
        )
    numbers = svg.select_one(".av-each-number")
    dense = svg.select_one(".av-dense-numbers")
    here, wanted = state["shift"] - 3.0, []
    while here < state["shift"] + 3:
        unit_here = spacing(here + 0.125, kind)
        if unit_here * unit >= 2.5:
            wanted += np.arange(
                math.ceil(here / unit_here) * unit_here,
                here + 0.25,
                unit_here,
            ).tolist()
        here += 0.25
    assert (numbers is None) == (not wanted)
    if wanted:
        places = [float(x) for x in re.findall(r"M([\d.]+)", numbers["d"])]
        np.testing.assert_allclose(places, [sx(x) for x in wanted], atol=0.051)
    assert dense is not None or wanted
    # The whole line: where exponentials are numbers of the type.
    ticks = {read(t.text): float(t["x"]) for t in axis[7:]}
    tens = {z: ticks[z] for z in (-100, -50, 0, 50, 100)}
    scale = (tens[100] - tens[-100]) / 200

    def px(z):
        return tens[0] + scale * z

    band = svg.select_one(".av-can-hold")
    left = float(band["x"])
    assert left == pytest.approx(px(under), abs=0.11)
    assert left + float(band["width"]) == pytest.approx(px(over), abs=0.11)
    assert svg.select_one(".av-this-type").text == kind
    held = iter(svg.select(".av-held-exp"))
    gone = iter(svg.select(".av-gone"))
    for z, e in zip(expected["exponents"], expected["exps"], strict=True):
        if e > 0:
            assert float(next(held)["cx"]) == pytest.approx(px(z), abs=0.11)
        else:
            assert path_of(next(gone))[0] == pytest.approx(px(z) - 4, abs=0.11)
    assert not list(held)
    assert not list(gone)
    for kind_of, numbers in (
        ("exact", expected["exact"]),
        ("typed", [w for w in expected["weights"] if not math.isnan(w)]),
    ):
        bars = svg.select(f".av-{kind_of}-weight")
        for bar, w in zip(bars, numbers, strict=True):
            assert float(bar["width"]) == pytest.approx(90 * w, abs=0.051)
    lost = sum(map(math.isnan, expected["weights"]))
    assert len(svg.select(".av-lost")) == lost
    # The name of the axis is below it, where no edge of the magnifier is.
    (named,) = [t for t in svg.select("text") if "exponents" in t.text]
    verdict(named.text, maximum=state["subtract"])
    assert float(named["y"]) > float(axis[-1]["y"])
    for j, cells in enumerate(rows(shown.table)):
        says(cells[0], expected["stored"][j], 4)
        says(cells[1], expected["exponents"][j], 4)
        shown_as(cells[2], expected["exps"][j], "∞")
        shown_as(cells[3], expected["weights"][j], "not a number")
        shown_as(cells[4], expected["exact"][j], "")
    text = sentence(shown)
    assert kind in text
    total, exps = expected["total"], expected["exps"]
    zeros = sum(e == 0 for e in exps)
    silent = math.isnan(total) and not lost
    verdict(
        text,
        infinity_divided_by_infinity=lost and total != 0,
        their_sum_does=silent,
        **{"0_divided_by_0": total == 0},
    )
    if total == 0:
        told = [0, 0, 0]
    elif lost:
        told = [] if lost == 4 else [lost]
    elif silent:
        told = [0]
    else:
        told = [zeros, 0] * (zeros > 0) + [significant(expected["error"], 3)]
    tells(
        text.replace(kind, ""),
        (over, 2),
        0,
        (under, 2),
        *told,
        significant(expected["spacing"], 3),
    )
    assert kind in captions(shown)[0]


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_floats_are_stored_as_numpy_stores_them(kind):
    """What the figure's test takes for a type is what NumPy has."""
    dtype, rng = np.dtype(kind).type, np.random.default_rng(5)
    sizes = np.exp2(rng.uniform(-30, 20, size=2000))
    with np.errstate(over="ignore"):
        for x in [*sizes, *-sizes, 2049, 2051, 65519.9, 65520, 2.0**-25]:
            assert rounded(float(x), kind) == float(dtype(x))
            if 0 < dtype(x) < np.finfo(dtype).max:
                assert spacing(float(dtype(x)), kind) == np.spacing(dtype(x))


@pytest.mark.parametrize("subtract", [False, True])
@pytest.mark.parametrize("shift", [-13, -2, 0, 9, 10, 12, 15])
def test_floats_are_those_of_a_softmax_in_numpy(look, shift, subtract):
    """Bit for bit, with exponentials rounded once.

    NumPy's own float16 exponential is off by last bits on processors that
    compute in this type.
    """
    _, found, _ = look("floats", {"shift": shift, "subtract": subtract})
    x = (np.array([0, 0.75, 0.5, -0.75]) + shift).astype(np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        z = x - x.max() if subtract else x
        exps = np.exp(z.astype(float)).astype(np.float16)
        weights = exps / exps.sum()
    np.testing.assert_array_equal(found["weights"], weights.astype(float))


def test_floats_handles_are_dragged(page):
    page.open("floats", subtract=True)
    found = page.run("floats.dragHandles")
    one, all_of_them = found
    assert one["score1"] > 1.25
    assert one["shift"] == 12
    assert all_of_them["shift"] < -5
    assert all_of_them["score1"] == one["score1"]
