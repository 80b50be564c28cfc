"""The layers of a transformer, each beside its gradient.

A layer's gradient has the layer's name with ``_vjp``. It takes the gradient of
the loss with respect to the layer's result, then the layer's arguments, and
returns one gradient for each of them.

Parameters may have leading axes, one for each kind of *run*: models that are
trained side by side and share nothing. Inputs then start with the same axes,
and gradients do not cross them.
"""

import math

import numpy as np

from ._checks import (
    as_array,
    as_finite_floats,
    as_floats,
    as_real,
    as_size,
    check_choice,
    overflow,
    rounded,
)
from ._core import along, flat, logistic, widened
from ._shapes import loss_shares
from .softmax import logsumexp, softmax

GRADIENTS = "the gradients overflow"
ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "silu")


# Linear layers ------------------------------------------------------------


def linear(x, W, b=None, *, names=("x", "W", "b")):
    """Multiply each row by a matrix and add a vector.

    Parameters
    ----------
    x : (..., d_in) array
        One row per position.
    W : (d_in, d_out) array
        The matrix. Leading axes are runs, and must be the first of `x`.
    b : (d_out,) array, optional
        The vector that is added to each row.
    names : (str, str, str)
        The names of the three in messages.

    Returns
    -------
    (..., d_out) array
        ``x @ W + b``.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> linear([[1.0, 2.0]], [[1.0], [10.0]], [0.5]).tolist()
    [[21.5]]
    """
    rows, matrix, vector = names
    x, W = _fitting(x, W, rows, matrix)
    arguments = {rows: x, matrix: W}
    if b is not None:
        arguments[vector] = _fitting_vector(b, W, vector, matrix)
    dtype, x, W, *b = widened(*arguments.values())
    with np.errstate(over="ignore", invalid="ignore"):
        product = flat(x, W.ndim - 2) @ W
        product = product.reshape(*x.shape[:-1], W.shape[-1])
        for vector in b:
            product = product + along(vector, product)
    what = f"the products of {rows} and {matrix} overflow"
    return rounded(product, dtype, what, **arguments)


def linear_vjp(grad, x, W, *, names=("x", "W")):
    """Gradients of `linear` with respect to `x`, `W` and `b`.

    Parameters
    ----------
    grad : (..., d_out) array
        Gradient of the loss with respect to the result.
    x : (..., d_in) array
        As given to `linear`.
    W : (d_in, d_out) array
        As given to `linear`.
    names : (str, str)
        The names of `x` and `W` in messages.

    Returns
    -------
    x, W, b : arrays
        Gradients of the loss: ``grad @ W.T``, ``x.T @ grad`` and the sum of
        the rows of `grad`.

    Raises
    ------
    TypeError, ValueError
        As `linear`.

    Examples
    --------
    >>> dx, dW, db = linear_vjp([[2.0]], [[1.0, 3.0]], [[5.0], [7.0]])
    >>> dx.tolist(), dW.tolist(), db.tolist()
    ([[10.0, 14.0]], [[2.0], [6.0]], [2.0])
    """
    rows, matrix = names
    x, W = _fitting(x, W, rows, matrix)
    grad = as_floats(grad, "grad")
    _expect_grad(grad, (*x.shape[:-1], W.shape[-1]))
    arguments = {rows: x, matrix: W, "grad": grad}
    dtype, grad, x, W = widened(grad, x, W)
    with np.errstate(over="ignore", invalid="ignore"):
        rows, grads = flat(x, W.ndim - 2), flat(grad, W.ndim - 2)
        dx = (grads @ W.swapaxes(-1, -2)).reshape(x.shape)
        dW, db = rows.swapaxes(-1, -2) @ grads, grads.sum(-2)
    return tuple(
        rounded(d, dtype, GRADIENTS, **arguments) for d in (dx, dW, db)
    )


def _fitting(x, W, rows, matrix):
    """Rows and a matrix as floats of fitting shapes."""
    x = as_floats(x, rows, ndim=1, axes="(..., d_in)")
    W = as_floats(W, matrix, ndim=2, axes="(..., d_in, d_out)")
    _expect_rows(x, W, rows, matrix)
    return x, W


def _expect_rows(x, W, rows, matrix):
    """Refuse `x` unless its rows fit `W` and its first axes are the runs."""
    runs = W.shape[:-2]
    if x.shape[-1] != W.shape[-2] or x.shape[: len(runs)] != runs:
        raise ValueError(
            f"each row of {rows} must have one entry per row of {matrix}, "
            f"and {rows} must start with the runs of {matrix}; "
            f"got {rows} {x.shape} and {matrix} {W.shape}"
        )


def _fitting_vector(b, W, vector, matrix):
    """A vector with one entry per column of a matrix."""
    b = as_floats(b, vector)
    if b.shape != (*W.shape[:-2], W.shape[-1]):
        raise ValueError(
            f"{vector} must have an entry for each column of {matrix}; "
            f"got {vector} {b.shape} and {matrix} {W.shape}"
        )
    return b


def _expect_grad(grad, shape):
    if grad.shape != shape:
        raise ValueError(
            "grad must have the shape of the result; "
            f"got grad {grad.shape} and {shape}"
        )


# Normalisation ------------------------------------------------------------


def _standard(x, eps, *, centred):
    """`x` with rows of mean square 1, and the divisor of each row."""
    with np.errstate(over="ignore", invalid="ignore"):
        if centred:
            x = x - x.mean(-1, keepdims=True)
            x = x - x.mean(-1, keepdims=True)  # removes the rounding error
        root = np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    if not np.isfinite(root).all():
        raise overflow("the squares of x overflow", x.dtype, "x")
    if not root.all():
        raise ValueError(
            "eps must be above 0 if the squares of a row of x are 0 in "
            f"{x.dtype}; got {eps}"
        )
    return x / root, root


def layer_norm(x, gain, bias, *, eps=1e-5):
    """Give each row mean 0 and variance 1, then stretch and shift columns.

    Parameters
    ----------
    x : (..., d_model) array
        One row per position.
    gain : (d_model,) array
        The factor on each column.
    bias : (d_model,) array
        The number added to each column.
    eps : float, default 1e-5
        Added to the variance, so that a constant row is not divided by 0.

    Returns
    -------
    (..., d_model) array
        ``gain * (x - mean) / sqrt(variance + eps) + bias``. Mean and variance
        are those of the row; the variance is a mean over its d_model entries.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, an entry is not finite, or `eps` is negative.

    Notes
    -----
    Ba et al. 2016, section 3.

    Examples
    --------
    >>> layer_norm([1.0, 3.0], [1.0, 1.0], [0.0, 0.0], eps=0).tolist()
    [-1.0, 1.0]
    """
    x, gain = _norm_arguments(x, gain, eps)
    bias = as_finite_floats(bias, "bias", ndim=1, axes="(..., d_model)")
    _expect_vector(bias, "bias", x)
    dtype, x, gain, bias = widened(x, gain, bias)
    standard, _ = _standard(x, eps, centred=True)
    with np.errstate(over="ignore"):
        result = along(gain, x) * standard + along(bias, x)
    return rounded(result, dtype, "the stretched rows overflow")


def rms_norm(x, gain, *, eps=1e-5):
    """Give each row a mean square of 1, then stretch the columns.

    Parameters
    ----------
    x : (..., d_model) array
        One row per position.
    gain : (d_model,) array
        The factor on each column.
    eps : float, default 1e-5
        Added to the mean square, so that a row of zeros is not divided by 0.

    Returns
    -------
    (..., d_model) array
        ``gain * x / sqrt(mean(x**2) + eps)``.

    Raises
    ------
    TypeError, ValueError
        As `layer_norm`.

    Notes
    -----
    Zhang and Sennrich 2019, equation 4.

    Examples
    --------
    >>> rms_norm([3.0, 3.0], [1.0, 2.0], eps=0).tolist()
    [1.0, 2.0]
    """
    x, gain = _norm_arguments(x, gain, eps)
    dtype, x, gain = widened(x, gain)
    standard, _ = _standard(x, eps, centred=False)
    with np.errstate(over="ignore"):
        result = along(gain, x) * standard
    return rounded(result, dtype, "the stretched rows overflow")


def _norm_vjp(grad, x, gain, eps, *, centred):
    """Gradients of `x`, of `gain` and of a bias."""
    x, gain = _norm_arguments(x, gain, eps)
    grad = as_finite_floats(grad, "grad")
    _expect_grad(grad, x.shape)
    dtype, x, gain, grad = widened(x, gain, grad)
    standard, root = _standard(x, eps, centred=centred)
    with np.errstate(over="ignore", invalid="ignore"):
        d = grad * along(gain, x)
        dx = d - standard * (d * standard).mean(-1, keepdims=True)
        if centred:
            dx = dx - d.mean(-1, keepdims=True)
        shared = (_over_rows(rows, gain) for rows in (grad * standard, grad))
        found = (dx / root, *shared)
    return tuple(rounded(d, dtype, GRADIENTS) for d in found)


def _over_rows(grad, vector):
    """`grad` summed over rows to the shape of the vector that they share."""
    return flat(grad, vector.ndim - 1).sum(-2)


def layer_norm_vjp(grad, x, gain, *, eps=1e-5):
    """Gradients of `layer_norm` with respect to `x`, `gain` and `bias`.

    Parameters
    ----------
    grad : (..., d_model) array
        Gradient of the loss with respect to the result.
    x : (..., d_model) array
        As given to `layer_norm`.
    gain : (d_model,) array
        As given to `layer_norm`.
    eps : float, default 1e-5
        As given to `layer_norm`.

    Returns
    -------
    x, gain, bias : arrays
        Gradients of the loss.

    Raises
    ------
    TypeError, ValueError
        As `layer_norm`.

    Notes
    -----
    With z the normalised row, r its divisor, and d = grad * gain: ``dx = (d -
    mean(d) - z * mean(d * z)) / r``. Changing x along a constant or, except
    for eps, along z itself changes nothing, so neither direction has a
    gradient.

    Examples
    --------
    >>> dx, _, _ = layer_norm_vjp([1.0, 0.0, 0.0], [0.0, 1.0, 5.0], np.ones(3))
    >>> round(abs(float(dx.sum())), 12)
    0.0
    """
    return _norm_vjp(grad, x, gain, eps, centred=True)


def rms_norm_vjp(grad, x, gain, *, eps=1e-5):
    """Gradients of `rms_norm` with respect to `x` and `gain`.

    Parameters
    ----------
    grad : (..., d_model) array
        Gradient of the loss with respect to the result.
    x : (..., d_model) array
        As given to `rms_norm`.
    gain : (d_model,) array
        As given to `rms_norm`.
    eps : float, default 1e-5
        As given to `rms_norm`.

    Returns
    -------
    x, gain : arrays
        Gradients of the loss.

    Raises
    ------
    TypeError, ValueError
        As `rms_norm`.

    Notes
    -----
    As `layer_norm_vjp`, without the mean.

    Examples
    --------
    >>> dx, dgain = rms_norm_vjp([1.0, 1.0], [3.0, 3.0], [1.0, 1.0], eps=0)
    >>> dx.tolist(), dgain.tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    return _norm_vjp(grad, x, gain, eps, centred=False)[:2]


def _norm_arguments(x, gain, eps):
    x = as_finite_floats(x, "x", ndim=1, axes="(..., d_model)")
    gain = as_finite_floats(gain, "gain", ndim=1, axes="(..., d_model)")
    _expect_vector(gain, "gain", x)
    if x.shape[-1] == 0:
        raise ValueError(f"the rows of x must not be empty; got x {x.shape}")
    if as_real(eps, "eps") < 0:
        raise ValueError(f"eps must be at least 0; got {eps}")
    return x, gain


def _expect_vector(vector, name, x):
    *runs, d = vector.shape
    if x.shape[-1] != d or x.shape[: len(runs)] != (*runs,):
        raise ValueError(
            f"{name} must have an entry per column of x, and x must start "
            f"with its runs; got {name} {vector.shape} and x {x.shape}"
        )


# The feed-forward network ---------------------------------------------------

_erf = np.vectorize(math.erf, otypes=[float])


def gelu(x, *, approximate=None):
    """Multiply each number by the normal probability of a smaller one.

    Parameters
    ----------
    x : array
        Any numbers.
    approximate : {None, "tanh"}
        Use the formula with the hyperbolic tangent if "tanh".

    Returns
    -------
    array
        ``x * Phi(x)``, Phi the distribution of a standard normal number.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers.
    ValueError
        If an entry is not finite, or `approximate` is neither value.

    Notes
    -----
    Hendrycks and Gimpel 2016, section 2, which has both formulas. GPT-2's
    code uses the formula with the tangent.

    Examples
    --------
    >>> gelu([-1.0, 0.0, 1.0]).round(4).tolist()
    [-0.1587, 0.0, 0.8413]
    """
    check_choice(approximate, "approximate", (None, "tanh"))
    dtype, x = widened(as_finite_floats(x, "x"))
    phi, _ = (_phi_tanh if approximate else _phi)(x)
    return (x * phi).astype(dtype, copy=False)


def gelu_vjp(grad, x, *, approximate=None):
    """The gradient of `gelu` with respect to `x`.

    Parameters
    ----------
    grad : array
        Gradient of the loss with respect to the result.
    x : array
        As given to `gelu`.
    approximate : {None, "tanh"}
        As given to `gelu`.

    Returns
    -------
    array
        ``grad * (Phi(x) + x * Phi'(x))``.

    Raises
    ------
    TypeError, ValueError
        As `gelu`.

    Examples
    --------
    >>> gelu_vjp([1.0, 1.0], [0.0, 40.0]).tolist()
    [0.5, 1.0]
    """
    check_choice(approximate, "approximate", (None, "tanh"))
    x, grad = as_finite_floats(x, "x"), as_finite_floats(grad, "grad")
    _expect_grad(grad, x.shape)
    dtype, x, grad = widened(x, grad)
    phi, slope = (_phi_tanh if approximate else _phi)(x)
    with np.errstate(over="ignore"):  # the slope reaches 1.13
        dx = grad * (phi + x * slope)
    return rounded(dx, dtype, GRADIENTS)


def _phi(x):
    """The normal distribution and its density."""
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return (1 + _erf(x / math.sqrt(2))) / 2, density


def _phi_tanh(x):
    """The approximation of `_phi` with a tangent, and its slope."""
    c = math.sqrt(2 / math.pi)
    x = np.clip(x, -40, 40)  # beyond, the tangent is 1 to the last bit
    tanh = np.tanh(c * (x + 0.044715 * x**3))
    return (1 + tanh) / 2, (1 - tanh**2) * c * (1 + 3 * 0.044715 * x * x) / 2


def silu(x):
    """Multiply each number by its logistic function.

    Parameters
    ----------
    x : array
        Any numbers.

    Returns
    -------
    array
        ``x / (1 + exp(-x))``.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers.
    ValueError
        If an entry is not finite.

    Notes
    -----
    Hendrycks and Gimpel 2016, section 2, name it SiLU; Ramachandran et al.
    2017 call it Swish.

    Examples
    --------
    >>> silu([-1.0, 0.0, 1.0]).round(4).tolist()
    [-0.2689, 0.0, 0.7311]
    """
    dtype, x = widened(as_finite_floats(x, "x"))
    return (x * logistic(x)).astype(dtype, copy=False)


def silu_vjp(grad, x):
    """The gradient of `silu` with respect to `x`.

    Parameters
    ----------
    grad : array
        Gradient of the loss with respect to the result.
    x : array
        As given to `silu`.

    Returns
    -------
    array
        ``grad * s * (1 + x * (1 - s))``, s the logistic function of x.

    Raises
    ------
    TypeError, ValueError
        As `silu`; and ValueError if the shapes differ.

    Examples
    --------
    >>> silu_vjp([1.0, 1.0], [0.0, 40.0]).tolist()
    [0.5, 1.0]
    """
    x, grad = as_finite_floats(x, "x"), as_finite_floats(grad, "grad")
    _expect_grad(grad, x.shape)
    dtype, x, grad = widened(x, grad)
    s = logistic(x)
    with np.errstate(over="ignore"):  # the slope reaches 1.1
        dx = grad * (s + x * s * (1 - s))
    return rounded(dx, dtype, GRADIENTS)


def _activate(x, activation):
    if activation == "relu":
        return np.maximum(x, 0)
    if activation == "silu":
        return silu(x)
    return gelu(x, approximate=_approximation(activation))


def _activate_vjp(grad, x, activation):
    if activation == "relu":
        return np.where(x > 0, grad, 0)
    if activation == "silu":
        return silu_vjp(grad, x)
    return gelu_vjp(grad, x, approximate=_approximation(activation))


def _approximation(activation):
    check_choice(activation, "activation", ACTIVATIONS)
    return "tanh" if activation == "gelu_tanh" else None


def feed_forward(
    x, W_1, b_1, W_2, b_2, *, W_3=None, b_3=None, activation="gelu"
):
    """Widen each row, apply a nonlinearity, and narrow it, row by row.

    Parameters
    ----------
    x : (..., d_model) array
        One row per position.
    W_1 : (d_model, d_ff) array
        The widening matrix.
    b_1 : (d_ff,) array or None
        The bias added after `W_1`.
    W_2 : (d_ff, d_model) array
        The narrowing matrix.
    b_2 : (d_model,) array or None
        The bias added after `W_2`.
    W_3 : (d_model, d_ff) array, optional
        A second widening matrix, for a gated network: the activated rows are
        multiplied by ``x @ W_3 + b_3``, entry by entry.
    b_3 : (d_ff,) array, optional
        The bias added after `W_3`.
    activation : {"gelu", "gelu_tanh", "relu", "silu"}
        The function applied to each number after the first matrix.

    Returns
    -------
    (..., d_model) array
        ``activation(x @ W_1 + b_1) @ W_2 + b_2``; with `W_3`,
        ``(activation(x @ W_1 + b_1) * (x @ W_3 + b_3)) @ W_2 + b_2``.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, the activation is unknown, or `b_3` is given
        without `W_3`.

    Notes
    -----
    Vaswani et al. 2017, section 3.3, which has "relu". Gated: Shazeer 2020,
    equation 6; with "silu" it is called SwiGLU. The matrices are numbered as
    in the code of Llama.

    Examples
    --------
    >>> W = np.eye(2)
    >>> feed_forward([-1.0, 2.0], W, None, W, None, activation="relu").tolist()
    [0.0, 2.0]
    """
    before = linear(x, W_1, b_1, names=("x", "W_1", "b_1"))
    hidden = _activate(before, activation)
    gate = _gate(x, W_3, b_3, W_1)
    if gate is not None:
        hidden = _gated(hidden, gate)
    return linear(hidden, W_2, b_2, names=("hidden", "W_2", "b_2"))


def _gate(x, W_3, b_3, W_1):
    """The factors of the hidden rows, or None without a gate."""
    if W_3 is None:
        if b_3 is not None:
            raise ValueError("b_3 needs W_3; got b_3 alone")
        return None
    W_3 = as_array(W_3, "W_3")
    if W_3.shape != np.shape(W_1):
        raise ValueError(
            "W_3 must have the shape of W_1; "
            f"got W_3 {W_3.shape} and W_1 {np.shape(W_1)}"
        )
    return linear(x, W_3, b_3, names=("x", "W_3", "b_3"))


def _gated(hidden, gate):
    """The hidden rows times their factors."""
    dtype, hidden, gate = widened(hidden, gate)
    with np.errstate(over="ignore"):
        product = hidden * gate
    return rounded(product, dtype, "the products of the hidden rows overflow")


def feed_forward_vjp(
    grad, x, W_1, b_1, W_2, *, W_3=None, b_3=None, activation="gelu"
):
    """Gradients of `feed_forward` with respect to its arguments.

    Parameters
    ----------
    grad : (..., d_model) array
        Gradient of the loss with respect to the result.
    x, W_1, b_1, W_2, W_3, b_3, activation
        As given to `feed_forward`.

    Returns
    -------
    x, W_1, b_1, W_2, b_2 : arrays
        Gradients of the loss; with `W_3`, those of `W_3` and `b_3` follow.

    Raises
    ------
    TypeError, ValueError
        As `feed_forward`.

    Notes
    -----
    The hidden rows are recomputed instead of being stored.

    Examples
    --------
    >>> W = np.eye(2)
    >>> grads = feed_forward_vjp(np.ones(2), np.array([-1.0, 2.0]), W, None, W,
    ...                          activation="relu")
    >>> grads[0].tolist()
    [0.0, 1.0]
    """
    before = linear(x, W_1, b_1, names=("x", "W_1", "b_1"))
    activated = _activate(before, activation)
    gate = _gate(x, W_3, b_3, W_1)
    hidden = activated if gate is None else _gated(activated, gate)
    dhidden, dW_2, db_2 = linear_vjp(
        grad, hidden, W_2, names=("hidden", "W_2")
    )
    dactivated = dhidden if gate is None else _gated(dhidden, gate)
    dbefore = _activate_vjp(dactivated, before, activation)
    dx, dW_1, db_1 = linear_vjp(dbefore, x, W_1, names=("x", "W_1"))
    if gate is None:
        return dx, dW_1, db_1, dW_2, db_2
    dgate = _gated(dhidden, activated)
    dx_3, dW_3, db_3 = linear_vjp(dgate, x, W_3, names=("x", "W_3"))
    return dx + dx_3, dW_1, db_1, dW_2, db_2, dW_3, db_3


# The loss -------------------------------------------------------------------


def token_ids(tokens, vocab, name="tokens"):
    """Return `tokens` as an array of integers from 0 to ``vocab - 1``.

    Parameters
    ----------
    tokens : (...,) integers
        The tokens to check.
    vocab : int
        The number of tokens in the vocabulary.
    name : str, default "tokens"
        Their name in messages.

    Returns
    -------
    (...,) integer array
        The tokens.

    Raises
    ------
    TypeError
        If they, or `vocab`, are not integers.
    ValueError
        If a token is outside the vocabulary, or the vocabulary is empty.

    Examples
    --------
    >>> token_ids([2, 0], 3).tolist()
    [2, 0]
    """
    tokens, vocab = as_array(tokens, name), as_size(vocab, "vocab", least=1)
    if tokens.size == 0:
        tokens = tokens.astype(int)
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers; got {tokens.dtype}")
    outside = (tokens < 0) | (tokens >= vocab)
    if outside.any():
        raise ValueError(
            f"{name} must lie between 0 and {vocab - 1}, the last of the "
            f"vocabulary; got {int(tokens[outside][0])}"
        )
    return tokens


def one_hot(tokens, vocab):
    """Return rows that are 1 at their token and 0 elsewhere.

    Parameters
    ----------
    tokens : (...,) integers
        Tokens below `vocab`.
    vocab : int
        Length of a row.

    Returns
    -------
    (..., vocab) array
        The product of a row and a table is the token's row of the table.

    Raises
    ------
    TypeError, ValueError
        As `token_ids`.

    Examples
    --------
    >>> one_hot([2, 0], 3).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    tokens = token_ids(tokens, vocab)
    return (tokens[..., None] == np.arange(vocab)).astype(float)


def token_losses(logits, targets):
    """The loss of each prediction: minus the log of its probability.

    Parameters
    ----------
    logits : (..., T, vocab) array
        One row per position.
    targets : (..., T) integers
        The next token at each position.

    Returns
    -------
    (..., T) array
        ``logsumexp(row) - row[target]``, in nats.

    Raises
    ------
    TypeError
        If `targets` are not integers.
    ValueError
        If the shapes do not fit, a target is outside the vocabulary, or a
        logit is not finite.

    Notes
    -----
    The result is accurate to about the spacing of numbers near the largest
    logit. If logits are large and the type is narrow, subtract the largest
    logit from its row first.

    Examples
    --------
    >>> token_losses([[0.0, 0.0]], [1]).round(4).tolist()
    [0.6931]
    """
    logits, targets = _rows_and_targets(logits, targets)
    dtype, logits = widened(logits)
    chosen = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    with np.errstate(over="ignore"):
        losses = logsumexp(logits) - chosen
    return rounded(losses, dtype, "the losses overflow")


def _rows_and_targets(logits, targets):
    """Logits, and one token for each of their rows."""
    logits = as_finite_floats(logits, "logits", ndim=1, axes="(..., vocab)")
    targets = token_ids(targets, logits.shape[-1], "targets")
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            "targets must have one token for each row of logits; "
            f"got targets {targets.shape} and logits {logits.shape}"
        )
    return logits, targets


def token_losses_vjp(grad, logits, targets):
    """The gradient of `token_losses` with respect to the logits.

    Parameters
    ----------
    grad : (..., T) array
        Gradient of the loss with respect to the result.
    logits, targets
        As given to `token_losses`.

    Returns
    -------
    (..., T, vocab) array
        ``grad * (softmax(row) - one_hot(target))``.

    Raises
    ------
    TypeError, ValueError
        As `token_losses`, or if `grad` does not have the shape of its
        result.

    Examples
    --------
    >>> token_losses_vjp([2.0], [[0.0, 0.0]], [1]).tolist()
    [[1.0, -1.0]]
    """
    grad = as_finite_floats(grad, "grad")
    logits, targets = _rows_and_targets(logits, targets)
    _expect_grad(grad, logits.shape[:-1])
    right = one_hot(targets, logits.shape[-1])
    with np.errstate(over="ignore"):
        back = grad[..., None] * (softmax(logits) - right)
    return rounded(back, logits.dtype, GRADIENTS)


def cross_entropy(logits, targets, *, where=None):
    """The mean of `token_losses`.

    Parameters
    ----------
    logits : (..., T, vocab) array
        One row per position.
    targets : (..., T) integers
        The next token at each position.
    where : (..., T) boolean array, optional
        Which positions count; broadcasts. All by default.

    Returns
    -------
    float
        Mean loss of the positions that count, in nats.

    Raises
    ------
    TypeError, ValueError
        As `token_losses`; and ValueError if no position counts.

    Examples
    --------
    >>> round(cross_entropy(np.zeros((5, 12)), [0, 1, 2, 3, 4]), 4)
    2.4849
    """
    losses = token_losses(logits, targets)
    return float((losses * loss_shares(where, losses)).sum())


def cross_entropy_vjp(logits, targets, *, where=None):
    """The gradient of `cross_entropy` with respect to the logits.

    Parameters
    ----------
    logits, targets, where
        As given to `cross_entropy`.

    Returns
    -------
    (..., T, vocab) array
        ``(softmax(row) - one_hot(target)) / n`` at each of the n positions
        that count, and zero elsewhere.

    Raises
    ------
    TypeError, ValueError
        As `cross_entropy`.

    Examples
    --------
    >>> cross_entropy_vjp([[0.0, 0.0]], [1]).tolist()
    [[0.5, -0.5]]
    """
    losses = token_losses(logits, targets)
    return token_losses_vjp(loss_shares(where, losses), logits, targets)
