"""Store each page's tree by itself.

A node knows the document that it was made for. Where the parts of a page were
parsed in a document of their own, or are copied for later, that document, and
through its settings the whole environment, was stored beside the page: two
thirds of all that a build wrote and read again.
"""


def copy_of(node):
    """Return a copy of a node and what is below it that leads nowhere else."""
    copy = node.deepcopy()
    for part in copy.findall():
        part.document = None
    return copy


def set_apart(app, doctree):
    for node in doctree.findall():
        node.document = doctree
    # A reference to an exercise needs its title from the registry.
    for entry in getattr(app.env, "sphinx_exercise_registry", {}).values():
        if entry["docname"] == app.env.docname:
            entry["node"] = copy_of(entry["node"])


def setup(app):
    app.connect("doctree-read", set_apart)
