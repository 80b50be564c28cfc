"""What the interactive figures must compute, by the helpers; random states."""

import functools
import json
import random

import numpy as np

from helpers import figures
from helpers.attention import attention, attention_scores
from helpers.cost import (
    arithmetic_intensity,
    attention_flops,
    kv_cache_bytes,
    projection_flops,
    roofline,
    scores_bytes,
)
from helpers.gradients import attention_vjp
from helpers.heads import repeat_kv, split_heads
from helpers.masks import causal_mask, padding_mask, sliding_window_mask
from helpers.positions import (
    alibi_bias,
    alibi_slopes,
    rotary_embedding,
    sinusoidal_encoding,
)
from helpers.softmax import entropy, softmax
from helpers.training import INDUCTION, stored, trained_induction
from helpers.transformer import forward


def causal(state):
    """What the causal heatmap shows, by the helpers."""
    T = state["T"]
    length = min(state["length"], T)
    mask = {
        "none": np.ones((T, T), bool),
        "causal": causal_mask(T),
        "sliding": sliding_window_mask(T, window=state["window"]),
        "padding": padding_mask([length], T)[0, 0],
        "causal and left padding": causal_mask(T)
        & padding_mask([length], T)[0, 0, :, ::-1],
    }[state["mask"]]
    i, j = np.arange(T)[:, None], np.arange(T)
    scores = np.cos(i - 2 * j) / state["temperature"]
    # One query and one key of width one make any score: q = 0, bias = score.
    bias = scores - state["slope"] * abs(i - j)
    zeros = np.zeros((T, 1))
    weights = attention(zeros, zeros, zeros, mask=mask, bias=bias).weights
    picked = [min(state[key], T - 1) for key in ("query", "key")]
    return {
        "weights": weights,
        "entropies": entropy(weights),
        "picked": picked,
        "score": bias[tuple(picked)],
    }


def step(state):
    """Every matrix of one attention call, by the helpers."""
    letters = 3 * "X" if state["what"] == "X" else "QKV"
    Q, K, V = (np.array(state[letter]) for letter in letters)
    scale = None if state["scale"] else 1.0
    mask = causal_mask(len(Q), len(K)) if state["causal"] else None
    output, weights = attention(Q, K, V, mask=mask, scale=scale)
    return {
        "dots": attention_scores(Q, K, scale=1.0),
        "scores": attention_scores(Q, K, scale=scale),
        "weights": weights,
        "output": output,
    }


def mulberry32(seed, n):
    """The first n numbers of the stream, from 0 to 1."""
    t = np.uint32(seed) + np.arange(1, n + 1, dtype=np.uint32) * np.uint32(
        0x6D2B79F5
    )
    t = (t ^ (t >> 15)) * (t | 1)
    t ^= t + (t ^ (t >> 7)) * (t | 61)
    return ((t ^ (t >> 14)) + 0.5) / 2**32


def saturation(state):
    """Scores and weights of random queries and keys, by the helpers."""
    S, d_k = state["S"], state["d_k"]
    numbers = mulberry32(state["seed"], (32 + S) * 1024)
    radius = np.sqrt(-2 * np.log(numbers[0::2]))
    angle = 2 * np.pi * numbers[1::2]
    normal = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    vectors = normal.reshape(32 + S, 1024)[:, :d_k]
    Q, K = vectors[:32], vectors[32:]
    scale = None if state["scale"] else 1.0
    scores = attention_scores(Q, K, scale=scale)
    weights = attention(Q, K, K, scale=scale).weights
    return {
        "counts": np.histogram(scores, np.arange(-64, 65))[0],
        "spread": scores.std(),
        "weights": weights[0],
        "largest": weights.max(axis=1).mean(),
        "entropy": entropy(weights).mean(),
    }


def heads(state):
    """What the heads show: column numbers are split, groups repeated."""
    H, H_kv, d = state["H"], state["H_kv"], state["d_k"]
    split = split_heads(np.arange(H * d)[None], H)[:, 0]
    readers = repeat_kv(np.arange(H_kv)[:, None, None], H // H_kv).ravel()
    column = min(state["column"], split.size - 1)
    ((head, place),) = np.argwhere(split == column)
    # Two FLOPs for each weight that one token meets.
    flops = {n: projection_flops(1, H * d, H, n) for n in (H_kv, H)}
    weights = {f"W_{key}": n // 2 for key, n in flops[H_kv].items()}
    weights["total"] = weights.pop("W_total")
    cache = {n: kv_cache_bytes(1, 1, n, d, d, 2) for n in (H_kv, H)}
    return {
        "split": split,
        "kv_head": readers,
        "followed": [column, head, place, readers[head]],
        "parameters": weights,
        "cache": cache[H_kv],
        "multi_head": {"total": flops[H]["total"] // 2, "cache": cache[H]},
    }


# Layers, d_model, H and H_kv, as each model's paper or configuration says.
MODELS = {
    "GPT-2 small": (12, 768, 12, 12),
    "GPT-3": (96, 12288, 96, 96),
    "Llama 2 7B": (32, 4096, 32, 32),
    "Llama 2 13B": (40, 5120, 40, 40),
    "Llama 2 70B": (80, 8192, 64, 8),
    "Llama 3 8B": (32, 4096, 32, 8),
    "Llama 3 70B": (80, 8192, 64, 8),
    "Llama 3.1 405B": (126, 16384, 128, 8),
    "Mistral 7B": (32, 4096, 32, 8),
    "Qwen2.5 72B": (80, 8192, 64, 8),
}


def model_sizes(name):
    """Layers, key/value heads, and widths of a key and of a value."""
    if name == "DeepSeek-V3":
        return 61, 1, 512, 64  # a latent and a rotary key
    L, d_model, H, H_kv = MODELS[name]
    return L, H_kv, d_model // H, d_model // H


def model_bytes(name, itemsize):
    """Bytes of one position in the cache of a named model."""
    L, H_kv, d_k, d_v = model_sizes(name)
    return L * H_kv * (d_k + d_v) * itemsize


def kvcache(state):
    """What the calculator shows, by the helper that counts bytes."""
    kinds = {"float32": 4, "float16 or bfloat16": 2, "8 bits": 1}
    itemsize, S = kinds[state["dtype"]], state["S"]
    L, *sizes = (state[k] for k in ("n_layers", "n_kv_heads", "d_k", "d_v"))
    batch = state["batch"]
    total = kv_cache_bytes(S, L, *sizes, itemsize, batch=batch)
    filled = min(state["filled"], S)
    now = kv_cache_bytes(filled, L, *sizes, itemsize, batch=batch)
    _, d_k, d_v = sizes
    token = kv_cache_bytes(1, L, *sizes, itemsize)
    models = {
        names: {model_bytes(name, itemsize) for name in names.split(", ")}
        for names in figures.presets("kvcache")
    }
    return {
        "per_layer": kv_cache_bytes(1, 1, *sizes, itemsize),
        "per_token": token,
        "per_sequence": kv_cache_bytes(S, L, *sizes, itemsize),
        "total": total,
        "mib": total / 2**20,
        "gib": total / 2**30,
        "tokens_per_gib": 2**30 // token,
        "filled": filled,
        "now": [now * d_k // (d_k + d_v), now * d_v // (d_k + d_v)],
        "room": state["memory"] * 10**9 // (token * batch),
        # Models that share a line agree, or there are two to unpack.
        "models": {names: n for names, (n,) in models.items()},
    }


def positions(state):
    """What the positions show, by the helpers."""
    T, pairs = state["T"], state["pairs"]
    if state["kind"] == "sinusoid":
        pair = min(state["pair"], pairs - 1)
        return {
            "table": sinusoidal_encoding(T, 2 * pairs),
            "wavelength": 2 * np.pi * 10000 ** (pair / pairs),
        }
    if state["kind"] == "ALiBi":
        H, rule = state["heads"], state["rule"]
        return {
            "slopes": alibi_slopes(H, rule=rule),
            "bias": alibi_bias(H, 1, T, rule=rule)[:, 0, ::-1],
        }
    angle = np.deg2rad(state["angle"])
    q = np.tile([1.0, 0.0], (1, pairs))
    k = np.tile([np.cos(angle), np.sin(angle)], (1, pairs))

    def turned(row, at):
        return rotary_embedding(row, [at], interleaved=True)

    def score(distance):
        """Turn the query alone: the distance is all that counts."""
        return attention_scores(turned(q, distance), k)[0, 0]

    m, n, shift = state["m"], state["n"], state["shift"]
    theta = 10000.0 ** (-np.arange(pairs) / pairs)
    step = np.rad2deg(theta[min(state["pair"], pairs - 1)])
    return {
        "query": turned(q, m + shift)[0],
        "key": turned(k, n + shift)[0],
        "score": score(m - n),
        "unmoved": score(m - n),
        "by_distance": [score(distance) for distance in range(-32, 33)],
        # Between whole distances too: one cosine for each pair.
        "curve": np.cos(np.outer(np.arange(-256, 257) / 8, theta) - angle).sum(
            axis=1
        )
        / np.sqrt(2 * pairs),
        "turns": [
            step,
            (m + shift) * step,
            state["angle"] + (n + shift) * step,
        ],
    }


def tiles(state):
    """What the tiles show; a row is summed anew after each of its blocks."""
    T, row = state["T"], min(state["row"], state["T"] - 1)
    q, k = min(state["block_q"], T), min(state["block_k"], T)
    mask = causal_mask(T) if state["causal"] else np.ones((T, T), bool)
    i, j = np.arange(T)[:, None], np.arange(T)
    scores = np.where(mask, (1 + j / 8) * np.cos(i - 2 * j), -np.inf)
    blocks = [
        [a, min(a + q, T), b, min(b + k, T)]
        for a in range(0, T, q)
        for b in range(0, T, k)
        if mask[a : a + q, b : b + k].any()
    ]
    done = blocks[: state["step"]]
    seen = [block[2:] for block in done if row in range(*block[:2])]
    maxima = np.array([scores[row, :end].max() for _, end in seen])
    before = np.array([-np.inf, *maxima])[: len(maxima)]
    exps = np.exp(scores[row] - maxima[:, None])
    zeros = np.zeros((T, 1))
    bias = np.where(mask, scores, 0)
    weights = attention(zeros, zeros, zeros, mask=mask, bias=bias).weights

    tile = None
    if done:
        a, b, c, d = done[-1]
        here = np.where(mask, scores, -np.inf)[a:b, :d]
        tops = here.max(axis=1)
        tile = {
            "scores": np.where(mask, scores, np.nan)[a:b, c:d],
            "maxima": tops,
            "sums": np.exp(here - tops[:, None]).sum(axis=1),
        }

    def touched(some):
        computed = np.zeros((T, T), int)
        for a, b, c, d in some:
            computed[a:b, c:d] += 1
        assert computed.max(initial=0) <= 1, "no score is computed twice"
        return computed.sum()

    def keys(some):
        return sum(d - c for _, _, c, d in some)

    return {
        "tile": tile,
        "blocks": blocks,
        "done": len(done),
        "of_row": [len(seen), sum(row in range(*b[:2]) for b in blocks)],
        "maxima": maxima,
        "factors": np.exp(before - maxima),
        "added": [e[c:d].sum() for e, (c, d) in zip(exps, seen, strict=True)],
        "sums": [e[:d].sum() for e, (_, d) in zip(exps, seen, strict=True)],
        # The largest weight of a row is exp(0) over the sum.
        "plain": {
            "maximum": scores[row].max(),
            "sum": 1 / weights[row].max(),
        },
        "held": {"plain": scores.size, "tiled": q * k + 2 * q},
        "computed": {
            "plain": scores.size,
            "tiled": touched(blocks),
            "so_far": touched(done),
        },
        "keys_read": {
            "plain": T,
            "tiled": keys(blocks),
            "so_far": keys(done),
        },
    }


@functools.cache
def trained(step):
    """The weights of a step as they are stored, and how they fare."""
    checkpoints = stored("induction-steps")["checkpoints"]
    accuracy = {c["step"]: c["accuracy"] for c in checkpoints}
    return trained_induction(None if step == 300 else step), accuracy[step]


def induction(state):
    """What the trained model says, and what follows from the symbols."""
    symbols = state["symbols"]
    query = min(state["query"], len(symbols) - 1)
    params, accuracy = trained(state["step"])
    heads = [[state[f"head_{i}_{h}"] for h in (0, 1)] for i in (0, 1)]
    tokens = ["ABCDEFGHIJKL".index(symbol) for symbol in symbols]
    kept = forward(tokens, params, INDUCTION, heads=np.array(heads, float))
    said = kept.logits.argmax(axis=-1)
    answers = {
        i: tokens[symbols.rindex(symbol, 0, i) + 1]
        for i, symbol in enumerate(symbols)
        if symbol in symbols[:i]
    }
    return {
        "logits": kept.logits,
        # The norm of a block is given what entered it.
        "stream": [*(layer.normed for layer in kept.layers), kept.stream],
        "weights": [layer.attended.weights for layer in kept.layers],
        "chances": softmax(kept.logits[query]),
        "query": query,
        "said": said[query],
        "answer": answers.get(query),
        "counted": len(answers),
        "right": sum(said[i] == answer for i, answer in answers.items()),
        "accuracy": accuracy,
    }


KEYS_OF_WORDS = {
    "the": (-1, 0),
    "cat": (2, 0),
    "drank": (1, 1),
    "milk": (0, 2),
    "because": (-1, -1),
    "it": (0.5, 0.5),
}


def words(state):
    """One query over the keys of six words, by the helpers."""
    query = np.array([[state["x"], state["y"]]], float)
    keys = np.array(list(KEYS_OF_WORDS.values()), float)
    weights = attention(query, keys, keys).weights[0]
    return {
        "dots": attention_scores(query, keys, scale=1.0)[0],
        "exponentials": np.exp(attention_scores(query, keys)[0]),
        "weights": weights,
        "most": int(weights.argmax()),
    }


def film(state):
    """One row of self-attention over the rows of X, by the helpers."""
    X = np.array(state["X"], float)
    i, end = min(state["query"], len(X) - 1), len(X) + 4
    Q = K = V = X
    if state["what"] != "X":
        Q, K, V = (X @ np.array(state[f"W_{c}"], float) for c in "QKV")
        end += 1 + len(K) + len(V) + 1  # q, keys, values; all take places
    output, weights = attention(Q, K, V)
    scores = attention_scores(Q, K)[i]
    return {
        "q": Q[i],
        "K": K,
        "V": V,
        "dots": attention_scores(Q, K, scale=1.0)[i],
        "scores": scores,
        "exponentials": np.exp(scores),
        "weights": weights[i],
        "output": output[i],
        "time": min(state["at"], end),
    }


# The most FLOPs and bytes a second, in 16 bits, as chapter 9 cites them.
DEVICES = {
    "A100": (312e12, 2.0e12),
    "TPU v5e": (1.97e14, 8.2e11),
    "H100": (9.89e14, 3.35e12),
}


def kv_heads(state):
    """The key/value heads that the query heads of a layer share."""
    return state["heads"] // min(state["shared"], state["heads"])


def read_once(arrays, batch):
    """Bytes of arrays of 16 bits, as NumPy counts them without making them."""
    one = np.empty((), np.float16)
    return batch * sum(np.broadcast_to(one, a).nbytes for a in arrays)


def roof(state):
    """Five kinds of work of a layer on its device, by the counting helpers."""
    peak, bandwidth = DEVICES[state["device"]]
    T, B, H, H_kv = state["T"], state["batch"], state["heads"], kv_heads(state)
    points = {}

    def put(name, flops, moved):
        intensity = arithmetic_intensity(flops, moved)
        points[name] = {
            "flops": flops,
            "bytes": moved,
            "intensity": intensity,
            "speed": float(roofline(intensity, peak, bandwidth)),
        }

    K = (H_kv, T, 128)
    for name, n in (("prefill", T), ("decode", 1)):
        flops = attention_flops(n, T, 128, 128, n_heads=H, batch=B)
        products = flops["scores"] + flops["values"]
        Q = (H, n, 128)
        put(name, products, read_once([Q, K, K, Q], B))
        if name == "prefill":
            square = scores_bytes(T, T, H, 2, batch=B)
            moved = read_once([Q, K, K, Q], B) + 6 * square
            put("stored", flops["total"], moved)
    for name, rows in (("read", B * T), ("write", B)):
        flops = projection_flops(rows, H * 128, H, H_kv, d_k=128)
        arrays = []
        for wide in (H * 128, H_kv * 128, H_kv * 128, H * 128):
            arrays += [(rows, H * 128), (H * 128, wide), (rows, wide)]
        put(name, flops["total"], read_once(arrays, 1))

    def least(*names):
        return sum(
            max(points[n]["flops"] / peak, points[n]["bytes"] / bandwidth)
            for n in names
        )

    return {
        "balance": peak / bandwidth,
        "points": points,
        "prompt": least("prefill", "read"),
        "token": least("decode", "write"),
    }


def project(state):
    """Query, key and value of two tokens, and the shadow of k on q."""
    x, y = ([state[f"{t}1"], state[f"{t}2"]] for t in "xy")
    q, k, v = (
        (np.array([row], float) @ np.array(state[W], float))[0]
        for row, W in ((x, "W_Q"), (y, "W_K"), (y, "W_V"))
    )
    length = np.sqrt(q @ q)
    # The line through q is where k is nearest to its foot.
    along = np.outer(q, q) / (q @ q) if length > 1e-9 else np.zeros((2, 2))
    foot = along @ k
    dots = attention_scores([q], [k], scale=1.0)[0, 0]
    return {
        "q": q,
        "k": k,
        "v": v,
        "dot": dots,
        "score": attention_scores([q], [k])[0, 0],
        "length": length,
        "shadow": np.copysign(np.sqrt(foot @ foot), dots),
        "foot": foot,
    }


def temperature(state):
    """Weights and entropy at a temperature, and at that of the ghost."""
    scores = np.array(state["scores"][0], float)
    weights, ghost = (
        softmax(scores / state[key]) for key in ("temperature", "ghost")
    )
    return {
        "weights": weights,
        "ghost": ghost,
        "entropy": entropy(weights),
        "before": entropy(ghost),
    }


def backward(state):
    """Each gradient of attention, by the helper that carries them back."""
    Q, K, V, dY = (np.array(state[k], float) for k in ("Q", "K", "V", "dY"))
    mask = causal_mask(len(Q), len(K)) if state["causal"] else None
    weights = attention(Q, K, V, mask=mask).weights
    grads = attention_vjp(dY, Q, K, V, weights)
    return {
        "weights": weights,
        "dA": grads.weights,
        "means": np.diagonal(weights @ grads.weights.T),
        "dS": grads.scores,
        "dV": grads.V,
        "dQ": grads.Q,
        "dK": grads.K,
    }


def remembered(compute):
    """The same function, which computes each state once in a run."""
    known = functools.cache(lambda state: compute(json.loads(state)))
    return lambda state: known(json.dumps(state))


EXPECTED = {
    function.__name__: remembered(function)
    for function in (
        causal,
        step,
        saturation,
        heads,
        kvcache,
        positions,
        tiles,
        induction,
        words,
        film,
        roof,
        project,
        temperature,
        backward,
    )
}
# The film from X through three matrices, over all of its steps.
THROUGH = {"what": "X, W_Q, W_K, W_V"}
NARROW = {"W_Q": [[0.5]], "W_K": [[-1]], "W_V": [[2, 0.25, -0.75]]}
# Matrices that leave a token as it is.
SAME_THREE = {f"W_{c}": [[1, 0], [0, 1]] for c in "QKV"}
# States that chance seldom draws.
CASES = {
    "heads": [
        {"H": 4, "H_kv": 2, "d_k": 3, "column": 7, "T": 6},
        {"H": 24, "H_kv": 1, "d_k": 1, "column": 23, "T": 1},
        {"H": 12, "H_kv": 4, "d_k": 3, "column": 17},
        {"H": 6, "H_kv": 3, "d_k": 128, "column": 8191},
        {"H": 64, "H_kv": 16, "d_k": 2, "column": 0},
    ],
    "kvcache": [
        {"dtype": "8 bits", "S": 131072, "batch": 7},
        *({"S": 20, "filled": n, "batch": 3} for n in (0, 1, 7, 20)),
        {"S": 610351, "filled": 300000},
        {"S": 610352, "filled": 610352, "memory": 80},
        {"dtype": "float32", "d_k": 3, "d_v": 5, "S": 1},
        {"n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1023, "S": 10**7},
    ],
    "saturation": [
        {"S": 3, "d_k": 2},
        {"S": 4, "d_k": 1, "scale": True},
        {"S": 64, "d_k": 1024, "scale": False},  # scores beyond the picture
    ],
    "positions": [
        {"kind": "sinusoid", "T": 2, "pairs": 3, "pair": 15},
        {"kind": "RoPE", "pairs": 16, "m": 0, "n": 32, "shift": 1000},
        {"kind": "ALiBi", "T": 5, "heads": 8, "rule": "paper"},
        {"kind": "ALiBi", "T": 5, "heads": 12, "rule": "paper"},
        {"kind": "ALiBi", "T": 5, "heads": 12, "rule": "reference"},
    ],
    "tiles": [
        {"T": 12, "block_q": 4, "block_k": 4, "step": 0, "row": 0},
        {"T": 12, "block_q": 2, "block_k": 6, "step": 7, "row": 7},
        {"T": 8, "block_q": 8, "block_k": 1, "step": 8, "row": 7},
        {"T": 9, "block_q": 9, "block_k": 1, "step": 9, "row": 8},
        {"T": 13, "block_q": 5, "block_k": 3, "step": 6, "row": 9},
        {"T": 9, "block_q": 64, "block_k": 2, "step": 3, "row": 63},
        {"T": 20, "block_q": 6, "block_k": 7, "step": 8, "causal": False},
    ],
    "film": [
        *({"at": k / 4} for k in range(29)),
        {"words": "it is", "X": [[1], [-2]], "query": 1, "at": 6},
        {"words": "a b c d", "X": 4 * [[2, 2, 2, 2]], "query": 3, "at": 8},
        *({**THROUGH, "query": 1, "at": k / 2} for k in range(31)),
        *({**THROUGH, "at": 4 + k / 10} for k in (0.5, 2, 4, 7, 9.5)),
        {**THROUGH, **NARROW, "words": "it is", "X": [[1], [-2]], "at": 3.9},
        {**THROUGH, "words": "a b c d", "X": 4 * [[2, -2, 2, 2]], "at": 18}
        | {f"W_{c}": 4 * [[2, -2, 1.25]] for c in "QKV"},
    ],
    "roof": [
        {"T": 1, "heads": 1, "shared": 1},
        {"T": 32768, "batch": 256, "heads": 64, "shared": 64},
        {"device": "TPU v5e", "T": 256, "heads": 8, "shared": 64},
        {"device": "H100", "batch": 256, "shared": 8},
        # Names that would just run out, and a point below its name.
        {"T": 8, "batch": 256, "heads": 64, "shared": 1},
        {"T": 2048, "batch": 1, "heads": 8, "shared": 8},
        {"T": 1, "batch": 1, "heads": 1, "shared": 1, "device": "A100"},
    ],
    "project": [
        {"x1": 0, "x2": 0},
        {"y1": 0, "y2": 0},
        {"x1": 1, "x2": 0, "y1": 0, "y2": 1, **SAME_THREE},
        {"x1": 2, "x2": 2, "y1": -2, "y2": -2, **SAME_THREE},
        {"x1": 0.5, "x2": -1, "W_Q": [[0.25, 1 / 3], [0, -1]]},
    ],
    "temperature": [
        *({"temperature": t, "ghost": t} for t in (0.01, 1, 100)),
        {"scores": [[10, -10]], "temperature": 0.01, "ghost": 100},
        {"scores": [[1, 1, 1, 1, 1, 1, 1, 1]]},
        {"scores": [[0.5, -0.5, 0.5]], "temperature": 0.02},
    ],
    "backward": [
        {"entry": 15, "causal": False},
        {"dY": [[0, 0]] * 3},
        {"Q": [[1]], "K": [[0], [0]], "V": [[2], [4]], "dY": [[1]]},
        {
            "Q": [[10] * 4] * 4,
            "K": [[-10] * 4] * 4,
            "V": [[10] * 4] * 4,
            "dY": [[10, -10, 10, -10]] * 4,
            "causal": False,
        },
        {
            "Q": [[1, 2]],
            "K": [[3, 1], [0, 1], [1, 1], [2, 0]],
            "V": [[1], [2], [3], [-4]],
            "dY": [[-0.5]],
            "entry": 0,
        },
    ],
    "words": [
        {"x": 0, "y": 0},
        {"x": 3, "y": 3},
        {"x": -3, "y": -3},
        {"x": 0, "y": 2.2},
        {"x": -0.25, "y": -1.5},
    ],
    "induction": [
        {"symbols": "A"},
        {"symbols": "LL", "query": 0, "step": 0},
        {"symbols": "FLICKED" * 4 + "FLIC", "query": 20, "step": 100},
        {"symbols": "ABCDEFABCDEF", "query": 3, "head_0_0": False},
        *({"symbols": "CAKEDCAKED", "step": n} for n in (20, 40, 60, 80, 150)),
        *({f"head_{i}_{h}": False} for i in (0, 1) for h in (0, 1)),
        {f"head_{i}_{h}": False for i in (0, 1) for h in (0, 1)},
    ],
}
CLASSES = {
    c._name: c
    for c in figures.InteractiveFigure.__subclasses__()
    if c.__module__ == "helpers.figures"
}


def controls(name):
    """The controls of a figure, as its module lists them."""
    return figures.controls(name)


def random_state(name, rng):
    """A state that every control allows, drawn at random."""
    state = {}
    for control in controls(name):
        low, high = control.get("min", 0), control.get("max", 1)
        kind = control["kind"]
        step = 1 if kind == "symbols" else control.get("step", 0)

        def number(low=low, high=high, step=step):
            if rng.random() < 0.15:
                return rng.choice([low, high])
            if step == 1:
                return rng.randint(low, high)
            return round(low + (high - low) * rng.random(), 3)

        if kind == "choice":
            value = rng.choice(control["options"])
        elif kind == "flag":
            value = rng.random() < 0.5
        elif kind == "symbols":
            length = number()
            # Rows that repeat, and any letters, one after another.
            row = rng.choices(control["letters"], k=rng.randint(1, 12))
            few = rng.choices(control["letters"], k=rng.randint(0, 3))
            value = "".join(((few + row) * length)[:length])
        elif kind == "words":
            value = ""  # as many as there are rows: below
        elif kind == "stops":
            value = rng.choice(control["stops"])
        elif kind == "matrix":
            rows, columns = control["rows"], control["columns"]
            width = rng.randint(*columns)
            value = [
                [number() for _ in range(width)]
                for _ in range(rng.randint(*rows))
            ]
        elif kind == "power":
            value = 2 ** rng.randint(0, high.bit_length() - 1)
        else:
            value = number()
        state[control["key"]] = value
    if name == "film":
        # One decimal: no score is halfway between two of three.
        state["X"] = [[round(x, 1) for x in row] for row in state["X"]]
        rows = len(state["X"])
        state |= fit_through(state)
        state["words"] = " ".join(["<b>", "is", "a", "lookup"][:rows])
    if name == "backward":
        return fit_back(state)
    return fit(state) if name == "step" else state


def states(name, n):
    """`n` states that the figure accepts, drawn at random."""
    rng = random.Random(name)
    while n:
        state = random_state(name, rng)
        if goes_together(name, state):
            n -= 1
            yield state


def goes_together(name, state):
    """Whether settings that are right each fit together."""
    if name == "heads":
        return state["H"] % state["H_kv"] == 0
    if name == "kvcache":
        return kvcache(state)["total"] <= 2**50
    return True


def fit_through(state):
    """Three matrices that fit X and each other; whole, so that no sum of
    products is halfway between two numbers that are shown."""
    d, width = len(state["X"][0]), len(state["W_Q"][0])
    given = {
        name: [x for row in state[name] for x in row]
        for name in ("W_Q", "W_K", "W_V")
    }
    return {
        name: [
            [round(x[(columns * a + c) % len(x)]) for c in range(columns)]
            for a in range(d)
        ]
        for name, x in given.items()
        for columns in [len(state[name][0]) if name == "W_V" else width]
    }


def fit_back(state):
    """Shapes that fit, and numbers at which softmax is not yet a choice."""
    state["X"] = [[0]]  # `fit` cuts Q, K and V as the step figure has them
    state = fit(state)
    del state["X"]
    T, width = len(state["Q"]), len(state["V"][0])
    given = [x for row in state["dY"] for x in row]
    state["dY"] = [
        [given[(width * i + c) % len(given)] for c in range(width)]
        for i in range(T)
    ]
    for key in "QKV":
        state[key] = [[round(5 * x, 3) for x in row] for row in state[key]]
    return state


def fit(state):
    """Cut Q, K and V to shapes that fit, and all numbers to moderate ones."""
    Q, K, V = state["Q"], state["K"], state["V"]
    d_k, S = min(len(Q[0]), len(K[0])), min(len(K), len(V))
    T = min(len(Q), S) if state["causal"] else len(Q)
    shapes = {"Q": (T, d_k), "K": (S, d_k), "V": (S, len(V[0]))}
    for key, (rows, columns) in shapes.items():
        state[key] = [row[:columns] for row in state[key][:rows]]
    for key in "XQKV":
        state[key] = [[round(x / 50, 3) for x in row] for row in state[key]]
    return state
