"""Highlighted code with fewer elements, and folds that belong together.

Names, operators, punctuation and spaces are read as plain text: most of the
elements of a page would be there for them.

A cell holds one idea, so what stands before a picture is often several
folded cells. Neighbours with the same `code_prompt_show` are one fold.
"""

from html import escape

from docutils import nodes
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
from sphinx.transforms.post_transforms import SphinxPostTransform

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


def only_fold(cell):
    """The fold that a cell consists of; None if anything is in sight."""
    is_cell = isinstance(cell, nodes.container) and len(cell) == 1
    fold = cell[0] if is_cell else None
    return fold if isinstance(fold, HideCodeCellNode) else None


def join_folds(document):
    """Put a fold into the next one, where the two have one label.

    A cell with an output in sight ends a fold: the output stays below it.
    """
    for fold in list(document.findall(HideCodeCellNode)):
        cell = fold.parent
        if only_fold(cell) is None:
            continue
        after = cell.next_node(descend=False, siblings=True)
        is_cell = isinstance(after, nodes.container) and after.children
        following = after[0] if is_cell else None
        if isinstance(following, HideCodeCellNode) and (
            following["prompt_show"] == fold["prompt_show"]
        ):
            following[:0] = fold.children
            cell.parent.remove(cell)


class JoinFolds(SphinxPostTransform):
    """After MyST-NB has made the folds."""

    default_priority = 200
    formats = ("html",)

    def run(self, **kwargs):
        join_folds(self.document)


def setup(app):
    app.add_post_transform(JoinFolds)
    PygmentsBridge.html_formatter = PlainNames
    app.add_node(
        HideCodeCellNode,
        override=True,
        html=(visit_hidden_cell, depart_HideCellInput),
    )
