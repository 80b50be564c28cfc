"""Show the course's own errata, and the ways to report another one.

* `{errata} FILE` shows the entries of a YAML file, page by page. An entry has
  `page` (None for several pages), `said` (the old words of the page) or `did`
  (a wrong check or picture), `right`, and `until`, the date of the correction.
* `{report}` shows a link for each kind of report, if the repository is public.
"""

from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from .launch import repository

# The names of the forms in .github/ISSUE_TEMPLATE, and what the links say.
KINDS = {
    "wrong-number": "A number is wrong",
    "not-understood": "I did not understand something",
    "broken-figure": "A figure does not work",
}


def form(address):
    """Return the address of a repository's form, and the kind of its host."""
    if "//github.com/" in address:
        return f"{address}/issues/new", "github"
    return f"{address}/-/issues/new", "gitlab"


def list_item(entry):
    """Return one entry as an item of a list, in Markdown."""
    if "said" in entry:
        stop = "" if entry["said"].endswith(".") else "."
        was = f"It said “{entry['said']}”{stop}"
    else:
        was = entry["did"]
    return f"* *Until {entry['until']}.* {was} {entry['right'].strip()}"


def listed(entries, docname):
    """Return the entries in Markdown, under a link to each page."""
    pages = dict.fromkeys(entry["page"] for entry in entries)
    up = "../" * docname.count("/")
    lines = []
    for page in pages:
        lines += [f"**[]({up}{page})**" if page else "**Several pages**", ""]
        lines += [
            list_item(entry) for entry in entries if entry["page"] == page
        ]
        lines.append("")
    return lines


class Errata(SphinxDirective):
    required_arguments = 1

    def run(self):
        path = Path(self.env.srcdir, "book", self.arguments[0])
        self.env.note_dependency(str(path))
        entries = yaml.safe_load(path.read_text("utf-8"))
        lines = StringList(listed(entries, self.env.docname), str(path))
        node = nodes.Element()
        self.state.nested_parse(lines, self.content_offset, node)
        return node.children


class Report(SphinxDirective):
    def run(self):
        address = repository(self.env.srcdir)
        if address is None:
            text = (
                "This copy was not built from a public repository. Write to "
                "the person who gave it to you."
            )
            return [nodes.paragraph("", text)]
        new, host = form(address)
        items = [
            f'<li><a class="report-{host}" data-form="{kind}" '
            f'href="{escape(new)}">{said}</a></li>'
            for kind, said in KINDS.items()
        ]
        return [nodes.raw("", f"<ul>{''.join(items)}</ul>", format="html")]


def setup(app):
    app.add_directive("errata", Errata)
    app.add_directive("report", Report)
