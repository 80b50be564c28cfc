"""What the laboratory of twelve bugs measures, against plain loops."""

import collections
import math
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from course import broken
from course.broken import Bug
from helpers import softmax, training
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
        found = broken.PROBES[probe](sick[bug])
    assert found == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize(("bug", "scale"), [("", 1 / 8), ("root", 1 / 64)])
def test_the_entropy_is_a_mean_over_queries(sick, bug, scale):
    wide = np.random.default_rng(0).normal(size=(3, 64, 64)).tolist()
    _, weights = reference.attention(*wide, scale=scale)
    mean = math.fsum(map(reference.entropy, weights)) / 64
    assert broken.PROBES["entropy"](sick[bug]) == pytest.approx(mean)


def test_the_trained_model_still_copies(sick):
    # Chance is log(12) for twelve symbols; it has learnt to do better.
    assert 0 < broken.PROBES["loss"](sick[""]) < 0.1 * math.log(12)


# --- probes of copies whose answers are plain --------------------------------


def copy_with(module, **functions):
    """A copy of the helpers of which only these functions are there."""
    return SimpleNamespace(**{module: SimpleNamespace(**functions)})


def told(output):
    """A copy whose attention has an output that the last token moves."""
    masks = SimpleNamespace(causal_mask=lambda T: None)

    def attention(Q, K, V, mask):
        return SimpleNamespace(output=output(Q[-1, 0]))

    return SimpleNamespace(
        masks=masks, attention=SimpleNamespace(attention=attention)
    )


def test_a_row_is_told_if_one_of_its_numbers_changes_either_way():
    rows = np.zeros((6, 8))
    rows[1, 2], rows[3, 0], rows[5] = -1, 1, 1  # the last may change
    sign = np.sign(Q[-1][0])
    for way in (sign, -sign):
        h = told(lambda x, way=way: way * x * rows)
        assert broken.PROBES["told the future"](h) == 2


def test_weights_of_nothing_have_no_entropy():
    h = copy_with(
        "attention",
        attention=lambda *given: SimpleNamespace(weights=np.eye(64)),
    )
    assert broken.PROBES["entropy"](h) == 0


def test_the_largest_change_of_a_score_counts_however_its_sign():
    for sign in (1, -1):

        def turn(X, at, sign=sign):
            return X * (1 + sign * at[:, None] / 100)

        parts = [
            [
                sum(a * b for a, b in zip(q, k, strict=True))
                * ((1 + sign * (t + 5) / 100) * (1 + sign * (s + 5) / 100)
                   - (1 + sign * t / 100) * (1 + sign * s / 100))
                for s, k in enumerate(K)
            ]
            for t, q in enumerate(Q)
        ]  # fmt: skip
        found = broken.PROBES["moved"](
            copy_with("positions", rotary_embedding=turn)
        )
        wanted = max(abs(x) for row in parts for x in row)
        assert found == pytest.approx(wanted)
    assert {math.copysign(1, x) for row in parts for x in row} == {1, -1}


def test_the_largest_change_by_tiles_counts_however_its_sign():
    for sign in (1, -1):
        h = copy_with(
            "attention",
            attention=lambda Q, K, V: SimpleNamespace(output=np.asarray(Q)),
        )
        h.tiled = SimpleNamespace(
            tiled_attention=lambda Q, K, V, block_k, sign=sign: (
                (1 + sign * block_k) * Q
            )
        )
        # Twice the inputs, times two keys of a tile.
        wanted = 4 * max(abs(x) for row in Q for x in row)
        assert broken.PROBES["tiles"](h) == pytest.approx(wanted)


def heads_of(output):
    """A copy whose heads have this output, of inputs and weights."""
    rng = np.random.default_rng(3)
    Weights = collections.namedtuple("Weights", "W_K W_V n_kv_heads")
    made = Weights(*rng.normal(size=(2, 8, 4)), 2)
    return made, copy_with(
        "heads",
        init_projections=lambda rng, d_model, n_heads, n_kv_heads: made,
        multi_head_attention=lambda X, w: SimpleNamespace(output=output(X, w)),
    )


def test_shared_keys_are_compared_with_their_columns_written_twice():
    for sign in (1, -1):
        for matrix in (0, 1):
            # Columns 1 and 7 of the eight are columns 1 and 3 of the four.
            made, h = heads_of(
                lambda X, w, s=sign, m=matrix: (
                    s * w.n_kv_heads * X @ w[m][:, [1, -1]]
                )
            )
            columns = np.array(Q) @ made[matrix][:, [1, 3]]
            wanted = (4 - 2) * max(abs(x) for x in columns.flat)
            assert broken.PROBES["shared keys"](h) == pytest.approx(wanted)


def test_rows_that_change_places_are_compared_with_their_own():
    order = [3, 1, 5, 0, 2, 4]
    for sign in (1, -1):
        at = sign * np.arange(1.0, 7)[:, None]
        _, h = heads_of(lambda X, w, at=at: at * X)
        table = [
            [sign * (new - old) * x for x in Q[old]]
            for new, old in enumerate(order)
        ]
        wanted = max(abs(x) for row in table for x in row)
        assert broken.PROBES["shuffled"](h) == pytest.approx(wanted)


def model_of(transformer):
    """A copy whose models compute this."""
    return copy_with(
        "transformer",
        TransformerConfig=lambda **fields: SimpleNamespace(**fields),
        transformer=transformer,
        new_cache=lambda config: [],
    )


def test_logits_with_a_cache_are_compared_with_those_without():
    tokens = training.induction_batch(np.random.default_rng(2), ()).tokens

    def transformer(tokens, params, config, cache=None):
        length = np.arange(1, len(tokens) + 1)[:, None]
        if cache is None:
            return (tokens * length.T).cumsum()[:, None] * 1.0
        assert len(tokens) == (1 if cache else 24)
        cache.append(tokens)
        return np.zeros((len(tokens), 1))

    wanted = sum(i * int(token) for i, token in enumerate(tokens, 1))
    h = model_of(transformer)
    assert broken.PROBES["with a cache"](h) == wanted


def test_the_loss_is_that_of_eight_rows():
    batch = training.induction_batch(np.random.default_rng(1), (8,))
    h = model_of(lambda tokens, params, config: tokens)

    def cross_entropy(logits, targets, where):
        for found, given in zip((logits, targets, where), batch, strict=True):
            assert np.array_equal(found, given)
        return np.float64(0.5)

    h.layers = SimpleNamespace(cross_entropy=cross_entropy)
    assert broken.PROBES["loss"](h) == 0.5


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
    found = broken.examine(1)
    assert list(found) == list(probes)
    assert (found["digits"], found["more"]) == (1, 1.0001)
    assert found["by zero"] == math.inf
    assert math.isnan(found["type"])
    assert math.isnan(found["value"])


def test_a_symptom_is_more_than_two_thousandths():
    healthy = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "e": 1.0, "f": 0.0}
    found = {"a": 1.0019, "b": 1.0021, "c": 0.9979, "d": math.nan, "e": 0.9981}
    found["f"] = 0.002
    odd = broken.symptoms(found, healthy)
    assert list(odd) == ["b", "c", "d"]
    assert (odd["b"], odd["c"]) == (1.0021, 0.9979)


# --- copies ------------------------------------------------------------------


def test_a_copy_stands_by_itself():
    copy = broken.planted()
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
    ("bug", "said"),
    [
        (Bug("softmax", "nowhere", ""),
         "'nowhere' must occur in softmax once; it occurs 0 times"),
        (Bug("practice", "x", "y"),
         f"module must be one of {', '.join(broken.MODULES)}"),
    ],
)  # fmt: skip
def test_what_cannot_be_planted_is_named_and_leaves_nothing(bug, said):
    before = set(sys.modules)
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        broken.planted(bug)
    assert set(sys.modules) == before


@pytest.mark.parametrize("number", [0, 13])
def test_a_patient_that_is_not_there_is_named(number):
    said = f"^patients are numbered from 1 to 12; got {number}$"
    with pytest.raises(ValueError, match=said):
        broken.bug_of(number)
