"""An entry of a ledger: what a source printed, and the verdict on it."""

from dataclasses import dataclass

from .nested import leaves

FIGURES, STATEMENTS = ("given", "figure"), ("formula", "claim")
# How the cited work of an entry was read: the document that its authors
# published; a copy of its text; or quotations in other works.
READINGS = ("first-hand", "stored copy", "second hand")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One figure or one statement of a source, with its verdict.

    The fields are those of the YAML file (docs/ledger.md), or None if the file
    does not have them. `from_` is the file's field ``from``, which is a
    keyword in Python.

    Parameters
    ----------
    id, section : str
        Its name, unique in the source, and where it was printed.
    kind : {"given", "figure", "formula", "claim"}
    verdict : {"reproduced", "erratum", "true", "loose", "false"}
    what, says : str, optional
        The name of the figures, or the statement.
    printed, corrected : str or nested lists of str, optional
        The digits of the source, and the correct ones for an erratum.
    places : int, optional
    times : str, default "1"
    about : bool, default False
        How figures are compared, as in `numerals.unit`.
    cause, because, accident, from_, cite : str, optional
        The reasons for the verdict.
    basis : {"computed", "cited", "conjectured"}
        The basis of the verdict.
    read : {"first-hand", "stored copy", "second hand"}, optional
        How the cited work was read.
    copy : str, optional
        The copy that was read, and the date.

    Examples
    --------
    >>> third = Entry(id="1", section="1", kind="figure", what="a third",
    ...               printed="0.33", verdict="reproduced")
    >>> third.printed, third.basis
    ('0.33', 'computed')
    """

    id: str
    section: str
    kind: str
    verdict: str
    what: str | None = None
    says: str | None = None
    printed: str | list | None = None
    corrected: str | list | None = None
    places: int | None = None
    times: str = "1"
    about: bool = False
    cause: str | None = None
    because: str | None = None
    accident: str | None = None
    from_: str | None = None
    cite: str | None = None
    basis: str = "computed"
    read: str | None = None
    copy: str | None = None

    @property
    def how(self):
        """The arguments of `numerals.matches`, which compares its figures."""
        return {
            "places": self.places,
            "times": self.times,
            "about": self.about,
        }


def read_entry(fields, rivals=()):
    """Make an entry from the texts of a ledger's file.

    `rivals` are the causes that were found as the best fit of a search.

    Examples
    --------
    >>> read_entry({"id": "1", "section": "1", "kind": "given",
    ...             "what": "a seed", "printed": ["1", "2"], "places": "1",
    ...             "verdict": "reproduced"}).printed
    ['1', '2']
    """
    made = dict(fields)
    if "from" in made:
        made["from_"] = made.pop("from")
    if "places" in made:
        made["places"] = int(made["places"])
    if "about" in made:
        made["about"] = made["about"] == "yes"
    if made.get("cause") in rivals:
        made["basis"] = "conjectured"
    return Entry(**made)


def errata(entry):
    """Return the indices at which corrected and printed digits differ.

    Parameters
    ----------
    entry : Entry

    Returns
    -------
    list of tuple of int

    Examples
    --------
    >>> errata(Entry(id="1", section="1", kind="figure", verdict="erratum",
    ...              printed=["0.50", "0.26"], corrected=["0.50", "0.25"]))
    [(1,)]
    """
    if entry.corrected is None:
        return []
    printed, corrected = leaves(entry.printed), leaves(entry.corrected)
    return [index for index in printed if printed[index] != corrected[index]]
