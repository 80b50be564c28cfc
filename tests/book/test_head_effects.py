"""Stored measurements of a real model: how they are made, and a part anew.

The weekly workflow makes all of them again (`check` of
`research.head_effects`, `research.latent_ranks` and `research.reality`).
"""

from dataclasses import replace

import numpy as np
import pytest

from course.checkpoint import Checkpoint
from course.evidence import stored
from helpers.positions import rotary_embedding
from helpers.transformer import (
    TransformerConfig,
    forward,
    init_transformer,
    transformer,
)
from research import head_effects, latent_ranks, reality

TINY = TransformerConfig(
    vocab=40,
    max_len=16,
    d_model=32,
    n_layers=3,
    n_heads=4,
    n_kv_heads=2,
    d_ff=48,
    norm_kind="rms",
    positions="rotary",
    activation="silu",
    gated=True,
    bias=False,
)


@pytest.fixture
def tiny(rng):
    return Checkpoint(TINY, init_transformer(rng, TINY, std=0.3), None)


@pytest.fixture
def tokens(rng):
    return rng.integers(0, 40, (2, 12))


# --- how they are made -------------------------------------------------------


@pytest.mark.parametrize("block", [0, 1, 2])
def test_a_model_goes_on_from_a_block_as_the_whole_does(block, tiny, tokens):
    whole = forward(tokens, tiny.params, TINY)
    stream = whole.layers[2 * block].normed
    own, left = head_effects.rest(tiny.params, TINY, block, stream)
    at = np.arange(tokens.size).reshape(tokens.shape)
    off = np.ones((3, 4))
    off[block, 2] = 0
    np.testing.assert_allclose(
        forward(at, own, left, heads=off[block:]).logits,
        forward(tokens, tiny.params, TINY, heads=off).logits,
        atol=1e-10,
    )


def test_what_heads_attend_to_is_counted_as_by_a_loop(tiny, tokens):
    tokens = tokens % 6  # so that some come twice
    weights = forward(tokens, tiny.params, TINY).layers[0].attended.weights
    previous, induction, first = head_effects.scores_of(weights, tokens)
    for b in range(2):
        for h in range(4):
            A, row = weights[b, h], tokens[b].tolist()
            after = []
            for t in range(12):
                if row[t] in row[:t]:
                    last = max(s for s in range(t) if row[s] == row[t])
                    after.append(A[t, last + 1])
            assert np.isclose(
                previous[b, h], np.mean([A[t, t - 1] for t in range(1, 12)])
            )
            assert np.isclose(induction[b, h], np.mean(after))
            assert np.isclose(
                first[b, h], np.mean([A[t, 0] for t in range(1, 12)])
            )


def test_an_unchanged_cache_changes_nothing(tiny, tokens):
    kept = reality.continued(tokens, 5, tiny, lambda K, V: (K, V))
    whole = transformer(tokens, tiny.params, TINY)[:, 5:]
    assert reality.far_off(kept, whole) < 1e-5  # the cache holds float32


def test_a_key_that_is_moved_back_is_as_if_it_had_been_there(rng):
    X = rng.normal(size=(2, 5, 8))
    K, V = reality.moved_back(7, TINY)(rotary_embedding(X), X)
    np.testing.assert_allclose(K, rotary_embedding(X, np.arange(5) - 7))
    assert V is X


def test_the_wrong_order_gives_heads_the_keys_of_others(tiny, tokens):
    right = forward(tokens, tiny.params, TINY).layers[0].attended
    other = reality.other_order(tiny)
    wrong = forward(tokens, other.params, TINY).layers[0].attended
    # Heads 0 to 3 are now 0, 2, 1, 3, on keys 0, 0, 1, 1.
    np.testing.assert_array_equal(wrong.Q, right.Q[:, [0, 2, 1, 3]])
    np.testing.assert_array_equal(wrong.K, right.K)


def test_whole_numbers_with_a_scale_are_near(rng):
    X = rng.normal(size=(3, 6, 4)) * np.array([1, 1, 1, 50])
    for bits, axis in ((8, -1), (4, -1), (4, -2)):
        back = reality.in_bits(X, bits, axis)
        step = np.abs(X).max(axis, keepdims=True) / (2 ** (bits - 1) - 1)
        assert (np.abs(back - X) <= step / 2 * (1 + 1e-9)).all()
        assert len(np.unique((back / step).round(6))) <= 2**bits - 1


def test_a_window_keeps_first_keys():
    seen = reality.kept(2, 3)
    assert np.flatnonzero(seen[10]).tolist() == [0, 1, 8, 9, 10]
    assert np.flatnonzero(seen[1]).tolist() == [0, 1]


# --- what is stored ----------------------------------------------------------


def test_the_stored_measurements_have_their_shapes():
    result = stored("head-effects")
    assert result["texts"] == [*head_effects.TEXTS, "repeat"]
    for name in ("previous", "induction", "first", "without"):
        assert np.shape(result[name]) == (30, 9, 6)
    tokens = np.array(result["tokens"])
    assert (tokens[5, :32] == tokens[5, 32:]).all()
    assert len(set(result["tokens"][5])) == 32


def test_some_heads_off_anew(smollm2):
    result = stored("head-effects")
    tokens = head_effects.tokens_of(smollm2.tokenizer)
    assert tokens.tolist() == result["tokens"]
    for block, head in [(28, 0)]:
        heads = np.ones((30, 9))
        heads[block, head] = 0
        whole = forward(tokens, smollm2.params, smollm2.config, heads=heads)
        losses = head_effects.loss_of(whole.logits, tokens)
        stated = np.array(result["without"])[block, head]
        assert np.abs(losses - stated).max() < 0.005
        moved = head_effects.scores_of(
            whole.layers[32].attended.weights, tokens
        )
        for i, name in enumerate(("previous", "induction", "first")):
            new, stated = moved[i], np.array(result[name])[16].T
            assert np.abs(new - stated).max() < 0.005


def test_every_prediction_names_what_was_measured():
    predicted = stored("reality-predictions")["statements"]
    measured = stored("reality")["statements"]
    assert list(predicted) == list(measured) == list(reality.CHECKS)
    assert len(predicted) == 10
    for name, parts in reality.held(measured).items():
        assert 2 <= len(parts) <= 4, name


def test_some_statements_anew(smollm2):
    tokens = head_effects.tokens_of(smollm2.tokenizer)
    texts, repeat = tokens[:5], tokens[5:]
    whole = forward(texts[:1], smollm2.params, smollm2.config)
    measured = stored("reality")["statements"]
    for name in ("tiles", "deleting"):
        again = reality.CHECKS[name](texts[:1], repeat, whole, smollm2)
        new = measured | {name: again}
        assert reality.held(new)[name] == reality.held(measured)[name]


def test_a_limit_is_compared_as_it_says():
    measured = {
        name: {what: 0.0 for what, _, _ in statement["parts"].values()}
        for name, statement in stored("reality-predictions")[
            "statements"
        ].items()
    }
    assert reality.held(measured)["entropy"] == [True, False]
    measured["entropy"]["rises"] = 5
    assert reality.held(measured)["entropy"] == [True, True]
    assert reality.held(measured)["window"] == [False, True]


def test_a_changed_configuration_runs_longer_rotations(tiny):
    slow = reality.scalings(replace(TINY, max_len=16))
    theta = [own.frequencies for own in slow.values()]
    assert np.allclose(
        4 * np.array(theta[0]), TINY.base ** -np.arange(0, 1, 0.25)
    )
    assert theta[1][0] == theta[2][0] == 1  # the fastest pair is kept
    assert slow["YaRN"].scale > 1 / 8**0.5


# --- directions of keys and values -------------------------------------------


def test_directions_are_counted_by_variance(rng):
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    rows = rng.normal(size=(4000, 5)) * [10, 10, 1, 0.1, 0]
    rows = rows @ turn + 7  # neither a turn nor a shift changes variances
    # In expectation 100, 100, 1, 0.01 and 0 of 201.01.
    for share, expected in ((0.4, 1), (0.99, 2), (0.998, 3), (0.99999, 4)):
        assert latent_ranks.directions(rows, share) == expected


def test_keys_are_taken_still_and_rotated(tiny, tokens):
    whole = forward(tokens[0], tiny.params, TINY)
    layer = [x for x in whole.layers if x.attended is not None][1]
    still, turned = latent_ranks.kept(layer, tiny.params, group=2)
    K = layer.read @ tiny.params["1.W_K"]
    np.testing.assert_allclose(still[:, :16], K)
    np.testing.assert_allclose(
        still[:, 16:], layer.read @ tiny.params["1.W_V"]
    )
    heads = K.reshape(12, 2, 8).swapaxes(0, 1)
    expected = rotary_embedding(heads).swapaxes(0, 1).reshape(12, 16)
    np.testing.assert_allclose(turned[:, :16], expected, atol=1e-12)
    np.testing.assert_allclose(turned[:, 16:], still[:, 16:])


def test_the_first_layers_are_those_of_the_whole(tiny, tokens):
    params, config = latent_ranks.first_layers(tiny, 2)
    part = forward(tokens, params, config)
    whole = forward(tokens, tiny.params, TINY)
    for result, expected in zip(part.layers, whole.layers, strict=False):
        np.testing.assert_array_equal(result.read, expected.read)
    assert len(part.layers) == 4


def test_some_directions_anew(smollm2):
    result = stored("latent-ranks")
    again = np.array(latent_ranks.measured(smollm2, 3))
    assert np.abs(again - result["directions"][:3]).max() <= 1
    assert np.shape(result["directions"]) == (30, 2)
    assert result["columns"] == 384
