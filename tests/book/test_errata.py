"""The course's own errata: what they name, and that it is mended."""

import json
import re

import pytest
import yaml
from attention_site import errata

from tools import website

ROOT = website.ROOT
ENTRIES = yaml.safe_load((ROOT / "book/errata.yml").read_text("utf-8"))


def words(text):
    return re.sub(r"\s+", " ", text)


def prose(path):
    """All that an author wrote in a page, in one line."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return words(text)


@pytest.fixture(scope="module")
def book():
    pages = [*ROOT.glob("book/**/*.ipynb"), *ROOT.glob("book/*.md")]
    return {path: prose(path) for path in pages}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda it: it["right"][:30])
def test_an_erratum_is_whole_and_mended(entry, book):
    assert entry.keys() in (
        {"page", "until", "right", "said"},
        {"page", "until", "right", "did"},
    )
    assert entry["page"] is None or (ROOT / f"{entry['page']}.ipynb").exists()
    said = words(entry.get("said", "-" * 9))
    assert [path.name for path, text in book.items() if said in text] == []


def test_errata_stand_below_their_pages():
    entries = [
        {"page": "book/b", "said": "x", "right": "y\n", "until": "2026-01-02"},
        {"page": None, "did": "A map.", "right": "z", "until": "2026-01-03"},
        {"page": "book/b", "did": "A check.", "right": "v", "until": "d"},
    ]
    assert errata.listed(entries, "book/errata") == [
        "**[](../book/b)**",
        "",
        "* *Until 2026-01-02.* It said “x”. y",
        "* *Until d.* A check. v",
        "",
        "**Several pages**",
        "",
        "* *Until 2026-01-03.* A map. z",
        "",
    ]


def test_each_report_has_a_form():
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    for kind, said in errata.KINDS.items():
        form = yaml.safe_load((folder / f"{kind}.yml").read_text("utf-8"))
        assert form["name"] == said
        assert form["body"][0].get("id", form["body"][1].get("id")) == "where"
