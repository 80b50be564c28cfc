"""Execute chapters and store their outputs in a normal form.

A second run gives the same bytes: cells keep their ids, versions are left out,
and every execution count is 0, so that a new cell changes no line of the
others. An output that differs in another numeric environment of the same
machine is refused, because its check would fail on another processor. A
measured cell (tag ``nbval-ignore-output``) runs but keeps its stored times.
Either all measured cells of a chapter keep their times or none does, so that
all times come from one run. To measure again, edit one of these cells or clear
its output.
"""

import copy
import hashlib
import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools import chapters, environments, release, teaching
from tools.captions import number_figures
from tools.citations import PAGE, name_citations, page
from tools.differences import in_notebook
from tools.reading import state_time

ROOT = Path(__file__).resolve().parent.parent
KEPT = ("tags", "mystnb", "measured")
# JupyterLab folds the same cells as the site if their metadata say so.
FOLDED = {
    "hide-cell": {"source_hidden": True, "outputs_hidden": True},
    "hide-input": {"source_hidden": True},
    "hide-output": {"outputs_hidden": True},
    "remove-input": {"source_hidden": True},
    "remove-cell": {"source_hidden": True},
}
WIDGET = "application/vnd.jupyter.widget-view+json"


def digest(source):
    """Return eight characters that depend only on the text of a cell."""
    return hashlib.sha256(source.strip("\n").encode()).hexdigest()[:8]


def cell_id(cell, taken):
    """Return the cell's id, so that edits show as edits, or a new id."""
    wanted = cell.get("id", "")
    if not re.fullmatch(r"[\w-]{1,64}", wanted) or wanted in taken:
        wanted = digest(cell.source)
    while wanted in taken:
        wanted = digest(wanted)
    taken.add(wanted)
    return wanted


def cell_metadata(metadata):
    """Return the metadata to keep, and the folds that the tags imply."""
    kept = {key: metadata[key] for key in metadata if key in KEPT}
    folds = {}
    for tag in kept.get("tags", []):
        folds |= FOLDED.get(tag, {})
    return {**kept, **({"jupyter": folds} if folds else {})}


def merge_streams(outputs):
    """Join adjacent pieces of a stream, whose sizes vary from run to run."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output.output_type == last.output_type == "stream"
            and output.name == last.name
        ):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def fill_in(notebook, path):
    """Fill in numbers, names and times that a text takes from elsewhere."""
    state_time(notebook.cells)
    teaching.state_exercises(notebook.cells)
    prose = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    texts = [
        chapters.number_chapters(name_citations(cell.source)) for cell in prose
    ]
    for cell, text in zip(
        prose, number_figures(texts, chapters.number(path)), strict=True
    ):
        cell.source = text


def first_cell():
    """Return the first code cell of every notebook.

    Colab reads it from the repository, so it holds the owner's address.
    """
    text = (ROOT / "tools" / "first_cell.py").read_text("utf-8").strip("\n")
    address = release.owner().get("repository")
    return text.replace("ADDRESS", address, 1) if address else text


def normalise(notebook, path=None):
    """Keep only the parts that readers see or nbval compares."""
    taken = set()
    fill_in(notebook, path)
    for cell in notebook.cells:
        if cell.source.startswith("# Finds the package of the course."):
            cell.source = first_cell()
    for cell in notebook.cells:
        cell.source = cell.source.strip("\n")
        cell.metadata = cell_metadata(cell.metadata)
        cell.id = cell_id(cell, taken)
        if cell.cell_type != "code":
            cell.pop("attachments", None)
            continue
        cell.execution_count = 0  # nbval skips a cell without one
        cell.outputs = merge_streams(cell.outputs)
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = 0
            # Drop the id of a live widget; the page shows the figure's HTML.
            output.get("data", {}).pop(WIDGET, None)
            if output.output_type == "error":
                output.traceback = [f"{output.ename}: {output.evalue}"]
    notebook.metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def is_measured(cell):
    return "nbval-ignore-output" in cell.metadata.get("tags", [])


def measured(notebook):
    """Return measured cells' outputs by index, or none if one is due."""
    kept = {}
    for place, cell in enumerate(notebook.cells):
        if is_measured(cell):
            # The stored times are valid only for the cell's text at that time.
            same = cell.metadata.get("measured") == digest(cell.source)
            if not (same and cell.outputs):
                return {}
            kept[place] = cell.outputs
    return kept


def execute(notebook, path, env=os.environ):
    """Run a notebook in place, in a new kernel and in its own folder."""
    client = NotebookClient(
        notebook,
        timeout=600,  # enough for a cell that trains on a busy machine
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute(env=dict(env))


def refuse_what_differs(stored, again):
    """Raise an error if a second environment printed something else."""
    found = [f"  {lines}" for lines in in_notebook(stored, again)]
    if found:
        raise ValueError(
            "\n".join(
                [
                    "another numeric environment of this machine (now) prints "
                    "something else:",
                    *found,
                    "Print fewer digits, or compute exactly what is printed.",
                ]
            )
        )


def refresh(path):
    """Execute one chapter twice, and store its outputs if they agree."""
    notebook = nbformat.read(path, as_version=4)
    kept = measured(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
        if is_measured(cell):
            cell.metadata["measured"] = digest(cell.source)
    again = copy.deepcopy(notebook)
    execute(notebook, path)
    execute(again, path, environments.other())
    for place, outputs in kept.items():
        notebook.cells[place].outputs = outputs
    notebook = normalise(notebook, path)
    refuse_what_differs(notebook, normalise(again, path))
    text = nbformat.writes(notebook) + "\n"
    changed = path.read_text(encoding="utf-8") != text
    path.write_text(text, encoding="utf-8")
    print(f"{'changed' if changed else 'same   '}  {path.name}", flush=True)


def notebooks():
    """Return every notebook of the book, without JupyterLab's copies."""
    pages = sorted((ROOT / "book").rglob("*.ipynb"))
    copies = ".ipynb_checkpoints"
    return [ROOT / "index.ipynb", *(p for p in pages if copies not in p.parts)]


def write_texts():
    """Fill in derived texts, and execute nothing.

    The numbers of chapters and figures, the names of works, reading times,
    the bibliography, and how the course is cited.
    """
    release.write_metadata()
    PAGE.write_text(page(), encoding="utf-8")
    for path in (ROOT / "book").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        text = chapters.number_chapters(name_citations(text))
        path.write_text(text, encoding="utf-8")
    for path in notebooks():
        notebook = normalise(nbformat.read(path, as_version=4), path)
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    teaching.write()


def main(names):
    """Refresh the named chapters, or all. A failing chapter is not changed."""
    failed = []
    for path in [Path(name).resolve() for name in names] or notebooks():
        try:
            refresh(path)
        except (CellExecutionError, OSError, ValueError) as error:
            failed.append(path.name)
            print(f"FAILED   {path.name}, left as it was\n{error}")
    if failed:
        sys.exit(f"not refreshed: {', '.join(failed)}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--texts"]:
        main(sys.argv[1:])
    write_texts()
