"""The three kinds of attention of DeepSeek-V4 against the published code.

Each query reads a window, and in two of the kinds also compressed entries of
all tokens before it: all of them, or those that an indexer picks. One vector
per token or entry is key and value of all heads, and each head has a sink.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import numpy as np
import pytest

from helpers.attention import attention
from helpers.heads import merge_heads, split_heads
from helpers.layers import rms_norm
from helpers.masks import window_mask
from helpers.positions import rotary_embedding
from helpers.softmax import softmax
from helpers.sparse import chosen_mask, index_scores, pooled_blocks
from tests.with_torch.layers import (
    additive,
    array,
    close,
    project,
    scaled,
    weight,
)

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.24")
deepseek = pytest.importorskip(
    "transformers.models.deepseek_v4.modeling_deepseek_v4"
)

SLIDING, FEW, ALL = (
    "sliding_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
)
KINDS = [SLIDING, FEW, ALL]
T, H, D, TURNED, GROUPS, WINDOW, CHOSEN = 23, 4, 16, 8, 2, 5, 2
RATES = {FEW: 3, ALL: 6}  # tokens per entry
BASES = {SLIDING: 100.0, FEW: 2000.0, ALL: 2000.0}
INDEX = {"heads": 10, "width": 12}
# Its norms and its angles are in float32, and so are the weights of tokens in
# an entry. Numbers near 1 are 1.2e-7 apart there.
CLOSE = 5e-6


def published(kind):
    torch.manual_seed(0)
    config = transformers.DeepseekV4Config(
        hidden_size=24,
        num_hidden_layers=3,
        layer_types=KINDS,
        num_attention_heads=H,
        head_dim=D,
        q_lora_rank=9,
        partial_rotary_factor=TURNED / D,
        rope_theta=BASES[SLIDING],
        compress_rope_theta=BASES[FEW],
        compress_rates=dict(RATES),
        sliding_window=WINDOW,
        o_groups=GROUPS,
        o_lora_rank=7,
        index_n_heads=INDEX["heads"],
        index_head_dim=INDEX["width"],
        index_topk=CHOSEN,
        attn_implementation="eager",
    )
    layer = deepseek.DeepseekV4Attention(config, KINDS.index(kind))
    return scaled(layer), deepseek.DeepseekV4RotaryEmbedding(config)


def run(layer, rotary, X, start=0, cache=None):
    """The published layer's output and weights, of rows from a position."""
    rows, (B, n) = torch.tensor(X), X.shape[:2]
    before = 0 if cache is None else min(start, WINDOW - 1)
    places = torch.arange(start, start + n).expand(B, -1)
    turns = {
        name: rotary(rows, places, layer_type=name)
        for name in ("main", "compress")
    }
    near = additive(window_mask(n, before + n, left=WINDOW - 1, right=0))
    near = near.expand(B, -1, -1, -1)
    with torch.no_grad():
        return layer(rows, turns, places, near, cache=cache)


# --- The same by the helpers


def turn(X, places, base):
    """The last columns of each row, turned in pairs of adjacent ones."""
    still, turned = X[..., :-TURNED], X[..., -TURNED:]
    turned = rotary_embedding(turned, places, base=base, interleaved=True)
    return np.concatenate([still, turned], axis=-1)


def normed(X, norm=None):
    gain = np.ones(X.shape[-1]) if norm is None else array(norm.weight)
    return rms_norm(X, gain, eps=1e-6)


def entries(X, part, rate, *, overlap):
    """One row for each complete group of tokens, a mean by trained weights.

    Each column has weights of its own. With an overlap, each entry is also
    made of the group before, of which it reads other columns.
    """
    C, Z = project(X, part.kv_proj), project(X, part.gate_proj)
    bias, width = array(part.position_bias), array(part.kv_norm.weight).size
    n = X.shape[1] // rate
    made = np.zeros((len(X), n, width))
    for i in range(n):
        parts = [(i, slice(-width, None))]
        if overlap and i > 0:
            parts.append((i - 1, slice(width)))
        rows, weights = [], []
        for group, columns in parts:
            at = np.s_[:, group * rate : (group + 1) * rate, columns]
            rows.append(C[at])
            weights.append(Z[at] + bias[:, columns])
        weights = softmax(np.concatenate(weights, axis=1), axis=1)
        made[:, i] = (weights * np.concatenate(rows, axis=1)).sum(1)
    return normed(made, part.kv_norm)


def complete(T, rate):
    """True where all tokens of an entry are at a query's place or before."""
    ends = rate * np.arange(1, T // rate + 1)
    return ends <= np.arange(1, T + 1)[:, None]


def picked(X, short, indexer, rate, base):
    """The entries with the highest scores of the indexer, (B, T, entries)."""
    T = X.shape[1]
    heads = INDEX["heads"]
    Q = split_heads(project(short, indexer.q_b_proj), heads)
    K = entries(X, indexer, rate, overlap=True)
    weights = project(X, indexer.scorer.weights_proj)
    scores = index_scores(
        turn(Q, np.arange(T), base),
        turn(K, rate * np.arange(K.shape[1]), base),
        weights,
    )
    return chosen_mask(scores, CHOSEN, mask=complete(T, rate))


def attended(X, layer):
    """The output and the weights of a layer."""
    kind, T = layer.layer_type, X.shape[1]
    base, places = BASES[kind], np.arange(T)
    short = normed(project(X, layer.q_a_proj), layer.q_a_norm)
    Q = normed(split_heads(project(short, layer.q_b_proj), H))
    read = turn(normed(project(X, layer.kv_proj), layer.kv_norm), places, base)
    mask = window_mask(T, left=WINDOW - 1, right=0)
    mask = np.broadcast_to(mask, (len(X), T, T))
    if kind != SLIDING:
        rate, part = RATES[kind], layer.compressor
        far = entries(X, part, rate, overlap=kind == FEW)
        far = turn(far, rate * np.arange(far.shape[1]), base)
        read = np.concatenate([read, far], axis=1)
        seen = np.broadcast_to(complete(T, rate), (len(X), T, far.shape[1]))
        if kind == FEW:
            seen = picked(X, short, part.indexer, rate, base)
        mask = np.concatenate([mask, seen], axis=-1)
    one = read[:, None]  # for all heads, and for keys and values
    mixed, weights = attention(
        turn(Q, places, base),
        one,
        one,
        mask=mask[:, None],
        sinks=array(layer.sinks),
    )
    mixed = turn(mixed, -places, base)  # the values have turned as well
    groups = split_heads(merge_heads(mixed), GROUPS)
    down = weight(layer.o_a_proj)  # (columns of a group, groups * rank)
    rows = merge_heads(groups @ split_heads(down, GROUPS))
    return project(rows, layer.o_b_proj), weights


def rows(seed, T=T):
    return np.random.default_rng(seed).normal(size=(2, T, 24))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 5, T])
def test_every_kind_equals_the_published_code(kind, n):
    layer, rotary = published(kind)
    for seed in range(3):
        X = rows(seed, n)
        desired = run(layer, rotary, X)
        for result, expected in zip(attended(X, layer), desired, strict=True):
            close(result, expected, CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_keep_a_window_and_an_entry_for_each_group(kind):
    layer, rotary = published(kind)
    X, start = rows(5), 0
    whole, _ = attended(X, layer)
    cache = transformers.DynamicCache(config=layer.config)
    kept = cache.layers[KINDS.index(kind)]
    for n in (7, *[1] * (T - 7)):
        part = X[:, start : start + n]
        result, _ = run(layer, rotary, part, start, cache)
        close(whole[:, start : start + n], result, CLOSE)
        start += n
        if kind != SLIDING:
            known = kept.compressed_kv
            assert known.keys() == (
                {"compressor", "indexer"} if kind == FEW else {"compressor"}
            )
            for far in known.values():
                assert (0 if far is None else far.shape[1]) == (
                    start // RATES[kind]
                )
        # One vector per token, and the query's own is the last of a window.
        assert kept.keys.shape[1:] == (1, min(start, WINDOW - 1), D)
        assert (kept.values == kept.keys).all()


@pytest.mark.parametrize("kind", [FEW, ALL])
def test_without_trained_weights_entries_are_means_of_blocks(kind):
    layer, _ = published(kind)
    part, rate = layer.compressor, RATES[kind]
    with torch.no_grad():
        part.gate_proj.weight.zero_()
        part.position_bias.zero_()
        if kind == FEW:  # the same columns for the group before
            part.kv_proj.weight[:D] = part.kv_proj.weight[D:]
    X = rows(6)
    C = project(X, part.kv_proj)[..., -D:]
    means = pooled_blocks(C, rate)
    if kind == FEW:  # two groups, but for the first entry
        both = pooled_blocks(C, 2 * rate, stride=rate)
        means = np.concatenate([means[:, :1], both], axis=1)
    places = rate * np.arange(T // rate)
    places_of_rows = torch.arange(T).expand(2, -1)
    short = torch.zeros(2, T, 9, dtype=torch.float64)
    with torch.no_grad():
        results, _ = part(torch.tensor(X), short, places_of_rows, None, 0)
    result = turn(normed(means, part.kv_norm), places, BASES[kind])
    close(result[:, None], results, CLOSE)


def test_the_sizes_that_the_lessons_count_with():
    config = transformers.DeepseekV4Config()
    assert config.compress_rates == {FEW: 4, ALL: 128}
    assert config.sliding_window == 128
    # 1,024 and 256 bytes in 16 bits.
    assert (2 * config.head_dim, 2 * config.index_head_dim) == (1024, 256)
