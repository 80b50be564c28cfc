"""Let a link such as `bibliography.md#key` lead to an ``<a id="key">``.

MyST looks for the fragment of such a link in a table of each page. This module
adds the sections, under the ids that the page gives them, and the anchors of
figures: `heads.ipynb#figure-heads` leads to the figure.
"""

import re

from docutils import nodes

ANCHOR = r'<(?:a|section) id="([^"]+)"'


def register_anchors(app, doctree):
    """Add the anchors of a page to the targets that MyST knows."""
    found = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for raw in doctree.findall(nodes.raw):
        for name in re.findall(ANCHOR, raw.astext()):
            found[name] = (0, name, name)
    for section in doctree.findall(nodes.section):
        for name in section["ids"]:
            found[name] = (0, name, section[0].astext())


def setup(app):
    app.connect("doctree-read", register_anchors)
