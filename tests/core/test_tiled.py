"""Tiled attention against the plain one, by property, measured, refused."""

import functools
import itertools
import os
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import _blas
from helpers.attention import attention, attention_scores
from helpers.heads import repeat_kv
from helpers.masks import causal_mask
from helpers.softmax import logsumexp
from helpers.tiled import Partial, merge_partials, tiled_attention
from tests.core import reference, reference_tiled
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SEEDS = st.integers(0, 2**32 - 1)
BLOCKS = st.sampled_from([1, 2, 3, 5, 7, 64])


def arrays(seed, T, S, d_k, d_v, lead=(), dtype=float):
    rng = np.random.default_rng(seed)
    shapes = (*lead, T, d_k), (*lead, S, d_k), (*lead, S, d_v)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def plain(Q, K, V, *, causal=False, scale=None):
    mask = causal_mask(np.shape(Q)[-2], np.shape(K)[-2]) if causal else None
    return attention(Q, K, V, mask=mask, scale=scale).output


@st.composite
def problems(draw):
    """Sizes with T <= S where causal, and blocks that rarely divide them."""
    causal, S = draw(st.booleans()), draw(st.integers(0, 17))
    T = draw(st.integers(0, S if causal else 17))
    sizes = T, S, draw(st.integers(1, 4)), draw(st.integers(0, 4))
    lead = draw(st.sampled_from([(), (1,), (3,), (2, 3)]))
    return arrays(draw(SEEDS), *sizes, lead), causal


@given(problems(), BLOCKS, BLOCKS, st.sampled_from([1, 2, 120]), BLOCKS)
def test_tiles_change_nothing(problem, block_q, block_k, strip, rows):
    (Q, K, V), causal = problem
    width = max(K.shape[-1], V.shape[-1])
    with pytest.MonkeyPatch.context() as patch:
        # Small problems go through several products a tile, as large ones do.
        patch.setattr(_blas, "STRIP", strip)
        patch.setattr(_blas, "PRODUCT", strip * width * rows)
        output = tiled_attention(
            Q, K, V, causal=causal, block_q=block_q, block_k=block_k
        )
    assert_close(output, plain(Q, K, V, causal=causal), eps=64)


@given(SEEDS, st.integers(1, 5), st.integers(0, 4), st.booleans())
def test_tiled_attention_equals_the_loop(seed, T, earlier, causal):
    S = T + earlier
    Q, K, V = arrays(seed, T, S, 3, 2)
    allowed = [
        [not causal or reference.may_attend(t, s, T, S) for s in range(S)]
        for t in range(T)
    ]
    lists = (a.tolist() for a in (Q, K, V))
    output, _ = reference.attention(*lists, allowed)
    tile = tiled_attention(Q, K, V, causal=causal, block_q=2, block_k=3)
    assert_close(tile, np.array(output), eps=64)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("T", "S", "blocks"),
    [
        (601, 601, {}),  # several tiles and strips in each direction
        (601, 1201, {}),
        (1201, 1201, {"block_q": 211, "block_k": 499}),  # all prime
        (97, 97, {"block_q": 1000, "block_k": 1000}),  # larger than S
        (1, 1500, {}),
    ],
)
def test_large_arrays(T, S, blocks, causal):
    Q, K, V = arrays(0, T, S, 64, 48, (2,))
    output = tiled_attention(Q, K, V, causal=causal, **blocks)
    assert_close(output, plain(Q, K, V, causal=causal))


@pytest.mark.parametrize("scale", [0, -0.5, 3.0])
def test_scale(scale):
    Q, K, V = arrays(1, 5, 9, 4, 3)
    assert_close(
        tiled_attention(Q, K, V, scale=scale, block_k=2),
        plain(Q, K, V, scale=scale),
        eps=64,
    )


def test_the_scale_is_one_over_the_root_of_d_k():
    # d_k = 9: a score of 3 against one of 0, with the values 1 and 0.
    V = np.array([[1.0], [0.0]])
    Q, K = np.ones((1, 9)), V * np.ones(9)
    assert_close(tiled_attention(Q, K, V), 1 / (1 + np.exp([[-3.0]])))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtype_is_kept_and_agrees_with_float64(dtype, causal):
    Q, K, V = arrays(2, 70, 100, 16, 8, (2,), dtype)
    wide = plain(*(a.astype(float) for a in (Q, K, V)), causal=causal)
    output = tiled_attention(Q, K, V, causal=causal, block_k=32)
    assert_close(output, wide.astype(dtype))


def test_a_score_that_overflows_is_no_hidden_key():
    # -4e38 is no float32: the first key would not count, and 5 come out.
    Q = np.array([[-2e38, 1e38, 1.5e38]], "f")
    K, V = np.array([[2, 2, 2], [0, 0, 0]], "f"), np.array([[1], [5]], "f")
    for function in (tiled_attention, attention):
        with pytest.raises(ValueError, match="the scores overflow float32"):
            function(Q, K, V, scale=1)
    output = tiled_attention(Q.astype(float), K, V, scale=1)
    assert_close(output, plain(Q.astype(float), K, V, scale=1))


def test_mixed_types_become_the_widest_as_in_attention():
    Q, K, V = arrays(3, 3, 4, 2, 2)
    for types in itertools.product("efdi", repeat=3):
        mixed = [a.astype(t) for a, t in zip((Q, K, V), types, strict=True)]
        output = tiled_attention(*mixed)
        assert output.dtype == attention(*mixed).output.dtype, types
        wide = plain(*(a.astype(float) for a in mixed))
        assert_close(output, wide.astype(output.dtype))


def test_large_scores_lose_nothing():
    # The largest score grows from key to key, and falls: exp(1000) is inf.
    K = np.array([[0.0], [1000.0], [3000.0], [2999.0], [-5000.0]])
    V = np.arange(10.0).reshape(5, 2)
    for block_k in range(1, 6):
        for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
            tile = tiled_attention(
                [[1.0]], K[order], V[order], block_k=block_k
            )
            assert_close(tile, plain([[1.0]], K, V))


def test_float16_sums_do_not_overflow():
    # 4,000 weights of one and values of 60: their sum, 240,000, is not a
    # float16.
    zeros = np.zeros((4000, 1), np.float16)
    output = tiled_attention(zeros[:1], zeros, zeros + 60)
    np.testing.assert_array_equal(output, np.full((1, 1), 60, np.float16))


@given(SEEDS, BLOCKS, BLOCKS)
def test_the_future_cannot_change_the_past(seed, block_q, block_k):
    Q, K, V = arrays(seed, 6, 8, 3, 2)
    blocks = {"block_q": block_q, "block_k": block_k, "causal": True}
    before = tiled_attention(Q, K, V, **blocks)
    for s in range(8):
        K2, V2 = K.copy(), V.copy()
        K2[s], V2[s] = 1e3, 1e6
        moved = (tiled_attention(Q, K2, V2, **blocks) != before).any(axis=-1)
        assert not moved[: max(0, s - 2)].any()  # query t stands at t + 2
        assert moved[max(0, s - 2)]


def test_no_keys_and_no_queries():
    Q, K, V = arrays(4, 3, 0, 2, 4, (2,))
    output = tiled_attention(Q, K, V)
    np.testing.assert_array_equal(output, np.zeros((2, 3, 4)))
    Q, K, V = arrays(4, 0, 3, 2, 4, (2,))
    for causal in (False, True):
        assert tiled_attention(Q, K, V, causal=causal).shape == (2, 0, 4)
    empty = [np.ones((0, 3, 3))] * 3
    assert tiled_attention(*empty).shape == (0, 3, 3)


def test_leading_axes_broadcast_as_shared_keys_do():
    Q, _, _ = arrays(5, 3, 4, 2, 5, (2, 6))
    _, K, V = arrays(5, 3, 4, 2, 5, (2, 1))
    assert_close(tiled_attention(Q, K, V), plain(Q, K, V))
    assert_close(tiled_attention(Q, K[0, 0], V), plain(Q, K[0, 0], V))


def cores(patch, n):
    patch.setattr(_blas, "cores", lambda: n)


def test_the_number_of_cores_does_not_change_a_bit(monkeypatch):
    Q, K, V = arrays(8, 40, 40, 8, 8, (4,))
    results = []
    for n in (1, 2, 7):
        cores(monkeypatch, n)
        for _ in range(5):
            results.append(tiled_attention(Q, K, V, causal=True, block_q=4))
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_a_browser_starts_no_thread(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(_blas, "ThreadPoolExecutor", None)
    ran = []
    _blas.on_all_cores(lambda i: ran.append((i, np.geterr()["over"])), "abc")
    assert ran == [(i, "ignore") for i in "abc"]


def extra_bytes(function, *arguments, **options):
    """Peak memory during a call, without what it returns."""
    tracemalloc.start()
    try:
        result = function(*arguments, **options)
        return tracemalloc.get_traced_memory()[1] - result.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_extra_memory_does_not_grow_with_the_keys(monkeypatch, dtype):
    cores(monkeypatch, 1)  # threads overlap as they like; one does not
    blocks = functools.partial(tiled_attention, block_q=64, block_k=96)
    # Wide keys: one byte for each of their numbers would be seen.
    few = arrays(9, 64, 512, 64, 8, dtype=dtype)
    many = arrays(9, 64, 4096, 64, 8, dtype=dtype)
    blocks(*few)  # whatever is imported or cached on first use
    small, large = extra_bytes(blocks, *few), extra_bytes(blocks, *many)
    assert large < 1.02 * small + 1000
    assert extra_bytes(plain, *many) > 6 * extra_bytes(plain, *few)
    assert extra_bytes(plain, *many) > 5 * large


def test_extra_memory_does_not_grow_with_the_sequence(monkeypatch):
    cores(monkeypatch, 1)
    blocks = functools.partial(
        tiled_attention, causal=True, block_q=64, block_k=96
    )
    few, many = arrays(9, 256, 256, 8, 8), arrays(9, 2048, 2048, 8, 8)
    blocks(*few)
    small, large = extra_bytes(blocks, *few), extra_bytes(blocks, *many)
    assert large < 1.02 * small + 1000
    # As the docstring says, and NumPy's own buffers of 8192 numbers.
    assert large < 8 * (64 * (96 + 8 + 2 * 8) + 3 * 8192)
    narrow = extra_bytes(blocks, *arrays(9, 2048, 2048, 8, 8, dtype="f4"))
    assert narrow < large - 4 * 64 * 96
    assert extra_bytes(plain, *many, causal=True) > 100 * large


def parts_of(Q, K, V, cuts):
    """Attention over each part of the keys, as a list of Partials."""
    return [
        Partial(plain(Q, k, v), logsumexp(attention_scores(Q, k)))
        for k, v in zip(
            np.split(K, cuts, axis=-2), np.split(V, cuts, axis=-2), strict=True
        )
    ]


def merge(parts):
    return merge_partials(*map(np.stack, zip(*parts, strict=True)))


@given(
    SEEDS,
    st.lists(st.integers(0, 11), max_size=5),
    st.sampled_from([(), (2,), (2, 3)]),
    st.data(),
)
def test_any_order_and_any_tree_of_parts_is_the_whole(seed, cuts, lead, data):
    Q, K, V = arrays(seed, 4, 11, 3, 2, lead)
    parts = parts_of(Q, K, V, sorted(cuts))  # equal cuts: a part with no keys
    (whole,) = parts_of(Q, K, V, [])
    order = data.draw(st.permutations(parts))
    for merged in (merge(parts), merge(order)):
        assert isinstance(merged, Partial)
        assert_close(merged.output, whole.output, eps=64)
        assert_close(merged.logsumexp, whole.logsumexp, eps=64)
    while len(order) > 1:  # a random tree
        n = data.draw(st.integers(2, len(order)))
        order = [*order[n:], merge(order[:n])]
    assert_close(merge(order).output, whole.output, eps=64)
    assert_close(merge(order).logsumexp, whole.logsumexp, eps=64)


@given(SEEDS, st.integers(1, 5))
def test_merge_partials_equals_the_loop(seed, n):
    rng = np.random.default_rng(seed)
    outputs, lse = rng.normal(size=(n, 3, 2)), rng.normal(size=(n, 3)) * 9
    lse[rng.random((n, 3)) < 0.2] = -np.inf
    merged = merge_partials(outputs, lse)
    for t in range(3):
        output, total = reference_tiled.merge(
            outputs[:, t].tolist(), lse[:, t].tolist()
        )
        assert_close(merged.output[t], np.array(output), eps=64)
        assert_close(merged.logsumexp[t], np.float64(total), eps=64)


def test_an_empty_part_has_no_influence_at_all():
    outputs, lse = np.array([[[2.0]], [[1e300]]]), np.array([[7.0], [-np.inf]])
    output, total = merge_partials(outputs, lse)
    assert output.tolist() == [[2.0]]
    assert total.tolist() == [7.0]


def test_nothing_merged_is_nothing_attended():
    for outputs, lse in [
        (np.zeros((0, 2, 3)), np.zeros((0, 2))),
        (np.ones((4, 2, 3)), np.full((4, 2), -np.inf)),
    ]:
        output, total = merge_partials(outputs, lse)
        np.testing.assert_array_equal(output, np.zeros((2, 3)))
        np.testing.assert_array_equal(total, np.full(2, -np.inf))


def test_parts_far_apart_do_not_overflow():
    output, total = merge_partials([[[1.0]], [[3.0]]], [[9000.0], [9000.0]])
    assert output.tolist() == [[2.0]]
    assert_close(total, np.array([9000 + np.log(2)]))
    output, _ = merge_partials([[[1.0]], [[3.0]]], [[9000.0], [-9000.0]])
    assert output.tolist() == [[1.0]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_merging_keeps_the_dtype(dtype):
    merged = merge_partials(np.ones((2, 3, 1), dtype), np.ones((2, 3), dtype))
    assert merged.output.dtype == merged.logsumexp.dtype == dtype


@pytest.mark.parametrize("narrow", [0, 1])
def test_merging_mixed_types_computes_in_the_wider(rng, narrow):
    wide = [rng.normal(size=(3, 4, 2)), rng.normal(size=(3, 4))]
    mixed = list(wide)
    mixed[narrow] = wide[narrow].astype(np.float16)
    wide[narrow] = mixed[narrow].astype(float)
    for result, expected in zip(
        merge_partials(*mixed), merge_partials(*wide), strict=True
    ):
        assert_close(result, expected)


def test_many_parts_in_a_narrow_type_keep_their_digits():
    n = 5000
    outputs, lse = np.ones((n, 2, 1), np.float16), np.zeros((n, 2), np.float16)
    output, total = merge_partials(outputs, lse)
    assert_close(output, np.ones((2, 1), np.float16))
    assert_close(total, np.full(2, np.log(n)).astype(np.float16), eps=1)


I2, I3 = np.eye(2), np.eye(3)
HUGE, MOST = I2 * 1e200, np.finfo(float).max
SHORT, ONES = np.ones((2, 0)), np.ones((2, 2, 2))
VALUES = "the weighted sum of V overflows float"
REFUSED = {
    "Q and K must share d_k; got Q (2, 3) and K (3, 4)": lambda: (
        tiled_attention(np.ones((2, 3)), np.ones((3, 4)), I3)
    ),
    "K and V must share S; got K (2, 2) and V (3, 3)": lambda: tiled_attention(
        I2, I2, I3
    ),
    "the leading axes of Q and K and V must broadcast; got Q (2, 2, 2) and K "
    "(3, 2, 2) and V (2, 2)": lambda: tiled_attention(
        ONES, np.ones((3, 2, 2)), I2
    ),
    "d_k must be at least 1; got 0": lambda: tiled_attention(SHORT, SHORT, I2),
    "the T queries are the last of the S positions, so T <= S; got Q (3, 3) "
    "and K (2, 3)": lambda: tiled_attention(I3, I3[:2], I2, causal=True),
    "Q must be finite; got nan at Q[(0, 0)]": lambda: tiled_attention(
        I2 * np.nan, I2, I2
    ),
    "K must be finite; got -inf at K[(1, 1)]": lambda: tiled_attention(
        I2, np.diag([1, -np.inf]), I2
    ),
    "V must be finite; got inf at V[(1, 1)]": lambda: tiled_attention(
        I2, I2, np.diag([1, np.inf])
    ),
    "the scores overflow float64; pass Q and K in a wider type": [
        lambda: tiled_attention(HUGE, -HUGE, I2, scale=1e200),
        # One query of two; another overflows to both sides.
        lambda: tiled_attention(
            [[1e200, 1e200], [1.0, 0.0]], [[1e200, 1e200]], [[1.0]]
        ),
    ],
    f"{VALUES}32; pass V in a wider type": lambda: tiled_attention(
        *np.zeros((2, 2, 2), "f"), np.full((2, 2), 3e38, "f")
    ),
    # One column of two.
    f"{VALUES}64; pass V in a wider type": lambda: tiled_attention(
        np.zeros((1, 1)), np.zeros((2, 1)), [[MOST, 1], [MOST, 1]]
    ),
    "the merged output overflows float64; pass a wider type": lambda: (
        merge_partials(np.full((11, 1, 1), MOST), np.zeros((11, 1)))
    ),
    "outputs and logsumexps must share (n, ..., T); got outputs (2, 2, 2) "
    "and logsumexps (3, 3)": lambda: merge_partials(ONES, I3),
    "outputs must be finite; got nan at outputs[(0, 0, 0)]": lambda: (
        merge_partials(ONES * np.nan, I2)
    ),
    "logsumexps must not hold NaN or +inf": lambda: merge_partials(
        ONES, I2 + np.inf
    ),
}


@each(REFUSED)
def test_tiles_refuse(message, call):
    refused(call, message)


# The keys in parts, while decoding: ragged lengths, shared heads, T < S.


def in_parts(Q, K, V, cuts):
    """The last queries of a text, (H, T, d), its keys in parts, merged."""
    T, S = Q.shape[-2], K.shape[-2]
    mask, parts = causal_mask(T, S), []
    for k, v, may in zip(
        np.split(K, cuts, axis=-2),
        np.split(V, cuts, axis=-2),
        np.split(mask, cuts, axis=-1),
        strict=True,
    ):
        scores = attention_scores(Q, k)
        lse = logsumexp(scores, where=np.broadcast_to(may, scores.shape))
        parts.append(Partial(attention(Q, k, v, mask=may).output, lse))
    return merge(parts).output


@pytest.mark.parametrize("T", [1, 3])
def test_keys_split_while_decoding_equal_the_loop(rng, T):
    H, H_kv, d_k, d_v = 6, 2, 4, 3
    for S, cuts in ((5, [2, 4]), (9, [0, 1, 7]), (17, [4, 8, 12, 16])):
        Q = rng.normal(size=(H, T, d_k))
        K, V = rng.normal(size=(H_kv, S, d_k)), rng.normal(size=(H_kv, S, d_v))
        shared = [repeat_kv(X, H // H_kv) for X in (K, V)]
        seen = [[s <= S - T + t for s in range(S)] for t in range(T)]
        expected = np.array(
            [
                reference.attention(
                    Q[h].tolist(),
                    K[h * H_kv // H].tolist(),
                    V[h * H_kv // H].tolist(),
                    seen,
                )[0]
                for h in range(H)
            ]
        )
        assert_close(in_parts(Q, *shared, cuts), expected, eps=64)
