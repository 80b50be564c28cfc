"""The rules for arguments and results of the helpers, each once."""

import math
import operator
from contextlib import contextmanager
from numbers import Real

import numpy as np

# Below this limit float64 can represent every integer. No size, and no integer
# used in a computation, may reach it.
EXACT = 2**53


def _is_masked(x):
    """Whether `x` is a masked array, or lists that contain one."""
    if isinstance(x, list | tuple):
        return any(map(_is_masked, x))
    return isinstance(x, np.ma.MaskedArray)


def as_array(x, name):
    """`x` as an array of any type."""
    if type(x) is np.ndarray:
        return x
    if _is_masked(x):
        raise TypeError(
            f"{name} must not be a masked array, whose mask would be dropped; "
            "fill it, and pass a mask where there is an argument for it"
        )
    if hasattr(x, "_fields"):
        raise TypeError(
            f"{name} must be one array; got {type(x).__name__}, "
            f"which has {', '.join(x._fields)}"
        )
    try:
        return np.asarray(x)
    except ValueError:
        raise ValueError(
            f"{name} must be an array, its rows of equal length"
        ) from None


def check_axes(x, name, ndim, axes):
    """`x`, if it has at least the named axes."""
    if x.ndim < ndim:
        raise ValueError(f"{name} must have axes {axes}; got {name} {x.shape}")
    return x


def as_floats(x, name, *, ndim=0, axes=None):
    """`x` as a float array: integers become float64, other floats stay."""
    x = as_array(x, name)
    if x.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold real numbers; got {x.dtype}")
    check_axes(x, name, ndim, axes)
    if x.dtype.kind == "f":
        native = x.dtype.isnative
        return x if native else x.astype(x.dtype.newbyteorder("="))
    if x.size and max(-int(x.min()), x.max()) >= EXACT:
        raise ValueError(
            f"{name} must hold integers below 2**53, which float64 can "
            "represent; pass floats if rounding does not matter"
        )
    return x.astype(np.float64)


def as_finite_floats(x, name, *, ndim=0, axes=None):
    """`x` as by `as_floats`, but without NaN and infinity."""
    x = as_floats(x, name, ndim=ndim, axes=axes)
    if not np.isfinite(x).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
        raise ValueError(
            f"{name} must be finite; got {x[where]} at {name}[{where}]"
        )
    return x


def as_finite_matrix(x, name, axes):
    """`x` unchanged if it is finite, without a copy of its size."""
    x = as_floats(x, name, ndim=2, axes=axes)
    if x.size and not np.isfinite([x.min(), x.max()]).all():
        as_finite_floats(x, name)  # raises an error, and says where
    return x


def overflow(what, dtype, *names):
    """The error for a result that leaves the range of its type."""
    cure = "pass a wider type, or smaller numbers"
    if names:
        cure = f"pass {' and '.join(names)} in a wider type, or smaller"
    return ValueError(f"{what} {dtype}; {cure}")


def check_finite(x, what, /, **arguments):
    """Refuse a result that is not finite, and say why.

    An argument's entry that is not finite makes an entry of the result not
    finite. Therefore the arguments are read only if the result is not finite
    or is empty. If they are not the cause, `what` overflows.
    """
    finite = np.isfinite(x).all()
    if not finite or x.size == 0:
        for name, argument in arguments.items():
            as_finite_floats(argument, name)
    if not finite:
        raise overflow(what, x.dtype, *arguments)


def rounded(x, dtype, what, /, **arguments):
    """The result `x` in `dtype`, if all of it is finite there."""
    if x.dtype != dtype:
        with np.errstate(over="ignore"):
            x = x.astype(dtype)
    check_finite(x, what, **arguments)
    return x


def as_integer(n, name, *, least=0):
    """`n` as an int, which must be at least `least`."""
    try:
        if isinstance(n, bool | np.ma.MaskedArray):
            raise TypeError
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {n!r}") from None
    if n < least:
        raise ValueError(f"{name} must be at least {least}; got {n}")
    return n


def as_size(n, name, *, least=0):
    """`n` as by `as_integer`, for the length of an axis: below 2**53."""
    n = as_integer(n, name, least=least)
    if n >= EXACT:
        raise ValueError(f"{name} must be below 2**53; got {n}")
    return n


def as_sizes(shape, name):
    """`shape`, a tuple, as integers."""
    if not isinstance(shape, tuple):
        raise TypeError(f"{name} must be a tuple of sizes; got {shape!r}")
    return tuple(as_size(n, f"{name}[{i}]") for i, n in enumerate(shape))


def check_choice(value, name, choices):
    """`value`, if it is one of the choices."""
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
    return value


def check_generator(rng):
    """`rng`, if it is a source of random numbers."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator; got {rng!r}")
    return rng


def as_axis(x, axis, name):
    """`axis` as the non-negative index of an axis of `x`."""
    axis = as_integer(axis, "axis", least=-x.ndim)
    if axis >= x.ndim:
        raise ValueError(
            f"axis must be below the number of axes of {name}; "
            f"got axis {axis} and {name} {x.shape}"
        )
    return axis % x.ndim


def check_flag(value, name):
    """`value`, if it is a bool."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return value


def as_booleans(mask, name, shape, target, *, true="may attend"):
    """`mask` as booleans that broadcast to the `shape` of `target`."""
    mask = as_array(mask, name)
    if mask.dtype != bool:
        raise TypeError(
            f"{name} must be boolean, True = {true}; got {mask.dtype}"
        )
    return as_broadcast(mask, name, shape, target)


def as_broadcast(x, name, shape, target):
    """`x`, if it broadcasts to `shape` without making it larger."""
    if x.shape == shape:
        return x
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(
            f"{name} must broadcast to {target}; "
            f"got {name} {x.shape} and {target} {shape}"
        ) from None


def check_mask(mask, shape, *, spare=0):
    """A mask that broadcasts to the `shape` of the scores, as booleans.

    `padding_mask` has axes for the batch, the heads and the queries. Scores of
    one sequence lack the first, and scores of one head lack axis -3: `spare`
    is the axis that may be left out if its length is 1.
    """
    mask = _without(as_array(mask, "mask"), spare, len(shape))
    return as_booleans(mask, "mask", shape, "scores")


def check_bias(bias, shape, *, spare=0):
    """A bias that broadcasts to the `shape` of the scores, as floats."""
    bias = _without(as_floats(bias, "bias"), spare, len(shape))
    if not (bias < np.inf).all():  # this also excludes NaN
        raise ValueError("bias must not hold NaN or +inf")
    return as_broadcast(bias, "bias", shape, "scores")


def check_sinks(sinks, lead, dtype):
    """A sink for each head: floats of `dtype` that broadcast to `lead`."""
    sinks = as_floats(sinks, "sinks")
    if not (sinks < np.inf).all():  # this also excludes NaN
        raise ValueError("sinks must not hold NaN or +inf")
    sinks = as_broadcast(
        sinks, "sinks", lead, "the leading axes of the scores"
    )
    with np.errstate(over="ignore"):
        narrow = sinks.astype(dtype, copy=False)
    if np.any(np.isinf(narrow) & np.isfinite(sinks)):
        raise ValueError(
            f"sinks overflow {dtype}; pass Q and K in a wider type"
        )
    return narrow


def check_softcap(softcap, dtype, name="softcap"):
    """`softcap` as a positive float in the range of `dtype`."""
    softcap = as_real(softcap, name)
    if softcap <= 0:
        raise ValueError(f"{name} must be above 0; got {softcap}")
    limits = np.finfo(dtype)
    if not float(limits.tiny) <= softcap <= float(limits.max):
        raise ValueError(
            f"{name} must be in the range of {dtype}, in which the scores "
            f"are computed; got {softcap}"
        )
    return softcap


def _without(x, axis, ndim):
    """`x` with at most `ndim` axes, as long as `axis` has length one."""
    while x.ndim > ndim and x.shape[axis] == 1:
        x = x.squeeze(axis)
    return x


def common_leading_axes(**shapes):
    """The common shape of all axes but the last two."""
    leads = {shape[:-2] for shape in shapes.values()}
    if len(leads) == 1:
        return leads.pop()
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        given = " and ".join(f"{n} {shape}" for n, shape in shapes.items())
        raise ValueError(
            f"the leading axes of {' and '.join(shapes)} must broadcast; "
            f"got {given}"
        ) from None


def as_real(x, name):
    """`x` as a finite Python float."""
    number = x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
    # NumPy treats a time span as an integer, and Python treats a bool as one.
    odd = isinstance(number, bool | np.timedelta64)
    if odd or not isinstance(number, Real):
        raise TypeError(f"{name} must be a number; got {x!r}")
    try:
        value = float(number)
    except OverflowError:
        raise ValueError(f"{name} must not exceed float64") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value}")
    return value


def default_scale(scale, d_k):
    """`scale`, or 1/sqrt(d_k) where it is None."""
    if d_k == 0:
        raise ValueError("d_k must be at least 1; got 0")
    return 1 / math.sqrt(d_k) if scale is None else as_real(scale, "scale")


def check_cache(cache):
    """Refuse a cache that cannot append keys together with values."""
    if isinstance(cache, list) or not hasattr(cache, "append"):
        raise TypeError(
            "cache must be a KVCache, or append keys and values like one; "
            f"got {type(cache).__name__}"
        )


@contextmanager
def undone_on_failure(*caches):
    """Undo what the block appended to the caches if it fails.

    A cache may be None. A cache without `truncate` keeps what was appended.
    """
    caches = [cache for cache in caches if cache is not None]
    lengths = [len(cache) for cache in caches]
    try:
        yield
    except BaseException:
        for cache, length in zip(caches, lengths, strict=True):
            if hasattr(cache, "truncate"):
                cache.truncate(length)
        raise


# What overflows, in the words of several helpers.
SCORES = "the scores overflow"
VALUES = "the weighted sum of V overflows"
