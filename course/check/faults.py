"""Attention in six steps, and the faults that replace one of them.

`attend` is right. Each of `FAULTS` names other steps, which make a wrong
program: a check compares a reader's wrong result with theirs to name the
cause, and every check must refuse them.
"""

import numpy as np


def rows(x, sinks=None, *, axis=-1, base=np.e, top=True, times=1):
    """Softmax of scores of which some are -inf; rows without any are zero."""
    shift = x.max(axis=axis, keepdims=True, initial=-1e300) if top else 0.0
    exps = base ** np.where(x > -np.inf, x - shift, -np.inf)
    total = exps.sum(axis=axis, keepdims=True)
    if sinks is not None:
        total = total + times * base ** (sinks[..., None, None] - shift)
    return exps / np.where(total == 0, 1, total)


def plain(x, sinks=None):
    """Softmax without a rule for rows without any key."""
    return shares(np.exp(x - x.max(axis=-1, keepdims=True)))


def shares(x):
    """Divide each row by its sum."""
    return x / x.sum(axis=-1, keepdims=True)


def T(x):
    return x.swapaxes(-1, -2)


RIGHT = {
    "share": lambda X, n: np.repeat(X, n, axis=-3),
    "match": lambda Q, K: Q @ T(K),
    "scale": lambda Q, K, V: Q.shape[-1] ** -0.5,
    "sense": lambda m: m,
    "corner": lambda m: m,
    "hide": lambda x, m: np.where(m, x, -np.inf),
    "weigh": rows,
    "after": lambda w, m: w,
    "mix": lambda w, K, V: w @ V,
}


def attend(Q, K, V, mask=None, causal=None, sinks=None, **steps):
    """Attention with some steps replaced.

    A causal mask, maybe with a window, is apart from `mask`.

    Examples
    --------
    >>> Q, K, V = np.zeros((1, 1)), np.zeros((2, 1)), np.array([[2.0], [4.0]])
    >>> attend(Q, K, V), attend(Q, K, V, **FAULTS["no sum"][1])
    (array([[3.]]), array([[6.]]))
    """
    step = RIGHT | steps
    if Q.ndim > 2 and Q.shape[-3] != K.shape[-3]:
        K, V = (step["share"](X, Q.shape[-3] // X.shape[-3]) for X in (K, V))
    x = step["match"](Q, K) * step["scale"](Q, K, V)
    m = np.ones(x.shape[-2:], bool)
    m = m if mask is None else m & step["sense"](mask)
    m = m if causal is None else m & step["corner"](causal)
    weights = step["weigh"](step["hide"](x, m), sinks)
    return step["mix"](step["after"](weights, m), K, V)


# What a result shows, and the steps of the program that gives it.
FAULTS = {
    "no sum": ("The exponentials are not divided by their sum.",
               {"weigh": lambda x, s: np.exp(x)}),
    "base 2": ("The weights are powers of 2, not of e.",
               {"weigh": lambda x, s: rows(x, s, base=2.0)}),
    "sigmoid": ("Each weight is a sigmoid of its score alone.",
                {"weigh": lambda x, s: 1 / (1 + np.exp(-x))}),
    "largest": ("The key with the largest score gets the whole weight.",
                {"weigh": lambda x, s: np.eye(x.shape[-1])[x.argmax(-1)]}),
    "over queries": ("The softmax is over the queries (axis -2).",
                     {"weigh": lambda x, s: rows(x, axis=-2)}),
    "over all": ("The softmax is over queries and keys together.",
                 {"weigh": lambda x, s: rows(x, axis=(-2, -1))}),
    "over sequences": (
        "The softmax of a batch is over the sequences (axis 0).",
        {"weigh": lambda x, s: rows(x, axis=0 if x.ndim > 2 else -1)}),
    "unscaled": ("The scores are not scaled.", {"scale": lambda *_: 1}),
    "divided by d_k": ("The scores are divided by d_k, not by its root.",
                       {"scale": lambda Q, K, V: 1 / Q.shape[-1]}),
    "root of d_v": ("The scores are divided by √d_v: V.shape[-1] is not d_k.",
                    {"scale": lambda Q, K, V: V.shape[-1] ** -0.5}),
    "root of T": ("The scores are divided by the root of the number of "
                  "queries, not of d_k.",
                  {"scale": lambda Q, K, V: Q.shape[-2] ** -0.5}),
    "root of S": ("The scores are divided by the root of the number of "
                  "keys, not of d_k.",
                  {"scale": lambda Q, K, V: K.shape[-2] ** -0.5}),
    "untransposed": ("The product is Q K, without the transpose.",
                     {"match": lambda Q, K: Q @ K}),
    "exchanged": ("Queries and keys have changed places: K Qᵀ.",
                  {"match": lambda Q, K: K @ T(Q)}),
    "columns": ("The values are mixed with the transpose of the weights.",
                {"mix": lambda w, K, V: T(w) @ V}),
    "keys mixed": ("The output mixes the keys, not the values.",
                   {"mix": lambda w, K, V: w @ K}),
    "first keys": ("Every sequence reads the keys of the first one.",
                   {"match": lambda Q, K: Q @ T(K[:1] if Q.ndim > 2 else K)}),
    "overflow": (
        "The exponential of a large score overflows. Subtract the largest "
        "score of each row first.",
        {"weigh": lambda x, s: shares(np.exp(x))}),
    "one maximum": (
        "One maximum is subtracted from all rows. Each row needs its own.",
        {"weigh": lambda x, s: shares(np.exp(x - x.max()))}),
    "opposite mask": ("True is taken for blocked.", {"sense": lambda m: ~m}),
    "no mask": ("The mask changes nothing.", {"sense": np.ones_like}),
    "mask exchanged": ("Queries and keys have changed places in the mask.",
                       {"sense": T}),
    "first row of mask": ("All queries get the mask of the first one.",
                          {"sense": lambda m: m[..., :1, :]}),
    "first mask": ("Every sequence gets the mask of the first one.",
                   {"sense": lambda m: m[:1] if m.ndim > 2 else m}),
    "mask of one head": ("Every head gets the mask of the first one.",
                         {"sense": lambda m: m[:, :1] if m.ndim > 3 else m}),
    "scores × mask": ("A blocked score is 0, and e⁰ is 1: set it to -inf.",
                      {"hide": lambda x, m: x * m}),
    "scores + mask": ("True and False are added to the scores, as 1 and 0.",
                      {"hide": lambda x, m: x + m}),
    "weights × mask": (
        "The weights are multiplied by the mask, so they no longer sum to 1. "
        "Mask before the softmax.",
        {"hide": lambda x, m: x, "after": lambda w, m: w * m}),
    "low fill": (
        "A blocked score is about -10,000, which others can be below.",
        {"hide": lambda x, m: np.where(m, x, -1e4)}),
    "masked after": (
        "The largest score is blocked, and yet it is subtracted from the "
        "others, so their exponentials are all 0. Mask first.", {
            "hide": lambda x, m: x,
            "after": lambda w, m: shares(w * m)}),
    "empty NaN": (
        "All scores are -inf, and 0/0 is NaN. Such a row needs its own rule.",
        {"weigh": plain}),
    "empty mean": (
        "The row is the mean of all values: a softmax of equal fill values.",
        {"hide": lambda x, m: np.where(m, x, -1e9)}),
    "empty unmasked": (
        "The row is as without a mask: a number that is added to all scores "
        "cancels in the softmax.", {"hide": lambda x, m: x - 1e9 * ~m}),
    "upper left": (
        "The causal mask is aligned at the upper left, so with fewer queries "
        "than keys the last query does not see the last key.",
        {"corner": lambda m: np.tri(*m.shape, dtype=bool)}),
    "no causal mask": ("Every query sees every key.",
                       {"corner": np.ones_like}),
    "strict": ("A query does not see its own position.",
               {"corner": lambda m: m & np.pad(m, ((0, 0), (0, 1)))[:, 1:]}),
    "one ahead": ("A query sees one position of the future.", {
        "corner": lambda m: m | np.pad(m, ((0, 0), (1, 0)))[:, :-1]}),
    "no window": ("The window changes nothing.",
                  {"corner": lambda m: np.tri(*m.shape, m.shape[1] - len(m),
                                              dtype=bool)}),
    "wide window": ("The window is one key too wide.", {
        "corner": lambda m: m | np.pad(m, ((0, 0), (0, 1)))[:, 1:]}),
    "sink twice": ("The sink is in the sum twice.",
                   {"weigh": lambda x, s: rows(x, s, times=2)}),
    "no sink": ("The sink is not in the sum.",
                {"weigh": lambda x, s: rows(x)}),
    "tiled heads": (
        "Query heads take turns: 0 1 0 1. Neighbours share a key head: "
        "0 0 1 1, as np.repeat gives.",
        {"share": lambda X, n: np.concatenate([X] * n, axis=-3)}),
}  # fmt: skip
