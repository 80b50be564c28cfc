"""A chapter to download knows the repository that it comes from.

A chapter's first code cell, tools/first_cell.py, finds the package of the
course, or installs it from the repository. Only a build knows its address.
"""

from pathlib import Path

from sphinx.errors import ExtensionError

from .launch import repository


def addressed(notebook, address):
    """The text of a notebook whose first cell names the repository."""
    found = notebook.replace("git+ADDRESS", f"git+{address}")
    if f"git+{address}" not in found:
        raise ExtensionError(
            "attention_site.download: a notebook lacks the first cell, "
            "tools/first_cell.py"
        )
    return found


def fill_in(app, exception):
    """Name the repository in each notebook that the site offers."""
    address = repository(app.srcdir)
    if exception is not None or address is None:
        return
    for path in sorted(Path(app.outdir, "_sources").rglob("*.ipynb")):
        notebook = path.read_text(encoding="utf-8")
        path.write_text(addressed(notebook, address), encoding="utf-8")


def setup(app):
    app.connect("build-finished", fill_in)
