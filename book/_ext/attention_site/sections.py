"""Give the search the heading and the sentences of each section.

Sphinx's search finds whole pages and fetches each page to show an excerpt, but
a page opened from a folder may not fetch files. Therefore a script holds the
text of all sections, so that the search can show excerpts and open the right
section.
"""

import json
from pathlib import Path

from . import parsed, tags

# Elements without sentences: pictures, code, outputs, buttons.
SILENT = {
    "script",
    "style",
    "svg",
    "nav",
    "noscript",
    "form",
    "button",
    "summary",
}
HUSHED = {"av-figure", "cell_input", "cell_output", "headerlink", "hide"}
VOID = {"br", "img", "input", "hr", "wbr", "col", "meta", "link"}
# The one-line form of each element of a formula.
FORMS = {
    "msup": "{}^{}",
    "msub": "{}_{}",
    "msubsup": "{}_{}^{}",
    "mfrac": "{}/{}",
    "munder": "{}_{}",
    "mover": "{}{}",
    "munderover": "{}_{}^{}",
}
ENDS = {"p", "li", "td", "th", "dt", "dd", "div", "h1", "h2", "h3", "h4"}


def bracketed(part):
    """Put brackets around a part unless it is a single name or number."""
    bare = part.lstrip("−-√").replace("_", "")
    short = len(part) < 2 or bare.replace(".", "").isalnum()
    return part if short else f"({part})"


class _Sections:
    """Parses an article into sections with anchor, heading and text."""

    def __init__(self):
        self.sections = [["", "", ""]]
        self.open = []  # the open elements, each with where its text goes
        self.formula = []  # the parts of each open element of a formula

    def start(self, tag, attributes):
        if tag == "br":
            self._add_text(" ")
        if tag in VOID:
            return
        said, section, into = self.open[-1][1:] if self.open else (1, 0, 2)
        classes = set(attributes.get("class", "").split())
        silent = tag in SILENT and "deeper" not in classes
        if silent or classes & HUSHED:
            said = False
        if said and "id" in attributes and tag in ("section", "dt"):
            self.sections.append([attributes["id"], "", ""])
            section = len(self.sections) - 1
        if tag == "dd" and self.sections[-1][0]:
            section = len(self.sections) - 1  # its term's section
        if tag in ("h1", "h2", "h3", "h4") or (
            tag == "dt" and "id" in attributes
        ):
            into = 1
        self.open.append((tag, said, section, into))
        if tag == "math" or self.formula:
            self.formula.append([])

    def end(self, tag):
        if tag in VOID or not self.open:
            return
        if self.formula:
            parts = self.formula.pop()
            self._add_text(read(tag, parts))
        if tag in ENDS and not self.formula:
            self._add_text(" ")
        while self.open and self.open.pop()[0] != tag:
            pass

    def data(self, data):
        self._add_text(data.strip() if self.formula else data)

    def _add_text(self, text):
        if self.formula:
            self.formula[-1].append(text)
        elif self.open and self.open[-1][1]:
            _, _, section, into = self.open[-1]
            self.sections[section][into] += text


def read(tag, parts):
    """Return the one-line form of an element of a formula."""
    if tag == "annotation":
        return ""
    if tag in FORMS and len(parts) == FORMS[tag].count("{}"):
        first, *others = parts
        if tag == "mfrac":
            first = bracketed(first)
        return FORMS[tag].format(first, *map(bracketed, others))
    said = "".join(parts)
    if tag == "msqrt":
        return f"√{bracketed(said)}"
    return f" {said} " if tag == "mo" and said in "=<>≤≥≈≠∈" else said


def sections(article):
    """Return the sections of an article that have text."""
    parser = _Sections()
    tags.feed(article, parser)
    told = [[" ".join(t.split()) for t in part] for part in parser.sections]
    return [part for part in told if part[1] or part[2]]


def write(app):
    """Write the script with all sections, which the search page loads."""
    out, texts = Path(app.outdir), {}
    for page in sorted(app.env.found_docs):
        html = (out / f"{page}.html").read_text("utf-8")
        texts[page] = app.kept(sections, parsed.article(html))
    table = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    script = out / "_static" / "search_texts.js"
    script.write_text(f"Search.texts = {table};\n", encoding="utf-8")
