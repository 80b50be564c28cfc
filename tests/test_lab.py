"""The book in a real JupyterLab: it reads, and its figures follow Python."""

import contextlib
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
import website
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

BOOK = website.ROOT / "book"
NOTEBOOKS = [website.ROOT / "index.ipynb", *sorted(BOOK.glob("*.ipynb"))]
CHAPTER = "mask.ipynb"
# What a directive of the book is drawn as.
DRAWN = {
    "admonition": "aside.myst-admonition",
    "dropdown": "details",
    "prf:proposition": "aside.myst-proof",
    "prf:proof": "aside.myst-proof",
    "grid": ".grid",
    "grid-item-card": ".myst-card",
}
DIRECTIVE = re.compile(r"^ *(?::{3,}|`{3,})\{([^}]+)\}", re.M)
# Every cell is drawn at once, and nothing asks for the reader's attention.
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": '{"windowingMode": "none"}',
    "@jupyterlab/apputils-extension/notification": '{"fetchNews": "false"}',
}


def read(path):
    return nbformat.read(path, as_version=4)


def prose(path):
    cells = read(path).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def boxes():
    """Every cell of the book that has a directive."""
    written = [text for path in NOTEBOOKS for text in prose(path)]
    return [text for text in written if DIRECTIVE.search(text)]


def write_copies(folder):
    """The home page, a chapter with two more cells, and every box."""
    (folder / "book").mkdir()
    shutil.copy(website.ROOT / "index.ipynb", folder)
    shutil.copy(BOOK / "bibliography.md", folder / "book")
    shutil.copy(BOOK / "three-tokens.ipynb", folder / "book")
    # A figure with a grid of entries, and a cell that asks Python what the
    # slider did.
    chapter = read(BOOK / CHAPTER)
    grid = "from helpers.figures import StepThrough\nStepThrough()"
    chapter.cells.append(new_code_cell(grid))
    chapter.cells.append(new_code_cell('print("T from Python:", figure.T)'))
    nbformat.write(chapter, folder / "book" / CHAPTER)
    cells = [new_markdown_cell(text) for text in boxes()]
    nbformat.write(new_notebook(cells=cells), folder / "book" / "boxes.ipynb")


def environment(folder):
    """Settings, workspaces and signatures of its own."""
    for name, text in SETTINGS.items():
        path = folder / "config/lab/user-settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".jupyterlab-settings").write_text(text)
    return {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
    }


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on a free port, with copies of the book's notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    home = tmp_path_factory.mktemp("home")
    write_copies(folder)
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
            cwd=folder,
            env=environment(home),
            stdout=log,
            stderr=log,
        )
        for _ in range(120):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api").close()
                break
            time.sleep(0.5)
        yield address
        server.terminate()
        server.wait(timeout=120)


@pytest.fixture
def visit(lab, browser):
    """Open a notebook with so many cells of prose, and wait for the last."""
    tabs = []

    def visit(path, cells):
        tab = browser.new_page(viewport={"width": 1200, "height": 900})
        tabs.append(tab)
        tab.goto(f"{lab}/lab/workspaces/{len(tabs)}/tree/{path}?reset")
        drawn = tab.locator(".jp-MarkdownCell .myst")
        drawn.nth(cells - 1).wait_for(state="attached", timeout=120_000)
        return tab

    yield visit
    for tab in tabs:
        tab.close()


def run(tab, command):
    tab.evaluate("name => window.jupyterapp.commands.execute(name)", command)


# The text of a formula stands in its MathML once more.
READ = """cells => cells.map(cell => {
  const copy = cell.cloneNode(true);
  for (const part of copy.querySelectorAll(".katex, code, pre")) part.remove();
  return copy.textContent;
}).join("\\n")"""


def assert_drawn(tab, written):
    """Nothing of `written` stands there as it was typed."""
    cells = tab.locator(".jp-MarkdownCell .myst")
    assert cells.count() == len(written)
    shown = cells.evaluate_all(READ)
    for raw in (":::", "```", "{cite", "$$", "Unknown", "]("):
        assert raw not in shown, f"{raw} stands in the prose"
    assert tab.locator(".katex").count() > 0
    assert tab.locator(".katex-error").count() == 0


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
    ).wait_for(timeout=60_000)


def test_the_home_page_leads_to_a_chapter_and_that_to_the_bibliography(visit):
    tab = visit("index.ipynb", len(prose(website.ROOT / "index.ipynb")))
    tab.get_by_role("link", name="Start by hand:").click()
    current_tab(tab, "three-tokens.ipynb")
    tab.get_by_role("link", name="Vaswani et al. 2017").first.click()
    current_tab(tab, "bibliography.md")
    tab.locator(".jp-MarkdownViewer", has_text="Ashish Vaswani").wait_for()


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
    note.wait_for()
    assert tab.locator(".jp-OutputArea [type=range]:visible").count() == 0
    tab.get_by_text("| Idle").first.wait_for(timeout=60_000)
    run(tab, "notebook:run-all-cells")
    tab.get_by_text("T from Python: 6", exact=True).wait_for(timeout=120_000)
    slider = tab.locator(".jp-OutputArea input[name=T]:visible").first
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

    entry = tab.locator('[data-at="dots,0,0"]:visible')
    entry.scroll_into_view_if_needed()
    entry.focus()
    for at in ("dots,0,1", "dots,1,1"):
        tab.keyboard.press("ArrowDown" if at[-3] == "1" else "ArrowRight")
        focus = tab.evaluate("document.activeElement.dataset.at")
        assert focus == at, "the arrows stay in the figure"

    last = tab.locator(".jp-CodeCell").last
    last.scroll_into_view_if_needed()
    last.locator(".cm-content").click()
    tab.keyboard.press("Control+Enter")
    tab.get_by_text("T from Python: 7", exact=True).wait_for()

    last.locator(".cm-content").click()
    tab.keyboard.press("Control+a")
    tab.keyboard.type("figure.T = 9")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_function(
        "[...document.querySelectorAll('.jp-OutputArea input[name=T]')]"
        ".some(field => field.value === '9')"
    )
