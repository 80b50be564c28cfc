"""Gradients against central differences along random directions."""

import numpy as np
import pytest

from helpers.attention import attention
from helpers.gradients import attention_vjp, softmax_vjp
from helpers.masks import causal_mask
from helpers.softmax import softmax
from tests.core.closeness import assert_close, assert_gradient
from tests.core.refusals import each, refused


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_softmax_vjp(rng, shape, axis):
    x, upstream = rng.normal(size=shape), rng.normal(size=shape)

    def loss(x):
        return (softmax(x, axis) * upstream).sum()

    gradient = softmax_vjp(upstream, softmax(x, axis), axis)
    assert_gradient(loss, x, gradient, rng)
    # Softmax ignores a shift, so the gradient sums to zero along the axis.
    assert_close(gradient.sum(axis), np.zeros_like(gradient.sum(axis)))


def test_softmax_vjp_equals_the_jacobian_product(rng):
    w, upstream = softmax(rng.normal(size=5)), rng.normal(size=5)
    jacobian = np.array(
        [[w[i] * ((i == j) - w[j]) for j in range(5)] for i in range(5)]
    )
    assert_close(softmax_vjp(upstream, w), jacobian @ upstream)


CASES = {
    "plain": {},
    "causal": {"mask": causal_mask(4, 5)},
    "empty row": {"mask": np.arange(4)[:, None] != np.zeros((1, 5))},
    "scaled": {"scale": 0.7},
    "biased": {"bias": np.linspace(-1, 1, 20).reshape(4, 5)},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_attention_vjp(rng, case, lead):
    options = CASES[case]
    inputs = {
        "Q": rng.normal(size=(*lead, 4, 3)),
        "K": rng.normal(size=(*lead, 5, 3)),
        "V": rng.normal(size=(*lead, 5, 2)),
    }
    upstream = rng.normal(size=(*lead, 4, 2))
    weights = attention(**inputs, **options).weights
    gradients = attention_vjp(
        upstream, **inputs, weights=weights, scale=options.get("scale")
    )
    for name, x in inputs.items():

        def loss(x, name=name):
            changed = inputs | {name: x}
            return (attention(**changed, **options).output * upstream).sum()

        assert_gradient(loss, x, getattr(gradients, name), rng)

    def loss_of_weights(A):
        return (A @ inputs["V"] * upstream).sum()

    def loss_of_scores(S):
        mask = options.get("mask")
        return (softmax(S, where=mask) @ inputs["V"] * upstream).sum()

    scores = np.log(np.where(weights > 0, weights, 1))
    assert_gradient(loss_of_weights, weights, gradients.weights, rng)
    assert_gradient(loss_of_scores, scores, gradients.scores, rng)


@pytest.mark.parametrize("B", [2, 3])
def test_a_shared_key_gets_the_sum_over_its_copies(rng, B):
    Q = rng.normal(size=(B, 4, 2))
    K, V = rng.normal(size=(1, 5, 2)), rng.normal(size=(5, 2))
    upstream = rng.normal(size=(B, 4, 2))
    weights = attention(Q, K, V).weights
    shared = attention_vjp(upstream, Q, K, V, weights)
    copies = attention_vjp(
        upstream, Q, np.repeat(K, B, 0), np.stack([V] * B), weights
    )
    assert_close(shared.K, copies.K.sum(0, keepdims=True))
    assert_close(shared.V, copies.V.sum(0))


def test_the_gradient_is_zero_where_nothing_is_attended(rng):
    Q, K, V = rng.normal(size=(3, 4, 4))
    mask = np.ones((4, 4), bool)
    mask[1], mask[:, 2] = False, False
    weights = attention(Q, K, V, mask=mask).weights
    gradients = attention_vjp(np.ones((4, 4)), Q, K, V, weights)
    np.testing.assert_array_equal(gradients.Q[1], 0)
    np.testing.assert_array_equal(gradients.K[2], 0)
    np.testing.assert_array_equal(gradients.V[2], 0)
    np.testing.assert_array_equal(gradients.scores[~mask], 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(rng, dtype):
    Q, K, V = rng.normal(size=(3, 4, 4)).astype(dtype)
    weights = attention(Q, K, V).weights
    for gradient in attention_vjp(V, Q, K, V, weights):
        assert gradient.dtype == dtype


@pytest.mark.parametrize("narrow", ["grad_output", "Q", "V", "weights"])
def test_mixed_types_are_computed_in_the_widest(rng, narrow):
    Q, K, V = rng.normal(size=(3, 4, 4)).astype(np.float16)
    given = {"grad_output": V, "Q": Q, "K": K, "V": V}
    given["weights"] = attention(Q, K, V).weights
    wide = {name: x.astype(float) for name, x in given.items()}
    mixed = attention_vjp(**wide | {narrow: given[narrow]})
    for result, expected in zip(mixed, attention_vjp(**wide), strict=True):
        assert_close(result, expected)


def test_float16_is_computed_in_float32_and_rounded_once(rng):
    Q, K, V, dO = rng.normal(size=(4, 1, 40, 4)).astype(np.float16)
    Q, dO = (np.repeat(X, 300, 0) for X in (Q, dO))  # K and V are shared
    A = attention(Q, K, V).weights
    wide = (X.astype(float) for X in (dO, Q, K, V, A))
    exact = attention_vjp(*wide)
    for result, expected in zip(
        attention_vjp(dO, Q, K, V, A), exact, strict=True
    ):
        assert_close(result, expected.astype(np.float16), eps=1)


def test_the_default_scale_is_that_of_the_forward_pass(rng):
    inputs = rng.normal(size=(4, 3, 9))  # d_k = 9
    weights = attention(*inputs[1:]).weights
    default = attention_vjp(*inputs, weights)
    third = attention_vjp(*inputs, weights, scale=1 / 3)
    for result, expected in zip(default, third, strict=True):
        np.testing.assert_array_equal(result, expected)


def test_rounded_weights_are_still_weights():
    # As printed to two digits, and an empty row.
    softmax_vjp([[1.0] * 3] * 2, [[0.33] * 3, [0.0] * 3])


def test_no_keys_give_no_gradient():
    none = np.ones((0, 2))
    gradients = attention_vjp(
        np.ones((3, 2)), np.ones((3, 2)), none, none, np.ones((3, 0))
    )
    np.testing.assert_array_equal(gradients.Q, np.zeros((3, 2)))
    assert gradients.K.shape == gradients.V.shape == (0, 2)


def overflowing(name):
    """Gradients in float16 of which the named one alone does not fit."""
    large = {
        "weights": {"grad_output": 300, "V": 300},
        "Q": {"V": 200, "grad_output": 100, "K": 100},
        "K": {"V": 200, "grad_output": 100, "Q": 100},
        "V": {"grad_output": 4e4, "V": 0},
    }[name]
    signs = {"V": [[1, 1], [-1, -1]], "K": [[1, 1], [-1, -1]]}
    arrays = {
        key: np.float16(np.array(signs.get(key, 1)) * large.get(key, 1))
        * np.ones((2, 2), np.float16)
        for key in ("grad_output", "Q", "K", "V")
    }
    weights = [[1, 0], [1, 0]] if name == "V" else [[0.5, 0.5], [0.5, 0.5]]
    return attention_vjp(**arrays, weights=np.array(weights, np.float16))


I2, I3, TWO = np.eye(2), np.eye(3), np.ones((2, 2, 2))
UNLIKE = "weights must be (..., T, S), with the leading axes of Q and K; got"
REFUSED = {
    "grad and weights must share a shape; got grad (1,) and (2,)": lambda: (
        softmax_vjp([1.0], [0.5, 0.5])
    ),
    "the gradient of scores overflows float64; pass a wider type": [
        lambda: softmax_vjp([1.7e308, -1.7e308], [0.25, 0.75]),
        # Nothing times infinity.
        lambda: softmax_vjp([1.7e308, -1.7e308], [0.0, 1.0]),
    ],
    # Infinity less infinity.
    "the gradient of weights overflows float64": lambda: attention_vjp(
        [[1e200, 1e200]], [[1]], [[1]], [[1e200, -1e200]], [[1]]
    ),
    "the gradient of weights overflows float16": lambda: overflowing(
        "weights"
    ),
    "the gradient of Q overflows float16": lambda: overflowing("Q"),
    "the gradient of K overflows float16": lambda: overflowing("K"),
    "the gradient of V overflows float16": lambda: overflowing("V"),
    "weights must be at least 0 and sum to 1 along the axis of the softmax, "
    "or to 0 if nothing is attended": [
        lambda: softmax_vjp([1.0, 2.0], [0.25, 0.25]),
        lambda: softmax_vjp([1.0, 2.0], [1.25, -0.25]),
        # Causal weights, handed over transposed.
        lambda: attention_vjp(I2, I2, I2, I2, [[1, 0.5], [0, 0.5]]),
    ],
    "Q and K must share d_k; got K (3, 3) and (3, 2)": lambda: attention_vjp(
        I2, I2, I3, I3, I2
    ),
    "K and V must share S; got V (3, 3) and (2, 3)": lambda: attention_vjp(
        I2, I2, I2, I3, I2
    ),
    f"{UNLIKE} weights (3, 3) and (2, 2)": lambda: attention_vjp(
        I2, I2, I2, I2, I3
    ),
    # One sentence's weights for the two of a batch, and the other way.
    f"{UNLIKE} weights (2, 2) and (2, 2, 2)": lambda: attention_vjp(
        TWO, TWO, I2, I2, I2
    ),
    f"{UNLIKE} weights (2, 2, 2) and (2, 2)": lambda: attention_vjp(
        TWO, I2, I2, I2, TWO / 2
    ),
    "grad_output must have the shape of the output; got grad_output (3, 3)": (
        lambda: attention_vjp(I3, I2, I2, I2, I2)
    ),
    "the leading axes of Q and K and V and weights must broadcast": lambda: (
        attention_vjp(I2, TWO, np.ones((3, 2, 2)), I2, I2)
    ),
}


@each(REFUSED)
def test_gradients_refuse(message, call):
    refused(call, message)
