"""What the helpers ask of their arguments, each rule stated once."""

import math
import operator

import numpy as np


def floats(x, name, *, ndim=0, axes=""):
    """`x` as a float array: integers become float64, other floats stay."""
    x = np.asarray(x)
    if x.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers; got {x.dtype}")
    if x.ndim < ndim:
        raise ValueError(f"{name} must have axes {axes}; got {name} {x.shape}")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def finite_floats(x, name, *, ndim=0, axes=""):
    """`floats`, and neither NaN nor infinity anywhere."""
    x = floats(x, name, ndim=ndim, axes=axes)
    if not np.isfinite(x).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise ValueError(
            f"{name} must be finite; got {x[where]} at {name}[{where}]"
        )
    return x


def integer(n, name, *, least=0):
    """`n` as an int that is at least `least`."""
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {n!r}") from None
    if n < least:
        raise ValueError(f"{name} must be at least {least}; got {n}")
    return n


def booleans(mask, name, shape, target):
    """`mask` as booleans that broadcast to the `shape` of `target`."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(
            f"{name} must be boolean, True = may attend; got {mask.dtype}"
        )
    return broadcast(mask, name, shape, target)


def broadcast(x, name, shape, target):
    """`x`, if it broadcasts to `shape` without making it larger."""
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(
            f"{name} must broadcast to {target}; "
            f"got {name} {x.shape} and {target} {shape}"
        ) from None


def leading_axes(**arrays):
    """The common shape of all axes but the last two."""
    try:
        return np.broadcast_shapes(*(a.shape[:-2] for a in arrays.values()))
    except ValueError:
        shapes = " and ".join(f"{n} {a.shape}" for n, a in arrays.items())
        raise ValueError(
            f"the leading axes of {' and '.join(arrays)} must broadcast; "
            f"got {shapes}"
        ) from None


def real(x, name):
    """`x` as a finite Python float."""
    try:
        value = float(x)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; got {x!r}") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value}")
    return value


def default_scale(scale, d_k):
    """`scale`, or 1/sqrt(d_k) where it is None."""
    if d_k == 0:
        raise ValueError("d_k must be at least 1; got 0")
    return 1 / math.sqrt(d_k) if scale is None else real(scale, "scale")


def not_overflowed(**arrays):
    """Refuse what left the range of its type on the way."""
    for name, x in arrays.items():
        if not np.isfinite(x).all():
            raise ValueError(
                f"the gradient of {name} overflows {x.dtype}; "
                "pass a wider type, or smaller numbers"
            )
