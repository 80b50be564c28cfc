"""Exact attention over keys that are spread over several machines.

Each worker of a Dask cluster holds a part of the keys and values, a shard, and
computes attention over it. Only queries, masks and partial results are sent. A
worker of a remote cluster must be able to import this package, and in this
version.
"""

import asyncio
import hashlib
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ._checks import (
    VALUES,
    as_finite_matrix,
    check_flag,
    check_mask,
    common_leading_axes,
    default_scale,
    rounded,
)
from ._core import widened
from ._extras import extra
from ._shapes import tiled_sizes
from .attention import attention_scores
from .softmax import logsumexp, softmax
from .tiled import Partial, merge_partials

with extra("cluster"):
    from dask.distributed import Client

_BLOCK = 512  # queries, and keys, in one tile of scores
_PATIENCE = 5  # seconds until a cluster counts as absent
_CALLS = 6  # to a worker, each as long as this, until it counts as stopped
_LOSSES = 10  # how often lost workers are replaced in one call


def _digest(folder):
    """A hash of the modules of a folder, without their line endings."""
    texts = (path.read_text("utf-8") for path in sorted(folder.glob("*.py")))
    return hashlib.sha256("".join(texts).encode()).hexdigest()


# Of the modules as they are loaded: an edit comes later.
_CODE = _digest(Path(__file__).parent)


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
    RuntimeError
        If a worker does not answer, or has other helpers than this process.
    TypeError
        If an array does not hold real numbers, `client` is neither a
        synchronous client nor an address, or `workers` is not a list of
        addresses.
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
    K = as_finite_matrix(K, "K", "(..., S, d_k)")
    V = as_finite_matrix(V, "V", "(..., S, d_v)")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(
            f"K and V must share S; got K {K.shape} and V {V.shape}"
        )
    common_leading_axes(K=K.shape, V=V.shape)
    striped = check_flag(striped, "striped")
    client = _client(client)
    there = _workers(client)
    workers = there if workers is None else workers
    listed = isinstance(workers, list | tuple)
    if not listed or not all(isinstance(it, str) for it in workers):
        raise TypeError(
            f"workers must be a list of addresses; got {workers!r}"
        )
    workers = list(workers)
    if not workers or not set(workers) <= set(there):
        raise ValueError(
            "workers must be addresses of workers of the cluster; "
            f"got {workers}, and there are {there}"
        )
    _alike(client, workers)
    S, n = K.shape[-2], len(workers)
    if striped:
        positions = [range(w, S, n) for w in range(n)]
    else:
        positions = [range(S * w // n, S * (w + 1) // n) for w in range(n)]
    return _place(client, K, V, positions, workers)


def split_attention(
    client, Q, K, V, *, causal=False, scale=None, mask=None, grouped=False
):
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
    mask : (..., T, S) boolean array, optional
        True = may attend, as in `helpers.attention.attention`. Each worker
        gets the columns of its keys. With `causal`, both must allow.
    grouped : bool, default False
        If True, axis -3 is that of the heads: H in `Q`, and H_kv, which
        divides H, in `K` and `V`. Query head h reads key/value head
        ``h // (H / H_kv)``, as after `helpers.heads.repeat_kv`, but no key is
        repeated.

    Returns
    -------
    (..., T, d_v) array
        The output of `helpers.attention.attention`, up to rounding.

    Raises
    ------
    ConnectionError
        If there is no cluster, or it has no workers.
    RuntimeError
        If workers are lost again and again; also as `place_keys`.
    TypeError
        As `place_keys`; or if only one of `K` and `V` is placed, or `mask` is
        not boolean.
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
    Q = as_finite_matrix(Q, "Q", "(..., T, d_k)")
    if isinstance(K, PlacedArray) != isinstance(V, PlacedArray):
        raise TypeError("K and V must both be arrays, or both be placed")
    if isinstance(K, PlacedArray):
        _same_cluster(client, K, V)
        return _split(Q, K, V, causal, scale, mask, grouped)
    K = as_finite_matrix(K, "K", "(..., S, d_k)")
    V = as_finite_matrix(V, "V", "(..., S, d_v)")
    _fitting(Q, K, V, causal, mask, grouped)
    with _connected(client) as client:
        placed = place_keys(client, K, V, striped=bool(causal))
        return _split(Q, *placed, causal, scale, mask, grouped)


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
    ConnectionError, RuntimeError, TypeError
        As `place_keys`.
    """
    with _connected(client) as client:
        return _asked(client, _received)


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

    async def _start(self, **kwargs):
        # Dask limits how long it connects, but not how long it waits for the
        # first words of what has answered.
        limit = 2 * _PATIENCE
        try:
            return await asyncio.wait_for(super()._start(**kwargs), limit)
        except TimeoutError as error:
            if str(error):  # Dask's own message: nobody is there
                raise
            raise OSError(
                "what is there does not answer as a scheduler of Dask; is "
                "this another port, such as that of the dashboard?"
            ) from None


def _client(client):
    """A connected client, which is made if an address is given."""
    if isinstance(client, str):
        try:
            return _Client(client, timeout=_PATIENCE, set_as_default=False)
        except Exception as error:  # each kind of address has its own
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


def _asked(client, function, workers=None, **how):
    """What workers answer, without those that die, or RuntimeError."""
    for _ in range(_CALLS):
        known = client.scheduler_info()["workers"]
        asked = [it for it in known if workers is None or it in workers]
        how |= {"workers": asked, "callback_timeout": _PATIENCE}
        with suppress(TimeoutError):
            return client.run(function, **how)
    silent = min(asked, key=lambda worker: known[worker]["last_seen"])
    raise RuntimeError(
        f"the worker {silent} has not answered for {_CALLS * _PATIENCE} "
        "seconds; is its process stopped, or its machine asleep?"
    )


def _code():
    return _CODE


def _alike(client, workers):
    """Refuse workers that do not answer, or have other helpers."""
    codes = _asked(client, _code, workers, on_error="return")
    for worker, code in codes.items():
        # A worker that has just died is replaced later.
        if code != _CODE and not isinstance(code, OSError):
            said = f" ({code})" if isinstance(code, Exception) else ""
            raise RuntimeError(
                "workers must have the helpers of this process; those of "
                f"{worker} differ{said}. Install one version everywhere, and "
                "start the workers again"
            )


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


def _by_group(Q, K, V):
    """Three shapes with an axis for the query heads that share a head."""
    H, H_kv, H_v = (len(it) > 2 and it[-3] for it in (Q, K, V))
    if not H or not H_kv or H_kv != H_v or H % H_kv:
        raise ValueError(
            "grouped heads must be on axis -3, as many of K as of V, and "
            f"divide those of Q; got Q {Q}, K {K} and V {V}"
        )
    heads = (H_kv, H // H_kv), (H_kv, 1), (H_kv, 1)
    return [
        (*shape[:-3], *n, *shape[-2:])
        for shape, n in zip((Q, K, V), heads, strict=True)
    ]


def _fitting(Q, K, V, causal, mask, grouped):
    """`Q` and the mask by groups of heads, if arguments fit each other."""
    tiled_sizes(Q, K, V, causal)
    shapes = Q.shape, K.shape, V.shape
    q, k, v = _by_group(*shapes) if check_flag(grouped, "grouped") else shapes
    common_leading_axes(Q=q, K=k, V=v)
    if mask is not None:
        lead, sizes = common_leading_axes(Q=q, K=k), (q[-2], k[-2])
        heads = (*lead[:-2], Q.shape[-3]) if grouped else lead
        mask = check_mask(mask, (*heads, *sizes), spare=-3)
        mask = mask.reshape(*lead, *sizes)
        # What is repeated along an axis is sent once.
        mask = mask[tuple(slice(None if n else 1) for n in mask.strides[:-1])]
    return Q.reshape(q), mask


def _split(Q, K, V, causal, scale, mask, grouped):
    """Attention over placed keys, continued after each loss of workers."""
    Q, mask = _fitting(Q, K, V, causal, mask, grouped)
    scale = default_scale(scale, Q.shape[-1])
    first = K.shape[-2] - Q.shape[-2] if causal else None
    dtype = np.result_type(Q, K.dtype, V.dtype)
    parts = [None] * len(K.positions)
    how = first, scale, mask, grouped
    for _ in range(_LOSSES):
        alive = _workers(K.client)
        _alike(K.client, alive)
        _mend((K, V), alive)
        try:
            output = _result(K, _merged(Q, K, V, parts, *how)).output
        except CancelledError:  # a worker that this needs has died
            continue
        if grouped:
            *lead, H_kv, n, T, d_v = output.shape
            output = output.reshape(*lead, H_kv * n, T, d_v)
        return output.astype(dtype)
    raise RuntimeError(
        f"workers were lost {_LOSSES} times in one call; "
        "does a shard fit into a worker's memory?"
    )


def _merged(Q, K, V, parts, first, scale, mask=None, grouped=False):
    """A future of all partial results merged; `parts` caches them."""
    q = _send(K.client, Q, K.workers[0])
    if any(future is None for future in (q, *K.shards, *V.shards)):
        raise CancelledError
    for i, worker in enumerate(K.workers):
        if _gone(parts[i]):
            at = K.positions[i]
            shard = K.shards[i], V.shards[i], at
            columns = mask
            if mask is not None:
                columns = mask[..., at.start : at.stop : at.step]
                columns = _send(K.client, columns, worker)
                if columns is None:
                    raise CancelledError
            how = first, scale, columns, grouped
            parts[i] = K.client.submit(
                _partial, q, *shard, *how, workers=[worker], pure=False
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
            _alike(K.client, K.workers)


def _partial(Q, K, V, positions, first, scale, mask=None, grouped=False):
    """Attention over one shard; query t is at position ``first + t``."""
    if grouped:  # the query heads of a group read the same keys
        K, V = K[..., None, :, :], V[..., None, :, :]
    mask = np.True_ if mask is None else mask
    sizes = Q.shape[-2], len(positions)
    mask = np.broadcast_to(mask, (*mask.shape[:-2], *sizes))
    seen = np.full(Q.shape[-2], len(positions))
    if first is not None:
        at = np.arange(first, first + Q.shape[-2])
        seen = np.searchsorted(positions, at, side="right")
    blocks = [
        _rows(Q[..., rows, :], K, V, seen[rows], mask[..., rows, :], scale)
        for start in range(0, max(1, len(seen)), _BLOCK)
        for rows in [slice(start, start + _BLOCK)]
    ]
    return Partial(
        np.concatenate([block.output for block in blocks], axis=-2),
        np.concatenate([block.logsumexp for block in blocks], axis=-1),
    )


def _rows(Q, K, V, seen, mask, scale):
    """The partial result of some queries.

    Query t sees those of the first ``seen[t]`` keys that `mask` allows.
    """
    done = _tile(Q, K[..., :0, :], V[..., :0, :], mask[..., :0], scale)
    # Skip keys that no query sees; stripes balance this saving.
    for start in range(0, seen.max(initial=0), _BLOCK):
        keys = slice(start, min(start + _BLOCK, seen.max()))
        k, v = K[..., keys, :], V[..., keys, :]
        where = np.arange(k.shape[-2]) < (seen - start)[:, None]
        where = where & mask[..., keys]
        done = _join(done, _tile(Q, k, v, where, scale))
    return done


def _tile(Q, K, V, where, scale):
    """The partial result of one tile of scores."""
    _, Q, K, V = widened(Q, K, V)
    scores = attention_scores(Q, K, scale=scale)
    with np.errstate(over="ignore"):
        mixed = softmax(scores, where=where) @ V
    lse = np.broadcast_to(logsumexp(scores, where=where), mixed.shape[:-1])
    return Partial(rounded(mixed, V.dtype, VALUES, V=V), lse)


def _join(*parts):
    """Merge partial results."""
    return merge_partials(*map(np.stack, zip(*parts, strict=True)))
