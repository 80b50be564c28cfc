"""The record of a question: how a page checks an answer that it never shows.

A page can compare hashes, from which the answer cannot be read. But typed
numbers may be off by a tolerance, and a hash only recognises equal texts. So
the number line is divided into *slots*, each as wide as the accepted interval,
and the record states where slots begin but not which slot is right. For
example, let 0.25 be right, to two decimal places: everything from 0.245 to
0.255 is accepted.

1. Count in *steps* of a hundredth of the tolerance, here 0.00005. The answer
   is step 5,000; steps 4,900 to 5,100 are accepted, which are 201.
2. Cut the line into slots of 201 steps, so that one slot is exactly these.
   Slots then *start* at step 76, 277, ..., 4,900, ...; the record holds 76.
3. The *key* of an answer is the question's name and the numbers of its slots,
   here 24. The record holds the *mark* of the key, which is its hash.
4. The reply is *scrambled* with the key, so only this answer can read it.

To judge an answer, find its slots, make the key and compare marks:

>>> step = step_of(places=2)
>>> start = start_of(0.25, step)
>>> [slot_of(x, step, start) for x in (0.2449, 0.245, 0.255, 0.2551)]
[23, 24, 24, 25]
>>> answers = [([0.25], Reply(True, "Yes."))]
>>> record = record_of("quarter", answers, "No.", 2, ["answer"])
>>> record["replies"] == [[[76], mark("quarter|24"),
...                        scramble(b"+Yes.", "quarter|24").hex()]]
True
>>> judge(record, ["1/4"]), judge(record, ["0.2551"])
(✓ Right. Yes., ✗ Not yet. No.)

The marks of single numbers also tell a number that was cut instead of rounded:
it becomes right when almost half a unit is added to it. An answer that becomes
right when commas and points are exchanged was written as in Spanish.

>>> answers = [([2 / 3], Reply(True, "Yes."))]
>>> third = record_of("third", answers, "No.", 3, ["answer"])
>>> judge(third, ["0.666"])
✗ Not yet. Near: keep all digits to the end, then round instead of cutting.
>>> judge(third, ["0,667"]).text == judge(third, ["0.667,0"]).text == POINT
True

If options are chosen there are no steps: the key contains their indices. This
is no lock: if you try all options, or open the cell that makes the question,
you find the correct answer. `course/figures/practice/practice.js` follows the
same rules.
"""

import re
from math import floor, isfinite
from typing import NamedTuple

STEPS = 100  # per tolerance, on each side
SLOT = 2 * STEPS + 1
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
    """Read a number as readers write it.

    Parameters
    ----------
    text : str
        Such as "0.25", "1/4", "-3e-2" or "7,241.7", with either minus sign.

    Returns
    -------
    float or None
        None if it is not a finite number.

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


def mark(text):
    """Return the 32-bit FNV-1a hash of a text.

    Parameters
    ----------
    text : str

    Returns
    -------
    int

    Examples
    --------
    >>> hex(mark("a"))
    '0xe40c292c'
    """
    found = 0x811C9DC5
    for character in text:
        found = (found ^ ord(character)) * 0x01000193 % 2**32
    return found


def scramble(message, key):
    """Change each byte by a number that depends on `key` and its position.

    Parameters
    ----------
    message : bytes
        Plain bytes, or the result of `scramble` with the same key.
    key : str

    Returns
    -------
    bytes

    Examples
    --------
    >>> scramble(scramble(b"one half", "key"), "key")
    b'one half'
    """
    return bytes(
        byte ^ mark(f"{place}|{key}") >> 24
        for place, byte in enumerate(message)
    )


def step_of(places):
    """Return the step in which typed numbers are counted.

    Parameters
    ----------
    places : int or None
        Decimal places that are asked for; None if options are chosen.

    Returns
    -------
    float or None
        A hundredth of half a unit of the last place. Whole numbers must be
        distinguished from their neighbours, so their step is that of one
        decimal place.

    Examples
    --------
    >>> step_of(2), step_of(0), step_of(None)
    (5e-05, 0.0005, None)
    """
    if places is None:
        return None
    exponent = max(places, 1) + 3
    return float(f"5e-{exponent}")  # a product would be rounded twice


def steps_in(value, step):
    """Return a value as a whole number of steps; options count as they are.

    Parameters
    ----------
    value : float or int
    step : float or None

    Returns
    -------
    int

    Examples
    --------
    >>> steps_in(0.25, 5e-05), steps_in(3, None)
    (5000, 3)
    """
    return round(value / step) if step else value


def start_of(value, step):
    """Return where slots begin if `value` is in the middle of one.

    Parameters
    ----------
    value, step : float

    Returns
    -------
    int
        From 0 to 200.

    Examples
    --------
    >>> start_of(0.25, 5e-05)
    76
    """
    return (steps_in(value, step) - STEPS) % SLOT


def slot_of(value, step, start):
    """Return the number of the slot that contains `value`.

    Parameters
    ----------
    value, step : float
    start : int
        Where slots begin.

    Returns
    -------
    int

    Examples
    --------
    >>> slot_of(0.25, 5e-05, 76)
    24
    """
    return floor((value / step - start + 0.5) / SLOT)


def key_of(record, values, starts):
    """Return the key of an answer: the slots that contain its numbers.

    Parameters
    ----------
    record : dict
        A record with `name` and `step`.
    values : list of float or int
        Numbers, or the indices of options.
    starts : list of int
        Where the slots of each number begin.

    Returns
    -------
    str

    Examples
    --------
    >>> key_of({"name": "quarter", "step": 5e-05}, [0.25], [76])
    'quarter|24'
    """
    if step := record["step"]:
        pairs = zip(values, starts, strict=True)
        values = [slot_of(value, step, start) for value, start in pairs]
    return f"{record['name']}|{','.join(map(str, values))}"


def record_of(name, answers, otherwise, places=None, labels=()):
    """Make the part of a question that a page gets.

    Parameters
    ----------
    name : str
    answers : list of (values, Reply)
        Each answer that has its own reply; the first is right.
    otherwise : str
        The reply to any other answer.
    places : int, optional
        Decimal places of typed numbers.
    labels : list of str
        The name of each number.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If two of the answers cannot be told apart.

    Examples
    --------
    >>> list(record_of("sign", [([1], Reply(True, "Yes."))], "No."))
    ['name', 'step', 'otherwise', 'replies', 'cells']
    """
    record = {"name": name, "step": step_of(places), "otherwise": otherwise}
    _refuse_twins(record, answers)
    record["replies"] = [_hidden(record, *answer) for answer in answers]
    record["cells"] = [
        _cell(record, place, value, label)
        for place, (value, label) in enumerate(
            zip(answers[0][0], labels, strict=False)
        )
    ]
    return record


def _refuse_twins(record, answers):
    """Require a distinct reply for each answer, even at its slots' edges."""
    step = record["step"]
    near = SLOT if step else 1
    for i, (one, first) in enumerate(answers):
        for two, second in answers[i + 1 :]:
            gaps = [
                abs(steps_in(a, step) - steps_in(b, step))
                for a, b in zip(one, two, strict=True)
            ]
            if max(gaps) < near:
                raise ValueError(
                    f"{record['name']}: the answers to which it replies "
                    f"{first.text!r} and {second.text!r} are the same; "
                    "choose numbers that differ"
                )


def _starts(record, values):
    """Where the slots of each number begin; empty for options."""
    if record["step"] is None:
        return []
    return [start_of(value, record["step"]) for value in values]


def _hidden(record, values, reply):
    """An answer in the record's form: starts, mark, scrambled reply."""
    starts = _starts(record, values)
    key = key_of(record, values, starts)
    sign = "+" if reply.right else "-"
    return [
        starts,
        mark(key),
        scramble((sign + reply.text).encode(), key).hex(),
    ]


def _cell(record, place, value, label):
    """One number of the right answer: its start, its mark and its name."""
    start = start_of(value, record["step"])
    key = key_of(record, [value], [start])
    return [start, mark(f"{place}|{key}"), label]


def judge(record, given):
    """Return a record's reply to an answer, by the rules of the page.

    Parameters
    ----------
    record : dict
        The record of a question.
    given : list
        Texts if numbers are typed, otherwise the indices of the choice.

    Returns
    -------
    Reply

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


def _known(record, values):
    """The reply to an answer that has its own, or None."""
    for starts, known, hidden in record["replies"]:
        key = key_of(record, values, starts)
        if mark(key) == known:
            clear = scramble(bytes.fromhex(hidden), key).decode()
            return Reply(clear[0] == "+", clear[1:])
    return None


def _fits(record, place, value):
    """Whether the number at this place is right."""
    start, known, _ = record["cells"][place]
    return mark(f"{place}|{key_of(record, [value], [start])}") == known


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
        f"Look at {record['cells'][worse[0]][2]}. {record['otherwise']}"
    )
