"""Ledgers as HTML tables: every entry, and the totals of each source.

On the site they can be sorted, searched and filtered (book/_static/site.js).
"""

import re
from collections import Counter
from html import escape

from .entries import STATEMENTS, errata
from .ledger import entries_of, summary
from .nested import leaves, rows
from .show import reading


class _Html:
    """HTML for notebooks, with a fixed text for other displays."""

    def __init__(self, html, text):
        self.html, self.text = html, text

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def _figures(entry):
    """The printed figures as HTML, with errors struck out and corrected."""
    printed, wrong = leaves(entry.printed), errata(entry)

    def show(index):
        text = escape(printed[index])
        if index not in wrong:
            return text
        corrected = escape(leaves(entry.corrected)[index])
        return f"<del>{text}</del>&nbsp;<ins>{corrected}</ins>"

    lines = "<br>".join(" ".join(row) for row in rows(entry.printed, show))
    times = "" if entry.times == "1" else f" × {escape(entry.times)}"
    return f'<div class="printed">{lines}{times}</div>'


def _html_table(head, body, label, kind, foot=()):
    """A table whose columns can be sorted (book/_static/site.js)."""
    heads = "".join(
        f'<th scope="col"><button type="button">{name}</button></th>'
        for name in head
    )
    last = f"<tfoot>{_cells(foot)}</tfoot>" if foot else ""
    return (
        f'<div class="ledger-box" tabindex="0" role="region" '
        f'aria-label="{label}"><table class="ledger {kind}">\n'
        f"<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{_cells(body)}\n</tbody>{last}</table></div>"
    )


def _cells(body):
    """Rows of cells as HTML."""
    lines = ("".join(f"<td>{cell}</td>" for cell in row) for row in body)
    return "\n".join(f"<tr>{line}</tr>" for line in lines)


# The order of verdicts in the table: errors come first.
ORDER = ("erratum", "false", "loose", "reproduced", "true")


def _verdict(entry):
    """The verdict, with its basis if no code decided it."""
    rests = "" if entry.basis == "computed" else f", {entry.basis}"
    if entry.basis == "cited":
        rests += f": {entry.cite}"
    return escape(entry.verdict + rests)


def _why(entry):
    """The cause, the sentences, the origin of an error, and what was read."""
    sentences = [entry.because, entry.accident]
    notes = [escape(text) for text in sentences if text is not None]
    if entry.cause is not None:
        notes.insert(0, f"<b>{escape(entry.cause)}</b>:")
    if entry.from_ is not None:
        notes.append(f"Carried on from {escape(entry.from_)}.")
    if entry.read is not None:
        notes.append(escape(reading(entry)))
    return " ".join(notes)


def _entry_row(entry, slug):
    said = entry.kind in STATEMENTS
    kind = " (input)" if entry.kind == "given" else ""
    # A name that is valid as a CSS selector, because the theme's scripts use
    # it as one.
    name = re.sub(r"[^\w-]", "-", f"{slug}-{entry.id}")
    return (
        f'<a id="{name}" href="#{name}">{escape(slug)}</a>',
        escape(entry.section),
        escape(entry.says if said else entry.what) + kind,
        _verdict(entry),
        entry.kind if said else _figures(entry),
        _why(entry),
    )


def table(ledgers):
    """Return a table of every entry of some ledgers, errors first.

    Parameters
    ----------
    ledgers : list of Ledger

    Returns
    -------
    object
        Shown as HTML. The site adds a search and filters; each entry has an
        address, ``#slug-id``, with dashes for dots.

    Raises
    ------
    TypeError, ValueError
        If `ledgers` is not a list of ledgers, or empty.

    Examples
    --------
    >>> from course.published import load
    >>> table([load("tiny-vectors")])
    Entries of 1 ledger, a table.
    """
    _check_ledgers(ledgers)
    entries = [(e, x.slug) for x in ledgers for e in entries_of(x)]
    entries.sort(key=lambda pair: ORDER.index(pair[0].verdict))
    head = ("source", "section", "what", "verdict", "printed", "why")
    body = [_entry_row(*pair) for pair in entries]
    html = _html_table(head, body, "Entries of the ledger", "entries")
    return _Html(html, f"Entries of {_number(ledgers)}, a table.")


def _check_ledgers(ledgers):
    if not isinstance(ledgers, list):
        raise TypeError(f"ledgers must be a list; got {ledgers!r}")
    if not ledgers:
        raise ValueError("ledgers must hold at least one")


def _number(ledgers):
    return "1 ledger" if len(ledgers) == 1 else f"{len(ledgers)} ledgers"


def totals(ledgers):
    """Count the figures and statements of each source, and the true ones.

    Inputs are the numbers from which a source starts, and figures the numbers
    at which it arrives; both can be in error. Statements are formulas and
    claims. The last column counts the verdicts that rest on a cited work
    instead of code.

    Parameters
    ----------
    ledgers : list of Ledger

    Returns
    -------
    object
        Shown as HTML, sortable on the site.

    Raises
    ------
    TypeError, ValueError
        If `ledgers` is not a list of ledgers, or empty.

    Examples
    --------
    >>> from course.published import load
    >>> totals([load("tiny-vectors")])
    Totals of 1 ledger, a table.
    """
    _check_ledgers(ledgers)
    body = [_total(ledger) for ledger in ledgers]
    columns = zip(*(row[1:] for row in body), strict=True)
    foot = [("all", *map(sum, columns))]
    head = (
        "source",
        "inputs",
        "figures",
        "errata",
        "conjectured",
        "true",
        "loose",
        "false",
        "cited",
    )
    html = _html_table(head, body, "Totals", "counts", foot)
    return _Html(html, f"Totals of {_number(ledgers)}, a table.")


def _total(ledger):
    """The row of one source."""
    counts = Counter(summary(ledger))
    wrong_inputs = counts["inputs in error"]
    wrong_figures = counts["figures in error"]
    guesses = sum(
        len(errata(entry))
        for entry in entries_of(ledger)
        if entry.basis == "conjectured"
    )
    verdicts = [
        sum(counts[f"{kind}s {verdict}"] for kind in STATEMENTS)
        for verdict in ("true", "loose", "false")
    ]
    return (
        escape(ledger.slug),
        counts["inputs reproduced"] + wrong_inputs,
        counts["figures reproduced"] + wrong_figures,
        wrong_inputs + wrong_figures,
        guesses,
        *verdicts,
        counts["verdicts cited, not computed"],
    )
