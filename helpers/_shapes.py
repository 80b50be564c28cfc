"""Which shapes fit each other: rules about sizes for several helpers."""

import numpy as np

from ._checks import as_booleans, as_size, check_flag, common_leading_axes

LAST_QUERIES = "the T queries are the last of the S positions, so T <= S"


def key_distances(T, S):
    """The distance of key j before query i, as (T, S) integers."""
    T = as_size(T, "T")
    S = T if S is None else as_size(S, "S")
    if T > S:
        raise ValueError(f"{LAST_QUERIES}; got T {T} and S {S}")
    # Lower-right alignment: query i is at position S - T + i.
    return (np.arange(T)[:, None] + S - T) - np.arange(S)


def head_counts(n_heads, n_kv_heads):
    """Both counts as integers, the second a divisor of the first."""
    H = as_size(n_heads, "n_heads", least=1)
    H_kv = as_size(n_kv_heads, "n_kv_heads", least=1)
    if H % H_kv:
        raise ValueError(
            "n_kv_heads must divide n_heads; "
            f"got n_kv_heads {H_kv} and n_heads {H}"
        )
    return H, H_kv


def head_width(W, name, count, n):
    """The number of columns of `W` per head; `count` names `n` in messages."""
    if W.shape[1] % n:
        raise ValueError(
            f"{count} must divide the columns of {name}; "
            f"got {count} {n} and {name} {W.shape}"
        )
    return W.shape[1] // n


def check_projections(projections, kind):
    """Refuse projections that are not of this `kind`."""
    if not isinstance(projections, kind):
        raise TypeError(
            f"projections must be {kind.__name__}; "
            f"got {type(projections).__name__}"
        )


def projection_shapes(d_model, H, H_kv, d_k, d_v):
    """The shape of each weight matrix, by name."""
    return {
        "W_Q": (d_model, H * d_k),
        "W_K": (d_model, H_kv * d_k),
        "W_V": (d_model, H_kv * d_v),
        "W_O": (H * d_v, d_model),
    }


def latent_shapes(d_model, H, d_c, d_r, d_k, d_v, d_q):
    """The shape of each weight of latent attention; `d_q` may be None."""
    shapes = {
        "W_DKV": (d_model, d_c),
        "gain_KV": (d_c,),
        "W_KR": (d_model, d_r),
        "W_UK": (d_c, H * d_k),
        "W_UV": (d_c, H * d_v),
    }
    if d_q is not None:
        shapes |= {"W_DQ": (d_model, d_q), "gain_Q": (d_q,)}
    rows = d_model if d_q is None else d_q
    return shapes | {
        "W_UQ": (rows, H * d_k),
        "W_QR": (rows, H * d_r),
        "W_O": (H * d_v, d_model),
    }


def default_projections(d_model, n_heads, n_kv_heads, d_k, d_v, *, check):
    """The shapes with defaults for missing sizes, and both counts of heads.

    `check` is `as_size` if arrays are made, and `as_integer`, which has no
    upper limit, if their entries are only counted.
    """
    d_model = check(d_model, "d_model", least=1)
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    H, H_kv = head_counts(n_heads, n_kv_heads)
    if d_k is None and d_model % H:
        raise ValueError(
            "n_heads must divide d_model if d_k is not given; "
            f"got n_heads {H} and d_model {d_model}"
        )
    d_k = check(d_model // H if d_k is None else d_k, "d_k", least=1)
    d_v = check(d_k if d_v is None else d_v, "d_v", least=1)
    return projection_shapes(d_model, H, H_kv, d_k, d_v), H, H_kv


def tiled_sizes(Q, K, V, causal):
    """Refuse arrays whose last two axes do not fit; shapes alone are read."""
    T, S = Q.shape[-2], K.shape[-2]
    if Q.shape[-1] != K.shape[-1]:
        raise ValueError(
            f"Q and K must share d_k; got Q {Q.shape} and K {K.shape}"
        )
    if V.shape[-2] != S:
        raise ValueError(
            f"K and V must share S; got K {K.shape} and V {V.shape}"
        )
    if check_flag(causal, "causal") and T > S:
        raise ValueError(f"{LAST_QUERIES}; got Q {Q.shape} and K {K.shape}")


def tiled_lead(Q, K, V, causal):
    """The leading axes of three arrays, as by `tiled_sizes`."""
    tiled_sizes(Q, K, V, causal)
    return common_leading_axes(Q=Q.shape, K=K.shape, V=V.shape)


def loss_shares(where, losses, n_runs=0):
    """The share of each loss in the mean of its run."""
    where = np.ones(losses.shape, bool) if where is None else where
    counted = as_booleans(
        where, "where", losses.shape, "targets", true="counts"
    )
    axes = tuple(range(n_runs, losses.ndim))
    count = counted.sum(axes, keepdims=True)
    if losses.size == 0 or (count == 0).any():
        raise ValueError(
            "at least one position must count; "
            f"got targets {losses.shape} and where {counted.shape}"
        )
    return counted / count
