"""What the site's own script does, on a page that a test makes for it.

Each test writes the few elements that it needs, with the script of the site,
works the page as a reader does, and reads what has become of it. The pages of
the book are in `test_site.py`.
"""

import json
from pathlib import Path

import pytest

from tests.site.javascript import program
from tools.website import TWO_FRAMES

SCRIPT = Path(__file__).resolve().parents[2] / "book" / "_static" / "site.js"


@pytest.fixture
def open_page(page):
    """Open a page with js/site.js before its elements, and its script last."""
    page.files["_static/site.js"] = SCRIPT.read_text("utf-8")

    def open_page(body, query=""):
        page.visit(
            f"<script>{program('site')}</script>{body}"
            "<script src=/_static/site.js></script>",
            query,
        )
        return page

    return open_page


# --- tables -----------------------------------------------------------------

HEADS = """<thead><tr><th><button>name</button></th>
<th><button>size</button></th></tr></thead>"""
SORTED = f"""<table class="ledger">{HEADS}<tbody>
<tr><td> b </td><td>10</td></tr><tr><td>c</td><td>9</td></tr>
<tr><td>a</td><td>10</td></tr></tbody></table>"""


def test_sort_of_a_ledger_table_and_back(open_page):
    other = SORTED.replace("ledger", "other")
    page = open_page(SORTED + other)
    told = page.do("sortBy([0, 0, 0, 1, 1, 0])")
    assert told == [
        ["bca", None, None],
        ["abc", "ascending", None],
        ["cba", "descending", None],
        ["abc", "ascending", None],
        ["cab", None, "ascending"],  # those that are equal stay in order
        ["abc", None, "descending"],
        ["abc", "ascending", None],
    ]


# --- core and deeper --------------------------------------------------------

DEEPER = """<div class="av-depth"><button>Core</button><button>All</button>
</div><nav class="page-toc"><a href="#core">core</a><a href="#far">far</a>
</nav><article><section id="core"><p>core</p></section>
<section id="near"><details class="deeper more"><summary>a</summary>
<p id="in">text</p></details></section><p style="height: 99rem"></p>
<section id="far"><details class="deeper more"><summary>b</summary>
<details><summary>c</summary><p id="inner">text</p></details>
</details></section><section id="end"><details class="deeper tail">
<summary>d</summary><p>text</p></details></section></article>"""
OPEN = "$('details').map((it) => Number(it.open)).join('')"
PRESSED = "$('.av-depth button').map((it) => it.ariaPressed).join()"


def test_the_switch_opens_what_is_deeper_and_stays(open_page):
    page = open_page(DEEPER)
    assert page.do(OPEN) == "0000"
    page.do("$('.av-depth button')[1].click()")
    assert page.do(OPEN) == "1100", "neither a fold inside nor the tail"
    assert page.do(PRESSED) == "false,true"
    page = open_page(DEEPER)
    assert page.do(OPEN) == "1100", "on the next page too"
    assert page.do(PRESSED) == "false,true"
    page.do("$('.av-depth button')[0].click()")
    assert page.do(OPEN) == "0000"
    assert page.do("localStorage.length") == 0
    assert page.do(PRESSED) == "true,false"


@pytest.mark.parametrize(
    ("hash_", "opened"),
    [
        ("#core", "0000"),
        ("#near", "1000"),
        ("#in", "1000"),
        ("#far", "0100"),
        ("#inner", "0110"),
        ("#end", "0001"),
    ],
)
def test_a_link_opens_what_it_leads_to(open_page, hash_, opened):
    page = open_page(DEEPER, hash_)
    page.do(TWO_FRAMES)
    assert page.do(OPEN) == opened
    # Without a change of the address: closed by hand, and followed again.
    link = f"<a id=go href={hash_}>x</a>"
    page.do(
        f"""for (const it of $('details')) it.open = false;
        document.body.insertAdjacentHTML('beforeend', '{link}');
        return $('#go')[0].click()"""
    )
    page.do(TWO_FRAMES)
    assert page.do(OPEN) == opened
    top = f"$('{hash_}')[0].getBoundingClientRect().top"
    assert 0 <= page.do(top) < page.do("innerHeight"), "in sight"


# A page whose first half grows once it is reached, as figures make it grow.
GROWING = """<article><p style="height: 99rem"></p><p id="grows"></p>
<p style="height: 50rem"></p><h2 id="part">part</h2>
<p style="height: 99rem"></p></article>"""
GROW = "$('#grows')[0].style.height = '70rem'"
AWAY = "Math.abs($('#part')[0].getBoundingClientRect().top)"


def test_what_grows_above_a_target_does_not_push_it_away(open_page):
    page = open_page(GROWING, "#part")
    page.do("document.body.style.overflowAnchor = 'none'")
    page.do(TWO_FRAMES)
    page.do(GROW)
    page.do(TWO_FRAMES)
    assert page.do(AWAY) < 2
    # A reader who moves is not pulled back.
    page.do("dispatchEvent(new Event('wheel'))")
    page.do("scrollTo({ top: 0, behavior: 'instant' })")
    page.do("$('#grows')[0].style.height = '10rem'")
    page.do(TWO_FRAMES)
    assert page.do("scrollY") == 0


def test_contents_tell_what_is_deeper(open_page):
    page = open_page(DEEPER)
    assert page.do("$('.page-toc .deeper').map((it) => it.hash)") == ["#far"]


# --- the header and the contents --------------------------------------------

MENU = """<div class="dropdown"><button data-bs-toggle="dropdown"><i>i</i>
</button><ul><a href="#x">file</a></ul></div>"""
CLOSED, SHOW = "false,false", "true,true"


def test_open_only_one_menu_and_close_it_by_what_closes_menus(open_page):
    page = open_page(MENU + MENU + "<p>text</p>")
    steps = [("button i", 0), ("button i", 0), ("button", 0), ("button", 1)]
    steps += [("p", 0), ("button", 1), ("a", 1)]
    assert page.do(f"clicks({json.dumps(steps)})") == [
        [SHOW, CLOSED],
        [CLOSED, CLOSED],
        [SHOW, CLOSED],
        [CLOSED, SHOW],
        [CLOSED, CLOSED],
        [CLOSED, SHOW],
        [CLOSED, CLOSED],
    ]


def test_escape_closes_a_menu_and_leads_back_to_its_button(open_page):
    page = open_page(MENU + MENU + "<p tabindex=0>text</p>")
    page.do("clicks([['button', 1]])")
    assert page.do("typeAt('x', 'a', 1)") == [[CLOSED, SHOW], "A", -1]
    closed = [[CLOSED, CLOSED], "BUTTON", 1]
    assert page.do("typeAt('Escape', 'a', 1)") == closed
    page.do("clicks([['button', 0]])")
    assert page.do("typeAt('Escape', 'p', 0)") == [[CLOSED, CLOSED], "P", -1]


def test_contents_mark_the_last_part_in_view_and_what_it_lies_in(open_page):
    def link(name, inside=""):
        return f'<li><a href="#{name}">{name}</a>{inside}</li>'

    tall = "height: 700px"
    page = open_page(f"""<nav class="page-toc" style="position: fixed">
      {link("one")}{link("two", f"<ul>{link('inner')}</ul>")}
      {link("drei%C3%9F")}{link("nothing")}</nav>
      <section id="one" style="{tall}"></section>
      <section id="two"><div style="{tall}"></div>
        <section id="inner" style="{tall}"></section></section>
      <section id="dreiß" style="{tall}"></section>
      <div style="height: 2000px"></div>""")

    def scroll(id_, by):
        """The top of a part is so far above the top of the window."""
        page.do(f"document.getElementById('{id_}').scrollIntoView(); "
                f"scrollBy(0, {by}); {TWO_FRAMES}")  # fmt: skip
        links, items = page.do("marked()")
        assert links == items
        return links

    assert scroll("one", 0) == "one"
    assert scroll("two", -330) == "one", "below two fifths of the window"
    assert scroll("two", -300) == "two"
    assert scroll("two", 20) == "two"
    assert scroll("inner", -300) == "two,inner"
    assert scroll("dreiß", 10) == "drei%C3%9F"
    assert scroll("dreiß", 710) == ""


# --- boxes and folds --------------------------------------------------------

KINDS = [
    "figure",
    "math-display",
    "ledger-box",
    "pst-scrollable-table-container",
]
BOX = "width: 100px; height: 50px; overflow: auto"


def box(kind, tag="div"):
    inside = '<p style="margin: 0"></p>'
    return f'<{tag} class="{kind}" style="{BOX}">{inside}</{tag}>'


def test_reach_gives_the_keyboard_boxes_that_scroll(open_page):
    boxes = "".join(map(box, [*KINDS, "other"]))
    output = f'<div class="cell_output">{box("output")}</div>'
    page = open_page(boxes + box("", "pre") + output)
    sizes = [(80, 40), (80, 400), (300, 20), (300, 51), (80, 40)]
    found = page.do(f"boxes({json.dumps(sizes)})")
    kinds = ["", *KINDS, "other", "output"]
    for (width, height), seen in zip(sizes, found, strict=True):
        wide, tall = width > 100, height > 51
        wanted = []
        for kind in kinds:
            down = tall and kind == "ledger-box"
            known = kind != "other"
            looks = [kind] + ["scrolls"] * (wide and known)
            looks += ["scrolls-down"] * down
            stop = "0" if known and (wide or tall) else None
            wanted.append([" ".join(filter(None, looks)), stop])
        assert seen == wanted


def test_reach_measures_a_box_in_a_fold_once_it_is_open(open_page):
    wide = box("figure").replace("<p style=", '<p style="width: 200px" x=')
    inner = f"<details open>{wide}</details>"
    page = open_page(f"<details>{inner}</details>{inner}")
    stops = "$('.figure').map((it) => it.getAttribute('tabindex'))"
    assert page.do(stops) == [None, "0"]
    page.do("$('details')[0].open = true")
    page.do(TWO_FRAMES)
    assert page.do(stops) == ["0", "0"]


def test_before_print_every_fold_is_opened(open_page):
    page = open_page("<details></details><details></details>")
    opened = "return $('details').map((it) => it.open)"
    assert page.do(opened) == [False, False]
    print_ = "dispatchEvent(new Event('beforeprint')); "
    assert page.do(print_ + opened) == [True, True]


# --- figures and questions --------------------------------------------------

STATE = json.dumps({"T": 4, "query": 1})
# A figure keeps what it was given.
RENDERS = """(globalThis.attentionFigures ??= {}).NAME = {
  render: (it) => (globalThis.figuresGiven ??= []).push(["NAME", it]) };"""
FAR = '<div style="height: 3000px"></div>'


def figure(name):
    return (
        f"<div data-figure=\"{name}\" data-state='{STATE}'>"
        '<p class="av-error"></p></div>'
    )


def offer(page, *names):
    for name in names:
        script = RENDERS.replace("NAME", name)
        page.files[f"_static/figures/{name}.js"] = script


def asked_for(page):
    """The scripts of figures that the page asked for, in order."""
    start = "_static/figures/"
    return [path[len(start):-3] for path in page.asked
            if path.startswith(start)]  # fmt: skip


def test_start_of_a_figure_loads_its_script_once_it_is_near(page, open_page):
    offer(page, "film", "words", "more")
    open_page(figure("film") + figure("film") + FAR + figure("words"))
    page.tab.wait_for_function("globalThis.figuresGiven?.length === 2")
    assert page.do("rendered()") == [["film", 0], ["film", 1]]
    assert asked_for(page) == ["film"]
    # 400 px below the window is near.
    page.do(f"scrollTo(0, 3000 - innerHeight - 500); {TWO_FRAMES}")
    assert asked_for(page) == ["film"]
    page.do("scrollTo(0, 3000 - innerHeight - 200)")
    page.tab.wait_for_function("globalThis.figuresGiven.length === 3")
    assert page.do("rendered()")[-1] == ["words", 2]
    # A figure may load more, by the same way.
    page.do("return figuresGiven[0][1].load('more').then(() => null)")
    assert asked_for(page) == ["film", "words", "more"]


@pytest.mark.parametrize("script", [None, "// a script of something else"])
def test_start_says_that_a_script_did_not_come(page, open_page, script):
    if script:
        page.files["_static/figures/film.js"] = script
    open_page(figure("film"))
    page.tab.wait_for_function("$('.av-error')[0].textContent")
    assert page.do("$('.av-error')[0].textContent") == (
        "The script of this figure did not load. The figure shows its first "
        "state."
    )


@pytest.mark.parametrize(
    ("query", "started", "leads"),
    [
        ("?film.T=3&film.query=1", [["film", 1]], True),
        ("?film.T=3#part", [["film", 1]], False),
        ("?page=3", [], False),
        ("", [], False),
    ],
)
def test_link_to_a_state_starts_its_figure_and_leads_there(
    page, open_page, query, started, leads
):
    offer(page, "film", "words")
    far = FAR + figure("words") + FAR + figure("film") + FAR
    open_page(f"<p id=part>{far}", query)
    if started:
        page.tab.wait_for_function("globalThis.figuresGiven")
    page.do(TWO_FRAMES)
    assert page.do("rendered()") == started
    top = "$('[data-figure=film]')[0].getBoundingClientRect().top"
    assert (abs(page.do(top)) < 2) == leads
    if leads:  # a reader who reloads the page stays where she was
        page.do("scrollTo({ top: 0, behavior: 'instant' })")
        path = str(page.visits)
        page.files[path] = page.do("document.documentElement.outerHTML")
        page.tab.reload()
        page.do(TWO_FRAMES)
        assert page.do("scrollY") == 0


QUESTION = """<form data-question="it"><p class="av-reply"></p></form>"""


def test_questions_answer_from_the_start(page, open_page):
    page.files["_static/figures/practice.js"] = """
      globalThis.attentionFigures = { practice: { render: ({ el, model }) => {
        globalThis.given = [el === document, model === undefined]; } } };"""
    open_page(QUESTION)
    page.tab.wait_for_function("globalThis.given")
    assert page.do("given") == [True, True]
    page.asked.clear()
    open_page("<p>no question</p>")
    assert asked_for(page) == []


def test_questions_whose_script_does_not_come_say_so(open_page):
    page = open_page(QUESTION + QUESTION)
    page.tab.wait_for_function("$('.av-reply')[1].textContent")
    said = "The script of the questions did not load."
    assert page.do("$('.av-reply').map((it) => it.textContent)") == [
        said, said,
    ]  # fmt: skip


# --- the reader's progress ---------------------------------------------------

ROOT = "http://page.test/"
NAV = f"""<nav class="bd-docs-nav"><ul>
<li><a class="reference current" href="{ROOT}book/a.html#">3. Alpha</a></li>
<li><a class="reference" href="{ROOT}book/b.html">4. Beta</a></li>
<li><a class="reference" href="{ROOT}book/c.html">Gamma</a></li>
<li><a class="reference" href="https://other.test/book/b.html">Far</a></li>
</ul></nav>"""


def on_page(name, body):
    return (
        f"<script>document.body.dataset.page = '{name}'</script>"
        f"<main><h1>Alpha</h1></main>{body}"
    )


def keep(page, values):
    """Keep these values in the browser."""
    page.visit("")
    for key, value in values.items():
        page.do(f"localStorage.setItem({key!r}, {json.dumps(value)})")


def test_ticks_stand_beside_pages_whose_questions_are_all_right(open_page):
    page = open_page("")
    counts = {"a": "3/4", "b": "4/4", "c": "0/0", "d": "{"}
    keep(page, {f"progress/book/{name}": it for name, it in counts.items()})
    open_page(on_page("book/a", NAV))
    assert page.do("ticked()") == ["4. Beta"], (
        "all, some, none, another site's"
    )
    assert page.do("$('.done')[0].getAttribute('aria-label')") == (
        "all questions right"
    )
    # One more right, on this page: at once.
    page.do("""localStorage.setItem("progress/book/a", "4/4");
      return document.dispatchEvent(new Event("progress-changed"))""")
    assert page.do("ticked()") == ["3. Alpha", "4. Beta"]
    assert page.do("$('.done').length") == 2, "once each"


def test_one_button_forgets_what_is_kept_and_nothing_else(open_page):
    page = open_page("")
    keep(
        page,
        {
            "progress/b": "1/1",
            "practice/q": "[1]",
            "mode": "dark",
            "depth/everything": "1",
        },
    )
    body = NAV + "<form data-question=q><p class=av-reply></p></form>"
    open_page(on_page("book/a", body))
    assert page.do("stored()") == [
        "depth/everything", "mode", "practice/q", "progress/b", "reading/last",
    ]  # fmt: skip
    page.do("forget()")
    assert page.do("stored()") == ["mode"]
    assert page.do("[globalThis.wiped, $('.forget').length]") == [True, 0]


def test_without_anything_kept_there_is_nothing_to_forget(open_page):
    page = open_page(on_page("index", NAV.replace(" current", "")))
    assert page.do("[$('.forget').length, $('.done').length]") == [0, 0]


START = "<article><p class=av-start><a href=x>Start</a></p></article>"
HOME = NAV.replace(" current", "") + START


def test_the_landing_page_offers_the_last_numbered_page(open_page):
    page = open_page(on_page("index", HOME))
    assert page.do("$('.continue').length") == 0
    open_page(on_page("book/a", NAV))
    other = NAV.replace("3. Alpha", "Preface")
    open_page(on_page("book/preface", other))
    open_page(on_page("index", HOME))
    link = "$('.continue').map((a) => [a.textContent, a.href])"
    address = f"{ROOT}book/a.html#"
    assert page.do(link) == [["Continue: 3. Alpha", address]]
    open_page(on_page("book/b", HOME))
    assert page.do("$('.continue').length") == 0, "elsewhere there is none"


# What another page of the same host could have stored, or a broken browser.
NO_PLACES = [
    *("javascript:globalThis.ran=1//", "//evil.test/x", "http://[", "data:,"),
    *("https://other.test/book/b", "/book/a", "../book/a", "book/a.html"),
    *("book/a?x=1", "book/a#x", "book/none", "book/c", "", "null", "undefin"),
    *("[object Object]", "__proto__", '"book/a"', "{", "\\", "%", "BOOK/A"),
    '{"page": "book/a", "name": "A"}', '{"page": "javascript:1//"}',
]  # fmt: skip


def test_continue_leads_to_a_lesson_of_the_menu_and_nowhere_else(open_page):
    page = open_page("")
    for place in NO_PLACES:
        keep(page, {"reading/last": place, "progress/book/b": "1/1"})
        open_page(on_page("index", HOME))
        assert page.do("$('.continue').length") == 0, place
        assert page.do("ticked()") == ["4. Beta"], place


HASHES = [
    *("", "#", "#%", "#%zz", "#%E0%A4%A", "#%C3%28", "#%ff", "#[", "#>*"),
    *("#__proto__", "#constructor", '#"', "#'", "#a b", "#\\", "#%25", "#?x"),
]  # fmt: skip


def test_no_hash_breaks_the_script(open_page):
    contents = '<nav class="page-toc"><a href="#100%">x</a></nav>'
    for name in HASHES:
        open_page(contents, name)  # an error of the script would be raised


WAYS = """<p class="imprint"><span>Version 1</span></p>
<div class="prev-next-area"><a class="left-prev" href="#back">b</a>
<a class="right-next" href="#on">n</a></div>"""


def typed(page, key, where="body", **more):
    """Where the page is after a key was pressed at a place."""
    given = ", ".join(map(json.dumps, (key, where, more)))
    return page.do(f"typeKey({given})")


def test_n_and_p_lead_on_and_back_but_not_while_typing(open_page):
    fields = """<input><textarea></textarea><select></select>
    <p id=own contenteditable>x</p><section class=av-figure><i></i></section>
    <details><summary>s</summary></details>"""
    page = open_page(WAYS + fields)
    assert typed(page, "n") == "#on"
    assert typed(page, "p") == "#back"
    for key in ("x", "N", "Enter"):
        assert typed(page, key) == "#here"
    for with_ in ("ctrlKey", "altKey", "metaKey"):
        assert typed(page, "n", **{with_: True}) == "#here"
    for where in ("input", "textarea", "select", "#own", "i", "summary"):
        assert typed(page, "n", where) == "#here", where
    # Who speaks to the computer switches them off (WCAG 2.1.4).
    text = "$('.imprint button')[0].textContent"
    assert page.do(text).endswith(": on")
    page.do("$('.imprint button')[0].click()")
    assert page.do(text).endswith(": off")
    assert typed(page, "n") == "#here"
    open_page(WAYS)
    assert page.do(text).endswith(": off")
    page.do("$('.imprint button')[0].click()")
    assert typed(page, "n") == "#on"


def test_n_and_p_do_nothing_where_no_page_follows(open_page):
    page = open_page("<p class=imprint></p>")
    assert typed(page, "n") == "#here"
    assert page.do("$('.imprint button').length") == 0


def test_a_page_says_what_a_report_is_about(open_page):
    body = (
        "<nav class=page-toc><a href=#one>1.1. One</a><a href=#two>Two</a>"
        "</nav><section id=one style='height:3000px'></section>"
        "<section id=two style='height:3000px'></section>"
        "<a class=report href=report.html>Report</a>"
    )
    page = open_page(on_page("book/a", body))
    page.do(f"scrollTo(0, 1500); {TWO_FRAMES}")
    href, told = page.do("pressReport()")
    assert "/report.html?" in href
    assert told == {"page": "book/a", "title": "Alpha", "section": "1.1. One"}


@pytest.mark.parametrize(
    ("host", "title", "where"),
    [
        ("github", "title", "where"),
        ("gitlab", "issue[title]", "issue[description]"),
    ],
)
def test_a_report_fills_in_its_form(open_page, host, title, where):
    body = (
        "<p class=imprint><span>Version 7, 2026-01-02</span></p><a "
        f"class=report-{host} data-form=one href=https://h.test/new>Wrong</a>"
    )
    about = "?page=book/b&title=Beta&section=2.1.+C"
    page = open_page(on_page("book/report", body), about)
    href, told = page.do("pressReport()")
    assert href.startswith("https://h.test/new?")
    assert told.pop(title) == "Wrong: Beta"
    text = 'book/b, section "2.1. C". Version 7, 2026-01-02'
    assert told.pop(where).strip() == text
    assert told == ({"template": "one.yml"} if host == "github" else {})
