"""The backward pass of attention, written by hand.

A vector-Jacobian product takes the gradient of the loss with respect to a
function's result, and returns the gradient with respect to its arguments.
"""

from typing import NamedTuple

import numpy as np

from ._checks import (
    as_axis,
    as_finite_floats,
    check_sinks,
    check_softcap,
    common_leading_axes,
    default_scale,
    rounded,
)
from ._core import sum_to, total, widened


class AttentionGradients(NamedTuple):
    """Gradients of the loss, each with the shape of its array."""

    Q: np.ndarray  #: (..., T, d_k)
    K: np.ndarray  #: (..., S, d_k)
    V: np.ndarray  #: (..., S, d_v)
    weights: np.ndarray  #: (..., T, S)
    scores: np.ndarray  #: (..., T, S), of the scaled and masked scores


def _softmax_vjp(grad, weights, axis=-1):
    """The gradient of the scores, for checked arguments."""
    scores = weights * (grad - total(grad * weights, axis))
    return scores


def _attention_vjp(dO, Q, K, V, A, scale, softcap):
    """The five gradients, for checked arguments."""
    dA = dO @ V.swapaxes(-1, -2)  # (..., T, S)
    # This also holds with a sink, whose column adds nothing to the sum.
    dS = _softmax_vjp(dA, np.broadcast_to(A, dA.shape))
    if softcap is not None:
        scores = Q @ K.swapaxes(-1, -2) * scale
        dS *= 1 - np.tanh(scores / softcap) ** 2
    dQ = sum_to(scale * dS @ K, Q.shape)  # (..., T, d_k)
    dK = sum_to(scale * dS.swapaxes(-1, -2) @ Q, K.shape)
    dV = sum_to(A.swapaxes(-1, -2) @ dO, V.shape)  # (..., S, d_v)
    return dQ, dK, dV, dA, dS


def softmax_vjp(grad, weights, axis=-1):
    """Carry a gradient from softmax weights back to the scores.

    Parameters
    ----------
    grad : (..., S) array
        Gradient of the loss with respect to the weights.
    weights : (..., S) array
        The weights that softmax returned.
    axis : int, default -1
        The axis along which the weights sum to one.

    Returns
    -------
    (..., S) array
        Gradient with respect to the scores. Zero where the weight is zero.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the shapes differ, an entry is not finite, `weights` cannot have
        come from a softmax along `axis`, or the gradient overflows.

    Notes
    -----
    The Jacobian of one row is ``diag(w) - w w^T``; its product with `grad` is
    ``w * (grad - sum(grad * w))``, without forming a matrix.

    Examples
    --------
    >>> softmax_vjp([1.0, 0.0], [0.5, 0.5]).tolist()
    [0.25, -0.25]
    """
    grad = as_finite_floats(grad, "grad", ndim=1, axes="(...,)")
    weights = as_finite_floats(weights, "weights", ndim=1, axes="(...,)")
    _expect("grad", grad, weights.shape, "grad and weights must share a shape")
    axis = as_axis(weights, axis, "weights")
    dtype, grad, weights = widened(grad, weights)
    _distributions(weights, axis)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = _softmax_vjp(grad, weights, axis)
    return _gradient(scores, dtype, "scores")


def attention_vjp(
    grad_output, Q, K, V, weights, *, scale=None, softcap=None, sinks=None
):
    """Carry a gradient from the output of attention back to Q, K and V.

    Parameters
    ----------
    grad_output : (..., T, d_v) array
        Gradient of the loss with respect to the output.
    Q : (..., T, d_k) array
        The queries that attention was given.
    K : (..., S, d_k) array
        The keys.
    V : (..., S, d_v) array
        The values.
    weights : (..., T, S) array
        The weights that attention returned. Masked entries are zero, so the
        mask is not needed again.
    scale : float, optional
        The scale that the forward pass used; 1/sqrt(d_k) by default.
    softcap : float, optional
    sinks : (...) array, optional
        Those of the forward pass. `sinks_vjp` gives the sinks' own gradient.

    Returns
    -------
    AttentionGradients
        Gradients of `Q`, `K`, `V`, the weights and the scaled scores, before
        a cap. An array that was broadcast gets the sum over its copies.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, an entry is not finite, `weights` cannot have
        come from a softmax, or a gradient overflows.

    Notes
    -----
    From ``O = A V``: ``dA = dO V^T`` and ``dV = A^T dO``. Through the softmax:
    ``dS = A * (dA - rowsum(dA * A))``. From ``S = scale * Q K^T``:
    ``dQ = scale * dS K`` and ``dK = scale * dS^T Q``. A cap c multiplies dS
    by ``1 - tanh(S / c)^2``. A sink changes none of these lines, because its
    value is zero.

    Examples
    --------
    >>> grads = attention_vjp([[1.0]], [[1.0]], [[0.0], [1.0]],
    ...                       [[2.0], [4.0]], [[0.5, 0.5]])
    >>> grads.Q.tolist(), grads.V.tolist()
    ([[0.5]], [[0.5], [0.5]])
    """
    Q = as_finite_floats(Q, "Q", ndim=2, axes="(..., T, d_k)")
    K = as_finite_floats(K, "K", ndim=2, axes="(..., S, d_k)")
    V = as_finite_floats(V, "V", ndim=2, axes="(..., S, d_v)")
    A = as_finite_floats(weights, "weights", ndim=2, axes="(..., T, S)")
    dO = as_finite_floats(
        grad_output, "grad_output", ndim=2, axes="(..., T, d_v)"
    )
    scale = default_scale(scale, Q.shape[-1])
    T, S, d_k, d_v = Q.shape[-2], K.shape[-2], Q.shape[-1], V.shape[-1]
    lead = common_leading_axes(
        Q=Q.shape, K=K.shape, V=V.shape, weights=A.shape
    )
    _expect("K", K, (*K.shape[:-2], S, d_k), "Q and K must share d_k")
    _expect("V", V, (*V.shape[:-2], S, d_v), "K and V must share S")
    both = common_leading_axes(Q=Q.shape, K=K.shape)
    rule = "weights must be (..., T, S), with the leading axes of Q and K"
    _expect("weights", A, (*both, T, S), rule)
    _expect(
        "grad_output",
        dO,
        (*lead, T, d_v),
        "grad_output must have the shape of the output",
    )

    dtype, *wide = widened(dO, Q, K, V, A)
    if softcap is not None:
        softcap = check_softcap(softcap, wide[0].dtype)
    if sinks is not None:
        sinks = check_sinks(sinks, A.shape[:-2], wide[0].dtype)
    _distributions(wide[-1], -1, sinks)
    with np.errstate(over="ignore", invalid="ignore"):
        dQ, dK, dV, dA, dS = _attention_vjp(*wide, scale, softcap)
    weights = _gradient(dA, dtype, "weights")
    _gradient(dS, dS.dtype, "scores")
    return AttentionGradients(
        _gradient(dQ, dtype, "Q"),
        _gradient(dK, dtype, "K"),
        _gradient(dV, dtype, "V"),
        weights,
        dS.astype(dtype, copy=False),  # it fits if dA does
    )


def sinks_vjp(grad_output, output, weights, sinks):
    """Carry a gradient from the output of attention back to its sinks.

    Parameters
    ----------
    grad_output : (..., T, d_v) array
        Gradient of the loss with respect to the output.
    output : (..., T, d_v) array
        The output that attention returned.
    weights : (..., T, S) array
        The weights that it returned; the rest of each row is the sink's.
    sinks : (...) array
        The sinks that attention was given.

    Returns
    -------
    (...) array
        With the shape of `sinks`. Zero where a sink is ``-inf``.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, an entry of another array is not finite,
        `weights` cannot have come from a softmax, or a gradient overflows.

    Notes
    -----
    The sink's column has the weight ``a = 1 - rowsum(A)`` and the value zero.
    `softmax_vjp` of this column is ``-a * sum_j A_j dA_j``, and the sum is
    ``dO . O``, as dA is ``dO V^T``. The gradients of all queries add up.
    Where `a` is below the rounding error of 1, the result is too.

    Examples
    --------
    >>> sinks_vjp([[2.0]], [[1.0]], [[0.5]], 0.0).tolist()
    -1.0
    """
    dO = as_finite_floats(
        grad_output, "grad_output", ndim=2, axes="(..., T, d_v)"
    )
    out = as_finite_floats(output, "output", ndim=2, axes="(..., T, d_v)")
    A = as_finite_floats(weights, "weights", ndim=2, axes="(..., T, S)")
    rule = "grad_output must have the shape of the output"
    _expect("grad_output", dO, out.shape, rule)
    lead = common_leading_axes(output=out.shape, weights=A.shape)
    _expect(
        "weights",
        A,
        (*A.shape[:-2], out.shape[-2], A.shape[-1]),
        "weights and output must share T",
    )
    dtype, dO, out, A = widened(dO, out, A)
    full = check_sinks(sinks, lead, dO.dtype)
    _distributions(A, -1, full)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = (total(A, -1) - 1) * total(dO * out, -1)  # (..., T, 1)
        grad = np.where(full > -np.inf, rows.sum((-1, -2)), 0)
    return _gradient(sum_to(grad, np.shape(sinks)), dtype, "sinks")


def _expect(name, array, shape, rule):
    if array.shape != shape:
        raise ValueError(f"{rule}; got {name} {array.shape} and {shape}")


def _gradient(x, dtype, name):
    """The gradient of `name`, refused if it exceeds the range of `dtype`."""
    return rounded(x, dtype, f"the gradient of {name} overflows")


def _distributions(weights, axis, sinks=None):
    """Refuse weights that no softmax can have returned."""
    # Rounding to float16, or to the digits of a page, changes the sum by less.
    sums = total(weights, axis)
    ones = (abs(sums - 1) <= 0.02) | (sums == 0)
    rule = "or to 0 if nothing is attended"
    if sinks is not None:  # the sink has part of a row's weight
        ones = ones | (sums < 1) & (sinks[..., None, None] > -np.inf)
        rule += ", or to less if there is a sink"
    if not ((weights >= 0) & ones).all():
        raise ValueError(
            "weights must be at least 0 and sum to 1 along the axis of the "
            f"softmax, {rule}"
        )
