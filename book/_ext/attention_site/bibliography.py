"""The bibliography in the order of the alphabet, corporate authors too.

BibTeX keeps a corporate name together by braces, and Pybtex sorts the braces
after the letter z.
"""

from docutils import nodes
from pybtex.plugin import register_plugin
from pybtex.style.formatting import plain
from pybtex.style.sorting import author_year_title


class ByName(author_year_title.SortingStyle):
    def person_key(self, person):
        return super().person_key(person).strip("{} ")


class Style(plain.Style):
    default_sorting_style = "by_name"


def _alone(neighbour):
    return not isinstance(neighbour, nodes.citation)


def visit_work(self, node):
    """A work as an item of a list: docutils gives it a deprecated role."""
    if _alone(node.previous_sibling()):
        self.body.append('<div role="list" class="citation-list">\n')
    self.body.append(
        self.starttag(node, "div", CLASS="citation", role="listitem")
    )


def depart_work(self, node):
    last = _alone(node.next_node(descend=False, siblings=True))
    self.body.append("</div>\n" * (1 + last))


def setup(app):
    register_plugin("pybtex.style.sorting", "by_name", ByName)
    register_plugin("pybtex.style.formatting", "by_name", Style)
    app.add_node(nodes.citation, override=True, html=(visit_work, depart_work))
