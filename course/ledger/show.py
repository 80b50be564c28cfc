"""What an audit says in words: verdicts of entries, and counts."""

from collections import Counter
from html import escape
from textwrap import fill

from .entries import STATEMENTS, errata
from .nested import leaves


class Shown:
    """HTML for notebooks, with a fixed text for other displays."""

    def __init__(self, html, text):
        self.html, self.text = html, text

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def account(title, numbers):
    """Return counts under a title, to be shown as a table.

    Examples
    --------
    >>> account("Toy", {"figures reproduced": 1})
    Toy
         1  figures reproduced
    """
    rows = "".join(
        f"<tr><td>{count}</td><td>{escape(name.strip())}</td></tr>"
        for name, count in numbers.items()
    )
    lines = (f"{count:6d}  {name}" for name, count in numbers.items())
    return Shown(
        f'<table class="av-account"><caption>{escape(title)}</caption>'
        f"<tbody>{rows}</tbody></table>",
        "\n".join([title, *lines]),
    )


def counts(entries):
    """Count figures, errata by cause, and statements by verdict.

    Examples
    --------
    >>> counts([])
    {}
    """
    figures, causes, verdicts = Counter(), Counter(), Counter()
    readings = Counter(entry.read for entry in entries if entry.read)
    for entry in entries:
        if entry.kind in STATEMENTS:
            verdicts[f"{entry.kind}s {entry.verdict}"] += 1
            if entry.basis == "cited":
                verdicts["verdicts cited, not computed"] += 1
            continue
        wrong = len(errata(entry))
        name = "inputs" if entry.kind == "given" else "figures"
        figures[f"{name} reproduced"] += len(leaves(entry.printed)) - wrong
        if wrong:
            figures[f"{name} in error"] += wrong
            guess = " (conjectured)" if entry.basis == "conjectured" else ""
            causes[f"  {entry.cause}{guess}"] += wrong
    return (
        dict(figures)
        | dict(sorted(causes.items()))
        | dict(sorted(verdicts.items()))
        | {f"entries read {how}": n for how, n in sorted(readings.items())}
    )


def describe(entry):
    """Return the verdict of an entry, its digits and its sentences, as lines.

    Examples
    --------
    >>> from course.published import load
    >>> print(describe(load("tiny-vectors").entries["3.1-size"]))
    3.1-size: 2 inputs reproduced
    """
    said = entry.kind in STATEMENTS
    lines = _statement(entry) if said else _figures(entry)
    sentences = [entry.because, entry.accident, reading(entry)]
    lines += [_indent(text) for text in sentences if text is not None]
    return "\n".join(lines)


def told(*parts):
    """Return a line of an audit's head, wrapped for a phone.

    Parameters
    ----------
    *parts : object
        Words and numbers, between which blanks are put; of a dict, each value
        with its name.

    Returns
    -------
    str

    Examples
    --------
    >>> print(told("claims:", {"true": 25, "loose": 4}, "- all computed"))
    claims: 25 true, 4 loose - all computed
    """
    words = (
        ", ".join(f"{n} {name}" for name, n in part.items())
        if isinstance(part, dict)
        else str(part)
        for part in parts
    )
    return fill(
        " ".join(words), 50, subsequent_indent="    ",
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


def reading(entry):
    """Return the sentence about how the cited work was read, or None.

    Examples
    --------
    >>> from course.ledger.entries import Entry
    >>> reading(Entry(id="1", section="1", kind="claim", verdict="true",
    ...               read="stored copy", copy="arXiv v1, 25 Nov 2026"))
    'Read as a stored copy: arXiv v1, 25 Nov 2026.'
    """
    if entry.read is None:
        return None
    how = "as a stored copy" if entry.read == "stored copy" else entry.read
    return f"Read {how}: {entry.copy}."


def _statement(entry):
    cited = f", cited: {entry.cite}" if entry.basis == "cited" else ""
    return [f"{entry.id}: {entry.verdict}{cited}", _indent(entry.says)]


def _figures(entry):
    total, wrong = len(leaves(entry.printed)), len(errata(entry))
    noun = "input" if entry.kind == "given" else "figure"
    if total > 1:
        noun += "s"
    if not wrong:
        return [f"{entry.id}: {total} {noun} reproduced"]
    guess = ", conjectured" if entry.basis == "conjectured" else ""
    return [
        f"{entry.id}: {total} {noun}, {wrong} in error",
        _indent(f"printed    {_line(entry.printed)}"),
        _indent(f"corrected  {_line(entry.corrected)}"),
        _indent(f"cause      {entry.cause}{guess}"),
    ]


def _line(figures):
    return "  ".join(leaves(figures).values())


def _indent(text):
    """`text` wrapped and indented by four spaces; runs of spaces are kept.

    A phone shows fifty characters without scrolling sideways.
    """
    return fill(text, 50, initial_indent="    ", subsequent_indent="    ")
