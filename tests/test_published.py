"""The rules of the ledger: what counts as reproduced, and what is refused."""

import copy
import re
from fractions import Fraction

import pytest
import yaml

from helpers.published import (
    FIGURES,
    FOLDER,
    STATEMENTS,
    Ledger,
    LedgerError,
    errata,
    how,
    leaves,
    load,
    matches,
    shape,
    summary,
    unit,
)

RECORD = yaml.load(
    """
slug: toy
title: A toy source
work: None
chapter: "00"
causes:
  slip: A product was left out.
entries:
- {id: 1-good, section: "1", kind: figure, what: a third, printed: "0.33",
   verdict: reproduced}
- {id: 1-bad, section: "1", kind: figure, what: a row, printed: [0.50, 0.26],
   verdict: erratum, corrected: [0.50, 0.25], cause: slip, because: It was.}
- {id: 1-luck, section: "1", kind: figure, what: luck, printed: "2",
   verdict: reproduced, accident: Two errors cancel.}
- {id: 1-says, section: "1", kind: claim, says: it is so, verdict: true}
- {id: 1-loose, section: "1", kind: claim, says: always, verdict: loose,
   because: Nearly always.}
""",
    Loader=yaml.BaseLoader,
)


def ledger():
    return Ledger(copy.deepcopy(RECORD))


@pytest.mark.parametrize(
    ("printed", "value", "how", "expected"),
    [
        ("0.507", 0.5065, {}, True),  # a tie, either way
        ("0.506", 0.5065, {}, True),
        ("0.507", 0.50649, {}, False),
        ("0.507", Fraction(5065, 10000), {}, True),
        ("0.507", Fraction(50649999, 10**8), {}, False),
        ("0.098", 0.0975, {}, True),
        ("-0.003", -0.0025, {}, True),
        ("-0.003", 0.0025, {}, False),
        ("1.0000e+09", 1e9 + 4e4, {}, True),
        ("1.0000e+09", 1e9 + 6e4, {}, False),
        ("1.", 1.00004, {"places": "4"}, True),
        ("1.", 1.0002, {"places": "4"}, False),
        ("268", 2048**2 * 64, {"times": "1e6"}, True),
        ("269", 2048**2 * 64, {"times": "1e6"}, False),
        ("270", 272, {"about": True}, True),
        ("270", 272, {}, False),
        ("270", 276, {"about": True}, False),
        ("0", 0.4, {"about": True}, True),
        ("-inf", float("-inf"), {}, True),
        ("-inf", -1e9, {}, False),
        ("1", float("nan"), {}, False),
        ("1", float("inf"), {}, False),
    ],
)
def test_half_a_unit_of_the_last_digit(printed, value, how, expected):
    assert matches(printed, value, **how) is expected


def test_unit():
    assert unit("0.50") == Fraction(1, 100)
    assert unit("5") == 1
    assert unit("4", times="1e6") == 10**6


def test_shape_and_leaves():
    assert shape([["1", "2"], ["3", "4"]]) == (2, 2)
    assert leaves([["1"], ["2"]]) == {(0, 0): "1", (1, 0): "2"}
    with pytest.raises(ValueError, match="ragged"):
        shape([["1"], "2"])


def test_a_complete_chapter(capsys):
    toy = ledger()
    toy.compare("1-good", Fraction(1, 3))
    toy.compare("1-bad", [0.5, 0.25], mistake=[0.5, 0.26])
    toy.compare("1-luck", 2, mistake=2.25)
    toy.claim("1-says", holds=True)
    toy.claim("1-loose", holds=False, charitably=True)
    toy.close()
    out = capsys.readouterr().out
    assert "1-bad: 2 figures, 1 in error" in out
    assert "printed    0.50  0.26" in out
    assert "corrected  0.50  0.25" in out
    assert "     1  figures in error" in out
    assert "     1    slip" in out
    assert "     1  claims loose" in out


def changed(name, **fields):
    toy = ledger()
    toy.entries[name].update(fields)
    return toy


GOOD = {"mistake": [0.5, 0.26]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: changed("1-good", printed="0.34").compare(
                "1-good", Fraction(1, 3)
            ),
            "toy: 1-good: the ledger says reproduced, the numbers say "
            "erratum; 0.34 at [] against 0.3333333333",
        ),
        (
            lambda: changed("1-bad", printed=["0.50", "0.25"]).compare(
                "1-bad", [0.5, 0.25], **GOOD
            ),
            "1-bad: the ledger says erratum, the numbers say reproduced",
        ),
        (
            lambda: changed("1-bad", corrected=["0.50", "0.24"]).compare(
                "1-bad", [0.5, 0.25], **GOOD
            ),
            "1-bad: the corrected digits are not right: 0.24 at [1]",
        ),
        (
            lambda: ledger().compare("1-bad", [0.5, 0.25]),
            "1-bad needs its mistake",
        ),
        (
            lambda: ledger().compare(
                "1-bad", [0.5, 0.25], mistake=[0.5, 0.25]
            ),
            "1-bad: the mistake does not give these digits: 0.26 at [1]",
        ),
        (
            lambda: ledger().compare(
                "1-bad", [0.5, 0.25], mistake=[0.6, 0.26]
            ),
            "1-bad: the mistake does not give these digits: 0.50 at [0]",
        ),
        (lambda: ledger().compare("1-luck", 2), "1-luck needs its mistake"),
        (
            lambda: ledger().compare("1-luck", 2, mistake=3),
            "the mistake does not give these digits",
        ),
        (
            lambda: ledger().compare("1-bad", 0.5, **GOOD),
            "printed has shape (2,), the value ()",
        ),
        (lambda: ledger().compare("1-none", 1), "there is no entry '1-none'"),
        (lambda: ledger().claim("1-good", holds=True), "1-good is a figure"),
        (lambda: ledger().compare("1-says", 1), "1-says is a claim"),
        (
            lambda: ledger().claim("1-says", holds=False),
            "the ledger says true, the numbers say false",
        ),
        (
            lambda: ledger().claim("1-loose", holds=True),
            "the ledger says loose, the numbers say true",
        ),
        (
            lambda: ledger().claim("1-loose", holds=False, charitably=False),
            "the ledger says loose, the numbers say false",
        ),
        (lambda: ledger().close(), "never compared: ['1-good', "),
    ],
)
def test_what_the_ledger_refuses(call, message):
    with pytest.raises(LedgerError, match=re.escape(message)):
        call()


def test_an_entry_is_compared_once():
    toy = ledger()
    toy.compare("1-good", Fraction(1, 3))
    with pytest.raises(LedgerError, match="1-good was compared before"):
        toy.compare("1-good", Fraction(1, 3))


def test_an_id_is_used_once():
    record = copy.deepcopy(RECORD)
    record["entries"].append(record["entries"][0])
    with pytest.raises(LedgerError, match=r"ids used twice: \['1-good'\]"):
        Ledger(record)


def test_an_unknown_ledger():
    with pytest.raises(FileNotFoundError, match="no ledger 'nothing'"):
        load("nothing")


def test_summary():
    assert summary(ledger()) == {
        "figures reproduced": 3,
        "figures in error": 1,
        "  slip": 1,
        "claims loose": 1,
        "claims true": 1,
    }


ENTRIES = [
    pytest.param(load(path.stem), entry, id=f"{path.stem}-{name}")
    for path in sorted(FOLDER.glob("*.yml"))
    for name, entry in load(path.stem).entries.items()
]
FIELDS = {
    "id", "section", "kind", "what", "says", "printed", "verdict", "corrected",
    "cause", "because", "from", "places", "times", "about", "accident", "cite",
}  # fmt: skip


@pytest.mark.parametrize(("book", "entry"), ENTRIES)
def test_every_entry_obeys_the_rules(book, entry):
    assert set(entry) <= FIELDS
    assert entry["kind"] in FIGURES + STATEMENTS
    assert entry["section"].strip()
    if entry["kind"] in STATEMENTS:
        assert entry["says"].strip()
        assert entry["verdict"] in ("true", "false", "loose")
        assert entry["verdict"] == "true" or entry["because"].strip()
        return
    assert entry["what"].strip()
    assert entry["verdict"] in ("reproduced", "erratum")
    for text in leaves(entry["printed"]).values():
        float(text)
    if entry["verdict"] == "reproduced":
        assert not {"corrected", "cause"} & set(entry)
        return
    assert entry["cause"] in book.record["causes"]
    assert entry["because"].strip()
    assert shape(entry["corrected"]) == shape(entry["printed"])
    assert errata(entry), "an erratum corrects at least one figure"
    for index, text in leaves(entry["corrected"]).items():
        printed = leaves(entry["printed"])[index]
        if text != printed:
            # Corrected to the printed digits, no more and no fewer.
            assert unit(text, **how(entry)) <= unit(printed, **how(entry))
            assert not matches(printed, Fraction(text), **how(entry))
    if "from" in entry:
        assert entry["from"] in book.entries
        assert entry["from"] != entry["id"]


SLUGS = sorted(path.stem for path in FOLDER.glob("*.yml"))


@pytest.mark.parametrize("slug", SLUGS)
def test_every_named_cause_is_used(slug):
    book = load(slug)
    used = {e["cause"] for e in book.entries.values() if "cause" in e}
    assert used == set(book.record.get("causes") or {})


@pytest.mark.parametrize("slug", SLUGS)
def test_carried_errors_lead_back_to_a_beginning(slug):
    book = load(slug)
    for name in book.entries:
        seen = []
        while "from" in book.entries[name]:
            assert name not in seen, f"{seen} go round in a circle"
            seen.append(name)
            name = book.entries[name]["from"]
