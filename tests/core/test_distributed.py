"""Attention over a cluster: exact, counted, and with workers that die.

The cluster has three workers, so that one may die and then another without
waiting for anything to start.
"""

import contextlib
import functools
import gc
import http.server
import itertools
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from dask.distributed import Client, LocalCluster

from helpers import distributed
from helpers.attention import attention
from helpers.distributed import (
    bytes_received,
    place_keys,
    split_attention,
)
from helpers.masks import causal_mask
from tests.core import reference
from tests.core.closeness import assert_close

N = 3
SOON = 60  # seconds that a busy machine may take for what is awaited


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a cluster that is gone, and all of it, afterwards."""
    before = set(psutil.Process().children(recursive=True))
    with (
        LocalCluster(
            n_workers=N,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            local_directory=tmp_path_factory.mktemp("cluster"),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
    left = set(psutil.Process().children(recursive=True)) - before
    left = [p for p in left if "resource_tracker" not in " ".join(p.cmdline())]
    assert not psutil.wait_procs(left, timeout=SOON)[1]


def arrays(seed, T, S, d_k=4, d_v=3, lead=(), dtype=float):
    rng = np.random.default_rng(seed)
    shapes = (*lead, T, d_k), (*lead, S, d_k), (*lead, S, d_v)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def whole(Q, K, V, *, causal=False, scale=None):
    mask = causal_mask(Q.shape[-2], K.shape[-2]) if causal else None
    return attention(Q, K, V, mask=mask, scale=scale).output


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("T", "S", "lead"),
    [
        (5, 14, ()),  # shards of 4, 5 and 5 keys
        (7, 7, (2, 2)),
        (1, 2, ()),  # fewer keys than workers
        (0, 4, (3,)),
    ],
)
def test_split_attention_equals_the_whole(client, T, S, lead, causal):
    Q, K, V = arrays(T, T, S, lead=lead)
    desired = whole(Q, K, V, causal=causal)
    split = split_attention(client, Q, K, V, causal=causal)
    assert_close(split, desired, eps=64)
    for striped in (False, True):
        placed = place_keys(client, K, V, striped=striped)
        held = sorted(p for at in placed.K.positions for p in at)
        assert held == list(range(S))
        split = split_attention(client, Q, *placed, causal=causal)
        assert_close(split, desired, eps=64)


def visible(T, S, positions=None):
    """For each query, which of the keys at some positions it sees."""
    positions = range(S) if positions is None else positions
    return [
        [reference.may_attend(t, s, T, S) for s in positions] for t in range(T)
    ]


def test_a_mask_and_grouped_heads_go_to_the_workers(client):
    Q, K, V = arrays(1, 5, 8, lead=(2, 6))
    K, V = K[:, :3], V[:, :3]
    mask = np.random.default_rng(2).random((6, 5, 8)) < 0.6
    both = mask & causal_mask(5, 8)
    keys = [np.repeat(X, 2, axis=1) for X in (K, V)]
    wanted = attention(Q, *keys, mask=both).output
    how = {"mask": mask, "grouped": True, "causal": True}
    assert_close(split_attention(client, Q, K, V, **how), wanted, eps=64)


def test_scores_far_apart_on_different_workers(client):
    # exp(1000) is no number: a merge has to shift by the largest logsumexp.
    K = [[-1000.0], [0.0], [1000.0], [999.0], [-1000.0], [1.0]]
    V = [[1.0], [2.0], [4.0], [8.0], [16.0], [32.0]]
    Q = [[1.0], [-1.0], [0.0]]
    output, _ = reference.attention(Q, K, V)
    assert_close(split_attention(client, Q, K, V), np.array(output), eps=64)


@pytest.mark.parametrize(
    "positions", [range(14), range(2, 14, 3), range(1, 13), range(11, 14)]
)
def test_a_shard_in_many_tiles_equals_the_loop(positions, monkeypatch):
    monkeypatch.setattr(distributed, "_BLOCK", 4)
    T, S, scale = 9, 14, 0.7
    Q, K, V = arrays(11, T, S)
    k, v = K[list(positions)], V[list(positions)]
    made = distributed._partial(Q, k, v, positions, S - T, scale)
    allowed = visible(T, S, positions)
    lists = (a.tolist() for a in (Q, k, v))
    output, _ = reference.attention(*lists, allowed, scale=scale)
    scores = [
        [scale * (q @ key) for key, may in zip(k, row, strict=True) if may]
        for q, row in zip(Q, allowed, strict=True)
    ]
    assert_close(made.output, np.array(output), eps=64)
    lse = np.array([reference.logsumexp(row) for row in scores])
    assert_close(made.logsumexp, lse, eps=64)


WRONG = {
    "each shard weighs the same": ("merge", lambda parts: [
        part._replace(logsumexp=np.zeros_like(part.logsumexp))
        for part in parts
    ]),
    "a shard is counted twice": ("merge", lambda parts: [*parts, parts[1]]),
    "a shard is lost": ("merge", lambda parts: parts[:-1]),
    "positions count from 0 in each shard": ("at", lambda at: range(len(at))),
    "stripes are taken for blocks": (
        "at", lambda at: range(at.start * len(at), (at.start + 1) * len(at))
    ),
    "the queries stand at the start": ("first", lambda first: 0),
    "the scale is forgotten": ("scale", lambda scale: 1.0),
}  # fmt: skip


def by_shards(Q, K, V, wrong=None):
    """What the workers compute, one after the other; causal, in stripes."""
    change = dict([WRONG[wrong]] if wrong else [])

    def seen(name, value):
        return change.get(name, lambda same: same)(value)

    first, scale = K.shape[-2] - Q.shape[-2], Q.shape[-1] ** -0.5
    parts = []
    for at in (range(w, K.shape[-2], N) for w in range(N)):
        k, v = K[..., list(at), :], V[..., list(at), :]
        known = seen("at", at), seen("first", first), seen("scale", scale)
        parts.append(distributed._partial(Q, k, v, *known))
    return distributed._join(*seen("merge", parts)).output


@pytest.mark.parametrize("S", [6, 8, 11])  # shards of equal lengths, and not
def test_wrong_ways_of_splitting_are_refused(S):
    T = 5
    Q = arrays(S, T, S, lead=(2, 2))[0]
    K, V = arrays(S, T, S, lead=(2, 1))[1:]  # each for two heads of queries
    wanted = np.array([
        [
            reference.attention(
                Q[g, h].tolist(), K[g, 0].tolist(), V[g, 0].tolist(),
                visible(T, S),
            )[0]
            for h in range(2)
        ]
        for g in range(2)
    ])  # fmt: skip
    assert_close(by_shards(Q, K, V), wanted, eps=64)
    for wrong in WRONG:
        made = by_shards(Q, K, V, wrong)
        assert not np.abs(made - wanted).max() < 0.01, wrong


def test_no_keys_give_zero(client):
    Q, K, V = arrays(0, 2, 0)
    assert_close(split_attention(client, Q, K, V), np.zeros((2, 3)))


def test_shards_of_any_lengths_in_a_deep_tree(client):
    Q, K, V = arrays(3, 6, 20, lead=(2,))
    cuts = [0, 0, 1, 9, 9, 12, 20, 20]  # empty ones first, between, last
    positions = [range(a, b) for a, b in itertools.pairwise(cuts)]
    workers = sorted(client.nthreads())
    homes = [workers[i % len(workers)] for i in range(len(positions))]
    placed = distributed._place(client, K, V, positions, homes)
    assert placed.K.workers == homes
    for causal in (False, True):
        split = split_attention(client, Q, *placed, causal=causal)
        assert_close(split, whole(Q, K, V, causal=causal), eps=64)


def lengths(placed):
    return [len(at) for at in placed.K.positions]


def test_a_worker_holds_its_shard_and_no_more(client):
    K, V = arrays(4, 1, 3000, 8, 8)[1:]
    placed = place_keys(client, K, V, striped=True)
    assert lengths(placed) == [1000] * N
    split_attention(client, K[-2:], *placed)
    for X in placed:
        for shard, worker in zip(X.shards, X.workers, strict=True):
            assert client.who_has([shard]) == {shard.key: (worker,)}


@pytest.mark.parametrize("sizes", [(64, 96), (512, 700), (2000, 999)])
def test_bytes_between_workers_are_those_of_the_formula(client, sizes):
    T, S = sizes
    d_k, d_v, lead = 32, 16, 2
    Q, K, V = arrays(5, T, S, d_k, d_v, (lead,))
    placed = place_keys(client, K, V)
    before = sum(bytes_received(client).values())
    split_attention(client, Q, *placed)
    crossed = sum(bytes_received(client).values()) - before
    formula = 8 * lead * (N - 1) * T * (d_k + d_v + 1)
    assert abs(crossed - formula) <= 0.05 * formula
    after = bytes_received(client.scheduler.address)
    assert after == bytes_received(client), "an address will do"
    assert client.status == "running"


def test_neighbours_are_merged_where_they_lie(client):
    T, d, workers = 400, 8, sorted(client.nthreads())
    Q, K, V = arrays(13, T, 40, d, d)
    positions = [range(i, i + 10) for i in range(0, 40, 10)]
    homes = [*workers, workers[-1]]  # the last two are merged over there
    placed = distributed._place(client, K, V, positions, homes)
    before = sum(bytes_received(client).values())
    split_attention(client, Q, *placed)
    crossed = sum(bytes_received(client).values()) - before
    formula = 8 * T * (N - 1) * (2 * d + 1)
    assert abs(crossed - formula) <= 0.05 * formula


def computed_pairs(positions, T, S, monkeypatch):
    """How many scores each shard computes, counted where they are made."""
    counts = []

    def scores(Q, K, **kwargs):
        counts[-1] += Q.shape[-2] * K.shape[-2]
        return np.zeros((Q.shape[-2], K.shape[-2]))

    monkeypatch.setattr(distributed, "attention_scores", scores)
    monkeypatch.setattr(distributed, "_BLOCK", 8)
    for at in positions:
        counts.append(0)
        shard = np.ones((len(at), 1))
        distributed._partial(np.ones((T, 1)), shard, shard, at, S - T, 1.0)
    return counts


def test_stripes_balance_what_is_computed(client, monkeypatch):
    S = 240
    K, V = arrays(6, 1, S)[1:]
    for striped in (False, True):
        positions = place_keys(client, K, V, striped=striped).K.positions
        counts = computed_pairs(positions, S, S, monkeypatch)
        seen = [causal_mask(S)[:, at].sum() for at in map(list, positions)]
        # Tiles that the diagonal cuts are computed whole.
        assert np.all(counts >= np.array(seen))
        assert sum(counts) < 1.1 * S * S / 2
        ratio = max(counts) / min(counts)
        assert ratio < 1.02 if striped else ratio > 4


def clients(client):
    return client.run_on_scheduler(
        lambda dask_scheduler: len(dask_scheduler.clients)
    )


def test_an_address_does_as_well_as_a_client(client):
    Q, K, V = arrays(8, 3, 7)
    address, known = client.scheduler.address, clients(client)
    assert_close(split_attention(address, Q, K, V), whole(Q, K, V), eps=64)
    deadline = time.monotonic() + SOON
    while clients(client) > known and time.monotonic() < deadline:
        time.sleep(0.01)
    assert clients(client) == known  # the client of the call is closed
    placed = place_keys(address, K, V)
    split = split_attention(address, Q, *placed)
    assert_close(split, whole(Q, K, V), eps=64)
    placed.K.client.close()
    with pytest.raises(ConnectionError, match="the client has no cluster: "):
        split_attention(address, Q, *placed)


def test_what_did_not_arrive_is_sent_again(client, monkeypatch):
    Q, K, V = arrays(12, 3, 8)
    send, misses = distributed._send, iter([True] * (N + 1))

    def late(*args):
        return None if next(misses, False) else send(*args)

    monkeypatch.setattr(distributed, "_send", late)
    placed = place_keys(client, K, V)
    assert placed.K.shards[0] is None
    assert_close(split_attention(client, Q, *placed), whole(Q, K, V), eps=64)
    misses = iter([True])  # now that all keys are there: the queries
    assert_close(split_attention(client, Q, *placed), whole(Q, K, V), eps=64)
    assert next(misses, None) is None


def test_a_task_that_waits_for_a_worker_that_is_gone_is_given_up(client):
    K = place_keys(client, *arrays(0, 2, 4)[1:]).K
    K.workers[0] = "tcp://127.0.0.1:1"
    waits = client.submit(abs, 1, workers=K.workers[:1], pure=False)
    with pytest.raises(distributed.CancelledError):
        distributed._result(K, waits)


def test_overflow_on_a_worker_is_the_callers_error(client):
    large = np.full((2, 1), 1e200)
    with pytest.raises(ValueError, match="the scores overflow float64"):
        split_attention(client, large, large, large)


I2 = np.eye(2)


# A client that is neither is closed by the garbage collector, while it may
# hold up the start of the next for ever.
def unfinished():
    """The clients that are neither connected nor closed."""
    # Asked for its type, a proxy of what is gone does not raise.
    clients = [it for it in gc.get_objects() if issubclass(type(it), Client)]
    return {it for it in clients if it.status not in ("running", "closed")}


@contextlib.contextmanager
def silent():
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@contextlib.contextmanager
def web():
    """A port that speaks HTTP, as a dashboard does."""
    address = ("127.0.0.1", 0)
    with http.server.HTTPServer(
        address, http.server.BaseHTTPRequestHandler
    ) as it:
        threading.Thread(target=it.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.1:{it.server_port}"
        it.shutdown()


@contextlib.contextmanager
def worker_of(client):
    yield next(iter(client.nthreads()))


OTHER = "is this another port, such as that of the dashboard?"
WRONG_ADDRESSES = {
    "nobody": ("tcp://127.0.0.1:1", "Timed out trying to connect"),
    "no port": ("nowhere", "missing port number"),
    "no address": ("a:b:c", ""),
    "no text": ("", "missing port number"),
    "another scheme": ("ftp://127.0.0.1:1", "unknown address scheme"),
    "no certificate": ("tls://127.0.0.1:1", "TLS expects"),
    "silence": (silent, OTHER),
    "the web": (web, OTHER),
    "a worker": (worker_of, ""),
}


@pytest.mark.parametrize("wrong", WRONG_ADDRESSES)
def test_a_wrong_address_is_refused_soon(client, wrong, monkeypatch):
    monkeypatch.setattr(distributed, "_PATIENCE", 0.5)
    monkeypatch.setattr("http.server.BaseHTTPRequestHandler.log_message", abs)
    address, why = WRONG_ADDRESSES[wrong]
    before = unfinished()
    with contextlib.ExitStack() as stack:
        if callable(address):
            it = address(client) if address is worker_of else address()
            address = stack.enter_context(it)
        said = f"no cluster answers at {address!r}: .*{re.escape(why)}"
        began = time.monotonic()
        with pytest.raises(ConnectionError, match=said):
            split_attention(address, I2, I2, I2)
        assert time.monotonic() - began < SOON
    assert unfinished() <= before


def test_a_cluster_without_workers_is_said_soon(monkeypatch):
    monkeypatch.setattr(distributed, "_PATIENCE", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty,
        Client(empty, set_as_default=False) as client,
    ):
        with pytest.raises(ConnectionError, match="has had no workers for"):
            split_attention(client, I2, I2, I2)
    with pytest.raises(ConnectionError, match="the client has no cluster: "):
        split_attention(client, I2, I2, I2)


def test_keys_lie_on_the_workers_that_were_named(client):
    Q, K, V = arrays(10, 4, 9)
    chosen = sorted(client.nthreads())[1:]
    placed = place_keys(client, K, V, workers=chosen)
    split = split_attention(client, Q, *placed)
    assert_close(split, whole(Q, K, V), eps=64)
    assert placed.K.workers == placed.V.workers == chosen


# What stands in place of our helpers on a worker, and what is said of it.
OTHERS = {
    "a changed line": ({"softmax.py": "\n# changed"}, "differ. Install"),
    "an older module": ({"distributed.py": None}, "differ (AttributeError("),
    "none": ({"__init__.py": "\nraise ImportError('gone')"}, "differ (Import"),
}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A client of three workers with other helpers, and their addresses."""
    started, homes = [], {}
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty,
        Client(empty, set_as_default=False) as client,
    ):
        for name, (changes, _) in OTHERS.items():
            home = tmp_path_factory.mktemp("other")
            shutil.copytree(
                Path(distributed.__file__).parent,
                home / "helpers",
                ignore=shutil.ignore_patterns("__pycache__"),
            )
            for file, added in changes.items():
                path = home / "helpers" / file
                old = "" if added is None else path.read_text("utf-8") + added
                path.write_text(old, "utf-8")
            command = [sys.executable, "-m", "distributed.cli.dask_worker"]
            command += [empty.scheduler_address, "--no-nanny"]
            command += ["--name", name, "--no-dashboard"]
            env = {**os.environ, "PYTHONPATH": str(home)}
            process = subprocess.Popen(
                command, cwd=home, env=env, stderr=subprocess.DEVNULL
            )
            started.append(process)
        client.wait_for_workers(len(OTHERS), timeout=SOON)
        known = client.scheduler_info()["workers"]
        homes = {worker["name"]: at for at, worker in known.items()}
        yield client, homes
        for process in started:
            process.terminate()
            process.wait(SOON)


@pytest.mark.parametrize("name", OTHERS)
def test_a_worker_with_other_helpers_is_refused(others, name):
    client, homes = others
    said = f"those of {homes[name]} {OTHERS[name][1]}"
    with pytest.raises(RuntimeError, match=re.escape(said)):
        place_keys(client, I2, I2, workers=[homes[name]])


def pid_of(client, worker):
    """The process of a worker, which is a child of a child of ours."""
    pid = client.run(os.getpid, workers=[worker])[worker]
    ours = {child.pid for child in psutil.Process().children(recursive=True)}
    assert pid in ours
    return pid


@pytest.fixture
def freeze(client, monkeypatch):
    """Stop the process of a worker until the test has ended."""
    monkeypatch.setattr(distributed, "_PATIENCE", 1)
    monkeypatch.setattr(distributed, "_CALLS", 2)
    frozen = []

    def freeze(worker):
        frozen.append(pid_of(client, worker))
        os.kill(frozen[-1], signal.SIGSTOP)

    yield freeze
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)


FROZEN_CALLS = {
    "place": lambda client, placed: place_keys(client, I2, I2),
    "split": lambda client, placed: split_attention(client, I2, *placed),
    "count": lambda client, placed: bytes_received(client),
}


@pytest.mark.parametrize("name", FROZEN_CALLS)
def test_a_worker_that_is_frozen_is_named(client, freeze, name):
    placed = place_keys(client, *arrays(0, 2, 6, 2)[1:])
    worker = placed.K.workers[1]
    freeze(worker)
    said = f"the worker {worker} has not answered for 2 seconds"
    with pytest.raises(RuntimeError, match=said):
        FROZEN_CALLS[name](client, placed)


def test_a_worker_that_freezes_while_it_computes_is_named(
    client, freeze, monkeypatch
):
    placed = place_keys(client, *arrays(0, 2, 6, 2)[1:])
    worker, merged = placed.K.workers[1], distributed._merged

    def freezing(*given):
        freeze(worker)
        return merged(*given)

    # The queries go to another worker, so nothing waits for this one before.
    monkeypatch.setattr(distributed, "_merged", freezing)
    said = f"the worker {worker} has not answered for 2 seconds"
    with pytest.raises(RuntimeError, match=said):
        split_attention(client, I2, *placed)


# Last, since fewer workers are left.
def _partial_after(file, *args):
    """A partial that does not arrive before a file is there."""
    while not file.exists():
        time.sleep(0.01)
    return distributed._partial(*args)


def kill(client, worker):
    os.kill(pid_of(client, worker), signal.SIGKILL)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_dies_changes_nothing(
    client, when, monkeypatch, tmp_path
):
    Q, K, V = arrays(9, 5, 50)
    client.wait_for_workers(2)
    placed = place_keys(client, K, V, striped=True)
    victim = placed.K.workers[-1]
    merged, killed, keys = distributed._merged, [], []

    def killing(Q, K, V, parts, *rest):
        future = merged(Q, K, V, parts, *rest)
        keys.append([part.key for part in parts])
        if not killed:
            if when == "after":
                parts[-1].result()
                future.result()
            else:
                assert parts[-1].status == "pending"
            kill(client, victim)
            killed.append(victim)
            while victim in client.nthreads():
                time.sleep(0.01)
            (tmp_path / "killed").touch()
        return future

    monkeypatch.setattr(distributed, "_merged", killing)
    if when == "before":
        late = functools.partial(_partial_after, tmp_path / "killed")
        monkeypatch.setattr(distributed, "_partial", late)
    split = split_attention(client, Q, *placed, causal=True)
    monkeypatch.undo()
    assert killed == [victim]
    assert_close(split, whole(Q, K, V, causal=True), eps=64)
    # What the living had computed, or were computing, is not asked again.
    assert keys[0][:-1] == keys[-1][:-1]
    assert (keys[0][-1] == keys[-1][-1]) == (when == "after")
    # And the next call finds the lost shard placed again, or places it.
    split = split_attention(client, Q, *placed)
    assert_close(split, whole(Q, K, V), eps=64)
    assert victim not in placed.K.workers
