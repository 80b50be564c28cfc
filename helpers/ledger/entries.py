"""An entry of a ledger: what a source printed, and what became of it."""

from dataclasses import dataclass

from .nested import leaves

FIGURES, STATEMENTS = ("given", "figure"), ("formula", "claim")
# How the work that an entry cites was read: the document that its authors
# published; its text as others keep it; or what other works say of it.
READINGS = ("first-hand", "stored copy", "second hand")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One figure or one statement of a source, with its verdict.

    The fields are those of the YAML file (CONTRIBUTING.md, *Rules for the
    ledger*); None where the file has none. `from_` is its field ``from``,
    which Python keeps for itself.

    Parameters
    ----------
    id, section : str
        Its name, unique in the source, and where it was printed.
    kind : {"given", "figure", "formula", "claim"}
    verdict : {"reproduced", "erratum", "true", "loose", "false"}
    what, says : str, optional
        The name of the figures, or the statement.
    printed, corrected : str or nested lists of str, optional
        The digits of the source, and the right ones of an erratum.
    places : int, optional
    times : str, default "1"
    about : bool, default False
        How figures are compared, as in `numerals.unit`.
    cause, because, accident, from_, cite : str, optional
        Why the verdict is as it is.
    basis : {"computed", "cited", "conjectured"}
        What the verdict rests on.
    read : {"first-hand", "stored copy", "second hand"}, optional
        How the cited work was read.
    copy : str, optional
        Which copy of it, and on which day.

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
        """How its figures are compared: keywords of `numerals.matches`."""
        return {
            "places": self.places,
            "times": self.times,
            "about": self.about,
        }


def read_entry(fields, rivals=()):
    """An entry, from the texts that a ledger's file holds.

    Parameters
    ----------
    fields : dict of str to str or nested lists of str
    rivals : container of str
        The causes that are the best fit of a search.

    Returns
    -------
    Entry

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
    """The indices at which the corrected digits differ from the printed.

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
