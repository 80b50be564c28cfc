"""Mark the cells of pages that run in the reader's browser.

A page of a notebook says which code and which output belong to which cell of
it, by the classes `in-7` and `out-7`, and has a line for the buttons of
`site.js`. Without the files that run Python it has neither.
"""

import functools
import hashlib
import json
import re
from html import escape
from pathlib import Path

import numpy
from docutils import nodes

from course.questions.record import WORDS

from . import served

# What no browser has, by what a notebook's code mentions.
LACKS = {
    "dask": "several processes, and a page has one",
    "smollm2_path": "a published model of 98 MB and its tokenizer",
}


def number(app, doctree):
    """Name the cell of each piece of code and of each output."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code":
            for part in cell.children:
                for kind in ("source", "output"):
                    if part.get("nb_element") == f"cell_code_{kind}":
                        side = {"source": "in", "output": "out"}[kind]
                        part["classes"].append(f"{side}-{cell['cell_index']}")
                        if part.astext().startswith(WORDS[None]):
                            part["classes"].append("av-task")


def lacks(notebook):
    """Return what the code of a notebook needs that no browser has."""
    code = "".join(
        "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    )
    found = (why for word, why in LACKS.items() if word in code)
    return next(found, "")


@functools.cache
def version():
    """Return a digest of the scripts, so that no browser keeps old ones."""
    paths = sorted([*served.OWN.glob("*.js"), *served.OWN.glob("*.css")])
    texts = b"".join(path.read_bytes() for path in paths)
    return hashlib.sha256(texts).hexdigest()[:8]


def add_line(app, pagename, templatename, context, doctree):
    """Put the line for the buttons below the title."""
    lesson = doctree is not None and pagename != app.config.root_doc
    path = Path(app.env.doc2path(pagename)) if lesson else None
    if path is None or path.suffix != ".ipynb" or not served.folder():
        return
    why = lacks(json.loads(path.read_text(encoding="utf-8")))
    line = (
        f'<div class="av-python" id="check" data-version="{version()}" '
        f'data-numpy="{numpy.__version__}" '
        f'data-lacks="{escape(why)}"><noscript>Without scripts the code of '
        "this page does not run here. Download the page as a notebook "
        "instead.</noscript></div>"
    )
    context["body"] = re.sub("</h1>", f"</h1>{line}", context["body"], count=1)


def setup(app):
    # Before other parts move code and outputs.
    app.connect("doctree-read", number, priority=100)
    app.connect("html-page-context", add_line)
