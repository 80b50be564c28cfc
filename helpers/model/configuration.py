"""The shape of a transformer, and the parameters it starts from."""

import math
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._checks import (
    as_real,
    as_size,
    check_choice,
    check_flag,
    check_generator,
    check_softcap,
)
from .._shapes import head_counts, latent_shapes
from ..layers import ACTIVATIONS
from ..positions import relative_buckets

NORMS = {"layer": ("gain", "bias"), "rms": ("gain",)}
# The names in a model of two fields of `helpers.latent.LatentProjections`.
IN_A_MODEL = {"gain_KV": "norm_KV.gain", "gain_Q": "norm_Q.gain"}


class LatentWidths(NamedTuple):
    """The widths of latent attention, beside `TransformerConfig.d_k`."""

    d_c: int  #: the width of the latent vector
    d_r: int  #: the width of the rotated key; even
    d_v: int  #: the width of a value in one head
    d_q: int | None = None  #: of compressed queries; None if they are not
    eps: float = 1e-6  #: of the norms of the compressed vectors


class MemoryWidths(NamedTuple):
    """The sizes of a memory by the gated delta rule."""

    n_key_heads: int  #: heads of queries and keys
    n_value_heads: int  #: H, a multiple of `n_key_heads`; each has a state
    d_k: int  #: width of a query and a key in one head
    d_v: int  #: width of a value in one head
    width: int  #: the number of rows that the short convolution mixes

    @property
    def channels(self):
        """The number of columns of all queries, keys and values."""
        wide = 2 * self.n_key_heads * self.d_k
        return wide + self.n_value_heads * self.d_v


# What each field may hold is said where the field is: a rule, whether a block
# may have its own value, and the only value that latent attention allows.


def _ruled(default, rule, **more):
    """A field whose value, unless it is None by default, obeys a rule."""
    return field(default=default, metadata={"rule": rule, **more})


def _size(default, **more):
    return _ruled(default, partial(as_size, least=1), **more)


def _choice(*known, **more):
    """A field with the first of these values by default."""
    return _ruled(known[0], partial(check_choice, choices=known), **more)


def _at_least(least, default, **more):
    return _ruled(default, partial(_check_least, least=least), **more)


def _check(value, own):
    """Refuse a value that breaks the rule of its field."""
    rule = own.metadata.get("rule")
    if rule is not None and not (value is None and own.default is None):
        rule(value, own.name)


def _check_least(x, name, *, least):
    if as_real(x, name) < least:
        raise ValueError(f"{name} must be at least {least}; got {x}")


def _check_cap(x, name):
    check_softcap(x, float, name)


def _check_numbers(numbers, name):
    if not isinstance(numbers, tuple):
        raise TypeError(f"{name} must be a tuple; got {numbers!r}")
    for i, x in enumerate(numbers):
        as_real(x, f"{name}[{i}]")


def _check_dicts(dicts, name):
    if not isinstance(dicts, tuple) or not all(
        isinstance(block, dict) for block in dicts
    ):
        raise TypeError(f"{name} must be a tuple of dicts; got {dicts!r}")


def _check_latent(latent, name):
    if not isinstance(latent, LatentWidths):
        raise TypeError(f"{name} must be LatentWidths; got {latent!r}")
    for part in ("d_c", "d_r", "d_v", "d_q"):
        n = getattr(latent, part)
        if part != "d_q" or n is not None:
            as_size(n, f"{name}.{part}", least=1)
    _check_least(latent.eps, f"{name}.eps", least=0)


def _check_memory(memory, name):
    if not isinstance(memory, MemoryWidths):
        raise TypeError(f"{name} must be MemoryWidths; got {memory!r}")
    for part, n in memory._asdict().items():
        as_size(n, f"{name}.{part}", least=1)
    heads = f"{name}.n_key_heads", f"{name}.n_value_heads"
    _expect_divisor(
        memory.n_key_heads, heads[0], memory.n_value_heads, heads[1]
    )


def _expect_divisor(divisor, name, n, of):
    if n % divisor:
        raise ValueError(f"{name} must divide {of}; got {divisor} and {n}")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The sizes and choices of a transformer, without its parameters.

    Parameters
    ----------
    vocab : int, default 12
        The size of the vocabulary; a token is an integer below it.
    max_len : int, default 32
        The longest sequence, in tokens.
    d_model : int, default 32
        Width of a token's vector.
    n_layers : int, default 2
        L, the number of blocks.
    n_heads : int, default 2
        H, the number of heads; a divisor of `d_model` without `head_width`.
    n_kv_heads : int, optional
        H_kv, a divisor of `n_heads`; `n_heads` by default.
    head_width : int, optional
        d_k, the width of a query, a key and a value in one head;
        ``d_model / n_heads`` by default.
    d_ff : int, optional
        Width of the feed-forward network; without it, attention only.
    norm : {"pre", "post", "output", "sandwich"}
        Normalise a layer's input, its sum with the residual stream, its
        output, or both its input and its output.
    norm_kind : {"layer", "rms"}
        Layer normalisation, or only by the root mean square.
    positions : {"learned", "sinusoidal", "rotary", "alibi", "t5", None}
        How a token's position enters. "t5" adds learned numbers to the scores,
        one per head and bucket of distances.
    activation : {"gelu", "gelu_tanh", "relu", "silu"}
        The function between the matrices of the feed-forward network.
    gated : bool, default False
        Whether a third matrix, `W_3`, gates the feed-forward network.
    eps : float, default 1e-5
        The number that a norm adds before its square root.
    bias : bool, default True
        Whether matrices come with a bias vector. A tied output matrix has
        none.
    tied : bool, default True
        Whether the transposed embedding is also the output matrix.
    window : int, optional
        The number of keys that a query may attend to, including its own; by
        default all keys that are not later.
    scale : float, optional
        Factor on the dot products; 1/sqrt(d_k) by default.
    softcap : float, optional
        Limits the scaled scores, as in `helpers.attention.attention`; not with
        positions "t5".
    sinks : bool, default False
        Whether each head learns a sink, as in `helpers.attention.attention`.
    query_key_norm : {None, "head", "whole"}
        Whether queries and keys are divided by their root mean square before
        they rotate: each head's by its own, or the row of all heads by one.
    output_gate : bool, default False
        Whether a matrix `W_G` gates the heads' outputs: each number is
        multiplied by a sigmoid that depends on the layer's input.
    base : float, default 10000.0
        The base of the sinusoids and rotations.
    frequencies : tuple of float, optional
        The frequencies of the rotations, in place of `base`; at most one for
        each pair of a head's columns. Pairs without a frequency do not rotate.
    num_buckets, max_distance : int, default 32 and 128
        For "t5", as in `relative_buckets`.
    embedding_scale : float, optional
        The factor on the rows of the embedding.
    logits_softcap : float, optional
        Limits the logits, as `softcap` limits the scores.
    blocks : tuple of dict, optional
        For each block, its own values for some of the fields above:
        ``window``, ``positions`` ("rotary" or None), ``base``, ``frequencies``
        and ``memory``.
    latent : LatentWidths, optional
        Latent attention instead of attention: `helpers.latent`.
    memory : MemoryWidths, optional
        A memory of fixed size instead of attention, with a short convolution
        instead of positions: `helpers.linear`.

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
    >>> mixed = TransformerConfig(blocks=({"window": 3}, {}))
    >>> mixed.of_block(0).window, mixed.of_block(1).window
    (3, None)
    """

    vocab: int = _size(12)
    max_len: int = _size(32)
    d_model: int = _size(32)
    n_layers: int = _size(2)
    n_heads: int = _size(2)
    n_kv_heads: int | None = _size(None, with_latent=None)
    head_width: int | None = _size(None)
    d_ff: int | None = _size(None)
    norm: str = _choice("pre", "post", "output", "sandwich")
    norm_kind: str = _choice(*NORMS)
    positions: str | None = _choice(
        *("learned", "sinusoidal", "rotary", "alibi", "t5", None),
        of_a_block=True,
        with_latent="rotary",
    )
    activation: str = _choice(*ACTIVATIONS)
    gated: bool = _ruled(False, check_flag)
    eps: float = _at_least(0, 1e-5)
    bias: bool = _ruled(True, check_flag, with_latent=False)
    tied: bool = _ruled(True, check_flag)
    window: int | None = _size(None, of_a_block=True)
    scale: float | None = _ruled(None, as_real)
    softcap: float | None = _ruled(None, _check_cap, with_latent=None)
    sinks: bool = _ruled(False, check_flag, with_latent=False)
    query_key_norm: str | None = _choice(
        None, "head", "whole", with_latent=None
    )
    output_gate: bool = _ruled(False, check_flag, with_latent=False)
    base: float = _at_least(1, 10000.0, of_a_block=True)
    frequencies: tuple | None = _ruled(None, _check_numbers, of_a_block=True)
    num_buckets: int = 32
    max_distance: int = 128
    embedding_scale: float | None = _ruled(None, as_real)
    logits_softcap: float | None = _ruled(None, _check_cap)
    blocks: tuple | None = _ruled(None, _check_dicts)
    latent: LatentWidths | None = field(
        default=None, metadata={"rule": _check_latent}
    )
    memory: MemoryWidths | None = field(
        default=None, metadata={"rule": _check_memory, "of_a_block": True}
    )

    def __post_init__(self):
        for own in fields(self):
            _check(getattr(self, own.name), own)
        _expect_heads(self)
        _expect_positions(self)
        if self.latent is not None:
            _expect_no_more_than_latent(self)
        if self.blocks is not None:
            _expect_blocks(self)

    @property
    def d_k(self):
        """Width of a query, a key and a value in one head."""
        if self.head_width is not None:
            return self.head_width
        return self.d_model // self.n_heads

    @property
    def kv_heads(self):
        """H_kv as a number, even if `n_kv_heads` is None."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def rotated_width(self):
        """The width of the part of a key that may rotate, and its name."""
        if self.latent is not None:
            return self.latent.d_r, "d_r"
        return self.d_k, "d_k"

    def of_block(self, i):
        """The configuration in which all blocks are like block `i`."""
        if self.blocks is None:
            return self
        return replace(self, blocks=None, **self.blocks[i])


def _expect_heads(config):
    """Refuse counts of heads that do not divide."""
    if config.head_width is None:
        _expect_divisor(config.n_heads, "n_heads", config.d_model, "d_model")
    head_counts(config.n_heads, config.kv_heads)


def _expect_positions(config):
    """Refuse widths and options that the positions do not fit."""
    even = 2, "2, for pairs of columns,"
    width, name = config.rotated_width
    if config.positions == "sinusoidal":
        _expect_divisor(*even, config.d_model, "d_model")
    if config.positions == "t5" and config.softcap is not None:
        raise ValueError('softcap must be None with positions "t5"')
    if config.frequencies is None:
        if config.positions == "rotary":
            _expect_divisor(*even, width, name)
    elif 2 * len(config.frequencies) > width:
        raise ValueError(
            "frequencies must have at most one per two columns of a head; "
            f"got {len(config.frequencies)} and {name} {width}"
        )
    relative_buckets(
        1, num_buckets=config.num_buckets, max_distance=config.max_distance
    )


def _expect_no_more_than_latent(config):
    """Refuse options that latent attention lacks."""
    for own in fields(config):
        value = getattr(config, own.name)
        known = own.metadata.get("with_latent", value)
        if value != known:
            raise ValueError(
                f"{own.name} must be {known!r} with latent attention; "
                f"got {value!r}"
            )


def _expect_blocks(config):
    """Refuse blocks that are not one valid dict per layer."""
    blocks = config.blocks
    if len(blocks) != config.n_layers:
        raise ValueError(
            "blocks must have one dict per layer; "
            f"got {len(blocks)} and {config.n_layers}"
        )
    own = [f.name for f in fields(config) if f.metadata.get("of_a_block")]
    for i, block in enumerate(blocks):
        for name in block:
            check_choice(name, f"a name in blocks[{i}]", own)
        if "positions" in block:
            for place in (config.positions, block["positions"]):
                name = "positions, where blocks have their own,"
                check_choice(place, name, ("rotary", None))
        config.of_block(i)  # this checks the values


def parameter_shapes(config):
    """Return the shape of each parameter, by name.

    Parameters
    ----------
    config : TransformerConfig
        The model.

    Returns
    -------
    dict of str to tuple
        The names of block i start with ``"i."``; `norm_1` belongs to the
        attention, `norm_2` to the feed-forward network, and `norm_1_out` and
        `norm_2_out` to norms of a layer's output.

    Raises
    ------
    TypeError
        If `config` is not a `TransformerConfig`.

    Examples
    --------
    >>> shapes = parameter_shapes(TransformerConfig(n_kv_heads=1))
    >>> shapes["embedding"], shapes["1.W_K"]
    ((12, 32), (32, 16))
    """
    expect_config(config)
    shapes = {"embedding": (config.vocab, config.d_model)}
    if config.positions == "learned":
        shapes["positions"] = (config.max_len, config.d_model)
    if config.positions == "t5":  # one table, which all blocks share
        shapes["positions"] = (config.num_buckets, config.n_heads)
    for i in range(config.n_layers):
        block = _block_shapes(config.of_block(i))
        shapes |= {f"{i}.{name}": shape for name, shape in block.items()}
    if config.norm != "post":
        shapes |= _norm_shapes("norm", config)
    if not config.tied:
        shapes |= _matrix_shapes(
            "output", (config.d_model, config.vocab), config
        )
    return shapes


def _matrix_shapes(name, shape, config):
    """A matrix, with the bias that is added after it."""
    bias = {f"{name}.bias": shape[1:]} if config.bias else {}
    return {name: shape, **bias}


def _norm_shapes(name, config):
    parts = NORMS[config.norm_kind]
    return {f"{name}.{part}": (config.d_model,) for part in parts}


def _norms_of_layer(name, config):
    """The norms around a layer, according to `config.norm`."""
    shapes = {}
    if config.norm != "output":
        shapes |= _norm_shapes(name, config)
    if config.norm in ("output", "sandwich"):
        shapes |= _norm_shapes(f"{name}_out", config)
    return shapes


def _latent_shapes(config):
    """The shapes of `helpers.latent.LatentProjections`."""
    d_c, d_r, d_v, d_q, _ = config.latent
    sizes = config.d_model, config.n_heads, d_c, d_r, config.d_k, d_v, d_q
    return {
        IN_A_MODEL.get(name, name): shape
        for name, shape in latent_shapes(*sizes).items()
    }


def _memory_shapes(config):
    """The matrices of a memory, its gate, and its rates of each head."""
    d, memory = config.d_model, config.memory
    H, d_v = memory.n_value_heads, memory.d_v
    keys = memory.n_key_heads * memory.d_k
    widths = {"Q": keys, "K": keys, "V": H * d_v, "G": H * d_v, "B": H, "A": H}
    return {f"W_{name}": (d, n) for name, n in widths.items()} | {
        "filters": (memory.width, 1, memory.channels),
        "decay_bias": (H,),
        "log_rate": (H,),
        "norm_O.gain": (d_v,),
        "W_O": (H * d_v, d),
    }


def _attention_shapes(config):
    if config.memory is not None:
        return _memory_shapes(config)
    if config.latent is not None:
        return _latent_shapes(config)
    d, d_k = config.d_model, config.d_k
    wide, narrow = config.n_heads * d_k, config.kv_heads * d_k
    shapes = {}
    for name, width in (("W_Q", wide), ("W_K", narrow), ("W_V", narrow)):
        shapes |= _matrix_shapes(name, (d, width), config)
    shapes |= _matrix_shapes("W_O", (wide, d), config)
    if config.sinks:
        shapes["sinks"] = (config.n_heads,)
    if config.query_key_norm is not None:
        whole = config.query_key_norm == "whole"
        shapes["norm_Q.gain"] = (wide if whole else d_k,)
        shapes["norm_K.gain"] = (narrow if whole else d_k,)
    if config.output_gate:
        shapes |= _matrix_shapes("W_G", (d, wide), config)
    return shapes


def _block_shapes(config):
    d, d_ff = config.d_model, config.d_ff
    shapes = _norms_of_layer("norm_1", config) | _attention_shapes(config)
    if d_ff is not None:
        shapes |= _norms_of_layer("norm_2", config)
        shapes |= _matrix_shapes("W_1", (d, d_ff), config)
        shapes |= _matrix_shapes("W_2", (d_ff, d), config)
        if config.gated:
            shapes |= _matrix_shapes("W_3", (d, d_ff), config)
    return shapes


def parameter_count(config):
    """Count the parameters of a model, as an exact integer.

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
        If `config` is not a `TransformerConfig`.

    Examples
    --------
    >>> parameter_count(TransformerConfig(
    ...     vocab=50257, max_len=1024, d_model=768, n_layers=12, n_heads=12,
    ...     d_ff=3072))
    124439808
    """
    return sum(map(math.prod, parameter_shapes(config).values()))


def init_transformer(rng, config, *, runs=(), std=0.02):
    """Draw random parameters with which a training starts.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    config : TransformerConfig
        The model.
    runs : tuple of int, default ()
        Leading axes of all parameters: models to train side by side.
    std : float or None, default 0.02
        Standard deviation of matrices and tables; with None it is
        ``1/sqrt(rows)`` for the matrices within a block.

    Returns
    -------
    dict of str to array
        Gains of 1, biases, sinks and rates of 0, and normal numbers. `W_O` and
        `W_2`, whose outputs are added up over the blocks, are divided by
        ``sqrt(2 * n_layers)``.

    Raises
    ------
    TypeError
        If `rng` is not a Generator, or `config` not a `TransformerConfig`.
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
    check_generator(rng)
    if std is not None and as_real(std, "std") <= 0:
        raise ValueError(f"std must be above 0; got {std}")
    if not isinstance(runs, tuple):
        raise TypeError(f"runs must be a tuple; got {runs!r}")
    runs = tuple(as_size(n, f"runs[{i}]", least=1) for i, n in enumerate(runs))
    return {
        name: _initial(rng, name, runs, shape, config, std)
        for name, shape in parameter_shapes(config).items()
    }


def _initial(rng, name, runs, shape, config, std):
    last = name.rpartition(".")[2]
    if last == "gain":
        return np.ones((*runs, *shape))
    if last in ("bias", "sinks", "decay_bias", "log_rate"):
        return np.zeros((*runs, *shape))
    if std is None:
        std = 1 / math.sqrt(shape[0]) if last.startswith("W_") else 0.02
    if last in ("W_O", "W_2"):
        std /= math.sqrt(2 * config.n_layers)
    return rng.normal(0, std, (*runs, *shape))


def expect_config(config):
    if not isinstance(config, TransformerConfig):
        kind = type(config).__name__
        raise TypeError(f"config must be a TransformerConfig; got {kind}")


def expect_params(params, config):
    """The run axes of `params`, after checking names and shapes."""
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
