"""Highlight code with fewer elements, and move folded code out of the way.

Names, operators, punctuation and spaces get no element of their own, because
these would be most of a page's elements.

Since a cell holds one idea, several folded cells often precede a figure.
Neighbouring cells with the same `code_prompt_show` become one fold.

So that no folded code separates a sentence from its picture, the code that
draws the picture and the folds before it become a tab below the picture. A
table of verdicts is such a picture.
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


# Sphinx creates a formatter for each piece of code, and each would compute the
# classes of all tokens again.
CLASSES = {}


class PlainNames(HtmlFormatter):
    def _create_stylesheet(self):
        key = self.style, self.classprefix
        if key not in CLASSES:
            super()._create_stylesheet()
            CLASSES[key] = self.ttype2class, self.class2style
        self.ttype2class, self.class2style = CLASSES[key]

    def format_unencoded(self, tokens, outfile):
        tokens = ((in_code(kind, v), v) for kind, v in tokens)
        tokens = ((Text if kind in PLAIN else kind, v) for kind, v in tokens)
        super().format_unencoded(tokens, outfile)


def visit_hidden_cell(self, node):
    """Write a fold whose summary names its contents once.

    The verb is left out in print, where nothing can be shown or hidden.
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
    named = ""
    if "tab" in node["classes"]:
        prompts = "<span>Code</span>\n"
        named = f' aria-label="Code: {what}"'
    self.body.append(
        f'<details class="{classes}">\n'
        f'<summary{named} data-paper="{what[:1].upper()}{what[1:]}">\n'
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


def shows_picture(cell):
    """Whether the last part of a cell is an output with a picture."""
    if cell.get("nb_element") != "cell_code" or len(cell) == 0:
        return False
    output = cell[-1]
    return output.get("nb_element") == "cell_code_output" and any(
        node.tagname == "image"
        or "<svg" in node.astext()
        or "data-figure=" in node.astext()
        or "av-judged" in node.astext()
        or "av-entries" in node.astext()
        for node in output.findall()
        if node.tagname in ("image", "raw")
    )


def holds_output(fold):
    parts = fold.findall(nodes.container)
    return any(p.get("nb_element") == "cell_code_output" for p in parts)


def folded(cell):
    """Return the fold of a cell, or make one for the call of a figure."""
    fold = fold_of(cell)
    if fold is None and len(cell) > 1:
        moves = "data-figure=" in cell[-1].astext()
        if moves and cell[0].get("nb_element") == "cell_code_source":
            fold = HideCodeCellNode(
                prompt_show="Show the call", prompt_hide="Hide the call"
            )
            fold += cell[0].deepcopy()
            cell[0] = fold
    return fold


def hang_tabs(document):
    """Move the code of each picture, and the folds before it, below it."""
    for cell in list(document.findall(nodes.container)):
        fold = folded(cell) if shows_picture(cell) else None
        if fold is None:
            continue
        said = [fold["prompt_show"].removeprefix("Show ")]
        index = cell.parent.index(cell)
        while index > 0:
            before = cell.parent[index - 1]
            other = fold_of(before)
            if other is None or len(before) > 1 or holds_output(other):
                break
            fold[:0] = other.children
            said.insert(0, other["prompt_show"].removeprefix("Show "))
            cell.parent.remove(before)
            index -= 1
        cell.remove(fold)
        cell += fold
        fold["prompt_show"] = "; ".join(said)
        fold["classes"].append("tab")


def shorten_labels(document):
    """Drop ": click to open" from labels, which only JupyterLab needs."""
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
        hang_tabs(self.document)
        shorten_labels(self.document)


def setup(app):
    app.add_post_transform(JoinFolds)
    PygmentsBridge.html_formatter = PlainNames
    app.add_node(
        HideCodeCellNode,
        override=True,
        html=(visit_hidden_cell, depart_HideCellInput),
    )
