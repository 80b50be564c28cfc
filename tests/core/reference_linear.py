"""A memory of fixed size in plain loops, one number at a time.

As `reference.py`: imports `math` only, and the helpers never import it.
"""

import math


def gated_delta_rule(
    Q, K, V, beta, log_decay, state=None, scale=None, corrects=True
):
    """Outputs and last state of one sequence; the state is a list of rows.

    Without `corrects`, a position adds its value whatever its key reads.
    """
    d_k = len(K[0])
    d_v = len(V[0])
    scale = 1 / math.sqrt(d_k) if scale is None else scale
    S = [[0.0] * d_v for _ in range(d_k)] if state is None else state
    S = [list(row) for row in S]
    output = []
    for t, key in enumerate(K):
        for a in range(d_k):
            for c in range(d_v):
                S[a][c] *= math.exp(log_decay[t])
        for c in range(d_v):
            read = 0.0
            if corrects:
                for a in range(d_k):
                    read += key[a] * S[a][c]
            change = beta[t] * (V[t][c] - read)
            for a in range(d_k):
                S[a][c] += key[a] * change
        row = []
        for c in range(d_v):
            read = 0.0
            for a in range(d_k):
                read += Q[t][a] * S[a][c]
            row.append(scale * read)
        output.append(row)
    return output, S


def short_convolution(X, filters, before=None):
    """Every entry is a sum over the last rows of its column."""
    width = len(filters)
    before = before or [[0.0] * len(X[0])] * (width - 1)
    rows = [list(row) for row in before] + [list(row) for row in X]
    output = []
    for t in range(len(X)):
        row = []
        for c in range(len(X[0])):
            total = 0.0
            for j in range(width):
                total += filters[j][c] * rows[t + j][c]
            row.append(total)
        output.append(row)
    return output, rows[len(X) :]


def delta_rule(Q, K, V, beta, state=None, scale=None):
    """The same without a decay."""
    return gated_delta_rule(Q, K, V, beta, [0.0] * len(K), state, scale)


def linear_attention(Q, K, V, log_decay=None, state=None, scale=None):
    """Every position adds its value in full."""
    decay = [0.0] * len(K) if log_decay is None else log_decay
    ones = [1.0] * len(K)
    return gated_delta_rule(Q, K, V, ones, decay, state, scale, False)
