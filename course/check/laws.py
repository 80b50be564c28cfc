"""The laws of attention, and small inputs that show who breaks them."""

from typing import NamedTuple

import numpy as np

from helpers.attention import attention
from helpers.gradients import attention_vjp
from helpers.heads import repeat_kv

from .inputs import allowed, asked, case, derived, drawn, fits, narrow, widened


class Law(NamedTuple):
    """A rule in words, and inputs on which to try it, small ones first."""

    name: str
    rule: str
    cases: list


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
    if given["mask"] is None or case.sinks is not None:
        return output  # a sink takes all the weight of a row without keys
    if options.empty == "zeros":
        return output
    rows = given["mask"].any(axis=-1, keepdims=True)
    mean = V.mean(axis=-2, keepdims=True)
    return np.where(rows, output, mean if options.empty == "mean" else np.nan)


def slopes(case, grad, options):
    """The right gradients with respect to Q, K and V."""
    given, (Q, *shared) = formula(case, options), case[:3]
    n = Q.shape[-3] // shared[0].shape[-3] if Q.ndim > 2 else 1
    K, V = (repeat_kv(X, n) if n > 1 else X for X in shared)
    weights = attention(Q, K, V, **given, sinks=case.sinks).weights
    of_Q, *others = attention_vjp(
        grad, Q, K, V, weights, scale=given["scale"]
    )[:3]
    if n == 1:
        return of_Q, *others
    # What is read by n heads has the sum of their gradients.
    return of_Q, *(
        G.reshape(*X.shape[:-2], n, *X.shape[-2:]).sum(axis=-3)
        for G, X in zip(others, shared, strict=True)
    )


# Keys and values of the smallest inputs: two or three, of width one.
K2, V2, K3, V3 = [[0], [1]], [[4], [8]], [[1], [2], [3]], [[4], [8], [2]]
TWO = [[2, 1], [0, 1]], [[1, 3], [0, 1]], [[1, 0], [2, 4]]
PAIR = [[[[1], [2]], [[2], [1]]]], [[K2, [[1], [0]]]], [[V2, [[1], [2]]]]
# A prime number of keys, which fill no block, and of which two thirds are seen
# by each query, and by some none of the first 128.
LONG = np.arange(293.0)[:, None]
HOLES = (LONG[:150] + LONG.T) % 3 > 0
HOLES[::2, :128] = False
# Scores that differ by less than one, so that each key has its weight.
MILD = LONG / 1000, LONG / 100, LONG
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

    known = [name for name in wanted if derived(name, options)]

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
                case(*(x * 2 for x in PAIR), [[ONLY], [LAST]]),
                case(*(x * 2 for x in PAIR), [ONLY, [True, True]]),
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
                case(K3, K3, V3, causal=True),
                case([[1], [2]], K2, V2, [LAST, LAST], causal=True,
                     refusable=True), *random(12, "causal")]),
        Law("window", "A query sees as many positions as the window says, "
            "its own included.", [
                case(K3, K3, V3, causal=True, window=1),
                case(K3, K3, V3, causal=True, window=2),
                *random(12, "window"),
                case(*MILD, causal=True, window=100)]),
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
                case([[[[1]]] * 2], [[K2]], [[V2]], [[[ONLY], [LAST]]]),
                *random(12, "groups")]),
        Law("cache", "With a cache, a position gets the output that it has "
            "in the whole causal pass.", [
                *(case(K3[:n], V3[:n], K3[:n], causal=True, cuts=cuts)
                  for n, *cuts in ((2, 1, 1), (3, 1, 2), (3, 2, 1))),
                *random(10, "causal", "cache"),
                *(random(10, "causal", "cache", *wanted) if wanted else [])]),
        Law("many keys", "It gives the same for hundreds of queries and keys, "
            "in whatever blocks they are read.", [
                case([[1]], LONG, LONG), case([[0], [-1]], LONG, LONG),
                case(*MILD), case(MILD[0][:150], *MILD[1:], HOLES),
                case(*MILD, causal=True)]),
        Law("random", "It gives what attention gives on random inputs.",
            [*random(60), *(random(20, *wanted) if wanted else [])]),
        Law("types", "The result has the type of the arguments, also where a "
            "row is empty.", [
                case(*TWO, dtype=np.float32), case(*TWO, dtype=np.float16),
                case([[-1], [1]], [[40], [40]], V2,
                     [[False, False], [True, True]], dtype=np.float16),
                case([[1000], [-1000]], [[1], [2]], V2, dtype=np.float32),
                case([[-1]], [[100000], [0]], V2, [ONLY], dtype=np.float32),
                *map(narrow, random(12, *wanted))]),
        Law("gradients", "The gradients of Q, K and V are those of the "
            "formula, and 0 where the mask blocks.", [
                case([[1]], K2, [[0], [1]]), case([[1000]], K2, V2),
                case([[1], [2]], K2, V2, [ONLY, [True, True]]),
                case([[1], [2]], K2, V2, [dead, [True, True]]),
                case(*TWO), *random(8, "gradients"), case(*MILD),
                *(random(12, "gradients", *known) if known else [])]),
    ]  # fmt: skip
    return [law._replace(cases=kept(law, options)) for law in found]


def kept(law, options):
    """The cases of a law that the function can be given."""
    skipped = options.skip.split(",")
    if law.name in skipped or not asked(options).get(law.name, True):
        return []
    cases = [one for one in law.cases if fits(one, options)]
    return [*map(widened, cases)] if options.equal_widths else cases
