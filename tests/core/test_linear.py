"""A memory of fixed size: against loops, in three forms, and differentiated.

Keys have length one or less, as in the models, where the tests compare forms:
the recurrence itself magnifies rounding where beta times their squared length
exceeds two.
"""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.heads import repeat_kv
from helpers.linear import (
    delta_rule,
    delta_rule_vjp,
    gated_delta_rule,
    gated_delta_rule_vjp,
    linear_attention,
    linear_attention_vjp,
)
from tests.core import reference_linear
from tests.core.closeness import assert_close, assert_gradient

SEEDS = st.integers(0, 2**32 - 1)
KINDS = {
    "linear": (linear_attention, ()),
    "decayed": (linear_attention, ("log_decay",)),
    "delta": (delta_rule, ("beta",)),
    "gated": (gated_delta_rule, ("beta", "log_decay")),
}
BACKWARDS = {
    linear_attention: linear_attention_vjp,
    delta_rule: delta_rule_vjp,
    gated_delta_rule: gated_delta_rule_vjp,
}
EACH = pytest.mark.parametrize("kind", KINDS)


def problem(seed, T, d_k, d_v, lead=(), dtype=float):
    """Arguments by name, the keys of length one."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(*lead, T, d_k))
    result = {
        "Q": rng.normal(size=(*lead, T, d_k)),
        "K": K / np.linalg.norm(K, axis=-1, keepdims=True),
        "V": rng.normal(size=(*lead, T, d_v)),
        "beta": rng.uniform(0, 1, (*lead, T)),
        "log_decay": -rng.exponential(0.3, (*lead, T)),
        "state": rng.normal(size=(*lead, d_k, d_v)),
    }
    return {name: x.astype(dtype) for name, x in result.items()}


def called(kind, x, **more):
    """The function of a kind, with what it takes of the arguments."""
    function, extra = KINDS[kind]
    takes = ("Q", "K", "V", *extra, "state")
    return function(**{n: x[n] for n in takes if n in x}, **more)


def without(x, *names):
    return {name: array for name, array in x.items() if name not in names}


@EACH
@pytest.mark.parametrize("scale", [None, 0.7])
@pytest.mark.parametrize("carried", [True, False])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 3, 2), (7, 2, 4)])
def test_every_rule_equals_the_loop(kind, scale, carried, sizes):
    x = problem(3, *sizes)
    x = x if carried else without(x, "state")
    function, extra = KINDS[kind]
    loop = getattr(reference_linear, function.__name__)
    lists = {n: x[n].tolist() for n in ("Q", "K", "V", *extra, "state")
             if n in x}  # fmt: skip
    desired = loop(**lists, scale=scale)
    for chunk in (None, 2, 99):
        results = called(kind, x, scale=scale, chunk=chunk)
        for result, expected in zip(results, desired, strict=True):
            assert_close(result, np.array(expected), eps=64)


LEADS = st.sampled_from([(), (1,), (3,), (2, 3)])
CHUNKS = st.sampled_from([1, 2, 3, 4, 5, 8, 64])


@given(
    st.sampled_from(list(KINDS)),
    SEEDS,
    st.integers(0, 17),
    st.integers(1, 5),
    st.integers(0, 4),
    LEADS,
    CHUNKS,
)
def test_three_forms_are_equal(kind, seed, T, d_k, d_v, lead, chunk):
    x = problem(seed, T, d_k, d_v, lead)
    stepped = called(kind, x)
    assert stepped[0].shape == (*lead, T, d_v)
    assert stepped[1].shape == (*lead, d_k, d_v)
    for size in (chunk, max(T, 1)):
        for result, expected in zip(
            called(kind, x, chunk=size), stepped, strict=True
        ):
            assert_close(result, expected, eps=512)


@given(
    st.sampled_from(list(KINDS)), SEEDS, st.integers(0, 12),
    st.integers(0, 12), LEADS, st.sampled_from([None, 1, 3, 20]),
)  # fmt: skip
def test_a_state_is_carried(kind, seed, first, then, lead, chunk):
    x = problem(seed, first + then, 3, 2, lead)
    cut = {
        name: (array[..., :first, :], array[..., first:, :])
        if name in "QKV"
        else (array[..., :first], array[..., first:])
        for name, array in without(x, "state").items()
    }
    before, after = ({n: pair[i] for n, pair in cut.items()} for i in (0, 1))
    o1, S = called(kind, before | {"state": x["state"]}, chunk=chunk)
    o2, S = called(kind, after | {"state": S}, chunk=chunk)
    output, state = called(kind, x)
    assert_close(np.concatenate([o1, o2], axis=-2), output, eps=512)
    assert_close(S, state, eps=512)


@EACH
def test_nothing_read_changes_nothing(kind):
    x = problem(1, 0, 3, 2, (2,))
    for chunk in (None, 1, 5):
        output, state = called(kind, x, chunk=chunk)
        assert output.shape == (2, 0, 2)
        np.testing.assert_array_equal(state, x["state"])
        assert not np.shares_memory(state, x["state"])
        _, state = called(kind, without(x, "state"), chunk=chunk)
        np.testing.assert_array_equal(state, np.zeros((2, 3, 2)))


def test_one_masked_product_written_out(rng):
    # Without a softmax: causal scores times values, no exponential anywhere.
    Q, K = rng.normal(size=(2, 6, 3))
    V, decay = rng.normal(size=(6, 2)), rng.uniform(0.2, 1, 6)
    D = np.array([[np.prod(decay[s + 1 : t + 1]) * (s <= t) for s in range(6)]
                  for t in range(6)])  # fmt: skip
    output, _ = linear_attention(Q, K, V, np.log(decay), scale=0.5)
    assert_close(output, (Q @ K.T * D) @ V * 0.5, eps=64)


def test_the_special_cases_of_the_gated_rule():
    x = problem(5, 9, 4, 3)
    x["log_decay"] *= 0
    for chunk in (None, 4):
        for result, expected in zip(
            called("gated", x, chunk=chunk),
            called("delta", x, chunk=chunk),
            strict=True,
        ):
            np.testing.assert_array_equal(result, expected)
    # Orthogonal keys read nothing of each other: the delta rule with beta 1
    # on an empty state is linear attention.
    keys = without(x | {"K": np.eye(9), "Q": np.eye(9)[::-1]}, "state")
    keys["beta"] = np.ones(9)
    assert_close(called("delta", keys)[0], called("linear", keys)[0])


@pytest.mark.parametrize("d_k", [1, 2, 5])
def test_orthogonal_keys_are_read_exactly_and_no_more_fit(rng, d_k):
    keys = np.linalg.qr(rng.normal(size=(d_k, d_k)))[0]
    V = rng.normal(size=(d_k + 1, 3))
    extra = np.ones((1, d_k)) / np.sqrt(d_k)
    for function, more in ((linear_attention, ()), (delta_rule, (1,))):
        ones = [np.ones(d_k) for _ in more]
        _, S = function(keys, keys, V[:-1], *ones)
        assert_close(keys @ S, V[:-1], eps=64)
        # A key more lies in their span: it cannot be read right as well.
        _, S = function(extra, extra, V[-1:], *(x[:1] for x in ones), state=S)
        assert np.abs(keys @ S - V[:-1]).max() > 1e-3


def test_the_delta_rule_is_a_step_of_gradient_descent(rng):
    k, v, S = rng.normal(size=(1, 3)), rng.normal(size=(1, 2)), None
    S, beta, h = rng.normal(size=(3, 2)), 0.3, 1e-6

    def half_squared_error(S):
        return ((k @ S - v) ** 2).sum() / 2

    slope = np.zeros_like(S)
    for at in np.ndindex(S.shape):
        step = np.zeros_like(S)
        step[at] = h
        up, down = half_squared_error(S + step), half_squared_error(S - step)
        slope[at] = (up - down) / (2 * h)
    _, after = delta_rule(k, k, v, [beta], state=S)
    np.testing.assert_allclose(after, S - beta * slope, rtol=0, atol=1e-8)


@EACH
def test_the_past_alone_is_read(kind, rng):
    x = problem(7, 6, 3, 2)
    before = called(kind, x, chunk=4)[0]
    for t in range(6):
        for name in ("K", "V", "Q", "beta", "log_decay"):
            y = x | {name: x[name].copy()}
            y[name][t] -= 0.5
            moved = (called(kind, y, chunk=4)[0] != before).any(-1)
            assert not moved[:t].any()


def test_leading_axes_broadcast_as_shared_heads(rng):
    x = problem(2, 5, 3, 2, (4,))
    shared = x | {"Q": x["Q"][:2], "K": x["K"][:2]}
    apart = shared | {n: repeat_kv(shared[n], 2) for n in "QK"}
    grouped = shared | {n: shared[n][:, None] for n in "QK"}
    for name in ("V", "beta", "log_decay", "state"):
        grouped[name] = x[name].reshape(2, 2, *x[name].shape[1:])
    for chunk in (None, 2):
        desired = called("gated", apart, chunk=chunk)
        results = called("gated", grouped, chunk=chunk)
        for result, expected in zip(results, desired, strict=True):
            assert_close(result.reshape(expected.shape), expected)


@pytest.mark.parametrize("kind", ["decayed", "gated"])
def test_a_decay_of_zero_empties_the_state(kind):
    x = problem(4, 8, 3, 2)
    x["log_decay"][5] = -np.inf
    late = {n: array[5:] for n, array in x.items() if n != "state"}
    expected = called(kind, late)
    for chunk in (None, 3, 8):
        output, state = called(kind, x, chunk=chunk)
        assert_close(output[5:], expected[0], eps=64)
        assert_close(state, expected[1], eps=64)


def test_a_strong_decay_keeps_the_digits_of_weak_ones():
    # A difference of running sums would round 0.1 next to 1e15.
    x = problem(4, 8, 3, 2)
    x["log_decay"][2] = -1e15
    for kind in ("decayed", "gated"):
        for result, expected in zip(
            called(kind, x, chunk=8), called(kind, x), strict=True
        ):
            assert_close(result, expected, eps=64)


@EACH
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
@pytest.mark.parametrize("T", [0, 1, 5])
def test_gradients(kind, lead, T, rng):
    x = problem(6, T, 3, 2, lead)
    function, extra = KINDS[kind]
    x = {n: x[n] for n in ("Q", "K", "V", *extra, "state")}
    upstream = rng.normal(size=(*lead, T, 2)), rng.normal(size=(*lead, 3, 2))
    result = BACKWARDS[function](
        upstream[0], **x, grad_state=upstream[1], scale=0.6
    )
    for name in x:

        def loss(array, name=name):
            results = function(**x | {name: array}, scale=0.6)
            return sum(
                (r * g).sum() for r, g in zip(results, upstream, strict=True)
            )

        if x[name].size:
            assert_gradient(loss, x[name], getattr(result, name), rng)
    absent = {"beta", "log_decay"} - set(extra)
    assert all(getattr(result, name) is None for name in absent)


@EACH
def test_gradients_of_the_output_alone_and_of_a_default_scale(kind, rng):
    x = problem(6, 4, 3, 2)
    function, extra = KINDS[kind]
    x = {n: x[n] for n in ("Q", "K", "V", *extra)}
    upstream = rng.normal(size=(4, 2))
    result = BACKWARDS[function](upstream, **x)
    assert result.state is None

    def loss(K):
        return (function(**x | {"K": K})[0] * upstream).sum()

    assert_gradient(loss, x["K"], result.K, rng)


def test_a_shared_array_gets_the_sum_over_its_copies(rng):
    x = problem(6, 4, 3, 2, (2, 3))
    shared = x | {
        "K": x["K"][:1, :1],
        "beta": x["beta"][0, 0],
        "state": x["state"][0, 0],
        "log_decay": x["log_decay"][:, :1],
    }
    full = shared | {
        name: np.broadcast_to(shared[name], x[name].shape).copy()
        for name in ("K", "beta", "state", "log_decay")
    }
    upstream = rng.normal(size=(2, 3, 4, 2))
    some = gated_delta_rule_vjp(upstream, **shared)
    all_ = gated_delta_rule_vjp(upstream, **full)
    assert_close(some.K, all_.K.sum((0, 1), keepdims=True), eps=64)
    assert_close(some.beta, all_.beta.sum((0, 1)), eps=64)
    assert_close(some.state, all_.state.sum((0, 1)), eps=64)
    assert_close(some.log_decay, all_.log_decay.sum(1, keepdims=True), eps=64)


@EACH
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_is_kept(kind, dtype):
    x = problem(8, 6, 3, 2, dtype=dtype)
    wide = {name: array.astype(float) for name, array in x.items()}
    for chunk in (None, 4):
        for result, expected in zip(
            called(kind, x, chunk=chunk), called(kind, wide), strict=True
        ):
            assert_close(result, expected.astype(dtype), eps=32)
    function, extra = KINDS[kind]
    results = BACKWARDS[function](x["V"], *(x[n] for n in ("Q", "K", "V",
                                                         *extra)))  # fmt: skip
    assert all(g.dtype == dtype for g in results if g is not None)


@pytest.mark.parametrize("narrow", ["Q", "K", "V", "beta", "log_decay"])
def test_mixed_types_are_computed_in_the_widest(narrow):
    x = problem(8, 6, 3, 2)
    x[narrow] = x[narrow].astype(np.float16)
    wide = x | {narrow: x[narrow].astype(float)}
    for chunk in (None, 4):
        for result, expected in zip(
            called("gated", x, chunk=chunk),
            called("gated", wide, chunk=chunk),
            strict=True,
        ):
            assert_close(result, expected)


ones = np.ones
REFUSED = [
    ({"Q": ones((4, 2))}, "Q and K must share T and d_k; got Q (4, 2) and K"),
    ({"Q": ones((5, 3))}, "Q and K must share T and d_k; got Q (5, 3) and K"),
    ({"V": ones((5, 2))}, "K and V must share T; got K (4, 3) and V (5, 2)"),
    ({"beta": ones(3)}, "K and beta must share T; got K (4, 3) and beta (3,)"),
    (
        {"beta": ones((4, 1))},
        "K and beta must share T; got K (4, 3) and beta (4, 1)",
    ),
    ({"log_decay": -ones(5)}, "K and log_decay must share T; got K (4, 3)"),
    (
        {"log_decay": np.array([0, 0.5, 0, 0])},
        "log_decay must be at most 0, the logarithm of a factor up to 1; "
        "got 0.5",
    ),
    (
        {"state": ones((2, 3))},
        "state must be (..., d_k, d_v); "
        "got state (2, 3), K (4, 3) and V (4, 2)",
    ),
    (
        {"beta": ones((5, 4)), "V": ones((6, 4, 2))},
        "the leading axes of Q and K and V and beta and log_decay and state "
        "must broadcast; got Q (4, 3)",
    ),
    ({"Q": ones((4, 0)), "K": ones((4, 0)), "state": ones((0, 2))},
     "d_k must be at least 1; got 0"),
    ({"V": np.full((4, 2), 1e308), "K": np.full((4, 3), 1e3)},
     "the state overflows float64; pass a wider type, or smaller numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_linear_attention_refuses(wrong, message):
    x = problem(1, 4, 3, 2) | wrong
    if "overflows" in message:
        x["Q"] = x["Q"] * 0
        message = message.replace("state", "(output|state)")
        pattern = "^the (output|state) overflows float64; pass Q and"
    else:
        pattern = "^" + re.escape(message)
    for chunk in (None, 2):
        with pytest.raises(ValueError, match=pattern):
            called("gated", x, chunk=chunk)
    if "overflows" not in message:
        with pytest.raises(ValueError, match=pattern):
            gated_delta_rule_vjp(ones((4, 2)), **x)


def test_gradients_refuse():
    x = problem(1, 4, 3, 2)
    message = "grad_output must have the shape of the output; got grad_output"
    with pytest.raises(ValueError, match=f"^{message} "):
        gated_delta_rule_vjp(ones((4, 3)), **x)
    message = "grad_state must have the shape of the state; got grad_state"
    with pytest.raises(ValueError, match=f"^{message} "):
        gated_delta_rule_vjp(ones((4, 2)), **x, grad_state=ones((2, 2)))
    message = "the gradient of Q overflows float64; pass a wider type, or .*"
    x["state"] = np.full((3, 2), 1e200)
    with pytest.raises(ValueError, match=f"^{message}$"):
        gated_delta_rule_vjp(np.full((4, 2), 1e200), **x)


def test_a_decay_that_underflows_is_no_error():
    x = problem(1, 4, 3, 2) | {"log_decay": np.full(4, -744.0)}
    quiet = [called("gated", x, chunk=chunk) for chunk in (None, 2)]
    back = gated_delta_rule_vjp(ones((4, 2)), **x)
    with np.errstate(all="raise"):
        for chunk, expected in zip((None, 2), quiet, strict=True):
            result = called("gated", x, chunk=chunk)
            np.testing.assert_array_equal(result[0], expected[0])
        again = gated_delta_rule_vjp(ones((4, 2)), **x)
    np.testing.assert_array_equal(again.K, back.K)
