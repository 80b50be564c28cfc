"""The rules of the ledger: what counts as reproduced, and what is refused."""

import copy
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest
import yaml

from course.ledger import files
from course.ledger.entries import read_entry
from course.ledger.show import describe
from course.ledger_page import overview, table, totals, verdicts
from course.published import (
    FIGURES,
    FOLDER,
    STATEMENTS,
    Ledger,
    LedgerError,
    basis,
    beside,
    check,
    errata,
    leaves,
    load,
    shape,
    summary,
    unit,
)

RECORD = yaml.load(
    """
slug: toy
title: A toy source
work: None
lesson: none
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
   because: "Nearly always, as a search through all of the cases shows."}
- {id: 1-law, section: "1", kind: formula, says: x = y, verdict: false,
   because: It is not.}
- {id: 1-seed, section: "2", kind: given, what: a seed, printed: 1.5,
   times: 1e3, verdict: erratum, corrected: 1.4, cause: slip, from: 1-bad,
   because: Carried on.}
""",
    Loader=yaml.BaseLoader,
)
GOOD = {"mistake": [0.5, 0.26]}


def ledger():
    return Ledger(copy.deepcopy(RECORD))


def changed(name, without=(), **fields):
    """The toy record with one entry changed."""
    record = copy.deepcopy(RECORD)
    for entry in record["entries"]:
        if entry["id"] == name:
            entry.update(fields)
            for field in without:
                del entry[field]
    return record


def refusal(call):
    with pytest.raises(LedgerError) as caught:
        call()
    return str(caught.value)


def kind(value):
    """A name for a case; a repr may hold an address."""
    return type(value).__name__


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def test_shape_and_leaves():
    assert shape("1") == ()
    assert shape([]) == (0,)
    assert shape([[], []]) == (2, 0)
    assert shape([["1", "2"], ["3", "4"]]) == (2, 2)
    assert leaves([["1"], ["2"]]) == {(0, 0): "1", (1, 0): "2"}
    for ragged in ([["1"], "2"], [["1"], ["2", "3"]], [[], ["1"]]):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            shape(ragged)
        rule = f"must not be ragged; got {ragged}"
        assert str(caught.value) == f"nested lists {rule}"
        with pytest.raises(ValueError, match=f"^rows {re.escape(rule)}$"):
            shape([ragged], "rows")


def test_ledger_of_a_complete_chapter(capsys):
    toy = ledger()
    toy.compare("1-good", Fraction(1, 3))
    toy.compare("1-bad", [0.5, 0.25], mistake=[0.5, 0.26])
    toy.compare("1-luck", 2, mistake=2.25)
    toy.claim("1-says", holds=True)
    toy.claim("1-loose", holds=False, charitably=True)
    toy.claim("1-law", holds=np.False_, charitably=np.False_)
    toy.compare("1-seed", 1400, mistake=1500)
    told = [repr(verdicts(toy)), repr(toy.close())]
    assert capsys.readouterr().out == "", "verdicts are shown as a table"
    assert "\n".join(told).splitlines() == [
        "1-good: 1 figure reproduced",
        "1-bad: 2 figures, 1 in error",
        "    printed    0.50  0.26",
        "    corrected  0.50  0.25",
        "    cause      slip",
        "    It was.",
        "1-luck: 1 figure reproduced",
        "    Two errors cancel.",
        "1-says: true",
        "    it is so",
        "1-loose: loose",
        "    always",
        "    Nearly always, as a search through all of the",
        "    cases shows.",
        "1-law: false",
        "    x = y",
        "    It is not.",
        "1-seed: 1 input, 1 in error",
        "    printed    1.5",
        "    corrected  1.4",
        "    cause      slip",
        "    Carried on.",
        "A toy source (toy)",
        "     3  figures reproduced",
        "     1  figures in error",
        "     0  inputs reproduced",
        "     1  inputs in error",
        "     2    slip",
        "     1  claims loose",
        "     1  claims true",
        "     1  formulas false",
    ]
    assert repr(toy) == "<Ledger toy: 7 entries>"


@pytest.mark.parametrize(
    "value",
    [
        [0.5, 0.25],
        (0.5, Fraction(1, 4)),
        [Decimal("0.5"), np.float32(0.25)],
        np.array([0.5, 0.25], "f2"),
        np.array([Fraction(1, 2), 0.25], dtype=object),
        np.ma.array([0.5, 0.25]),
        [np.array(0.5), np.ma.array(0.25)],
        np.array([0.5, 0.25], np.longdouble),
    ],
    ids=kind,
)
def test_compare_takes_arrays_lists_and_tuples(value):
    ledger().compare("1-bad", value, **GOOD)


def test_compare_takes_ranges_and_nested_arrays():
    record = changed("1-good", printed=[["0", "1"], ["2", "3"]])
    for value in ([range(2), np.arange(2, 4)], np.arange(4).reshape(2, 2)):
        Ledger(record).compare("1-good", value)
    Ledger(record).compare(
        "1-good", np.array([[0, 1], [2, 3]]).view(np.matrix)
    )


def test_compare_keeps_integers_exact():
    record = changed("1-good", printed="9007199254740993")
    Ledger(record).compare("1-good", np.int64(2**53 + 1))
    record = changed("1-good", printed=["18446744073709551615", "-1"])
    big = [np.uint64(2**64 - 1), np.int8(-1)]
    Ledger(record).compare("1-good", big)


REFUSED = [
    # A verdict that the numbers do not give, and the numbers.
    (
        lambda: Ledger(changed("1-good", printed="0.34")).compare(
            "1-good", Fraction(1, 3)
        ),
        "reproduced.*erratum.*0.34.*0.3333333333",
    ),
    (lambda: ledger().compare("1-bad", [0.5, 0.26], **GOOD), "erratum.*repr"),
    (lambda: ledger().compare("1-good", 10**400), r"0.33.*e\+400"),
    (lambda: ledger().compare("1-good", float("nan")), "0.33.*nan"),
    (
        lambda: ledger().compare("1-bad", [0.7, 0.24], **GOOD),
        r"corrected.*0.50 at \[0\].*0.7; 0.25 at \[1\].*0.24",
    ),
    (
        lambda: Ledger(changed("1-bad", corrected=["0.51", "0.25"])).compare(
            "1-bad", [0.505, 0.25], **GOOD
        ),
        r"corrected.*0.26 at \[1\].*0.25",
    ),
    # A mistake that is missing, or gives other digits than the printed ones.
    (lambda: ledger().compare("1-bad", [0.5, 0.25]), "needs the mistake"),
    (lambda: ledger().compare("1-luck", 2), "needs the mistake"),
    (
        lambda: ledger().compare("1-bad", [0.5, 0.25], mistake=[0.5, 0.25]),
        r"mistake.*0.26 at \[1\].*0.25",
    ),
    (
        lambda: ledger().compare("1-bad", [0.5, 0.25], mistake=[0.6, 0.26]),
        r"mistake.*0.50 at \[0\].*0.6",
    ),
    (lambda: ledger().compare("1-good", 0.333, mistake=3), "mistake.*0.33"),
    # What is no array of real numbers of the printed shape.
    (lambda: ledger().compare("1-bad", 0.5, **GOOD), r"value.*\(2,\).*\(\)"),
    (
        lambda: ledger().compare("1-bad", [0.5, 0.25], mistake=[[0.5, 0.26]]),
        r"mistake.*\(2,\).*\(1, 2\)",
    ),
    (
        lambda: ledger().compare("1-bad", [0.5, [0.25]], **GOOD),
        "value.*ragged",
    ),
    (
        lambda: ledger().compare("1-bad", [0.5, "0.25"], **GOOD),
        r"value at \[1\].*'0.25'",
    ),
    (lambda: ledger().compare("1-bad", MASKED, **GOOD), "value.*masked"),
    # Entries that are not there, or of another kind.
    (lambda: ledger().compare("1-none", 1), "'1-none'"),
    (lambda: ledger().claim([], holds=True), r"\[\]"),
    (lambda: ledger().claim("1-good", holds=True), "is a figure"),
    (lambda: ledger().compare("1-says", 1), "is a claim"),
    # Another verdict of a statement.
    (lambda: ledger().claim("1-says", holds=False), "true.*false"),
    (lambda: ledger().claim("1-loose", holds=True), "loose.*true"),
    (
        lambda: ledger().claim("1-loose", holds=False, charitably=np.False_),
        "loose.*false",
    ),
    (
        lambda: ledger().claim("1-law", holds=False, charitably=True),
        "false.*loose",
    ),
    (lambda: ledger().close(), "never compared.*'1-good'.*'1-seed'"),
]


@pytest.mark.parametrize(("call", "says"), REFUSED, ids=range(len(REFUSED)))
def test_compare_and_claim_refuse(call, says):
    message = refusal(call)
    assert message.startswith("toy: ")
    assert re.search(says, message), message


@pytest.mark.parametrize(
    "holds",
    [
        *(None, 1, 0.1, float("nan"), "False", "", [], [True], np.allclose),
        *(np.ones(1, bool), np.array(True), np.int8(1), np.ma.masked),
    ],
    ids=kind,
)
def test_claim_takes_only_true_or_false(holds):
    message = refusal(partial(ledger().claim, "1-says", holds=holds))
    assert message.startswith("toy: 1-says: holds must be True or False")
    if holds is not None:
        for truth in (True, False):
            claim = partial(ledger().claim, "1-loose", holds=truth)
            message = refusal(partial(claim, charitably=holds))
            assert message.startswith("toy: 1-loose: charitably must be")


def test_compare_takes_an_entry_once():
    toy = ledger()
    toy.compare("1-good", Fraction(1, 3))
    again = refusal(lambda: toy.compare("1-good", Fraction(1, 3)))
    assert again == "toy: 1-good: was compared before"


def test_compare_and_claim_forget_what_was_refused():
    toy = ledger()
    for call in (
        lambda: toy.compare("1-good", 1),
        lambda: toy.compare("1-bad", [0.5, 0.25]),
        lambda: toy.claim("1-says", holds=False),
    ):
        refusal(call)
    assert toy.compared == set()
    toy.compare("1-good", Fraction(1, 3))
    assert toy.compared == {"1-good"}


def test_close_once():
    record = changed("1-says")
    record["entries"] = [e for e in record["entries"] if e["id"] == "1-says"]
    del record["causes"]
    toy = Ledger(record)
    toy.claim("1-says", holds=True)
    said = refusal(toy.close)
    assert said == "toy: compared, but shown nowhere: ['1-says']"
    verdicts(toy)
    toy.close()
    assert refusal(toy.close) == "toy: closed before; a ledger is closed once"


def test_errata():
    entries = ledger().entries
    assert errata(entries["1-bad"]) == [(1,)]
    assert errata(entries["1-seed"]) == [()]
    assert errata(entries["1-good"]) == []


BROKEN = [
    ("1-good", {"kind": "number"}, "kind"),
    ("1-good", {"verdict": "true"}, "verdict"),
    ("1-says", {"verdict": "reproduced"}, "verdict"),
    ("1-good", {"section": " "}, "section"),
    ("1-good", {"what": None}, "what"),
    ("1-bad", {"because": ""}, "because"),
    ("1-says", {"printed": "1"}, "printed"),
    ("1-good", {"says": "x"}, "says"),
    ("1-good", {"cause": "slip"}, "cause"),
    ("1-bad", {"sorry": "yes"}, "sorry"),
    ("1-good", {"printed": "0x10"}, "printed"),
    ("1-bad", {"printed": ["0.50", "−0.26"]}, "printed at [1]"),
    ("1-bad", {"corrected": ["0.50", "1/4"]}, "corrected at [1]"),
    ("1-good", {"printed": []}, "printed"),
    ("1-good", {"printed": [["1"], []]}, "printed at [1]"),
    ("1-good", {"printed": [["1"], "2"]}, "printed"),
    ("1-good", {"places": "-1"}, "places"),
    ("1-good", {"places": "100"}, "places"),
    ("1-good", {"places": "1"}, "places"),
    ("1-good", {"times": "0"}, "times"),
    ("1-good", {"times": "M"}, "times"),
    ("1-good", {"about": "no"}, "about"),
    ("1-bad", {"corrected": "0.25"}, "corrected"),
    ("1-bad", {"corrected": ["0.50", "0.26"]}, "corrected"),
    ("1-bad", {"corrected": ["0.50", "0.3"]}, "corrected at [1]"),
    ("1-bad", {"corrected": ["0.50", "0.260"]}, "corrected at [1]"),
    ("1-seed", {"corrected": "1.52"}, "corrected at []"),
    ("1-seed", {"corrected": "1"}, "corrected at []"),
    ("1-says", {"basis": "cited", "because": "x"}, "cite"),
    ("1-says", {"basis": "cited", "cite": "x"}, "because"),
    ("1-says", {"basis": "typed", "cite": "x", "because": "y"}, "basis"),
    ("1-good", {"basis": "cited"}, "basis"),
    ("1-good", {"read": "online", "copy": "v1", "cite": "k"}, "read"),
    ("1-good", {"read": "first-hand", "cite": "k"}, "copy"),
    ("1-good", {"read": "first-hand", "copy": "v1"}, "cite"),
    ("1-says", {"copy": "v1", "cite": "k"}, "read"),
    ("1-bad", {"read": "second hand", "copy": " ", "cite": "k"}, "copy"),
    ("1-bad", {"cause": "luck"}, "cause"),
    ("1-bad", {"from": "1-none"}, "from"),
    ("1-bad", {"from": "1-bad"}, "from"),
    ("1-bad", {"from": "1-luck"}, "from"),
]


@pytest.mark.parametrize(("name", "fields", "blamed"), BROKEN)
def test_check_blames_the_field_that_breaks_a_rule(name, fields, blamed):
    record = changed(name, **fields)
    for call in (check, Ledger):
        message = refusal(partial(call, record))
        assert message.startswith(f"toy: {name}: {blamed} must ")


REQUIRED = {
    "1-good": "section kind what printed verdict",
    "1-bad": "section kind what printed verdict corrected cause because",
    "1-says": "section kind says verdict",
    "1-loose": "section kind says verdict because",
    "1-law": "section kind says verdict because",
}


@pytest.mark.parametrize(
    ("name", "field"),
    [(name, f) for name, fields in REQUIRED.items() for f in fields.split()],
)
def test_check_refuses_an_entry_without_a_field(name, field):
    record = changed(name, without=[field])
    said = refusal(lambda: Ledger(record))
    assert said == f"toy: {name}: {field} must be there"


def test_check_allows_optional_fields():
    extra = {"places": "4", "times": "1e3", "cite": "someone"}
    changes = [
        ("1-good", {**extra, "because": "It is.", "accident": "Luck."}),
        ("1-good", {"printed": "330", "about": "yes"}),
        ("1-good", {"printed": ["-inf", "inf"], "places": "0"}),
        ("1-bad", {**extra, "from": "1-good", "accident": "Luck."}),
        ("1-bad", {"printed": ["0.50", "inf"]}),
        ("1-bad", {"corrected": ["0.50", "-inf"]}),
        ("1-bad", {"corrected": ["0.50", "0.2512"]}),
        ("1-says", {"because": "It is.", "cite": "someone"}),
        ("1-loose", {"cite": "someone"}),
        ("1-law", {"cite": "someone"}),
    ]
    for name, fields in changes:
        Ledger(changed(name, **fields))


def source(**fields):
    return copy.deepcopy(RECORD) | fields


@pytest.mark.parametrize(
    ("record", "blamed"),
    [
        ({}, "ledger: entries"),
        (source(slug=""), "ledger: slug"),
        (source(title=["A"]), "toy: title"),
        (source(pages="9"), "toy: pages"),
        (source(causes=["slip"]), "toy: causes"),
        (source(causes={"slip": ""}), "toy: causes at [slip]"),
        (source(causes={}), "toy: 1-bad: cause"),
        (source(causes=RECORD["causes"] | {"fog": "Fog."}), "toy: causes"),
        (source(rivals={"slop": "Another."}), "toy: rivals"),
        (source(rivals={"slip": " "}), "toy: rivals at [slip]"),
        (source(entries=[]), "toy: entries"),
        (source(entries=[RECORD["entries"][0], "x"]), "toy: entries at [1]:"),
        (source(entries=[{"kind": "figure"}]), "toy: entries at [0]: id"),
        (source(entries=RECORD["entries"] * 2), "toy: 1-good: id"),
    ],
)
def test_check_blames_the_field_of_a_record(record, blamed):
    assert refusal(lambda: Ledger(record)).startswith(f"{blamed} must ")


@pytest.mark.parametrize(
    "field", ["slug", "title", "work", "lesson", "entries"]
)
def test_check_refuses_a_record_without_a_field(field):
    record = {k: v for k, v in RECORD.items() if k != field}
    where = "ledger" if field == "slug" else "toy"
    said = refusal(lambda: Ledger(record))
    assert said == f"{where}: {field} must be there"


SLUGS = sorted(path.stem for path in FOLDER.glob("*.yml"))


@pytest.mark.parametrize("slug", SLUGS)
def test_load_every_ledger(slug):
    assert len(load(slug).entries) > 40


@pytest.fixture(params=["with libyaml", "without"])
def libyaml(request, monkeypatch):
    """Reads as PyYAML does where it has libyaml, and where it has not."""
    if request.param == "without":
        loader = type("Slow", (files.Once, yaml.BaseLoader), {})
        monkeypatch.setattr(files, "Texts", loader)


def written(folder, text, slug="toy"):
    (folder / f"{slug}.yml").write_text(text, encoding="utf-8")
    return folder


def test_read_keeps_digits_as_written(libyaml, tmp_path):
    text = yaml.dump(RECORD, sort_keys=False, allow_unicode=True)
    record = files.read("toy", str(written(tmp_path, text)))
    assert record == RECORD
    assert record["entries"][1]["printed"] == ["0.50", "0.26"]
    assert record["entries"][3]["verdict"] == "true"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slug: toy\ntitle: A\nslug: toy\n", "a field is given twice"),
        ("slug: toy\nentries:\n- {id: a, id: b}\n", "line 3, column 3"),
        ("slug: [toy\n", "line 2, column 1"),
        ("slug: toy\n? [a]\n: b\n", "unhashable"),
    ],
)
def test_read_refuses_what_is_not_yaml(libyaml, tmp_path, text, message):
    folder = written(tmp_path, text)
    said = refusal(lambda: files.read("toy", folder))
    assert said.startswith("toy: ")
    assert message in said
    assert "toy.yml" in said


def test_load_refuses_a_slug_that_is_not_the_name_of_its_file(tmp_path):
    text = yaml.dump(RECORD)
    for other in (text, "", "- a", "title: A"):
        said = refusal(partial(load, "a", written(tmp_path, other, "a")))
        rule = "slug must be the name of the file, 'a'"
        assert said == f"a: {rule}"


@pytest.mark.parametrize("slug", ["nothing", "", None, 3, "tiny-vectors.yml"])
def test_load_names_the_ledgers_there_are(slug):
    with pytest.raises(FileNotFoundError) as caught:
        load(slug)
    assert str(caught.value) == (
        f"no ledger {slug!r} in {FOLDER}; there are {SLUGS}"
    )


def alone(fields):
    """The ledger of one entry."""
    causes = {fields["cause"]: "A cause."} if "cause" in fields else {}
    fields = {key: text for key, text in fields.items() if key != "from"}
    record = dict.fromkeys(("slug", "title", "work", "lesson"), "x")
    return Ledger(record | {"causes": causes, "entries": [fields]})


def one_by_one(slug):
    """Each figure of a source, once, as an entry of its own."""
    single = {}
    for fields in files.read(slug)["entries"]:
        if fields["kind"] in STATEMENTS:
            continue
        wrong = errata(read_entry(fields))
        for index, text in leaves(fields["printed"]).items():
            figure = fields | {"printed": text}
            if index in wrong:
                figure["corrected"] = leaves(fields["corrected"])[index]
            elif wrong:
                figure["verdict"] = "reproduced"
                for field in {"corrected", "cause", "from"} & set(figure):
                    del figure[field]
            told = {"printed", "corrected", "times", "places", "about"}
            key = tuple(figure.get(field) for field in sorted(told))
            single[*key, "accident" in figure] = figure
    return single.values()


def number(text, fields):
    if "inf" in text:
        return float(text)
    return Fraction(text) * Fraction(fields.get("times", "1"))


def moved(text, fields):
    """The digits with the last one moved up and down by one."""
    if "inf" in text:
        return ["inf" if text == "-inf" else "-inf", "0", "-1e9"]
    how = read_entry(fields).how | {"times": "1"}
    step = unit(text, **how)
    step = Decimal(step.numerator) / step.denominator
    near = [str(Decimal(text) + step), str(Decimal(text) - step)]
    # About 49 moved up is about 50, which has one digit less and says less.
    return [x for x in near if unit(x, **how) == unit(text, **how)]


def refused(fields, value, mistake):
    try:
        alone(fields).compare(fields["id"], value, mistake=mistake)
    except LedgerError:
        return True
    return False


@pytest.mark.parametrize("slug", SLUGS)
def test_compare_refuses_a_digit_moved_by_one(slug):
    """Printed, corrected, and what the mistake gives, each in turn."""
    for fields in one_by_one(slug):
        value = number(fields.get("corrected", fields["printed"]), fields)
        mistake = number(fields["printed"], fields)
        assert not refused(fields, value, mistake), fields
        if {"cause", "accident"} & set(fields):
            assert refused(fields, value, None), fields
        for field in {"printed", "corrected"} & set(fields):
            for text in moved(fields[field], fields):
                assert refused(fields | {field: text}, value, mistake), fields
        if "inf" not in fields["printed"]:
            step = unit(fields["printed"], **read_entry(fields).how)
            assert refused(fields, value, mistake + step), fields
            assert refused(fields, value, mistake - step), fields


@pytest.mark.parametrize("slug", SLUGS)
def test_a_figure_that_quotes_a_hedge_says_about(slug):
    hedge = re.compile(r"\b(about|around|roughly|approximately)\b|[~≈]")
    for entry in load(slug).entries.values():
        if entry.kind in FIGURES and hedge.search(entry.what):
            assert entry.about, entry.id


@pytest.mark.parametrize("slug", SLUGS)
def test_compare_and_claim_refuse_another_verdict(slug):
    judged = {
        "true": {"holds": True},
        "loose": {"holds": False, "charitably": True},
        "false": {"holds": False, "charitably": False},
    }
    other = {"reproduced": "erratum", "erratum": "reproduced"}
    for fields in files.read(slug)["entries"]:
        name, verdict = fields["id"], fields["verdict"]
        if fields["kind"] in FIGURES:
            flipped = fields | {"verdict": other[verdict]}
            assert refusal(partial(alone, flipped))
            continue
        if "basis" in fields:
            assert alone(fields).cite(name) is None
        else:
            assert refusal(partial(alone(fields).cite, name))
        for word, said in judged.items():
            claim = partial(alone(fields).claim, name, **said)
            right = word == verdict and "basis" not in fields
            assert claim() is None if right else refusal(claim)


class Page(HTMLParser):
    """The tags of a page, and the text of each cell."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.cells = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.folded = tag in ("details", "summary")
        if tag in ("td", "th"):
            self.cells.append("")
        if tag in ("br", "del", "ins"):
            self.cells[-1] += f"<{tag}>"

    def handle_data(self, data):
        if self.cells and not self.folded:
            self.cells[-1] += data


def rows(shown, columns):
    cells = [cell.strip() for cell in Page(shown._repr_html_()).cells]
    assert len(cells) % columns == 0
    return [cells[i : i + columns] for i in range(0, len(cells), columns)]


def test_table():
    record = changed("1-good", printed=[["0.33", "1"], ["2", "3"]])
    record["rivals"] = {"slip": "Another fits."}
    record["entries"][3] |= {"basis": "cited", "cite": "k", "because": "So."}
    shown = table([Ledger(record)])
    assert repr(shown) == "Entries of 1 ledger, a table."
    assert (
        repr(table([ledger(), ledger()])) == "Entries of 2 ledgers, a table."
    )
    guess = "erratum, conjectured"
    head = ["source", "section", "what", "verdict", "printed", "why"]
    assert rows(shown, 6) == [
        head,
        ["toy", "1", "a row", guess, "0.50 <del>0.26\xa0<ins>0.25",
         "slip: It was."],
        ["toy", "2", "a seed (input)", guess, "<del>1.5\xa0<ins>1.4 × 1e3",
         "slip: Carried on. Carried on from 1-bad."],
        ["toy", "1", "x = y", "false", "formula", "It is not."],
        ["toy", "1", "always", "loose", "claim",
         "Nearly always, as a search through all of the cases shows."],
        head,
        ["toy", "1", "a third", "reproduced", "0.33 1<br>2 3", ""],
        ["toy", "1", "luck", "reproduced", "2", "Two errors cancel."],
        ["toy", "1", "it is so", "true, cited: k", "claim", "So."],
    ]  # fmt: skip


def test_table_gives_each_entry_an_address():
    ledgers = [load(path.stem) for path in FOLDER.glob("*.yml")]
    html = table(ledgers)._repr_html_()
    names = re.findall(r'<a id="([^"]*)" href="#([^"]*)">', html)
    assert len(names) == sum(len(ledger.entries) for ledger in ledgers)
    assert len(set(names)) == len(names)
    assert ("walkthrough-core-softmax-stable",) * 2 in names
    assert ("tiny-vectors-3-1-size",) * 2 in names
    for name, target in names:
        assert name == target
        assert re.fullmatch(r"[a-z][\w-]*", name), "a selector finds it"


def test_verdicts_stand_beside_what_the_source_prints():
    record = rests_on(cite="k") | {"rivals": {"slip": "Another fits."}}
    toy = Ledger(record)
    toy.compare("1-bad", [0.5, 0.25], **GOOD)
    toy.compare("1-good", Fraction(1, 3))
    head = ["The source", "verdict", "why"]
    first = verdicts(toy)
    assert rows(first, 3) == [
        head,
        ["a row 0.50 <del>0.26\xa0<ins>0.25", "✗ erratum, conjectured",
         "slip. It was."],
        ["a third 0.33", "✓ reproduced", ""],
    ]  # fmt: skip
    toy.cite("1-says")
    toy.claim("1-loose", holds=False, charitably=True)
    toy.compare("1-seed", 1400, mistake=1500)
    second = verdicts(toy)
    assert rows(second, 3) == [
        head,
        ["it is so", "✓ true, cited", "It says so."],
        ["always", "~ loose",
         "Nearly always, as a search through all of the cases shows."],
        ["a seed (input) <del>1.5\xa0<ins>1.4 × 1e3", "✗ erratum, conjectured",
         "slip. Carried on. Carried on from an earlier error."],
    ]  # fmt: skip
    html = first._repr_html_() + second._repr_html_()
    ids = re.findall('<tr id="([^"]*)"', html)
    assert ids == ["toy-1-bad", "toy-1-good", "toy-1-says", "toy-1-loose",
                   "toy-1-seed"]  # fmt: skip
    leads = re.findall(r'href="\.\./ledger\.html#([^"]*)"', html)
    assert leads == ids, "each verdict leads to its entry of the ledger"
    assert '"../bibliography.html#k"' in html
    assert 'href="#toy-1-bad"' in second._repr_html_()
    with pytest.raises(ValueError, match="nothing was compared since"):
        verdicts(toy)


@pytest.mark.parametrize("lines", [5, 6, 18])
def test_only_what_is_right_is_cut_short(lines):
    grid = [["1", "2"]] * lines
    whole = "<br>".join(["1 2"] * lines)
    toy = Ledger(changed("1-good", printed=grid))
    toy.compare("1-good", np.full((lines, 2), [1, 2]))
    cell = rows(verdicts(toy), 3)[1][0]
    kept = whole if lines == 5 else (
        "1 2<br>" * 4 + f"… and {lines - 4} more lines like these"
    )  # fmt: skip
    assert cell == f"a third {kept}"
    slip = [["1", "3"]] + [["1", "2"]] * (lines - 1)
    toy = Ledger(changed("1-bad", printed=slip, corrected=grid))
    right = np.full((lines, 2), [1, 2])
    toy.compare("1-bad", right, mistake=np.array(slip, float))
    cell = rows(verdicts(toy), 3)[1][0]
    assert cell == "a row " + whole.replace("2", "<del>3\xa0<ins>2", 1)


def test_overview_has_a_square_for_each_entry():
    shown = overview(ledger(), "a < b")
    kinds = "right 3, loose 1, wrong 3"
    assert repr(shown) == "toy, 7 entries: 3 right, 1 loose, 3 wrong\na < b"
    html = shown._repr_html_()
    assert "<li>a &lt; b</li>" in html
    squares = re.findall(r'<a class="(\w+)" href="#([^"]*)"( tab)?', html)
    assert [name for _, name, _ in squares] == [
        f"toy-{name}" for name in ledger().entries
    ]
    for word, number in re.findall(r"(\w+) (\d)", kinds):
        assert [kind for kind, *_ in squares].count(word) == int(number)
    assert all((kind == "right") == bool(skip) for kind, _, skip in squares)


def test_totals_count_inputs_apart():
    cited = rests_on() | {"rivals": {"slip": "x"}}
    cited["entries"].append(
        cited["entries"][1]
        | {"id": "2", "printed": ["0.1", "0.2"], "corrected": ["0.3", "0.4"]}
    )
    one = source(slug="one", entries=RECORD["entries"][:1])
    del one["causes"]
    both = totals([Ledger(cited), Ledger(one)])
    assert repr(both) == "Totals of 2 ledgers, a table."
    assert rows(both, 9) == [
        ["source", "inputs", "figures", "errata", "conjectured", "true",
         "loose", "false", "cited"],
        ["toy", "1", "6", "4", "4", "1", "1", "1", "1"],
        ["one", "0", "1", "0", "0", "0", "0", "0", "0"],
        ["all", "1", "7", "4", "4", "1", "1", "1", "1"],
    ]  # fmt: skip


HOSTILE = "<script>alert('&amp;')</script><b>\"&lt;"


def test_table_and_totals_escape_every_text():
    fields = ("section", "what", "because", "accident")
    record = changed("1-good", **dict.fromkeys(fields, HOSTILE))
    record["slug"] = HOSTILE
    record["causes"] = {HOSTILE: "A cause."}
    for entry in record["entries"]:
        if "cause" in entry:
            entry["cause"] = HOSTILE
    record["entries"][1]["id"] = record["entries"][-1]["from"] = HOSTILE
    record["entries"][3]["says"] = HOSTILE
    toy = Ledger(record)
    toy.compare("1-good", Fraction(1, 3), mistake=Fraction(1, 3))
    toy.compare(HOSTILE, [0.5, 0.25], **GOOD)
    toy.claim("1-says", holds=True)
    for shown in (
        table([toy]), totals([toy]), verdicts(toy), overview(toy, HOSTILE),
    ):  # fmt: skip
        assert "script" not in Page(shown._repr_html_()).tags
    head, *others = rows(table([toy]), 6)
    by_verdict = [head, *(row for row in others if row != head)]
    assert all(row[0] == HOSTILE for row in by_verdict[1:])
    assert by_verdict[1][-1] == f"{HOSTILE}: It was."
    assert by_verdict[2][-1] == (
        f"{HOSTILE}: Carried on. Carried on from {HOSTILE}."
    )
    assert by_verdict[5][1:] == [
        HOSTILE, HOSTILE, "reproduced", "0.33", f"{HOSTILE} {HOSTILE}",
    ]  # fmt: skip
    assert by_verdict[7][2] == HOSTILE
    assert rows(totals([toy]), 9)[1][0] == HOSTILE


def test_table_totals_and_summary_refuse_what_is_not_a_ledger():
    calls = (lambda x: table([x]), summary, lambda x: totals([x]))
    for show in calls:
        with pytest.raises(TypeError, match=r"^ledger must be a Ledger"):
            show("tiny-vectors")
    for show in (table, totals):
        with pytest.raises(TypeError, match=r"^ledgers must be a list"):
            show(ledger())
        with pytest.raises(ValueError, match=r"^ledgers must hold"):
            show([])


def rests_on(basis="cited", **fields):
    """The toy record whose first claim a cited work decides."""
    fields = {"basis": basis, "cite": "book1999", "because": "It says so."} | (
        fields
    )
    return changed("1-says", **fields)


def test_claim_refuses_a_cited_verdict():
    toy = Ledger(rests_on())
    said = refusal(lambda: toy.claim("1-says", holds=np.pi > 3))
    assert said == "toy: 1-says: is cited, not computed; use cite"
    toy.cite("1-says")
    shown = "1-says: true, cited: book1999\n    it is so\n    It says so."
    assert repr(verdicts(toy)) == shown
    assert "toy: 1-says: was compared before" in refusal(
        lambda: toy.cite("1-says")
    )
    assert summary(toy)["verdicts cited, not computed"] == 1
    assert [basis(toy, name) for name in ("1-says", "1-loose")] == [
        "cited",
        "computed",
    ]


def test_cite_refuses_a_computed_verdict():
    toy = ledger()
    said = refusal(lambda: toy.cite("1-says"))
    assert said == "toy: 1-says: is computed, not cited; use claim"
    said = refusal(lambda: toy.cite("1-good"))
    assert "is a figure; claim or cite is for a formula or a claim" in said
    assert "verdicts cited, not computed" not in summary(toy)


def test_basis_of_a_cause_with_rivals_is_conjectured():
    record = copy.deepcopy(RECORD) | {"rivals": {"slip": "A misread 2."}}
    toy = Ledger(record)
    toy.compare("1-bad", [0.5, 0.25], **GOOD)
    assert "    cause      slip, conjectured\n" in repr(verdicts(toy))
    assert basis(toy, "1-bad") == "conjectured"
    assert summary(toy)["  slip (conjectured)"] == 2
    assert basis(ledger(), "1-bad") == "computed"
    with pytest.raises(LedgerError, match="toy: there is no entry 'x'"):
        basis(toy, "x")
    with pytest.raises(TypeError, match="ledger must be a Ledger"):
        basis("toy", "1-bad")


def reads(name, how):
    """The toy record, with what was read for one entry."""
    which = {"read": how, "copy": "arXiv v2, 1 May 2026", "cite": "k"}
    return changed(name, **which)


@pytest.mark.parametrize("name", ["1-good", "1-bad", "1-says", "1-loose"])
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("first-hand", "Read first-hand: "),
        ("stored copy", "Read as a stored copy: "),
        ("second hand", "Read second hand: "),
    ],
)
def test_what_was_read_is_shown_and_counted(name, how, said):
    toy = Ledger(reads(name, how))
    entry, others = toy.entries[name], summary(ledger())
    assert (entry.read, entry.copy) == (how, "arXiv v2, 1 May 2026")
    assert summary(toy) == others | {f"entries read {how}": 1}
    told = describe(entry).split("\n")
    assert " ".join(map(str.strip, told)).endswith(
        said + "arXiv v2, 1 May 2026."
    )
    why = [row[5] for row in rows(table([toy]), 6)[1:]]
    assert [said + "arXiv v2, 1 May 2026." in text for text in why].count(
        True
    ) == 1
    # It says nothing of the verdict: code still decides it.
    assert basis(toy, name) == "computed"


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_beside(capsys):
    toy, seed = ledger(), {"1-seed": 1400}
    beside(toy, {"1-bad": [0.5, 0.25], "1-good": 1 / 3}, inputs={})
    assert lines(capsys) == [
        "a row (*: 1 differs)",
        "    yours   0.50  0.25",
        "    printed 0.50  0.26*",
        "a third",
        "    yours   0.33",
        "    printed 0.33",
    ]
    beside(toy, {"1-bad": [0.1, 0.9]}, inputs={})
    assert lines(capsys)[0] == "a row (*: 2 differ)"
    beside(toy, {"1-seed": 1449}, inputs={"1-seed": 1500})
    assert lines(capsys) == [
        "a seed (*: 1 differs)",
        "    yours   1.4",
        "    printed 1.5*",
    ]
    beside(toy, {"1-bad": [[0.5, 0.25]], "1-good": np.nan}, inputs=seed)
    assert lines(capsys) == [
        "Not the source's inputs any more: a seed.",
        "What differs below need not be an error.",
        "a row: yours has shape (1, 2), not (2,)",
        "a third (*: 1 differs)",
        "    yours    nan",
        "    printed 0.33*",
    ]
    beside(toy, {"1-good": -1e-17}, inputs={})
    assert lines(capsys)[1] == "    yours   0.00", "a rounding error"
    other = {"1-seed": [1500, 1500], "1-good": 7, "1-luck": 2}
    beside(toy, {}, inputs=other)
    first = lines(capsys)[0]
    assert first == "Not the source's inputs any more: a seed; a third."
    assert not toy.compared, "nothing is judged"


def test_beside_with_names_of_the_lesson(capsys):
    toy, shown = ledger(), {"1-bad": [0.5, 0.25], "1-good": 1 / 3}
    beside(toy, shown, inputs={}, names={"1-bad": "weights of cat"})
    said = [line for line in lines(capsys) if not line.startswith(" ")]
    assert said == ["weights of cat (*: 1 differs)", "a third"]
    beside(toy, {"1-bad": 1}, inputs={}, names={"1-bad": "cat"})
    assert lines(capsys) == ["cat: yours has shape (), not (2,)"]
    for name in ("1-seed", "9"):
        said = refusal(
            lambda n=name: beside(toy, shown, inputs={}, names={n: "cat"})
        )
        assert said == f"toy: {name}: names must belong to figures in values"


def test_beside_shows_a_matrix_in_rows(capsys):
    walk = load("tiny-vectors")
    beside(walk, {"3.2-dot-products": 12 * np.eye(3)}, inputs={})
    assert lines(capsys)[1:] == [
        "    yours   12.0   0.0   0.0",
        "             0.0  12.0   0.0",
        "             0.0   0.0  12.0",
        "    printed  2.0*  0.0   1.0*",
        "             0.0   2.0*  1.0*",
        "             1.0*  1.0*  2.0*",
    ]


def test_beside_refuses_what_has_no_figures():
    for values, inputs, message in (
        ({"9": 1}, {}, "toy: 9: there is no such entry"),
        ({}, {"9": 1}, "toy: 9: there is no such entry"),
        ({"1-says": 1}, {}, "toy: 1-says: has no figures"),
    ):
        assert message == refusal(
            lambda v=values, i=inputs: beside(ledger(), v, inputs=i)
        )
    with pytest.raises(TypeError, match="ledger must be a Ledger"):
        beside("toy", {}, inputs={})


def test_beside_shows_numbers_like_the_printed_ones(capsys):
    toy = Ledger(changed("1-luck", printed="inf"))
    values = {"1-luck": Fraction(7, 2), "1-seed": Fraction(3000, 2)}
    beside(toy, values, inputs={})
    assert lines(capsys) == [
        "luck (*: 1 differs)",
        "    yours   3.5",
        "    printed inf*",
        "a seed",
        "    yours   1.5",
        "    printed 1.5",
    ]
    beside(ledger(), {"1-luck": Fraction(9, 4)}, inputs={})
    assert lines(capsys)[1] == "    yours   2"
