"""Write the repository's address into the notebooks that readers download.

The first code cell of a chapter (tools/first_cell.py) installs the package
from the repository if it is missing. The notebooks of a site name the
repository from which the site is built, even if owner.yml names another.
"""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

from .launch import repository

FROM = re.compile(r'(?<=@ git\+)[^"\\]+')


def addressed(notebook, address):
    """Return the notebook with the address in its first cell."""
    found, count = FROM.subn(address, notebook, count=1)
    if not count:
        raise ExtensionError(
            "attention_site.download: a notebook lacks the first cell, "
            "tools/first_cell.py"
        )
    return found


def fill_in(app):
    """Write the address into every notebook that the site offers."""
    address = repository(app.srcdir)
    if address is None:
        return
    for path in sorted(Path(app.outdir, "_sources").rglob("*.ipynb")):
        notebook = path.read_text(encoding="utf-8")
        path.write_text(addressed(notebook, address), encoding="utf-8")
