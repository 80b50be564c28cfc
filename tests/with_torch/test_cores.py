"""Each lesson's "The same in PyTorch", run after the code of its core.

`make test-torch` runs this where PyTorch is installed. The block is taken from
the page as it is, and its last line compares with the results of the page.
"""

import nbformat
import pytest

from tests.book.test_chapters import page
from tests.book.test_core import SAME, read, same_in_torch
from tools import reading, refresh

pytest.importorskip("torch", minversion="2.0")


def run_core(path, block):
    notebook = nbformat.v4.new_notebook()
    cells = reading.core(reading.body(read(path).cells))
    notebook.cells = [
        nbformat.v4.new_code_cell(cell["source"], metadata=cell["metadata"])
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    notebook.cells.append(nbformat.v4.new_code_cell(block))
    refresh.execute(notebook, path)


@pytest.mark.parametrize("path", SAME, ids=page)
def test_pytorch_gives_the_same(path):
    run_core(path, same_in_torch(path))
