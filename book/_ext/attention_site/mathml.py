"""Render formulas to MathML at build time.

KaTeX turns TeX into MathML once per formula, in a small JavaScript engine.
Browsers draw MathML themselves: no script, no style sheet, and a screen
reader reads it.
"""

import json
import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

import quickjs
import sphinxcontrib
from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

# MathML Core knows one mathvariant, "normal"; the others are characters.
STYLES = {
    "bold": "BOLD",
    "double-struck": "DOUBLE-STRUCK",
    "script": "SCRIPT",
    "fraktur": "FRAKTUR",
    "sans-serif": "SANS-SERIF",
    "bold-italic": "BOLD ITALIC",
}


@lru_cache(maxsize=1)
def _katex():
    path = Path(next(iter(sphinxcontrib.__path__)), "katex.min.js")
    engine = quickjs.Context()
    engine.set_max_stack_size(8 * 2**20)
    engine.eval(path.read_text(encoding="utf-8"))
    # As JSON: the engine hands over no string that is still in pieces.
    render = engine.eval(
        "(tex, display) => JSON.stringify(katex.renderToString(tex, "
        "{output: 'mathml', displayMode: display, strict: 'error'}))"
    )
    return lambda tex, display: json.loads(render(tex, display))


def _styled(character, style):
    """A letter or digit in a mathematical style, as its own character."""
    name = unicodedata.name(character, "")
    for old in ("LATIN ", "GREEK ", ""):
        base = name.removeprefix(old).replace(" LETTER", "")
        for new in (f"MATHEMATICAL {style} {base}", f"{style} {base}"):
            try:
                return unicodedata.lookup(new)
            except KeyError:
                continue
    return character


def _restyle(match):
    tag, style, text = match["tag"], match["style"], match["text"]
    if style not in STYLES:
        return match[0]
    letters = "".join(_styled(c, STYLES[style]) for c in text)
    return f"<{tag}>{letters}</{tag}>"


THIN = '<mspace width="0.1667em"></mspace>'
# KaTeX marks the name of a function by a character that browsers give no
# width, also where a subscript must have exactly two parts.
APPLIED = re.compile(
    r"(?P<name><mi[^>]*>\w\w+</mi>)?<mo>\u2061</mo>(?P<next></?m\w+)?"
)
END = r"</(?:mi|mn|msub|msup|msubsup|mfrac|msqrt)>"
OPERAND = re.compile(END + "$")
# A name with an index below, such as the max over j, between its neighbours.
INDEXED = r"<(?:msub|munder)><mrow><mi[^>]*>\w\w+</mi></mrow>"
INDEX = r"(?:<mi>\w</mi>|<mrow>(?:(?!</?mrow).)*</mrow>)</(?:msub|munder)>"
BEFORE_INDEXED = re.compile(f"({END})(?={INDEXED})")
AFTER_INDEXED = re.compile(f"({INDEXED}{INDEX})(?=<m[^o])")
# A minus after another operator is a sign.
SIGN = re.compile(r"(<mo[^>]*>[=(\[,⋅+≥≤≈<>≫≪→]</mo>)<mo>−</mo>")


def _spaced(html):
    """Put the space of print around the names of functions, and signs."""
    parts, end = [], 0
    for found in APPLIED.finditer(html):
        before, name = html[end : found.start()], found["name"] or ""
        follows = found["next"] or "</"
        script = follows.startswith(("</msu", "</mun", "</mov"))
        if name and not script and OPERAND.search(before):
            before += THIN
        after = "" if follows.startswith("</") or follows == "<mo" else THIN
        parts += [before, name, after]
        end = found.start("next") if found["next"] else found.end()
    html = "".join([*parts, html[end:]])
    for place in (BEFORE_INDEXED, AFTER_INDEXED):
        html = place.sub(rf"\1{THIN}", html)
    return SIGN.sub(r'\1<mo form="prefix">−</mo>', html)


@cache
def mathml(tex, display):
    """One formula as MathML; ValueError where it is not TeX."""
    try:
        html = _katex()(tex, display)
    except quickjs.JSException as error:
        raise ValueError(str(error).splitlines()[0]) from None
    html = re.sub(r"<annotation.*?</annotation>", "", html, flags=re.S)
    html = re.sub(
        r'<(?P<tag>m[ino]|mtext) mathvariant="(?P<style>[a-z-]+)">'
        r"(?P<text>[^<]*)</(?P=tag)>",
        _restyle,
        html,
    )
    html = html.replace("<semantics>", "").replace("</semantics>", "")
    html = _spaced(html)
    return re.search(r"<math.*</math>", html, flags=re.S)[0].replace(
        ' xmlns="http://www.w3.org/1998/Math/MathML"', ""
    )


def _render(tex, display, node):
    try:
        return mathml(tex, display)
    except ValueError as error:
        logger.warning("formula %r: %s", tex, error, location=node)
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
    number = f'<span class="eqno">({node["number"]})</span>' * bool(
        node["number"]
    )
    ids = "".join(f' id="{name}"' for name in node.get("ids", [])[:1])
    body = _render(tex, True, node)
    self.body.append(
        f'<div class="math math-display"{ids}>{number}{body}</div>\n'
    )
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml", (visit_math, None), (visit_displaymath, None)
    )
