"""Choosing what to read, in plain loops: one key at a time.

This file imports `math` only and the helpers never import it. Arrays are
nested lists.
"""

import math


def index_scores(Q, K, weights):
    """Q has its heads first; weights has a number a query and head."""
    result = []
    for t in range(len(Q[0])):
        row = []
        for key in K:
            terms = []
            for h, head in enumerate(Q):
                dot = math.fsum(
                    a * b for a, b in zip(head[t], key, strict=True)
                )
                if dot > 0:
                    terms.append(weights[t][h] * dot)
            row.append(math.fsum(terms))
        result.append(row)
    return result


def chosen_mask(scores, k, allowed):
    """The best key that is left, k times; the first of equal ones."""
    result = []
    for t, row in enumerate(scores):
        left = [s for s in range(len(row)) if allowed[t][s]]
        chosen = []
        while left and len(chosen) < k:
            best = left[0]
            for s in left:
                if row[s] > row[best]:
                    best = s
            chosen.append(best)
            left.remove(best)
        result.append([s in chosen for s in range(len(row))])
    return result


def chosen_attention(Q, K, V, chosen):
    """Softmax over the chosen keys alone, which are taken out first."""
    output = []
    for t, query in enumerate(Q):
        read = [s for s in range(len(K)) if chosen[t][s]]
        exp = [
            math.exp(
                math.fsum(a * b for a, b in zip(query, K[s], strict=True))
                / math.sqrt(len(query))
            )
            for s in read
        ]
        output.append(
            [
                math.fsum(e * V[s][c] for e, s in zip(exp, read, strict=True))
                / (math.fsum(exp) or 1)
                for c in range(len(V[0]))
            ]
        )
    return output


def pooled_blocks(X, length, stride):
    """The mean of each block of rows that ends within X."""
    means, start = [], 0
    while start + length <= len(X):
        block = [X[start + i] for i in range(length)]
        means.append(
            [math.fsum(column) / length for column in zip(*block, strict=True)]
        )
        start += stride
    return means


def chosen_blocks(scores, n, length, S, allowed):
    """The best blocks, and then every key of each."""
    result = []
    for row in chosen_mask(scores, n, allowed):
        keys = [False] * S
        for block, read in enumerate(row):
            for i in range(length):
                if read:
                    keys[block * length + i] = True
        result.append(keys)
    return result


def three_branches(Q, K, V, gates, length, n, window):
    """One query at a time: means, chosen blocks, the nearest keys."""
    output = []
    for t, query in enumerate(Q):
        seen = len(K) - len(Q) + t + 1  # tokens up to the query's own
        means = [pooled_blocks(X[:seen], length, length) for X in (K, V)]
        blocks = len(means[0])
        scores = [
            math.fsum(a * b for a, b in zip(query, mean, strict=True))
            for mean in means[0]
        ]
        blocks_read = chosen_blocks(
            [scores], n, length, len(K), [[True] * blocks]
        )
        near = [[seen - window <= s < seen for s in range(len(K))]]
        branches = [
            chosen_attention([query], *means, [[True] * blocks])[0]
            if blocks
            else [0.0] * len(V[0]),
            chosen_attention([query], K, V, blocks_read)[0],
            chosen_attention([query], K, V, near)[0],
        ]
        output.append(
            [
                math.fsum(g * x for g, x in zip(gates[t], column, strict=True))
                for column in zip(*branches, strict=True)
            ]
        )
    return output


def tokens_read(S, length, stride, chosen_length, n_chosen, window):
    """Blocks behind the first that end within S, then the other tokens."""
    compressed = 0
    start = stride
    while start + length <= S:
        compressed += 1
        start += stride
    chosen = 0
    for _ in range(n_chosen):
        chosen += chosen_length
    return compressed, chosen, window


def index_flops(T, S, n_heads, d):
    """One by one: products, comparisons with 0, weighted sums."""
    products = relu = weighting = 0
    for _ in range(T * S * n_heads):
        for _ in range(d):
            products += 2
        relu += 1
        weighting += 2
    return {"products": products, "relu": relu, "weighting": weighting}
