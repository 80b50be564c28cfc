"""Compute the reading time of a chapter by a rule.

200 words of prose a minute, half a minute for each code cell in sight, and a
minute for each question and prediction. Folded text, exercises and all that
comes after them do not count. The sum is rounded up to five minutes.
"""

import re
from math import ceil

FOLDED = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
TIME = re.compile(r"Reading time: about \d+ minutes")
DROPDOWN = re.compile(r"^(`{3,}|:{3,})\{dropdown\}.*?^\1\s*$", re.M | re.S)
MARKUP = re.compile(r"^(?:`{3,}|:{3,}).*$|^:\w+:.*$|\]\([^)]*\)", re.M)
WORD = re.compile(r"\w[\w'’.,/-]*")


def body(cells):
    """The cells of a lesson before its exercises."""
    for cell in cells:
        before, end, _ = cell.source.partition("## On your own\n")
        if cell.cell_type == "markdown" and end:
            yield {"cell_type": "markdown", "source": before, "metadata": {}}
            return
        yield cell


def words(markdown):
    """Count the words of `markdown` without folds and markup."""
    open_text = DROPDOWN.sub("", markdown)
    formulas = re.sub(r"\$\$.*?\$\$", "", open_text, flags=re.S)
    return len(WORD.findall(MARKUP.sub("", formulas)))


def is_open(cell):
    return not FOLDED & set(cell["metadata"].get("tags", []))


def amount(cells):
    """Words of prose and code cells in sight, before the exercises."""
    read = list(body(cells))
    prose = [c["source"] for c in read if c["cell_type"] == "markdown"]
    code = [c for c in read if c["cell_type"] == "code" and is_open(c)]
    return sum(map(words, prose)), len(code)


def asked(cells):
    """How many questions and predictions stand before the exercises."""
    return sum(
        "data-question=" in output.get("data", {}).get("text/html", "")
        for cell in body(cells)
        for output in cell.get("outputs", ())
    )


def minutes(cells):
    prose, code = amount(cells)
    needed = prose / 200 + code / 2 + asked(cells)
    return max(5, 5 * ceil(needed / 5))


def state_time(cells):
    """Fill in the reading time where a chapter states it."""
    said = f"Reading time: about {minutes(cells)} minutes"
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = TIME.sub(said, cell.source)
