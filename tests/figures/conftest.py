"""What the tests of one figure ask for: states, and how they are shown."""

import pytest

from course import figures
from tests.figures import expected_figures
from tools import website


@pytest.fixture(scope="session")
def look():
    """State, numbers by the helpers, and result of a figure's settings."""
    return expected_figures.look


@pytest.fixture(scope="session")
def drawn_states():
    """First, chosen and random states of a figure, each with its numbers."""
    return lambda name, n=None: [
        expected_figures.look(name, settings)[:2]
        for settings in expected_figures.every_state(name)[:n]
    ]


@pytest.fixture
def page_in_a_folder(tmp_path):
    """The address of a page with a figure, in a folder with no server."""

    def address(name):
        (tmp_path / "figures").mkdir()
        for file, text in figures.scripts(name).items():
            (tmp_path / "figures" / file).write_text(text, encoding="utf-8")
        site = website.ROOT / "book" / "_static" / "site.js"
        (tmp_path / "site.js").write_bytes(site.read_bytes())
        page = tmp_path / "index.html"
        page.write_text(
            "<!doctype html><html lang=en><meta charset=utf-8><title>F</title>"
            '<meta name="viewport" content="width=device-width">'
            f"<style>{figures.styles(name)}</style>"
            f"<main>{expected_figures.CLASSES[name]().html()}</main>"
            "<script defer src=site.js></script></html>",
            encoding="utf-8",
        )
        return page.as_uri()

    return address
