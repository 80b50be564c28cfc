"""The chapters keep the house rules: form, outputs, ledger, no shortcuts."""

import ast
import itertools
import re
import statistics
import sys
from pathlib import Path

import nbformat
import pytest

from helpers.published import FOLDER

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import chapters  # noqa: E402
import reading  # noqa: E402
import refresh  # noqa: E402

NOTEBOOKS = refresh.notebooks()
LESSONS = [ROOT / "book" / f"{name}.ipynb" for name in chapters.numbers()]
AUDITS = [path for path in NOTEBOOKS if path.parent.name == "audit"]
FOLDED = {"hide-cell", "hide-input"}
TAGS = {*FOLDED, "remove-cell", "raises-exception", "nbval-ignore-output"}
HEADINGS = [
    "What you'll do",
    "What you'll need",
    "On your own",
    "In practice",
    "Recap",
    "Further reading",
]


def page(path):
    """Its name on the site; a lesson and an audit may share a stem."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=page)
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=page)
every_audit = pytest.mark.parametrize("path", AUDITS, ids=page)
every_lesson_and_audit = pytest.mark.parametrize(
    "path", LESSONS + AUDITS, ids=page
)


def read(path):
    return nbformat.read(path, as_version=4)


def code(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def tags(cell):
    return set(cell.metadata.get("tags", []))


def prose(path):
    cells = read(path).cells
    return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")


def calls(path, name):
    """Every call of a function or method of that name, in any cell."""
    for cell in code(path):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Call):
                function = node.func
                called = getattr(function, "attr", None) or getattr(
                    function, "id", None
                )
                if called == name:
                    yield node


def is_check(node):
    """An assert statement, or a call of NumPy's assert_... functions."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).startswith("np.testing.assert_")
    return isinstance(node, ast.Assert)


def texts():
    """Everything of the book that is read: pages, cells, and the ledgers."""
    for path in [*NOTEBOOKS, *sorted((ROOT / "book").rglob("*.md"))]:
        text = prose(path) if path.suffix == ".ipynb" else path.read_text()
        yield pytest.param(text, id=page(path))


@pytest.mark.parametrize("text", list(texts()))
def test_numbers_of_chapters_come_from_the_table_of_contents(text):
    numbered = chapters.number_chapters(text)
    assert numbered == text, "run: make refresh"
    bare = chapters.LINK.sub("", text)
    for typed in re.finditer(r"chapters?\s\d+", bare, flags=re.I):
        # A chapter of another work stands beside the name of the work.
        before, after = bare[: typed.start()], bare[typed.end() :]
        near = before.rpartition("\n\n")[2] + "".join(after.split("\n\n")[:2])
        works = r"bibliography\.md#|Attention Mechanism From|<a id="
        named = re.search(works, near)
        assert named, f"link it, [chapter 0](name.ipynb): {typed[0]}"
    files = re.search(r"\(\d\d-[\w-]+\.ipynb", text)
    assert not files, f"no file has a number: {files}"


def test_a_link_to_a_chapter_gets_its_number():
    first = next(iter(chapters.numbers()))
    given = f"[chapter 9]({first}.ipynb), [Chapters 7](book/{first}.ipynb#x)"
    given += f" to\n[8](../{first}.ipynb), [this]({first}.ipynb), [9](x.md)"
    got = chapters.number_chapters(given)
    assert got == given.replace("9](t", "1](t").replace("7]", "1]").replace(
        "8]", "1]"
    )
    with pytest.raises(ValueError, match="no part with `numbered` lists"):
        chapters.number_chapters("[chapter 1](intro.ipynb)")


@every_notebook
def test_stored_in_normal_form(path):
    stored = path.read_text(encoding="utf-8")
    normal = nbformat.writes(refresh.normalise(read(path))) + "\n"
    name = path.relative_to(ROOT)
    assert stored == normal, f"run: make refresh CHAPTERS={name}"


@every_notebook
def test_no_cell_is_hidden_from_nbval(path):
    for cell in code(path):
        assert tags(cell) <= TAGS, cell.source
        if "nbval-ignore-output" in tags(cell):
            tree = ast.parse(cell.source)
            assert not any(map(is_check, ast.walk(tree))), (
                "a measured cell asserts nothing, as a busy machine may show "
                f"any time; count, in a cell of its own:\n{cell.source}"
            )


@every_notebook
def test_every_cell_was_executed_and_the_outputs_are_stored(path):
    name = path.relative_to(ROOT)
    cells = code(path)
    bare = [c.source for c in cells if not c.execution_count]
    assert not bare, (
        f"run: make refresh CHAPTERS={name}; never executed: {bare}"
    )
    silent = not any(cell.outputs for cell in cells)
    assert not (cells and silent), (
        f"{name} is stored without outputs; run: make refresh CHAPTERS={name}"
    )


@every_notebook
def test_a_fold_says_what_is_inside_and_that_it_opens(path):
    for cell in code(path):
        if tags(cell) & FOLDED:  # JupyterLab shows the first line of a fold
            assert re.match(r"# .+: click to open\n", cell.source), (
                "a folded cell begins with a line `# What is inside: click "
                f"to open`; got:\n{cell.source}"
            )
            assert cell.metadata.get("jupyter", {}).get("source_hidden"), (
                f"run: make refresh CHAPTERS={path.relative_to(ROOT)}"
            )


@every_notebook
def test_outputs_are_compared_and_planned(path):
    for cell in code(path):
        for output in cell.outputs:
            data = output.get("data", {})
            assert not {"image/png", "image/jpeg"} & set(data), (
                "nbval does not compare bitmaps; use plotting.show"
            )
            if output.output_type == "error":
                assert "raises-exception" in tags(cell), output.evalue
            if output.output_type == "stream":
                assert output.name == "stdout", output.text


@every_notebook
def test_nothing_in_an_output_depends_on_the_machine(path):
    for cell in code(path):
        for output in cell.outputs:
            text = output.get("text", "") + "".join(
                value
                for key, value in output.get("data", {}).items()
                if isinstance(value, str) and key != "image/svg+xml"
            )
            assert not re.search(r"0x[0-9a-f]{6,}|/home/|/tmp/", text), text
            assert not re.search(r"np\.float|(?<![.\w])array\(", text), (
                f"a bare NumPy repr in {path.name}: {text}"
            )


@every_notebook
def test_figures_have_alt_text(path):
    for cell in code(path):
        for output in cell.outputs:
            svg = output.get("data", {}).get("image/svg+xml")
            if svg is not None:
                alt = re.search(r'<svg role="img" aria-label="([^"]+)"', svg)
                assert alt, f"no alt text: {cell.source}"
                assert len(alt[1]) > 40, f"says too little: {alt[1]}"


@every_lesson
def test_headings(path):
    text = prose(path)
    assert re.match(r"# \S+ .+", text), "a title with a verb comes first"
    found = re.findall(r"^## (.+)$", text, flags=re.M)
    places = [
        next((i for i, h in enumerate(found) if h.startswith(heading)), None)
        for heading in HEADINGS
    ]
    missing = [h for h, i in zip(HEADINGS, places, strict=True) if i is None]
    assert not missing, f"missing {missing} in {found}"
    assert places[:2] == [0, 1], f"{HEADINGS[:2]} come first; got {found}"
    assert places == sorted(places), f"order of {found}"
    assert "remember" in text.split("## Recap")[1], (
        "the recap lacks **What to remember**"
    )
    assert reading.TIME.search(text), (
        "after the objectives write: Reading time: about 0 minutes. "
        "`make refresh` fills it in"
    )


def lines(cell):
    """The lines of a cell, without the label of a fold."""
    source = cell.source.splitlines()[bool(tags(cell) & FOLDED) :]
    return [line for line in source if line.strip()]


@every_lesson_and_audit
def test_no_cell_is_large(path):
    for cell in code(path)[1:]:  # the first is the same everywhere
        assert len(lines(cell)) <= 15, f"over 15 lines:\n{cell.source}"
        longest = max(map(len, lines(cell)))
        assert longest <= 79, f"over 79 columns:\n{cell.source}"


@every_lesson
def test_most_cells_are_small(path):
    median = statistics.median(len(lines(c)) for c in code(path)[1:])
    assert median < 8, (
        f"most cells have under 8 lines; here half have {median}"
    )


@every_lesson
def test_the_chapter_can_fail(path):
    cells = code(path)
    asserts = sum(
        is_check(node)
        for cell in cells
        for node in ast.walk(ast.parse(cell.source))
    )
    assert asserts >= 10, (
        f"a chapter asserts at least ten times; got {asserts}"
    )
    assert any("raises-exception" in tags(cell) for cell in cells), (
        "one failing call is shown, in a cell tagged raises-exception"
    )
    figures = sum(
        "image/svg+xml" in output.get("data", {})
        for cell in cells
        for output in cell.outputs
    )
    assert 2 <= figures <= 8, f"two to eight figures; got {figures}"


@every_lesson_and_audit
def test_no_assert_and_no_verdict_is_constant(path):
    for cell in code(path):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assert):
                assert not isinstance(node.test, ast.Constant | ast.Tuple), (
                    f"cannot fail: {ast.unparse(node)}"
                )
    for call in calls(path, "claim"):
        for keyword in call.keywords:
            names = [
                node
                for node in ast.walk(keyword.value)
                if isinstance(node, ast.Name | ast.Call | ast.Attribute)
            ]
            assert names, f"a verdict typed by hand: {ast.unparse(call)}"


@every_lesson
def test_solutions_end_in_a_check(path):
    for cell in code(path):
        if "hide-cell" in tags(cell):
            last = ast.parse(cell.source).body[-1]
            checks = [n for n in ast.walk(last) if is_check(n)]
            defines = isinstance(last, ast.FunctionDef | ast.ClassDef)
            assert checks or defines, f"no check at the end: {cell.source}"


JUDGING = ("compare", "claim", "cite", "close")


@every_lesson
def test_a_lesson_judges_no_source(path):
    judged = [
        ast.unparse(call)
        for name in JUDGING
        for call in calls(path, name)
        if "ledger" in ast.unparse(call.func)
    ]
    assert not judged, f"this belongs to an audit: {judged}"


def test_every_ledger_has_an_audit():
    assert sorted(path.stem for path in AUDITS) == sorted(
        path.stem for path in FOLDER.glob("*.yml")
    )


@every_audit
def test_an_audit_loads_and_closes_its_ledger(path):
    loaded = [ast.unparse(call) for call in calls(path, "load")]
    assert f"load('{path.stem}')" in loaded
    assert code(path)[-1].source == "ledger.close()"


def shows_a_picture(cell):
    kinds = {"image/svg+xml", "text/html"}
    return any(kinds & set(o.get("data", {})) for o in cell.outputs)


@every_lesson
def test_at_most_two_folds_stand_before_the_first_picture(path):
    before, seen = [], False
    for cell in code(path)[1:]:
        if not seen and tags(cell) & FOLDED:
            before.append(cell.metadata["mystnb"]["code_prompt_show"])
        seen = seen or shows_a_picture(cell)
    assert seen, "no picture"
    labels = [label for label, _ in itertools.groupby(before)]
    assert len(labels) <= 2, (
        f"give neighbouring folds one `code_prompt_show`: {labels}"
    )


@every_lesson
def test_a_picture_comes_before_the_objectives(path):
    for cell in read(path).cells:
        if "## What you'll do" in cell.source:
            break
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/svg+xml" in data or "data-figure" in str(data):
                return
    raise AssertionError(
        "a question and its picture come before What you'll do; no output "
        "of a cell there is a figure"
    )


@every_lesson
def test_a_lesson_can_be_read_in_one_sitting(path):
    prose, cells = reading.amount(read(path).cells)
    assert prose <= 3000, f"{prose} words of prose before the exercises"
    assert cells <= 30, f"{cells} code cells in sight before the exercises"


@every_lesson
def test_a_lesson_ends_in_a_table_of_choices(path):
    recap = prose(path).split("## Recap")[1].split("\n## ")[0]
    assert re.search(r"^\|.*\|\n\|[ :|-]+\|$", recap, flags=re.M), (
        "the recap ends in a table: which to take when, and what it costs"
    )


def lesson_of(audit):
    """The lesson that an audit links first."""
    name = re.search(r"\(\.\./([\w-]+\.ipynb)\)", prose(audit))[1]
    return ROOT / "book" / name


@every_audit
def test_an_audit_counts_first_and_closes_last(path):
    text, cells = prose(path), code(path)
    assert text.startswith(f"# Audit: {path.stem}\n")
    assert lesson_of(path) in LESSONS, "a link to its lesson"
    head = next(output for cell in cells for output in cell.outputs)
    assert len(head.text.splitlines()) == 5, "the head has five lines"


def definitions(path):
    """The functions and classes that a notebook defines, as syntax."""
    return {
        node.name: ast.dump(node)
        for cell in code(path)
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


@every_audit
def test_what_a_lesson_and_its_audit_both_define_is_the_same(path):
    lesson = lesson_of(path)
    ours, theirs = definitions(path), definitions(lesson)
    differ = [n for n in ours if n in theirs and ours[n] != theirs[n]]
    assert not differ, f"{page(path)} and {page(lesson)} differ in {differ}"


@every_lesson_and_audit
def test_the_source_is_not_quoted_in_length(path):
    """Facts carry over, sentences do not: no long quotation blocks."""
    quotes = re.findall(r"^> .+(?:\n> .+)*", prose(path), flags=re.M)
    assert all(len(quote.split()) < 40 for quote in quotes)
