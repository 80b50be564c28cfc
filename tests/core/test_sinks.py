"""Soft caps and sinks: against loops, in every form, refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import attention
from helpers.cache import KVCache
from helpers.gradients import attention_vjp, sinks_vjp
from helpers.heads import init_projections, multi_head_attention
from helpers.masks import causal_mask
from helpers.softmax import logsumexp
from helpers.tiled import merge_partials, tiled_attention
from tests.core import reference
from tests.core.closeness import assert_close, assert_gradient
from tests.core.refusals import refused

SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 2**32 - 1)
CAPS = st.sampled_from([None, 0.05, 1.0, 30.0])
SINKS = st.sampled_from([None, -math.inf, -40.0, 0.0, 0.7, 40.0])


def arrays(seed, T, S, d_k, d_v, lead=(), dtype=float):
    rng = np.random.default_rng(seed)
    shapes = (*lead, T, d_k), (*lead, S, d_k), (*lead, S, d_v)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@given(SEEDS, SIZES, st.integers(0, 5), SIZES, CAPS, SINKS, st.booleans())
def test_attention_equals_the_loop(seed, T, S, d, softcap, sink, masked):
    Q, K, V = arrays(seed, T, S, d, 3)
    rng = np.random.default_rng(seed)
    mask = rng.random((T, S)) < 0.5 if masked else None
    bias = rng.normal(size=(T, S))
    if S == 0:
        output, weights = np.zeros((T, 3)), np.zeros((T, 0))
    else:
        output, weights = reference.attention(
            Q.tolist(),
            K.tolist(),
            V.tolist(),
            allowed=None if mask is None else mask.tolist(),
            bias=bias.tolist(),
            softcap=softcap,
            sink=sink,
        )
    result = attention(
        Q, K, V, mask=mask, bias=bias, softcap=softcap, sinks=sink
    )
    assert_close(result.output, np.array(output), eps=64)
    assert_close(result.weights, np.array(weights), eps=64)


def test_a_sink_by_hand():
    # Three keys that fit alike, and a sink of log 5: each has weight 1/8.
    Q, K, V = np.zeros((1, 2)), np.zeros((3, 2)), np.array([[8.0], [0], [0]])
    output, weights = attention(Q, K, V, sinks=math.log(5))
    assert_close(weights, np.full((1, 3), 1 / 8))
    assert_close(output, np.array([[1.0]]))


def test_a_cap_by_hand():
    # tanh(log 3) is 4/5, so the scores are capped to 4/5 and 0, times 2.
    Q, K = np.array([[2 * math.log(3), 0.0]]), np.eye(2)
    _, weights = attention(Q, K, K, scale=1, softcap=2)
    ratio = math.exp(1.6)
    assert_close(weights, np.array([[ratio, 1.0]]) / (ratio + 1))


def test_the_cap_comes_before_bias_and_mask():
    Q = K = V = np.array([[3.0], [-3.0]])
    bias = np.array([[0.0, 50.0], [0.0, -math.inf]])
    weights = attention(Q, K, V, scale=1, softcap=1, bias=bias).weights
    # The capped scores differ by less than 2, and 50 outweighs them.
    assert weights[0, 1] > 1 - 1e-15
    assert weights[1].tolist() == [1.0, 0.0]


@given(SEEDS, st.floats(0.1, 20))
def test_a_cap_bounds_the_ratio_of_two_weights(seed, softcap):
    Q, K, V = arrays(seed, 4, 5, 3, 2)
    weights = attention(30 * Q, K, V, softcap=softcap).weights
    ratio = weights.max(-1) / weights.min(-1)
    assert (ratio <= math.exp(2 * softcap) * (1 + 1e-9)).all()


def test_each_head_has_its_own_sink(rng):
    Q, K, V = rng.normal(size=(3, 2, 3, 4, 5))  # (B, H, T, d)
    sinks = np.array([-1.0, 0.5, 2.0])
    whole = attention(Q, K, V, sinks=sinks)
    for b, h in np.ndindex(2, 3):
        one = attention(Q[b, h], K[b, h], V[b, h], sinks=sinks[h])
        assert_close(whole.output[b, h], one.output)
        assert_close(whole.weights[b, h], one.weights)
    both = np.stack([sinks, sinks + 1])  # of each sequence its own
    shifted = attention(Q, K, V, sinks=both)
    assert_close(shifted.output[0], whole.output[0])
    assert (shifted.weights[1].sum(-1) < whole.weights[1].sum(-1)).all()


def test_no_sink_is_minus_infinity(rng):
    Q, K, V = rng.normal(size=(3, 2, 4, 5))
    none = attention(Q, K, V)
    low = attention(Q, K, V, sinks=[-math.inf, -math.inf])
    np.testing.assert_array_equal(low.output, none.output)
    np.testing.assert_array_equal(low.weights, none.weights)


@pytest.mark.parametrize("sink", [-math.inf, -1e308, 0.0, 1e308])
def test_a_query_that_may_attend_to_nothing_gets_exactly_zero(sink):
    Q, K, V = arrays(3, 2, 3, 2, 4)
    mask = np.array([[True] * 3, [False] * 3])
    output, weights = attention(Q, K, V, mask=mask, sinks=sink)
    assert not output[1].any()
    assert not weights[1].any()
    assert np.isfinite(output).all()
    assert output[0].any() == (sink < 1e308)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_dtype_is_kept_and_agrees_with_float64(dtype):
    Q, K, V = arrays(4, 5, 7, 8, 3, (2,), dtype)
    sinks = np.array([0.25, -1.5])
    narrow = attention(Q, K, V, softcap=2, sinks=sinks)
    wide = attention(
        *(X.astype(float) for X in (Q, K, V)), softcap=2, sinks=sinks
    )
    assert_close(narrow.output, wide.output.astype(dtype))
    assert_close(narrow.weights, wide.weights.astype(dtype))
    tiled = tiled_attention(Q, K, V, softcap=2, sinks=sinks, block_k=3)
    assert_close(tiled, wide.output.astype(dtype))


def test_float16_scores_that_overflow_it_are_capped_in_float32():
    # 300 * 300 * 2 is no float16; a sink of 7e4 is none either.
    big = np.full((2, 2), 300, np.float16)
    output, weights = attention(big, big, big, softcap=50, sinks=7e4)
    assert output.dtype == np.float16
    assert not weights.any()
    assert not tiled_attention(big, big, big, softcap=50, sinks=7e4).any()


@given(
    SEEDS,
    st.integers(0, 9),
    CAPS,
    SINKS,
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_tiles_change_nothing(
    seed, S, softcap, sink, causal, block_q, block_k
):
    T = min(S, 5)
    Q, K, V = arrays(seed, T, S, 3, 2, (2,))
    sinks = None if sink is None else np.array([sink, 0.3])
    mask = causal_mask(T, S) if causal else None
    whole = attention(Q, K, V, mask=mask, softcap=softcap, sinks=sinks)
    tiled = tiled_attention(
        Q,
        K,
        V,
        causal=causal,
        softcap=softcap,
        sinks=sinks,
        block_q=block_q,
        block_k=block_k,
    )
    assert_close(tiled, whole.output, eps=64)


def test_a_sink_is_one_more_part_to_merge(rng):
    Q, K, V = rng.normal(size=(3, 6, 4))
    scores = Q @ K.T / 2
    parts = [slice(0, 2), slice(2, 6)]
    outputs = [attention(Q, K[p], V[p]).output for p in parts]
    sums = [logsumexp(scores[:, p]) for p in parts]
    merged = merge_partials(
        [*outputs, np.zeros((6, 4))], [*sums, np.full(6, 0.4)]
    )
    assert_close(merged.output, attention(Q, K, V, sinks=0.4).output)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_steps_with_a_cache_equal_the_whole(rng, n_kv_heads):
    p = init_projections(rng, 8, 4, n_kv_heads)
    X, more = rng.normal(size=(7, 8)), {"softcap": 1.5, "sinks": [-1, 0, 1, 2]}
    whole = multi_head_attention(X, p, mask=causal_mask(7), **more)
    plain = multi_head_attention(X, p, mask=causal_mask(7))
    assert abs(whole.output - plain.output).max() > 0.01
    for chunk in (1, 3):
        cache, start = KVCache(7, n_kv_heads, 2), 0
        while start < 7:
            rows = X[start : start + chunk]
            mask = causal_mask(len(rows), start + len(rows))
            step = multi_head_attention(
                rows, p, mask=mask, cache=cache, **more
            )
            end = start + len(rows)
            assert_close(step.output, whole.output[start:end], eps=64)
            start = end


CASES = {
    "cap": {"softcap": 0.8},
    "sinks": {"sinks": np.array([-0.4, 1.2])},
    "both": {"softcap": 1.7, "sinks": np.array([0.3, -math.inf])},
    "one for all": {"sinks": np.array([0.5])},
    "empty row": {
        "sinks": np.array([0.1, -2.0]),
        "mask": np.arange(4)[:, None] != np.zeros((1, 5)),
        "scale": 0.9,
    },
}


@pytest.mark.parametrize("case", CASES)
def test_gradients(rng, case):
    options = dict(CASES[case])
    Q, K, V = arrays(8, 4, 5, 3, 2, (3, 2))
    K = K[:1]  # shared by the batch
    inputs = {"Q": Q, "K": K, "V": V}
    upstream = rng.normal(size=(3, 2, 4, 2))
    output, weights = attention(**inputs, **options)

    def loss(**changed):
        given = inputs | options | changed
        return (attention(**given).output * upstream).sum()

    options.pop("mask", None)
    back = attention_vjp(upstream, **inputs, weights=weights, **options)
    options = dict(CASES[case])
    for name, x in inputs.items():
        slope = getattr(back, name)
        assert_gradient(lambda x, n=name: loss(**{n: x}), x, slope, rng)
    if "sinks" in options:
        sinks = options["sinks"]
        slope = sinks_vjp(upstream, output, weights, sinks)
        assert not slope[np.isneginf(sinks)].any()
        assert_gradient(lambda x: loss(sinks=x), sinks, slope, rng)


def test_the_gradient_of_the_scores_is_before_the_cap(rng):
    Q, K, V = rng.normal(size=(3, 4, 4))
    upstream = rng.normal(size=(4, 4))
    weights = attention(Q, K, V, softcap=0.5).weights
    back = attention_vjp(upstream, Q, K, V, weights, softcap=0.5)

    def loss(scores):
        # Any scores are dot products with the columns of a square matrix.
        output = attention(scores, np.eye(4), V, scale=1, softcap=0.5).output
        return (output * upstream).sum()

    assert_gradient(loss, Q @ K.T / 2, back.scores, rng)


def test_sinks_vjp_takes_values_with_an_axis_of_their_own(rng):
    Q, K, V = (rng.normal(size=shape) for shape in [(3, 2), (4, 2), (2, 4, 5)])
    sinks = np.array(0.3)
    output, weights = attention(Q, K, V, sinks=sinks)
    upstream = rng.normal(size=output.shape)
    slope = sinks_vjp(upstream, output, weights, sinks)

    def loss(sinks):
        return (attention(Q, K, V, sinks=sinks).output * upstream).sum()

    assert_gradient(loss, sinks, slope, rng)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_gradients_keep_the_dtype(dtype):
    Q, K, V = arrays(2, 3, 3, 4, 4, (2,), dtype)
    sinks = np.array([0.0, 1.0])
    output, weights = attention(Q, K, V, sinks=sinks, softcap=2)
    slope = sinks_vjp(V, output, weights, sinks)
    wide = sinks_vjp(*(X.astype(float) for X in (V, output, weights)), sinks)
    assert_close(slope, wide.astype(dtype))
    back = attention_vjp(V, Q, K, V, weights, sinks=sinks, softcap=2)
    assert {x.dtype for x in back} == {np.dtype(dtype)}


I2 = np.eye(2)
HEADS = np.ones((3, 2, 2))  # (H, T, d)
HUGE = np.full((2, 2), 1e200)


@pytest.mark.parametrize("attend", [attention, tiled_attention])
def test_sinks_and_caps_refuse(attend):
    for options, message in (
        ({"softcap": 0}, "softcap must be above 0; got 0.0"),
        ({"sinks": [0.0, math.nan, 0.0]}, "sinks must not hold NaN or +inf"),
        (
            {"sinks": np.zeros(2)},
            "sinks must broadcast to the leading axes of the scores; got "
            "sinks (2,) and the leading axes of the scores (3,)",
        ),
    ):
        refused(lambda o=options: attend(HEADS, HEADS, HEADS, **o), message)


@pytest.mark.parametrize("attend", [attention, tiled_attention])
def test_refuses_what_a_narrow_type_cannot_hold(attend):
    narrow = HEADS.astype(np.float32)
    for options, message in (
        ({"sinks": -1e39}, "sinks overflow float32"),
        ({"softcap": 1e39}, "softcap must be in the range of float32"),
        ({"softcap": 1e-39}, "softcap must be in the range of float32"),
    ):
        refused(lambda o=options: attend(*[narrow] * 3, **o), message)
    # A cap would hide it.
    for sign in (1, -1):
        refused(
            lambda sign=sign: attend(HUGE, sign * HUGE, I2, softcap=1),
            "the scores overflow float64",
        )


def test_gradients_refuse():
    half = np.full((2, 2), 0.25)
    attention_vjp(I2, I2, I2, I2, half, sinks=0)
    sinks_vjp(I2, I2, half, 0)
    message = "or to 0 if nothing is attended, or to less if there is"
    for weights, sink in ((half, -math.inf), (4 * half, 0), (-half, 0)):
        with pytest.raises(ValueError, match=message):
            attention_vjp(I2, I2, I2, I2, weights, sinks=sink)
        with pytest.raises(ValueError, match=message):
            sinks_vjp(I2, I2, weights, sink)
    for call, message in (
        (
            lambda: attention_vjp(I2, I2, I2, I2, half),
            "weights must be at least 0",
        ),
        (
            lambda: attention_vjp(I2, I2, I2, I2, I2, softcap=0),
            "softcap must be above 0",
        ),
        (
            lambda: sinks_vjp(np.eye(3), I2, half, 0),
            "grad_output must have the shape of the output; got grad_output "
            "(3, 3) and (2, 2)",
        ),
        (
            lambda: sinks_vjp(I2, I2, np.full((3, 2), 0.2), 0),
            "weights and output must share T; got weights (3, 2) and (2, 2)",
        ),
        (
            lambda: sinks_vjp(HUGE, HUGE, half, 0),
            "the gradient of sinks overflows float64",
        ),
    ):
        refused(call, message)
