"""Softmax, its normaliser and its entropy, stable and safe on masked rows."""

import numpy as np

from ._checks import as_axis, as_booleans, as_floats, check_flag, overflow
from ._core import total, widened


def _exponentials(x, axis, where):
    """exp(x - m) and m, the maximum of the allowed entries."""
    if where is not None:
        x = np.where(where, x, -np.inf)  # exp(-inf) is exactly zero
    # The maximum of a fully masked row is the lowest number, not -inf,
    # because -inf - -inf is NaN.
    low = np.finfo(x.dtype).min
    top = x.max(axis=axis, keepdims=True, initial=low)
    return np.exp(x - top), top


def softmax(x, axis=-1, *, where=None):
    """Positive weights that sum to one, larger where `x` is larger.

    Parameters
    ----------
    x : (..., S) array
        Scores. ``-inf`` gives weight zero.
    axis : int, default -1
        The axis along which the weights sum to one.
    where : boolean array, optional
        Broadcasts to the shape of `x`. An entry that is not allowed gets
        weight zero and has no influence on the others.

    Returns
    -------
    (..., S) array
        The weights. A row in which nothing is allowed, or that has no
        entries, gives exactly zero: neither NaN nor a uniform average.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers, `where` is not boolean, or `axis`
        is not an integer.
    ValueError
        If an allowed entry is NaN or ``+inf``, `where` does not broadcast,
        or `x` has no such axis.

    Notes
    -----
    ``exp(x_i - m) / sum_j exp(x_j - m)`` with ``m = max_j x_j``. The factor
    ``exp(-m)`` cancels; the largest exponent is zero, so nothing overflows.

    Examples
    --------
    >>> softmax([0.0, 0.0, -np.inf]).tolist()
    [0.5, 0.5, 0.0]
    """
    x, axis, where, dtype = _checked(x, axis, where)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exp, _ = _exponentials(x, axis, where)
        added = total(exp, axis)
        weights = exp / (added + (added == 0))  # fully masked: divided by 1
    if np.isnan(added).any():
        _expect_numbers(x, where)
    return weights.astype(dtype, copy=False)


def logsumexp(x, axis=-1, *, where=None, keepdims=False):
    """The logarithm of a sum of exponentials, without overflow.

    Parameters
    ----------
    x : (..., S) array
        Scores, in nats.
    axis : int, default -1
        The axis that is summed.
    where : boolean array, optional
        The entries to include; broadcasts to the shape of `x`.
    keepdims : bool, default False
        Keep `axis` with length one.

    Returns
    -------
    (...,) array
        ``log(sum(exp(x)))``, in nats; ``-inf`` if nothing is allowed.

    Raises
    ------
    TypeError, ValueError
        As `softmax`; and ValueError if the result leaves the range of
        float16.

    Notes
    -----
    ``m + log(sum_j exp(x_j - m))`` with ``m = max_j x_j``.

    Examples
    --------
    >>> round(float(logsumexp([1000.0, 1000.0])), 4)
    1000.6931
    """
    keepdims = check_flag(keepdims, "keepdims")
    x, axis, where, dtype = _checked(x, axis, where)
    with np.errstate(all="ignore"):
        exp, top = _exponentials(x, axis, where)
        result = (top + np.log(total(exp, axis))).astype(dtype, copy=False)
    if np.isnan(result).any():
        _expect_numbers(x, where)
    if np.isposinf(result).any():
        raise overflow("the logarithm overflows", dtype, "x")
    return result if keepdims else result.squeeze(axis)


def entropy(weights, axis=-1):
    """Measure the spread of a distribution, in nats.

    Parameters
    ----------
    weights : (..., S) array
        Distributions along `axis`.
    axis : int, default -1
        The axis along which the weights sum to one.

    Returns
    -------
    (...,) array
        Entropy in nats: 0 if one entry has all the weight, ``log(S)`` if all
        are equal, and 0 for a fully masked row.

    Raises
    ------
    TypeError
        If `weights` does not hold real numbers, or `axis` is not an integer.
    ValueError
        If a weight is NaN or outside 0 to 1, or there is no such axis.

    Notes
    -----
    ``-sum_j w_j log(w_j)`` with ``0 log 0 = 0``. The weights need not sum to
    one: the entropies of two parts add up to that of the whole.

    Examples
    --------
    >>> round(float(entropy([0.5, 0.5, 0.0])), 4)
    0.6931
    """
    weights = as_floats(weights, "weights", ndim=1, axes="(...,)")
    axis = as_axis(weights, axis, "weights")
    slack = 8 * np.finfo(weights.dtype).eps
    if not ((weights >= 0) & (weights <= 1 + slack)).all():
        raise ValueError("weights must lie between 0 and 1")
    dtype, weights = widened(np.minimum(weights, 1))
    log = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    # Use 0 - x, because -x could be -0.0.
    spread = 0 - total(weights * log, axis)
    return spread.squeeze(axis).astype(dtype, copy=False)


def _checked(x, axis, where):
    """The arguments, in the type to compute in, and the result's type."""
    x = as_floats(x, "x", ndim=1, axes="(...,)")
    axis = as_axis(x, axis, "x")
    if where is not None:
        where = as_booleans(where, "where", x.shape, "x")
    dtype, x = widened(x)
    return x, axis, where, dtype


def _expect_numbers(x, where):
    """Refuse entries that have no softmax."""
    allowed = True if where is None else where
    if np.any((np.isnan(x) | np.isposinf(x)) & allowed):
        raise ValueError("x must not hold NaN or +inf where it is allowed")
