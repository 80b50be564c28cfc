"""Exact arithmetic: whether a number, rounded, gives the printed digits."""

from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.published import exact, matches, unit


@pytest.mark.parametrize(
    ("printed", "value", "how", "expected"),
    [
        ("0.507", 0.5065, {}, True),  # a tie, either way
        ("0.506", 0.5065, {}, True),
        ("0.507", 0.50649, {}, False),
        ("0.507", Fraction(5065, 10000), {}, True),
        ("0.507", Fraction(50649999, 10**8), {}, False),
        ("0.098", 0.0975, {}, True),
        ("-0.003", -0.0025, {}, True),
        ("-0.003", 0.0025, {}, False),
        (".5", 0.5, {}, True),
        ("+5.", 5, {}, True),
        ("1.0000e+09", 1e9 + 4e4, {}, True),
        ("1.0000E+09", 1e9 + 6e4, {}, False),
        ("-1e9", -1e9 + 0.4, {"places": 0}, True),
        ("-1e9", -1e9 + 0.6, {"places": 0}, False),
        ("1.", 1.00004, {"places": 4}, True),
        ("1.", 1.0002, {"places": 4}, False),
        ("268", 2048**2 * 64, {"times": "1e6"}, True),
        ("269", 2048**2 * 64, {"times": "1e6"}, False),
        ("270", 272, {"about": True}, True),
        ("270", 272, {}, False),
        ("270", 276, {"about": True}, False),
        ("-270", -272, {"about": True}, True),
        ("2.70", 2.706, {"about": True}, False),  # decimals count
        ("2700.0", 2710, {"about": True}, False),
        ("1.0e3", 1051, {"about": True}, False),
        ("0", 0.4, {"about": True}, True),
        ("0", 0.6, {"about": True}, False),
        ("-inf", float("-inf"), {}, True),
        ("inf", float("inf"), {}, True),
        ("inf", float("-inf"), {}, False),
        ("-inf", float("inf"), {}, False),
        ("-inf", -1e9, {}, False),
        ("inf", float("nan"), {}, False),
        ("1", float("nan"), {}, False),
        ("1", float("inf"), {}, False),
        ("-1", float("-inf"), {}, False),
        # A float may miss a tie by its rounding; what is exact may not.
        ("1", 1.5 + 9e-10, {}, True),
        ("1", 1.5 + 1.1e-9, {}, False),
        ("1", Fraction(3, 2) + Fraction(1, 10**30), {}, False),
        ("1", Decimal("1.5000000000000000000001"), {}, False),
        ("0.1", Decimal("0.15"), {}, True),
        # Numbers that no float holds.
        ("1", 10**400, {}, False),
        ("inf", 10**400, {}, False),
        ("-1", Fraction(-(10**400), 3), {}, False),
        ("9007199254740993", 2**53 + 1, {}, True),
        ("9007199254740992", 2**53 + 1, {}, False),
        ("1234567890123456789012345678901", 0, {"about": True}, False),
    ],
)
def test_matches_within_half_a_unit(printed, value, how, expected):
    assert matches(printed, value, **how) is expected


@given(
    digits=st.integers(-(10**6), 10**6),
    places=st.integers(0, 6),
    more=st.integers(-20, 20),
)
def test_matches_as_decimal_rounds(digits, places, more):
    """`decimal` rounds the value itself; a tie may go either way."""
    value = Decimal(digits * 10 + more).scaleb(-places - 1)
    step = Decimal(1).scaleb(-places)
    rounded = {
        value.quantize(step, rounding)
        for rounding in (ROUND_HALF_UP, ROUND_HALF_DOWN)
    }
    printed = Decimal(digits).scaleb(-places)
    text = f"{printed:f}"
    assert matches(text, value) is (printed in rounded)
    assert matches(text, Fraction(value)) is (printed in rounded)
    assert matches(text, float(value)) is (printed in rounded)


@pytest.mark.parametrize("name", "bhilqBHILQ")
def test_matches_integers_of_numpy_that_would_wrap(name):
    kind = np.dtype(name).type
    for value in (np.iinfo(kind).max, np.iinfo(kind).min, 123):
        assert matches(str(value), kind(value))
        assert not matches(f"{value}.456789", kind(value))
        assert not matches(str(value + 1), kind(value))
        assert exact(kind(value)) == Fraction(value)


@pytest.mark.parametrize("name", "efdg")
def test_exact_is_what_a_float_of_numpy_stores(name):
    kind = np.dtype(name).type
    for text in ("0.0999755859375", "-1.5", "0"):  # float16 stores all three
        assert exact(kind(text)) == Fraction(text)
        assert exact(np.array(text, kind)) == Fraction(text)
        assert matches(text, kind(text))
    assert matches("-inf", kind("-inf"))
    assert not matches("0", kind("nan"))
    assert not matches("0", kind("inf"))
    tie = 1 + np.finfo(kind).eps
    assert exact(tie) == 1 + Fraction(1, 2 ** np.finfo(kind).nmant)


NO_NUMBERS = [
    True,
    np.True_,
    1j,
    np.complex64(1),
    "0.33",
    "0x10",
    b"1",
    None,
    np.ma.masked,
    np.datetime64("2026-11-22"),
    np.timedelta64(1, "s"),
    np.str_("1"),
    Decimal("NaN"),
    Decimal("Infinity"),
    {"a": 1},
    {1},
    len,
    [1, 2],
    np.ones(2),
    np.array(True),
    np.array("1"),
    np.array(None),
]


def kind(value):
    """A name for a case; a repr may hold an address."""
    return type(value).__name__


@pytest.mark.parametrize("value", NO_NUMBERS, ids=kind)
def test_matches_and_exact_refuse_what_is_not_a_real_number(value):
    for call in (lambda: matches("1", value), lambda: exact(value)):
        with pytest.raises(TypeError, match=r"^value must be a real number"):
            call()


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), np.half("inf")]
)
def test_exact_refuses_what_is_not_finite(value):
    with pytest.raises(ValueError, match=r"^value must be finite"):
        exact(value)


NO_NUMERALS = [
    "",
    " 1",
    "1\n",
    "0x10",
    "1_000",
    "1,000",
    "1/3",
    "NaN",
    "nan",
    "Infinity",
    "+inf",
    "−0.5",  # the minus of typography
    "٣",  # a digit, not of these ten
    "1e",
    "e5",
    ".",
    "1.2.3",
    "--1",
    "1e1000",
    "1e1_0",
    "50%",
    "1 2",
]


@pytest.mark.parametrize("text", NO_NUMERALS)
def test_matches_refuses_what_is_not_a_numeral(text):
    with pytest.raises(ValueError, match=r"^printed must be a numeral"):
        matches(text, 1)
    with pytest.raises(ValueError, match=r"^times must be a numeral"):
        matches("1", 1, times=text)


@pytest.mark.parametrize("text", [0.5, 1, None, ["1"], b"1"])
def test_matches_refuses_digits_that_are_not_text(text):
    with pytest.raises(TypeError, match=r"^printed must be text"):
        matches(text, 1)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"times": "0"}, ValueError),
        ({"times": "-1"}, ValueError),
        ({"times": 1e6}, TypeError),
        ({"places": -1}, ValueError),
        ({"places": 1}, ValueError),
        ({"places": "4"}, TypeError),
        ({"about": "no"}, TypeError),
        ({"about": 1}, TypeError),
    ],
)
def test_unit_refuses_wrong_places_times_and_about(how, error):
    (name,) = how
    for call in (unit, lambda text, **how: matches(text, 1, **how)):
        with pytest.raises(error, match=f"^{name} must be"):
            call("0.50", **how)


def test_unit():
    assert unit("0.50") == Fraction(1, 100)
    assert unit("5") == 1
    assert unit("4", times="1e6") == 10**6
    assert unit("4", times="0.01") == Fraction(1, 100)
    assert unit("1.5", places=4) == Fraction(1, 10**4)
    assert unit("2700", about=True) == 100
    assert unit("2700") == 1
    assert unit("0", about=True) == 1
    assert unit("2700", about=True, places=1) == Fraction(1, 10)
