"""What the site's own script does, on a page that is made for it.

`fake_page.js` has the few elements and names of a browser that it asks for;
the built pages are tried in a real one. Each test builds a page, runs the
script, works the page, and reads what has become of it.
"""

import json
from pathlib import Path

import pytest
import quickjs

TESTS = Path(__file__).resolve().parents[1]
SCRIPT = TESTS.parent / "book" / "_static" / "site.js"


class Page:
    """A page with some elements, on which the script has run."""

    def __init__(self, *elements, address="", navigation=""):
        self.engine = quickjs.Context()
        self.engine.eval(
            (TESTS / "figures" / "fake_page.js").read_text("utf-8")
        )
        self.do(
            f"page({json.dumps(address)}, {json.dumps(navigation)}, "
            f"{', '.join(elements)})"
        )
        self.do(SCRIPT.read_text("utf-8"))

    def do(self, code):
        """Run some code, and what it has put off."""
        self.engine.eval(code)
        while self.engine.execute_pending_job():
            pass

    def find(self, code):
        """The value of an expression; `$` finds elements by a selector."""
        self.do("globalThis.$ = (s) => document.querySelectorAll(s)")
        return json.loads(self.engine.eval(f"JSON.stringify({code})"))


def make(tag, inside="", **attributes):
    """The code that makes an element; `_` in a name stands for a hyphen."""
    given = {
        name.rstrip("_").replace("_", "-"): value
        for name, value in attributes.items()
    }
    return f'make("{tag}", {json.dumps(given)}, {inside or json.dumps("")})'


# --- tables ------------------------------------------------------------------

HEADS = """rowOf("th", ...["name", "size"].map((name) =>
  make("th", {}, make("button", {}, name))))"""
SORTED = make(
    "table",
    make("thead", HEADS)
    + ","
    + make("tbody", 'rowOf("td", " b ", "10"), rowOf("td", "c", "9"),'
           'rowOf("td", "a", "10")'),
    class_="ledger",
)  # fmt: skip
NAMES = '$("tbody tr").map((row) => row.cells[0].textContent.trim()).join("")'
ORDERS = '$("th").map((th) => th.getAttribute("aria-sort"))'


def press(page, selector, place=0):
    page.do(
        f"""{{
          const target = document.querySelectorAll("{selector}")[{place}];
          document.tell("click", {{ target }});
        }}"""
    )


def test_a_heading_sorts_its_table_and_sorts_it_back():
    page = Page(SORTED)
    told = [page.find(f"[{NAMES}, ...{ORDERS}]")]
    for column in (0, 0, 0, 1, 1, 0):
        press(page, "th button", column)
        told.append(page.find(f"[{NAMES}, ...{ORDERS}]"))
    assert told == [
        ["bca", None, None],
        ["abc", "ascending", None],
        ["cba", "descending", None],
        ["abc", "ascending", None],
        ["cab", None, "ascending"],  # those that are equal stay in order
        ["abc", None, "descending"],
        ["abc", "ascending", None],
    ]


def test_what_is_no_heading_sorts_nothing():
    page = Page(SORTED, make("table", make("thead", HEADS), class_="other"))
    press(page, "td")
    press(page, ".other button")
    assert page.find(NAMES) == "bca"


def entry(source, number, verdict, cause=""):
    told = make("b", f'"{cause}"') if cause else '""'
    texts = f'"{source}", "{number}", "what", "{verdict}: why"'
    return f'rowOf("td", {texts}, make("td", {{}}, {told}))'


def entries():
    rows = [
        entry("two", "1.5", "erratum", "Slip"),
        entry("one", "2.5", "reproduced"),
        entry("one", "1.25", "erratum", "Carried"),
    ]
    table = make("table", make("tbody", ",".join(rows)), class_="entries")
    return Page(make("div", make("div", table, class_="box")))


SHOWN = """[$("tbody tr").map((row) => +!row.hidden).join(""),
  $("output")[0].textContent]"""


def test_the_ledger_is_searched_above_its_table():
    page = entries()
    form = '$("form")[0]'
    assert page.find(f"{form}.className") == "ledger-filter"
    assert page.find(f'{form}.parentNode.children.indexOf($(".box")[0])') == 1
    assert page.find('$("label").map((it) => it.children[0])') == [
        "search ", "source ", "verdict ", "cause ",
    ]  # fmt: skip
    assert page.find('$("label input").map((it) => it.type)') == ["search"]
    options = (
        '$("label select").map((it) => it.children.map((o) => o.textContent))'
    )
    assert page.find(options) == [
        ["all", "one", "two"],
        ["all", "erratum", "reproduced"],
        ["all", "Carried", "Slip"],
    ]
    assert page.find(SHOWN) == ["111", "3 of 3 entries"]
    page.do("let stopped = 0; const stop = () => (stopped += 1)")
    page.do(
        'document.querySelector("form").tell("submit", {preventDefault: stop})'
    )
    assert page.find("stopped") == 1


@pytest.mark.parametrize(
    ("words", "chosen", "shown"),
    [
        ("ONE", (0, 0, 0), ["011", "2 of 3 entries"]),
        ("one  carried", (0, 0, 0), ["001", "1 of 3 entries"]),
        ("what none", (0, 0, 0), ["000", "0 of 3 entries"]),
        ("", (1, 0, 0), ["011", "2 of 3 entries"]),
        ("", (0, 1, 0), ["101", "2 of 3 entries"]),
        ("", (0, 0, 2), ["100", "1 of 3 entries"]),
        ("", (1, 1, 0), ["001", "1 of 3 entries"]),
        ("2", (1, 0, 0), ["011", "2 of 3 entries"]),
        ("2.5", (1, 1, 0), ["000", "0 of 3 entries"]),
    ],
)
def test_an_entry_is_shown_that_fits_all_that_is_asked(words, chosen, shown):
    page = entries()
    page.do(
        f"""document.querySelector("input").value = {json.dumps(words)};
        document.querySelectorAll("select").forEach(
          (select, i) => select.choose({list(chosen)}[i]));
        document.querySelector("form").tell("input");"""
    )
    assert page.find(SHOWN) == shown
    page.do(
        """document.querySelector("input").value = "";
        document.querySelectorAll("select").forEach((it) => it.choose(0));
        document.querySelector("form").tell("input");"""
    )
    assert page.find(SHOWN) == ["111", "3 of 3 entries"]


# --- the header and the contents ---------------------------------------------

MENU = make(
    "div",
    make("button", make("i"), data_bs_toggle="dropdown")
    + ","
    + make("ul", make("a", '"file"')),
    class_="dropdown",
)
OPEN = """$("button").map((it) =>
  [it.className, it.getAttribute("aria-expanded")].join(" "))"""
CLOSED, SHOW = " false", "show true"


def test_a_menu_opens_alone_and_closes_by_what_closes_menus():
    page = Page(MENU, MENU, make("p"))
    told = []
    for selector, place in (
        ("button i", 0), ("button i", 0), ("button", 0), ("button", 1),
        ("p", 0), ("button", 1), ("a", 1),
    ):  # fmt: skip
        press(page, selector, place)
        told.append(page.find(OPEN))
    assert told == [
        [SHOW, CLOSED],
        [CLOSED, CLOSED],
        [SHOW, CLOSED],
        [CLOSED, SHOW],
        [CLOSED, CLOSED],
        [CLOSED, SHOW],
        [CLOSED, CLOSED],
    ]


def test_escape_closes_a_menu_and_leads_back_to_its_button():
    page = Page(MENU, MENU, make("p"))
    page.do(
        """globalThis.focused = [];
        document.querySelectorAll("button").forEach(
          (it, i) => (it.focus = () => focused.push(i)));
        const type = (key, target) =>
          document.tell("keydown", { key, target });
        """
    )
    press(page, "button", 1)
    page.do('type("x", document.querySelectorAll("a")[1])')
    assert page.find(OPEN) == [CLOSED, SHOW]
    page.do('type("Escape", document.querySelectorAll("a")[1])')
    assert page.find(f"[focused, {OPEN}]") == [[1], [CLOSED, CLOSED]]
    press(page, "button", 0)
    page.do('type("Escape", document.querySelector("p"))')
    assert page.find(f"[focused, {OPEN}]") == [[1], [CLOSED, CLOSED]]


def entry_to(name, inside='""'):
    link = make("a", f'"{name}"', href=f"#{name}", class_="nav-link")
    return make("li", f"{link}, {inside}", class_="entry")


def test_the_contents_mark_the_last_part_in_view_and_what_it_lies_in():
    names = "one", "two", "inner", "drei%C3%9F"
    nested = make("ul", entry_to(names[2]))
    listed = [
        entry_to("one"), entry_to("two", nested), entry_to(names[3]),
        entry_to("of no part"),
    ]  # fmt: skip
    parts = [
        make("section", id="one"),
        make("section", make("section", id="inner"), id="two"),
        make("section", id="dreiß"),
    ]
    page = Page(make("nav", ",".join(listed), class_="page-toc"), *parts)
    assert page.find("observers[0].options") == {"rootMargin": "0px 0px -60%"}
    assert page.find("[...observers[0].watched].map((it) => it.tag)") == (
        ["section"] * 4
    )

    def marked(**views):
        """The links that are marked once parts come into view, or go."""
        entries = [
            f'{{target: document.getElementById("{name}"), '
            f"isIntersecting: {str(view).lower()}}}"
            for name, view in views.items()
        ]
        page.do(f"observers[0].see([{','.join(entries)}])")
        marked = 'filter((it) => it.className.endsWith(" active"))'
        links = page.find(f"$('a').{marked}.map((it) => it.textContent)")
        entries = page.find(
            f"$('li').{marked}.map((it) => it.children[0].textContent)"
        )
        assert links == entries
        return links

    assert marked() == []
    assert marked(one=True) == ["one"]
    assert marked(two=True) == ["two"]
    assert marked(inner=True, one=False) == ["two", "inner"]
    assert marked(dreiß=True) == ["drei%C3%9F"]
    assert marked(inner=False, dreiß=False) == ["two"]
    assert marked(two=False) == []


# --- boxes, folds ------------------------------------------------------------

KINDS = [
    "figure", "math-display", "ledger-box", "printed", "av-result",
    "pst-scrollable-table-container",
]  # fmt: skip


@pytest.mark.parametrize("event", ["load", "resize"])
def test_a_box_that_scrolls_can_be_reached_with_keys(event):
    boxes = [make("div", class_=kind) for kind in KINDS]
    code = make("div", make("pre"), class_="cell_output")
    output = make("div", make("div", class_="output"), class_="cell_output")
    page = Page(*boxes, code, output, make("div", class_="other"))
    parts = """[...document.querySelectorAll("div, pre")].filter(
      (it) => it.className !== "cell_output")"""

    page.do('document.tell("window load")')

    def measured(wide, tall):
        """Names and places among the stops, of boxes that hold more."""
        page.do(
            f"""for (const it of {parts})
              Object.assign(it, {{ scrollWidth: {100 + wide}, clientWidth: 100,
                scrollHeight: {200 + tall}, clientHeight: 200 }});
            document.tell("window {event}")"""
        )
        return page.find(
            f"{parts}.map((it) => [it.className, it.tabIndex ?? null])"
        )

    last = ["other", None]
    fits = [[name, None] for name in (*KINDS, "", "output")]
    assert measured(0, 1) == [*fits, last]
    wide = [[f"{name} scrolls".strip(), 0] for name in (*KINDS, "", "output")]
    assert measured(1, 0) == [*wide, last]
    tall = [[name, 0] for name in (*KINDS, "", "output")]
    tall[KINDS.index("ledger-box")][0] += " scrolls-down"
    assert measured(0, 2) == [*tall, last]
    assert measured(0, 0) == [*fits, last]


def test_a_box_in_a_fold_is_measured_once_the_fold_is_open():
    inner = make("details", make("div", class_="figure"), open="")
    page = Page(make("details", inner), inner)
    page.do(
        """const folds = [...document.querySelectorAll("details")];
        let measured = 0;
        for (const box of document.querySelectorAll(".figure"))
          for (const name of ["scrollWidth", "clientWidth"])
            Object.defineProperty(box, name,
              { get: () => (measured++, name === "scrollWidth" ? 2 : 1) });
        const tell = (event) => document.tell("window " + event);
        tell("load");"""
    )
    stops = '$(".figure").map((it) => it.tabIndex ?? null)'
    assert page.find(f"[measured, ...{stops}]") == [2, None, 0]
    page.do('folds[0].setAttribute("open", ""); tell("toggle")')
    assert page.find(f"[measured, ...{stops}]") == [6, 0, 0]


def test_on_paper_every_fold_is_open():
    page = Page(make("details"), make("details"), make("p"))
    page.do('document.tell("window beforeprint")')
    opened = '[...$("details"), ...$("p")].map((it) => it.open ?? false)'
    assert page.find(opened) == [True, True, False]


# --- figures and questions ---------------------------------------------------

STATE = {"T": 4, "query": 1}


def figure(name, **more):
    return make(
        "div",
        make("p", class_="av-error"),
        data_figure=name,
        data_state=json.dumps(STATE),
        **more,
    )


SCRIPTS = '$("head script").map((it) => it.src.href)'
RENDER = """
globalThis.attentionFigures ??= {};
globalThis.rendered = [];
for (const name of ["film", "words"])
  attentionFigures[name] = { render: (given) => rendered.push([name, given]) };
"""


def come(page, *names):
    """The scripts of figures arrive."""
    page.do(RENDER)
    for name in names:
        page.do(
            f"""document.querySelectorAll("head script").find(
              (it) => it.src.href.endsWith("/{name}.js")).onload()"""
        )


def seen(page, *places, sees="true"):
    """Figures come into view; or something else is told of them."""
    page.do(
        f"""observer.see({list(places)}.map((i) => ({{ isIntersecting: {sees},
          target: document.querySelectorAll("[data-figure]")[i] }})))"""
    )


def test_a_figure_loads_its_script_once_it_is_near():
    page = Page(figure("film"), figure("words"), figure("film"))
    assert page.find("[observer.watched.size, observer.options]") == [
        3, {"rootMargin": "400px"},
    ]  # fmt: skip
    seen(page, 0, 1, 2, sees="false")
    assert page.find(SCRIPTS) == []
    seen(page, 0)
    seen(page, 2)
    root = "http://book.test/_static/figures"
    assert page.find(SCRIPTS) == [f"{root}/film.js"]
    assert page.find(
        "[...observer.watched].map((it) => it.dataset.figure)"
    ) == ["words"]
    come(page, "film")
    assert page.find("rendered.map(([name]) => name)") == ["film", "film"]
    places = "rendered.map(([, { el }]) => $('[data-figure]').indexOf(el))"
    assert page.find(places) == [0, 2]
    # A figure may load more, by the same way.
    page.do('rendered[0][1].load("more")')
    assert page.find(SCRIPTS)[-1] == f"{root}/more.js"


def test_a_model_keeps_the_settings_of_its_page():
    page = Page(figure("film"))
    seen(page, 0)
    come(page, "film")
    page.do(
        """const { model } = rendered[0][1];
        const heard = [];
        model.on("change:T", () => heard.push(["one", model.get("T")]));
        model.on("change:T", () => heard.push(["two", model.get("T")]));
        model.on("change:query", () => heard.push("query"));
        model.set("T", 7);
        model.set("other", 1);
        model.save_changes();
        model.off("change:T");"""
    )
    assert page.find("heard") == [["one", 7], ["two", 7]]
    found = '["T", "query", "other", "none"].map((k) => model.get(k) ?? null)'
    assert page.find(found) == [7, 1, 1, None]


@pytest.mark.parametrize("fails", ["onerror", "onload"])
def test_a_script_that_does_not_come_is_told(fails):
    page = Page(figure("film"))
    seen(page, 0)
    page.do(f'document.querySelector("head script").{fails}()')
    assert page.find('$(".av-error")[0].textContent') == (
        "The script of this figure did not load. The figure shows its first "
        "state."
    )


SCROLLED = """
globalThis.scrolled = [];
document.querySelectorAll("[data-figure]").forEach((it, i) => {
  it.scrollIntoView = (how) => scrolled.push([i, how]);
});
document.tell("window load");
"""


@pytest.mark.parametrize(
    ("address", "navigation", "started", "scrolled"),
    [
        ("?film.T=3&film.query=1", "navigate", "film", 1),
        ("?words.x=2", "navigate", "words", 0),
        ("?film.T=3#part", "navigate", "film", None),
        ("?film.T=3", "reload", "film", None),
        ("?film.T=3", "", "film", None),
        ("?page=3", "navigate", "", None),
        ("", "navigate", "", None),
    ],
)
def test_a_link_to_a_state_starts_its_figure_and_leads_there(
    address, navigation, started, scrolled
):
    page = Page(
        figure("words"), figure("film"),
        address=address, navigation=navigation,
    )  # fmt: skip
    names = '$("head script").map((it) => it.src.href.slice(33, -3)).join()'
    assert page.find(names) == started
    waiting = page.find("[...observer.watched].map((it) => it.dataset.figure)")
    assert waiting == [n for n in ("words", "film") if n != started]
    page.do(SCROLLED)
    assert page.find("scrolled") == (
        [] if scrolled is None else [[scrolled, {"behavior": "instant"}]]
    )


QUESTION = make("form", make("p", class_="av-reply"), data_question="it")


def test_questions_answer_from_the_start():
    page = Page(QUESTION)
    root = "http://book.test/_static/figures"
    assert page.find(SCRIPTS) == [f"{root}/practice.js"]
    page.do(
        """globalThis.attentionFigures = { practice: {
          render: ({ el, model }) => (globalThis.asked = [el === document,
            model === undefined]) } };
        document.querySelector("head script").onload()"""
    )
    assert page.find("globalThis.asked") == [True, True]
    assert Page(make("p")).find(SCRIPTS) == []


def test_questions_whose_script_does_not_come_say_so():
    page = Page(QUESTION, QUESTION)
    page.do('document.querySelector("head script").onerror()')
    said = "The script of the questions did not load."
    assert page.find('$(".av-reply").map((it) => it.textContent)') == [
        said, said,
    ]  # fmt: skip
