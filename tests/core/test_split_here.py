"""Split attention on a cluster that is made of names, in this process.

Its client does at once what it is asked for, and counts. So each shard, each
loss of a worker and each number that travels can be looked at, and no process
is started. `tests/core/test_distributed.py` has a real cluster.
"""

import re
from concurrent.futures import CancelledError
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import distributed
from helpers.attention import attention
from helpers.distributed import bytes_received, place_keys, split_attention
from helpers.heads import repeat_kv
from helpers.masks import causal_mask
from tests.core import reference
from tests.core.closeness import assert_close
from tests.core.refusals import refused

I2 = np.eye(2)


class Held:
    """A future: what a worker holds, as long as that lives."""

    def __init__(self, client, value, worker):
        self.client, self.value, self.worker = client, value, worker

    def cancelled(self):
        return self.worker not in self.client.alive

    def exception(self, timeout):
        return CancelledError() if self.cancelled() else None

    def result(self, timeout):
        if self.cancelled():
            raise CancelledError
        return self.value


class Here:
    """A client of workers that are names."""

    def __init__(self, address, timeout, set_as_default):
        if address == "nowhere":
            raise OSError("no such place")
        assert timeout == distributed._PATIENCE
        assert not set_as_default
        self.scheduler = SimpleNamespace(address=address)
        self.status, self.asynchronous = "running", False
        self.alive = ["a", "b", "c"]
        self.submitted = []  # names of functions, and where they ran
        self.frozen, self.calls = set(), []
        self.codes = {}  # what workers answer that have other helpers
        self.copies = {}  # numbers that travelled, by their place and aim

    def close(self):
        self.status = "closed"

    def nthreads(self):
        return dict.fromkeys(reversed(self.alive), 1)

    def wait_for_workers(self, count, timeout):
        assert timeout == distributed._PATIENCE
        if len(self.alive) < count:
            raise TimeoutError

    def run(self, function, *, workers, on_error, callback_timeout):
        assert set(workers) <= set(self.alive)
        assert on_error == "return"
        assert callback_timeout == distributed._PATIENCE
        self.calls.append(list(workers))
        if self.frozen.intersection(workers):
            raise TimeoutError
        return {it: self.codes.get(it, function()) for it in workers}

    def scheduler_info(self):
        heard = {it: {"last_seen": it not in self.frozen} for it in self.alive}
        return {"workers": heard}

    def scatter(self, array, *, workers, hash, timeout):
        assert timeout == distributed._PATIENCE
        assert not hash  # equal shards would be one, on one worker
        assert array.flags.c_contiguous
        (worker,) = workers
        if worker not in self.alive:
            raise KeyError(worker)
        return Held(self, array, worker)

    def submit(self, function, *given, workers, pure):
        assert not pure  # equal parts would be one, on one worker
        (worker,) = workers
        futures = [part for part in given if isinstance(part, Held)]
        if any(part.cancelled() for part in futures):
            return Held(self, None, "gone")
        for part in futures:
            if part.worker != worker:
                self.copies[id(part), worker] = part
        self.submitted.append((function.__name__, worker))
        given = [p.value if isinstance(p, Held) else p for p in given]
        return Held(self, function(*given), worker)

    def crossed(self):
        """How many numbers have gone from one worker to another."""
        return sum(
            sum(map(np.size, part.value))
            if isinstance(part.value, tuple)
            else part.value.size
            for part in self.copies.values()
        )

    def partials(self):
        """Where a part of the keys was attended to, in turn."""
        return [at for name, at in self.submitted if name == "_partial"]


@pytest.fixture
def client(monkeypatch):
    for name in ("Client", "_Client"):  # what is asked for, and what is made
        monkeypatch.setattr(distributed, name, Here)
    return connected()


def connected(workers="abc", address="here"):
    client = Here(address, distributed._PATIENCE, False)
    client.alive = list(workers)
    return client


def arrays(T, S, d_k=2, d_v=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=n) for n in ((T, d_k), (S, d_k), (S, d_v))]


def loop(Q, K, V, causal=False, scale=None):
    T, S = len(Q), len(K)
    allowed = [
        [reference.may_attend(t, s, T, S) for s in range(S)] for t in range(T)
    ]
    lists = (X.tolist() for X in (Q, K, V))
    return np.array(
        reference.attention(*lists, allowed if causal else None, scale=scale)[
            0
        ]
    )


# --- where the keys lie ------------------------------------------------------


@pytest.mark.parametrize(
    ("striped", "positions"),
    [
        (False, [range(0, 2), range(2, 4), range(4, 7)]),
        (True, [range(0, 7, 3), range(1, 7, 3), range(2, 7, 3)]),
    ],
)
def test_each_worker_gets_the_rows_of_its_positions(
    client, striped, positions
):
    _, K, V = arrays(1, 7)
    placed = place_keys(client, K, V, striped=striped)
    for X, source in zip(placed, (K, V), strict=True):
        assert X.positions == positions
        assert X.workers == ["a", "b", "c"]
        assert [shard.worker for shard in X.shards] == ["a", "b", "c"]
        for shard, at in zip(X.shards, positions, strict=True):
            assert shard.value.tolist() == [list(source[s]) for s in at]


def test_shards_lie_in_the_order_of_the_workers_that_are_named(client):
    placed = place_keys(client, I2, I2, workers=("c", "a"))
    assert placed.K.workers == placed.V.workers == ["c", "a"]
    assert [shard.value.tolist() for shard in placed.K.shards] == [
        [[1, 0]], [[0, 1]],
    ]  # fmt: skip


# --- the output --------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("T", "S"), [(1, 1), (5, 9), (9, 9), (3, 2)])
@pytest.mark.parametrize("workers", ["a", "ab", "abcde"])
def test_split_attention_equals_the_loop(
    client, workers, T, S, causal, monkeypatch
):
    monkeypatch.setattr(distributed, "_BLOCK", 2)
    client.alive = list(workers)
    Q, K, V = arrays(T, S)
    if causal and T > S:
        with pytest.raises(ValueError, match="so T <= S"):
            split_attention(client, Q, K, V, causal=causal)
        return
    expected = loop(Q, K, V, causal, 0.7)
    for given in ((K, V), place_keys(client, K, V)):
        split = split_attention(client, Q, *given, causal=causal, scale=0.7)
        assert_close(split, expected, eps=64)


def test_the_default_scale_is_that_of_the_width(client, monkeypatch):
    monkeypatch.setattr(distributed, "_BLOCK", 2)  # less than T and S
    pairs = [arrays(3, 5, seed=seed) for seed in (1, 2)]
    stacked = [np.stack(each) for each in zip(*pairs, strict=True)]
    split = split_attention(client, *stacked)
    for result, given in zip(split, pairs, strict=True):
        assert_close(result, loop(*given), eps=64)


# The axes of Q, of K and V, and of the mask; T = 5, S = 7.
MASKED = [
    ((), (), (5, 7)),
    ((), (), (1, 7)),
    ((), (), (5, 1)),
    ((), (), (1, 1, 1, 7)),  # as of padding_mask, for one sequence
    ((3,), (3,), (3, 5, 7)),
    ((9,), (1,), (9, 1, 7)),
    ((2, 3), (2, 3), (2, 1, 1, 7)),
    ((2,), (2,), (2, 1, 5, 7)),  # a batch, without an axis of heads
    ((2, 3), (2, 1), (5, 7)),
]
GROUPED = [
    ((4,), (2,), None),
    ((4,), (4,), None),
    ((4,), (1,), (4, 5, 7)),
    ((6,), (3,), (6, 1, 7)),
    ((2, 6), (2, 2), (2, 1, 1, 7)),
    ((2, 6), (1, 2), (1, 6, 5, 7)),
    ((6,), (2, 3), (2, 6, 5, 1)),
    ((4,), (2,), (5, 7)),
]


def by_heads(Q, K, V, mask, causal):
    """The loop, for each matrix of queries: grouped heads as they are read."""
    H, H_kv = (X.shape[-3] if X.ndim > 2 else 1 for X in (Q, K))
    Q, K, V = (X if X.ndim > 2 else X[None] for X in (Q, K, V))
    lead = np.broadcast_shapes(Q.shape[:-3], K.shape[:-3])
    T, S = Q.shape[-2], K.shape[-2]
    if mask is None:
        mask = np.ones((T, S), bool)
    while mask.ndim > len(lead) + 3:
        mask = mask.squeeze(-3)
    allowed = np.broadcast_to(mask, (*lead, H, T, S))
    result = np.zeros((*lead, H, T, V.shape[-1]))
    for at in np.ndindex(*lead, H):
        head = at[-1] * H_kv // H
        q = np.broadcast_to(Q, (*lead, *Q.shape[-3:]))[at]
        k, v = (
            np.broadcast_to(X, (*lead, *X.shape[-3:]))[*at[:-1], head]
            for X in (K, V)
        )
        may = [
            [
                bool(allowed[at][t, s])
                and (not causal or reference.may_attend(t, s, T, S))
                for s in range(S)
            ]
            for t in range(T)
        ]
        lists = (X.tolist() for X in (q, k, v))
        result[at] = reference.attention(*lists, may, scale=0.7)[0]
    return result


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("axes", "shape", "grouped"),
    [((q, k), mask, False) for q, k, mask in MASKED]
    + [((q, k), mask, True) for q, k, mask in GROUPED],
)
def test_masks_and_grouped_heads_equal_the_loop(
    client, axes, shape, grouped, causal, monkeypatch
):
    monkeypatch.setattr(distributed, "_BLOCK", 2)
    rng = np.random.default_rng(len(str(axes)))
    q, k = axes
    Q = rng.normal(size=(*q, 5, 2))
    K, V = rng.normal(size=(*k, 7, 2)), rng.normal(size=(*k, 7, 3))
    mask = None if shape is None else rng.random(shape) < 0.6
    if shape and shape[-2] > 1:
        mask[..., 2, :] = False  # a query that may attend to nothing
    how = {"causal": causal, "scale": 0.7, "mask": mask, "grouped": grouped}
    expected = by_heads(Q, K, V, mask, causal)
    for given in ((K, V), place_keys(client, K, V)):
        split = split_attention(client, Q, *given, **how)
        assert_close(split, expected.reshape(split.shape), eps=64)
        # What the other helpers make of it, with the keys repeated.
        n = Q.shape[-3] // K.shape[-3] if grouped else 1
        both = mask
        if causal:
            both = causal_mask(5, 7) & (True if mask is None else mask)
        X = [repeat_kv(X, n) if grouped else X for X in (K, V)]
        local = attention(Q, *X, mask=both, scale=0.7).output
        assert split.shape == local.shape
        assert_close(split, local, eps=64)


def test_a_mask_travels_without_what_it_repeats(client):
    sent = []
    scatter = client.scatter

    def noted(array, **how):
        sent.append(array)
        return scatter(array, **how)

    client.scatter = noted
    Q, K, V = (X[None, None].repeat(4, axis=1) for X in arrays(5, 7))
    lengths = np.arange(7) < 6
    mask = np.broadcast_to(lengths, (1, 4, 5, 7))
    split_attention(client, Q, K, V, mask=mask)
    masks = [it for it in sent if it.dtype == bool]
    assert [it.shape for it in masks] == [(1, 1, 1, n) for n in (2, 2, 3)]
    assert np.concatenate(masks, axis=-1).ravel().tolist() == lengths.tolist()


@pytest.mark.parametrize("workers", ["a", "ab", "abc", "abcde", "abcdefg"])
def test_as_many_numbers_cross_as_the_formula_says(client, workers):
    client.alive = list(workers)
    T, N, d_k, d_v = 4, len(workers), 2, 3
    Q, K, V = arrays(T, 11)
    split_attention(client, Q, *place_keys(client, K, V))
    assert client.crossed() == (N - 1) * T * (d_k + d_v + 1)
    assert client.partials() == list(workers)
    joins = [at for name, at in client.submitted if name == "_join"]
    # In a tree: neighbours on the left one's worker, then their neighbours.
    steps = (workers[i::j] for i, j in ((0, 2), (0, 4), (0, 8)))
    count, expected = N, []
    for left in steps:
        expected += left[: count // 2]
        count -= count // 2
    assert joins == expected


def test_neighbours_are_merged_where_they_lie(client):
    T, d_k, d_v = 4, 2, 3
    Q, K, V = arrays(T, 11)
    # The last two are on one worker: two others get the queries, and two
    # parts cross.
    placed = place_keys(client, K, V, workers=["a", "b", "c", "c"])
    split = split_attention(client, Q, *placed)
    assert_close(split, loop(Q, K, V), eps=64)
    assert client.crossed() == 2 * T * d_k + 2 * T * (d_v + 1)


@pytest.mark.parametrize("striped", [False, True])
def test_arrays_lie_in_stripes_where_the_mask_is_causal(
    client, striped, monkeypatch
):
    seen = []
    partial = distributed._partial

    def _partial(Q, K, V, positions, *rest):
        seen.append(positions)
        return partial(Q, K, V, positions, *rest)

    monkeypatch.setattr(distributed, "_partial", _partial)
    split_attention(client, *arrays(2, 6), causal=striped)
    blocks = [range(0, 2), range(2, 4), range(4, 6)]
    stripes = [range(w, 6, 3) for w in range(3)]
    assert seen == (stripes if striped else blocks)


def test_the_widest_type_is_that_of_the_output(client):
    narrow, wide = np.float16, np.float32
    for types in np.eye(3, dtype=bool):
        given = [
            X.astype(wide if it else narrow)
            for X, it in zip(arrays(2, 5), types, strict=True)
        ]
        split = split_attention(client, *given)
        assert split.dtype == wide
        expected = loop(*(X.astype(float) for X in given))
        assert_close(split, expected.astype(wide))


@pytest.mark.parametrize("causal", [False, True])
def test_no_queries_have_an_empty_output(client, causal):
    split = split_attention(client, *arrays(0, 5), causal=causal)
    assert split.shape == (0, 3)


def test_half_precision_is_computed_in_single_and_rounded_once(client):
    given = [X.astype(np.float16) for X in arrays(2, 5)]
    split = split_attention(client, *given)
    assert split.dtype == np.float16
    expected = loop(*(X.astype(float) for X in given)).astype(np.float16)
    assert split.tolist() == expected.tolist()


def test_a_mixture_that_overflows_is_the_callers_error(client):
    client.alive = ["a"]
    # Eleven weights of 1/11 sum to more than one, by rounding.
    V = np.full((11, 1), np.finfo(float).max)
    message = "the weighted sum of V overflows float64; pass V in a wider type"
    with pytest.raises(ValueError, match=message):
        split_attention(client, np.zeros((1, 1)), np.zeros((11, 1)), V)


def test_scores_that_overflow_are_the_callers_error(client):
    large = np.full((2, 1), 1e200)
    with pytest.raises(ValueError, match="the scores overflow float64"):
        split_attention(client, large, large, large)


# --- workers that die --------------------------------------------------------


@pytest.mark.parametrize("gone", ["a", "b", "c"])
def test_a_lost_shard_moves_to_where_fewest_lie(client, gone):
    Q, K, V = arrays(3, 8)
    placed = place_keys(client, K, V, workers=["a", "b", "c", "a"])
    client.alive.remove(gone)
    split = split_attention(client, Q, *placed, causal=True)
    assert_close(split, loop(Q, K, V, True), eps=64)
    homes = {"a": "bbcc", "b": "acca", "c": "abba"}[gone]
    assert placed.K.workers == placed.V.workers == list(homes)


def test_only_what_a_worker_took_with_it_is_computed_again(
    client, monkeypatch
):
    Q, K, V = arrays(3, 8)
    placed = place_keys(client, K, V)
    result = distributed._result

    def dies(*given):
        if "c" in client.alive:
            client.alive.remove("c")
            raise CancelledError
        return result(*given)

    monkeypatch.setattr(distributed, "_result", dies)
    assert_close(split_attention(client, Q, *placed), loop(Q, K, V), eps=64)
    assert client.partials() == ["a", "b", "c", "a"]
    monkeypatch.undo()


def test_ten_losses_in_one_call_are_too_many(client, monkeypatch):
    tries = []

    def lost(*_):
        tries.append(1)
        raise CancelledError

    monkeypatch.setattr(distributed, "_result", lost)
    message = (
        "workers were lost 10 times in one call; "
        "does a shard fit into a worker's memory?"
    )
    with pytest.raises(RuntimeError, match=re.escape(message)):
        split_attention(client, *arrays(1, 3))
    assert len(tries) == 10


# --- clients -----------------------------------------------------------------


def test_a_client_of_an_address_is_closed_after_the_call(client, monkeypatch):
    made = []

    class Noted(Here):
        def __init__(self, *given, **how):
            super().__init__(*given, **how)
            made.append(self)

    monkeypatch.setattr(distributed, "_Client", Noted)
    Q, K, V = arrays(2, 4)
    assert_close(split_attention("there", Q, K, V), loop(Q, K, V), eps=64)
    (own,) = made
    assert (own.scheduler.address, own.status) == ("there", "closed")
    # Placed keys need their client: nobody closes it but the caller.
    placed = place_keys("there", K, V)
    split_attention("there", Q, *placed)
    assert placed.K.client.status == "running"


def test_a_client_that_is_given_stays_open(client, monkeypatch):
    split_attention(client, *arrays(2, 4))
    with pytest.raises(ValueError, match="so T <= S"):
        split_attention(client, *arrays(4, 2), causal=True)
    assert client.status == "running"


def test_no_cluster_no_workers_and_no_client_are_said(client):
    def refused(error, message, *given):
        with pytest.raises(error, match=re.escape(message)):
            place_keys(*given, I2, I2)

    message = "no cluster answers at 'nowhere': no such place"
    refused(ConnectionError, message, "nowhere")
    message = "client must be a synchronous dask.distributed.Client or the "
    message += "address of a cluster; got "
    refused(TypeError, f"{message}int", 1)
    client.asynchronous = True
    refused(TypeError, f"{message}Here", client)
    client.asynchronous = False
    client.alive = []
    message = "the cluster has had no workers for 5 seconds"
    refused(ConnectionError, message, client)
    client.close()
    message = "the client has no cluster: it is closed"
    refused(ConnectionError, message, client)


def test_keys_and_values_come_from_one_call_on_this_cluster(client):
    K, V = place_keys(client, I2, I2)
    other = connected()
    by_others = [
        place_keys(client, I2, I2, striped=True),  # [0], [1] and nothing
        place_keys(client, I2, I2, workers=["b", "a", "c"]),
        place_keys(other, I2, I2),
    ]
    for _, values in by_others:
        with pytest.raises(ValueError, match="must come from one call"):
            split_attention(client, I2, K, values)
    message = "K and V were placed on the cluster at here; got nowhere"
    with pytest.raises(ValueError, match=message):  # nobody is called there
        split_attention("nowhere", I2, K, V)
    message = "K and V were placed on the cluster at here; got there"
    for there in ("there", connected(address="there")):
        with pytest.raises(ValueError, match=message):
            split_attention(there, I2, K, V)
    with pytest.raises(TypeError, match="client must be a synchronous"):
        split_attention(1, I2, K, V)
    expected = loop(I2, I2, I2)
    assert_close(split_attention("here", I2, K, V), expected, eps=64)
    client.close()
    for asked in ("here", client, other):
        with pytest.raises(ConnectionError, match="it is closed"):
            split_attention(asked, I2, K, V)


I3, O3 = np.eye(3), np.ones(3)
H2, H4 = np.ones((2, 2, 2)), np.ones((4, 2, 2))
REFUSED = [
    (place_keys, (I2, I3), {}, "K and V must share S; got K (2, 2) and V"
     " (3, 3)"),
    (place_keys, (O3, I3), {}, "K must have axes (..., S, d_k); got K (3,)"),
    (place_keys, (I3, O3), {}, "V must have axes (..., S, d_v); got V (3,)"),
    (place_keys, (I2, I2 * np.nan), {}, "V must be finite; got nan"),
    (place_keys, (np.ones((2, 1, 1)), np.ones((3, 1, 1))), {},
     "the leading axes of K and V must broadcast; got K (2, 1, 1) and V"
     " (3, 1, 1)"),
    (place_keys, (I2, I2), {"workers": ["a", "d"]}, "workers must be"
     " addresses of workers of the cluster; got ['a', 'd'], and there are"
     " ['a', 'b', 'c']"),
    (place_keys, (I2, I2), {"workers": []}, "workers must be addresses of"
     " workers of the cluster; got [], and there are ['a', 'b', 'c']"),
    (split_attention, (O3, I3, I3), {}, "Q must have axes (..., T, d_k);"
     " got Q (3,)"),
    (split_attention, (I3, O3, I3), {}, "K must have axes (..., S, d_k);"
     " got K (3,)"),
    (split_attention, (I3, I3, O3), {}, "V must have axes (..., S, d_v);"
     " got V (3,)"),
    (split_attention, (I2 + np.inf, I2, I2), {}, "Q must be finite; got"),
    (split_attention, (I2, I2 * np.nan, I2), {}, "K must be finite; got nan"),
    (split_attention, (I2, I3, I3), {}, "Q and K must share d_k; got Q (2, 2)"
     " and K (3, 3)"),
    (split_attention, (I2, I2, I2), {"mask": np.ones((3, 2), bool)}, "mask"
     " must broadcast to scores; got mask (3, 2) and scores (2, 2)"),
    (split_attention, (H4, H2, H2), {"grouped": True, "mask": H2 > 0}, "mask"
     " must broadcast to scores; got mask (2, 2, 2) and scores (4, 2, 2)"),
    (split_attention, (H4, H2, H2), {}, "the leading axes of Q and K and V"
     " must broadcast; got Q (4, 2, 2) and K (2, 2, 2) and V (2, 2, 2)"),
    *[
        (split_attention, given, {"grouped": True}, "grouped heads must be on"
         " axis -3, as many of K as of V, and divide those of Q; got Q"
         f" {given[0].shape}, K {given[1].shape} and V {given[2].shape}")
        for given in [
            (I2, H2, H2), (H4, I2, I2), (H4, H2, I2), (H2, H4, H4),
            (H4, H4[:3], H4[:3]), (H4, H2, H4), (H4[:0], H2, H2),
            (H4, H4[:0], H4[:0]),
        ]
    ],
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays", "options", "message"), REFUSED)
def test_splitting_refuses(client, function, arrays, options, message):
    refused(lambda: function(client, *arrays, **options), message)
    assert not client.submitted


def test_splitting_refuses_a_type(client):
    for function, options, message in (
        (place_keys, {"striped": 2}, "striped must be True or False; got 2"),
        (place_keys, {"workers": 3}, "workers must be a list of addresses; "),
        (place_keys, {"workers": [["a"]]}, "workers must be a list of addr"),
        (split_attention, {"causal": 1}, "causal must be True or False; got"),
        (split_attention, {"grouped": 1}, "grouped must be True or False; g"),
        (split_attention, {"mask": I2}, "mask must be boolean, True = may a"),
        (split_attention, {"scale": "a"}, "scale must be a number; got 'a'"),
    ):
        arrays = [I2] * (2 if function is place_keys else 3)
        refused(
            lambda f=function, a=arrays, o=options: f(client, *a, **o),
            message,
            TypeError,
        )
    assert not client.submitted


def test_keys_that_are_placed_go_with_values_that_are(client):
    K, V = place_keys(client, I2, I2)
    message = "^K and V must both be arrays, or both be placed$"
    for given in ((K, I2), (I2, V)):
        with pytest.raises(TypeError, match=message):
            split_attention(client, I2, *given)


def test_a_query_that_does_not_fit_placed_keys_is_refused(client):
    K, V = place_keys(client, I2, I2)
    message = "Q and K must share d_k; got Q (3, 3) and K (2, 2)"
    with pytest.raises(ValueError, match=re.escape(message)):
        split_attention(client, I3, K, V)
    assert not client.submitted


@pytest.mark.parametrize("call", [split_attention, place_keys])
def test_a_worker_with_other_helpers_is_named(client, call):
    given = [I2] * 2
    if call is split_attention:  # of keys that were placed before
        given = [I2, *place_keys(client, I2, I2)]
    message = (
        "workers must have the helpers of this process; those of b differ{}. "
        "Install one version everywhere, and start the workers again"
    )
    for code, why in [
        ("another", ""),
        (ImportError("no helpers"), " (no helpers)"),
    ]:
        client.codes = {"b": code}
        with pytest.raises(RuntimeError, match=re.escape(message.format(why))):
            call(client, *given)
    client.codes = {"b": OSError("it has just died")}  # and is replaced
    call(client, *given)


def test_a_worker_that_does_not_answer_is_named(client):
    client.frozen = {"b"}
    message = "the worker b has not answered for 30 seconds"
    for call, given in ((place_keys, 2), (split_attention, 3)):
        client.calls = []
        with pytest.raises(RuntimeError, match=message):
            call(client, *[I2] * given)
        assert client.calls == [["a", "b", "c"]] * 6
    # Others do not care, and one that has died is no longer asked.
    place_keys(client, I2, I2, workers=["a", "c"])
    client.calls, run = [], client.run

    def dies(*given, **how):
        try:
            return run(*given, **how)
        finally:
            client.alive = ["a", "c"]

    client.run = dies
    placed = place_keys(client, I2, I2)
    assert client.calls == [["a", "b", "c"], ["a", "c"]]
    split = split_attention(client, I2, *placed)
    assert_close(split, loop(I2, I2, I2), eps=64)


def test_the_code_of_the_helpers_is_that_of_each_line(tmp_path):
    def digest(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_bytes(text.encode())
        return distributed._digest(tmp_path)

    first = digest(one="x = 1\ny = 2\n", two="")
    assert digest(one="x = 1\r\ny = 2\r\n") == first  # as Windows has it
    assert digest(one="x = 1\ny = 3\n") != first
    assert digest(one="x = 1\ny = 2\n", two="z = 3\n") != first


def test_received_bytes_are_the_sum_of_a_workers_log(client):
    log = [{"total": 3, "bandwidth": 1}, {"total": 4, "bandwidth": 1}]
    worker = SimpleNamespace(transfer_incoming_log=log)
    client.run = lambda function, workers, callback_timeout: {
        "a": function(dask_worker=worker)
    }
    assert bytes_received(client) == {"a": 7}
    assert client.status == "running", "its owner closes it"
    client.close()
    with pytest.raises(ConnectionError, match="it is closed"):
        bytes_received(client)
