"""Every built page, read from its HTML without a browser.

A rule takes a page's tree and yields a sentence for each thing that is wrong.
The browser judges what only it can: `tests/site/test_visits.py`.
"""

import collections
import functools
import inspect
import itertools
import json
import pydoc
import re
import unicodedata
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from attention_site import tags
from fontTools.ttLib import TTFont
from lxml import html

from course import published
from course._colours import NARROW
from tests.site import address
from tools import cards, cut_fonts, release, website

PAGES = website.PAGES
NOTEBOOKS = [page for page in PAGES if website.is_notebook(page)]
NAMED = (
    "//a[@href] | //button | //summary | //iframe | //img[not(@alt='')] |"
    " //*[@role='img' or @role='button' or @role='link' or @role='group']"
)
FIELDS = "//input[not(@type='hidden' or @type='submit')]|//select|//textarea"
REFERS = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
LOADS = "src", "srcset", "data", "poster", "action", "formaction"
# How many parts an element of MathML has.
PARTS = {"msub": 2, "msup": 2, "mfrac": 2, "munder": 2, "mover": 2}
PARTS |= {"msubsup": 3, "munderover": 3}
LOADED_LINKS = {
    "stylesheet", "icon", "preload", "modulepreload", "prefetch", "manifest",
    "preconnect", "dns-prefetch",
}  # fmt: skip


@functools.cache
def tree(path):
    return html.parse(str(path)).getroot()


def given(element):
    """The name that attributes give an element."""
    for name in ("aria-label", "alt", "title"):
        if (element.get(name) or "").strip():
            return element.get(name)
    wanted = (element.get("aria-labelledby") or "").split()
    marked = element.getroottree().xpath("//*[@id]") if wanted else ()
    found = [it.text_content() for it in marked if it.get("id") in wanted]
    return " ".join(found).strip()


def said(element):
    """The name of an element for a reader who hears it."""
    return given(element) or spoken(element).strip()


def spoken(element):
    """The text inside an element, without what is hidden from speech."""
    if element.get("aria-hidden") == "true" or not isinstance(
        element.tag, str
    ):
        return ""
    own = (element.get("alt") or "") + (element.get("aria-label") or "")
    parts = [(spoken(child), child.tail or "") for child in element]
    return own + (element.text or "") + "".join(map("".join, parts))


def tag(element):
    """The start of an element, for a message."""
    return html.tostring(element, encoding="unicode")[:160]


def wrong_outline(page):
    levels = " or ".join(f"self::h{n}" for n in range(1, 7))
    printed = "ancestor::*[@id='jb-print-docs-body']"
    headings = page.xpath(f"//main//*[{levels}][not({printed})]")
    levels = [int(it.tag[1]) for it in headings]
    if levels.count(1) != 1:
        yield f"{levels.count(1)} headings of the first level"
    for before, after in itertools.pairwise(headings):
        if int(after.tag[1]) > int(before.tag[1]) + 1:
            yield f"a level is left out before {tag(after)}"
    yield from (f"no text: {tag(it)}" for it in headings if not said(it))


def wrong_names(page):
    for it in page.xpath(NAMED):
        if not said(it) and not it.xpath("ancestor-or-self::*[@aria-hidden]"):
            yield f"no name: {tag(it)}"
    labelled = set(page.xpath("//label/@for"))
    for it in page.xpath(FIELDS):
        around = it.xpath("ancestor::label")
        if not (
            said(it) or it.get("id") in labelled or any(map(said, around))
        ):
            yield f"no label: {tag(it)}"
    for kind in ("nav", "aside"):
        marks = page.xpath(f"//{kind}")
        names = list(map(given, marks))
        if len(marks) > 1 and len(set(names) - {""}) < len(marks):
            yield f"{kind} elements that have no names of their own: {names}"
    for it in page.xpath("//fieldset[not(legend)]"):
        yield f"no legend: {tag(it)}"


def wrong_ids(page):
    counted = collections.Counter(page.xpath("//@id"))
    for name, count in counted.items():
        if count > 1:
            yield f"the id {name} stands {count} times"
    for attribute in REFERS:
        for names in page.xpath(f"//@{attribute}"):
            for name in set(names.split()) - set(counted):
                yield f"{attribute} names {name}, which no element has"


def wrong_structure(page):
    if not (page.get("lang") or "").startswith("en"):
        yield "the page does not say its language"
    for it in page.xpath("//*[@lang]"):
        if it.get("lang") not in ("en", "es"):
            yield f"an unknown language: {tag(it)}"
    if len(page.xpath("//main")) != 1:
        yield "not one main part"
    for it in page.xpath("(//ul|//ol)/*[not(self::li or self::script)]"):
        yield f"no item of a list: {tag(it)}"
    for it in page.xpath("//dl/*[not(self::dt or self::dd or self::div)]"):
        yield f"no term of a list: {tag(it)}"
    for it in page.xpath("//details[not(*[1][self::summary])]"):
        yield f"a fold without a label: {tag(it)}"
    for it in page.xpath("//button//*[self::a or self::button or @tabindex]"):
        yield f"a control in a control: {tag(it)}"
    for it in page.xpath("//*[@tabindex > 0]"):
        yield f"an order of its own: {tag(it)}"
    (*_, zoom) = ["", *page.xpath("//meta[@name='viewport']/@content")]
    if "width=device-width" not in zoom or re.search("user-sc|maximum", zoom):
        yield f"viewport: {zoom!r}"


def wrong_hosts(page):
    """What a page loads from elsewhere."""
    for it in page.iter():
        if not isinstance(it.tag, str):
            continue
        asked = [it.get(name) or "" for name in LOADS]
        if it.tag == "link" and LOADED_LINKS & set(it.get("rel").split()):
            asked.append(it.get("href") or "")
        if it.tag in ("image", "use", "base"):
            asked.append(it.get("href") or it.get("xlink:href") or "")
        if it.tag == "base" and it.get("href") == address.HOME:
            asked.pop()  # the page for lost addresses, at any depth
        styles = it.get("style") or ""
        if it.tag in ("style", "script") and not it.get("src"):
            styles += (it.text or "").replace("http://www.w3.org", "")
        away = [url for url in asked if re.match(r"\s*([a-z]+:)?//", url)]
        away += re.findall(r"https?://[^\s\"')]+|url\(['\"]?//", styles)
        if away:
            yield f"{away} is not of this site: {tag(it)}"


def wrong_figures(page):
    """Each figure has a description, its own anchor, and the page's ink."""
    text = html.tostring(page, encoding="unicode")
    frames = page.xpath("//div[@class='figure']")
    drawn = page.xpath("//div[@class='figure']//svg[@role='img']/@aria-label")
    seconds = page.xpath("//div[@class='figure']/svg[@class='narrow']")
    once = len(drawn) - len(seconds)
    if once != len(frames) or not all(map(str.strip, drawn)):
        yield f"{len(frames)} figures, {len(drawn)} descriptions"
    if frames and "var(--ink)" not in text:
        yield "figures in colours of their own"
    kinds = page.xpath("//@data-figure")
    anchors = page.xpath("//*[@data-figure]/@id")
    if anchors != [f"figure-{kind}" for kind in kinds]:
        yield f"the figures {kinds} have the anchors {anchors}"
    if page.xpath("//span[contains(@class, 'math') and not(node())]"):
        yield "a formula that is not drawn"
    if str(website.ROOT) in text:
        yield "a path of this machine"


def wrong_formulas(page):
    """Browsers show further parts side by side, and no invisible signs."""
    for formula in page.iter("math"):
        if "\u2061" in formula.text_content():
            yield f"a character without width: {tag(formula)}"
        for it in formula.iter(*PARTS):
            if len(it) != PARTS[it.tag]:
                yield f"{len(it)} parts: {tag(it)}"
        for root in formula.iter("msqrt"):
            # The font has one root sign, for letters and their indices.
            low = [part for part in root.iter() if part.text not in ("+", "−")]
            inside = {part.tag for part in low}
            if inside - {"msqrt", "mi", "mn", "msub", "mtext", "mrow"}:
                yield f"too tall for its root: {tag(root)}"


def wrong_tables(page):
    """A heading of a column is a th; a corner without text is no heading."""
    for it in page.xpath("//thead//td[normalize-space() or *]"):
        yield f"a heading that is not marked as one: {tag(it)}"


def wrong_reference(page):
    """Docstrings that the renderer reads otherwise than they are meant."""
    told = "normalize-space()"
    for it in page.xpath(f"//dd[starts-with({told}, 'Alias for field')]"):
        yield f"a field that nothing explains: {tag(it.getprevious())}"
    for it in page.xpath(f"//dt[{told} = 'Type:']"):
        # The words before the colon were read as a type.
        yield f"a sentence cut at its colon: {said(it.getnext())}"
    for it in page.xpath("//dd//ol[contains(@class, 'alpha')]"):
        yield f"a letter that is read as the number of a list: {said(it)}"


RULES = [
    wrong_outline, wrong_names, wrong_ids, wrong_structure, wrong_hosts,
    wrong_figures, wrong_formulas, wrong_tables, wrong_reference,
]  # fmt: skip


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_the_html_of_a_page(site, page):
    root = tree(site / f"{page}.html")
    wrong = [
        f"{rule.__name__}: {told}" for rule in RULES for told in rule(root)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", website.EVERY_PAGE)
def test_every_link_of_the_site_leads_somewhere(site, page):
    path = site / f"{page}.html"
    hrefs = {*tree(path).xpath("//a/@href")}
    inner = [href for href in hrefs if not re.match(r"[a-z]+:", href)]
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


@functools.cache
def ids(path):
    return {*tree(path).xpath("//@id")}


def test_every_page_that_was_built_is_visited(site):
    # The theme keeps templates of its own among the static files.
    built = {
        path.relative_to(site).with_suffix("").as_posix()
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }
    visited = {*website.EVERY_PAGE, *website.ALONE}
    forgotten = sorted(built - visited)
    assert not forgotten, (
        f"no test visits {forgotten}: list a page of the book in _toc.yml, "
        "and one that the build generates in tools/website.py, GENERATED"
    )
    missing = sorted(set(website.EVERY_PAGE) - built)
    assert not missing, (
        f"the build wrote no {missing}: take them out of _toc.yml or of "
        "GENERATED in tools/website.py, or mend the build"
    )


def test_each_page_has_a_title_and_a_description_of_its_own(site):
    for path, least in (("//title/text()", 0), (DESCRIPTION, 40)):
        counted = collections.Counter()
        for page in PAGES:
            (text,) = tree(site / f"{page}.html").xpath(path)
            assert least <= len(text) <= 202, page
            assert path == DESCRIPTION or text.count(BOOK) == 1, page
            counted[text] += 1
        assert set(counted.values()) == {1}, counted.most_common(1)


BOOK = "Attention, Verified"
DESCRIPTION = "//meta[@name='description']/@content"


def linked(site, page, kind):
    """Where the first link of that class on a page leads, as a file."""
    (href, *_) = tree(site / f"{page}.html").xpath(
        f"//a[contains(@class, '{kind}')]/@href"
    )
    return (site / page).parent.joinpath(href).resolve()


def test_pages_follow_one_another(site):
    for page, following in itertools.pairwise(PAGES):
        there = linked(site, page, "right-next")
        assert there == (site / f"{following}.html").resolve()


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_chapter_to_download_is_the_stored_one(site, page):
    """But its first cell installs from the repository of this site."""
    copy = linked(site, page, "btn-download-source-button")
    stored = (website.ROOT / f"{page}.ipynb").read_text("utf-8")
    known = release.owner()["repository"] or "ADDRESS"
    here = f"git+{address.REPOSITORY or known}"
    assert copy.read_text("utf-8") == stored.replace(f"git+{known}", here, 1)


def test_each_card_leads_to_its_figure(site):
    # The list of contents leads to the page's own figure.
    page = tree(site / "book/gallery.html")
    links = page.xpath("//article//a[@href]/@href")
    found = [link.partition("#figure-")[2] for link in links]
    assert sorted(filter(None, found)) == sorted(cards.CARDS)


def test_the_reference_describes_a_function_once(site):
    """`helpers.transformer` also has the functions of `helpers.layers`."""
    places = collections.defaultdict(list)
    for page in PAGES:
        for name in tree(site / f"{page}.html").xpath("//dl/dt[@id]/@id"):
            found = name.startswith("helpers.") and pydoc.locate(name)
            if inspect.isfunction(found) or inspect.isclass(found):
                places[found].append(name)
    assert len(places) > 100
    assert not [names for names in places.values() if len(names) > 1]


def test_the_ledger_reads_without_scripts(site):
    page = tree(site / "book/ledger.html")
    slugs = [path.stem for path in published.FOLDER.glob("*.yml")]
    stored = [published.load(slug).entries for slug in slugs]
    tables = page.find_class("entries")
    rows = [row for table in tables for row in table.xpath(".//tbody/tr")]
    assert len(rows) == sum(map(len, stored))
    for table in tables:
        (summary,) = table.xpath("ancestor::details/summary")
        said = re.search(r": (\d+) ", summary.text_content())[1]
        assert int(said) == len(table.xpath(".//tbody/tr"))
    assert not page.find_class("ledger-filter"), "a field that does nothing"


# The fonts are cut down to what the pages show.


@functools.cache
def cut_face(site, name):
    """The characters of a face as the site has it, and as it is whole."""
    folders = (site / "_static/fonts", cut_fonts.WHOLE)
    files = [folder / f"{name}.woff2" for folder in folders]
    return [set(map(chr, TTFont(file).getBestCmap())) for file in files]


def test_the_faces_have_every_character_of_every_page(site):
    texts = (
        (site / f"{page}.html").read_text("utf-8")
        for page in website.EVERY_PAGE
    )
    text = set(unescape("".join(texts)))
    for name in sorted(path.stem for path in cut_fonts.WHOLE.glob("*.woff2")):
        cut, whole = cut_face(site, name)
        if name != cut_fonts.MATH:
            assert (text & whole) <= cut, f"{name}: {CUT_AGAIN}"


CUT_AGAIN = "run: make book && python -m tools.cut_fonts"


ICONS = "//i[contains(@class, 'fa-')]"


def test_each_icon_has_a_rule_and_is_in_its_font(site):
    """Without the rule nothing is shown, and without the font a box."""
    css = (site / "_static/bundle.css").read_text("utf-8")
    rules = re.findall(r'([^{}]*)\{content:"\\([ef]\w{3})";content', css)
    drawn = {int(code, 16) for _, code in rules}
    named = {*re.findall(r"\.(fa-[\w-]+):before", str(rules))}
    icons = [
        {*icon.get("class").split()}
        for page in website.EVERY_PAGE
        for icon in tree(site / f"{page}.html").xpath(ICONS)
    ]
    assert len(icons) > 1000
    assert not [icon for icon in icons if not icon & named], CUT_AGAIN
    for path in cut_fonts.ICONS.glob("fa-*-*.woff2"):
        cut = TTFont(site / "_static/fonts" / path.name).getBestCmap()
        assert drawn & set(TTFont(path).getBestCmap()) <= set(cut), CUT_AGAIN


def drawn(formula):
    """The characters of a formula that leave a mark."""
    return {
        c for c in formula.text_content() if c.isprintable() and c != "\u2063"
    }


def slanted(formula):
    """The lone letters of a formula, which a browser writes in italics."""
    for element in formula.iter("mi"):
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


def test_the_face_of_formulas_has_each_of_their_characters(site):
    font, _ = cut_face(site, "stix-two-math")
    italics = {italic(c) for c in font} - {None}
    assert "√" in font
    for page in website.EVERY_PAGE:
        for formula in tree(site / f"{page}.html").iter("math"):
            assert drawn(formula) <= font, tag(formula)
            assert {*slanted(formula)} <= italics, tag(formula)


# What the pages show is what was verified.


def words(figure):
    """What a figure says: its labels, and its description."""
    label = re.search(r'aria-label="([^"]*)"', figure)[1]
    figure = re.sub(r"<style.*?</style>", "", figure)
    return [label, *(t for t in re.findall(r">([^<]*)<", figure) if t.strip())]


def stored_figures(page):
    text = (website.ROOT / f"{page}.ipynb").read_text(encoding="utf-8")
    for cell in json.loads(text)["cells"]:
        for output in cell.get("outputs", ()):
            for kind in ("image/svg+xml", NARROW):
                if kind in output.get("data", ()):
                    yield "".join(output["data"][kind])


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_figure_says_on_the_page_what_was_verified(site, page):
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    shown = re.findall(r"<svg [^<]*aria-label.*?</svg>", text, re.S)
    shown = [figure for figure in shown if "xlink" in figure]
    assert list(map(words, shown)) == list(map(words, stored_figures(page)))
    assert "<style" not in text.partition("</head>")[2], "styles all of a page"


class Told(HTMLParser):
    """What a page has, in order; text without what splits it."""

    def __init__(self):
        super().__init__()
        self.told = [""]

    def start(self, tag, attributes):
        values = {name: value or "" for name, value in attributes.items()}
        self.told += [(tag, values), ""]

    def end(self, tag):
        self.told += [tag, ""]

    def data(self, text):
        self.told[-1] += text

    def handle_starttag(self, tag, attributes):
        self.start(tag, dict(attributes))

    handle_endtag, handle_data = end, data


TRICKY = (
    "<p title='a > b' class=\"x\ny\" hidden>1 &lt; 2 &amp;amp; <br/>"
    "<!-- <b> --><script>if (a < b) '<p>'</script><svg><path d=''/></svg></p>"
)


@pytest.mark.parametrize("page", ["index", "book/mask", "search", TRICKY])
def test_tags_are_read_as_a_whole_parser_reads_them(site, page):
    path = site / f"{page}.html" if page != TRICKY else None
    text = path.read_text("utf-8") if path else TRICKY
    whole, quick = Told(), Told()
    whole.feed(text)
    whole.close()
    tags.feed(text, quick)
    assert quick.told == whole.told
