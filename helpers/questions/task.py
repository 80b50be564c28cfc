"""Functions that readers write, and the replies to wrong ones."""

import copy
import warnings

import numpy as np

from .record import Reply

SHOWN = 8  # a reply shows at most this many numbers of an array
DRAWN = 60  # the number of random cases


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
        cases = [tuple(self.inputs(rng)) for _ in range(count)]
        return sorted(cases, key=lambda case: sum(map(np.size, case)))

    @staticmethod
    def _run(function, case):
        """The result of a function on copies of arguments."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # empty means
            return function(*copy.deepcopy(case))

    def _tried(self, function, cases):
        """The results of a function on some cases, or its error."""
        results = []
        for case in cases:
            try:
                results.append(self._run(function, case))
            except Exception as error:
                results.append(error)
        return results

    def _agree(self, given, right):
        """Which numbers agree, or None if the result has another form."""
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
        """The indices of the hand-made cases with a wrong result."""
        pairs = zip(results, self.right, strict=False)
        return [i for i, pair in enumerate(pairs) if not self._close(*pair)]

    def check(self, function):
        """Return the reply to a function.

        Parameters
        ----------
        function : callable
            The function of the exercise. If it returns None or ``...``, it
            counts as not yet written.

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
        """The reply to wrong results, with the first of them."""
        for slip, text in self.wrong:
            slips = self._tried(slip, self.cases[: len(results)])
            if all(map(self._close, results, slips)):
                return text
        case, given = self.cases[first], results[first]
        if isinstance(given, Exception):
            return f"For {told(case)} it raises {given!r}."
        return self._gives(case, given, self.right[first])

    def _gives(self, case, given, right):
        """The reply to a wrong result, with enough digits to see it."""
        agree, place = self._agree(given, right), ""
        if agree is not None and agree.size > SHOWN:
            at = tuple(np.argwhere(~agree)[0].tolist())
            given, right = (float(np.asarray(x)[at]) for x in (given, right))
            place = f" at {list(at)}"
        for digits in (6, 9, 17):
            pair = [told(value, digits) for value in (given, right)]
            if pair[0] != pair[1]:
                break
        return (
            f"For {told(case)} it gives {pair[0]}{place}, "
            f"where {pair[1]} is right."
        )


def told(value, digits=6):
    """Return a value as text for a sentence, with few digits.

    Parameters
    ----------
    value : object
    digits : int, default 6
        The number of digits of a float.

    Returns
    -------
    str

    Examples
    --------
    >>> told((1, 2 / 3)), told([0.5, 1])
    ('(1, 0.666667)', '[0.5, 1. ]')
    """
    if isinstance(value, tuple):
        parts = ", ".join(told(part, digits) for part in value)
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    if isinstance(value, np.ndarray | list):
        try:
            value = np.asarray(value)
        except ValueError:  # rows of different lengths
            return f"[{', '.join(told(row, digits) for row in value)}]"
        shape = "" if value.ndim < 2 else f" of shape {value.shape}"
        text = np.array2string(
            value, precision=digits - 2, separator=", ", threshold=SHOWN
        )
        return " ".join(text.split()) + shape
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)
