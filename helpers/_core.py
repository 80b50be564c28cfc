"""Arithmetic that several helpers share, on floats of fitting shapes."""

import math

import numpy as np


def widened(*arrays):
    """The common type of `arrays`, and each array in the type to compute in.

    float16 is computed in float32 and rounded once, at the end; all others
    are computed in their common type.
    """
    dtype = np.result_type(*arrays)
    wide = np.float32 if dtype == np.float16 else dtype
    return dtype, *[x.astype(wide, copy=False) for x in arrays]


def total(x, axis):
    """The sum of `x` along axes, which are kept with length one."""
    # NumPy uses pairwise summation only along the innermost axis. Along other
    # axes the rounding error grows with the number of terms.
    if axis in (-1, x.ndim - 1) and x.flags.c_contiguous:
        return x.sum(axis=-1, keepdims=True)
    axes = (axis,) if isinstance(axis, int) else axis
    inner = np.moveaxis(x, axes, range(-len(axes), 0))
    lead = inner.shape[: x.ndim - len(axes)]
    terms = math.prod(inner.shape[len(lead) :])
    added = np.ascontiguousarray(inner).reshape(*lead, terms).sum(axis=-1)
    return np.expand_dims(added, axes)


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


def sum_to(grad, shape):
    """`grad` summed over the axes along which `shape` was broadcast."""
    ones = (1,) * (grad.ndim - len(shape)) + shape
    repeated = tuple(i for i, n in enumerate(ones) if n != grad.shape[i])
    return total(grad, repeated).reshape(shape)
