"""Every page is every page: nothing in the book is left out by mistake."""

import re

from tools import website

BOOK = website.ROOT / "book"


def files():
    """The pages that stand in the book's folders, listed or not."""
    return {
        path.relative_to(website.ROOT).with_suffix("").as_posix()
        for path in BOOK.rglob("*")
        if path.suffix in (".ipynb", ".md")
        and not any(part[0] in "_." for part in path.relative_to(BOOK).parts)
    }


def test_every_file_of_the_book_is_in_the_table_of_contents():
    forgotten = sorted(files() - set(website.PAGES))
    assert not forgotten, (
        f"_toc.yml does not list {forgotten}: without it the site leaves "
        "them out; add a line `- file: ...` for each"
    )
    missing = sorted(set(website.PAGES) - files() - {"index"})
    assert not missing, f"_toc.yml lists {missing}, which do not exist"
    twice = {p for p in website.PAGES if website.PAGES.count(p) > 1}
    assert not twice, f"_toc.yml lists {sorted(twice)} twice"


def test_the_glossary_is_in_the_order_of_the_alphabet():
    text = (BOOK / "glossary.md").read_text("utf-8")
    words = re.findall(r"^(\S.*)\n  \S", text, re.M)
    assert len(words) > 100
    first = [word.partition(",")[0].casefold() for word in words]
    letters = [re.sub(r"[^a-z0-9]", "", word) for word in first]
    assert letters == sorted(letters)
