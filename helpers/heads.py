"""Attention with several heads, which may share their keys and values."""

import math
from typing import NamedTuple

import numpy as np

from ._checks import (
    as_array,
    as_finite_floats,
    as_floats,
    as_size,
    check_axes,
    check_bias,
    check_cache,
    check_generator,
    check_mask,
    common_leading_axes,
    undone_on_failure,
)
from ._core import logistic
from ._shapes import (
    check_projections,
    default_projections,
    head_counts,
    head_width,
    projection_shapes,
)
from .attention import Attention, attention
from .layers import linear, rms_norm


class Projections(NamedTuple):
    """The weights of multi-head attention, and the numbers of heads.

    Head h owns columns ``h * d_k`` to ``(h + 1) * d_k - 1`` of `W_Q`, and the
    rows of `W_O` that multiply its output; key/value head g owns the same
    blocks of `W_K` and `W_V`. If ``n_kv_heads`` equals ``n_heads``, this is
    multi-head attention; if it is 1, multi-query; and in between,
    grouped-query attention.
    """

    W_Q: np.ndarray  #: (d_model, H * d_k)
    W_K: np.ndarray  #: (d_model, H_kv * d_k)
    W_V: np.ndarray  #: (d_model, H_kv * d_v)
    W_O: np.ndarray  #: (H * d_v, d_model)
    n_heads: int  #: H
    n_kv_heads: int  #: H_kv, a divisor of H


def split_heads(X, n_heads):
    """Divide the columns into heads, and put the heads before the positions.

    Parameters
    ----------
    X : (..., T, H * d) array
        One row per position; head h owns columns ``h * d`` to ``(h + 1) * d -
        1``.
    n_heads : int
        H, a divisor of the number of columns.

    Returns
    -------
    (..., H, T, d) array
        A view of `X` where NumPy can make one; the type is kept.

    Raises
    ------
    TypeError
        If `n_heads` is not an integer.
    ValueError
        If `n_heads` does not divide the last axis, or axes are missing.

    Notes
    -----
    ``result[h, t, j] = X[t, h * d + j]``. The concatenation of Vaswani et
    al. 2017, section 3.2.2, read backwards.

    Examples
    --------
    >>> split_heads([[0, 1, 2, 3], [10, 11, 12, 13]], 2).tolist()
    [[[0, 1], [10, 11]], [[2, 3], [12, 13]]]
    """
    X = check_axes(as_array(X, "X"), "X", 2, "(..., T, H * d)")
    n_heads = as_size(n_heads, "n_heads", least=1)
    *lead, T, width = X.shape
    if width % n_heads:
        raise ValueError(
            "n_heads must divide the last axis of X; "
            f"got n_heads {n_heads} and X {X.shape}"
        )
    cut = X.reshape(*lead, T, n_heads, width // n_heads)  # (..., T, H, d)
    return cut.swapaxes(-3, -2)  # (..., H, T, d)


def merge_heads(X):
    """Put the heads side by side again: undo `split_heads`.

    Parameters
    ----------
    X : (..., H, T, d) array
        One matrix per head.

    Returns
    -------
    (..., T, H * d) array
        The columns of head 0, then those of head 1, and so on.

    Raises
    ------
    ValueError
        If axes are missing.

    Notes
    -----
    ``result[t, h * d + j] = X[h, t, j]``: the concatenation of Vaswani et
    al. 2017, section 3.2.2.

    Examples
    --------
    >>> merge_heads([[[0, 1], [10, 11]], [[2, 3], [12, 13]]]).tolist()
    [[0, 1, 2, 3], [10, 11, 12, 13]]
    """
    X = check_axes(as_array(X, "X"), "X", 3, "(..., H, T, d)")
    *lead, H, T, d = X.shape
    return X.swapaxes(-3, -2).reshape(*lead, T, H * d)  # (..., T, H * d)


def repeat_kv(X, n_rep):
    """Repeat each key/value head for `n_rep` adjacent query heads.

    Parameters
    ----------
    X : (..., H_kv, S, d) array
        Keys or values, one matrix per key/value head.
    n_rep : int
        H / H_kv, the number of query heads that share a key/value head.

    Returns
    -------
    (..., H_kv * n_rep, S, d) array
        Index h holds the keys of query head h: those of key/value head ``h //
        n_rep``.

    Raises
    ------
    TypeError
        If `n_rep` is not an integer.
    ValueError
        If `n_rep` is below one, or axes are missing.

    Notes
    -----
    Ainslie et al. 2023, section 2.2: neighbouring query heads form a group.

    Examples
    --------
    >>> repeat_kv([[[1]], [[2]]], 2)[:, 0, 0].tolist()
    [1, 1, 2, 2]
    """
    X = check_axes(as_array(X, "X"), "X", 3, "(..., H_kv, S, d)")
    return np.repeat(X, as_size(n_rep, "n_rep", least=1), axis=-3)


def init_projections(
    rng, d_model, n_heads, n_kv_heads=None, *, d_k=None, d_v=None
):
    """Draw random weights that keep the variance of their inputs.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    d_model : int
        Width of a token's vector.
    n_heads : int
        H, the number of query heads.
    n_kv_heads : int, optional
        H_kv, a divisor of `n_heads`; `n_heads` by default.
    d_k : int, optional
        Width of a query and of a key in one head; ``d_model / n_heads`` by
        default, and `n_heads` must then divide `d_model`.
    d_v : int, optional
        Width of a value in one head; `d_k` by default.

    Returns
    -------
    Projections
        Normal numbers with mean 0 and variance 1 over the number of rows.

    Raises
    ------
    TypeError
        If a size is not an integer, or `rng` is not a Generator.
    ValueError
        If a size is below one, or counts do not divide.

    Notes
    -----
    Sums of n products keep a variance of 1 if each weight has
    variance 1/n: LeCun et al. 1998, Efficient BackProp, section 4.6.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [W.shape for W in init_projections(rng, 8, 4, 2)[:4]]
    [(8, 8), (8, 4), (8, 4), (8, 8)]
    """
    check_generator(rng)
    shapes, H, H_kv = default_projections(
        d_model, n_heads, n_kv_heads, d_k, d_v, check=as_size
    )
    W = (
        rng.normal(0, 1 / math.sqrt(shape[0]), shape)
        for shape in shapes.values()
    )
    return Projections(*W, H, H_kv)


class Attended(NamedTuple):
    """The results of an attention layer, for its gradient and maps."""

    X: np.ndarray  #: (..., T, d_model), its input
    Q: np.ndarray  #: (..., H, T, d_k), rotated if positions require it
    K: np.ndarray  #: (..., H, S, d_k), repeated for the heads that share it
    V: np.ndarray  #: (..., H, S, d_v), likewise
    weights: np.ndarray  #: (..., H, T, S)
    mixed: np.ndarray  #: (..., H, T, d_v), the weighted sums of the values
    gate: np.ndarray | None  #: (..., H, T, d_v), if there is one
    heads: np.ndarray  #: (..., H, T, d_v), gated, before they are merged


def attention_layer(
    X,
    p,
    n_heads,
    n_kv_heads,
    *,
    source=None,
    rotate=None,
    cache=None,
    eps=1e-5,
    keep=None,
    **options,
):
    """Take the steps of multi-head attention, and return every result.

    `multi_head_attention` and the blocks of `helpers.transformer` check
    their arguments and take these steps.

    Parameters
    ----------
    X : (..., T, d_model) array
        One row per token, finite.
    p : dict of str to array
        ``W_Q``, ``W_K``, ``W_V`` and ``W_O`` as in `Projections`; if they
        exist, the biases ``W_Q.bias`` and so on; `W_G`, if a sigmoid gates the
        heads' outputs; and ``norm_Q.gain`` and ``norm_K.gain``, if queries and
        keys are normalised: as wide as a head, or as all heads together.
        Leading axes are runs, as in `helpers.layers.linear`.
    n_heads, n_kv_heads : int
        H, and H_kv, a divisor of it.
    source : (..., S, d_model) array, optional
        The rows from which keys and values are computed; `X` by default.
    rotate : callable, optional
        The function applied to queries and to keys, (..., H, T, d_k), before
        their products and before keys are cached.
    cache : KVCache, optional
        Keys and values of earlier positions; those of `X` are appended.
    eps : float, default 1e-5
        The `eps` of the norms of queries and keys.
    keep : (H,) array, optional
        The factor on each head's output: 0 switches it off.
    **options
        ``mask``, ``bias``, ``scale``, ``softcap`` and ``sinks``, as
        `helpers.attention.attention` has them, for scores (..., H, T, S).

    Returns
    -------
    output : (..., T, d_model) array
        The rows that the layer adds.
    attended : Attended
        The intermediate results.

    Raises
    ------
    ValueError
        If a weight is not finite, a product overflows, or as `attention`.

    Notes
    -----
    Vaswani et al. 2017, section 3.2.2.

    Examples
    --------
    >>> p = dict.fromkeys(["W_Q", "W_K", "W_V", "W_O"], np.eye(4))
    >>> output, attended = attention_layer(np.eye(4), p, 2, 2)
    >>> output.shape, attended.weights.shape
    ((4, 4), (2, 4, 4))
    """
    source = X if source is None else source
    Q = _project(X, p, "W_Q")
    K = _project(source, p, "W_K", "the source")
    Q = _normed_heads(Q, p.get("norm_Q.gain"), n_heads, eps)
    K = _normed_heads(K, p.get("norm_K.gain"), n_kv_heads, eps)
    V = split_heads(_project(source, p, "W_V", "the source"), n_kv_heads)
    if rotate is not None:
        Q, K = rotate(Q), rotate(K)
    if cache is not None:
        K, V = cache.append(K, V)  # (..., H_kv, S, d_k and d_v)
    n_rep = n_heads // n_kv_heads
    K, V = repeat_kv(K, n_rep), repeat_kv(V, n_rep)
    mixed, weights = attention(Q, K, V, **options)
    gate = None
    if "W_G" in p:
        gate = logistic(split_heads(_project(X, p, "W_G"), n_heads))
    heads = mixed if gate is None else gate * mixed
    if keep is not None:
        heads = heads * keep[:, None, None].astype(heads.dtype)
    output = _project(merge_heads(heads), p, "W_O", "the heads")
    return output, Attended(X, Q, K, V, weights, mixed, gate, heads)


def _normed_heads(rows, gain, n_heads, eps):
    """Queries or keys divided into heads, normalised if there is a gain."""
    if gain is not None and gain.shape[-1] == rows.shape[-1]:
        rows, gain = rms_norm(rows, gain, eps=eps), None  # all heads together
    heads = split_heads(rows, n_heads)
    return heads if gain is None else rms_norm(heads, gain, eps=eps)


def _project(rows, p, name, what="X"):
    """The rows times a matrix, plus its bias if there is one."""
    vector = f"{name}.bias"
    return linear(rows, p[name], p.get(vector), names=(what, name, vector))


def multi_head_attention(
    X,
    projections,
    *,
    context=None,
    mask=None,
    bias=None,
    cache=None,
    softcap=None,
    sinks=None,
):
    """Run several attentions in parallel, and mix their outputs.

    Parameters
    ----------
    X : (..., T, d_model) array
        One row per token; each has one query in every head.
    projections : Projections
        The weights, and the number of query and of key/value heads.
    context : (..., S, d_model) array, optional
        The rows of keys and values (cross-attention); `X` by default.
    mask : (..., H, T, S) boolean array, optional
        True = may attend. Broadcasts: (T, S) serves every head, and the
        (B, 1, 1, S) of `padding_mask` every head and query.
    bias : (..., H, T, S) float array, optional
        Added to the scaled scores.
    cache : KVCache, optional
        Keys and values of earlier positions. Those of `X` are appended, and
        S counts all of them.
    softcap, sinks
        As `helpers.attention.attention`; `sinks` is (H,), or broadcasts to
        (..., H).

    Returns
    -------
    Attention
        ``output`` (..., T, d_model) and ``weights`` (..., H, T, S).

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean, or
        `projections` is not a `Projections`.
    ValueError
        If shapes or head counts do not fit, an entry is not finite, a product
        overflows, or both `context` and `cache` are given. A `KVCache` is then
        unchanged.

    Notes
    -----
    Vaswani et al. 2017, section 3.2.2; with fewer key/value heads, Shazeer
    2019 (one) and Ainslie et al. 2023 (some). No biases.

    Examples
    --------
    >>> projections = init_projections(np.random.default_rng(0), 8, 4, 2)
    >>> output, weights = multi_head_attention(np.eye(3, 8), projections)
    >>> output.shape, weights.shape
    ((3, 8), (4, 3, 3))
    """
    W, H, H_kv = _checked(projections)
    X = _tokens(X, "X", len(W["W_Q"]))
    source = _source(X, context, cache, len(W["W_K"]))
    dtype = np.result_type(X, source, *W.values())
    X, source = X.astype(dtype, copy=False), source.astype(dtype, copy=False)
    S = source.shape[-2]
    if cache is not None:
        check_cache(cache)
        S += len(cache)
    lead = common_leading_axes(X=X.shape, source=source.shape)
    shape = (*lead, H, X.shape[-2], S)
    mask = None if mask is None else check_mask(mask, shape)
    bias = None if bias is None else check_bias(bias, shape)
    with undone_on_failure(cache):
        output, attended = attention_layer(
            X,
            W,
            H,
            H_kv,
            source=source,
            mask=mask,
            bias=bias,
            cache=cache,
            softcap=softcap,
            sinks=sinks,
        )
    return Attention(output, attended.weights)


def _matrix(W, name):
    """`W` as a float matrix."""
    W = as_floats(W, name)
    if W.ndim != 2:
        raise ValueError(f"{name} must have two axes; got {name} {W.shape}")
    return W


def _checked(projections):
    """The four matrices by name, checked, and both counts."""
    check_projections(projections, Projections)
    H, H_kv = head_counts(projections.n_heads, projections.n_kv_heads)
    names = Projections._fields[:4]
    W = {name: _matrix(getattr(projections, name), name) for name in names}
    W_Q, W_V = W["W_Q"], W["W_V"]
    d_k = head_width(W_Q, "W_Q", "n_heads", H)
    d_v = head_width(W_V, "W_V", "n_kv_heads", H_kv)
    for name, shape in projection_shapes(len(W_Q), H, H_kv, d_k, d_v).items():
        if W[name].shape != shape:
            raise ValueError(
                f"{name} must be {shape} to fit W_Q {W_Q.shape}, W_V "
                f"{W_V.shape}, n_heads {H} and n_kv_heads {H_kv}; "
                f"got {name} {W[name].shape}"
            )
    return W, H, H_kv


def _tokens(X, name, d_model):
    """`X` as finite rows of width `d_model`."""
    X = as_finite_floats(X, name, ndim=2, axes="(..., positions, d_model)")
    if X.shape[-1] != d_model:
        raise ValueError(
            f"{name} must have d_model = {d_model} columns, one per row of "
            f"the projections; got {name} {X.shape}"
        )
    return X


def _source(X, context, cache, d_model):
    """The rows from which keys and values are computed."""
    if context is None:
        return X
    if cache is not None:
        raise ValueError("context and cache exclude each other; got both")
    context = _tokens(context, "context", d_model)
    common_leading_axes(X=X.shape, context=context.shape)
    return context
