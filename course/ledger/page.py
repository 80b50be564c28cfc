"""Ledgers as HTML tables: every entry, totals, and the tables of an audit.

On the site they can be sorted, searched and filtered (book/_static/site.js).
"""

import re
from collections import Counter
from html import escape

from .entries import STATEMENTS, errata
from .ledger import entries_of, summary
from .nested import leaves, rows
from .show import Shown, describe, reading


def _figures(entry, most=None):
    """The printed figures as HTML, with errors struck out and corrected.

    Where nothing is wrong, `most` lines are shown at most.
    """
    printed, wrong = leaves(entry.printed), errata(entry)

    def show(index):
        text = escape(printed[index])
        if index not in wrong:
            return text
        corrected = escape(leaves(entry.corrected)[index])
        return f"<del>{text}</del>&nbsp;<ins>{corrected}</ins>"

    shown = [" ".join(row) for row in rows(entry.printed, show)]
    if most and not wrong and len(shown) > most + 1:
        shown[most:] = [f"… and {len(shown) - most} more lines like these"]
    lines = "<br>".join(shown)
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


# Verdicts in their order in the tables: errors come first.
FOLDS = {
    "wrong or loose": ("erratum", "false", "loose"),
    "reproduced or true": ("reproduced", "true"),
}


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


def anchor(slug, name):
    """The entry's name in addresses.

    It is valid as a CSS selector, because the theme's scripts use it as one.
    """
    return re.sub(r"[^\w-]", "-", f"{slug}-{name}")


def _entry_row(entry, slug):
    said = entry.kind in STATEMENTS
    kind = " (input)" if entry.kind == "given" else ""
    name = anchor(slug, entry.id)
    return (
        f'<a id="{name}" href="#{name}">{escape(slug)}</a>',
        escape(entry.section),
        escape(entry.says if said else entry.what) + kind,
        _verdict(entry),
        entry.kind if said else _figures(entry),
        _why(entry),
    )


def table(ledgers):
    """Return every entry of some ledgers as folded tables, errors first.

    Each ledger has a fold for what is wrong or loose, and then one for what
    holds.

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
    html = "\n".join(
        _fold(ledger, words, some)
        for words, some in FOLDS.items()
        for ledger in ledgers
    )
    return Shown(html, f"Entries of {_number(ledgers)}, a table.")


def _fold(ledger, words, some):
    """The entries of a ledger with some of the verdicts, or nothing."""
    entries = [e for e in entries_of(ledger) if e.verdict in some]
    entries.sort(key=lambda entry: some.index(entry.verdict))
    if not entries:
        return ""
    told = f"{escape(ledger.slug)}: {len(entries)} {words}"
    head = ("source", "section", "what", "verdict", "printed", "why")
    body = [_entry_row(entry, ledger.slug) for entry in entries]
    shown = _html_table(head, body, told, "entries")
    return f"<details><summary>{told}</summary>{shown}</details>"


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
    return Shown(html, f"Totals of {_number(ledgers)}, a table.")


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


# Colour alone would not tell verdicts apart. Blanks part the cells, because
# the search would take two words without one for one.
MARKS = {
    "reproduced": ("right", "✓"),
    "true": ("right", "✓"),
    "loose": ("loose", "~"),
    "erratum": ("wrong", "✗"),
    "false": ("wrong", "✗"),
}
# A reader of an audit compares by eye; seventy numbers that are all right stay
# in the ledger.
LINES = 4


def verdicts(ledger):
    """Return a table of what was compared since the last table.

    Each row has what the source prints, with errors struck out and corrected,
    the verdict, which links to the entry of the ledger, and the reason.

    Parameters
    ----------
    ledger : Ledger

    Returns
    -------
    object
        Shown as HTML; its text has the same verdicts.

    Raises
    ------
    TypeError, ValueError
        If `ledger` is not a ledger, or nothing was compared.

    Examples
    --------
    >>> from course.published import load
    >>> ledger = load("tiny-vectors")
    >>> ledger.compare("3.1-d_k", 4)
    >>> verdicts(ledger)
    3.1-d_k: 1 input reproduced
    """
    entries_of(ledger)
    entries = ledger.take()
    if not entries:
        raise ValueError("nothing was compared since the last table")
    body = "\n".join(_verdict_row(entry, ledger.slug) for entry in entries)
    return Shown(
        '<table class="av-judged"><thead><tr><th scope="col">The source'
        '</th><th scope="col">verdict</th><th scope="col">why</th></tr>'
        f"</thead>\n<tbody>\n{body}\n</tbody></table>",
        "\n".join(map(describe, entries)),
    )


def _verdict_row(entry, slug):
    kind, mark = MARKS[entry.verdict]
    name = anchor(slug, entry.id)
    return (
        f'<tr id="{name}" class="{kind}"><td>{_source_says(entry)}</td> '
        f'<td>{mark} <a href="../ledger.html#{name}">{entry.verdict}'
        f"</a>{_rests(entry)}</td> <td>{_reasons(entry, slug)}</td></tr>"
    )


def _rests(entry):
    """The basis of a verdict that no code decided, with a link to the work."""
    if entry.basis == "cited":
        return f', <a href="../bibliography.html#{entry.cite}">cited</a>'
    return "" if entry.basis == "computed" else f", {entry.basis}"


def _reasons(entry, slug):
    """The cause in words, the sentences, and a link to where it came from."""
    sentences = (entry.because, entry.accident, reading(entry))
    notes = [escape(text) for text in sentences if text is not None]
    if entry.cause is not None:
        cause = entry.cause.replace("-", " ")
        notes.insert(0, f"<b>{escape(cause)}.</b>")
    if entry.from_ is not None:
        before = anchor(slug, entry.from_)
        notes.append(
            f'Carried on from <a href="#{before}">an earlier error</a>.'
        )
    return " ".join(notes)


def _source_says(entry):
    """The name of the figures and the figures, or the statement."""
    if entry.kind in STATEMENTS:
        return escape(entry.says)
    kind = " (input)" if entry.kind == "given" else ""
    return f"<p>{escape(entry.what)}{kind}</p> {_figures(entry, LINES)}"


def overview(ledger, *lines):
    """Return a square per entry, and lines on what the audit found.

    Parameters
    ----------
    ledger : Ledger
    *lines : str

    Returns
    -------
    object
        Shown as HTML: a square leads to its row in the table of `verdicts`.

    Examples
    --------
    >>> from course.published import load
    >>> print(repr(overview(load("walkthrough"), "none wrong"))[:29])
    walkthrough, 72 entries: 62 r
    """
    entries = entries_of(ledger)
    kinds = Counter(MARKS[entry.verdict][0] for entry in entries)
    told = ", ".join(
        f"{kinds[kind]} {kind}"
        for kind in ("right", "loose", "wrong")
        if kinds[kind]
    )
    squares = " ".join(_square(entry, ledger.slug) for entry in entries)
    facts = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return Shown(
        f'<p class="av-entries">{squares}</p>'
        f'<p class="av-entries-key">{len(entries)} entries, in the order of '
        f"the source: {told}. A square leads to its row.</p><ul>{facts}</ul>",
        "\n".join([f"{ledger.slug}, {len(entries)} entries: {told}", *lines]),
    )


def _square(entry, slug):
    """A link; the tab key stops only at what is not right."""
    kind, mark = MARKS[entry.verdict]
    what = escape(entry.what or entry.says)
    skip = ' tabindex="-1" aria-hidden="true"' if kind == "right" else ""
    return (
        f'<a class="{kind}" href="#{anchor(slug, entry.id)}"{skip} '
        f'title="{what}" aria-label="{entry.verdict}: {what}">{mark}</a>'
    )
