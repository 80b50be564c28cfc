"""Latent attention: against loops, in two forms, whole and step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import cost
from helpers.cache import KVCache
from helpers.latent import (
    Kept,
    LatentProjections,
    absorb,
    compress,
    expand,
    init_latent,
    latent_attention,
    latent_attention_vjp,
    latent_queries,
)
from helpers.masks import causal_mask, padding_mask
from tests.core import reference_latent
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

FORMS = pytest.mark.parametrize("absorbed", [False, True])
SIZES = {"d_c": 5, "d_r": 4, "d_k": 9, "d_v": 2}
COMPRESSED = pytest.mark.parametrize("d_q", [None, 6])


def problem(seed, T, H=3, d_q=None, d_model=7, lead=(), dtype=float):
    """Rows and weights; gains that are not 1."""
    rng = np.random.default_rng(seed)
    p = init_latent(rng, d_model, H, **SIZES, d_q=d_q)
    gains = {"gain_KV": rng.normal(1, 0.2, p.gain_KV.shape)}
    if d_q is not None:
        gains["gain_Q"] = rng.normal(1, 0.2, d_q)
    p = p._replace(**gains)
    return rng.normal(size=(*lead, T, d_model)).astype(dtype), cast(p, dtype)


def cast(p, dtype):
    return LatentProjections(
        *(None if W is None else W.astype(dtype) for W in p[:-1]), p.n_heads
    )


def lists(p):
    return {
        name: W.tolist()
        for name, W in p._asdict().items()
        if isinstance(W, np.ndarray)
    }


@FORMS
@COMPRESSED
@pytest.mark.parametrize("T", [1, 4])
@pytest.mark.parametrize("causal", [True, False])
def test_latent_attention_equals_the_loop(absorbed, d_q, T, causal):
    X, p = problem(0, T, d_q=d_q)
    mask = causal_mask(T) if causal else None
    desired = reference_latent.latent_attention(
        X.tolist(), lists(p), 3, lambda t, s: s <= t or not causal
    )
    results = latent_attention(X, p, mask=mask, absorbed=absorbed)
    for result, expected in zip(results, desired, strict=True):
        assert_close(result, np.array(expected), eps=64)


@COMPRESSED
def test_each_step_equals_the_loop(d_q):
    X, p = problem(1, 4, d_q=d_q)
    places = [3, 0, 7, 12]
    kept = compress(X, p, places)
    desired = reference_latent.compress(X.tolist(), lists(p), places)
    for result, expected in zip(kept, desired, strict=True):
        assert_close(result, np.array(expected), eps=64)
    queries, made = latent_queries(X, p, places), expand(kept.latent, p)
    for h in range(3):
        sizes = (h, SIZES["d_k"])
        for results, expected in (
            (queries, reference_latent.latent_queries(
                X.tolist(), lists(p), *sizes, SIZES["d_r"], places)),
            (made, reference_latent.expand(
                kept.latent.tolist(), lists(p), *sizes, SIZES["d_v"])),
        ):  # fmt: skip
            for result, rows in zip(results, expected, strict=True):
                assert_close(result[h], np.array(rows), eps=64)


def test_a_folded_query_meets_a_latent_vector_as_the_query_meets_its_key():
    X, p = problem(2, 4)
    latent, _ = compress(X, p)
    Q, _ = latent_queries(X, p)
    K, _ = expand(latent, p)
    assert_close(absorb(Q, p) @ latent.T, Q @ K.swapaxes(-1, -2), eps=64)


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.booleans())
def test_both_forms_are_equal(seed, T, many):
    X, p = problem(seed, T, lead=(2,) if many else ())
    plain, folded = (
        latent_attention(X, p, mask=causal_mask(T), absorbed=form)
        for form in (False, True)
    )
    for result, expected in zip(folded, plain, strict=True):
        assert_close(result, expected, eps=512)


@FORMS
@pytest.mark.parametrize("steps", [[1] * 6, [4, 1, 1], [0, 2, 0, 4]])
@pytest.mark.parametrize("lead", [(), (2,)])
def test_step_by_step_equals_the_whole(absorbed, steps, lead):
    X, p = problem(3, 6, d_q=6, lead=lead)
    whole = latent_attention(X, p, mask=causal_mask(6), absorbed=absorbed)
    cache = KVCache(6, 1, SIZES["d_c"], SIZES["d_r"], batch=lead)
    start = 0
    for n in steps:
        stop = start + n
        output, weights = latent_attention(
            X[..., start:stop, :],
            p,
            mask=causal_mask(n, stop),
            cache=cache,
            absorbed=absorbed,
        )
        assert_close(output, whole.output[..., start:stop, :], eps=64)
        assert_close(weights, whole.weights[..., start:stop, :stop], eps=64)
        start = stop
    assert cache.nbytes == sum(x.nbytes for x in compress(X, p))
    assert cache.nbytes == cost.kv_cache_bytes(
        6, 1, 1, SIZES["d_c"], SIZES["d_r"], 8, batch=2 if lead else 1
    )


@FORMS
@pytest.mark.parametrize(("dtype", "eps"), [(np.float32, 64),
                                            (np.float16, 8)])  # fmt: skip
def test_a_narrow_type_is_kept(absorbed, dtype, eps):
    X, p = problem(4, 5, dtype=dtype)
    wide = latent_attention(X.astype(float), cast(p, float))
    results = latent_attention(X, p, absorbed=absorbed)
    for result, expected in zip(results, wide, strict=True):
        assert_close(result, expected.astype(dtype), eps=eps)


@FORMS
def test_one_wide_argument_widens_all(absorbed):
    X, p = problem(5, 3, dtype=np.float32)
    wide = p._replace(W_O=p.W_O.astype(float))
    result = latent_attention(X, wide, absorbed=absorbed)
    expected = latent_attention(X.astype(float), cast(p, float))
    assert_close(result.output, expected.output, eps=64)


@FORMS
def test_nothing_to_ask_and_nothing_to_read(absorbed):
    X, p = problem(6, 0)
    output, weights = latent_attention(X, p, absorbed=absorbed)
    assert output.shape == (0, 7)
    assert weights.shape == (3, 0, 0)
    X, p = problem(6, 2, lead=(2,))
    output, weights = latent_attention(
        X, p, mask=padding_mask([2, 0], 2), absorbed=absorbed
    )
    assert np.all(output[1] == 0)
    assert np.all(weights[1] == 0)
    assert np.all(weights[0] > 0)


@FORMS
def test_only_distances_matter(absorbed):
    X, p = problem(7, 5)
    here = latent_attention(X, p, absorbed=absorbed)
    there = latent_attention(
        X, p, positions=np.arange(5) + 9, absorbed=absorbed
    )
    assert_close(there.output, here.output, eps=256)
    spread = latent_attention(
        X, p, positions=2 * np.arange(5), absorbed=absorbed
    )
    assert np.abs(spread.output - here.output).max() > 1e-3


@FORMS
def test_positions_of_each_sequence(absorbed):
    X, p = problem(8, 4, lead=(2,))
    places = np.array([[0, 1, 2, 3], [5, 7, 8, 11]])
    both = latent_attention(X, p, positions=places, absorbed=absorbed)
    for i in range(2):
        one = latent_attention(X[i], p, positions=places[i], absorbed=absorbed)
        assert_close(both.output[i], one.output, eps=64)


@given(st.tuples(*[st.integers(1, 5)] * 6), st.integers(0, 4), st.booleans())
def test_operations_are_counted_as_by_the_loop(sizes, T, absorbed):
    S, *widths = sizes
    result = cost.latent_flops(T, S, *widths, absorbed=absorbed)
    expected = reference_latent.latent_flops(T, S, *widths, absorbed)
    for stage, n in expected.items():
        assert result[stage] == n
    assert result["total"] == sum(
        n for stage, n in result.items() if stage != "total"
    )


def test_what_the_models_of_the_paper_keep():
    # DeepSeek-V2, appendix: 34.6K and 15.6K numbers a token, of 60 layers
    # and of 27.
    for n_layers, printed in ((60, 34.6), (27, 15.6)):
        kept = cost.kv_cache_bytes(1, n_layers, 1, 512, 64, itemsize=1)
        assert kept == n_layers * 576
        assert round(kept / 1000, 1) == printed


def test_the_folded_form_is_for_decoding():
    # DeepSeek-V2: 128 heads, widths of 512, 64, 128 and 128.
    sizes = (128, 512, 64, 128, 128)
    for T, S in ((1, 4096), (4096, 4096)):
        plain, folded = (
            cost.latent_flops(T, S, *sizes, absorbed=form)["total"]
            for form in (False, True)
        )
        assert (folded < plain) == (T == 1)


def test_a_failure_leaves_the_cache():
    X, p = problem(9, 2)
    cache = KVCache(8, 1, SIZES["d_c"], SIZES["d_r"])
    latent_attention(X, p, cache=cache)
    huge = p._replace(W_O=np.full_like(p.W_O, 1e308), W_UV=100 * p.W_UV)
    with pytest.raises(ValueError, match=r"^the products of the heads"):
        latent_attention(X, huge, cache=cache)
    assert len(cache) == 2


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("n_heads must divide the columns of W_UK; got n", {"n_heads": 2}),
        ("n_heads must be at least 1; got 0", {"n_heads": 0}),
        ("gain_KV must be (5,) to fit", {"gain_KV": np.ones(4)}),
        ("d_r must be even, to rotate", {"W_KR": np.ones((7, 3))}),
        ("W_KR must be (7, 4) to fit", {"W_KR": np.ones((6, 4))}),
        ("W_UK must have two axes", {"W_UK": np.ones((5, 0))}),
        ("W_UV must have two axes", {"W_UV": np.ones(3)}),
        ("W_QR must be (7, 12) to fit", {"W_QR": np.ones((7, 9))}),
        ("W_O must be (6, 7) to fit", {"W_O": np.ones((5, 7))}),
        ("W_DQ and gain_Q must be given", {"W_DQ": np.ones((7, 6))}),
        ("W_DQ and gain_Q must be given", {"gain_Q": np.ones(6)}),
        ("W_O must be finite", {"W_O": np.full((6, 7), np.nan)}),
    ],
)
def test_refuses_weights_that_do_not_fit(message, change):
    X, p = problem(10, 2)
    for call in (
        lambda p: latent_attention(X, p),
        lambda p: compress(X, p),
        lambda p: latent_queries(X, p),
        lambda p: expand(np.ones((2, 5)), p),
        lambda p: absorb(np.ones((3, 2, 9)), p),
    ):
        refused(lambda call=call: call(p._replace(**change)), message)


X_, P_ = problem(11, 2)
REFUSED = {
    "X must have d_model = 7 columns": lambda: latent_attention(X_[:, :6], P_),
    "mask must broadcast to scores": lambda: latent_attention(
        X_, P_, mask=np.ones((2, 3), bool)
    ),
    "the cache has room for max_len = 1": lambda: latent_attention(
        X_, P_, cache=KVCache(1, 1, 5, 4)
    ),
    "V must be (1, n, 5) to fit the cache": lambda: latent_attention(
        X_, P_, cache=KVCache(2, 1, 5, 5)
    ),
    "positions must hold one position for each": lambda: latent_attention(
        X_, P_, positions=[0]
    ),
    "eps must be at least 0; got -1": lambda: latent_attention(
        X_, P_, eps=-1.0
    ),
    "each row of latent must have one entry per row of W_UK": lambda: expand(
        np.ones((2, 4)), P_
    ),
    "Q must be (..., 3, T, 9) to fit W_UK and n_heads": lambda: absorb(
        np.ones((2, 2, 3)), P_
    ),
    "d_r must be even": lambda: init_latent(
        np.random.default_rng(0), 7, 3, **SIZES | {"d_r": 3}
    ),
}


@each(REFUSED)
def test_latent_attention_refuses(message, call):
    refused(call, message)


def test_projections_and_caches_are_of_their_kind():
    message = "projections must be LatentProjections; got tuple"
    refused(lambda: latent_attention(X_, tuple(P_)), message, TypeError)
    message = "cache must be a KVCache"
    refused(lambda: latent_attention(X_, P_, cache=[]), message, TypeError)


@pytest.mark.parametrize(
    ("call", "rows", "matrix"),
    [
        (compress, "X", "W_DKV"),
        (compress, "X", "W_KR"),
        (latent_queries, "X", "W_DQ"),
        (latent_queries, "the rows of queries", "W_UQ"),
        (latent_queries, "the rows of queries", "W_QR"),
        (expand, "latent", "W_UK"),
        (expand, "latent", "W_UV"),
    ],
)
def test_refuses_products_that_overflow(call, rows, matrix):
    X, p = problem(13, 2, d_q=6)
    given = 1e200 * (np.ones((2, SIZES["d_c"])) if call is expand else X)
    if rows == "the rows of queries":  # which a norm keeps near 1
        given, factor = X, 1e308
    else:
        factor = 1e200
    huge = p._replace(**{matrix: factor * np.ones_like(getattr(p, matrix))})
    message = f"the products of {rows} and {matrix} overflow float64"
    with pytest.raises(ValueError, match=f"^{message}; pass {rows} and"):
        call(given, huge)


def test_refuses_a_folded_query_that_overflows():
    _, p = problem(13, 2)
    huge = p._replace(W_UK=np.full_like(p.W_UK, 1e200))
    message = "a head's products overflow float64; pass Q and W_UK in"
    with pytest.raises(ValueError, match=f"^{message}"):
        absorb(np.full((3, 2, SIZES["d_k"]), 1e200), huge)


def test_random_weights_keep_the_size():
    rng = np.random.default_rng(12)
    p = init_latent(rng, 256, 4, d_c=128, d_r=18, d_k=32, d_v=64, d_q=96)
    X = rng.normal(size=(64, 256))
    for rows in (*compress(X, p), *latent_queries(X, p)):
        assert 0.8 < rows.std() < 1.2
    assert isinstance(compress(X, p), Kept)


# --- gradients ---------------------------------------------------------------


def nudged(p, name, by):
    return p._replace(**{name: getattr(p, name) + by})


@FORMS
@COMPRESSED
@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize("places", [None, [4, 1, 7, 8, 2]])
def test_gradients_equal_directional_differences(absorbed, d_q, lead, places):
    T = 5
    X, p = problem(20, T, d_q=d_q, lead=lead)
    rng = np.random.default_rng(21)
    upstream = rng.normal(size=X.shape)
    options = {"positions": places, "scale": 0.4, "base": 50.0, "eps": 1e-3}
    mask = causal_mask(T)

    def loss(X, p):
        result = latent_attention(
            X, p, mask=mask, absorbed=absorbed, **options
        )
        return (upstream * result.output).sum()

    weights = latent_attention(X, p, mask=mask, **options).weights
    grads = latent_attention_vjp(upstream, X, p, weights, **options)
    h = 1e-5
    way = rng.normal(size=X.shape)
    slope = (loss(X + h * way, p) - loss(X - h * way, p)) / (2 * h)
    assert (grads.X * way).sum() == pytest.approx(slope, rel=1e-7, abs=1e-8)
    for name, W in p._asdict().items():
        grad = getattr(grads.projections, name)
        if not isinstance(W, np.ndarray):
            assert grad == W
            continue
        assert grad.shape == W.shape
        way = rng.normal(size=W.shape)
        ends = [loss(X, nudged(p, name, sign * h * way)) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * h)
        assert (grad * way).sum() == pytest.approx(slope, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.uint64])
def test_gradients_turn_back_by_unsigned_positions_too(kind):
    X, p = problem(20, 4)
    places = np.array([3, 4, 5, 6])
    weights = latent_attention(X, p, positions=places).weights
    upstream = np.random.default_rng(21).normal(size=X.shape)
    signed, unsigned = (
        latent_attention_vjp(upstream, X, p, weights, positions=some)
        for some in (places, places.astype(kind))
    )
    np.testing.assert_array_equal(unsigned.X, signed.X)


# The loop of the forward pass has these.
STATED = {"positions": range(4), "base": 10000.0, "eps": 1e-6}


def test_the_defaults_are_those_of_the_forward_pass():
    X, p = problem(22, 4, d_q=6)
    weights = latent_attention(X, p).weights
    upstream = np.random.default_rng(23).normal(size=X.shape)
    wide = SIZES["d_k"] + SIZES["d_r"]
    plain, stated = (
        latent_attention_vjp(upstream, X, p, weights, **options)
        for options in ({}, STATED | {"scale": wide**-0.5})
    )
    assert_close(plain.X, stated.X, eps=8)
    for result, expected in zip(
        plain.projections[:-1], stated.projections[:-1], strict=True
    ):
        assert_close(result, expected, eps=8)


WEIGHTS = np.ones((3, 4, 4)) / 4
NOT_WEIGHTS = {
    "weights must be (..., 3, T, T) to fit X and n_heads": {
        "weights": WEIGHTS[:2]
    },
    "weights must be at least 0 and sum to 1": {"weights": 4 * WEIGHTS},
    "weights must have axes (..., H, T, T); got weights (4, 4)": {
        "weights": WEIGHTS[0]
    },
    "X must have d_model = 7": {"X": np.ones((4, 6))},
    "grad must": {"grad_output": np.ones((4, 6))},
}


@pytest.mark.parametrize("message", NOT_WEIGHTS)
def test_the_gradient_refuses(message):
    X, p = problem(24, 4)
    args = {"grad_output": X, "X": X, "projections": p, "weights": WEIGHTS}
    args |= NOT_WEIGHTS[message]
    refused(lambda: latent_attention_vjp(**args), message)
