"""A source's entries, and a record of which an audit has compared."""

from contextlib import contextmanager

from helpers import _checks

from .compare import misses, told
from .entries import FIGURES, STATEMENTS, errata, read_entry
from .errors import located
from .files import FOLDER, read
from .rules import check
from .show import account, counts


class Ledger:
    """One source's figures and claims, and which of them were compared.

    Parameters
    ----------
    record : dict
        The content of the YAML file, every value as text. Its fields are
        attributes, and `entries` maps each id to its `Entry`.

    Raises
    ------
    LedgerError
        If the record breaks a rule of `check`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> entry = {"id": "1", "section": "1", "kind": "figure",
    ...          "what": "a third", "printed": "0.33",
    ...          "verdict": "reproduced"}
    >>> toy = Ledger({"slug": "toy", "title": "Toy", "work": "None",
    ...               "lesson": "none", "entries": [entry]})
    >>> toy.compare("1", Fraction(1, 3))
    >>> [entry.verdict for entry in toy.take()]
    ['reproduced']
    >>> toy.close()
    Toy (toy)
         1  figures reproduced
    """

    def __init__(self, record):
        check(record)
        self.slug, self.title = record["slug"], record["title"]
        self.work, self.lesson = record["work"], record["lesson"]
        self.causes = record.get("causes", {})
        self.rivals = record.get("rivals", {})
        entries = (read_entry(e, self.rivals) for e in record["entries"])
        self.entries = {entry.id: entry for entry in entries}
        self.compared = set()
        self.untold = []
        self.closed = False

    def __repr__(self):
        return f"<Ledger {self.slug}: {len(self.entries)} entries>"

    def compare(self, name, value, *, mistake=None):
        """Compare computed numbers with the printed ones.

        Parameters
        ----------
        name : str
            The entry's id.
        value : number, array, or nested lists of numbers
            The exact value, unrounded, in the shape of the printed figures.
        mistake : like value, optional
            The same computation with the source's error. It must give every
            printed digit. Required for an erratum and an accident.

        Raises
        ------
        LedgerError
            If the stored verdict, corrected digits or cause do not follow from
            the numbers, or if an entry of `value` is not a number.
        """
        with self._comparing(name, FIGURES) as entry:
            wrong = misses(entry, "printed", value, "value")
            verdict = "erratum" if wrong else "reproduced"
            _refuse_another_verdict(entry, verdict, told(wrong))
            if wrong:
                _refuse_another_correction(entry, value, wrong)
            _refuse_another_cause(entry, mistake)

    def claim(self, name, *, holds, charitably=None):
        """Judge a formula or a statement.

        Parameters
        ----------
        name : str
            The entry's id.
        holds : bool
            Whether it is literally true. Compute it; never type it.
        charitably : bool, optional
            Whether it is true in the sense that was probably meant.

        Raises
        ------
        LedgerError
            If the stored verdict is different, or an argument is not a bool.
        """
        with self._comparing(name, STATEMENTS) as entry:
            if entry.basis == "cited":
                raise ValueError("is cited, not computed; use cite")
            holds = bool(_checks.check_flag(holds, "holds"))
            if charitably is not None:
                charitably = bool(_checks.check_flag(charitably, "charitably"))
            verdict = "true" if holds else "loose" if charitably else "false"
            said = f"holds is {holds}, charitably {charitably}"
            _refuse_another_verdict(entry, verdict, said)

    def cite(self, name):
        """Take a verdict that rests on a cited work instead of code.

        Parameters
        ----------
        name : str
            The entry's id. The entry names the work and what it says.

        Raises
        ------
        LedgerError
            If the verdict must be computed.
        """
        with self._comparing(name, STATEMENTS) as entry:
            if entry.basis != "cited":
                raise ValueError("is computed, not cited; use claim")

    def take(self):
        """Return the entries that were compared and not yet taken, to show."""
        taken, self.untold = self.untold, []
        return taken

    def close(self):
        """Return the counts, and refuse if an entry was not compared.

        Returns
        -------
        Shown

        Raises
        ------
        LedgerError
            If an entry was never compared or never shown, or the ledger was
            closed before.
        """
        missing = [name for name in self.entries if name not in self.compared]
        untold = [entry.id for entry in self.untold]
        with located(self.slug):
            if missing:
                raise ValueError(f"never compared: {missing}")
            if untold:
                raise ValueError(f"compared, but shown nowhere: {untold}")
            if self.closed:
                raise ValueError("closed before; a ledger is closed once")
        self.closed = True
        return account(f"{self.title} ({self.slug})", summary(self))

    @contextmanager
    def _comparing(self, name, kinds):
        """Yield an entry to compare, and record it if no error is raised."""
        with located(self.slug):
            if not isinstance(name, str) or name not in self.entries:
                raise ValueError(f"there is no entry {name!r}")
        entry = self.entries[name]
        with located(self.slug, name):
            if entry.kind not in kinds:
                act = "compare" if kinds == FIGURES else "claim or cite"
                raise ValueError(
                    f"is a {entry.kind}; {act} is for a {' or a '.join(kinds)}"
                )
            if name in self.compared:
                raise ValueError("was compared before")
            yield entry
        self.compared.add(name)
        self.untold.append(entry)


def _refuse_another_verdict(entry, verdict, said):
    """Require that the stored verdict is the computed one."""
    if entry.verdict != verdict:
        raise ValueError(
            f"the ledger says {entry.verdict}, "
            f"the numbers say {verdict}; {said}"
        )


def _refuse_another_correction(entry, value, wrong):
    """Require corrected digits to be right, and only where print is wrong."""
    off = misses(entry, "corrected", value, "value")
    if off:
        raise ValueError(f"the corrected digits are not right; {told(off)}")
    if [miss.index for miss in wrong] != errata(entry):
        raise ValueError(
            "corrected must differ from printed where that is wrong, "
            f"and nowhere else; {told(wrong)}"
        )


def _refuse_another_cause(entry, mistake):
    """Require that the mistake reproduces the printed digits."""
    if mistake is not None:
        off = misses(entry, "printed", mistake, "mistake")
        if off:
            raise ValueError(
                f"the mistake must give every printed digit; {told(off)}"
            )
    elif entry.verdict == "erratum" or entry.accident is not None:
        raise ValueError("needs the mistake that gives the printed digits")


def load(slug, folder=FOLDER):
    """Load the ledger of one source.

    Parameters
    ----------
    slug : str
        The source's short name, which is the name of its file.
    folder : path, optional
        The folder of the YAML files.

    Returns
    -------
    Ledger

    Raises
    ------
    FileNotFoundError
        If there is no ledger of that name.
    LedgerError
        If the file is not YAML, gives a field twice, or breaks a rule of
        `check`.

    Examples
    --------
    >>> load("tiny-vectors").lesson
    'three-tokens'
    """
    return Ledger(read(slug, folder))


def entries_of(ledger):
    """Return the entries of a ledger, in the order of the source."""
    if not isinstance(ledger, Ledger):
        raise TypeError(f"ledger must be a Ledger; got {ledger!r}")
    return list(ledger.entries.values())


def basis(ledger, name):
    """Return the basis of an entry's verdict.

    Parameters
    ----------
    ledger : Ledger
    name : str
        The entry's id.

    Returns
    -------
    str
        "computed": code decided it. "cited": a work says so. "conjectured":
        code shows that the figure is wrong, but its cause is the best fit of a
        search, and other causes fit too.

    Raises
    ------
    LedgerError
        If there is no such entry.

    Examples
    --------
    >>> basis(load("walkthrough"), "core-softmax-stable")
    'computed'
    """
    entries_of(ledger)
    with located(ledger.slug):
        if name not in ledger.entries:
            raise ValueError(f"there is no entry {name!r}")
    return ledger.entries[name].basis


def summary(ledger):
    """Count figures, errata by cause, and statements by verdict.

    Parameters
    ----------
    ledger : Ledger

    Returns
    -------
    dict of str to int

    Examples
    --------
    >>> summary(load("walkthrough"))["figures reproduced"] > 80
    True
    """
    return counts(entries_of(ledger))
