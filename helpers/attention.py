"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1)."""

from typing import NamedTuple

import numpy as np

from ._checks import (
    SCORES,
    VALUES,
    as_floats,
    check_bias,
    check_finite,
    check_mask,
    check_sinks,
    check_softcap,
    common_leading_axes,
    default_scale,
    overflow,
    rounded,
)
from ._core import widened
from .softmax import softmax


class Attention(NamedTuple):
    """The result of attention: the mixed values, and the weights."""

    output: np.ndarray  #: (..., T, d_v)
    weights: np.ndarray  #: (..., T, S)


def _attend(Q, K, V, mask, bias, scale, softcap, sinks):
    """The formula: softmax(Q K^T * scale + bias) V, and its weights."""
    scores = Q @ K.swapaxes(-1, -2) * scale  # (..., T, S)
    check_finite(scores, SCORES, Q=Q, K=K)
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = _biased(scores, bias)
    if sinks is None:
        weights = softmax(scores, where=mask)  # (..., T, S)
    else:
        weights = _softmax_beside(sinks, scores, mask)
    return weights @ V, weights  # (..., T, d_v)


def _biased(scores, bias):
    """`scores` plus `bias`, in the type of the scores."""
    total = scores + bias.astype(scores.dtype, copy=False)
    if np.any(np.isinf(total) & np.isfinite(bias)):
        raise overflow("scores plus bias overflow", scores.dtype)
    return total


def _softmax_beside(sinks, scores, mask):
    """Softmax with a sink as one more column, whose weight is dropped."""
    *lead, T, S = scores.shape
    column = np.broadcast_to(sinks[..., None, None], (*lead, T, 1))
    if mask is not None:
        mask = np.concatenate([mask, np.ones((*lead, T, 1), bool)], axis=-1)
    beside = np.concatenate([scores, column], axis=-1)  # (..., T, S + 1)
    return softmax(beside, where=mask)[..., :S]


def attention(
    Q,
    K,
    V,
    *,
    mask=None,
    bias=None,
    scale=None,
    softcap=None,
    sinks=None,
):
    """Average the values, weighted by how well query and key match.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., S, d_k) array
        Keys.
    V : (..., S, d_v) array
        Values.
    mask : (..., T, S) boolean array, optional
        True = may attend. Broadcasts to the shape of the scores. If the scores
        have no axis of heads, that axis of the mask may have length one, as in
        the (B, 1, 1, S) of `padding_mask`.
    bias : (..., T, S) float array, optional
        Added to the scaled scores. ``-inf`` forbids, as a mask does. Its axes
        are those of a mask.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k) by default.
    softcap : float, optional
        Replaces each scaled score s by ``softcap * tanh(s / softcap)``,
        before `bias` and `mask`.
    sinks : (...) float array, optional
        One score for each head, so (..., H) if the scores are (..., H, T, S).
        It is one more column in each row's softmax, whose weight is not
        returned, so the other weights sum to less than one. ``-inf`` is no
        sink.

    Returns
    -------
    Attention
        ``output`` (..., T, d_v) and ``weights`` (..., T, S). A query that may
        attend to nothing has weights and output of exactly zero.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, if `mask` is not boolean, or if
        `bias` is boolean.
    ValueError
        If shapes do not fit, an entry is not finite, or numbers overflow.

    Notes
    -----
    ``softmax(Q K^T / sqrt(d_k) + bias) V``: Vaswani et al. 2017, equation 1.
    The cap is that of Gemma 2 (2024), section 2; sinks are those of gpt-oss
    (OpenAI 2025, section 2.2): ``exp(s_j) / (exp(sink) + sum_i exp(s_i))``.
    Computed in the widest type of `Q`, `K` and `V`; float16 is computed in
    float32 and rounded once.

    Examples
    --------
    >>> K = [[1.0, 0.0], [0.0, 1.0]]
    >>> output, weights = attention([[0.0, 0.0]], K, [[10.0], [20.0]])
    >>> output.tolist(), weights.tolist()
    ([[15.0]], [[0.5, 0.5]])
    """
    Q, K, shape = _fitting(Q, K)
    V = as_floats(V, "V", ndim=2, axes="(..., S, d_v)")
    if V.shape[-2] != shape[-1]:
        raise ValueError(
            f"K and V must share S; got K {K.shape} and V {V.shape}"
        )
    common_leading_axes(scores=shape, V=V.shape)
    scale = default_scale(scale, Q.shape[-1])
    if mask is not None:
        mask = check_mask(mask, shape, spare=-3)
    if bias is not None:
        bias = check_bias(bias, shape, spare=-3)
    dtype, *wide = widened(Q, K, V)
    if softcap is not None:
        softcap = check_softcap(softcap, wide[0].dtype)
    if sinks is not None:
        sinks = check_sinks(sinks, shape[:-2], wide[0].dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        output, weights = _attend(*wide, mask, bias, scale, softcap, sinks)
    output = rounded(output, dtype, VALUES, V=V)
    return Attention(output, weights.astype(dtype, copy=False))


def attention_scores(Q, K, *, scale=None):
    """How well each query matches each key.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., S, d_k) array
        Keys. Leading axes broadcast against those of `Q`.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k) by default.

    Returns
    -------
    (..., T, S) array
        Scaled dot products, ``Q K^T * scale``.

    Raises
    ------
    TypeError
        If `Q` or `K` does not hold real numbers.
    ValueError
        If shapes do not fit, an entry is not finite, or the scores overflow.

    Notes
    -----
    Vaswani et al. 2017, equation 1, before the softmax.

    Examples
    --------
    >>> attention_scores([[2.0, 0.0]], [[1.0, 2.0], [4.0, 0.0]], scale=1)
    array([[2., 8.]])
    """
    Q, K, _ = _fitting(Q, K)
    scale = default_scale(scale, Q.shape[-1])
    dtype, *wide = widened(Q, K)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = wide[0] @ wide[1].swapaxes(-1, -2) * scale
    return rounded(scores, dtype, SCORES, Q=Q, K=K)


def _fitting(Q, K):
    """Queries and keys that fit each other, and the shape of their scores."""
    Q = as_floats(Q, "Q", ndim=2, axes="(..., T, d_k)")
    K = as_floats(K, "K", ndim=2, axes="(..., S, d_k)")
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(
            f"Q and K must share d_k; got Q {Q.shape} and K {K.shape}"
        )
    lead = common_leading_axes(Q=Q.shape, K=K.shape)
    return Q, K, (*lead, Q.shape[-2], K.shape[-2])
