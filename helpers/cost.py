"""The cost of attention in FLOPs and bytes, as exact integers."""

import math
from typing import NamedTuple

import numpy as np

from ._checks import as_floats, as_integer, as_real, check_flag
from ._shapes import default_projections


def attention_flops(T, S, d_k, d_v, *, n_heads=1, batch=1):
    """Count the operations of attention, stage by stage.

    Parameters
    ----------
    T : int
        Number of queries.
    S : int
        Number of keys.
    d_k : int
        Width of a query and of a key in one head.
    d_v : int
        Width of a value in one head.
    n_heads : int, default 1
        H, the number of query heads; sharing keys between heads changes the
        bytes, not the FLOPs.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    dict of str to int
        FLOPs of "scores", "scale", "softmax" and "values", and the "total".

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `T` or `S` is negative, or another size is below one.

    Notes
    -----
    A multiply-add is 2 FLOPs, so a product of (m, k) and (k, n) takes
    ``2 m n k``. The softmax takes 5 for each weight: a comparison for the
    maximum, a subtraction, an exponential, an addition and a division, one
    each. Sums and maxima start from an accumulator: n terms, n operations.
    The projections are counted by `projection_flops`. A mask does not change
    the count, because masked scores are computed too.

    Examples
    --------
    >>> attention_flops(4, 4, 2, 2)
    {'scores': 64, 'scale': 16, 'softmax': 80, 'values': 64, 'total': 224}
    """
    pairs = _count(
        (T, "T", 0), (S, "S", 0), (n_heads, "n_heads", 1), (batch, "batch", 1)
    )
    return _with_total(
        {
            "scores": 2 * pairs * _count((d_k, "d_k", 1)),
            "scale": pairs,
            "softmax": 5 * pairs,
            "values": 2 * pairs * _count((d_v, "d_v", 1)),
        }
    )


def projection_flops(
    T, d_model, n_heads, n_kv_heads=None, *, d_k=None, d_v=None, batch=1
):
    """Count the operations of the four projections around attention.

    Parameters
    ----------
    T : int
        The number of projected positions.
    d_model : int
        Width of a token's vector.
    n_heads : int
        H, the number of query heads.
    n_kv_heads : int, optional
        H_kv, a divisor of `n_heads`; `n_heads` by default.
    d_k : int, optional
        Width of a key in one head; ``d_model / n_heads`` by default, and
        `n_heads` must then divide `d_model`.
    d_v : int, optional
        Width of a value in one head; `d_k` by default.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    dict of str to int
        FLOPs of "Q", "K", "V" and "O", and the "total". No biases.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `T` is negative, another size is below one, or counts do not
        divide.

    Notes
    -----
    A multiply-add is 2 FLOPs; the shapes are those of
    `helpers.heads.init_projections`.

    Examples
    --------
    >>> projection_flops(4, 2, n_heads=1)
    {'Q': 32, 'K': 32, 'V': 32, 'O': 32, 'total': 128}
    """
    rows = _count((T, "T", 0), (batch, "batch", 1))
    shapes, _, _ = default_projections(
        d_model, n_heads, n_kv_heads, d_k, d_v, check=as_integer
    )
    # "W_Q" names the matrix, "Q" the stage.
    return _with_total(
        {name[2:]: 2 * rows * m * n for name, (m, n) in shapes.items()}
    )


def latent_flops(T, S, n_heads, d_c, d_r, d_k, d_v, *, absorbed, batch=1):
    """Count the operations of latent attention over latent vectors.

    Parameters
    ----------
    T : int
        Number of queries.
    S : int
        Number of keys, whose latent vectors are cached.
    n_heads : int
        H, the number of heads.
    d_c : int
        Width of a latent vector.
    d_r : int
        Width of a rotated key.
    d_k : int
        Width of the part of a key that is not rotated, in one head.
    d_v : int
        Width of a value in one head.
    absorbed : bool
        Whether the up projections are folded into queries and outputs.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    dict of str to int
        FLOPs of "projections" (up to the keys and values of all S positions,
        or folded into T queries and outputs), of the stages of
        `attention_flops`, and the "total".

    Raises
    ------
    TypeError
        If a size is not an integer, or if `absorbed` is not a bool.
    ValueError
        As `attention_flops`.

    Notes
    -----
    For `helpers.latent.latent_attention`. The plain form computes the keys and
    values of all S positions in each call, because they are not cached. If T =
    S, the projections of both forms cost the same.

    Examples
    --------
    >>> sizes = 128, 512, 64, 128, 128
    >>> plain = latent_flops(1, 4096, *sizes, absorbed=False)["total"]
    >>> plain // latent_flops(1, 4096, *sizes, absorbed=True)["total"]
    117
    """
    heads = _count((n_heads, "n_heads", 1), (batch, "batch", 1))
    d_c, d_r = as_integer(d_c, "d_c", least=1), as_integer(d_r, "d_r", least=1)
    both = as_integer(d_k, "d_k", least=1) + as_integer(d_v, "d_v", least=1)
    T, S = as_integer(T, "T"), as_integer(S, "S")
    rows = T if check_flag(absorbed, "absorbed") else S
    widths = (d_c + d_r, d_c) if absorbed else (d_k + d_r, d_v)
    stages = attention_flops(T, S, *widths, n_heads=n_heads, batch=batch)
    del stages["total"]
    return _with_total({"projections": 2 * heads * rows * d_c * both} | stages)


def index_flops(T, S, n_heads, d_k, *, batch=1):
    """Count the operations of an indexer, which scores the keys to read.

    Parameters
    ----------
    T : int
        Number of queries.
    S : int
        Number of keys, all of which are scored.
    n_heads : int
        Number of the indexer's heads.
    d_k : int
        Width of its queries and keys.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    dict of str to int
        FLOPs of "products", "relu" and "weighting", and the "total". Picking
        the highest scores is not counted.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `T` or `S` is negative, or another size is below one.

    Notes
    -----
    For `helpers.sparse.index_scores`. A multiply-add is 2 FLOPs.

    Examples
    --------
    One token of DeepSeek-V3.2, which reads 2,048 of 131,072 keys:

    >>> index = index_flops(1, 131072, n_heads=64, d_k=128)["total"]
    >>> whole, chosen = (
    ...     attention_flops(1, S, 576, 512, n_heads=128)["total"]
    ...     for S in (131072, 2048)
    ... )
    >>> whole // chosen, round(whole / (chosen + index), 1)
    (64, 13.3)
    """
    pairs = _count(
        (T, "T", 0), (S, "S", 0), (n_heads, "n_heads", 1), (batch, "batch", 1)
    )
    return _with_total(
        {
            "products": 2 * pairs * _count((d_k, "d_k", 1)),
            "relu": pairs,
            "weighting": 2 * pairs,
        }
    )


def scores_bytes(T, S, n_heads, itemsize, *, batch=1):
    """Count the bytes of the scores, or of the weights, of one layer.

    Parameters
    ----------
    T : int
        Number of queries.
    S : int
        Number of keys.
    n_heads : int
        H, the number of query heads.
    itemsize : int
        Bytes of one number: 4 for float32, 2 for float16.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    int
        Bytes of one (B, H, T, S) array.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `T` or `S` is negative, or another size is below one.

    Examples
    --------
    >>> scores_bytes(2048, 2048, n_heads=1, itemsize=4) // 2**20  # MiB
    16
    """
    return _count(
        (T, "T", 0),
        (S, "S", 0),
        (n_heads, "n_heads", 1),
        (itemsize, "itemsize", 1),
        (batch, "batch", 1),
    )


def kv_cache_bytes(S, n_layers, n_kv_heads, d_k, d_v, itemsize, *, batch=1):
    """Count the bytes that the keys and values of S positions take.

    Parameters
    ----------
    S : int
        Number of cached positions.
    n_layers : int
        L, the number of layers.
    n_kv_heads : int
        H_kv, the number of key/value heads.
    d_k : int
        Width of a query and of a key in one head.
    d_v : int
        Width of a value in one head.
    itemsize : int
        Bytes of one number: 4 for float32, 2 for float16 and bfloat16.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    int
        Bytes of all keys and all values.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `S` is negative, or another size is below one.

    Examples
    --------
    >>> kv_cache_bytes(1, 12, 12, 64, 64, 2) // 2**10  # GPT-2, KiB a token
    36
    """
    positions = _count(
        (S, "S", 0),
        (n_layers, "n_layers", 1),
        (n_kv_heads, "n_kv_heads", 1),
        (itemsize, "itemsize", 1),
        (batch, "batch", 1),
    )
    return positions * (_count((d_k, "d_k", 1)) + _count((d_v, "d_v", 1)))


STATE_BYTES = 4  # per number of a state
# Decay the state, read its value for the key, add the new product, and read
# the answer: 1, 2, 2 and 2 FLOPs for each number.
STATE_FLOPS = 7


class Layer(NamedTuple):
    """The sizes of one layer's attention, and what it keeps and computes.

    Its kind is "global" or "latent", which keep every position; "window",
    which keeps the last `reach` of them; "state", which keeps a matrix
    instead; "shared", which keeps nothing and reads what another layer keeps;
    or "other", which has no keys of the text. An indexer keeps a further key
    of every position and scores them all, so that the layer reads the best.
    """

    kind: str  #: one of these six
    parameters: int  #: entries of its matrices
    width: int  #: the numbers that it reads per position
    reach: int | None  #: the most positions that it reads; None means all
    state: int  #: the numbers kept whatever the length, in 32 bits
    pair: int  #: FLOPs per query and position, for the score and the value
    chosen: int | None = None  #: the most of them that it reads, if it chooses
    index: int = 0  #: the numbers of an indexer's key, per position
    index_pair: int = 0  #: FLOPs of an indexer, per query and position
    update: int = STATE_FLOPS  #: FLOPs per number of a state


def _positions(layer, S):
    """The number of positions that a layer keeps, of S."""
    return S if layer.reach is None else min(S, layer.reach)


def _read(layer, S):
    """The number of positions that a layer reads, of S."""
    kept = _positions(layer, S)
    return kept if layer.chosen is None else min(kept, layer.chosen)


def cache_bytes(layers, S, itemsize, *, batch=1):
    """Count the bytes that each layer of a model keeps of S positions.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, in order; `course.cards.layers_of` makes them.
    S : int
        Number of positions.
    itemsize : int
        Bytes of one number: 4 for float32, 2 for float16 and bfloat16. Numbers
        of a state always take 4.
    batch : int, default 1
        B, the number of sequences.

    Returns
    -------
    list of int
        Bytes by layer; their sum is the cache.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `S` is negative, or another size is below one.

    Examples
    --------
    >>> window = Layer("window", 0, 1024, 128, 0, 0)
    >>> cache_bytes([window, window._replace(reach=None)], 1000, 2)
    [262144, 2048000]
    """
    S, batch = as_integer(S, "S"), as_integer(batch, "batch", least=1)
    itemsize = as_integer(itemsize, "itemsize", least=1)
    return [
        0
        if layer.kind == "shared"
        else batch
        * (
            itemsize * (layer.width + layer.index) * _positions(layer, S)
            + STATE_BYTES * layer.state
        )
        for layer in layers
    ]


def step_flops(layers, S, *, batch=1):
    """Count the FLOPs of attention in one step of decoding, layer by layer.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, in order.
    S : int
        Number of positions so far, including the new one.
    batch : int, default 1
        B, the number of sequences, each with one new token.

    Returns
    -------
    list of int
        FLOPs by layer: its matrices, and the products with its cache.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `S` or `batch` is below one.

    Notes
    -----
    A multiply-add is 2 FLOPs, so a matrix costs 2 per entry. The softmax is
    not counted, nor is anything outside attention. A latent layer is counted
    in its absorbed form, and an indexer by its products alone.

    Examples
    --------
    >>> step_flops([Layer("global", 10, 4, None, 0, 8)], S=100)
    [820]
    """
    S, batch = as_integer(S, "S", least=1), as_integer(batch, "batch", least=1)
    return [
        batch
        * (
            2 * layer.parameters
            + layer.pair * _read(layer, S)
            + layer.index_pair * _positions(layer, S)
            + layer.update * layer.state
        )
        for layer in layers
    ]


def step_bytes(layers, S, itemsize, *, batch=1):
    """Count the bytes that attention moves in one step of decoding.

    Parameters
    ----------
    layers : sequence of Layer
        The layers, in order.
    S : int
        Number of positions so far, including the new one.
    itemsize : int
        Bytes of one number, of matrices and of caches.
    batch : int, default 1
        B, the number of sequences, which share the matrices.

    Returns
    -------
    list of int
        Bytes by layer: its matrices once, and the cache of each sequence once,
        or the chosen part of it; a state is also written back.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is below one.

    Examples
    --------
    >>> step_bytes([Layer("global", 10, 4, None, 0, 8)], 100, 2, batch=3)
    [2420]
    """
    S, batch = as_integer(S, "S", least=1), as_integer(batch, "batch", least=1)
    itemsize = as_integer(itemsize, "itemsize", least=1)
    return [
        itemsize * layer.parameters
        + batch * itemsize * layer.width * _read(layer, S)
        + batch * itemsize * layer.index * _positions(layer, S)
        + batch * 2 * STATE_BYTES * layer.state
        for layer in layers
    ]


def arithmetic_intensity(flops, n_bytes):
    """Compute the FLOPs per byte that is moved.

    Parameters
    ----------
    flops : int
        Operations of a computation.
    n_bytes : int
        Bytes that it reads from and writes to memory.

    Returns
    -------
    float
        FLOPs per byte; the float nearest to the exact ratio.

    Raises
    ------
    TypeError
        If a count is not an integer.
    ValueError
        If `flops` is negative, `n_bytes` is below one, or the ratio is
        larger than any float.

    Examples
    --------
    >>> arithmetic_intensity(64, 128)
    0.5
    """
    flops = as_integer(flops, "flops")
    n_bytes = as_integer(n_bytes, "n_bytes", least=1)
    try:
        return flops / n_bytes  # integers of any size, rounded once
    except OverflowError:
        raise ValueError("flops / n_bytes must not exceed float64") from None


def roofline(intensity, peak_flops, bandwidth):
    """Bound the speed of a computation by arithmetic and by memory.

    Parameters
    ----------
    intensity : (...) array or float
        FLOPs per byte.
    peak_flops : float
        The machine's peak, in FLOPs per second.
    bandwidth : float
        The most bytes per second between the machine and the memory for which
        the bytes were counted. A cache is faster than main memory.

    Returns
    -------
    (...) array or float
        Attainable FLOPs per second. Memory limits it where the intensity is
        below ``peak_flops / bandwidth``, arithmetic where it is above.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If an argument is not finite, `intensity` is negative, or a rate is
        not positive.

    Notes
    -----
    ``min(peak_flops, intensity * bandwidth)``: Williams, Waterman and
    Patterson 2009.

    Examples
    --------
    >>> [float(roofline(x, 200e9, 20e9)) for x in (0.5, 10, 64)]
    [10000000000.0, 200000000000.0, 200000000000.0]
    """
    intensity = as_floats(intensity, "intensity").astype(np.float64)
    if not np.all((intensity >= 0) & (intensity < math.inf)):
        raise ValueError(
            f"intensity must be finite and at least 0; got {intensity}"
        )
    peak_flops = _rate(peak_flops, "peak_flops")
    bandwidth = _rate(bandwidth, "bandwidth")
    with np.errstate(over="ignore"):  # an infinite product is above the peak
        return np.minimum(peak_flops, intensity * bandwidth)


def _count(*sizes):
    """The product of sizes given as (size, name, least)."""
    product = 1
    for size, name, least in sizes:
        product *= as_integer(size, name, least=least)
    return product


def _with_total(stages):
    """The stages, in order, and their sum as the last one."""
    return {**stages, "total": sum(stages.values())}


def _rate(x, name):
    """`x` as a positive, finite amount per second."""
    rate = as_real(x, name)
    if rate <= 0:
        raise ValueError(f"{name} must be above 0; got {rate}")
    return rate
