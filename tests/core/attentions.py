"""Right programs for attention in several styles, as readers write them."""

import math

import numpy as np


def by_loops(Q, K, V, mask=None):
    out = np.zeros((len(Q), V.shape[1]), Q.dtype)
    for i in range(len(Q)):
        keys = [j for j in range(len(K)) if mask is None or mask[i, j]]
        dots = [
            sum(float(a) * float(b) for a, b in zip(Q[i], K[j], strict=True))
            for j in keys
        ]
        scores = [dot / math.sqrt(Q.shape[1]) for dot in dots]
        top = max(scores, default=0.0)
        exps = [math.exp(s - top) for s in scores]
        for j, e in zip(keys, exps, strict=True):
            for c in range(V.shape[1]):
                out[i, c] += e / sum(exps) * V[j, c]
    return out


def by_matmul(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    exps = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = exps.sum(axis=-1, keepdims=True)
    return exps @ V / np.where(total == 0, 1, total)


def by_einsum(Q, K, V, mask=None):
    mask = True if mask is None else mask
    s = np.einsum("...td,...sd->...ts", Q, K) * Q.shape[-1] ** -0.5
    low = np.finfo(s.dtype).min
    e = np.exp(s - s.max(axis=-1, where=mask, initial=low, keepdims=True))
    e = np.where(mask, e, 0)
    z = e.sum(-1)
    return np.einsum("...ts,...sv->...tv", e, V) / np.where(z, z, 1)[..., None]


def by_logsumexp(Q, K, V, mask=None):
    s = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    total = np.logaddexp.reduce(s, axis=-1, keepdims=True)
    weights = np.exp(s - np.where(total == -np.inf, 0, total))
    return weights @ V, weights


def online(Q, K, V, mask=None):
    """One key after the other, with a running maximum and sum."""
    top = np.full((*Q.shape[:-1], 1), -np.inf, Q.dtype)
    total = np.zeros_like(top)
    out = np.zeros((*Q.shape[:-1], V.shape[-1]), Q.dtype)
    for j in range(K.shape[-2]):
        key, value = K[..., j, None, :], V[..., j, None, :]
        score = (Q * key).sum(-1, keepdims=True) / math.sqrt(Q.shape[-1])
        if mask is not None:
            score = np.where(mask[..., j, None], score, -np.inf)
        new = np.maximum(top, score)
        safe = np.where(new == -np.inf, 0, new)
        old, e = np.exp(top - safe), np.exp(score - safe)
        total, out, top = total * old + e, out * old + e * value, new
    return out / np.where(total == 0, 1, total)


def heads_last(Q, K, V, blocked=None):
    """Of axes (B, T, H, d), and True = blocked."""
    s = np.einsum("bthd,bshd->bhts", Q, K) / math.sqrt(Q.shape[-1])
    if blocked is not None:
        s[np.broadcast_to(blocked, s.shape)] = -np.inf
    low = np.finfo(s.dtype).min
    e = np.exp(s - s.max(-1, keepdims=True, initial=low))
    w = e / np.maximum(e.sum(-1, keepdims=True), np.finfo(e.dtype).tiny)
    return np.einsum("bhts,bshd->bthd", w, V)


def grouped(query, key, value, bias=None):
    """Groups by one more axis, and a mask that is added."""
    B, H, T, d = query.shape
    S, n = key.shape[-2], H // key.shape[1]
    scores = query.reshape(B, -1, n, T, d) @ key[:, :, None].swapaxes(-1, -2)
    scores = scores.reshape(B, H, T, S) / math.sqrt(d)
    scores = scores if bias is None else scores + bias
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.maximum(top, np.finfo(scores.dtype).min))
    w = e / np.where(e.any(-1, keepdims=True), e.sum(-1, keepdims=True), 1)
    return (w.reshape(B, -1, n, T, S) @ value[:, :, None]).reshape(B, H, T, -1)


def options_by_name(Q, K, V, mask=None, is_causal=False, window=None,
                    scale=None, sinks=None):  # fmt: skip
    T, S = Q.shape[-2], K.shape[-2]
    at = np.arange(T)[:, None] + S - T - np.arange(S)
    may = np.ones((T, S), bool) if mask is None else mask
    may = may & (at >= 0) if is_causal else may
    may = may & (at < window) if window else may
    x = Q @ K.swapaxes(-1, -2) * (scale or 1 / math.sqrt(Q.shape[-1]))
    x = np.where(may, x, -np.inf)
    if sinks is not None:
        column = np.broadcast_to(sinks[:, None, None], (*x.shape[:-1], 1))
        x = np.concatenate([x, column], axis=-1)
    x = x - np.maximum(x.max(-1, keepdims=True), np.finfo(x.dtype).min)
    total = np.exp(x).sum(axis=-1, keepdims=True)
    w = np.exp(x) / np.where(total == 0, 1, total)
    return (w[..., :S] @ V).astype(Q.dtype)


def always_causal(Q, K, V):
    rows = []
    for i in range(Q.shape[-2]):
        seen = K.shape[-2] - Q.shape[-2] + i + 1
        rows.append(
            by_matmul(Q[..., i, None, :], K[..., :seen, :], V[..., :seen, :])
        )
    return np.concatenate(rows, axis=-2)


def cached(Q, K, V, mask=None, cache=None):
    if cache is not None:
        cache.append((K, V))
        K, V = (np.concatenate(x, -2) for x in zip(*cache, strict=True))
    return by_matmul(Q, K, V, mask)


def gradients(grad, Q, K, V, mask=None):
    d = math.sqrt(Q.shape[-1])
    _, w = by_logsumexp(Q, K, V, mask)
    dw = grad @ V.swapaxes(-1, -2)
    ds = w * (dw - (w * dw).sum(-1, keepdims=True)) / d
    return ds @ K, ds.swapaxes(-1, -2) @ Q, w.swapaxes(-1, -2) @ grad


# Each right program, with the options that say how it is called.
RIGHT = {
    by_loops: {"axes": "TD"},
    by_matmul: {},
    by_einsum: {},
    by_logsumexp: {},
    online: {},
    heads_last: {"names": "blocked", "mask": "blocked", "axes": "BTHD"},
    grouped: {"names": "query key value bias", "mask": "additive",
              "axes": "BHTD", "groups": True},
    options_by_name: {"causal": "is_causal", "window": "window",
                      "scale": "scale", "sinks": "sinks"},
    always_causal: {"causal": "always", "mask": "none"},
    cached: {"cache": list, "gradients": gradients},
}  # fmt: skip
