"""A wrong character in a stored output turns the comparison red.

The chapters are executed and compared by ``pytest --nbval``. Here a copy of
one chapter is changed in one place, and the same command must fail and name
the cell.
"""

import re
import subprocess
import sys

import nbformat
import pytest
import website

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


def outputs(notebook, wanted):
    """Cells by number, with the output that holds what is wanted."""
    cells = [c for c in notebook.cells if c.cell_type == "code"]
    return [
        (i, output)
        for i, cell in enumerate(cells)
        for output in cell.outputs
        if wanted(output)
    ]


def test_the_chapter_as_stored_passes(tmp_path):
    run = compare(nbformat.read(CHAPTER, as_version=4), tmp_path)
    assert run.returncode == 0, run.stdout


def test_a_wrong_digit_in_a_stored_output_fails(tmp_path):
    notebook = nbformat.read(CHAPTER, as_version=4)
    i, output = outputs(
        notebook, lambda o: o.output_type == "stream" and "0." in o.text
    )[0]
    output.text = change_digit(output.text)
    run = compare(notebook, tmp_path)
    assert run.returncode == 1
    assert re.search(rf"FAILED .*Cell {i}\b", run.stdout), run.stdout


@pytest.mark.parametrize("part", ["image/svg+xml", "text/plain"])
def test_a_wrong_digit_in_a_stored_figure_fails(tmp_path, part):
    notebook = nbformat.read(CHAPTER, as_version=4)
    i, output = outputs(
        notebook, lambda o: "image/svg+xml" in o.get("data", {})
    )[0]
    text = output.data[part]
    output.data[part] = (
        change_digit(text) if part == "image/svg+xml" else text + "."
    )
    run = compare(notebook, tmp_path)
    assert run.returncode == 1
    assert re.search(rf"FAILED .*Cell {i}\b", run.stdout), run.stdout
