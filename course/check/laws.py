"""The laws of attention, and small inputs that show who breaks them."""

from typing import NamedTuple

import numpy as np

from helpers.attention import attention
from helpers.gradients import attention_vjp
from helpers.heads import repeat_kv
from helpers.masks import causal_mask, window_mask


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


class Law(NamedTuple):
    """A rule in words, and inputs on which to try it, small ones first."""

    name: str
    rule: str
    cases: list


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


def formula(case, options):
    """Keyword arguments of the helper that knows what is right."""
    scale = options.scale if isinstance(options.scale, float) else None
    scale = scale if case.scale is None else case.scale
    return {"mask": allowed(case, options), "scale": scale}


def expected(case, options):
    """The right output, in double precision."""
    Q, K, V = (X.astype(float) for X in case[:3])
    if Q.ndim > 2:
        K, V = (repeat_kv(X, Q.shape[-3] // X.shape[-3]) for X in (K, V))
    given = formula(case, options)
    output = attention(Q, K, V, **given, sinks=case.sinks).output
    if given["mask"] is None or options.empty == "zeros":
        return output
    rows = given["mask"].any(axis=-1, keepdims=True)
    mean = V.mean(axis=-2, keepdims=True)
    return np.where(rows, output, mean if options.empty == "mean" else np.nan)


def slopes(case, grad, options):
    """The right gradients with respect to Q, K and V."""
    given = formula(case, options)
    weights = attention(*case[:3], **given).weights
    return attention_vjp(grad, *case[:3], weights, scale=given["scale"])[:3]


def asked(options):
    """Which of the features that a function may have it is said to have."""
    return {
        **{name: bool(getattr(options, name)) for name in
           ("causal", "window", "sinks", "groups", "cache", "gradients")},
        "given scale": isinstance(options.scale, str),
    }  # fmt: skip


def axes_of(options):
    """The number of axes that the function takes at the most."""
    return {"TD": 2, "BTD": 3}.get(options.axes, 4)


def drawn(count, options, *features):
    """Random inputs of whole numbers with these features, small ones first."""
    rng, cases = np.random.default_rng(0), []
    if "window" in features:  # which counts the positions before a query
        features += ("causal",)
    for _ in range(count):
        T, d_k, d_v, B, H, n, window = rng.integers(1, 5, 7).tolist()
        S, first = (int(rng.integers(1, most)) for most in (8, T + 1))
        early = "causal" in features or options.causal == "always"
        if early:
            T, S = min(T, S), max(T, S)
        if "cache" in features or (early and options.corner == SQUARE):
            S, first = T, min(first, T)
        lead = (B, H)[: rng.integers(axes_of(options) - 1)]
        if "groups" in features or "sinks" in features:
            lead = B, H
        of_queries = (*lead[:-1], H * n) if "groups" in features else lead
        Q, K, V = (
            rng.integers(-3, 4, (*of, *shape))
            for of, *shape in ((of_queries, T, d_k), (lead, S, d_k),
                               (lead, S, d_v))
        )  # fmt: skip
        mask = rng.random((*of_queries, T, S)) < 0.6
        if "gradients" in features:
            mask |= ~mask.any(axis=-1, keepdims=True)
        bare = "cache" in features or rng.random() < 0.3
        more = {
            "causal": True,
            "window": window,
            "given scale": float(rng.choice([0.25, 2.0, 3.0])),
            "sinks": rng.integers(-2, 3, of_queries[-1:]).astype(float),
            "cache": (first, *[1] * (T - first)),
        }
        more = {FIELDS.get(f, f): more[f] for f in features if f in more}
        more["refusable"] = "causal" in more and not bare  # two masks at once
        mask = None if bare else mask
        cases.append(case(Q, K, V, mask, random=True, **more))
    return sorted(cases, key=lambda one: sum(x.size for x in one[:3]))


SQUARE = "square"  # a causal mask for as many queries as keys alone
FIELDS = {"given scale": "scale", "cache": "cuts"}  # of a case, for a feature
# Keys and values of the smallest inputs: two or three, of width one.
K2, V2, K3, V3 = [[0], [1]], [[4], [8]], [[1], [2], [3]], [[4], [8], [2]]
TWO = [[2, 1], [0, 1]], [[1, 3], [0, 1]], [[1, 0], [2, 4]]
PAIR = [[[[1], [2]], [[2], [1]]]], [[K2, [[1], [0]]]], [[V2, [[1], [2]]]]
LONG = np.arange(300.0)[:, None]
ONLY, LAST = [True, False], [False, True]


def laws(options):
    """Return all laws, in their order; those not to be tried have no case."""
    factor = "divided by √d_k"
    if isinstance(options.scale, float):
        factor = f"times {options.scale:g}"
    without = {"mean": "the mean of all values", "nan": "NaN"}
    without = without.get(options.empty, "zeros")
    dead = [options.empty != "zeros"] * 2  # no gradient where that is no rule
    wanted = [
        name
        for name, has in asked(options).items()
        if has and name not in ("cache", "gradients")
    ]

    def random(count, *features):
        return drawn(count, options, *features)

    found = [
        Law("average", "Equal scores give equal weights, and the output is "
            "the mean of the values.", [
                case([[0]], [[1], [2]], [[2], [4]]),
                case([[0]], K3, [[1, 0], [2, 3], [6, 3]]),
                case([[3]], [[2]], [[5]])]),
        Law("softmax", "A weight is e to the power of its score, divided by "
            "the sum over all keys.", [
                case([[1]], K2, [[0], [1]]),
                case([[2]], K3, [[1, 0], [0, 1], [0, 0]])]),
        Law("axis", "The weights of each query sum to 1: the softmax is over "
            "the keys.", [
                case(K2, K2, [[1], [0]]),
                case(K2, K3, [[1, 0, 2, 0], [0, 1, 0, 0], [3, 0, 0, 1]])]),
        Law("scale", f"Scores are dot products {factor}.", [
            case([[2, 0, 0, 0]], [[1, 0, 0, 0], [0] * 4], np.eye(2, 3))]),
        Law("match", "Score (i, j) is the dot product of query i and key j, "
            "and its weight belongs to value j.", [case(*TWO)]),
        Law("batch", "Leading axes are separate: each sequence and each head "
            "reads its own keys and values.", [
                case([[[1]], [[2]]], [K2, [[1], [0]]], [V2, [[1], [2]]]),
                case(*PAIR),
                case([[[[1]], [[2]]]] * 2, [[K2, [[1], [0]]]] * 2,
                     [[V2, K2], [[[3], [5]], [[0], [7]]]])]),
        Law("large scores", "Scores of 1,000 are finite, and so is the "
            "output.", [
                case([[1000]], K2, V2), case([[-1000]], [[1], [1]], V2),
                case([[1000], [-1000]], [[1], [2]], V2),
                case([[[1000]], [[-1000]]], [K2] * 2, [V2] * 2),
                case([[[[1000]], [[-1000]]]], [[K2] * 2], [[V2] * 2])]),
        Law("many keys", "It gives the same for hundreds of queries and keys, "
            "in whatever blocks they are read.", [
                case([[1]], LONG, LONG), case([[0], [-1]], LONG, LONG),
                case(LONG, LONG / 100, LONG)]),
        Law("mask", "A key has weight 0 where the mask blocks it, and the "
            "weights of the others sum to 1.", [
                case([[1]], [[1], [2]], V2, [ONLY]),
                case([[1]], K3, V3, [[True, False, True]]),
                case([[1], [2]], K2, V2, [ONLY, [True, True]])]),
        Law("masks", "Each sequence and each head has its own mask; where it "
            "has fewer axes, or axes of length 1, they share it.", [
                case([[[1]]] * 2, [K2] * 2, [V2] * 2, [[ONLY], [LAST]]),
                case([[[1], [2]]] * 2, [K2] * 2, [V2] * 2, [[ONLY], [LAST]]),
                case([[[1], [2]]] * 2, [K2] * 2, [V2] * 2,
                     [ONLY, [True, True]]),
                case(*PAIR, [[[ONLY], [LAST]]]),
                case([[[[1]]] * 2] * 2, [[K2] * 2] * 2, [[V2] * 2] * 2,
                     [[[ONLY]], [[LAST]]])]),
        Law("low scores", "A blocked key has weight 0 even where all allowed "
            "scores are lower by far than its own.", [
                case([[-1]], [[100000], [0]], V2, [ONLY]),
                case([[1]], [[1], [2], [800]], K3, [[True, True, False]])]),
        Law("empty", f"A query that may attend to no key gets {without}.", [
                case([[1]], [[1], [2]], V2, [[False, False]]),
                case([[1], [1]], [[1], [2]], V2,
                     [[False, False], [True, True]])]),
        Law("causal", "A query sees itself and what is earlier; the diagonal "
            f"is at the {options.corner}.", [
                case([[1], [2]], K2, V2, causal=True),
                case([[1]], K2, V2, causal=True),
                case([[1], [2]], K2, V2, [LAST, LAST], causal=True,
                     refusable=True), *random(12, "causal")]),
        Law("window", "A query sees as many positions as the window says, "
            "its own included.", [
                case(K3, K3, V3, causal=True, window=1),
                case(K3, K3, V3, causal=True, window=2),
                *random(12, "window")]),
        Law("given scale", "Scores are dot products times the scale that is "
            "given.", [case([[1]], K2, V2, scale=2.0),
                       *random(8, "given scale")]),
        Law("sinks", "A sink is one more score in each sum, once for each "
            "head; it has no value.", [
                case([[[[0]]]], [[[[0]]]], [[[[4]]]], sinks=np.zeros(1)),
                case([[[[1]]] * 2], [[K2] * 2], [[V2] * 2],
                     sinks=np.array([0.0, 2.0])),
                case([[[[1000]]]], [[[[1]]]], [[[[4]]]], sinks=np.zeros(1)),
                *random(12, "sinks")]),
        Law("groups", "Neighbouring query heads share a key head: with four "
            "and two they read 0 0 1 1.", [
                case([[[[0]]] * 4], [[[[1]], [[1]]]], [[[[4]], [[8]]]]),
                case([[[[1], [2]]] * 4], [[K2, [[1], [0]]]], [[V2, K2]]),
                *random(12, "groups")]),
        Law("cache", "With a cache, a position gets the output that it has "
            "in the whole causal pass.", [
                *(case(K3[:n], V3[:n], K3[:n], causal=True, cuts=cuts)
                  for n, *cuts in ((2, 1, 1), (3, 1, 2), (3, 2, 1))),
                *random(10, "causal", "cache")]),
        Law("types", "The result has the type of the arguments, also where a "
            "row is empty.", [
                case(*TWO, dtype=np.float32), case(*TWO, dtype=np.float16),
                case([[-1], [1]], [[40], [40]], V2,
                     [[False, False], [True, True]], dtype=np.float16)]),
        Law("random", "It gives what attention gives on random inputs.",
            [*random(60), *(random(20, *wanted) if wanted else [])]),
        Law("gradients", "The gradients of Q, K and V are those of the "
            "formula, and 0 where the mask blocks.", [
                case([[1]], K2, [[0], [1]]), case([[1000]], K2, V2),
                case([[1], [2]], K2, V2, [ONLY, [True, True]]),
                case([[1], [2]], K2, V2, [dead, [True, True]]),
                case(*TWO), *random(8, "gradients")]),
    ]  # fmt: skip
    return [law._replace(cases=kept(law, options)) for law in found]


def fits(case, options):
    """Whether the function can be given a case."""
    T, S = case.Q.shape[-2], case.K.shape[-2]
    early = case.causal or options.causal == "always"
    by_mask = options.mask != "none"
    if early and (T > S or (T < S and options.corner == SQUARE)):
        return False
    may = allowed(case, options)
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


def kept(law, options):
    """The cases of a law that the function can be given."""
    skipped = options.skip.split(",")
    if law.name in skipped or not asked(options).get(law.name, True):
        return []
    cases = [one for one in law.cases if fits(one, options)]
    return [*map(widened, cases)] if options.equal_widths else cases


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

    def without(i, **axes):
        """The case without index i along an axis of each named array."""
        cut = {name: np.delete(fields[name], i, axis) for name, axis in
               axes.items() if fields[name] is not None}  # fmt: skip
        return case._replace(**cut)

    T, d_k, S, d_v = *case.Q.shape[-2:], *case.V.shape[-2:]
    plain = case.sinks is None and case.Q.shape[:-2] == case.K.shape[:-2]
    for axis in range(case.Q.ndim - 2):
        size = case.K.shape[axis]
        if size == 1 and axis == 0 and plain:
            yield case._replace(**{n: fields[n][0] for n in names})
        if size > 1 and (plain or axis == 0):
            yield from (without(i, **dict.fromkeys(names, axis))
                        for i in range(size))  # fmt: skip
    if not case.cuts:
        if T > 1:
            yield from (without(i, Q=-2, mask=-2) for i in range(T))
        if S > (T if case.causal else 1):
            yield from (without(i, K=-2, V=-2, mask=-1) for i in range(S))
    if not equal_widths:
        if d_k > 1:
            yield from (without(i, Q=-1, K=-1) for i in range(d_k))
        if d_v > 1:
            yield from (without(i, V=-1) for i in range(d_v))
    if not bare:
        yield case._replace(mask=None)
