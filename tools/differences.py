"""Describe how an output differs from the stored one.

`make nbval`, `make refresh` and `make portable` print the same lines: the kind
of difference, its position, and both texts. Code cells are counted from 0, as
in nbval.
"""

import re
from itertools import zip_longest

WIDE = 60
PART = re.compile(r"<\w[^>]*>|[^<>\n]+(?=</)")
ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
NUMBER = re.compile(r"(?<![\w#])-?\d[\d.]*")
IDS = ("id", "href", "xlink:href", "clip-path")
MEASURED = "nbval-ignore-output"


def around(text, at):
    """Return the part of a long text around a position."""
    start = max(0, at - WIDE // 2)
    end = start + WIDE
    return "…" * (start > 0) + text[start:end] + "…" * (end < len(text))


def both(stored, now):
    """Show two texts around their first difference."""
    letters = zip_longest(stored, now)
    at = next(i for i, (a, b) in enumerate(letters) if a != b)
    return f"{around(stored, at)!r} stored, {around(now, at)!r} now"


def in_part(stored, now):
    """Yield the kind of each difference of two parts, with a description."""
    if stored == now:
        return
    if not stored.startswith("<") or not now.startswith("<"):
        yield "words", both(stored, now)
        return
    attributes = zip(
        ATTRIBUTE.findall(stored), ATTRIBUTE.findall(now), strict=False
    )
    for (name, old), (_, new) in attributes:
        where = f"{name} of {stored.split()[0].strip('<>')}"
        if old == new:
            continue
        if name in IDS:
            yield "ids", f"{where}: {both(old, new)}"
        elif NUMBER.sub("", old) == NUMBER.sub("", new):
            pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
            a, b = next((a, b) for a, b in pairs if a != b)
            yield "numbers", f"{where}: {a} stored, {b} now"
        else:
            yield "style", f"{where}: {both(old, new)}"


def in_figure(stored, now):
    """Describe the first difference of each kind between two SVGs."""
    alt = re.search(r'aria-label="([^"]*)"', stored)
    old, new = PART.findall(stored), PART.findall(now)
    kinds = {}
    for a, b in zip(old, new, strict=False):
        for kind, line in in_part(a, b):
            kinds.setdefault(kind, []).append(line)
    parts = f"{len(old)} parts stored, {len(new)} now"
    said = [parts] if len(old) != len(new) else []
    said += [
        f"{kind}, {len(lines)} of them; first {lines[0]}"
        for kind, lines in kinds.items()
    ]
    named = alt[1] if alt else "without alt text"
    return [f"figure {named!r}", *(said or [f"layout: {both(stored, now)}"])]


def in_text(stored, now):
    """Describe the first difference of two texts, and count all of them."""
    pairs = zip_longest(
        stored.splitlines(), now.splitlines(), fillvalue="(no such line)"
    )
    differ = [(n, a, b) for n, (a, b) in enumerate(pairs, 1) if a != b]
    if not differ:
        return [f"its end: {both(stored, now)}"]
    line, a, b = differ[0]
    others = f"; {len(differ)} lines differ" if len(differ) > 1 else ""
    return [f"line {line}: {both(a, b)}{others}"]


def tell(kind, stored, now):
    """Describe the differences of two outputs of one kind.

    Parameters
    ----------
    kind : str
        A MIME type, the name of a stream, or nbval's name for the output.
    stored, now : str

    Examples
    --------
    >>> tell("text/plain", "a\\nb 0.25", "a\\nb 0.26")
    ["line 2: 'b 0.25' stored, 'b 0.26' now"]
    """
    if kind.endswith("svg+xml"):
        return in_figure(stored, now)
    return in_text(str(stored), str(now))


def parts(cell):
    """Return the outputs that nbval compares, as pairs of kind and text."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.name, output.text
        elif output.output_type == "error":
            yield "error", f"{output.ename}: {output.evalue}"
        else:
            for kind, text in sorted(output.data.items()):
                if kind not in ("image/png", "image/jpeg"):
                    yield kind, text


def in_notebook(stored, now):
    """Describe each cell whose outputs differ in two notebooks.

    Parameters
    ----------
    stored, now : NotebookNode
        In normal form, with the same cells. Measured cells are skipped,
        because their outputs differ from run to run.
    """
    pairs = [
        (a, b)
        for a, b in zip(stored.cells, now.cells, strict=True)
        if a.cell_type == "code"
    ]
    for number, (a, b) in enumerate(pairs):
        if MEASURED in a.metadata.get("tags", []):
            continue
        old, new = list(parts(a)), list(parts(b))
        first = a.source.partition("\n")[0]
        where = f"cell {number} ({first})"
        kinds = [kind for kind, _ in old], [kind for kind, _ in new]
        if kinds[0] != kinds[1]:
            yield f"{where}: outputs {kinds[0]} stored, {kinds[1]} now"
            continue
        for (kind, x), (_, y) in zip(old, new, strict=True):
            if x != y:
                yield f"{where}: " + "\n    ".join(tell(kind, x, y))
