"""Print the built site as two books, or print some of its pages.

    python -m tools.pdf                       both books, into _build/pdf
    python -m tools.pdf book/mask book/heads  these pages, a file for each

The first book contains the lessons, the second the practice pages and the
audits. Chromium prints each from one document, in which links between pages
are links within the document. The books leave out folded code, which imports,
draws or checks, and buttons. A question has lines and boxes for a pen where
the site has fields. Other folds are open, and solutions are at the end.
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

import yaml
from bs4 import BeautifulSoup, Doctype
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter

from tools import website
from tools.make_site import LAUNCH
from tools.release import TITLE, git, project

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
MADE = ROOT / "_build" / "pdf"
STYLE = ROOT / "tools" / "pdf.css"
APART = (
    "noscript, script, .headerlink, .copybtn, .av-press, .av-reply, "
    ".av-tools, .av-controls input, details.tab, button, "
    ".sd-summary-state-marker, .expanded, nav, form input, form select"
)
BACK = ("book/notation", "book/by-heart", "book/glossary", "book/bibliography")


def contents():
    """Return the parts of the table of contents, each with its pages."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return [
        (
            part["caption"],
            [
                (
                    chapter["file"],
                    [s["file"] for s in chapter.get("sections", [])],
                )
                for chapter in part["chapters"]
            ],
            "numbered" in part,
        )
        for part in toc["parts"]
    ]


def lessons():
    """Return the parts of the first book: captions with their pages."""
    parts = [("Start", ["book/intro"])]
    for caption, chapters, numbered in contents():
        if numbered:
            parts.append((caption, [page for page, _ in chapters]))
    return [*parts, ("Appendix", list(BACK))]


def practice():
    """Return the parts of the second book."""
    parts = []
    for caption, chapters, numbered in contents():
        if numbered:
            pages = [page for _, sections in chapters for page in sections]
            parts.append((caption, pages))
        elif all(page.startswith("book/audit/") for page, _ in chapters):
            parts.append((caption, [page for page, _ in chapters]))
    return parts


def anchor(page, name=""):
    """Return the id of a page, or of an anchor on it, in the document."""
    return f"{page}--{name}" if name else page


def article(page):
    """Return the article of a built page, ready for printing."""
    html = (SITE / f"{page}.html").read_text("utf-8")
    found = BeautifulSoup(html, "lxml").select_one("article.bd-article")
    for field in found.select(".av-question input"):
        ticked = field.get("type") in ("checkbox", "radio")
        place = BeautifulSoup(features="lxml").new_tag("span")
        place["class"] = "box" if ticked else "blank"
        field.replace_with(place)
    for it in found.select(APART):
        it.decompose()
    for fold in found.select("details.hide"):
        if not is_solution(fold):
            fold.decompose()
    for fold in found.select("details"):
        fold["open"] = ""
    for level in (5, 4, 3, 2, 1):  # one level below the heading of a part
        for it in found.select(f"h{level}"):
            it.name = f"h{level + 1}"
    for it in found.select("[id]"):
        it["id"] = anchor(page, it["id"])
    for it in found.select("[href^='#'], [xlink\\:href^='#']"):
        for key in ("href", "xlink:href"):
            if it.has_attr(key):
                it[key] = "#" + anchor(page, it[key][1:])
    for it in found.select("[clip-path], [style*='url(#'], [fill^='url(#']"):
        for key, value in it.attrs.items():
            if isinstance(value, str):
                it[key] = value.replace("url(#", f"url(#{anchor(page)}--")
    for it in found.select("[src]"):
        if "://" not in it["src"]:
            it["src"] = (SITE / page).parent.joinpath(it["src"]).as_uri()
    return found


def is_solution(fold):
    return "solution" in fold.summary.get("data-paper", "").lower()


def solutions(found):
    """Remove the solutions from a page, and return them with their titles."""
    taken = []
    for card in found.select(".question-card"):
        title = card.select_one(".admonition-title")
        for fold in card.select("details.hide"):
            if is_solution(fold) and title is not None:
                body = fold.extract()
                body.summary.decompose()
                body.name = "div"  # Chromium labels a fold "Details"
                taken.append((title.get_text(" ", strip=True), body))
    return taken


def relink(document, pages, address):
    """Point links between pages to anchors in the document.

    Links to other pages of the site get its address, if it has one, and
    otherwise become plain text.
    """
    for link in document.select("a[href]"):
        href = link["href"]
        if href.startswith("#") or "://" in href or href.startswith("mailto:"):
            continue
        path, _, name = href.partition("#")
        page = link.find_parent("article")["data-page"]
        target = (SITE / page).parent.joinpath(path).resolve()
        target = target.relative_to(SITE.resolve()).as_posix()
        target = target.removesuffix(".html")
        if target in pages:
            link["href"] = "#" + anchor(target, unquote(name))
        elif address:
            link["href"] = (
                f"{address}{target}.html{'#' + name if name else ''}"
            )
        else:
            link.name = "span"
            del link["href"]


def heading(document, level, text, name=None):
    it = document.new_tag(f"h{level}")
    it.string = text
    if name:
        it["id"] = name
    return it


def alone(page):
    """Return one page as a document of its own."""
    found = article(page)
    found["data-page"] = page
    document = blank(found.h2.get_text(" ", strip=True))
    document.body.append(found)
    relink(document, {page}, site_address())
    return str(document)


def blank(title):
    """Return an empty document with the styles of the site."""
    document = BeautifulSoup(
        "<html lang=en><head></head><body></body>", "lxml"
    )
    document.insert(0, Doctype("html"))
    document.html["data-theme"] = "light"
    document.head.append(document.new_tag("meta", charset="utf-8"))
    document.head.append(document.new_tag("title"))
    document.title.string = title
    for sheet in (SITE / "_static" / "bundle.css", STYLE):
        link = document.new_tag("link", rel="stylesheet", href=sheet.as_uri())
        document.head.append(link)
    return document


def cover(document, title):
    """Return the first page."""
    first = document.new_tag("section", attrs={"class": "cover"})
    name, _, about = TITLE.partition(": ")
    first.append(heading(document, 1, name))
    for text in (
        title,
        about[:1].upper() + about[1:],
        f"Version {project()['version']}, {git('log', '-1', '--format=%cs')}",
        "Text and figures: CC BY 4.0. Code: BSD 3-Clause.",
    ):
        first.append(document.new_tag("p"))
        first.find_all("p")[-1].string = text
    return first


def entry(document, kind, text, name, number):
    """Return one line of the contents."""
    line = document.new_tag("a", href=f"#{name}")
    line["class"] = kind
    words, place = document.new_tag("span"), document.new_tag("span")
    words.string, place.string = text, number
    line.extend([words, place])
    return line


def answered(document, title, page, taken):
    """Return the solutions of a page as an article."""
    last = document.new_tag("article", attrs={"class": "bd-article"})
    last["data-page"] = page
    last.append(heading(document, 2, title))
    for label, fold in taken:
        last.extend([heading(document, 4, label), fold])
    return last


def assemble(title, parts, numbers):
    """Return a book as a document, with these page numbers in its contents."""
    document = blank(title)
    listing = document.new_tag("section", attrs={"class": "contents"})
    listing.append(heading(document, 1, "Contents"))
    document.body.extend([cover(document, title), listing])

    def enter(kind, text, name):
        number = numbers.get(name, "")
        listing.append(entry(document, kind, text, name, number))

    def begin(caption):
        enter("part", caption, f"part--{caption}")
        mark = heading(document, 1, caption, f"part--{caption}")
        mark["class"] = "part"
        document.body.append(mark)

    solved = []
    for caption, pages in parts:
        begin(caption)
        for page in pages:
            found = article(page)
            found["data-page"], found.h2["id"] = page, page
            told = found.h2.get_text(" ", strip=True)
            enter("page", told, page)
            if taken := solutions(found):
                solved.append(answered(document, told, page, taken))
            document.body.append(found)
    if solved:
        begin("Solutions")
        document.body.extend(solved)
    relink(document, {it for _, its in parts for it in its}, site_address())
    return document


def site_address():
    """Return the address at which the site is published, or None."""
    address = LAUNCH["repository"](ROOT)
    return LAUNCH["pages_address"](address) if address else None


def printed(browser, html, target):
    """Print a document into a file."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "book.html")
        source.write_text(html, "utf-8")
        page = browser.new_page(java_script_enabled=False)
        page.goto(source.as_uri(), wait_until="load", timeout=300_000)
        page.pdf(
            path=target,
            prefer_css_page_size=True,
            print_background=True,
            outline=True,
            tagged=True,
        )
        page.close()


def places(path):
    """Return the page number of each named destination."""
    reader = PdfReader(path)
    return {
        unquote(name.lstrip("/")): str(
            reader.get_destination_page_number(it) + 1
        )
        for name, it in reader.named_destinations.items()
    }


def settle(path, title):
    """Set title and date, so that equal books give equal files."""
    writer = PdfWriter(clone_from=path)
    day = git("log", "-1", "--format=%cd", "--date=format:%Y%m%d%H%M%S")
    writer.metadata = {
        "/Title": f"{TITLE.partition(': ')[0]}: {title}",
        "/CreationDate": f"D:{day}Z",
        "/ModDate": f"D:{day}Z",
    }
    writer._ID = None
    writer.write(path)


def make(browser, title, parts, target):
    """Print a book twice: the second time with page numbers from the first."""
    printed(browser, str(assemble(title, parts, {})), target)
    document = assemble(title, parts, places(target))
    printed(browser, str(document), target)
    at = places(target)
    for line in document.select(".contents a"):
        if at.get(line["href"][1:]) != line.contents[1].string:
            sys.exit(f"{target.name}: {line.text} stands elsewhere")
    settle(target, title)
    count = len(PdfReader(target).pages)
    print(
        f"{target.stat().st_size / 1e6:5.1f} MB {count:5} pages {target.name}"
    )


def main(pages):
    MADE.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = website.launch(playwright)
        if not pages:
            make(browser, "The lessons", lessons(), MADE / "lessons.pdf")
            target = MADE / "practice-and-audits.pdf"
            make(browser, "Practice and audits", practice(), target)
        for page in pages:
            name = page.removeprefix("book/").replace("/", "-")
            printed(browser, alone(page), MADE / f"{name}.pdf")
            settle(MADE / f"{name}.pdf", page)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
