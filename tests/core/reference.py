"""Attention in plain loops: slow, obvious, and independent of NumPy.

This file imports `math` only and the helpers never import it. It is the
specification that `helpers` is tested against. Arrays are nested lists.
"""

import math


def softmax(row, allowed=None):
    """Weights of one row; zeros where nothing is allowed."""
    allowed = [True] * len(row) if allowed is None else allowed
    kept = [x for x, may in zip(row, allowed, strict=True) if may]
    kept = [x for x in kept if x != -math.inf]
    if not kept:
        return [0.0 for _ in row]
    top = max(kept)
    total = math.fsum(math.exp(x - top) for x in kept)
    return [
        math.exp(x - top) / total if may and x != -math.inf else 0.0
        for x, may in zip(row, allowed, strict=True)
    ]


def logsumexp(row):
    """log of the sum of exp, of one row."""
    kept = [x for x in row if x != -math.inf]
    if not kept:
        return -math.inf
    top = max(kept)
    return top + math.log(math.fsum(math.exp(x - top) for x in kept))


def entropy(row):
    """Entropy in nats of one row."""
    return -math.fsum(w * math.log(w) for w in row if w > 0)


def attention(
    Q, K, V, allowed=None, bias=None, scale=None, softcap=None, sink=None
):
    """Output and weights of one sequence, one entry at a time.

    A sink is a key that any query may attend to, and whose value is zero.
    """
    d_k = len(Q[0])
    scale = 1 / math.sqrt(d_k) if scale is None else scale
    output, weights = [], []
    for t, query in enumerate(Q):
        scores = []
        for s, key in enumerate(K):
            dot = 0.0
            for a in range(d_k):
                dot += query[a] * key[a]
            score = dot * scale
            if softcap is not None:
                score = softcap * math.tanh(score / softcap)
            scores.append(score + (bias[t][s] if bias else 0.0))
        may = list(allowed[t]) if allowed else [True] * len(K)
        if sink is None:
            row = softmax(scores, may)
        else:
            row = softmax([*scores, sink], [*may, True])[:-1]
        mixed = []
        for c in range(len(V[0])):
            total = 0.0
            for s in range(len(K)):
                total += row[s] * V[s][c]
            mixed.append(total)
        weights.append(row)
        output.append(mixed)
    return output, weights


def may_attend(query, key, T, S, window=None):
    """Whether query t of the last T may see key s of S positions."""
    position = (S - T) + query
    if key > position:
        return False
    return window is None or position - key < window


def in_reach(query, key, T, S, left=None, right=None):
    """Whether query t of the last T has key s within reach on its side."""
    position = (S - T) + query
    if key < position:
        return left is None or position - key <= left
    return right is None or key - position <= right
