"""The site builds without a warning and leaves no reader out."""

import gzip
import http.client
import io
import json
import re
import threading
from urllib.parse import quote, urlsplit

import jinja2
import pytest
from docutils.nodes import make_id
from playwright.sync_api import expect
from pypdf import PdfReader

from course import _themed, published
from tests import budgets
from tests.book import practice_pages
from tests.site.address import HOME
from tests.site.javascript import function
from tools import serve, website

PAGES = website.PAGES
LESSONS = website.LESSONS
PRACTICE = [page for page in PAGES if "/practice/" in page]
SEVERAL = "book/project-score-mask-mix"  # it has a figure of three kinds


@pytest.fixture(scope="session")
def address(host):
    return host.address


def test_what_pages_share_keeps_its_budget(site):
    """Styles, scripts and fonts that a page of the book needs at most."""
    static = site / "_static"
    sizes = [
        len(gzip.compress((static / name).read_bytes(), 9))
        for name in ("bundle.css", "bundle.js", "site.js")
    ]
    sizes += [font.stat().st_size for font in static.glob("fonts/*.woff2")]
    assert len(sizes) == 3 + 9
    budgets.keep("bytes that pages share", sum(sizes), 180_000)


SERVED = {
    "/page.html": 200,
    "/": 200,
    "/none.html": 404,
    "/%00": 404,
    "/page.html%00": 404,
    "/" + 5000 * "a": 404,
    "/../secret": 404,
    "/..%2fsecret": 404,
}


def test_serve_answers_every_address(tmp_path, monkeypatch, capfd):
    (tmp_path / "secret").write_text("none of the site's", "utf-8")
    monkeypatch.setattr(serve, "SITE", tmp_path / "site")
    serve.SITE.mkdir()
    (serve.SITE / "page.html").write_text("a page", "utf-8")
    result = {}
    with serve.server(0) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        for path in SERVED:
            asked = http.client.HTTPConnection("127.0.0.1", host.server_port)
            asked.request("GET", path)
            result[path] = asked.getresponse().status
            asked.close()
        host.shutdown()
    assert result == SERVED
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_landing_page_asks_before_it_explains(
    address, browser, width, height
):
    tab = browser.new_page(viewport={"width": width, "height": height})
    tab.goto(f"{address}/index.html")
    tab.wait_for_selector("[data-figure].av-live")
    first = ["h1", ".av-puzzle", ".av-start"]
    for part in first + (["[data-figure]"] if width > height else []):
        box = tab.locator(f"article {part}").first.bounding_box()
        what = f"pixels down to the end of {part} at {width}"
        budgets.keep(what, box["y"] + box["height"], height)
    # No code, no form and no formula before the first touch.
    form = "article :is(pre, input, select, textarea, math):visible"
    assert tab.locator(form).count() == 0
    said = tab.locator("article .av-say").first
    size = "it => getComputedStyle(it).fontSize"
    assert said.evaluate(size) == "0px", "its formula"
    tab.locator("[data-figure] .av-ask").click(position={"x": 60, "y": 60})
    assert said.evaluate(size) != "0px"
    tab.close()


CONTRAST = function("pages", "contrast")


def test_figures_follow_the_button_for_light_and_dark(address, browser):
    context = browser.new_context(color_scheme="light")
    tab = context.new_page()
    tab.goto(f"{address}/{LESSONS[0]}.html", wait_until="networkidle")
    button = tab.locator(".theme-switch-button:visible").first
    seen = set()
    for _ in range(3):  # the system's, light, dark
        theme = tab.evaluate("document.documentElement.dataset.theme")
        difference = tab.evaluate(CONTRAST)
        assert difference < -0.6 if theme == "light" else difference > 0.6
        seen.add(theme)
        button.click()
    assert seen == {"light", "dark"}
    context.close()


def asked(page):
    return practice_pages.forms(website.ROOT / f"{page}.ipynb")


# A page of questions of the most kinds.
VARIED = max(
    PRACTICE,
    key=lambda page: len(
        {str(form["class"]) for form in asked(page).values()}
    ),
)
KEYS = [
    *("mode", "theme", "reading/last", f"progress/{VARIED}", "keys off "),
    *("sidebar-scroll-top", "pst_banner_pref", "sphinx_highlight_terms"),
    *(f"practice/{name}" for name in asked(VARIED)),
]
WRITING = ["setItem"]
USING = ["getItem", "setItem", "removeItem", "key", "clear"]
STORAGES = {
    "sound": ("sound",),
    "full": ("full",),
    "none": ("none",),
    "blocked": ("blocked",),
    "refuses to write": ("failing", WRITING),
    "broken": ("failing", USING),
    "no JSON": ("holding", KEYS, "\ud800 { javascript:1//"),
    "another form": ("holding", KEYS, '[{"a": 1}, null, 9]'),
}


def used(tab, address):
    """What a reader finds who searches, answers, and changes the colours."""
    theme = "document.documentElement.dataset.theme"
    tab.goto(f"{address}/search.html?q=softmax")
    status = tab.locator(".search-summary")
    expect(status).not_to_have_text("Searching …")
    found = [status.inner_text(), tab.locator("#search-results li").count()]
    tab.goto(f"{address}/{VARIED}.html")
    form = tab.locator("form.av-live:has(input[inputmode=decimal])").first
    for field in form.locator("input").all():
        field.fill("1000")
    form.locator("[type=submit]").click()
    found.append(form.locator(".av-reply").inner_text())
    items = tab.locator("form[data-question] ol").all_inner_texts()
    assert items
    assert "undefined" not in "".join(items)
    tab.locator(".imprint button").click()
    for _ in range(3):
        found.append(tab.evaluate(theme))
        tab.locator(".theme-switch-button:visible").first.click()
    for page in ("index", "figure/heads"):
        tab.goto(f"{address}/{page}.html")
        tab.locator("[data-figure].av-live").first.wait_for()
        found.append(tab.evaluate(theme))
    return found


@pytest.mark.parametrize("kind", STORAGES)
def test_a_page_works_whatever_the_storage_is(address, browser, kind):
    with browser.new_context(color_scheme="dark") as context:
        name, *given = STORAGES[kind]
        given = ", ".join(map(json.dumps, given))
        context.add_init_script(f"({function('storage', name)})({given})")
        tab = context.new_page()
        errors = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        status, count, reply, *themes = used(tab, address)
        assert not errors
    assert status == f"{count} results"
    assert count > 20
    assert reply.startswith("✗ Not yet")
    # The system's, two that are chosen, and the system's again.
    assert themes == ["dark", "light", "dark", "dark", "dark"]


GIVE_NTH = function("pages", "giveNth")


def test_an_answer_in_one_tab_counts_in_the_other(address, browser):
    page = max(PRACTICE, key=choices)
    count = len(asked(page))
    with browser.new_context() as context:
        one, two = (context.new_page() for _ in range(2))
        for tab in (one, two):
            tab.goto(f"{address}/{page}.html")
            tab.locator("form.av-live").nth(count - 1).wait_for()

        every = count + one.locator(".av-task").count()

        def both_count(right):
            for tab in (one, two):
                tally = tab.locator(".av-tally")
                expect(tally).to_contain_text(f"{right} of {every} questions")
                kept = tab.evaluate(f"localStorage['progress/{page}']")
                assert kept == f"{right}/{every}"

        both_count(0)
        one.evaluate(GIVE_NTH, 0)
        both_count(1)
        two.evaluate(GIVE_NTH, 1)
        both_count(2)
        one.get_by_role("button", name="Clear all answers").click()
        both_count(0)


def choices(page):
    return sum(bool(f.select("[type=radio]")) for f in asked(page).values())


def test_a_page_without_scripts_is_light_in_the_dark_too(address, browser):
    colours = []
    for scheme in ("light", "dark"):
        context = browser.new_context(
            java_script_enabled=False, color_scheme=scheme
        )
        tab = context.new_page()
        tab.goto(f"{address}/{LESSONS[0]}.html")
        colours.append(
            tab.evaluate(
                "['body', '.cell_input pre', '.cell_output pre'].map(part =>"
                " getComputedStyle(document.querySelector(part))).map(style =>"
                " [style.color, style.backgroundColor])"
            )
        )
        context.close()
    assert colours[0] == colours[1]


ON_PAPER = function("pages", "onPaper")


def test_paper_has_what_the_folds_hold_and_is_filled(address, browser):
    # As wide as the text of a sheet: A4 without its margins.
    tab = browser.new_page(viewport={"width": 680, "height": 900})
    tab.goto(f"{address}/{LESSONS[0]}.html")
    book = PdfReader(io.BytesIO(tab.pdf(format="A4")))
    sheets = ["".join(it.extract_text().split()) for it in book.pages]
    tab.emulate_media(media="print")
    seen = tab.evaluate(ON_PAPER)
    tab.close()
    assert sheets[0].startswith(seen["title"])
    assert seen["title"][0].isdigit(), "the number of the chapter"
    printed = "".join(sheets)
    assert len(seen["folds"]) > 5
    for fold in seen["folds"]:
        assert fold[:40] in printed
    for label in seen["labels"]:
        assert label not in printed
        assert label.removeprefix("Hide")[1:] in printed
    assert seen["tabs"]
    for label in seen["tabs"]:
        assert label in printed, "what a tab of code is about"
    assert "Contents" not in sheets[0]
    # Figures and short cells stay whole, which leaves some paper blank.
    assert len(sheets) <= 1.1 * seen["sheets"] + 1


def test_a_link_to_a_figure_leads_there_without_scripts(address, browser):
    with browser.new_context(
        java_script_enabled=False,
        reduced_motion="reduce",  # or it glides there
    ) as context:
        tab = context.new_page()
        tab.goto(f"{address}/{SEVERAL}.html")
        for it in tab.locator("[data-figure]").all():
            anchor = it.get_attribute("id")
            tab.goto(f"{address}/{SEVERAL}.html#{anchor}")
            box = tab.locator(f"[id='{anchor}']").bounding_box()
            assert 0 <= box["y"] <= 450, "below the bar, on the first screen"


def test_the_menu_opens_on_a_phone(address, browser):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(f"{address}/{PAGES[1]}.html")
    link = tab.locator(".bd-docs-nav a", has_text="Notation").last
    assert not link.is_visible()
    tab.locator("button.primary-toggle:visible").click()
    link.wait_for(state="visible")
    link.click()
    tab.wait_for_url("**/notation.html")
    tab.close()


OUT_OF_SIGHT = function("pages", "outOfSight")


def test_the_menu_shows_where_the_page_stands(address, browser):
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    # One after the other: the menu's place is kept from page to page.
    for page in (PAGES[-1], LESSONS[0]):
        tab.goto(f"{address}/{page}.html")
        assert tab.evaluate(OUT_OF_SIGHT) == [0, 0], page
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{address}/{LESSONS[-1]}.html")
    tab.locator("button.primary-toggle:visible").click()
    tab.wait_for_function(f"({OUT_OF_SIGHT})()[0] === 0")
    tab.close()


# What readers look for, and the chapter that is about it, or the two.
SOUGHT = {
    "RoPE": "positions",
    "ALiBi": "positions",
    "softmax": "three-tokens",
    "temperature": "soften-and-sharpen",
    "gradient": "forward-and-backward",
    "variance": "derivation",
    "causal mask": "project-score-mask-mix",
    "padding": "mask",
    "grouped heads": "share-keys",
    "roofline": "roof",
    "FLOPs": "quadratic-cost",
    "KV cache": "kv-cache cache-memory",
    "FlashAttention": "tile-traffic",
    "GELU": "block",
    "layer norm": "block",
    "Adam": "training",
    "induction": "training",
    "GGUF": "open-model",
    "SwiGLU": "open-model",
    "byte-pair encoding": "open-model",
    "YaRN": "longer",
    "speculative": "serve",
    "prefill": "roof",
    "Dask": "machines",
    "ring": "machines",
}


@pytest.fixture(scope="module")
def search(launch, host):
    """Ask the search page for some words; what it looks like costs half."""
    tab = launch().new_page()
    tab.route("**/*.css*", lambda route: route.abort())

    def search(query):
        tab.goto(f"{host.address}/search.html?q={quote(query)}")
        found = tab.locator("#search-results li a")
        found.first.wait_for()
        hrefs = found.evaluate_all("all => all.map((it) => it.href)")
        links = [urlsplit(href) for href in hrefs]
        pages = [link.path[1:].removesuffix(".html") for link in links]
        return pages, [link.fragment for link in links], tab

    yield search
    tab.close()


def test_search_shows_first_what_is_about_the_words(search):
    # Without the pages from which it takes excerpts: they cost the most.
    *_, tab = search("softmax")
    tab.route("**/book/**", lambda route: route.fulfill(body="<p></p>"))
    found = {
        query: search(query)[0][0].removeprefix("book/") for query in SOUGHT
    }
    tab.unroute("**/book/**")
    assert {
        query: page
        for query, page in found.items()
        if page not in SOUGHT[query].split()
    } == {}


# What a reader types who has the same question in other words.
IN_OTHER_WORDS = {
    "attention rows add up to more than one with dropout": "weights sum to",
    "nan when a whole row is masked pytorch boolean": "all False rows",
    "left pad batch for generation gpt": "padding side left",
    "greedy results not reproducible with other batch size": "batches",
    "key value heads fewer than gpus tensor parallel error": "4 kv heads",
    "does padding with zero vectors need a mask": "key padding mask",
    "transformer vs lstm long distance dependencies": "long range",
    "gradient of q not reproducible flash attention": "dq differ",
    "paged cache block size 256 instead of 16": "multiple of 256",
    "fp8 kv cache bad accuracy scales": "fp8 cache",
}


def test_search_shows_first_the_question_that_was_asked_in_other_words(search):
    for query, words in IN_OTHER_WORDS.items():
        (page, *_), (section, *_), _ = search(query)
        assert page == "book/questions", query
        assert make_id(words) in section, query


def test_folds_stay_as_they_were(address, browser):
    """After printing, after a look at another page, and after a reload."""
    tab = browser.new_page()
    tab.goto(f"{address}/book/derivation.html")
    opened = """[...document.querySelectorAll('article details[open]')]
      .map((fold) => fold.textContent)"""
    closed = tab.evaluate(opened)
    tab.locator("details.deeper").nth(1).evaluate("it => { it.open = true }")
    mine = tab.evaluate(opened)
    assert len(mine) == len(closed) + 1
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(tab.evaluate(opened)) > len(mine) + 9
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate(opened) == mine
    tab.goto(f"{address}/book/mask.html")
    tab.go_back()
    assert tab.evaluate(opened) == mine
    tab.reload()
    assert tab.evaluate(opened) == mine
    tab.goto(f"{address}/book/derivation.html")
    assert tab.evaluate(opened) == closed, "a new visit"
    tab.close()


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("atention", "attention"),
        ("quantization", "quantisation"),
        ("sofmtax rows", "softmax rows"),
        ("gpt2 heads", "gpt heads"),
    ],
)
def test_search_takes_a_misspelt_word_for_the_nearest(search, query, right):
    pages, _, tab = search(query)
    swap = f"“{right.split()[0]}” in place of “{query.split()[0]}”"
    expect(tab.locator(".search-summary")).to_contain_text(swap)
    assert pages == search(right)[0]


@pytest.mark.parametrize(
    ("query", "marked", "first"),
    [
        ("rope", {"rope"}, ["positions"]),
        ("gqa", {"gqa"}, ["share-keys"]),
        (
            "padding_mask",
            {"padding", "padded", "pad", "mask", "masks", "masked", "masking"},
            [],
        ),
    ],
)
def test_search_finds_whole_words_and_opens_their_section(
    search, site, query, marked, first
):
    pages, sections, tab = search(query)
    words = tab.locator("#search-results .highlighted")
    words.first.wait_for()
    assert {word.lower() for word in words.all_inner_texts()} <= marked
    assert pages[: len(first)] == [f"book/{name}" for name in first]
    # Lessons stand before all others, and each result leads to a section.
    lessons = [page in LESSONS for page in pages]
    assert any(lessons)
    assert lessons == sorted(lessons, reverse=True)
    for page, section in zip(pages, sections, strict=True):
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        assert f'id="{section}"' in html, (page, section)


FIND_ALL = function("pages", "findAll")
ODD_QUERIES = [
    *("constructor mask", "__proto__ constructor", "<script>", "(", "*", "-"),
    *("\\", "%", " ", "a" * 5000, "\U0001f642", "\ud800", "the of", "42"),
]


def test_search_answers_every_query(search):
    """The names of every object too, in which Sphinx looks words up."""
    *_, tab = search("softmax")
    names = tab.evaluate("Object.getOwnPropertyNames(Object.prototype)")
    assert {"constructor", "__proto__", "toString"} <= set(names)
    said = tab.evaluate(FIND_ALL, [*names, *ODD_QUERIES])
    for query, text, count in said:
        wanted = "Nothing was found"
        if count:
            wanted = f"{count} result"
        assert text.startswith(wanted), query


SEARCH_SCRIPTS = [
    *("bundle.js", "searchtools.js", "language_data.js", "searchindex.js"),
    *("search_texts.js", "site.js"),
]


@pytest.mark.parametrize("lost", SEARCH_SCRIPTS)
def test_search_says_so_if_a_script_does_not_load(address, browser, lost):
    tab = browser.new_page()
    tab.route(f"**/{lost}*", lambda route: route.abort())
    tab.goto(f"{address}/search.html?q=softmax")
    found = tab.locator("#search-results")
    if lost == "site.js":  # the search does not need it
        assert found.locator("li").count() > 20
        expect(found).not_to_contain_text("The search failed")
    else:
        expect(found).to_contain_text("The search failed")
        expect(found).not_to_contain_text("Searching …")
    tab.close()


def test_search_finds_a_word(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/index.html")
    tab.keyboard.press("Control+k")
    tab.locator("#pst-search-dialog input:visible").fill("lower right")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search.html?q=lower+right**")
    results = tab.locator("#search-results")
    results.get_by_role("link", name="Notation").first.wait_for()
    tab.close()


@pytest.mark.parametrize("served", [True, False], ids=["served", "folder"])
def test_search_shows_results_while_typing(served, address, site, browser):
    home = address if served else site.as_uri()
    tab = browser.new_page()
    tab.goto(f"{home}/{LESSONS[-1]}.html", wait_until="load")
    asked = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.keyboard.press("Control+k")
    field = tab.locator("#pst-search-dialog input:visible")
    said = tab.get_by_role("dialog").get_by_role("status")
    results = tab.locator(".av-found li")
    field.press("s")
    assert results.count() == 0, "one letter begins half of all words"
    field.press_sequentially("oftm")
    expect(said).to_contain_text("first 8 below")
    assert field.input_value() == "softm", "what was typed stays"
    texts = results.all_inner_texts()
    assert len(texts) == 9
    assert all("softmax" in text.lower() for text in texts[:8])
    assert texts[8] == "All results"
    assert asked, "what finds them comes with the first letter"
    assert all(url.startswith(home) for url in asked)
    field.fill("padding_mas")  # as many words as the page of results takes
    expect(results.first).to_contain_text("mask", ignore_case=True)
    field.fill("xyzzy")
    expect(said).to_have_text("No results")
    assert results.count() == 0
    field.fill("softmax")
    expect(said).to_contain_text("first 8 below")
    first, second = (results.nth(i).locator("a") for i in (0, 1))
    ways = [("Down", first), ("Down", second), ("Up", first), ("Up", field)]
    for key, at in [*ways, ("Up", field), ways[0]]:
        tab.keyboard.press(f"Arrow{key}")
        expect(at).to_be_focused()
    tab.keyboard.press("Escape")
    expect(field).to_be_hidden()
    tab.keyboard.press("Control+k")
    wanted = first.get_attribute("href")
    first.press("Enter")
    tab.wait_for_url(wanted)
    assert wanted.startswith(f"{home}/{LESSONS[0]}.html#softmax")
    tab.close()


def test_search_while_typing_says_so_if_a_script_does_not_load(
    address, browser
):
    tab = browser.new_page()
    tab.route("**/searchindex.js*", lambda route: route.abort())
    tab.goto(f"{address}/index.html")
    tab.keyboard.press("Control+k")
    tab.locator("#pst-search-dialog input:visible").fill("softmax")
    said = tab.get_by_role("dialog").get_by_role("status")
    expect(said).to_contain_text("did not load")
    tab.close()


def entries():
    """The entries of all ledgers, as pairs of slug and entry."""
    return [
        (slug, entry)
        for slug in sorted(
            path.stem for path in published.FOLDER.glob("*.yml")
        )
        for entry in published.load(slug).entries.values()
    ]


def test_the_ledger_is_searched_and_filtered(address, browser):
    every = entries()
    wrong = [(s, e) for s, e in every if e.verdict == "erratum"]
    slug, one = wrong[0]
    cause = one.cause
    same = sum(s == slug and e.cause == cause for s, e in wrong)
    tab = browser.new_page()
    tab.goto(f"{address}/book/ledger.html")
    form, rows = (
        tab.locator(".ledger-filter"),
        tab.locator(".entries tbody tr"),
    )
    shown = tab.locator(".entries tbody tr:visible")

    def counts(number):
        said = form.locator("output").inner_text()
        assert said == f"{number} of {len(every)} entries"
        assert shown.count() == number

    assert shown.count() == 0, "a page of folds"
    assert rows.count() == len(every)
    for fold in tab.locator("details:has(.entries)").all():
        found = fold.locator("td:nth-child(4)").all_text_contents()
        errs = ["erratum" in text for text in found]
        assert errs == sorted(errs, reverse=True), "errors come first"
    form.get_by_label("source").select_option(slug)
    counts(sum(s == slug for s, _ in every))
    form.get_by_label("cause").select_option(cause)
    counts(same)
    form.get_by_label("search").fill("no such words")
    counts(0)
    form.get_by_label("search").fill("")
    counts(same)
    for name in ("source", "cause"):
        form.get_by_label(name).select_option("all")
    form.get_by_label("verdict").select_option("false")
    false = [e for _, e in every if e.verdict == "false"]
    counts(len(false))
    form.get_by_label("verdict").select_option("erratum")
    counts(len(wrong))
    tab.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_an_entry_has_an_address_and_headings_stay(address, browser, width):
    tab = browser.new_page(viewport={"width": width, "height": 800})
    slug, entry = entries()[-1]
    name = re.sub(r"\W", "-", f"{slug}-{entry.id}")
    tab.goto(f"{address}/book/ledger.html#{name}")
    link = tab.locator(f"#{name}")
    expect(link).to_be_in_viewport()  # the page glides there
    box = link.bounding_box()
    assert 0 < box["y"] < 800, "the link leads to its row"
    head = tab.locator("details[open] .entries thead")
    assert head.is_visible() == (width > 480)
    if head.is_visible():
        above = head.locator("th").first.bounding_box()
        assert 0 < above["y"] < box["y"], "headings stay in sight"
    tab.close()


@pytest.mark.parametrize(
    ("page", "stays"), [("linear", True), ("positions", False)]
)
def test_a_low_picture_stays_beside_its_settings(
    address, browser, page, stays
):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(f"{address}/book/{page}.html")
    figure = tab.locator("[data-figure].av-live").first
    figure.locator(".av-settings > summary").click()
    last = figure.locator(".av-settings [data-kind]:visible").last
    last.evaluate("it => it.scrollIntoView({ block: 'end' })")
    bar = tab.locator(".bd-header-article").bounding_box()
    picture = figure.locator(".av-wide").bounding_box()
    assert (picture["height"] <= 422) == stays
    assert (picture["y"] >= bar["y"] + bar["height"] - 1) == stays
    tab.close()


def test_a_page_keeps_still_when_its_figure_gets_its_script(address, browser):
    heights = []
    for scripts in (False, True):
        with browser.new_context(
            java_script_enabled=scripts,
            viewport={"width": 1440, "height": 900},
        ) as context:
            tab = context.new_page()
            tab.goto(f"{address}/book/positions.html")
            live = ".av-live" if scripts else ""
            body = tab.locator(f"[data-figure]{live} .av-body").first
            heights.append(body.bounding_box()["height"])
    assert abs(heights[0] - heights[1]) <= 8


NO_CLIPBOARD = "navigator.clipboard.writeText = () => Promise.reject()"


@pytest.mark.parametrize("before", ["", NO_CLIPBOARD])
def test_code_can_be_copied(address, browser, before):
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.add_init_script(before)
    tab = context.new_page()
    lesson = LESSONS[0]
    tab.goto(f"{address}/{lesson}.html")
    cell = tab.locator(".cell_input:visible").first
    cell.hover()
    button = cell.get_by_role("button", name="Copy to clipboard")
    button.click()
    expect(cell.locator("button.success")).to_have_attribute(
        "data-tooltip", "Copied!"
    )
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert ">>>" not in copied
    assert (
        tab.locator(".copybtn").count()
        == tab.locator("div.highlight pre").count()
    )
    expect(cell.locator("button.success")).to_have_count(0)
    context.close()


UNSCRIPTED = function("pages", "unscripted")


@pytest.mark.parametrize("page", [SEVERAL, PRACTICE[0]])
def test_a_page_reads_without_scripts(address, browser, page):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(f"{address}/{page}.html")
        seen = tab.evaluate(UNSCRIPTED)
    assert seen["pictures"] or page in PRACTICE
    assert min(seen["formulas"], default=4) > 3
    assert all(figure == [True, False] for figure in seen["figures"])
    asked = practice_pages.forms(website.ROOT / f"{page}.ipynb")
    assert dict(seen["questions"]) == dict.fromkeys(asked, True)
    assert all(fold == [True, False] for fold in seen["folds"])


def test_formulas_have_their_face_before_any_font_arrives(address, browser):
    tab = browser.new_page()
    tab.route("**/*.woff2", lambda route: route.abort())
    tab.goto(f"{address}/book/derivation.html", wait_until="load")
    faces = tab.evaluate(
        "[...document.fonts].map(face => [face.family, face.status])"
    )
    assert ["STIX Two Math", "loaded"] in faces
    assert ["STIX Two Text", "loaded"] not in faces
    tab.close()


def test_pages_work_from_a_folder_without_a_server(site, browser):
    tab = browser.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    # The figure is in a deeper section, which a link into it opens.
    address = (site / "book" / "mask.html").as_uri()
    tab.goto(f"{address}#figure-causal")
    # Only the head start of the font needs a server, not the font.
    assert tab.evaluate("document.fonts.ready.then(() => true)")
    fonts = tab.evaluate(
        "[...document.fonts].filter(font => font.status === 'loaded')"
        ".map(font => font.family)"
    )
    assert "STIX Two Math" in fonts
    figure = tab.locator("[data-figure=causal]")
    first_control(tab, figure)
    before = figure.evaluate("el => el.values.weights.length")
    figure.locator("input[name=T]").fill(str(before + 3))
    tab.wait_for_function(
        "n => document.querySelector('[data-figure=causal]')"
        ".values.weights.length === n",
        arg=before + 3,
    )
    tab.wait_for_url(lambda address: f"causal.T={before + 3}" in address)
    assert not errors
    tab.close()


def test_a_folder_raises_no_error_and_search_has_excerpts(site, browser):
    tab = browser.new_page()
    said = []
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on(
        "console",
        lambda line: line.type != "log" and said.append(line.text),
    )
    tab.on("requestfailed", lambda request: said.append(request.url))
    for page in ("index.html", f"{LESSONS[0]}.html", "search.html?q=softmax"):
        tab.goto(f"{site.as_uri()}/{page}", wait_until="networkidle")
        assert not said, page
    excerpts = tab.locator("#search-results li .context")
    assert excerpts.count() > 20
    assert "softmax" in excerpts.first.inner_text().lower()
    tab.close()


@pytest.mark.parametrize("lost", ["a", "book/a", "book/labs/a", "figure/a"])
def test_a_lost_address_leads_to_the_site(lost, host, site, browser):
    tab = browser.new_page()
    said = (site / "404.html").read_text("utf-8")
    tab.route(
        f"**/{lost}",
        lambda route: route.fulfill(
            status=404, body=said, content_type="text/html"
        ),
    )
    tab.goto(f"{host.address}/{lost}")
    found = tab.locator("a").evaluate_all("all => all.map((a) => a.href)")
    home = HOME or f"{host.address}/"
    assert found[:2] == [f"{home}{name}.html" for name in ("index", "search")]
    parts = [url.removeprefix(home) for url in found[2:]]
    assert len(parts) > 8
    assert all((site / part).is_file() for part in parts)
    tab.close()


LOST = "http://lost.test"
LOST_PATHS = [
    *(
        "/a",
        "/book/a",
        "//evil.test/book/x",
        "///evil.test/x",
        "/\\evil.test/x",
    ),
    *("//evil.test/figure/x", "/\t/evil.test/x", "/.//evil.test/x"),
    *("/..//evil.test/x", "/book//evil.test/x", "/book/..//evil.test/x"),
    *(
        "/%2F/evil.test/x",
        "/%5Cevil.test/x",
        "/@evil.test/x",
        "/;@evil.test/x",
    ),
    *("/javascript:alert(1)/x", "/https://evil.test/x", "/'/x", "/`${1}`/x"),
    *('/"><script>throw 1</script>/x', '/"onload=1/x', "/%22%3E%3Cb%3E/x"),
]


@pytest.mark.parametrize("path", LOST_PATHS)
def test_a_lost_address_leads_to_no_other_host(browser, path):
    """Of a site whose address is not known, the path gives the folder."""
    template = website.ROOT / "book/_ext/attention_site/templates/404.html"
    pages = ["index.html", "search.html", "book/one.html"]
    said = jinja2.Template(template.read_text("utf-8")).render(
        docstitle="A", parts=[("One", pages[-1])]
    )
    tab = browser.new_page()
    errors, asked = [], []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.route(
        "**/*",
        lambda route: route.fulfill(body=said, content_type="text/html"),
    )
    tab.goto(f"{LOST}{path}")
    found = tab.locator("a").evaluate_all("all => all.map((a) => a.href)")
    tab.close()
    assert not errors
    outside = [url for url in asked if not url.startswith(f"{LOST}/")]
    assert not outside, "its typeface comes from the site"
    for href, name in zip(found, pages, strict=True):
        assert href.startswith(f"{LOST}/")
        assert href.endswith(f"/{name}")


def first_control(tab, figure):
    """The first slider or menu of a figure, brought to life and into view."""
    figure.scroll_into_view_if_needed()
    figure.locator(".av-tools").wait_for()
    if figure.locator(".av-settings:not([open])").count():
        figure.locator("summary").click()
    kinds = ("range", "checkbox", "number")
    fields = figure.locator(", ".join(f"input[type={k}]" for k in kinds))
    return fields.filter(visible=True).first


def shown(figure):
    return figure.locator(".av-result").inner_html()


UPPER_HALF = "({ value, min, max }) => value - min > max - value"


def wait_for_change(tab, figure, before):
    tab.wait_for_function(
        "([figure, before]) =>"
        " figure.querySelector('.av-result').innerHTML !== before",
        arg=[figure.element_handle(), before],
    )


def test_figures_answer_to_touch_and_to_the_keyboard(address, browser):
    context = browser.new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        # An opening that plays may be where the key leads back to.
        reduced_motion="reduce",
    )
    tab = context.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{address}/{SEVERAL}.html")
    website.open_deeper(tab)
    figures = tab.locator("[data-figure]")
    assert figures.count() >= 3
    for figure in figures.all():
        field = first_control(tab, figure)
        kind = field.get_attribute("type")
        lowest = field.evaluate("field => field.value === field.min")
        # The key first: a box that was tapped is held down for 0.15 s, and
        # let go in the middle of a key press it does not answer to the key.
        before = shown(figure)
        field.focus()
        key = "ArrowUp" if lowest else "ArrowDown"
        tab.keyboard.press("Space" if kind == "checkbox" else key)
        wait_for_change(tab, figure, before)
        field.blur()
        before = shown(figure)
        box = field.bounding_box()
        # A tap far along a slider, on a box to tick, or into a number.
        far = 0.15 if field.evaluate(UPPER_HALF) else 0.85
        field.tap(position={"x": far * box["width"], "y": box["height"] / 2})
        if kind != "number":
            wait_for_change(tab, figure, before)  # a tap changes it
        else:
            assert field.evaluate("el => el === document.activeElement")
    assert not errors
    context.close()


def test_the_sheet_to_learn_by_heart_is_one_page(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/book/by-heart.html")
    for size in ("A4", "Letter"):
        pages = re.findall(rb"/Type\s*/Page\b", tab.pdf(format=size))
        assert len(pages) == 1, size
    tab.close()


def test_a_page_prints_dark_on_light_and_without_controls(address, browser):
    context = browser.new_context(color_scheme="dark")
    tab = context.new_page()
    tab.goto(f"{address}/{LESSONS[0]}.html")
    first_control(tab, tab.locator("[data-figure]").first)
    tab.emulate_media(media="print")
    ink = tab.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--ink')"
    )
    assert ink.strip() == "#1f2933"
    background = tab.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
    assert background in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    colour = tab.locator("article p").first.evaluate(
        "p => getComputedStyle(p).color"
    )
    assert max(int(x) for x in re.findall(r"\d+", colour)[:3]) < 120
    assert not tab.locator(".av-controls").first.is_visible()
    assert not tab.locator("#pst-primary-sidebar").is_visible()
    context.close()


DRAWINGS = """pictures => pictures.filter(picture =>
  picture.checkVisibility()  // in no closed fold
).map(picture => {
  const seen = [...picture.children].filter(one => one.checkVisibility())
  const letters = [...picture.querySelectorAll("text, tspan")].filter(one =>
    one.checkVisibility() && one.textContent.trim())
  const pixels = letters.map(one => {
    const { a, b, c, d } = one.getScreenCTM()
    const scale = Math.sqrt(Math.abs(a * d - b * c))
    return scale * parseFloat(getComputedStyle(one).fontSize)
  })
  return [seen.map(one => one.getAttribute("class")), Math.min(...pixels)]
})"""


def test_a_picture_is_seen_once_with_letters_that_are_read(address, browser):
    page = f"{address}/book/three-tokens.html"  # drawings of both kinds
    for width, kind in ((1440, "wide"), (560, "wide"), (390, "narrow")):
        tab = browser.new_page(viewport={"width": width, "height": 844})
        tab.goto(page)
        drawn = tab.locator("div.figure").evaluate_all(DRAWINGS)
        assert {*map(tuple, (seen for seen, _ in drawn))} == {(kind,), (None,)}
        assert min(least for _, least in drawn) >= 12, width
        tab.emulate_media(media="print")
        printed = tab.locator("div.figure").evaluate_all(DRAWINGS)
        assert all(len(seen) == 1 for seen, _ in printed)
        tab.close()


def test_the_header_of_a_phone_leads_to_the_next_page(address, browser):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(f"{address}/{LESSONS[0]}.html")
    tab.locator(".bd-header-article a.next-page").click()
    following = PAGES[PAGES.index(LESSONS[0]) + 1]
    tab.wait_for_url(f"**/{following}.html")
    tab.close()


def stored_figures(pages=PAGES):
    for page in filter(website.is_notebook, pages):
        text = (website.ROOT / f"{page}.ipynb").read_text(encoding="utf-8")
        for cell in json.loads(text)["cells"]:
            for output in cell.get("outputs", ()):
                if "image/svg+xml" in output.get("data", ()):
                    yield "".join(output["data"]["image/svg+xml"])


def test_a_figure_without_idle_groups_looks_as_it_did(browser, monkeypatch):
    tab = browser.new_page(viewport={"width": 900, "height": 900})

    def picture(figures):
        tab.set_content(f'<body style="--ink: #123">{"".join(figures)}</body>')
        return tab.screenshot(full_page=True)

    figures = list(stored_figures())[::5]
    slimmed = [_themed.themed(figure, "") for figure in figures]
    monkeypatch.setattr(_themed, "slim", lambda figure: figure)
    whole = [_themed.themed(figure, "") for figure in figures]
    assert len(figures) > 15
    assert "".join(slimmed).count("<g") < "".join(whole).count("<g") / 5
    # By number: pytest would compare two unequal pictures line by line.
    lots = [slice(n, n + 5) for n in range(0, len(figures), 5)]
    other = [
        lot.start
        for lot in lots
        if picture(whole[lot]) != picture(slimmed[lot])
    ]
    assert not other, "one of the five from here on"
    tab.close()


def test_the_first_paint_has_the_colours_that_stay(address, browser):
    scheme = "dark"
    # Without its scripts the page has what it had before they arrived, but
    # for the one line in its head.
    context = browser.new_context(color_scheme=scheme)
    tab = context.new_page()
    tab.route("**/*.js*", lambda route: route.abort())
    tab.goto(f"{address}/{LESSONS[0]}.html")
    theme = "document.documentElement.dataset.theme"
    colour = "getComputedStyle(document.body).backgroundColor"
    first = tab.evaluate(theme), tab.evaluate(colour)
    tab.unroute("**/*.js*")
    tab.reload(wait_until="networkidle")
    assert first == (tab.evaluate(theme), tab.evaluate(colour))
    assert first[0] == scheme
    tab.evaluate("localStorage.setItem('mode', 'light')")
    tab.route("**/*.js*", lambda route: route.abort())
    tab.reload()
    assert tab.evaluate(theme) == "light", "a choice outweighs the system"
    context.close()
