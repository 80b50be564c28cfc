"""The findings for others: their programs, and the numbers of their texts.

The list `numbers` of a program computes each number of the text beside it. The
number of a reference, such as a table or an issue, is looked up instead: in
the bibliography, in the ledgers, or in the address of its link.
"""

import ast
import re

import pytest

from course.published import load, matches
from tools import website

FOLDER = website.ROOT / "findings"
PAGES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})
SOURCES = {"tiny-vectors", "length-4", "derivation", "attention-math"}
WORDS = "two three four five six seven eight nine ten".split()
NUMERAL = r"(?<![\w.])−?\d+(?:[.,]\d+)*"
LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")
BIB = re.M | re.S
REFERRED = re.compile(rf"([^\W\d]+)[\s-]+({NUMERAL})")

each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def parts(path):
    """The text that states numbers, the one that refers, and the program."""
    text, program, known = re.fullmatch(
        r"(.*?)```python\n(.*?)```\n(.*)", path.read_text("utf-8"), re.S
    ).groups()
    where, states = text.split("**What is printed.**")
    return LINK.sub("", states), where + known, program


def run(program):
    space = {}
    exec(compile(program, "finding", "exec"), space)
    return space["numbers"]


def stated(text):
    words = rf"\b(?:{'|'.join(WORDS)})\b"
    return re.findall(rf"{NUMERAL}|{words}", text)


def agrees(token, value):
    if token in WORDS:
        return WORDS.index(token) + 2 == value
    return matches(token.replace(",", "").replace("−", "-"), value)


@each_page
def test_the_program_computes_each_number_of_the_text(path):
    text, _, program = parts(path)
    assert "assert" in program
    [*_, last] = ast.parse(program).body
    assert last.targets[0].id == "numbers"
    assert not any(isinstance(part, ast.Constant) for part in last.value.elts)
    for token, value in zip(stated(text), run(program), strict=True):
        assert agrees(token, value), (token, value)


def referred(text):
    """Numbers of references, each with the word before it."""
    text = LINK.sub(r"\1", text)
    return {(word.casefold(), n) for word, n in REFERRED.findall(text)}


def looked_up(path):
    """The same of all that the ledgers and the bibliography have on a work."""
    if path.stem in SOURCES:
        ledger = load(path.stem)
        return referred(f"{ledger.title}; {ledger.work}")
    [title, *_] = re.findall(r"(?<!\*)\*([^*]+)\*", parts(path)[1])
    text = (website.ROOT / "book/references.bib").read_text("utf-8")
    [(key, work)] = [
        (key, re.sub(r"[{}]", "", work))
        for key, work in re.findall(r"^@\w+\{(\w+),(.*?)^\}", text, BIB)
        if title in re.sub(r"[{}]", "", work).partition("\n  author")[0]
    ]
    arxiv = " ".join(re.findall(r"\d{4}\.\d{5}", work)[:1])
    on_it = [
        f"{e.section}; {e.what or e.says}"
        for slug in ("literature", "long-texts")
        for e in load(slug).entries.values()
        if e.cite == key
    ]
    return referred("; ".join([work, f"arXiv {arxiv}", *on_it]))


def unknown(text, known):
    """References that are neither known nor in the address of their link."""
    off = referred(LINK.sub("", text)) - known
    for shown, address in LINK.findall(text):
        targets = re.findall(r"\d+(?:\.\d+)*", address)
        off |= {pair for pair in referred(shown) if pair[1] not in targets}
    return off


@each_page
def test_each_reference_of_a_finding_is_looked_up(path):
    text, known = parts(path)[1], looked_up(path)
    plain = LINK.sub(r"\1", text)
    assert len(re.findall(NUMERAL, plain)) == len(REFERRED.findall(plain))
    assert not unknown(text, known)


def test_the_list_has_each_finding_and_no_number_of_its_own():
    text = (FOLDER / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| \[.*?\]\(([\w.-]+\.md)\)(.*)\|$", text, re.M)
    assert sorted(page for page, _ in rows) == [path.name for path in PAGES]
    for shown, address in LINK.findall(text):
        known = referred(address.replace("/", " ").replace("issues", "issue"))
        if address.endswith(".md"):
            page = FOLDER / address
            known = referred(parts(page)[1]) | looked_up(page)
        assert referred(shown) <= known, shown
    assert not re.findall(NUMERAL, LINK.sub("", text).replace("Llama 3.1", ""))
