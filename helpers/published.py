"""The ledger of published numbers: load it, compare with it, close it.

A ledger holds every figure that one source prints, as printed, and what
became of it. A chapter computes each figure and calls `Ledger.compare`; the
verdict follows from the two numbers, and the one on file must agree.
"""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from html import escape
from numbers import Rational
from pathlib import Path
from textwrap import fill

import numpy as np

from ._extras import extra

with extra("ledger"):
    import yaml

FOLDER = Path(__file__).resolve().parent / "ledgers"
FIGURES, STATEMENTS = ("given", "figure"), ("formula", "claim")


class LedgerError(AssertionError):
    """The ledger and the computation disagree; the message says where."""


def unit(printed, *, places=None, times="1", about=False):
    """The worth of the last digit of a printed number.

    Parameters
    ----------
    printed : str
        The number as printed.
    places : int, optional
        Decimals that were printed before trailing zeros were dropped.
    times : str, default "1"
        What one stands for, such as "1e6" where the source prints M.
    about : bool, default False
        The source says "about": trailing zeros of an integer do not count.

    Returns
    -------
    Fraction

    Examples
    --------
    >>> str(unit("0.507")), str(unit("270", about=True))
    ('1/1000', '10')
    """
    digits = Decimal(printed)
    exponent = digits.as_tuple().exponent
    if places is not None:
        exponent = -int(places)
    elif about and exponent == 0 and digits:
        exponent = digits.normalize().as_tuple().exponent
    return Fraction(10) ** exponent * Fraction(times)


def exact(value):
    """`value` as a fraction; a float stands for the number it stores.

    Parameters
    ----------
    value : int, float, Fraction or str

    Returns
    -------
    Fraction

    Examples
    --------
    >>> str(exact(0.5)), str(exact("0.1")), exact(0.1) == exact("0.1")
    ('1/2', '1/10', False)
    """
    if isinstance(value, Rational):
        return Fraction(value)
    return Fraction(
        Decimal(str(value))
        if isinstance(value, str)
        else Decimal(float(value))
    )


def matches(printed, value, **how):
    """Whether `value`, rounded to the printed digits, gives `printed`.

    Parameters
    ----------
    printed : str
        The number as printed, ``"-inf"`` included.
    value : int, float, Fraction
        The exact value.
    **how
        As `unit`.

    Returns
    -------
    bool
        True within half a unit of the last printed digit, ties either way.

    Notes
    -----
    A float may miss an exact tie by its own rounding, so a float gets a slack
    of 1e-9 units; an integer or a fraction gets none.

    Examples
    --------
    >>> matches("0.098", 0.0975), matches("0.097", 0.0975)
    (True, True)
    >>> matches("0.5066", 0.50648)
    False
    """
    if printed in ("inf", "-inf") or not np.isfinite(float(value)):
        return float(value) == float(printed)
    slack = 0 if isinstance(value, Rational) else Fraction(1, 10**9)
    miss = abs(
        Fraction(printed) * Fraction(how.get("times", "1")) - exact(value)
    )
    return miss <= (Fraction(1, 2) + slack) * unit(printed, **how)


def leaves(nested):
    """The texts of nested lists, each with its index.

    Parameters
    ----------
    nested : str or nested lists of str

    Returns
    -------
    dict of tuple to str

    Examples
    --------
    >>> leaves([["1", "2"]])
    {(0, 0): '1', (0, 1): '2'}
    """
    if not isinstance(nested, list):
        return {(): nested}
    return {
        (i, *index): leaf
        for i, part in enumerate(nested)
        for index, leaf in leaves(part).items()
    }


def shape(nested):
    """The shape of nested lists.

    Parameters
    ----------
    nested : str or nested lists of str

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If the lists are ragged.

    Examples
    --------
    >>> shape([["1", "2"], ["3", "4"]])
    (2, 2)
    """
    if not isinstance(nested, list):
        return ()
    shapes = {shape(part) for part in nested}
    if len(shapes) != 1:
        raise ValueError(f"ragged lists: {nested}")
    return (len(nested), *shapes.pop())


class Ledger:
    """One source's figures and claims, and which of them were compared.

    Parameters
    ----------
    record : dict
        What the YAML file holds, every value as text.

    Raises
    ------
    LedgerError
        If an id is used twice.

    Examples
    --------
    >>> entry = {"id": "1", "kind": "figure", "what": "a third",
    ...          "printed": "0.33", "verdict": "reproduced"}
    >>> toy = Ledger({"slug": "toy", "title": "Toy", "entries": [entry]})
    >>> toy.compare("1", Fraction(1, 3))
    1: 1 figure reproduced
    >>> toy.close()
    Toy (toy)
         1  figures reproduced
    """

    def __init__(self, record):
        self.record = record
        self.slug = record["slug"]
        self.entries = {entry["id"]: entry for entry in record["entries"]}
        if len(self.entries) != len(record["entries"]):
            counts = Counter(entry["id"] for entry in record["entries"])
            twice = [name for name, n in counts.items() if n > 1]
            raise LedgerError(f"{self.slug}: ids used twice: {twice}")
        self.compared = set()

    def __repr__(self):
        return f"<Ledger {self.slug}: {len(self.entries)} entries>"

    def _open(self, name, kinds):
        entry = self.entries.get(name)
        if entry is None:
            raise LedgerError(f"{self.slug}: there is no entry {name!r}")
        if entry["kind"] not in kinds:
            raise LedgerError(f"{self.slug}: {name} is a {entry['kind']}")
        if name in self.compared:
            raise LedgerError(f"{self.slug}: {name} was compared before")
        self.compared.add(name)
        return entry

    def compare(self, name, value, *, mistake=None):
        """Hold computed numbers against the printed ones, and say the verdict.

        Parameters
        ----------
        name : str
            The entry's id.
        value : number or array
            The exact value, unrounded, in the shape of the printed figures.
        mistake : number or array, optional
            The same computation with the error put back in. It must give
            every printed digit. Required for an erratum.

        Raises
        ------
        LedgerError
            If the verdict, the corrected digits or the cause on file do not
            follow from the numbers.
        """
        entry = self._open(name, FIGURES)
        rule = how(entry)
        wrong = self._misses(entry, "printed", value, rule)
        verdict = "erratum" if wrong else "reproduced"
        self._expect(entry, verdict, wrong)
        if wrong:
            off = self._misses(entry, "corrected", value, rule)
            self._refuse(entry, off, "the corrected digits are not right")
            if mistake is None:
                raise LedgerError(f"{self.slug}: {name} needs its mistake")
        if mistake is not None:
            off = self._misses(entry, "printed", mistake, rule)
            self._refuse(entry, off, "the mistake does not give these digits")
        elif "accident" in entry:
            raise LedgerError(f"{self.slug}: {name} needs its mistake")
        print(_describe(entry, len(wrong)))

    def claim(self, name, *, holds, charitably=None):
        """Judge a formula or a statement, and say the verdict.

        Parameters
        ----------
        name : str
            The entry's id.
        holds : bool
            Whether it is true as it stands. Computed, never typed.
        charitably : bool, optional
            Whether it is true as it was probably meant.

        Raises
        ------
        LedgerError
            If the verdict on file is another.
        """
        entry = self._open(name, STATEMENTS)
        loose = "loose" if charitably else "false"
        self._expect(entry, "true" if holds else loose, ())
        print(_describe(entry, 0))

    def close(self):
        """Say the counts; refuse if an entry was not compared.

        Raises
        ------
        LedgerError
            If an entry was never compared.
        """
        missing = [name for name in self.entries if name not in self.compared]
        if missing:
            raise LedgerError(f"{self.slug}: never compared: {missing}")
        print(f"{self.record['title']} ({self.slug})")
        for line, count in summary(self).items():
            print(f"{count:6d}  {line}")

    def _misses(self, entry, field, value, rule):
        texts = entry[field]
        # Objects keep fractions and integers exact.
        values = np.array(value, dtype=object)
        if values.shape != shape(texts):
            raise LedgerError(
                f"{self.slug}: {entry['id']}: {field} has shape "
                f"{shape(texts)}, the value {values.shape}"
            )
        return [
            (index, text, values[index])
            for index, text in leaves(texts).items()
            if not matches(text, values[index], **rule)
        ]

    def _expect(self, entry, verdict, wrong):
        if entry["verdict"] != verdict:
            where = "".join(
                f"; {text} at {list(index)} against {float(value):.10g}"
                for index, text, value in wrong
            )
            raise LedgerError(
                f"{self.slug}: {entry['id']}: the ledger says "
                f"{entry['verdict']}, the numbers say {verdict}{where}"
            )

    def _refuse(self, entry, off, message):
        if off:
            index, text, value = off[0]
            raise LedgerError(
                f"{self.slug}: {entry['id']}: {message}: {text} at "
                f"{list(index)} against {float(value):.10g}"
            )


def how(entry):
    """The keyword arguments of `matches` that an entry asks for.

    Parameters
    ----------
    entry : dict

    Returns
    -------
    dict

    Examples
    --------
    >>> how({"printed": "268", "times": "1e6", "about": "yes"})
    {'times': '1e6', 'about': True}
    """
    rule = {key: entry[key] for key in ("places", "times") if key in entry}
    return rule | ({"about": True} if entry.get("about") == "yes" else {})


def errata(entry):
    """The indices at which the corrected digits differ from the printed.

    Parameters
    ----------
    entry : dict

    Returns
    -------
    list of tuple of int

    Examples
    --------
    >>> errata({"verdict": "erratum", "printed": ["0.50", "0.26"],
    ...         "corrected": ["0.50", "0.25"]})
    [(1,)]
    """
    if entry["verdict"] != "erratum":
        return []
    corrected = leaves(entry["corrected"])
    printed = leaves(entry["printed"])
    return [index for index in printed if printed[index] != corrected[index]]


def summary(ledger):
    """How many figures, errata by cause, and statements by verdict.

    Parameters
    ----------
    ledger : Ledger

    Returns
    -------
    dict of str to int

    Examples
    --------
    >>> summary(load("walkthrough"))["figures reproduced"] > 90
    True
    """
    rows, causes, verdicts = Counter(), Counter(), Counter()
    for entry in ledger.entries.values():
        if entry["kind"] in STATEMENTS:
            verdicts[f"{entry['kind']}s {entry['verdict']}"] += 1
            continue
        wrong = len(errata(entry))
        name = "inputs" if entry["kind"] == "given" else "figures"
        rows[f"{name} reproduced"] += len(leaves(entry["printed"])) - wrong
        if wrong:
            rows[f"{name} in error"] += wrong
            causes[f"  {entry['cause']}"] += wrong
    return (
        dict(rows)
        | dict(sorted(causes.items()))
        | dict(sorted(verdicts.items()))
    )


def _line(texts):
    return "  ".join(leaves(texts).values())


def _describe(entry, wrong):
    """What a chapter prints for one entry."""
    if entry["kind"] in STATEMENTS:
        lines = [f"{entry['id']}: {entry['verdict']}"]
        lines.append(_indent(entry["says"]))
    else:
        total = len(leaves(entry["printed"]))
        noun = "input" if entry["kind"] == "given" else "figure"
        noun += "s" * (total > 1)
        tail = f", {wrong} in error" if wrong else " reproduced"
        lines = [f"{entry['id']}: {total} {noun}{tail}"]
    if wrong:
        lines.append(_indent(f"printed    {_line(entry['printed'])}"))
        lines.append(_indent(f"corrected  {_line(entry['corrected'])}"))
        lines.append(_indent(f"cause      {entry['cause']}"))
    for key in ("because", "accident"):
        if key in entry:
            lines.append(_indent(entry[key]))
    return "\n".join(lines)


def _indent(text, width=66):
    """`text` wrapped, four spaces in; runs of spaces are kept."""
    return fill(
        text,
        width,
        initial_indent="    ",
        subsequent_indent="    ",
        replace_whitespace=False,
        drop_whitespace=True,
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

    times = f" × {entry['times']}" if "times" in entry else ""
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

    Examples
    --------
    >>> table(load("tiny-vectors"))
    Ledger of tiny-vectors, a table.
    """
    rows = []
    for entry in ledger.entries.values():
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
                entry["verdict"],
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

    Examples
    --------
    >>> totals([load("tiny-vectors")])
    Totals of 1 ledger, a table.
    """
    rows = []
    for ledger in ledgers:
        counts = Counter(summary(ledger))
        statements = [
            sum(counts[f"{kind}s {verdict}"] for kind in STATEMENTS)
            for verdict in ("true", "loose", "false")
        ]
        right = counts["figures reproduced"] + counts["inputs reproduced"]
        wrong = counts["figures in error"] + counts["inputs in error"]
        rows.append((ledger.slug, right + wrong, right, wrong, *statements))
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


def load(slug, folder=FOLDER):
    """The ledger of one source.

    Parameters
    ----------
    slug : str
        The source's short name.
    folder : path, optional
        Where the YAML files are.

    Returns
    -------
    Ledger

    Raises
    ------
    FileNotFoundError
        If there is no ledger of that name.

    Examples
    --------
    >>> load("tiny-vectors").record["chapter"]
    '01'
    """
    path = Path(folder) / f"{slug}.yml"
    if not path.exists():
        known = sorted(p.stem for p in Path(folder).glob("*.yml"))
        raise FileNotFoundError(f"no ledger {slug!r}; there are {known}")
    # BaseLoader reads every value as text: 0.50 keeps its zero.
    text = path.read_text(encoding="utf-8")
    return Ledger(yaml.load(text, Loader=yaml.BaseLoader))
