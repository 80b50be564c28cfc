"""A transformer in plain loops: the specification of `helpers.transformer`.

This file imports `math` only and the helpers never import it. Arrays are
nested lists, one sequence at a time, one entry at a time.
"""

import math


def affine(row, W, b):
    """A row times a matrix, plus a vector that may be None."""
    return [
        math.fsum(row[i] * W[i][j] for i in range(len(row)))
        + (b[j] if b else 0.0)
        for j in range(len(W[0]))
    ]


def normed(row, gain, bias, eps=1e-5):
    """Layer normalisation; by the root mean square where bias is None."""
    middle = 0.0 if bias is None else math.fsum(row) / len(row)
    square = math.fsum((x - middle) ** 2 for x in row) / len(row)
    return [
        gain[i] * (x - middle) / math.sqrt(square + eps)
        + (bias[i] if bias else 0.0)
        for i, x in enumerate(row)
    ]


def bent(x, activation):
    """One number through the activation."""
    if activation == "relu":
        return x if x > 0 else 0.0
    if activation == "gelu":
        return x * 0.5 * math.erfc(-x / math.sqrt(2))
    if activation == "silu":
        return x / (1 + math.exp(-x))
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + math.tanh(inner))


def turned(row, position, base, frequencies):
    """Column i and column i + d/2 turn by position * base^(-2i/d).

    With frequencies given, n of them, column i and column i + n turn by
    position * frequencies[i], and columns from 2n on stay.
    """
    half = len(row) // 2 if frequencies is None else len(frequencies)
    new = list(row)
    for i in range(half):
        angle = position / base ** (i / half)
        if frequencies is not None:
            angle = position * frequencies[i]
        cos, sin = math.cos(angle), math.sin(angle)
        new[i] = row[i] * cos - row[i + half] * sin
        new[i + half] = row[i] * sin + row[i + half] * cos
    return new


def bucket(distance, buckets, max_distance):
    """T5's bucket, by its formula with logarithms."""
    near = buckets // 2
    if distance < near:
        return distance
    share = math.log(distance / near) / math.log(max_distance / near)
    return min(near + int(share * (buckets - near)), buckets - 1)


def slope(head, n_heads):
    """ALiBi's slope where the number of heads is a power of two."""
    return 2.0 ** (-8 * (head + 1) / n_heads)


def sinusoid(position, column, d_model, base):
    angle = position / base ** (2 * (column // 2) / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)


def attended(rows, get, block, c):
    """What causal attention adds to each row, and its weights by head."""
    d_k = c["head_width"] or c["d_model"] // c["n_heads"]
    shared = c["n_heads"] // c["n_kv_heads"]
    scale = 1 / math.sqrt(d_k) if c["scale"] is None else c["scale"]

    def part(name, t, head):
        whole = affine(
            rows[t], get(f"{block}.{name}"), get(f"{block}.{name}.bias")
        )
        gain = None if name == "W_V" else get(f"{block}.norm_{name[-1]}.gain")
        if c["query_key_norm"] == "whole" and gain:
            whole = normed(whole, gain, None, c["eps"])
        piece = whole[head * d_k : (head + 1) * d_k]
        if c["query_key_norm"] == "head" and gain:
            piece = normed(piece, gain, None, c["eps"])
        if c["positions"] == "rotary" and name != "W_V":
            piece = turned(piece, t, c["base"], c["frequencies"])
        return piece

    heads, weights = [[] for _ in rows], []
    for h in range(c["n_heads"]):
        weights.append([])
        for t in range(len(rows)):
            first = 0 if c["window"] is None else max(0, t + 1 - c["window"])
            query = part("W_Q", t, h)
            exps = [0.0] * len(rows)
            for s in range(first, t + 1):
                key = part("W_K", s, h // shared)
                score = scale * math.fsum(
                    query[a] * key[a] for a in range(d_k)
                )
                if c["softcap"] is not None:
                    score = c["softcap"] * math.tanh(score / c["softcap"])
                if c["positions"] == "alibi":
                    score -= slope(h, c["n_heads"]) * (t - s)
                if c["positions"] == "t5":
                    i = bucket(t - s, c["num_buckets"], c["max_distance"])
                    score += get("positions")[i][h]
                exps[s] = math.exp(score)
            sink = math.exp(get(f"{block}.sinks")[h]) if c["sinks"] else 0.0
            total = math.fsum([*exps, sink])
            weights[h].append([e / total for e in exps])
            values = [part("W_V", s, h // shared) for s in range(t + 1)]
            mixed = [
                math.fsum(exps[s] / total * values[s][a] for s in range(t + 1))
                for a in range(d_k)
            ]
            if c["output_gate"]:
                gates = affine(
                    rows[t], get(f"{block}.W_G"), get(f"{block}.W_G.bias")
                )[h * d_k : (h + 1) * d_k]
                mixed = [
                    x / (1 + math.exp(-g))
                    for x, g in zip(mixed, gates, strict=True)
                ]
            heads[t] += mixed
    W_O, b_O = get(f"{block}.W_O"), get(f"{block}.W_O.bias")
    return [affine(row, W_O, b_O) for row in heads], weights


def latent_attended(rows, get, block, c):
    """The same where keys and values are made of one short vector a row."""
    d_c, d_r, d_v, d_q, eps = c["latent"]
    d_k, H, n = c["head_width"], c["n_heads"], len(rows)
    scale = 1 / math.sqrt(d_k + d_r) if c["scale"] is None else c["scale"]

    def times(row, name, start, width):
        return affine(row, get(f"{block}.{name}"), None)[start : start + width]

    def gain(name):
        return get(f"{block}.{name}.gain")

    def rotated(row, t):  # neighbours turn together
        new = list(row)
        for i in range(d_r // 2):
            angle = t / c["base"] ** (2 * i / d_r)
            a, b = row[2 * i], row[2 * i + 1]
            new[2 * i] = a * math.cos(angle) - b * math.sin(angle)
            new[2 * i + 1] = a * math.sin(angle) + b * math.cos(angle)
        return new

    kept = [
        normed(times(x, "W_DKV", 0, d_c), gain("norm_KV"), None, eps)
        for x in rows
    ]
    shared = [rotated(times(x, "W_KR", 0, d_r), t) for t, x in enumerate(rows)]
    asked = rows
    if d_q is not None:
        asked = [
            normed(times(x, "W_DQ", 0, d_q), gain("norm_Q"), None, eps)
            for x in rows
        ]
    heads, weights = [[] for _ in rows], []
    for h in range(H):
        weights.append([])
        for t in range(n):
            first = 0 if c["window"] is None else max(0, t + 1 - c["window"])
            query = times(asked[t], "W_UQ", h * d_k, d_k)
            query += rotated(times(asked[t], "W_QR", h * d_r, d_r), t)
            exps, mixed = [0.0] * n, [0.0] * d_v
            for s in range(first, t + 1):
                key = times(kept[s], "W_UK", h * d_k, d_k) + shared[s]
                exps[s] = math.exp(
                    scale
                    * math.fsum(q * k for q, k in zip(query, key, strict=True))
                )
            weights[h].append([e / math.fsum(exps) for e in exps])
            for s in range(first, t + 1):
                value = times(kept[s], "W_UV", h * d_v, d_v)
                for a in range(d_v):
                    mixed[a] += weights[h][t][s] * value[a]
            heads[t] += mixed
    return [affine(row, get(f"{block}.W_O"), None) for row in heads], weights


def remembered(rows, get, block, c):
    """The same where each head keeps a matrix in the place of all keys."""
    h, H, d_k, d_v, width = c["memory"]

    def times(row, name):
        return affine(row, get(f"{block}.{name}"), None)

    raw = [times(x, "W_Q") + times(x, "W_K") + times(x, "W_V") for x in rows]
    filters, mixed = get(f"{block}.filters"), []
    for t in range(len(rows)):
        row = []
        for i in range(len(raw[0])):
            total = 0.0
            for j in range(width):
                if t + j >= width - 1:
                    total += filters[j][0][i] * raw[t + j - width + 1][i]
            row.append(bent(total, "silu"))
        mixed.append(row)
    heads = [[] for _ in rows]
    for head in range(H):
        state = [[0.0] * d_v for _ in range(d_k)]
        start = head // (H // h) * d_k
        for t, x in enumerate(rows):

            def unit(at, row=mixed[t]):
                part = row[at : at + d_k]
                length = math.sqrt(math.fsum(a * a for a in part) + 1e-6)
                return [a / length for a in part]

            query, key = unit(start), unit(h * d_k + start)
            at = 2 * h * d_k + head * d_v
            value = mixed[t][at : at + d_v]
            beta = 1 / (1 + math.exp(-times(x, "W_B")[head]))
            rate = math.exp(get(f"{block}.log_rate")[head])
            step = times(x, "W_A")[head] + get(f"{block}.decay_bias")[head]
            decay = math.exp(-rate * math.log1p(math.exp(step)))
            read = [0.0] * d_v
            for b in range(d_v):
                old = decay * math.fsum(
                    key[a] * state[a][b] for a in range(d_k)
                )
                for a in range(d_k):
                    state[a][b] = decay * state[a][b]
                    state[a][b] += beta * key[a] * (value[b] - old)
                    read[b] += query[a] / math.sqrt(d_k) * state[a][b]
            gates = times(x, "W_G")[head * d_v : (head + 1) * d_v]
            gain = get(f"{block}.norm_O.gain")
            heads[t] += [
                a * bent(g, "silu")
                for a, g in zip(
                    normed(read, gain, None, c["eps"]), gates, strict=True
                )
            ]
    return [affine(row, get(f"{block}.W_O"), None) for row in heads], None


def widened(rows, get, block, c):
    """What the feed-forward network adds to each row."""
    changes = []
    for row in rows:
        hidden = affine(row, get(f"{block}.W_1"), get(f"{block}.W_1.bias"))
        hidden = [bent(x, c["activation"]) for x in hidden]
        if c["gated"]:
            gate = affine(row, get(f"{block}.W_3"), get(f"{block}.W_3.bias"))
            hidden = [h * g for h, g in zip(hidden, gate, strict=True)]
        changes.append(
            affine(hidden, get(f"{block}.W_2"), get(f"{block}.W_2.bias"))
        )
    return changes


def logits(tokens, params, c):
    """One row for each token, and the weights of each block's heads."""

    def get(name):
        return params.get(name)

    def norm(rows, name):
        return [
            normed(row, get(f"{name}.gain"), get(f"{name}.bias"), c["eps"])
            for row in rows
        ]

    def around(rows, layer, name):
        first = c["norm"] in ("pre", "sandwich")
        change = layer(norm(rows, name) if first else rows)
        if c["norm"] in ("output", "sandwich"):
            change = norm(change, f"{name}_out")
        added = [
            [x + y for x, y in zip(a, b, strict=True)]
            for a, b in zip(rows, change, strict=True)
        ]
        return norm(added, name) if c["norm"] == "post" else added

    factor = 1.0 if c["embedding_scale"] is None else c["embedding_scale"]
    rows = [[factor * x for x in get("embedding")[token]] for token in tokens]
    for t, row in enumerate(rows):
        for i in range(c["d_model"]):
            if c["positions"] == "learned":
                row[i] += get("positions")[t][i]
            if c["positions"] == "sinusoidal":
                row[i] += sinusoid(t, i, c["d_model"], c["base"])
    maps = []
    for block in range(c["n_layers"]):

        def attention(read, block=block):
            own = c | (c["blocks"][block] if c["blocks"] else {})
            layer = attended
            if own["latent"]:
                layer = latent_attended
            if own["memory"]:
                layer = remembered
            change, weights = layer(read, get, block, own)
            maps.append(weights)
            return change

        def network(read, block=block):
            return widened(read, get, block, c)

        rows = around(rows, attention, f"{block}.norm_1")
        if c["d_ff"] is not None:
            rows = around(rows, network, f"{block}.norm_2")
    if c["norm"] != "post":
        rows = norm(rows, "norm")
    if c["tied"]:
        table = get("embedding")
        output = [list(column) for column in zip(*table, strict=True)]
    else:
        output = get("output")
    rows = [affine(row, output, get("output.bias")) for row in rows]
    bound = c["logits_softcap"]
    if bound is not None:
        rows = [[bound * math.tanh(x / bound) for x in row] for row in rows]
    return rows, maps


def loss(row, target):
    """Minus the logarithm of the target's share."""
    top = max(row)
    total = math.fsum(math.exp(x - top) for x in row)
    return top + math.log(total) - row[target]
