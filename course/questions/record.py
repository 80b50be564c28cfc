"""The record of a question: what a page gets to judge an answer by itself.

It holds each answer that has its own reply, in base 64. That is no lock, but
nobody reads an answer by accident in the source of a page.

Typed numbers may be off by a tolerance: by half a unit of the last place that
is asked for. They are counted in *steps* of a hundredth of it. For example,
let 0.25 be right, to two decimal places. A step is 0.00005, the answer is step
5,000, and the steps 4,900 to 5,100 are right:

>>> answers = [([0.25], Reply(True, "Yes."))]
>>> record = record_of("quarter", answers, "No.", 2, ["answer"])
>>> record["step"], record["replies"][0]["steps"]
(5e-05, [5000])
>>> judge(record, ["0.255"]), judge(record, ["0.2551"])
(✓ Right. Yes., ✗ Not yet. No.)

A number that was cut instead of rounded becomes right when almost half a unit
is added to it. An answer that becomes right when commas and points are
exchanged was written as in Spanish.

>>> answers = [([2 / 3], Reply(True, "Yes."))]
>>> third = record_of("third", answers, "No.", 3, ["answer"])
>>> judge(third, ["0.666"])
✗ Not yet. Near: keep all digits to the end, then round instead of cutting.
>>> judge(third, ["0,667"]).text == judge(third, ["0.667,0"]).text == POINT
True

If options are chosen there are no steps: an answer is their indices.
`course/figures/practice/practice.js` follows the same rules.
"""

import base64
import json
import re
from itertools import combinations
from math import isfinite
from typing import NamedTuple

STEPS = 100  # per tolerance, on each side
# A comma groups three digits, as in 7,241.7.
DECIMAL = re.compile(
    r"[+-]?(([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]*)?|\.[0-9]+)"
    r"(e[+-]?[0-9]+)?",
    re.I,
)
WORDS = {True: "✓ Right.", False: "✗ Not yet.", None: "Not answered yet."}
HOW_TO_TYPE = "Type one number in each field, such as 0.25, 1/4 or -3e-2."
POINT = "A comma groups thousands, as in 7,241.7. Decimals follow a point."
ROUND = "Near: keep all digits to the end, then round instead of cutting."
NAN = "NaN comes from 0/0, inf - inf or 0 * inf."
SWAP = str.maketrans(",.", ".,")  # as in Spanish, where 1,219 is 1.219


class Reply(NamedTuple):
    """The verdict of a check on an answer."""

    right: bool | None  #: None for no answer yet, or none that can be read
    text: str  #: what follows the verdict

    def __repr__(self):
        return f"{WORDS[self.right]} {self.text}".strip()


def parse(text):
    """Read a number as readers write it, or return None.

    Examples
    --------
    >>> parse("1/4"), parse("−0.5"), parse("a half")
    (0.25, -0.5, None)
    >>> parse("7,241.7"), parse("7,2")
    (7241.7, None)
    """
    parts = [part.strip() for part in text.replace("−", "-").split("/")]
    if len(parts) > 2 or not all(map(DECIMAL.fullmatch, parts)):
        return None
    numbers = [float(part.replace(",", "")) for part in parts]
    top, below = numbers if len(numbers) == 2 else (numbers[0], 1)
    value = top / below if below else float("inf")
    return value if isfinite(value) else None


def step_of(places):
    """Return a hundredth of half a unit of the last place; None for options.

    Whole numbers must be distinguished from their neighbours, so their step is
    that of one decimal place.

    Examples
    --------
    >>> step_of(2), step_of(0), step_of(None)
    (5e-05, 0.0005, None)
    """
    if places is None:
        return None
    exponent = max(places, 1) + 3
    return float(f"5e-{exponent}")  # a product would be rounded twice


def record_of(name, answers, otherwise, places=None, labels=()):
    """Make the part of a question that a page gets.

    Of the `answers`, which are pairs of values and a `Reply`, the first is
    right. `otherwise` is the reply to any other, and `labels` name the values.
    """
    step = step_of(places)
    replies = [
        {
            "steps": [round(v / step) if step else v for v in values],
            "right": reply.right,
            "text": reply.text,
        }
        for values, reply in answers
    ]
    _refuse_twins(name, replies, 2 * STEPS + 1 if step else 1)
    return {
        "name": name,
        "step": step,
        "otherwise": otherwise,
        "replies": replies,
        "labels": list(labels),
    }


def _refuse_twins(name, replies, least):
    """Require that no answer could get two different replies."""
    for one, two in combinations(replies, 2):
        pairs = zip(one["steps"], two["steps"], strict=True)
        apart = max(abs(a - b) for a, b in pairs)
        if apart < least and one["text"] != two["text"]:
            raise ValueError(
                f"{name}: the answers to which it replies {one['text']!r} and "
                f"{two['text']!r} are the same; choose numbers that differ"
            )


def packed(record):
    """Return a record as a page stores it: JSON in base 64, not padded.

    Examples
    --------
    >>> packed({"name": "half"})
    'eyJuYW1lIjogImhhbGYifQ'
    """
    text = json.dumps(record)
    return base64.b64encode(text.encode("ascii")).decode().rstrip("=")


def judge(record, given):
    """Return a record's reply to an answer, by the rules of the page.

    If numbers are typed, `given` has their texts; otherwise the indices of the
    choice.

    Examples
    --------
    >>> answers = [([0.5], Reply(True, "Yes."))]
    >>> half = record_of("half", answers, "No.", 1, ["answer"])
    >>> judge(half, ["1/2"]), judge(half, ["2"]), judge(half, [" "])
    (✓ Right. Yes., ✗ Not yet. No., Not answered yet.)
    """
    if not record["step"]:
        return _known(record, given) or Reply(False, record["otherwise"])
    if not all(text.strip() for text in given):
        return Reply(None, "")
    values = [parse(text) for text in given]
    if None in values:
        return Reply(None, _unread(given))
    known = _known(record, values)
    commas = "," in "".join(given)
    if known and (known.right or not commas):
        return known
    if _is_swapped(record, given, values):
        return Reply(None, POINT)
    return known or Reply(False, _so_far(record, values))


def _unread(given):
    """Say why some of the texts are no numbers."""
    odd = [text for text in given if parse(text) is None]
    if any(text.strip().lower() == "nan" for text in odd):
        return NAN
    grouped = any("," in text or "." in text.partition(".")[2] for text in odd)
    return POINT if grouped else HOW_TO_TYPE


def _is_near(record, value, steps):
    """Whether a value is an answer that is stored in steps."""
    if not record["step"]:
        return value == steps
    return abs(value / record["step"] - steps) < STEPS + 0.5


def _known(record, values):
    """The reply to an answer that has its own, or None."""
    for reply in record["replies"]:
        pairs = zip(values, reply["steps"], strict=True)
        if all(_is_near(record, *pair) for pair in pairs):
            return Reply(reply["right"], reply["text"])
    return None


def _fits(record, place, value):
    """Whether the number at this place is right."""
    return _is_near(record, value, record["replies"][0]["steps"][place])


def _is_cut(record, place, value):
    """Whether the right number was cut after its last place, not rounded."""
    units = value / (2 * STEPS * record["step"])
    if abs(units - round(units)) > 1e-6:
        return False
    signs = (1, -1) if value == 0 else (1 if value > 0 else -1,)
    more = (STEPS - 1) * record["step"]
    return any(_fits(record, place, value + sign * more) for sign in signs)


def _is_swapped(record, given, values):
    """Whether commas are meant as decimal points, and points as commas."""
    others = [parse(text.translate(SWAP)) for text in given]
    pairs = zip(others, values, strict=True)
    others = [x if other is None else other for other, x in pairs]
    at = [i for i, x in enumerate(values) if others[i] != x]
    return bool(at) and (
        _known(record, others) is not None
        or any(
            _fits(record, i, others[i]) or _is_cut(record, i, others[i])
            for i in at
        )
    )


def _so_far(record, values):
    """Say how many numbers are right, which one is not, and where to look."""
    places = range(len(values))
    wrong = [i for i in places if not _fits(record, i, values[i])]
    worse = [i for i in wrong if not _is_cut(record, i, values[i])]
    if wrong and not worse:
        return ROUND
    if len(values) < 2 or not wrong:
        return record["otherwise"]
    return (
        f"Right so far: {len(values) - len(wrong)} of {len(values)}. "
        f"Look at {record['labels'][worse[0]]}. {record['otherwise']}"
    )
