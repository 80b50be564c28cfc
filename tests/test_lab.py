"""An interactive figure in a real JupyterLab: slider and trait agree."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
import website
from nbformat.v4 import new_code_cell

CHAPTER = website.ROOT / "book" / "06-mask.ipynb"


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a free port, with a copy of a chapter."""
    # A chapter as it is, a figure with a grid of entries, and a cell that
    # asks Python what the slider did.
    notebook = nbformat.read(CHAPTER, as_version=4)
    grid = "from helpers.figures import StepThrough\nStepThrough()"
    notebook.cells.append(new_code_cell(grid))
    notebook.cells.append(new_code_cell('print("T from Python:", figure.T)'))
    nbformat.write(notebook, tmp_path / "chapter.ipynb")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = Path(sys.executable).with_name("jupyter-lab")
    arguments = [
        "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        "--IdentityProvider.token=", "--expose-app-in-browser",
    ]  # fmt: skip
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [str(command), *arguments], cwd=tmp_path, stdout=log, stderr=log
        )
        for _ in range(120):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api").close()
                break
            time.sleep(0.5)
        yield address
        server.terminate()
        server.wait(timeout=120)


def run(tab, command):
    tab.evaluate("name => window.jupyterapp.commands.execute(name)", command)


def test_a_slider_moves_the_trait_and_the_trait_moves_the_slider(lab, browser):
    tab = browser.new_page(viewport={"width": 1200, "height": 900})
    tab.goto(f"{lab}/lab/tree/chapter.ipynb")
    tab.wait_for_function("window.jupyterapp !== undefined")
    tab.get_by_text("| Idle").first.wait_for(timeout=60_000)

    run(tab, "notebook:run-all-cells")
    said = tab.get_by_text("T from Python: 6", exact=True)
    said.wait_for(timeout=90_000)
    slider = tab.locator(".jp-OutputArea input[name=T]:visible").first
    slider.scroll_into_view_if_needed()
    assert slider.input_value() == "6"
    slider.press("ArrowUp")
    around = "xpath=ancestor::*[contains(@class, 'av-figure')]"
    rows = slider.locator(around).locator("tbody tr")
    rows.nth(6).wait_for()
    assert rows.count() == 7, "the figure follows its slider"

    entry = tab.locator('[data-at="scores,0,0"]:visible')
    entry.scroll_into_view_if_needed()
    entry.focus()
    for at in ("scores,0,1", "scores,1,1"):
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
    tab.close()
