"""Questions: the forms that pages get, and the rules of their records."""

import itertools
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from helpers import figures, practice
from helpers.practice import (
    Cell,
    Choice,
    Matrix,
    Number,
    Order,
    Predict,
    Reply,
    Task,
)
from helpers.questions.form import widget_class
from helpers.questions.task import told

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


def inside(tag):
    """What a tag holds: itself a tag, or a text without spaces around it."""
    parts = [p for p in tag.children if p.name or p.strip()]
    return [p if p.name else p.strip() for p in parts]


def fields(question):
    """What stands between the question and its buttons."""
    legend, *found, _, _ = inside(parsed(question).fieldset)
    assert legend.name == "legend"
    return found


EACH = {
    "av-matrix": lambda: matrix(where=WHERE),
    "av-choice": lambda: choice(where=WHERE),
    "av-cell": lambda: cell(where=WHERE),
    "av-order": lambda: order(where=WHERE),
    "av-predict": lambda: Predict("sum", ASK, {"2 + 2": "4"}, "Then."),
}


@pytest.mark.parametrize("kind", EACH)
def test_each_question_is_a_form_around_its_fields(kind):
    question = EACH[kind]()
    form = parsed(question)
    assert json.loads(form.attrs.pop("data-record")) == question.record
    assert form.attrs == {
        "class": ["av-question", kind],
        "data-question": question.name,
        "autocomplete": "off",
    }
    group, without = inside(form)
    legend, *_, press, reply = inside(group)
    asked = "Is <code>a&lt;b&gt;c</code> &amp; d?"
    assert legend.decode_contents() == asked
    assert press.attrs == {"class": ["av-press"]}
    submit, clear = inside(press)
    assert submit.attrs == {"type": "submit"}
    assert submit.text == ("Compare" if kind == "av-predict" else "Check")
    assert clear.attrs == {"type": "button", "class": ["av-clear"]}
    assert clear.text == "Clear"
    assert reply.attrs == {"class": ["av-reply"], "role": "status"}
    assert not inside(reply)
    assert without.name == "noscript"
    summary, where = inside(without.details)
    assert summary.text == "Without scripts nothing is checked here"
    said = "See <code>here</code>."
    if kind == "av-predict":
        said = "What happens is folded below."
    assert where.decode_contents() == said


@pytest.mark.parametrize(
    "make", [number, matrix, choice, cell, order], ids=lambda f: f.__name__
)
def test_the_answer_is_below_where_nothing_else_is_said(make):
    assert parsed(make()).noscript.p.text == "The solution is below."


def test_where_the_answer_is_can_be_said_of_a_number_too():
    where = parsed(number(where=WHERE)).noscript.p
    assert where.decode_contents() == "See <code>here</code>."


def rows(table):
    return [
        [(part.name, part.get("scope"), part.text) for part in inside(row)]
        for row in inside(table)
    ]


def test_the_fields_of_a_matrix_stand_in_a_table_of_its_names():
    jar = 'jar <b "1">'
    table, note = fields(matrix(rows=jar, columns=["x", "y"]))
    field = ("td", None, "")
    assert rows(table) == [
        [("td", None, ""), ("th", "col", "x"), ("th", "col", "y")],
        [("th", "row", f"{jar} 0"), field, field],
        [("th", "row", f"{jar} 1"), field, field],
    ]
    names = [f"{jar} {i}, {x}" for i in (0, 1) for x in "xy"]
    assert [field.attrs for field in table.find_all("input")] == [
        {"type": "text", "size": "7", "aria-label": name,
         "inputmode": "decimal", "autocapitalize": "off",
         "spellcheck": "false"}
        for name in names
    ]  # fmt: skip
    assert (note.name, note.attrs) == ("p", {"class": ["av-note"]})


def test_names_that_are_empty_or_alone_are_left_out():
    field = ("td", None, "")
    assert rows(fields(number())[0]) == [[field]]
    (label,) = parsed(number()).find_all("input")
    assert label["aria-label"] == "answer"
    heads = [("th", "col", "key 0"), ("th", "col", "key 1")]
    assert rows(fields(matrix([1, 2]))[0]) == [heads, [field] * 2]
    one = fields(matrix([[1], [2]], rows=["a", "b"]))[0]
    names = [[("th", "row", name), field] for name in "ab"]
    assert rows(one) == names


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (0, "in whole numbers"),
        (1, "to 1 decimal place"),
        (3, "to 3 decimal places"),
    ],
)
def test_a_form_says_how_many_places_are_asked_for(places, said):
    assert fields(number(7, places))[1].text == said


def test_an_option_is_a_labelled_button_of_its_question():
    parts = [inside(label) for label in fields(choice())]
    assert all(
        button.attrs == {"type": "radio", "name": "pick"}
        for button, _ in parts
    )
    shown = {text.decode_contents() for _, text in parts}
    assert shown == {"one", "<code>two</code>", "three &lt; 4"}


def test_the_numbers_of_a_matrix_are_buttons_with_their_places():
    col = '<col "x">'
    (table,) = fields(cell(rows="row", columns=col, places=1))
    assert rows(table) == [
        [
            ("td", None, ""),
            ("th", "col", f"{col} 0"),
            ("th", "col", f"{col} 1"),
        ],
        [("th", "row", "row 0"), ("td", None, " 1.0"), ("td", None, " 2.0")],
        [("th", "row", "row 1"), ("td", None, " 3.0"), ("td", None, " 5.0")],
    ]
    places = [(i, j) for i in (0, 1) for j in (0, 1)]
    assert [button.attrs for button in table.select("label > input")] == [
        {"type": "radio", "name": "slip",
         "aria-label": f"row {i}, {col} {j}: {text}"}
        for (i, j), text in zip(places, ["1.0", "2.0", "3.0", "5.0"],
                                strict=True)
    ]  # fmt: skip
    plain = parsed(cell()).select("input")
    assert plain[1]["aria-label"] == "query 0, key 1: 2.00"


def test_items_can_be_moved_up_and_down():
    question = order()
    (items,) = fields(question)
    assert items.name == "ol"
    for i, (item, text) in enumerate(
        zip(inside(items), question.items, strict=True)
    ):
        assert item.attrs == {"data-item": str(i)}
        name, press = inside(item)
        clear = {"`a`": "<code>a</code>", "b": "b", 'c < "d"': 'c &lt; "d"'}
        assert name.decode_contents() == clear[text]
        assert press.attrs == {"class": ["av-press"]}
        assert [(b.attrs, b.text) for b in inside(press)] == [
            ({"type": "button", "aria-label": f"{text}: up"}, "↑"),
            ({"type": "button", "aria-label": f"{text}: down"}, "↓"),
        ]


def test_a_prediction_is_typed_beside_each_name():
    labels = fields(Predict("it", ASK, {"`x`": "1", "y < z": "2"}, ""))
    clear = ["<code>x</code>", "y &lt; z"]
    for label, text in zip(labels, clear, strict=True):
        assert label.decode_contents().startswith(f"{text} <input")
        (field,) = label.find_all("input")
        assert field.attrs == {"type": "text"}


def test_in_jupyter_the_form_has_our_style_and_says_when_it_is_dead():
    question = number()
    data, _ = question._repr_mimebundle_()
    note = BeautifulSoup(data["text/html"], "html.parser").p
    said = "To answer, run this cell and those above it "
    assert note.text == said + "(menu Run: Run All Cells)."
    style = figures.FOLDER / "practice.css"
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


def test_marks_are_the_hash_as_published():
    assert fnv1a("foobar") == 0xBF9CF968
    for text in ("", "foobar", "√"):
        assert practice.mark(text) == fnv1a(text)


def descrambled(hidden, key):
    return bytes(
        byte ^ fnv1a(f"{place}|{key}") >> 24
        for place, byte in enumerate(bytes.fromhex(hidden))
    ).decode()


def test_a_reply_opens_with_the_steps_of_its_answer():
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


def test_the_slots_of_a_matrix_are_joined_by_commas():
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


def test_a_prediction_hides_what_happens():
    shown = {"a": "1", "b": "≈ 2"}
    record = Predict("it", ASK, shown, "So it is: √.").record
    assert set(record) == {"name", "shown"}
    assert json.loads(descrambled(record["shown"], "it")) == [
        "1", "≈ 2", "So it is: √.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("places", "off"), [(0, 0.05), (1, 0.05), (2, 0.005), (3, 0.0005)]
)
def test_half_a_unit_or_half_a_tenth_is_let_pass(places, off):
    question = number(3, places)
    for sign in (1, -1):
        assert question.check(3 + 0.99 * sign * off).right
        assert question.check(3 + 1.01 * sign * off).right is False


def test_two_answers_may_lie_side_by_side_and_not_closer():
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


def test_the_names_of_what_is_wrong_are_those_of_the_table():
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


def test_a_place_too_few_is_an_answer_where_it_is_another():
    assert coarse(0.5068) == [[0.507]]
    # Within 1.5 units of the fourth place it may be a slip of rounding.
    assert coarse(0.5062) == [[0.506]]
    assert coarse(0.50613) == []
    assert coarse(0.5058) == [[0.506]]
    assert coarse(0.1, 0.5068) == [[0.1, 0.507]]
    assert coarse(0.5068, wrong=[0.9]) == [[0.507]]
    assert coarse(0.5068, wrong=[0.5071]) == []
    assert coarse(0.37, places=1) == [[0.0]]
    assert coarse(14, places=0) == []
    said = "Near, but give 4 decimal places."
    assert matrix([0.5068], 4).check([0.507]) == Reply(False, said)


def test_what_is_shown_is_in_an_order_of_its_own():
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


def test_the_numbers_of_a_matrix_are_counted_row_by_row():
    # The page counts its buttons in their order.
    wrong = [((0, 1), "row?"), ((1, 0), "column?")]
    found = Cell(
        "slip", ASK, [[1, 2, 3], [4, 5, 7]], [[1, 2, 3], [4, 5, 6]], "yes",
        otherwise="no", wrong=wrong,
    )  # fmt: skip
    assert [values for values, _ in found.answers] == [[5], [1], [3]]
    assert practice.judge(found.record, [5]) == Reply(True, "yes")


def test_the_right_option_is_known_by_its_place():
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
         "table: no whole numbers; give places"),
        (lambda: Choice("it", "?", [("a", 1, "")]), TypeError,
         "it: whether 'a' holds is no bool"),
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
def test_what_makes_no_question_is_refused(make, error, said):
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
def test_what_has_another_form_is_no_answer(question, answer, said):
    assert question.check(answer) == Reply(None, said)


def test_every_place_of_a_matrix_is_its_own():
    wide = cell([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 0, 6]])
    said = {(i, j): wide.check((i, j)) for i in (0, 1) for j in (0, 1, 2)}
    assert said.pop((1, 1)) == Reply(True, "yes")
    assert said.pop((0, 1)) == Reply(False, "row?")
    assert set(said.values()) == {Reply(False, "no")}
    row = Cell("row", ASK, [[1, 2]], [[1, 3]], "yes", wrong=[], otherwise="no")
    assert [row.check((0, j)).right for j in (0, 1)] == [False, True]


def test_every_order_of_items_is_judged():
    question = order()
    for items in itertools.permutations(question.items):
        right = items == ("b", 'c < "d"', "`a`")
        assert question.check(list(items)).right is right


def test_questions_say_what_they_ask():
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
def test_results_are_the_same_to_a_part_of_the_largest(right, given, same):
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
        ("a", "a"),
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
def test_values_are_told_in_few_digits(value, said):
    assert told(value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1 / 3 + 1e-8, "it gives 0.333333343, where 0.333333333 is right."),
        (np.nextafter(1 / 3, 1), "it gives 0.33333333333333337, where "
         "0.33333333333333331 is right."),
    ],
)  # fmt: skip
def test_a_number_has_six_nine_or_seventeen_digits(given, said):
    exact = task(1 / 3, tolerance=0)
    assert exact.check(returns(given)).text.endswith(said)


def test_what_is_off_is_told_of_lists_tuples_and_small_floats():
    def end(right, given):
        said = task(right).check(returns(given)).text
        return said.partition("it gives ")[2]

    rows = [[0.0] * 5, [0.0] * 4 + [1 / 3]]
    other = [[0.0] * 5, [0.0] * 4 + [1 / 3 + 0.01]]
    said = "0.343333 at [1, 4], where 0.333333 is right."
    assert end(rows, other) == said
    assert end(np.array(rows), np.array(other, "f")) == said
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
def test_the_first_case_that_is_wrong_is_told(function, reply):
    assert slips().check(function) == reply


def test_nothing_is_said_of_divisions_by_zero():
    # The checks of this project raise where NumPy only warns.
    made = Task(
        lambda x: np.divide(1.0, x), [(0.0,), (2.0,)],
        [(lambda x: np.divide(2.0, x), "Two?")],
    )  # fmt: skip
    assert made.check(lambda x: np.float64(1) / x).right
    assert made.check(lambda x: 2 / np.float64(x)).text == "Two?"


def test_each_case_has_arguments_of_its_own():
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
