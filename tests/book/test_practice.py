"""Questions: each check accepts its solution and knows its wrong answers."""

import ast
import contextlib
import itertools
import json
import random
import re
import signal
import time
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import assume, settings
from hypothesis import given as for_any
from hypothesis import strategies as st

from course import figures, practice
from course.practice import (
    Cell,
    Choice,
    Matrix,
    Number,
    Order,
    Predict,
    Reply,
    Task,
)
from course.questions.record import key_of
from tests.book.practice_pages import (
    LABS,
    PAGES,
    ROOT,
    definitions,
    forms,
    given,
    ran,
    record,
)
from tools import mutate

BOOK = ROOT / "book"


def place(path):
    """One name of a page for all tests, so that one worker runs it once."""
    return path.relative_to(BOOK).with_suffix("").as_posix()


every_page = pytest.mark.parametrize("path", PAGES + LABS, ids=place)
# To change each solution in every small way takes seconds a page: one page in
# four in each run, and all of them in the weekly one.
some_pages = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.weekly if k % 4 else ())
        for k, path in enumerate(PAGES + LABS)
    ],
    ids=place,
)
WITH_QUESTIONS = [
    path
    for path in sorted(BOOK.rglob("*.ipynb"))
    if ".ipynb_checkpoints" not in path.parts
    and "data-question=" in path.read_text(encoding="utf-8")
]


def in_browser(of, answer):
    """What the page's own script says of an answer."""
    state = json.dumps({"record": of, "given": answer})
    said = json.loads(figures.engine("practice")("check", state))
    return Reply(said["right"], said["text"])


# --- every practice page -----------------------------------------------------


@every_page
def test_each_check_knows_its_answers_in_python_and_on_the_page(path):
    stored = {name: record(form) for name, form in forms(path).items()}
    asked = ran(path).questions
    assert set(asked) == {n for n, of in stored.items() if "replies" in of}
    for name, question in asked.items():
        assert stored[name] == question.record, (
            f"the stored form of {name} is an older one; "
            f"run: make refresh CHAPTERS={path.relative_to(ROOT)}"
        )
        for values, reply in question.answers:
            answer = given(question, values)
            assert practice.judge(stored[name], answer) == reply, name
            assert in_browser(stored[name], answer) == reply, name


@every_page
def test_each_question_rejects_three_answers_in_different_words(path):
    for name, question in ran(path).questions.items():
        (_, right), *slips = question.answers
        assert right.right
        assert not any(reply.right for _, reply in slips)
        # A slip and what it is rounded to, as the form asks, are one.
        wrong = {(*as_asked(question, values), r.text) for values, r in slips}
        said = {reply.text for _, reply in slips}
        assert len(said) == len(wrong) >= 3, (
            f"{name} must know at least three wrong answers, each with a "
            f"reply of its own; got {len(wrong)} with {len(said)} replies. "
            "Add a pair (value, reply) to `wrong`, or an option"
        )


@every_page
def test_as_shipped_nothing_is_answered_and_with_solutions_all_is_right(path):
    page = ran(path)
    assert page.pending is None, f"no solution for {page.pending}"
    assert [reply.right for reply in page.unfilled] == [None] * len(page.tasks)
    assert [reply.right for reply in page.filled] == [True] * len(page.tasks)


@every_page
def test_each_task_knows_three_slips_by_their_replies(path):
    for task in ran(path).tasks:
        assert task.check(task.solution).right
        replies = [task.check(slip) for slip, _ in task.wrong]
        assert replies == [Reply(False, text) for _, text in task.wrong]
        assert len({reply.text for reply in replies}) >= 3


def narrowed(value, width):
    """A value with its floats, also those in lists, of one width."""
    if isinstance(value, list):
        return [narrowed(part, width) for part in value]
    floats = np.asarray(value).dtype.kind == "f"
    return np.asarray(value).astype(width)[()] if floats else value


def in_width(width):
    return lambda right: (
        lambda *given: np.asarray(
            right(*(narrowed(value, width) for value in given))
        ).astype(width)
    )


def reusing(right):
    """The results of a function, each in the memory of earlier ones."""
    kept = {}

    def function(*given):
        result = np.asarray(right(*given))
        mine = kept.setdefault(result.shape, np.empty_like(result))
        mine[...] = result
        return mine

    return function


def spoilt(spoil):
    return lambda right: lambda *given: spoil(np.asarray(right(*given)))


POINT = Reply(None, practice.POINT)
SWAP = str.maketrans(",.", ".,")
DOUBLE = "double precision (float64)"


@every_page
@pytest.mark.filterwarnings("ignore")  # what narrow numbers do
@pytest.mark.parametrize(
    ("wrap", "right", "said"),
    [
        # Where each number fits into the width, the result is right.
        (in_width(np.float32), None, DOUBLE),
        (in_width(np.float16), None, DOUBLE),
        (reusing, True, "cases agree"),
        (spoilt(lambda x: x + np.nan), False, "NaN"),
        (spoilt(lambda x: x.astype(str)), False, "A text is not a number"),
        (spoilt(lambda x: f"{x}"), False, "A text is not a number"),
        (spoilt(lambda x: np.ma.masked_all_like(x)), False, "masked entry"),
    ],
    ids=["float32", "float16", "reused", "NaN", "texts", "text", "masked"],
)  # fmt: skip
def test_what_spoils_a_right_result_is_named_in_every_task(
    path, wrap, right, said
):
    for written in ran(path).written:
        reply = written.task.check(written.function(written.source, wrap))
        allowed = [True, False] if right is None else [right]
        assert reply.right in allowed, written.name
        assert reply.right or said in reply.text, f"{written.name}: {reply}"
        assert right is False or reply.right or said == DOUBLE


def written_out(value, places, rule):
    """A number as readers type it, rounded or cut in decimals."""
    exact = Decimal(value).quantize(Decimal(1).scaleb(-places - 9))
    return f"{exact.quantize(Decimal(1).scaleb(-places), rule):f}"


def as_asked(question, values):
    """An answer as the form asks for it: numbers in decimals, or whole."""
    if not question.record["step"]:
        return values
    rule = ROUND_HALF_UP
    return [written_out(value, question.places, rule) for value in values]


@every_page
def test_a_slip_is_known_when_it_is_typed_as_the_form_asks(path):
    for name, question in ran(path).questions.items():
        for values, reply in question.answers:
            if question.record["step"]:
                typed = as_asked(question, values)
                assert question.check(typed) == reply, (
                    f"{name}: to {values} it replies {reply.text!r}, and to "
                    f"{typed} something else. List both in `wrong`"
                )


@every_page
def test_a_typed_answer_that_is_cut_or_has_commas_is_told_so(path):
    for name, question in ran(path).questions.items():
        if not question.record["step"]:
            continue
        values, places = question.answers[0][0], question.places
        typed = [written_out(x, places, ROUND_HALF_EVEN) for x in values]
        odd = []
        for i, (value, text) in enumerate(zip(values, typed, strict=True)):
            cut = written_out(value, places, ROUND_DOWN)
            if abs(Decimal(cut) - Decimal(value)) > Decimal(
                f"0.5000001e-{places}"
            ):
                odd.append((i, cut, Reply(False, practice.ROUND)))
            if practice.parse(text.replace(".", ",")) != float(text):
                odd.append((i, text.replace(".", ","), POINT))
            if abs(value) >= 1000:
                points = f"{float(text):,}".translate(SWAP)
                odd.append((i, points, POINT))
        for i, text, said in odd:
            answer = [*typed[:i], text, *typed[i + 1 :]]
            assert question.check(answer) == said, f"{name}: {answer}"
            assert in_browser(question.record, answer) == said
        nothing = [*typed[:-1], "nan"]
        assert question.check(nothing) == Reply(None, practice.NAN)
        assert in_browser(question.record, nothing).text == practice.NAN
        assert question.check(typed).right


class Endless(BaseException):
    """A program runs for longer than any solution."""


@contextlib.contextmanager
def limited(seconds):
    """Stop what takes more of the processor's time."""

    def stop(*_):
        raise Endless

    kept = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, kept)


def passes(task, function, seconds):
    """Whether a task finds a function right, and in time."""
    with contextlib.suppress(Endless), limited(seconds):
        return task.check(function).right is True
    return False


@some_pages
@pytest.mark.filterwarnings("ignore")  # what wrong programs do
def test_a_check_refuses_what_differs_on_any_of_200_inputs(path):
    for written in ran(path).written:
        task = written.task
        other = Task(
            task.solution, task.drawn(200, seed=1) or task.cases, [],
            tolerance=task.tolerance,
        )  # fmt: skip
        start = time.process_time()
        assert other.check(written.function(written.source)).right
        # The task has fewer cases; a program that never ends costs this much.
        enough = max(0.02, time.process_time() - start)
        accepted, tried = [], 0
        for _, change, source in mutate.mutants(written.source):
            with contextlib.suppress(SyntaxError):
                function = written.function(source)
                tried += 1
                if passes(task, function, enough):
                    if not passes(other, function, seconds=5):
                        accepted.append(change)
        assert not accepted, written.name
        assert tried >= 20, f"{written.name}: {tried}"


# --- every page with questions -----------------------------------------------


@pytest.mark.parametrize("path", WITH_QUESTIONS, ids=place)
def test_python_and_the_page_say_the_same_of_any_answer(path):
    """Every option, and numbers at random, of every stored question."""
    rng = random.Random(path.stem)
    for form in forms(path).values():
        of = record(form)
        if "replies" not in of:
            continue
        if of["step"]:
            count = len(of["cells"])
            tried = [
                [str(rng.choice([rng.uniform(-9, 9), rng.randint(-5, 5)]))
                 for _ in range(count)]
                for _ in range(40)
            ]  # fmt: skip
            tried += [
                [
                    rng.choice(["1,219", "4.096", "0,5", "-0.00", "0.7"])
                    for _ in range(count)
                ]
                for _ in range(20)
            ]
            tried += [["1/3"] * count, ["no"] * count, [""] * count]
        elif items := form.select("li"):
            tried = [
                list(p) for p in itertools.permutations(range(len(items)))
            ]
        else:
            tried = [[i] for i in range(len(form.select("[type=radio]")))]
        said = [practice.judge(of, answer) for answer in tried]
        assert [in_browser(of, answer) for answer in tried] == said
        if not of["step"]:
            assert sum(reply.right for reply in said) == 1, of["name"]


@pytest.mark.parametrize("path", WITH_QUESTIONS, ids=place)
def test_no_reply_can_be_read_in_what_a_page_gets(path):
    for name, form in forms(path).items():
        of = record(form)
        for _, known, hidden in of.get("replies", ()):
            assert isinstance(known, int)
            bytes.fromhex(hidden)
        assert set(of) <= {
            "name", "step", "otherwise", "replies", "cells", "shown",
        }, name  # fmt: skip
    if path in PAGES + LABS:
        html = "".join(map(str, forms(path).values()))
        for question in ran(path).questions.values():
            for _, reply in question.answers:
                assert reply.text not in html


def test_each_question_has_a_name_of_its_own_in_the_book():
    names = [name for path in WITH_QUESTIONS for name in forms(path)]
    assert len(names) == len(set(names)) > 0


# --- the two languages -------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.25", 0.25), (" 0.25 ", 0.25), ("1/4", 0.25), ("-3e-2", -0.03),
        ("−3", -3.0), (".5", 0.5), ("2.", 2.0), ("+1E2", 100.0),
        ("1 / -2", -0.5), ("5/8", 0.625), ("1e-3", 0.001), ("", None),
        ("a", None), ("1/0", None), ("0/0", None), ("1/2/3", None),
        ("1e999", None), ("inf", None), ("nan", None), (" nan ", None),
        ("0x1", None),
        ("٣", None), ("1 2", None), ("--1", None), ("1_0", None),
        ("0x1/2", None), ("1/0x2", None), ("e3", None), (".", None),
        # A comma groups thousands, and nothing else does.
        ("7,241.7", 7241.7), ("2,980.96", 2980.96), ("49,152", 49_152.0),
        ("1,234,567.5", 1_234_567.5), ("−1,024", -1024.0),
        ("8,192/2", 4096.0), ("1,000/1,000", 1.0), ("1,000e-3", 1.0),
        ("1,2", None), ("12,34", None), ("0,25", None), ("0,024", None),
        ("1024,000", None), ("1,0240", None), ("12,34,567", None),
        ("1,024,", None), (",024", None), ("1,,024", None),
        ("1.024,5", None), ("1,02.4", None), ("1/1,0", None),
        ("1 000", None), ("1.024.000", None),
    ],
)  # fmt: skip
def test_numbers_are_read_alike(text, value):
    assert practice.parse(text) == value
    question = number(0.25 if value is None else value, places=2)
    said = question.check(text)
    assert in_browser(question.record, [text]) == said
    if value is not None:
        assert said == Reply(True, "yes")
    elif text:
        comma = "," in text or text.count(".") > 1
        named = practice.POINT if comma else practice.HOW_TO_TYPE
        assert said == Reply(
            None, practice.NAN if text.strip() == "nan" else named
        )


PARTS = ["0", "1", "12", "123", "000", ",", ",", ".", "-", "−", "+", "/",
         "e", "E", " ", "\u00a0", "x"]  # fmt: skip


@for_any(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
@settings(max_examples=600)
def test_python_and_the_page_read_any_text_alike(text):
    value = practice.parse(text)
    assume(value is None or abs(value) < 1e6)
    question = number(0.5 if value is None else value, places=2)
    said = question.check(text)
    assert in_browser(question.record, [text]) == said
    assert said.right is (None if value is None else True)


def test_numbers_can_be_written_as_the_pages_say():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        (ways,) = re.findall(r"write a number as (.*?)\.\s", text) or [""]
        for way in re.findall("`(.*?)`", ways):
            assert practice.parse(way) is not None, f"{path.stem}: {way}"


def test_each_field_of_a_matrix_has_one_number():
    table = Matrix(
        "it", "?", [1024, 2048, 2.5], "yes", places=1, wrong=[],
        otherwise="no",
    )  # fmt: skip
    for texts, said in (
        (["1,024", "2,048", "2.5"], Reply(True, "yes")),
        (["1,024", "1,000", "2.5"],
         Reply(False, "Right so far: 2 of 3. Look at key 1. no")),
        (["1,024", "2,048", "2,5"], Reply(None, practice.POINT)),
        (["1,024", "2,048", "two"], Reply(None, practice.HOW_TO_TYPE)),
        (["1,024", "2,048", "1, 2"], Reply(None, practice.POINT)),
        (["1.024", "3.000", "2.5"], Reply(None, practice.POINT)),
    ):  # fmt: skip
        assert table.check(texts) == said
        assert in_browser(table.record, texts) == said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0.667 -0.429 0.001 1219", Reply(True, "yes")),
        ("0.666 -0.429 0.001 1219", Reply(False, practice.ROUND)),
        ("0.666 -0.428 0.000 1219", Reply(False, practice.ROUND)),
        ("0.6660 -0.429 -0 1219", Reply(False, practice.ROUND)),
        # Neither is cut, and what is worse than cut is named first.
        ("0.6661 -0.429 0.001 1219",
         Reply(False, "Right so far: 3 of 4. Look at key 0. no")),
        ("0.668 -0.428 0.001 1219",
         Reply(False, "Right so far: 2 of 4. Look at key 0. no")),
        ("0.666 -0.427 0.001 1219",
         Reply(False, "Right so far: 2 of 4. Look at key 1. no")),
        ("0.667 -0.429 0.001 1218.999",
         Reply(False, "Right so far: 3 of 4. Look at key 3. no")),
        # In one field, although the others are wrong, or cut as well.
        ("0.667 -0.429 0.001 1.219", POINT),
        ("5 5 5 1.219", POINT), ("0.666 -0.428 0 1.219", POINT),
        ("5 5 0,001 5", POINT), ("5,000 5 0.001 1219", Reply(False,
         "Right so far: 2 of 4. Look at key 0. no")),
        # The slip [1, 2, 3, 4]; a point is one, unless that is wrong too.
        ("1 2 3 4", Reply(False, "slip")), ("1,000 2 3 4", POINT),
        ("1 2 3 4.000", Reply(False, "slip")), ("1 2 3,000 4", POINT),
    ],
)  # fmt: skip
def test_what_is_cut_or_swapped_is_told_so_in_any_field(typed, said):
    row = Matrix(
        "it", "?", [2 / 3, -0.428996, 0.0007, 1219], "yes", places=3,
        wrong=[([1, 2, 3, 4], "slip")], otherwise="no",
    )  # fmt: skip
    assert row.check(typed.split()) == said
    assert in_browser(row.record, typed.split()) == said


@pytest.mark.parametrize(
    ("answer", "typed", "said"),
    [
        (1.024, "1,024", POINT), (1.0237, "1,023", POINT),
        (1024, "1.024", Reply(False, "slip")),
        (1024, "1.025", Reply(False, "no")),
        (2048, "2.048", POINT), (1, "1,234,567", Reply(False, "slip")),
        (1024.5, "1.024,5", POINT),
    ],
)  # fmt: skip
def test_a_slip_of_a_thousand_is_known_beside_a_decimal_comma(
    answer, typed, said
):
    slip = {1: 1_234_567, 1.024: 1024, 1.0237: 1024}.get(answer, 1.024)
    made = number(answer, places=3, wrong=[(slip, "slip")])
    assert made.check(typed) == said
    assert in_browser(made.record, [typed]) == said
    assert made.check(str(slip)) == Reply(False, "slip")


def number(answer=0.50648, places=4, wrong=(), **options):
    return Number(
        "it", "?", answer, "yes", places=places, wrong=wrong, otherwise="no",
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("answer", [0.50648, -0.50648, 0, 7 / 3, 1e3, -1e-4])
def test_half_a_unit_of_the_last_place_is_right_and_no_more(answer):
    question = number(answer)
    for off in (0, 0.98, -0.98):
        text = repr(answer + off * 0.5e-4)
        assert question.check(text).right, off
        assert in_browser(question.record, [text]).right
    for off in (1.02, -1.02, 2, 100, 402, -201, -400):
        text = repr(answer + off * 0.5e-4)
        assert question.check(text).right is False, off
        assert in_browser(question.record, [text]).right is False
    assert question.check(f"{answer:.4f}").right
    assert question.check(answer + 1).text == "no"


@pytest.mark.parametrize("sign", [1, -1])
def test_the_ends_of_a_slot_belong_to_it(sign):
    question = number(0.5)  # a whole number of steps, 100 to half a unit
    for off, right in ((1, True), (1.004, True), (1.006, False)):
        text = repr(0.5 + sign * off * 0.5e-4)
        assert question.check(text).right is right, off
        assert in_browser(question.record, [text]).right is right, off


def test_the_right_number_with_a_place_too_few_is_told_so():
    question = number()
    assert "4 decimal places" in question.check(0.506).text
    assert question.check(0.507).text == "no"
    assert question.check(0.51).text == "no"  # someone wrong, not coarse
    assert len(number(0.25, places=2, wrong=[(0.2, "cut")]).answers) == 2
    assert number(2.7, places=1).check(3).text.endswith("1 decimal place.")


def matrix():
    return Matrix(
        "it", "?", [[1, 2.5, 0], [3, 4, 1 / 3]], "yes", places=2,
        wrong=[([[1, 3, 0], [2.5, 4, 1 / 3]], "turned")], otherwise="no",
        rows="query", columns=["a", "b", "c"],
    )  # fmt: skip


def test_a_matrix_says_how_far_it_is_right_and_where_it_is_not():
    question = matrix()
    right = [["1", "2.5", "0"], ["3", "4", "1/3"]]
    assert question.check(right) == Reply(True, "yes")
    near = [row[:] for row in right]
    near[1][1] = "5"
    told = Reply(False, "Right so far: 5 of 6. Look at query 1, b. no")
    assert question.check(near) == told
    assert in_browser(question.record, [*near[0], *near[1]]) == told
    # Two slots may share a start: 1 and 3 are told apart by their places.
    swapped = [["3", "2.5", "0"], ["1", "4", "1/3"]]
    assert question.check(swapped).text.startswith("Right so far: 4 of 6.")
    assert question.check([1, 2]) == Reply(None, "Give 6 numbers.")
    assert question.check([["1", "", "0"], ["3", "4", "1/3"]]).right is None
    blank = in_browser(question.record, ["1", "", "0", "3", "4", "1/3"])
    assert blank == Reply(None, "")


def heads_of(rows, columns, shape):
    """What a matrix's table says, row by row; a field is an underscore."""
    question = Matrix(
        "it", "?", np.arange(np.prod(shape)).reshape(shape), "yes", places=0,
        wrong=[], otherwise="no", rows=rows, columns=columns,
    )  # fmt: skip
    lines = BeautifulSoup(question.html(), "html.parser").select("tr")
    return [
        [cell.text if cell.find("input") is None else "_" for cell in line]
        for line in lines
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "shape", "expected"),
    [
        ("row", "key", (2, 2), [["", "key 0", "key 1"], ["row 0", "_", "_"],
                                ["row 1", "_", "_"]]),
        ("row", ["sum"], (2, 1), [["row 0", "_"], ["row 1", "_"]]),
        ("row", "", (2, 2), [["row 0", "_", "_"], ["row 1", "_", "_"]]),
        ("", "key", (1, 2), [["key 0", "key 1"], ["_", "_"]]),
        ("", "", (1, 2), [["_", "_"]]),
    ],
)  # fmt: skip
def test_a_matrix_has_a_row_of_names_only_where_columns_are_named(
    rows, columns, shape, expected
):
    assert heads_of(rows, columns, shape) == expected


def test_nothing_given_is_no_answer():
    for question in (number(), matrix()):
        for nothing in (None, ...):
            assert question.check(nothing) == Reply(None, "")
    of = Choice("it", "?", [("a", True, "y"), ("b", False, "n")]).record
    assert in_browser(of, []).right is None


def test_order_cell_and_choice_answer_alike():
    order = Order(
        "it", "?", {"a": 1, "b": 2, "c": 3}, "yes", otherwise="no",
        wrong=[([3, 2, 1], "turned")],
    )  # fmt: skip
    assert order.items != ["a", "b", "c"], "shown in another order"
    assert order.check(["a", "b", "c"]) == Reply(True, "yes")
    assert order.check(["c", "b", "a"]) == Reply(False, "turned")
    assert order.check(["a", "c", "b"]) == Reply(False, "no")
    assert order.check(["a", "b"]).right is None
    cell = Cell(
        "it", "?", [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 7]], "yes",
        otherwise="no", wrong=[((0, 1), "row?")],
    )  # fmt: skip
    assert cell.check((1, 2)) == Reply(True, "yes")
    assert cell.check((0, 1)) == Reply(False, "row?")
    assert cell.check((1, 1)) == Reply(False, "no")
    assert cell.check((2, 0)).right is None
    choice = Choice("it", "?", [("a", False, "n"), ("b", 1 < 2, "y")])
    assert choice.check("b") == Reply(True, "y")
    assert choice.check("c").right is None


# --- what is refused ---------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: number(0.5, wrong=[(0.50001, "slip")]), "are the same"),
        (lambda: number(0.5, wrong=[(1, "a"), (1, "b")]), "are the same"),
        (lambda: Choice("it", "?", [("a", True, ""), ("b", True, "")]), "one"),
        (lambda: Choice("it", "?", [("a", False, "")]), "one option"),
        (lambda: Order("it", "?", {"a": 1, "b": 1}, "", wrong=[],
                       otherwise=""), "same value"),
        (lambda: Order("it", "?", {"a": 1, "b": 2}, "y", otherwise="",
                       wrong=[([3, 4], "n")]), "are the same"),
        (lambda: Cell("it", "?", [[1, 2]], [[1, 2]], "", wrong=[],
                      otherwise=""), "one number"),
        (lambda: Cell("it", "?", [[1, 2]], [[3, 4]], "", wrong=[],
                      otherwise=""), "one number"),
        (lambda: Matrix("it", "?", [1, 2], "", places=1, otherwise="",
                        wrong=[([1], "")]), "every answer"),
        (lambda: Predict("Two Words", "?", {"a": "1"}, ""), "name"),
        (lambda: Predict("it", "?", {}, ""), "nothing"),
        (lambda: Task(abs, [(1,)], [(lambda x: x, "sign")]), "no case"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_tell_answers_apart_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_whether_an_option_holds_is_computed():
    with pytest.raises(TypeError, match="must be a bool"):
        Choice("it", "?", [("a", 1, ""), ("b", False, "")])


# --- functions to be written -------------------------------------------------


def halves():
    return Task(
        lambda x: x / 2, [(3.0,), (-8.0,)],
        [(lambda x: x * 2, "Upside down."), (abs, "Where is the half?")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "right", "said"),
    [
        (lambda x: 0.5 * x, True, "2 cases"),
        (lambda x: 2 * x, False, "Upside down"),
        (lambda x: None, None, "Write"),
        (lambda x: ..., None, "Write"),
        (lambda x: 1 / 0, False, "raises ZeroDivisionError"),
        (lambda x: [x / 2], False, r"For \(3,\) it gives \[1.5\], where 1.5"),
        (lambda x: "a", False, "gives 'a'"),
        (lambda x: x / 2 if x > 0 else None, False, r"For \(-8,\)"),
        (lambda x: x / 2 + 1e-8, False, r"gives 1\.50000001, where 1\.5 is"),
        (lambda x: x / 2 * (1 + 1e-12), True, "cases"),
        (lambda: 1, False, "raises TypeError"),
    ],
)
def test_a_function_is_told_what_is_wrong_and_for_what(function, right, said):
    reply = halves().check(function)
    assert reply.right is right
    assert re.search(said, reply.text), reply


@pytest.mark.parametrize(
    ("off", "said"),
    [
        (1e-3, r"it gives 18\.1852, where 18\.1842 is right\."),
        (1e-5, r"it gives 18\.1842459, where 18\.1842359 is right\."),
        (1e-9, r"it gives 18\.184235\d+, where 18\.184235\d+ is right\."),
    ],
)
def test_a_reply_has_digits_enough_to_see_the_difference(off, said):
    task = Task(lambda x: x, [(18.1842359,)], [], tolerance=1e-12)
    reply = task.check(lambda x: x + off)
    assert re.search(said, reply.text), reply
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
    said = task.check(slip).text
    assert said.endswith("it gives 6 at [1, 2], where 5 is right.")
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


def test_a_function_may_spoil_what_it_gets():
    task = Task(
        lambda x: x.sum(), [(np.array([1.0, 2]),)],
        [(lambda x: x.max(), "The largest.")],
    )  # fmt: skip

    def spoils(x):
        x *= 0
        return x.sum()

    assert task.check(spoils).right is False
    assert task.check(lambda x: x.sum()).right


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
    said = task.check(lambda x: np.exp(x - x.max())).text
    assert said.startswith("For ([1., 0.],) it gives [1.")
    # Among those drawn the smallest is told.
    said = task.check(lambda x: task.solution(x) * (len(x) == 2)).text
    assert re.match(r"For \(\[-?\d+\.\],\) it gives \[0\.\], where", said)


def test_other_seeds_draw_other_cases_of_the_same_kind():
    task = softmaxes()
    one, two = task.drawn(9, seed=1), task.drawn(9, seed=2)
    assert [len(x) for (x,) in one] == sorted(len(x) for (x,) in one)
    assert not all(map(np.array_equal, one, two))
    assert halves().drawn(9, seed=1) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([np.array([1.0, 2]), 3.0], r"it gives \[\[1\., 2\.\], 3\], where"),
        (10**400, "it gives 1000"),
        (np.array(1.5 + 2j), r"it gives 1\.5\+2\.j, where 1\.5 is right"),
        ([None], r"it gives \[None\]"),
    ],
)
def test_any_result_is_told(given, said):
    reply = halves().check(lambda x: given)
    assert reply.right is False
    assert re.search(said, reply.text), reply


# --- what the tests rely on --------------------------------------------------


def test_the_small_changes_hold_slips_that_people_make():
    source = """def f(Q, K, mask):
    s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    e = np.exp(s - s.max(axis=-1, keepdims=True)) * (mask > 0)
    if len(K):
        e /= e.sum(axis=-1, keepdims=True)
    return [row[:2] for row in e if row.any()]"""
    changed = [program for *_, program in mutate.mutants(source)]
    assert len(set(changed)) == len(changed)
    programs = {ast.unparse(ast.parse(program)) for program in changed}
    assert ast.unparse(ast.parse(source)) not in programs
    for old, new in [
        ("math.sqrt(Q.shape[-1])", "Q.shape[-1]"),
        ("Q.shape[-1]", "4"),
        ("Q.shape[-1]", "len(K)"),
        ("K.swapaxes(-1, -2)", "K.swapaxes(-1, -2).T"),
        ("K.swapaxes(-1, -2)", "K"),
        ("s - s.max(axis=-1, keepdims=True)", "s"),
        ("s.max(axis=-1, keepdims=True)", "s[..., :1]"),
        ("e.sum(axis=-1, keepdims=True)", "e.sum(keepdims=True)"),
        ("mask > 0", "mask >= 0"),
        ("(mask > 0)", "(K > 0)"),
        ("e /= e.sum(axis=-1, keepdims=True)", "pass"),
        ("[:2]", "[:]"),
        ("(mask > 0)", "(mask > 1)"),
        ("row.any", "row.all"),
    ]:
        assert old in source
        wrong = ast.unparse(ast.parse(source.replace(old, new)))
        assert wrong in programs, f"{old} => {new}"


def test_a_solution_is_found_with_what_it_calls():
    code = "a = 1\ndef f(x):\n    return h(x)\ndef h(x):\n    return x\na"
    found = "def f(x):\n    return h(x)\n\n\ndef h(x):\n    return x"
    assert definitions(code, "f") == definitions(code, "h") == found
    assert definitions(code, "g") is None


def test_hidden_replies_are_read_with_their_own_answer_only():
    question = number(wrong=[(0.4, "Forgot the scale: √d.")])
    (_, _, hidden), *_ = question.record["replies"]
    key = key_of(question.record, [0.50648], question.record["replies"][0][0])
    assert practice.scramble(bytes.fromhex(hidden), key) == b"+yes"
    for other in range(5000, 5080):
        clear = practice.scramble(bytes.fromhex(hidden), f"it|{other}")
        assert (clear == b"+yes") == (f"it|{other}" == key)


def test_a_reply_may_hold_any_character():
    # A tab and a line's end have one digit in base 16, the others more.
    said = "Two lines:\n\t√, ∑ and %41."
    question = number(wrong=[(0.4, said)])
    assert question.check(0.4) == Reply(False, said)
    assert in_browser(question.record, ["0.4"]) == Reply(False, said)


def test_without_anywidget_a_question_is_still_shown(monkeypatch):
    def gone():
        raise ModuleNotFoundError("No module named 'anywidget'")

    monkeypatch.setattr("course.questions.form.widget_class", gone)
    data, _ = number()._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    assert data["text/plain"] == "Question: ?"


def test_in_jupyter_a_question_is_a_widget_of_the_same_form():
    question = number()
    data, _ = question._repr_mimebundle_()
    assert question._view.html == question.html()
    assert data["text/html"].endswith(question.html())
    assert "application/vnd.jupyter.widget-view+json" in data


def test_stored_pages_are_notebooks_of_their_lessons():
    for path in PAGES:
        lesson = BOOK / path.name
        assert lesson.exists(), f"{path.stem} has no lesson"
        nbformat.validate(nbformat.read(path, as_version=4))
