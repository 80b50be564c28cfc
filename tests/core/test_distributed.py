"""Attention over a cluster: exact, counted, and with workers that die.

The cluster has three workers, so that one may die and then another without
waiting for anything to start.
"""

import contextlib
import functools
import gc
import http.server
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


def test_a_mask_and_grouped_heads_go_to_the_workers(client):
    Q, K, V = arrays(1, 5, 8, lead=(2, 6))
    K, V = K[:, :3], V[:, :3]
    mask = np.random.default_rng(2).random((6, 5, 8)) < 0.6
    both = mask & causal_mask(5, 8)
    keys = [np.repeat(X, 2, axis=1) for X in (K, V)]
    expected = attention(Q, *keys, mask=both).output
    how = {"mask": mask, "grouped": True, "causal": True}
    assert_close(split_attention(client, Q, K, V, **how), expected, eps=64)


def test_scores_far_apart_on_different_workers(client):
    # exp(1000) is no number: a merge has to shift by the largest logsumexp.
    K = [[-1000.0], [0.0], [1000.0], [999.0], [-1000.0], [1.0]]
    V = [[1.0], [2.0], [4.0], [8.0], [16.0], [32.0]]
    Q = [[1.0], [-1.0], [0.0]]
    output, _ = reference.attention(Q, K, V)
    assert_close(split_attention(client, Q, K, V), np.array(output), eps=64)


def test_no_keys_give_zero(client):
    Q, K, V = arrays(0, 2, 0)
    assert_close(split_attention(client, Q, K, V), np.zeros((2, 3)))


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
        message = f"no cluster answers at {address!r}: .*{re.escape(why)}"
        began = time.monotonic()
        with pytest.raises(ConnectionError, match=message):
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


@pytest.fixture
def other(tmp_path):
    """A client of a worker whose helpers have a changed line."""
    shutil.copytree(
        Path(distributed.__file__).parent,
        tmp_path / "helpers",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    with (tmp_path / "helpers/softmax.py").open("a") as file:
        file.write("\n# changed")
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty,
        Client(empty, set_as_default=False) as client,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker"]
        command += [empty.scheduler_address, "--no-nanny", "--no-dashboard"]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )
        client.wait_for_workers(1, timeout=SOON)
        yield client
        process.terminate()
        process.wait(SOON)


def test_a_worker_with_other_helpers_is_refused(other):
    (worker,) = other.nthreads()
    message = f"those of {worker} differ. Install"
    with pytest.raises(RuntimeError, match=re.escape(message)):
        place_keys(other, I2, I2)


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


@pytest.mark.parametrize(
    "call",
    [
        lambda client, placed: split_attention(client, I2, *placed),
        lambda client, placed: bytes_received(client),
    ],
)
def test_a_worker_that_is_frozen_is_named(client, freeze, call):
    placed = place_keys(client, *arrays(0, 2, 6, 2)[1:])
    worker = placed.K.workers[1]
    freeze(worker)
    message = f"the worker {worker} has not answered for 2 seconds"
    with pytest.raises(RuntimeError, match=message):
        call(client, placed)


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
    message = f"the worker {worker} has not answered for 2 seconds"
    with pytest.raises(RuntimeError, match=message):
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
