"""Ledgers as HTML tables: every entry, and the totals of each source.

The tables can be sorted on the site (book/_static/site.js).
"""

from collections import Counter
from html import escape

from helpers.published import STATEMENTS, _entries, errata, leaves, summary


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


def table(ledger):
    """Every entry of a ledger as a table that a notebook shows.

    Parameters
    ----------
    ledger : Ledger

    Returns
    -------
    object
        Shown as HTML, sortable on the site.

    Raises
    ------
    TypeError
        If `ledger` is none.

    Examples
    --------
    >>> from helpers.published import load
    >>> table(load("tiny-vectors"))
    Ledger of tiny-vectors, a table.
    """
    rows = []
    for entry in _entries(ledger):
        said = entry["kind"] in STATEMENTS
        what = escape(entry["says" if said else "what"])
        notes = [
            escape(entry[k]) for k in ("because", "accident") if k in entry
        ]
        if "cause" in entry:
            notes.insert(0, f"<b>{escape(entry['cause'])}</b>:")
        if "from" in entry:
            notes.append(f"Carried on from {escape(entry['from'])}.")
        rows.append(
            (
                escape(entry["section"]),
                what,
                escape(entry["verdict"]),
                entry["kind"] if said else _figures(entry),
                " ".join(notes),
            )
        )
    head = ("section", "what", "verdict", "printed", "why")
    html = _html_table(head, rows, f"Ledger of {ledger.slug}", "entries")
    return _Html(html, f"Ledger of {ledger.slug}, a table.")


def totals(ledgers):
    """How many figures and statements each source has, and how many hold.

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
    if not isinstance(ledgers, list):
        raise TypeError(f"ledgers must be a list; got {ledgers!r}")
    if not ledgers:
        raise ValueError("ledgers must hold at least one")
    rows = []
    for ledger in ledgers:
        counts = Counter(summary(ledger))
        statements = [
            sum(counts[f"{kind}s {verdict}"] for kind in STATEMENTS)
            for verdict in ("true", "loose", "false")
        ]
        right = counts["figures reproduced"] + counts["inputs reproduced"]
        wrong = counts["figures in error"] + counts["inputs in error"]
        rows.append(
            (escape(ledger.slug), right + wrong, right, wrong, *statements)
        )
    columns = zip(*(row[1:] for row in rows), strict=True)
    foot = [("all", *map(sum, columns))]
    head = (
        "source",
        "figures",
        "reproduced",
        "errata",
        "statements true",
        "loose",
        "false",
    )
    html = _html_table(head, rows, "Totals", "counts", foot)
    number = "1 ledger" if len(ledgers) == 1 else f"{len(ledgers)} ledgers"
    return _Html(html, f"Totals of {number}, a table.")
