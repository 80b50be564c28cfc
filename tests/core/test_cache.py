"""The cache against a plain list, and decoding against the full pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import attention
from helpers.cache import KVCache
from helpers.heads import (
    Projections,
    init_projections,
    multi_head_attention,
    repeat_kv,
)
from helpers.masks import causal_mask, padding_mask, window_mask
from helpers.positions import alibi_bias, alibi_slopes, rotary_embedding
from tests.core import reference, reference_positions
from tests.core.closeness import assert_close
from tests.core.refusals import refused

SEEDS = st.integers(0, 2**32 - 1)
BATCHES = st.sampled_from([(), (3,), (2, 1), (3, 2)])
HEADS = st.sampled_from([(1, 1), (2, 2), (2, 1), (4, 2), (6, 3), (6, 2)])
DTYPES = st.sampled_from([np.float32, np.float64])


def rows(seed, *shape, dtype=float):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@st.composite
def splits(draw, most=8):
    """A length, and the pieces that it arrives in; some hold nothing."""
    T = draw(st.integers(1, most))
    cuts = sorted(draw(st.lists(st.integers(0, T), max_size=T + 1)))
    return T, list(zip([0, *cuts], [*cuts, T], strict=True))


# The cache is a list that grows at its end.


@given(SEEDS, BATCHES, DTYPES, splits(), st.integers(0, 3))
def test_append_gives_what_a_list_would(seed, batch, dtype, split, spare):
    T, pieces = split
    K = rows(seed, *batch, 2, T, 3, dtype=dtype)
    V = rows(seed + 1, *batch, 2, T, 5, dtype=dtype)
    cache = KVCache(T + spare, 2, 3, 5, batch=batch, dtype=dtype)
    kept_K, kept_V = [], []
    for start, stop in pieces:
        kept_K += [K[..., t, :] for t in range(start, stop)]
        kept_V += [V[..., t, :] for t in range(start, stop)]
        all_K, all_V = cache.append(
            K[..., start:stop, :], V[..., start:stop, :]
        )
        assert all_K.shape == (*batch, 2, stop, 3)
        assert all_V.shape == (*batch, 2, stop, 5)
        assert all_K.dtype == all_V.dtype == dtype
        assert len(cache) == len(kept_K) == stop
        for t in range(stop):
            np.testing.assert_array_equal(all_K[..., t, :], kept_K[t])
            np.testing.assert_array_equal(all_V[..., t, :], kept_V[t])


@given(SEEDS, BATCHES, splits(), st.data())
def test_truncate_gives_what_a_shortened_list_would(seed, batch, split, data):
    T, pieces = split
    K, V = rows(seed, *batch, 2, T, 3), rows(seed + 1, *batch, 2, T, 5)
    cache, kept = KVCache(T, 2, 3, 5, batch=batch), []
    for start, stop in pieces:
        # Rows by their number; what is given up may be written over.
        new = list(range(start, stop))[: T - len(kept)]
        kept += new
        all_K, all_V = cache.append(K[..., new, :], V[..., new, :])
        np.testing.assert_array_equal(all_K, K[..., kept, :])
        np.testing.assert_array_equal(all_V, V[..., kept, :])
        length = data.draw(st.integers(0, len(kept)))
        cache.truncate(length)
        del kept[length:]
        assert len(cache) == length
        assert cache.max_len == T


def test_truncate_refuses_and_leaves_the_cache():
    cache, K, V = filled()
    message = "length must be at most 2, the positions that the cache holds; "
    refused(lambda: cache.truncate(3), f"{message}got 3")
    assert len(cache) == 2
    K_then, V_then = cache.append(K[:, :0], V[:, :0])
    np.testing.assert_array_equal(K_then, K)
    np.testing.assert_array_equal(V_then, V)


@given(SEEDS, splits())
def test_what_was_returned_stays_what_it_was(seed, split):
    T, pieces = split
    K, V = rows(seed, 2, T, 3), rows(seed + 1, 2, T, 4)
    cache = KVCache(T, 2, 3, 4)
    returned = []
    for start, stop in pieces:
        K_so_far, V_so_far = cache.append(K[:, start:stop], V[:, start:stop])
        returned.append((K_so_far, K_so_far.copy(), V_so_far, V_so_far.copy()))
    with pytest.raises(ValueError, match="room for max_len"):
        cache.append(K[:, :1] + 1, V[:, :1] + 1)
    for K_view, K_then, V_view, V_then in returned:
        np.testing.assert_array_equal(K_view, K_then)
        np.testing.assert_array_equal(V_view, V_then)


def test_views_are_views_and_refuse_writing():
    cache = KVCache(3, 1, 2)
    first = cache.append(np.ones((1, 1, 2)), np.ones((1, 1, 2)))
    second = cache.append(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)))
    for before, after in zip(first, second, strict=True):
        assert np.shares_memory(before, after)
        for view in (before, after):
            with pytest.raises(ValueError, match="read-only"):
                view[...] = 7
    np.testing.assert_array_equal(second[0][0, :, 0], [1, 0, 0])


def test_the_arguments_are_copied_and_left_alone():
    K, V = rows(0, 2, 1, 3), rows(1, 2, 1, 3)
    before = K.copy(), V.copy()
    cache = KVCache(2, 2, 3)
    all_K, all_V = cache.append(K, V)
    np.testing.assert_array_equal(K, before[0])
    np.testing.assert_array_equal(V, before[1])
    K += 1
    V += 1
    np.testing.assert_array_equal(all_K, before[0])
    np.testing.assert_array_equal(all_V, before[1])


def test_its_own_contents_can_be_appended():
    cache = KVCache(4, 1, 1)
    cache.append(*cache.append([[[1.0], [2.0]]], [[[3.0], [4.0]]]))
    K, V = cache.append(np.ones((1, 0, 1)), np.ones((1, 0, 1)))
    assert K.ravel().tolist() == [1, 2, 1, 2]
    assert V.ravel().tolist() == [3, 4, 3, 4]


@pytest.mark.parametrize("batch", [(), (3,), (3, 2)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nbytes_counts_every_number_once(batch, dtype):
    cache = KVCache(7, 2, 3, 5, batch=batch, dtype=dtype)
    numbers = 0
    for _ in np.ndindex(*batch, 2, 7):
        numbers += 3 + 5
    empty = cache.nbytes
    cache.append(np.ones((*batch, 2, 4, 3)), np.ones((*batch, 2, 4, 5)))
    bits = np.finfo(dtype).bits
    assert empty == cache.nbytes == numbers * bits // 8
    assert cache.max_len == 7


def test_values_are_as_wide_as_keys_unless_said_otherwise():
    assert KVCache(1, 1, 3).nbytes == KVCache(1, 1, 3, 3).nbytes
    assert KVCache(1, 1, 3, 5).nbytes == 8 * (3 + 5)


def test_the_type_is_the_cache_s_and_not_the_argument_s():
    cache = KVCache(4, 1, 1, dtype=np.float16)
    third = [[[1 / 3]]]
    K, V = cache.append(np.array(third, np.float64), np.array([[[7]]]))
    assert K.dtype == V.dtype == np.float16
    assert abs(float(K[0, 0, 0]) - 1 / 3) < 2.0**-13  # half a last place
    assert V[0, 0, 0] == 7


def test_the_byte_order_is_the_machine_s():
    cache = KVCache(1, 1, 1, dtype=np.dtype(np.float32).newbyteorder())
    for x in cache.append([[[1.5]]], [[[2.5]]]):
        assert x.dtype == np.float32
        assert x.dtype.isnative


# Any split of a sequence equals the full pass.


class Task:
    """One sequence of queries, keys and values, and what it may attend to."""

    def __init__(self, draw, T):
        self.T, self.kind = (
            T,
            draw(st.sampled_from(["causal", "window", "padding"])),
        )
        self.H, self.H_kv = draw(HEADS)
        self.alibi, self.rope = draw(st.booleans()), draw(st.booleans())
        self.dtype, seed = draw(DTYPES), draw(SEEDS)
        self.window = draw(st.integers(1, T + 1))
        B = 2 if self.kind == "padding" else draw(st.integers(1, 2))
        self.lengths = draw(
            st.lists(st.integers(0, T), min_size=B, max_size=B)
        )
        self.Q = rows(seed, B, self.H, T, 4, dtype=self.dtype)
        self.K = rows(seed + 1, B, self.H_kv, T, 4, dtype=self.dtype)
        self.V = rows(seed + 2, B, self.H_kv, T, 3, dtype=self.dtype)

    def allowed(self, b, t, s):
        """Whether position t may see position s, both counted from 0."""
        if self.kind == "padding" and s >= self.lengths[b]:
            return False
        window = self.window if self.kind == "window" else None
        return reference.may_attend(t, s, self.T, self.T, window)

    def full_pass(self):
        """Every position at once, in loops that know of no cache."""
        output = np.empty((*self.Q.shape[:-1], 3), self.dtype)
        for b, h in np.ndindex(self.Q.shape[:2]):
            g = h * self.H_kv // self.H
            Q, K = self.Q[b, h].tolist(), self.K[b, g].tolist()
            if self.rope:
                Q = [reference_positions.rotate(q, t) for t, q in enumerate(Q)]
                K = [reference_positions.rotate(k, t) for t, k in enumerate(K)]
            slope = float(alibi_slopes(self.H)[h]) if self.alibi else 0.0
            output[b, h], _ = reference.attention(
                Q,
                K,
                self.V[b, g].tolist(),
                [
                    [self.allowed(b, t, s) for s in range(self.T)]
                    for t in range(self.T)
                ],
                reference_positions.alibi(slope, self.T, self.T),
            )
        return output

    def mask(self, n, S):
        if self.kind == "window":
            return window_mask(n, S, left=self.window - 1, right=0)
        if self.kind == "causal":
            return causal_mask(n, S)
        # Padding hides positions of the whole sequence: cut to those so far.
        real = padding_mask(self.lengths, self.T)[..., :S]
        return real & causal_mask(n, S)

    def piece(self, cache, start, stop):
        """Positions start to stop - 1, with what the cache remembers."""
        Q, K = self.Q[..., start:stop, :], self.K[..., start:stop, :]
        if self.rope:
            positions = len(cache) + np.arange(stop - start)
            Q = rotary_embedding(Q, positions)
            K = rotary_embedding(K, positions)
        K, V = cache.append(K, self.V[..., start:stop, :])
        n_rep = self.H // self.H_kv
        bias = None
        if self.alibi:
            bias = alibi_bias(self.H, stop - start, stop)
        return attention(
            Q,
            repeat_kv(K, n_rep),
            repeat_kv(V, n_rep),
            mask=self.mask(stop - start, stop),
            bias=bias,
        ).output

    def cache(self, spare=0):
        return KVCache(
            self.T + spare,
            self.H_kv,
            4,
            3,
            batch=self.Q.shape[:1],
            dtype=self.dtype,
        )


@given(splits(), st.data(), st.integers(0, 2))
def test_any_split_equals_the_full_pass(split, data, spare):
    T, pieces = split
    task = Task(data.draw, T)
    cache = task.cache(spare)
    outputs = [task.piece(cache, *piece) for piece in pieces]
    joined = np.concatenate(outputs, axis=-2)
    assert_close(joined, task.full_pass(), eps=64)


@given(SEEDS, BATCHES, HEADS, DTYPES, splits())
def test_multi_head_attention_decodes(seed, batch, heads, dtype, split):
    T, pieces = split
    made = init_projections(
        np.random.default_rng(seed), 5, *heads, d_k=3, d_v=2
    )
    p = Projections(*(W.astype(dtype) for W in made[:4]), *heads)
    X = rows(seed, *batch, T, 5, dtype=dtype)
    whole = multi_head_attention(X, p, mask=causal_mask(T))
    cache = KVCache(T, heads[1], 3, 2, batch=batch, dtype=dtype)
    outputs = []
    for start, stop in pieces:
        part = multi_head_attention(
            X[..., start:stop, :],
            p,
            mask=causal_mask(stop - start, stop),
            cache=cache,
        )
        assert part.output.dtype == dtype
        assert part.weights.shape == (*batch, heads[0], stop - start, stop)
        assert_close(
            part.weights, whole.weights[..., start:stop, :stop], eps=64
        )
        outputs.append(part.output)
    assert len(cache) == T
    assert_close(np.concatenate(outputs, axis=-2), whole.output, eps=64)


def test_a_full_cache_stops_multi_head_attention():
    p = init_projections(np.random.default_rng(0), 4, 2)
    cache = KVCache(2, 2, 2)
    multi_head_attention(rows(0, 2, 4), p, cache=cache)
    with pytest.raises(ValueError, match="room for max_len = 2"):
        multi_head_attention(rows(1, 1, 4), p, cache=cache)
    assert len(cache) == 2


def test_a_window_needs_only_the_last_keys():
    # What is out of the window may as well be thrown away.
    Q, K, V = rows(0, 9, 4), rows(1, 9, 4), rows(2, 9, 3)
    windowed = attention(Q, K, V, mask=window_mask(9, left=3, right=0))
    for t in range(9):
        kept = slice(max(0, t - 3), t + 1)
        last = attention(Q[t : t + 1], K[kept], V[kept])
        assert_close(last.output[0], windowed.output[t])


# What is refused leaves the cache as it was.


def filled(**made):
    """A cache with two of four positions stored, and what it holds."""
    cache = KVCache(4, 2, 3, 5, **made)
    batch = made.get("batch", ())
    K, V = rows(0, *batch, 2, 2, 3), rows(1, *batch, 2, 2, 5)
    dtype = made.get("dtype", float)
    cache.append(K, V)
    return cache, K.astype(dtype), V.astype(dtype)


def array(*shape, entry=1.0):
    return np.full(shape, entry)


REFUSED = [
    (
        "the cache has room for max_len = 4 positions and holds 2; got K (2, ",
        {},
        (array(2, 3, 3), array(2, 3, 5)),
    ),
    (
        "K must be (2, n, 3) to fit the cache; got K (2, 1, 4)",
        {},
        (array(2, 1, 4), array(2, 1, 5)),
    ),
    (
        "V must be (2, n, 5) to fit the cache; got V (2, 1, 3)",
        {},
        (array(2, 1, 3), array(2, 1, 3)),
    ),
    (
        "K must be (2, n, 3) to fit the cache; got K (1, 1, 3)",
        {},
        (array(1, 1, 3), array(1, 1, 5)),
    ),
    (
        "K must be (2, n, 3) to fit the cache; got K ()",
        {},
        (1.0, array(2, 1, 5)),
    ),
    (
        "K must be (2, n, 3) to fit the cache; got K (6, 2, 1, 3)",
        {},
        (array(6, 2, 1, 3), array(6, 2, 1, 5)),
    ),
    (
        "V must be (6, 2, n, 5) to fit the cache; got V (1, 2, 1, 5)",
        {"batch": (6,)},
        (array(6, 2, 1, 3), array(1, 2, 1, 5)),
    ),
    (
        "K and V must hold the same number of positions; got K (2, 2, 3) and",
        {},
        (array(2, 2, 3), array(2, 1, 5)),
    ),
    (
        "V must be finite; got -inf at V[(0, 0, 0)]",
        {},
        (array(2, 1, 3), array(2, 1, 5, entry=-np.inf)),
    ),
    (
        "V overflows the cache's float16; pass a wider type",
        {"dtype": np.float16},
        (array(2, 1, 3), array(2, 1, 5, entry=1e5)),
    ),
]


@pytest.mark.parametrize(("message", "made", "args"), REFUSED)
def test_a_refused_append_changes_nothing(message, made, args):
    cache, K, V = filled(**made)
    refused(lambda: cache.append(*args), message)
    assert len(cache) == 2
    batch = made.get("batch", ())
    # Room and contents are untouched: two further positions still fit.
    all_K, all_V = cache.append(
        array(*batch, 2, 2, 3, entry=8), array(*batch, 2, 2, 5, entry=9)
    )
    np.testing.assert_array_equal(all_K[..., :2, :], K)
    np.testing.assert_array_equal(all_V[..., :2, :], V)
    assert (all_K[..., 2:, :] == 8).all()
    assert (all_V[..., 2:, :] == 9).all()


@pytest.mark.parametrize("dtype", [complex, int, None, "wide", "f4,f4"])
def test_a_cache_is_of_a_floating_type(dtype):
    message = f"dtype must be a floating type; got {dtype!r}"
    refused(lambda: KVCache(1, 1, 1, dtype=dtype), message, TypeError)


def test_a_cache_larger_than_any_memory_is_refused():
    shape = "(1048576, 1099511627776, 1024)"
    message = f"a cache of shape {shape} is larger than any memory"
    refused(lambda: KVCache(2**40, 2**20, 2**10), message)
