"""Latent attention in plain loops: one entry at a time, nothing folded.

This file imports `math` only and the helpers never import it. Arrays are
nested lists; a weight matrix is read through the columns of its head.
"""

import math


def product(row, W, start=0, stop=None):
    """A row times some columns of a matrix."""
    stop = len(W[0]) if stop is None else stop
    return [
        math.fsum(row[i] * W[i][j] for i in range(len(row)))
        for j in range(start, stop)
    ]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def rms_norm(row, gain, eps):
    mean = math.fsum(x * x for x in row) / len(row)
    return [
        g * x / math.sqrt(mean + eps) for x, g in zip(row, gain, strict=True)
    ]


def turn(row, position, base):
    """Columns 2i and 2i + 1 turned by position / base^(2i/d) radians."""
    result, d = [], len(row)
    for i in range(0, d, 2):
        angle = position / base ** (i / d)
        a, b = row[i], row[i + 1]
        result.append(a * math.cos(angle) - b * math.sin(angle))
        result.append(a * math.sin(angle) + b * math.cos(angle))
    return result


def compress(X, W, positions, base=10000.0, eps=1e-6):
    """The latent vector and the rotated key of each row."""
    latent = [rms_norm(product(x, W["W_DKV"]), W["gain_KV"], eps) for x in X]
    rotated = [
        turn(product(x, W["W_KR"]), t, base)
        for x, t in zip(X, positions, strict=True)
    ]
    return latent, rotated


def latent_queries(X, W, h, d_k, d_r, positions, base=10000.0, eps=1e-6):
    """Both parts of the queries of head h."""
    if W.get("W_DQ") is not None:
        X = [rms_norm(product(x, W["W_DQ"]), W["gain_Q"], eps) for x in X]
    still = [product(x, W["W_UQ"], h * d_k, (h + 1) * d_k) for x in X]
    turned = [
        turn(product(x, W["W_QR"], h * d_r, (h + 1) * d_r), t, base)
        for x, t in zip(X, positions, strict=True)
    ]
    return still, turned


def expand(latent, W, h, d_k, d_v):
    """Keys and values of head h."""
    keys = [product(c, W["W_UK"], h * d_k, (h + 1) * d_k) for c in latent]
    values = [product(c, W["W_UV"], h * d_v, (h + 1) * d_v) for c in latent]
    return keys, values


def latent_attention(X, W, H, allowed=lambda t, s: True, **more):
    """Output and weights of all heads; the output is a sum over heads."""
    d_k, d_v = len(W["W_UK"][0]) // H, len(W["W_UV"][0]) // H
    d_r, positions = len(W["W_KR"][0]), range(len(X))
    latent, rotated = compress(X, W, positions, **more)
    output = [[0.0] * len(W["W_O"][0]) for _ in X]
    weights = []
    for h in range(H):
        still, turned = latent_queries(X, W, h, d_k, d_r, positions, **more)
        keys, values = expand(latent, W, h, d_k, d_v)
        weights.append([])
        for t in range(len(X)):
            exp = []
            for s in range(len(X)):
                score = dot(still[t], keys[s]) + dot(turned[t], rotated[s])
                score /= math.sqrt(d_k + d_r)
                exp.append(math.exp(score) if allowed(t, s) else 0.0)
            total = math.fsum(exp)
            weights[h].append([e / total if total else 0.0 for e in exp])
            for b in range(d_v):
                mixed = dot(weights[h][t], [v[b] for v in values])
                for c in range(len(output[t])):
                    output[t][c] += mixed * W["W_O"][h * d_v + b][c]
    return output, weights


def latent_flops(T, S, H, d_c, d_r, d_k, d_v, absorbed):
    """Multiply-adds of the products, counted one by one, times 2."""
    expand = fold = scores = values = 0
    for _ in range(H):
        for _ in range(0 if absorbed else S):
            expand += d_c * d_k + d_c * d_v
        for _ in range(T):
            if absorbed:
                fold += d_k * d_c + d_c * d_v
            for _ in range(S):
                scores += (d_c if absorbed else d_k) + d_r
                values += d_c if absorbed else d_v
    return {
        "projections": 2 * (expand + fold),
        "scores": 2 * scores,
        "values": 2 * values,
    }
