"""Where computed numbers do not round to the printed figures."""

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from .nested import leaves, lists, shape
from .numerals import matches, number


class Miss(NamedTuple):
    """A printed figure, and the computed number that does not round to it."""

    index: tuple
    text: str
    number: object


def misses(entry, field, value, name):
    """Return where `value` does not round to the figures of a field.

    Examples
    --------
    >>> from course.published import load
    >>> sums = load("tiny-vectors").entries["3.4-sums"]
    >>> misses(sums, "printed", [5.36697, 5.36697, 7], "value")
    [Miss(index=(2,), text='6.0157', number=7)]
    """
    figures, numbers = getattr(entry, field), lists(value, name)
    if shape(numbers, name) != shape(figures):
        raise ValueError(
            f"{name} must have the shape of {field}, {shape(figures)}; "
            f"got {shape(numbers)}"
        )
    numbers = {
        index: number(x, f"{name} at {list(index)}")
        for index, x in leaves(numbers).items()
    }
    return [
        Miss(index, text, numbers[index])
        for index, text in leaves(figures).items()
        if not matches(text, numbers[index], **entry.how)
    ]


def _at(index):
    """The place of an entry in its list; a single number needs none."""
    return f" at {list(index)}" if index else ""


def told(missed):
    """State the rule for figures, and each violation beside its number.

    Examples
    --------
    >>> told([])
    'no figure is off by more than half a unit of the last digit'
    """
    rule = "off by more than half a unit of the last digit"
    if not missed:
        return f"no figure is {rule}"
    pairs = (
        f"{miss.text}{_at(miss.index)} against {_short(miss.number)}"
        for miss in missed
    )
    return f"{rule}: {'; '.join(pairs)}"


def _short(number):
    """The first ten digits of a number of any size."""
    if isinstance(number, int | Fraction):
        number = Decimal(number.numerator) / number.denominator
    return f"{number:.10g}"
