"""Questions: the forms that pages get, and the rules of their records."""

import itertools
import json
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from bs4 import BeautifulSoup

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
from course.questions.form import widget_class
from course.questions.task import LONGEST, numbers, told

ASK = "Is `a<b>c` & d?"
WHERE = "See `here`."


def number(answer=0.5, places=2, wrong=(), **options):
    return Number(
        "half", ASK, answer, "yes", places=places, wrong=wrong,
        otherwise="no", **options,
    )  # fmt: skip


def matrix(answer=((1, 2.5), (3, 4)), places=2, wrong=(), **options):
    return Matrix(
        "table", ASK, answer, "yes", places=places, wrong=wrong,
        otherwise="no", **options,
    )  # fmt: skip


def choice(name="pick", texts=("one", "`two`", "three < 4"), **options):
    return Choice(
        name, ASK, [(t, t == "one", f"{t}?") for t in texts], **options
    )


def cell(shown=((1, 2), (3, 5)), true=((1, 2), (3, 4)), **options):
    return Cell(
        "slip", ASK, shown, true, "yes", otherwise="no",
        wrong=[((0, 1), "row?")], **options,
    )  # fmt: skip


def order(name="sizes", items=None, **options):
    items = items or {"`a`": 2, "b": -3, 'c < "d"': 1}
    return Order(name, ASK, items, "yes", otherwise="no", wrong=[], **options)


# --- the form ----------------------------------------------------------------


def parsed(question):
    return BeautifulSoup(question.html(), "html.parser").form


EACH = {
    "av-matrix": matrix(where=WHERE),
    "av-choice": choice(where=WHERE),
    "av-cell": cell(where=WHERE),
    "av-order": order(where=WHERE),
    "av-predict": Predict("sum", ASK, {"2 + 2": "4"}, "Then."),
}


@pytest.mark.parametrize("kind", EACH)
def test_html_is_a_form_with_a_record_a_name_and_a_reply(kind):
    form = parsed(EACH[kind])
    assert kind in form["class"]
    assert json.loads(form["data-record"]) == EACH[kind].record
    assert form["data-question"] == EACH[kind].name
    asked = "Is <code>a&lt;b&gt;c</code> &amp; d?"
    assert form.fieldset.legend.decode_contents() == asked
    buttons = [(b["type"], b.text) for b in form.select(".av-press button")]
    check = "Compare" if kind == "av-predict" else "Check"
    assert buttons[-2:] == [("submit", check), ("button", "Clear")]
    assert form.select_one("[role=status]").text == ""
    said = "See <code>here</code>."
    if kind == "av-predict":
        said = "What happens is folded below."
    assert form.noscript.p.decode_contents() == said


@pytest.mark.parametrize(
    "make", [number, matrix, choice, cell, order], ids=lambda f: f.__name__
)
def test_html_says_without_scripts_where_the_answer_is(make):
    assert parsed(make()).noscript.p.text == "The solution is below."


def cells(question):
    """The rows of a question's table: kind and text of each cell."""
    return [
        [(part.name, part.text.strip()) for part in row.find_all(["td", "th"])]
        for row in parsed(question).find_all("tr")
    ]


def labels(question):
    return [field["aria-label"] for field in parsed(question).select("input")]


def test_html_of_a_matrix_names_its_rows_columns_and_fields():
    jar = 'jar <b "1">'
    question = matrix(rows=jar, columns=["x", "y"])
    field = ("td", "")
    assert cells(question) == [
        [("td", ""), ("th", "x"), ("th", "y")],
        [("th", f"{jar} 0"), field, field],
        [("th", f"{jar} 1"), field, field],
    ]
    names = [f"{jar} {i}, {x}" for i in (0, 1) for x in "xy"]
    assert labels(question) == names
    scopes = [th["scope"] for th in parsed(question).find_all("th")]
    assert scopes == ["col", "col", "row", "row"]
    # Names that are empty or alone are left out.
    assert cells(number()) == [[field]]
    assert labels(number()) == ["answer"]
    heads = [("th", "key 0"), ("th", "key 1")]
    assert cells(matrix([1, 2])) == [heads, [field] * 2]
    one = matrix([[1], [2]], rows=["a", "b"])
    assert cells(one) == [[("th", name), field] for name in "ab"]


@pytest.mark.parametrize(
    ("places", "said"), [(0, "whole"), (1, "1"), (3, "3")]
)
def test_html_says_how_many_places_are_asked_for(places, said):
    note = parsed(number(7, places)).select_one(".av-note").text
    assert said in note.split()


def test_html_of_a_choice_and_of_a_cell_has_labelled_buttons():
    options = parsed(choice()).find_all("label")
    assert {label.span.decode_contents() for label in options} == {
        "one", "<code>two</code>", "three &lt; 4",
    }  # fmt: skip
    col = '<col "x">'
    question = cell(rows="row", columns=col, places=1)
    assert cells(question)[1] == [
        ("th", "row 0"),
        ("td", "1.0"),
        ("td", "2.0"),
    ]
    assert labels(question) == [
        f"row {i}, {col} {j}: {x}"
        for (i, j), x in zip(
            itertools.product((0, 1), repeat=2),
            ["1.0", "2.0", "3.0", "5.0"],
            strict=True,
        )
    ]
    for form in (parsed(choice()), parsed(question)):
        (name,) = {
            (field["type"], field["name"]) for field in form.select("input")
        }
        assert name == ("radio", form["data-question"])


def test_html_of_an_order_has_two_buttons_for_each_item():
    question = order()
    for i, item in enumerate(parsed(question).select("ol > li")):
        text = question.items[i]
        assert item["data-item"] == str(i)
        assert item.span.text == text.strip("`")
        pressed = [(b["type"], b["aria-label"]) for b in item.select("button")]
        assert pressed == [
            ("button", f"{text}: up"), ("button", f"{text}: down"),
        ]  # fmt: skip


def test_html_of_a_prediction_has_a_field_in_the_label_of_each_name():
    shown = {"`x`": "1", "y < z": "2"}
    found = parsed(Predict("it", ASK, shown, "")).find_all("label")
    assert [label.text.strip() for label in found] == ["x", "y < z"]
    assert all(label.input["type"] == "text" for label in found)


def test_repr_mimebundle_brings_style_and_script_to_jupyter():
    question = number()
    data, _ = question._repr_mimebundle_()
    note = BeautifulSoup(data["text/html"], "html.parser").p
    assert "run this cell" in note.text
    style = figures.path_of("practice.css")
    assert widget_class()._css == style.read_text("utf-8")
    assert widget_class()._esm == figures.module("practice")
    assert "html" in question._view.keys  # what the page is told of


# --- what a record holds -----------------------------------------------------


def fnv1a(text):
    """The hash by its definition: an exclusive or, then a product."""
    found = 2166136261
    for character in text:
        found = (found ^ ord(character)) * 16777619 & 0xFFFFFFFF
    return found


def test_mark_is_the_hash_as_published():
    assert fnv1a("foobar") == 0xBF9CF968
    for text in ("", "foobar", "√"):
        assert practice.mark(text) == fnv1a(text)


def descrambled(hidden, key):
    return bytes(
        byte ^ fnv1a(f"{place}|{key}") >> 24
        for place, byte in enumerate(bytes.fromhex(hidden))
    ).decode()


def test_record_opens_a_reply_with_the_steps_of_its_answer():
    # Steps of 0.005 / 100 around 0.37 and -0.1, by hand.
    question = number(0.37, wrong=[(-0.1, "A sign: √.")])
    assert question.record["step"] == 5e-5
    for (starts, known, hidden), steps, said in zip(
        question.record["replies"],
        (7400, -2000),
        ("+yes", "-A sign: √."),
        strict=False,
    ):
        (start,) = starts
        slot, rest = divmod(steps - 100 - start, 201)
        assert rest == 0
        assert 0 <= start < 201  # or it would tell where the answer lies
        key = f"half|{slot}"
        assert (known, descrambled(hidden, key)) == (fnv1a(key), said)


def test_record_joins_the_slots_of_a_matrix_by_commas():
    record = matrix().record
    ((starts, known, _),) = record["replies"]
    steps = (20000, 50000, 60000, 80000)  # of 0.00005
    slots = [
        (step - 100 - start) // 201
        for step, start in zip(steps, starts, strict=True)
    ]
    assert known == fnv1a("table|{},{},{},{}".format(*slots))
    for place, (start, known, _) in enumerate(record["cells"]):
        assert start == starts[place]
        assert known == fnv1a(f"{place}|table|{slots[place]}")


def test_record_of_a_prediction_hides_what_happens():
    shown = {"a": "1", "b": "≈ 2"}
    record = Predict("it", ASK, shown, "So it is: √.").record
    assert set(record) == {"name", "shown"}
    assert json.loads(descrambled(record["shown"], "it")) == [
        "1", "≈ 2", "So it is: √.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("places", "off"), [(0, 0.05), (1, 0.05), (2, 0.005), (3, 0.0005)]
)
def test_check_lets_half_a_unit_or_half_a_tenth_pass(places, off):
    question = number(3, places)
    for sign in (1, -1):
        assert question.check(3 + 0.99 * sign * off).right
        assert question.check(3 + 1.01 * sign * off).right is False


def test_number_takes_two_answers_side_by_side_and_not_closer():
    beside = 0.5 + 201 * 5e-5  # a slot has 100 steps to each side of one
    assert number(wrong=[(beside, "slip")]).check(beside).text == "slip"
    assert number(wrong=[(1 - beside, "slip")])
    for closer in (beside - 5e-5, 1 - beside + 5e-5):
        said = "half: the answers to which it replies 'yes' and 'slip' are "
        said += "the same; choose numbers that differ"
        with pytest.raises(ValueError, match=said):
            number(wrong=[(closer, "slip")])
    # One number of a matrix that differs is enough, whichever it is.
    for i in range(4):
        other = np.array([[1, 2.5], [3, 4]]) + np.eye(4)[i].reshape(2, 2)
        assert matrix(wrong=[(other, "slip")]).check(other).text == "slip"


def test_check_names_what_is_wrong_as_the_table_does():
    question = matrix(rows="jar", columns="")
    assert question.names == ["jar 0", "jar 0", "jar 1", "jar 1"]
    labels = [label for _, _, label in matrix().record["cells"]]
    assert labels == ["key 0", "key 1", "key 0", "key 1"]
    assert [label for *_, label in number().record["cells"]] == ["answer"]
    assert choice().record["cells"] == []
    assert choice().record["otherwise"] == ""
    for question in (matrix(), matrix([1, 2, 3, 4])):
        assert question.check([[1, 0], [3, 4]]).text.startswith("Right so far")


def coarse(*values, places=4, wrong=()):
    """The right answer with a place too few, if the question knows one."""
    made = matrix(values, places, [([v], "slip") for v in wrong])
    return [v for v, reply in made.answers if reply.text.startswith("Near")]


def test_matrix_answers_a_place_too_few_where_it_is_another():
    assert coarse(0.5068) == [[0.507]]
    # Within 1.5 units of the fourth place it may be a slip of rounding.
    assert coarse(0.5062) == [[0.506]]
    assert coarse(0.50613) == []
    assert coarse(0.5058) == [[0.506]]
    assert coarse(0.1, 0.5068) == [[0.1, 0.507]]
    assert coarse(0.5068, wrong=[0.9]) == [[0.507]]
    assert coarse(0.5068, wrong=[0.5071]) == []
    assert coarse(3.37, places=1) == [[3.0]]
    # A zero says nothing of how near it is.
    assert coarse(0.37, places=1) == []
    assert coarse(14, places=0) == []
    said = "Near, but give 4 decimal places."
    assert matrix([0.5068], 4).check([0.507]) == Reply(False, said)


def test_choice_and_order_show_an_order_of_their_own():
    texts = ["one", "two", "three", "four", "five"]
    for turned in (texts, texts[::-1]):
        shown = choice("pick", turned).options
        assert shown == sorted(texts, key=lambda t: fnv1a("pick" + t))
        assert choice("pick", turned).check("one").right
    items = {"a": 1, "b": 2, "c": 3}
    by_hash = 0
    for i in range(12):
        shown = order(f"n{i}", items).items
        expected = sorted(items, key=lambda t: fnv1a(f"n{i}" + t))
        by_hash += shown == expected
        if expected == ["a", "b", "c"]:
            expected = ["b", "c", "a"]
        assert shown == expected
    assert 0 < by_hash < 12  # both happened


def test_judge_counts_the_numbers_of_a_matrix_row_by_row():
    # The page counts its buttons in their order.
    wrong = [((0, 1), "row?"), ((1, 0), "column?")]
    found = Cell(
        "slip", ASK, [[1, 2, 3], [4, 5, 7]], [[1, 2, 3], [4, 5, 6]], "yes",
        otherwise="no", wrong=wrong,
    )  # fmt: skip
    assert [values for values, _ in found.answers] == [[5], [1], [3]]
    assert practice.judge(found.record, [5]) == Reply(True, "yes")


def test_choice_knows_the_right_option_by_its_place():
    question = choice()
    (_, right), *others = question.answers
    assert right == Reply(True, "one?")
    assert [reply.right for _, reply in others] == [False] * 2
    for values, reply in question.answers:
        assert reply.text == f"{question.options[values[0]]}?"
    bools = [("a", np.True_, "y"), ("b", np.False_, "n")]
    assert Choice("it", "?", bools).check("a").right is True


# --- what is refused, and what is no answer ----------------------------------


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: choice("Two Words"), ValueError,
         "name must be like two-keys; got 'Two Words'"),
        (lambda: Predict("a--b", "?", {"a": "1"}, ""), ValueError,
         "name must be like two-keys; got 'a--b'"),
        (lambda: Predict("it", "?", {}, ""), ValueError,
         "it: nothing is asked for"),
        (lambda: matrix(wrong=[([1, 2.5, 3, 4], "flat")]), ValueError,
         "table: every answer must be (2, 2)"),
        (lambda: matrix([1, 2.5], 0), ValueError,
         "table: give places, or whole numbers"),
        (lambda: matrix([1, 2], None), TypeError,
         "table: places must be an int; got None"),
        (lambda: matrix([1, 2], -1), ValueError,
         "table: places must be at least 0"),
        (lambda: Choice("it", "?", [("a", 1, "")]), TypeError,
         "it: whether 'a' holds must be a bool"),
        (lambda: choice(texts=("two", "three")), ValueError,
         "pick: one option must be right"),
        (lambda: cell(true=((1, 2), (4, 4))), ValueError,
         "slip: one number must differ; got [(1, 0), (1, 1)]"),
        (lambda: cell(true=((1, 2), (3, 5.004))), ValueError,
         "slip: one number must differ; got []"),
        (lambda: order(items={"a": 1, "b": 2, "c": 1}), ValueError,
         "sizes: two items have the same value"),
        (lambda: Task(abs, [(1,)], [(lambda x: x, "sign")]), ValueError,
         "no case shows the slip of 'sign'"),
    ],
)  # fmt: skip
def test_question_refuses_what_makes_none(make, error, said):
    with pytest.raises(error, match=f"^{re.escape(said)}$"):
        make()


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        (number(), [1, 2], "Give 1 numbers."),
        (matrix(), [1, 2, 3], "Give 4 numbers."),
        (choice(texts=("one",)), "four", "Choose one of ['one']."),
        (cell(), (2, 0), "Give a row and a column of (2, 2)."),
        (cell(), (0, 2), "Give a row and a column of (2, 2)."),
        (cell(), (-1, 0), "Give a row and a column of (2, 2)."),
        (cell(), (0, -1), "Give a row and a column of (2, 2)."),
        (order(), ["b"], "Give the 3 items in order."),
        (number(), "half", practice.HOW_TO_TYPE),
        (number(), "1/half", practice.HOW_TO_TYPE),
        (number(), "1/2/3", practice.HOW_TO_TYPE),
        (number(), " ", ""),
        (matrix(), [["1", ""], ["3", "4"]], ""),
        (matrix(), [["1", "two"], ["3", "4"]], practice.HOW_TO_TYPE),
        (matrix(), None, ""),
        (order(), ..., ""),
    ],
)
def test_check_takes_another_form_for_no_answer(question, answer, said):
    assert question.check(answer) == Reply(None, said)


def test_cell_has_an_answer_for_every_place():
    wide = cell([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 0, 6]])
    said = {(i, j): wide.check((i, j)) for i in (0, 1) for j in (0, 1, 2)}
    assert said.pop((1, 1)) == Reply(True, "yes")
    assert said.pop((0, 1)) == Reply(False, "row?")
    assert set(said.values()) == {Reply(False, "no")}
    row = Cell("row", ASK, [[1, 2]], [[1, 3]], "yes", wrong=[], otherwise="no")
    assert [row.check((0, j)).right for j in (0, 1)] == [False, True]


def test_order_judges_every_order_of_items():
    question = order()
    for items in itertools.permutations(question.items):
        right = items == ("b", 'c < "d"', "`a`")
        assert question.check(list(items)).right is right


def test_repr_says_what_a_question_asks():
    assert repr(number()) == f"Question: {ASK}"
    assert repr(Predict("it", ASK, {"a": "1"}, "")) == f"Predict: {ASK}"
    said = [repr(Reply(right, "So.")) for right in (True, False, None)]
    assert said == ["✓ Right. So.", "✗ Not yet. So.", "Not answered yet. So."]


# --- functions to be written -------------------------------------------------


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
    ("value", "said"),
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
def test_told_values_have_few_digits(value, said):
    assert told(value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1 / 3 + 1e-8, "it gives 0.333333343, where 0.333333333 is right."),
        (np.nextafter(1 / 3, 1), "it gives 0.33333333333333337, where "
         "0.33333333333333331 is right."),
    ],
)  # fmt: skip
def test_task_tells_six_nine_or_seventeen_digits(given, said):
    exact = task(1 / 3, tolerance=0)
    assert f"{said} That is near" in exact.check(returns(given)).text


def test_task_tells_what_is_off_in_lists_tuples_and_small_floats():
    def end(right, given):
        said = task(right).check(returns(given)).text
        return re.search("it gives (.*? is right.)", said)[1]

    rows = [[0.0] * 5, [0.0] * 4 + [1 / 3]]
    other = [[0.0] * 5, [0.0] * 4 + [1 / 3 + 0.01]]
    said = "0.343333 at [1, 4], where 0.333333 is right."
    assert end(rows, other) == said
    assert end(np.array(rows), np.array(other)) == said
    pair, near = (1 / 3, 2.0), (1 / 3 + 1e-8, 2.0)
    said = "(0.333333343, 2), where (0.333333333, 2) is right."
    assert end(pair, near) == said


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
        (returns(None), Reply(None, "Write the function, and run this cell.")),
        (returns(...), Reply(None, "Write the function, and run this cell.")),
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
NAN = "NaN comes from 0/0, inf - inf or 0 * inf."
SCREEN = 15 * 80


@pytest.mark.parametrize(
    ("given", "said"),
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
def test_any_result_is_told_what_it_is_on_less_than_a_screen(given, said):
    results = iter([[3.0, 6.0], given])
    made = Task(lambda x: np.array([x, 2.0 * x]), [(3.0,), (3.0,)], [])
    reply = made.check(lambda x: next(results))
    assert reply.right is False
    assert reply.text.startswith("For (3,) it gives ")
    assert said in reply.text
    assert len(repr(reply)) <= SCREEN


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("x" * 9999), "raises ValueError('xxxxx"),
        (HostileError(), "raises something of type HostileError."),
        (SystemExit(1), "raises SystemExit(1)."),
        (RecursionError("deep"), "raises RecursionError('deep')."),
    ],
)  # fmt: skip
def test_any_error_is_told_on_less_than_a_screen(error, said):
    reply = task(2.0).check(raising(error))
    assert reply.right is False
    assert reply.text.startswith(f"For (0,) it {said}")
    assert len(repr(reply)) <= SCREEN


def test_no_case_is_told_on_more_than_a_screen():
    long = Task(returns(0.0), [(np.zeros((2, 2)),) * 400], [])
    said = long.check(returns(1.0)).text
    assert said.endswith("… it gives 1, where 0 is right.")
    assert len(said) <= LONGEST <= SCREEN
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
    ends = "double precision (float64)."

    def said(given, right=third, **options):
        return task(right, **options).check(returns(given)).text

    gives = f"It gives {name} numbers. This check asks for {ends}"
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
    said = "That is the result in float32. This check asks for double "
    said += "precision (float64)."
    for kind in (list, tuple, np.array):
        pair = kind([1 / 3, 1 / 3 + 1e-9])
        made = Task(lambda x: x[0] == x[1] < 0.5, [(pair,)], [])
        assert made.check(lambda x: np.float32(x[0]) == np.float32(x[1])) == (
            Reply(False, said)
        )
        assert made.check(returns(2)).text.endswith("where False is right.")
    raises = Task(lambda x: int(x), [(1e30,)], [])
    said = raises.check(lambda x: int(np.float16(x))).text
    assert said.startswith("That is the result in float16.")


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
    said = "That is near: is something rounded, or kept in float32? This "
    assert (f"is right. {said}" in text) is near


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
        (does_nothing, Reply(None, "Write the function, and run this cell.")),
        (wrapped(does_nothing),
         Reply(None, "Write the function, and run this cell.")),
        (prints, Reply(False, "The function prints, but it returns nothing. "
                       "End it with `return`.")),
        (wrapped(prints), Reply(False, "The function prints, but it returns "
                                "nothing. End it with `return`.")),
        (partial(prints, 1), Reply(False, "For (2,) it raises TypeError")),
        (ends_without_return,
         Reply(False, "The function returns nothing. End it with `return` "
               "and its result.")),
    ],
)  # fmt: skip
def test_task_says_of_what_returns_nothing_why(function, reply, capsys):
    said = Task(lambda x: 2 * x, [(2,), (3,)], []).check(function)
    assert said.right is reply.right
    assert said.text.startswith(reply.text)
    printed = "4\n6\n" if "prints" in reply.text else ""
    assert capsys.readouterr().out == printed


def test_nan_alone_is_no_slip():
    made = Task(
        lambda x: 1.0 * x, [(1,), (0,)],
        [(lambda x: x * np.float64(x) / x, "Do not divide."),
         (lambda x: x * np.nan, "All is NaN.")],
    )  # fmt: skip
    assert made.check(lambda x: np.float64(x) / x).text == "Do not divide."
    said = "For (1,) it gives NaN, where 1 is right. " + NAN
    assert made.check(returns(np.nan)).text == said


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
