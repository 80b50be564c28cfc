"""Stored figures: what a chapter holds is what its module draws.

An executed chapter says the same, cell by cell. This needs no kernel, so that
a changed line of a drawing is found at once.
"""

import json
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from course.figures import drawing
from tests.figures.expected_figures import CLASSES

ROOT = Path(__file__).resolve().parents[2]


def stored_figures():
    """What the chapters show of each figure, by its name."""
    result = {name: [] for name in CLASSES}
    for path in [ROOT / "index.ipynb", *(ROOT / "book").glob("*.ipynb")]:
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", ()):
                html = output.get("data", {}).get("text/html", "")
                if "data-figure=" in html:
                    shown = drawing(html)
                    section = BeautifulSoup(shown, "html.parser").section
                    state = json.loads(section["data-state"])
                    name = section["data-figure"]
                    where = path.relative_to(ROOT), state, shown
                    result.setdefault(name, []).append(where)
    return result


STORED = stored_figures()


def test_every_figure_that_a_chapter_shows_is_listed():
    unknown = sorted(STORED.keys() - CLASSES.keys())
    assert not unknown, (
        f"a chapter shows {unknown}, which FOLDERS in "
        "course/figures/__init__.py does not list"
    )


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_chapter_stores_what_the_figure_draws(name):
    assert STORED[name], "no chapter shows it: add it to one, and refresh that"
    for path, state, shown in STORED[name]:
        assert CLASSES[name](**state).html() == shown, (
            f"{path} stores an older drawing; run: make refresh "
            f"CHAPTERS={path}"
        )
