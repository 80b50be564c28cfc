"""The ledger of published numbers: load it, compare with it, close it.

A ledger holds every figure that one source gives on its subject, as printed,
and what became of it. A chapter computes each figure and calls
`Ledger.compare`; the verdict follows from the two numbers, and the one on file
must agree. `helpers.ledger_page` shows ledgers as tables.
"""

import re
from collections import Counter
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from textwrap import fill

import numpy as np

from . import _checks
from ._extras import extra

with extra("ledger"):
    import yaml

FOLDER = Path(__file__).resolve().parent / "ledgers"
FIGURES, STATEMENTS = ("given", "figure"), ("formula", "claim")

# What a source, and an entry of each verdict, must have and may have.
SOURCE = (
    {"slug", "title", "work", "lesson", "entries"},
    {"causes", "rivals"},
)
ENTRY = {"id", "section", "kind", "verdict"}
DIGITS = {"places", "times", "about"}
FIELDS = {
    "reproduced": (
        ENTRY | {"what", "printed"},
        DIGITS | {"accident", "because", "cite"},
    ),
    "erratum": (
        ENTRY | {"what", "printed", "corrected", "cause", "because"},
        DIGITS | {"accident", "from", "cite"},
    ),
    "true": (ENTRY | {"says"}, {"because", "cite", "basis"}),
    "loose": (ENTRY | {"says", "because"}, {"cite", "basis"}),
    "false": (ENTRY | {"says", "because"}, {"cite", "basis"}),
}
VERDICTS = dict.fromkeys(FIGURES, ("reproduced", "erratum")) | dict.fromkeys(
    STATEMENTS, ("true", "loose", "false")
)

# Three digits of an exponent hold every float, and no integer that fills
# the memory.
NUMERAL = r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?"
INFINITE = ("inf", "-inf")


class LedgerError(AssertionError):
    """The ledger breaks a rule, or the computation disagrees with it.

    The message says where (source, entry, field) and which rule.
    """


@contextmanager
def _at(where):
    """Say where it was that an argument or a field broke a rule."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise LedgerError(f"{where}: {error}") from None


def _ask(holds, rule):
    if not holds:
        raise ValueError(rule)


def _numeral(text, name):
    """`text`, if a source can print such a number."""
    if not isinstance(text, str):
        raise TypeError(
            f"{name} must be text, which keeps its digits; got {text!r}"
        )
    _ask(
        re.fullmatch(NUMERAL, text),
        f"{name} must be a numeral such as -0.50 or 1e-3; got {text!r}",
    )
    return text


def _times(text):
    """What one stands for, as a fraction above zero."""
    times = Fraction(_numeral(text, "times"))
    _ask(times > 0, f"times must be above zero; got {text!r}")
    return times


def _truth(value, name):
    """`value` as a bool; 0.1, "False" and a function are no verdicts."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def _number(value, name):
    """`value` as an int or a Fraction, which are exact, or as a float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic) and value.dtype.kind in "iuf":
        value = value.item()  # a Fraction of NumPy's integers would wrap
    if isinstance(value, Decimal) and value.is_finite():
        value = Fraction(value)
    real = isinstance(value, int | Fraction | float | np.longdouble)
    if not real or isinstance(value, bool):
        raise TypeError(f"{name} must be a real number; got {value!r}")
    return value


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

    Raises
    ------
    TypeError, ValueError
        If `printed` or `times` is no numeral, or `places` are fewer than
        the decimals that are there.

    Examples
    --------
    >>> str(unit("0.507")), str(unit("270", about=True))
    ('1/1000', '10')
    """
    digits = Decimal(_numeral(printed, "printed"))
    exponent = digits.as_tuple().exponent
    about = _truth(about, "about")
    if places is not None:
        fewest = max(0, -exponent)
        exponent = -_checks.integer(places, "places", least=fewest)
    elif about and digits and printed.lstrip("+-").isdecimal():
        exponent = len(printed) - len(printed.rstrip("0"))
    return Fraction(10) ** exponent * _times(times)


def exact(value):
    """`value` as a fraction; a float stands for the number it stores.

    Parameters
    ----------
    value : int, float, Fraction, Decimal or NumPy scalar

    Returns
    -------
    Fraction

    Raises
    ------
    TypeError, ValueError
        If `value` is no real number, or not finite.

    Examples
    --------
    >>> str(exact(0.5)), exact(0.1) == Fraction("0.1")
    ('1/2', False)
    """
    value = _number(value, "value")
    try:
        return Fraction(*value.as_integer_ratio())
    except (OverflowError, ValueError):
        raise ValueError(f"value must be finite; got {value}") from None


def matches(printed, value, **how):
    """Whether `value`, rounded to the printed digits, gives `printed`.

    Parameters
    ----------
    printed : str
        The number as printed, ``"-inf"`` included.
    value : int, float, Fraction, Decimal or NumPy scalar
        The exact value.
    **how
        As `unit`.

    Returns
    -------
    bool
        True within half a unit of the last printed digit, ties either way.

    Raises
    ------
    TypeError, ValueError
        If `printed` is no numeral, or `value` no real number.

    Notes
    -----
    A float may miss an exact tie by its own rounding, so a float gets a slack
    of 1e-9 units; an integer, a fraction or a decimal gets none.

    Examples
    --------
    >>> matches("0.098", 0.0975), matches("0.097", 0.0975)
    (True, True)
    >>> matches("0.5066", 0.50648)
    False
    """
    value = _number(value, "value")
    if printed in INFINITE:
        return value == float(printed)
    step = unit(printed, **how)
    slack = 0
    if not isinstance(value, int | Fraction):
        if not np.isfinite(value):
            return False
        slack = Fraction(1, 10**9)
    miss = abs(
        Fraction(printed) * _times(how.get("times", "1")) - exact(value)
    )
    return miss <= (Fraction(1, 2) + slack) * step


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


def shape(nested, name="nested lists"):
    """The shape of nested lists.

    Parameters
    ----------
    nested : str or nested lists of str
    name : str, optional
        What an error calls them.

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
    shapes = {shape(part, name) for part in nested} or {()}
    _ask(len(shapes) == 1, f"{name} must not be ragged; got {nested}")
    return (len(nested), *shapes.pop())


def how(entry):
    """The keyword arguments of `matches` that an entry asks for.

    Parameters
    ----------
    entry : dict

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If `places` or `about` is not as a ledger writes it.

    Examples
    --------
    >>> how({"printed": "268", "times": "1e6", "about": "yes"})
    {'times': '1e6', 'about': True}
    """
    rule = {"times": entry["times"]} if "times" in entry else {}
    if "places" in entry:
        places = entry["places"]
        _ask(
            re.fullmatch("[0-9]{1,2}", places),
            f"places must be 0 to 99; got {places!r}",
        )
        rule["places"] = int(places)
    if "about" in entry:
        about = entry["about"]
        _ask(about == "yes", f"about must be yes, or absent; got {about!r}")
        rule["about"] = True
    return rule


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


def check(record):
    """Refuse a record that breaks a rule of the ledger.

    Parameters
    ----------
    record : dict
        What the YAML file holds, every value as text.

    Raises
    ------
    LedgerError
        At the first broken rule; says the source, the entry and the field.

    Examples
    --------
    >>> try:
    ...     check({"slug": "toy", "title": "Toy"})
    ... except LedgerError as error:
    ...     print(error)
    toy: entries must be there
    """
    with _at("ledger"):
        _ask(isinstance(record, dict), f"must be a dict; got {record!r}")
    slug = record.get("slug", "ledger")
    with _at(slug):
        _check_fields(record, *SOURCE)
        _check_texts(record, but=("causes", "rivals", "entries"))
        causes, rivals = (record.get(k, {}) for k in ("causes", "rivals"))
        entries = record["entries"]
        for field, texts in (("causes", causes), ("rivals", rivals)):
            _ask(
                isinstance(texts, dict),
                f"{field} must be a dict; got {texts!r}",
            )
            _check_texts(texts)
        for cause in rivals:
            _ask(cause in causes, f"rivals must be of a cause; got {cause!r}")
        _ask(
            isinstance(entries, list) and entries,
            f"entries must be a list of at least one; got {entries!r}",
        )
    for place, entry in enumerate(entries):
        with _at(f"{slug}: entries at [{place}]"):
            _ask(isinstance(entry, dict), f"must be a dict; got {entry!r}")
            _ask("id" in entry, "id must be there")
        with _at(f"{slug}: {entry['id']}"):
            _check_entry(entry)
            _check_links(entry, entries[:place], causes)
    for cause in causes:
        with _at(slug):
            used = any(entry.get("cause") == cause for entry in entries)
            _ask(used, f"causes must be used; {cause} is not")


def _check_fields(fields, required, optional):
    for field in sorted(required):
        _ask(field in fields, f"{field} must be there")
    known = sorted(required | optional)
    for field in fields:
        _ask(field in known, f"{field} must be one of {', '.join(known)}")


def _check_texts(fields, but=()):
    for field, text in fields.items():
        _ask(
            field in but or (isinstance(text, str) and text.strip()),
            f"{field} must be text, and not empty; got {text!r}",
        )


def _check_entry(entry):
    _check_texts(entry, but=("printed", "corrected"))
    kind, verdict = entry.get("kind"), entry.get("verdict")
    _ask(
        kind in VERDICTS,
        f"kind must be one of {', '.join(VERDICTS)}; got {kind!r}",
    )
    _ask(
        verdict in VERDICTS[kind],
        f"verdict must be one of {', '.join(VERDICTS[kind])} for a {kind}; "
        f"got {verdict!r}",
    )
    _check_fields(entry, *FIELDS[verdict])
    if "basis" in entry:
        _ask(
            entry["basis"] == "cited",
            f"basis must be cited, or absent; got {entry['basis']!r}",
        )
        for field in ("cite", "because"):
            _ask(field in entry, f"{field} must be there if basis is cited")
    for field in ("printed", "corrected"):
        if field in entry:
            _check_figures(entry[field], field, how(entry))
    if "corrected" in entry:
        _check_corrections(entry)


def _check_figures(nested, field, rule):
    for index, text in leaves(nested).items():
        if text not in INFINITE:
            unit(_numeral(text, f"{field} at {list(index)}"), **rule)
    filled = 0 not in shape(nested, field)
    _ask(filled, f"{field} must hold a figure in each list")


def _check_corrections(entry):
    printed, corrected = entry["printed"], entry["corrected"]
    _ask(
        shape(corrected) == shape(printed),
        f"corrected must have the shape of printed, {shape(printed)}; "
        f"got {shape(corrected)}",
    )
    _ask(errata(entry), "corrected must differ from printed somewhere")
    rule, times = how(entry), _times(entry.get("times", "1"))
    for index in errata(entry):
        wrong, right = leaves(printed)[index], leaves(corrected)[index]
        if wrong in INFINITE or right in INFINITE:
            continue
        must = f"corrected at {list(index)} must"
        _ask(
            unit(right, **rule) <= unit(wrong, **rule),
            f"{must} have as many decimals as {wrong}; got {right}",
        )
        _ask(
            not matches(wrong, Fraction(right) * times, **rule),
            f"{must} be more than half a unit from {wrong}; got {right}",
        )


def _check_links(entry, earlier, causes):
    names = {other["id"] for other in earlier}
    _ask(entry["id"] not in names, "id must be used once")
    if "cause" in entry:
        _ask(
            entry["cause"] in causes,
            f"cause must be one of {', '.join(causes)}; "
            f"got {entry['cause']!r}",
        )
    if "from" in entry:
        _ask(
            entry["from"] in names,
            f"from must name an earlier entry; got {entry['from']!r}",
        )


def _lists(value, name):
    """Arrays and tuples as nested lists; what they hold stays exact."""
    _ask(
        not np.ma.is_masked(value),
        f"{name} must have no masked entries; got {value}",
    )
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [_lists(part, name) for part in value]
    return value


def _misses(entry, field, value, name):
    """Where `value` does not give the figures of `field`: index and both."""
    texts, numbers = entry[field], _lists(value, name)
    _ask(
        shape(numbers, name) == shape(texts),
        f"{name} must have the shape of {field}, {shape(texts)}; "
        f"got {shape(numbers)}",
    )
    numbers = {
        index: _number(number, f"{name} at {list(index)}")
        for index, number in leaves(numbers).items()
    }
    return [
        (index, text, numbers[index])
        for index, text in leaves(texts).items()
        if not matches(text, numbers[index], **how(entry))
    ]


def _said(misses):
    """The rule for figures, and each that breaks it beside its number."""
    rule = "off by more than half a unit of the last digit"
    pairs = [
        f"{text} at {list(index)} against {_short(number)}"
        for index, text, number in misses
    ]
    return f"{rule}: {'; '.join(pairs)}" if pairs else f"no figure is {rule}"


def _short(number):
    """Ten digits of a number of any size."""
    if isinstance(number, int | Fraction):
        number = Decimal(number.numerator) / number.denominator
    return f"{number:.10g}"


def _none(misses, rule):
    _ask(not misses, f"{rule}; {_said(misses)}")


def _agree(entry, verdict, said):
    """Ask that the verdict on file is the computed one."""
    _ask(
        entry["verdict"] == verdict,
        f"the ledger says {entry['verdict']}, "
        f"the numbers say {verdict}; {said}",
    )


class Ledger:
    """One source's figures and claims, and which of them were compared.

    Parameters
    ----------
    record : dict
        What the YAML file holds, every value as text.

    Raises
    ------
    LedgerError
        If the record breaks a rule of `check`.

    Examples
    --------
    >>> entry = {"id": "1", "section": "1", "kind": "figure",
    ...          "what": "a third", "printed": "0.33",
    ...          "verdict": "reproduced"}
    >>> toy = Ledger({"slug": "toy", "title": "Toy", "work": "None",
    ...               "lesson": "none", "entries": [entry]})
    >>> toy.compare("1", Fraction(1, 3))
    1: 1 figure reproduced
    >>> toy.close()
    Toy (toy)
         1  figures reproduced
    """

    def __init__(self, record):
        check(record)
        self.record = record
        self.slug = record["slug"]
        self.entries = {entry["id"]: entry for entry in record["entries"]}
        self.compared = set()
        self.closed = False

    def __repr__(self):
        return f"<Ledger {self.slug}: {len(self.entries)} entries>"

    def compare(self, name, value, *, mistake=None):
        """Hold computed numbers against the printed ones, and say the verdict.

        Parameters
        ----------
        name : str
            The entry's id.
        value : number, array, or nested lists of numbers
            The exact value, unrounded, in the shape of the printed figures.
        mistake : like value, optional
            The same computation with the error put back in. It must give
            every printed digit. Required for an erratum and an accident.

        Raises
        ------
        LedgerError
            If the verdict, the corrected digits or the cause on file do not
            follow from the numbers, or if one of them is no number.
        """
        with self._entry(name, FIGURES) as entry:
            wrong = _misses(entry, "printed", value, "value")
            _agree(entry, "erratum" if wrong else "reproduced", _said(wrong))
            if wrong:
                off = _misses(entry, "corrected", value, "value")
                _none(off, "the corrected digits are not right")
                _ask(
                    [index for index, *_ in wrong] == errata(entry),
                    "corrected must differ from printed where that is wrong, "
                    f"and nowhere else; {_said(wrong)}",
                )
            if mistake is not None:
                off = _misses(entry, "printed", mistake, "mistake")
                _none(off, "the mistake must give every printed digit")
            elif wrong or "accident" in entry:
                raise ValueError("needs its mistake, put back in")
        print(_describe(entry, len(wrong), self.record))

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
            If the verdict on file is another, or what was computed is no
            bool.
        """
        with self._entry(name, STATEMENTS) as entry:
            _ask("basis" not in entry, "is cited, not computed; use cite")
            holds = _truth(holds, "holds")
            if charitably is not None:
                charitably = _truth(charitably, "charitably")
            verdict = "true" if holds else "loose" if charitably else "false"
            said = f"holds is {holds}, charitably {charitably}"
            _agree(entry, verdict, said)
        print(_describe(entry, 0, self.record))

    def cite(self, name):
        """Say a verdict that a cited work decides, and no code can.

        Parameters
        ----------
        name : str
            The entry's id. The entry names the work and what it says there.

        Raises
        ------
        LedgerError
            If the verdict is to be computed.
        """
        with self._entry(name, STATEMENTS) as entry:
            _ask("basis" in entry, "is computed, not cited; use claim")
        print(_describe(entry, 0, self.record))

    def close(self):
        """Say the counts; refuse if an entry was not compared.

        Raises
        ------
        LedgerError
            If an entry was never compared, or the ledger was closed before.
        """
        missing = [name for name in self.entries if name not in self.compared]
        with _at(self.slug):
            _ask(not missing, f"never compared: {missing}")
            _ask(not self.closed, "closed before; a ledger is closed once")
        self.closed = True
        print(f"{self.record['title']} ({self.slug})")
        for line, count in summary(self).items():
            print(f"{count:6d}  {line}")

    @contextmanager
    def _entry(self, name, kinds):
        """An entry to compare; compared once nothing was refused."""
        with _at(self.slug):
            known = isinstance(name, str) and name in self.entries
            _ask(known, f"there is no entry {name!r}")
        entry = self.entries[name]
        with _at(f"{self.slug}: {name}"):
            act = "compare" if kinds == FIGURES else "claim or cite"
            _ask(
                entry["kind"] in kinds,
                f"is a {entry['kind']}; {act} is for a {' or a '.join(kinds)}",
            )
            _ask(name not in self.compared, "was compared before")
            yield entry
        self.compared.add(name)


def _entries(ledger):
    if not isinstance(ledger, Ledger):
        raise TypeError(f"ledger must be a Ledger; got {ledger!r}")
    return ledger.entries.values()


def basis(ledger, name):
    """What the verdict of an entry rests on.

    Parameters
    ----------
    ledger : Ledger
    name : str
        The entry's id.

    Returns
    -------
    str
        "computed": code decided it. "cited": a work says so. "conjectured":
        the figure is wrong, as code shows, and its cause is the best fit of
        a search, which other causes fit too.

    Raises
    ------
    LedgerError
        If there is no such entry.

    Examples
    --------
    >>> basis(load("walkthrough"), "core-softmax-stable")
    'computed'
    """
    _entries(ledger)
    with _at(ledger.slug):
        _ask(name in ledger.entries, f"there is no entry {name!r}")
    return _basis(ledger.entries[name], ledger.record)


def _basis(entry, record):
    if entry.get("cause") in record.get("rivals", {}):
        return "conjectured"
    return entry.get("basis", "computed")


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
    >>> summary(load("walkthrough"))["figures reproduced"] > 80
    True
    """
    figures, causes, verdicts = Counter(), Counter(), Counter()
    for entry in _entries(ledger):
        if entry["kind"] in STATEMENTS:
            verdicts[f"{entry['kind']}s {entry['verdict']}"] += 1
            if "basis" in entry:
                verdicts["verdicts cited, not computed"] += 1
            continue
        wrong = len(errata(entry))
        name = "inputs" if entry["kind"] == "given" else "figures"
        figures[f"{name} reproduced"] += len(leaves(entry["printed"])) - wrong
        if wrong:
            figures[f"{name} in error"] += wrong
            guess = _basis(entry, ledger.record) == "conjectured"
            tail = " (conjectured)" * guess
            causes[f"  {entry['cause']}{tail}"] += wrong
    return (
        dict(figures)
        | dict(sorted(causes.items()))
        | dict(sorted(verdicts.items()))
    )


def _line(texts):
    return "  ".join(leaves(texts).values())


def _describe(entry, wrong, record):
    """What an audit prints for one entry."""
    if entry["kind"] in STATEMENTS:
        cited = f", cited: {entry['cite']}" if "basis" in entry else ""
        lines = [f"{entry['id']}: {entry['verdict']}{cited}"]
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
        guess = _basis(entry, record) == "conjectured"
        tail = ", conjectured" * guess
        lines.append(_indent(f"cause      {entry['cause']}{tail}"))
    for key in ("because", "accident"):
        if key in entry:
            lines.append(_indent(entry[key]))
    return "\n".join(lines)


def _indent(text):
    """`text` wrapped, four spaces in; runs of spaces are kept.

    Fifty characters are what a phone shows without scrolling sideways.
    """
    return fill(text, 50, initial_indent="    ", subsequent_indent="    ")


def beside(ledger, values, *, inputs, names=None):
    """Print a reader's numbers beside the printed ones; judge nothing.

    Parameters
    ----------
    ledger : Ledger
    values : dict of str to number, array or nested lists
        By id of a figure: the number that was computed here.
    inputs : dict of str to number, array or nested lists
        By id of an input: the number that it was computed from.
    names : dict of str to str, optional
        By id of a figure: what a lesson calls it. Without, its name is the
        ledger's, in the words of the source.

    Raises
    ------
    LedgerError
        If an id is not in the ledger, its entry has no figures, what
        stands beside them are no numbers, or a name is of no figure shown.

    Notes
    -----
    Nothing is refused because of a number: who changes an input goes on,
    and reads that the comparison is no longer one with the source.

    Examples
    --------
    >>> beside(load("tiny-vectors"), {"3.4-sums": [5.36697, 5.36697, 7]},
    ...        inputs={"3.1-d_k": 4}, names={"3.4-sums": "sum of each row"})
    sum of each row (*: 1 differs)
        yours   5.3670  5.3670  7.0000
        printed 5.3670  5.3670  6.0157*
    """
    _entries(ledger)
    for name in [*values, *inputs]:
        with _at(f"{ledger.slug}: {name}"):
            known = name in ledger.entries
            _ask(known, "there is no such entry")
            _ask(ledger.entries[name]["kind"] in FIGURES, "has no figures")
    names = {} if names is None else names
    for name in names:
        with _at(f"{ledger.slug}: {name}"):
            _ask(name in values, "names must be of figures in values")
    changed, lines = [], []
    for name, value in inputs.items():
        with _at(f"{ledger.slug}: {name}"):
            entry = ledger.entries[name]
            changed += [entry["what"]] * bool(_changed(entry, value))
    for name, value in values.items():
        with _at(f"{ledger.slug}: {name}"):
            entry = ledger.entries[name]
            lines += _beside(entry, value, names.get(name, entry["what"]))
    if changed:
        print(f"Not the source's inputs any more: {'; '.join(changed)}.")
        print("What differs below need not be an error.")
    print("\n".join(lines))


def _changed(entry, value):
    ours = shape(_lists(value, "value"), "value")
    return ours != shape(entry["printed"]) or _differ(entry, value)


def _differ(entry, value):
    """The indices at which `value` does not give the printed figures."""
    return {index for index, *_ in _misses(entry, "printed", value, "value")}


def _beside(entry, value, what):
    """The lines that show one entry's figures under the reader's."""
    ours, theirs = (
        shape(_lists(value, "value"), "value"),
        shape(entry["printed"]),
    )
    if ours != theirs:
        return [f"{what}: yours has shape {ours}, not {theirs}"]
    numbers, texts = leaves(_lists(value, "value")), leaves(entry["printed"])
    differ = _differ(entry, value)
    shown = {
        "yours": {
            i: _like(texts[i], numbers[i], **how(entry)) + " " for i in texts
        },
        "printed": {i: texts[i] + " *"[i in differ] for i in texts},
    }
    wide = max(len(text) for row in shown.values() for text in row.values())
    verb = "differs" if len(differ) == 1 else "differ"
    lines = [what + f" (*: {len(differ)} {verb})" * bool(differ)]
    for name, figures in shown.items():
        rows = {}
        for index, text in figures.items():
            rows.setdefault(index[:-1], []).append(text.rjust(wide))
        for row in rows.values():
            lines.append(f"    {name:8s}{' '.join(row)}".rstrip())
            name = ""
    return lines


def _like(text, number, *, times="1", **rest):
    """`number` with as many decimals as `text` has, in its unit."""
    if text in INFINITE or not np.isfinite(float(number)):
        return str(float(number))
    decimals = max(0, -Decimal(text).as_tuple().exponent)
    return f"{float(exact(number) / _times(times)):z.{decimals}f}"


class _Texts(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
    """Every value is text: 0.50 keeps its zero. Fast where libyaml is."""

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "a field is given twice", node.start_mark
            )
        return mapping


def load(slug, folder=FOLDER):
    """The ledger of one source.

    Parameters
    ----------
    slug : str
        The source's short name, which is the name of its file.
    folder : path, optional
        Where the YAML files are.

    Returns
    -------
    Ledger

    Raises
    ------
    FileNotFoundError
        If there is no ledger of that name.
    LedgerError
        If the file is no YAML, gives a field twice, or breaks a rule of
        `check`.

    Examples
    --------
    >>> load("tiny-vectors").record["lesson"]
    'three-tokens'
    """
    path = Path(folder) / f"{slug}.yml"
    if not path.is_file():
        known = sorted(p.stem for p in Path(folder).glob("*.yml"))
        raise FileNotFoundError(
            f"no ledger {slug!r} in {folder}; there are {known}"
        )
    with _at(slug), path.open("rb") as file:
        try:
            record = yaml.load(file, Loader=_Texts)
        except yaml.YAMLError as error:
            raise ValueError(error) from None
        named = isinstance(record, dict) and record.get("slug") == slug
        _ask(named, f"slug must be there, and the file's name, {slug!r}")
    return Ledger(record)
