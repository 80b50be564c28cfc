"""Every array argument of every helper, given what arrays come as.

Another layout in memory, another byte order or another integer type gives
the same result; what is no array of real numbers is refused by name; no
argument is changed.
"""

import inspect
import math
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
    training,
    transformer,
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


def truncate_state(length):
    cache.StateCache(1, 1, 1, 1, 2).truncate(length)


def update_state(n):
    stored = cache.StateCache(1, 1, 1, 1, 2)
    stored.update(np.ones((1, 1, 1)), np.ones((1, 3)), n)


def network(x, W_1, b_1, W_2, b_2):
    return layers.feed_forward(x, W_1, b_1, W_2, b_2, activation="relu")


def network_vjp(grad, x, W_1, b_1, W_2):
    return layers.feed_forward_vjp(grad, x, W_1, b_1, W_2, activation="relu")


def losses(logits):
    return layers.token_losses(logits, [[1, 0, 2], [0, 0, 1]])


def scores(x, where):
    return softmax.softmax(x, 0, where=where), softmax.logsumexp(x, 0)


def losses_vjp(grad, logits):
    return layers.token_losses_vjp(grad, logits, [[1, 0, 2], [0, 0, 1]])


def gated(b_3):
    x, one, b = np.ones((2, 3)), np.eye(3), np.zeros(3)
    return layers.feed_forward(x, one, b, one, b, W_3=one, b_3=b_3)


def induction(weights):
    return training.induction_score(weights, [0, 1, 0])


def accuracy(logits):
    batch = training.Batch(None, np.array([1, 0, 2]), np.ones(3, bool))
    return np.float64(training.accuracy(logits, batch))


def update(state, rows):
    stored = cache.StateCache(1, 2, 2, 3, 2)
    stored.update(state, rows, 1)
    return stored.state, stored.rows


def rotated(frequencies):
    return positions.rotary_embedding(np.ones((2, 4)), frequencies=frequencies)


CONFIG = transformer.TransformerConfig(vocab=4, d_model=4, n_layers=1)
PARAMS = transformer.init_transformer(np.random.default_rng(0), CONFIG)


def kept_heads(heads):
    return transformer.forward([1, 2], PARAMS, CONFIG, heads=heads).logits


def latent_vjp(X, weights, **options):
    result = latent.latent_attention_vjp(
        np.ones((2, 4)), X, some_weights(), weights, **options
    )
    return result.X, result.projections.W_O


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
    (attention.attention,
     QKV | {"mask": mask(4, 3), "bias": whole(2, 4, 3), "sinks": whole(2)}),
    (gradients.softmax_vjp,
     {"grad": whole(3, 3), "weights": np.eye(3, dtype=int)}),
    (gradients.attention_vjp,
     QKV
     | {"grad_output": whole(2, 4, 4),
      "weights": np.stack([np.eye(4, 3, dtype=int)] * 2), "sinks": whole(2)}),
    (gradients.sinks_vjp,
     {"grad_output": whole(2, 4, 3), "output": whole(2, 4, 3),
      "weights": np.stack([np.eye(4, 3, dtype=int)] * 2), "sinks": whole(2)}),
    (tiled.tiled_attention, QKV | {"sinks": whole(2)}),
    (linear.gated_delta_rule, MEMORY),
    (linear.delta_rule,
     {name: x for name, x in MEMORY.items() if name != "log_decay"}),
    (linear.linear_attention,
     {name: x for name, x in MEMORY.items() if name != "beta"}),
    (memory_vjp,
     MEMORY | {"grad_output": whole(2, 3, 4), "grad_state": whole(2, 2, 4)}),
    (tiled.merge_partials,
     {"outputs": whole(3, 4, 2), "logsumexps": whole(3, 4)}),
    (positions.rotary_embedding,
     {"X": whole(2, 3, 4), "positions": whole(2, 3)}),
    (cost.roofline, {"intensity": whole(3, 2)}),
    (masks.padding_mask, {"lengths": whole(4)}),
    (heads.split_heads, {"X": whole(2, 3, 4)}),
    (heads.merge_heads, {"X": whole(2, 3, 4)}),
    (heads.repeat_kv, {"X": whole(2, 3, 4)}),
    (append, {"K": whole(2, 3, 2), "V": whole(2, 3, 2)}),
    (multi_head,
     {"X": whole(2, 3, 4), "context": whole(2, 5, 4), "mask": mask(2, 3, 5),
      "bias": whole(3, 5), "W_Q": whole(4, 6), "W_K": whole(4, 3),
      "W_V": whole(4, 2), "W_O": whole(4, 4)}),
    (latent_heads,
     {"X": whole(2, 3, 4), "positions": whole(2, 3), "mask": mask(3, 3)}
     | {name: whole(*shape) for name, shape in LATENT.items()}),
    (sparse.index_scores,
     {"Q": whole(2, 4, 3), "K": whole(5, 3), "weights": whole(4, 2)}),
    (sparse.chosen_mask, {"scores": whole(2, 4, 5), "mask": mask(4, 5)}),
    (sparse.chosen_attention, QKV | {"chosen": mask(4, 3)}),
    (sparse.pooled_blocks, {"X": whole(2, 4, 3)}),
    (sparse.chosen_blocks, {"scores": whole(2, 4, 2), "mask": mask(4, 2)}),
    (branches_read, QKV | {"Q": whole(2, 3, 2), "gates": whole(3, 3)}),
    (expand, {"latent": whole(2, 4, 3)}),
    (absorb, {"Q": whole(2, 2, 4, 2)}),
    (layers.linear, {"x": whole(2, 4, 3), "W": whole(3, 2), "b": whole(2)}),
    (layers.linear_vjp,
     {"grad": whole(2, 4, 2), "x": whole(2, 4, 3), "W": whole(3, 2)}),
    (layers.layer_norm,
     {"x": whole(2, 4, 3), "gain": whole(3), "bias": whole(3)}),
    (layers.rms_norm, {"x": whole(2, 4, 3), "gain": whole(3)}),
    (layers.layer_norm_vjp,
     {"grad": whole(2, 4, 3), "x": whole(2, 4, 3), "gain": whole(3)}),
    (layers.rms_norm_vjp,
     {"grad": whole(2, 4, 3), "x": whole(2, 4, 3), "gain": whole(3)}),
    (layers.gelu, {"x": whole(2, 3)}),
    (layers.gelu_vjp, {"grad": whole(2, 3), "x": whole(2, 3)}),
    (network,
     {"x": whole(2, 4, 3), "W_1": whole(3, 5), "b_1": whole(5),
      "W_2": whole(5, 3), "b_2": whole(3)}),
    (network_vjp,
     {"grad": whole(2, 4, 3), "x": whole(2, 4, 3), "W_1": whole(3, 5),
      "b_1": whole(5), "W_2": whole(5, 3)}),
    (losses, {"logits": whole(2, 3, 4)}),
    (losses_vjp, {"grad": whole(2, 3), "logits": whole(2, 3, 4)}),
    (layers.silu, {"x": whole(2, 3)}),
    (layers.silu_vjp, {"grad": whole(2, 3), "x": whole(2, 3)}),
    (gated, {"b_3": whole(3)}),
    (linear.short_convolution,
     {"X": whole(2, 4, 3), "filters": whole(2, 3), "before": whole(2, 1, 3)}),
    (update, {"state": whole(2, 2, 3), "rows": whole(1, 10)}),
    (rotated, {"frequencies": whole(2)}),
    (latent_vjp,
     {"X": whole(2, 4), "weights": np.stack([np.eye(2, dtype=int)] * 2)}),
    (transformer.next_token_probabilities, {"logits": whole(2, 4)}),
    (kept_heads, {"heads": whole(1, 2)}),
    (training.previous_token_score, {"weights": whole(2, 3, 3)}),
    (training.first_token_score, {"weights": whole(2, 3, 3)}),
    (induction, {"weights": whole(2, 3, 3)}),
    (accuracy, {"logits": whole(3, 4)}),
]  # fmt: skip
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
    desired = call(function, arrays)
    for layout, change in LAYOUTS.items():
        other = change(arrays[name])
        kept = np.array(other, copy=True)
        results = call(function, arrays | {name: other})
        np.testing.assert_array_equal(kept, other, layout)
        for result, expected in zip(results, desired, strict=True):
            assert type(result) in (np.ndarray, np.float64), layout
            assert result.dtype.isnative or function in MOVERS, layout
            np.testing.assert_allclose(
                result, expected, 1e-15, 1e-15, err_msg=layout
            )


@EACH
def test_integers_compute_as_float64(function, arrays, name):
    if arrays[name].dtype == bool:
        return
    desired = call(function, arrays)
    for dtype in "bBhHiIlL":
        results = call(function, arrays | {name: arrays[name].astype(dtype)})
        for result, expected in zip(results, desired, strict=True):
            np.testing.assert_array_equal(result, expected, dtype)


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
def test_refuses_what_is_no_array(function, arrays, name):
    for wrong, error, rule in NO_ARRAYS:
        with pytest.raises(error, match=f"^{name} must {re.escape(rule)}"):
            call(function, arrays | {name: wrong})


def gate_of(W_3):
    one = np.ones((1, 1))
    return layers.feed_forward(one, one, None, one, None, W_3=W_3)


@pytest.mark.parametrize(
    ("name", "function"),
    [("tokens", lambda x: layers.token_ids(x, 5)), ("W_3", gate_of)],
)
def test_refuses_tokens_and_gates_that_are_no_array(name, function):
    for wrong, error, rule in NO_ARRAYS:
        with pytest.raises(error, match=f"^{name} must {re.escape(rule)}"):
            function(wrong)


@EACH
def test_refuses_what_holds_no_real_numbers(function, arrays, name):
    if function in MOVERS:
        return
    rule = "(hold real numbers|be boolean, True = may attend|be integers); got"
    for wrong in NO_NUMBERS:
        with pytest.raises(TypeError, match=f"^{name} must {rule}"):
            call(function, arrays | {name: wrong})


@EACH
def test_refuses_integers_beyond_float64(function, arrays, name):
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
def test_refuses_too_few_axes(argument):
    key, _, name = argument.partition("-")
    function, arrays = next(c for c in CALLS if c[0].__name__ == key)
    ndim, axes = AXES[argument]
    for short in range(ndim):
        wrong = np.ones((3, 2, 4)[:short])
        message = f"{name} must have axes {axes}; got {name} {wrong.shape}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            call(function, arrays | {name: wrong})


@EACH
def test_refuses_nan_and_infinity(function, arrays, name):
    if arrays[name].dtype == bool or function in (*MOVERS, masks.padding_mask):
        return
    for bad in (np.nan, np.inf):
        wrong = arrays[name].astype(float)
        wrong.flat[-1] = bad
        with pytest.raises(ValueError, match=f"^{name} must "):
            call(function, arrays | {name: wrong})


# Sizes, switches and other single numbers.

RNG = np.random.default_rng(0)
ONE = np.ones((1, 1))
QKV_OF_ONE = dict.fromkeys("QKV", ONE)
FOUR = np.ones((2, 4))


def configured(**fields):
    return transformer.TransformerConfig(n_layers=1, **fields)


def in_blocks(**fields):
    return configured(blocks=(fields,))


def latent_widths(**fields):
    sizes = {"d_c": 2, "d_r": 2, "d_v": 2} | fields
    widths = transformer.LatentWidths(**sizes)
    return configured(positions="rotary", bias=False, latent=widths)


def memory_widths(**fields):
    sizes = dict.fromkeys(transformer.MemoryWidths._fields, 1) | fields
    return configured(memory=transformer.MemoryWidths(**sizes))


def generated(n=1, **options):
    rng = np.random.default_rng(0)
    return transformer.generate(rng, [1], PARAMS, CONFIG, n, **options)


def chances(**options):
    return transformer.next_token_probabilities(FOUR, **options)


def stepped(first=0.9, second=0.9, **options):
    one = {"x": np.ones(1)}
    state = transformer.adam_init(one)
    new, _ = transformer.adam_step(
        one, one, state, betas=(first, second), **options
    )
    return new["x"]


BRANCHES = QKV_OF_ONE | {
    "gates": np.ones(3), "length": 1, "n": 1, "window": 1,
}  # fmt: skip
# Each function with its sizes, the least that each may be, and more arguments.
SIZES = {
    "causal_mask": (masks.causal_mask, {"T": 0, "S": 0}, {}),
    "window_mask": (masks.window_mask, {"T": 0, "S": 0},
                    {"left": 1, "right": 1}),
    "padding_mask": (masks.padding_mask, {"S": 0}, {"lengths": [1]}),
    "split_heads": (heads.split_heads, {"n_heads": 1}, {"X": FOUR}),
    "repeat_kv": (heads.repeat_kv, {"n_rep": 1}, {"X": np.ones((2, 2, 2))}),
    "init_projections": (
        heads.init_projections,
        {"d_model": 1, "n_heads": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1},
        {"rng": RNG, "d_model": 2, "n_heads": 2},
    ),
    "chosen_mask": (sparse.chosen_mask, {"k": 1}, {"scores": FOUR}),
    "pooled_blocks": (sparse.pooled_blocks, {"length": 1, "stride": 1},
                      {"X": FOUR, "length": 1}),
    "chosen_blocks": (sparse.chosen_blocks, {"n": 1, "length": 1, "S": 0},
                      {"scores": np.ones((2, 2)), "n": 1, "length": 1,
                       "S": 2}),
    "three_branches": (sparse.three_branches, {"length": 1, "n": 1},
                       BRANCHES),
    "init_latent": (
        latent.init_latent,
        {"d_model": 1, "n_heads": 1, "d_c": 1, "d_r": 1, "d_k": 1, "d_v": 1,
         "d_q": 1},
        {"rng": RNG, "d_model": 2, "n_heads": 2, "d_c": 2, "d_r": 2,
         "d_k": 2},
    ),
    "KVCache": (cache.KVCache,
                {"max_len": 0, "n_kv_heads": 1, "d_k": 1, "d_v": 1},
                {"max_len": 1, "n_kv_heads": 1, "d_k": 1}),
    "StateCache": (
        cache.StateCache,
        {"n_key_heads": 1, "n_value_heads": 1, "d_k": 1, "d_v": 1,
         "width": 1},
        dict.fromkeys(transformer.MemoryWidths._fields, 1),
    ),
    "truncate": (truncate, {"length": 0}, {}),
    "truncate a state": (truncate_state, {"length": 0}, {}),
    "update a state": (update_state, {"n": 0}, {}),
    "sinusoidal_encoding": (positions.sinusoidal_encoding,
                            {"T": 0, "d_model": 2}, {"T": 1, "d_model": 2}),
    "rotary_frequencies": (positions.rotary_frequencies, {"d": 2}, {}),
    "interpolated_frequencies": (positions.interpolated_frequencies,
                                 {"d": 2}, {"factor": 2}),
    "ntk_frequencies": (positions.ntk_frequencies, {"d": 4}, {"factor": 2}),
    "yarn_frequencies": (positions.yarn_frequencies, {"d": 2},
                         {"factor": 2, "original_length": 8}),
    "alibi_slopes": (positions.alibi_slopes, {"n_heads": 1}, {}),
    "alibi_bias": (positions.alibi_bias, {"n_heads": 1, "T": 0, "S": 0},
                   {"n_heads": 1, "T": 1}),
    "relative_buckets": (
        positions.relative_buckets,
        {"T": 0, "S": 0, "num_buckets": 2, "max_distance": 0}, {"T": 1},
    ),
    "both directions": (
        positions.relative_buckets, {"num_buckets": 4},
        {"T": 1, "bidirectional": True},
    ),
    "tiled_attention": (tiled.tiled_attention, {"block_q": 1, "block_k": 1},
                        QKV_OF_ONE),
    "linear_attention": (linear.linear_attention, {"chunk": 1}, QKV_OF_ONE),
    "token_ids": (layers.token_ids, {"vocab": 1}, {"tokens": [0]}),
    "one_hot": (layers.one_hot, {"vocab": 1}, {"tokens": [0]}),
    "TransformerConfig": (
        transformer.TransformerConfig,
        {"vocab": 1, "max_len": 1, "d_model": 1, "n_layers": 1, "n_heads": 1,
         "n_kv_heads": 1, "head_width": 1, "d_ff": 1, "window": 1,
         "num_buckets": 2},
        {},
    ),
    "a block": (in_blocks, {"window": 1}, {}),
    "generate": (generated, {"n": 0, "stop": 0, "top_k": 1}, {}),
    "next_token_probabilities": (chances, {"top_k": 1}, {}),
    "induction_batch": (training.induction_batch,
                        {"T": 1, "vocab": 1, "shortest": 1},
                        {"rng": RNG, "shape": (), "T": 9}),
    "recall_batch": (training.recall_batch, {"T": 12, "vocab": 7, "row": 2},
                     {"rng": RNG, "shape": (), "T": 12}),
    "copying_batch": (training.copying_batch, {"T": 2},
                      {"rng": RNG, "shape": ()}),
}  # fmt: skip
# The same, of integers that no memory limits.
COUNTS = {
    "window_mask": (masks.window_mask, {"left": 0, "right": 0},
                    {"T": 1, "left": 1, "right": 1}),
    "three_branches": (sparse.three_branches, {"window": 1}, BRANCHES),
    "tokens_read": (
        sparse.tokens_read,
        {"S": 32, "length": 1, "stride": 1, "chosen_length": 1,
         "n_chosen": 1, "window": 1},
        {"S": 10**401},
    ),
}  # fmt: skip
NOT_INTEGERS = (True, np.ma.array(2), 2.0, "2", [2], np.array([2]), 1j, np.nan)
LENGTHS = [
    pytest.param(
        function, name, least, more, table is SIZES, id=f"{key}-{name}"
    )
    for table in (SIZES, COUNTS)
    for key, (function, names, more) in table.items()
    for name, least in names.items()
]


@pytest.mark.parametrize(
    ("function", "name", "least", "more", "limited"), LENGTHS
)
def test_refuses_impossible_sizes(function, name, least, more, limited):
    takes = inspect.signature(function).parameters
    more = {"T": 0} | more if "T" in takes else more
    for wrong in NOT_INTEGERS:
        with pytest.raises(TypeError, match=f"^{name} must be an integer; go"):
            function(**more | {name: wrong})
    for wrong in (2**53, 2**63, 2**64, 10**400):
        if not limited:
            function(**more | {name: wrong})
            continue
        with pytest.raises(ValueError, match=rf"^{name} must be below 2\*\*5"):
            function(**more | {name: wrong})
    for wrong in (least - 1, -7):
        message = rf"^{name} must be at least {least}; got {wrong}$"
        with pytest.raises(ValueError, match=message):
            function(**more | {name: wrong})


@pytest.mark.parametrize("widths", [latent_widths, memory_widths])
def test_refuses_impossible_widths(widths):
    kind = widths.__name__.partition("_")[0]
    for name in getattr(widths(), kind)._fields:
        if name == "eps":
            continue
        for wrong, error, rule in (
            ("a", TypeError, "be an integer; got 'a'"),
            (0, ValueError, "be at least 1; got 0"),
        ):
            message = rf"^{kind}\.{name} must {rule}$"
            with pytest.raises(error, match=message):
                widths(**{name: wrong})


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("batch", lambda n: cache.KVCache(1, 1, 1, batch=n)),
        ("batch", lambda n: cache.StateCache(1, 1, 1, 1, 2, batch=n)),
        ("batch", lambda n: transformer.new_cache(CONFIG, batch=n)),
        ("shape", lambda n: training.induction_batch(RNG, n)),
        ("shape", lambda n: training.recall_batch(RNG, n)),
        ("shape", lambda n: training.copying_batch(RNG, n)),
    ],
)
def test_refuses_impossible_shapes(name, function):
    for wrong, error, message in (
        (8, TypeError, f"{name} must be a tuple of sizes; got 8"),
        ([2], TypeError, f"{name} must be a tuple of sizes; got [2]"),
        ((2, 0.5), TypeError, f"{name}[1] must be an integer; got 0.5"),
        ((-1,), ValueError, f"{name}[0] must be at least 0; got -1"),
    ):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            function(wrong)
    function((0, 2))


@pytest.mark.parametrize(
    "function",
    [
        lambda rng: heads.init_projections(rng, 2, 2),
        lambda rng: latent.init_latent(rng, 2, 2, d_c=2, d_r=2, d_k=2),
        lambda rng: transformer.init_transformer(rng, CONFIG),
        lambda rng: transformer.generate(rng, [1], PARAMS, CONFIG, 1),
        lambda rng: training.induction_batch(rng, ()),
        lambda rng: training.recall_batch(rng, ()),
        lambda rng: training.copying_batch(rng, ()),
    ],
)
def test_refuses_other_sources_of_random_numbers(function):
    for wrong in (0, None, np.random.RandomState(0)):
        message = f"rng must be a numpy.random.Generator; got {wrong!r}"
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            function(wrong)


# Each function with its numbers, and more arguments.
REALS = {
    "attention": (attention.attention, ["scale", "softcap"], QKV_OF_ONE),
    "attention_scores": (attention.attention_scores, ["scale"],
                         {"Q": ONE, "K": ONE}),
    "attention_vjp": (
        gradients.attention_vjp, ["scale", "softcap"],
        QKV_OF_ONE | {"grad_output": ONE, "weights": ONE},
    ),
    "tiled_attention": (tiled.tiled_attention, ["scale", "softcap"],
                        QKV_OF_ONE),
    "linear_attention": (linear.linear_attention, ["scale"], QKV_OF_ONE),
    "chosen_attention": (
        sparse.chosen_attention, ["scale"],
        QKV_OF_ONE | {"chosen": np.ones((1, 1), bool)},
    ),
    "three_branches": (branches_read, ["scale"],
                       QKV_OF_ONE | {"gates": np.ones(3)}),
    "latent_queries": (latent_turned, ["base", "eps"], {}),
    "latent_attention": (latent_output, ["scale", "base", "eps"], {}),
    "latent_attention_vjp": (
        lambda **given: latent_vjp(**given)[0], ["scale"],
        {"X": FOUR, "weights": np.stack([np.eye(2)] * 2)},
    ),
    "sinusoidal_encoding": (positions.sinusoidal_encoding, ["base"],
                            {"T": 1, "d_model": 2}),
    "rotary_embedding": (positions.rotary_embedding, ["base"],
                         {"X": np.ones((1, 2))}),
    "rotary_frequencies": (positions.rotary_frequencies, ["base"], {"d": 4}),
    "interpolated_frequencies": (
        positions.interpolated_frequencies, ["factor", "base"],
        {"d": 4, "factor": 2},
    ),
    "ntk_frequencies": (positions.ntk_frequencies, ["factor", "base"],
                        {"d": 4, "factor": 2}),
    "yarn_frequencies": (
        positions.yarn_frequencies,
        ["factor", "original_length", "base", "beta_slow", "beta_fast"],
        {"d": 4, "factor": 2, "original_length": 8},
    ),
    "yarn_attention_factor": (positions.yarn_attention_factor, ["factor"],
                              {}),
    "layer_norm": (layers.layer_norm, ["eps"],
                   dict.fromkeys(("x", "gain", "bias"), np.ones(2))),
    "layer_norm_vjp": (layers.layer_norm_vjp, ["eps"],
                       dict.fromkeys(("grad", "x", "gain"), np.ones(2))),
    "rms_norm": (layers.rms_norm, ["eps"],
                 {"x": np.ones(2), "gain": np.ones(2)}),
    "rms_norm_vjp": (layers.rms_norm_vjp, ["eps"],
                     dict.fromkeys(("grad", "x", "gain"), np.ones(2))),
    "roofline": (cost.roofline, ["peak_flops", "bandwidth"],
                 {"intensity": 1, "peak_flops": 1, "bandwidth": 1}),
    "TransformerConfig": (
        configured,
        ["eps", "scale", "softcap", "base", "embedding_scale",
         "logits_softcap"],
        {},
    ),
    "a block": (in_blocks, ["base"], {}),
    "generate": (generated, ["temperature"], {}),
    "next_token_probabilities": (chances, ["temperature"], {}),
    "adam_step": (stepped, ["lr", "eps"], {}),
}  # fmt: skip
NUMBERS = [
    pytest.param(function, name, more, id=f"{key}-{name}")
    for key, (function, names, more) in REALS.items()
    for name in names
]
NOT_NUMBERS = (
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
)


@pytest.mark.parametrize(("function", "name", "more"), NUMBERS)
def test_refuses_what_is_no_finite_number(function, name, more):
    for right in (2, 2.0, np.float16(2), np.int8(2), np.array(2.0)):
        result, expected = (
            function(**more | {name: right}),
            function(**more | {name: 2.0}),
        )
        if isinstance(result, transformer.TransformerConfig):
            result, expected = (getattr(x, name) for x in (result, expected))
        for a, b in zip(
            np.atleast_1d(result), np.atleast_1d(expected), strict=True
        ):
            np.testing.assert_array_equal(a, b)
    for wrong in NOT_NUMBERS:
        with pytest.raises(TypeError, match=f"^{name} must be a number; got"):
            function(**more | {name: wrong})
    for wrong in (10**400, -(10**400)):
        with pytest.raises(ValueError, match=f"^{name} must not exceed float"):
            function(**more | {name: wrong})
    for wrong in (math.inf, -math.inf, math.nan):
        with pytest.raises(
            ValueError, match=f"^{name} must be finite; got {wrong}$"
        ):
            function(**more | {name: wrong})


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
        (
            "bidirectional",
            lambda value: positions.relative_buckets(2, bidirectional=value),
        ),
        (
            "truncate",
            lambda value: positions.yarn_frequencies(4, 2, 8, truncate=value),
        ),
        (
            "absorbed",
            lambda value: list(
                cost.latent_flops(*[1] * 7, absorbed=value).values()
            ),
        ),
        *(
            (name, lambda value, name=name: configured(**{name: value}).d_k)
            for name in ("gated", "bias", "tied", "sinks", "output_gate")
        ),
    ],
)
def test_refuses_what_is_no_bool(name, function):
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
def test_refuses_impossible_axes(name, function):
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
