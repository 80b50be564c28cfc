"""Ledgers as HTML tables: every entry, and the totals of each source.

On the site they can be sorted, searched and filtered (book/_static/site.js).
"""

import re
from collections import Counter
from html import escape

from helpers.published import (
    STATEMENTS,
    _basis,
    _entries,
    errata,
    leaves,
    summary,
)


class _Html:
    """HTML that a notebook shows, with a fixed text for everything else."""

    def __init__(self, html, text):
        self.html, self.text = html, text

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def _rows(nested, show):
    """Nested texts as HTML: one line a row, `show(index)` for each figure."""
    lines = {}
    for index in leaves(nested):
        lines.setdefault(index[:-1], []).append(show(index))
    return "<br>".join(" ".join(line) for line in lines.values())


def _figures(entry):
    """The printed figures as HTML, errors struck and corrected."""
    printed, wrong = leaves(entry["printed"]), set(errata(entry))

    def show(index):
        text = escape(printed[index])
        if index not in wrong:
            return text
        corrected = escape(leaves(entry["corrected"])[index])
        return f"<del>{text}</del>&nbsp;<ins>{corrected}</ins>"

    times = f" × {escape(entry['times'])}" if "times" in entry else ""
    return f'<div class="printed">{_rows(entry["printed"], show)}{times}</div>'


def _html_table(head, rows, label, kind, foot=()):
    """A table whose columns can be sorted (book/_static/site.js)."""
    heads = "".join(
        f'<th scope="col"><button type="button">{name}</button></th>'
        for name in head
    )
    body, last = (
        "\n".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
            for row in part
        )
        for part in (rows, foot)
    )
    return (
        f'<div class="ledger-box" tabindex="0" role="region" '
        f'aria-label="{escape(label)}"><table class="ledger {kind}">\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        f"{f'<tfoot>{last}</tfoot>' if foot else ''}</table></div>"
    )


# What a reader looks for first: errors.
ORDER = ("erratum", "false", "loose", "reproduced", "true")


def _verdict(entry, record):
    """The verdict, and what it rests on where no code decided it."""
    basis = _basis(entry, record)
    rests = "" if basis == "computed" else f", {basis}"
    if "basis" in entry:
        rests += f": {entry['cite']}"
    return escape(entry["verdict"] + rests)


def _why(entry):
    """The cause, the sentences, and the entry that an error comes from."""
    notes = [escape(entry[k]) for k in ("because", "accident") if k in entry]
    if "cause" in entry:
        notes.insert(0, f"<b>{escape(entry['cause'])}</b>:")
    if "from" in entry:
        notes.append(f"Carried on from {escape(entry['from'])}.")
    return " ".join(notes)


def _entry_row(entry, ledger):
    said = entry["kind"] in STATEMENTS
    figures = entry["kind"] if said else _figures(entry)
    kind = " (input)" if entry["kind"] == "given" else ""
    # A name that a style sheet could ask for: scripts of the theme do.
    name = re.sub(r"[^\w-]", "-", f"{ledger.slug}-{entry['id']}")
    return (
        f'<a id="{name}" href="#{name}">{escape(ledger.slug)}</a>',
        escape(entry["section"]),
        escape(entry["says" if said else "what"]) + kind,
        _verdict(entry, ledger.record),
        figures,
        _why(entry),
    )


def table(ledgers):
    """Every entry of some ledgers as one table, errors first.

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
        If `ledgers` is no list of ledgers, or empty.

    Examples
    --------
    >>> from helpers.published import load
    >>> table([load("tiny-vectors")])
    Entries of 1 ledger, a table.
    """
    _check_ledgers(ledgers)
    entries = [(e, ledger) for ledger in ledgers for e in _entries(ledger)]
    entries.sort(
        key=lambda pair: (*ORDER, pair[0]["verdict"]).index(pair[0]["verdict"])
    )
    head = ("source", "section", "what", "verdict", "printed", "why")
    rows = [_entry_row(*pair) for pair in entries]
    html = _html_table(head, rows, "Entries of the ledger", "entries")
    return _Html(html, f"Entries of {_number(ledgers)}, a table.")


def _check_ledgers(ledgers):
    if not isinstance(ledgers, list):
        raise TypeError(f"ledgers must be a list; got {ledgers!r}")
    if not ledgers:
        raise ValueError("ledgers must hold at least one")


def _number(ledgers):
    return "1 ledger" if len(ledgers) == 1 else f"{len(ledgers)} ledgers"


def totals(ledgers):
    """How many figures and statements each source has, and how many hold.

    Inputs are what a source starts from, figures what it arrives at; both can
    be in error. Statements are formulas and claims; the last column says how
    many verdicts on them a cited work decides, and no code.

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
        If `ledgers` is no list of ledgers, or empty.

    Examples
    --------
    >>> from helpers.published import load
    >>> totals([load("tiny-vectors")])
    Totals of 1 ledger, a table.
    """
    _check_ledgers(ledgers)
    rows = []
    for ledger in ledgers:
        counts = Counter(summary(ledger))
        entries = _entries(ledger)
        guesses = sum(
            len(errata(entry))
            for entry in entries
            if _basis(entry, ledger.record) == "conjectured"
        )
        verdicts = [
            sum(counts[f"{kind}s {verdict}"] for kind in STATEMENTS)
            for verdict in ("true", "loose", "false")
        ]
        right, wrong = (
            [counts[f"{noun} {word}"] for noun in ("inputs", "figures")]
            for word in ("reproduced", "in error")
        )
        rows.append(
            (
                escape(ledger.slug),
                right[0] + wrong[0],
                right[1] + wrong[1],
                sum(wrong),
                guesses,
                *verdicts,
                counts["verdicts cited, not computed"],
            )
        )
    columns = zip(*(row[1:] for row in rows), strict=True)
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
    html = _html_table(head, rows, "Totals", "counts", foot)
    return _Html(html, f"Totals of {_number(ledgers)}, a table.")
