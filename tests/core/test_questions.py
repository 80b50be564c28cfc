"""Questions: the forms that pages get, and the replies of Python and page."""

import itertools
import math

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import assume, settings
from hypothesis import given as for_any
from hypothesis import strategies as st

from course import figures, practice
from course.practice import (
    HOW_TO_TYPE,
    NAN,
    POINT,
    ROUND,
    Cell,
    Choice,
    Guess,
    Matrix,
    Number,
    Order,
    Predict,
    Reply,
    Task,
)
from course.questions.form import widget_class
from course.questions.record import LAST, SIGN, packed
from tests.book.practice_pages import in_browser, unpacked

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


def order(name="sizes", items=None, wrong=(), **options):
    items = items or {"`a`": 2, "b": -3, 'c < "d"': 1}
    return Order(
        name, ASK, items, "yes", otherwise="no", wrong=wrong, **options
    )


def reply_to(question, typed, whole=False):
    """What Python and the page's script say of typed numbers: the same."""
    texts = [typed] if whole else typed.split()
    reply = question.check(texts)
    assert in_browser(packed(question.record), texts) == reply
    return reply


# --- the form ----------------------------------------------------------------


def parsed(question):
    return BeautifulSoup(question.html(), "html.parser").form


TWO = [("4", True, ""), ("5", False, "")]
EACH = {
    "av-matrix": matrix(where=WHERE),
    "av-choice": choice(where=WHERE),
    "av-cell": cell(where=WHERE),
    "av-order": order(where=WHERE),
    "av-predict": Predict("sum", ASK, TWO),
}


@pytest.mark.parametrize("kind", EACH)
def test_html_is_a_form_with_a_record_a_name_and_a_reply(kind):
    form = parsed(EACH[kind])
    assert kind in form["class"]
    assert unpacked(form) == EACH[kind].record
    assert form["data-question"] == EACH[kind].name
    asked = "Is <code>a&lt;b&gt;c</code> &amp; d?"
    assert form.fieldset.legend.decode_contents() == asked
    buttons = [(b["type"], b.text) for b in form.select(".av-press button")]
    check = [] if kind == "av-predict" else [("submit", "Check")]
    assert buttons[-1 - len(check) :] == [*check, ("button", "Clear")]
    assert form.select_one(".av-clear").has_attr("hidden")  # nothing to clear
    assert form.select_one("[role=status]").text == ""
    said = form.noscript.p.decode_contents()
    assert said == "See <code>here</code>." or kind == "av-predict"


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
    assert cells(number()) == []
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


def test_a_prediction_has_a_button_for_each_choice_in_its_order():
    options = [("`x` < 2", False, "No."), ("y", True, "So."), ("z", False, "")]
    question = Predict("it", ASK, options)
    found = parsed(question).select("button.av-option")
    assert [button.text for button in found] == ["x < 2", "y", "z"]
    assert {button["aria-pressed"] for button in found} == {"false"}
    assert question.check("y").right
    assert question.check("z").right is False
    for number in (1, 5):
        with pytest.raises(ValueError, match="2 to 4 choices; got"):
            Predict("it", ASK, (options * 2)[:number])


@pytest.mark.parametrize(
    ("answer", "right"), [(1, "1"), (1.4, "1"), (1.5, "2"), (6, "8"), (8, "8")]
)
def test_a_guess_is_right_at_the_stop_that_is_nearest_in_ratio(answer, right):
    stops = [1, 2, 4, 8]
    guess = Guess("size", ASK, answer, stops, "So.", "Less.", "More.", " MB")
    told = {stop: guess.check(f"{stop} MB") for stop in stops}
    assert [str(s) for s in stops if told[s].right] == [right]
    for stop, reply in told.items():
        wrong = "Less." if stop < answer else "More."
        assert reply.text == ("So." if reply.right else wrong)
    slider = parsed(guess).input
    assert slider["data-stops"].split("|") == [f"{s} MB" for s in stops]
    assert (slider["min"], slider["max"]) == ("0", "3")
    assert slider["aria-valuetext"] == parsed(guess).output.text == "4 MB"


@pytest.mark.parametrize("stops", [[1, 2], [0, 1, 2], [1, 3, 2], [3, 4, 5]])
def test_a_guess_has_stops_that_ascend_around_the_answer(stops):
    with pytest.raises(ValueError, match="size: "):
        Guess("size", ASK, 2, stops, "", "", "")


def test_repr_mimebundle_brings_style_and_script_to_jupyter():
    question = number()
    data, _ = question._repr_mimebundle_()
    note = BeautifulSoup(data["text/html"], "html.parser").p
    assert "run this cell" in note.text
    for file in ("tokens.css", "practice.css"):
        style = figures.path_of(file).read_text("utf-8")
        assert style in widget_class()._css
    assert widget_class()._esm == figures.module("practice")
    assert "html" in question._view.keys  # what the page is told of


# --- what a page gets --------------------------------------------------------


def test_record_counts_answers_in_hundredths_of_the_tolerance():
    question = number(0.37, wrong=[(-0.1, "A sign: √.")])
    record = question.record
    assert record["step"] == 5e-5  # 0.005 / 100
    assert record["replies"][:2] == [
        {"steps": [7400], "right": True, "text": "yes"},
        {"steps": [-2000], "right": False, "text": "A sign: √."},
    ]
    assert matrix().record["labels"] == ["key 0", "key 1", "key 0", "key 1"]


def test_nothing_of_a_record_is_read_at_a_glance():
    for question in EACH.values():
        html = question.html()
        for text in ("yes", "no", "Then.", "one?", "row?"):
            assert f'"{text}"' not in html
            assert f">{text}<" not in html


def test_a_reply_may_hold_any_character():
    said = "Two lines:\n\t√, ∑, 𝔸 and %41."
    question = number(wrong=[(0.4, said)])
    assert reply_to(question, "0.4") == Reply(False, said)


def test_without_anywidget_a_question_is_still_shown(monkeypatch):
    def gone():
        raise ModuleNotFoundError("No module named 'anywidget'")

    monkeypatch.setattr("course.questions.form.widget_class", gone)
    data, _ = number()._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html"}
    assert data["text/plain"] == f"Question: {ASK}"


def test_in_jupyter_a_question_is_a_widget_of_the_same_form():
    question = number()
    data, _ = question._repr_mimebundle_()
    assert question._view.html == question.html()
    assert data["text/html"].endswith(question.html())
    assert "application/vnd.jupyter.widget-view+json" in data


# --- how numbers are read ----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.25", 0.25), (" 0.25 ", 0.25), ("1/4", 0.25), ("-3e-2", -0.03),
        ("−3", -3.0), (".5", 0.5), ("2.", 2.0), ("+1E2", 100.0),
        ("1 / -2", -0.5), ("5/8", 0.625), ("1e-3", 0.001),
        # A comma groups thousands.
        ("7,241.7", 7241.7), ("2,980.96", 2980.96), ("49,152", 49_152.0),
        ("1,234,567.5", 1_234_567.5), ("−1,024", -1024.0),
        ("8,192/2", 4096.0), ("1,000/1,000", 1.0), ("1,000e-3", 1.0),
        # As mathematics writes it.
        ("2 ln 3", math.log(9)), ("ln(3)*2", math.log(9)),
        ("ln2", math.log(2)), ("LN 2", math.log(2)), ("log2 8", 3.0),
        ("log10(1000)", 3.0), ("cos(1)", math.cos(1)),
        ("3 cos(2) − 2 sin(2)", 3 * math.cos(2) - 2 * math.sin(2)),
        ("tanh 1", math.tanh(1)), ("tan(1)", math.tan(1)),
        ("62.5%", 0.625), ("10^-3", 0.001), ("2*10^3", 2000.0),
        ("2·10**3", 2000.0), ("3 × 4 ÷ 6", 2.0), ("sqrt(2)", 2**0.5),
        ("√2", 2**0.5), ("2√8", 32**0.5), ("1/√8", 8**-0.5),
        ("√8/2", 2**0.5), ("e^-2", math.exp(-2)), ("exp(-2)", math.exp(-2)),
        ("2e", 2 * math.e), ("2e^-2", 2 / math.e**2), ("2e-2", 0.02),
        ("π/2", math.pi / 2), ("2 pi", 2 * math.pi), ("2^10", 1024.0),
        ("2^3^2", 512.0), ("-2^2", -4.0), ("(-2)^2", 4.0), ("2^-1", 0.5),
        ("2(3+4)", 14.0), ("(1/2)(3)", 1.5), ("1-2-3", -4.0),
        ("8/4/2", 1.0), ("1--2", 3.0), ("e/(e + 1)", 0.7310585786300049),
        ("ln(ln(3))", math.log(math.log(3))), ("ln(2)^2", math.log(2) ** 2),
        ("\u00a01\u2009/ 2 ", 0.5),
    ],
)  # fmt: skip
def test_numbers_are_read_as_mathematics_writes_them(text, value):
    assert practice.parse(text) == pytest.approx(value, rel=1e-14)
    assert reply_to(number(value), text, whole=True) == Reply(True, "yes")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", f"“a” cannot be read. {HOW_TO_TYPE}"), ("80 GB", "“GB” cannot"),
        ("x", "“x” cannot"), ("1_0", "“_” cannot"), ("0x1", "“x” cannot"),
        ("٣", "“٣” cannot"), ("１", "“１” cannot"), ("²", "“²” cannot"),
        ("= 5", "“=” cannot"), ("5%%", "“%” cannot"), (".", "“.” cannot"),
        ("𝔸", "“𝔸” cannot"), ("__proto__", "“_” cannot"),
        ("constructor", "“constructor” cannot"), ("inf", "“inf” cannot"),
        ("Infinity", "“Infinity” cannot"), ("nan", NAN), (" NaN ", NAN),
        ("sin", "sin of what?"), ("2 SIN + 1", "sin of what?"),
        ("√", "√ of what?"), ("√-1", "√ of what?"),
        ("log 8", "Write ln for the natural logarithm"),
        ("(1", "A bracket is not closed."), ("ln(2", "A bracket is not"),
        ("(", "A bracket is not"), ("1)", "A bracket is closed that was not"),
        (")", "A bracket is closed"), ("()", "Nothing is in the brackets."),
        ("(2*)", "missing after “*”"), ("2+", "missing after “+”"),
        ("--1", "missing after “-”"), ("*2", "missing before “*”"),
        ("(/2)", "missing before “/”"), ("2^", "missing after “^”"),
        ("1 000", "between the two numbers"), ("e3", "between the two"),
        ("1 2", "between the two"), ("π2", "between the two"),
        ("1/2π", "brackets around what the fraction bar divides by"),
        ("5/8 ln 2", "brackets around what the fraction bar"),
        ("ln 3^2", "brackets around what ln is of"),
        ("√2π", "brackets around what √ is of"),
        ("1/0", "division by 0"), ("0/0", "division by 0"),
        ("1/(2-2)", "division by 0"), ("1e999", "has no value"),
        ("9^9^9", "has no value"), ("exp(1000)", "has no value"),
        ("1/9^999", "has no value"), ("ln(0)", "has no value"),
        ("√(-1)", "has no value"), ("(-8)^(1/3)", "has no value"),
        ("0^-1", "has no value"), ("1e200*1e200", "has no value"),
        ("9" * 101, "At most 100 characters"), ("9" * 10**6, "At most 100"),
        ("(" * 50 + "1" + ")" * 49, "At most 20 brackets"),
        ("ln " * 30 + "2", "At most 20 brackets"),
        ("2^" * 40 + "2", "At most 20 brackets"),
        *[(text, POINT) for text in (
            "1,2", "12,34", "0,25", "0,024", "1024,000", "1,0240",
            "12,34,567", "1,024,", ",024", "1,,024", "1.024,5", "1,02.4",
            "1/1,0", "1.024.000", "1, 2", "ln(1,5)",
        )],
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_words(text, said):
    assert practice.parse(text) is None
    reply = reply_to(number(), text, whole=True)
    assert reply.right is None
    assert said in reply.text
    assert len(reply.text) < 250
    row = Matrix("it", "?", [1, 2], "", places=1, wrong=[], otherwise="no")
    assert row.check(["1", text]) == Reply(None, f"“key 1”: {reply.text}")


PARTS = ["0", "1", "12", "123", "000", ",", ",", ".", "-", "−", "+", "/",
         "e", "E", " ", "\u00a0", "x", "(", ")", "*", "^", "%", "ln",
         "√", "π"]  # fmt: skip


@for_any(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
@settings(max_examples=1500)
def test_python_and_the_page_read_any_text_alike(text):
    value = practice.parse(text)
    assume(value is None or abs(value) < 1e6)
    question = number(0.5 if value is None else value, places=2)
    said = question.check(text)
    assert in_browser(packed(question.record), [text]) == said
    assert said.right is (None if value is None else True)


COMMAS = Reply(None, POINT)
READ = Reply(None, f"1,024 is read as 1024. {POINT}")
READ_CUT = Reply(None, f"1,023 is read as 1023. {POINT}")


def key(i, text):
    """The reply to a row of four in which some fields have a slip."""
    right = 3 - str(i).count("key")
    return Reply(False, f"Right so far: {right} of 4. “key {i}”: {text}")


def look(i):
    return Reply(False, f"Right so far: 3 of 4. Look at “key {i}”. no")


# --- what is said of an answer -----------------------------------------------


@pytest.mark.parametrize(
    ("places", "half"), [(0, 0.05), (1, 0.05), (2, 0.005), (4, 0.00005)]
)
@pytest.mark.parametrize("answer", [3, -3, 0, 7 / 3, 1e3])
def test_half_a_unit_or_half_a_tenth_is_right_and_no_more(
    places, half, answer
):
    answer = answer if places else round(answer)
    question = number(answer, places)
    for off in (0, 0.99, -0.99):
        assert reply_to(question, repr(answer + off * half)).right, off
    for off in (1.01, -1.01, 2, 100, 402, -201, -400):
        reply = reply_to(question, repr(answer + off * half))
        assert reply.right is False, off


@pytest.mark.parametrize("sign", [1, -1])
def test_an_answer_at_the_end_of_the_tolerance_is_right(sign):
    question = number(0.5, places=4)
    for off, right in ((1, True), (1.004, True), (1.006, False)):
        text = repr(0.5 + sign * off * 0.5e-4)
        assert reply_to(question, text).right is right, off


def test_number_takes_two_answers_side_by_side_and_not_closer():
    beside = 0.5 + 201 * 5e-5  # each has 100 steps to each side
    assert number(wrong=[(beside, "slip")]).check(beside).text == "slip"
    assert number(wrong=[(1 - beside, "slip")])
    for closer in (beside - 5e-5, 1 - beside + 5e-5):
        with pytest.raises(ValueError, match=r"half: .*'yes' and 'slip'"):
            number(wrong=[(closer, "slip")])
    # One number of a matrix that differs is enough, whichever it is.
    for i in range(4):
        other = np.array([[1, 2.5], [3, 4]]) + np.eye(4)[i].reshape(2, 2)
        assert matrix(wrong=[(other, "slip")]).check(other).text == "slip"


def test_a_matrix_says_how_far_it_is_right_and_where_it_is_not():
    question = Matrix(
        "it", "?", [[1, 2.5, 0], [3, 4, 1 / 3]], "yes", places=2,
        wrong=[([[1, 3, 0], [2.5, 4, 1 / 3]], "turned")], otherwise="no",
        rows="query", columns=["a", "b", "c"],
    )  # fmt: skip
    assert reply_to(question, "1 2.5 0 3 4 1/3") == Reply(True, "yes")
    assert reply_to(question, "1 3 0 2.5 4 1/3") == Reply(False, "turned")
    for typed, right, where in (
        ("1 2.5 0 3 5 1/3", "5 of 6", "query 1, b"),
        ("3 2.5 0 1 4 1/3", "4 of 6", "query 0, a"),
    ):
        reply = reply_to(question, typed)
        assert reply.right is False
        for part in (right, where, "no"):
            assert part in reply.text
    blank = ["1", "", "0", "3", "4", "1/3"]
    assert question.check(blank) == Reply(None, "")
    assert in_browser(packed(question.record), blank) == Reply(None, "")


def test_each_field_of_a_matrix_has_one_number():
    table = Matrix(
        "it", "?", [1024, 2048, 2.5], "yes", places=1, wrong=[],
        otherwise="no",
    )  # fmt: skip
    for texts, said in (
        (["1,024", "2,048", "2.5"], Reply(True, "yes")),
        (["1,024", "1500", "2.5"],
         Reply(False, "Right so far: 2 of 3. Look at “key 1”. no")),
        (["1,024", "1,500", "2.5"],
         Reply(False, "Right so far: 2 of 3. Look at “key 1”. 1,500 is read "
               f"as 1500. {POINT} no")),
        (["1,024", "2,048", "2,5"], Reply(None, f"“key 2”: {POINT}")),
        (["1.024", "3.000", "2.5"], Reply(None, POINT)),
    ):  # fmt: skip
        assert table.check(texts) == said
        assert in_browser(packed(table.record), texts) == said


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0.667 -0.429 0.001 1219", Reply(True, "yes")),
        ("2/3 -3/7 7e-4 1219", Reply(True, "yes")),
        # One slip in a field, or the same in all.
        ("0.666 -0.429 0.001 1219", key(0, ROUND)),
        ("0.666 -0.428 0.000 1219", key("0”, “key 1”, “key 2", ROUND)),
        ("0.667 -0.429 0.0 1219", key(2, ROUND)),
        ("0.668 -0.429 0.001 1219", key(0, LAST)),
        ("0.667 -0.429 0.001 1219.001", key(3, LAST)),
        ("0.67 -0.429 0.001 1219", key(0, "Near, but give 3 decimal places.")),
        ("0.667 -0.42 0.001 1219", key(1, "Near, but give 3 decimal places.")),
        ("0.667 0.429 0.001 1219", key(1, SIGN)),
        ("0.667 0.43 0.001 1219", key(1, SIGN)),  # and a place too few
        ("-0.667 0.429 -0.001 -1219", Reply(False, SIGN)),
        ("0.667 -0.429 0.7 1219", key(2, "That is 1,000 times too large")),
        ("0.667 -0.429 0.001 1.22", key(3, "That is 1,000 times too small")),
        ("0.667 -0.429 0.001 1248256", key(3, "That is 1,024 times too la")),
        ("66.7 -0.429 0.001 1219", key(0, "That is a percentage")),
        ("67 -0.429 0.001 1219", key(0, "That is a percentage")),
        ("66.7% -0.429 0.001 1219", Reply(True, "yes")),
        # An expression has no digits that could be cut.
        ("333/500 -0.429 0.001 1219", look(0)),
        # What has no slip is named after what has one.
        ("0.666 7 0.001 -1219",
         Reply(False, f"Right so far: 1 of 4. “key 0”: {ROUND} “key 3”: "
               f"{SIGN} Look at “key 1”. no")),
        ("7 8 9 10", Reply(False, "no")),
        # In one field, although the others are wrong, or cut as well.
        ("0.667 -0.429 0.001 1.219", COMMAS),
        ("5 5 5 1.219", COMMAS), ("0.666 -0.428 0 1.219", COMMAS),
        # The slip [1, 2, 3, 4]; a point is one, unless that is wrong too.
        ("1 2 3 4", Reply(False, "slip")),
        ("1,000 2 3 4", Reply(None, f"1,000 is read as 1000. {POINT}")),
        ("1 2 3 4.000", Reply(False, "slip")),
    ],
)  # fmt: skip
def test_what_is_cut_or_swapped_is_told_so_in_any_field(typed, said):
    row = Matrix(
        "it", "?", [2 / 3, -0.428996, 0.0007, 1219], "yes", places=3,
        wrong=[([1, 2, 3, 4], "slip")], otherwise="no",
    )  # fmt: skip
    reply = reply_to(row, typed)
    assert reply.right == said.right
    assert reply.text.startswith(said.text)


@pytest.mark.parametrize(
    ("ask", "answer", "typed", "said"),
    [
        ("How many MB?", 0.625, "0.640", "off by 1.024 for each step"),
        ("How many MB?", 0.625, "0.610", "off by 1.024 for each step"),
        ("How many?", 0.625, "0.640", "no"),
        ("The entropy, in nats?", 1.1989, "1.7297", "in bits"),
        ("The entropy?", 1.1989, "1.7297", "no"),
        ("How many percent?", 62.5, "0.625", "give the percentage"),
        ("How much?", 62.5, "0.625", "no"),
        # A count is right or wrong, not near.
        ("?", 0.5, "5/0.01", "1,000 times too large"),
        ("?", 0.5, "0.6", "no"), ("?", 0.0007, "0", "round instead"),
    ],
)  # fmt: skip
def test_other_slips_are_named_where_the_question_is_about_them(
    ask, answer, typed, said
):
    question = Number("it", ask, answer, "yes", places=3, wrong=[],
                      otherwise="no")  # fmt: skip
    reply = reply_to(question, typed)
    assert reply.right is False
    assert said in reply.text


def test_a_count_is_never_near():
    for typed in ("119", "121", "120.1", "-119"):
        assert reply_to(number(120, 0), typed) == Reply(False, "no")
    assert reply_to(number(120, 0), "-120") == Reply(False, SIGN)
    # One head is no share of which 100 were the percentage.
    assert reply_to(number(1, 0), "100") == Reply(False, "no")


@pytest.mark.parametrize(
    ("answer", "typed", "said"),
    [
        (1.024, "1,024", READ), (1.0237, "1,023", READ_CUT),
        (1024, "1.024", Reply(False, "slip")),
        (1024, "1.025", Reply(False, "no")),
        (2048, "2.048", COMMAS), (1, "1,234,567", Reply(False, "slip")),
        (1024.5, "1.024,5", COMMAS),
    ],
)  # fmt: skip
def test_a_slip_of_a_thousand_is_known_beside_a_decimal_comma(
    answer, typed, said
):
    slip = {1: 1_234_567, 1.024: 1024, 1.0237: 1024}.get(answer, 1.024)
    made = number(answer, places=3, wrong=[(slip, "slip")])
    assert reply_to(made, typed) == said
    assert made.check(str(slip)) == Reply(False, "slip")


def test_a_place_too_few_is_near_unless_another_reply_has_it():
    few = "Near, but give 4 decimal places."
    assert reply_to(number(0.5068, 4), "0.507").text == few
    assert reply_to(number(0.5068, 4), "0.51").text == few
    slip = number(0.5068, 4, wrong=[(0.507, "slip")])
    assert reply_to(slip, "0.507").text == "slip"
    # A zero says nothing of how near it is, nor does half of the number.
    assert reply_to(number(0.37, 2), "0").text == "no"
    assert reply_to(number(1.5, 2), "1").text == "no"
    assert reply_to(number(3.37, 1), "3").text.endswith("1 decimal place.")


@pytest.mark.parametrize(
    ("slip", "whole"), [(2.6, 3), (-0.7, -1), (3.5, 4), (4.5, 5), (5, 5)]
)
def test_a_slip_is_known_by_the_whole_number_that_is_asked_for(slip, whole):
    question = number(7, places=0, wrong=[(slip, "slip")])
    for typed in (slip, whole):
        assert reply_to(question, repr(typed)) == Reply(False, "slip")
    assert reply_to(question, repr(whole - 1)) == Reply(False, "no")


def test_options_and_items_are_mixed_up_whatever_their_order():
    texts = ["one", "two", "three", "four", "five"]
    one, two = (choice("pick", some).options for some in (texts, texts[::-1]))
    assert one == two  # the right one is not where it was written
    items = {"a": 1, "b": 2, "c": 3}
    orders = {tuple(order(f"n{i}", items).items) for i in range(24)}
    assert len(orders) > 1
    assert ("a", "b", "c") not in orders


def test_cell_counts_places_as_the_page_counts_its_buttons():
    wide = cell([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 0, 6]])
    said = {(i, j): wide.check((i, j)) for i in (0, 1) for j in (0, 1, 2)}
    for (i, j), reply in said.items():
        assert in_browser(packed(wide.record), [3 * i + j]) == reply
    assert said.pop((1, 1)) == Reply(True, "yes")
    assert said.pop((0, 1)) == Reply(False, "row?")
    assert set(said.values()) == {Reply(False, "no")}


def test_choice_knows_each_option_by_its_reply():
    question = choice()
    for place, text in enumerate(question.options):
        expected = Reply(text == "one", f"{text}?")
        assert question.check(text) == expected
        assert in_browser(packed(question.record), [place]) == expected
    assert in_browser(packed(question.record), []).right is None
    bools = [("a", np.True_, "y"), ("b", np.False_, "n")]
    assert Choice("it", "?", bools).check("a").right is True


def test_order_judges_every_order_of_items():
    # Smallest first: b, c, a; by these values: a, c, b.
    question = order(wrong=[([1, 3, 2], "slip")])
    replies = {
        ("b", 'c < "d"', "`a`"): Reply(True, "yes"),
        ("`a`", 'c < "d"', "b"): Reply(False, "slip"),
    }
    for items in itertools.permutations(question.items):
        expected = replies.get(items, Reply(False, "no"))
        assert question.check(list(items)) == expected
        places = [question.items.index(item) for item in items]
        assert in_browser(packed(question.record), places) == expected


# --- what is refused, and what is no answer ----------------------------------


SAME = ("1", True, ""), ("2", True, "")


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: choice("Two Words"), ValueError, "name .* 'Two Words'"),
        (lambda: Predict("a--b", "?", TWO), ValueError, "name"),
        (lambda: Predict("it", "?", []), ValueError, "it: "),
        (
            lambda: matrix(wrong=[([1, 2.5, 3, 4], "flat")]),
            *(ValueError, r"table: .* \(2, 2\)"),
        ),
        (lambda: matrix([1, 2.5], 0), ValueError, "table: .*whole numbers"),
        (lambda: matrix([1, 2], None), TypeError, "table: places .* int"),
        (lambda: matrix([1, 2], -1), ValueError, "table: places .* least 0"),
        (lambda: number(wrong=[(1, "a"), (1, "b")]), ValueError, "'a' .* 'b'"),
        (lambda: Choice("it", "?", [("a", 1, "")]), TypeError, "'a' .* bool"),
        (lambda: Choice("it", "?", SAME), ValueError, "it: one option"),
        (lambda: choice(texts=("two", "six")), ValueError, "one option"),
        (
            lambda: cell(true=((1, 2), (4, 4))),
            *(ValueError, r"slip: .*\[\(1, 0\), \(1, 1\)\]"),
        ),
        (lambda: cell(true=((1, 2), (3, 5.004))), ValueError, r"slip: .*\[\]"),
        (
            lambda: order(items={"a": 1, "b": 2, "c": 1}),
            *(ValueError, "sizes: two items have the same value"),
        ),
        (lambda: Task(abs, [(1,)], [(int, "sign")]), ValueError, "'sign'"),
    ],
)
def test_question_refuses_what_makes_none(make, error, says):
    with pytest.raises(error, match=says):
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
        (number(), "half", f"“half” cannot be read. {HOW_TO_TYPE}"),
        (number(), " ", ""),
        (matrix(), [["1", ""], ["3", "4"]], ""),
        (matrix(), None, ""),
        (order(), ..., ""),
    ],
)
def test_check_takes_another_form_for_no_answer(question, answer, said):
    assert question.check(answer) == Reply(None, said)


def test_repr_says_what_a_question_asks():
    assert repr(number()) == f"Question: {ASK}"
    assert repr(Predict("it", ASK, TWO)) == f"Predict: {ASK}"
    said = [repr(Reply(right, "So.")) for right in (True, False, None)]
    assert said == ["✓ Right. So.", "✗ Not yet. So.", "Not answered yet. So."]
