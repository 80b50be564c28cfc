"""Masks: boolean, True = may attend, combined with ``&``."""

import numpy as np

from ._checks import as_array, as_integer, as_size
from ._shapes import key_distances


def causal_mask(T, S=None):
    """Let each query see itself and all earlier positions.

    Parameters
    ----------
    T : int
        Number of queries; they are the last T of the S positions.
    S : int, optional
        Number of keys; T by default.

    Returns
    -------
    (T, S) boolean array
        True where the key is not later than the query.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is negative or T > S.

    Notes
    -----
    Vaswani et al. 2017, section 3.2.3, aligned so that decoding with a cache
    (T = 1) sees every key.

    Examples
    --------
    >>> causal_mask(2, 3).astype(int)
    array([[1, 1, 0],
           [1, 1, 1]])
    """
    return key_distances(T, S) >= 0


def window_mask(T, S=None, *, left, right):
    """Let each query see the keys within a distance on either side of it.

    Parameters
    ----------
    T : int
        Number of queries; they are the last T of the S positions.
    S : int, optional
        Number of keys; T by default.
    left, right : int or None
        The numbers of earlier and later keys that a query may attend to; None
        means all of them.

    Returns
    -------
    (T, S) boolean array
        True where the key is at most `left` positions before the query and at
        most `right` positions after it. Each query sees its own position.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is negative or T > S.

    Notes
    -----
    Beltagy et al. 2020 (Longformer), section 3.1, look to both sides. With
    ``right=0`` this is a sliding window of ``left + 1`` keys, including the
    query's own, and with ``left=None`` too it is `causal_mask`. Jiang et al.
    2023 (Mistral 7B), section 2, count in two ways: at most W tokens in the
    caption of figure 1, which is ``left=W - 1`` here; from i - W to i in the
    text, which is ``left=W``.

    Examples
    --------
    >>> window_mask(3, left=1, right=0).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]])
    >>> window_mask(2, 3, left=0, right=None).astype(int)
    array([[0, 1, 1],
           [0, 0, 1]])
    """
    left = left if left is None else as_integer(left, "left")
    right = right if right is None else as_integer(right, "right")
    distance = key_distances(T, S)  # from each query back to a key
    mask = np.ones(distance.shape, bool)
    if left is not None:
        mask &= distance <= left
    if right is not None:
        mask &= distance >= -right
    return mask


def padding_mask(lengths, S):
    """Hide the padding after each sequence of a batch.

    Parameters
    ----------
    lengths : (B,) integers
        The number of real positions of each sequence, of S.
    S : int
        Number of keys.

    Returns
    -------
    (B, 1, 1, S) boolean array
        True at real positions; broadcasts over heads and queries.

    Raises
    ------
    TypeError
        If `lengths` or `S` is not integer.
    ValueError
        If `lengths` does not have one axis, or a length is not from 0 to S.

    Examples
    --------
    >>> padding_mask([1, 3], 3)[:, 0, 0].astype(int)
    array([[1, 0, 0],
           [1, 1, 1]])
    """
    lengths, S = as_array(lengths, "lengths"), as_size(S, "S")
    if lengths.size == 0:
        lengths = lengths.astype(int)
    if lengths.dtype.kind not in "iu":
        raise TypeError(f"lengths must be integers; got {lengths.dtype}")
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have axes (B,); got {lengths.shape}")
    if np.any((lengths < 0) | (lengths > S)):
        raise ValueError(
            f"lengths must lie between 0 and S = {S}; got {lengths.tolist()}"
        )
    return (np.arange(S) < lengths[:, None])[:, None, None, :]
