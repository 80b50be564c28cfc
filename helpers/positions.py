"""Positions: sinusoids to add, rotations of Q and K, biases on the scores."""

import math
from bisect import bisect_left

import numpy as np

from ._checks import (
    EXACT,
    as_broadcast,
    as_finite_floats,
    as_real,
    as_size,
    check_flag,
    rounded,
)
from ._shapes import key_distances

FLOATS = np.finfo(float)


def _frequencies(d, base):
    """The d/2 angular frequencies, ``base ** (-2i / d)``, in radians."""
    base = as_real(base, "base")
    if base < 1:
        raise ValueError(f"base must be at least 1; got {base}")
    return base ** (-np.arange(0, d, 2) / d)


def sinusoidal_encoding(T, d_model, *, base=10000.0):
    """Return one vector per position: sines and cosines to add to the input.

    Parameters
    ----------
    T : int
        Number of positions, counted from 0.
    d_model : int
        Width of a vector; even, because each frequency has two columns.
    base : float, default 10000.0
        The wavelengths grow from 2 pi towards ``base * 2 pi``.

    Returns
    -------
    (T, d_model) array
        Sines in the even columns, cosines in the odd ones.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If `T` is negative, `d_model` is odd or below two, or `base` is not
        finite or below one.

    Notes
    -----
    ``sin(t / base^(2i/d_model))`` in column 2i and the cosine of the same
    angle in column 2i + 1: Vaswani et al. 2017, section 3.5. The last
    wavelength is ``base^((d_model - 2)/d_model) * 2 pi``.

    Examples
    --------
    >>> sinusoidal_encoding(2, 4).round(4).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 1.0]]
    """
    T, d_model = as_size(T, "T"), as_size(d_model, "d_model", least=2)
    if d_model % 2:
        raise ValueError(
            "d_model must be even, a sine and a cosine for each frequency; "
            f"got {d_model}"
        )
    angles = np.arange(T)[:, None] * _frequencies(d_model, base)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(T, d_model)  # (T, d_model/2, 2) -> (T, d_model)


def rotary_embedding(
    X, positions=None, *, base=10000.0, frequencies=None, interleaved=False
):
    """Rotate each pair of columns by an angle that grows with the position.

    Parameters
    ----------
    X : (..., T, d) array
        Queries or keys, before their dot products are taken; of even width,
        unless `frequencies` are given.
    positions : (..., T) array, optional
        The position of each row, 0 to T - 1 by default. Leading axes
        broadcast against those of `X`: (B, 1, T) for X of (B, H, T, d).
    base : float, default 10000.0
        Pair i is rotated by ``position * base^(-2i/d)`` radians.
    frequencies : (n,) array, optional
        Replaces `base`: pair i is rotated by ``position * frequencies[i]``
        radians. If 2n < d, only the first 2n columns are rotated: partial
        rotary.
    interleaved : bool, default False
        Which columns form a pair: column i with column i + d/2 (with i + n, if
        n frequencies are given), or, if true, column 2i with column 2i + 1.
        Weights that were trained with one pairing are wrong with the other.

    Returns
    -------
    (..., T, d) array
        `X`, rotated; the same dtype, and rows of the same length. The angles
        are computed in float64.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the width is odd without `frequencies`, an entry is not finite,
        positions or frequencies do not fit, `base` is not finite or below
        one, or the result overflows.

    Notes
    -----
    ``(a, b) -> (a cos - b sin, a sin + b cos)``: Su et al. 2024 (RoFormer),
    section 3.2.2, which pairs adjacent columns. Pairs of halves are the layout
    of GPT-NeoX and of the Llama weights in Hugging Face's format. The dot
    product of a rotated query and a rotated key depends on their positions
    only through the difference. Partial rotary: Black et al. 2022 (GPT-NeoX),
    section 2.1.1, rotate the first quarter of the columns.

    Examples
    --------
    >>> rotary_embedding([[1.0, 0.0]], [np.pi / 2]).round(4).tolist()
    [[0.0, 1.0]]
    >>> rotated = rotary_embedding([[1, 0, 3, 4]], [np.pi], frequencies=[0.5])
    >>> rotated.round(4).tolist()
    [[0.0, 1.0, 3.0, 4.0]]
    """
    X = as_finite_floats(X, "X", ndim=2, axes="(..., T, d)")
    frequencies = _checked_frequencies(X, base, frequencies)
    angles = _rotary_angles(X, positions, frequencies)  # (..., T, d/2)
    cos, sin = np.cos(angles), np.sin(angles)
    interleaved = check_flag(interleaved, "interleaved")
    first, second = _pair_columns(2 * len(frequencies), interleaved)
    a, b = X[..., first], X[..., second]  # (..., T, d/2)
    rotated = X.copy()
    with np.errstate(over="ignore"):
        rotated[..., first] = a * cos - b * sin
        rotated[..., second] = a * sin + b * cos
    return rounded(rotated, X.dtype, "the rotated X overflows", X=X)


def _rotary_angles(X, positions, frequencies):
    """The (..., T, pairs) angles by which pairs of `X` rotate, in radians."""
    T = X.shape[-2]
    positions = np.arange(T) if positions is None else positions
    positions = as_finite_floats(
        positions, "positions", ndim=1, axes="(..., T)"
    )
    positions = positions.astype(np.float64)
    if positions.shape[-1] != T:
        raise ValueError(
            "positions must hold one position for each of the T rows of X; "
            f"got positions {positions.shape} and X {X.shape}"
        )
    if (abs(positions) >= EXACT).any():
        raise ValueError(
            "positions must be below 2**53, where float64 can represent each"
        )
    as_broadcast(positions, "positions", X.shape[:-1], "the rows of X")
    with np.errstate(over="ignore"):
        angles = positions[..., None] * frequencies
    what = "positions times frequencies overflow"
    return rounded(angles, angles.dtype, what)


def _checked_frequencies(X, base, frequencies):
    """The frequencies that rotate the pairs of `X`."""
    d = X.shape[-1]
    if frequencies is None:
        if d == 0 or d % 2:
            raise ValueError(
                f"X must have an even width, as pairs rotate; got X {X.shape}"
            )
        return _frequencies(d, base)
    frequencies = as_finite_floats(frequencies, "frequencies")
    if frequencies.ndim != 1 or 2 * len(frequencies) > d:
        raise ValueError(
            "frequencies must be one row, with at most one for two columns "
            f"of X; got frequencies {frequencies.shape} and X {X.shape}"
        )
    return frequencies


def _pair_columns(d, interleaved):
    """Slices of the first and of the second columns of the d/2 pairs."""
    if interleaved:
        return slice(0, d, 2), slice(1, d, 2)
    return slice(0, d // 2), slice(d // 2, d)


def rotary_frequencies(d, *, base=10000.0):
    """Return the rotation of each pair of columns, in radians per position.

    Parameters
    ----------
    d : int
        Number of rotated columns: d_k, or fewer for partial rotary.
    base : float, default 10000.0
        The larger it is, the slower all pairs except the first rotate.

    Returns
    -------
    (d/2,) array
        ``base^(-2i/d)``, from 1 downwards; for `rotary_embedding`.

    Raises
    ------
    TypeError
        If `d` is not an integer.
    ValueError
        If `d` is odd or below two, or `base` is not finite or below one.

    Notes
    -----
    Su et al. 2024, section 3.2.2, with base 10,000.

    Examples
    --------
    >>> rotary_frequencies(4).tolist()
    [1.0, 0.01]
    """
    d = as_size(d, "d", least=2)
    if d % 2:
        raise ValueError(f"d must be even, two columns per pair; got {d}")
    return _frequencies(d, base)


def interpolated_frequencies(d, factor, *, base=10000.0):
    """Position interpolation: each pair rotates `factor` times more slowly.

    Parameters
    ----------
    d : int
        Number of rotated columns.
    factor : float
        The ratio by which texts become longer, at least 1.
    base : float, default 10000.0
        The base of the training.

    Returns
    -------
    (d/2,) array
        ``base^(-2i/d) / factor``.

    Raises
    ------
    TypeError
        If `d` is not an integer.
    ValueError
        As `rotary_frequencies`, or if `factor` is below one.

    Notes
    -----
    Chen et al. 2023, section 2.3, divide positions, which gives equal angles.

    Examples
    --------
    >>> interpolated_frequencies(4, 2).tolist()
    [0.5, 0.005]
    """
    return rotary_frequencies(d, base=base) / _factor(factor)


def ntk_frequencies(d, factor, *, base=10000.0):
    """NTK-aware scaling: a larger base, so that the last pair is interpolated.

    Parameters
    ----------
    d : int
        Number of rotated columns; at least 4.
    factor : float
        The factor by which the last pair rotates more slowly, at least 1.
    base : float, default 10000.0
        The base of the training.

    Returns
    -------
    (d/2,) array
        The frequencies of the base ``base * factor^(d/(d-2))``. The first is
        still 1, and the last is divided by `factor`.

    Raises
    ------
    TypeError
        If `d` is not an integer.
    ValueError
        As `rotary_frequencies`, if `d` is below four, or `factor` below one.

    Notes
    -----
    Peng et al. 2024, definition 1: pair i is divided by
    ``factor^(2i/(d-2))``.

    Examples
    --------
    >>> ntk_frequencies(4, 2).tolist()
    [1.0, 0.005]
    """
    d, factor = as_size(d, "d", least=4), _factor(factor)
    rotary_frequencies(d, base=base)  # checks the arguments
    try:
        larger = base * factor ** (d / (d - 2))
    except OverflowError:
        larger = math.inf
    return rotary_frequencies(d, base=larger)


def _kept_by_turns(frequencies, original_length, beta_slow, beta_fast):
    """The paper's share of each frequency to keep: linear in the rotations."""
    turns = original_length * frequencies / (2 * np.pi)
    if beta_slow == beta_fast:
        return (turns > beta_slow).astype(float)
    return np.clip((turns - beta_slow) / (beta_fast - beta_slow), 0, 1)


def _kept_by_pair(d, base, original_length, beta_slow, beta_fast, truncate):
    """The code's share of each frequency to keep: linear in the pair."""

    def pair(turns):  # with this many turns, as a real number
        ratio = original_length / (2 * np.pi * turns)
        ratio = min(max(ratio, FLOATS.tiny), FLOATS.max)  # nor 0, nor infinity
        return d / 2 * math.log(ratio, base)

    first, last = pair(beta_fast), pair(beta_slow)
    if truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, d - 1)
    ramp = (np.arange(d // 2) - first) / max(last - first, 0.001)
    return 1 - np.clip(ramp, 0, 1)


def yarn_frequencies(
    d,
    factor,
    original_length,
    *,
    base=10000.0,
    beta_slow=1.0,
    beta_fast=32.0,
    rule="reference",
    truncate=True,
):
    """Interpolate slow pairs, keep fast ones, and blend those in between.

    Parameters
    ----------
    d : int
        Number of rotated columns.
    factor : float
        The ratio by which texts become longer, at least 1.
    original_length : float
        The trained length, in positions.
    base : float, default 10000.0
        The base of the training; above 1.
    beta_slow, beta_fast : float
        A pair with fewer rotations than `beta_slow` within the trained length
        is divided by `factor`; a pair with more than `beta_fast` is kept. If
        they are equal, as in Llama 4, no pair is in between.
    rule : {"reference", "paper"}
        How the share that is kept falls in between. "paper": linearly with the
        number of rotations. "reference", as in the authors' code and the
        models tuned with it: linearly with the index of the pair, where the
        first pair is always kept.
    truncate : bool, default True
        Whether the first and the last index in between are rounded to whole
        pairs, outwards, as in the authors' code. gpt-oss does not round.

    Returns
    -------
    (d/2,) array
        ``kept * theta + (1 - kept) * theta / factor``.

    Raises
    ------
    TypeError
        If `d` is not an integer.
    ValueError
        As `rotary_frequencies`; if `factor` is below one, `original_length`
        not above 0, `beta_slow` not above 0 or above `beta_fast`, `base` 1,
        `rule` unknown, or `truncate` false with "paper", which has no index.

    Notes
    -----
    Peng et al. 2024, definition 2 ("NTK-by-parts"), and the code published
    with it. YaRN multiplies the scores as well: `yarn_attention_factor`.
    Llama 3.1 uses the paper's rule, with `beta_fast` 4 and base 500,000.

    Examples
    --------
    >>> yarn_frequencies(8, 4, 2048).tolist()
    [1.0, 0.1, 0.00625, 0.00025]
    """
    theta, factor = rotary_frequencies(d, base=base), _factor(factor)
    original_length = as_real(original_length, "original_length")
    beta_slow = as_real(beta_slow, "beta_slow")
    beta_fast, base = as_real(beta_fast, "beta_fast"), as_real(base, "base")
    if original_length <= 0 or not 0 < beta_slow <= beta_fast or base == 1:
        raise ValueError(
            "original_length must be above 0, beta_slow above 0 and at most "
            f"beta_fast, base above 1; got {original_length}, {beta_slow}, "
            f"{beta_fast} and {base}"
        )
    given = original_length, beta_slow, beta_fast
    if _rule(rule) == "reference":
        kept = _kept_by_pair(d, base, *given, check_flag(truncate, "truncate"))
    elif check_flag(truncate, "truncate"):
        kept = _kept_by_turns(theta, *given)
    else:
        raise ValueError('truncate must be True with rule "paper"; got False')
    return kept * theta + (1 - kept) * theta / factor


def yarn_attention_factor(factor):
    """Return YaRN's factor for queries and keys; scores get its square.

    Parameters
    ----------
    factor : float
        The ratio by which texts become longer, at least 1.

    Returns
    -------
    float
        ``0.1 ln(factor) + 1``.

    Raises
    ------
    ValueError
        If `factor` is below one.

    Notes
    -----
    Peng et al. 2024, equation 22, fitted to Llama models. As `scale` of
    `attention`: its square, over the root of d_k.

    Examples
    --------
    >>> round(yarn_attention_factor(32), 4)
    1.3466
    """
    return 0.1 * math.log(_factor(factor)) + 1


def _factor(factor):
    """`factor`, the ratio of the lengths of texts, which is at least 1."""
    factor = as_real(factor, "factor")
    if factor < 1:
        raise ValueError(f"factor must be at least 1; got {factor}")
    return factor


def _rule(rule):
    if not isinstance(rule, str) or rule not in ("reference", "paper"):
        raise ValueError(f'rule must be "reference" or "paper"; got {rule!r}')
    return rule


def alibi_slopes(n_heads, *, rule="reference"):
    """Return how fast each head's bias falls with a key's distance.

    Parameters
    ----------
    n_heads : int
        Number of query heads H.
    rule : {"reference", "paper"}
        The rule for an H that is not a power of two; both rules agree if it
        is. "reference" is the rule of the authors' code and of trained models;
        "paper" is the formula in the text.

    Returns
    -------
    (H,) array
        Positive slopes, to be multiplied by a distance in positions.

    Raises
    ------
    TypeError
        If `n_heads` is not an integer.
    ValueError
        If `n_heads` is below one or `rule` is neither value.

    Notes
    -----
    Press et al. 2022. "paper", section 3: the geometric sequence that starts
    at ``2^(-8/H)``, which is also its ratio. "reference", the code published
    with it: the slopes of the next lower power of two P, then every second
    slope, from the first, of 2P heads, until there are H.

    Examples
    --------
    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    >>> alibi_slopes(3).tolist()
    [0.0625, 0.00390625, 0.25]
    >>> alibi_slopes(3, rule="paper").round(4).tolist()
    [0.1575, 0.0248, 0.0039]
    """
    n_heads = as_size(n_heads, "n_heads", least=1)
    _rule(rule)
    power = 1 << (n_heads.bit_length() - 1)  # the largest one in n_heads
    if rule == "paper" or power == n_heads:
        heads = range(1, n_heads + 1)
        return np.array([2.0 ** (-8 * head / n_heads) for head in heads])
    extra = alibi_slopes(2 * power)[::2][: n_heads - power]
    return np.concatenate([alibi_slopes(power), extra])


def alibi_bias(n_heads, T, S=None, *, rule="reference"):
    """Return a penalty for distance, to add to the scaled scores.

    Parameters
    ----------
    n_heads : int
        Number of query heads H.
    T : int
        Number of queries; they are the last T of the S positions.
    S : int, optional
        Number of keys; T by default.
    rule : {"reference", "paper"}
        As `alibi_slopes`.

    Returns
    -------
    (H, T, S) array
        ``-slope * distance``: zero at the query's own position, and falling on
        both sides of it. Pass it as ``bias``, with a causal mask if the model
        has one.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is too small, T > S, or `rule` is unknown.

    Notes
    -----
    Press et al. 2022, section 3 and figure 3, which show past keys only. The
    authors' code adds ``slope * key`` in every row. The two differ by a
    constant per row, which softmax ignores, and for later keys, which the code
    would reward if its causal mask did not hide them. Here a later key is
    penalised like an earlier one, the symmetric form for encoders.

    Examples
    --------
    >>> alibi_bias(1, 2, 3).tolist()
    [[[-0.00390625, 0.0, -0.00390625], [-0.0078125, -0.00390625, 0.0]]]
    """
    slopes = alibi_slopes(n_heads, rule=rule)
    return slopes[:, None, None] * -np.abs(key_distances(T, S))  # (H, T, S)


def _starts(buckets, max_distance):
    """The first distance of each bucket, by exact integers."""
    near = buckets // 2  # a bucket per distance
    far = buckets - near
    yield from range(near)
    distances = range(near, max_distance)
    for k in range(far):
        # The first n with n/near >= (max_distance/near)^(k/far).
        least = near ** (far - k) * max_distance**k
        yield near + bisect_left(distances, least, key=lambda n: n**far)


def relative_buckets(
    T, S=None, *, num_buckets=32, max_distance=128, bidirectional=False
):
    """Return the bucket of each distance, for T5's relative bias.

    Parameters
    ----------
    T : int
        Number of queries; they are the last T of the S positions.
    S : int, optional
        Number of keys; T by default.
    num_buckets : int, default 32
        The number of buckets. The lower half have one distance each; the
        widths of the others grow exponentially, up to `max_distance`.
    max_distance : int, default 128
        From this distance upward all distances are in the last bucket.
    bidirectional : bool, default False
        Whether later keys have the upper half of the buckets, as in an
        encoder; otherwise a later key is in bucket 0, for a causal mask to
        hide.

    Returns
    -------
    (T, S) integer array
        From 0 to ``num_buckets - 1``. A head's bias is its learned row of
        numbers, looked up with it.

    Raises
    ------
    TypeError
        If a size is not an integer, or `bidirectional` is not a bool.
    ValueError
        If T > S, `num_buckets` is below 2 (4, and even, if bidirectional),
        or `max_distance` does not exceed the distances with a bucket each.

    Notes
    -----
    Raffel et al. 2020, section 2.1: 32 buckets, up to 128. The borders are
    those of the code published with it, computed without rounding.

    Examples
    --------
    >>> relative_buckets(1, 10, num_buckets=6, max_distance=9).tolist()
    [[5, 5, 5, 4, 4, 3, 3, 2, 1, 0]]
    """
    two_sides = check_flag(bidirectional, "bidirectional")
    buckets = as_size(num_buckets, "num_buckets", least=4 if two_sides else 2)
    if two_sides:
        if buckets % 2:
            raise ValueError(
                f"num_buckets must be even, half per side; got {buckets}"
            )
        buckets //= 2
    max_distance = as_size(max_distance, "max_distance")
    if max_distance <= buckets // 2:
        raise ValueError(
            "max_distance must exceed the distances with a bucket each; "
            f"got {max_distance} and {buckets // 2}"
        )
    before = key_distances(T, S)
    back = np.abs(before) if two_sides else np.maximum(before, 0)
    starts = list(_starts(buckets, max_distance))
    bucket = np.searchsorted(starts, back, side="right") - 1
    return bucket + buckets * (two_sides & (before < 0))
