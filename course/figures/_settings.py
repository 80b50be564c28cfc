"""The traits of a figure, made from the controls that its module lists."""

from collections.abc import Callable
from textwrap import fill, indent
from typing import NamedTuple

from helpers._extras import extra

with extra("figures"):
    from traitlets import (
        Bool,
        Float,
        Int,
        List,
        TraitError,
        Unicode,
    )


def plain(value):
    """Convert an array or a NumPy number to Python's lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else value


class Setting:
    """A trait that also takes NumPy's values, and states its rule in words."""

    @classmethod
    def of(cls, control):
        return cls(control["first"])

    def validate(self, obj, value):
        given = plain(value)
        try:
            # Python treats True as 1, and a trait treats 1 as True, which is a
            # mistake here. A text trait would also accept bytes.
            flag = isinstance(given, bool) != isinstance(self, Bool)
            if flag or isinstance(given, bytes):
                self.error(obj, given)
            return super().validate(obj, given)
        except (TraitError, OverflowError):
            got = repr(value)
            got = got if len(got) <= 40 else f"{got[:40]}…"
            raise TraitError(
                f"{self.name} must be {self.rule}; got {got}"
            ) from None


class Text(Setting, Unicode):
    rule = "a text"


class Whole(Setting, Int):
    rule = "a whole number"


class Number(Setting, Float):
    rule = "a number"


class Flag(Setting, Bool):
    rule = "True or False"


class Matrix(Setting, List):
    rule = "rows of numbers"

    def __init__(self, first):
        super().__init__(List(Number()), first)


def _number(control):
    """A whole number if all values that the control allows are whole."""
    first = control["first"]
    stops = control.get("stops", [first])
    whole = control.get("step", 1) == 1
    if whole and all(isinstance(stop, int) for stop in stops):
        return Whole(first)
    return Number(float(first))


# The values that a setting may have, in words.


def _one_of(values):
    return f"one of {', '.join(values)}"


def _between(control):
    return "from {min} to {max}".format(**control)


def _letters(control):
    letters = control["letters"]
    low, high = control["min"], control["max"]
    return f"{low} to {high} letters from {letters[0]} to {letters[-1]}"


def _words(control):
    return (
        f"{_between(control)}, each of at most {control['letters']} letters, "
        "with a blank between them"
    )


def _rows(control):
    rows, columns = (
        f"{least} to {most}" if least < most else f"{most}"
        for least, most in (control["rows"], control["columns"])
    )
    row = "row" if rows == "1" else "rows"
    return f"{rows} {row} of {columns} numbers {_between(control)}"


# The type of a setting and its first value, for the docs.


def _first(control, trait):
    first = trait.default_value
    name = type(first).__name__
    return f"{name}, default " + (
        f'"{first}"' if name == "str" else f"{first}"
    )


class Kind(NamedTuple):
    """What Python makes of a kind of control."""

    trait: Callable  #: of a control
    limits: Callable = lambda control: ""
    type: Callable = _first  #: of a control and its trait


KINDS = {
    "range": Kind(_number, _between),
    "number": Kind(_number, _between),
    "power": Kind(_number, lambda c: f"a power of two {_between(c)}"),
    "stops": Kind(_number, lambda c: _one_of(map(str, c["stops"]))),
    "flag": Kind(Flag.of),
    "choice": Kind(
        Text.of, lambda c: _one_of(f'"{text}"' for text in c["options"])
    ),
    "symbols": Kind(Text.of, _letters),
    "words": Kind(Text.of, _words),
    # The first text may be long.
    "text": Kind(
        Text.of, lambda c: f"at most {c['max']} characters", lambda *_: "str"
    ),
    "matrix": Kind(Matrix.of, _rows, lambda c, _: f"{c['shape']} array"),
}


def trait_of(control):
    """The trait of a control, with its initial value."""
    return KINDS[control["kind"]].trait(control)


def parameter_of(control, trait):
    """A setting as numpydoc writes a parameter."""
    kind = KINDS[control["kind"]]
    text = "; ".join(filter(None, [control["about"], kind.limits(control)]))
    about = indent(fill(f"{text}.", 71), "    ")
    return f"{control['key']} : {kind.type(control, trait)}\n{about}"
