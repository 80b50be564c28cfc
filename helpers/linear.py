"""A memory of fixed size: linear attention, the delta rule, and their gate.

A state of d_k rows and d_v columns replaces all keys and values. At each
position it decays, is written to, and is read. The three public functions
differ in how they write. Each has three forms that agree up to rounding: step
by step, in chunks, and as one masked product.
"""

from typing import NamedTuple

import numpy as np

from ._checks import (
    as_finite_floats,
    as_floats,
    as_size,
    common_leading_axes,
    default_scale,
    rounded,
)
from ._core import sum_to, widened


class LinearGradients(NamedTuple):
    """Gradients of the loss; None for arguments that the function lacks."""

    Q: np.ndarray  #: (..., T, d_k)
    K: np.ndarray  #: (..., T, d_k)
    V: np.ndarray  #: (..., T, d_v)
    beta: np.ndarray | None  #: (..., T)
    log_decay: np.ndarray | None  #: (..., T)
    state: np.ndarray | None  #: (..., d_k, d_v)


def _stepped(Q, K, V, beta, log_decay, S, corrects):
    """The positions one by one; `corrects` chooses the delta rule."""
    decay, output = np.exp(log_decay), []
    for t in range(K.shape[-2]):
        row = slice(t, t + 1)
        _, _, S = _step(
            S,
            K[..., row, :],
            V[..., row, :],
            beta[..., row, None],
            decay[..., row, None],
            corrects,
        )
        output.append(Q[..., row, :] @ S)
    return np.concatenate([V[..., :0, :], *output], axis=-2), S.copy()


def _step(S, k, v, beta, decay, corrects):
    """The decayed state, the row that is written, and the new state."""
    shrunk = decay * S
    error = v - k @ shrunk if corrects else v
    return shrunk, error, shrunk + _transposed(k) @ (beta * error)


def linear_attention(
    Q, K, V, log_decay=None, *, state=None, chunk=None, scale=None
):
    """Compute causal attention without a softmax, by a state of fixed size.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., T, d_k) array
        Keys.
    V : (..., T, d_v) array
        Values.
    log_decay : (..., T) array, optional
        Logarithm of the factor, at most 1, by which the state shrinks before a
        position writes. ``-inf`` empties it. By default the state does not
        shrink.
    state : (..., d_k, d_v) array, optional
        The state after earlier positions; zeros by default.
    chunk : int, optional
        The number of positions that are computed together, as masked products;
        `T` or more give one masked product of all. By default one step per
        position.
    scale : float, optional
        Factor on the queries; 1/sqrt(d_k) by default.

    Returns
    -------
    output : (..., T, d_v) array
        The row that each query reads after its own position has written.
    state : (..., d_k, d_v) array
        The state after all positions, for the next call.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `chunk` is not an integer.
    ValueError
        If shapes do not fit, an entry is not finite, `log_decay` is above 0,
        `chunk` below 1, or numbers overflow.

    Notes
    -----
    ``S_t = a_t S_(t-1) + k_t^T v_t`` and ``o_t = scale * q_t S_t`` with the
    factor ``a_t = exp(log_decay_t)``: Katharopoulos et al. 2020, equations
    18 to 20, without their feature map and normaliser; the decay as in Yang
    et al. 2025, section 2. As one masked product it is
    ``scale * ((Q K^T) * D) V``, where ``D[t, s]`` is the product of the
    factors after s up to t, and zero where s > t.

    Examples
    --------
    >>> output, state = linear_attention(
    ...     [[1.0], [1.0]], [[1.0], [1.0]], [[2.0], [4.0]], np.log([1, 0.5]))
    >>> output.tolist(), state.tolist()
    ([[2.0], [5.0]], [[5.0]])
    """
    given = {"Q": Q, "K": K, "V": V, "log_decay": log_decay, "state": state}
    return _memory(given, False, chunk, scale)


def delta_rule(Q, K, V, beta, *, state=None, chunk=None, scale=None):
    """Compute linear attention that replaces the value stored for a key.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., T, d_k) array
        Keys, usually of length one.
    V : (..., T, d_v) array
        Values.
    beta : (..., T) array
        How far a position moves the value read by its key towards its own
        value: with a key of length one, 0 not at all and 1 the whole way.
    state : (..., d_k, d_v) array, optional
        The state after earlier positions; zeros by default.
    chunk : int, optional
        As in `linear_attention`.
    scale : float, optional
        Factor on the queries; 1/sqrt(d_k) by default.

    Returns
    -------
    output : (..., T, d_v) array
        The row that each query reads after its own position has written.
    state : (..., d_k, d_v) array
        The state after all positions, for the next call.

    Raises
    ------
    TypeError, ValueError
        As `linear_attention`.

    Notes
    -----
    ``S_t = S_(t-1) + beta_t k_t^T (v_t - k_t S_(t-1))``: Schlag et al. 2021,
    equation 24; in chunks as Yang et al. 2024, section 3. The step is one of
    gradient descent, with rate beta, on half the squared error of the value
    that the key reads.

    Examples
    --------
    The second value of a key replaces the first:

    >>> output, state = delta_rule(
    ...     [[1.0], [1.0]], [[1.0], [1.0]], [[2.0], [4.0]], [1, 1])
    >>> output.tolist(), state.tolist()
    ([[2.0], [4.0]], [[4.0]])
    """
    given = {"Q": Q, "K": K, "V": V, "beta": beta, "state": state}
    return _memory(given, True, chunk, scale)


def gated_delta_rule(
    Q, K, V, beta, log_decay, *, state=None, chunk=None, scale=None
):
    """Apply the delta rule to a state that also decays.

    Parameters
    ----------
    Q : (..., T, d_k) array
        Queries.
    K : (..., T, d_k) array
        Keys, usually of length one.
    V : (..., T, d_v) array
        Values.
    beta : (..., T) array
        As in `delta_rule`.
    log_decay : (..., T) array
        As in `linear_attention`; the state shrinks before the key reads it.
    state : (..., d_k, d_v) array, optional
        The state after earlier positions; zeros by default.
    chunk : int, optional
        As in `linear_attention`.
    scale : float, optional
        Factor on the queries; 1/sqrt(d_k) by default.

    Returns
    -------
    output : (..., T, d_v) array
        The row that each query reads after its own position has written.
    state : (..., d_k, d_v) array
        The state after all positions, for the next call.

    Raises
    ------
    TypeError, ValueError
        As `linear_attention`.

    Notes
    -----
    ``S_t = a_t (I - beta_t k_t^T k_t) S_(t-1) + beta_t k_t^T v_t``: Yang et
    al. 2025, equation 10, with rows in place of columns. In a chunk, the
    writes of all positions solve one triangular system. float16 is computed in
    float32 and rounded once.

    Examples
    --------
    >>> output, state = gated_delta_rule(
    ...     [[1.0], [1.0]], [[1.0], [1.0]], [[2.0], [4.0]],
    ...     [1, 0.5], np.log([1, 0.5]))
    >>> output.tolist(), state.tolist()
    ([[2.0], [2.5]], [[2.5]])
    """
    given = {"Q": Q, "K": K, "V": V, "beta": beta, "log_decay": log_decay}
    return _memory({**given, "state": state}, True, chunk, scale)


def short_convolution(X, filters, *, before=None):
    """Mix each row with the last few rows, separately in each column.

    Parameters
    ----------
    X : (..., T, d) array
        One row per position.
    filters : (width, d) array
        The factors of each column, from the oldest row to the newest.
    before : (..., width - 1, d) array, optional
        The rows before those of `X`; zeros by default.

    Returns
    -------
    output : (..., T, d) array
        ``sum_j filters[j] * X[t - width + 1 + j]``.
    rows : (..., width - 1, d) array
        The last rows, for `before` in the next call.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If shapes do not fit, an entry is not finite, or sums overflow.

    Notes
    -----
    Layers with a delta rule apply it to queries, keys and values: Yang et
    al. 2024, section 3.3; it is the causal depthwise convolution of Mamba.

    Examples
    --------
    >>> output, rows = short_convolution([[1.0], [2.0]], [[10.0], [1.0]])
    >>> output.tolist(), rows.tolist()
    ([[1.0], [12.0]], [[2.0]])
    """
    X = as_finite_floats(X, "X", ndim=2, axes="(..., T, d)")
    filters = as_finite_floats(filters, "filters")
    if (
        filters.ndim != 2
        or filters.shape[-1] != X.shape[-1]
        or not filters.size
    ):
        raise ValueError(
            "filters must be (width, d), a row or more; "
            f"got filters {filters.shape} and X {X.shape}"
        )
    width, T = len(filters), X.shape[-2]
    shape = (*X.shape[:-2], width - 1, X.shape[-1])
    if before is None:
        before = np.zeros(shape, X.dtype)
    before = as_finite_floats(before, "before")
    if before.shape != shape:
        raise ValueError(
            f"before must be {shape} to fit X and filters; got {before.shape}"
        )
    dtype, before, wide, filters = widened(before, X, filters)
    rows = np.concatenate([before, wide], axis=-2)
    with np.errstate(over="ignore", invalid="ignore"):
        output = sum(
            (filters[j] * rows[..., j : j + T, :] for j in range(width)),
            np.zeros_like(wide),
        )
    kept = rows[..., T:, :].astype(dtype, copy=False)
    return rounded(output, dtype, "the sums overflow"), kept


# The forward pass -----------------------------------------------------------


def _memory(given, corrects, chunk, scale):
    """Output and state, for arguments that are not yet checked."""
    x, lead = _inputs(given)
    scale = default_scale(scale, x["Q"].shape[-1])
    T = x["Q"].shape[-2]
    chunk = None if chunk is None else as_size(chunk, "chunk", least=1)
    dtype, *wide = _wide(x, lead)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if chunk is None:
            output, state = _stepped(*wide, corrects)
        else:
            output, state = _chunked(*wide, corrects, min(chunk, max(T, 1)))
        output = output * scale
    checked = {name: x[name] for name in x if name != "log_decay"}
    return (
        rounded(output, dtype, "the output overflows", **checked),
        rounded(state, dtype, "the state overflows", **checked),
    )


AXES = {
    "Q": "(..., T, d_k)",
    "K": "(..., T, d_k)",
    "V": "(..., T, d_v)",
    "beta": "(..., T)",
    "log_decay": "(..., T)",
    "state": "(..., d_k, d_v)",
}


def _inputs(given):
    """The arguments as floats of fitting shapes, and the leading axes."""
    x = {}
    for name, array in given.items():
        if array is not None or name not in ("log_decay", "state"):
            axes = AXES[name]
            x[name] = as_floats(array, name, ndim=axes.count(","), axes=axes)
    Q, K, V = (x[name].shape for name in "QKV")
    if Q[-2:] != K[-2:]:
        raise ValueError(f"Q and K must share T and d_k; got Q {Q} and K {K}")
    if K[-2] != V[-2]:
        raise ValueError(f"K and V must share T; got K {K} and V {V}")
    for name in {"beta", "log_decay"} & set(x):
        if x[name].shape[-1] != K[-2]:
            raise ValueError(
                f"K and {name} must share T; "
                f"got K {K} and {name} {x[name].shape}"
            )
    if "state" in x and x["state"].shape[-2:] != (K[-1], V[-1]):
        raise ValueError(
            "state must be (..., d_k, d_v); "
            f"got state {x['state'].shape}, K {K} and V {V}"
        )
    if "log_decay" in x and not (x["log_decay"] <= 0).all():  # not NaN either
        raise ValueError(
            "log_decay must be at most 0, the logarithm of a factor up to 1; "
            f"got {x['log_decay'].max()}"
        )
    shapes = {name: _matrix_shape(name, x[name].shape) for name in x}
    return x, common_leading_axes(**shapes)


def _matrix_shape(name, shape):
    """The shape with two last axes, of which a missing second is added."""
    return (*shape, 1) if name in ("beta", "log_decay") else shape


def _wide(x, lead):
    """The common type, and all six arrays in it, with equal leading axes."""
    (T, d_k), d_v = x["K"].shape[-2:], x["V"].shape[-1]
    dtype, *wide = widened(*x.values())
    x = dict(zip(x, wide, strict=True))
    kind = x["K"].dtype
    x.setdefault("beta", np.ones(T, kind))
    x.setdefault("log_decay", np.zeros(T, kind))
    x.setdefault("state", np.zeros((d_k, d_v), kind))
    shapes = (T, d_k), (T, d_k), (T, d_v), (T,), (T,), (d_k, d_v)
    return dtype, *(
        np.broadcast_to(x[name], lead + shape)
        for name, shape in zip(AXES, shapes, strict=True)
    )


def _chunked(Q, K, V, beta, log_decay, S, corrects, chunk):
    """The positions chunk by chunk."""
    output = []
    for start in range(0, K.shape[-2], chunk):
        at = slice(start, start + chunk)
        matrices = (X[..., at, :] for X in (Q, K, V))
        o, S = _chunk(
            *matrices, beta[..., at], log_decay[..., at], S, corrects
        )
        output.append(o)
    return np.concatenate([V[..., :0, :], *output], axis=-2), S.copy()


def _chunk(Q, K, V, beta, log_decay, S, corrects):
    """The positions of a chunk together, as masked products."""
    since = np.exp(log_decay.cumsum(-1))[..., None]  # from the chunk's start
    D = _decays(log_decay)  # (..., C, C)
    errors = V
    if corrects:
        # The row that position t writes depends on the earlier positions'
        # rows.
        earlier = np.tril(K @ _transposed(K) * D, -1) * beta[..., None, :]
        errors = _solved(earlier, V - since * (K @ S))
    written = beta[..., None] * errors
    output = since * (Q @ S) + (Q @ _transposed(K) * D) @ written
    kept = _transposed(K * D[..., -1, :, None])
    return output, since[..., -1:, :] * S + kept @ written


def _decays(log_decay):
    """D[t, s]: the factor on the row of s when t reads it; 0 if s > t.

    It uses sums instead of differences of sums, which lose digits next to
    large sums and are NaN next to -inf.
    """
    C = log_decay.shape[-1]
    after = np.tri(C, k=-1, dtype=bool)  # t > s
    logs = np.where(after, log_decay[..., :, None], 0).cumsum(-2)
    return np.tril(np.exp(logs))


def _solved(A, b):
    """x with (I + A) x = b, for A with zeros on and above its diagonal."""
    n = A.shape[-1]
    if n < 2:
        return b
    half = n // 2
    first = _solved(A[..., :half, :half], b[..., :half, :])
    rest = b[..., half:, :] - A[..., half:, :half] @ first
    rest = _solved(A[..., half:, half:], rest)
    return np.concatenate([first, rest], axis=-2)


def _transposed(x):
    return x.swapaxes(-1, -2)


# The backward pass ----------------------------------------------------------


def linear_attention_vjp(
    grad_output,
    Q,
    K,
    V,
    log_decay=None,
    *,
    grad_state=None,
    state=None,
    scale=None,
):
    """Carry gradients back through `linear_attention`.

    Parameters
    ----------
    grad_output : (..., T, d_v) array
        Gradient of the loss with respect to the output.
    Q, K, V, log_decay, state, scale
        The arguments of `linear_attention`.
    grad_state : (..., d_k, d_v) array, optional
        Gradient of the loss with respect to the state that it returned; zero
        by default.

    Returns
    -------
    LinearGradients
        An array that was broadcast gets the sum over its copies. ``beta`` is
        None, and so are the gradients of arguments that were not given.

    Raises
    ------
    TypeError, ValueError
        As `linear_attention`, and if a gradient overflows.

    Notes
    -----
    In reverse order: ``dS += scale q^T do``, ``dv = k dS``, ``dk = v dS^T``;
    the earlier state has the gradient ``a dS``.

    Examples
    --------
    >>> grads = linear_attention_vjp([[1.0]], [[2.0]], [[3.0]], [[5.0]])
    >>> grads.Q.item(), grads.K.item(), grads.V.item()
    (15.0, 10.0, 6.0)
    """
    given = {"Q": Q, "K": K, "V": V, "log_decay": log_decay, "state": state}
    return _memory_vjp(grad_output, grad_state, given, False, scale)


def delta_rule_vjp(
    grad_output, Q, K, V, beta, *, grad_state=None, state=None, scale=None
):
    """Carry gradients back through `delta_rule`.

    Parameters
    ----------
    grad_output : (..., T, d_v) array
        Gradient of the loss with respect to the output.
    Q, K, V, beta, state, scale
        The arguments of `delta_rule`.
    grad_state : (..., d_k, d_v) array, optional
        Gradient of the loss with respect to the state that it returned; zero
        by default.

    Returns
    -------
    LinearGradients
        As `linear_attention_vjp`, with ``log_decay`` None.

    Raises
    ------
    TypeError, ValueError
        As `delta_rule`, and if a gradient overflows.

    Examples
    --------
    >>> grads = delta_rule_vjp([[1.0]], [[2.0]], [[1.0]], [[5.0]], [0.5])
    >>> grads.V.item(), grads.beta.item()
    (1.0, 10.0)
    """
    given = {"Q": Q, "K": K, "V": V, "beta": beta, "state": state}
    return _memory_vjp(grad_output, grad_state, given, True, scale)


def gated_delta_rule_vjp(
    grad_output,
    Q,
    K,
    V,
    beta,
    log_decay,
    *,
    grad_state=None,
    state=None,
    scale=None,
):
    """Carry gradients back through `gated_delta_rule`.

    Parameters
    ----------
    grad_output : (..., T, d_v) array
        Gradient of the loss with respect to the output.
    Q, K, V, beta, log_decay, state, scale
        The arguments of `gated_delta_rule`.
    grad_state : (..., d_k, d_v) array, optional
        Gradient of the loss with respect to the state that it returned; zero
        by default.

    Returns
    -------
    LinearGradients
        As `linear_attention_vjp`, with every field except perhaps ``state``.

    Raises
    ------
    TypeError, ValueError
        As `gated_delta_rule`, and if a gradient overflows.

    Notes
    -----
    With the decayed state ``P = a S`` and the error ``e = v - k P``, the step
    writes ``beta k^T e``. In reverse order: ``de = beta k dS``, ``dv = de``,
    ``dk = beta e dS^T - de P^T``, ``dP = dS - k^T de``, ``dlog_decay = sum(P *
    dP)``.

    Examples
    --------
    >>> grads = gated_delta_rule_vjp([[1.0]], [[2.0]], [[1.0]], [[5.0]],
    ...                              [0.5], [0.0], state=[[1.0]])
    >>> grads.beta.item(), grads.log_decay.item(), grads.state.item()
    (8.0, 1.0, 1.0)
    """
    given = {"Q": Q, "K": K, "V": V, "beta": beta, "log_decay": log_decay}
    given = {**given, "state": state}
    return _memory_vjp(grad_output, grad_state, given, True, scale)


def _memory_vjp(grad_output, grad_state, given, corrects, scale):
    """The gradients, for arguments that are not yet checked."""
    x, lead = _inputs(given)
    scale = default_scale(scale, x["Q"].shape[-1])
    for name in x.keys() - {"log_decay"}:
        as_finite_floats(x[name], name)
    d_k, (T, d_v) = x["K"].shape[-1], x["V"].shape[-2:]
    dO = _result_gradient(
        "grad_output", grad_output, (*lead, T, d_v), "output"
    )
    if grad_state is None:
        grad_state = np.zeros((*lead, d_k, d_v), dO.dtype)
    dS = _result_gradient("grad_state", grad_state, (*lead, d_k, d_v), "state")
    dtype, dO, dS, *wide = widened(dO, dS, *x.values())
    _, *wide = _wide(dict(zip(x, wide, strict=True)), lead)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = _stepped_vjp(dO, dS, *wide, corrects, scale)
    return LinearGradients(
        *(
            rounded(
                sum_to(grad, x[name].shape),
                dtype,
                f"the gradient of {name} overflows",
            )
            if name in x
            else None
            for name, grad in zip(AXES, found, strict=True)
        )
    )


def _result_gradient(name, array, shape, target):
    """The gradient of a result, which must have the result's shape."""
    array = as_finite_floats(array, name, ndim=2, axes=f"of the {target}")
    if array.shape != shape:
        raise ValueError(
            f"{name} must have the shape of the {target}; "
            f"got {name} {array.shape} and {shape}"
        )
    return array


def _stepped_vjp(dO, dS, Q, K, V, beta, log_decay, S, corrects, scale):
    """The six gradients, for checked arguments."""
    beta, decay = beta[..., None], np.exp(log_decay)[..., None]
    T, steps = K.shape[-2], []
    for t in range(T):
        row = np.s_[..., t : t + 1, :]
        step = _step(S, K[row], V[row], beta[row], decay[row], corrects)
        steps.append(step)
        S = step[-1]
    dQ, dK, dV = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
    dbeta, dlog = np.zeros_like(beta), np.zeros_like(decay)
    for t in reversed(range(T)):
        row, (shrunk, error, S) = np.s_[..., t : t + 1, :], steps[t]
        dQ[row] = scale * dO[row] @ _transposed(S)
        dS = dS + scale * _transposed(Q[row]) @ dO[row]
        reads = K[row] @ dS
        dbeta[row] = (reads * error).sum(-1, keepdims=True)
        derror = beta[row] * reads
        dV[row] = derror
        dK[row] = beta[row] * error @ _transposed(dS)
        if corrects:
            dK[row] -= derror @ _transposed(shrunk)
            dS = dS - _transposed(K[row]) @ derror
        dlog[row] = (shrunk * dS).sum((-1, -2))[..., None, None]
        dS = decay[row] * dS
    return dQ, dK, dV, dbeta[..., 0], dlog[..., 0], dS
