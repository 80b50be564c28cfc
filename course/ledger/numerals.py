"""Exact arithmetic: whether a number, rounded, gives the printed digits.

No function rounds: a printed number is a fraction, a float is the fraction
that it stores, and half a unit of the last digit is a fraction too.
"""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

from helpers import _checks

# Three digits suffice for the exponent of any float, and they exclude integers
# that would fill the memory.
NUMERAL = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?"
INFINITE = ("inf", "-inf")


def numeral(text, name):
    """Return `text` if it is a number as sources print it.

    That is, of ASCII digits, optionally with a sign, a point and an exponent.

    Examples
    --------
    >>> numeral("-0.50", "printed")
    '-0.50'
    """
    if not isinstance(text, str):
        raise TypeError(
            f"{name} must be text, which keeps its digits; got {text!r}"
        )
    if not re.fullmatch(NUMERAL, text):
        raise ValueError(
            f"{name} must be a numeral such as -0.50 or 1e-3; got {text!r}"
        )
    return text


def multiplier(text):
    """Return the multiplier that a text denotes, which must be positive.

    Examples
    --------
    >>> str(multiplier("1e6"))
    '1000000'
    """
    times = Fraction(numeral(text, "times"))
    if times <= 0:
        raise ValueError(f"times must be above zero; got {text!r}")
    return times


def number(value, name):
    """Return `value` as an int, a Fraction or a float; a bool is refused.

    Examples
    --------
    >>> number(np.int64(3), "value")
    3
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic) and value.dtype.kind in "iuf":
        value = value.item()  # Fractions of NumPy integers would overflow
    if isinstance(value, Decimal) and value.is_finite():
        value = Fraction(value)
    real = isinstance(value, int | Fraction | float | np.longdouble)
    if not real or isinstance(value, bool):
        raise TypeError(f"{name} must be a real number; got {value!r}")
    return value


def unit(printed, *, places=None, times="1", about=False):
    """Return the unit of the last digit of a printed number.

    Parameters
    ----------
    printed : str
        The number as printed.
    places : int, optional
        Decimals that were printed before trailing zeros were dropped.
    times : str, default "1"
        The unit of the source, such as "1e6" if it prints M.
    about : bool, default False
        The source says "about": trailing zeros of an integer do not count.

    Returns
    -------
    Fraction

    Raises
    ------
    TypeError, ValueError
        If `printed` or `times` is not a numeral, or `places` is less than the
        number of printed decimals.

    Examples
    --------
    >>> str(unit("0.507")), str(unit("270", about=True))
    ('1/1000', '10')
    """
    digits = Decimal(numeral(printed, "printed"))
    exponent = digits.as_tuple().exponent
    about = _checks.check_flag(about, "about")
    if places is not None:
        fewest = max(0, -exponent)
        exponent = -_checks.as_integer(places, "places", least=fewest)
    elif about and digits and printed.lstrip("+-").isdecimal():
        exponent = len(printed) - len(printed.rstrip("0"))
    return Fraction(10) ** exponent * multiplier(times)


def exact(value):
    """Return `value` as a fraction; a float means the number it stores.

    Examples
    --------
    >>> str(exact(0.5)), exact(0.1) == Fraction("0.1")
    ('1/2', False)
    """
    value = number(value, "value")
    try:
        return Fraction(*value.as_integer_ratio())
    except (OverflowError, ValueError):
        raise ValueError(f"value must be finite; got {value}") from None


def matches(printed, value, *, places=None, times="1", about=False):
    """Return whether `value`, rounded to the printed digits, is `printed`.

    Parameters
    ----------
    printed : str
        The number as printed, ``"-inf"`` included.
    value : int, float, Fraction, Decimal or NumPy scalar
        The exact value.
    places, times, about
        As in `unit`.

    Returns
    -------
    bool
        True within half a unit of the last printed digit, ties either way.

    Raises
    ------
    TypeError, ValueError
        If `printed` is not a numeral, or `value` not a real number.

    Notes
    -----
    A float may miss an exact tie by its own rounding, so floats have a
    tolerance of 1e-9 units. Integers, fractions and decimals have none.

    Examples
    --------
    >>> matches("0.098", 0.0975), matches("0.097", 0.0975)
    (True, True)
    >>> matches("0.5066", 0.50648)
    False
    """
    value = number(value, "value")
    if printed in INFINITE:
        return value == float(printed)
    step = unit(printed, places=places, times=times, about=about)
    slack = 0
    if not isinstance(value, int | Fraction):
        if not np.isfinite(value):
            return False
        slack = Fraction(1, 10**9)
    miss = abs(Fraction(printed) * multiplier(times) - exact(value))
    return miss <= (Fraction(1, 2) + slack) * step
