"""Exact attention over keys that are spread over several machines.

Each worker of a Dask cluster holds a part of the keys and values, a shard, and
computes attention over it. Only queries and partial results are sent. A worker
of a remote cluster must be able to import this package.
"""

from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ._checks import (
    VALUE_OVERFLOW,
    default_scale,
    finite_matrix,
    flag,
    leading_axes,
    rounded,
    widened,
)
from ._extras import extra
from ._shapes import tiled_lead
from .attention import attention_scores
from .softmax import logsumexp, softmax
from .tiled import Partial, merge_partials

with extra("cluster"):
    from dask.distributed import Client

_BLOCK = 512  # queries, and keys, in one tile of scores
_PATIENCE = 5  # seconds until a cluster counts as absent
_LOSSES = 10  # how often lost workers are replaced in one call


class PlacedArray:
    """Keys or values whose rows are on the workers of a cluster.

    `place_keys` makes two of them. If a worker dies, its shards are placed
    again from the original array, so keep that array unchanged.

    Attributes
    ----------
    shape : tuple of int
        The shape of the whole array, (..., S, d).
    dtype : dtype
        The type of its numbers.
    positions : list of range
        For each shard, the positions that it holds, out of S.
    workers : list of str
        For each shard, the address of the worker that holds it.
    shards : list of dask.distributed.Future
        The shards themselves, as the cluster's futures.
    client : dask.distributed.Client
        The connection that keeps the shards alive; closing it frees them.
    """

    def __init__(self, client, source, positions, workers):
        self.shape, self.dtype = source.shape, source.dtype
        self.positions, self.workers = list(positions), list(workers)
        self.client, self._source = client, source
        self.shards = [None] * len(self.positions)

    def __repr__(self):
        return (
            f"PlacedArray(shape={self.shape}, dtype={self.dtype}, "
            f"shards={len(self.positions)})"
        )

    def _put(self, i, worker):
        """Send shard i to a worker."""
        at = self.positions[i]
        shard = self._source[..., at.start : at.stop : at.step, :]
        self.workers[i] = worker
        self.shards[i] = _send(self.client, shard, worker)


class Placed(NamedTuple):
    """The result of `place_keys`, in the order of `split_attention`."""

    K: PlacedArray  #: (..., S, d_k)
    V: PlacedArray  #: (..., S, d_v)


def place_keys(client, K, V, *, striped=False, workers=None):
    """Spread keys and values over the workers of a cluster.

    Parameters
    ----------
    client : dask.distributed.Client or str
        A client of the cluster, or its address. With an address the returned
        arrays have their own client; ``K.client.close()`` frees them.
    K : (..., S, d_k) array
        Keys.
    V : (..., S, d_v) array
        Values.
    striped : bool, default False
        If True, worker w of N gets the positions w, w + N, w + 2N, ..., which
        balances the work under a causal mask. By default it gets one block.
    workers : list of str, optional
        The addresses of the workers that get a shard; all by default.

    Returns
    -------
    Placed
        `K` and `V` as two `PlacedArray`, which record where each position is.
        They keep the original arrays, so that a lost shard can be placed
        again; an array in a file (`numpy.memmap`) is enough.

    Raises
    ------
    ConnectionError
        If there is no cluster, or it has no workers.
    TypeError
        If an array does not hold real numbers, `client` is neither a
        synchronous client nor an address, or `workers` is not a list.
    ValueError
        If shapes do not fit, an entry is not finite, or `workers` are not
        workers of the cluster.

    Notes
    -----
    Blocks as in Liu et al. 2023, stripes as in Brandon et al. 2023. The
    lengths of the shards differ by at most one; some are empty if S < N.

    Examples
    --------
    >>> here = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    >>> with Client(n_workers=2, **here) as client:  # or a cluster's address
    ...     K, V = place_keys(client, np.eye(4), np.eye(4), striped=True)
    >>> K.positions
    [range(0, 4, 2), range(1, 4, 2)]
    """
    K = finite_matrix(K, "K", "(..., S, d_k)")
    V = finite_matrix(V, "V", "(..., S, d_v)")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(
            f"K and V must share S; got K {K.shape} and V {V.shape}"
        )
    leading_axes(K=K.shape, V=V.shape)
    striped = flag(striped, "striped")
    client = _client(client)
    there = _workers(client)
    if not isinstance(workers, list | tuple | None):
        raise TypeError(
            f"workers must be a list of addresses; got {workers!r}"
        )
    workers = there if workers is None else list(workers)
    if not workers or not set(workers) <= set(there):
        raise ValueError(
            "workers must be addresses of workers of the cluster; "
            f"got {workers}, and there are {there}"
        )
    S, n = K.shape[-2], len(workers)
    if striped:
        positions = [range(w, S, n) for w in range(n)]
    else:
        positions = [range(S * w // n, S * (w + 1) // n) for w in range(n)]
    return _place(client, K, V, positions, workers)


def split_attention(client, Q, K, V, *, causal=False, scale=None):
    """Compute attention with keys that are on the workers of a cluster.

    Parameters
    ----------
    client : dask.distributed.Client or str
        A client of the cluster, or its address.
    Q : (..., T, d_k) array
        Queries; all of them are sent to each worker.
    K : (..., S, d_k) array or PlacedArray
        Keys: either an array, which is spread over the workers for this call
        (in stripes if `causal`), or the result of `place_keys`.
    V : (..., S, d_v) array or PlacedArray
        Values, likewise.
    causal : bool, default False
        Let each query see itself and all earlier positions; the T queries are
        the last of the S positions, as in `helpers.masks.causal_mask`.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k) by default.

    Returns
    -------
    (..., T, d_v) array
        The output of `helpers.attention.attention`, up to rounding.

    Raises
    ------
    ConnectionError
        If there is no cluster, or it has no workers.
    RuntimeError
        If workers are lost again and again.
    TypeError
        As `place_keys`; or if only one of `K` and `V` is placed.
    ValueError
        If shapes do not fit, an entry is not finite, T > S with `causal`,
        numbers overflow, or `K` and `V` were not placed by one call, on the
        cluster of `client`.

    Notes
    -----
    Partial results are merged on the workers in a tree (Shyam et al. 2024),
    each pair where its left one is. With N shards on N workers, ``(N - 1) * T
    * (d_k + d_v + 1)`` numbers are sent between workers, times the leading
    axes. When a worker dies, its shards are placed on other workers from the
    original array, and its missing results are computed again.

    Examples
    --------
    >>> here = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    >>> V = np.array([[10.0], [20.0]])
    >>> with Client(n_workers=2, **here) as client:  # or a cluster's address
    ...     split_attention(client, np.zeros((1, 2)), np.eye(2), V).tolist()
    [[15.0]]
    """
    Q = finite_matrix(Q, "Q", "(..., T, d_k)")
    if isinstance(K, PlacedArray) != isinstance(V, PlacedArray):
        raise TypeError("K and V must both be arrays, or both be placed")
    if isinstance(K, PlacedArray):
        _same_cluster(client, K, V)
        return _split(Q, K, V, causal, scale)
    K = finite_matrix(K, "K", "(..., S, d_k)")
    V = finite_matrix(V, "V", "(..., S, d_v)")
    tiled_lead(Q, K, V, causal)
    with _connected(client) as client:
        placed = place_keys(client, K, V, striped=bool(causal))
        return _split(Q, *placed, causal, scale)


def bytes_received(client):
    """Count the bytes that each worker has fetched from other workers.

    Parameters
    ----------
    client : dask.distributed.Client or str
        A client of the cluster, or its address.

    Returns
    -------
    dict of str to int
        For each worker's address, the bytes in its log of incoming
        transfers: the last 1,000, unless Dask is configured otherwise.

    Raises
    ------
    ConnectionError, TypeError
        As `place_keys`.
    """
    with _connected(client) as client:
        return client.run(_received)


def _received(dask_worker):
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


class _Client(Client):
    """A client that is closed at once if it cannot start.

    Dask leaves this to the garbage collector. The collector may run while
    another client is starting and holds the lock that closing needs, which
    would be a deadlock.
    """

    def start(self, **kwargs):
        try:
            super().start(**kwargs)
        except Exception:
            self.close()
            raise


def _client(client):
    """A connected client, which is made if an address is given."""
    if isinstance(client, str):
        try:
            return _Client(client, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"no cluster answers at {client!r}: {error}"
            ) from None
    if not isinstance(client, Client) or client.asynchronous:
        raise TypeError(
            "client must be a synchronous dask.distributed.Client or the "
            f"address of a cluster; got {type(client).__name__}"
        )
    if client.status != "running":
        raise ConnectionError(
            f"the client has no cluster: it is {client.status}"
        )
    return client


@contextmanager
def _connected(client):
    """A client as from `_client`, closed at the end if it was made here."""
    own = _client(client)
    try:
        yield own
    finally:
        if own is not client:
            own.close()


def _workers(client):
    """The addresses of the workers, after waiting for the first one."""
    _client(client)
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ConnectionError(
            f"the cluster has had no workers for {_PATIENCE} seconds"
        ) from None
    return sorted(client.nthreads())


def _same_cluster(client, K, V):
    """Refuse shards of different calls or of another cluster."""
    ours, theirs = ((X.client, X.positions, X.workers) for X in (K, V))
    if ours != theirs:
        raise ValueError("K and V must come from one call of place_keys")
    _client(K.client)
    here = K.client.scheduler.address
    named = isinstance(client, str)
    asked = client if named else _client(client).scheduler.address
    if asked != here:
        raise ValueError(
            f"K and V were placed on the cluster at {here}; got {asked}"
        )


def _send(client, array, worker):
    """A future of an array on a worker, or None if it did not arrive."""
    array = np.ascontiguousarray(array)
    try:
        return client.scatter(
            array, workers=[worker], hash=False, timeout=_PATIENCE
        )
    except (KeyError, OSError):  # Dask's errors for a worker that died
        return None


def _gone(future):
    return future is None or future.cancelled()


def _place(client, K, V, positions, workers):
    """`K` and `V` in shards with these positions, on these workers."""
    placed = Placed(
        *(PlacedArray(client, X, positions, workers) for X in (K, V))
    )
    _mend(placed, workers)
    return placed


def _mend(placed, alive):
    """Place shards again if their worker has died."""
    K, V = placed
    for i, worker in enumerate(K.workers):
        lost = any(_gone(X.shards[i]) for X in placed)
        if lost or worker not in alive:
            if worker not in alive:  # choose the worker with the fewest shards
                worker = min(alive, key=K.workers.count)
            K._put(i, worker)
            V._put(i, worker)


def _split(Q, K, V, causal, scale):
    """Attention over placed keys, continued after each loss of workers."""
    tiled_lead(Q, K, V, causal)
    scale = default_scale(scale, Q.shape[-1])
    first = K.shape[-2] - Q.shape[-2] if causal else None
    dtype = np.result_type(Q, K.dtype, V.dtype)
    parts = [None] * len(K.positions)
    for _ in range(_LOSSES):
        _mend((K, V), _workers(K.client))
        try:
            merged = _result(K, _merged(Q, K, V, parts, first, scale))
        except CancelledError:  # a worker that this needs has died
            continue
        return merged.output.astype(dtype)
    raise RuntimeError(
        f"workers were lost {_LOSSES} times in one call; "
        "does a shard fit into a worker's memory?"
    )


def _merged(Q, K, V, parts, first, scale):
    """A future of all partial results merged; `parts` caches them."""
    q = _send(K.client, Q, K.workers[0])
    if any(future is None for future in (q, *K.shards, *V.shards)):
        raise CancelledError
    for i, worker in enumerate(K.workers):
        if _gone(parts[i]):
            shard = K.shards[i], V.shards[i], K.positions[i]
            parts[i] = K.client.submit(
                _partial, q, *shard, first, scale, workers=[worker], pure=False
            )
    return _tree(K.client, parts, K.workers)


def _tree(client, parts, workers):
    """Merge neighbours in pairs, again and again, until one is left."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        workers = workers[::2]
        parts = [
            client.submit(_join, *pair, workers=[worker], pure=False)
            if len(pair) > 1
            else pair[0]
            for pair, worker in zip(pairs, workers, strict=True)
        ]
    return parts[0]


def _result(K, future):
    """The value of a future, or CancelledError if a worker has died."""
    while True:
        try:
            # Wait for the state first. If fetching a value times out, Dask's
            # later fetches fail too, with an unrelated error.
            future.exception(timeout=1)
            return future.result(timeout=60)
        except TimeoutError:
            # A task that needs a worker that has died would wait for ever.
            if not set(K.workers) <= set(_workers(K.client)):
                raise CancelledError from None


def _partial(Q, K, V, positions, first, scale):
    """Attention over one shard; query t is at position ``first + t``."""
    seen = np.full(Q.shape[-2], len(positions))
    if first is not None:
        at = np.arange(first, first + Q.shape[-2])
        seen = np.searchsorted(positions, at, side="right")
    blocks = [
        _rows(Q[..., rows, :], K, V, seen[rows], scale)
        for start in range(0, max(1, len(seen)), _BLOCK)
        for rows in [slice(start, start + _BLOCK)]
    ]
    return Partial(
        np.concatenate([block.output for block in blocks], axis=-2),
        np.concatenate([block.logsumexp for block in blocks], axis=-1),
    )


def _rows(Q, K, V, seen, scale):
    """The partial result of some queries; query t sees ``seen[t]`` keys."""
    done = _tile(Q, K[..., :0, :], V[..., :0, :], seen, scale)
    # Skip keys that no query sees; stripes balance this saving.
    for start in range(0, seen.max(initial=0), _BLOCK):
        keys = slice(start, min(start + _BLOCK, seen.max()))
        k, v = K[..., keys, :], V[..., keys, :]
        done = _join(done, _tile(Q, k, v, seen - start, scale))
    return done


def _tile(Q, K, V, seen, scale):
    """The partial result of one tile of scores."""
    dtype, Q, K, V = widened(Q, K, V)
    scores = attention_scores(Q, K, scale=scale)
    where = np.arange(K.shape[-2]) < seen[:, None]
    with np.errstate(over="ignore"):
        mixed = softmax(scores, where=where) @ V
    lse = np.broadcast_to(logsumexp(scores, where=where), mixed.shape[:-1])
    overflow = VALUE_OVERFLOW.format(dtype=dtype)
    return Partial(rounded(mixed, V.dtype, overflow), lse)


def _join(*parts):
    """Merge partial results."""
    return merge_partials(*map(np.stack, zip(*parts, strict=True)))
