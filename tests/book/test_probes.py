"""What the laboratory of twelve bugs measures, against plain loops."""

import math
import re
import sys

import numpy as np
import pytest

from course import broken
from course.broken import Bug
from helpers import softmax
from tests.core import reference

Q, K, V = np.random.default_rng(0).normal(size=(3, 6, 8)).tolist()
# What the softmax of every row is made of.
SCORES = [
    [math.fsum(a * b for a, b in zip(q, k, strict=True)) / 8**0.5 for k in K]
    for q in Q
]
EXP = [[math.exp(score) for score in row] for row in SCORES]
AGES = range(6)


@pytest.fixture(scope="module")
def sick():
    """Copies of the helpers, by the name of their bug; "" has none."""
    # Bugs share a copy where no probe below meets two of them.
    shared = ["later term", "axis factor", "after top", "zero", "root"]
    copies = {"": broken.planted()}
    for names in map(str.split, shared):
        bugs = [broken.BUGS[name] for name in names]
        copies |= dict.fromkeys(names, broken.planted(*bugs))
    return copies


def test_a_healthy_copy_keeps_every_law(sick):
    """Sums are one, differences nothing, and all are numbers."""
    laws = {
        "row sum": 1, "first token": 1, "told the future": 0, "asked alone": 0,
        "large scores": 2, "shuffled": 0, "shared keys": 0, "moved": 0,
        "tiles": 0, "gradient": 0, "with a cache": 0,
    }  # fmt: skip
    for name, value in laws.items():
        assert abs(broken.PROBES[name](sick[""]) - value) < 1e-7, name


def column_softmax(t, s, causal):
    """A weight where each key shares itself out among the queries."""
    askers = [u for u in AGES if u >= s or not causal]
    return EXP[t][s] / math.fsum(EXP[u][s] for u in askers)


def gradient_terms():
    """Weights of 0.5, -1, 2 and what comes back to them, by hand."""
    weights = reference.softmax([0.5, -1.0, 2.0])
    back = [1.0, 3.0, -2.0]
    mean = math.fsum(w * g for w, g in zip(weights, back, strict=True))
    return weights, back, mean


def alone():
    """Each key has one query to go to: its values are summed, unweighted."""
    return max(
        abs(
            math.fsum(V[s][c] for s in AGES)
            - math.fsum(column_softmax(2, s, False) * V[s][c] for s in AGES)
        )
        for c in range(8)
    )


def furthest(sums):
    return max(sums, key=lambda x: abs(x - 1))


WEIGHTS, BACK, MEAN = gradient_terms()
SYMPTOMS = [
    ("later", "first token", EXP[0][0] / (EXP[0][0] + EXP[0][1])),
    ("later", "told the future", 1),
    ("axis", "told the future", 5),
    ("zero", "told the future", 5),
    ("after", "told the future", 5),
    ("axis", "row sum", furthest(
        [sum(column_softmax(t, s, True) for s in range(t + 1)) for t in AGES]
    )),
    ("axis", "asked alone", alone()),
    ("zero", "first token", EXP[0][0] / (EXP[0][0] + 5)),
    ("after", "first token", EXP[0][0] / sum(EXP[0])),
    ("after", "row sum", furthest(
        [sum(EXP[t][: t + 1]) / sum(EXP[t]) for t in AGES]
    )),
    ("top", "large scores", 0),
    ("term", "gradient", max(abs(w * MEAN) for w in WEIGHTS)),
    ("factor", "gradient", max(
        abs((1 - w) * (g - MEAN)) for w, g in zip(WEIGHTS, BACK, strict=True)
    )),
]  # fmt: skip


@pytest.mark.parametrize(("bug", "probe", "value"), SYMPTOMS)
def test_a_symptom_is_what_loops_say(sick, bug, probe, value):
    with np.errstate(all="ignore"):
        result = broken.PROBES[probe](sick[bug])
    assert result == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(("bug", "scale"), [("", 1 / 8), ("root", 1 / 64)])
def test_the_entropy_is_a_mean_over_queries(sick, bug, scale):
    wide = np.random.default_rng(0).normal(size=(3, 64, 64)).tolist()
    _, weights = reference.attention(*wide, scale=scale)
    mean = math.fsum(map(reference.entropy, weights)) / 64
    assert broken.PROBES["entropy"](sick[bug]) == pytest.approx(mean)


def test_the_trained_model_still_copies(sick):
    # Chance is log(12) for twelve symbols; it has learnt to do better.
    assert 0 < broken.PROBES["loss"](sick[""]) < 0.1 * math.log(12)


# --- the examination ---------------------------------------------------------


def test_measures_are_rounded_and_failures_are_no_numbers(monkeypatch):
    probes = {
        "digits": lambda copy: copy + 0.00004,
        "more": lambda copy: copy + 0.00006,
        "by zero": lambda copy: np.float64(copy) / 0,
        "type": lambda copy: None,
        "value": lambda copy: "one",
    }
    monkeypatch.setattr(broken, "PROBES", probes)
    result = broken.examine(1)
    assert list(result) == list(probes)
    assert (result["digits"], result["more"]) == (1, 1.0001)
    assert result["by zero"] == math.inf
    assert math.isnan(result["type"])
    assert math.isnan(result["value"])


def test_a_symptom_is_more_than_two_thousandths():
    healthy = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0, "f": 0.0}
    result = {
        "a": 1.0019,
        "b": 1.0021,
        "c": 0.9979,
        "d": math.nan,
        "e": 0.9981,
    }
    result["f"] = 0.002
    odd = broken.symptoms(result, healthy)
    assert list(odd) == ["b", "c", "d"]
    assert (odd["b"], odd["c"]) == (1.0021, 0.9979)


# --- copies ------------------------------------------------------------------


def test_a_copy_stands_by_itself():
    before = set(sys.modules)
    copy = broken.planted()
    assert set(sys.modules) == before
    assert copy.attention.softmax is copy.softmax.softmax
    assert copy.softmax.softmax is not softmax.softmax
    assert copy.softmax.__package__ == copy.__name__ == "helpers_in_bed"
    assert copy.masks.__name__ == "helpers_in_bed.masks"
    code = copy.softmax.softmax.__code__
    assert code.co_filename == "<softmax in bed>"


def test_two_bugs_can_be_planted_at_once():
    h = broken.planted(broken.BUGS["later"], broken.BUGS["root"])
    assert h.masks.causal_mask(2).all()
    scores = h.attention.attention_scores(np.eye(4), np.eye(4))
    assert scores[0, 0] == 1 / 4


@pytest.mark.parametrize(
    ("bug", "message"),
    [
        (Bug("softmax", "nowhere", ""),
         "'nowhere' must occur in softmax once; it occurs 0 times"),
        (Bug("practice", "x", "y"),
         f"module must be one of {', '.join(broken.MODULES)}"),
    ],
)  # fmt: skip
def test_what_cannot_be_planted_is_named_and_leaves_nothing(bug, message):
    before = set(sys.modules)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        broken.planted(bug)
    assert set(sys.modules) == before


@pytest.mark.parametrize("number", [0, 13])
def test_a_patient_that_is_not_there_is_named(number):
    message = f"^patients are numbered from 1 to 12; got {number}$"
    with pytest.raises(ValueError, match=message):
        broken.bug_of(number)
