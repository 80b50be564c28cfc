"""The attention of Gemma 4, in a whole published model with random weights.

Every layer is computed again from the rows that it was given there: windows
beside global layers, norms and no scale, keys that are values, rotations of
two kinds, and layers that read the keys and values of an earlier one.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import numpy as np
import pytest

from course.cards import FULL, SLIDING, layers_of
from helpers.attention import attention
from helpers.heads import merge_heads, repeat_kv, split_heads
from helpers.layers import rms_norm
from helpers.masks import causal_mask, window_mask
from helpers.positions import rotary_embedding, rotary_frequencies
from tests.with_torch.layers import array, close, project, scaled

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.24")
gemma = pytest.importorskip("transformers.models.gemma4.modeling_gemma4")

T, H, WINDOW, VOCAB = 11, 4, 4, 20
WIDE = {SLIDING: 8, FULL: 16}  # a head
BASE = {SLIDING: 50.0, FULL: 1000.0}
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 24,
    "intermediate_size": 16,
    "num_hidden_layers": 6,
    "layer_types": [SLIDING, FULL] * 3,
    "num_attention_heads": H,
    "num_key_value_heads": 2,
    "num_global_key_value_heads": 1,
    "head_dim": WIDE[SLIDING],
    "global_head_dim": WIDE[FULL],
    "sliding_window": WINDOW,
    "hidden_size_per_layer_input": 3,
    "vocab_size_per_layer_input": VOCAB,
    "rope_parameters": {
        SLIDING: {"rope_type": "default", "rope_theta": BASE[SLIDING]},
        FULL: {
            "rope_type": "proportional",
            "partial_rotary_factor": 0.25,
            "rope_theta": BASE[FULL],
        },
    },
}
# Its norms, its softmax and its angles are in float32, of which numbers near
# 1 are 1.2e-7 apart.
CLOSE = 5e-6
FORMS = {
    "keys are values": {"attention_k_eq_v": True},
    "two layers read others": {
        "attention_k_eq_v": True,
        "num_kv_shared_layers": 2,
    },
    "values of their own": {
        "attention_k_eq_v": False,  # nor key heads of their own
        "num_kv_shared_layers": 3,
    },
}


def published(**more):
    torch.manual_seed(0)
    config = transformers.Gemma4TextConfig(
        **SIZES, **more, attn_implementation="eager"
    )
    return scaled(gemma.Gemma4TextModel(config))


def observed(model):
    """What each layer was given and gave, with its weights."""
    seen = []

    def see(layer, _, given, result):
        seen.append((layer, array(given["hidden_states"]), *result))

    hooks = [
        layer.self_attn.register_forward_hook(see, with_kwargs=True)
        for layer in model.layers
    ]
    tokens = np.random.default_rng(1).integers(0, VOCAB, (2, T))
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        model(torch.tensor(tokens), cache=cache, use_cache=True)
    for hook in hooks:
        hook.remove()
    return seen, cache


def frequencies(kind):
    """In global layers a quarter of the pairs turn, the first ones."""
    known = rotary_frequencies(WIDE[kind], base=BASE[kind])
    if kind == FULL:
        known[len(known) // 4 :] = 0
    return known


def normed(X, norm=None):
    gain = np.ones(X.shape[-1]) if norm is None else array(norm.weight)
    return rms_norm(X, gain, eps=1e-6)


def keys_and_values(layer, X, turned):
    """Keys and values of each key head; a key before its rotation."""
    heads = layer.k_proj.out_features // layer.head_dim
    product = split_heads(project(X, layer.k_proj), heads)
    if layer.v_proj is not None:
        V = split_heads(project(X, layer.v_proj), heads)
        return turned(normed(product, layer.k_norm)), normed(V)
    V = normed(product)
    # With keys that are values, the key follows from the value.
    return turned(V * array(layer.k_norm.weight)), V


def attended(seen):
    """The output and the weights of each layer, by the helpers."""
    latest = {}  # keys and values, by the kind of the layer
    for layer, X, *_ in seen:
        kind = layer.layer_type

        def turned(x, kind=kind):
            return rotary_embedding(x, frequencies=frequencies(kind))

        Q = split_heads(project(X, layer.q_proj), H)
        Q = turned(normed(Q, layer.q_norm))
        if not layer.is_kv_shared_layer:
            latest[kind] = keys_and_values(layer, X, turned)
        K, V = (repeat_kv(x, H // x.shape[1]) for x in latest[kind])
        mask = causal_mask(T)
        if kind == SLIDING:
            mask = window_mask(T, left=WINDOW - 1, right=0)
        mixed, weights = attention(Q, K, V, mask=mask, scale=1)
        yield project(merge_heads(mixed), layer.o_proj), weights


@pytest.mark.parametrize("form", FORMS)
def test_every_layer_gives_what_the_published_one_gives(form):
    seen, _ = observed(published(**FORMS[form]))
    assert len(seen) == 6
    results = attended(seen)
    for result, (*_, output, weights) in zip(results, seen, strict=True):
        close(result[0], output, CLOSE)
        close(result[1], weights, CLOSE)


def test_a_value_serves_as_the_key_where_nothing_turns():
    """Only the turned columns are kept beside it: 640 numbers, not 1,024."""
    seen, _ = observed(published(**FORMS["keys are values"]))
    for layer, X, output, _ in seen[1::2]:  # the global ones
        turning = frequencies(FULL) != 0
        apart = np.concatenate([turning, turning])
        gain = array(layer.k_norm.weight)
        V = normed(split_heads(project(X, layer.k_proj), 1))
        K = rotary_embedding(gain * V, frequencies=frequencies(FULL))
        K = K[..., apart]
        Q = normed(split_heads(project(X, layer.q_proj), H), layer.q_norm)
        Q = rotary_embedding(Q, frequencies=frequencies(FULL))
        absorbed = (Q * gain)[..., ~apart]
        mixed = attention(
            np.concatenate([Q[..., apart], absorbed], axis=-1),
            np.concatenate([K, V[..., ~apart]], axis=-1),
            V,
            mask=causal_mask(T),
            scale=1,
        ).output
        close(project(merge_heads(mixed), layer.o_proj), output, CLOSE)
        assert K.shape[-1] + V.shape[-1] == 1.25 * layer.head_dim
    usual = transformers.Gemma4TextConfig()
    rates = gemma.Gemma4TextRotaryEmbedding(usual).full_attention_inv_freq
    assert 2 * len(rates) == 512
    assert 2 * (rates != 0).sum() + 512 == 640


def test_what_the_published_code_keeps():
    """Keys and values, of a window at most, and not of shared layers."""
    more = FORMS["two layers read others"]
    _, cache = observed(published(**more))
    cards = layers_of(SIZES | more)
    assert [x.kind for x in cards[4:]] == ["shared", "shared"]
    for kept, card in zip(cache.layers, cards, strict=True):
        if card.kind == "shared":
            assert kept.keys is None
            continue
        # What the next query will reach, without its own key.
        rows = T if card.reach is None else card.reach - 1
        numbers = kept.keys.numel() + kept.values.numel()
        assert numbers == 2 * rows * card.width  # of two texts


@pytest.mark.parametrize("form", FORMS)
def test_a_card_has_as_many_parameters(form):
    more = FORMS[form]
    result = [
        sum(x.numel() for x in layer.self_attn.parameters() if x.dim() == 2)
        for layer in published(**more).layers
    ]
    assert result == [x.parameters for x in layers_of(SIZES | more)]
