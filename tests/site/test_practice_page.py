"""Questions on the built pages: by keys, kept, cleared, without scripts."""

import re

import pytest
from playwright.sync_api import expect

from course.practice import Cell, Choice, Order
from tests.book.practice_pages import GIVE, PAGES, ROOT, forms, given, ran
from tests.site.javascript import function
from tools import website

PRACTICE = [
    path.relative_to(ROOT).with_suffix("").as_posix() for path in PAGES
]
LESSONS = [page.replace("practice/", "") for page in PRACTICE]
SMALLEST = 320  # px
KINDS = {"Number", "Matrix", "Choice", "Order", "Cell"}


def path_of(page):
    return ROOT / f"{page}.ipynb"


# The script is the same on all pages, and `tests/book/test_practice.py` asks
# it every answer of each: a browser gives them on one page of all kinds.
FULL = max(
    PRACTICE,
    key=lambda page: len(
        {" ".join(form["class"]) for form in forms(path_of(page)).values()}
    ),
)


def form_of(tab, name):
    return tab.locator(f"form[data-question={name}].av-live")


def plain(reply):
    return repr(reply).replace("`", "")


SAID = function("practice", "said")
SIDEWAYS = "document.documentElement.scrollWidth - innerWidth"
KEPT = "Object.keys(localStorage).filter(k => k.startsWith('practice'))"


def live(tab, count):
    """Wait until so many questions of a page answer."""
    tab.locator("form[data-question].av-live").nth(count - 1).wait_for()


def open_narrow(context, host, page, errors):
    tab = context.new_page()
    tab.set_viewport_size({"width": SMALLEST, "height": 700})
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{host.address}/{page}.html")
    return tab


def test_every_question_answers_and_is_kept(host, browser):
    page = FULL
    questions = ran(path_of(page)).questions
    errors = []
    with browser.new_context() as context:
        tab = open_narrow(context, host, page, errors)
        live(tab, len(forms(path_of(page))))
        check_words_and_sizes(tab)
        for place in (1, 0):  # a wrong answer, then the right one
            answers = {q.name: q.answers[place] for q in questions.values()}
            asked = [
                [name, given(questions[name], values)]
                for name, (values, _) in answers.items()
            ]
            said = [plain(reply) for _, reply in answers.values()]
            assert tab.evaluate(GIVE, asked) == said
        tally = tab.locator(".av-tally")
        tasks = tab.locator(".av-task").count()  # nothing has run
        count = f"{len(questions) + tasks} questions right"
        expect(tally).to_contain_text(f"{len(questions)} of {count}")
        assert tab.evaluate(SIDEWAYS) <= 0
        tab.reload()
        live(tab, len(forms(path_of(page))))
        assert tab.evaluate(SAID, list(questions)) == said
        tally.get_by_role("button", name="Clear all answers").press("Enter")
        expect(tally).to_contain_text(f"0 of {count}")
        assert tab.evaluate(KEPT) == []
        assert not tab.locator("form input:checked").count()
    assert not errors


def check_words_and_sizes(tab):
    """Each question is a group with a name of its own, and large enough."""
    legends, replies, sizes = tab.evaluate(MEASURED)
    names = [name for (name,) in legends]
    assert all(name.strip() for name in names)
    assert len(set(names)) == len(names)
    assert set(replies) == {1}
    assert min(sizes) >= 24
    assert tab.locator("form input:not([type])").count() == 0


def answer(tab, question, values):
    """Give an answer with the keys alone, and press the button."""
    form = form_of(tab, question.name)
    fields = form.locator("input")
    if isinstance(question, Order):
        for place, item in enumerate(values):
            up = form.locator(f"li[data-item='{item}'] button").first
            up.focus()
            for _ in range(len(values)):
                order = form.locator("li").evaluate_all(
                    "items => items.map(item => +item.dataset.item)"
                )
                if order.index(item) == place:
                    break
                tab.keyboard.press("Enter")
                expect(up).to_be_focused()
        form.get_by_role("button", name="Check").focus()
    elif isinstance(question, Choice | Cell):
        form.locator("input:checked, input").first.focus()
        tab.keyboard.press("Space")
        now = fields.evaluate_all("fs => fs.findIndex(f => f.checked)")
        count = fields.count()
        for _ in range((values[0] - now) % count):
            tab.keyboard.press("ArrowDown")
    else:
        fields.first.focus()
        for text in given(question, values):
            tab.keyboard.press("Control+a")
            tab.keyboard.type(text)
            if form.locator("input:focus").count():
                tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    return form.locator(".av-reply")


def test_each_kind_is_answered_by_the_keys_alone(host, browser):
    asked = ran(path_of(FULL)).questions.values()
    kinds = {type(question).__name__: question for question in asked}
    assert set(kinds) == KINDS
    errors = []
    with browser.new_context() as context:
        tab = open_narrow(context, host, FULL, errors)
        for question in kinds.values():
            form = form_of(tab, question.name)
            form.wait_for()
            # A section out of sight has no inner text.
            legend = form.locator("legend").text_content()
            group = tab.get_by_role("group", name=legend, exact=True)
            assert group.count() == 1
            assert form.get_by_role("status").count() == 1
            for values, said in (question.answers[1], question.answers[0]):
                expect(answer(tab, question, values)).to_have_text(plain(said))
    assert not errors


def test_what_cannot_be_read_as_a_number_is_no_answer(host, browser):
    tab = browser.new_page()
    tab.goto(f"{host.address}/{PRACTICE[0]}.html")
    form = tab.locator("form.av-live:has(input[type=text])").first
    form.get_by_role("button", name="Check").click()
    expect(form.get_by_role("status")).to_have_text("Not answered yet.")
    for field in form.locator("input").all():
        field.fill("a half")
    form.locator("input").first.press("Enter")
    expect(form.get_by_role("status")).to_contain_text("such as 0.25")
    kept = tab.evaluate("Object.keys(localStorage)")
    assert not [key for key in kept if key.startswith("practice/")]
    tab.close()


@pytest.mark.parametrize("width", [390, 1440])
def test_a_number_is_asked_for_once_and_answered_in_one_line(
    host, browser, width
):
    with browser.new_context(has_touch=width == 390) as context:
        tab = context.new_page()
        tab.set_viewport_size({"width": width, "height": 844})
        tab.goto(f"{host.address}/{FULL}.html")
        live(tab, len(forms(path_of(FULL))))
        lines = tab.evaluate(LINES)
    assert lines
    for line in lines:
        assert line["tops"] == 1, line
        assert line["below"] < 12, "no room is kept for a reply"
        assert line["asked"] == 1, line
        assert line["least"] >= (44 if width == 390 else 24)


PREDICT = function("practice", "predict")
MEASURED = function("practice", "measured")
LINES = function("practice", "lines")


@pytest.mark.parametrize("page", [LESSONS[0], LESSONS[-1]])
def test_a_prediction_opens_what_it_is_compared_with(host, browser, page):
    errors = []
    with browser.new_context() as context:
        tab = open_narrow(context, host, page, errors)
        found = tab.locator("form.av-predict.av-live")
        found.first.wait_for(state="attached")
        website.open_deeper(tab)
        folds = tab.locator("details.av-reveal")
        assert found.count() == folds.count() > 0
        assert tab.locator("details.av-reveal[open]").count() == 0
        for seen in tab.evaluate(PREDICT):
            assert seen["closed"]
            assert seen["open"]
            assert [right for right, _ in seen["said"]].count("true") == 1
            assert all(len(text) > 30 for _, text in seen["said"])
        assert tab.evaluate(SIDEWAYS) <= 0
        tab.reload()
        expect(folds.last).to_have_attribute("open", "")
        website.open_deeper(tab)
        # By keys: what still grows above moves a button from under the mouse.
        form = found.last
        form.get_by_role("button", name="Clear").press("Enter")
        expect(folds.last).not_to_have_attribute("open", "")
        form.locator("input, .av-option").last.press("Enter")
        expect(folds.last).to_have_attribute("open", "")
    assert not errors


@pytest.mark.parametrize("blocked", [False, True])
def test_questions_answer_from_a_folder_and_where_nothing_can_be_kept(
    site, browser, blocked
):
    page = FULL
    question = next(iter(ran(path_of(page)).questions.values()))
    values, said = question.answers[0]
    with browser.new_context() as context:
        tab = context.new_page()
        errors = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        if blocked:
            tab.add_init_script(f"({function('storage', 'blocked')})()")
        tab.goto((site / f"{page}.html").as_uri())
        expect(answer(tab, question, values)).to_have_text(plain(said))
        assert not errors


@pytest.mark.parametrize("page", PRACTICE)
def test_no_question_shows_how_it_was_made(site, page):
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    assert not re.search(
        r"practice\.(Number|Matrix|Choice|Cell|Order)\(", html
    )
    assert "what the check knows" not in html.lower()


def test_no_answer_stands_on_a_page_or_in_the_search(site):
    html = (site / f"{FULL}.html").read_text(encoding="utf-8")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for question in ran(path_of(FULL)).questions.values():
        for _, reply in question.answers:
            assert reply.text.replace("`", "") not in html, reply.text
    assert "as_scores" not in index
