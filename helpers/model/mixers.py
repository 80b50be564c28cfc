"""The layers that mix the positions of a block, one function per kind.

The kinds are attention, latent attention, and a memory of fixed size. Each
returns the rows that it adds, and the results that a map or a gradient needs.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from .._checks import check_mask
from .._core import logistic
from ..cache import KVCache, StateCache
from ..heads import attention_layer, merge_heads, repeat_kv, split_heads
from ..latent import LatentProjections, latent_attention
from ..layers import linear, rms_norm, silu
from ..linear import gated_delta_rule, short_convolution
from ..masks import causal_mask, window_mask
from ..positions import alibi_bias
from .configuration import IN_A_MODEL
from .parts import buckets, rotate, sinks_of_scores

CHUNK = 64  # positions of a memory per chunk


class Beside(NamedTuple):
    """The arguments of a block's layer beside its rows and its parameters."""

    keep: np.ndarray | None  #: (H,), the factor on each head's output
    #: the keys and values, or the memory, of earlier positions
    cache: KVCache | StateCache | None
    at: np.ndarray  #: (..., T), the position of each row
    #: (..., H, T, S), True = may attend, if the model allows it
    mask: np.ndarray | None


class Remembered(NamedTuple):
    """The inputs of a memory of fixed size, and its final state."""

    Q: np.ndarray  #: (..., H, T, d_k), of length one
    K: np.ndarray  #: (..., H, T, d_k), of length one
    V: np.ndarray  #: (..., H, T, d_v)
    beta: np.ndarray  #: (..., H, T)
    log_decay: np.ndarray  #: (..., H, T)
    state: np.ndarray  #: (..., H, d_k, d_v)


def mix(X, p, config, beside):
    """Return the rows that a block's layer adds, and intermediate results.

    Parameters
    ----------
    X : (..., T, d_model) array
        The layer's input.
    p : dict of str to array
        The parameters of the block.
    config : TransformerConfig
        The choices of the block, from `TransformerConfig.of_block`.
    beside : Beside
        The cache, the mask, the positions and the factors of the heads.

    Returns
    -------
    change : (..., T, d_model) array
        The rows that the layer adds.
    attended : Attended, Attention or Remembered
        The intermediate results.
    """
    if config.memory is not None:
        return _remember(X, p, config, beside)
    T = X.shape[-2]
    S = T if beside.cache is None else T + len(beside.cache)
    shape = (*X.shape[:-2], config.n_heads, T, S)  # of the scores
    if config.latent is not None:
        return _attend_latent(X, p, config, beside, shape)
    return _attend(X, p, config, beside, shape)


def _attend(X, p, config, beside, shape):
    """Attention, with all its options."""
    rotation = None
    if config.positions == "rotary":
        # The heads share the positions of their tokens.
        rotation = partial(rotate, at=beside.at[..., None, :], config=config)
    return attention_layer(
        X,
        p,
        config.n_heads,
        config.kv_heads,
        rotate=rotation,
        mask=_mask(config, beside.mask, shape),
        bias=_score_bias(shape, p, config),
        cache=beside.cache,
        scale=config.scale,
        softcap=config.softcap,
        sinks=sinks_of_scores(shape, p),
        eps=config.eps,
        keep=beside.keep,
    )


def _mask(config, mask, shape):
    """True for keys that are not later, in the window, and not masked."""
    T, S = shape[-2:]
    if config.window is None:
        own = causal_mask(T, S)
    else:
        own = window_mask(T, S, left=config.window - 1, right=0)
    return own if mask is None else own & check_mask(mask, shape)


def _score_bias(shape, p, config):
    """The bias that the kind of positions adds to the scores, or None."""
    H, T, S = shape[-3:]
    if config.positions == "alibi":
        return alibi_bias(H, T, S)
    if config.positions != "t5":
        return None
    bias = np.moveaxis(p["positions"][..., buckets(T, S, config), :], -1, -3)
    runs = bias.shape[:-3]
    ones = (1,) * (len(shape) - bias.ndim)  # for the axes of the batch
    return bias.reshape(*runs, *ones, H, T, S)


def _expect_plain(p, what, **given):
    """Refuse options that only plain attention supports."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must be None if a block has {what}")
    if p["W_O"].ndim > 2:
        raise ValueError(
            f"params must be of one model, without runs, to have {what}"
        )


def latent_projections(p, config):
    """The weights of a block as latent attention takes them."""
    weights = {
        field: p.get(IN_A_MODEL.get(field, field))
        for field in LatentProjections._fields
    }
    return LatentProjections(**weights | {"n_heads": config.n_heads})


def _attend_latent(X, p, config, beside, shape):
    """Attention with keys and values from one short vector per position."""
    _expect_plain(p, "latent attention", heads=beside.keep)
    found = latent_attention(
        X,
        latent_projections(p, config),
        mask=_mask(config, beside.mask, shape),
        cache=beside.cache,
        positions=beside.at,
        scale=config.scale,
        base=config.base,
        frequencies=config.frequencies,
        eps=config.latent.eps,
    )
    return found.output, found


def _remember(X, p, config, beside):
    """A memory of fixed size, by the gated delta rule."""
    _expect_plain(p, "a memory", heads=beside.keep, mask=beside.mask)
    cache = beside.cache
    Q, K, V, rows = _written(X, p, config.memory, cache)
    beta = logistic(_times(X, p, "W_B")).swapaxes(-1, -2)
    log_decay = _log_decay(X, p).swapaxes(-1, -2)  # (..., H, T)
    output, state = gated_delta_rule(
        Q,
        K,
        V,
        beta,
        log_decay,
        state=None if cache is None else cache.state,
        chunk=CHUNK,
    )
    if cache is not None:
        cache.update(state, rows, X.shape[-2])
    gate = silu(split_heads(_times(X, p, "W_G"), V.shape[-3]))
    heads = rms_norm(output, p["norm_O.gain"], eps=config.eps) * gate
    change = _times(merge_heads(heads), p, "W_O")
    return change, Remembered(Q, K, V, beta, log_decay, state)


def _times(X, p, name, bias=None):
    """The rows times a matrix of the block, which messages name."""
    names = ("the rows of a block", name, bias)
    return linear(X, p[name], p.get(bias), names=names)


def _written(X, p, memory, cache):
    """Queries, keys and values, and the last rows before the convolution."""
    rows = np.concatenate([_times(X, p, f"W_{n}") for n in "QKV"], axis=-1)
    before = None if cache is None else cache.rows
    mixed, kept = short_convolution(rows, p["filters"][:, 0], before=before)
    wide = memory.n_key_heads * memory.d_k
    Q, K, V = np.split(silu(mixed), [wide, 2 * wide], axis=-1)
    n_rep = memory.n_value_heads // memory.n_key_heads
    Q, K = (
        repeat_kv(_of_length_one(split_heads(x, memory.n_key_heads)), n_rep)
        for x in (Q, K)
    )
    return Q, K, split_heads(V, memory.n_value_heads), kept


def _of_length_one(x):
    """Rows divided by their length, as in the published code."""
    d = x.shape[-1]
    gain = np.full(d, d**-0.5, x.dtype)
    return rms_norm(x, gain, eps=1e-6 / d)


def _log_decay(X, p):
    """The logarithms of the factors by which each head's state shrinks."""
    rows = _times(X, p, "W_A", "decay_bias")
    softplus = np.logaddexp(rows.dtype.type(0), rows)
    with np.errstate(over="ignore", invalid="ignore"):
        return -np.exp(p["log_rate"]) * softplus
