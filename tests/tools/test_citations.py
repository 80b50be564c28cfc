"""Citations and the bibliography follow from `references.bib`."""

import re

import pytest

from tools import citations, website

BOOK = website.ROOT / "book"
# Those of the notebooks are part of the normal form that they have.
PAGES = sorted(BOOK.glob("**/*.md"))


def entries():
    """Key, first author and year of each work, read without Pybtex."""
    text = citations.BIB.read_text(encoding="utf-8")
    for entry in re.split(r"^@", text, flags=re.M)[1:]:
        author = re.search(r"author = \{(.*)\},?$", entry, re.M)[1]
        year = re.search(r"year = \{(\d+)\}", entry)[1]
        yield re.match(r"\w+\{([^,]+),", entry)[1], author, year


def test_a_name_is_the_first_author_and_the_year():
    names = {key: name for key, (name, _) in citations.works().items()}
    assert len(set(names.values())) == len(names), "each name is one work"
    for key, author, year in entries():
        first = author.split(" and ")[0].split(",")[0].strip("{}")
        first = first.removeprefix("The ")
        several = " and " in author
        name = re.fullmatch(
            rf"(.+?)( et al\.| and .+)? {year}[a-z]?", names[key]
        )
        assert name[1] == first
        assert bool(name[2]) == several
    assert set(names) == {key for key, *_ in entries()}


def test_the_page_is_the_one_that_the_bibliography_gives():
    stored = citations.PAGE.read_text(encoding="utf-8")
    assert stored == citations.page(), "run: make texts"
    lines = citations.page().splitlines()[4:]
    assert len(lines) == len(list(entries()))
    names = [re.search(r"\*\*(.+?)\*\*", line)[1] for line in lines]
    assert names == sorted(names, key=str.casefold)
    assert not re.search(r"[\\{}]", citations.page()), "LaTeX is left"


def test_each_work_is_cited():
    places = [*PAGES, *BOOK.glob("**/*.ipynb"), website.ROOT / "index.ipynb"]
    text = "".join(
        path.read_text("utf-8") for path in places if path != citations.PAGE
    )
    ledgers = (website.ROOT / "course" / "ledgers").glob("*.yml")
    told = "".join(path.read_text("utf-8") for path in ledgers)
    idle = [
        key
        for key, *_ in entries()
        if f"bibliography.md#{key})" not in text
        and not re.search(rf"\b{key}\b", told)
    ]
    assert not idle, f"no page and no ledger cites {idle}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_citation_has_the_name_of_its_work(path):
    text = path.read_text(encoding="utf-8")
    assert citations.name_citations(text) == text, "run: make texts"


def test_a_wrong_key_is_named():
    with pytest.raises(
        ValueError, match=r"no work 'nobody1900' in references\.bib"
    ):
        citations.name_citations("[](bibliography.md#nobody1900)")
