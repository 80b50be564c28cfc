"""heads against loops, by property, and refused."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import Attention
from helpers.cache import KVCache
from helpers.heads import (
    Projections,
    attention_layer,
    init_projections,
    merge_heads,
    multi_head_attention,
    repeat_kv,
    split_heads,
)
from helpers.masks import causal_mask, padding_mask
from tests.core import reference_heads
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 5)
LEADS = st.sampled_from([(), (2,), (3, 2)])
DTYPES = st.sampled_from([np.float32, np.float64])


class ListCache:
    """What `multi_head_attention` asks of a cache, and nothing more."""

    def __init__(self):
        self.parts = []

    def __len__(self):
        return sum(K.shape[-2] for K, _ in self.parts)

    def append(self, K, V):
        self.parts.append((K, V))
        return [
            np.concatenate(parts, axis=-2)
            for parts in zip(*self.parts, strict=True)
        ]


def projections(
    seed, n_heads=2, n_kv_heads=None, *, d_model=5, d_k=3, d_v=2, dtype=float
):
    """Random weights of sizes that tell the axes apart."""
    rng = np.random.default_rng(seed)
    made = init_projections(
        rng, d_model, n_heads, n_kv_heads, d_k=d_k, d_v=d_v
    )
    return Projections(*(W.astype(dtype) for W in made[:4]), *made[4:])


def rows(seed, *shape, dtype=float):
    return np.random.default_rng(seed + 1).normal(size=shape).astype(dtype)


def by_loops(X, p, context=None, mask=None, bias=None):
    """The reference, one sequence of the batch at a time."""
    context = X if context is None else context
    lead = np.broadcast_shapes(X.shape[:-2], context.shape[:-2])
    T, S, H = X.shape[-2], context.shape[-2], p.n_heads
    X = np.broadcast_to(X, (*lead, *X.shape[-2:]))
    context = np.broadcast_to(context, (*lead, *context.shape[-2:]))
    mask = np.broadcast_to(True if mask is None else mask, (*lead, H, T, S))
    bias = np.broadcast_to(0.0 if bias is None else bias, (*lead, H, T, S))
    output = np.empty((*lead, T, p.W_O.shape[1]))
    weights = np.empty((*lead, H, T, S))
    for i in np.ndindex(*lead):
        output[i], weights[i] = reference_heads.multi_head(
            X[i].tolist(),
            context[i].tolist(),
            *(W.tolist() for W in p[:4]),
            *p[4:],
            allowed=lambda h, t, s, i=i: bool(mask[i][h, t, s]),
            bias=lambda h, t, s, i=i: float(bias[i][h, t, s]),
        )
    return output, weights


# Splitting, merging, repeating.


@given(SEEDS, LEADS, SIZES, SIZES, SIZES)
def test_split_follows_the_index_rule(seed, lead, T, H, d):
    X = rows(seed, *lead, T, H * d)
    split = split_heads(X, H)
    assert split.shape == (*lead, H, T, d)
    for i in np.ndindex(*lead):
        expected = reference_heads.split(X[i].tolist(), H)
        np.testing.assert_array_equal(split[i], expected)


@pytest.mark.parametrize("lead", [(), (2,), (5, 2)])
@pytest.mark.parametrize(("H", "T", "d"), [(3, 7, 11), (7, 3, 2), (1, 5, 3)])
def test_split_and_merge_undo_each_other(lead, H, T, d):
    # Prime sizes: no two axes can be confused and still fit.
    X = rows(0, *lead, T, H * d)
    heads = rows(1, *lead, H, T, d)
    np.testing.assert_array_equal(merge_heads(split_heads(X, H)), X)
    np.testing.assert_array_equal(split_heads(merge_heads(heads), H), heads)


def test_merge_puts_each_position_back_together():
    # A reshape alone also undoes a reshape alone; this tells them apart.
    heads = [[["a0", "a1"], ["b0", "b1"]], [["a2", "a3"], ["b2", "b3"]]]
    assert merge_heads(heads).tolist() == [
        ["a0", "a1", "a2", "a3"],
        ["b0", "b1", "b2", "b3"],
    ]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, "<U2"])
def test_rearranging_keeps_the_type(dtype):
    X = np.zeros((2, 6), dtype)
    assert split_heads(X, 3).dtype == X.dtype
    assert merge_heads(split_heads(X, 3)).dtype == X.dtype
    assert repeat_kv(split_heads(X, 3), 2).dtype == X.dtype


def test_no_positions_are_still_split():
    assert split_heads(np.ones((0, 6)), 3).shape == (3, 0, 2)
    assert merge_heads(np.ones((3, 0, 2))).shape == (0, 6)


@given(SEEDS, LEADS, SIZES, SIZES)
def test_repeat_kv_serves_neighbouring_query_heads(seed, lead, H_kv, n_rep):
    X = rows(seed, *lead, H_kv, 3, 2)
    repeated = repeat_kv(X, n_rep)
    assert repeated.shape == (*lead, H_kv * n_rep, 3, 2)
    for h in range(H_kv * n_rep):
        np.testing.assert_array_equal(
            repeated[..., h, :, :], X[..., h // n_rep, :, :]
        )


# Multi-head attention against the loops.


@given(
    SEEDS,
    LEADS,
    st.sampled_from([(1, 1), (2, 2), (4, 2), (3, 1), (6, 3), (6, 2)]),
    SIZES,
    SIZES,
    SIZES,
    SIZES,
    st.booleans(),
    st.booleans(),
)
def test_multi_head_attention_equals_the_loops(
    seed, lead, heads, T, S, d_k, d_v, cross, limit
):
    p = projections(seed, *heads, d_k=d_k, d_v=d_v)
    X = rows(seed, *lead, T, 5)
    context = rows(seed + 1, *lead, S, 5) if cross else None
    shape = (*lead, heads[0], T, S if cross else T)
    rng = np.random.default_rng(seed)
    mask = rng.random(shape) < 0.6 if limit else None
    bias = rng.normal(size=shape) if limit else None
    output, weights = by_loops(X, p, context, mask, bias)
    result = multi_head_attention(X, p, context=context, mask=mask, bias=bias)
    assert isinstance(result, Attention)
    assert_close(result.output, output, eps=256)
    assert_close(result.weights, weights, eps=256)


@given(SEEDS, DTYPES, st.sampled_from([(1, 1), (4, 4), (4, 2), (4, 1)]))
def test_the_type_of_computation_is_kept(seed, dtype, heads):
    p = projections(seed, *heads, dtype=dtype)
    X = rows(seed, 3, 5, dtype=dtype)
    output, weights = by_loops(X, p)
    bias = np.zeros((3, 3))
    result = multi_head_attention(X, p, bias=bias)
    assert_close(result.output, output.astype(dtype), eps=256)
    assert_close(result.weights, weights.astype(dtype), eps=256)


def test_half_precision_and_whole_numbers():
    p = projections(0)
    half = Projections(*(W.astype(np.float16) for W in p[:4]), 2, 2)
    X = rows(0, 3, 5, dtype=np.float16)
    output = multi_head_attention(X, half).output
    assert output.dtype == np.float16
    expected, _ = by_loops(X, half)
    assert_close(output, expected.astype(np.float16), eps=32)
    whole = multi_head_attention(np.eye(3, 5, dtype=int), p).output
    assert_close(whole, multi_head_attention(np.eye(3, 5), p).output)


@given(SEEDS, LEADS, st.sampled_from([(4, 2), (6, 3), (6, 2), (3, 1)]))
def test_shared_heads_equal_repeated_weight_columns(seed, lead, heads):
    H, H_kv = heads
    p = projections(seed, H, H_kv)

    def repeated(W):
        blocks = np.split(W, H_kv, axis=1)
        return np.hstack([blocks[h // (H // H_kv)] for h in range(H)])

    full = Projections(p.W_Q, repeated(p.W_K), repeated(p.W_V), p.W_O, H, H)
    X = rows(seed, *lead, 4, 5)
    shared, repeats = multi_head_attention(X, p), multi_head_attention(X, full)
    assert_close(shared.output, repeats.output)
    assert_close(shared.weights, repeats.weights)


@given(SEEDS, st.data())
def test_the_order_of_the_heads_does_not_matter(seed, data):
    p = projections(seed, 3, d_k=2, d_v=4)
    order = data.draw(st.permutations(range(3)))

    def moved(W, axis):
        return np.concatenate([np.split(W, 3, axis)[h] for h in order], axis)

    q = Projections(*(moved(W, 1) for W in p[:3]), moved(p.W_O, 0), 3, 3)
    X = rows(seed, 4, 5)
    plain, other = multi_head_attention(X, p), multi_head_attention(X, q)
    assert_close(other.output, plain.output, eps=64)
    assert_close(other.weights, plain.weights[list(order)])


def test_a_context_without_batch_serves_the_whole_batch():
    p, X, context = projections(0, 4, 2), rows(0, 3, 2, 5), rows(1, 4, 5)
    together = multi_head_attention(X, p, context=context)
    for b in range(3):
        alone = multi_head_attention(X[b], p, context=context)
        assert_close(together.output[b], alone.output)
    many = multi_head_attention(X[0], p, context=np.stack([context] * 3))
    assert_close(many.output[1], together.output[0])


@pytest.mark.parametrize("batched", ["X", "context", "both"])
def test_a_padding_mask_hides_keys_of_a_context_of_its_own_sequence(batched):
    p = projections(0, 4, 2)
    X, context = rows(0, 2, 3, 5), rows(1, 2, 4, 5)
    X = X if batched in ("X", "both") else X[0]
    context = context if batched in ("context", "both") else context[0]
    result = multi_head_attention(
        X, p, context=context, mask=padding_mask([4, 2], 4)
    )
    for b, n in enumerate([4, 2]):
        alone = multi_head_attention(
            X if X.ndim == 2 else X[b],
            p,
            context=(context if context.ndim == 2 else context[b])[:n],
        )
        assert_close(result.output[b], alone.output, eps=64)


# Masks and biases on every number of batch axes.


@pytest.mark.parametrize(
    ("lead", "lengths"),
    [((), [4]), ((3,), [4, 0, 6]), ((2, 3), [4, 0, 6]), ((1,), [2])],
)
def test_a_padding_mask_hides_keys_of_its_own_sequence(lead, lengths):
    p, X = projections(0, 4, 2), rows(0, *lead, 6, 5)
    result = multi_head_attention(X, p, mask=padding_mask(lengths, 6))
    assert result.weights.shape == (*lead, 4, 6, 6)
    for i in np.ndindex(*lead):
        n = lengths[i[-1] if i else 0]
        alone = multi_head_attention(X[i], p, context=X[i][:n])
        assert_close(result.output[i], alone.output, eps=64)
        np.testing.assert_array_equal(result.weights[i][..., n:], 0)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_masks_combine_and_a_bias_may_differ_by_head(lead):
    p, X = projections(0, 4, 2), rows(0, *lead, 6, 5)
    mask = causal_mask(6) & padding_mask([4] * (lead or (1,))[-1], 6)
    bias = rows(5, 4, 6, 6)
    result = multi_head_attention(X, p, mask=mask, bias=bias)
    both = causal_mask(6) & (np.arange(6) < 4)
    output, weights = by_loops(X, p, mask=both, bias=bias)
    assert_close(result.output, output, eps=64)
    assert_close(result.weights, weights, eps=64)


def test_a_bias_of_minus_infinity_forbids_and_a_batch_axis_of_one_is_dropped():
    p, X, mask = projections(0), rows(0, 4, 5), causal_mask(4)
    bias = np.where(mask, 0.0, -np.inf)[None, None]
    np.testing.assert_array_equal(
        multi_head_attention(X, p, bias=bias).output,
        multi_head_attention(X, p, mask=mask).output,
    )


# The cache.


@given(SEEDS, LEADS, st.sampled_from([(2, 2), (4, 2), (3, 1)]), st.data())
def test_a_cache_changes_nothing(seed, lead, heads, data):
    p, X = projections(seed, *heads), rows(seed, *lead, 6, 5)
    whole = multi_head_attention(X, p, mask=causal_mask(6))
    cuts = sorted(data.draw(st.sets(st.integers(1, 5))))
    cache, outputs = ListCache(), []
    for start, stop in zip([0, *cuts], [*cuts, 6], strict=True):
        result = multi_head_attention(
            X[..., start:stop, :],
            p,
            mask=causal_mask(stop - start, stop),
            cache=cache,
        )
        assert result.weights.shape[-2:] == (stop - start, stop)
        outputs.append(result.output)
    assert_close(np.concatenate(outputs, axis=-2), whole.output, eps=64)
    K, V = cache.parts[0]
    assert K.shape[-3:] == (heads[1], cuts[0] if cuts else 6, 3)
    assert V.shape[-1] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"mask": np.ones((2, 9), bool)},
        {"mask": np.ones((2, 5))},
        {"bias": np.ones((2, 9))},
        {"context": np.ones((2, 5))},
    ],
)
def test_a_refused_call_appends_nothing(wrong):
    p, cache = projections(0), ListCache()
    multi_head_attention(rows(0, 3, 5), p, cache=cache)
    with pytest.raises((TypeError, ValueError)):
        multi_head_attention(rows(1, 2, 5), p, cache=cache, **wrong)
    assert len(cache) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"bias": np.full((2, 5), np.nan)}, {"W_O": np.full((4, 5), 1.7e308)}],
)
def test_a_call_that_fails_late_appends_nothing_either(wrong):
    p, cache = projections(0), KVCache(9, 2, 3, 2)
    multi_head_attention(rows(0, 3, 5), p, cache=cache)
    wrong = dict(wrong)
    bad = p._replace(W_O=wrong.pop("W_O", p.W_O))
    with pytest.raises(ValueError, match=r"NaN|overflow"):
        multi_head_attention(rows(1, 2, 5), bad, cache=cache, **wrong)
    assert len(cache) == 3
    again = multi_head_attention(rows(1, 2, 5), p, cache=cache)
    assert again.weights.shape == (2, 2, 5)


@pytest.mark.parametrize("name", ["X", "context", "W_Q", "W_K", "W_V", "W_O"])
def test_mixed_types_are_computed_in_the_widest(name):
    p = projections(0)
    arrays = {"X": rows(0, 3, 5), "context": rows(1, 4, 5), **p._asdict()}
    half = {n: np.float16(x) for n, x in arrays.items() if n[-1] != "s"}
    wide = {n: x.astype(float) for n, x in half.items()}

    def run(given):
        q = Projections(*(given[field] for field in p._fields[:4]), 2, 2)
        return multi_head_attention(given["X"], q, context=given["context"])

    for mixed in (half | {name: wide[name]}, wide | {name: half[name]}):
        for result, expected in zip(run(mixed), run(wide), strict=True):
            np.testing.assert_array_equal(result, expected)


# The weights.


def test_weights_are_not_read_again_for_each_token(monkeypatch):
    p, seen, isfinite = projections(0, d_model=50), [], np.isfinite
    monkeypatch.setattr(
        np, "isfinite", lambda x: seen.append(np.size(x)) or isfinite(x)
    )
    multi_head_attention(rows(0, 1, 50), p)
    assert max(seen) < min(W.size for W in p[:4])


@pytest.mark.parametrize("name", ["W_Q", "W_K", "W_V", "W_O"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_refuses_weights_that_became_nan(name, wrong):
    p, X = projections(0, 4, 2), np.zeros((1, 5))
    multi_head_attention(X, p)
    getattr(p, name)[4, 1] = wrong
    message = f"{name} must be finite; got {wrong} at {name}[(4, 1)]"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        multi_head_attention(X, p)


def test_weights_keep_the_size_of_what_they_multiply():
    p = init_projections(np.random.default_rng(0), 512, 8, 2, d_k=48, d_v=32)
    assert [W.shape for W in p[:4]] == [
        (512, 384),
        (512, 96),
        (512, 64),
        (256, 512),
    ]
    assert p[4:] == (8, 2)
    for W in p[:4]:
        # The standard error of a variance over n numbers is sqrt(2 / n).
        assert abs(W.var() * len(W) - 1) < 5 * math.sqrt(2 / W.size)
        assert abs(W.mean()) < 5 * W.std() / math.sqrt(W.size)
    assert abs(np.corrcoef(p.W_K[:, :64].ravel(), p.W_V.ravel())[0, 1]) < 0.05


def changed(**fields):
    return projections(0, 4, 2)._replace(**fields)


def call(p=None, X=None, **more):
    return multi_head_attention(
        rows(0, 3, 5) if X is None else X, p or projections(0, 4, 2), **more
    )


RNG = np.random.default_rng(0)
X35 = np.ones((3, 5))
FITTING = "to fit W_Q (5, 12), W_V (5, 4), n_heads 4 and n_kv_heads 2; got"
REFUSED = {
    "n_heads must divide the last axis of X; got n_heads 2 and X (3, 5)": (
        lambda: split_heads(X35, 2)
    ),
    "n_heads must divide d_model if d_k is not given; got n_heads 3 and": (
        lambda: init_projections(RNG, 8, 3)
    ),
    "n_kv_heads must divide n_heads; got n_kv_heads 4 and n_heads 2": (
        lambda: init_projections(RNG, 8, 2, 4)
    ),
    "n_kv_heads must divide n_heads; got n_kv_heads 2 and n_heads 5": (
        lambda: call(changed(n_heads=5))
    ),
    "n_heads must be at least 1; got 0": lambda: call(changed(n_heads=0)),
    "n_kv_heads must be at least 1; got 0": lambda: call(
        changed(n_kv_heads=0)
    ),
    "n_heads must divide the columns of W_Q; got n_heads 4 and W_Q (5, 10)": (
        lambda: call(changed(W_Q=np.ones((5, 10))))
    ),
    "n_kv_heads must divide the columns of W_V; got n_kv_heads 2 and W_V": (
        lambda: call(changed(W_V=np.ones((5, 3))))
    ),
    f"W_K must be (5, 6) {FITTING} W_K (5, 12)": lambda: call(
        changed(W_K=np.ones((5, 12)))
    ),
    f"W_K must be (5, 6) {FITTING} W_K (6, 6)": lambda: call(
        changed(W_K=np.ones((6, 6)))
    ),
    "W_V must be (5, 4) to fit W_Q (5, 12), W_V (6, 4)": lambda: call(
        changed(W_V=np.ones((6, 4)))
    ),
    f"W_O must be (8, 5) {FITTING} W_O (12, 5)": lambda: call(
        changed(W_O=np.ones((12, 5)))
    ),
    "W_O must have two axes; got W_O (8,)": lambda: call(
        changed(W_O=np.ones(8))
    ),
    "W_Q must have two axes; got W_Q (2, 5, 12)": lambda: call(
        changed(W_Q=np.ones((2, 5, 12)))
    ),
    "X must have d_model = 5 columns, one per row of the projections; got X": (
        lambda: call(X=np.ones((3, 4)))
    ),
    "context must have d_model = 5 columns, one per row of the projections": (
        lambda: call(context=np.ones((3, 12)))
    ),
    "the leading axes of X and context must broadcast; got X (2, 3, 5) and": (
        lambda: call(X=np.ones((2, 3, 5)), context=np.ones((4, 3, 5)))
    ),
    "context and cache exclude each other; got both": lambda: call(
        context=X35, cache=ListCache()
    ),
    "mask must broadcast to scores; got mask (3, 4) and scores (4, 3, 3)": (
        lambda: call(mask=np.ones((3, 4), bool))
    ),
    # Named as it was given, although its first axis serves no sequence.
    "mask must broadcast to scores; got mask (2, 1, 1, 3) and scores (4, 3": (
        lambda: call(mask=padding_mask([3, 3], 3))
    ),
    "bias must broadcast to scores; got bias (2, 3, 3) and scores (4, 3, 3)": (
        lambda: call(bias=np.ones((2, 3, 3)))
    ),
}


@each(REFUSED)
def test_heads_refuse(message, call):
    refused(call, message)


def test_projections_and_caches_are_of_their_kind():
    message = "projections must be Projections; got tuple"
    refused(lambda: call(tuple(projections(0))), message, TypeError)
    refused(lambda: call(cache=[]), "cache must be a KVCache, or", TypeError)


@pytest.mark.parametrize(
    ("matrix", "rows"),
    [
        ("W_Q", "X"),
        ("W_K", "the source"),
        ("W_V", "the source"),
        ("W_O", "the heads"),
    ],
)
def test_refuses_products_that_overflow(matrix, rows):
    p = projections(0, d_model=4, d_k=2)
    p = p._replace(**{matrix: np.full(getattr(p, matrix).shape, 1e300)})
    X = np.full((3, 4), 1e20)
    p = p._replace(W_V=np.ones((4, 4))) if matrix == "W_O" else p
    small = {"W_Q": p.W_Q * 1e-30, "W_K": p.W_K * 1e-30}
    p = p._replace(**small) if matrix == "W_O" else p
    message = f"the products of {rows} and {matrix} overflow float64"
    with pytest.raises(ValueError, match=f"^{message}"):
        multi_head_attention(X, p)


def layer(rng):
    """A layer with four query heads, two key heads, biases: X and p."""
    shapes = {"W_Q": (5, 12), "W_K": (5, 6), "W_V": (5, 4), "W_O": (8, 5)}
    p = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    p |= {f"{n}.bias": rng.normal(size=s[1]) for n, s in shapes.items()}
    return rng.normal(size=(3, 5)), p


def test_attention_layer_equals_the_loop_with_biases_and_rotation(rng):
    """A bias is one more row of the matrix, for a column of ones."""
    X, p = layer(rng)
    ones = np.ones((3, 1))
    wide = [
        np.vstack([p[name], p[f"{name}.bias"]]).tolist()
        for name in ("W_Q", "W_K", "W_V")
    ]
    wide[0] = (6 * np.array(wide[0])).tolist()  # 2 * 3, by the rotation
    rows = np.hstack([X, ones]).tolist()
    keep = np.array([1.0, 0.0, 0.5, -2.0])
    W_O = p["W_O"] * np.repeat(keep, 2)[:, None]
    expected, weights = reference_heads.multi_head(
        rows, rows, *wide, W_O.tolist(), 4, 2
    )
    factors = iter([2.0, 3.0])  # for queries, then for keys
    output, attended = attention_layer(
        X, p, 4, 2, rotate=lambda Z: next(factors) * Z, keep=keep
    )
    assert_close(output, np.array(expected) + p["W_O.bias"], eps=256)
    assert_close(attended.weights, np.array(weights), eps=64)
    assert attended.X is X
    assert [attended.K.shape, attended.V.shape] == [(4, 3, 3), (4, 3, 2)]


def test_attention_layer_names_a_bias_that_is_not_finite(rng):
    X, p = layer(rng)
    p["W_K.bias"] = np.full(6, np.nan)
    with pytest.raises(ValueError, match=r"^W_K.bias must be finite; got nan"):
        attention_layer(X, p, 4, 2)
