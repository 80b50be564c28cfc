"""Check ten statements of the course on SmolLM2-135M-Instruct.

    python -m research.reality measure   # two minutes
    python -m research.reality check     # the same; writes nothing

`course/evidence/reality-predictions.json` was written first. It contains ten
statements, and for each a measurable number with its limit. The first command
writes the measured numbers to `reality.json`, beside it. The second fails if
the verdict on a statement differs.
"""

import sys
from dataclasses import replace

import numpy as np

from course.checkpoint import load, smollm2_path
from course.evidence import stored
from helpers.attention import attention
from helpers.masks import causal_mask, window_mask
from helpers.positions import (
    interpolated_frequencies,
    ntk_frequencies,
    rotary_embedding,
    yarn_attention_factor,
    yarn_frequencies,
)
from helpers.softmax import entropy
from helpers.tiled import tiled_attention
from helpers.transformer import (
    forward,
    new_cache,
    token_losses,
    transformer,
)
from research.head_effects import tokens_of, write

HALF = 32  # half of the 64 tokens of each text
CAUSAL = causal_mask(2 * HALF)


def losses(logits, tokens, start=0):
    """Return the mean loss of each text over the tokens after row `start`."""
    after = tokens[:, start + 1 :]
    rows = logits[:, -len(after[0]) - 1 : -1]
    return token_losses(rows, after).mean(-1)


def run(tokens, model, **how):
    return transformer(tokens, model.params, model.config, **how)


def continued(tokens, n, model, change):
    """Return the logits from token n upward, after a change to the cache."""
    params, config = model.params, model.config
    short = replace(config, max_len=tokens.shape[-1])
    batch = tokens.shape[:-1]
    cache = new_cache(short, batch=batch, dtype=np.float32)
    share = config.n_heads // config.kv_heads
    first = forward(tokens[..., :n], params, config)
    for own, layer in zip(cache, first.layers[::2], strict=True):
        K, V = layer.attended.K, layer.attended.V  # repeated for its heads
        own.append(*change(K[..., ::share, :, :], V[..., ::share, :, :]))
    rest = tokens[..., n:]
    return transformer(rest, params, short, cache=cache)


def moved_back(distance, config):
    """Return a change that moves cached keys this much further back."""

    def change(K, V):
        at = np.full(K.shape[-2], -distance)
        base, own = config.base, config.frequencies
        return rotary_embedding(K, at, base=base, frequencies=own), V

    return change


def far_off(moved, exact):
    """Return the largest difference relative to the largest number."""
    return float(np.abs(moved - exact).max() / np.abs(exact).max())


# One function per statement. `texts` are the five texts in words, `repeat` is
# the sixth, and `whole` is the forward pass of the five.


def scale(texts, repeat, whole, model):
    shares = []
    for layer in whole.layers[::2]:
        Q, K, V, weights = layer.attended[1:5]
        sharp = attention(Q, K, V, mask=CAUSAL, scale=1.0).weights
        late = [w[:, :, 16:].max(-1) >= 0.9 for w in (weights, sharp)]
        shares.append([rows.mean() for rows in late])
    shares = np.array(shares)
    return {
        "share_with": shares[:, 0].mean(),
        "share_without": shares[:, 1].mean(),
    }


def layer_entropy(texts, repeat, whole, model):
    uniform = np.log(np.arange(1, 2 * HALF + 1))[4:].mean()
    by_layer = np.array(
        [
            entropy(layer.attended.weights)[:, :, 4:].mean() / uniform
            for layer in whole.layers[::2]
        ]
    )
    return {
        "by_layer": by_layer,
        "largest_share": by_layer.max(),
        "rises": int((np.diff(by_layer) > 0).sum()),
    }


def in_bits(X, bits, axis):
    """Quantise numbers with one scale per line, and convert them back."""
    most = 2 ** (bits - 1) - 1
    step = np.abs(X).max(axis, keepdims=True) / most
    step = np.where(step == 0, 1, step)
    return np.rint(X / step) * step


def bits(texts, repeat, whole, model):
    def cost(bits, axis):
        def change(K, V):  # -1: a scale for each token, -2: for each channel
            return in_bits(K, bits, axis), in_bits(V, bits, -1)

        logits = continued(texts, HALF, model, change)
        return losses(logits, texts, HALF) - exact

    exact = losses(whole.logits, texts, HALF)
    eight, four = (cost(b, -1) for b in (8, 4))
    by_channel = cost(4, -2)
    return {
        "eight": eight,
        "four": four,
        "channel": by_channel,
        "eight_by_token": eight.mean(),
        "four_by_token": four.mean(),
        "four_by_channel_share": by_channel.mean() / four.mean(),
    }


def kept(first, latest):
    """Return a causal mask of the first keys and the latest ones."""
    mask = window_mask(2 * HALF, left=latest - 1, right=0)
    return CAUSAL & (mask | (np.arange(2 * HALF) < first))


def window(texts, repeat, whole, model):
    def cost(*sizes):
        logits = run(texts, model, mask=kept(*sizes))
        return losses(logits, texts, HALF) - exact

    exact = losses(whole.logits, texts, HALF)
    alone, one, four = cost(0, 16), cost(1, 15), cost(4, 12)
    return {
        "alone": alone,
        "one": one,
        "four": four,
        "window": alone.mean(),
        "sinks_share": four.mean() / alone.mean(),
    }


def scalings(config, factor=4):
    """Return the model with rotations slowed down in three ways."""
    d, base = config.d_k, config.base

    def slowed(theta, **more):
        return replace(config, frequencies=tuple(theta.tolist()), **more)

    yarn = yarn_frequencies(d, factor, config.max_len, base=base)
    return {
        "interpolated": slowed(interpolated_frequencies(d, factor, base=base)),
        "NTK-aware": slowed(ntk_frequencies(d, factor, base=base)),
        "YaRN": slowed(
            yarn, scale=yarn_attention_factor(factor) ** 2 / d**0.5
        ),
    }


def positions(texts, repeat, whole, model):
    def copying(distance, config=model.config):
        """Return the loss of a row whose first copy is further back."""
        own = model._replace(config=config)
        change = moved_back(distance, config)
        return float(
            losses(continued(repeat, HALF, own, change), repeat, HALF)[0]
        )

    plain = {d: copying(d) for d in (0, 4096, 8192, 16384, 32768)}
    slow = scalings(model.config)
    rescued = {name: copying(32768, own) for name, own in slow.items()}
    exact = losses(whole.logits, texts).mean()
    near = {
        name: losses(run(texts, model._replace(config=own)), texts).mean()
        - exact
        for name, own in slow.items()
    }
    # This factor was added after the other results were known: 32,768 / 4 is
    # just past 8,192.
    slower = scalings(model.config, 8)
    rescued_by_8 = {name: copying(32768, own) for name, own in slower.items()}
    far = plain[32768] - plain[4096]
    return {
        "plain": list(plain.values()),
        "rescued": rescued,
        "rescued_by_8": rescued_by_8,
        "near": near,
        "far": far,
        "left": (max(rescued.values()) - plain[4096]) / far,
        "ntk_gap": near["interpolated"] - near["NTK-aware"],
        "yarn_gap": near["NTK-aware"] - near["YaRN"],
    }


def other_order(model):
    """Return the model with head h on key/value head h % 3, not h // 3."""
    H, share = model.config.n_heads, model.config.kv_heads
    order = np.arange(H).reshape(-1, share).T.ravel()
    params = dict(model.params)
    for name, W in model.params.items():
        if name.endswith("W_Q"):
            params[name] = W.reshape(len(W), H, -1)[:, order].reshape(W.shape)
        if name.endswith("W_O"):
            params[name] = W.reshape(H, -1, W.shape[1])[order].reshape(W.shape)
    return model._replace(params=params)


def sharing(texts, repeat, whole, model):
    same, other = [], []
    share = model.config.n_heads // model.config.kv_heads
    for layer in whole.layers[::2]:
        weights = layer.attended.weights[:, :, 4:]
        for g in range(1, model.config.n_heads):
            for h in range(g):
                half = np.abs(weights[:, g] - weights[:, h]).sum(-1).mean() / 2
                pairs = same if g // share == h // share else other
                pairs.append(half)
    exact = losses(whole.logits, texts).mean()
    wrong = losses(run(texts, other_order(model)), texts).mean()
    return {
        "apart": np.mean(same),
        "apart_in_other_groups": np.mean(other),
        "wrong_order": wrong - exact,
    }


def padding(texts, repeat, whole, model):
    n = 40
    text = texts[:1, :n]
    exact = run(text, model)
    pads = np.zeros((1, 2 * HALF - n), texts.dtype)
    right = run(np.concatenate([text, pads], 1), model)[:, :n]
    left, real = np.concatenate([pads, text], 1), np.arange(2 * HALF) >= 24
    masked = run(left, model, mask=np.broadcast_to(real, CAUSAL.shape))
    return {
        "right": far_off(right, exact),
        "left_masked": far_off(masked[:, -n:], exact),
        "left_unmasked": far_off(run(left, model)[:, -n:], exact),
    }


def tiles(texts, repeat, whole, model):
    def error(*blocks):
        found = []
        for layer in whole.layers[::2]:
            Q, K, V = layer.attended[1:4]
            out = tiled_attention(
                Q, K, V, causal=True, block_q=blocks[0], block_k=blocks[1]
            )
            found.append(far_off(out, layer.attended.heads))
        return max(found)

    return {"tiles_16": error(16, 16), "tiles_7_13": error(7, 13)}


def deleting(texts, repeat, whole, model):
    """Compare masking a token of the first text with removing it."""
    at, text = 20, texts[:1]
    see = CAUSAL & (np.arange(2 * HALF) != at)
    see[at, at] = True
    masked = run(text, model, mask=see)[:, at + 1 :]
    shorter = np.delete(text, at, axis=1)
    stays = continued(shorter, at, model, moved_back(1, model.config))
    return {
        "kept": far_off(stays, masked),
        "moved_up": far_off(run(shorter, model)[:, at:], masked),
    }


def reach(texts, repeat, whole, model):
    mask = kept(4, 16)
    text, changed = texts[:1], texts[:1].copy()
    changed[0, 22] = texts[1, 22]
    before, after = (run(x, model, mask=mask)[:, 62] for x in (text, changed))
    logits = run(repeat, model, mask=mask)
    first = losses(logits[:, :HALF], repeat[:, :HALF], 4)[0]
    again = losses(logits, repeat, HALF)[0]
    seen_all = losses(run(repeat, model), repeat, HALF)[0]
    return {
        "moved": far_off(after, before),
        "copy_share": again / first,
        "first": first,
        "again": again,
        "with_all_keys": seen_all,
    }


CHECKS = {
    "scale": scale,
    "entropy": layer_entropy,
    "bits": bits,
    "window": window,
    "positions": positions,
    "sharing": sharing,
    "padding": padding,
    "tiles": tiles,
    "deleting": deleting,
    "reach": reach,
}


def plain(found):
    """Return numbers with four digits, for a file."""
    if isinstance(found, dict):
        return {name: plain(value) for name, value in found.items()}
    if np.ndim(found):
        return [plain(value) for value in found]
    return found if isinstance(found, int) else float(f"{found:.4g}")


def measured():
    """Return the numbers of all statements."""
    model = load(smollm2_path())
    tokens = tokens_of(model.tokenizer)
    texts, repeat = tokens[:5], tokens[5:]
    whole = forward(texts, model.params, model.config)
    results = {}
    for name, check in CHECKS.items():
        results[name] = plain(check(texts, repeat, whole, model))
        print(name, results[name], flush=True)
    return results


def measure():
    """Measure all statements, and store the results."""
    write("reality", "reality measure", statements=measured())


def held(results):
    """Return which parts of each statement are true."""
    compare = {"<": np.less, ">": np.greater, ">=": np.greater_equal}
    statements = stored("reality-predictions")["statements"]
    return {
        name: [
            bool(compare[how](results[name][what], limit))
            for what, how, limit in statement["parts"].values()
        ]
        for name, statement in statements.items()
    }


def check():
    """Measure everything again; exit with 1 if a verdict has changed."""
    old, new = stored("reality")["statements"], measured()
    sys.exit(held(old) != held(new))


if __name__ == "__main__":
    {"measure": measure, "check": check}[sys.argv[1]]()
