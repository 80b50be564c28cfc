"""Show the ways to report an error: `{report}` in a page.

It shows a link for each kind of report, if the repository is public.
"""

from html import escape

from docutils import nodes
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
    app.add_directive("report", Report)
