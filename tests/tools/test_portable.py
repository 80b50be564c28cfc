"""The environments of `make portable`, and what a failing cell says."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import differences

ROOT = Path(__file__).resolve().parents[2]


FIGURE = (
    '<svg aria-label="A line."><path id="f-1" d="M 0 {}"/>'
    '<text fill="{}">keys</text></svg>'
)
STORED = FIGURE.format("1.24 2", "#000")


@pytest.mark.parametrize(
    ("kind", "stored", "now", "told"),
    [
        (
            "text",
            "a\nb 1\nc",
            "a\nb 2\nd",
            ["line 2", "'b 1'", "'b 2'", "2 l"],
        ),
        ("text", "a\nb", "a", ["line 2", "'b' stored", "no such line"]),
        ("text/html", "x" * 999 + "1", "x" * 999 + "2", ["x1' s", "x2' n"]),
        (
            "image/svg+xml",
            STORED,
            STORED.replace("1.24", "1.25").replace("f-1", "f-2"),
            ["'A line.'", "'f-1' stored, 'f-2' now", "1.24 stored, 1.25 now"],
        ),
        (
            "image/svg+xml",
            STORED,
            STORED.replace(" 2", " -3.5"),
            ["'A line.'", "numbers", "d of path: 2 stored, -3.5 now"],
        ),
        (
            "image/svg+xml",
            STORED,
            STORED.replace("keys", "key"),
            ["words", "'keys' stored, 'key' now"],
        ),
        (
            "image/svg+xml",
            STORED,
            STORED.replace("#000", "#00f"),
            ["style", "fill of text: '#000' stored, '#00f' now"],
        ),
        (
            "image/svg+xml",
            STORED,
            STORED.replace("</svg>", "<g/></svg>"),
            ["'A line.'", "4 parts stored, 5 now"],
        ),
        ("image/svg+xml", STORED, STORED + "\n", ["'A line.'", "layout"]),
    ],
)
def test_what_differs_is_said(kind, stored, now, told):
    said = "\n".join(differences.tell(kind, stored, now))
    assert len(said) < 400
    for words in told:
        assert words in said


def test_a_failing_chapter_names_figure_cell_and_number(tmp_path):
    cell = new_code_cell(
        "from IPython.display import display\n"
        f'display({{"image/svg+xml": {STORED!r}}}, raw=True)',
        execution_count=1,
    )
    other = {"image/svg+xml": STORED.replace("1.24", "1.26")}
    cell.outputs = [new_output("display_data", data=other)]
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=[cell]), path)
    done = subprocess.run(
        [
            *[sys.executable, "-m", "pytest", "--nbval", "-p", "no:xdist"],
            *["-p", "no:cacheprovider", "-p", "conftest", path],
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    for words in ("Cell 0", "'A line.'", "d of path: 1.26 stored, 1.24 now"):
        assert words in done.stdout
