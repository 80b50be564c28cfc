"""Positions: sinusoids to add, rotations of Q and K, biases on the scores."""

import numpy as np

from ._checks import (
    EXACT,
    broadcast,
    finite_floats,
    flag,
    real,
    rounded,
    size,
)
from .masks import _distance


def _frequencies(d, base):
    """The d/2 angular frequencies, ``base ** (-2i / d)``, in radians."""
    base = real(base, "base")
    if base < 1:
        raise ValueError(f"base must be at least 1; got {base}")
    return base ** (-np.arange(0, d, 2) / d)


def sinusoidal_encoding(T, d_model, *, base=10000.0):
    """One vector for each position: sines and cosines, to add to the input.

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
    T, d_model = size(T, "T"), size(d_model, "d_model", least=2)
    if d_model % 2:
        raise ValueError(
            "d_model must be even, a sine and a cosine for each frequency; "
            f"got {d_model}"
        )
    angles = np.arange(T)[:, None] * _frequencies(d_model, base)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(T, d_model)  # (T, d_model/2, 2) -> (T, d_model)


def _rotary_angles(X, positions, base):
    """The (..., T, d/2) angles by which the pairs of `X` turn, in radians."""
    T, d = X.shape[-2:]
    if d == 0 or d % 2:
        raise ValueError(
            f"X must have an even width, to turn in pairs; got X {X.shape}"
        )
    positions = np.arange(T) if positions is None else positions
    positions = finite_floats(positions, "positions", ndim=1, axes="(..., T)")
    if positions.shape[-1] != T:
        raise ValueError(
            "positions must hold one position for each of the T rows of X; "
            f"got positions {positions.shape} and X {X.shape}"
        )
    if (abs(positions) >= EXACT).any():
        raise ValueError(
            "positions must be below 2**53, where float64 tells each from "
            "the next"
        )
    broadcast(positions, "positions", X.shape[:-1], "the rows of X")
    return positions[..., None] * _frequencies(d, base)  # float64


def _pair_columns(d, interleaved):
    """Slices of the first and of the second columns of the d/2 pairs."""
    if interleaved:
        return slice(0, d, 2), slice(1, d, 2)
    return slice(0, d // 2), slice(d // 2, d)


def rotary_embedding(X, positions=None, *, base=10000.0, interleaved=False):
    """Turn each pair of columns by an angle that grows with the position.

    Parameters
    ----------
    X : (..., T, d) array
        Queries or keys of even width, before their dot products are taken.
    positions : (..., T) array, optional
        The position of each row, 0 to T - 1 by default. Leading axes
        broadcast against those of `X`: (B, 1, T) for X of (B, H, T, d).
    base : float, default 10000.0
        Pair i turns by ``position * base^(-2i/d)`` radians.
    interleaved : bool, default False
        Which columns are a pair: column i with column i + d/2, or, if
        true, column 2i with column 2i + 1. Weights that were trained with
        one pairing are wrong with the other.

    Returns
    -------
    (..., T, d) array
        `X`, turned; the same dtype, and rows of the same length. The angles
        are computed in float64.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the width is odd, an entry is not finite, the positions do not
        fit, `base` is not finite or below one, or the result overflows.

    Notes
    -----
    ``(a, b) -> (a cos - b sin, a sin + b cos)``: Su et al. 2024 (RoFormer),
    section 3.2.2, which pairs neighbours. Pairs of halves are the layout of
    GPT-NeoX and of the Llama weights in Hugging Face's format. The dot
    product of a turned query and a turned key depends on their positions
    only through the difference.

    Examples
    --------
    >>> rotary_embedding([[1.0, 0.0]], [np.pi / 2]).round(4).tolist()
    [[0.0, 1.0]]
    """
    X = finite_floats(X, "X", ndim=2, axes="(..., T, d)")
    angles = _rotary_angles(X, positions, base)  # (..., T, d/2)
    cos, sin = np.cos(angles), np.sin(angles)
    interleaved = flag(interleaved, "interleaved")
    first, second = _pair_columns(X.shape[-1], interleaved)
    a, b = X[..., first], X[..., second]  # (..., T, d/2)
    turned = np.empty_like(X)
    with np.errstate(over="ignore"):
        turned[..., first] = a * cos - b * sin
        turned[..., second] = a * sin + b * cos
    overflow = f"the turned X overflows {X.dtype}; pass X in a wider type"
    return rounded(turned, X.dtype, overflow)


def alibi_slopes(n_heads, *, rule="reference"):
    """How fast each head's bias falls with the distance of a key.

    Parameters
    ----------
    n_heads : int
        Number of query heads H.
    rule : {"reference", "paper"}
        What to do where H is not a power of two; both give the same where
        it is. "reference" is what the authors' code does and what models
        were trained with; "paper" is the formula in the text.

    Returns
    -------
    (H,) array
        Positive slopes, to be multiplied by a distance in positions.

    Raises
    ------
    TypeError
        If `n_heads` is not an integer.
    ValueError
        If `n_heads` is below one or `rule` is neither.

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
    n_heads = size(n_heads, "n_heads", least=1)
    if not isinstance(rule, str) or rule not in ("reference", "paper"):
        raise ValueError(f'rule must be "reference" or "paper"; got {rule!r}')
    power = 1 << (n_heads.bit_length() - 1)  # the largest one in n_heads
    if rule == "paper" or power == n_heads:
        heads = range(1, n_heads + 1)
        return np.array([2.0 ** (-8 * head / n_heads) for head in heads])
    extra = alibi_slopes(2 * power)[::2][: n_heads - power]
    return np.concatenate([alibi_slopes(power), extra])


def alibi_bias(n_heads, T, S=None, *, rule="reference"):
    """A penalty for distance, to add to the scaled scores.

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
        ``-slope * distance``: zero at the query's own position, and falling
        on both sides of it. Pass it as ``bias``, with a causal mask where
        the model has one.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is too small, T > S, or `rule` is unknown.

    Notes
    -----
    Press et al. 2022, section 3 and figure 3, which show past keys only. The
    authors' code adds ``slope * key`` in every row: the same, but for a
    constant per row, which softmax ignores, and for later keys, which it
    would reward if its causal mask did not hide them. Here a later key is
    penalised like an earlier one, the symmetric form for encoders.

    Examples
    --------
    >>> alibi_bias(1, 2, 3).tolist()
    [[[-0.00390625, 0.0, -0.00390625], [-0.0078125, -0.00390625, 0.0]]]
    """
    slopes = alibi_slopes(n_heads, rule=rule)
    return slopes[:, None, None] * -np.abs(_distance(T, S))  # (H, T, S)
