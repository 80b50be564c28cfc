"""The site builds without a warning and leaves no reader out."""

import collections
import contextlib
import functools
import gzip
import itertools
import json
import math
import re
import time
import unicodedata
from html import unescape
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

import pytest
from attention_site import svg
from attention_site.lean import styles
from fontTools.ttLib import TTFont
from playwright.sync_api import Error, expect

from helpers import published
from tests.book import practice_pages
from tests.site import accessibility, paper
from tools import cards, website

PAGES = website.PAGES
LESSONS = website.LESSONS
PRACTICE = [page for page in PAGES if "/practice/" in page]
WIDTHS = {"wide": 1280, "phone": 390}
BUDGET = {"index": 160_000}
# A phone lays out every element of a page before it shows the first.
MOST_ELEMENTS = 8_500
MARK = "/_static/favicon.svg"


@pytest.fixture(scope="session")
def address(host):
    return host.address


def test_the_site_builds_without_a_warning(built):
    assert built.returncode == 0, built.said
    assert "WARNING" not in built.said, built.said


def test_every_page_that_was_built_is_visited(site):
    # The theme keeps templates of its own among the static files.
    built = {
        path.relative_to(site).with_suffix("").as_posix()
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }
    forgotten = sorted(built - {*website.EVERY_PAGE, *website.MOVED})
    assert not forgotten, (
        f"no test visits {forgotten}: list a page of the book in _toc.yml, "
        "and one that the build generates in tools/website.py, GENERATED"
    )
    missing = sorted(set(website.EVERY_PAGE) - built)
    assert not missing, (
        f"the build wrote no {missing}: take them out of _toc.yml or of "
        "GENERATED in tools/website.py, or mend the build"
    )


@pytest.mark.parametrize("old", website.MOVED)
def test_the_address_of_a_page_that_moved_leads_to_it(site, old):
    html = (site / f"{old}.html").read_text(encoding="utf-8")
    (target,) = set(re.findall(r'(?:href="|url=)([^"]+)"', html))
    there = (site / old).parent.joinpath(target).resolve()
    assert there == (site / f"{website.MOVED[old]}.html").resolve()
    assert there.is_file()


def test_an_old_address_is_followed(address, browser):
    tab = browser.new_page()
    old, new = next(iter(website.MOVED.items()))
    tab.goto(f"{address}/{old}.html")
    tab.wait_for_url(f"**/{new}.html")
    tab.close()


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_a_page_shows_the_stored_figures_and_asks_no_other_host(site, page):
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", html)
    outside = [
        tag for tag in loaded if re.search(r'(?:src|href)="(https?:)?//', tag)
    ]
    assert not outside
    assert len(re.findall(r'<svg role="img" aria-label="[^"]+"', html)) == (
        html.count('<div class="figure">')
    )
    assert "var(--ink)" in html or '<div class="figure">' not in html
    assert '<span class="math"></span>' not in html
    assert str(website.ROOT) not in html, "a path of the machine"


def listen(tab):
    """What a tab says and asks for, in lists that fill up."""
    heard = {"said": [], "asked": [], "answered": [], "failed": []}
    tab.on(
        "console",
        lambda m: heard["said"].append(m.text) if m.type == "error" else None,
    )
    tab.on("pageerror", lambda error: heard["said"].append(str(error)))
    tab.on("request", lambda request: heard["asked"].append(request.url))
    tab.on("requestfinished", lambda r: heard["answered"].append(r.url))
    tab.on("requestfailed", lambda r: heard["failed"].append(r.url))
    tab.on(
        "response",
        lambda r: heard["failed"].append(r.url) if r.status >= 400 else None,
    )
    return heard


def check_requests(host, tab, heard, page):
    """What a visit asked for and said, once nothing more loads."""
    tab.wait_for_load_state("networkidle")
    while len(heard["answered"]) + len(heard["failed"]) < len(heard["asked"]):
        tab.wait_for_timeout(20)
    paths = [path for path, _ in host.sent]
    moved = sum(size for _, size in host.sent)
    own = [url for url in heard["asked"] if url.startswith(host.address)]
    others = [u for u in heard["asked"] if not u.startswith("data:")]
    outside = set(others) - set(own)
    assert not outside, f"requests leave the site: {outside}"
    assert not heard["failed"], f"requests failed: {heard['failed']}"
    assert not heard["said"], f"errors in the console: {heard['said']}"
    asked = [url[len(host.address) :] for url in own]
    assert without_mark(paths) == without_mark(asked)
    assert moved <= BUDGET.get(page, 250_000), f"{moved} bytes"
    return without_mark(asked)


def test_what_pages_share_keeps_its_budget(site):
    """Theme, fonts and formulas: 100 of the 250 KB that a page may have."""
    static = site / "_static"
    css = (static / "bundle.css").read_text("utf-8")
    # Styles of figures and questions count with their scripts.
    for name in ("figures.css", "practice.css"):
        rules = styles.written(list(styles.read(static / name, static)))
        assert rules in css
        css = css.replace(rules, "")
    texts = [css.encode()]
    texts += [
        (static / name).read_bytes() for name in ("bundle.js", "site.js")
    ]
    fonts = [static / "fa-solid-900.woff2", *static.glob("fonts/*.woff2")]
    assert len(fonts) == 7
    sizes = [len(gzip.compress(text, 9)) for text in texts]
    sizes += [font.stat().st_size for font in fonts]
    assert sum(sizes) <= 100_000, sizes


def without_mark(paths):
    """Sorted, but for the mark: icon and picture, asked for at will."""
    return sorted(path for path in paths if path != MARK)


def check_form(tab, size, themed):
    """Nothing is wider than the window; one button opens the menu."""
    sideways = tab.evaluate(
        "document.documentElement.scrollWidth - innerWidth"
    )
    assert sideways <= 0, f"{sideways} px wider than the window"
    elements = tab.evaluate("document.querySelectorAll('*').length")
    assert elements <= MOST_ELEMENTS
    menu = tab.locator("button.primary-toggle:visible")
    assert menu.count() == themed, "one button opens and closes the menu"
    menu_shown = tab.locator(".bd-docs-nav").is_visible()
    assert menu_shown == (themed and size == "wide")
    wide, shown, figures, turns = tab.evaluate(
        """async () => {
          // What is in a fold is asked for once it is open.
          const folds = [...document.querySelectorAll("details:not([open])")];
          const told = () => new Promise((done) => setTimeout(done, 20));
          for (const fold of folds) fold.open = true;
          const turns = document.getAnimations().length;
          await told();
          const boxes = [...document.querySelectorAll(
            ".highlight pre, .math-display, .figure")];
          const wide = (box) => box.scrollWidth > box.clientWidth;
          const found = [boxes.map(wide), boxes.map((box) =>
            getComputedStyle(box).boxShadow.includes("inset")),
            boxes.filter((box) => box.matches(".figure") && wide(box)).length,
            turns];
          for (const fold of folds) fold.open = false;
          await told();
          return found;
        }"""
    )
    assert wide == shown, "what scrolls sideways shows it"
    assert not figures, "figures fit"
    assert not turns, "nothing moves for who asked for rest"


@pytest.fixture(scope="session")
def judged():
    """The looks of texts that axe has found good, on any page."""
    return set()


def told_first(pair):
    """What one scheme alone shows, then the smallest of another size.

    What holds it is larger too, and what follows it only stands elsewhere.
    """
    if sum(place.startswith("hidden") for place in pair):
        return 0, 0
    sizes = [place.split(" ")[0].split(",")[2:] for place in pair]
    return 1 + (sizes[0] == sizes[1]), math.prod(map(int, sizes[0]))


@pytest.mark.parametrize("page", website.EVERY_PAGE)
@pytest.mark.parametrize("size", WIDTHS)
def test_a_page_in_a_browser(host, browser, judged, page, size):
    # The page for lost addresses loads nothing, no script of the theme.
    themed = page != "404"
    theme = "document.documentElement.dataset.theme"
    places, asked = {}, {}
    with browser.new_context(
        viewport={"width": WIDTHS[size], "height": 900},
        reduced_motion="reduce",  # what moves has other places
    ) as context:
        tab = context.new_page()
        heard = listen(tab)
        for scheme in ("light", "dark"):
            tab.goto("about:blank")  # or the old page takes the new colours
            host.sent.clear()
            for messages in heard.values():
                messages.clear()
            tab.emulate_media(color_scheme=scheme)
            tab.goto(f"{host.address}/{page}.html", wait_until="load")
            website.scroll_through(tab)
            assert tab.evaluate(theme) == (scheme if themed else None)
            check_form(tab, size, themed)
            # What axe said in the light holds in the dark, but for colours:
            # everything is in the same place.
            all_rules = scheme == "light" or not themed
            problems = accessibility.problems(
                tab,
                accessibility.WCAG if all_rules else accessibility.COLOURS,
                judged,
            )
            assert not problems, "\n".join([f"{scheme}, {size}:", *problems])
            places[scheme] = tab.evaluate(accessibility.GEOMETRY)
            asked[scheme] = check_requests(host, tab, heard, page)
    assert asked["dark"] == asked["light"]
    pairs = zip(places["dark"], places["light"], strict=True)
    other = [pair for pair in pairs if pair[0] != pair[1]]
    other.sort(key=told_first)
    assert not other, f"not only the colours differ: {other[:3]}"


def after(seconds):
    """Let a request wait."""
    return lambda route: (time.sleep(seconds), route.continue_())


INDEX = """async () => {
  await document.fonts.ready;
  const index = document.querySelector("msub > :last-child");
  return getComputedStyle(index).fontSize;
}"""


def test_formulas_have_their_face_here_however_late_it_comes(address, browser):
    sizes = []
    for late in (0, 0.5):
        with browser.new_context() as context:
            tab = context.new_page()
            tab.route("**/stix-two-math.woff2", after(late))
            tab.goto(f"{address}/book/forward-and-backward.html")
            sizes.append(tab.evaluate(INDEX))
    assert sizes[0] == sizes[1]


def test_a_browser_that_does_not_answer_is_ended(launch):
    tab = launch().new_page()
    with pytest.raises(Error, match="closed"), website.patience(1):
        tab.evaluate("() => new Promise(() => {})")
    assert launch().new_page().evaluate("6 * 7") == 42


def test_the_landing_page_says_what_the_book_is_in_one_screen(
    address, browser
):
    start = f'a[href="{LESSONS[0]}.html"]'
    for width, height in ((1280, 800), (390, 844)):
        tab = browser.new_page(viewport={"width": width, "height": height})
        tab.goto(f"{address}/index.html")
        tab.wait_for_selector("[data-figure].av-live")
        for part in ("h1", start, "[data-figure]"):
            box = tab.locator(f"article {part}").first.bounding_box()
            assert box["y"] + box["height"] <= height, part
        # No code, no form to fill in: two sliders.
        assert tab.locator("article pre:visible").count() == 0
        fields = tab.locator("article :is(input, select, textarea):visible")
        assert [f.get_attribute("type") for f in fields.all()] == ["range"] * 2
        tab.close()


QUERY = "[data-figure=words]"


def asked_for(tab):
    """Where the query of the landing page points, as its sliders say."""
    return [
        float(tab.locator(f"{QUERY} input[name={key}]").input_value())
        for key in "xy"
    ]


def drawn_numbers(tab):
    return tab.locator(f"{QUERY} .av-weight").all_text_contents()


# Every text that names the arcs in the next seconds, and every place of what
# follows the figure; it does not wait for them.
NAMES = """(ms) => void (window.names = new Promise((done) => {
  const [seen, places] = [new Set(), new Set()];
  const end = performance.now() + ms;
  const look = () => {
    seen.add(document.querySelector(".av-sentence").ariaLabel);
    const { bottom } = document.querySelector(".av-live")
      .getBoundingClientRect();
    places.add(Math.round(bottom));
    if (performance.now() > end) done([[...seen], [...places]]);
    else setTimeout(look, 15);
  };
  look();
}))"""


def test_the_landing_page_moves_once_and_never_where_asked_not_to(
    address, browser
):
    with contextlib.ExitStack() as stack:
        tabs = {}
        for motion in ("no-preference", "reduce"):  # side by side
            context = browser.new_context(
                reduced_motion=motion, viewport={"width": 390, "height": 844}
            )
            tabs[motion] = stack.enter_context(context).new_page()
            tabs[motion].goto(f"{address}/index.html")
            tabs[motion].wait_for_selector(f"{QUERY}.av-live")
            tabs[motion].evaluate(NAMES, 5000)  # it takes four seconds
        rest = {}
        for motion, tab in tabs.items():
            seen, places = tab.evaluate("window.names")
            assert len(places) == 1, "nothing below it jumps"
            rest[motion] = drawn_numbers(tab)
            assert asked_for(tab) == [2, 0.5]
            if motion == "reduce":
                assert len(seen) == 1
            else:
                assert any("milk 0.7" in label for label in seen)
            tab.evaluate(NAMES, 1500)
        for motion, tab in tabs.items():
            seen, _ = tab.evaluate("window.names")
            assert len(seen) == 1, "it stays as it is"
            assert drawn_numbers(tab) == rest[motion]


def test_the_query_of_the_landing_page_is_dragged_and_sent(address, browser):
    with browser.new_context(
        reduced_motion="reduce", viewport={"width": 390, "height": 844}
    ) as context:
        tab = context.new_page()
        tab.goto(f"{address}/index.html")
        tab.wait_for_selector(f"{QUERY}.av-live")
        handle = tab.locator(f"{QUERY} .av-reach").bounding_box()
        plane = tab.locator(f"{QUERY} .av-ask").bounding_box()
        assert handle["width"] >= 24
        unit = plane["width"] / 2 / 3.35

        def place(x, y):
            left = plane["x"] + plane["width"] / 2 + x * unit
            return left, plane["y"] + plane["height"] / 2 - y * unit

        tab.mouse.move(*place(2, 0.5))
        tab.mouse.down()
        tab.mouse.move(*place(1, 1), steps=4)
        tab.mouse.move(*place(0, 2), steps=4)
        tab.mouse.up()
        assert asked_for(tab) == pytest.approx([0, 2], abs=0.11)
        most = tab.locator(f"{QUERY} .av-sentence .av-most")
        assert most.text_content() == "milk"
        tab.mouse.move(*place(3, -3), steps=4)  # let go: nothing follows
        assert asked_for(tab) == pytest.approx([0, 2], abs=0.11)
        tab.mouse.click(*place(2, 0))
        assert asked_for(tab) == pytest.approx([2, 0], abs=0.11)
        assert most.text_content() == "cat"


# Where the film is, every few milliseconds until it ends at `end`.
PLACES = """([figure, end]) => new Promise((done) => {
  const places = [];
  const look = () => {
    places.push(figure.values.time);
    if (figure.values.time === end) done(places);
    else setTimeout(look, 20);
  };
  look();
})"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_film_plays_and_is_the_same_for_bar_and_buttons(
    address, browser, motion
):
    with browser.new_context(reduced_motion=motion) as context:
        tab = context.new_page()
        tab.goto(f"{address}/{LESSONS[0]}.html")
        figure = tab.locator("[data-figure=film]")
        first_control(tab, figure)
        bar = figure.locator("input[name=at]")

        def press(name):
            figure.get_by_role("button", name=name).click()

        def arrives(end):
            arguments = [figure.element_handle(), end]
            places = tab.evaluate(PLACES, arguments)
            assert places == sorted(places)
            between = [x for x in places if x != int(x)]
            assert bool(between) == (motion == "no-preference")
            return shown(figure)

        def stands(time):
            tab.wait_for_function(
                "([figure, time]) => figure.values.time === time",
                arg=[figure.element_handle(), time],
            )

        sought = {}
        for end in range(8):
            bar.fill(str(end))
            stands(end)
            sought[end] = shown(figure)
        assert len(set(sought.values())) == 8
        for end in (6, 5):  # backward gives what forward gave
            press("Back")
            stands(end)
            assert shown(figure) == sought[end]
        press("Next")
        assert arrives(6) == sought[6]
        bar.fill("0")
        press("Play")
        press("Pause")
        tab.wait_for_timeout(300)
        before = shown(figure)
        tab.wait_for_timeout(300)
        assert shown(figure) == before, "it stands still"
        bar.fill("5")  # all of it: test_figure_motion.py
        stands(5)
        press("Play")
        assert arrives(7) == sought[7]
        figure.get_by_role("button", name="Play").wait_for()


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  };
  const ink = document.querySelector(".figure svg text, .figure svg tspan");
  return luminance(getComputedStyle(ink).fill) -
    luminance(getComputedStyle(document.body).backgroundColor);
}"""


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


def test_a_page_works_where_storage_is_blocked(address, browser):
    tab = browser.new_page(color_scheme="dark")
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.add_init_script(
        """for (const name of ["localStorage", "sessionStorage"])
          Object.defineProperty(window, name, { configurable: true,
            get() { throw new DOMException("no", "SecurityError"); } });"""
    )
    tab.goto(f"{address}/{LESSONS[0]}.html", wait_until="networkidle")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    first_control(tab, tab.locator("[data-figure]").first)
    tab.keyboard.press("Control+k")
    tab.locator("#pst-search-dialog input:visible").wait_for()
    assert not errors
    tab.close()


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


# The text of each fold and its label, once it is open, and how many sheets of
# A4 a page would fill if each could break anywhere.
ON_PAPER = """() => {
  const bare = (text) => text.replace(/\\s/g, "");
  const folds = [...document.querySelectorAll("details.hide")];
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const article = document.querySelector("article");
  return {
    title: bare(article.querySelector("h1").innerText.replace("#", "")),
    folds: folds.map((fold) => bare(fold.querySelector("pre").innerText)),
    labels: folds.map((fold) => bare(
      fold.querySelector(".expanded").textContent)),
    sheets: article.offsetHeight / ((297 - 30) / 25.4 * 96),
  };
}"""


@pytest.mark.parametrize("page", [LESSONS[0], "book/training"])
def test_paper_has_what_the_folds_hold_and_is_filled(address, browser, page):
    # As wide as the text of a sheet: A4 without its margins.
    tab = browser.new_page(viewport={"width": 680, "height": 900})
    tab.goto(f"{address}/{page}.html")
    sheets = paper.texts(tab.pdf(format="A4"))
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
    assert "Contents" not in sheets[0]
    # Figures and short cells stay whole, which leaves some paper blank.
    assert len(sheets) <= 1.1 * seen["sheets"] + 1


@pytest.mark.parametrize("page", website.pages_with_figures())
def test_a_page_has_one_figure_of_a_kind(site, page):
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    kinds = re.findall(r'data-figure="(\w+)"', html)
    assert len(kinds) == len(set(kinds)), "they would share the address"


@pytest.mark.parametrize("page", website.pages_with_figures())
def test_every_figure_has_an_anchor_without_scripts(address, browser, page):
    context = browser.new_context(
        java_script_enabled=False,
        reduced_motion="reduce",  # or it glides there
    )
    tab = context.new_page()
    tab.goto(f"{address}/{page}.html")
    ids = tab.locator("[data-figure]").evaluate_all(
        "all => all.map(({ id, dataset }) => [id, dataset.figure])"
    )
    assert ids
    for anchor, name in ids:
        assert anchor == f"figure-{name}"
        tab.goto(f"{address}/{page}.html#{anchor}")
        box = tab.locator(f"[id='{anchor}']").bounding_box()
        assert 0 <= box["y"] <= 450, "below the bar, on the first screen"
    context.close()


@pytest.mark.parametrize("page", website.pages_with_figures())
def test_a_link_to_a_state_leads_to_its_figure(address, browser, page):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{address}/{page}.html")
    figure = tab.locator("[data-figure]").last
    name = figure.get_attribute("data-figure")
    first_control(tab, figure)
    states = {
        "causal": "T=9", "step": "scale=false", "saturation": "d_k=2",
        "heads": "T=2", "kvcache": "S=7", "positions": "kind=ALiBi",
        "tiles": "T=20", "induction": "symbols=ABAB", "film": "at=1",
        "words": "x=-1", "roof": "T=64",
        "project": "x1=-1", "temperature": "temperature=5",
        "backward": "causal=false",
    }  # fmt: skip
    before = shown(figure)
    tab.goto(f"{address}/{page}.html?{name}.{states[name]}")
    tab.locator(f"[data-figure={name}].av-live").wait_for()
    tab.wait_for_function(
        """figure => {
          const { y } = figure.getBoundingClientRect();
          return 0 <= y && y <= 450;
        }""",
        arg=figure.element_handle(),
    )
    assert shown(figure) != before
    # On paper too, wherever the reader is.
    tab.goto(f"{address}/{page}.html?{name}.{states[name]}#top")
    tab.locator(f"[data-figure={name}].av-live").wait_for()
    tab.close()


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


# How far the entry of the page stands out of its menu, above or below, and
# how far the page has moved.
OUT_OF_SIGHT = """() => {
  const entry = document.querySelector(".bd-docs-nav a.current");
  const [at, menu] = [entry, entry.closest(".bd-sidebar-primary")]
    .map((it) => it.getBoundingClientRect());
  return [Math.max(0, menu.top - at.top, at.bottom - menu.bottom), scrollY];
}"""


def test_the_menu_shows_where_the_page_stands(address, browser):
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    # One after the other: the menu's place is kept from page to page.
    for page in (PAGES[-1], LESSONS[0], PRACTICE[-1], "book/mask"):
        tab.goto(f"{address}/{page}.html")
        assert tab.evaluate(OUT_OF_SIGHT) == [0, 0], page
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{address}/{LESSONS[-1]}.html")
    tab.locator("button.primary-toggle:visible").click()
    tab.wait_for_function(f"({OUT_OF_SIGHT})()[0] === 0")
    tab.close()


# Where each entry of the contents stands, wherever the reader is.
ENTRIES = """async () => {
  const seen = new Set();
  for (let y = 0; y < document.documentElement.scrollHeight; y += 700) {
    scrollTo({ top: y, behavior: "instant" });
    // A frame to lay out, and one to be told what is in view.
    for (let k = 0; k < 2; k += 1) await new Promise(requestAnimationFrame);
    const links = [...document.querySelectorAll(".page-toc a")];
    seen.add(links.map((link) => link.offsetTop).join());
  }
  return seen.size;
}"""


def test_the_contents_stand_still_while_a_page_is_read(address, browser):
    tab = browser.new_page(viewport={"width": 1300, "height": 900})
    tab.goto(f"{address}/book/mask.html")
    tab.evaluate("document.fonts.ready.then(() => 0)")
    assert tab.evaluate(ENTRIES) == 1
    tab.close()


def test_outputs_are_as_wide_as_code_on_a_phone(address, browser):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(f"{address}/{LESSONS[0]}.html")
    sides = tab.locator(
        ".cell_input:visible, .cell_output > .stream:visible"
    ).evaluate_all(
        """all => all.map((it) => it.getBoundingClientRect())
          .map(({ left, right }) => `${left} ${right}`)"""
    )
    assert len(sides) > 10
    assert len(set(sides)) == 1, collections.Counter(sides)
    tab.close()


# What readers look for, and the chapter that is about it.
SOUGHT = {
    "RoPE": "positions",
    "ALiBi": "positions",
    "softmax": "soften-and-sharpen",
    "temperature": "soften-and-sharpen",
    "gradient": "forward-and-backward",
    "variance": "derivation",
    "causal mask": "mask",
    "padding": "mask",
    "grouped heads": "heads",
    "roofline": "quadratic-cost",
    "FLOPs": "quadratic-cost",
    "KV cache": "kv-cache",
    "FlashAttention": "tiles",
    "GELU": "block",
    "layer norm": "block",
    "Adam": "training",
    "induction": "training",
    "YaRN": "longer",
    "speculative": "serve",
    "prefill": "quadratic-cost",
    "Dask": "machines",
    "ring": "machines",
}


def test_search_shows_first_what_is_about_the_words(address, browser):
    found = {}
    tab = browser.new_page()
    for query in SOUGHT:
        tab.goto(f"{address}/search.html?q={quote(query)}")
        first = tab.locator("#search-results li a").first
        first.wait_for()
        href = urlsplit(first.get_attribute("href")).path
        found[query] = href.removeprefix("book/").removesuffix(".html")
    assert found == SOUGHT
    around = tab.locator("#search-results li .context").first.inner_text()
    assert query.lower() in around.lower(), "where it was found"
    field = tab.locator(".bd-search-container form.bd-search")
    edge = field.locator(".fa-magnifying-glass").bounding_box()
    start = field.locator("input").evaluate(
        "it => it.getBoundingClientRect().x"
        " + parseFloat(getComputedStyle(it).paddingLeft)"
    )
    assert edge["x"] + edge["width"] <= start, "the first letter is free"
    tab.close()


@pytest.mark.parametrize(
    ("query", "marked", "first"),
    [
        ("rope", {"rope"}, ["positions"]),
        ("gqa", {"gqa"}, ["kv-cache", "heads"]),
        ("masks", {"mask", "masks", "masked", "masking"}, []),
        (
            "padding_mask",
            {"padding", "padded", "pad", "mask", "masks", "masked", "masking"},
            [],
        ),
    ],
)
def test_search_finds_whole_words_and_opens_their_section(
    address, site, browser, query, marked, first
):
    tab = browser.new_page()
    tab.goto(f"{address}/search.html?q={query}")
    links = tab.locator("#search-results li a")
    links.first.wait_for()
    found = [urlsplit(link.get_attribute("href")) for link in links.all()]
    words = tab.locator("#search-results .highlighted").all_inner_texts()
    tab.close()
    assert words
    assert {word.lower() for word in words} <= marked
    pages = [part.path.removesuffix(".html") for part in found]
    assert pages[: len(first)] == [f"book/{name}" for name in first]
    # Lessons stand before all others, and each result leads to a section.
    assert any(page in LESSONS for page in pages)
    lessons = [page in LESSONS for page in pages]
    assert lessons == sorted(lessons, reverse=True)
    for part in found:
        html = (site / part.path).read_text(encoding="utf-8")
        assert f'id="{part.fragment}"' in html, part


def test_no_excerpt_has_the_numbers_of_a_figure(site):
    script = (site / "_static/search_texts.js").read_text(encoding="utf-8")
    texts = json.loads(script.partition("=")[2].strip().rstrip(";"))
    assert set(texts) == set(PAGES)
    parts = itertools.chain(*texts.values())
    spoken = " ".join(text for _, _, text in parts)
    assert "QK^⊤/√d_k" in spoken
    for page in website.pages_with_figures():
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        for said in re.findall(r'<p class="av-say">([^<]{30,})', html):
            assert unescape(said) not in spoken


def test_each_page_has_a_description_of_its_own(site):
    said = collections.Counter()
    for page in PAGES:
        html = (site / f"{page}.html").read_text(encoding="utf-8")
        text = re.search(r'<meta name="description" content="(.*?)">', html)[1]
        assert 40 <= len(unescape(text)) <= 202, page
        said[text] += 1
    assert set(said.values()) == {1}, said.most_common(1)


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


def test_a_ledger_table_sorts(address, browser):
    tab = browser.new_page()
    tab.goto(f"{address}/book/ledger.html")
    table = tab.locator("table.ledger").first
    column = table.locator("tbody tr td:nth-child(4)")
    before = column.all_inner_texts()
    heading = table.get_by_role("button", name="errata")
    heading.press("Enter")
    ascending = [int(text) for text in column.all_inner_texts()]
    assert ascending == sorted(map(int, before))
    heading.press("Enter")
    descending = [int(text) for text in column.all_inner_texts()]
    assert descending == ascending[::-1]
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

    counts(len(every))
    heads = rows.locator("td:nth-child(4)").all_inner_texts()
    assert all("erratum" in text for text in heads[: len(wrong)])
    assert "erratum" not in "".join(heads[len(wrong) :])
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
    counts(sum(e.basis == "computed" for e in false))
    tab.close()


@pytest.mark.parametrize("width", WIDTHS.values())
def test_an_entry_has_an_address_and_headings_stay(address, browser, width):
    tab = browser.new_page(viewport={"width": width, "height": 800})
    slug, entry = entries()[-1]
    name = re.sub(r"\W", "-", f"{slug}-{entry.id}")
    tab.goto(f"{address}/book/ledger.html#{name}")
    link = tab.locator(f"#{name}")
    expect(link).to_be_in_viewport()  # the page glides there
    box = link.bounding_box()
    assert 0 < box["y"] < 800, "the link leads to its row"
    head = tab.locator(".entries thead")
    assert head.is_visible() == (width > 480)
    if head.is_visible():
        above = head.locator("th").first.bounding_box()
        assert 0 < above["y"] < box["y"], "headings stay in sight"
    tab.close()


def test_the_ledger_reads_without_scripts(address, browser):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(f"{address}/book/ledger.html")
        assert tab.locator(".entries tbody tr:visible").count() == len(
            entries()
        )
        assert tab.locator(".ledger-filter").count() == 0


def test_code_can_be_copied(address, browser):
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    lesson = LESSONS[0]
    tab.goto(f"{address}/{lesson}.html")
    cell = tab.locator(".cell_input:visible").first
    cell.hover()
    cell.locator("button.copybtn").click()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert ">>>" not in copied
    context.close()


@functools.cache
def ids(path):
    """The ids of a built page, in its order; what scripts hold apart."""
    html = path.read_text(encoding="utf-8")
    markup = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", html, flags=re.S)
    return re.findall(r'<[^>]*\sid="([^"]*)"', markup)


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_an_id_stands_once_on_a_page(site, page):
    counted = collections.Counter(ids(site / f"{page}.html"))
    twice = [name for name, n in counted.items() if n > 1]
    assert not twice, f"{page}.html has these ids more than once: {twice}"


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_every_link_of_the_site_leads_somewhere(site, page):
    path = site / f"{page}.html"
    html = path.read_text(encoding="utf-8")
    hrefs = {unescape(h) for h in re.findall(r'<a\b[^>]*href="([^"]*)"', html)}
    inner = [h for h in hrefs if not re.match(r"[a-z]+:", h)]
    assert inner
    for href in inner:
        parts = urlsplit(href)
        target = (path.parent / unquote(parts.path)).resolve()
        target = target if parts.path else path
        assert target.is_file(), f"{page}.html links to {href}: no such file"
        if parts.fragment and target.suffix == ".html":
            assert unquote(parts.fragment) in ids(target), (
                f"{page}.html links to {href}: there is no such id"
            )


def linked(site, page, kind):
    """Where the first link of that class on a page leads, as a file."""
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    link = re.search(rf'<a\b[^>]*class="[^"]*\b{kind}\b[^>]*>', html)[0]
    href = re.search(r'href="([^"]*)"', link)[1]
    return (site / page).parent.joinpath(href).resolve()


def test_pages_follow_one_another(site):
    for page, following in itertools.pairwise(PAGES):
        there = linked(site, page, "right-next")
        assert there == (site / f"{following}.html").resolve()


@pytest.mark.parametrize("page", [p for p in PAGES if website.is_notebook(p)])
def test_a_chapter_to_download_is_the_stored_one(site, page):
    copy = linked(site, page, "btn-download-source-button")
    source = website.ROOT / f"{page}.ipynb"
    assert copy.read_bytes() == source.read_bytes()


def test_a_chapter_can_be_downloaded(address, browser):
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{address}/{LESSONS[0]}.html")
    tab.get_by_role("button", name="Download this page").click()
    link = tab.locator("a.btn-download-source-button")
    link.wait_for(state="visible")
    copy = tab.request.get(link.evaluate("link => link.href"))
    source = website.ROOT / f"{LESSONS[0]}.ipynb"
    assert copy.body() == source.read_bytes()
    tab.locator("a.right-next").click()
    following = PAGES[PAGES.index(LESSONS[0]) + 1]
    tab.wait_for_url(f"**/{following}.html")
    tab.close()


# What a reader without scripts sees of pictures, the first formulas, figures,
# questions (once their folds are open), and of folds after a prediction.
UNSCRIPTED = """() => {
  const all = (parts, within = document) =>
    [...within.querySelectorAll(parts)];
  const shown = (it) => Boolean(it?.checkVisibility({
    visibilityProperty: true,
  }));
  const asks = (form) => {
    const fold = form.querySelector("noscript details");
    const summary = shown(fold?.querySelector("summary"));
    fold?.setAttribute("open", "");
    return summary && shown(form.querySelector("legend")) &&
      shown(form.querySelector(":is(input, li)")) &&
      !shown(form.querySelector("button[type=submit]")) &&
      fold.querySelector("p").innerText.trim().endsWith(".");
  };
  return {
    pictures: all(".figure svg").some(shown),
    formulas: all("article math").filter(shown).slice(0, 3)
      .map((it) => it.getBoundingClientRect().width),
    figures: all("[data-figure]").map((it) => [
      all(".av-result, .av-stills", it).some(shown),
      all(".av-controls", it).some(shown)]),
    questions: all("form[data-question]")
      .map((it) => [it.dataset.question, asks(it)]),
    folds: all("details.av-reveal")
      .map((it) => [shown(it.querySelector(":scope > summary")), it.open]),
  };
}"""


@pytest.mark.parametrize("page", LESSONS + PRACTICE)
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


def test_pages_work_from_a_folder_without_a_server(site, browser):
    tab = browser.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto((site / "book" / "mask.html").as_uri())
    # Only the head start of the font needs a server, not the font.
    assert tab.evaluate("document.fonts.ready.then(() => true)")
    fonts = tab.evaluate(
        "[...document.fonts].filter(font => font.status === 'loaded')"
        ".map(font => font.family)"
    )
    assert "STIX Two Math" in fonts
    figure = tab.locator("[data-figure]").first
    first_control(tab, figure)
    before = figure.evaluate("el => el.values.weights.length")
    figure.locator("input[name=T]").fill(str(before + 3))
    tab.wait_for_function(
        "n => document.querySelector('[data-figure]').values.weights.length"
        " === n",
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


def test_a_figure_whose_script_is_missing_says_so(address, browser):
    tab = browser.new_page()
    tab.route("**/figures/*.js", lambda route: route.abort())
    tab.goto(f"{address}/book/mask.html")
    figure = tab.locator("[data-figure]").first
    figure.scroll_into_view_if_needed()
    error = figure.locator(".av-error")
    error.filter(has_text="did not load").wait_for(state="visible")
    assert figure.locator(".av-grid, .av-mosaic").first.is_visible()
    assert not figure.locator(".av-controls").is_visible()
    tab.close()


def first_control(tab, figure):
    """The first slider or menu of a figure, brought to life and into view."""
    figure.scroll_into_view_if_needed()
    figure.locator(".av-controls").wait_for()
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


@pytest.mark.parametrize("page", website.pages_with_figures())
def test_every_figure_answers_to_touch_and_to_the_keyboard(
    address, browser, page
):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    tab = context.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{address}/{page}.html")
    figures = tab.locator("[data-figure]")
    assert figures.count() >= 1
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


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_sheet_to_learn_by_heart_is_one_page(address, browser, paper):
    tab = browser.new_page()
    tab.goto(f"{address}/book/by-heart.html")
    pages = re.findall(rb"/Type\s*/Page\b", tab.pdf(format=paper))
    assert len(pages) == 1


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


def test_a_link_to_a_page_has_a_picture(site):
    html = (site / "index.html").read_text(encoding="utf-8")
    picture = site / "_static" / "preview.png"
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert 'name="description"' in html
    # A link can show it where the address of the site is known.
    images = re.findall(r'property="og:image" content="([^"]+)"', html)
    known = re.findall(r'<link rel="canonical" href="(.*)index.html"', html)
    assert images == [f"{home}_static/preview.png" for home in known]


@pytest.mark.parametrize("page", [*PAGES, "search"])
def test_a_page_says_its_title_and_its_width_once(site, page):
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    (title,) = re.findall(r"<title>(.*?)</title>", html)
    assert unescape(title).count("Attention, Verified") == 1
    assert html.count('name="viewport"') == 1


def test_each_card_leads_to_its_figure(site):
    html = (site / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+)#figure-(\w+)"', html)
    shown = {type(figure)._name for figure, *_ in cards.CARDS.values()}
    assert sorted(name for _, name in links) == sorted(shown)
    for page, name in links:
        target = (site / page).read_text(encoding="utf-8")
        assert f'id="figure-{name}"' in target


# How far the cards of each row of the gallery end from the frames above.
GALLERY = """() => {
  const edges = (it) => it.getBoundingClientRect();
  const frame = edges(document.querySelector(".course"));
  const rows = new Map();
  for (const card of document.querySelectorAll(".sd-card:has(svg)")) {
    const { top, left, right } = edges(card);
    const row = rows.get(Math.round(top)) ?? { left, right };
    rows.set(Math.round(top), {
      left: Math.min(row.left, left), right: Math.max(row.right, right) });
  }
  return [...rows.values()].map(({ left, right }) =>
    Math.max(Math.abs(left - frame.left), Math.abs(right - frame.right)));
}"""


def test_no_card_stands_alone_and_all_align(address, browser):
    for width in (1440, 390):
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.goto(f"{address}/index.html")
        away = tab.evaluate(GALLERY)
        assert len(away) in (5, 7)
        assert max(away) < 1
        tab.close()


def test_the_header_of_a_phone_leads_on_in_one_row(address, browser):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto(f"{address}/{LESSONS[0]}.html")
    header = tab.locator(".bd-header-article")
    buttons = header.locator(":is(button, a.btn):visible")
    middles = buttons.evaluate_all(
        """all => all.map((it) => it.getBoundingClientRect())
          .map(({ top, bottom }) => (top + bottom) / 2)"""
    )
    assert max(middles) - min(middles) < 6
    header.locator("a.next-page").click()
    following = PAGES[PAGES.index(LESSONS[0]) + 1]
    tab.wait_for_url(f"**/{following}.html")
    tab.close()


@functools.cache
def cut_face(site, name):
    """The characters of a face as the site has it, and as it is whole."""
    file = f"_static/fonts/{name}.woff2"
    return [
        set(map(chr, TTFont(folder / file).getBestCmap()))
        for folder in (site, website.ROOT / "book")
    ]


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_the_faces_have_every_character_of_a_page(site, page):
    text = unescape((site / f"{page}.html").read_text(encoding="utf-8"))
    fonts = (website.ROOT / "book" / "_static" / "fonts").glob("*.woff2")
    for name in sorted(path.stem for path in fonts):
        cut, whole = cut_face(site, name)
        if name != "stix-two-math":
            assert (set(text) & whole) <= cut, name
        assert len(cut) < len(whole) / 1.5, "what no page shows is left out"


def drawn(formula):
    """The characters of a formula that leave a mark."""
    text = unescape(re.sub(r"<[^>]*>", "", formula))
    return {c for c in text if c.isprintable() and c != "\u2063"}


def slanted(formula):
    """The lone letters of a formula, which a browser writes in italics."""
    for element in ElementTree.fromstring(formula).iter("mi"):
        text = (element.text or "").strip()
        # Letters of other shapes, such as a script L, stay as they are.
        plain = len(text) == 1 and text < "\u2100" and text.isalpha()
        if (plain or text in ("∂", "∇")) and not element.get("mathvariant"):
            yield unicodedata.normalize("NFKC", text)


def italic(character):
    """The letter that a mathematical italic is a form of, if it is one."""
    name = unicodedata.name(character, "")
    if name.startswith("MATHEMATICAL ITALIC") or name == "PLANCK CONSTANT":
        return unicodedata.normalize("NFKC", character)
    return None


# How many parts an element of MathML has; more are shown side by side.
PARTS = {"msub": 2, "msup": 2, "mfrac": 2, "munder": 2, "mover": 2}
PARTS |= {"msubsup": 3, "munderover": 3}


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_formulas_have_the_parts_that_browsers_expect(site, page):
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    font, _ = cut_face(site, "stix-two-math")
    italics = {italic(c) for c in font} - {None}
    assert "√" in font
    for formula in re.findall(r"<math.*?</math>", html, re.S):
        assert "\u2061" not in formula, "a character without width"
        assert drawn(formula) <= font, formula
        assert {*slanted(formula)} <= italics, formula
        for element in ElementTree.fromstring(formula).iter():
            parts = PARTS.get(element.tag, len(element))
            assert len(element) == parts, formula
            if element.tag == "msqrt":
                # The font has one root sign, for letters and their indices.
                inside = {part.tag for part in element.iter()}
                tall = inside - {"msqrt", "mi", "mn", "msub", "mtext", "mrow"}
                assert not tall, formula


def stored_figures(pages=PAGES):
    for page in filter(website.is_notebook, pages):
        text = (website.ROOT / f"{page}.ipynb").read_text(encoding="utf-8")
        for cell in json.loads(text)["cells"]:
            for output in cell.get("outputs", ()):
                if "image/svg+xml" in output.get("data", ()):
                    yield "".join(output["data"]["image/svg+xml"])


def words(figure):
    """What a figure says: its labels, and its description."""
    label = re.search(r'aria-label="([^"]*)"', figure)[1]
    return [label, *(t for t in re.findall(r">([^<]*)<", figure) if t.strip())]


@pytest.mark.parametrize("page", [p for p in PAGES if website.is_notebook(p)])
def test_a_figure_says_on_the_page_what_was_verified(site, page):
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    shown = re.findall(r'<svg role="img" aria-label.*?</svg>', html, re.S)
    shown = [figure for figure in shown if "xlink" in figure]
    stored = list(stored_figures([page]))
    assert list(map(words, shown)) == list(map(words, stored))


def test_a_figure_without_idle_groups_looks_as_it_did(browser, monkeypatch):
    tab = browser.new_page(viewport={"width": 900, "height": 900})

    def picture(figures):
        tab.set_content(f'<body style="--ink: #123">{"".join(figures)}</body>')
        return tab.screenshot(full_page=True)

    figures = list(stored_figures())
    slimmed = [svg.themed(figure, "") for figure in figures]
    monkeypatch.setattr(svg, "slim", lambda figure: figure)
    whole = [svg.themed(figure, "") for figure in figures]
    assert len(figures) > 40
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_paint_has_the_colours_that_stay(address, browser, scheme):
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
    other = {"light": "dark", "dark": "light"}[scheme]
    tab.evaluate("mode => localStorage.setItem('mode', mode)", other)
    tab.route("**/*.js*", lambda route: route.abort())
    tab.reload()
    assert tab.evaluate(theme) == other, "a choice outweighs the system"
    context.close()


def test_works_of_groups_stand_in_the_alphabet_too(site):
    html = (site / "book/bibliography.html").read_text(encoding="utf-8")
    works = re.findall(r"<li><p><a id=[^>]*></a><strong>(.*?)<", html)
    works = [unescape(work).casefold() for work in works]
    assert works == sorted(works)
    # Groups stand by their names, without braces and articles.
    assert {"deepseek-ai", "tinytorch"} <= {w.split()[0] for w in works}
