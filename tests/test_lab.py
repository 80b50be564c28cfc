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
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import sync_playwright


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a free port, with one small notebook."""
    cells = [
        new_code_cell("from helpers.figures import CausalHeatmap"),
        new_code_cell("figure = CausalHeatmap(T=6)\nfigure"),
        new_code_cell("figure.T = 9"),
        new_code_cell('print("T from Python:", figure.T)'),
    ]
    notebook = new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
    }
    nbformat.write(notebook, tmp_path / "figure.ipynb")
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
        server.wait(timeout=20)


def run(tab, command):
    tab.evaluate("name => window.jupyterapp.commands.execute(name)", command)


def test_a_slider_moves_the_trait_and_the_trait_moves_the_slider(lab):
    with sync_playwright() as playwright:
        browser = website.launch(playwright)
        tab = browser.new_page()
        tab.goto(f"{lab}/lab/tree/figure.ipynb")
        tab.locator(".jp-Notebook .jp-CodeCell").nth(3).wait_for()
        tab.wait_for_function("window.jupyterapp !== undefined")
        tab.get_by_text("| Idle").first.wait_for(timeout=60_000)

        run(tab, "notebook:run-all-cells")
        slider = tab.locator(".jp-OutputArea input[name=T]")
        slider.wait_for(timeout=60_000)
        output = tab.locator(".jp-CodeCell").nth(3).locator(".jp-OutputArea")
        output.get_by_text("T from Python: 9").wait_for()
        assert slider.input_value() == "9", "the trait moved the slider"

        slider.press("ArrowUp")
        tab.locator(".jp-CodeCell").nth(3).locator(".cm-content").click()
        tab.keyboard.press("Control+Enter")
        output.get_by_text("T from Python: 10").wait_for()
        assert tab.locator(".jp-OutputArea .av-grid").count() == 1
        browser.close()
