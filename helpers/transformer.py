"""A small transformer: its forward pass, its gradients, training, drawing.

The layers are in `layers`, each beside its gradient, and can be imported
from here too. Parameters are a dict of arrays; leading axes are runs, models
trained side by side.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ._checks import (
    finite_floats,
    flag,
    generator,
    mask_of_scores,
    one_of,
    real,
    rounded,
    size,
    undone_on_failure,
)
from ._shapes import head_counts, loss_shares
from .cache import KVCache
from .gradients import attention_vjp
from .heads import (
    Attended,
    attention_layer,
    merge_heads,
    split_heads,
)
from .layers import (
    ACTIVATIONS,
    cross_entropy,
    cross_entropy_vjp,
    feed_forward,
    feed_forward_vjp,
    gelu,
    gelu_vjp,
    layer_norm,
    layer_norm_vjp,
    linear,
    linear_vjp,
    one_hot,
    rms_norm,
    rms_norm_vjp,
    token_ids,
    token_losses,
    token_losses_vjp,
)
from .masks import causal_mask, sliding_window_mask
from .positions import (
    alibi_bias,
    relative_buckets,
    rotary_embedding,
    sinusoidal_encoding,
)
from .softmax import softmax

__all__ = [
    "AdamState",
    "Attended",
    "Forward",
    "Layer",
    "TransformerConfig",
    "adam_init",
    "adam_step",
    "cross_entropy",
    "cross_entropy_vjp",
    "feed_forward",
    "feed_forward_vjp",
    "forward",
    "gelu",
    "gelu_vjp",
    "generate",
    "init_transformer",
    "layer_norm",
    "layer_norm_vjp",
    "linear",
    "linear_vjp",
    "loss_and_gradients",
    "new_cache",
    "next_token_probabilities",
    "one_hot",
    "parameter_count",
    "parameter_shapes",
    "rms_norm",
    "rms_norm_vjp",
    "token_ids",
    "token_losses",
    "transformer",
]

NORMS = {"layer": ("gain", "bias"), "rms": ("gain",)}
POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "t5", None)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """What a transformer looks like, without its numbers.

    Parameters
    ----------
    vocab : int, default 12
        How many tokens there are; a token is an integer below it.
    max_len : int, default 32
        The longest sequence, in tokens.
    d_model : int, default 32
        Width of a token's vector.
    n_layers : int, default 2
        L, the number of blocks.
    n_heads : int, default 2
        H, a divisor of `d_model`; d_k is the quotient.
    n_kv_heads : int, optional
        H_kv, a divisor of `n_heads`; `n_heads` by default.
    d_ff : int, optional
        Width of the feed-forward network; without it, attention only.
    norm : {"pre", "post"}
        Normalise what a layer reads, or the sum that it leaves.
    norm_kind : {"layer", "rms"}
        Layer normalisation, or by the root mean square alone.
    positions : {"learned", "sinusoidal", "rotary", "alibi", "t5", None}
        How a token's position enters. "t5" adds learned numbers to the
        scores, one for each head and bucket of distances.
    activation : {"gelu", "gelu_tanh", "relu"}
        What stands between the two matrices of the feed-forward network.
    bias : bool, default True
        Whether matrices come with a vector that is added. An output matrix
        that is tied has none.
    tied : bool, default True
        Whether the embedding, transposed, is the output matrix too.
    window : int, optional
        How many keys a query may attend to, itself included; all that are
        not later by default.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k) by default.
    base : float, default 10000.0
        Of the sinusoids and rotations.
    frequencies : tuple of float, optional
        Of the rotations, in the place of `base`; at most one for each pair
        of a head's columns, and where there are fewer the rest do not turn.
    buckets, max_distance : int, default 32 and 128
        Of "t5", as `relative_buckets`.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is below one, counts do not divide, frequencies do not
        fit, or a name is unknown.

    Examples
    --------
    >>> TransformerConfig(n_heads=4).d_k
    8
    """

    vocab: int = 12
    max_len: int = 32
    d_model: int = 32
    n_layers: int = 2
    n_heads: int = 2
    n_kv_heads: int | None = None
    d_ff: int | None = None
    norm: str = "pre"
    norm_kind: str = "layer"
    positions: str | None = "learned"
    activation: str = "gelu"
    bias: bool = True
    tied: bool = True
    window: int | None = None
    scale: float | None = None
    base: float = 10000.0
    frequencies: tuple | None = None
    buckets: int = 32
    max_distance: int = 128

    def __post_init__(self):
        for name in ("vocab", "max_len", "d_model", "n_layers", "n_heads"):
            size(getattr(self, name), name, least=1)
        for name in ("n_kv_heads", "d_ff", "window"):
            if getattr(self, name) is not None:
                size(getattr(self, name), name, least=1)
        _divides(self.n_heads, "n_heads", self.d_model, "d_model")
        head_counts(self.n_heads, self.kv_heads)
        one_of(self.norm, "norm", ("pre", "post"))
        one_of(self.norm_kind, "norm_kind", tuple(NORMS))
        one_of(self.positions, "positions", POSITIONS)
        one_of(self.activation, "activation", ACTIVATIONS)
        flag(self.bias, "bias")
        flag(self.tied, "tied")
        if real(self.base, "base") < 1:
            raise ValueError(f"base must be at least 1; got {self.base}")
        if self.scale is not None:
            real(self.scale, "scale")
        if self.positions == "rotary" and self.frequencies is None:
            _divides(2, "2, for pairs of columns,", self.d_k, "d_k")
        if self.frequencies is not None:
            _fitting(self.frequencies, self.d_k)
        relative_buckets(
            1, buckets=self.buckets, max_distance=self.max_distance
        )
        if self.positions == "sinusoidal":
            _divides(2, "2, for pairs of columns,", self.d_model, "d_model")

    @property
    def d_k(self):
        """Width of a query, a key and a value in one head."""
        return self.d_model // self.n_heads

    @property
    def kv_heads(self):
        """H_kv as a number, also where `n_kv_heads` is None."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads


def _divides(divisor, name, n, of):
    if n % divisor:
        raise ValueError(f"{name} must divide {of}; got {divisor} and {n}")


def _fitting(frequencies, d_k):
    if not isinstance(frequencies, tuple):
        raise TypeError(f"frequencies must be a tuple; got {frequencies!r}")
    for i, x in enumerate(frequencies):
        real(x, f"frequencies[{i}]")
    if 2 * len(frequencies) > d_k:
        raise ValueError(
            "frequencies must be at most one for two columns of a head; "
            f"got {len(frequencies)} and d_k {d_k}"
        )


# Parameters -----------------------------------------------------------------


def parameter_shapes(config):
    """The shape of each parameter, by name.

    Parameters
    ----------
    config : TransformerConfig
        The model.

    Returns
    -------
    dict of str to tuple
        Those of block i start with ``"i."``; `norm_1` stands at the
        attention, `norm_2` at the feed-forward network.

    Raises
    ------
    TypeError
        If `config` is no `TransformerConfig`.

    Examples
    --------
    >>> shapes = parameter_shapes(TransformerConfig(n_kv_heads=1))
    >>> shapes["embedding"], shapes["1.W_K"]
    ((12, 32), (32, 16))
    """
    _expect_config(config)
    shapes = {"embedding": (config.vocab, config.d_model)}
    if config.positions == "learned":
        shapes["positions"] = (config.max_len, config.d_model)
    if config.positions == "t5":  # one table, which all blocks share
        shapes["positions"] = (config.buckets, config.n_heads)
    for i in range(config.n_layers):
        block = _block_shapes(config)
        shapes |= {f"{i}.{name}": shape for name, shape in block.items()}
    if config.norm == "pre":
        shapes |= _norm_shapes("norm", config)
    if not config.tied:
        shapes |= _matrix_shapes(
            "output", (config.d_model, config.vocab), config
        )
    return shapes


def _matrix_shapes(name, shape, config):
    """A matrix, with the vector that is added after it."""
    bias = {f"{name}.bias": shape[1:]} if config.bias else {}
    return {name: shape, **bias}


def _norm_shapes(name, config):
    parts = NORMS[config.norm_kind]
    return {f"{name}.{part}": (config.d_model,) for part in parts}


def _block_shapes(config):
    d, d_ff = config.d_model, config.d_ff
    d_kv = config.kv_heads * config.d_k
    shapes = _norm_shapes("norm_1", config)
    for name, width in (("W_Q", d), ("W_K", d_kv), ("W_V", d_kv), ("W_O", d)):
        shapes |= _matrix_shapes(name, (d, width), config)
    if d_ff is not None:
        shapes |= _norm_shapes("norm_2", config)
        shapes |= _matrix_shapes("W_1", (d, d_ff), config)
        shapes |= _matrix_shapes("W_2", (d_ff, d), config)
    return shapes


def parameter_count(config):
    """How many numbers a model has, as an exact integer.

    Parameters
    ----------
    config : TransformerConfig
        The model.

    Returns
    -------
    int
        The sum of the sizes of its parameters; a tied matrix counts once.

    Raises
    ------
    TypeError
        If `config` is no `TransformerConfig`.

    Examples
    --------
    >>> parameter_count(TransformerConfig(
    ...     vocab=50257, max_len=1024, d_model=768, n_layers=12, n_heads=12,
    ...     d_ff=3072))
    124439808
    """
    return sum(map(math.prod, parameter_shapes(config).values()))


def init_transformer(rng, config, *, runs=(), std=0.02):
    """Random parameters to start a training from.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    config : TransformerConfig
        The model.
    runs : tuple of int, default ()
        Leading axes of all parameters: models to train side by side.
    std : float or None, default 0.02
        Standard deviation of matrices and tables; None takes
        ``1/sqrt(rows)`` for the matrices inside of a block.

    Returns
    -------
    dict of str to array
        Gains of 1, biases of 0, and normal numbers. `W_O` and `W_2`, whose
        results are added up over the blocks, are divided by
        ``sqrt(2 * n_layers)``.

    Raises
    ------
    TypeError
        If `rng` is no Generator, or `config` no `TransformerConfig`.
    ValueError
        If `std` is not above 0.

    Notes
    -----
    Radford et al. 2019, section 2.3, and the code published with it (0.02).

    Examples
    --------
    >>> config = TransformerConfig()
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> params["0.W_Q"].shape, params["norm.gain"][:2].tolist()
    ((32, 32), [1.0, 1.0])
    """
    generator(rng)
    if std is not None and real(std, "std") <= 0:
        raise ValueError(f"std must be above 0; got {std}")
    if not isinstance(runs, tuple):
        raise TypeError(f"runs must be a tuple; got {runs!r}")
    runs = tuple(size(n, f"runs[{i}]", least=1) for i, n in enumerate(runs))
    return {
        name: _initial(rng, name, runs, shape, config, std)
        for name, shape in parameter_shapes(config).items()
    }


def _initial(rng, name, runs, shape, config, std):
    last = name.rpartition(".")[2]
    if last == "gain":
        return np.ones((*runs, *shape))
    if last == "bias":
        return np.zeros((*runs, *shape))
    if std is None:
        std = 1 / math.sqrt(shape[0]) if last.startswith("W_") else 0.02
    if last in ("W_O", "W_2"):
        std /= math.sqrt(2 * config.n_layers)
    return rng.normal(0, std, (*runs, *shape))


def _expect_config(config):
    if not isinstance(config, TransformerConfig):
        kind = type(config).__name__
        raise TypeError(f"config must be a TransformerConfig; got {kind}")


def _expect_params(params, config):
    """The run axes of `params`, if names and shapes are those of `config`."""
    shapes = parameter_shapes(config)
    for name, x in params.items():
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            got = getattr(x, "dtype", type(x).__name__)
            raise TypeError(f"{name} must be an array of floats; got {got}")
    if params.keys() != shapes.keys():
        odd = sorted(params.keys() ^ shapes.keys())
        raise ValueError(
            f"params must have the names of parameter_shapes; {odd[0]} is "
            f"{'missing' if odd[0] in shapes else 'not one'}"
        )
    table = np.shape(params["embedding"])
    runs = table[: len(table) - 2]
    for name, shape in shapes.items():
        if np.shape(params[name]) != (*runs, *shape):
            raise ValueError(
                f"{name} must be {(*runs, *shape)} to fit config and "
                f"embedding; got {np.shape(params[name])}"
            )
    return runs


# The model ------------------------------------------------------------------


class Layer(NamedTuple):
    """What one layer of a block was given: attention or feed-forward."""

    block: int  #: the number of its block
    normed: np.ndarray  #: (..., T, d_model), what its norm was given
    read: np.ndarray  #: (..., T, d_model), what the layer itself was given
    attended: Attended | None  #: None in a feed-forward layer


class Forward(NamedTuple):
    """What a forward pass computed."""

    logits: np.ndarray  #: (..., T, vocab)
    layers: list  #: a `Layer` for each, in order
    stream: np.ndarray  #: (..., T, d_model), what the last block left


def _attend(X, p, config, keep, cache, start, mask):
    """What a block's attention adds to the rows, and the steps on the way."""
    H, T = config.n_heads, X.shape[-2]
    S = T if cache is None else T + len(cache)
    shape = (*X.shape[:-2], H, T, S)  # of the scores
    rotate = None
    if config.positions == "rotary":
        rotate = partial(
            _rotate, at=np.arange(start, start + T), config=config
        )
    return attention_layer(
        X,
        p,
        H,
        config.kv_heads,
        rotate=rotate,
        mask=_mask(config, mask, shape),
        bias=_score_bias(shape, p, config),
        cache=cache,
        scale=config.scale,
        keep=keep,
    )


def _rotate(X, at, config):
    return rotary_embedding(
        X, at, base=config.base, frequencies=config.frequencies
    )


def _buckets(T, S, config):
    return relative_buckets(
        T, S, buckets=config.buckets, max_distance=config.max_distance
    )


def _score_bias(shape, p, config):
    """What the kind of positions adds to the scores, if anything."""
    H, T, S = shape[-3:]
    if config.positions == "alibi":
        return alibi_bias(H, T, S)
    if config.positions != "t5":
        return None
    bias = np.moveaxis(p["positions"][..., _buckets(T, S, config), :], -1, -3)
    runs = bias.shape[:-3]
    ones = (1,) * (len(shape) - bias.ndim)  # for the axes of the batch
    return bias.reshape(*runs, *ones, H, T, S)


def _score_bias_gradient(grad, table, config):
    """The gradient of T5's table: what its scores got, summed by bucket."""
    runs = table.shape[:-2]
    between = tuple(range(len(runs), grad.ndim - 3))
    grad = grad.sum(between)  # (runs, H, T, S)
    H, T, S = grad.shape[-3:]
    rows = one_hot(_buckets(T, S, config).ravel(), config.buckets)
    return (grad.reshape(*runs, H, T * S) @ rows).swapaxes(-1, -2)


def _mask(config, mask, shape):
    """What is neither later, nor out of the window, nor masked besides."""
    T, S = shape[-2:]
    if config.window is None:
        own = causal_mask(T, S)
    else:
        own = sliding_window_mask(T, S, window=config.window)
    return own if mask is None else own & mask_of_scores(mask, shape)


def _attend_gradients(grad, kept, p, config):
    """Gradients of the rows and of the parameters, a dict."""
    X, Q, K, V, weights, heads = kept
    H, H_kv = config.n_heads, config.kv_heads
    grads = {}
    dmerged, grads["W_O"], grads["W_O.bias"] = linear_vjp(
        grad, merge_heads(heads), p["W_O"]
    )
    dheads = split_heads(dmerged, H)
    back = attention_vjp(dheads, Q, K, V, weights, scale=config.scale)
    dQ, dK, dV = back.Q, _sum_kv(back.K, H_kv), _sum_kv(back.V, H_kv)
    if config.positions == "t5":
        grads["positions"] = _score_bias_gradient(
            back.scores, p["positions"], config
        )
    if config.positions == "rotary":
        # A rotation's transpose turns back.
        at = -np.arange(Q.shape[-2])
        dQ, dK = _rotate(dQ, at, config), _rotate(dK, at, config)
    dX = 0
    for name, d in (("W_Q", dQ), ("W_K", dK), ("W_V", dV)):
        d, grads[name], grads[f"{name}.bias"] = linear_vjp(
            merge_heads(d), X, p[name]
        )
        dX = dX + d
    return dX, grads


def _sum_kv(grad, n_kv_heads):
    """Undo `repeat_kv` for a gradient: sum over the heads that shared one."""
    *lead, H, S, d = grad.shape
    return grad.reshape(*lead, n_kv_heads, H // n_kv_heads, S, d).sum(-3)


def _norm(x, p, name, config):
    gain = p[f"{name}.gain"]
    if config.norm_kind == "rms":
        return rms_norm(x, gain)
    return layer_norm(x, gain, p[f"{name}.bias"])


def _norm_gradients(grad, x, p, name, config):
    """Gradients of the rows and of the norm's parameters, a dict."""
    vjp = rms_norm_vjp if config.norm_kind == "rms" else layer_norm_vjp
    dx, *rest = vjp(grad, x, p[f"{name}.gain"])
    parts = NORMS[config.norm_kind]
    return dx, {
        f"{name}.{part}": d for part, d in zip(parts, rest, strict=True)
    }


def _feed_forward(x, p, config):
    return feed_forward(
        x,
        p["W_1"],
        p.get("W_1.bias"),
        p["W_2"],
        p.get("W_2.bias"),
        activation=config.activation,
    )


def _feed_forward_gradients(grad, x, p, config):
    """Gradients of the rows and of the parameters, a dict."""
    dx, *rest = feed_forward_vjp(
        grad,
        x,
        p["W_1"],
        p.get("W_1.bias"),
        p["W_2"],
        activation=config.activation,
    )
    names = ("W_1", "W_1.bias", "W_2", "W_2.bias")
    return dx, dict(zip(names, rest, strict=True))


def _block(params, i):
    """The parameters of block `i`, without its number, and the shared table.

    The table is that of the positions, which blocks read with "t5" alone.
    """
    start = f"{i}."
    return {
        name.removeprefix(start): array
        for name, array in params.items()
        if name.startswith(start) or name == "positions"
    }


def _embed(tokens, params, config, start):
    """The rows that enter the first block."""
    table = params["embedding"]
    one = one_hot(tokens, config.vocab).astype(table.dtype)
    x = linear(one, table, names=("tokens", "embedding", ""))
    T = tokens.shape[-1]
    if config.positions == "learned":
        rows = finite_floats(params["positions"], "positions")
        rows = rows[..., start : start + T, :]
        ones = (1,) * (x.ndim - rows.ndim)
        return x + rows.reshape(*rows.shape[:-2], *ones, T, config.d_model)
    if config.positions == "sinusoidal":
        rows = sinusoidal_encoding(start + T, config.d_model, base=config.base)
        return x + rows[start:].astype(x.dtype)
    return x


def _output_matrix(params, config):
    if config.tied:
        return params["embedding"].swapaxes(-1, -2)
    return params["output"]


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


def _expect_caches(cache, config):
    """Refuse caches of which some are missing, or further on than others."""
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
            "cache must hold as many tokens for each block, and none twice; "
            f"got {lengths}"
        )


def _checked_heads(heads, config):
    if heads is None:
        return None
    shape = (config.n_layers, config.n_heads)
    heads = finite_floats(heads, "heads")
    if heads.shape != shape:
        raise ValueError(
            "heads must have a factor for each head of each layer; "
            f"got heads {heads.shape} and (n_layers, n_heads) {shape}"
        )
    return heads


def new_cache(config, *, batch=(), dtype=float):
    """An empty cache for each block.

    Parameters
    ----------
    config : TransformerConfig
        The model.
    batch : tuple of int, default ()
        The axes of the tokens in front of the positions.
    dtype : floating type, default float
        What is stored.

    Returns
    -------
    list of KVCache
        What `transformer` takes.

    Raises
    ------
    TypeError, ValueError
        As `KVCache`.

    Examples
    --------
    >>> new_cache(TransformerConfig())[1].max_len
    32
    """
    _expect_config(config)
    return [
        KVCache(
            config.max_len,
            config.kv_heads,
            config.d_k,
            batch=batch,
            dtype=dtype,
        )
        for _ in range(config.n_layers)
    ]


def forward(tokens, params, config, *, cache=None, heads=None, mask=None):
    """Run a transformer, and keep what its layers were given.

    Parameters
    ----------
    tokens : (..., T) integers
        Sequences of tokens. Where the parameters have runs, so do these.
    params : dict of str to array
        As `init_transformer` makes them.
    config : TransformerConfig
        The model.
    cache : list of KVCache, optional
        One for each block, from `new_cache`: the keys and values of what
        came before `tokens`. Those of `tokens` are appended.
    heads : (n_layers, n_heads) array, optional
        What each head's output is multiplied by: 0 switches it off.
    mask : (..., H, T, S) boolean array, optional
        True = may attend, where the model lets it: what is later stays
        hidden. Broadcasts, as the (B, 1, 1, S) of `padding_mask`; S counts
        the tokens in the cache too.

    Returns
    -------
    Forward
        The logits, and what `loss_and_gradients` and a map need.

    Raises
    ------
    TypeError
        If tokens are not integers, `config` is no `TransformerConfig`, a
        parameter no array of floats, `cache` no list of one for a block, or
        `mask` is not boolean.
    ValueError
        If a token is outside the vocabulary, the sequence is longer than
        the model's, shapes do not fit, a number is not finite or overflows,
        or the caches differ in length. The caches then are what they were.

    Examples
    --------
    >>> config = TransformerConfig()
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> kept = forward([3, 1, 3], params, config)
    >>> kept.logits.shape, kept.layers[1].attended.weights.shape
    ((3, 12), (2, 3, 3))
    """
    runs = _expect_params(params, config)
    _expect_caches(cache, config)
    start = 0 if cache is None else len(cache[0])
    tokens = _checked_tokens(tokens, config, runs, start)
    heads = _checked_heads(heads, config)
    with undone_on_failure(*(cache or ())):
        return _through(tokens, params, config, cache, heads, start, mask)


def _through(tokens, params, config, cache, heads, start, mask):
    """The forward pass itself."""
    x = _embed(tokens, params, config, start)
    layers = []
    for i in range(config.n_layers):
        p, stored = _block(params, i), None if cache is None else cache[i]
        read = _before(x, p, "norm_1", config)
        keep = None if heads is None else heads[i]
        change, attended = _attend(read, p, config, keep, stored, start, mask)
        x, normed = _after(x, change, p, "norm_1", config)
        layers.append(Layer(i, normed, read, attended))
        if config.d_ff is not None:
            read = _before(x, p, "norm_2", config)
            change = _feed_forward(read, p, config)
            x, normed = _after(x, change, p, "norm_2", config)
            layers.append(Layer(i, normed, read, None))
    final = _before(x, params, "norm", config)
    W, b = _output_matrix(params, config), params.get("output.bias")
    return Forward(linear(final, W, b), layers, x)


def _before(x, p, norm, config):
    """What a layer reads."""
    return _norm(x, p, norm, config) if config.norm == "pre" else x


def _after(x, change, p, norm, config):
    """What a layer leaves behind, and what its norm was given."""
    if config.norm == "pre":
        return x + change, x
    return _norm(x + change, p, norm, config), x + change


def transformer(tokens, params, config, *, cache=None, mask=None):
    """The logits of the next token at each position.

    Parameters
    ----------
    tokens, params, config, cache, mask
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
    Vaswani et al. 2017, section 3, the decoder alone; blocks as in Radford
    et al. 2019 where `norm` is "pre".

    Examples
    --------
    >>> config = TransformerConfig()
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> transformer([[3, 1, 3]], params, config).shape
    (1, 3, 12)
    """
    return forward(tokens, params, config, cache=cache, mask=mask).logits


def loss_and_gradients(
    tokens, targets, params, config, *, where=None, mask=None
):
    """The loss, and its gradient for each parameter.

    Parameters
    ----------
    tokens : (..., T) integers
        Sequences of tokens. Where the parameters have runs, so do these.
    targets : (..., T) integers
        The token that comes after each position.
    params : dict of str to array
        As `init_transformer` makes them.
    config : TransformerConfig
        The model.
    where : (..., T) boolean array, optional
        Which positions count; broadcasts. All by default.
    mask : (..., H, T, S) boolean array, optional
        As `forward`. A batch of sequences of unequal lengths needs both:
        `where` leaves the padding out of the loss.

    Returns
    -------
    loss : float or array
        Mean loss in nats; one for each run where the parameters have runs.
    gradients : dict of str to array
        With the names, shapes and types of `params`.

    Raises
    ------
    TypeError, ValueError
        As `transformer` and `cross_entropy`.

    Examples
    --------
    >>> config = TransformerConfig(tied=False)
    >>> params = init_transformer(np.random.default_rng(0), config)
    >>> loss, gradients = loss_and_gradients([3, 1], [1, 3], params, config)
    >>> round(loss, 1), gradients["0.W_Q"].shape
    (2.5, (32, 32))
    """
    kept = forward(tokens, params, config, mask=mask)
    losses = token_losses(kept.logits, targets)
    n_runs = params["embedding"].ndim - 2
    shares = loss_shares(where, losses, n_runs)
    dlogits = token_losses_vjp(shares, kept.logits, targets)
    axes = tuple(range(n_runs, losses.ndim))
    loss = (losses * shares).sum(axes)
    gradients = _gradients(dlogits, tokens, kept, params, config)
    gradients = {n: gradients[n].astype(x.dtype) for n, x in params.items()}
    return loss if n_runs else float(loss), gradients


def _gradients(dlogits, tokens, kept, params, config):
    """Go through a forward pass from its end to its start."""
    dx, grads = _output_gradients(dlogits, kept.stream, params, config)
    for layer in reversed(kept.layers):
        p = _block(params, layer.block)
        dx, new = _layer_gradients(dx, layer, p, config)
        grads |= {f"{layer.block}.{name}": d for name, d in new.items()}
    return _embedding_gradients(dx, tokens, params, config, grads)


def _output_gradients(dlogits, x, params, config):
    pre = config.norm == "pre"
    final = _before(x, params, "norm", config)
    dx, dW, db = linear_vjp(dlogits, final, _output_matrix(params, config))
    grads = {"output": dW, "output.bias": db}
    if pre:
        dx, new = _norm_gradients(dx, x, params, "norm", config)
        grads |= new
    return dx, grads


def _layer_gradients(dx, layer, p, config):
    """Through a layer and around it: the residual adds both gradients."""
    name = "norm_2" if layer.attended is None else "norm_1"
    grads = {}
    if config.norm == "post":
        dx, grads = _norm_gradients(dx, layer.normed, p, name, config)
    if layer.attended is None:
        dread, new = _feed_forward_gradients(dx, layer.read, p, config)
    else:
        dread, new = _attend_gradients(dx, layer.attended, p, config)
    if config.norm == "pre":
        dread, grads = _norm_gradients(dread, layer.normed, p, name, config)
    return dx + dread, grads | new


def _embedding_gradients(dx, tokens, params, config, grads):
    rows = one_hot(tokens, config.vocab)
    _, dtable, _ = linear_vjp(dx, rows, params["embedding"])
    if config.tied:  # the table is used twice
        dtable = dtable + grads["output"].swapaxes(-1, -2)
    grads["embedding"] = dtable
    if config.positions == "learned":
        table = params["positions"]
        T, n_runs = dx.shape[-2], table.ndim - 2
        between = tuple(range(n_runs, dx.ndim - 2))
        grads["positions"] = np.zeros_like(table)
        grads["positions"][..., :T, :] = dx.sum(between)
    if config.positions == "t5":
        grads["positions"] = sum(
            grads[f"{i}.positions"] for i in range(config.n_layers)
        )
    return grads


# Training -------------------------------------------------------------------


class AdamState(NamedTuple):
    """What Adam remembers from step to step."""

    step: int  #: how many steps were taken
    mean: dict  #: running mean of each gradient
    square: dict  #: running mean of its square


def adam_init(params):
    """The state before the first step: zeros.

    Parameters
    ----------
    params : dict of str to array
        What will be trained.

    Returns
    -------
    AdamState
        For `adam_step`.

    Examples
    --------
    >>> adam_init({"x": np.array([1.0, 2.0])}).mean["x"].tolist()
    [0.0, 0.0]
    """
    zeros = {name: np.zeros_like(x) for name, x in params.items()}
    return AdamState(0, zeros, zeros)


def adam_step(
    params, gradients, state, *, rate=1e-3, betas=(0.9, 0.999), eps=1e-8
):
    """One step of Adam.

    Parameters
    ----------
    params : dict of str to array
        The parameters before the step.
    gradients : dict of str to array
        The gradient of the loss for each.
    state : AdamState
        From `adam_init`, or the step before.
    rate : float, default 1e-3
        About how far a parameter moves in a step.
    betas : (float, float)
        How much of the running means each step keeps, at least 0 and below 1.
    eps : float, default 1e-8
        Added to the root, so that a gradient of 0 is not divided by 0.

    Returns
    -------
    params : dict of str to array
        The parameters after the step; nothing is changed in place.
    state : AdamState
        The state after it.

    Raises
    ------
    TypeError
        If a rate, `eps` or one of `betas` is not a number.
    ValueError
        If names or shapes differ, a number is out of range, a gradient is
        not finite, its square overflows, or `eps` is 0 in its type.

    Notes
    -----
    Kingma and Ba 2015, algorithm 1. The running means start at 0 and are
    divided by ``1 - beta**step``, the share that they have seen.

    Examples
    --------
    >>> params = {"x": np.array([1.0])}
    >>> params, state = adam_step(params, {"x": np.array([5.0])},
    ...                           adam_init(params), rate=0.1)
    >>> params["x"].round(6).tolist(), state.step
    ([0.9], 1)
    """
    _checked_step(params, gradients, state, rate, betas, eps)
    (keep_1, keep_2), t = betas, state.step + 1
    new, mean, square = {}, {}, {}
    for name, x in params.items():
        g = gradients[name]
        mean[name] = keep_1 * state.mean[name] + (1 - keep_1) * g
        with np.errstate(over="ignore"):
            squared = keep_2 * state.square[name] + (1 - keep_2) * g * g
        what = f"the square of the gradient of {name} overflows {g.dtype}"
        square[name] = rounded(squared, squared.dtype, what)
        m = mean[name] / (1 - keep_1**t)
        v = square[name] / (1 - keep_2**t)
        new[name] = x - rate * m / (np.sqrt(v) + eps)
    return new, AdamState(t, mean, square)


def _checked_step(params, gradients, state, rate, betas, eps):
    dicts = {"gradients": gradients, "state": state.mean}
    for name, other in dicts.items():
        if params.keys() != other.keys():
            odd = sorted(params.keys() ^ other.keys())
            raise ValueError(
                f"params and {name} must have the same names; "
                f"{odd[0]} is in one alone"
            )
        for key, x in params.items():
            if np.shape(x) != np.shape(other[key]):
                raise ValueError(
                    f"{name} must have the shapes of params; got {key} "
                    f"{np.shape(other[key])} and {np.shape(x)}"
                )
    eps = real(eps, "eps")
    for key, g in gradients.items():
        g = finite_floats(g, f"gradients[{key!r}]")
        if g.dtype.type(eps) <= 0:
            raise ValueError(f"eps must be above 0 in {g.dtype}; got {eps}")
    if real(rate, "rate") <= 0:
        raise ValueError(f"rate must be above 0; got {rate}")
    if not isinstance(betas, tuple) or len(betas) != 2:
        raise ValueError(f"betas must be two numbers; got {betas!r}")
    if not all(0 <= real(beta, "betas") < 1 for beta in betas):
        raise ValueError(f"betas must be at least 0 and below 1; got {betas}")


# Generation -----------------------------------------------------------------


def next_token_probabilities(
    logits, *, temperature=1.0, top_k=None, top_p=None
):
    """The chances from which the next token is drawn.

    Parameters
    ----------
    logits : (..., vocab) array
        Scores of the next token.
    temperature : float, default 1.0
        What the logits are divided by. Towards 0 the largest takes all; at 0
        it does, the first of several that are equal.
    top_k : int, optional
        Keep the k largest logits; of equal ones those with the lower token.
    top_p : float, optional
        Keep the fewest tokens, from the likeliest down, whose chances sum
        to `top_p` (where a sum is just that, rounding decides); at least
        one. Applied after `top_k`.

    Returns
    -------
    (..., vocab) array
        Chances that sum to one, computed in float64 and rounded to the type
        of the logits.

    Raises
    ------
    TypeError
        If the logits are not numbers, or `top_k` is not an integer.
    ValueError
        If `temperature` is negative, `top_k` below one, `top_p` not above 0
        and at most 1, or a logit is not finite.

    Notes
    -----
    `top_p`: Holtzman et al. 2020, section 3.1.

    Examples
    --------
    >>> next_token_probabilities([2.0, 1.0, 0.0], top_k=1).tolist()
    [1.0, 0.0, 0.0]
    """
    logits = finite_floats(logits, "logits", ndim=1, axes="(..., vocab)")
    dtype, logits = logits.dtype, logits.astype(np.float64)
    vocab = size(logits.shape[-1], "the number of logits", least=1)
    top_k = size(vocab if top_k is None else top_k, "top_k", least=1)
    temperature = real(temperature, "temperature")
    if temperature < 0:
        raise ValueError(f"temperature must be at least 0; got {temperature}")
    if top_p is not None and not 0 < real(top_p, "top_p") <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")
    order = np.argsort(-logits, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1)  # 0 at the largest
    if temperature == 0:
        return (rank == 0).astype(dtype)
    # From the largest, so that a small temperature overflows to -inf alone.
    with np.errstate(over="ignore"):
        scaled = (logits - logits.max(-1, keepdims=True)) / temperature
    keep = rank < top_k
    chances = softmax(scaled, where=keep)
    if top_p is None or top_p == 1:
        return chances.astype(dtype)
    falling = np.take_along_axis(chances, order, -1)
    before = np.cumsum(falling, -1) - falling  # of all that are likelier
    enough = np.take_along_axis(before, rank, -1) >= top_p
    return softmax(scaled, where=keep & ~enough).astype(dtype)


def generate(
    rng, tokens, params, config, n, *, temperature=1.0, top_k=None, top_p=None
):
    """Continue sequences, token by token, with a cache.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from: one a sequence and token.
    tokens : (..., T) integers
        What to continue; at least one token.
    params : dict of str to array
        As `init_transformer` makes them.
    config : TransformerConfig
        The model.
    n : int
        How many tokens to add.
    temperature, top_k, top_p
        As `next_token_probabilities`.

    Returns
    -------
    (..., T + n) integers
        The tokens and what follows them.

    Raises
    ------
    TypeError, ValueError
        As `transformer` and `next_token_probabilities`; and ValueError if
        there is no token to start from, or ``T + n`` is above `max_len`.

    Examples
    --------
    >>> config = TransformerConfig()
    >>> rng = np.random.default_rng(0)
    >>> params = init_transformer(rng, config)
    >>> generate(rng, [3, 1], params, config, 2, temperature=0).shape
    (4,)
    """
    generator(rng)
    _expect_config(config)
    tokens = token_ids(tokens, config.vocab).astype(np.int64)
    n = size(n, "n")
    if tokens.ndim == 0 or tokens.shape[-1] == 0:
        raise ValueError(
            f"tokens must hold at least one token; got {tokens.shape}"
        )
    if tokens.shape[-1] + n > config.max_len:
        raise ValueError(
            f"at most max_len = {config.max_len} tokens fit; "
            f"got tokens {tokens.shape} and n {n}"
        )
    cache = new_cache(config, batch=tokens.shape[:-1])
    new = tokens
    for _ in range(n):
        logits = transformer(new, params, config, cache=cache)[..., -1, :]
        chances = next_token_probabilities(
            logits, temperature=temperature, top_k=top_k, top_p=top_p
        )
        new = _draw(rng, chances)[..., None]
        tokens = np.concatenate([tokens, new], -1)
    return tokens


def _draw(rng, chances):
    """One token for each row of chances."""
    # The first whose running sum is above a number from 0 to 1.
    running = np.cumsum(chances, -1)
    u = rng.random(chances.shape[:-1])[..., None] * running[..., -1:]
    return (running <= u).sum(-1)
