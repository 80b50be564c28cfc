"""The formulas of the helpers, without checks.

The modules `softmax` and `layers` contain the functions that check arguments
and document these formulas. Arguments here are floats of fitting shapes, and
boolean masks.
"""

import math

import numpy as np

from ._checks import total


def exponentials(x, axis=-1, *, where=None, sink=None):
    """exp(x - m) and m, the maximum of the allowed entries."""
    allowed = True if where is None else where
    # The maximum of a fully masked row is the lowest number, not -inf,
    # because -inf - -inf is NaN.
    low = np.finfo(x.dtype).min
    top = x.max(axis=axis, keepdims=True, initial=low, where=allowed)
    if sink is not None:
        top = np.maximum(top, sink)
    # Exactly zero where attending is not allowed.
    return np.exp(np.where(allowed, x - top, -np.inf)), top


def softmax(x, axis=-1, *, where=None, sink=None):
    """Weights along an axis; exactly zero in a fully masked row.

    A `sink` is one more score for each row, whose weight is not returned.
    """
    exp, top = exponentials(x, axis, where=where, sink=sink)
    added = total(exp, axis)
    if sink is not None:
        added = added + np.exp(sink - top)
    return exp / (added + (added == 0))  # fully masked: divided by 1


def logsumexp(x, axis=-1, *, where=None):
    """The logarithm of a sum of exponentials; the axis has length one."""
    exp, top = exponentials(x, axis, where=where)
    return top + np.log(total(exp, axis))


def cap(scores, softcap):
    """Scores between -softcap and softcap, in place."""
    scores /= softcap
    np.tanh(scores, out=scores)
    scores *= softcap


def logistic(x):
    """1 / (1 + exp(-x)), from an exponential that cannot overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def flat(x, n_runs):
    """`x` with all axes between the runs and the last made one."""
    rows = math.prod(x.shape[n_runs:-1])  # -1 fails for empty axes
    return x.reshape(*x.shape[:n_runs], rows, x.shape[-1])


def along(vector, x):
    """One vector per run, (..., d), shaped to broadcast over `x`."""
    *runs, d = vector.shape
    return vector.reshape(*runs, *(1,) * (x.ndim - vector.ndim), d)


def lookup(table, indices):
    """For each index, a row of its run's table, (..., n, d)."""
    flat_indices = indices.reshape(*table.shape[:-2], -1, 1)
    rows = np.take_along_axis(table, flat_indices, axis=-2)
    return rows.reshape(*indices.shape, table.shape[-1])


def linear(x, W, b=None):
    """Each row times a matrix, plus a vector."""
    product = flat(x, W.ndim - 2) @ W
    product = product.reshape(*x.shape[:-1], W.shape[-1])
    return product if b is None else product + along(b, product)


def linear_vjp(grad, x, W):
    """Gradients of the rows, of the matrix and of the vector."""
    rows, grads = flat(x, W.ndim - 2), flat(grad, W.ndim - 2)
    dx = (grads @ W.swapaxes(-1, -2)).reshape(x.shape)
    return dx, rows.swapaxes(-1, -2) @ grads, grads.sum(-2)


def sum_to(grad, shape):
    """`grad` summed over the axes along which `shape` was broadcast."""
    ones = (1,) * (grad.ndim - len(shape)) + shape
    repeated = tuple(i for i, n in enumerate(ones) if n != grad.shape[i])
    return total(grad, repeated).reshape(shape)
