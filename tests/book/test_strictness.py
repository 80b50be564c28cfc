"""A wrong character in a stored output turns the comparison red.

The chapters are executed and compared by ``pytest --nbval``. Here a copy of
one chapter is changed in four places, and the same command must fail for
these four cells and no other.
"""

import re
import subprocess
import sys

import nbformat

from course._colours import NARROW
from tools import website

CHAPTER = website.ROOT / "book" / "three-tokens.ipynb"


def change_digit(text):
    """`text` with its last digit before the middle changed by one."""
    places = [m.start() for m in re.finditer(r"\d", text)]
    i = places[len(places) // 2]
    return text[:i] + str((int(text[i]) + 1) % 10) + text[i + 1 :]


def compare(notebook, folder):
    path = folder / "changed.ipynb"
    nbformat.write(notebook, path)
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", "--nbval", str(path),
            "-p", "no:cacheprovider", "--rootdir", str(folder), "-c",
            "/dev/null",
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip


def outputs(notebook, holds):
    """Cells by number, with each output that `holds` accepts."""
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    return [
        (i, output)
        for i, cell in enumerate(cells)
        for output in cell.outputs
        if holds(output)
    ]


def test_each_wrong_character_fails_its_cell(tmp_path):
    notebook = nbformat.read(CHAPTER, as_version=4)
    (line, text), *_ = outputs(
        notebook, lambda o: o.output_type == "stream" and "0." in o.text
    )
    text.text = change_digit(text.text)
    (picture, drawn), (other, named), *_ = outputs(
        notebook, lambda o: "image/svg+xml" in o.get("data", {})
    )
    svg = drawn.data["image/svg+xml"]
    drawn.data["image/svg+xml"] = change_digit(svg)
    named.data["text/plain"] += "."
    third, phone = next(
        (i, output)
        for i, output in outputs(
            notebook, lambda o: NARROW in o.get("data", {})
        )
        if i not in (picture, other)
    )
    phone.data[NARROW] = change_digit(phone.data[NARROW])
    run = compare(notebook, tmp_path)
    assert run.returncode == 1
    failed = re.findall(r"^FAILED .*Cell (\d+)\b", run.stdout, re.M)
    assert sorted(map(int, failed)) == sorted({line, picture, other, third})
