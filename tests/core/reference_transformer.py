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
            change, weights = attended(read, get, block, own)
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
