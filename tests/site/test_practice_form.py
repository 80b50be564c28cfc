"""What only a browser runs of a question: forms, what is kept, the tally.

`practice.js` on an empty page. The pages that readers open, with real keys,
are in `test_practice_page.py`.
"""

import json

import pytest

from course import figures
from course.practice import Cell, Choice, Guess, Matrix, Order, Predict
from tests.book.practice_pages import GIVE
from tests.site.javascript import program

SUM = Matrix(
    "sum", "What are `1 + 2` and `3 + 4`?", [1 + 2, 3 + 4], "A sum.",
    places=2, wrong=[([1 * 2, 3 * 4], "That is `x * y`.")],
    otherwise="Add them.",
)  # fmt: skip
PICK = Choice(
    "pick", "Which is less?",
    [("one", 1 < 2, "So it is."), ("two", 2 < 1, "No."), ("pi", False, "Hm.")],
)  # fmt: skip
SORT = Order(
    "sort", "From the least.", {"one": 1, "two": 2, "three": 3}, "Sorted.",
    wrong=[([3, 2, 1], "Turned round.")], otherwise="Not yet in order.",
)  # fmt: skip
FIND = Cell(
    "find", "Which is wrong?", [[0.5, 0.5], [0.25, 0.5]],
    [[0.5, 0.5], [0.25, 0.75]], "It has no sum of 1.",
    wrong=[((1, 0), "That is right.")], otherwise="Add up the rows.",
)  # fmt: skip
QUESTIONS = [SUM, PICK, SORT, FIND]
GUESS = Predict(
    "guess", "What will come?",
    [("less", 2 < 1, "Because of `exp`."), ("more", 1 < 2, "So it is.")],
)  # fmt: skip
FOLDED = """<p class="av-tally">?</p><div class="cell">%s</div>
<details class="av-reveal"><summary>s</summary>t</details>"""


@pytest.fixture
def open_all(page):
    """Open all questions, as the site shows them; work them in the page."""

    def visit():
        script = figures.script("practice") + program("forms")
        page.visit(f"<script>{script}</script>")
        show()

    def show(jupyter=False):
        forms = "".join(question.html() for question in QUESTIONS)
        html = forms + FOLDED % GUESS.html()
        page.do(f"open({json.dumps(html)}, {json.dumps(jupyter)})")

    visit()
    page.revisit, page.show = visit, show
    return page


def give(open_all, question, given):
    """Answer as a hand does; what is said then."""
    return open_all.do(f"({GIVE})([[{question.name!r}, {given}]])[0]")


def option(text):
    """The place of an option of `PICK` on the page."""
    return PICK.options.index(text)


RIGHT = {
    SUM.name: ["3", "7"],
    PICK.name: [option("one")],
    SORT.name: [SORT.items.index(item) for item in ("one", "two", "three")],
    FIND.name: [3],
}


def press(open_all, text):
    """Press a choice of the prediction."""
    options = "[...form('guess').querySelectorAll('.av-option')]"
    text = json.dumps(text)
    open_all.do(f"{options}.find((it) => it.textContent === {text}).click()")


def answer_all(open_all):
    """Answer all questions right, and predict."""
    for question in QUESTIONS:
        give(open_all, question, json.dumps(RIGHT[question.name]))
    press(open_all, "less")


def test_wipe_makes_one_question_as_it_was_at_first(open_all):
    for question in [*QUESTIONS, GUESS]:
        open_all.do("localStorage.clear()")
        open_all.show()
        name = question.name
        look = f"looks({name!r})"
        rest = "[Object.keys(kept()), tally()[0], fold().open]"
        first = open_all.do(look)
        answer_all(open_all)
        assert open_all.do(look) != first
        kept, *right = open_all.do(rest)
        assert right == ["4", True]
        assert open_all.do(f"clear({name!r})"), "its field has the focus"
        assert open_all.do(look) == first
        kept.remove(f"practice/{name}")
        judged = question is not GUESS
        assert open_all.do(rest) == [kept, "3" if judged else "4", judged]


def test_clear_is_offered_once_there_is_something_to_clear(open_all):
    for question in [*QUESTIONS, GUESS]:
        offered = f"!form({question.name!r}).querySelector('.av-clear').hidden"
        assert not open_all.do(offered)
        if question is GUESS:
            press(open_all, "less")
        else:
            give(open_all, question, json.dumps(RIGHT[question.name]))
        assert open_all.do(offered)
    open_all.revisit()  # the answers were kept
    assert open_all.do(offered)
    open_all.do(f"clear({GUESS.name!r})")
    assert not open_all.do(offered)


def test_count_of_a_page_is_kept_for_the_menu(open_all):
    """Predictions do not count; on a page without a name nothing is kept."""
    count = "localStorage.getItem('progress/book/a')"
    assert open_all.do(count) is None
    open_all.do("document.body.dataset.page = 'book/a'")
    open_all.show()
    assert open_all.do(count) == "0/4"
    open_all.do("countChanges()")
    answer_all(open_all)
    assert open_all.do(count) == "4/4"
    assert open_all.do("changes") >= 4
    give(open_all, SUM, ["2", "12"])
    assert open_all.do(count) == "3/4"
    open_all.do("form('pick').wipe()")
    assert open_all.do(count) == "2/4"


def test_move_of_an_item_by_one_place_says_where_it_is(open_all):
    assert SORT.items == ["two", "three", "one"]
    for item, way, order, place in [
        (0, 0, [0, 1, 2], 1),  # at the top it stays
        (0, 1, [1, 0, 2], 2),
        (2, 1, [1, 0, 2], 3),  # and at the end
        (2, 0, [1, 2, 0], 2),
        (2, 0, [2, 1, 0], 1),
    ]:
        name = SORT.items[item]
        assert open_all.do(f"move({item}, {way})") == [
            order, f"{name}: place {place} of 3.", True,
            f"{name}: {['up', 'down'][way]}",
        ]  # fmt: skip
    assert open_all.do("kept()") == {}, "no answer before the button"


def test_a_press_predicts_and_opens_the_fold(open_all):
    assert open_all.do("fold().open") is False
    press(open_all, "less")
    wrong = "✗ Not so. Because of <code>exp</code>."
    assert open_all.do("said('guess')") == wrong
    assert open_all.do("fold().open") is True
    open_all.revisit()
    assert open_all.do("said('guess')") == wrong
    assert open_all.do("fold().open") is True
    pressed = "[...form('guess').querySelectorAll('[aria-pressed=true]')]"
    assert open_all.do(f"{pressed}.map((it) => it.textContent)") == ["less"]
    press(open_all, "more")
    assert open_all.do("said('guess')") == "✓ Right. So it is."
    assert open_all.do(f"{pressed}.map((it) => it.textContent)") == ["more"]


def test_a_guess_is_what_the_slider_says(open_all):
    size = Guess(
        "size", "How much?", 3, [1, 3, 9], "3.", "Low.", "High.", " kB"
    )
    open_all.do(f"open({json.dumps(FOLDED % size.html())}, false)")
    slide = "(() => { const f = form('size').querySelector('input'); "
    for place, text, said in [
        (0, "1 kB", "✗ Not so. Low."),
        (1, "3 kB", "✓ Right. 3."),
        (2, "9 kB", "✗ Not so. High."),
    ]:
        open_all.do(
            f"{slide} f.value = {place}; f.dispatchEvent(new Event('input')); "
            "form('size').requestSubmit(); })()"
        )
        shown = "form('size').querySelector('output').textContent"
        assert open_all.do(shown) == text
        assert open_all.do("said('size')") == said
        assert open_all.do("fold().open") is True


def test_sign_keys_type_what_a_phone_lacks(open_all):
    for name in ("pick", "sort", "find"):
        assert open_all.do(f"!form({name!r}).querySelector('.av-signs')")
    expected = ["−3", "1/e8", 2, True, True]
    assert open_all.do("typeSigns()") == expected


def test_recall_passes_over_what_has_another_form(open_all):
    for kept in ("no JSON", '{"0": "3"}', '"3"', "null"):
        keep = f"localStorage.setItem('practice/sum', {json.dumps(kept)})"
        open_all.do(keep)
        open_all.show()
        found = open_all.do("[said('sum'), fields('sum')[0].value]")
        assert found == ["", ""], kept
    give(open_all, SUM, ["3", "7"])
    assert open_all.do("said('sum')") == "✓ Right. A sum."
    # The question has changed since: a field more, an option less.
    open_all.do("localStorage.setItem('practice/sum', '[\"3\"]')")
    open_all.show()
    assert open_all.do("fields('sum').map((field) => field.value)") == [
        "3", "",
    ]  # fmt: skip
    assert open_all.do("said('sum')") == "Not answered yet."


def test_render_in_jupyter_takes_the_cell_for_its_page(open_all):
    open_all.show(jupyter=True)
    assert open_all.do("el.querySelector('.av-tally').textContent") == "?"
    give(open_all, PICK, [option("one")])
    assert open_all.do("said('pick')") == "✓ Right. So it is."
    assert open_all.do("keepsKeys()")
