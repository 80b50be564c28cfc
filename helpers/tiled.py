"""Exact attention, tile by tile, in little memory.

The scores of all pairs never exist at once, so extra memory grows neither with
the number of keys nor with the number of queries.
"""

from typing import NamedTuple

import numpy as np

from ._blas import add_products, on_all_cores, products, strips
from ._checks import (
    SCORES,
    VALUES,
    as_finite_floats,
    as_finite_matrix,
    as_floats,
    as_size,
    check_sinks,
    check_softcap,
    default_scale,
    overflow,
    rounded,
)
from ._core import cap, total, widened
from ._shapes import tiled_lead
from .softmax import logsumexp, softmax


class Partial(NamedTuple):
    """Attention over some of the keys, and the weight of those keys."""

    output: np.ndarray  #: (..., T, d_v)
    logsumexp: np.ndarray  #: (..., T), of the scores


def merge_partials(outputs, logsumexps):
    """Merge attention over parts of the keys into attention over all of them.

    Parameters
    ----------
    outputs : (n, ..., T, d_v) array
        The output of attention for each of n parts of the keys.
    logsumexps : (n, ..., T) array
        The logarithm of the sum of the exponentials of each part's scores,
        in nats; ``-inf`` for a part in which the query may attend to nothing.

    Returns
    -------
    Partial
        ``output`` (..., T, d_v) and ``logsumexp`` (..., T) over all parts.
        The pair can be merged again: any order and any tree give the same.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, an output is not finite, or a logsumexp is NaN
        or ``+inf``.

    Notes
    -----
    A part with logsumexp l has weight ``exp(l)``, so the parts are averaged
    with the softmax of their logsumexps. No parts, or only empty parts, give
    zero.

    Examples
    --------
    >>> output, total = merge_partials([[[1.0]], [[5.0]]], np.log([[3], [1]]))
    >>> output.tolist(), np.exp(total).round(9).tolist()
    ([[2.0]], [4.0])
    """
    outputs = as_finite_floats(
        outputs, "outputs", ndim=3, axes="(n, ..., T, d_v)"
    )
    lse = as_floats(logsumexps, "logsumexps", ndim=2, axes="(n, ..., T)")
    if lse.shape != outputs.shape[:-1]:
        raise ValueError(
            "outputs and logsumexps must share (n, ..., T); "
            f"got outputs {outputs.shape} and logsumexps {lse.shape}"
        )
    if np.any(np.isnan(lse) | np.isposinf(lse)):
        raise ValueError("logsumexps must not hold NaN or +inf")
    dtype, outputs, lse = widened(outputs, lse)
    weights = softmax(lse, axis=0)[..., None]  # (n, ..., T, 1)
    with np.errstate(over="ignore"):
        mixed = total(weights * outputs, 0)[0]
    return Partial(
        rounded(mixed, dtype, "the merged output overflows"),
        logsumexp(lse, axis=0).astype(dtype, copy=False),
    )


def tiled_attention(
    Q,
    K,
    V,
    *,
    causal=False,
    scale=None,
    softcap=None,
    sinks=None,
    block_q=256,
    block_k=480,
):
    """Compute attention one tile of queries and keys at a time.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., S, d_k) array
        Keys.
    V : (..., S, d_v) array
        Values.
    causal : bool, default False
        Let each query see itself and all earlier positions; the T queries are
        the last of the S positions, as in `helpers.masks.causal_mask`.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k) by default.
    softcap : float, optional
    sinks : (...) float array, optional
        As `helpers.attention.attention`. A sink is one more part to merge,
        whose value is zero.
    block_q : int
        The number of queries in one tile.
    block_k : int
        The number of keys in one tile. Both sizes change time and memory, but
        the result only by rounding.

    Returns
    -------
    (..., T, d_v) array
        The output of `helpers.attention.attention`, up to rounding. Exactly
        zero if there are no keys.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `causal` is not a bool, or a
        block size is not an integer.
    ValueError
        If shapes do not fit, an entry is not finite, a block size is below
        one, T > S with `causal`, or numbers overflow. A tile may overflow
        where `attention` does not, because its values are added up before they
        are divided.

    Notes
    -----
    The online softmax of Milakov and Gimelshein 2018, over tiles as in Dao
    et al. 2022, with the queries in the outer loop (Dao 2023). Each worker
    thread, one per core, holds one tile and its keys, a little more than
    ``block_q * (block_k + d_k + 2 d_v) + block_k * d_k`` numbers. float16 is
    computed in float32 and rounded once. For only a few queries,
    `helpers.attention.attention` is faster.

    Examples
    --------
    >>> K = [[1.0, 0.0], [0.0, 1.0]]
    >>> tiled_attention([[0.0, 0.0]], K, [[10.0], [20.0]]).tolist()
    [[15.0]]
    """
    Q, K, V = _inputs(Q, K, V, causal)
    scale = default_scale(scale, Q.shape[-1])
    block_q = as_size(block_q, "block_q", least=1)
    block_k = as_size(block_k, "block_k", least=1)
    T, S, lead = Q.shape[-2], K.shape[-2], Q.shape[:-2]
    output = np.zeros((*lead, T, V.shape[-1]), np.result_type(Q, K, V))
    dtype = np.result_type(output, np.float32)  # float16 is computed in it
    if softcap is not None:
        softcap = check_softcap(softcap, dtype)
    no_sink = np.broadcast_to(-np.inf, lead)
    sinks = no_sink if sinks is None else check_sinks(sinks, lead, dtype)
    heads, blocks = list(np.ndindex(lead)), -(-T // block_q)

    def attend(task):
        block, head = divmod(task, len(heads))
        i, rows = heads[head], slice(block * block_q, (block + 1) * block_q)
        first = S - T + rows.start if causal else None
        output[i][rows] = _attend(
            Q[i][rows], K[i], V[i], scale, softcap, sinks[i], first, block_k
        )

    if S and output.size:
        # The last blocks see the most keys, so they go first, and no core
        # waits at the end.
        on_all_cores(attend, range(blocks * len(heads))[::-1])
    return output


def _inputs(Q, K, V, causal):
    """The three arrays, checked, with equal leading axes."""
    Q = as_finite_matrix(Q, "Q", "(..., T, d_k)")
    K = as_finite_matrix(K, "K", "(..., S, d_k)")
    V = as_finite_matrix(V, "V", "(..., S, d_v)")
    lead = tiled_lead(Q, K, V, causal)
    return [np.broadcast_to(X, lead + X.shape[-2:]) for X in (Q, K, V)]


def _attend(Q, K, V, scale, softcap, sink, first, block_k):
    """The output for a few queries, the first of which is at `first`."""
    dtype = np.result_type(Q, K, V, np.float32)
    width = max(K.shape[-1], V.shape[-1])
    q = strips(Q.astype(dtype) * scale, width)  # (g, r, d_k)
    # A sink comes first, as a score whose value is zero.
    top = np.full((*q.shape[:2], 1), sink, dtype)  # the running maximum,
    norm = (top > -np.inf).astype(dtype)  # the sum of exp(score - top),
    mix = np.zeros((*q.shape[:2], V.shape[-1]), dtype)  # and of V so weighted
    end = len(K) if first is None else first + len(Q)
    memory = np.empty(top.size * min(block_k, end), dtype)
    for start in range(0, end, block_k):
        keys = slice(start, min(start + block_k, end))
        # Strips before the first key of the tile see none of it.
        past = 0 if first is None else max(0, start - first) // q.shape[1]
        k = K[keys].astype(dtype, copy=False)
        scores = products(q[past:], k, memory)
        if scores.min() == -np.inf:  # it would look like a hidden key
            raise overflow(SCORES, dtype, "Q", "K")
        if softcap is not None:
            _cap(scores, softcap)
        if first is not None:
            _mask_later(scores, first + past * q.shape[1] - start)
        v = V[keys].astype(dtype, copy=False)
        _accumulate(scores, v, top[past:], norm[past:], mix[past:])
    return _finish(top, norm, mix)[: len(Q)]


def _cap(scores, softcap):
    """Cap a tile in place, after refusing overflowed scores."""
    if scores.max() == np.inf:
        raise overflow(SCORES, scores.dtype, "Q", "K")
    cap(scores, softcap)


def _mask_later(scores, position):
    """Forbid the keys that are later than their query, in place.

    The first query of the tile is at column `position`.
    """
    skip = max(0, position + 1)  # columns that all queries may see
    later = scores[..., skip:]
    g, r, n = later.shape
    if n:
        visible = np.tri(g * r, n, position - skip, dtype=bool)
        np.copyto(later, -np.inf, where=~visible.reshape(g, r, n))


def _accumulate(scores, v, top, norm, mix):
    """Add a tile to the running maximum, sum and mixture, in place."""
    new = np.maximum(top, scores.max(axis=-1, keepdims=True))
    shrink = np.exp(top - new)  # rescales earlier sums to the new maximum
    top[...] = new
    scores -= new
    weights = np.exp(scores, out=scores)
    norm *= shrink
    norm[..., 0] += np.einsum("grs->gr", weights)
    mix *= shrink
    add_products(mix, weights, v)


def _finish(top, norm, mix):
    """The output, one row per query, which must be finite."""
    if not np.isfinite(top).all():
        raise overflow(SCORES, top.dtype, "Q", "K")
    if not np.isfinite(mix).all():
        raise overflow(VALUES, mix.dtype, "V")
    return (mix / norm).reshape(-1, mix.shape[-1])
