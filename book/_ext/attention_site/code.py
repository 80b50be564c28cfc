"""Highlight code with fewer elements, and join folds that belong together.

Names, operators, punctuation and spaces get no element of their own, because
most of a page's elements would be theirs.

A cell holds one idea, so several folded cells often precede a figure.
Neighbouring cells with the same `code_prompt_show` become one fold.
"""

import re
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

from .roles import in_code

LABEL = re.compile(r"\A(# .+): click to open$", re.M)
PLAIN = (Name, Name.Namespace, Operator, Punctuation, Whitespace)


class PlainNames(HtmlFormatter):
    def format_unencoded(self, tokens, outfile):
        tokens = ((in_code(kind, v), v) for kind, v in tokens)
        tokens = ((Text if kind in PLAIN else kind, v) for kind, v in tokens)
        super().format_unencoded(tokens, outfile)


def visit_hidden_cell(self, node):
    """Write a fold whose summary names its contents once.

    On paper nothing can be shown or hidden, so the verb is left out there.
    """
    classes = " ".join(["admonition", "hide", *node["classes"]])
    prompts = "".join(
        f'<p class="{state} admonition-title">{escape(node[prompt])}</p>\n'
        for state, prompt in [
            ("collapsed", "prompt_show"),
            ("expanded", "prompt_hide"),
        ]
    )
    what = escape(node["prompt_show"].removeprefix("Show "))
    self.body.append(
        f'<details class="{classes}">\n'
        f'<summary data-paper="{what[:1].upper()}{what[1:]}">\n'
        f"{prompts}</summary>\n"
    )


def fold_of(cell):
    """Return the fold that a cell begins with, or None."""
    is_cell = isinstance(cell, nodes.container) and len(cell) > 0
    return cell[0] if is_cell and type(cell[0]) is HideCodeCellNode else None


def join_folds(document):
    """Merge each fold into the next one if both have the same label.

    A cell with a visible output ends the fold, so that the output follows it.
    """
    for cell in list(document.findall(nodes.container)):
        fold = fold_of(cell)
        after = cell.next_node(descend=False, siblings=True)
        following = fold_of(after)
        if fold is None or following is None or len(cell) > 1:
            continue
        if fold["prompt_show"] == following["prompt_show"]:
            following[:0] = fold.children
            cell.parent.remove(cell)


def shorten_labels(document):
    """Drop the request to click, which a label makes for JupyterLab only."""
    for fold in document.findall(HideCodeCellNode):
        for code in fold.findall(nodes.literal_block):
            text = LABEL.sub(r"\1", code.astext())
            code.rawsource = text
            code[:] = [nodes.Text(text)]


class JoinFolds(SphinxPostTransform):
    """Run after MyST-NB has made the folds."""

    default_priority = 200
    formats = ("html",)

    def run(self, **kwargs):
        join_folds(self.document)
        shorten_labels(self.document)


def setup(app):
    app.add_post_transform(JoinFolds)
    PygmentsBridge.html_formatter = PlainNames
    app.add_node(
        HideCodeCellNode,
        override=True,
        html=(visit_hidden_cell, depart_HideCellInput),
    )
