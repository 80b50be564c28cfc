"""Choose which keys to read: a cheap score for each key, and the best keys.

Attention over the chosen keys is exact. It differs from attention over all
keys, because the others get no weight. DeepSeek-AI 2025 (DeepSeek-V3.2),
section 2.1.1. Whole blocks are chosen in Yuan et al. 2025 (Native Sparse
Attention), which also reads the means of blocks and the nearest keys.
"""

import numpy as np

from ._checks import (
    as_booleans,
    as_broadcast,
    as_finite_floats,
    as_integer,
    as_size,
    check_mask,
    rounded,
)
from ._core import widened
from ._shapes import tiled_lead
from .attention import attention, attention_scores
from .masks import window_mask


def index_scores(Q, K, weights):
    """Score each key for each query, with a few small heads and one key.

    Parameters
    ----------
    Q : (..., H, T, d) array
        The indexer's queries, in its own H heads.
    K : (..., S, d) array
        The indexer's keys, which its heads share.
    weights : (..., T, H) array
        The weight of each head for each query, of either sign.

    Returns
    -------
    (..., T, S) array
        ``sum_h weights[t, h] * max(Q[h, t] . K[s], 0)``.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, an entry is not finite, or a score overflows.

    Notes
    -----
    DeepSeek-AI 2025 (DeepSeek-V3.2), equation 1. The published code also
    multiplies by positive constants, which do not change the order of keys.

    Examples
    --------
    >>> Q = [[[1.0, 0.0]], [[0.0, 1.0]]]  # two heads, one query
    >>> K = [[3.0, -1.0], [-1.0, 2.0], [1.0, 1.0]]
    >>> index_scores(Q, K, [[1.0, 0.5]]).tolist()
    [[3.0, 1.0, 1.5]]
    """
    Q = as_finite_floats(Q, "Q", ndim=3, axes="(..., H, T, d)")
    K = as_finite_floats(K, "K", ndim=2, axes="(..., S, d)")
    weights = as_finite_floats(weights, "weights", ndim=2, axes="(..., T, H)")
    _expect_index(Q, K, weights)
    dtype, Q, K, weights = widened(Q, K, weights)
    with np.errstate(over="ignore", invalid="ignore"):
        dots = Q @ K[..., None, :, :].swapaxes(-1, -2)  # (..., H, T, S)
        matches = np.moveaxis(np.maximum(dots, 0), -3, -2)  # (..., T, H, S)
        scores = (weights[..., None, :] @ matches)[..., 0, :]  # (..., T, S)
    return rounded(scores, dtype, "the index scores overflow")


def _expect_index(Q, K, weights):
    """Refuse arrays that an indexer cannot score."""
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(
            f"Q and K must share d; got Q {Q.shape} and K {K.shape}"
        )
    if weights.shape[-2:] != Q.shape[-2:-4:-1]:
        raise ValueError(
            "weights must have a number for each query and head of Q; "
            f"got weights {weights.shape} and Q {Q.shape}"
        )
    try:
        np.broadcast_shapes(Q.shape[:-3], K.shape[:-2], weights.shape[:-2])
    except ValueError:
        raise ValueError(
            "the leading axes of Q, K and weights must broadcast; "
            f"got Q {Q.shape}, K {K.shape} and weights {weights.shape}"
        ) from None


def chosen_mask(scores, k, *, mask=None):
    """Let each query see the `k` keys with the highest scores.

    Parameters
    ----------
    scores : (..., T, S) array
        Scores as from `index_scores`.
    k : int
        The most keys that each query may attend to.
    mask : (..., T, S) boolean array, optional
        True = may be chosen. Broadcasts as in `helpers.attention.attention`.

    Returns
    -------
    (..., T, S) boolean array
        True at `k` keys of each row, or at all that `mask` allows if these are
        fewer. Of equal scores the earlier key is chosen.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers, `k` is not an integer, or
        `mask` is not boolean.
    ValueError
        If a score is not finite, `k` is below one, or `mask` does not fit.

    Notes
    -----
    DeepSeek-AI 2025 (DeepSeek-V3.2), section 2.1.1, with 2,048 keys. One
    choice serves all heads: use an axis of length one for the heads.

    Examples
    --------
    >>> scores = [[0.0, 0.0, 0.0], [2.0, 3.0, 9.0], [1.0, 3.0, 1.0]]
    >>> chosen_mask(scores, 2, mask=np.tri(3, dtype=bool)).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 0]])
    """
    scores = as_finite_floats(scores, "scores", ndim=2, axes="(..., T, S)")
    k = as_size(k, "k", least=1)
    allowed = np.True_
    if mask is not None:
        allowed = check_mask(mask, scores.shape, spare=-3)
    falling = np.where(allowed, -scores, np.inf)
    best = np.argsort(falling, axis=-1, kind="stable")[..., :k]
    chosen = np.zeros(scores.shape, bool)
    np.put_along_axis(chosen, best, True, axis=-1)
    return chosen & allowed


def chosen_attention(Q, K, V, chosen, *, scale=None):
    """Attend only to the chosen keys, which are gathered for each query.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., S, d_k) array
        Keys.
    V : (..., S, d_v) array
        Values.
    chosen : (..., T, S) boolean array
        A mask as from `chosen_mask`. Broadcasts to the shape of the scores.
    scale : float, optional
        As `helpers.attention.attention`.

    Returns
    -------
    (..., T, d_v) array
        The output of `attention` with ``mask=chosen``, up to rounding. Every
        query costs as many scores as the query with the most keys.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `chosen` is not boolean.
    ValueError
        If shapes do not fit, an entry is not finite, or the scores or the
        output overflow.

    Notes
    -----
    DeepSeek-AI 2025 (DeepSeek-V3.2), equation 2.

    Examples
    --------
    >>> V = [[1.0], [2.0], [6.0]]
    >>> chosen = [[True, False, True]]
    >>> chosen_attention([[0.0]], np.ones((3, 1)), V, chosen).tolist()
    [[3.5]]
    """
    Q = as_finite_floats(Q, "Q", ndim=2, axes="(..., T, d_k)")
    K = as_finite_floats(K, "K", ndim=2, axes="(..., S, d_k)")
    V = as_finite_floats(V, "V", ndim=2, axes="(..., S, d_v)")
    lead = tiled_lead(Q, K, V, causal=False)
    shape = (*lead, Q.shape[-2], K.shape[-2])
    chosen = as_booleans(chosen, "chosen", shape, "scores")
    most = chosen.sum(-1).max(initial=0)
    where = np.argsort(~chosen, axis=-1, kind="stable")[..., :most]
    gathered = (_gathered(X, where, lead) for X in (K, V))
    read = np.take_along_axis(chosen, where, axis=-1)  # (..., T, most)
    output, _ = attention(
        Q[..., None, :],  # (..., T, 1, d_k)
        *gathered,
        mask=read[..., None, :],
        scale=scale,
    )
    return output[..., 0, :]


def _gathered(X, where, lead):
    """The rows of `X` that each query reads, (..., T, most, d)."""
    X = np.broadcast_to(X, (*lead, *X.shape[-2:]))[..., None, :, :]
    return np.take_along_axis(X, where[..., None], axis=-2)


def pooled_blocks(X, length, *, stride=None):
    """Return one row per block of rows: their mean.

    Parameters
    ----------
    X : (..., S, d) array
        Keys or values.
    length : int
        The number of rows in a block.
    stride : int, optional
        The distance between the starts of adjacent blocks. By default it is
        `length`, so that no row is in two blocks.

    Returns
    -------
    (..., n, d) array
        The means of the n blocks that end within the S rows.

    Raises
    ------
    TypeError
        If `X` does not hold real numbers, or a size is not an integer.
    ValueError
        If an entry is not finite, or a size is below one.

    Notes
    -----
    Yuan et al. 2025 (Native Sparse Attention), equation 7, where a trained
    network replaces the mean. The last block is left out until it is complete.

    Examples
    --------
    >>> pooled_blocks([[1.0], [3.0], [5.0], [7.0], [9.0]], 2).tolist()
    [[2.0], [6.0]]
    """
    X = as_finite_floats(X, "X", ndim=2, axes="(..., S, d)")
    length = as_size(length, "length", least=1)
    stride = length if stride is None else as_size(stride, "stride", least=1)
    dtype, X = widened(X)
    starts = np.arange(0, X.shape[-2] - length + 1, stride)
    rows = starts[:, None] + np.arange(length)  # (n, length)
    parts = X[..., rows, :] / length  # divided first, so that no sum overflows
    return parts.sum(-2).astype(dtype)


def chosen_blocks(scores, n, length, S, *, mask=None):
    """Let each query see the `n` blocks of keys with the highest scores.

    Parameters
    ----------
    scores : (..., T, n_blocks) array
        A number for each query and block.
    n : int
        The most blocks that each query may attend to.
    length : int
        The number of keys in a block; block i starts at key i * `length`.
    S : int
        Number of keys; keys after the last block are not chosen.
    mask : (..., T, n_blocks) boolean array, optional
        True = the block may be chosen.

    Returns
    -------
    (..., T, S) boolean array
        True at each key of a chosen block. Of equal scores the earlier block
        is chosen.

    Raises
    ------
    TypeError
        As `chosen_mask`.
    ValueError
        As `chosen_mask`, or if the blocks do not fit into the S keys.

    Examples
    --------
    >>> chosen_blocks([[1.0, 3.0, 2.0]], 1, 2, 7).astype(int)
    array([[0, 0, 1, 1, 0, 0, 0]])
    """
    n, S = as_size(n, "n", least=1), as_size(S, "S")
    length = as_size(length, "length", least=1)
    blocks = chosen_mask(scores, n, mask=mask)
    n_blocks = blocks.shape[-1]
    if n_blocks * length > S:
        raise ValueError(
            "the blocks of scores must fit into the S keys; "
            f"got {n_blocks} blocks of {length} and S = {S}"
        )
    chosen = np.zeros((*blocks.shape[:-1], S), bool)
    chosen[..., : n_blocks * length] = np.repeat(blocks, length, axis=-1)
    return chosen


def three_branches(Q, K, V, gates, *, length, n, window, scale=None):
    """Attend to the means of blocks, to chosen blocks and to the nearest keys.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries, which are the last T of the S positions.
    K : (..., S, d_k) array
        Keys.
    V : (..., S, d_v) array
        Values.
    gates : (..., T, 3) array
        The factors on the outputs of the three branches.
    length : int
        The number of keys in a block. A query sees only complete blocks.
    n : int
        The number of chosen blocks, by their scores in the first branch.
    window : int
        The number of keys of the third branch, including the query's own.
    scale : float, optional
        As `helpers.attention.attention`.

    Returns
    -------
    (..., T, d_v) array
        The sum of the three outputs, each times its gate. The output of a
        branch with no keys is 0.

    Raises
    ------
    TypeError, ValueError
        As `chosen_blocks` and `helpers.attention.attention`, or if `gates`
        does not broadcast to a number for each query and branch.

    Notes
    -----
    Yuan et al. 2025 (Native Sparse Attention), equation 5, simplified: one
    length for both kinds of blocks, means instead of a trained network, the
    same keys and values in all branches, and a separate choice for each head.

    Examples
    --------
    The second of two blocks is chosen for the last query.

    >>> K = np.array([[0.0], [0.0], [1.0], [1.0], [0.0]])
    >>> V = np.array([[1.0], [1.0], [5.0], [5.0], [9.0]])
    >>> options = {"length": 2, "n": 1, "window": 1}
    >>> for gates in np.eye(3):
    ...     print(three_branches([[0.0]], K, V, gates, **options).tolist())
    [[3.0]]
    [[1.0]]
    [[9.0]]
    >>> three_branches([[1.0]], K, V, [0, 1, 0], **options).tolist()
    [[5.0]]
    """
    Q = as_finite_floats(Q, "Q", ndim=2, axes="(..., T, d_k)")
    K = as_finite_floats(K, "K", ndim=2, axes="(..., S, d_k)")
    V = as_finite_floats(V, "V", ndim=2, axes="(..., S, d_v)")
    tiled_lead(Q, K, V, causal=True)
    gates = as_finite_floats(gates, "gates")
    T, S = Q.shape[-2], K.shape[-2]
    window = as_integer(window, "window", least=1)
    means = pooled_blocks(K, length), pooled_blocks(V, length)
    ends = length * np.arange(1, means[0].shape[-2] + 1)
    complete = ends <= np.arange(S - T + 1, S + 1)[:, None]  # (T, n_blocks)
    scores = attention_scores(Q, means[0], scale=scale)
    chosen = chosen_blocks(scores, n, length, S, mask=complete)
    near = window_mask(T, S, left=window - 1, right=0)
    outputs = (
        attention(Q, *means, mask=complete, scale=scale).output,
        chosen_attention(Q, K, V, chosen, scale=scale),
        attention(Q, K, V, mask=near, scale=scale).output,
    )
    lead = outputs[0].shape[:-1]
    gates = as_broadcast(gates, "gates", (*lead, 3), "(..., T, 3)")
    dtype, gates, *wide = widened(gates, *outputs)
    with np.errstate(over="ignore", invalid="ignore"):
        mixed = sum(gates[..., i, None] * x for i, x in enumerate(wide))
    return rounded(mixed, dtype, "the gated sum overflows")


def tokens_read(
    S, *, length=32, stride=16, chosen_length=64, n_chosen=16, window=512
):
    """Count the tokens that one step of native sparse attention reads.

    Parameters
    ----------
    S : int
        The paper's s, the number of tokens so far; at least `length`.
    length, stride : int
        l and d: from every `stride`-th token, the next `length` tokens make
        one compressed token.
    chosen_length, n_chosen : int
        l' and n: the length of a chosen block, and the number of them.
    window : int
        w, the number of nearest tokens.

    Returns
    -------
    dict of str to int
        Tokens that are "compressed", "chosen" and "near", and the "total".

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `S` is below `length`, or another size is below one.

    Notes
    -----
    ``floor((s - l) / d) + n l' + w``, the most that a step reads: Yuan et
    al. 2025 (Native Sparse Attention), section 5.2; the sizes above are
    theirs. Blocks that start at 0, d, 2d and so on are one more than the
    paper's first term counts. Tokens in both a chosen block and the window are
    counted twice.

    Examples
    --------
    >>> tokens_read(8192)
    {'compressed': 510, 'chosen': 1024, 'near': 512, 'total': 2046}
    """
    length = as_integer(length, "length", least=1)
    stride = as_integer(stride, "stride", least=1)
    chosen_length = as_integer(chosen_length, "chosen_length", least=1)
    parts = {
        "compressed": (as_integer(S, "S", least=length) - length) // stride,
        "chosen": as_integer(n_chosen, "n_chosen", least=1) * chosen_length,
        "near": as_integer(window, "window", least=1),
    }
    return parts | {"total": sum(parts.values())}
