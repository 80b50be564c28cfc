"""What is stored of a chapter, and what an edit changes in it."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import captions, refresh

ROOT = Path(__file__).resolve().parents[2]

MEASURED = {"tags": ["nbval-ignore-output"]}


def ids(notebook):
    return [cell.id for cell in refresh.normalise(notebook).cells]


def test_the_first_cell_installs_from_the_address_of_the_owner(monkeypatch):
    """Colab opens the file of the repository, not that of the site."""
    address = "https://github.com/a/b"
    old = (ROOT / "tools/first_cell.py").read_text("utf-8").strip("\n")
    owner = {"repository": address}
    monkeypatch.setattr(refresh.release, "owner", lambda: owner)
    notebook = new_notebook(cells=[new_code_cell(old), new_code_cell("1")])
    first, second = refresh.normalise(notebook).cells
    assert f"git+{address}" in first.source
    assert 'COURSE.endswith("ADDRESS")' in first.source
    assert second.source == "1"
    again = refresh.normalise(notebook).cells[0].source
    assert again == first.source
    owner["repository"] = ""
    assert refresh.normalise(notebook).cells[0].source == old


def test_an_edit_changes_no_id():
    notebook = new_notebook(cells=[new_code_cell("1"), new_markdown_cell("a")])
    before = ids(notebook)
    notebook.cells[0].source = "2"
    notebook.cells.insert(1, new_code_cell("3"))
    after = ids(notebook)
    assert [after[0], after[2]] == before
    assert after[1] not in before


def test_ids_that_are_missing_or_used_twice_are_made_anew():
    notebook = new_notebook(cells=[new_code_cell("1") for _ in range(3)])
    given = ["twice", "twice", "not an id!"]
    for cell, name in zip(notebook.cells, given, strict=True):
        cell.id = name
    nbformat.validate(refresh.normalise(notebook))
    found = ids(notebook)
    assert found[0] == "twice"
    assert len(set(found)) == 3
    assert "not an id!" not in found


def stored(tmp_path, *sources, metadata=None):
    cells = [new_code_cell(s, metadata=dict(metadata or {})) for s in sources]
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def printed(path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell.outputs[0].text for cell in cells]


def test_measured_cells_keep_their_times_until_one_is_edited(tmp_path):
    clock = "import time; print(time.perf_counter_ns())"
    path = stored(tmp_path, clock, clock + "  # again", metadata=MEASURED)
    refresh.refresh(path)
    first = printed(path)
    refresh.refresh(path)
    assert printed(path) == first
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].source += " and again"
    nbformat.write(notebook, path)
    refresh.refresh(path)
    assert not set(printed(path)) & set(first)


def test_a_chapter_that_fails_is_named_and_left_as_it_was(tmp_path, capsys):
    path = stored(tmp_path, "print(1)", "1 / 0")
    before = path.read_bytes()
    with pytest.raises(SystemExit, match=r"not refreshed: chapter\.ipynb"):
        refresh.main([str(path)])
    assert path.read_bytes() == before
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_a_figure_without_a_link_would_keep_the_number_nought():
    caption = '<div class="caption" id="fig-map">\n\n**Figure 0.0.** Map.'
    linked = 'See <a href="#fig-map">Figure 0.0</a>.'
    *_, said = captions.number_figures([caption, linked], chapter=9)
    assert said == 'See <a href="#fig-map">Figure 9.1</a>.'
    with pytest.raises(ValueError, match="must be a link to be numbered"):
        captions.number_figures([caption, "See Figure 0.0."], chapter=9)
    with pytest.raises(ValueError, match="this page has no such caption"):
        captions.number_figures([caption, linked.replace("map", "m")])


# --- an output that another processor prints otherwise -----------------------

SUM = """import numpy as np
draws = np.random.default_rng(0).normal(size=(300, 300))
total = (draws @ draws @ draws)[0, 0]"""
HASHED = """import hashlib
from IPython.display import display
name = hashlib.sha256(repr(total).encode()).hexdigest()[:10]
svg = f'<svg aria-label="A line."><path id="m{name}" d="M 0 0.25"/></svg>'
display({"image/svg+xml": svg}, raw=True)"""


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            'print("a sum\\n", f"{total:.17g}")',
            r"cell 1 \(print.*\): line 2: ' \d+\.\d+' stored, ' \d+\.\d+' now",
        ),
        (
            HASHED,
            r"cell 1 \(import hashlib\): figure 'A line\.'\s+ids, 1 of them; "
            r"first id of path: 'm\w{10}' stored, 'm\w{10}' now",
        ),
    ],
    ids=["fragile digits", "hashed id"],
)
def test_what_hangs_on_the_processor_is_refused_by_name(
    tmp_path, capsys, source, told
):
    path = stored(tmp_path, SUM, source)
    before = path.read_bytes()
    with pytest.raises(SystemExit, match=r"not refreshed: chapter\.ipynb"):
        refresh.main([str(path)])
    assert path.read_bytes() == before
    assert re.search(told, capsys.readouterr().out)


def test_fewer_digits_of_the_same_are_stored(tmp_path):
    path = stored(tmp_path, SUM, 'print(f"{total:.6g}")')
    refresh.refresh(path)
    assert nbformat.read(path, as_version=4).cells[1].outputs
