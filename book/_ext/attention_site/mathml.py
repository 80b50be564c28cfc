"""Render formulas to MathML at build time.

math-core turns TeX into MathML Core. Browsers draw it without a script or a
style sheet, and screen readers can read it.
"""

import re
from functools import cache

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from .roles import in_formula

logger = logging.getLogger(__name__)
converter = LatexToMathML(fancy_error=False)
# A selector for one of two forms of script letters; the font has only one
# form.
FORM = "\ufe00"
# In TeX \! removes the space before \left; math-core adds no such space.
BACK = r"\!\left", r"\left"
SPACED = r"\\["  # math-core would print the space after it as text
# Browsers draw a bracket of a fixed size smaller if it has an index.
SIZED = re.compile(r"\\[bB]igg?[lr]?\W[\^_]")
# A minus sign in front of a fraction would touch its bar.
CLOSE = 'rspace="0">−</mo><mfrac', 'rspace="0.15em">−</mo><mfrac'


@cache
def mathml(tex, display):
    """Return a formula as MathML; raise ValueError for invalid TeX."""
    if SPACED in tex:
        raise ValueError(f"no space may follow a line break: {tex!r}")
    if SIZED.search(tex):
        raise ValueError(f"a bracket with an index is \\right: {tex!r}")
    try:
        html = converter.convert_with_local_state(
            tex.replace(*BACK), displaystyle=display
        )
    except LatexError as error:
        raise ValueError(f"{error} (at a character of {tex!r})") from None
    return in_formula(html.replace(FORM, "").replace(*CLOSE))


def _render(tex, display, node):
    try:
        return mathml(tex, display)
    except ValueError as error:
        logger.warning("formula: %s", error, location=node)
        return ""


def visit_math(self, node):
    body = _render(node.astext(), False, node)
    self.body.append(f'<span class="math">{body}</span>')
    raise nodes.SkipNode


def visit_displaymath(self, node):
    tex = node.astext().strip()
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    tex = tex.replace("{align}", "{align*}")
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({node["number"]})</span>'
    ids = "".join(f' id="{name}"' for name in node.get("ids", [])[:1])
    body = _render(tex, True, node)
    self.body.append(
        f'<div class="math math-display"{ids}>{number}{body}</div>\n'
    )
    raise nodes.SkipNode


OPENING = re.compile(r"\(?$")
CLOSING = re.compile(r"^[.,;:!?)]*")


class FormulasStay(SphinxTransform):
    """Keep a formula on the same line as its bracket or comma."""

    default_priority = 400

    def apply(self):
        for formula in list(self.document.findall(nodes.math)):
            keep_together(formula)


def keep_together(formula):
    """Join a formula and the punctuation beside it in one node."""
    parent, at = formula.parent, formula.parent.children.index(formula)
    before = _text(parent.children[at - 1 : at])
    after = _text(parent.children[at + 1 : at + 2])
    opening, closing = OPENING.search(before)[0], CLOSING.search(after)[0]
    if not opening + closing:
        return
    parts = nodes.Text(opening), formula, nodes.Text(closing)
    together = nodes.inline("", "", *parts, classes=["with-math"])
    start, stop = at - bool(before), at + 1 + bool(after)
    parent[start:stop] = [
        part
        for part in (
            nodes.Text(before.removesuffix(opening)),
            together,
            nodes.Text(after.removeprefix(closing)),
        )
        if part is together or part
    ]


def _text(siblings):
    return "".join(s for s in siblings if isinstance(s, nodes.Text))


def setup(app):
    app.add_html_math_renderer(
        "mathml", (visit_math, None), (visit_displaymath, None)
    )
    app.add_transform(FormulasStay)
