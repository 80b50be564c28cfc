"""Counting in plain loops: the specification of `helpers.cost`.

This file imports `math` only and the helpers never import it. Arrays are
nested lists. Every operation is done and counted where it is done.
"""

import math


def attention(Q, K, V):
    """Output of one head, and how many operations each stage took."""
    count = {"scores": 0, "scale": 0, "softmax": 0, "values": 0}
    scale = 1 / math.sqrt(len(Q[0]))
    output = []
    for query in Q:
        row = []
        for key in K:
            score = 0.0
            for q, k in zip(query, key, strict=True):
                score += q * k
                count["scores"] += 2  # a multiplication and an addition
            row.append(score * scale)
            count["scale"] += 1
        weights = softmax(row, count)
        mixed = []
        for column in range(len(V[0])):
            total = 0.0
            for weight, value in zip(weights, V, strict=True):
                total += weight * value[column]
                count["values"] += 2
            mixed.append(total)
        output.append(mixed)
    return output, count


def softmax(row, count):
    """One row of weights; its operations are added to `count`."""
    largest = -math.inf
    for score in row:
        largest = score if score > largest else largest
        count["softmax"] += 1  # the comparison
    exponentials, total = [], 0.0
    for score in row:
        exponential = math.exp(score - largest)
        total += exponential
        exponentials.append(exponential)
        count["softmax"] += 3  # subtraction, exponential, addition
    weights = []
    for exponential in exponentials:
        weights.append(exponential / total)
        count["softmax"] += 1  # the division
    return weights


def project(X, W):
    """The product of two matrices, and how many operations it took."""
    count, product = 0, []
    for row in X:
        out = []
        for column in range(len(W[0])):
            total = 0.0
            for x, weights in zip(row, W, strict=True):
                total += x * weights[column]
                count += 2
            out.append(total)
        product.append(out)
    return product, count


def cache(S, n_layers, n_kv_heads, d_k, d_v, batch):
    """How many numbers are stored when S positions arrive one by one."""
    stored = 0
    for _position in range(S):
        for _sequence in range(batch):
            for _layer in range(n_layers):
                for _head in range(n_kv_heads):
                    for _key in range(d_k):
                        stored += 1
                    for _value in range(d_v):
                        stored += 1
    return stored


def seconds(flops, n_bytes, peak_flops, bandwidth):
    """The least time: arithmetic and memory each wait for the slower one."""
    return max(flops / peak_flops, n_bytes / bandwidth)


def decode_step(layer, S, itemsize, batch):
    """Bytes kept, FLOPs and bytes moved of one token per sequence."""
    kept = flops = 0
    moved = layer.parameters * itemsize
    for _ in range(batch):
        for _ in range(layer.parameters):
            flops += 2  # multiply and add
        for position in range(S):
            if layer.reach is not None and position < S - layer.reach:
                continue
            for _ in range(layer.index):  # every key is scored
                kept += itemsize
                moved += itemsize
            flops += layer.index_pair
            # Which ones are chosen does not matter: here, the last.
            reads = layer.chosen is None or position >= S - layer.chosen
            flops += layer.pair if reads else 0
            for _ in range(layer.width):
                if reads:
                    moved += itemsize
                if layer.kind != "shared":
                    kept += itemsize
        for _ in range(layer.state):
            kept += 4
            moved += 4 + 4  # read, and written back
            flops += layer.update
    return kept, flops, moved
