"""Blocks with latent attention, and with memories of fixed size."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cache import KVCache, StateCache
from helpers.linear import short_convolution
from helpers.masks import padding_mask
from helpers.transformer import (
    LatentWidths,
    MemoryWidths,
    TransformerConfig,
    forward,
    generate,
    init_transformer,
    loss_and_gradients,
    new_cache,
    transformer,
)
from tests.core import laws, reference_linear
from tests.core import reference_transformer as reference
from tests.core.closeness import assert_close
from tests.core.refusals import refused

SMALL = TransformerConfig(
    vocab=7,
    max_len=6,
    d_model=8,
    n_heads=2,
    d_ff=5,
    norm_kind="rms",
    positions="rotary",
    bias=False,
    base=50.0,
)
MEMORY = MemoryWidths(n_key_heads=2, n_value_heads=4, d_k=3, d_v=2, width=3)
FORMS = {
    "latent": {
        "head_width": 3,
        "latent": LatentWidths(d_c=4, d_r=2, d_v=5),
    },
    "latent, compressed queries": {
        "head_width": 3,
        "latent": LatentWidths(d_c=4, d_r=4, d_v=1, d_q=3, eps=0.1),
        "scale": 0.6,
        "window": 3,
        "norm": "sandwich",
        "tied": False,
    },
    "memory": {"memory": MEMORY, "positions": None, "eps": 0.1},
    "hybrid": {
        "blocks": ({"memory": MEMORY._replace(width=1)}, {"window": 2}),
        "output_gate": True,
        "query_key_norm": "head",
        "frequencies": (0.7,),
    },
}
EACH = pytest.mark.parametrize("form", FORMS)


def made(form, rng):
    config = replace(SMALL, **FORMS[form])
    return config, laws.of_a_size(rng, config, 0.5, 0.3)


@EACH
def test_every_form_equals_plain_loops(form, rng):
    config, params = made(form, rng)
    tokens = rng.integers(0, config.vocab, (3, 6))
    kept = forward(tokens, params, config)
    fields = vars(config) | {"n_kv_heads": config.kv_heads}
    lists = {name: x.tolist() for name, x in params.items()}
    for row, sequence in enumerate(tokens):
        expected, maps = reference.logits(sequence.tolist(), lists, fields)
        assert_close(kept.logits[row], np.array(expected), eps=2**13)
        for layer, own in zip(kept.layers[::2], maps, strict=True):
            if own is not None:
                result = layer.attended.weights[row]
                assert_close(result, np.array(own), eps=512)


@EACH
def test_a_cache_changes_nothing(form, rng):
    laws.expect_same_with_a_cache(*made(form, rng), rng, eps=2**13)


@EACH
def test_a_failing_call_leaves_the_caches(form, rng):
    config, params = made(form, rng)
    cache = new_cache(config)
    first = transformer([1, 2], params, config, cache=cache)
    broken = params | {"1.W_O": params["1.W_O"] * np.inf}
    with pytest.raises(ValueError, match="W_O must be finite"):
        transformer([3], broken, config, cache=cache)
    assert [len(stored) for stored in cache] == [2, 2]
    again = transformer([3], params, config, cache=cache)
    whole = transformer([1, 2, 3], params, config)
    assert_close(np.concatenate([first, again]), whole, eps=2**13)


@EACH
def test_float32_is_kept(form, rng):
    config, params = made(form, rng)
    params = laws.expect_single_precision(config, params, rtol=1e-3)
    assert generate(rng, [1, 2], params, config, 3).shape == (5,)


@EACH
def test_no_token_sees_a_later_one(form, rng):
    laws.expect_no_look_ahead(*made(form, rng), rng, eps=2**13)


def test_padding_is_hidden_from_latent_attention(rng):
    config, params = made("latent", rng)
    tokens = rng.integers(0, config.vocab, (2, 5))
    alone = transformer(tokens[0, :3], params, config)
    mask = padding_mask([3, 5], 5)
    logits = transformer(tokens, params, config, mask=mask)
    assert_close(logits[0, :3], alone, eps=512)
    # Two columns of padding come between the others.
    rows, at = tokens[:, [0, 3, 1, 4, 2]], [[0, 1, 1, 2, 2], range(5)]
    mask = np.array([[1, 0, 1, 0, 1], [1] * 5], bool)[:, None, None]
    logits = transformer(rows, params, config, mask=mask, positions=at)
    assert_close(logits[0, [0, 2, 4]], alone, eps=512)
    assert_close(logits[1], transformer(rows[1], params, config), eps=512)


@pytest.mark.parametrize("form", [f for f in FORMS if "latent" in f])
@pytest.mark.parametrize("padded", [False, True])
def test_gradients_through_latent_attention_equal_differences(
    form, padded, rng
):
    config, params = made(form, rng)
    tokens, targets = rng.integers(0, config.vocab, (2, 3, 5))
    where = np.arange(15).reshape(3, 5) % 3 > 0
    mask = padding_mask([5, 2, 4], 5) if padded else None
    laws.expect_gradients(tokens, targets, params, config, rng, where, mask)


def test_caches_have_the_size_that_is_kept():
    config = replace(SMALL, **FORMS["latent"])
    cache = new_cache(config, batch=(3,), dtype=np.float32)[0]
    assert isinstance(cache, KVCache)
    assert cache.nbytes == 4 * 3 * 6 * (4 + 2)  # positions, d_c and d_r
    config = replace(SMALL, memory=MEMORY)
    cache = new_cache(config, batch=(3,), dtype=np.float32)[0]
    # Four states of 3 by 2, and two rows of all queries, keys and values.
    assert cache.nbytes == 4 * 3 * (4 * 3 * 2 + 2 * (6 + 6 + 8))


# Refusals -------------------------------------------------------------------


def test_what_is_not_derived_is_refused(rng):
    for form in ("latent", "hybrid"):
        config, params = made(form, rng)
        heads = np.ones((2, 2))
        with pytest.raises(ValueError, match="heads must be None if a block"):
            forward([1, 2], params, config, heads=heads)
        runs = init_transformer(rng, config, runs=(2,))
        with pytest.raises(ValueError, match="must be of one model, without"):
            transformer([[1], [2]], runs, config)
    message = "memory must be None in a model to be trained; got MemoryWidths"
    with pytest.raises(ValueError, match=message):
        loss_and_gradients([1], [2], params, config)
    mask = np.ones((1, 1), bool)
    with pytest.raises(ValueError, match="mask must be None if a block h"):
        transformer([1], params, config, mask=mask)


LATENT = LatentWidths(d_c=4, d_r=2, d_v=3)


IMPOSSIBLE = {
    "2, for pairs of columns, must divide d_r; got 2 and 3": {
        "latent": LATENT._replace(d_r=3)
    },
    "frequencies must have at most one per two columns of a head; got 2 and "
    "d_r 2": {"latent": LATENT, "frequencies": (1.0, 0.1)},
    "latent.eps must be at least 0; got -1": {
        "latent": LATENT._replace(eps=-1)
    },
    "n_kv_heads must be None with latent attention; got 1": {
        "latent": LATENT,
        "n_kv_heads": 1,
    },
    "positions must be 'rotary' with latent attention; got None": {
        "latent": LATENT,
        "positions": None,
    },
    "sinks must be False with latent attention; got True": {
        "latent": LATENT,
        "sinks": True,
    },
    "memory.n_key_heads must divide memory.n_value_heads; got 3 and 4": {
        "memory": MEMORY._replace(n_key_heads=3)
    },
    "memory.width must be at least 1; got 0": {
        "blocks": ({}, {"memory": MEMORY._replace(width=0)})
    },
}


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_a_configuration_refuses(message):
    refused(lambda: replace(SMALL, **IMPOSSIBLE[message]), message)


def test_widths_are_of_their_kind():
    for name, kind in (("latent", "Latent"), ("memory", "Memory")):
        message = f"{name} must be {kind}Widths; got 3"
        refused(lambda n=name: replace(SMALL, **{n: 3}), message, TypeError)


# The short convolution, and the cache of a memory ---------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 6),
    st.integers(1, 5),
    st.sampled_from([(), (2,), (2, 3)]),
)
def test_short_convolution_equals_loops(seed, T, width, lead):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(*lead, T, 3))
    filters = rng.normal(size=(width, 3))
    before = rng.normal(size=(*lead, width - 1, 3))
    output, rows = short_convolution(X, filters, before=before)
    bare, _ = short_convolution(X, filters)
    assert output.shape == X.shape
    assert rows.shape == before.shape
    for i in np.ndindex(lead):
        expected, last = reference_linear.short_convolution(
            [*X[i].tolist()] or [[0.0] * 3], filters, before[i].tolist()
        )
        if T:
            assert_close(output[i], np.array(expected), eps=64)
            alone, _ = reference_linear.short_convolution(X[i], filters)
            assert_close(bare[i], np.array(alone), eps=64)
            np.testing.assert_array_equal(
                rows[i], np.array(last).reshape(rows[i].shape)
            )
        else:
            np.testing.assert_array_equal(rows, before)


def test_short_convolution_refuses_by_name():
    X = np.ones((4, 3))
    for filters, before, message in (
        (np.ones((2, 2)), None, "filters must be (width, d), a row or more;"),
        (np.ones((0, 3)), None, "filters must be (width, d), a row or more;"),
        (np.ones((2, 3)), np.ones((2, 3)), "before must be (1, 3) to fit X"),
        (np.full((2, 3), 1e308), X[:1] * 10, "the sums overflow float64"),
    ):
        refused(
            lambda f=filters, b=before: short_convolution(X, f, before=b),
            message,
        )


def test_a_state_cache_goes_back_by_one_update():
    cache = StateCache(1, 1, 1, 1, 2)
    rows = np.ones((1, 3))
    for n, value in ((2, 5.0), (3, 7.0), (0, 7.0)):
        cache.update(np.full((1, 1, 1), value), rows * value, n)
    with pytest.raises(ValueError, match=r"one of \[0, 2, 5\]"):
        cache.truncate(4)
    cache.truncate(5)
    cache.truncate(2)
    assert (len(cache), cache.state.item(), cache.rows[0, 0]) == (2, 5.0, 5.0)
    with pytest.raises(ValueError, match=r"one of \[0, 2\]"):
        cache.truncate(1)
    cache.truncate(0)
    assert (len(cache), cache.state.item(), cache.rows[0, 0]) == (0, 0.0, 0.0)


def test_a_state_cache_refuses_by_name():
    cache = StateCache(1, 1, 1, 1, 2, dtype=np.float16)
    good = np.ones((1, 1, 1)), np.ones((1, 3))
    for state, rows, message in (
        (np.ones((1, 1, 2)), good[1], "state must be (1, 1, 1) to fit the ca"),
        (good[0], np.ones((1, 2)), "rows must be (1, 3) to fit the cache; go"),
        (good[0] * 1e9, good[1], "state overflows the cache's float16"),
        (good[0] * np.nan, good[1], "state must be finite"),
    ):
        refused(lambda s=state, r=rows: cache.update(s, r, 1), message)
        assert len(cache) == 0
        assert not cache.state.any()
