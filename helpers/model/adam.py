"""Adam: from gradients to the next parameters."""

from typing import NamedTuple

import numpy as np

from .._checks import as_finite_floats, as_real, rounded


class AdamState(NamedTuple):
    """The state that Adam keeps from step to step."""

    step: int  #: the number of steps taken
    mean: dict  #: running mean of each gradient
    square: dict  #: running mean of its square


def adam_init(params):
    """Make the state before the first step: zeros.

    Parameters
    ----------
    params : dict of str to array
        The parameters to train.

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
    params, gradients, state, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8
):
    """Take one step of Adam.

    Parameters
    ----------
    params : dict of str to array
        The parameters before the step.
    gradients : dict of str to array
        The gradient of the loss for each parameter.
    state : AdamState
        From `adam_init`, or the step before.
    lr : float, default 1e-3
        The learning rate: about how far a parameter moves per step.
    betas : (float, float)
        The fractions of the running means that a step keeps, in [0, 1).
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
        If `lr`, `eps` or one of `betas` is not a number.
    ValueError
        If names or shapes differ, a number is out of range, a gradient is
        not finite, its square overflows, or `eps` is 0 in its type.

    Notes
    -----
    Kingma and Ba 2015, algorithm 1. The running means start at 0 and are
    divided by ``1 - beta**step``, the total weight of their terms.

    Examples
    --------
    >>> params = {"x": np.array([1.0])}
    >>> params, state = adam_step(params, {"x": np.array([5.0])},
    ...                           adam_init(params), lr=0.1)
    >>> params["x"].round(6).tolist(), state.step
    ([0.9], 1)
    """
    _checked_step(params, gradients, state, lr, betas, eps)
    # Python's numbers leave the type of the arrays as it is.
    lr, eps, keep_1, keep_2 = map(float, (lr, eps, *betas))
    t = state.step + 1
    new, mean, square = {}, {}, {}
    for name, x in params.items():
        g = gradients[name]
        mean[name] = keep_1 * state.mean[name] + (1 - keep_1) * g
        with np.errstate(over="ignore"):
            squared = keep_2 * state.square[name] + (1 - keep_2) * g * g
        what = f"the square of the gradient of {name} overflows"
        square[name] = rounded(squared, squared.dtype, what)
        m = mean[name] / (1 - keep_1**t)
        v = square[name] / (1 - keep_2**t)
        with np.errstate(over="ignore"):
            stepped = x - lr * m / (np.sqrt(v) + eps)
        what = f"the step of {name} overflows"
        new[name] = rounded(stepped, stepped.dtype, what, **{name: x})
    return new, AdamState(t, mean, square)


def _checked_step(params, gradients, state, lr, betas, eps):
    dicts = {"gradients": gradients, "state": state.mean}
    for name, other in dicts.items():
        if params.keys() != other.keys():
            odd = sorted(params.keys() ^ other.keys())
            raise ValueError(
                f"params and {name} must have the same names; "
                f"{odd[0]} is in only one"
            )
        for key, x in params.items():
            if np.shape(x) != np.shape(other[key]):
                raise ValueError(
                    f"{name} must have the shapes of params; got {key} "
                    f"{np.shape(other[key])} and {np.shape(x)}"
                )
    eps = as_real(eps, "eps")
    for key, g in gradients.items():
        g = as_finite_floats(g, f"gradients[{key!r}]")
        if g.dtype.type(eps) <= 0:
            raise ValueError(f"eps must be above 0 in {g.dtype}; got {eps}")
    if as_real(lr, "lr") <= 0:
        raise ValueError(f"lr must be above 0; got {lr}")
    if not isinstance(betas, tuple) or len(betas) != 2:
        raise ValueError(f"betas must be two numbers; got {betas!r}")
    if not all(0 <= as_real(beta, "betas") < 1 for beta in betas):
        raise ValueError(f"betas must be at least 0 and below 1; got {betas}")
