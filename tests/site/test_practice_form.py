"""What only a browser runs of a question: forms, what is kept, the tally.

As in `test_figure_page.py`, an empty page takes milliseconds. The pages that
readers open, with real keys, are in `test_practice_page.py`.
"""

import json

import pytest

from helpers import figures
from helpers.practice import Cell, Choice, Matrix, Order, Predict, Reply
from tests.book.practice_pages import GIVE
from tests.figures.test_figure_page import HOST, page  # noqa: F401

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
    "guess", "What will come?", {"largest": "0.5", "least": "`0`"},
    "Because of `exp`.",
)  # fmt: skip
FOLDED = """<p class="av-tally">?</p><div class="cell">%s</div>
<details class="av-reveal"><summary>s</summary>t</details>"""
HANDS = """
const open = (html, model = null) => {
  globalThis.el = document.createElement("main");
  if (model) model = { get: (key) => ({ html })[key] };
  else el.innerHTML = html;
  document.body.replaceChildren(el);
  attentionFigures.practice.render({ model, el });
};
const form = (name) => el.querySelector(`form[data-question=${name}]`);
const said = (name) => form(name).querySelector(".av-reply").innerHTML;
const fields = (name) => [...form(name).querySelectorAll("input")];
const items = () => [...form("sort").querySelectorAll("li")]
  .map((item) => Number(item.dataset.item));
const moved = (item, way) => {
  const button = el.querySelectorAll(`[data-item="${item}"] button`)[way];
  button.click();
  return [items(), said("sort"), document.activeElement === button,
    document.activeElement.ariaLabel];
};
const tally = () => el.querySelector(".av-tally").textContent;
const press = (target, key) => {
  const event = new KeyboardEvent("keydown",
    { key, bubbles: true, cancelable: true });
  target.dispatchEvent(event);
  return event.defaultPrevented;
};
const kept = () => Object.fromEntries(
  Object.keys(localStorage).sort().map((k) => [k, localStorage.getItem(k)]));
"""


@pytest.fixture
def open_all(page):  # noqa: F811
    """Open all questions, as the site shows them; work them in the page."""

    def visit():
        page.tab.goto(HOST)
        page.tab.add_script_tag(content=figures.script("practice") + HANDS)

    def show(jupyter=False):
        forms = "".join(question.html() for question in QUESTIONS)
        html = forms + FOLDED % GUESS.html()
        page.do(f"open({json.dumps(html)}, {json.dumps(jupyter)})")

    visit()
    show()
    page.visit, page.show = visit, show
    return page


def give(open_all, question, given):
    """Answer as a hand does; what is said then."""
    return open_all.do(f"({GIVE})([[{question.name!r}, {given}]])[0]")


def places(*items):
    """Items of `SORT` as the page numbers them."""
    return [SORT.items.index(item) for item in items]


def option(text):
    """The place of an option of `PICK` on the page."""
    return PICK.options.index(text)


ANSWERS = [
    (SUM, ["3", "7"], Reply(True, "A sum.")),
    (SUM, ["2", "12"], Reply(False, "That is `x * y`.")),
    (SUM, ["3", " "], Reply(None, "")),
    (PICK, [option("two")], Reply(False, "No.")),
    (PICK, [option("pi")], Reply(False, "Hm.")),
    (PICK, [option("one")], Reply(True, "So it is.")),
    (SORT, places("three", "two", "one"), Reply(False, "Turned round.")),
    (SORT, places("two", "one", "three"), Reply(False, "Not yet in order.")),
    (SORT, places("one", "two", "three"), Reply(True, "Sorted.")),
    (FIND, [0], Reply(False, "Add up the rows.")),
    (FIND, [2], Reply(False, "That is right.")),
    (FIND, [3], Reply(True, "It has no sum of 1.")),
]


def in_html(reply):
    """A reply as the page has it: what stands in backticks is code."""
    parts = repr(reply).split("`")
    parts[1::2] = [f"<code>{code}</code>" for code in parts[1::2]]
    return "".join(parts)


def test_each_answer_has_its_reply(open_all):
    live = "[...el.querySelectorAll('form')].map((f) => f.className)"
    assert all(name.endswith(" av-live") for name in open_all.do(live))
    for question, given, reply in ANSWERS:
        give(open_all, question, json.dumps(given))
        name = question.name
        assert open_all.do(f"said({name!r})") == in_html(reply)
        right = open_all.do(f"form({name!r}).dataset.right")
        assert right == json.dumps(reply.right)
    give(open_all, SUM, ["3", "x"])
    assert open_all.do("said('sum')") == (
        "Not answered yet. Type one number in each field, such as 0.25, 1/4 "
        "or -3e-2."
    )


def test_what_was_given_is_kept_and_given_again(open_all):
    assert open_all.do("[kept(), tally()]") == [
        {}, "0 of 4 questions right Clear all answers"
    ]  # fmt: skip
    for question, given, _ in ANSWERS:
        give(open_all, question, json.dumps(given))
    stays = {
        "practice/find": "[3]", "practice/pick": json.dumps([option("one")]),
        "practice/sort": json.dumps(places("one", "two", "three"))
        .replace(" ", ""),
        "practice/sum": '["2","12"]',  # a field was empty: no answer
    }  # fmt: skip
    assert open_all.do("kept()") == stays
    assert open_all.do("tally()").startswith("3 of 4 ")
    open_all.visit()
    open_all.show()
    assert open_all.do("kept()") == stays
    assert open_all.do("""[
      fields("sum").map((field) => field.value), items(),
      fields("pick").map((field) => field.checked),
      fields("find").map((field) => field.checked)]
    """) == [
        ["2", "12"], places("one", "two", "three"),
        [text == "one" for text in PICK.options],
        [False, False, False, True],
    ]  # fmt: skip
    assert open_all.do("said('sum')").startswith("✗ Not yet. That is")
    assert open_all.do("said('sort')") == "✓ Right. Sorted."
    assert open_all.do("tally()").startswith("3 of 4 ")


@pytest.mark.parametrize("question", [*QUESTIONS, GUESS], ids=lambda q: q.name)
def test_what_is_cleared_is_as_at_first(open_all, question):
    name = question.name
    look = f"""[form({name!r}).outerHTML.replaceAll(' class=""', ""),
      fields({name!r}).map((field) => [field.value, field.checked])]"""
    first = open_all.do(look)
    for other in QUESTIONS:
        given = next(a for q, a, r in ANSWERS if q is other and r.right)
        give(open_all, other, json.dumps(given))
    give(open_all, GUESS, ["0.4", "1"])
    assert open_all.do(look) != first
    assert open_all.do("tally()").startswith("4 of 4 ")
    assert open_all.do("el.querySelector('details').open")
    kept = open_all.do("Object.keys(kept())")
    assert f"practice/{name}" in kept
    focused = open_all.do(f"""
      form({name!r}).querySelector(".av-clear").click();
      return document.activeElement === form({name!r})
        .querySelector("input, li button");
    """)
    assert focused
    assert open_all.do(look) == first
    kept.remove(f"practice/{name}")
    assert open_all.do("Object.keys(kept())") == kept
    judged = question is not GUESS
    assert open_all.do("tally()").startswith(f"{4 - judged} of 4 ")
    assert open_all.do("el.querySelector('details').open") == judged


def test_all_answers_are_cleared_at_once(open_all):
    assert open_all.do("""
      const button = el.querySelector(".av-tally button");
      return [button.type, el.querySelector(".av-tally").innerHTML];
    """) == [
        "button",
        "<span>0 of 4 questions right </span>"
        '<button type="button">Clear all answers</button>',
    ]
    for question, given, _ in ANSWERS:
        give(open_all, question, json.dumps(given))
    give(open_all, GUESS, ["0.4", "1"])
    assert open_all.do("tally()").startswith("3 of 4 ")
    assert open_all.do("""
      el.querySelector(".av-tally button").click();
      return [kept(), tally(), fields("guess").map((field) => field.value),
        el.querySelector("details").open, items()];
    """) == [
        {}, "0 of 4 questions right Clear all answers", ["", ""], False,
        [0, 1, 2],
    ]  # fmt: skip


def test_an_item_moves_by_one_place_and_says_where_it_is(open_all):
    assert SORT.items == ["two", "three", "one"]
    for item, way, order, place in [
        (0, 0, [0, 1, 2], 1),  # at the top it stays
        (0, 1, [1, 0, 2], 2),
        (2, 1, [1, 0, 2], 3),  # and at the end
        (2, 0, [1, 2, 0], 2),
        (2, 0, [2, 1, 0], 1),
    ]:
        name = SORT.items[item]
        assert open_all.do(f"moved({item}, {way})") == [
            order, f"{name}: place {place} of 3.", True,
            f"{name}: {['up', 'down'][way]}",
        ]  # fmt: skip
    assert open_all.do("kept()") == {}, "no answer before the button"


COMPARED = """<table><tbody>
<tr><td></td><th scope="col">you predicted</th>
<th scope="col">computed</th></tr>
<tr><th scope="row">largest</th><td>0.4</td><td>0.5</td></tr>
<tr><th scope="row">least</th><td><code>&lt;</code>1</td>
<td><code>0</code></td></tr>
</tbody></table><p>Because of <code>exp</code>.</p>"""


def test_a_prediction_is_compared_and_opens_the_fold(open_all):
    assert open_all.do("el.querySelector('details').open") is False
    give(open_all, GUESS, ["", " "])
    assert open_all.do("[said('guess'), kept()]") == [
        "Predict something first: a wrong guess is remembered best.", {},
    ]  # fmt: skip
    assert open_all.do("el.querySelector('details').open") is False
    give(open_all, GUESS, ["0.4", "`<`1"])
    assert open_all.do("said('guess')") == COMPARED.replace("\n", "")
    assert open_all.do("el.querySelector('details').open") is True
    open_all.visit()
    open_all.show()
    assert open_all.do("said('guess')") == COMPARED.replace("\n", "")
    assert open_all.do("el.querySelector('details').open") is True
    give(open_all, GUESS, ["0.4", ""])  # one guess is enough
    assert "<td>0.4</td>" in open_all.do("said('guess')")


def test_only_the_key_enter_in_a_field_answers(open_all):
    assert open_all.do(f"""
      const field = fields("pick")[{option("one")}];
      field.checked = true;
      const other = [press(field, "a"), said("pick")];
      const button = form("sort").querySelector("button");
      const pressed = [press(button, "Enter"), said("sort")];
      return [other, pressed, press(field, "Enter"), said("pick")];
    """) == [[False, ""], [False, ""], True, "✓ Right. So it is."]
    assert open_all.do("""
      const event = new Event("submit", { cancelable: true });
      form("pick").dispatchEvent(event);
      return event.defaultPrevented;
    """)


def test_signs_that_a_phone_lacks_are_typed_by_buttons(open_all):
    for name in ("pick", "sort", "find"):
        assert open_all.do(f"!form({name!r}).querySelector('.av-sign')")
    assert open_all.do("""
      const [first, second] = fields("sum");
      const [minus, stroke, power] = form("sum").querySelectorAll(".av-sign");
      minus.click();  // no field had the focus yet: it goes to the first
      first.value += "3";
      second.focus();
      second.value = "18";
      second.setSelectionRange(1, 1);
      stroke.click();
      const at = document.activeElement === second && second.selectionStart;
      power.click();
      const down = new PointerEvent("pointerdown", { cancelable: true });
      minus.dispatchEvent(down);
      return [first.value, second.value, at, down.defaultPrevented];
    """) == ["−3", "1/e8", 2, True]


@pytest.mark.parametrize("kept", ["no JSON", '{"0": "3"}', '"3"', "null"])
def test_what_is_kept_in_another_form_is_passed_over(open_all, kept):
    open_all.do(f"localStorage.setItem('practice/sum', {json.dumps(kept)})")
    open_all.show()
    assert open_all.do("[said('sum'), fields('sum')[0].value]") == ["", ""]
    give(open_all, SUM, ["3", "7"])
    assert open_all.do("said('sum')") == "✓ Right. A sum."


def test_an_answer_with_a_field_less_is_given_as_far_as_it_goes(open_all):
    """The question has changed since: a field more, an option less."""
    open_all.do("localStorage.setItem('practice/sum', '[\"3\"]')")
    open_all.show()
    assert open_all.do("fields('sum').map((field) => field.value)") == [
        "3", "",
    ]  # fmt: skip
    assert open_all.do("said('sum')") == "Not answered yet."


def test_where_nothing_can_be_kept_it_answers(open_all):
    open_all.do("""
      const refuse = { get() { throw new DOMException("no"); } };
      Object.defineProperty(window, "localStorage", refuse);
      return null;
    """)
    open_all.show()
    give(open_all, SUM, ["3", "7"])
    assert open_all.do("said('sum')") == "✓ Right. A sum."
    open_all.do("form('sum').querySelector('.av-clear').click()")
    assert open_all.do("said('sum')") == ""


def test_in_jupyter_the_cell_is_its_own_page(open_all):
    open_all.show(jupyter=True)
    assert open_all.do("el.querySelector('.av-tally').textContent") == "?"
    give(open_all, PICK, [option("one")])
    assert open_all.do("said('pick')") == "✓ Right. So it is."
    assert open_all.do("""
      [...el.querySelectorAll("input, button, fieldset")]
        .filter((it) => it.form)
        .every((it) => it.dataset.lmSuppressShortcuts === "true")
    """)


def test_a_fold_of_another_kind_stays_closed(open_all):
    html = (FOLDED % GUESS.html()).replace("av-reveal", "another")
    open_all.do(f"open({json.dumps(html)})")
    give(open_all, GUESS, ["0.4", "1"])
    assert open_all.do("el.querySelector('details').open") is False


@pytest.mark.parametrize("around", ["%s", '<div class="cell">%s</div>'])
def test_a_prediction_that_nothing_follows_is_compared(open_all, around):
    open_all.do(f"open({json.dumps(around % GUESS.html())})")
    give(open_all, GUESS, ["0.4", "`<`1"])
    assert open_all.do("said('guess')") == COMPARED.replace("\n", "")


def test_a_page_without_a_tally_does_without(open_all):
    open_all.do(f"open({json.dumps(PICK.html())})")
    give(open_all, PICK, [option("one")])
    assert open_all.do("said('pick')") == "✓ Right. So it is."
