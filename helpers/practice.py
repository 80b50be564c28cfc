"""Questions that check an answer: on a page, in Jupyter, and in a test.

A question is made in a cell, from values that the cell's code has computed:
the right answer, and the answers that typical slips give, each with a reply.
What the page gets is a record. It holds for each answer a mark, from which
the answer cannot be read, and the reply, scrambled with the answer as its key.
So nobody meets an answer by accident: not in the page, its source or a search.
It is no lock. Who tries all options, or opens the folded cell that makes the
question, finds what is right; the worked solutions are public too.

`helpers/js/practice.js` follows the same rules in the browser.
"""

import json
import re
import warnings
from abc import ABC, abstractmethod
from functools import cache
from html import escape
from itertools import chain, combinations, pairwise, product
from math import floor, isfinite
from typing import NamedTuple

import numpy as np

# A tolerance is a hundred steps to each side. A slot is all that is accepted.
STEPS = 100
SLOT = 2 * STEPS + 1
SHOWN = 8  # numbers of an array that a reply shows
DRAWN = 60  # cases at random that a function is tried with
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# A comma groups three digits, as in 7,241.7.
DECIMAL = re.compile(
    r"[+-]?(([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]*)?|\.[0-9]+)"
    r"(e[+-]?[0-9]+)?",
    re.I,
)
WORDS = {True: "✓ Right.", False: "✗ Not yet.", None: "Not answered yet."}
HOW_TO_TYPE = "Type one number in each field, such as 0.25, 1/4 or -3e-2."
POINT = "A comma groups thousands, as in 7,241.7. Decimals follow a point."


class Reply(NamedTuple):
    """What a check says of an answer.

    Parameters
    ----------
    right : bool or None
        None where there is no answer yet, or none that can be read.
    text : str
        What to look at.
    """

    right: bool | None
    text: str

    def __repr__(self):
        return f"{WORDS[self.right]} {self.text}".strip()


def parse(text):
    """A number as readers write one.

    Parameters
    ----------
    text : str
        Such as "0.25", "1/4", "-3e-2" or "7,241.7", with either minus sign.

    Returns
    -------
    float or None
        None if it is no finite number.

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
    top, below = (float(part.replace(",", "")) for part in [*parts, "1"][:2])
    value = top / below if below else float("inf")
    return value if isfinite(value) else None


def mark(text):
    """A number of 32 bits that tells `text` from others (the FNV-1a hash).

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
    """Bytes, each changed by a number that `key` and its place give.

    Parameters
    ----------
    message : bytes
        Clear, or what `scramble` gave for the same key.
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


def _key(record, values, starts):
    """What an answer is known by: in which slots its numbers lie."""
    if step := record["step"]:
        values = [
            floor((value / step - start + 0.5) / SLOT)
            for value, start in zip(values, starts, strict=True)
        ]
    return f"{record['name']}|{','.join(map(str, values))}"


def judge(record, given):
    """What a record has to say of an answer, by the rules of the page.

    Parameters
    ----------
    record : dict
        The record of a question.
    given : list
        Texts where numbers are typed, else the places of what was chosen.

    Returns
    -------
    Reply
    """
    values = given
    if record["step"]:
        if not all(text.strip() for text in given):
            return Reply(None, "")
        values = [parse(text) for text in given]
        if None in values:
            odd = [text for text in given if parse(text) is None]
            comma = any("," in text for text in odd)
            return Reply(None, POINT if comma else HOW_TO_TYPE)
    for starts, known, hidden in record["replies"]:
        key = _key(record, values, starts)
        if mark(key) == known:
            clear = scramble(bytes.fromhex(hidden), key).decode()
            return Reply(clear[0] == "+", clear[1:])
    return Reply(False, _so_far(record, values) + record["otherwise"])


def _so_far(record, values):
    """How many numbers of a matrix are right, and which is not."""
    wrong = [
        label
        for place, (start, known, label) in enumerate(record["cells"])
        if mark(f"{place}|{_key(record, [values[place]], [start])}") != known
    ]
    count = len(record["cells"])
    if count < 2 or not wrong:
        return ""
    return (
        f"Right so far: {count - len(wrong)} of {count}. Look at {wrong[0]}. "
    )


def _prose(text):
    """A text as HTML, with `code` in backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


@cache
def _widget():
    """The class that shows a question in Jupyter: its form, and our script."""
    import anywidget
    from traitlets import Unicode

    from . import figures

    class Shown(anywidget.AnyWidget):
        _esm = figures.module("practice")
        _css = (figures.FOLDER / "practice.css").read_text(encoding="utf-8")
        html = Unicode().tag(sync=True)

    return Shown


def _counted(given, count):
    """The names of rows or columns: given, or counted from 0."""
    if isinstance(given, str):
        return [f"{given} {i}" if given else "" for i in range(count)]
    return list(given)


def _table(fields, rows, columns):
    """A table of fields; names that are empty or alone are left out."""

    def head(scope, name):
        return f'<th scope="{scope}">{escape(name)}</th>' if name else ""

    names = columns if len(columns) > 1 else []
    top = "".join(head("col", name) for name in names)
    corner = "<td></td>" if top and any(rows) else ""
    lines = [
        head("row", name) + "".join(f"<td>{field}</td>" for field in line)
        for name, line in zip(rows, fields, strict=True)
    ]
    return "".join(
        [
            "<table>",
            *(f"<tr>{t}</tr>" for t in [corner + top, *lines] if t),
            "</table>",
        ]
    )


class _Shown:
    """What is shown as HTML on a page, and as a widget in Jupyter."""

    def _repr_mimebundle_(self, **kwargs):
        note = (
            "<p>To answer, run this cell and those above it "
            "(menu Run: Run All Cells).</p>"
        )
        shown = {"text/plain": repr(self), "text/html": note + self.html()}
        try:
            self._view = _widget()(html=self.html())
        except ModuleNotFoundError:
            return shown, {}
        bundle = self._view._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, **shown}, metadata

    def _form(self, kind, fields, button):
        """The form of a question; its record goes with it."""
        record = escape(json.dumps(self.record, ensure_ascii=False))
        return (
            f'<form class="av-question {kind}" data-question="{self.name}" '
            f'data-record="{record}" autocomplete="off"><fieldset>'
            f"<legend>{_prose(self.ask)}</legend>{fields}"
            f'<div class="av-press"><button type="submit">{button}</button> '
            '<button type="button" class="av-clear">Clear</button></div>'
            '<div class="av-reply" role="status"></div></fieldset>'
            "<noscript><details><summary>Without scripts nothing is checked "
            f"here</summary><p>{_prose(self.where)}</p></details></noscript>"
            "</form>"
        )


class Question(_Shown, ABC):
    """What all questions share: a record, a check, a form.

    Parameters
    ----------
    name : str
        Its own in the whole book: words of small letters and digits, joined
        by hyphens.
    ask : str
        The question as it is read out, with `code` in backticks.
    answers : list of (values, Reply)
        Each answer that has a reply of its own, as numbers. The first is
        right, and no other.
    otherwise : str
        The reply to any other answer: where to look.
    where : str
        Where the answer is found without scripts.
    places : int, optional
        Decimal places of numbers that are typed. What differs by at most
        half a unit of the last is the same, or half a tenth where whole
        numbers are asked for. Without it numbers are counts.
    labels : list of str
        What each number is called.

    Raises
    ------
    ValueError
        If the name has another form, or two of the answers cannot be told
        apart.
    """

    def __init__(
        self, name, ask, answers, otherwise, where, places=None, labels=()
    ):
        if not NAME.fullmatch(name):
            raise ValueError(f"name must be like two-keys; got {name!r}")
        self.name, self.ask, self.where = name, ask, where
        self.answers = answers
        # Half a unit has a hundred steps; whole numbers keep their neighbours
        # apart, so half a tenth has.
        step = None if places is None else float(f"5e-{max(places, 1) + 3}")
        self.record = {"name": name, "step": step, "otherwise": otherwise}
        self.record["replies"] = [self._hidden(v, r) for v, r in answers]
        self.record["cells"] = [
            self._cell(place, value, label)
            for place, (value, label) in enumerate(
                zip(answers[0][0], labels, strict=False)
            )
        ]
        self._refuse_twins()

    def __repr__(self):
        return f"Question: {self.ask}"

    def _whole(self, value):
        """A value as a whole number of steps."""
        step = self.record["step"]
        return round(value / step) if step else value

    def _refuse_twins(self):
        """Each answer must get its own reply, also on its slots' edges."""
        near = SLOT if self.record["step"] else 1
        for (one, first), (two, second) in combinations(self.answers, 2):
            pairs = zip(one, two, strict=True)
            steps = [self._whole(a) - self._whole(b) for a, b in pairs]
            if max(map(abs, steps)) < near:
                raise ValueError(
                    f"{self.name}: the answers to which it replies "
                    f"{first.text!r} and {second.text!r} are the same; "
                    "choose numbers that differ"
                )

    def _starts(self, values):
        """Where the slots of an answer begin, and not where they lie."""
        if self.record["step"] is None:
            return []
        return [(self._whole(value) - STEPS) % SLOT for value in values]

    def _hidden(self, values, reply):
        """An answer as the record holds it: slots, mark, scrambled reply."""
        starts = self._starts(values)
        key = _key(self.record, values, starts)
        clear = ("+" if reply.right else "-") + reply.text
        return [starts, mark(key), scramble(clear.encode(), key).hex()]

    def _cell(self, place, value, label):
        """One right number, by itself: its slot, mark and name."""
        (start,) = self._starts([value])
        key = _key(self.record, [value], [start])
        return [start, mark(f"{place}|{key}"), label]

    @abstractmethod
    def _given(self, answer):
        """An answer as the page has it; a Reply if it has another form."""

    def check(self, answer):
        """What is to be said of an answer, as the page says it.

        Parameters
        ----------
        answer : object
            As the kind of question asks for it; None or ``...`` for none.

        Returns
        -------
        Reply
        """
        if answer is None or answer is ...:
            return Reply(None, "")
        given = self._given(answer)
        return given if isinstance(given, Reply) else judge(self.record, given)


class Matrix(Question):
    """A question whose answer is a small matrix, or a row of numbers.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`. The reply to an answer with other numbers says
        besides how many are right, and names the first that is not.
    answer : (n,) or (m, n) array
        What is right, computed.
    why : str
        The reply to it.
    places : int
        Decimal places that are asked for. What differs by at most half a
        unit of the last is right.
    wrong : list of (array, str)
        What typical slips give, computed, each with its reply.
    rows, columns : str or list of str
        What a row and a column is; "jar" stands for jar 0, jar 1 and so on.

    Raises
    ------
    ValueError
        As `Question`; or if an array has another shape than `answer`.

    Examples
    --------
    >>> row = Matrix("rows", "The row?", [1, 2], "So it is.", places=1,
    ...              wrong=[([2, 1], "Turned round.")], otherwise="Add up.")
    >>> row.check([2, 1])
    ✗ Not yet. Turned round.
    >>> row.check(["1", "3"])
    ✗ Not yet. Right so far: 1 of 2. Look at key 1. Add up.
    """

    def __init__(
        self, name, ask, answer, why, *, places, wrong, otherwise,
        rows="", columns="key", where="The solution is below.",
    ):  # fmt: skip
        right = np.asarray(answer, dtype=float)
        slips = [(np.asarray(value, dtype=float), t) for value, t in wrong]
        if any(value.shape != right.shape for value, _ in slips):
            raise ValueError(f"{name}: every answer must be {right.shape}")
        self.shape = right.shape if right.ndim == 2 else (1, right.size)
        self.heads = [
            _counted(given, count)
            for given, count in zip((rows, columns), self.shape, strict=True)
        ]
        self.names = [
            ", ".join(filter(None, pair)) for pair in product(*self.heads)
        ]
        self.places = places
        if places == 0 and (right != right.round()).any():
            raise ValueError(f"{name}: no whole numbers; give places")
        answers = [(right.ravel().tolist(), Reply(True, why))]
        answers += [(v.ravel().tolist(), Reply(False, t)) for v, t in slips]
        answers += self._coarse(answers)
        super().__init__(
            name, ask, answers, otherwise, where, places, self.names
        )

    def _coarse(self, answers):
        """The right answer with one place too few, where that is another."""
        right, slips = answers[0][0], [values for values, _ in answers[1:]]
        coarse = [round(value, self.places - 1) for value in right]
        unit = 10.0**-self.places

        def far(values):
            return any(
                abs(a - b) > 1.5 * unit
                for a, b in zip(coarse, values, strict=True)
            )

        if self.places < 1 or not all(map(far, [right, *slips])):
            return []
        text = f"Near, but give {self.places} decimal places."
        return [(coarse, Reply(False, text))]

    def _given(self, answer):
        texts = np.asarray(answer, dtype=object)
        if texts.size != len(self.names):
            return Reply(None, f"Give {len(self.names)} numbers.")
        return [str(text) for text in texts.ravel()]

    def html(self):
        """The question as a page shows it before its script runs."""
        fields = [
            f'<input type="text" size="7" aria-label="{escape(name)}" '
            'inputmode="decimal" autocapitalize="off" spellcheck="false">'
            for name in self.names
        ]
        table = _table(np.reshape(fields, self.shape), *self.heads)
        said = f'<p class="av-note">{self._accuracy()}</p>'
        return self._form("av-matrix", table + said, "Check")

    def _accuracy(self):
        if not self.places:
            return "in whole numbers"
        unit = "place" if self.places == 1 else "places"
        return f"to {self.places} decimal {unit}"


class Number(Matrix):
    """A question whose answer is one number.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`.
    answer : float
        What is right, computed.
    why : str
        The reply to it.
    places : int
        Decimal places that are asked for.
    wrong : list of (float, str)
        What typical slips give, computed, each with its reply.

    Raises
    ------
    ValueError
        As `Question`.

    Examples
    --------
    >>> half = Number("half", "One half?", 1 / 2, "So it is.", places=2,
    ...               wrong=[(2, "Upside down.")], otherwise="Divide.")
    >>> half.check("1/2"), half.check(2.0), half.check("0.3"), half.check(...)
    (✓ Right. So it is., ✗ Not yet. Upside down., ✗ Not yet. Divide., \
Not answered yet.)
    """

    def __init__(self, name, ask, answer, why, *, places, wrong, otherwise,
                 where="The solution is below."):  # fmt: skip
        slips = [([value], text) for value, text in wrong]
        super().__init__(
            name, ask, [answer], why, places=places, wrong=slips,
            otherwise=otherwise, columns=["answer"], where=where,
        )  # fmt: skip


class Choice(Question):
    """A question with options, of which code has found one to be right.

    Parameters
    ----------
    name, ask, where
        As in `Question`.
    options : list of (str, bool, str)
        Each option, whether it holds, and the reply to it. They are shown
        in another order.

    Raises
    ------
    TypeError
        If whether an option holds is no bool.
    ValueError
        As `Question`.

    Examples
    --------
    >>> sign = Choice("sign", "What is -1 squared?",
    ...               [("1", (-1) ** 2 == 1, "Yes."),
    ...                ("-1", (-1) ** 2 == -1, "Minus times minus?")])
    >>> sign.check("-1")
    ✗ Not yet. Minus times minus?
    """

    def __init__(self, name, ask, options, where="The solution is below."):
        for text, holds, _ in options:
            if not isinstance(holds, bool | np.bool_):
                raise TypeError(f"{name}: whether {text!r} holds is no bool")
        shown = sorted(options, key=lambda option: mark(name + option[0]))
        self.options = [text for text, _, _ in shown]
        answers = [
            ([place], Reply(bool(holds), reply))
            for place, (_, holds, reply) in enumerate(shown)
        ]
        answers.sort(key=lambda answer: not answer[1].right)
        if sum(reply.right for _, reply in answers) != 1:
            raise ValueError(f"{name}: one option must be right")
        super().__init__(name, ask, answers, "", where)

    def _given(self, answer):
        if answer not in self.options:
            return Reply(None, f"Choose one of {self.options}.")
        return [self.options.index(answer)]

    def html(self):
        """The question as a page shows it before its script runs."""
        rows = "".join(
            f'<label><input type="radio" name="{self.name}"> '
            f"<span>{_prose(text)}</span></label>"
            for text in self.options
        )
        return self._form("av-choice", rows, "Check")


class Cell(Question):
    """A matrix with one wrong number in it, which is to be found.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`.
    shown : (m, n) array
        The matrix with the slip in it.
    true : (m, n) array
        The same without it. They differ in one place, at `places`.
    why : str
        The reply to the right place.
    wrong : list of ((int, int), str)
        Row and column of other places, each with its reply.
    places : int, default 2
        Decimal places that are shown.
    rows, columns : str
        What a row and a column is.

    Raises
    ------
    ValueError
        As `Question`; or if not exactly one number differs.

    Examples
    --------
    >>> slip = Cell("slip", "Which number?", [[1, 2], [3, 5]],
    ...             [[1, 2], [3, 4]], "Two twos.", wrong=[((0, 1), "Row?")],
    ...             otherwise="Multiply.", rows="row", columns="column")
    >>> slip.check((1, 1)), slip.check((0, 0))
    (✓ Right. Two twos., ✗ Not yet. Multiply.)
    """

    def __init__(
        self, name, ask, shown, true, why, *, wrong, otherwise,
        rows="query", columns="key", places=2, where="The solution is below.",
    ):  # fmt: skip
        shown, true = np.asarray(shown, float), np.asarray(true, float)
        texts = [[f"{v:.{places}f}" for v in row] for row in shown]
        differ = [
            (i, j)
            for i, row in enumerate(true)
            for j, value in enumerate(row)
            if texts[i][j] != f"{value:.{places}f}"
        ]
        if len(differ) != 1:
            raise ValueError(f"{name}: one number must differ; got {differ}")
        self.texts = texts
        self.heads = [
            _counted(given, count)
            for given, count in zip((rows, columns), shown.shape, strict=True)
        ]
        answers = [([self._place(differ[0])], Reply(True, why))]
        answers += [([self._place(at)], Reply(False, t)) for at, t in wrong]
        super().__init__(name, ask, answers, otherwise, where)

    def _place(self, at):
        row, column = at
        return int(row) * len(self.texts[0]) + int(column)

    def _given(self, answer):
        (row, column), (height, width) = answer, np.shape(self.texts)
        if not (0 <= row < height and 0 <= column < width):
            return Reply(None, f"Give a row and a column of {height, width}.")
        return [self._place(answer)]

    def html(self):
        """The question as a page shows it before its script runs."""

        names = product(*self.heads)
        fields = [
            f'<label><input type="radio" name="{self.name}" aria-label="'
            f'{escape(f"{row}, {column}: {text}")}"> {text}</label>'
            for (row, column), text in zip(
                names, chain(*self.texts), strict=True
            )
        ]
        table = _table(np.reshape(fields, np.shape(self.texts)), *self.heads)
        return self._form("av-cell", table, "Check")


class Order(Question):
    """Items to be put in order, by values that code has computed.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`.
    items : dict of str to float
        The items, each with the value that it is ordered by, smallest first.
    why : str
        The reply to the right order.
    wrong : list of (list of float, str)
        Other values for the items, in the order of `items`, by which a slip
        would order them, each with its reply.

    Raises
    ------
    ValueError
        As `Question`; or if two items have the same value.

    Examples
    --------
    >>> sizes = Order("sizes", "Smallest first?", {"a": 2, "b": -3, "c": 1},
    ...               "So it is.", otherwise="Compare two.",
    ...               wrong=[([2, 3, 1], "A sign was lost.")])
    >>> sizes.check(["b", "c", "a"]), sizes.check(["c", "a", "b"])
    (✓ Right. So it is., ✗ Not yet. A sign was lost.)
    """

    def __init__(self, name, ask, items, why, *, wrong, otherwise,
                 where="The solution is below."):  # fmt: skip
        texts, right = list(items), self._sorted(name, items.values())
        order = sorted(right, key=lambda i: mark(name + texts[i]))
        if order == right:
            order = [*order[1:], order[0]]
        self.items = [texts[i] for i in order]
        answers = [
            ([order.index(i) for i in self._sorted(name, values)], reply)
            for values, reply in [
                (items.values(), Reply(True, why)),
                *((values, Reply(False, text)) for values, text in wrong),
            ]
        ]
        super().__init__(name, ask, answers, otherwise, where)

    @staticmethod
    def _sorted(name, values):
        """The places of the items, smallest value first."""
        values = [float(value) for value in values]
        order = sorted(range(len(values)), key=values.__getitem__)
        if any(values[i] == values[j] for i, j in pairwise(order)):
            raise ValueError(f"{name}: two items have the same value")
        return order

    def _given(self, answer):
        if sorted(answer) != sorted(self.items):
            return Reply(None, f"Give the {len(self.items)} items in order.")
        return [self.items.index(item) for item in answer]

    def html(self):
        """The question as a page shows it before its script runs."""
        rows = "".join(
            f'<li data-item="{i}"><span>{_prose(text)}</span>'
            '<span class="av-press">'
            f'<button type="button" aria-label="{escape(text)}: up">↑</button>'
            f' <button type="button" aria-label="{escape(text)}: down">↓'
            "</button></span></li>"
            for i, text in enumerate(self.items)
        )
        return self._form("av-order", f"<ol>{rows}</ol>", "Check")


class Predict(_Shown):
    """A prediction, and what was computed beside it.

    It judges nothing. What follows it in the text, up to a line
    ``% So much for the prediction.``, the page folds until then.

    Parameters
    ----------
    name : str
        As in `Question`.
    ask : str
        What is predicted, in a few words.
    shown : dict of str to str
        What is computed, by the label of the field for the prediction.
    then : str
        One sentence on what a gap between the two means.

    Raises
    ------
    ValueError
        If the name has another form, or nothing is asked for.

    Examples
    --------
    >>> Predict("sum", "What is 2 + 2?", {"sum": f"{2 + 2}"}, "Count again.")
    Predict: What is 2 + 2?
    """

    def __init__(self, name, ask, shown, then):
        if not NAME.fullmatch(name):
            raise ValueError(f"name must be like two-keys; got {name!r}")
        if not shown:
            raise ValueError(f"{name}: nothing is asked for")
        self.name, self.ask, self.shown, self.then = name, ask, shown, then
        self.where = "What happens is folded below."
        clear = json.dumps([*shown.values(), then], ensure_ascii=False)
        hidden = scramble(clear.encode(), name).hex()
        self.record = {"name": name, "shown": hidden}

    def __repr__(self):
        return f"Predict: {self.ask}"

    def html(self):
        """The prediction as a page shows it before its script runs."""
        fields = "".join(
            f'<label>{_prose(label)} <input type="text"></label>'
            for label in self.shown
        )
        return self._form("av-predict", fields, "Compare")


class Task:
    """A function to be written, and what is said of one that was.

    It is tried with cases made by hand, and then with cases that are drawn:
    few functions are right for all of these by accident.

    Parameters
    ----------
    solution : callable
        A right function.
    cases : list of tuple
        Arguments that it is tried with first.
    wrong : list of (callable, str)
        Functions with a typical slip, each with its reply. Each differs from
        the solution in some case.
    inputs : callable, optional
        Draws the arguments of one more case with a `numpy.random.Generator`.
        All that the exercise allows should come up: sizes that differ, ties,
        large numbers.
    tolerance : float, default 1e-9
        How far a number may be off, as a part of the largest.

    Raises
    ------
    ValueError
        If a wrong function passes.

    Examples
    --------
    >>> double = Task(lambda x: 2 * x, [(1,), (3,)],
    ...               wrong=[(lambda x: x**2, "A square is no double.")],
    ...               inputs=lambda rng: [rng.integers(-9, 10)])
    >>> double.check(lambda x: x * x)
    ✗ Not yet. A square is no double.
    >>> double.check(lambda x: x + 1)
    ✗ Not yet. For (3,) it gives 4, where 6 is right.
    >>> double.check(lambda x: 2 * abs(x))
    ✗ Not yet. For (-4,) it gives 8, where -8 is right.
    """

    def __init__(self, solution, cases, wrong, *, inputs=None, tolerance=1e-9):
        self.solution, self.wrong = solution, wrong
        self.inputs, self.tolerance = inputs, tolerance
        self.cases = [*cases, *self.drawn(DRAWN, seed=0)]
        self.right = [self._run(solution, case) for case in self.cases]
        # What is wrong for a case made by hand is told by that.
        self.ends = len(cases), len(self.cases)
        for function, text in wrong:
            if not self._off(self._tried(function, self.cases)):
                raise ValueError(f"no case shows the slip of {text!r}")

    def drawn(self, count, seed):
        """The arguments of so many cases, small ones first."""
        if self.inputs is None:
            return []
        rng = np.random.default_rng(seed)
        cases = [tuple(self.inputs(rng)) for _ in range(count)]
        return sorted(cases, key=lambda case: sum(map(np.size, case)))

    @staticmethod
    def _run(function, case):
        """What a function gives, for arguments that it may spoil."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # empty means
            return function(*(np.copy(a)[()] for a in case))

    def _tried(self, function, cases):
        """What a function gives for some cases, or raises."""
        results = []
        for case in cases:
            try:
                results.append(self._run(function, case))
            except Exception as error:
                results.append(error)
        return results

    def _agree(self, given, right):
        """Which numbers agree; None where there are others than asked for."""
        try:
            if np.iscomplexobj(given):
                return None
            given = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return None
        if given.shape != np.shape(right):
            return None
        finite = np.isfinite(right)
        size = np.max(np.abs(right), initial=0, where=finite)
        return np.isclose(
            given, right, rtol=0, atol=self.tolerance * size, equal_nan=True
        )

    def _close(self, given, right):
        if isinstance(right, Exception):
            return type(given) is type(right)
        agree = self._agree(given, right)
        return agree is not None and bool(np.all(agree))

    def _off(self, results):
        """Which of the first cases have a wrong result."""
        pairs = zip(results, self.right, strict=False)
        return [i for i, pair in enumerate(pairs) if not self._close(*pair)]

    def check(self, function):
        """What is to be said of a function.

        Parameters
        ----------
        function : callable
            As its exercise asks for it; one that gives None or ``...`` is not
            written yet.

        Returns
        -------
        Reply
        """
        results = []
        for end in self.ends:
            results += self._tried(function, self.cases[len(results) : end])
            if results and all(r is None or r is ... for r in results):
                return Reply(None, "Write the function, and run this cell.")
            if off := self._off(results):
                return Reply(False, self._why(results, off[0]))
        return Reply(True, f"{len(results)} cases agree.")

    def _why(self, results, first):
        """What is said of wrong results, and of the first that is."""
        for slip, text in self.wrong:
            slips = self._tried(slip, self.cases[: len(results)])
            if all(map(self._close, results, slips)):
                return text
        case, given = self.cases[first], results[first]
        if isinstance(given, Exception):
            return f"For {_told(case)} it raises {given!r}."
        return self._gives(case, given, self.right[first])

    def _gives(self, case, given, right):
        """What is said of a wrong result, with digits enough to see it."""
        agree, place = self._agree(given, right), ""
        if agree is not None and agree.size > SHOWN:
            at = tuple(np.argwhere(~agree)[0].tolist())
            given, right = (float(np.asarray(x)[at]) for x in (given, right))
            place = f" at {list(at)}"
        for digits in (6, 9, 17):
            pair = [_told(value, digits) for value in (given, right)]
            if pair[0] != pair[1]:
                break
        return (
            f"For {_told(case)} it gives {pair[0]}{place}, "
            f"where {pair[1]} is right."
        )


def _told(value, digits=6):
    """A value in a sentence, with few digits."""
    if isinstance(value, tuple):
        told = ", ".join(_told(part, digits) for part in value)
        return f"({told},)" if len(value) == 1 else f"({told})"
    if isinstance(value, np.ndarray | list):
        try:
            value = np.asarray(value)
        except ValueError:  # rows that differ in length
            return f"[{', '.join(_told(row, digits) for row in value)}]"
        shape = "" if value.ndim < 2 else f" of shape {value.shape}"
        told = np.array2string(
            value, precision=digits - 2, separator=", ", threshold=SHOWN
        )
        return " ".join(told.split()) + shape
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)
