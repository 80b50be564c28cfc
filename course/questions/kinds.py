"""The kinds of questions, and their answers."""

import re
from abc import ABC, abstractmethod
from html import escape
from itertools import chain, pairwise, product

import numpy as np

from .form import Shown, counted, field_table, prose
from .record import Outcome, Reply, decimals, judge, record_of

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _hash(text):
    """The 32-bit FNV-1a hash of a text, by which options are mixed up."""
    found = 0x811C9DC5
    for character in text:
        found = (found ^ ord(character)) * 0x01000193 % 2**32
    return found


def _rounded(values):
    """Round as one is taught at school: halves away from zero."""
    return np.sign(values) * np.floor(np.abs(values) + 0.5)


class Question(Shown, ABC):
    """The base class of all questions: a record, a check, a form.

    Parameters
    ----------
    name : str
        Unique in the whole book: words of small letters and digits, joined by
        hyphens.
    ask : str
        The text of the question, with `code` in backticks.
    answers : list of (values, Reply)
        Each answer that has its own reply, as numbers. Only the first is
        correct.
    otherwise : str
        The reply to any other answer: where to look.
    where : str
        Where to find the answer without scripts.
    places : int, optional
        Decimal places of typed numbers. Numbers that differ by at most half a
        unit of the last place are equal, or half a tenth if whole numbers are
        asked for. Without `places`, numbers are counts.
    labels : list of str
        The name of each number.

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
        self.record = record_of(name, answers, otherwise, places, labels, ask)

    def __repr__(self):
        return f"Question: {self.ask}"

    @abstractmethod
    def _given(self, answer):
        """An answer in the page's form, or a Reply if it has another form."""

    def check(self, answer):
        """Return the reply to an answer, as on the page.

        Parameters
        ----------
        answer : object
            In the form of this question; None or ``...`` for no answer.

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
        As in `Question`. The reply to other answers also says how many numbers
        are right, and names the first that is wrong.
    answer : (n,) or (m, n) array
        The correct numbers, computed.
    why : str
        The reply to the correct answer.
    places : int
        Decimal places that are asked for. Numbers that differ by at most half
        a unit of the last place are right.
    wrong : list of (array, str)
        The results of typical slips, computed, each with its reply. If whole
        numbers are asked for, they are also known when rounded.
    rows, columns : str or list of str
        The names of rows and columns; "jar" means jar 0, jar 1 and so on.

    Raises
    ------
    TypeError
        If `places` is no whole number.
    ValueError
        As `Question`; or if `places` is negative, or an array has another
        shape than `answer`.

    Examples
    --------
    >>> row = Matrix("rows", "The row?", [1, 2], "So it is.", places=1,
    ...              wrong=[([2, 1], "Turned round.")], otherwise="Add up.")
    >>> row.check([2, 1])
    ✗ Not yet. Turned round.
    >>> row.check(["1", "3"])
    ✗ Not yet. Right so far: 1 of 2. Look at “key 1”. Add up.
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
            counted(given, count)
            for given, count in zip((rows, columns), self.shape, strict=True)
        ]
        self.names = [
            ", ".join(filter(None, pair)) for pair in product(*self.heads)
        ]
        if isinstance(places, bool) or not isinstance(places, int):
            raise TypeError(f"{name}: places must be an int; got {places!r}")
        if places < 0:
            raise ValueError(f"{name}: places must be at least 0")
        self.places = places
        if places == 0 and (right != right.round()).any():
            raise ValueError(f"{name}: give places, or whole numbers")
        answers = [(right.ravel().tolist(), Reply(True, why))]
        for value, text in slips:
            forms = [value.ravel().tolist()]
            if places == 0 and (value != _rounded(value)).any():
                forms.append(_rounded(value).ravel().tolist())  # as typed
            answers += [(values, Reply(False, text)) for values in forms]
        super().__init__(
            name, ask, answers, otherwise, where, places, self.names
        )

    def _given(self, answer):
        texts = np.asarray(answer, dtype=object)
        if texts.size != len(self.names):
            return Reply(None, f"Give {len(self.names)} numbers.")
        return [str(text) for text in texts.ravel()]

    def html(self):
        """Return the question as a page shows it before its script runs."""
        fields = [
            f'<input type="text" size="7" aria-label="{escape(name)}" '
            'inputmode="decimal" autocapitalize="off" spellcheck="false">'
            for name in self.names
        ]
        table = field_table(np.reshape(fields, self.shape), *self.heads)
        note = f'<small class="av-note">{self._accuracy()}</small>'
        return self.form("av-matrix", table, "Check", note)

    def _accuracy(self):
        if self.places:
            return decimals(self.places).replace(" place", "")
        return "whole number" + ("" if len(self.names) == 1 else "s")


class Number(Matrix):
    """A question whose answer is one number.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`.
    answer : float
        The correct number, computed.
    why : str
        The reply to the correct answer.
    places : int
        Decimal places that are asked for.
    wrong : list of (float, str)
        The results of typical slips, computed, each with its reply.

    Raises
    ------
    TypeError, ValueError
        As `Matrix`.

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
    """A question with options, one of which code has found to be right.

    Parameters
    ----------
    name, ask, where
        As in `Question`.
    options : list of (str, bool, str)
        Each option, whether it is right, and the reply to it. They are shown
        in another order.

    Raises
    ------
    TypeError
        If the second entry of an option is not a bool.
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
                raise TypeError(
                    f"{name}: whether {text!r} holds must be a bool"
                )
        shown = self._placed(name, options)
        self.options = [text for text, _, _ in shown]
        answers = [
            ([place], Reply(bool(holds), reply))
            for place, (_, holds, reply) in enumerate(shown)
        ]
        answers.sort(key=lambda answer: not answer[1].right)
        if sum(reply.right for _, reply in answers) != 1:
            raise ValueError(f"{name}: one option must be right")
        super().__init__(name, ask, answers, "", where)

    @staticmethod
    def _placed(name, options):
        """Return the options in the order of the page."""
        return sorted(options, key=lambda option: _hash(name + option[0]))

    def _given(self, answer):
        if answer not in self.options:
            return Reply(None, f"Choose one of {self.options}.")
        return [self.options.index(answer)]

    def html(self):
        """Return the question as a page shows it before its script runs."""
        rows = "".join(
            f'<label><input type="radio" name="{self.name}"> '
            f"<span>{prose(text)}</span></label>"
            for text in self.options
        )
        return self.form("av-choice", rows, "Check")


class Cell(Question):
    """A matrix with one wrong number, which the reader must find.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`.
    shown : (m, n) array
        The matrix with the slip in it.
    true : (m, n) array
        The correct matrix. They differ in one number, to `places`.
    why : str
        The reply to the right cell.
    wrong : list of ((int, int), str)
        Row and column of other cells, each with its reply.
    places : int, default 2
        Decimal places that are shown.
    rows, columns : str
        The names of rows and columns.

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
            counted(given, count)
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
        """Return the question as a page shows it before its script runs."""

        names = product(*self.heads)
        fields = [
            f'<label><input type="radio" name="{self.name}" aria-label="'
            f'{escape(f"{row}, {column}: {text}")}"> {text}</label>'
            for (row, column), text in zip(
                names, chain(*self.texts), strict=True
            )
        ]
        table = field_table(
            np.reshape(fields, np.shape(self.texts)), *self.heads
        )
        return self.form("av-cell", table, "Check")


class Order(Question):
    """A question whose answer is an order of items, by computed values.

    Parameters
    ----------
    name, ask, otherwise, where
        As in `Question`.
    items : dict of str to float
        The items, each with the value by which it is ordered, smallest first.
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
        order = sorted(right, key=lambda i: _hash(name + texts[i]))
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
        """The indices of the items, smallest value first."""
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
        """Return the question as a page shows it before its script runs."""
        rows = "".join(
            f'<li data-item="{i}"><span>{prose(text)}</span>'
            '<span class="av-press">'
            f'<button type="button" aria-label="{escape(text)}: up">↑</button>'
            f' <button type="button" aria-label="{escape(text)}: down">↓'
            "</button></span></li>"
            for i, text in enumerate(self.items)
        )
        return self.form("av-order", f"<ol>{rows}</ol>", "Check")


class Predict(Choice):
    """A prediction: a press chooses, and the page shows what happens.

    Until the reader has chosen, the page folds the text that follows, up to a
    line ``% So much for the prediction.`` A prediction counts for nothing.

    Parameters
    ----------
    name, ask
        As in `Question`.
    options : list of (str, bool, str)
        Two to four choices as in `Choice`, in the order of the page: numbers
        from the least to the largest. The reply to a wrong choice is a
        sentence that says why it fails.

    Raises
    ------
    TypeError, ValueError
        As `Choice`; or if there are fewer than two or more than four choices.

    Examples
    --------
    >>> total = Predict("sum", "What is 2 + 2?", [
    ...     ("3", 2 + 2 == 3, "That counts the first number's end twice."),
    ...     ("4", 2 + 2 == 4, "Two and two more.")])
    >>> total
    Predict: What is 2 + 2?
    >>> total.check("4")
    ✓ Right. Two and two more.
    """

    most = 4

    def __init__(self, name, ask, options):
        if not 2 <= len(options) <= self.most:
            raise ValueError(
                f"{name}: a prediction has 2 to {self.most} choices; "
                f"got {len(options)}"
            )
        super().__init__(name, ask, options, "What happens is folded below.")
        self.record["reveals"] = True

    @staticmethod
    def _placed(name, options):
        return options

    def check(self, answer):
        """Return the reply to a choice, as on the page."""
        return Outcome(*super().check(answer))

    def __repr__(self):
        return f"Predict: {self.ask}"

    def html(self):
        """Return the prediction as a page shows it before its script runs."""
        presses = "".join(
            '<button type="button" class="av-option" aria-pressed="false">'
            f"{prose(text)}</button>"
            for text in self.options
        )
        return self.form("av-predict", presses, "")


class Guess(Predict):
    """A prediction of a size, on a slider.

    Parameters
    ----------
    name, ask
        As in `Question`.
    answer : float
        The computed size, greater than zero. The stop nearest to it in ratio
        is right.
    stops : list of float
        The slider's 3 to 15 values, ascending, greater than zero.
    why, low, high : str
        The replies to the right stop, to a smaller and to a larger one. Each
        says what the size is, and `low` and `high` why the guess fails.
    unit : str, optional
        What follows the value on the page, with its space: " kB", or "%".

    Raises
    ------
    ValueError
        As `Predict`; or if the stops do not ascend from above zero, or the
        answer is not between the first and the last.

    Examples
    --------
    >>> half = Guess("cut", "How many halves has a whole?", 1 / 0.5, [1, 2, 4],
    ...              "2 of them.", "It is 2: one is left.", "It is 2.")
    >>> half.check("2"), half.check("1")
    (✓ Right. 2 of them., ✗ Not so. It is 2: one is left.)
    """

    most = 15

    def __init__(self, name, ask, answer, stops, why, low, high, unit=""):
        ascend = all(0 < a < b for a, b in pairwise(stops))
        if len(stops) < 3 or not ascend:
            raise ValueError(
                f"{name}: a slider has at least 3 stops that ascend from "
                f"above zero; got {stops}"
            )
        if not stops[0] <= answer <= stops[-1]:
            raise ValueError(f"{name}: {answer} lies beyond the slider's ends")
        ratios = np.abs(np.log(np.array(stops, dtype=float) / answer))
        right = int(ratios.argmin())
        replies = [low] * right + [why] + [high] * (len(stops) - right - 1)
        texts = [f"{stop:,}{unit}" for stop in stops]
        holds = [place == right for place in range(len(stops))]
        super().__init__(name, ask, [*zip(texts, holds, replies, strict=True)])

    def html(self):
        """Return the slider as a page shows it before its script runs."""
        stops = [escape(text) for text in self.options]
        # Where the guess begins is not the answer.
        half = len(stops) // 2
        half -= self.check(self.options[half]).right
        field = (
            f'<label><input type="range" min="0" max="{len(stops) - 1}" '
            f'value="{half}" aria-label="{escape(self.ask)}" '
            f'aria-valuetext="{stops[half]}" data-stops="{"|".join(stops)}"> '
            f"<output>{stops[half]}</output></label>"
        )
        return self.form("av-predict", field, "This is my guess")
