"""The forward pass of a transformer, with or without a cache."""

from typing import NamedTuple

import numpy as np

from .._checks import (
    as_array,
    as_broadcast,
    as_finite_floats,
    check_finite,
    check_mask,
    check_softcap,
    rounded,
    undone_on_failure,
)
from .._core import cap, lookup
from ..attention import Attention
from ..cache import KVCache, StateCache
from ..heads import Attended
from ..layers import feed_forward, linear, token_ids
from ..positions import sinusoidal_encoding
from .configuration import expect_config, expect_params
from .mixers import Beside, Remembered, mix
from .parts import (
    added,
    before,
    block,
    final,
    normalised,
    output_matrix,
)


class Layer(NamedTuple):
    """The inputs of one sublayer of a block: attention or feed-forward."""

    block: int  #: the number of its block
    normed: np.ndarray  #: (..., T, d_model), the input of its norm
    read: np.ndarray  #: (..., T, d_model), the layer's own input
    #: None in a feed-forward layer
    attended: Attended | Attention | Remembered | None
    change: np.ndarray  #: (..., T, d_model), the layer's output


class Forward(NamedTuple):
    """The results of a forward pass."""

    logits: np.ndarray  #: (..., T, vocab)
    layers: list  #: one `Layer` per sublayer, in order
    stream: np.ndarray  #: (..., T, d_model), after the last block


def forward(
    tokens,
    params,
    config,
    *,
    cache=None,
    heads=None,
    mask=None,
    positions=None,
):
    """Run a transformer, and keep the inputs of its layers.

    Parameters
    ----------
    tokens : (..., T) integers
        Sequences of tokens, with runs if the parameters have runs.
    params : dict of str to array
        Parameters as from `init_transformer`.
    config : TransformerConfig
        The model.
    cache : list of KVCache and StateCache, optional
        One for each block, from `new_cache`: the keys and values of the
        earlier tokens, or the memory of them. `tokens` are added.
    heads : (n_layers, n_heads) array, optional
        The factor on each head's output: 0 switches it off.
    mask : (..., H, T, S) boolean array, optional
        True = may attend, if the model allows it: later positions stay hidden.
        Broadcasts, as the (B, 1, 1, S) of `padding_mask`; S includes the
        tokens in the cache. Hidden tokens count as positions.
    positions : (..., T) integers, optional
        The position of each token, below `max_len`; broadcasts. By default
        they are counted from the tokens in the cache upward. A batch that is
        padded before or within its sequences needs them: a sequence's own
        tokens are numbered from 0 without gaps. Not for "alibi" and "t5",
        which count the columns between a query and a key; a window counts
        columns too.

    Returns
    -------
    Forward
        The logits, and the arrays that `loss_and_gradients` and maps need.

    Raises
    ------
    TypeError
        If tokens or positions are not integers, `config` is not a
        `TransformerConfig`, a parameter is not an array of floats, `cache` is
        not a list of one cache per block, or `mask` is not boolean.
    ValueError
        If a token is outside the vocabulary, the sequence is longer than the
        model's, shapes do not fit, a number is not finite or overflows, or the
        caches differ in length. The caches are then unchanged. If `heads` or
        runs are given to a model with latent attention, or these or a mask to
        a model with memories of fixed size. If positions are missing although
        they are added to the embedding and the mask hides a token from all
        queries, before one that it does not hide.

    Examples
    --------
    >>> from helpers.transformer import TransformerConfig, init_transformer
    >>> config = TransformerConfig()
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> kept = forward([3, 1, 3], params, config)
    >>> kept.logits.shape, kept.layers[1].attended.weights.shape
    ((3, 12), (2, 3, 3))
    """
    layers = []
    logits, stream = _run(
        tokens, params, config, cache, heads, mask, positions, layers.append
    )
    return Forward(logits, layers, stream)


def _forget(layer):
    """Keep nothing: all layers together take far more memory than one."""


def _run(
    tokens,
    params,
    config,
    cache,
    heads=None,
    mask=None,
    positions=None,
    note=_forget,
    rows=slice(None),
):
    """The logits of these rows, and what the last block left.

    `note` is called with each `Layer`.
    """
    runs = expect_params(params, config)
    _expect_caches(cache, config)
    start = 0 if cache is None else len(cache[0])
    tokens = _checked_tokens(tokens, config, runs, start)
    heads = _checked_heads(heads, config)
    if positions is None:
        _expect_counted(mask, tokens, config, start)
        at = np.arange(start, start + tokens.shape[-1])
    else:
        at = _checked_positions(positions, tokens, config)
    with undone_on_failure(*(cache or ())):
        x = _embed(tokens, params, config, at)
        given = [
            Beside(
                None if heads is None else heads[i],
                None if cache is None else cache[i],
                at,
                mask,
            )
            for i in range(config.n_layers)
        ]
        x = _through(x, params, config, given, note)
        return _logits(x[..., rows, :], params, config), x


def _through(x, params, config, given, note):
    """The residual stream after the last block."""
    for i, beside in enumerate(given):
        p = block(params, i)
        read = before(x, p, "norm_1", config)
        change, attended = mix(read, p, config.of_block(i), beside)
        x, normed = _after(x, change, p, "norm_1", config)
        note(Layer(i, normed, read, attended, change))
        if config.d_ff is not None:
            read = before(x, p, "norm_2", config)
            change = _feed_forward(read, p, config)
            x, normed = _after(x, change, p, "norm_2", config)
            note(Layer(i, normed, read, None, change))
    return x


def _after(x, change, p, norm, config):
    """The rows after a sublayer, and the input of its norm."""
    total = x + added(change, p, norm, config)
    if config.norm == "post":
        return normalised(total, p, norm, config), total
    return total, x


def _logits(x, params, config):
    """The scores of all tokens, from the rows after the last block."""
    W, b = output_matrix(params, config), params.get("output.bias")
    logits = linear(final(x, params, config), W, b)
    if config.logits_softcap is not None:
        bound = config.logits_softcap
        cap(logits, check_softcap(bound, logits.dtype, "logits_softcap"))
    return logits


def _feed_forward(x, p, config):
    return feed_forward(
        x,
        p["W_1"],
        p.get("W_1.bias"),
        p["W_2"],
        p.get("W_2.bias"),
        W_3=p.get("W_3"),
        b_3=p.get("W_3.bias"),
        activation=config.activation,
    )


def _embed(tokens, params, config, at):
    """The rows that enter the first block."""
    table = params["embedding"]
    x = lookup(table, tokens)
    check_finite(x, "the embedding overflows", embedding=table)
    if config.embedding_scale is not None:
        with np.errstate(over="ignore"):
            x = x * np.float64(config.embedding_scale)
        x = rounded(x, table.dtype, "the scaled embedding overflows")
    if config.positions == "learned":
        rows = as_finite_floats(params["positions"], "positions")
        at = np.broadcast_to(at, tokens.shape)
        return x + lookup(rows, at)
    if config.positions == "sinusoidal" and at.size:
        n = int(at.max()) + 1
        rows = sinusoidal_encoding(n, config.d_model, base=config.base)
        return x + rows[at].astype(x.dtype)
    return x


def _checked_tokens(tokens, config, runs, start):
    tokens = token_ids(tokens, config.vocab)
    if tokens.ndim < 1 + len(runs) or tokens.shape[: len(runs)] != runs:
        axes = ", ".join(map(str, (*runs, "...", "T")))
        raise ValueError(
            f"tokens must have axes ({axes}), the runs of the parameters "
            f"first; got tokens {tokens.shape}"
        )
    if start + tokens.shape[-1] > config.max_len:
        after = f" after {start} in the cache" if start else ""
        raise ValueError(
            f"at most max_len = {config.max_len} tokens fit; "
            f"got tokens {tokens.shape}{after}"
        )
    return tokens


def _checked_positions(positions, tokens, config):
    """The position of each token, as integers of the shape of `tokens`."""
    if config.positions in ("alibi", "t5"):
        raise ValueError(
            f"positions must be None with {config.positions!r}, which counts "
            "columns; pad before the sequences instead"
        )
    at = as_array(positions, "positions")
    if at.size and at.dtype.kind not in "iu":
        raise TypeError(f"positions must be integers; got {at.dtype}")
    outside = (at < 0) | (at >= config.max_len)
    if outside.any():
        raise ValueError(
            f"positions must be at least 0 and below max_len, "
            f"{config.max_len}; got {at[outside][0]}"
        )
    at = at.astype(np.int64)
    return as_broadcast(at, "positions", tokens.shape, "tokens")


def _expect_counted(mask, tokens, config, start):
    """Refuse padding before a token if its position is added, and counted."""
    if mask is None or config.positions not in ("learned", "sinusoidal"):
        return
    *lead, T = tokens.shape
    shape = (*lead, config.n_heads, T, start + T)
    seen = check_mask(mask, shape).any((-3, -2))  # (..., S)
    if (np.logical_or.accumulate(~seen, -1) & seen).any():
        raise ValueError(
            "positions must be given, or the padding must come last, if mask "
            "hides a token before one that it does not hide: "
            f"{config.positions} positions count it"
        )


def _expect_caches(cache, config):
    """Refuse missing caches, and caches of different lengths."""
    if cache is None:
        return
    if not isinstance(cache, list) or len(cache) != config.n_layers:
        kind = type(cache).__name__
        got = f"{len(cache)} of them" if isinstance(cache, list) else kind
        raise TypeError(
            f"cache must be a list of {config.n_layers} KVCache, one for "
            f"each block; got {got}"
        )
    lengths = [len(stored) for stored in cache]
    if len(set(lengths)) > 1 or len(set(map(id, cache))) < len(cache):
        raise ValueError(
            "caches must hold equally many tokens, and none may come twice; "
            f"got {lengths}"
        )


def _checked_heads(heads, config):
    if heads is None:
        return None
    shape = (config.n_layers, config.n_heads)
    heads = as_finite_floats(heads, "heads")
    if heads.shape != shape:
        raise ValueError(
            "heads must have a factor for each head of each layer; "
            f"got heads {heads.shape} and (n_layers, n_heads) {shape}"
        )
    return heads


def new_cache(config, *, batch=(), dtype=float):
    """Make an empty cache for each block.

    Parameters
    ----------
    config : TransformerConfig
        The model.
    batch : tuple of int, default ()
        The axes of the tokens before that of the positions.
    dtype : floating type, default float
        The stored type.

    Returns
    -------
    list of KVCache and StateCache
        The caches for `transformer`: a `StateCache` if a block has a memory of
        fixed size.

    Raises
    ------
    TypeError, ValueError
        As `KVCache`.

    Examples
    --------
    >>> from helpers.transformer import TransformerConfig
    >>> new_cache(TransformerConfig())[1].max_len
    32
    """
    expect_config(config)
    each = map(config.of_block, range(config.n_layers))
    return [_empty_cache(own, batch, dtype) for own in each]


def _empty_cache(config, batch, dtype):
    """An empty cache for a block of this kind."""
    if config.memory is not None:
        return StateCache(**config.memory._asdict(), batch=batch, dtype=dtype)
    sizes = config.kv_heads, config.d_k
    if config.latent is not None:
        sizes = 1, config.latent.d_c, config.latent.d_r
    return KVCache(config.max_len, *sizes, batch=batch, dtype=dtype)


def transformer(
    tokens, params, config, *, cache=None, mask=None, positions=None
):
    """Compute the logits of the next token at each position.

    Parameters
    ----------
    tokens, params, config, cache, mask, positions
        As `forward`.

    Returns
    -------
    (..., T, vocab) array
        Row t scores the token that comes after position t, from the tokens
        up to t.

    Raises
    ------
    TypeError, ValueError
        As `forward`.

    Notes
    -----
    Vaswani et al. 2017, section 3, only the decoder; blocks as in Radford et
    al. 2019 if `norm` is "pre".

    Examples
    --------
    >>> from helpers.transformer import TransformerConfig, init_transformer
    >>> config = TransformerConfig()
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> transformer([[3, 1, 3]], params, config).shape
    (1, 3, 12)

    A sequence after two tokens of padding, with its own positions:

    >>> mask = np.array([False, False, True, True])
    >>> row = transformer(
    ...     [0, 0, 3, 1], params, config, mask=mask, positions=[0, 0, 0, 1]
    ... )
    >>> bool(abs(row[2:] - transformer([3, 1], params, config)).max() < 1e-12)
    True
    """
    found, _ = _run(
        tokens, params, config, cache, mask=mask, positions=positions
    )
    return found


def next_logits(tokens, params, config, cache):
    """As `transformer`, of the last position alone: (..., vocab)."""
    logits, _ = _run(tokens, params, config, cache, rows=slice(-1, None))
    return logits[..., 0, :]
