"""Tasks: functions that readers write, and the replies to wrong ones."""

import re
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from course.practice import NAN, Reply, Task
from course.questions.task import (
    DOUBLE,
    LONGEST,
    PRINTS,
    SILENT,
    UNWRITTEN,
    numbers,
    told,
)


def returns(value):
    return lambda *_: value


def task(right, **options):
    return Task(returns(right), [(0,)], [], **options)


@pytest.mark.parametrize(
    ("right", "given", "same"),
    [
        ([1e6, 0.0], [1e6, 0.0009], True),  # 1e-9 of the largest
        ([1e6, 0.0], [1e6, 0.0011], False),
        ([-1e6, 0.0], [-1e6, 0.0009], True),
        ([np.inf, 1.0], [np.inf, 1.0], True),
        ([np.inf, 1.0], [np.inf, 1.1], False),
        ([np.inf, 1.0], [1e9, 1.0], False),
        ([np.nan, 1.0], [np.nan, 1.0], True),
        ([np.nan, 1.0], [1.0, 1.0], False),
        ([], [], True),
        ([[1.0, 2.0]], [1.0, 2.0], False),  # the shape counts
        ([1.0, 1.0], 1.0, False),
        (1.0, {}, False),
        (0.0, 1e-300, False),
    ],
)
def test_task_compares_to_a_part_of_the_largest(right, given, same):
    assert task(right).check(returns(given)).right is same


def test_a_task_may_let_more_pass():
    generous = task(2.0, tolerance=0.1)
    assert generous.check(returns(2.19)).right
    assert generous.check(returns(2.21)).right is False


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "3"),
        (0.123456789, "0.123457"),
        ("a", "'a'"),
        (np.nan, "NaN"),
        ([0.5, np.nan], "[0.5, NaN]"),
        ((1, 2.0), "(1, 2)"),
        ((1,), "(1,)"),
        ([0.123456, 1], "[0.1235, 1. ]"),
        (np.arange(4.0).reshape(2, 2),
         "[[0., 1.], [2., 3.]] of shape (2, 2)"),
        (np.arange(8), "[0, 1, 2, 3, 4, 5, 6, 7]"),
        (np.arange(9), "[0, 1, 2, ..., 6, 7, 8]"),
        (([1, 2], np.zeros((1, 1))), "([1, 2], [[0.]] of shape (1, 1))"),
    ],
)  # fmt: skip
def test_told_values_have_few_digits(value, message):
    assert told(value) == message


def slips():
    """The larger of two numbers; one slip is right where the first is."""
    return Task(
        max, [(2.0, 1), (3.0, 5), (0.0, 4)],
        [(lambda a, b: a, "The first?"), (min, "The smaller.")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "reply"),
    [
        (max, Reply(True, "3 cases agree.")),
        (min, Reply(False, "The smaller.")),
        (lambda a, b: a, Reply(False, "The first?")),
        # A slip in some cases alone is not that slip.
        (lambda a, b: a if a else b,
         Reply(False, "For (3, 5) it gives 3, where 5 is right.")),
        (returns(None), Reply(None, UNWRITTEN)),
        (returns(...), Reply(None, UNWRITTEN)),
        (lambda a, b: None if a == 2 else b,
         Reply(False, "For (2, 1) it gives None, where 2 is right.")),
        (lambda a, b: a if a == 2 else 1 / 0,
         Reply(False, "For (3, 5) it raises "
               "ZeroDivisionError('division by zero').")),
    ],
)  # fmt: skip
def test_task_tells_the_first_case_that_is_wrong(function, reply):
    assert slips().check(function) == reply


class Hostile:
    """An object that cannot be copied, read, measured or shown."""

    def raises(self, *_, **__):
        raise RuntimeError

    __array__ = __deepcopy__ = __len__ = __getitem__ = raises
    __repr__ = __str__ = __float__ = raises


class HostileError(Hostile, Exception):
    pass


def raising(error):
    def function(*_):
        raise error

    return function


def within(itself):
    itself.append(itself)
    return itself


MASKED = np.ma.array([3.0, 6.0], mask=[False, True])
TEXT, HIDDEN = "A text is not a number.", "A masked entry is not a number."
SCREEN = 15 * 80


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("[3. 6.]", f"gives '[3. 6.]', where [3., 6.] is right. {TEXT}"),
        (b"3", f"gives b'3', where [3., 6.] is right. {TEXT}"),
        (["3", "6"], f"gives ['3', '6'], where [3., 6.] is right. {TEXT}"),
        ([3.0, "6"], TEXT), ((b"3", 6.0), TEXT),
        (np.array(["3", "6"]), TEXT),
        (np.array([3.0, "6"], object), TEXT),
        (MASKED, f"gives [3.0 --], where [3., 6.] is right. {HIDDEN}"),
        (np.ma.masked_all(2), HIDDEN), (np.ma.masked, HIDDEN),
        ([3.0, np.ma.masked], HIDDEN),
        ({"a": 3.0}, "gives {'a': 3.0}, where [3., 6.] is right."),
        (dict.fromkeys(range(9999)), "…, where [3., 6.] is right."),
        ("3" * 9999, TEXT), (10**9999, "gives something of type int, where"),
        ([[0.5] * k for k in range(500)], "…, where [3., 6.] is right."),
        (np.zeros((9,) * 5), "… of shape (9, 9, 9, 9, 9), where"),
        (np.zeros((2,) * 12), "… of shape (2, 2, 2"),
        (Hostile(), "gives something of type Hostile, where"),
        ([Hostile()] * 2, "gives something of type list, where"),
        (within([3.0]), "it gives "), ((x for x in [3.0, 6.0]), "generator"),
        (np.array([3 + 0j, 6]), "gives [3.+0.j, 6.+0.j], where [3., 6.]"),
        (np.array([3, 6], "M8[D]"), "gives ['1970-01-04', "), (None, "None"),
        ([np.nan, 6.0], f"gives [NaN, 6.], where [3., 6.] is right. {NAN}"),
        (np.nan, f"gives NaN, where [3., 6.] is right. {NAN}"),
        ([[3.0, np.nan]], f"[[ 3., NaN]] of shape (1, 2), where [3., 6.] is "
         f"right. {NAN}"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_any_result_is_told_what_it_is_on_less_than_a_screen(given, message):
    results = iter([[3.0, 6.0], given])
    made = Task(lambda x: np.array([x, 2.0 * x]), [(3.0,), (3.0,)], [])
    reply = made.check(lambda x: next(results))
    assert reply.right is False
    assert reply.text.startswith("For (3,) it gives ")
    assert message in reply.text
    assert len(repr(reply)) <= SCREEN


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("x" * 9999), "raises ValueError('xxxxx"),
        (HostileError(), "raises something of type HostileError."),
        (SystemExit(1), "raises SystemExit(1)."),
        (RecursionError("deep"), "raises RecursionError('deep')."),
    ],
)  # fmt: skip
def test_any_error_is_told_on_less_than_a_screen(error, message):
    reply = task(2.0).check(raising(error))
    assert reply.right is False
    assert reply.text.startswith(f"For (0,) it {message}")
    assert len(repr(reply)) <= SCREEN


def test_no_case_is_told_on_more_than_a_screen():
    long = Task(returns(0.0), [(np.zeros((2, 2)),) * 400], [])
    message = long.check(returns(1.0)).text
    assert message.endswith("… it gives 1, where 0 is right.")
    assert len(message) <= LONGEST <= SCREEN
    wordy = Task(returns(0.0), [(0,)], [(returns(2.0), "x" * 2000)])
    assert len(wordy.check(returns(2.0)).text) == LONGEST


@pytest.mark.parametrize(
    "given",
    [[3, 6], (3.0, 6), np.ma.array([3.0, 6]), np.array([3, 6], object),
     [Fraction(3), Decimal(6)], np.array([3, 6], np.uint8),
     np.array([3, 6], np.float16), np.array([3, 6], np.longdouble),
     np.array([3.0, 6.0])[::1]],
)  # fmt: skip
def test_numbers_of_any_kind_are_right(given):
    assert task([3.0, 6.0]).check(returns(given)).right
    assert numbers(given).dtype != object


def test_results_are_kept_as_they_were_returned():
    kept = np.zeros(2)

    def reuses(x):
        kept[:] = x, 2 * x
        return kept

    def keeps_a_list(x, rows=[]):  # noqa: B006
        rows[:] = [x, 2 * x]
        return rows

    def gives_its_argument(x):
        return x

    made = Task(lambda x: np.array([x, 2.0 * x]), [(1.0,), (3.0,)], [])
    assert made.check(reuses).right
    assert made.check(keeps_a_list).right
    assert Task(lambda x: x, [([1, 2],)], []).check(gives_its_argument).right


@pytest.mark.parametrize("width", [np.float16, np.float32])
def test_task_asks_a_narrow_result_for_double_precision(width):
    name, third = width.__name__, np.array([1 / 3, 2 / 3])

    def said(given, right=third, **options):
        return task(right, **options).check(returns(given)).text

    gives = f"It gives {name} numbers. {DOUBLE}"
    assert said(third.astype(width)) == gives
    assert said(list(third.astype(width))) == gives
    # What is wrong besides is told too.
    wrong = said(2 * third.astype(width))
    assert wrong.startswith(f"{gives} For (0,) it gives [0.66")
    assert said(np.ones(2, width), np.array([True, False])) == (
        f"{gives} For (0,) it gives [1., 1.], where [ True, False] is right."
    )
    # A shape is told, and what is asked for in this precision is right.
    assert "of shape (1, 2), where [" in said(third.astype(width)[None])
    assert said(third.astype(width), third.astype(width)) == "1 cases agree."
    # A slip that a task knows has its own reply.
    slip = Task(returns(third), [(0,)], [(returns(third + 1), "Plus 1.")])
    assert slip.check(returns(third + 1)).text == "Plus 1."


def test_task_knows_its_solution_in_a_narrow_precision():
    """The results of a comparison, or an error, do not show their width."""
    message = "That is the result in float32. This check asks for double "
    message += "precision (float64)."
    for kind in (list, tuple, np.array):
        pair = kind([1 / 3, 1 / 3 + 1e-9])
        made = Task(lambda x: x[0] == x[1] < 0.5, [(pair,)], [])
        assert made.check(lambda x: np.float32(x[0]) == np.float32(x[1])) == (
            Reply(False, message)
        )
        assert made.check(returns(2)).text.endswith("where False is right.")
    raises = Task(lambda x: int(x), [(1e30,)], [])
    message = raises.check(lambda x: int(np.float16(x))).text
    assert message.startswith("That is the result in float16.")


@pytest.mark.parametrize(
    ("right", "off", "near"),
    [([200.0, 0.5], 3e-8, True), ([200.0, 0.5], 0.9e-6, True),
     ([200.0, 0.5], 1.1e-6, False), ([200, 5], 3e-8, False),
     # More is explained where all numbers are those of a narrow precision.
     ([200.0, 0.3], (1 / 4 - 0.3) / 200, True),
     ([20.0, 0.3], (1 / 4 - 0.3) / 200, True),
     ([4.0, 0.3], (1 / 4 - 0.3) / 200, False)],
)  # fmt: skip
def test_task_says_of_a_near_result_what_may_be_rounded(right, off, near):
    """A count that is off by one is near, and nothing in it was rounded."""
    given = [right[0], right[1] + 200 * off]
    text = task(right).check(returns(given)).text
    message = "That is near: is something rounded, or kept in float32? This "
    assert (f"is right. {message}" in text) is near


def does_nothing(x):
    """A description."""


def prints(x):
    print(2 * x)


def ends_without_return(x):
    double = 2 * x  # noqa: F841


def wrapped(function):
    return lambda x: function(x)


@pytest.mark.parametrize(
    ("function", "reply"),
    [
        (does_nothing, Reply(None, UNWRITTEN)),
        (wrapped(does_nothing),
         Reply(None, UNWRITTEN)),
        (prints, Reply(False, PRINTS)),
        (wrapped(prints), Reply(False, PRINTS)),
        (partial(prints, 1), Reply(False, "For (2,) it raises TypeError")),
        (ends_without_return,
         Reply(False, SILENT)),
    ],
)  # fmt: skip
def test_task_says_of_what_returns_nothing_why(function, reply, capsys):
    message = Task(lambda x: 2 * x, [(2,), (3,)], []).check(function)
    assert message.right is reply.right
    assert message.text.startswith(reply.text)
    printed = "4\n6\n" if "prints" in reply.text else ""
    assert capsys.readouterr().out == printed


def test_nan_alone_is_no_slip():
    made = Task(
        lambda x: 1.0 * x, [(1,), (0,)],
        [(lambda x: x * np.float64(x) / x, "Do not divide."),
         (lambda x: x * np.nan, "All is NaN.")],
    )  # fmt: skip
    assert made.check(lambda x: np.float64(x) / x).text == "Do not divide."
    message = "For (1,) it gives NaN, where 1 is right. " + NAN
    assert made.check(returns(np.nan)).text == message


def test_task_says_nothing_of_divisions_by_zero():
    # The checks of this project raise where NumPy only warns.
    made = Task(
        lambda x: np.divide(1.0, x), [(0.0,), (2.0,)],
        [(lambda x: np.divide(2.0, x), "Two?")],
    )  # fmt: skip
    assert made.check(lambda x: np.float64(1) / x).right
    assert made.check(lambda x: 2 / np.float64(x)).text == "Two?"


def test_task_gives_each_case_arguments_of_its_own():
    given = [np.array([1.0, 2.0]), np.array([3.0])]
    made = Task(lambda x, y: x.sum() + y[0], [given], [])

    def spoils(x, y):
        total = x.sum() + y[0]
        x[:], y[:] = 0, 0
        return total

    assert made.check(spoils).right
    assert made.check(spoils).right
    assert given[0].tolist() == [1, 2]
    # A number stays one, and is no array without axes.
    kinds = Task(lambda x: x + 1, [(1.5,)], [])
    assert kinds.check(lambda x: round(x, 3) + 1).right
    assert kinds.check(lambda x: [2.5] if isinstance(x, np.ndarray) else 2.5)


@pytest.mark.parametrize(
    ("off", "message"),
    [
        (1e-3, r"it gives 18\.1852, where 18\.1842 is right\."),
        (1e-5, r"it gives 18\.1842459, where 18\.1842359 is right\."),
        (1e-9, r"it gives 18\.184235\d+, where 18\.184235\d+ is right\."),
    ],
)
def test_a_reply_has_digits_enough_to_see_the_difference(off, message):
    task = Task(lambda x: x, [(18.1842359,)], [], tolerance=1e-12)
    reply = task.check(lambda x: x + off)
    assert re.search(message, reply.text), reply
    one, two = re.findall(r"18\.\d+(?=,? )", reply.text.split("gives")[1])
    assert one != two
    row = Task(lambda x: np.array([x, x]), [(18.1842359,)], [])
    one, two = re.findall(
        r"\[.*?\]", row.check(lambda x: np.array([x, x + off * 100])).text
    )
    assert one != two


def test_of_a_large_result_the_first_number_that_is_off_is_told():
    def slip(x):
        x[1, 2] += 1
        x[2, 0] -= 1
        x[0, 0] += 1e-15  # within the tolerance
        return x

    task = Task(lambda x: x, [(np.arange(9.0).reshape(3, 3),)], [])
    message = task.check(slip).text
    assert message.endswith("it gives 6 at [1, 2], where 5 is right.")
    # What a few numbers show is shown whole, and so is another shape.
    few = Task(lambda x: x, [(np.arange(8.0),)], []).check(lambda x: -x).text
    assert few.endswith("where [0., 1., 2., 3., 4., 5., 6., 7.] is right.")
    assert "at [" not in few
    assert "of shape (3, 4)" in task.check(lambda x: np.c_[x, x[:, 0]]).text


def test_a_slip_that_overflows_is_told_from_other_answers():
    task = Task(
        lambda x: np.log1p(np.exp(-x)) + x, [(1.0,), (1000.0,)],
        [(lambda x: np.log1p(np.exp(x)), "It overflows.")],
    )  # fmt: skip
    assert task.check(task.wrong[0][0]).text == "It overflows."
    assert task.check(lambda x: x).text.startswith("For (1,)")


def test_a_function_gets_lists_and_whole_numbers_as_they_are():
    task = Task(
        lambda x, n: sum(x) + n, [([1, 2], 3)], [(lambda x, n: n, "And x?")]
    )
    assert task.check(lambda x, n: x.pop() + x.pop() + n).right
    assert task.check(lambda x, n: sum(x) + 4 - n.bit_length() + n - 2).right


def softmaxes():
    """Two cases by hand, which many a program passes that is wrong."""
    return Task(
        lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
        [(np.array([1.0, 0]),), (np.array([3.0, 0]),)],
        [(lambda x: np.exp(x - x[0]) / np.exp(x - x[0]).sum(), "The first."),
         (lambda x: np.exp(x) / np.exp(x).sum(), "It overflows."),
         (lambda x: x / x.sum(), "Where is the exponential?"),
         (lambda x: 1 / (1 + np.exp(x[::-1] - x).reshape(2)), "For two.")],
        inputs=lambda rng: [1.0 * rng.integers(-900, 900, rng.integers(1, 5))],
    )  # fmt: skip


def test_what_cases_by_hand_do_not_show_drawn_ones_do():
    task = softmaxes()
    assert task.check(task.solution) == Reply(True, "62 cases agree.")
    for slip, text in task.wrong:  # the last raises where there are not two
        assert task.check(slip) == Reply(False, text)
    # What is wrong by hand is told by hand.
    message = task.check(lambda x: np.exp(x - x.max())).text
    assert message.startswith("For ([1., 0.],) it gives [1.")
    # Among those drawn the smallest is told.
    message = task.check(lambda x: task.solution(x) * (len(x) == 2)).text
    assert re.match(r"For \(\[-?\d+\.\],\) it gives \[0\.\], where", message)


def test_integers_are_drawn_in_the_type_that_numpy_counts_with():
    """In a browser `np.repeat` and `np.bincount` take no other."""
    task = Task(
        np.bincount, [], [],
        inputs=lambda rng: [rng.integers(0, 4, 9).astype(np.int16)],
    )  # fmt: skip
    ((given,),) = task.drawn(1, seed=0)
    assert given.dtype == np.array([1]).dtype


def test_other_seeds_draw_other_cases_of_the_same_kind():
    task = softmaxes()
    one, two = task.drawn(9, seed=1), task.drawn(9, seed=2)
    assert [len(x) for (x,) in one] == sorted(len(x) for (x,) in one)
    assert not all(map(np.array_equal, one, two))
    assert slips().drawn(9, seed=1) == []
