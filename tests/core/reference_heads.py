"""Heads in plain loops: one entry at a time, one head after the other.

This file imports `math` only and the helpers never import it. Arrays are
nested lists; a weight matrix is read through the columns of its head, so
that nothing is ever reshaped.
"""

import math


def split(X, n_heads):
    """Entry (h, t, j) is column h * d + j of row t."""
    d = len(X[0]) // n_heads
    return [
        [[row[h * d + j] for j in range(d)] for row in X]
        for h in range(n_heads)
    ]


def entry(row, W, column):
    """One entry of a row times a matrix."""
    return math.fsum(row[i] * W[i][column] for i in range(len(row)))


def one_head(X, context, W_Q, W_K, W_V, h, g, d_k, d_v, allowed, bias):
    """Output and weights of query head h, reading key/value head g."""
    output, weights = [], []
    for t, x in enumerate(X):
        query = [entry(x, W_Q, h * d_k + a) for a in range(d_k)]
        scores = []
        for s, c in enumerate(context):
            key = [entry(c, W_K, g * d_k + a) for a in range(d_k)]
            dot = math.fsum(query[a] * key[a] for a in range(d_k))
            scores.append(dot / math.sqrt(d_k) + bias(h, t, s))
        exp = [
            math.exp(score) if allowed(h, t, s) else 0.0
            for s, score in enumerate(scores)
        ]
        total = math.fsum(exp)
        row = [e / total if total else 0.0 for e in exp]
        mixed = []
        for b in range(d_v):
            value = [entry(c, W_V, g * d_v + b) for c in context]
            mixed.append(math.fsum(row[s] * value[s] for s in range(len(row))))
        output.append(mixed)
        weights.append(row)
    return output, weights


def multi_head(
    X,
    context,
    W_Q,
    W_K,
    W_V,
    W_O,
    n_heads,
    n_kv_heads,
    allowed=lambda h, t, s: True,
    bias=lambda h, t, s: 0.0,
):
    """Output and weights of all heads; the output is a sum over heads."""
    d_k, d_v = len(W_Q[0]) // n_heads, len(W_V[0]) // n_kv_heads
    d_model = len(W_O[0])
    output = [[0.0] * d_model for _ in X]
    weights = []
    for h in range(n_heads):
        # Neighbouring query heads share: 0 0 1 1, not 0 1 0 1.
        g = h * n_kv_heads // n_heads
        mixed, rows = one_head(
            X, context, W_Q, W_K, W_V, h, g, d_k, d_v, allowed, bias
        )
        weights.append(rows)
        for t in range(len(X)):
            for c in range(d_model):
                for b in range(d_v):
                    output[t][c] += mixed[t][b] * W_O[h * d_v + b][c]
    return output, weights
