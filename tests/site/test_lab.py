"""The book in a real JupyterLab: it reads, and its figures follow Python."""

import collections
import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import TimeoutError, expect

from tests.book import practice_pages
from tests.book.practice_pages import FILLED, GIVE
from tests.site.javascript import function
from tools import website

weekly = pytest.mark.weekly
BOOK = website.ROOT / "book"
PRACTICE = sorted(BOOK.glob("practice/*.ipynb"))
LESSONS = sorted(BOOK.glob("*.ipynb"))
NOTEBOOKS = [website.ROOT / "index.ipynb", *LESSONS, *PRACTICE]
CHAPTER = "mask.ipynb"
# What a directive of the book is drawn as.
DRAWN = {
    "admonition": "aside.myst-admonition",
    "dropdown": "details",
    "exercise": "aside.myst-exercise",
    "prf:proposition": "aside.myst-proof",
    "prf:proof": "aside.myst-proof",
}
DIRECTIVE = re.compile(r"^ *(?::{3,}|`{3,})\{([^}]+)\}", re.M)
# Every cell is drawn at once, and nothing asks for the reader's attention.
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": '{"windowingMode": "none"}',
    "@jupyterlab/apputils-extension/notification": '{"fetchNews": "false"}',
}


OUTPUTS_HIDDEN = {"outputs_hidden": True}


def read(path):
    return nbformat.read(path, as_version=4)


def prose(path):
    cells = read(path).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def boxes():
    """Texts of the book that hold each kind of directive.

    With each cell that is drawn, the extension reads all the others again.
    """
    texts, seen = [], collections.Counter()
    for text in itertools.chain(*map(prose, NOTEBOOKS)):
        kinds = DIRECTIVE.findall(text)
        if any(not seen[kind] for kind in kinds):
            seen.update(kinds)
            texts.append(text)
    return texts


def write_copies(folder):
    """The home page, some chapters, one with two more cells, every box.

    And a notebook with a margin note, a solution, and code that is folded.
    """
    (folder / "book").mkdir()
    shutil.copy(website.ROOT / "index.ipynb", folder)
    shutil.copy(BOOK / "bibliography.md", folder / "book")
    shutil.copy(BOOK / "three-tokens.ipynb", folder / "book")
    # A figure with a grid of entries, and a cell that asks Python what the
    # slider did.
    chapter = read(BOOK / CHAPTER)
    grid = "from course.figures import StepThrough\nStepThrough()"
    chapter.cells.append(new_code_cell(grid))
    chapter.cells.append(new_code_cell('print("T from Python:", figure.T)'))
    nbformat.write(chapter, folder / "book" / CHAPTER)
    nbformat.write(folds(chapter.metadata), folder / "book" / "folds.ipynb")
    cells = [new_markdown_cell(text) for text in boxes()]
    boxed = new_notebook(cells=cells, metadata=chapter.metadata)
    nbformat.write(boxed, folder / "book" / "boxes.ipynb")


def folds(metadata):
    """A cited work in a margin note, a solution, a drawing, an open cell."""

    def cell(said, **marks):
        return new_code_cell(
            f"# Click to open\nprint({said!r})", metadata=marks
        )

    hidden = {"source_hidden": True}
    note = (
        '<div class="noted">\n\nText.\n\n[A work](bibliography.md)\n\n</div>'
    )
    cells = [
        new_markdown_cell(note),
        cell("solved", tags=["hide-cell"], jupyter=hidden | OUTPUTS_HIDDEN),
        cell("drawn", tags=["hide-input"], jupyter=hidden),
        cell("ended"),
    ]
    return new_notebook(cells=cells, metadata=metadata)


# The name of a folder, which a shell and a Makefile read as more than letters.
ODD = "my course $HOME `id` 'q' \"d\" é #1;x%&(a)"
# Stands for Python: it says what the Makefile asks it, and keeps how it was
# started.
STUB = """#!/bin/sh
if [ "$1" = -c ]; then cat .venv/ready; exit; fi
printf '%s\\n' "$JUPYTER_CONFIG_PATH" "$JUPYTER_PATH" "$@" > started
"""
TARGET = re.compile(r"^([a-z-]+):.*##", re.M)


@pytest.fixture
def odd_folder(tmp_path):
    """A checkout without its packages, in a folder with an odd name."""
    folder = tmp_path / ODD
    (folder / ".venv/bin").mkdir(parents=True)
    needed = ("", "-test", "-model")
    needed = [f"requirements{kind}.txt" for kind in needed]
    for name in ("Makefile", "pyproject.toml", *needed):
        shutil.copy(website.ROOT / name, folder)
    (folder / ".venv/bin/python").write_text(STUB)
    (folder / ".venv/bin/python").chmod(0o755)
    for name in ("ready", "checks"):
        (folder / ".venv" / name).write_text(str(folder.resolve()))
    return folder


def make(folder, *words):
    # Not as a part of the make that runs the tests, which names its folder.
    outer = "MAKEFLAGS", "MAKELEVEL"
    own = {key: it for key, it in os.environ.items() if key not in outer}
    return subprocess.run(
        ["make", *words],
        cwd=folder,
        env=own,
        text=True,
        capture_output=True,
        check=True,
    ).stdout


def test_make_lab_starts_in_a_folder_of_any_name(odd_folder):
    make(odd_folder, "lab")
    started = (odd_folder / "started").read_text("utf-8").splitlines()
    settings = str(odd_folder / "tools/jupyter")
    assert started[:4] == [settings, settings, "-m", "jupyterlab"]
    for name in ("labconfig", "labextensions"):
        assert (website.ROOT / "tools/jupyter" / name).is_dir()


def test_no_command_of_make_breaks_at_the_name_of_its_folder(odd_folder):
    text = (website.ROOT / "Makefile").read_text("utf-8")
    targets = TARGET.findall(text)
    assert {"book", "test", "lab", "clean"} <= set(targets)
    for target in targets:
        told = make(odd_folder, "-n", target, "CHAPTER=mask")
        assert "my course" not in told, target
        assert "--clear" not in told, "the folder has not moved"
        subprocess.run(["sh", "-n"], input=told, text=True, check=True)


def environment(folder):
    """Settings, workspaces and signatures of its own."""
    for name, text in SETTINGS.items():
        path = folder / "config/lab/user-settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".jupyterlab-settings").write_text(text)
    return {
        **os.environ,
        # As `make lab` starts it.
        "JUPYTER_CONFIG_PATH": str(website.ROOT / "tools" / "jupyter"),
        "JUPYTER_PATH": str(website.ROOT / "tools" / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
    }


@pytest.fixture(scope="module")
def lab_folder(tmp_path_factory):
    """Where JupyterLab finds copies of the book's notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    write_copies(folder)
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory, lab_folder):
    """JupyterLab on a free port."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = Path(sys.executable).with_name("jupyter-lab")
    arguments = [
        "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        "--IdentityProvider.token=", "--expose-app-in-browser",
    ]  # fmt: skip
    with open(home / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [str(command), *arguments],
            cwd=lab_folder,
            env=environment(home),
            stdout=log,
            stderr=log,
        )
        for _ in range(1200):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api").close()
                break
            time.sleep(0.5)
        yield address
        server.terminate()
        server.wait(timeout=120)


@pytest.fixture(scope="module")
def windows():
    """Of JupyterLab, to load which costs as much as a chapter: one is used."""
    return []


@pytest.fixture
def visit(lab, browser, windows):
    """Open a notebook with so many cells of prose, and wait for the last."""

    def visit(path, cells):
        if not windows or windows[-1].is_closed():
            windows.append(
                browser.new_page(viewport={"width": 1200, "height": 900})
            )
            windows[-1].set_default_timeout(120_000)
            windows[-1].goto(f"{lab}/lab?reset")
        tab = windows[-1]
        tab.wait_for_function("window.jupyterapp?.restored.then(() => true)")
        run(tab, "docmanager:save-all")  # or Lab asks before it closes
        run(tab, "application:close-all")
        tab.evaluate(SHUT)
        run(tab, "docmanager:open", {"path": path})
        drawn = tab.locator(".jp-MarkdownCell .myst")
        drawn.nth(cells - 1).wait_for(state="attached", timeout=120_000)
        return tab

    return visit


def run(tab, command, arguments=None):
    tab.evaluate(
        "([name, args]) => jupyterapp.restored"
        ".then(() => jupyterapp.commands.execute(name, args))"
        ".then(() => null)",
        [command, arguments or {}],
    )


READ = function("lab", "read")


def assert_drawn(tab, written):
    """Nothing of `written` stands there as it was typed."""
    cells = tab.locator(".jp-MarkdownCell .myst")
    assert cells.count() == len(written)
    shown = cells.evaluate_all(READ)
    for raw in (":::", "```", "{cite", "$$", "Unknown", "]("):
        assert raw not in shown, f"{raw} stands in the prose"
    assert tab.locator(".katex").count() > 0
    assert tab.locator(".katex-error").count() == 0


@weekly
def test_every_box_fold_card_and_proof_is_drawn(visit):
    written = boxes()
    directives = DIRECTIVE.findall("\n".join(written))
    assert set(directives) <= set(DRAWN), "not known to be drawn"
    tab = visit("book/boxes.ipynb", len(written))
    for selector in set(DRAWN.values()):
        expected = sum(DRAWN[name] == selector for name in directives)
        drawn = tab.locator(f".jp-MarkdownCell {selector}")
        drawn.nth(expected - 1).wait_for(state="attached")
        assert drawn.count() == expected, selector
    assert_drawn(tab, written)


def test_no_role_is_left_that_only_sphinx_reads():
    for path in NOTEBOOKS:
        roles = re.findall(r"\{[\w:]+\}`[^`]*`", "\n".join(prose(path)))
        assert not roles, f"{path.name}: {roles}"


def current_tab(tab, name):
    tab.locator(
        "#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current", has_text=name
    ).wait_for()


@weekly
def test_the_home_page_leads_to_a_chapter_and_that_to_the_bibliography(visit):
    tab = visit("index.ipynb", len(prose(website.ROOT / "index.ipynb")))
    tab.get_by_role("link", name="three tokens, by hand").click()
    current_tab(tab, "three-tokens.ipynb")
    tab.get_by_role("link", name="Vaswani et al. 2017").first.click()
    current_tab(tab, "bibliography.md")
    tab.locator(".jp-MarkdownViewer", has_text="Ashish Vaswani").wait_for()


def test_solutions_stay_folded_when_all_cells_run(visit):
    tab = visit("book/folds.ipynb", 1)
    tab.get_by_text("| Idle").first.wait_for()
    run(tab, "notebook:run-all-cells")
    shown = tab.locator(".jp-OutputArea-output:visible")
    shown.filter(has_text="ended").wait_for(timeout=120_000)
    expect(shown).to_have_text(["drawn", "ended"])


@weekly
def test_a_work_cited_in_a_margin_note_opens_as_it_reads(lab, browser):
    address = f"{lab}/lab/tree/book/folds.ipynb"
    with contextlib.closing(browser.new_page()) as tab:
        tab.set_default_timeout(120_000)
        tab.goto(f"{address}?reset")
        tab.wait_for_function("window.jupyterapp?.restored.then(() => true)")
        # The link is written in HTML, so the browser itself follows it, from
        # the address that JupyterLab gives the notebook once it is open.
        tab.wait_for_url(address)
        tab.get_by_role("link", name="A work").click()
        tab.locator(".jp-MarkdownViewer", has_text="Ashish Vaswani").wait_for()
        tab.wait_for_function("window.jupyterapp?.restored.then(() => true)")
        tab.evaluate(SHUT)


def test_a_chapter_reads_and_its_figure_follows_python(visit):
    text = prose(BOOK / CHAPTER)
    tab = visit(f"book/{CHAPTER}", len(text))
    assert_drawn(tab, text)
    cited = tab.locator('.jp-MarkdownCell a[href*="bibliography.md"]')
    assert cited.count() == "\n".join(text).count("](bibliography.md") > 0

    folded = tab.locator(".jp-CodeCell:has(.jp-InputPlaceholder)")
    solutions = [  # and the first cell, which finds the package
        cell
        for cell in read(BOOK / CHAPTER).cells
        if cell.metadata.get("jupyter", {}).get("source_hidden")
    ]
    assert folded.count() == len(solutions) > 1
    for cell, solution in zip(folded.all(), solutions, strict=True):
        assert cell.locator(".cm-content:visible").count() == 0
        if solution.metadata.jupyter.get("outputs_hidden"):
            outputs = cell.locator(".jp-OutputArea-output:visible")
            assert outputs.count() == 0
        label = solution.source.splitlines()[0]
        assert label in cell.locator(".jp-InputPlaceholder").inner_text()
    tab.locator(".jp-InputPlaceholder").last.click()
    line = solutions[-1].source.splitlines()[1]
    tab.locator(".cm-line:visible", has_text=line).first.wait_for()

    note = tab.get_by_text(re.compile("Interactive figure: .* run this cell"))
    note = note.first
    note.wait_for()
    assert tab.locator(".jp-OutputArea [type=range]:visible").count() == 0
    tab.get_by_text("| Idle").first.wait_for()
    run(tab, "notebook:run-all-cells")
    tab.get_by_text("T from Python: 6", exact=True).wait_for(timeout=120_000)
    slider = tab.locator(".jp-OutputArea input[name=T]:visible").first
    # At times Lab shows no widget of cells that run while it still asks the
    # kernel for older ones (jupyter-widgets/ipywidgets, issue 3823). Cells
    # that run again show theirs.
    fold = tab.locator(
        ".jp-OutputArea [data-figure=causal] summary:visible"
    ).first
    try:
        fold.click(timeout=30_000)
        slider.wait_for(timeout=30_000)
    except TimeoutError:
        # Without the old outputs: a widget of the first run that comes late
        # would be moved, and the figure of the second run asked.
        run(tab, "notebook:clear-all-cell-outputs")
        run(tab, "notebook:run-all-cells")
        tab.get_by_text("T from Python: 6", exact=True).wait_for()
        fold.click()
    slider.scroll_into_view_if_needed()
    note.wait_for(state="detached")
    check_slider_and_trait(tab, slider)


def check_slider_and_trait(tab, slider):
    assert slider.input_value() == "6"
    slider.press("ArrowUp")
    around = "xpath=ancestor::*[contains(@class, 'av-figure')]"
    rows = slider.locator(around).locator("tbody tr")
    rows.nth(6).wait_for()
    assert rows.count() == 7, "the figure follows its slider"

    entry = tab.locator('[data-handle="dots,0,0"]:visible')
    entry.scroll_into_view_if_needed()
    for key, to in (("ArrowRight", "0,1"), ("ArrowDown", "1,1")):
        entry.press(key)
        entry = tab.locator(f'[data-handle="dots,{to}"]:visible')
        # The arrows stay in the figure, which is drawn anew first.
        expect(entry).to_be_focused()

    last = tab.locator(".jp-CodeCell").last
    last.scroll_into_view_if_needed()
    # Keys that come before the editor has the focus are Lab's shortcuts.
    editor = last.locator(".cm-content")
    editor.click()
    expect(editor).to_be_focused()
    tab.keyboard.press("Control+Enter")
    tab.get_by_text("T from Python: 7", exact=True).wait_for()

    editor.click()
    expect(editor).to_be_focused()
    tab.keyboard.press("Control+a")
    tab.keyboard.type("figure.T = 9")
    expect(editor).to_have_text("figure.T = 9")
    tab.keyboard.press("Control+Enter")
    # `wait_for_function` looks once a frame, and a busy browser may draw none
    # of a page where nothing in sight changes.
    slider.scroll_into_view_if_needed()
    expect(slider).to_have_value("9", timeout=120_000)


# --- every answer, given in JupyterLab itself --------------------------------

# Asked by the kernel of a copy, as its last cell: what each question knows,
# in the words of the page.
TELL = """
import json
from course import practice

told = {"answers": [], "slips": []}
for it in Out.values():
    if isinstance(it, practice.Question):
        typed = it.record["step"] is not None
        for values, reply in it.answers[1:] + it.answers[:1]:
            given = [*map(repr, values)] if typed else values
            if isinstance(it, practice.Predict):
                reply = it.check(it.options[values[0]])
            told["answers"].append([it.name, given, repr(reply)])
for it in [it for it in globals().values() if isinstance(it, practice.Task)]:
    told["slips"] += [
        [repr(it.check(slip)), repr(practice.Reply(False, text))]
        for slip, text in it.wrong
    ]
print(json.dumps(told))
"""
OUTPUTS = function("lab", "outputs")
TOLD = """[...jupyterapp.shell.currentWidget.content.model.cells]
  .at(-1).outputs.length > 0"""
STORED = re.compile(r'class=\\"av-question (av-[a-z]+)')
SHUT = "jupyterapp.serviceManager.sessions.shutdownAll()"


def kinds(path):
    """The kinds of questions that a page has stored."""
    return set(STORED.findall(path.read_text(encoding="utf-8")))


ASKING = [
    website.ROOT / f"{page}.ipynb"
    for page in filter(website.is_notebook, website.PAGES)
    if kinds(website.ROOT / f"{page}.ipynb")
]
# One page in each run, and all of them in the weekly one.
EVERY_DAY = max(PRACTICE, key=lambda path: len(kinds(path)))
every_asking_page = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path == EVERY_DAY else weekly)
        for path in ASKING
    ],
    ids=lambda path: path.relative_to(BOOK).with_suffix("").as_posix(),
)


def plain(text):
    return text.replace("`", "")


def said(outputs):
    """The texts of some outputs of a cell."""
    return "".join(
        output.get("text", output.get("data", {}).get("text/plain", ""))
        for output in outputs
    )


def open_filled(visit, home, path):
    """Open a copy with the solutions put in, and run all of its cells.

    Of the prose it has the title alone: other tests draw it all.
    """
    filled = practice_pages.filled(path)
    title, *cells = filled.cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    filled.cells = [title, *code, new_code_cell(TELL)]
    copy = path.relative_to(website.ROOT)
    (home / copy).parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(filled, home / copy)
    tab = visit(copy.as_posix(), 1)
    tab.evaluate("localStorage.clear()")
    tab.get_by_text("| Idle").first.wait_for()
    run(tab, "notebook:run-all-cells")
    # A call that fails on purpose ends the command, and not the run.
    tab.wait_for_function(TOLD, timeout=600_000)
    return tab


def test_the_page_of_each_run_has_every_kind_of_question():
    every = set.union(*map(kinds, PRACTICE))
    assert kinds(EVERY_DAY) == every
    assert every == {"av-matrix", "av-choice", "av-cell", "av-order"}


@every_asking_page
def test_every_answer_is_told_right_or_wrong_in_jupyterlab(
    visit, lab_folder, path
):
    """Solutions in their cells, answers in their fields, choices pressed."""
    tab = open_filled(visit, lab_folder, path)
    outputs = tab.evaluate(OUTPUTS)
    told = json.loads(said(outputs[-1][1]))
    checks = [said(of) for tags, of in outputs if FILLED in tags]
    assert all(text.startswith("✓ Right.") for text in checks), checks
    assert all(given == reply for given, reply in told["slips"])

    asked = practice_pages.forms(path)
    live = tab.locator(".jp-OutputArea form[data-question].av-live")
    live.nth(len(asked) - 1).wait_for()
    answers = told["answers"]
    assert live.count() == len(asked)
    assert {name for name, *_ in answers} == set(asked)
    given = tab.evaluate(GIVE, [[name, values] for name, values, _ in answers])
    assert given == [plain(reply) for *_, reply in answers]

    right = sum(text.startswith("✓ Right.") for text in given)
    wrong = sum(text.startswith("✗ Not ") for text in given)
    assert right == len(asked)
    assert right + wrong == len(given)
    print(
        f"{path.relative_to(BOOK).with_suffix('').as_posix():36}"
        f"{len(asked):4}{right:4}{wrong:5}"
        f"{len(checks):4}{len(told['slips']):4}"
    )
    check_enter(tab, answers)


def check_enter(tab, answers):
    """JupyterLab keeps Enter from a form: it answers all the same."""
    typed = [answer for answer in answers if isinstance(answer[1][0], str)]
    if not typed:
        return
    name, texts, reply = typed[0]
    form = tab.locator(f"form[data-question={name}].av-live")
    for field, text in zip(form.locator("input").all(), texts, strict=True):
        field.fill(text)
    field.press("Enter")
    expect(form.get_by_role("status")).to_have_text(plain(reply))
