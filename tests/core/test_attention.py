"""attention against loops, by property, and refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import Attention, attention, attention_scores
from helpers.masks import causal_mask, padding_mask
from tests.core import reference
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SIZES = st.integers(1, 5)
SEEDS = st.integers(0, 2**32 - 1)


def arrays(seed, T, S, d_k, d_v, lead=(), dtype=float):
    rng = np.random.default_rng(seed)
    shapes = (*lead, T, d_k), (*lead, S, d_k), (*lead, S, d_v)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@given(SEEDS, SIZES, SIZES, SIZES, SIZES, st.booleans(), st.booleans())
def test_attention_equals_the_loop(seed, T, S, d_k, d_v, masked, biased):
    Q, K, V = arrays(seed, T, S, d_k, d_v)
    rng = np.random.default_rng(seed)
    mask = rng.random((T, S)) < 0.6 if masked else None
    bias = rng.normal(size=(T, S)) if biased else None
    output, weights = reference.attention(
        Q.tolist(),
        K.tolist(),
        V.tolist(),
        allowed=None if mask is None else mask.tolist(),
        bias=None if bias is None else bias.tolist(),
    )
    result = attention(Q, K, V, mask=mask, bias=bias)
    assert isinstance(result, Attention)
    assert_close(result.output, np.array(output), eps=64)
    assert_close(result.weights, np.array(weights), eps=64)


def test_the_scale_is_one_over_the_root_of_d_k():
    # d_k = 9 tells 1/sqrt(d_k) from 1/d_k, 1/2 and 1.
    Q, K = np.ones((1, 9)), np.ones((1, 9))
    assert_close(attention_scores(Q, K), np.array([[3.0]]))
    assert_close(attention_scores(Q, K, scale=1), np.array([[9.0]]))
    output, weights = attention(Q, np.eye(9), np.eye(9), scale=0)
    assert_close(weights, np.full((1, 9), 1 / 9))
    assert_close(output, np.full((1, 9), 1 / 9))


def test_the_softmax_runs_over_keys():
    Q, K, V = arrays(0, 4, 4, 3, 2)
    weights = attention(Q, K, V).weights
    assert_close(weights.sum(-1), np.ones(4))
    assert np.abs(weights.sum(-2) - 1).max() > 0.01


@given(SEEDS, SIZES, SIZES, SIZES)
def test_an_output_is_inside_the_range_of_the_values(seed, T, S, d):
    Q, K, V = arrays(seed, T, S, d, d)
    output = attention(Q, K, V).output
    slack = 1e-12
    assert (output <= V.max(axis=0) + slack).all()
    assert (output >= V.min(axis=0) - slack).all()


@given(SEEDS, SIZES, SIZES, SIZES, st.data())
def test_keys_and_values_can_be_permuted_together(seed, T, S, d, data):
    Q, K, V = arrays(seed, T, S, d, d)
    order = data.draw(st.permutations(range(S)))
    plain, moved = attention(Q, K, V), attention(Q, K[order], V[order])
    assert_close(moved.output, plain.output)
    assert_close(moved.weights, plain.weights[:, order])


@given(SEEDS, st.floats(-100, 100))
def test_a_constant_per_row_in_the_bias_changes_nothing(seed, shift):
    Q, K, V = arrays(seed, 3, 4, 2, 2)
    plain = attention(Q, K, V).output
    assert_close(
        attention(Q, K, V, bias=np.full((3, 1), shift)).output, plain, eps=1e4
    )


@given(SEEDS, SIZES, st.integers(2, 6))
def test_masked_keys_have_no_influence_at_all(seed, T, S):
    Q, K, V = arrays(seed, T, S, 3, 2)
    mask = np.random.default_rng(seed).random(S) < 0.5
    plain = attention(Q, K, V, mask=mask)
    K[~mask], V[~mask] = 1e6, -1e9
    changed = attention(Q, K, V, mask=mask)
    np.testing.assert_array_equal(changed.output, plain.output)
    np.testing.assert_array_equal(changed.weights, plain.weights)
    np.testing.assert_array_equal(plain.weights[:, ~mask], 0)


@given(SEEDS, SIZES, st.integers(2, 6))
def test_masking_a_key_is_the_same_as_deleting_it(seed, T, S):
    Q, K, V = arrays(seed, T, S, 3, 2)
    mask = np.random.default_rng(seed).random(S) < 0.5
    kept = attention(Q, K[mask], V[mask])
    assert_close(attention(Q, K, V, mask=mask).output, kept.output)


def test_the_future_cannot_change_the_past(rng):
    Q, K, V = arrays(1, 6, 6, 4, 3)
    plain = attention(Q, K, V, mask=causal_mask(6)).output
    for t in range(6):
        K2, V2 = K.copy(), V.copy()
        K2[t], V2[t] = rng.normal(size=4), rng.normal(size=3)
        moved = attention(Q, K2, V2, mask=causal_mask(6)).output
        changed = (moved != plain).any(axis=-1)
        np.testing.assert_array_equal(changed, np.arange(6) >= t)


def test_minus_infinity_in_the_bias_forbids_as_a_mask_does():
    Q, K, V = arrays(2, 3, 3, 2, 2)
    mask = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]], bool)
    bias = np.where(mask, 0.0, -np.inf)
    np.testing.assert_array_equal(
        attention(Q, K, V, bias=bias).output,
        attention(Q, K, V, mask=mask).output,
    )


def test_a_bias_may_leave_out_an_axis_of_heads():
    """Its place, the third from the end, is that of a mask's."""
    Q, K, V = arrays(4, 4, 3, 2, 2, (2,))
    bias = np.random.default_rng(5).normal(size=(2, 4, 3))
    np.testing.assert_array_equal(
        attention(Q, K, V, bias=bias[:, None]).output,
        attention(Q, K, V, bias=bias).output,
    )


def test_a_query_that_may_attend_to_nothing_gets_exactly_zero():
    Q, K, V = arrays(3, 2, 3, 2, 4)
    mask = np.array([[True] * 3, [False] * 3])
    output, weights = attention(Q, K, V, mask=mask)
    np.testing.assert_array_equal(output[1], np.zeros(4))
    np.testing.assert_array_equal(weights[1], np.zeros(3))
    assert output[0].any()


def test_no_keys_and_no_queries():
    output, weights = attention(
        np.ones((2, 3)), np.ones((0, 3)), np.ones((0, 4))
    )
    np.testing.assert_array_equal(output, np.zeros((2, 4)))
    assert weights.shape == (2, 0)
    assert attention(
        np.ones((0, 3)), np.ones((2, 3)), np.ones((2, 4))
    ).output.shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_is_kept_and_agrees_with_float64(dtype):
    Q, K, V = arrays(4, 5, 7, 8, 3, dtype=dtype)
    bias = np.random.default_rng(4).normal(size=(5, 7))
    result = attention(Q, K, V, mask=causal_mask(5, 7), bias=bias)
    wide = attention(
        *(a.astype(float) for a in (Q, K, V)),
        mask=causal_mask(5, 7),
        bias=bias,
    )
    assert_close(result.output, wide.output.astype(dtype))
    assert_close(result.weights, wide.weights.astype(dtype))


def test_float16_is_computed_in_float32_and_rounded_once():
    # 66,000 weights: their sum is no float16, and each has few digits there.
    S = 66_000
    output, weights = attention(
        *(np.full((n, 1), x, np.float16) for n, x in [(1, 0), (S, 0), (S, 1)])
    )
    assert output.tolist() == [[1.0]]
    assert_close(weights, np.full((1, S), 1 / S, np.float16))
    # 300 * 300 * 2 is no float16; nor is 1e-8, the scale.
    big = np.full((2, 2), 300, np.float16)
    assert (attention(big, big, big).output == 300).all()
    big = np.full((1, 1), 6e4, np.float16)
    assert_close(
        attention_scores(big, big, scale=1e-8),
        (big * big.astype(float) * 1e-8).astype(np.float16),
    )


@pytest.mark.parametrize("narrow", ["QK", "V", "QKV"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mixed_types_are_computed_in_the_widest(narrow, dtype):
    Q, K, V = arrays(8, 3, 4, 2, 2, dtype=np.float16)
    wide = (X.astype(dtype) for X in (Q, K, V))
    mixed = [
        X if name in narrow and narrow != "QKV" else X.astype(dtype)
        for name, X in zip("QKV", (Q, K, V), strict=True)
    ]
    expected = attention(*wide)
    for result, want in zip(attention(*mixed), expected, strict=True):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize("lead", [(2,), (2, 3)])
def test_a_batch_equals_a_stack(lead):
    Q, K, V = arrays(5, 3, 4, 2, 5, lead)
    mask = causal_mask(3, 4)
    batch = attention(Q, K, V, mask=mask)
    for index in np.ndindex(*lead):
        single = attention(Q[index], K[index], V[index], mask=mask)
        assert_close(batch.output[index], single.output)
        assert_close(batch.weights[index], single.weights)


def test_leading_axes_broadcast():
    Q, _, _ = arrays(6, 3, 4, 2, 5, (7,))
    _, K, V = arrays(6, 3, 4, 2, 5)
    assert attention(Q, K, V).output.shape == (7, 3, 5)


def test_the_scores_of_large_vectors_do_not_lose_the_answer():
    Q = K = np.diag([1e150, 1e150])
    np.testing.assert_array_equal(attention(Q, K, np.eye(2)).output, np.eye(2))


I2, I3 = np.eye(2), np.eye(3)
H2, H3 = np.ones((2, 1, 1)), np.ones((3, 1, 1))
HALF, SINGLE = np.full((2, 2), 300, np.float16), np.ones((2, 2), np.float32)
MOST = np.full((11, 1), np.finfo(float).max)
SHORT = np.ones((2, 0))
REFUSED = {
    "Q and K must share d_k; got Q (2, 3) and K (3, 4)": lambda: attention(
        np.ones((2, 3)), np.ones((3, 4)), I3
    ),
    "K and V must share S; got K (2, 2) and V (3, 3)": lambda: attention(
        I2, I2, I3
    ),
    "the leading axes of Q and K must broadcast; got Q (2, 1, 1) and K": (
        lambda: attention(H2, H3, I2)
    ),
    "the leading axes of scores and V must broadcast": lambda: attention(
        H2, H2, H3
    ),
    "d_k must be at least 1; got 0": lambda: attention(SHORT, SHORT, I2),
    "mask must broadcast to scores; got mask (3, 3) and scores (2, 2)": (
        lambda: attention(I2, I2, I2, mask=I3 > 0)
    ),
    "bias must broadcast to scores; got bias (3, 3) and scores (2, 2)": (
        lambda: attention(I2, I2, I2, bias=I3)
    ),
    "Q must be finite; got nan at Q[(0, 0)]": lambda: attention(
        I2 * np.nan, I2, I2
    ),
    "V must be finite; got inf at V[(0, 0)]": lambda: attention(
        I2, I2, I2 + np.inf
    ),
    "the scores overflow float16; pass Q and K in a wider type": lambda: (
        attention_scores(HALF, HALF)
    ),
    "the scores overflow float64; pass Q and K in a wider type": lambda: (
        attention(I2 * 1e200, I2 * 1e200, I2)
    ),
    "scores plus bias overflow float32": lambda: attention(
        SINGLE, SINGLE, SINGLE, bias=np.full((2, 2), -1e39)
    ),
    # Eleven weights of 1/11 sum to more than one, by rounding.
    "the weighted sum of V overflows float64; pass V in a wider type": (
        lambda: attention(np.zeros((1, 1)), np.zeros((11, 1)), MOST)
    ),
}


@each(REFUSED)
def test_attention_refuses(message, call):
    refused(call, message)


def test_refuses_opposite_infinities_without_a_warning():
    """inf - inf inside of a dot product is told as what it comes from."""
    with (
        np.errstate(all="raise"),
        pytest.raises(ValueError, match="the scores overflow float64"),
    ):
        attention_scores([[1e300, 1e300]], [[1e300, -1e300]])


def test_the_padding_mask_serves_scores_with_and_without_heads(rng):
    Q, K, V = rng.normal(size=(3, 2, 4, 5, 3))  # (B, H, T, d)
    mask = padding_mask([2, 5], 5)
    for k, n in enumerate([2, 5]):
        Ks, Vs = K[k, :, :n], V[k, :, :n]
        expected = attention(Q[k], Ks, Vs).output
        assert_close(attention(Q, K, V, mask=mask).output[k], expected)
        one = attention(Q[:, 0], K[:, 0], V[:, 0], mask=mask)
        assert_close(one.output[k], expected[0])
        alone = attention(Q[k, 0], K[k, 0], V[k, 0], mask=mask[k : k + 1])
        assert_close(alone.output, expected[0])
    with pytest.raises(ValueError, match="mask"):
        attention(Q[:, 0], K[:, 0], V[:, 0], mask=np.repeat(mask, 4, axis=1))
