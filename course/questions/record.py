"""The record of a question: what a page gets to judge an answer by itself.

It holds each answer that has its own reply, in base 64. That is no lock, but
no reader meets an answer by accident in the source of a page.

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
import math
import re
from itertools import combinations
from typing import NamedTuple

from .numerals import POINT, Unread, digits_of, is_blank, parse, read

STEPS = 100  # per tolerance, on each side
WORDS = {True: "✓ Right.", False: "✗ Not yet.", None: "Not answered yet."}
ROUND = "Near: keep all digits to the end, then round instead of cutting."
LAST = "Near: the last digit is off. Keep all digits to the end, then round."
SIGN = "Your sign is reversed."
PERCENT = "That is a percentage: give the share, or type the % sign."
SHARE = "That is the share: give the percentage."
BINARY = (
    "That is off by 1.024 for each step: KB, MB and GB count in thousands, "
    "and KiB, MiB and GiB in 1,024s."
)
BITS = "That is in bits: the natural logarithm gives nats."
FAR = 0.2  # a number that is off by a larger part is not near
# What a question is about, which makes other slips likely.
ABOUT = {
    "bytes": re.compile(r"\b(bytes?|[KMGT]i?B)\b"),
    "percent": re.compile("percent|%"),
    "nats": re.compile(r"\bnats\b"),
}
SWAP = str.maketrans(",.", ".,")  # as in Spanish, where 1,219 is 1.219


class Reply(NamedTuple):
    """The verdict of a check on an answer."""

    right: bool | None  #: None for no answer yet, or none that can be read
    text: str  #: what follows the verdict

    def __repr__(self):
        return f"{WORDS[self.right]} {self.text}".strip()


class Outcome(Reply):
    """The verdict on a prediction, which is made once."""

    def __repr__(self):
        return super().__repr__().replace(WORDS[False], "✗ Not so.")


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


def decimals(places):
    """Return a number of decimal places in words.

    Examples
    --------
    >>> decimals(1), decimals(3)
    ('1 decimal place', '3 decimal places')
    """
    return f"{places} decimal place" + ("" if places == 1 else "s")


def record_of(name, answers, otherwise, places=None, labels=(), ask=""):
    """Make the part of a question that a page gets.

    Of the `answers`, which are pairs of values and a `Reply`, the first is
    right. `otherwise` is the reply to any other, `labels` name the values, and
    `ask` is the question.
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
    typed = {} if step is None else {
        "places": places,
        "about": [word for word, rule in ABOUT.items() if rule.search(ask)],
    }  # fmt: skip
    _refuse_twins(name, replies, 2 * STEPS + 1 if step else 1)
    return {
        "name": name,
        "step": step,
        **typed,
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
    if any(map(is_blank, given)):
        return Reply(None, "")
    values = []
    for place, text in enumerate(given):
        try:
            values.append(read(text))
        except Unread as why:
            return Reply(None, _at(record, place, str(why)))
    known = _known(record, values)
    commas = "," in "".join(given)
    if known and (known.right or not commas):
        return known
    if _is_swapped(record, given, values):
        return Reply(None, _read_as(given) or POINT)
    return known or Reply(False, _so_far(record, given, values))


def _at(record, place, text):
    """A sentence on one field, with its label where there are several."""
    if len(record["labels"]) < 2:
        return text
    return f"“{record['labels'][place]}”: {text}"


def _is_near(record, value, steps, slack=0.0):
    """Whether a value is an answer that is stored in steps."""
    if not record["step"]:
        return value == steps
    off = abs(value / record["step"] - steps)
    return off < STEPS + 0.5 + slack / record["step"]


def _known(record, values):
    """The reply to an answer that has its own, or None."""
    for reply in record["replies"]:
        pairs = zip(values, reply["steps"], strict=True)
        if all(_is_near(record, *pair) for pair in pairs):
            return Reply(reply["right"], reply["text"])
    return None


def _fits(record, place, value, slack=0.0):
    """Whether the number at this place is right."""
    steps = record["replies"][0]["steps"][place]
    return _is_near(record, value, steps, slack)


def _is_cut(record, place, value):
    """Whether the right number was cut after its last place, not rounded."""
    units = value / (2 * STEPS * record["step"])
    if abs(units) > 1e15 or abs(units - round(units)) > 1e-6:
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


def _read_as(given):
    """Say what the first number means that has one comma, or return ""."""
    for text in given:
        if re.fullmatch(r"[^0-9]*[1-9][0-9]{0,2},[0-9]{3}[^0-9]*", text):
            text = re.sub("[^0-9,]", "", text)
            return f"{text} is read as {text.replace(',', '')}. {POINT}"
    return ""


def _near(record, place, text, value):
    """The fault in the digits of a number that is nearly right."""
    places, digits = record["places"], digits_of(text)
    if not places or digits is None:
        return ""
    if _is_cut(record, place, value):
        return ROUND
    right = record["replies"][0]["steps"][place] * record["step"]
    off = abs(value - right)
    if value == 0 or off > FAR * abs(right):
        return ""
    unit = float(f"1e{-digits}")
    cut = abs(value) < abs(right) and off < 0.999 * unit
    if digits < places and (cut or off < 0.501 * unit):
        return f"Near, but give {decimals(places)}."
    near = off < 3.01 * STEPS * record["step"] and off < abs(right) / 50
    return LAST if near else ""


def _slip(record, place, text, value):
    """Name the slip of a wrong number, or return ""."""
    digits, near = digits_of(text), _near(record, place, text, value)
    right = abs(record["replies"][0]["steps"][place] * record["step"])
    if near or value == 0 or right == 0:
        return near

    def is_times(factor, exactly=False):
        """Whether the number is right except for a factor."""
        other = value / factor
        if digits is None or exactly:
            return _fits(record, place, other)
        half = float(f"5e{-digits - 1}") / factor
        return _fits(record, place, other, min(half, right / 100))

    if _fits(record, place, -value) or _near(record, place, text, -value):
        return SIGN
    about = record["about"]
    if record["places"] and right <= 1 and is_times(100):
        return PERCENT
    if "percent" in about and is_times(1 / 100):
        return SHARE
    for times in (1000, 1_000_000, 1024, 1_048_576):
        binary = times % 1024 == 0
        if is_times(times, binary):
            return f"That is {times:,} times too large: look at the unit."
        if is_times(1 / times, binary):
            return f"That is {times:,} times too small: look at the unit."
    if "bytes" in about:
        steps = (1.024, 1.048576, 1.073741824)
        if any(_fits(record, place, value / x) for x in steps) or any(
            _fits(record, place, value * x) for x in steps
        ):
            return BINARY
    if "nats" in about and _fits(record, place, value * math.log(2)):
        return BITS
    return ""


def _so_far(record, given, values):
    """Say of each wrong number what it shows, and where else to look."""
    places = range(len(values))
    wrong = [i for i in places if not _fits(record, i, values[i])]
    slips = {i: _slip(record, i, given[i], values[i]) for i in wrong}
    read_as = _read_as([given[i] for i in wrong if not slips[i]])
    otherwise = f"{read_as} {record['otherwise']}".strip()
    if len(wrong) == len(values) and len(set(slips.values())) == 1:
        return slips[0] or otherwise  # it holds of all
    if not wrong:  # each is right, but another answer is nearer to all
        return otherwise
    told = {}  # the labels of each slip
    for i in wrong:
        told.setdefault(slips[i], []).append(f"“{record['labels'][i]}”")
    others = told.pop("", [])
    return " ".join([
        f"Right so far: {len(values) - len(wrong)} of {len(values)}.",
        *(f"{', '.join(labels)}: {slip}" for slip, labels in told.items()),
        *([f"Look at {others[0]}.", otherwise] if others else []),
    ])  # fmt: skip
