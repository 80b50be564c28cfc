"""Compute the reading time of a lesson by a rule.

The rule counts the words on the open path at 55 per minute: the prose, the
visible code and the questions. Folded text, exercises and everything after
them do not count. The time is rounded up to a multiple of five minutes.

A section whose first words are `*Deeper:*` is deeper, with everything below
it, and the rest of a lesson is its core. `times` returns the minutes of the
core and of everything.
"""

import re
from html import unescape

PER_MINUTE = 55
FOLDED = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
TIME = re.compile(
    r"Reading time: about \d+ minutes(?: for the core, \d+ for everything)?"
)
HEADING = re.compile(r"^(?=##+ )", re.M)
DEEPER = re.compile(r"##+ .*\n\s*\*Deeper:\* ")
DROPDOWN = re.compile(r"^(`{3,}|:{3,})\{dropdown\}.*?^\1\s*$", re.M | re.S)
MARKUP = re.compile(r"^(?:`{3,}|:{3,}).*$|^:\w+:.*$|\]\([^)]*\)", re.M)
WORD = re.compile(r"\w[\w'’.,/-]*")
QUESTION = "data-question="
# Parts of a question that are not read: the text for pages without scripts,
# the decimals that are asked for, and the words on its buttons.
UNREAD = re.compile(r"<(noscript|button|p|small)\b.*?</\1>", re.S)
HTML = re.compile(r"<[^>]*>")


def body(cells):
    """Return the cells of a lesson before its exercises."""
    for cell in cells:
        before, end, _ = cell.source.partition("## On your own\n")
        if cell.cell_type == "markdown" and end:
            yield {"cell_type": "markdown", "source": before, "metadata": {}}
            return
        yield cell


def parts(cells):
    """Yield the cells, divided at headings, and whether each is deeper."""
    level = 0  # of the deeper section, or 0 in the core
    for cell in cells:
        if cell["cell_type"] != "markdown":
            yield cell, level > 0
            continue
        for text in filter(None, HEADING.split(cell["source"])):
            depth = len(text) - len(text.lstrip("#"))
            if depth > 1 and (level == 0 or depth <= level):
                level = depth if DEEPER.match(text) else 0
            yield {**cell, "source": text}, level > 0


def core(cells):
    """Return the cells of a lesson without its deeper sections."""
    return [cell for cell, deeper in parts(cells) if not deeper]


def words(markdown):
    """Count the words of `markdown` without folds and markup."""
    open_text = DROPDOWN.sub("", markdown)
    formulas = re.sub(r"\$\$.*?\$\$", "", open_text, flags=re.S)
    return len(WORD.findall(HTML.sub(" ", MARKUP.sub("", formulas))))


def is_open(cell):
    return not FOLDED & set(cell["metadata"].get("tags", []))


def questions(cells):
    """Yield the page of each question and prediction, as HTML."""
    for cell in cells:
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ""))
            if QUESTION in html:
                yield html


def count(read):
    """Count the words of prose, of visible code and of questions."""
    # The stated time does not count, because it would change itself.
    prose = [
        TIME.sub("", c["source"]) for c in read if c["cell_type"] == "markdown"
    ]
    code = [
        c["source"] for c in read if c["cell_type"] == "code" and is_open(c)
    ]
    asked = [
        unescape(HTML.sub(" ", UNREAD.sub("", html)))
        for html in questions(read)
    ]
    return {
        "prose": sum(map(words, prose)),
        "code": sum(len(WORD.findall(text)) for text in code),
        "questions": sum(len(WORD.findall(text)) for text in asked),
    }


def open_path(cells):
    return count(list(body(cells)))


def core_path(cells):
    return count(core(body(cells)))


def rounded(counts):
    return max(5, 5 * round(sum(counts.values()) / PER_MINUTE / 5))


def times(cells):
    """Return the minutes of the core and of everything."""
    return rounded(core_path(cells)), rounded(open_path(cells))


def minutes(cells):
    """Return the minutes of everything."""
    return times(cells)[1]


def state_time(cells):
    """Fill in the reading time where a lesson states it."""
    core_time, everything = times(cells)
    said = f"Reading time: about {core_time} minutes"
    if len(core(cells)) < len(list(parts(cells))):
        said += f" for the core, {everything} for everything"
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = TIME.sub(said, cell.source)
