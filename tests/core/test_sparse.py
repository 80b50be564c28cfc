"""Choosing what to read: against loops, and what it costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import cost
from helpers.attention import attention
from helpers.gradients import attention_vjp
from helpers.masks import causal_mask, padding_mask
from helpers.sparse import (
    chosen_attention,
    chosen_blocks,
    chosen_mask,
    index_scores,
    pooled_blocks,
    three_branches,
    tokens_read,
)
from tests.core import reference_sparse
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, T=4, S=6, H=3, d=5, lead=(), dtype=float):
    rng = np.random.default_rng(seed)
    shapes = (*lead, H, T, d), (*lead, S, d), (*lead, T, H)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@given(SEEDS, st.integers(1, 4), st.integers(1, 6), st.integers(1, 3))
def test_scores_equal_the_loop(seed, T, S, H):
    arrays = problem(seed, T, S, H)
    expected = reference_sparse.index_scores(*(x.tolist() for x in arrays))
    assert_close(index_scores(*arrays), np.array(expected), eps=64)


def test_a_key_can_be_shared_by_a_batch():
    Q, K, weights = problem(0, lead=(2, 3))
    shared = index_scores(Q, K[0, 0], weights)
    assert_close(shared[1, 2], index_scores(Q[1, 2], K[0, 0], weights[1, 2]))


@given(st.data(), st.integers(0, 4), st.integers(0, 6), st.integers(1, 8))
def test_the_choice_equals_the_loop(data, T, S, k):
    # Few numbers, so that many are equal.
    row = st.lists(st.integers(-2, 2), min_size=S, max_size=S)
    may = st.lists(st.booleans(), min_size=S, max_size=S)
    scores = data.draw(st.lists(row, min_size=T, max_size=T))
    allowed = data.draw(st.lists(may, min_size=T, max_size=T))
    expected = reference_sparse.chosen_mask(scores, k, allowed)
    shape = (T, S)
    result = chosen_mask(
        np.array(scores, float).reshape(shape),
        k,
        mask=np.array(allowed, bool).reshape(shape),
    )
    assert result.dtype == bool
    np.testing.assert_array_equal(
        result, np.array(expected, bool).reshape(shape)
    )


@given(SEEDS, st.integers(1, 9))
def test_a_causal_choice_reads_no_later_key(seed, k):
    scores = np.random.default_rng(seed).normal(size=(2, 7, 7))
    causal = causal_mask(7)
    chosen = chosen_mask(scores, k, mask=causal)
    assert not (chosen & ~causal).any()
    np.testing.assert_array_equal(
        chosen.sum(-1), np.minimum(k, np.arange(1, 8)) + np.zeros((2, 1), int)
    )
    # A later key's score changes no earlier choice.
    scores[..., 6] += 99
    again = chosen_mask(scores, k, mask=causal)
    np.testing.assert_array_equal(again[:, :6], chosen[:, :6])
    if k >= 7:
        np.testing.assert_array_equal(chosen, np.stack([causal] * 2))


def test_padding_is_not_chosen_if_heads_share_the_choice():
    # A padding mask has an axis for heads, which scores for all heads lack.
    scores = np.random.default_rng(4).normal(size=(2, 3, 5))
    result = chosen_mask(scores, 2, mask=padding_mask([5, 2], 5))
    np.testing.assert_array_equal(result[0], chosen_mask(scores[0], 2))
    np.testing.assert_array_equal(result[1], [[1, 1, 0, 0, 0]] * 3)


def attended(seed, T, S, k, H=2, dtype=float):
    """Queries, keys and values of some heads, and one choice for all."""
    rng = np.random.default_rng(seed)
    Q, K, V = (
        rng.normal(size=(H, n, d)).astype(dtype)
        for n, d in ((T, 4), (S, 4), (S, 3))
    )
    chosen = chosen_mask(rng.normal(size=(T, S)), k, mask=causal_mask(T, S))
    return Q, K, V, chosen


@given(SEEDS, st.integers(1, 5), st.integers(0, 4), st.integers(1, 7))
def test_gathered_equals_masked_and_the_loop(seed, T, more, k):
    Q, K, V, chosen = attended(seed, T, T + more, k)
    output = chosen_attention(Q, K, V, chosen)
    assert_close(output, attention(Q, K, V, mask=chosen).output, eps=64)
    for h in range(2):
        expected = reference_sparse.chosen_attention(
            *(x[h].tolist() for x in (Q, K, V)), chosen.tolist()
        )
        assert_close(output[h], np.array(expected), eps=64)


def test_what_is_not_chosen_is_not_read():
    Q, K, V, chosen = attended(1, 3, 9, 2)
    unread = ~chosen.any(0)
    assert unread.any()
    output = chosen_attention(Q, K, V, chosen)
    # Their scores would overflow.
    K[:, unread], V[:, unread] = 1.7e308, -1.7e308
    np.testing.assert_array_equal(chosen_attention(Q, K, V, chosen), output)
    with pytest.raises(ValueError, match="the scores overflow"):
        attention(Q, K, V, mask=chosen)


def test_a_row_that_chose_nothing_is_zero():
    Q, K, V, chosen = attended(2, 3, 5, 2)
    chosen[1] = False
    assert np.all(chosen_attention(Q, K, V, chosen)[:, 1] == 0)
    assert np.all(chosen_attention(Q, K, V, chosen & False) == 0)


@pytest.mark.parametrize(("T", "S"), [(0, 0), (0, 3), (2, 0)])
def test_nothing_to_ask_and_nothing_to_read(T, S):
    scores = index_scores(*problem(3, T, S))
    assert scores.shape == (T, S)
    chosen = chosen_mask(scores, 2)
    assert chosen.shape == (T, S)
    output = chosen_attention(
        np.ones((2, T, 4)), np.ones((2, S, 4)), np.ones((2, S, 3)), chosen
    )
    assert output.shape == (2, T, 3)
    assert np.all(output == 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_narrow_type_is_kept(dtype):
    arrays = problem(4, dtype=dtype)
    wide = index_scores(*(x.astype(float) for x in arrays))
    assert_close(index_scores(*arrays), wide.astype(dtype), eps=32)
    *QKV, chosen = attended(5, 3, 6, 2, dtype=dtype)
    wide = chosen_attention(*(x.astype(float) for x in QKV), chosen)
    assert_close(chosen_attention(*QKV, chosen), wide.astype(dtype), eps=16)


@given(SEEDS, st.integers(0, 9), st.integers(1, 4), st.integers(1, 4))
def test_means_of_blocks_equal_the_loop(seed, S, length, stride):
    X = np.random.default_rng(seed).normal(size=(2, S, 3))
    result = pooled_blocks(X, length, stride=stride)
    for i in range(2):
        expected = reference_sparse.pooled_blocks(
            X[i].tolist(), length, stride
        )
        assert_close(result[i], np.reshape(expected, (-1, 3)))
    whole = pooled_blocks(X, length)
    np.testing.assert_array_equal(
        whole, pooled_blocks(X, length, stride=length)
    )
    assert whole.shape == (2, S // length, 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_mean_of_the_largest_numbers_is_finite(dtype):
    top = np.finfo(dtype).max
    X = np.full((4, 1), top, dtype)
    result = pooled_blocks(X, 4)
    assert result.dtype == dtype
    assert_close(result, np.full((1, 1), top))


@given(st.data(), st.integers(0, 3), st.integers(0, 4), st.integers(1, 5),
       st.integers(1, 3), st.integers(0, 3))  # fmt: skip
def test_the_choice_of_blocks_equals_the_loop(
    data, T, blocks, n, length, more
):
    row = st.lists(st.integers(-2, 2), min_size=blocks, max_size=blocks)
    may = st.lists(st.booleans(), min_size=blocks, max_size=blocks)
    scores = data.draw(st.lists(row, min_size=T, max_size=T))
    allowed = data.draw(st.lists(may, min_size=T, max_size=T))
    S = blocks * length + more
    expected = reference_sparse.chosen_blocks(scores, n, length, S, allowed)
    result = chosen_blocks(
        np.array(scores, float).reshape(T, blocks),
        n,
        length,
        S,
        mask=np.array(allowed, bool).reshape(T, blocks),
    )
    np.testing.assert_array_equal(
        result, np.array(expected, bool).reshape(T, S)
    )


def branches(seed, T, S, lead=()):
    rng = np.random.default_rng(seed)
    shapes = (T, 3), (S, 3), (S, 2), (T, 3)
    return [rng.normal(size=(*lead, *shape)) for shape in shapes]


@given(SEEDS, st.integers(1, 4), st.integers(0, 8), st.integers(1, 4),
       st.integers(1, 4), st.integers(1, 6))  # fmt: skip
def test_three_branches_equal_the_loop(seed, T, more, length, n, window):
    arrays = branches(seed, T, T + more)
    result = three_branches(*arrays, length=length, n=n, window=window)
    expected = reference_sparse.three_branches(
        *(x.tolist() for x in arrays), length, n, window
    )
    assert_close(result, np.array(expected), eps=128)


def test_three_branches_refuses_a_sum_beyond_its_type():
    h = np.float16
    with pytest.raises(ValueError, match="the gated sum overflows float16"):
        three_branches(
            h([[0]]), h([[0], [0]]), h([[40000], [40000]]), h([[1, 1, 0]]),
            length=1, n=1, window=1,
        )  # fmt: skip


def test_three_branches_of_a_batch_are_those_of_its_parts():
    arrays = branches(6, 3, 9, (2, 2))
    options = {"length": 2, "n": 2, "window": 3}
    result = three_branches(*arrays, **options)
    for i in np.ndindex(2, 2):
        part = three_branches(*(x[i] for x in arrays), **options)
        assert_close(result[i], part, eps=64)
    shared = three_branches(*arrays[:3], [0.5, 0.25, 1], **options)
    gates = np.broadcast_to([0.5, 0.25, 1], arrays[3].shape)
    assert_close(shared, three_branches(*arrays[:3], gates, **options))


def test_every_branch_has_the_scale():
    Q, K, V, gates = branches(9, 2, 9)
    options = {"length": 3, "n": 2, "window": 4}
    for gate in (gates, *np.eye(3)):
        result = three_branches(Q, K, V, gate, scale=0.3, **options)
        same = three_branches(Q * 0.3 * np.sqrt(3), K, V, gate, **options)
        assert_close(result, same, eps=64)
    # A negative scale turns the order of the blocks round.
    result = three_branches(-Q, K, V, [0, 1, 0], scale=-1.0, **options)
    same = three_branches(Q, K, V, [0, 1, 0], scale=1.0, **options)
    assert_close(result, same, eps=64)


def test_no_branch_reads_a_later_key():
    Q, K, V, gates = branches(7, 6, 6)
    options = {"length": 2, "n": 1, "window": 2}
    result = three_branches(Q, K, V, gates, **options)
    for t in range(5):
        K_, V_ = K.copy(), V.copy()
        K_[t + 1 :], V_[t + 1 :] = 7, -9
        again = three_branches(Q, K_, V_, gates, **options)
        assert_close(again[: t + 1], result[: t + 1])


def test_with_enough_blocks_and_window_two_branches_read_all():
    Q, K, V, _ = branches(8, 1, 8)
    result = three_branches(Q, K, V, [0, 1, 0], length=2, n=4, window=1)
    whole = attention(Q, K, V).output
    assert_close(result, whole, eps=32)
    result = three_branches(Q, K, V, [0, 0, 1], length=2, n=1, window=8)
    assert_close(result, whole, eps=32)


@given(SEEDS, st.integers(1, 4), st.integers(0, 4), st.integers(1, 6))
def test_the_error_is_the_missed_weight_times_a_distance(seed, T, more, k):
    # all = (1 - missed) * chosen + missed * others, for each query
    Q, K, V, chosen = attended(seed, T, T + more, k)
    causal = causal_mask(T, T + more)
    others = causal & ~chosen
    whole = attention(Q, K, V, mask=causal)
    missed = (whole.weights * others).sum(-1, keepdims=True)
    read = chosen_attention(Q, K, V, chosen)
    left = chosen_attention(Q, K, V, others)
    assert_close(read - whole.output, missed * (read - left), eps=256)


@given(SEEDS, st.integers(1, 4), st.integers(0, 4), st.integers(1, 7))
def test_gradients_through_the_choice_equal_differences(seed, T, more, k):
    Q, K, V, chosen = attended(seed, T, T + more, k)
    rng = np.random.default_rng(seed)
    upstream = rng.normal(size=(2, T, 3))
    weights = attention(Q, K, V, mask=chosen).weights
    grads = attention_vjp(upstream, Q, K, V, weights)
    unread = ~chosen.any(0)
    assert not grads.K[:, unread].any()
    assert not grads.V[:, unread].any()
    step = 1e-6
    for name, X in zip("QKV", (Q, K, V), strict=True):
        way = rng.normal(size=X.shape)
        ends = [
            (
                chosen_attention(
                    **{"Q": Q, "K": K, "V": V} | {name: X + sign * step * way},
                    chosen=chosen,
                )
                * upstream
            ).sum()
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * step)
        result = (getattr(grads, name) * way).sum()
        assert abs(result - slope) < 1e-6 * (1 + abs(slope))


SIZES = st.tuples(*[st.integers(1, 9)] * 5)


READ = "length", "stride", "chosen_length", "n_chosen", "window"


@given(st.integers(0, 60), SIZES)
def test_tokens_are_counted_as_by_the_loop(more, sizes):
    S = sizes[0] + more
    result = tokens_read(S, **dict(zip(READ, sizes, strict=True)))
    expected = reference_sparse.tokens_read(S, *sizes)
    assert (*result.values(),) == (*expected, sum(expected))


def test_the_papers_rule_gives_two_less_than_its_table():
    # Yuan et al. 2025, table 4; its ratios are right to the digit printed.
    table = {
        8192: (2048, 4.0),
        16384: (2560, 6.4),
        32768: (3584, 9.1),
        65536: (5632, 11.6),
    }
    for S, (printed, ratio) in table.items():
        result = tokens_read(S)["total"]
        assert result == printed - 2
        assert round(S / result, 1) == round(S / printed, 1) == ratio


@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 4),
       st.integers(1, 4))  # fmt: skip
def test_index_operations_are_counted_as_by_the_loop(T, S, H, d):
    result = cost.index_flops(T, S, H, d)
    expected = reference_sparse.index_flops(T, S, H, d)
    assert result == expected | {"total": sum(expected.values())}


def test_the_indexer_costs_more_than_the_reading_that_it_serves():
    # DeepSeek-V3.2: 128 heads over latent vectors of 512 and rotated keys
    # of 64; 64 index heads of 128; 2,048 tokens are chosen.
    S = 131_072
    whole, chosen = (
        cost.attention_flops(1, n, 512 + 64, 512, n_heads=128)
        for n in (S, 2048)
    )
    index = cost.index_flops(1, S, n_heads=64, d_k=128)
    products = [x["scores"] + x["values"] for x in (whole, chosen)]
    assert products == [36_507_222_016, 570_425_344]
    assert index["products"] == 2_147_483_648
    assert products[0] / products[1] == S / 2048 == 64
    assert round(products[0] / (products[1] + index["products"]), 1) == 13.4
    assert round(index["products"] / products[1], 1) == 3.8
    # With softmax, scale and the indexer's sums it is a little less.
    every = whole["total"] / (chosen["total"] + index["total"])
    assert round(every, 1) == 13.3


Q3, I2, I3, ALL = np.ones((2, 3, 4)), np.eye(2), np.eye(3), np.ones((2, 2)) > 0
REFUSED = {
    "Q and K must share d; got Q (2, 3, 4) and K (5, 3)": lambda: index_scores(
        Q3, np.ones((5, 3)), np.ones((3, 2))
    ),
    "weights must have a number for each query and head of Q; got weights (2, "
    "3) and Q (2, 3, 4)": lambda: index_scores(Q3, Q3[0], np.ones((2, 3))),
    "the leading axes of Q, K and weights must broadcast; got Q (2, 3, 4), K "
    "(9, 5, 4) and weights (8, 3, 2)": lambda: index_scores(
        Q3, np.ones((9, 5, 4)), np.ones((8, 3, 2))
    ),
    "the index scores overflow float64": [
        lambda: index_scores([[[1e200]]], [[1e200]], [[1.0]]),
        lambda: index_scores([[[1e200]]], [[1e200]], [[0.0]]),
    ],
    "mask must broadcast to scores": lambda: chosen_mask(I2, 1, mask=I3 > 0),
    "chosen must broadcast to scores": lambda: chosen_attention(
        I2, I2, I2, I3 > 0
    ),
    "Q and K must share d_k; got Q (2, 2) and K (2, 3)": lambda: (
        chosen_attention(I2, np.ones((2, 3)), I2, ALL)
    ),
    "K and V must share S; got K (2, 2) and V (3, 3)": lambda: (
        chosen_attention(I2, I2, I3, ALL)
    ),
    "the blocks of scores must fit into the S keys; got 3 blocks of 2 and S "
    "= 5": lambda: chosen_blocks(np.ones((1, 3)), 1, 2, 5),
    "gates must broadcast to (..., T, 3); got gates (2, 2) and": lambda: (
        three_branches(I2, I2, I2, I2, length=1, n=1, window=1)
    ),
    "the T queries are the last of the S positions, so T <= S; got Q (3, 2) "
    "and K (2, 2)": lambda: three_branches(
        np.ones((3, 2)), I2, I2, np.ones(3), length=1, n=1, window=1
    ),
}


@each(REFUSED)
def test_choices_refuse(message, call):
    refused(call, message)
