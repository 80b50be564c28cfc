"""Functions that readers write, and the replies to wrong ones."""

import contextlib
import copy
import dis
import io
import types
import warnings
from decimal import Decimal
from numbers import Real

import numpy as np

from .numerals import NAN
from .record import Reply

SHOWN = 8  # a reply shows at most this many numbers of an array
DRAWN = 60  # the number of random cases
LONGEST = 1000  # characters of a reply, about twelve lines
# How far numbers of each precision may be off, as a part of the largest.
OFF = {np.float16: 1e-2, np.float32: 1e-4, np.float64: 1e-6}
DOUBLE = "This check asks for double precision (float64)."
UNWRITTEN = "Write the function, and run this cell."
SILENT = "The function returns nothing. End it with `return` and its result."
PRINTS = "The function prints, but it returns nothing. End it with `return`."


class Task:
    """A function that readers write, and the replies to wrong ones.

    The function is tried on hand-made cases first, and then on random cases.
    Few functions are right on all of these by accident.

    Parameters
    ----------
    solution : callable
        A correct function.
    cases : list of tuple
        The arguments of the hand-made cases. A function gets a copy of each:
        a list stays a list, and an array an array.
    wrong : list of (callable, str)
        Functions with a typical slip, each with its reply. Each differs from
        the solution in some case.
    inputs : callable, optional
        Draws the arguments of one more case with a `numpy.random.Generator`.
        Everything that the exercise allows should occur: different sizes,
        ties, large numbers.
    tolerance : float, default 1e-9
        The error that is accepted, relative to the largest number.

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
        # A function that fails on a hand-made case is explained by that case.
        self.ends = len(cases), len(self.cases)
        for function, text in wrong:
            if not self._off(self._tried(function, self.cases)):
                raise ValueError(f"no case shows the slip of {text!r}")

    def drawn(self, count, seed):
        """Return the arguments of random cases, small ones first."""
        if self.inputs is None:
            return []
        rng = np.random.default_rng(seed)
        cases = [tuple(map(_usual, self.inputs(rng))) for _ in range(count)]
        return sorted(cases, key=lambda case: sum(map(np.size, case)))

    @staticmethod
    def _run(function, case):
        """The result of a function on copies of arguments, as it is now."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # empty means
            result = function(*copy.deepcopy(case))
        try:
            return copy.deepcopy(result)
        except Exception:  # a generator, for example
            return result

    def _tried(self, function, cases):
        """The results of a function on some cases, or its error."""
        results = []
        for case in cases:
            try:
                results.append(self._run(function, case))
            except (Exception, SystemExit) as error:
                results.append(error)
        return results

    def _agree(self, given, right, tolerance=None):
        """Which numbers agree, or None if the result has another form."""
        try:
            given, right = numbers(given), numbers(right)
        except TypeError:
            return None
        if given.shape != right.shape:
            return None
        finite = np.isfinite(right)
        size = np.max(np.abs(1.0 * right), initial=0, where=finite)
        return np.isclose(
            given.astype(float), right, rtol=0, equal_nan=True,
            atol=(tolerance or self.tolerance) * size,
        )  # fmt: skip

    def _close(self, given, right, tolerance=None):
        if isinstance(right, BaseException):
            return type(given) is type(right)
        agree = self._agree(given, right, tolerance)
        return agree is not None and bool(np.all(agree))

    def _off(self, results):
        """The indices of the hand-made cases with a wrong result."""
        pairs = zip(results, self.right, strict=False)
        return [i for i, pair in enumerate(pairs) if not self._close(*pair)]

    @np.errstate(all="ignore")
    def check(self, function):
        """Return the reply to a function.

        Parameters
        ----------
        function : callable
            The function of the exercise. If it does nothing and returns None
            or ``...``, it counts as not yet written.

        Returns
        -------
        Reply
            Its text has at most `LONGEST` characters.
        """
        results = []
        for end in self.ends:
            results += self._tried(function, self.cases[len(results) : end])
            if results and all(r is None or r is ... for r in results):
                return self._empty(function)
            if off := self._off(results):
                return Reply(False, _cut(self._why(results, off[0]), LONGEST))
        return Reply(True, f"{len(results)} cases agree.")

    def _empty(self, function):
        """The reply to a function that returns nothing."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self._tried(function, self.cases[:1])
        if said.getvalue():
            return Reply(False, PRINTS)
        code = getattr(function, "__code__", None)
        # A function that an exercise has wrapped hides what it calls.
        if code and (
            code.co_freevars or len([*dis.get_instructions(code)]) < 4
        ):
            return Reply(None, UNWRITTEN)
        return Reply(False, SILENT)

    def _why(self, results, first):
        """The reply to wrong results, with the first of them."""
        for slip, text in self.wrong:
            if self._same(results, self._tried(slip, self.cases)):
                return text
        case, given = self.cases[first], results[first]
        for width in (np.float32, np.float16):
            if self._same(results, self._tried(self._in(width), self.cases)):
                return f"That is the result in {width.__name__}. {DOUBLE}"
        if isinstance(given, BaseException):
            return f"For {told(case)} it raises {told(given)}."
        return self._about(case, given, self.right[first])

    def _same(self, results, slips):
        """Whether a slip explains all results. NaN alone explains nothing."""
        pairs = [*zip(results, slips, strict=False)]
        return all(self._close(*p) for p in pairs) and any(
            isinstance(r, BaseException) or not np.isnan(numbers(r)).all()
            for r, _ in pairs
        )

    def _in(self, width):
        """The solution with floats of another width."""
        return lambda *case: self.solution(*_narrow(case, width))

    def _about(self, case, given, right):
        """The reply to a result that is wrong, and a cause that it shows."""
        gives = self._gives(case, given, right)
        try:
            found = numbers(given)
        except TypeError as error:
            return f"{gives} {error}".strip()
        near = any(
            self._close(given, right, off)
            for width, off in OFF.items()
            if np.array_equal(found, found.astype(width))
        )
        if found.dtype in (np.float16, np.float32):
            said = f"It gives {found.dtype} numbers. {DOUBLE}"
            return said if near else f"{said} {gives}"
        if np.isnan(found).any():
            return f"{gives} {NAN}"
        if near and numbers(right).dtype == float:
            said = "That is near: is something rounded, or kept in float32?"
            return f"{gives} {said} {DOUBLE}"
        return gives

    def _gives(self, case, given, right):
        """The reply to a wrong result, with enough digits to see it."""
        agree, place = self._agree(given, right), ""
        if agree is not None and agree.size > SHOWN:
            at = tuple(np.argwhere(~agree)[0].tolist())
            given, right = (float(numbers(x)[at]) for x in (given, right))
            place = f" at {list(at)}"
        for digits in (6, 9, 17):
            pair = [told(value, digits) for value in (given, right)]
            if pair[0] != pair[1]:
                break
        return (
            f"For {told(case)} it gives {pair[0]}{place}, "
            f"where {pair[1]} is right."
        )


def numbers(result):
    """Return the numbers of a result, in the precision that they have.

    Parameters
    ----------
    result : object
        A number, or an array or nested lists of numbers.

    Returns
    -------
    array

    Raises
    ------
    TypeError
        If anything in it is no real number: a text, for example.

    Examples
    --------
    >>> numbers([1, 2.5])
    array([1. , 2.5])
    >>> numbers("2.5")
    Traceback (most recent call last):
    TypeError: A text is not a number.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array, masked = np.array(result), _masked(result)
            parts = array.ravel().tolist() if array.dtype == object else []
            if parts and all(isinstance(x, Real | Decimal) for x in parts):
                array = array.astype(float)
    except Exception:  # whatever an object of a reader raises
        raise TypeError("") from None
    if masked:
        raise TypeError("A masked entry is not a number.")
    if array.dtype.kind in "US" or any(
        isinstance(x, str | bytes) for x in parts
    ):
        raise TypeError("A text is not a number.")
    if array.dtype.kind not in "biuf":
        raise TypeError("")
    return array


def _masked(result):
    """Whether a result has masked entries, which an array would show."""
    if isinstance(result, list | tuple):
        return any(map(_masked, result))
    return bool(np.ma.is_masked(result))


def _usual(value):
    """An argument whose integers have NumPy's default type, as those by hand.

    A generator draws 64 bits. In a browser the default is 32, and there
    `np.repeat`, `np.bincount` and `np.take` refuse the others.
    """
    whole = isinstance(value, np.ndarray) and value.dtype.kind == "i"
    return value.astype(int) if whole else value


def _narrow(value, width):
    """Return a value with its floats, also those in lists, of one width.

    Examples
    --------
    >>> _narrow(([0.1], 2), np.float16)
    ([np.float16(0.1)], 2)
    """
    if isinstance(value, list | tuple):
        return type(value)(_narrow(part, width) for part in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(width)
    return width(value) if isinstance(value, float) else value


def _cut(text, longest):
    """Return a text, or its beginning if it is too long.

    Examples
    --------
    >>> _cut("seven", 5), _cut("sixteen", 5)
    ('seven', 'sixt…')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def told(value, digits=6):
    """Return a value as text for a sentence: few digits, not much text.

    Examples
    --------
    >>> told((1, 2 / 3)), told([0.5, 1]), told(told)
    ('(1, 0.666667)', '[0.5, 1. ]', 'told')
    """
    try:
        return _cut(_told(value, digits), LONGEST // 4)
    except Exception:  # whatever an object of a reader raises
        return f"something of type {type(value).__name__}"


def _told(value, digits):
    if isinstance(value, tuple):
        parts = ", ".join(_told(part, digits) for part in value)
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    if isinstance(value, np.ndarray | list) and not _masked(value):
        try:
            value = np.asarray(value)
        except ValueError:  # rows of different lengths
            return f"[{', '.join(_told(row, digits) for row in value)}]"
        shape = "" if value.ndim < 2 else f" of shape {value.shape}"
        text = np.array2string(
            value, precision=digits - 2, separator=", ", threshold=SHOWN
        )
        if value.dtype.kind in "fc":
            text = text.replace("nan", "NaN")
        return _cut(" ".join(text.split()), LONGEST // 5) + shape
    if isinstance(value, float):
        return "NaN" if value != value else f"{value:.{digits}g}"
    if isinstance(value, types.FunctionType):
        return value.__name__  # without an address
    quoted = isinstance(value, str | bytes | BaseException)
    return repr(value) if quoted else str(value)
