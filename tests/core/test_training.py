"""What training is given, what it reaches, and what ships with the book.

Training magnifies the last digits of a machine, so results have bounds here,
wide of what was seen.
"""

import base64
import itertools
import json
import math
import re

import numpy as np
import pytest

from course import evidence
from course.evidence import pack, stored, trained_induction, unpack
from helpers.training import (
    INDUCTION,
    Batch,
    accuracy,
    copying_batch,
    first_token_score,
    induction_batch,
    induction_score,
    least_copying_loss,
    previous_token_score,
    recall_batch,
    train,
)
from helpers.transformer import (
    cross_entropy,
    forward,
    init_transformer,
    parameter_count,
    transformer,
)
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

# The task ---------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (5,), (2, 40)])
@pytest.mark.parametrize("sizes", [{}, {"T": 9, "vocab": 5, "shortest": 2}])
def test_sequences_repeat(rng, shape, sizes):
    batch = induction_batch(rng, shape, **sizes)
    full = {"T": 32, "vocab": 12, "shortest": 6} | sizes
    assert batch.tokens.shape == (*shape, full["T"])
    for tokens, targets, where in zip(
        *(x.reshape(-1, full["T"]).tolist() for x in batch), strict=True
    ):
        sequence = [*tokens, targets[-1]]
        assert tokens[1:] == targets[:-1]
        period = sequence.index(sequence[0], 1)
        assert full["shortest"] <= period <= full["vocab"]
        assert len(set(sequence[:period])) == period
        assert set(sequence) <= set(range(full["vocab"]))
        for t, token in enumerate(sequence[period:]):
            assert token == sequence[t]
        # It counts from where the target can be known.
        assert where == [t >= period for t in range(full["T"])]


def test_all_periods_and_tokens_come_alike(rng):
    batch = induction_batch(rng, (7000,))
    periods = np.argmax(batch.where, -1)
    share = np.bincount(periods, minlength=13)[6:] / 7000
    np.testing.assert_allclose(share, 1 / 7, atol=0.02)  # 5 deviations
    first = np.bincount(batch.tokens[:, 0], minlength=12) / 7000
    np.testing.assert_allclose(first, 1 / 12, atol=0.02)


@pytest.mark.parametrize("shape", [(), (5,), (2, 40)])
@pytest.mark.parametrize(
    "sizes", [{}, {"T": 128}, {"T": 9, "vocab": 5, "row": 2}, {"T": 12}]
)
def test_a_row_comes_back_at_the_end(rng, shape, sizes):
    batch = recall_batch(rng, shape, **sizes)
    full = {"T": 32, "vocab": 12, "row": 6} | sizes
    T, row = full["T"], full["row"]
    assert {x.shape for x in batch} == {(*shape, T)}
    for tokens, targets, where in zip(
        *(x.reshape(-1, T).tolist() for x in batch), strict=True
    ):
        sequence = [*tokens, targets[-1]]
        assert tokens[1:] == targets[:-1]
        assert sequence[:row] == sequence[-row:]
        assert len(set(sequence[:row])) == row
        between = sequence[row:-row]
        assert not set(between) & set(sequence[:row])
        assert between[: full["vocab"] - row] == sorted(
            set(between), key=between.index
        )
        for t in range(T):
            # Nothing else tells the target: one earlier place, far back.
            earlier = [s for s in range(t) if tokens[s] == tokens[t]]
            counts = t > T - row
            assert where[t] == counts
            if counts:
                assert earlier == [t - (T + 1 - row)]
                assert tokens[earlier[0] + 1] == targets[t]
                assert t - (earlier[0] + 1) == T - row


@pytest.mark.parametrize("shape", [(), (5,), (2, 40)])
@pytest.mark.parametrize("T", [2, 9, 32])
def test_triggers_are_followed_by_what_came_before(rng, shape, T):
    batch = copying_batch(rng, shape, T=T)
    assert {x.shape for x in batch} == {(*shape, T)}
    for tokens, targets, where in zip(
        *(x.reshape(-1, T).tolist() for x in batch), strict=True
    ):
        text = [*tokens, targets[-1]]
        assert tokens[1:] == targets[:-1]
        assert where == [t > 0 for t in range(T)]
        assert text[0] == 0
        assert text[1] > 2
        for two, last, token in zip(text, text[1:], text[2:], strict=False):
            if last in (1, 2):
                assert token == two
            else:
                on = {3 + (last - 3 + step) % 8 for step in (1, 3)}
                assert token in {1, 2} | on


def test_texts_are_drawn_with_the_probabilities_they_say(rng):
    batch = copying_batch(rng, (4000,), T=12)
    last, token = batch.tokens[batch.where], batch.targets[batch.where]
    plain = last > 2
    step = (token - last) % 8
    for result, share in (
        (token == 1, 1 / 8),
        (token == 2, 1 / 8),
        ((token > 2) & (step == 1), 3 / 8),
        ((token > 2) & (step == 3), 3 / 8),
    ):
        assert abs(result[plain].mean() - share) < 0.015  # 5 deviations
    # The best guesser knows these four and what follows a trigger.
    exact = [-math.log(1 / 8), -math.log(3 / 8)]
    losses = np.where(token < 3, exact[0], exact[1])[plain]
    best = losses.sum() / len(last)
    assert abs(least_copying_loss(batch) - best) < 0.01


# Scores -----------------------------------------------------------------


def looped_scores(weights, tokens):
    """The scores of one head's map of one sequence, number by number."""
    first, before, after = [], [], []
    for t in range(1, len(tokens)):
        first.append(weights[t][0])
        before.append(weights[t][t - 1])
        earlier = [s for s in range(t) if tokens[s] == tokens[t]]
        if earlier:
            after.append(weights[t][max(earlier) + 1])
    return first, before, after


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_scores_equal_loops(rng, lead):
    weights = rng.dirichlet(np.ones(7), (*lead, 2, 7))
    tokens = rng.integers(0, 3, (*lead, 7))
    first = first_token_score(weights)
    previous = previous_token_score(weights)
    induction = induction_score(weights, tokens)
    assert first.shape == previous.shape == induction.shape == (2,)
    for head in range(2):
        maps = weights[..., head, :, :].reshape(-1, 7, 7).tolist()
        pairs = [
            looped_scores(m, row)
            for m, row in zip(
                maps, tokens.reshape(-1, 7).tolist(), strict=True
            )
        ]
        for result, lists in zip(
            (first, previous, induction),
            zip(*pairs, strict=True),
            strict=True,
        ):
            values = list(itertools.chain(*lists))
            assert_close(
                result[head], np.float64(math.fsum(values) / len(values))
            )


TOKENS, ALL = np.zeros(3, int), np.ones(3, bool)
REFUSED = {
    "at least one position must count; got none": [
        lambda: first_token_score(np.ones((2, 1, 1))),
        lambda: previous_token_score(np.ones((2, 1, 1))),
        lambda: induction_score(np.ones((2, 3, 3)) / 3, [0, 1, 2]),
        lambda: accuracy(np.ones((3, 3)), Batch(None, TOKENS, ~ALL)),
    ],
    "weights must have axes (..., H, T, T); got weights (2, 2)": [
        lambda: first_token_score(np.ones((2, 2))),
        lambda: previous_token_score(np.ones((2, 2))),
        lambda: induction_score(np.ones((2, 2)), [0, 0]),
    ],
    "weights must be (..., H, T, T), square; got (2, 3, 6)": [
        lambda: previous_token_score(np.ones((2, 3, 6))),
        lambda: first_token_score(np.ones((2, 3, 6))),
    ],
    "tokens and weights must share T": lambda: induction_score(
        np.ones((1, 3, 3)), [0, 1]
    ),
    "targets must have one token for each row": lambda: accuracy(
        np.ones((1, 2)), Batch(None, TOKENS, ALL)
    ),
    "shortest must not exceed vocab; got 13 and 12": lambda: induction_batch(
        np.random.default_rng(0), (), shortest=13
    ),
}


@each(REFUSED)
def test_tasks_and_scores_refuse(message, call):
    refused(call, message)


def test_accuracy_counts_what_counts(rng):
    logits = rng.normal(size=(4, 5, 3))
    targets, where = rng.integers(0, 3, (4, 5)), rng.random((4, 5)) < 0.5
    right = [
        int(np.argmax(row)) == target
        for row, target in zip(logits[where], targets[where], strict=True)
    ]
    result = accuracy(logits, Batch(None, targets, where))
    assert result == sum(right) / len(right)


# Steps --------------------------------------------------------------------


def test_train_steps_down_its_batches(rng):
    batches = [induction_batch(rng, (3,), T=14) for _ in range(3)]
    params = start = init_transformer(rng, INDUCTION)
    kept = {name: x.copy() for name, x in start.items()}
    for (loss, after), batch in zip(
        train(start, INDUCTION, batches), batches, strict=True
    ):
        logits = transformer(batch.tokens, params, INDUCTION)
        before = cross_entropy(logits, batch.targets, where=batch.where)
        assert_close(np.float64(loss), np.float64(before))
        moved = abs(after["0.W_Q"] - params["0.W_Q"]).max()
        assert 0 < moved < 0.03  # the rate is 0.01
        params = after
    for name, x in start.items():
        np.testing.assert_array_equal(x, kept[name])


def test_train_steps_as_far_as_it_is_told(rng):
    batch = induction_batch(rng, (2,), T=14)
    start = init_transformer(rng, INDUCTION)
    for rate in (0.01, 0.5):
        ((_, after),) = train(start, INDUCTION, [batch], lr=rate)
        # Adam's first step is as long as its rate, where a gradient is.
        moved = abs(after["0.W_Q"] - start["0.W_Q"]).max()
        assert moved == pytest.approx(rate, rel=0.01)


# Stored weights -----------------------------------------------------------


def test_zeros_and_nothing_are_packed():
    packed = pack({"none": np.zeros((0, 3)), "zeros": np.zeros(2)})
    assert packed["scales"] == {"none": 1.0, "zeros": 1.0}
    assert base64.b64decode(packed["data"]) == bytes(4)


@pytest.mark.parametrize("bits", [8, 16])
def test_what_is_packed_comes_back(rng, bits):
    params = init_transformer(rng, INDUCTION)
    params["norm.gain"] = np.zeros(32)  # no largest entry to divide by
    text = json.dumps(pack(params, bits=bits))
    back = unpack(json.loads(text), INDUCTION)
    assert list(back) == list(params)
    for name, x in params.items():
        step = abs(x).max() / (2 ** (bits - 1) - 1)
        assert abs(back[name] - x).max() <= step / 2 * (1 + 1e-9)
        assert len(np.unique(back[name])) > 100 or x.size < 200
    assert abs(back["0.W_Q"]).max() == pytest.approx(
        abs(params["0.W_Q"]).max()
    )


def test_what_cannot_be_packed_or_unpacked(rng):
    params = init_transformer(rng, INDUCTION)
    packed = pack(params, bits=8)
    raw = base64.b64decode(packed["data"]) + bytes(3)
    more = packed | {"data": base64.b64encode(raw).decode()}
    broken = packed | {"data": packed["data"] + "AAAA"}
    renamed = packed | {"scales": {"x": 1.0}}
    for message, call in (
        ("bits must be 8 or 16; got 4", lambda: pack(params, bits=4)),
        (
            "packed must have the names of the model's parameters",
            lambda: unpack(renamed, INDUCTION),
        ),
        (
            "packed must hold 9056 integers; got 9059",
            lambda: unpack(more, INDUCTION),
        ),
        (
            "packed must hold its data in base 64",
            lambda: unpack(broken, INDUCTION),
        ),
        (
            "step must be one of 0, 20, 40, 60, 80, 100, 150, 300; got 7",
            lambda: trained_induction(7),
        ),
        (
            "0.W_Q must be finite; got nan",
            lambda: pack(params | {"0.W_Q": np.full((2, 2), np.nan)}),
        ),
    ):
        refused(call, message)


@pytest.fixture(scope="module")
def unseen():
    # Neither the seed of the training nor that of its own test.
    return induction_batch(np.random.default_rng(77), (300,))


def heads_of(params, batch):
    """Both scores of every head, (n_layers, n_heads) each."""
    layers = forward(batch.tokens, params, INDUCTION).layers
    maps = [layer.attended.weights for layer in layers]
    return (
        np.array([previous_token_score(m) for m in maps]),
        np.array([induction_score(m, batch.tokens) for m in maps]),
    )


def test_the_stored_model_has_learnt_it(unseen):
    assert parameter_count(INDUCTION) == 9056
    params = trained_induction()
    right = accuracy(transformer(unseen.tokens, params, INDUCTION), unseen)
    assert right > 0.99
    previous, induction = heads_of(params, unseen)
    # Block 0 looks one back, block 1 at what came after; not the reverse.
    assert previous[0].min() > 0.3 > 0.15 > previous[1].max()
    assert induction[1].min() > 0.4 > 0.1 > induction[0].max()
    for block, head in itertools.product(range(2), range(2)):
        heads = np.ones((2, 2))
        heads[block, head] = 0
        logits = forward(unseen.tokens, params, INDUCTION, heads=heads).logits
        assert accuracy(logits, unseen) <= right


def test_the_stored_steps_show_it_come(unseen):
    steps = stored("induction-steps")["checkpoints"]
    rights = []
    for checkpoint in steps:
        params = trained_induction(checkpoint["step"])
        logits = transformer(unseen.tokens, params, INDUCTION)
        rights.append(accuracy(logits, unseen))
        assert abs(rights[-1] - checkpoint["accuracy"]) < 0.04
    assert rights == sorted(rights)
    assert rights[0] < 0.15
    assert rights[-1] > 0.99
    first = trained_induction(0)
    logits = transformer(unseen.tokens, first, INDUCTION)
    loss = cross_entropy(logits, unseen.targets, where=unseen.where)
    assert abs(loss - math.log(12)) < 0.02


def test_all_files_say_how_they_were_made():
    folder = evidence.files("course.evidence")
    names = [file.name for file in folder.iterdir()]
    for name in names:
        if name.endswith(".json"):
            made = stored(name.removesuffix(".json"))["made"]
            command = r"python (research/train\w*\.py|-m research\.\w+)( |$)"
            assert re.match(rf"{command}|by hand, on \d+ \w+ 20\d\d", made)
    assert {"induction.json", "induction-steps.json"} <= set(names)
