"""The core of a lesson is short, and can be read and run alone."""

import ast
import itertools
import re
import symtable

import nbformat
import pytest

from tests import budgets
from tests.book.test_chapters import LESSONS, every_lesson, page, prose, read
from tools import differences, reading, refresh

# What is read with the core, and is no section that answers its question.
BESIDES = ("Recap", "(goals)")
OPENING = re.compile(r"##+ .*\n\s*(\*Deeper:\*[^\n]*)\n")


def divided(path):
    """Each part of a lesson before its exercises, and whether it is deeper."""
    return list(reading.parts(reading.body(read(path).cells)))


def headings(path, depth="##"):
    """The headings of one depth, each with whether it is deeper."""
    for cell, deeper in divided(path):
        found = re.match(rf"{depth} (.+)", cell["source"])
        if cell["cell_type"] == "markdown" and found:
            yield found[1], deeper


@every_lesson
def test_the_core_is_short(path):
    """About 25 minutes: it warns over 27, and fails over 30."""
    words = sum(reading.core_path(read(path).cells).values())
    budgets.keep(f"words of the core of {page(path)}", words, 1500)


@every_lesson
def test_a_core_has_three_to_five_sections(path):
    named = [name for name, deeper in headings(path) if not deeper]
    assert 3 <= len([n for n in named if n not in BESIDES]) <= 5, named


@every_lesson
def test_a_deeper_section_opens_with_one_sentence(path):
    """It stays in sight when the section is closed."""
    for cell, _ in divided(path):
        if not reading.DEEPER.match(cell["source"]):
            continue
        said = OPENING.match(cell["source"] + "\n")[1].removeprefix(
            "*Deeper:*"
        )
        assert re.fullmatch(r" \S.*\.", said), said
        assert not re.search(r"\.\s", said), f"one sentence: {said}"
        assert re.search(r"\b(for|if) ", said), f"for whom: {said}"
        assert 8 <= len(said.split()) <= 40, said


def names(source):
    """The names that a cell binds, and those that it takes from before."""
    top = symtable.symtable(source, "cell", "exec")
    bound = {
        s.get_name()
        for s in top.get_symbols()
        if s.is_assigned() or s.is_imported() or s.is_namespace()
    }
    used, tables = set(), [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {
            s.get_name()
            for s in table.get_symbols()
            if s.is_referenced() and (table is top or s.is_global())
        }
    return bound, used - bound


def borrowed(cells):
    """What cells of a core take from deeper cells: (name, source)."""
    last = {}
    for cell, deeper in cells:
        if cell["cell_type"] != "code":
            continue
        bound, used = names(cell["source"])
        if not deeper:
            yield from (
                (name, cell["source"]) for name in used if last.get(name)
            )
        last |= dict.fromkeys(bound, deeper)


@every_lesson
def test_no_code_of_a_core_needs_a_deeper_cell(path):
    found = list(borrowed(divided(path)))
    assert not found, f"bound in a deeper cell: {found}"


def test_a_name_of_a_deeper_cell_is_found():
    cells = [("a = b = 1", False), ("b = c = 2", True), ("a, c = 3, 4", False)]
    cells = [({"cell_type": "code", "source": s}, d) for s, d in cells]
    for last, wanted in {
        "print(a, c)": [],
        "b": ["b"],
        "b = 2; b": [],
        "def f(b, x=1):\n    return a, b, x": [],
        "def f():\n    return [b for a in range(3)]": ["b"],
        "[b for b in range(3)]": [],
    }.items():
        given = [*cells, ({"cell_type": "code", "source": last}, False)]
        assert [name for name, _ in borrowed(given)] == wanted, last


def figures(path):
    """The anchor of each captioned figure, and whether it is deeper."""
    for cell, deeper in divided(path):
        for name in re.findall(r'id="(fig-[\w-]+)"', cell["source"]):
            yield name, deeper


@every_lesson
def test_no_core_speaks_of_a_deeper_figure(path):
    hidden = {name for name, deeper in figures(path) if deeper}
    for cell, deeper in divided(path):
        if not deeper:
            named = re.findall(r'href="#(fig-[\w-]+)"', cell["source"])
            assert not hidden & set(named), cell["source"]


def anchor(heading):
    """The anchor that MyST gives a heading."""
    plain = re.sub(r"<[^>]*>|[*`$\\{}]", "", heading).lower()
    return re.sub(r"[^\w -]", "", plain).strip().replace(" ", "-")


def test_no_core_leads_into_a_deeper_section_of_another_lesson():
    hidden = {
        f"{path.name}#{name}"
        for path in LESSONS
        for name in itertools.chain(
            (anchor(h) for k in ("##", "###")
             for h, deeper in headings(path, k) if deeper),
            (name for name, deeper in figures(path) if deeper),
        )
    }  # fmt: skip
    for path in LESSONS:
        for cell, deeper in divided(path):
            links = re.findall(r"\(([\w-]+\.ipynb#[\w-]+)\)", cell["source"])
            if cell["cell_type"] == "markdown" and not deeper:
                assert not hidden & set(links), page(path)


@pytest.mark.weekly
@every_lesson
def test_a_core_runs_without_its_deeper_cells(path):
    """And prints, and draws, what is stored."""
    stored = nbformat.read(path, as_version=4)
    stored.cells = [
        nbformat.from_dict(cell)
        for cell in reading.core(reading.body(stored.cells))
        if cell["cell_type"] == "code"
    ]
    again = nbformat.reads(nbformat.writes(stored), as_version=4)
    for cell in again.cells:
        cell.outputs = []
    refresh.execute(again, path)
    again = refresh.normalise(again, path)
    found = list(differences.in_notebook(stored, again))
    assert not found, "\n".join(map(str, found))


def test_the_core_is_counted_without_deeper_sections():
    def said(text):
        return nbformat.v4.new_markdown_cell(text)

    core = said("# Do it\n\n" + "word " * 53)
    code = nbformat.v4.new_code_cell("word " * 55)
    deeper = said("## More\n\n*Deeper:* for all.\n\n" + "word " * 270)
    below = said("### Part\n\n" + "word " * 54)
    after = said("## Recap\n\n" + "word " * 54 + "\n\n## On your own\n")
    times = reading.times
    assert times([core, deeper, below, code, after]) == (5, 10)
    read = reading.body([core, deeper, below, code, after])
    assert [c["source"][:5] for c in reading.core(read)] == ["# Do ", "## Re"]
    # A word that stands anywhere else makes nothing deeper.
    open_ = said("## More\n\nText.\n\n*Deeper:* " + "word " * 270)
    assert times([core, open_, below, after]) == (10, 10)
    part = said("### Part\n\n*Deeper:* it.\n\n" + "word " * 270)
    after_part = said("### Next\n\n" + "word " * 270)
    assert times([core, part, after_part]) == (5, 10)


def test_each_lesson_states_the_minutes_of_its_core():
    for path in LESSONS:
        core, everything = reading.times(read(path).cells)
        stated = f"{core} minutes for the core, {everything} for everything"
        assert stated in prose(path)


FENCE = re.compile(
    r"^````\{dropdown\} The same in PyTorch\n```python\n(.*?)^```\n````$",
    re.M | re.S,
)


def same_in_torch(path):
    """The lines of a lesson that give its result with PyTorch, or None."""
    cells = reading.core(reading.body(read(path).cells))
    text = "\n".join(
        c["source"] for c in cells if c["cell_type"] == "markdown"
    )
    return next(iter(FENCE.findall(text)), None)


SAME = [path for path in LESSONS if same_in_torch(path)]


@pytest.mark.parametrize("path", SAME, ids=page)
def test_the_same_in_pytorch_is_three_lines_and_compares(path):
    statements = ast.parse(same_in_torch(path)).body
    said = [
        ast.unparse(one)
        for one in statements
        if not isinstance(one, ast.Import | ast.ImportFrom)
    ]
    assert len(said) == 3, said
    # Without a tolerance of its own: what PyTorch computes, and the page's.
    last = ast.parse(said[-1]).body[0].value
    assert ast.unparse(last.func) == "torch.testing.assert_close"
    assert len(last.args) == 2
    assert not last.keywords
