"""What a reader and an author rely on in every notebook of the book.

Lengths warn (`tests.budgets.advise`); everything else fails.
"""

import ast
import functools
import itertools
import json
import re
from pathlib import Path

import nbformat
import pytest

from course import figures, published
from course.published import FOLDER
from tests import budgets
from tools import captions, chapters, reading, refresh, teaching

ROOT = Path(__file__).resolve().parents[2]

NOTEBOOKS = refresh.notebooks()
LESSONS = [ROOT / "book" / f"{name}.ipynb" for name in chapters.numbers()]
AUDITS = [path for path in NOTEBOOKS if path.parent.name == "audit"]
# A book of some chapters leaves the other files where they are.
PRACTICE = [
    path
    for path in NOTEBOOKS
    if path.parent == ROOT / "book/practice"
    and path.stem not in chapters.left_out()
]
LABS = [p for p in NOTEBOOKS if p.parent == ROOT / "book/labs"]
PRACTISED = [ROOT / "book" / path.name for path in PRACTICE]
FOLDED = {"hide-cell", "hide-input"}
QUESTION = "remove-input"  # a cell that makes a question
LABELLED = {*FOLDED, QUESTION}
TAGS = {*LABELLED, "remove-cell", "raises-exception", "nbval-ignore-output"}
HEADINGS = [
    "Recap",
    "On your own",
    "In practice",
    "Which to choose",
    "Further reading",
]
GOALS = '<div class="goals">'


def page(path):
    """Its name on the site; a lesson and an audit may share a stem."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=page)
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=page)
every_audit = pytest.mark.parametrize("path", AUDITS, ids=page)
every_practice = pytest.mark.parametrize("path", PRACTICE, ids=page)
every_practised = pytest.mark.parametrize("path", PRACTISED, ids=page)
every_lesson_and_audit = pytest.mark.parametrize(
    "path", LESSONS + AUDITS, ids=page
)


@functools.cache
def read(path):
    """A notebook, read once: no test changes it."""
    return nbformat.read(path, as_version=4)


@functools.cache
def parsed(source):
    return ast.parse(source)


def code(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def tags(cell):
    return set(cell["metadata"].get("tags", []))


def prose(path):
    cells = read(path).cells
    return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")


def calls(path, name):
    """Every call of a function or method of that name, in any cell."""
    for cell in code(path):
        for node in ast.walk(parsed(cell.source)):
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
    assert numbered == text, "run: make texts"
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
    result = chapters.number_chapters(given)
    assert result == given.replace("9](t", "1](t").replace("7]", "1]").replace(
        "8]", "1]"
    )
    with pytest.raises(ValueError, match="no part with `numbered` lists"):
        chapters.number_chapters("[chapter 1](intro.ipynb)")


@every_notebook
def test_stored_in_normal_form(path):
    stored = path.read_text(encoding="utf-8")
    normal = refresh.normalise(nbformat.reads(stored, as_version=4), path)
    assert stored == nbformat.writes(normal) + "\n", "run: make texts"


@every_notebook
def test_no_cell_is_hidden_from_nbval(path):
    for cell in code(path):
        assert tags(cell) <= TAGS, cell.source
        if "nbval-ignore-output" in tags(cell):
            tree = parsed(cell.source)
            assert not any(map(is_check, ast.walk(tree))), (
                "a measured cell asserts nothing, as a busy machine may show "
                f"any time; count, in a cell of its own:\n{cell.source}"
            )


@every_notebook
def test_every_cell_was_executed_and_the_outputs_are_stored(path):
    name = path.relative_to(ROOT)
    cells = code(path)
    bare = [c.source for c in cells if c.execution_count is None]
    assert not bare, (
        f"run: make refresh CHAPTERS={name}; never executed: {bare}"
    )
    silent = not any(cell.outputs for cell in cells)
    assert not (cells and silent), (
        f"{name} is stored without outputs; run: make refresh CHAPTERS={name}"
    )


def label(cell):
    return cell["metadata"].get("mystnb", {}).get("code_prompt_show")


def labels(cells):
    """What the page writes on its folds; neighbours of one name are one."""
    names, before = [], None
    for cell in cells:
        if "remove-cell" in tags(cell):
            continue
        if label(cell) and label(cell) != before:
            names.append(label(cell))
        # An output in sight stands between its cell and the next.
        before = None if cell.get("outputs") else label(cell)
    return names


@every_notebook
def test_each_fold_says_what_is_inside(path):
    for cell in code(path):
        if tags(cell) & LABELLED:  # JupyterLab shows the first line of a fold
            assert re.match(r"# .+: click to open\n", cell.source), (
                "a folded cell begins with a line `# What is inside: click "
                f"to open`; got:\n{cell.source}"
            )
            folded = cell.metadata.get("jupyter", {}).get("source_hidden")
            assert folded, "run: make texts"
        if "hide-input" in tags(cell):
            assert label(cell), f"without a label: {cell.source}"
    names = labels(read(path).cells)
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"two folds, one label; say what is inside: {twice}"


def check_output(cell, output):
    """nbval compares it, a screen reader reads it, any machine prints it."""
    data = output.get("data", {})
    assert not {"image/png", "image/jpeg"} & set(data), (
        "nbval does not compare bitmaps; use plotting.show"
    )
    if output.output_type == "error":
        assert "raises-exception" in tags(cell), output.evalue
    if output.output_type == "stream":
        assert output.name == "stdout", output.text
    text = output.get("text", "") + "".join(
        value
        for key, value in data.items()
        if isinstance(value, str) and not key.endswith("svg+xml")
    )
    assert not re.search(r"0x[0-9a-f]{6,}|/home/|/tmp/", text), text
    bare = re.search(r"np\.float|(?<![.\w])array\(", text)
    assert not bare, f"a bare NumPy repr: {text}"
    if "image/svg+xml" in data:
        alt = re.search(
            r'<svg role="img" aria-label="([^"]+)"', data["image/svg+xml"]
        )
        assert alt, f"no alt text: {cell.source}"
        assert len(alt[1]) > 40, f"says too little: {alt[1]}"


@every_notebook
def test_outputs_are_compared_and_the_same_anywhere(path):
    for cell in code(path):
        for output in cell.outputs:
            check_output(cell, output)


@every_lesson
def test_headings(path):
    text = prose(path)
    assert re.match(r"# \S+ .+", text), "a title with a verb comes first"
    result = re.findall(r"^## (.+)$", text, flags=re.M)
    places = [
        next((i for i, h in enumerate(result) if h.startswith(heading)), None)
        for heading in HEADINGS
    ]
    missing = [h for h, i in zip(HEADINGS, places, strict=True) if i is None]
    assert not missing, f"missing {missing} in {result}"
    before = text.partition("\n## ")[0]
    assert GOALS in before, f"before the first section: {GOALS}"
    assert teaching.NEEDS.search(before), "it says **What you'll need.**"
    assert places == sorted(places), f"order of {result}"
    assert "remember" in text.split("## Recap")[1], (
        "the recap lacks **What to remember**"
    )
    assert reading.TIME.search(text), (
        "after the objectives write: Reading time: about 0 minutes. "
        "`make texts` fills it in"
    )


# Digits in groups, whatever parts the groups: 49,152 or 134 515 008.
NUMBER = re.compile(
    r"\d{1,3}(?:(?:[,._\u00a0\u202f]|\\,|\{,\})\d{3})+(?!\d)(?:[.,]\d+)?"
    r"|\d+(?:[.,]\d+)?"
)
# Years, the numbers of reports and of figures are no results.
NO_RESULT = re.compile(
    r"\[[^\]]*\]\([^)]*\)|</?[a-z][^<>]*>|\b(?:19|20)\d\d\b(?![.,]\d)"
    r"|\bFigure \d+\.\d+"
)


def long_numbers(text):
    """The significant digits of each number that has at least four."""
    digits = (
        re.sub(r"\D", "", m[0]).strip("0") for m in NUMBER.finditer(text)
    )
    return {number for number in digits if len(number) > 3}


def rounded(numbers):
    """The numbers, and what each is when it is rounded to fewer digits."""
    return {
        f"{int(number):.{places}e}".partition("e")[0]
        .replace(".", "")
        .strip("0")
        for number in numbers
        for places in range(3, len(number))
    }


def on_the_page(path):
    """What the code of a page says, prints and draws."""
    for cell in code(path):
        yield cell.source
        for output in cell.outputs:
            yield output.get("text", "")
            data = output.get("data", {})
            yield data.get("text/plain", "")
            yield re.sub("<[^>]*>", " ", data.get("text/html", ""))
            yield " ".join(
                re.findall("<!--(.*?)-->", data.get("image/svg+xml", ""))
            )


@every_lesson
def test_a_long_number_of_the_prose_is_in_code_or_output(path):
    there = set().union(*map(long_numbers, on_the_page(path)))
    # In prose alone a blank may part the digits of one number.
    text = re.sub(r"(?<=\d) (?=\d{3}\b)", "\u00a0", prose(path))
    lost = long_numbers(NO_RESULT.sub(" ", text)) - rounded(there)
    assert not lost, f"assert {lost} in a cell, or write fewer digits"


def is_code(cell):
    return cell.cell_type == "code"


def lines(cell):
    """The lines of a cell, without the label of a fold."""
    source = cell.source.splitlines()[bool(tags(cell) & LABELLED) :]
    return [line for line in source if line.strip()]


@pytest.mark.parametrize("path", LESSONS + AUDITS + PRACTICE + LABS, ids=page)
def test_cells_are_small(path):
    for cell in code(path)[1:]:  # the first is the same everywhere
        # A question and what a check knows are made out of sight.
        unseen = tags(cell) & {QUESTION, "remove-cell"}
        most = 60 if unseen else 20 if path in PRACTICE + LABS else 15
        budgets.advise(
            f"lines of a cell of {page(path)}; fold it (add the tag "
            f"`hide-input`, or `{QUESTION}` if it makes a question) or cut "
            f"it:\n{cell.source}\n",
            len(lines(cell)),
            most,
        )


def shows(cell):
    """How many drawings or live figures a cell shows; a table is none."""
    data = [output.get("data", {}) for output in cell.get("outputs", ())]
    return sum(
        "image/svg+xml" in each
        or "data-figure=" in "".join(each.get("text/html", ""))
        for each in data
    )


def shows_a_picture(cell):
    """A drawing, a figure, a question or a table."""
    kinds = {"image/svg+xml", "text/html"}
    outputs = cell.get("outputs", ())
    return any(kinds & set(o.get("data", {})) for o in outputs)


@every_lesson
def test_the_chapter_can_fail(path):
    cells = code(path)
    asserts = sum(
        is_check(node)
        for cell in cells
        for node in ast.walk(parsed(cell.source))
    )
    assert asserts >= 10, (
        f"a chapter asserts at least ten times; got {asserts}"
    )
    assert any("raises-exception" in tags(cell) for cell in cells), (
        "one failing call is shown, in a cell tagged raises-exception"
    )


@every_lesson
def test_a_picture_comes_before_the_objectives(path):
    for cell in read(path).cells:
        if GOALS in cell.source:
            break
        if shows(cell):
            return
    raise AssertionError(
        "a question and its picture come before what you'll do; no output "
        "of a cell there is a figure"
    )


@every_lesson
def test_lengths_of_a_lesson(path):
    cells = read(path).cells
    words = sum(reading.open_path(cells).values())
    budgets.advise(f"words of {page(path)}", words, 60 * reading.PER_MINUTE)
    figures = sum(map(shows, cells))
    assert figures, "a lesson has a figure"
    budgets.advise(f"figures of {page(path)}", figures, 12)
    first = next(i for i, cell in enumerate(cells) if shows_a_picture(cell))
    # Measured at 390 by 844: after 153 words it began at 1.14 screens.
    budgets.advise(
        f"words before the first picture of {page(path)}",
        sum(reading.words(c.source) for c in cells[:first] if not is_code(c)),
        200,
    )
    own = list(reading.body(cells))
    texts = [c["source"] for c in own if c["cell_type"] == "markdown"]
    dropdowns = sum(text.count("{dropdown}") for text in texts)
    # The code of a picture is none: the page hangs it below the picture.
    tabs = {label(cell) for cell in own if shows(cell)}
    folds = [name for name in labels(own) if name not in tabs]
    what = f"folds of {page(path)}, {dropdowns} dropdowns and {folds}"
    budgets.advise(what, len(folds) + dropdowns, 10)


@every_lesson_and_audit
def test_no_assert_and_no_verdict_is_constant(path):
    for cell in code(path):
        for node in ast.walk(parsed(cell.source)):
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


@pytest.mark.parametrize("path", LESSONS + PRACTICE + LABS, ids=page)
def test_solutions_end_in_a_check(path):
    for cell in code(path):
        if "hide-cell" in tags(cell):
            last = parsed(cell.source).body[-1]
            checks = [n for n in ast.walk(last) if is_check(n)]
            defines = isinstance(last, ast.FunctionDef | ast.ClassDef)
            assert checks or defines, f"no check at the end: {cell.source}"


def test_every_ledger_has_an_audit():
    assert sorted(path.stem for path in AUDITS) == sorted(
        path.stem for path in FOLDER.glob("*.yml")
    )


@every_notebook
def test_a_note_stands_beside_one_paragraph(path):
    """What the margin of a wide page shows follows what it is about."""
    text = prose(path)
    notes = re.findall(r'<div class="noted">\n\n(.*?)\n\n</div>', text, re.S)
    assert len(notes) == text.count('class="noted"')
    for note in notes:
        parts = note.split("\n\n")
        assert len(parts) == 2, f"a paragraph and its note: {note}"
        about, aside = parts
        what = f"words of a note of {page(path)} beside: {about}"
        budgets.advise(what, len(aside.split()), len(about.split()))


def test_the_reading_time_counts_prose_code_and_questions():
    def shows(html):
        data = nbformat.v4.new_output("display_data", {"text/html": html})
        metadata = {"tags": ["remove-input"]}
        return nbformat.v4.new_code_cell("", metadata=metadata, outputs=[data])

    prose = nbformat.v4.new_markdown_cell("word " * 275)  # five minutes
    code = nbformat.v4.new_code_cell("word " * 55)
    folded = nbformat.v4.new_code_cell(
        "word " * 600, metadata={"tags": ["hide-input"]}
    )
    question = shows(
        '<form data-question="it"><legend>one two</legend>'
        "<noscript>not this</noscript></form>"
    )
    figure = shows('<div data-figure="words">three</div>')
    end = nbformat.v4.new_markdown_cell("## On your own\n")
    assert reading.minutes([prose, figure, folded, end, question, code]) == 5
    assert reading.minutes([prose, code, code, code, end]) == 10  # eight
    assert reading.minutes([prose, code, code, question, end]) == 5  # seven
    counts = reading.open_path([prose, code, question, end, prose])
    assert counts == {"prose": 275, "code": 55, "questions": 2}


CAPTION = '<div class="caption" id="fig-NAME">, ' + "**Figure 0.0.** Text."


@pytest.mark.parametrize("path", [*LESSONS, *AUDITS, *LABS], ids=page)
def test_each_figure_has_a_caption(path):
    """It says what is plotted, and what to notice, below the figure."""
    cells = [c for c in read(path).cells if "remove-cell" not in tags(c)]
    for cell, after in itertools.pairwise(cells):
        if shows(cell):
            assert captions.CAPTION.match(after.source), (
                "a figure without a caption; put a cell below it that begins "
                f"with {CAPTION}:\n{cell.source}"
            )
            text = after.source.split("\n\n</div>")[0]
            assert len(reading.WORD.findall(text)) >= 15, text


def lesson_of(audit):
    """The lesson that an audit links first."""
    name = re.search(r"\(\.\./([\w-]+\.ipynb)\)", prose(audit))[1]
    return ROOT / "book" / name


@every_audit
def test_an_audit_links_its_lesson_and_closes_its_ledger(path):
    assert prose(path).startswith(f"# Audit: {path.stem}\n")
    assert lesson_of(path) in LESSONS, "a link to its lesson"
    loaded = [ast.unparse(call) for call in calls(path, "load")]
    assert f"load('{path.stem}')" in loaded
    assert code(path)[-1].source == "ledger.close()"


@every_audit
def test_each_entry_is_one_row_of_an_audit_and_one_square(path):
    html = "\n".join(
        output["data"]["text/html"]
        for cell in code(path)
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    )
    names = [
        re.sub(r"[^\w-]", "-", f"{path.stem}-{name}")
        for name in published.load(path.stem).entries
    ]
    rows = re.findall(r'<tr id="([^"]*)"', html)
    assert sorted(rows) == sorted(names)
    squares = re.search(r'<p class="av-entries">(.*?)</p>', html)[1]
    assert re.findall(r'href="#([^"]*)"', squares) == names


@every_audit
def test_an_audit_keeps_its_code_folded(path):
    """What is in sight is prose, tables and results, and one refusal."""
    for cell in code(path)[:-1]:
        assert tags(cell) & {"hide-input", "remove-cell", "raises-exception"}


def definitions(path):
    """The functions and classes that a notebook defines, as syntax."""
    return {
        node.name: ast.dump(node)
        for cell in code(path)
        for node in parsed(cell.source).body
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


# --- practice ----------------------------------------------------------------

KINDS = ("Look back", "On paper", "In code", "Harder", "What is broken?")
LEAST = 6
EXERCISE = re.compile(r"^```\{exercise\} .+\n:label: ([a-z0-9-]+)$", re.M)
HINT = re.compile(r"^```\{dropdown\} Hint( \d)?$", re.M)
END_OF_PREDICTION = "% So much for the prediction."


def made(path, kinds):
    """The calls that make a question of some kinds, such as Number."""
    return [call for kind in kinds for call in calls(path, kind)]


@every_practice
def test_a_practice_page_stands_below_its_lesson_and_both_link_it(path):
    lesson = ROOT / "book" / path.name
    assert lesson in LESSONS, "it has the name of its lesson"
    assert f"](../{lesson.name})" in prose(path)
    own = prose(lesson).split("## On your own")[1].split("\n## ")[0]
    assert f"](practice/{path.name})" in own, "a link in On your own"
    assert not EXERCISE.search(prose(lesson)), "exercises stand on the page"
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    below = f"- file: book/{path.stem}\n        sections:\n"
    assert f"{below}          - file: book/practice/{path.stem}\n" in toc


@every_practice
def test_a_practice_page_has_exercises_of_these_kinds(path):
    sections = re.split(r"^## (.+)$", prose(path), flags=re.M)
    counts = {
        name: len(EXERCISE.findall(text))
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
        if name in KINDS
    }
    assert all(counts.values()), f"nothing below a heading: {counts}"
    assert {"On paper", "In code", "What is broken?"} <= counts.keys()
    assert sum(counts.values()) >= LEAST, f"{LEAST} exercises: {counts}"


@every_practice
def test_an_exercise_has_a_check_and_one_solution(path):
    """In the order of the page: exercise, question, hints, solution."""
    before, *exercises = exercises_of(path)
    assert not before, "the first cell is no exercise"
    for label, parts in exercises:
        asked = [c for c in parts if QUESTION in tags(c)]
        solutions = [c for c in parts if "hide-cell" in tags(c)]
        hints = sum(len(HINT.findall(c.source)) for c in parts)
        assert len(asked) == 1, (
            f"{label}: one cell with the tag {QUESTION} before the next "
            f"exercise; got {len(asked)}. If it is the next one's, give that "
            "a title and below it a line `:label: NAME`"
        )
        assert f'"{label}"' in asked[0].source, (
            f"the question of the exercise {label} must have its name: make "
            f'"{label}" the first argument, or change the :label:'
        )
        assert len(solutions) == 1, f"{label}: one solution"
        assert parts.index(asked[0]) < parts.index(solutions[0])
        assert hints <= 2, f"{label}: at most two hints"
        last = ast.unparse(parsed(solutions[0].source).body[-1])
        assert re.fullmatch(r"assert .+\.check\(.*\)\.right", last), (
            f"{label}: the last line of the solution must be "
            f"`assert QUESTION.check(ANSWER).right`; got `{last}`"
        )


def exercises_of(path):
    """The cells of each exercise, by its label; first, what is before."""
    groups = [[]]
    for cell in read(path).cells:
        label = cell.cell_type == "markdown" and EXERCISE.search(cell.source)
        if label:
            groups.append((label[1], [cell]))
        elif len(groups) > 1:
            groups[-1][1].append(cell)
    return groups


@pytest.mark.parametrize("path", PRACTISED + PRACTICE + LABS, ids=page)
def test_right_answers_are_computed(path):
    for call in made(path, ["Number", "Matrix"]):
        refuse_typed(call.args[2], call)
    for call in made(path, ["Choice"]):
        for option in ast.walk(call.args[2]):
            if isinstance(option, ast.Tuple) and len(option.elts) == 3:
                refuse_typed(option.elts[1], call)


def refuse_typed(answer, call):
    assert not constant(answer), (
        f"the answer {ast.unparse(answer)} of {ast.unparse(call.args[0])} is "
        "typed: compute it from values of the cell, so that it is checked"
    )


def constant(node):
    """Whether an expression has neither a name nor a call in it."""
    kinds = (ast.Name, ast.Call, ast.Attribute)
    return not any(isinstance(part, kinds) for part in ast.walk(node))


@every_practised
def test_a_lesson_asks_quick_questions(path):
    kinds = ["Number", "Matrix", "Choice", "Cell", "Order"]
    asked = len(made(path, kinds))
    assert asked, "a lesson asks at least one quick question"
    budgets.advise(f"quick questions of {page(path)}", asked, 5)


@every_practised
def test_a_prediction_is_taken_before_it_is_shown(path):
    boxes = 0
    for cell, after in itertools.pairwise(read(path).cells):
        boxes += cell.source.count("{admonition} Predict")
        if "{admonition} Predict" not in cell.source:
            continue
        assert cell.source.endswith("```"), "the box ends its cell"
        assert re.search(r"practice\.(Predict|Guess)\(", after.source)
        assert QUESTION in tags(after)
    assert boxes == len(made(path, ["Predict", "Guess"]))
    # Each is ended, before the next heading (the build looks for that too).
    assert prose(path).count(END_OF_PREDICTION) == boxes > 0


@every_practised
def test_the_figure_goes_along_in_states_that_it_can_show(path):
    html = "\n".join(
        cell.source
        if cell.cell_type == "markdown"
        else "".join(
            "".join(output.get("data", {}).get("text/html", ""))
            for output in cell.outputs
        )
        for cell in read(path).cells
    )
    again = figures.shown_again(html)
    assert not [wrong for _, _, wrong in again if wrong]
    assert len(again) >= 2, "the text sets the figure's state twice or more"
    states = [(name, json.dumps(state)) for name, state, _ in again]
    assert len({*states}) == len(states), "each time in another state"


SPANISH = "Resumen en español"


@every_practised
def test_a_lesson_ends_in_a_summary_in_spanish(path):
    *_, last = re.split(r"^## ", prose(path), flags=re.M)
    assert last.startswith(f'<span lang="es">{SPANISH}</span>\n')
    assert last.count('<div lang="es">\n\n') == last.count("\n\n</div>") == 1
    assert len(last.split()) >= 120
    budgets.advise(
        f"words of the summary of {page(path)}", len(last.split()), 400
    )
