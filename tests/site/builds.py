"""Sphinx in a process that has imported it: half of a small build's time."""

import contextlib
import multiprocessing
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from sphinx.cmd.build import build_main

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([
    __name__, "sphinx.builders.html", "myst_nb.sphinx_", "sphinx_book_theme",
    "sphinx_copybutton", "sphinx_design", "sphinx_exercise", "sphinx_proof",
])  # fmt: skip


def _run(folder, out, said):
    os.chdir(folder)
    with (
        open(said, "w", encoding="utf-8") as file,
        contextlib.redirect_stderr(file),
        contextlib.redirect_stdout(file),
    ):
        code = build_main(
            ["-q", "-W", "--keep-going", "-d", f"{out}.tmp", ".", out]
        )
    sys.exit(code)


def build(folder, out="_build"):
    """Build the pages of a folder, with warnings as errors."""
    said = Path(folder, "said.log")
    process = FORKS.Process(target=_run, args=(folder, out, said))
    process.start()
    process.join()
    text = said.read_text(encoding="utf-8")
    run = SimpleNamespace(returncode=process.exitcode, stderr=text)
    return run, folder / out
