"""A softmax in a type: each operation exact, then rounded once, in Python."""

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from helpers.softmax import softmax
from tests.figures.reading import (
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    read,
    rows,
    says,
    sentence,
    significant,
    sizes,
    spot,
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
    result = round(Fraction(x) / unit) * unit  # half way: to the even one
    if abs(result) > Fraction(largest):
        return math.copysign(math.inf, x)
    return float(result)


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
    for drawing in (shown, narrow("floats", state)):
        drawing_shows(state, expected, drawing.select_one(".av-floats"))
    for j, cells in enumerate(rows(shown.table)):
        says(cells[0], expected["stored"][j], 4)
        says(cells[1], expected["exponents"][j], 4)
        shown_as(cells[2], expected["exps"][j], "∞")
        shown_as(cells[3], expected["weights"][j], "not a number")
        shown_as(cells[4], expected["exact"][j], "")
    tells_of(state, expected, sentence(shown))


def drawing_shows(state, expected, svg):
    magnified_line_shows(state, expected, svg)
    whole_line_shows(state, expected, svg)
    finite = [w for w in expected["weights"] if not math.isnan(w)]
    for kind, numbers in (("exact", expected["exact"]), ("typed", finite)):
        in_proportion(sizes(svg.select(f".av-{kind}-weight")), numbers)
    assert len(svg.select(".av-lost")) == 4 - len(finite)
    (apart,) = [t.text for t in svg.select("text") if "apart" in t.text]
    numeral = apart.partition("largest ")[2].partition(" apart")[0]
    significant(expected["spacing"], 3)(numeral.replace("e−", "e-"))


def axis_of(svg):
    """The whole numbers beside both lines."""
    return [t for t in svg.select("text") if re.fullmatch(r"−?\d+", t.text)]


def magnified_line_shows(state, expected, svg):
    """The exact scores, what is stored, and all numbers of the type."""
    ticks = axis_of(svg)[:-6]  # the others are of the line below
    rings = svg.select('[data-handle^="score-"]')
    scale = on_one_scale(
        [*sizes(ticks, "x"), *(spot(ring)[0] for ring in rings),
         *sizes(svg.select(".av-stored-score"), "cx")],
        [*(read(t.text) for t in ticks),
         *(state["shift"] + state[f"score{j}"] for j in range(4)),
         *expected["stored"]],
    )  # fmt: skip
    numbers = svg.select_one(".av-each-number")
    here, seen = state["shift"] - 3.0, []
    while here < state["shift"] + 3:
        step = spacing(here + 0.125, state["type"])
        if scale(step) - scale(0) >= 2.5:
            first = math.ceil(here / step) * step
            seen += np.arange(first, here + 0.25, step).tolist()
        here += 0.25
    assert (numbers is None) == (not seen)
    if seen:
        places = [float(x) for x in re.findall(r"M([\d.]+)", numbers["d"])]
        np.testing.assert_allclose(places, scale(seen), atol=0.11)


def whole_line_shows(state, expected, svg):
    """Where exponentials are numbers of the type, and these exponents."""
    ticks, ends = axis_of(svg)[-5:], limits(state["type"])
    band = svg.select_one(".av-can-hold")
    left = float(band["x"])
    held, gone = (
        [z for z, e in zip(expected["exponents"], expected["exps"],
                           strict=True) if (e > 0) == alive]
        for alive in (True, False)
    )  # fmt: skip
    crosses = [path_of(p)[0] + 4 for p in svg.select(".av-gone")]
    on_one_scale(
        [*sizes(ticks, "x"), left, left + float(band["width"]),
         *sizes(svg.select(".av-held-exp"), "cx"), *crosses],
        [*(read(t.text) for t in ticks), *ends, *held, *gone],
        near=0.11,
    )  # fmt: skip
    (named,) = [t for t in svg.select("text") if "exponents" in t.text]
    verdict(named.text, maximum=state["subtract"])


def limits(kind):
    """The exponents whose exponentials are the least and the largest."""
    largest, smallest, _ = TYPES[kind]
    return math.log(smallest) - math.log(2), math.log(largest)


def tells_of(state, expected, text):
    kind = state["type"]
    under, over = limits(kind)
    total, exps = expected["total"], expected["exps"]
    lost = sum(map(math.isnan, expected["weights"]))
    zeros = sum(e == 0 for e in exps)
    silent = math.isnan(total) and not lost
    verdict(
        text,
        infinity_divided_by_infinity=lost and total != 0,
        their_sum_does=silent,
        **{"0_divided_by_0": total == 0, kind: True},
    )
    if total == 0:
        more = [0, 0, 0]
    elif lost:
        more = [] if lost == 4 else [lost]
    elif silent:
        more = [0]
    else:
        more = [zeros, 0] * (zeros > 0) + [significant(expected["error"], 3)]
    tells(text.replace(kind, ""), *((over, 2), 0, (under, 2), *more))


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
    _, result, _ = look("floats", {"shift": shift, "subtract": subtract})
    x = (np.array([0, 0.75, 0.5, -0.75]) + shift).astype(np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        z = x - x.max() if subtract else x
        exps = np.exp(z.astype(float)).astype(np.float16)
        weights = exps / exps.sum()
    np.testing.assert_array_equal(result["weights"], weights.astype(float))
