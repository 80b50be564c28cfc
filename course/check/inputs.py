"""Inputs on which attention is tried: small, random, and cut down."""

import inspect
from typing import NamedTuple

import numpy as np

from helpers.masks import causal_mask, window_mask

SIZES = [1, 2, 3, 4, 8, 20]  # of columns, and of the heads that share a key
SQUARE = "square"  # a causal mask for as many queries as keys alone
FIELDS = {"given scale": "scale", "cache": "cuts"}  # of a case, for a feature


class Case(NamedTuple):
    """An input: arrays (..., T, d), and what else the function is given."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    mask: np.ndarray | None = None  #: True = may attend
    causal: bool = False
    window: int | None = None
    scale: float | None = None
    sinks: np.ndarray | None = None
    cuts: tuple = ()  #: the number of positions in each call with a cache
    refusable: bool = False  #: an error is right as well
    random: bool = False  #: which may be cut down to what a fault needs


def case(Q, K, V, mask=None, dtype=float, **more):
    mask = None if mask is None else np.array(mask, bool)
    return Case(*(np.array(x, dtype) for x in (Q, K, V)), mask, **more)


def causal(case, options):
    """The causal mask of a case, with its window, or None."""
    if not case.causal and options.causal != "always":
        return None
    T, S = case.Q.shape[-2], case.K.shape[-2]
    upper = options.corner == "upper left"
    mask = np.tri(T, S, dtype=bool) if upper else causal_mask(T, S)
    if case.window:
        mask &= window_mask(T, S, left=case.window - 1, right=None)
    return mask


def allowed(case, options):
    """Which keys each query may attend to, or None for all."""
    mask = causal(case, options)
    if mask is None or case.mask is None:
        return case.mask if mask is None else mask
    return mask & case.mask


def asked(options):
    """Which of the features that a function may have it is said to have."""
    return {
        **{name: bool(getattr(options, name)) for name in
           ("causal", "window", "sinks", "groups", "cache", "gradients")},
        "given scale": isinstance(options.scale, str),
    }  # fmt: skip


def derived(name, options):
    """Whether the function of the gradients takes a feature's argument."""
    if name == "groups" or not callable(options.gradients):
        return True
    argument = getattr(options, FIELDS.get(name, name))
    return argument in inspect.signature(options.gradients).parameters


def narrow(case):
    """The same in single precision."""
    given = {name: getattr(case, name) for name in ("Q", "K", "V", "sinks")}
    return case._replace(**{
        name: x.astype(np.float32) for name, x in given.items()
        if x is not None
    })  # fmt: skip


def axes_of(options):
    """The number of axes that the function takes at the most."""
    return {"TD": 2, "BTD": 3}.get(options.axes, 4)


def drawn(count, options, *features):
    """Random inputs of whole numbers with these features, small ones first."""
    rng, cases = np.random.default_rng(0), []
    if "window" in features:  # which counts the positions before a query
        features += ("causal",)
    for _ in range(count):
        T, B, H, window, *parts = rng.integers(1, 5, 8).tolist()
        S = int(rng.integers(1, 8))
        d_k, d_v, n = (int(rng.choice(SIZES)) for _ in range(3))
        early = "causal" in features or options.causal == "always"
        if early:
            T, S = min(T, S), max(T, S)
        if early and options.corner == SQUARE:
            S = T
        if "cache" in features:
            T = S = sum(parts)
        lead = (B, H)[: rng.integers(axes_of(options) - 1)]
        if "groups" in features or "sinks" in features:
            lead = (B, H)[rng.integers(2) if options.axes == "...TD" else 0 :]
        of_queries = (*lead[:-1], H * n) if "groups" in features else lead
        Q, K, V = (
            rng.integers(-3, 4, (*of, *shape))
            for of, *shape in ((of_queries, T, d_k), (lead, S, d_k),
                               (lead, S, d_v))
        )  # fmt: skip
        mask = rng.random((*of_queries, T, S)) < 0.6
        bare = "cache" in features or rng.random() < 0.3
        if "gradients" in features:  # whose rows all see a key
            mask |= ~mask.any(axis=-1, keepdims=True)
            bare |= early
        more = {
            "causal": True,
            "window": window,
            "given scale": float(rng.choice([0.25, 2.0, 3.0])),
            "sinks": rng.integers(-2, 3, of_queries[-1:]).astype(float),
            "cache": tuple(parts),
        }
        more = {FIELDS.get(f, f): more[f] for f in features if f in more}
        more["refusable"] = "causal" in more and not bare  # two masks at once
        mask = None if bare else mask
        cases.append(case(Q, K, V, mask, random=True, **more))
    return sorted(cases, key=lambda one: sum(x.size for x in one[:3]))


def fits(case, options):
    """Whether the function can be given a case."""
    T, S = case.Q.shape[-2], case.K.shape[-2]
    early = case.causal or options.causal == "always"
    by_mask = options.mask != "none"
    if early and (T > S or (T < S and options.corner == SQUARE)):
        return False
    may, given = allowed(case, options), case.mask
    if given is not None and given.ndim < case.Q.ndim == len(options.axes):
        return False  # which of four axes three are is not said
    return (
        case.Q.ndim <= axes_of(options)
        and (by_mask or case.mask is None)
        and (by_mask or bool(options.causal or case.window) or not case.causal)
        and (
            may is None
            or "empty" not in options.skip.split(",")
            or bool(may.any(axis=-1).all())
        )
    )


def widened(case):
    """The same with values as wide as the keys, by repeating columns."""
    columns = np.arange(case.K.shape[-1]) % case.V.shape[-1]
    return case._replace(V=case.V[..., columns])


def smaller(case, equal_widths=False):
    """Yield cases with one part less: a sequence, query, key, column or mask.

    Groups of heads, and calls with a cache, stay as they are.
    """
    fields, bare = case._asdict(), case.mask is None
    names = "QKV" if bare else ["Q", "K", "V", "mask"]

    def without(size, **axes):
        """Cases without half of an axis of named arrays, or without one."""
        halves = [range(size // 2), range(size // 2, size)] if size > 3 else []
        for i in [*halves, *range(size)]:
            yield case._replace(**{
                name: np.delete(fields[name], i, axis)
                for name, axis in axes.items() if fields[name] is not None
            })  # fmt: skip

    T, d_k, S, d_v = *case.Q.shape[-2:], *case.V.shape[-2:]
    plain = case.sinks is None and case.Q.shape[:-2] == case.K.shape[:-2]
    for axis in range(case.Q.ndim - 2):
        size = case.K.shape[axis]
        if size == 1 and axis == 0 and plain:
            yield case._replace(**{n: fields[n][0] for n in names})
        if size > 1 and (plain or (axis == 0 and case.Q.ndim > 3)):
            yield from without(size, **dict.fromkeys(names, axis))
    if not case.cuts:
        if T > 1:
            yield from without(T, Q=-2, mask=-2)
        if S > (T if case.causal else 1):
            yield from without(S, K=-2, V=-2, mask=-1)
    if not equal_widths:
        if d_k > 1:
            yield from without(d_k, Q=-1, K=-1)
        if d_v > 1:
            yield from without(d_v, V=-1)
    if not bare:
        yield case._replace(mask=None)
