"""Number the figures from outlines of the pages.

To number figures, Sphinx loads the tree of each page and asks every domain
about each of its nodes, in every build. The nodes that count are few, so an
outline of a page keeps them with their sections.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.environment.collectors.toctree import TocTreeCollector

from .trees import copy_of

ASSIGN = TocTreeCollector.assign_figure_numbers


def numbered(env, node):
    """Return whether Sphinx would number a node."""
    titled = env.domains["std"].get_numfig_title
    return any(
        domain.get_enumerable_node_type(node)
        and (domain.name != "std" or titled(node))
        for domain in env.domains.values()
    )


def leaf(node):
    """Return a node with its texts, without drawings."""
    copy = copy_of(node)
    for raw in list(copy.findall(nodes.raw)):
        raw.parent.remove(raw)
    return copy


def outline(env, node):
    """Return the sections, tables of contents and numbered nodes below."""
    found = []
    for child in node.children:
        if isinstance(child, nodes.section):
            section = child.copy()
            section.extend(outline(env, child))
            found.append(section)
        elif isinstance(child, addnodes.toctree) or (
            isinstance(child, nodes.Element) and numbered(env, child)
        ):
            found.append(leaf(child))
        elif isinstance(child, nodes.Element):
            found.extend(outline(env, child))
    return found


def outlines(env):
    if not hasattr(env, "attention_site_outlines"):
        env.attention_site_outlines = {}
    return env.attention_site_outlines


def keep(app, doctree):
    root = nodes.Element()
    root.extend(outline(app.env, doctree))
    outlines(app.env)[app.env.docname] = root


def merge(app, env, docnames, other):
    outlines(env).update((name, outlines(other)[name]) for name in docnames)


def purge(app, env, docname):
    outlines(env).pop(docname, None)


def from_outlines(collector, env):
    """Let Sphinx find the outline of a page in place of its tree."""
    env.get_doctree = outlines(env).__getitem__
    try:
        return ASSIGN(collector, env)
    finally:
        del env.get_doctree


def setup(app):
    TocTreeCollector.assign_figure_numbers = from_outlines
    app.connect("doctree-read", keep)
    app.connect("env-merge-info", merge)
    app.connect("env-purge-doc", purge)
