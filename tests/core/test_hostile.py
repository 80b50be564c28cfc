"""Every array argument of every helper, given what arrays come as.

Another layout in memory, another byte order or another integer type gives
the same result; what is no array of real numbers is refused by name; no
argument is changed.
"""

import inspect
import re

import numpy as np
import pytest

from helpers import (
    attention,
    cache,
    cost,
    gradients,
    heads,
    latent,
    layers,
    linear,
    masks,
    positions,
    softmax,
    sparse,
    tiled,
)


def multi_head(X, context, mask, bias, W_Q, W_K, W_V, W_O):
    projections = heads.Projections(W_Q, W_K, W_V, W_O, 2, 1)
    return heads.multi_head_attention(
        X, projections, context=context, mask=mask, bias=bias
    )


LATENT = {
    "W_DKV": (4, 3), "gain_KV": (3,), "W_KR": (4, 2), "W_UK": (3, 4),
    "W_UV": (3, 6), "W_DQ": (4, 5), "gain_Q": (5,), "W_UQ": (5, 4),
    "W_QR": (5, 4), "W_O": (6, 4),
}  # fmt: skip


def latent_heads(X, positions, mask, **weights):
    """Both forms, from the same weights."""
    p = latent.LatentProjections(**weights, n_heads=2)
    more = {"positions": positions, "mask": mask}
    plain = latent.latent_attention(X, p, **more)
    folded = latent.latent_attention(X, p, **more, absorbed=True)
    return *plain, *folded


def some_weights():
    shapes = LATENT.items()
    weights = {name: np.ones(shape) for name, shape in shapes}
    return latent.LatentProjections(**weights, n_heads=2)


def latent_output(**given):
    """The output alone, which has another shape than the weights."""
    return latent.latent_attention(np.ones((2, 4)), some_weights(), **given)[0]


def latent_turned(**given):
    return latent.latent_queries(np.ones((2, 4)), some_weights(), **given)[1]


def expand(**given):
    return latent.expand(**given, projections=some_weights())


def absorb(**given):
    return latent.absorb(**given, projections=some_weights())


def branches_read(**given):
    return sparse.three_branches(**given, length=2, n=1, window=2)


def append(K, V):
    return cache.KVCache(9, 2, 2).append(K, V)


def truncate(length):
    cache.KVCache(9, 2, 2).truncate(length)


def network(x, W_1, b_1, W_2, b_2):
    return layers.feed_forward(x, W_1, b_1, W_2, b_2, activation="relu")


def network_vjp(grad, x, W_1, b_1, W_2):
    return layers.feed_forward_vjp(grad, x, W_1, b_1, W_2, activation="relu")


def losses(logits):
    return layers.token_losses(logits, [[1, 0, 2], [0, 0, 1]])


def scores(x, where):
    return softmax.softmax(x, 0, where=where), softmax.logsumexp(x, 0)


def whole(*shape, below=5):
    """Small integers, which every type holds, in no simple order."""
    return np.arange(np.prod(shape)).reshape(shape) * 7 % below


def mask(*shape):
    return whole(*shape, below=3) > 0


def memory_vjp(grad_output, grad_state, **given):
    return tuple(
        linear.gated_delta_rule_vjp(
            grad_output, **given, grad_state=grad_state
        )
    )


QKV = {"Q": whole(2, 4, 2), "K": whole(2, 3, 2), "V": whole(2, 3, 4)}
# No integer type has all numbers of a decay's logarithm; they share zero.
MEMORY = {
    "Q": whole(2, 3, 2),
    "K": whole(2, 3, 2, below=3),
    "V": whole(2, 3, 4),
    "beta": whole(2, 3, below=3),
    "log_decay": whole(2, 3, below=1),
    "state": whole(2, 2, 4),
}
# Each function with arguments that it takes; the arrays hold integers, so
# that every numeric type can carry them.
CALLS = [
    (scores, {"x": whole(4, 3), "where": mask(4, 3)}),
    (softmax.entropy, {"weights": np.eye(4, 3, dtype=int)}),
    (attention.attention_scores, {"Q": QKV["Q"], "K": QKV["K"]}),
    (
        attention.attention,
        QKV | {"mask": mask(4, 3), "bias": whole(2, 4, 3), "sinks": whole(2)},
    ),
    (
        gradients.softmax_vjp,
        {"grad": whole(3, 3), "weights": np.eye(3, dtype=int)},
    ),
    (
        gradients.attention_vjp,
        QKV
        | {
            "grad_output": whole(2, 4, 4),
            "weights": np.stack([np.eye(4, 3, dtype=int)] * 2),
            "sinks": whole(2),
        },
    ),
    (
        gradients.sinks_vjp,
        {
            "grad_output": whole(2, 4, 3),
            "output": whole(2, 4, 3),
            "weights": np.stack([np.eye(4, 3, dtype=int)] * 2),
            "sinks": whole(2),
        },
    ),
    (tiled.tiled_attention, QKV | {"sinks": whole(2)}),
    (linear.gated_delta_rule, MEMORY),
    (
        linear.delta_rule,
        {name: x for name, x in MEMORY.items() if name != "log_decay"},
    ),
    (
        linear.linear_attention,
        {name: x for name, x in MEMORY.items() if name != "beta"},
    ),
    (
        memory_vjp,
        MEMORY | {"grad_output": whole(2, 3, 4), "grad_state": whole(2, 2, 4)},
    ),
    (
        tiled.merge_partials,
        {"outputs": whole(3, 4, 2), "logsumexps": whole(3, 4)},
    ),
    (
        positions.rotary_embedding,
        {"X": whole(2, 3, 4), "positions": whole(2, 3)},
    ),
    (cost.roofline, {"intensity": whole(3, 2)}),
    (masks.padding_mask, {"lengths": whole(4)}),
    (heads.split_heads, {"X": whole(2, 3, 4)}),
    (heads.merge_heads, {"X": whole(2, 3, 4)}),
    (heads.repeat_kv, {"X": whole(2, 3, 4)}),
    (append, {"K": whole(2, 3, 2), "V": whole(2, 3, 2)}),
    (
        multi_head,
        {
            "X": whole(2, 3, 4),
            "context": whole(2, 5, 4),
            "mask": mask(2, 3, 5),
            "bias": whole(3, 5),
            "W_Q": whole(4, 6),
            "W_K": whole(4, 3),
            "W_V": whole(4, 2),
            "W_O": whole(4, 4),
        },
    ),
    (
        latent_heads,
        {"X": whole(2, 3, 4), "positions": whole(2, 3), "mask": mask(3, 3)}
        | {name: whole(*shape) for name, shape in LATENT.items()},
    ),
    (
        sparse.index_scores,
        {"Q": whole(2, 4, 3), "K": whole(5, 3), "weights": whole(4, 2)},
    ),
    (sparse.chosen_mask, {"scores": whole(2, 4, 5), "mask": mask(4, 5)}),
    (sparse.chosen_attention, QKV | {"chosen": mask(4, 3)}),
    (sparse.pooled_blocks, {"X": whole(2, 4, 3)}),
    (sparse.chosen_blocks, {"scores": whole(2, 4, 2), "mask": mask(4, 2)}),
    (branches_read, QKV | {"Q": whole(2, 3, 2), "gates": whole(3, 3)}),
    (expand, {"latent": whole(2, 4, 3)}),
    (absorb, {"Q": whole(2, 2, 4, 2)}),
    (layers.linear, {"x": whole(2, 4, 3), "W": whole(3, 2), "b": whole(2)}),
    (
        layers.linear_vjp,
        {"grad": whole(2, 4, 2), "x": whole(2, 4, 3), "W": whole(3, 2)},
    ),
    (
        layers.layer_norm,
        {"x": whole(2, 4, 3), "gain": whole(3), "bias": whole(3)},
    ),
    (layers.rms_norm, {"x": whole(2, 4, 3), "gain": whole(3)}),
    (
        layers.layer_norm_vjp,
        {"grad": whole(2, 4, 3), "x": whole(2, 4, 3), "gain": whole(3)},
    ),
    (
        layers.rms_norm_vjp,
        {"grad": whole(2, 4, 3), "x": whole(2, 4, 3), "gain": whole(3)},
    ),
    (layers.gelu, {"x": whole(2, 3)}),
    (layers.gelu_vjp, {"grad": whole(2, 3), "x": whole(2, 3)}),
    (
        network,
        {
            "x": whole(2, 4, 3),
            "W_1": whole(3, 5),
            "b_1": whole(5),
            "W_2": whole(5, 3),
            "b_2": whole(3),
        },
    ),
    (
        network_vjp,
        {
            "grad": whole(2, 4, 3),
            "x": whole(2, 4, 3),
            "W_1": whole(3, 5),
            "b_1": whole(5),
            "W_2": whole(5, 3),
        },
    ),
    (losses, {"logits": whole(2, 3, 4)}),
]
MORE = {
    sparse.chosen_mask: {"k": 2},
    sparse.pooled_blocks: {"length": 2},
    sparse.chosen_blocks: {"n": 1, "length": 2, "S": 5},
    cost.roofline: {"peak_flops": 3.0, "bandwidth": 2.0},
    masks.padding_mask: {"S": 5},
    heads.split_heads: {"n_heads": 2},
    heads.repeat_kv: {"n_rep": 2},
}
ARGUMENTS = [
    pytest.param(function, arrays, name, id=f"{function.__name__}-{name}")
    for function, arrays in CALLS
    for name in arrays
]
EACH = pytest.mark.parametrize(("function", "arrays", "name"), ARGUMENTS)


def call(function, arrays):
    """The arrays that a call returns."""
    result = function(**arrays, **MORE.get(function, {}))
    return result if isinstance(result, tuple) else (result,)


def spread(x):
    """`x` with gaps in memory between its entries."""
    wide = np.zeros([2 * n for n in x.shape], x.dtype)
    wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return wide[tuple(slice(None, None, 2) for _ in x.shape)]


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


class Own(np.ndarray):
    """A type of array that is not NumPy's own."""


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "reversed": lambda x: np.flip(np.flip(x).copy()),
    "spread": spread,
    "read-only": frozen,
    "swapped bytes": swapped,
    "lists": np.ndarray.tolist,
    "tuple of arrays": tuple,
    "subclass": lambda x: x.copy().view(Own),
}


# These move entries, of any type, and compute nothing.
MOVERS = (heads.split_heads, heads.merge_heads, heads.repeat_kv)


@EACH
def test_the_layout_in_memory_does_not_matter(function, arrays, name):
    if function is not masks.padding_mask and arrays[name].dtype != bool:
        arrays = arrays | {name: arrays[name].astype(float)}
    wanted = call(function, arrays)
    for layout, change in LAYOUTS.items():
        other = change(arrays[name])
        kept = np.array(other, copy=True)
        results = call(function, arrays | {name: other})
        np.testing.assert_array_equal(kept, other, layout)
        for got, want in zip(results, wanted, strict=True):
            assert type(got) in (np.ndarray, np.float64), layout
            assert got.dtype.isnative or function in MOVERS, layout
            np.testing.assert_allclose(got, want, 1e-15, 1e-15, err_msg=layout)


@EACH
def test_every_integer_type_is_float64(function, arrays, name):
    if arrays[name].dtype == bool:
        return
    wanted = call(function, arrays)
    for dtype in "bBhHiIlL":
        results = call(function, arrays | {name: arrays[name].astype(dtype)})
        for got, want in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(got, want, dtype)


RAGGED = [[1.0, 2.0], [3.0]]
MASKED = np.ma.array([[1.0, 2.0]], mask=[[True, False]])
FIELDS = attention.Attention(np.ones((2, 3, 2)), np.ones((2, 3, 2)))
NO_MASK = "not be a masked array, whose mask would be dropped; fill it, and"
NO_ARRAYS = [
    (MASKED, TypeError, NO_MASK),
    ([MASKED], TypeError, NO_MASK),
    (([[1.0, 2.0]], MASKED), TypeError, NO_MASK),
    ([[np.ma.masked]], TypeError, NO_MASK),
    (RAGGED, ValueError, "be an array, its rows of equal length"),
    (
        FIELDS,
        TypeError,
        "be one array; got Attention, which has output, weights",
    ),
]
NO_NUMBERS = [
    np.ones((2, 2), complex),
    [["1", "2"]],
    [[b"1"]],
    np.array([[None]]),
    np.array([["2017-06-12"]], "M8[D]"),
    np.array([[1]], "m8[s]"),
    [[10**20]],
    {"x": 1},
    (x for x in [1.0]),
]


@EACH
def test_what_is_no_array_is_refused_by_name(function, arrays, name):
    for wrong, error, rule in NO_ARRAYS:
        with pytest.raises(error, match=f"^{name} must {re.escape(rule)}"):
            call(function, arrays | {name: wrong})


@EACH
def test_what_is_no_number_is_refused_by_name(function, arrays, name):
    if function in MOVERS:
        return
    rule = "(hold real numbers|be boolean, True = may attend|be integers); got"
    for wrong in NO_NUMBERS:
        with pytest.raises(TypeError, match=f"^{name} must {rule}"):
            call(function, arrays | {name: wrong})


@EACH
def test_integers_that_float64_cannot_tell_apart(function, arrays, name):
    if arrays[name].dtype == bool or function in (*MOVERS, masks.padding_mask):
        return
    for large in (2**53, 2**63 - 1, -(2**53), -(2**63)):
        wrong = arrays[name].copy()
        wrong.flat[0] = large
        with pytest.raises(ValueError, match=f"{name} must hold integers bel"):
            call(function, arrays | {name: wrong})
    wrong = np.full(arrays[name].shape, 2**64 - 1, np.uint64)
    with pytest.raises(ValueError, match=f"{name} must hold integers below"):
        call(function, arrays | {name: wrong})


AXES = {
    "scores-x": (1, "(...,)"),
    "entropy-weights": (1, "(...,)"),
    "attention_scores-Q": (2, "(..., T, d_k)"),
    "attention_scores-K": (2, "(..., S, d_k)"),
    "attention-Q": (2, "(..., T, d_k)"),
    "attention-K": (2, "(..., S, d_k)"),
    "attention-V": (2, "(..., S, d_v)"),
    "softmax_vjp-grad": (1, "(...,)"),
    "softmax_vjp-weights": (1, "(...,)"),
    "attention_vjp-Q": (2, "(..., T, d_k)"),
    "attention_vjp-K": (2, "(..., S, d_k)"),
    "attention_vjp-V": (2, "(..., S, d_v)"),
    "attention_vjp-grad_output": (2, "(..., T, d_v)"),
    "attention_vjp-weights": (2, "(..., T, S)"),
    "tiled_attention-Q": (2, "(..., T, d_k)"),
    "tiled_attention-K": (2, "(..., S, d_k)"),
    "tiled_attention-V": (2, "(..., S, d_v)"),
    "gated_delta_rule-Q": (2, "(..., T, d_k)"),
    "gated_delta_rule-K": (2, "(..., T, d_k)"),
    "gated_delta_rule-V": (2, "(..., T, d_v)"),
    "gated_delta_rule-beta": (1, "(..., T)"),
    "gated_delta_rule-log_decay": (1, "(..., T)"),
    "gated_delta_rule-state": (2, "(..., d_k, d_v)"),
    "merge_partials-outputs": (3, "(n, ..., T, d_v)"),
    "merge_partials-logsumexps": (2, "(n, ..., T)"),
    "rotary_embedding-X": (2, "(..., T, d)"),
    "rotary_embedding-positions": (1, "(..., T)"),
    "split_heads-X": (2, "(..., T, H * d)"),
    "merge_heads-X": (3, "(..., H, T, d)"),
    "repeat_kv-X": (3, "(..., H_kv, S, d)"),
    "multi_head-X": (2, "(..., positions, d_model)"),
    "multi_head-context": (2, "(..., positions, d_model)"),
    "index_scores-Q": (3, "(..., H, T, d)"),
    "index_scores-K": (2, "(..., S, d)"),
    "index_scores-weights": (2, "(..., T, H)"),
    "chosen_mask-scores": (2, "(..., T, S)"),
    "chosen_attention-Q": (2, "(..., T, d_k)"),
    "chosen_attention-K": (2, "(..., S, d_k)"),
    "chosen_attention-V": (2, "(..., S, d_v)"),
    "latent_heads-X": (2, "(..., T, d_model)"),
    "latent_heads-positions": (1, "(..., T)"),
    "expand-latent": (2, "(..., S, d_c)"),
    "absorb-Q": (3, "(..., H, T, d_k)"),
    "linear-x": (1, "(..., d_in)"),
    "linear-W": (2, "(..., d_in, d_out)"),
    "linear_vjp-x": (1, "(..., d_in)"),
    "linear_vjp-W": (2, "(..., d_in, d_out)"),
    "layer_norm-x": (1, "(..., d_model)"),
    "layer_norm-gain": (1, "(..., d_model)"),
    "layer_norm-bias": (1, "(..., d_model)"),
    "rms_norm-x": (1, "(..., d_model)"),
    "rms_norm-gain": (1, "(..., d_model)"),
    "losses-logits": (1, "(..., vocab)"),
}


@pytest.mark.parametrize("argument", AXES)
def test_an_axis_too_few_is_refused_by_name(argument):
    key, _, name = argument.partition("-")
    function, arrays = next(c for c in CALLS if c[0].__name__ == key)
    ndim, axes = AXES[argument]
    for short in range(ndim):
        wrong = np.ones((3, 2, 4)[:short])
        message = f"{name} must have axes {axes}; got {name} {wrong.shape}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            call(function, arrays | {name: wrong})


@EACH
def test_what_is_not_finite_is_refused_by_name(function, arrays, name):
    if arrays[name].dtype == bool or function in (*MOVERS, masks.padding_mask):
        return
    for bad in (np.nan, np.inf):
        wrong = arrays[name].astype(float)
        wrong.flat[-1] = bad
        with pytest.raises(ValueError, match=f"^{name} must "):
            call(function, arrays | {name: wrong})


# Sizes, switches and other single numbers.

P = heads.init_projections(np.random.default_rng(0), 4, 2)
SIZES = {
    "causal_mask": (masks.causal_mask, ["T", "S"], {}),
    "window_mask": (masks.window_mask, ["T", "S"], {"left": 1, "right": 1}),
    "padding_mask": (masks.padding_mask, ["S"], {"lengths": [1]}),
    "split_heads": (heads.split_heads, ["n_heads"], {"X": np.ones((2, 2))}),
    "repeat_kv": (heads.repeat_kv, ["n_rep"], {"X": np.ones((2, 2, 2))}),
    "init_projections": (
        heads.init_projections,
        ["d_model", "n_heads", "n_kv_heads", "d_k", "d_v"],
        {"rng": np.random.default_rng(0), "d_model": 2, "n_heads": 2},
    ),
    "chosen_mask": (sparse.chosen_mask, ["k"], {"scores": np.ones((2, 2))}),
    "pooled_blocks": (sparse.pooled_blocks, ["length", "stride"],
                      {"X": np.ones((2, 2)), "length": 1}),
    "chosen_blocks": (sparse.chosen_blocks, ["n", "length", "S"],
                      {"scores": np.ones((2, 2)), "n": 1, "length": 1,
                       "S": 2}),
    "init_latent": (
        latent.init_latent,
        ["d_model", "n_heads", "d_c", "d_r", "d_k", "d_v", "d_q"],
        {"rng": np.random.default_rng(0), "d_model": 2, "n_heads": 2,
         "d_c": 2, "d_r": 2, "d_k": 2},
    ),
    "KVCache": (cache.KVCache, ["max_len", "n_kv_heads", "d_k", "d_v"],
                {"max_len": 1, "n_kv_heads": 1, "d_k": 1}),
    "truncate": (truncate, ["length"], {}),
    "sinusoidal_encoding": (positions.sinusoidal_encoding, ["T", "d_model"],
                            {"T": 1, "d_model": 2}),
    "alibi_slopes": (positions.alibi_slopes, ["n_heads"], {}),
    "alibi_bias": (positions.alibi_bias, ["n_heads", "T", "S"],
                   {"n_heads": 1, "T": 1}),
    "tiled_attention": (tiled.tiled_attention, ["block_q", "block_k"],
                        {name: np.ones((2, 2)) for name in "QKV"}),
    "linear_attention": (linear.linear_attention, ["chunk"],
                         {name: np.ones((2, 2)) for name in "QKV"}),
}  # fmt: skip
LENGTHS = [
    pytest.param(function, name, more, id=f"{key}-{name}")
    for key, (function, names, more) in SIZES.items()
    for name in names
]


@pytest.mark.parametrize(("function", "name", "more"), LENGTHS)
def test_sizes_are_integers_that_memory_can_have(function, name, more):
    takes = inspect.signature(function).parameters
    more = {"T": 0} | more if "T" in takes else more
    for wrong in (True, np.ma.array(2), 2.0, "2", [2], np.array([2]), 1j):
        with pytest.raises(TypeError, match=f"^{name} must be an integer; go"):
            function(**more | {name: wrong})
    for wrong in (2**53, 2**63, 2**64, 10**400):
        with pytest.raises(ValueError, match=rf"^{name} must be below 2\*\*5"):
            function(**more | {name: wrong})


REALS = {
    "attention": (attention.attention, "scale",
                  {name: np.ones((1, 1)) for name in "QKV"}),
    "attention_scores": (attention.attention_scores, "scale",
                         {name: np.ones((1, 1)) for name in "QK"}),
    "tiled_attention": (tiled.tiled_attention, "scale",
                        {name: np.ones((1, 1)) for name in "QKV"}),
    "linear_attention": (linear.linear_attention, "scale",
                         {name: np.ones((1, 1)) for name in "QKV"}),
    "chosen_attention": (
        sparse.chosen_attention, "scale",
        {name: np.ones((1, 1)) for name in "QKV"}
        | {"chosen": np.ones((1, 1), bool)},
    ),
    "three_branches": (
        branches_read, "scale",
        {name: np.ones((1, 1)) for name in "QKV"} | {"gates": np.ones(3)},
    ),
    "latent_queries": (latent_turned, "base", {}),
    "latent_attention": (latent_output, "scale", {}),
    "sinusoidal_encoding": (positions.sinusoidal_encoding, "base",
                            {"T": 1, "d_model": 2}),
    "rotary_embedding": (positions.rotary_embedding, "base",
                         {"X": np.ones((1, 2))}),
    "rms_norm": (layers.rms_norm, "eps",
                 {"x": np.ones(2), "gain": np.ones(2)}),
    "roofline": (cost.roofline, "bandwidth",
                 {"intensity": 1, "peak_flops": 1}),
}  # fmt: skip


@pytest.mark.parametrize("key", REALS)
def test_a_number_is_a_number(key):
    function, name, more = REALS[key]
    for right in (2, 2.0, np.float16(2), np.int8(2), np.array(2.0)):
        got, want = (
            function(**more, **{name: right}),
            function(**more, **{name: 2.0}),
        )
        for a, b in zip(np.atleast_1d(got), np.atleast_1d(want), strict=True):
            np.testing.assert_array_equal(a, b)
    for wrong in (
        "0.5",
        "1_0",
        b"1",
        True,
        np.True_,
        1j,
        np.complex128(1),
        np.timedelta64(1, "s"),
        [1.0],
        np.array([1.0]),
        np.ma.masked,
    ):
        with pytest.raises(TypeError, match=f"^{name} must be a number; got"):
            function(**more, **{name: wrong})
    for wrong in (10**400, -(10**400)):
        with pytest.raises(ValueError, match=f"^{name} must not exceed float"):
            function(**more, **{name: wrong})


@pytest.mark.parametrize(
    ("name", "function"),
    [
        (
            "keepdims",
            lambda value: softmax.logsumexp([1.0], keepdims=value),
        ),
        (
            "interleaved",
            lambda value: positions.rotary_embedding(
                np.ones((1, 2)), interleaved=value
            ),
        ),
        (
            "absorbed",
            lambda value: (
                latent.latent_attention(
                    np.ones((1, 4)), some_weights(), absorbed=value
                ).output
            ),
        ),
        (
            "causal",
            lambda value: tiled.tiled_attention(
                *np.ones((3, 1, 1)), causal=value
            ),
        ),
    ],
)
def test_a_switch_is_true_or_false(name, function):
    for right in (True, np.True_, False, np.False_):
        assert np.shape(function(right)) == np.shape(function(bool(right)))
    for wrong in ("no", "", 1, 0, None, [True], np.array([True])):
        message = f"{name} must be True or False; got {wrong!r}"
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            function(wrong)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("x", softmax.softmax),
        ("x", softmax.logsumexp),
        ("weights", softmax.entropy),
        ("weights", lambda w, axis: gradients.softmax_vjp(w, w, axis)),
    ],
)
def test_an_axis_is_one_axis(name, function):
    x = np.stack([np.eye(2)] * 2)
    for wrong in (None, (0, 1), (0,), 1.0, "0", True):
        message = f"axis must be an integer; got {wrong!r}"
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            function(x, axis=wrong)
    message = (
        f"axis must be below the number of axes of {name}; "
        f"got axis 3 and {name} (2, 2, 2)"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        function(x, axis=3)
    for wrong in (-4, -(10**30)):
        message = f"axis must be at least -3; got {wrong}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            function(x, axis=wrong)
    np.testing.assert_array_equal(
        function(x, axis=np.int8(1)), function(x, axis=-2)
    )
