"""A printed number and a computed one: exact, ties included."""

import random
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np

from course.figures import Digits
from course.ledger.numerals import matches, unit
from tests.figures.reading import (
    all_say,
    on_one_scale,
    sentence,
    sizes,
    spot,
    tells,
    verdict,
    where,
)

# What is counted, as printed, and thousands of which power: by the lesson.
COUNTED = {
    "2,048 tokens: 1.6 GB": (2048 * 2 * 5120 * 40 * 2, "1.6", 3),
    "a token: 800 KB": (2 * 5120 * 40 * 2, "800", 1),
    "parameters: 26 GB": (2 * 12_850_000_000, "26", 3),
    "163,840 bytes: 160 kB": (163_840, "160", 1),
    "96 matrices: 1.5 GB": (96 * 2048 * 2048 * 4, "1.5", 3),
    # Two products of 2,048 queries and keys of width 64, 24 layers, 16 heads.
    "384 heads: ~400 GFLOP": (24 * 16 * 4 * 2048**2 * 64, "4e2", 3),
}
CASES = [
    {"prefix": "decimal"},
    {"example": "a token: 800 KB", "shift": 50},  # a tie, above
    {"example": "a token: 800 KB", "shift": -50},  # and below
    {"example": "a token: 800 KB", "shift": 51},
    {"example": "a token: 800 KB", "shift": 50, "digits": 1},
    {"example": "a token: 800 KB", "prefix": "decimal", "shift": 300},
    {"example": "parameters: 26 GB", "digits": 1, "prefix": "decimal"},
    {"example": "163,840 bytes: 160 kB", "shift": -50},
    {"example": "163,840 bytes: 160 kB", "digits": 2},
    {"example": "96 matrices: 1.5 GB", "digits": 1},
    {"example": "384 heads: ~400 GFLOP"},
    {"example": "384 heads: ~400 GFLOP", "counts": "multiply-adds"},
]


def printed_of(state):
    """The printed digits that are left, as a numeral."""
    text = COUNTED[state["example"]][1]
    digits = Decimal(text)
    has = len(digits.as_tuple().digits)
    last = digits.as_tuple().exponent + max(has - state["digits"], 0)
    # Cutting keeps the exponent of the last digit: 8E+2 has one digit.
    return str(digits.quantize(Decimal(1).scaleb(last), ROUND_HALF_UP))


def value_of(state):
    count, _, power = COUNTED[state["example"]]
    if "GFLOP" in state["example"]:
        div = 10**9 * (2 if state["counts"] == "multiply-adds" else 1)
    else:
        div = (1024 if state["prefix"] == "binary" else 1000) ** power
    moved = Fraction(state["shift"], 100) * unit(printed_of(state))
    return Fraction(count, div) + moved


def expected(state):
    text, value = printed_of(state), value_of(state)
    printed, step = Fraction(text), unit(text)
    return {
        "printed": float(printed),
        "unit": float(step),
        "value": float(value),
        "off": float((value - printed) / step),
        "reproduced": int(matches(text, value)),
        "tie": int(abs(value - printed) == step / 2),
    }


def shows(state, expected, shown):
    printed, step = expected["printed"], expected["unit"]
    off, value = expected["off"], expected["value"]
    exponent = Decimal(printed_of(state)).as_tuple().exponent
    places, fine, half = (max(n - exponent, 0) for n in (0, 3, 1))
    svg = shown.svg
    # In units of the last printed digit, on the axis with its numbers.
    numbers = svg.select("text:not([class])")
    band = svg.select_one(".av-band")
    base = abs(off - state["shift"] / 100)
    far = next((n for n in (4, 8) if base + 3 <= n), 24)
    marks = np.arange(-4, 5, 2) * far / 4
    all_say([t.text for t in numbers], printed + marks * step, places)
    left, x = float(band["x"]), spot(svg.select_one(".av-grip"))[0]
    on_one_scale(
        [*sizes(numbers, "x"), x, left, left + float(band["width"])],
        [*marks, off, -0.5, 0.5],
    )
    assert ("av-inside" in band["class"]) == expected["reproduced"]
    tells(svg.select_one(".av-printed").text, (printed, places))
    about = "~" in state["example"]
    assert ("~" in svg.select_one(".av-printed").text) == about
    tells(svg.select_one(".av-computed").text, (value, fine))
    tie, text = expected["tie"], sentence(shown)
    tells(
        text,
        (printed, places),
        (printed - step / 2, half),
        (printed + step / 2, half),
        COUNTED[state["example"]][0],
        *where(state["shift"], (state["shift"] / 100, 2)),
        (value, fine),
        *where(not tie, (abs(off), 3)),
    )
    verdict(
        text,
        not_reproduced=not expected["reproduced"],
        exactly_half=tie,
        Printed_as_about=about,
    )
    assert "reproduced" in text


def test_every_verdict_is_that_of_the_ledger():
    """On a thousand states, of which many are ties."""
    rng, ties = random.Random(27), 0
    for _ in range(1000):
        state = {
            "example": rng.choice(list(COUNTED)),
            "prefix": rng.choice(["decimal", "binary"]),
            "counts": rng.choice(["FLOPs", "multiply-adds"]),
            "digits": rng.randint(1, 3),
            "shift": 0,
        }
        off = expected(state)["off"]
        # Of shifts near the ends of the band, and any other.
        near = [round(100 * (end - off)) + d
                for end in (-0.5, 0.5) for d in (-1, 0, 1)]  # fmt: skip
        some = [s for s in near if abs(s) <= 300] or [0]
        state["shift"] = rng.choice([*some, rng.randint(-300, 300)])
        correct = expected(state)
        result = Digits(**state).values
        assert result["reproduced"] == correct["reproduced"], state
        assert result["tie"] == correct["tie"], state
        ties += correct["tie"]
    assert ties > 20
