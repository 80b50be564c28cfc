"""Questions: each check accepts its solution and knows its wrong answers."""

import ast
import contextlib
import itertools
import random
import re
import time
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import nbformat
import numpy as np
import pytest

from course import practice
from course.practice import Reply, Task
from course.questions.record import packed
from tests.book.practice_pages import (
    LABS,
    PAGES,
    ROOT,
    definitions,
    forms,
    given,
    in_browser,
    ran,
    unpacked,
)
from tests.in_time import accepts
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


# --- every practice page -----------------------------------------------------


@every_page
def test_each_check_knows_its_answers_in_python_and_on_the_page(path):
    stored = {name: form["data-record"] for name, form in forms(path).items()}
    for name, question in ran(path).questions.items():
        assert stored[name] == packed(question.record), (
            f"the stored form of {name} is an older one; "
            f"run: make refresh CHAPTERS={path.relative_to(ROOT)}"
        )
        for values, reply in question.answers:
            answer = given(question, values)
            assert practice.judge(question.record, answer) == reply, name
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


def slips(value, places):
    """A right number with each slip that any number may have: its name.

    Worked out in decimals, without the program that judges it.
    """
    exact, unit = Decimal(value), Decimal(1).scaleb(-places)
    # A record has the number in steps, which are two hundredths of the unit.
    right = exact.quantize(unit, ROUND_HALF_UP)
    cut = exact.quantize(unit, ROUND_DOWN)
    if abs(cut - exact) > Decimal("0.501") * unit:
        yield cut, "Near"
    if places:
        yield f"{right:f}".replace(".", ","), practice.POINT
    if abs(right) >= 1000:
        yield f"{right:,f}".translate(SWAP), practice.POINT
    if abs(exact) > unit:
        yield -right, "sign is reversed"
        yield (1000 * exact).quantize(unit), "1,000 times too large"
        if places and 100 * unit < abs(exact) <= 1:
            yield (100 * exact).quantize(unit), "percentage"


def is_listed(record, values):
    """Whether a reply was written for this very answer."""
    return any(
        all(
            abs(value / record["step"] - steps) <= 101
            for value, steps in zip(values, reply["steps"], strict=True)
        )
        for reply in record["replies"][1:]
    )


@pytest.mark.parametrize("path", WITH_QUESTIONS, ids=place)
def test_a_slip_is_named_in_every_field_of_every_question(path):
    for name, form in forms(path).items():
        record = unpacked(form)
        if not record.get("step"):
            continue
        places, labels = record["places"], record["labels"]
        numbers = [n * record["step"] for n in record["replies"][0]["steps"]]
        unit = Decimal(1).scaleb(-places)
        right = [f"{Decimal(repr(x)).quantize(unit):f}" for x in numbers]
        assert practice.judge(record, right).right, name
        for i, number in enumerate(numbers):
            for typed, said in slips(repr(number), places):
                answer = [*right[:i], str(typed), *right[i + 1 :]]
                reply = practice.judge(record, answer)
                note = f"{name}: {answer} {reply}"
                assert not reply.right, note
                assert in_browser(form["data-record"], answer) == reply, note
                values = [practice.parse(text) for text in answer]
                if None not in values and is_listed(record, values):
                    continue
                assert said in reply.text, note
                if len(labels) > 1 and reply.right is False:
                    assert f"“{labels[i]}”: " in reply.text, note


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
                if accepts(task.check, function, enough):
                    if not accepts(other.check, function, seconds=5):
                        accepted.append(change)
        assert not accepted, written.name
        assert tried >= 20, f"{written.name}: {tried}"


# --- every page with questions -----------------------------------------------


@pytest.mark.parametrize("path", WITH_QUESTIONS, ids=place)
def test_python_and_the_page_say_the_same_of_any_answer(path):
    """Every option, and numbers at random, of every stored question."""
    rng = random.Random(path.stem)
    for form in forms(path).values():
        of = unpacked(form)
        if "replies" not in of:
            continue
        if of["step"]:
            count = len(of["labels"])
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
            options = form.select("[type=radio], .av-option") or (
                form.select_one("[data-stops]")["data-stops"].split("|")
            )
            tried = [[i] for i in range(len(options))]
        said = [practice.judge(of, answer) for answer in tried]
        page = form["data-record"]
        assert [in_browser(page, answer) for answer in tried] == said
        if not of["step"]:
            assert sum(reply.right for reply in said) == 1, of["name"]


@pytest.mark.parametrize("path", WITH_QUESTIONS, ids=place)
def test_no_reply_is_read_at_a_glance_in_what_a_page_gets(path):
    for form in forms(path).values():
        html = str(form)
        for reply in unpacked(form).get("replies", ()):
            assert reply["text"] not in html


def test_each_question_has_a_name_of_its_own_in_the_book():
    names = [name for path in WITH_QUESTIONS for name in forms(path)]
    assert len(names) == len(set(names)) > 0


def test_numbers_can_be_written_as_the_pages_say():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        (ways,) = re.findall(r"write a number as (.*?)\.\s", text) or [""]
        for way in re.findall("`(.*?)`", ways):
            assert practice.parse(way) is not None, f"{path.stem}: {way}"


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


def test_stored_pages_are_notebooks_of_their_lessons():
    for path in PAGES:
        lesson = BOOK / path.name
        assert lesson.exists(), f"{path.stem} has no lesson"
        nbformat.validate(nbformat.read(path, as_version=4))
