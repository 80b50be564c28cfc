"""The books on paper: what is left out, where links lead, page numbers."""

import pytest
from pypdf import PdfReader

from tools import pdf

PAGE = """<html><body><nav>menu</nav><article class="bd-article">
<h1>{title}<a class="headerlink" href="#t">#</a></h1>
<p id="here">See <a href="{link}">there</a> and <a href="#here">here</a>, not
<a href="lost.html">lost</a>.</p>
<details class="hide"><summary data-paper="The imports">x</summary>import
</details>
<details class="sd-dropdown"><summary>More</summary>Fine print.</details>
<div class="question-card"><p class="admonition-title">Exercise {title}</p>
<form class="av-question" data-question="q">How many?<input>
<input type="radio">one<button>Check</button>
<noscript>Turn scripts on.</noscript></form>
<details class="hide"><summary data-paper="The solution">x</summary>
It is {title}.</details></div></article></body></html>"""
PARTS = [("One", ["book/a"]), ("Two", ["book/b"])]


@pytest.fixture
def site(tmp_path, monkeypatch):
    (tmp_path / "book").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "bundle.css").write_text("")
    for name, link in (("a", "b.html#here"), ("b", "../book/a.html")):
        text = PAGE.format(title=f"Page {name}", link=link)
        (tmp_path / "book" / f"{name}.html").write_text(text, "utf-8")
    monkeypatch.setattr(pdf, "SITE", tmp_path)
    monkeypatch.setattr(pdf, "site_address", lambda: None)
    return tmp_path


def test_links_lead_within_the_book_or_are_words(site):
    document = pdf.assemble("T", PARTS, {})
    articles = document.select("article[data-page]")
    links = [[it["href"] for it in part.select("a")] for part in articles[:2]]
    assert links == [
        ["#book/b--here", "#book/a--here"],
        ["#book/a", "#book/b--here"],
    ]
    names = [it["id"] for it in document.select("[id]")]
    assert len(names) == len(set(names))
    for (_, name), _ in zip(links, links, strict=True):
        assert name[1:] in names
    assert "not lost" in " ".join(articles[0].text.split())


def test_a_link_out_of_the_book_leads_to_the_site(site, monkeypatch):
    monkeypatch.setattr(pdf, "site_address", lambda: "https://a.test/")
    hrefs = [it["href"] for it in pdf.assemble("T", PARTS, {}).select("a")]
    assert "https://a.test/book/lost.html" in hrefs


def test_solutions_stand_at_the_end_and_machinery_is_left_out(site):
    body = pdf.assemble("T", PARTS, {}).body
    text = " ".join(body.get_text(" ").split())
    for left_out in ("import", "Check", "scripts", "menu", "#"):
        assert left_out not in text
    assert text.count("Fine print.") == 2
    folds = [fold.summary for fold in body.select("details")]
    assert None not in folds
    first, last = text.rsplit("Solutions", 1)
    assert "It is" not in first
    assert "Exercise Page a It is Page a." in last
    assert "Exercise Page b It is Page b." in last


def test_a_pen_finds_a_line_or_a_box_for_each_answer(site):
    form = pdf.article("book/a").select_one("form")
    places = "".join(map(str, form.select("span")))
    # In a browser, a span that closes itself would hold all that follows.
    assert places == '<span class="blank"></span><span class="box"></span>'
    assert not form.select("input")


def test_the_contents_have_the_numbers_of_the_pages(site, browser, tmp_path):
    target = tmp_path / "book.pdf"
    pdf.make(browser, "T", PARTS, target)
    first = target.read_bytes()
    pdf.make(browser, "T", PARTS, target)
    assert first == target.read_bytes()
    pages = [page.extract_text() for page in PdfReader(target).pages]
    contents = pages[1].split()
    for name in ("a", "b"):
        (at,) = (
            k
            for k, text in enumerate(pages, 1)
            if f"Page {name}" in text and "Fine print" in text
        )
        place = contents.index(name)
        assert contents[place - 1 : place + 2] == ["Page", name, str(at)]
