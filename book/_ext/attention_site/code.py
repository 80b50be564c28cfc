"""Highlighted code with fewer elements.

Names, operators, punctuation and spaces are read as plain text: most of the
elements of a page would be there for them.
"""

from html import escape

from myst_nb.sphinx_ import HideCodeCellNode, depart_HideCellInput
from pygments.formatters import HtmlFormatter
from pygments.token import (
    Name,
    Operator,
    Punctuation,
    Text,
    Whitespace,
)
from sphinx.highlighting import PygmentsBridge

PLAIN = (Name, Name.Namespace, Operator, Punctuation, Whitespace)


class PlainNames(HtmlFormatter):
    def format_unencoded(self, tokens, outfile):
        tokens = ((Text if kind in PLAIN else kind, v) for kind, v in tokens)
        super().format_unencoded(tokens, outfile)


def visit_hidden_cell(self, node):
    """A fold that has one name, what it shows, and not a second one."""
    classes = " ".join(["admonition", "hide", *node["classes"]])
    prompts = "".join(
        f'<p class="{state} admonition-title">{escape(node[prompt])}</p>\n'
        for state, prompt in [
            ("collapsed", "prompt_show"),
            ("expanded", "prompt_hide"),
        ]
    )
    self.body.append(
        f'<details class="{classes}">\n<summary>\n{prompts}</summary>\n'
    )


def setup(app):
    PygmentsBridge.html_formatter = PlainNames
    app.add_node(
        HideCodeCellNode,
        override=True,
        html=(visit_hidden_cell, depart_HideCellInput),
    )
