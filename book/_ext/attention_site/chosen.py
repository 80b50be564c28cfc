"""Let a book contain only some chapters of the course, and link to the others.

A book with only some chapters lists them in `_toc.yml` and keeps the files of
the others, so that changes of the whole course can be merged. Its texts still
refer to the missing chapters. Such a link leads to `whole_course`, the address
of a site with all chapters; if there is no such address, the link becomes
plain text. The number in a link is replaced by the chapter's title, because
the book numbers its own chapters.
"""

import re
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx import addnodes

NUMBER = re.compile(r"(chapters? )?\d+", re.IGNORECASE)


def page_of(link, here):
    """Return the page that a MyST link leads to, as Sphinx names pages."""
    target = link.get("reftarget") or ""
    if link.get("refdomain") == "doc":
        return target
    parts = Path(here).parent.parts
    for part in Path(target.partition("#")[0]).parts:
        parts = parts[:-1] if part == ".." else (*parts, part)
    return "/".join(parts)


def source_of(app, page):
    """Return the file of a page that this book leaves out, or None."""
    if page in app.env.found_docs:
        return None
    files = [Path(app.srcdir, page + end) for end in (".ipynb", ".md")]
    return next((file for file in files if file.is_file()), None)


def title(file):
    """Return the heading that a page begins with."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = nbformat.reads(text, as_version=4).cells[0].source
    return re.search(r"^# (.+)", text, re.MULTILINE)[1]


def lead_elsewhere(app, doctree):
    """Replace the links to pages that this book leaves out."""
    whole = app.config.whole_course
    for link in list(doctree.findall(addnodes.pending_xref)):
        page = page_of(link, app.env.docname)
        file = source_of(app, page)
        if file is None:
            continue
        said = link.astext()
        if not said or NUMBER.fullmatch(said):
            said = f"“{title(file)}”"
        if whole:
            section = link.get("reftargetid")
            at = f"{whole.rstrip('/')}/{page}.html"
            at += f"#{section}" if section else ""
            new = nodes.reference("", said, refuri=at, internal=False)
        else:
            new = nodes.inline("", said)
        link.replace_self(new)


def setup(app):
    app.add_config_value("whole_course", "", "env", str)
    app.connect("doctree-read", lead_elsewhere)
