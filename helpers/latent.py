"""Latent attention: keys and values computed from one short vector per token.

A cache stores that vector and one rotated key, which all heads share, but no
head's keys or values. DeepSeek-AI 2024 (DeepSeek-V2), section 2.1.
"""

import math
from typing import NamedTuple

import numpy as np

from ._checks import (
    as_finite_floats,
    as_real,
    as_size,
    check_cache,
    check_flag,
    check_generator,
    check_mask,
    rounded,
    undone_on_failure,
)
from ._core import widened
from ._shapes import check_projections, head_width, latent_shapes
from .attention import Attention, attention
from .gradients import attention_vjp
from .heads import merge_heads, split_heads
from .layers import linear, linear_vjp, rms_norm, rms_norm_vjp
from .positions import rotary_embedding


class LatentProjections(NamedTuple):
    """The weights of latent attention.

    Head h owns the h-th block of columns of `W_UK`, `W_UV`, `W_UQ` and `W_QR`,
    and the rows of `W_O` that multiply its output. A model that does not
    compress its queries has None for `W_DQ` and `gain_Q`; d_q is then d_model.
    """

    W_DKV: np.ndarray  #: (d_model, d_c), down to the latent vector
    gain_KV: np.ndarray  #: (d_c,), of its norm
    W_KR: np.ndarray  #: (d_model, d_r), to the key that is rotated
    W_UK: np.ndarray  #: (d_c, H * d_k), up to the keys
    W_UV: np.ndarray  #: (d_c, H * d_v), up to the values
    W_DQ: np.ndarray | None  #: (d_model, d_q), down, for queries
    gain_Q: np.ndarray | None  #: (d_q,)
    W_UQ: np.ndarray  #: (d_q, H * d_k), up to the queries
    W_QR: np.ndarray  #: (d_q, H * d_r), to the queries that are rotated
    W_O: np.ndarray  #: (H * d_v, d_model)
    n_heads: int  #: H


class Kept(NamedTuple):
    """The cached d_c + d_r numbers of each position, for all heads."""

    latent: np.ndarray  #: (..., T, d_c), after its norm
    K_rotated: np.ndarray  #: (..., T, d_r)


class LatentQueries(NamedTuple):
    """The two parts of each head's queries."""

    Q: np.ndarray  #: (..., H, T, d_k), for keys from the latent vector
    Q_rotated: np.ndarray  #: (..., H, T, d_r), for the rotated key


class LatentGradients(NamedTuple):
    """Gradients of a loss, shaped like the arguments of `latent_attention`."""

    X: np.ndarray  #: (..., T, d_model)
    projections: LatentProjections  #: None where a weight is None


def init_latent(rng, d_model, n_heads, *, d_c, d_r, d_k, d_v=None, d_q=None):
    """Draw random weights that keep the variance of their inputs.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    d_model : int
        Width of a token's vector.
    n_heads : int
        H, the number of heads.
    d_c : int
        Width of the latent vector.
    d_r : int
        Width of the rotated key, and of each head's rotated query; even.
    d_k : int
        Width of the part of a key and of a query that is not rotated.
    d_v : int, optional
        Width of a value in one head; `d_k` by default.
    d_q : int, optional
        Width of the vector to which queries are compressed; by default they
        are not.

    Returns
    -------
    LatentProjections
        Normal numbers with mean 0 and variance 1 over the number of rows;
        gains of 1.

    Raises
    ------
    TypeError
        If a size is not an integer, or `rng` is not a Generator.
    ValueError
        If a size is below one, or `d_r` is odd.

    Notes
    -----
    As `helpers.heads.init_projections`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = init_latent(rng, 8, 2, d_c=3, d_r=2, d_k=4)
    >>> p.W_DKV.shape, p.W_UK.shape, p.W_DQ
    ((8, 3), (3, 8), None)
    """
    check_generator(rng)
    sizes = {"d_model": d_model, "n_heads": n_heads, "d_c": d_c, "d_r": d_r,
             "d_k": d_k, "d_v": d_k if d_v is None else d_v}  # fmt: skip
    sizes = [as_size(n, name, least=1) for name, n in sizes.items()]
    _even(d_r)
    d_q = None if d_q is None else as_size(d_q, "d_q", least=1)
    weights = {
        name: np.ones(shape)
        if len(shape) == 1
        else rng.normal(0, 1 / math.sqrt(shape[0]), shape)
        for name, shape in latent_shapes(*sizes, d_q).items()
    }
    if d_q is None:
        weights |= {"W_DQ": None, "gain_Q": None}
    return LatentProjections(**weights, n_heads=sizes[1])


def _times(X, W, rows, matrix):
    """The rows times a matrix; both have names for messages."""
    return linear(X, W, names=(rows, matrix, ""))


def _rotated(X, positions, base, frequencies):
    """`X` with adjacent columns rotated as pairs."""
    return rotary_embedding(
        X, positions, base=base, frequencies=frequencies, interleaved=True
    )


def compress(
    X,
    projections,
    positions=None,
    *,
    base=10000.0,
    frequencies=None,
    eps=1e-6,
):
    """Compute the numbers that are cached for each position.

    Parameters
    ----------
    X : (..., T, d_model) array
        One row per token.
    projections : LatentProjections
        The weights.
    positions : (..., T) array, optional
        The positions of the rows; 0 to T - 1 by default.
    base, frequencies
        As `helpers.positions.rotary_embedding`.
    eps : float, default 1e-6
        As `helpers.layers.rms_norm`.

    Returns
    -------
    Kept
        ``latent`` (..., T, d_c) and ``K_rotated`` (..., T, d_r), of which
        adjacent columns rotate as pairs.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `projections` is not a
        `LatentProjections`.
    ValueError
        If shapes do not fit, an entry is not finite, or a product overflows.

    Notes
    -----
    DeepSeek-AI 2024 (DeepSeek-V2), equations 9 and 15. The norm is not
    among them, but section 3.1.2 names it, and the published code has it.

    Examples
    --------
    >>> p = init_latent(np.random.default_rng(0), 8, 2, d_c=3, d_r=2, d_k=4)
    >>> [x.shape for x in compress(np.eye(5, 8), p)]
    [(5, 3), (5, 2)]
    """
    p = _checked(projections)
    X = _rows(X, p)
    latent = _times(X, p.W_DKV, "X", "W_DKV")
    K = _times(X, p.W_KR, "X", "W_KR")
    return Kept(
        rms_norm(latent, p.gain_KV, eps=eps),
        _rotated(K, positions, base, frequencies),
    )


def latent_queries(
    X,
    projections,
    positions=None,
    *,
    base=10000.0,
    frequencies=None,
    eps=1e-6,
):
    """Compute both parts of the queries, which are not cached.

    Parameters
    ----------
    X, projections, positions, base, frequencies, eps
        As `compress`.

    Returns
    -------
    LatentQueries
        ``Q`` (..., H, T, d_k) and ``Q_rotated`` (..., H, T, d_r).

    Raises
    ------
    TypeError, ValueError
        As `compress`.

    Notes
    -----
    DeepSeek-AI 2024 (DeepSeek-V2), equations 12 to 14. DeepSeek-V2-Lite does
    not compress its queries.

    Examples
    --------
    >>> p = init_latent(np.random.default_rng(0), 8, 2, d_c=3, d_r=2, d_k=4)
    >>> [x.shape for x in latent_queries(np.eye(5, 8), p)]
    [(2, 5, 4), (2, 5, 2)]
    """
    p = _checked(projections)
    rows = _rows(X, p)
    if p.W_DQ is not None:
        rows = _times(rows, p.W_DQ, "X", "W_DQ")
        rows = rms_norm(rows, p.gain_Q, eps=eps)
    Q = _times(rows, p.W_UQ, "the rows of queries", "W_UQ")
    R = _times(rows, p.W_QR, "the rows of queries", "W_QR")
    if positions is not None:  # heads share the tokens' positions
        positions = as_finite_floats(positions, "positions", ndim=1,
                                  axes="(..., T)")[..., None, :]  # fmt: skip
    R = _rotated(split_heads(R, p.n_heads), positions, base, frequencies)
    return LatentQueries(split_heads(Q, p.n_heads), R)


def expand(latent, projections):
    """Compute each head's keys and values from the latent vectors.

    Parameters
    ----------
    latent : (..., S, d_c) array
        The latent vectors from `compress`.
    projections : LatentProjections
        The weights.

    Returns
    -------
    K : (..., H, S, d_k) array
        Keys, without the rotated part.
    V : (..., H, S, d_v) array
        Values.

    Raises
    ------
    TypeError, ValueError
        As `compress`.

    Notes
    -----
    DeepSeek-AI 2024 (DeepSeek-V2), equations 10 and 11.

    Examples
    --------
    >>> p = init_latent(np.random.default_rng(0), 8, 2, d_c=3, d_r=2, d_k=4)
    >>> K, V = expand(np.eye(3), p)
    >>> bool((K[1] == p.W_UK[:, 4:]).all()), V.shape
    (True, (2, 3, 4))
    """
    p = _checked(projections)
    latent = as_finite_floats(latent, "latent", ndim=2, axes="(..., S, d_c)")
    K = _times(latent, p.W_UK, "latent", "W_UK")
    V = _times(latent, p.W_UV, "latent", "W_UV")
    return split_heads(K, p.n_heads), split_heads(V, p.n_heads)


def _per_head(X, W, **names):
    """Each head's rows, (..., H, T, m), times its matrix, (H, m, n)."""
    dtype, *wide = widened(X, W)
    with np.errstate(over="ignore", invalid="ignore"):
        product = wide[0] @ wide[1]
    return rounded(product, dtype, "a head's products overflow", **names)


def absorb(Q, projections):
    """Fold the up projection of the keys into the queries.

    Parameters
    ----------
    Q : (..., H, T, d_k) array
        The queries from `latent_queries`.
    projections : LatentProjections
        The weights.

    Returns
    -------
    (..., H, T, d_c) array
        Queries whose dot product with a latent vector equals that of `Q` with
        the key that `expand` computes from it.

    Raises
    ------
    TypeError, ValueError
        As `compress`.

    Notes
    -----
    ``q (c W_UK)^T = (q W_UK^T) c^T``: DeepSeek-AI 2024 (DeepSeek-V2),
    section 2.1.2. It cannot be done for a rotated key, because a rotation
    that depends on the distance is between the two: section 2.1.3.

    Examples
    --------
    >>> p = init_latent(np.random.default_rng(0), 8, 2, d_c=3, d_r=2, d_k=4)
    >>> absorb(np.ones((2, 1, 4)), p).shape
    (2, 1, 3)
    """
    p = _checked(projections)
    Q = as_finite_floats(Q, "Q", ndim=3, axes="(..., H, T, d_k)")
    W = split_heads(p.W_UK, p.n_heads).swapaxes(-1, -2)  # (H, d_k, d_c)
    if (Q.shape[-3], Q.shape[-1]) != W.shape[:2]:
        raise ValueError(
            f"Q must be (..., {p.n_heads}, T, {W.shape[1]}) to fit W_UK and "
            f"n_heads; got Q {Q.shape} and W_UK {p.W_UK.shape}"
        )
    return _per_head(Q, W, Q=Q, W_UK=p.W_UK)


def _widened_keys(K, K_rotated):
    """Each head's keys with the rotated key, (..., H, S, d_k + d_r)."""
    shape = (*K.shape[:-1], K_rotated.shape[-1])
    shared = np.broadcast_to(K_rotated[..., None, :, :], shape)
    return np.concatenate([K, shared], axis=-1)


def _plain(queries, kept, p, mask, scale):
    """Each head reads its own expanded keys and values."""
    K, V = expand(kept.latent, p)
    return attention(
        np.concatenate(queries, axis=-1),  # (..., H, T, d_k + d_r)
        _widened_keys(K, kept.K_rotated),
        V,
        mask=mask,
        scale=scale,
    )


def _absorbed(queries, kept, p, mask, scale):
    """All heads read the latent vectors as keys and as values."""
    Q = absorb(queries.Q, p)
    latent = kept.latent[..., None, :, :]  # (..., 1, S, d_c)
    mixed, weights = attention(
        np.concatenate([Q, queries.Q_rotated], axis=-1),
        np.concatenate(kept, axis=-1)[..., None, :, :],
        latent,
        mask=mask,
        scale=scale,
    )
    W = split_heads(p.W_UV, p.n_heads)  # (H, d_c, d_v)
    return Attention(_per_head(mixed, W, W_UV=p.W_UV), weights)


def _appended(cache, kept):
    """All cached positions; the cache has one head of each kind."""
    stored = cache.append(*(x[..., None, :, :] for x in kept))
    return Kept(*(x[..., 0, :, :] for x in stored))


def latent_attention(
    X,
    projections,
    *,
    absorbed=False,
    mask=None,
    cache=None,
    positions=None,
    scale=None,
    base=10000.0,
    frequencies=None,
    eps=1e-6,
):
    """Attention that caches one short vector and one key per position.

    Parameters
    ----------
    X : (..., T, d_model) array
        One row per token.
    projections : LatentProjections
        The weights.
    absorbed : bool, default False
        Whether the up projections are folded into queries and outputs, so that
        no head's keys and values are computed. The result is the same up to
        rounding.
    mask : (..., H, T, S) boolean array, optional
        True = may attend. Broadcasts as in
        `helpers.heads.multi_head_attention`.
    cache : KVCache, optional
        ``KVCache(max_len, 1, d_c, d_r)``: latent vectors and rotated keys of
        earlier positions. Those of `X` are appended, and S counts all.
    positions : (..., T) array, optional
        The positions of the rows of `X`; by default after the cached ones.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k + d_r) by default.
    base, frequencies, eps
        As `compress`.

    Returns
    -------
    Attention
        ``output`` (..., T, d_model) and ``weights`` (..., H, T, S).

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean,
        `absorbed` is not a bool, or `projections` is not a
        `LatentProjections`.
    ValueError
        If shapes do not fit, an entry is not finite, or a product overflows. A
        `KVCache` is then unchanged.

    Notes
    -----
    DeepSeek-AI 2024 (DeepSeek-V2), section 2.1. The cache takes
    ``kv_cache_bytes(S, n_layers, 1, d_c, d_r, itemsize)``.

    Examples
    --------
    >>> p = init_latent(np.random.default_rng(0), 8, 2, d_c=3, d_r=2, d_k=4)
    >>> plain = latent_attention(np.eye(5, 8), p)
    >>> folded = latent_attention(np.eye(5, 8), p, absorbed=True)
    >>> np.allclose(plain.output, folded.output), plain.weights.shape
    (True, (2, 5, 5))
    """
    p = _checked(projections)
    attend = _absorbed if check_flag(absorbed, "absorbed") else _plain
    X = _rows(X, p)
    X = X.astype(np.result_type(X, *(W for W in p[:-1] if W is not None)))
    scale = _scale(p) if scale is None else as_real(scale, "scale")
    if cache is not None:
        check_cache(cache)
    T, start = X.shape[-2], 0 if cache is None else len(cache)
    if positions is None:
        positions = start + np.arange(T)
    if mask is not None:
        shape = (*X.shape[:-2], p.n_heads, T, start + T)
        mask = check_mask(mask, shape)
    turning = {"base": base, "frequencies": frequencies, "eps": eps}
    with undone_on_failure(cache):
        kept = compress(X, p, positions, **turning)
        kept = kept if cache is None else _appended(cache, kept)
        queries = latent_queries(X, p, positions, **turning)
        mixed, weights = attend(queries, kept, p, mask, scale)
        rows = merge_heads(mixed)
        output = _times(rows, p.W_O, "the heads' outputs", "W_O")
    return Attention(output, weights)


def _scale(p):
    """One over the square root of the width of a whole query."""
    return 1 / math.sqrt(p.W_UK.shape[1] // p.n_heads + p.W_KR.shape[1])


def latent_attention_vjp(
    grad_output,
    X,
    projections,
    weights,
    *,
    positions=None,
    scale=None,
    base=10000.0,
    frequencies=None,
    eps=1e-6,
):
    """Carry a gradient from the output back to `X` and to every weight.

    Parameters
    ----------
    grad_output : (..., T, d_model) array
        Gradient of the loss with respect to the output.
    X, projections
        The arguments of `latent_attention`, without a cache.
    weights : (..., H, T, T) array
        The weights that it returned. Masked entries are zero, so the mask is
        not needed again.
    positions, scale, base, frequencies, eps
        The arguments of `latent_attention`.

    Returns
    -------
    LatentGradients
        Both forms have the same gradients, because their results agree.

    Raises
    ------
    TypeError, ValueError
        As `latent_attention` and `helpers.gradients.attention_vjp`.

    Notes
    -----
    The steps of the plain form in reverse order. The rotated key is shared, so
    its gradient is the sum over heads, and a rotation is undone by the
    rotation to the opposite positions.

    Examples
    --------
    >>> p = init_latent(np.random.default_rng(0), 8, 2, d_c=3, d_r=2, d_k=4)
    >>> X = np.eye(5, 8)
    >>> _, weights = latent_attention(X, p)
    >>> grads = latent_attention_vjp(np.ones((5, 8)), X, p, weights)
    >>> grads.X.shape, grads.projections.W_UK.shape, grads.projections.W_DQ
    ((5, 8), (3, 8), None)
    """
    p = _checked(projections)
    X = _rows(X, p)
    scale = _scale(p) if scale is None else as_real(scale, "scale")
    if positions is None:
        positions = np.arange(X.shape[-2])
    turning = {"base": base, "frequencies": frequencies}
    kept = compress(X, p, positions, eps=eps, **turning)
    queries = latent_queries(X, p, positions, eps=eps, **turning)
    K, V = expand(kept.latent, p)
    A = as_finite_floats(weights, "weights", ndim=3, axes="(..., H, T, T)")
    if A.shape[-3:] != (*K.shape[-3:-1], X.shape[-2]):
        raise ValueError(
            f"weights must be (..., {p.n_heads}, T, T) to fit X and n_heads; "
            f"got weights {A.shape} and X {X.shape}"
        )
    rows = merge_heads(A @ V)
    grad, W_O = _product_vjp(grad_output, rows, p.W_O)
    back = attention_vjp(
        split_heads(grad, p.n_heads),
        np.concatenate(queries, axis=-1),
        _widened_keys(K, kept.K_rotated),
        V,
        A,
        scale=scale,
    )
    given = X, p, positions, turning, eps
    d_k = K.shape[-1]
    from_keys, of_keys = _kept_vjp(back.K, back.V, kept.latent, d_k, *given)
    from_queries, of_queries = _queries_vjp(back.Q, d_k, *given)
    return LatentGradients(
        from_keys + from_queries,
        p._replace(W_O=W_O, **of_keys, **of_queries),
    )


def _product_vjp(grad, X, W):
    """Gradients of `X` and of `W`, from the gradient of their product."""
    return linear_vjp(grad, X, W)[:2]


def _rotate_back(grad, positions, turning):
    """The gradient before a rotation, from the gradient after it."""
    back = -np.asarray(positions, np.float64)  # unsigned ones would wrap
    return rotary_embedding(grad, back, interleaved=True, **turning)


def _kept_vjp(dK, dV, latent, d_k, X, p, positions, turning, eps):
    """Gradients of `X`, and of the weights of keys and values by name."""
    still, rotated = dK[..., :d_k], dK[..., d_k:].sum(axis=-3)
    by_key, W_UK = _product_vjp(merge_heads(still), latent, p.W_UK)
    by_value, W_UV = _product_vjp(merge_heads(dV), latent, p.W_UV)
    down, gain_KV = rms_norm_vjp(
        by_key + by_value, X @ p.W_DKV, p.gain_KV, eps=eps
    )
    by_latent, W_DKV = _product_vjp(down, X, p.W_DKV)
    by_rotated, W_KR = _product_vjp(
        _rotate_back(rotated, positions, turning), X, p.W_KR
    )
    return by_latent + by_rotated, {
        "W_DKV": W_DKV,
        "gain_KV": gain_KV,
        "W_KR": W_KR,
        "W_UK": W_UK,
        "W_UV": W_UV,
    }


def _queries_vjp(dQ, d_k, X, p, positions, turning, eps):
    """Gradients of `X`, and of the weights of queries by name."""
    down = None if p.W_DQ is None else X @ p.W_DQ
    rows = X if down is None else rms_norm(down, p.gain_Q, eps=eps)
    each = np.asarray(positions)[..., None, :]  # the same for each head
    rotated = _rotate_back(dQ[..., d_k:], each, turning)
    by_still, W_UQ = _product_vjp(merge_heads(dQ[..., :d_k]), rows, p.W_UQ)
    by_rotated, W_QR = _product_vjp(merge_heads(rotated), rows, p.W_QR)
    grad, found = by_still + by_rotated, {"W_UQ": W_UQ, "W_QR": W_QR}
    if down is None:
        return grad, found
    grad, gain_Q = rms_norm_vjp(grad, down, p.gain_Q, eps=eps)
    grad, W_DQ = _product_vjp(grad, X, p.W_DQ)
    return grad, found | {"W_DQ": W_DQ, "gain_Q": gain_Q}


def _even(d_r):
    """`d_r`, if its columns can rotate in pairs."""
    if d_r % 2:
        raise ValueError(f"d_r must be even, to rotate in pairs; got {d_r}")
    return d_r


def _head_width(W, name, H):
    """The columns of `W` per head, after checking that `W` is a matrix."""
    if W.ndim != 2 or W.size == 0:
        raise ValueError(
            f"{name} must have two axes, and none of length 0; "
            f"got {name} {W.shape}"
        )
    return head_width(W, name, "n_heads", H)


def _checked(projections):
    """The weights as finite floats that fit each other."""
    check_projections(projections, LatentProjections)
    H = as_size(projections.n_heads, "n_heads", least=1)
    given = projections._asdict() | {"n_heads": None}
    if (given["W_DQ"] is None) != (given["gain_Q"] is None):
        raise ValueError("W_DQ and gain_Q must be given together, or neither")
    W = {n: as_finite_floats(x, n) for n, x in given.items() if x is not None}
    d_c = _head_width(W["W_DKV"], "W_DKV", 1)
    d_r = _even(_head_width(W["W_KR"], "W_KR", 1))
    d_k, d_v = (_head_width(W[n], n, H) for n in ("W_UK", "W_UV"))
    d_q = _head_width(W["W_DQ"], "W_DQ", 1) if "W_DQ" in W else None
    wanted = latent_shapes(len(W["W_DKV"]), H, d_c, d_r, d_k, d_v, d_q)
    for name, shape in wanted.items():
        if W[name].shape != shape:
            raise ValueError(
                f"{name} must be {shape} to fit the other weights and "
                f"n_heads {H}; got {name} {W[name].shape}"
            )
    return LatentProjections(**given | W | {"n_heads": H})


def _rows(X, p):
    """`X` as finite rows of width d_model."""
    X = as_finite_floats(X, "X", ndim=2, axes="(..., T, d_model)")
    if X.shape[-1] != len(p.W_DKV):
        raise ValueError(
            f"X must have d_model = {len(p.W_DKV)} columns, one per row of "
            f"the projections; got X {X.shape}"
        )
    return X
