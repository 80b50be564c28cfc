"""Serving in plain loops: one text, one query, one number at a time.

As `reference.py`: imports `math` only, and the helpers never import it.
"""

import math


def turned(row, position, base=10000.0):
    """Column i and column i + d/2 turn by position * base^(-2i/d)."""
    half, new = len(row) // 2, list(row)
    for i in range(half):
        angle = position / base ** (i / half)
        cos, sin = math.cos(angle), math.sin(angle)
        new[i] = row[i] * cos - row[i + half] * sin
        new[i + half] = row[i] * sin + row[i + half] * cos
    return new


def piece(row, W, head, d):
    """The part of a row times W that belongs to a head."""
    return [
        math.fsum(row[i] * W[i][head * d + a] for i in range(len(row)))
        for a in range(d)
    ]


def attend(query, keys, values):
    """One query's mixture of the values."""
    exps = []
    for key in keys:
        dot = math.fsum(q * k for q, k in zip(query, key, strict=True))
        exps.append(math.exp(dot / math.sqrt(len(query))))
    total = math.fsum(exps)
    return [
        math.fsum(e * v[c] for e, v in zip(exps, values, strict=True)) / total
        for c in range(len(values[0]))
    ]


def layer(words, at, W_Q, W_K, W_V, heads, d, asks, sees):
    """Outputs of the words with the numbers `asks`, head by head.

    `words` are rows and word t stands at position `at[t]`. `heads` are the
    numbers of query and of key/value heads; `sees(t, s)` is the mask.
    """
    H, H_kv = heads
    outputs = []
    for h in range(H):
        g = h * H_kv // H  # neighbours share
        outputs.append([])
        for t in asks:
            seen = [s for s in range(len(words)) if sees(t, s)]
            outputs[h].append(
                attend(
                    turned(piece(words[t], W_Q, h, d), at[t]),
                    [turned(piece(words[s], W_K, g, d), at[s]) for s in seen],
                    [piece(words[s], W_V, g, d) for s in seen],
                )
            )
    return outputs


def int8(row):
    """A row in whole numbers, the largest of them 127, and its scale."""
    scale = max(abs(x) for x in row) / 127 or 1
    return [round(x / scale) for x in row], scale


def pages(texts, size):
    """How many pages hold these texts if equal beginnings are shared."""
    result = []
    for text in texts:
        for start in range(0, len(text), size):
            begun = list(text[: start + size])
            if begun not in result:
                result.append(begun)
    return len(result)


def greedy(logits_of, prompt, n):
    """The likeliest next token, n times; each pass reads the whole text."""
    text = list(prompt)
    for _ in range(n):
        row = logits_of(text)[-1]
        text.append(max(range(len(row)), key=lambda word: row[word]))
    return text[len(prompt) :]
