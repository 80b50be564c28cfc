"""Latent attention, and the choice of keys, against the code of DeepSeek.

The layers of V2 and V3 whole and by steps, the layer of V3.2 whole.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import numpy as np
import pytest

from helpers.cache import KVCache
from helpers.heads import split_heads
from helpers.latent import (
    LatentProjections,
    latent_attention,
    latent_attention_vjp,
)
from helpers.layers import layer_norm, rms_norm
from helpers.masks import causal_mask
from helpers.positions import (
    rotary_embedding,
    rotary_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)
from helpers.sparse import chosen_mask, index_scores
from tests.with_torch.layers import scaled

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers")

SIZES = {
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "kv_lora_rank": 10,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 6,
    "v_head_dim": 5,
    "num_hidden_layers": 1,
    "first_k_dense_replace": 1,
}
FORMS = pytest.mark.parametrize("absorbed", [False, True])
QUERIES = pytest.mark.parametrize("q_lora_rank", [None, 8])
MODELS = pytest.mark.parametrize("model", ["V2", "V3"])


def published(model, q_lora_rank, **more):
    """A layer of the published code with random weights, in float64."""
    torch.manual_seed(0)
    low = f"deepseek_{model.lower()}"
    code = pytest.importorskip(f"transformers.models.{low}.modeling_{low}")
    part = {
        name: getattr(code, f"Deepseek{model}{name}")
        for name in ("Config", "Attention", "RotaryEmbedding")
    }
    sizes = SIZES | {"q_lora_rank": q_lora_rank} | more
    config = part["Config"](**sizes, attn_implementation="eager")
    layer = scaled(part["Attention"](config, 0))
    return layer, part["RotaryEmbedding"](config)


def columns(W, first):
    """The first columns of each head, and the others."""
    cut = W.reshape(len(W), SIZES["num_attention_heads"], -1)
    return (x.reshape(len(W), -1) for x in np.split(cut, [first], axis=-1))


def ours(layer, part=torch.Tensor.detach):
    """Its weights, or a part of each: rows are positions here."""
    W = {n: part(w).numpy().T for n, w in layer.named_parameters()}
    down = W["kv_a_proj_with_mqa.weight"]
    W_DKV, W_KR = np.split(down, [SIZES["kv_lora_rank"]], axis=1)
    still = SIZES["qk_nope_head_dim"]
    W_UK, W_UV = columns(W["kv_b_proj.weight"], still)
    up = W.get("q_b_proj.weight")
    W_UQ, W_QR = columns(W["q_proj.weight"] if up is None else up, still)
    return LatentProjections(
        W_DKV,
        W["kv_a_layernorm.weight"],
        W_KR,
        W_UK,
        W_UV,
        W.get("q_a_proj.weight"),
        W.get("q_a_layernorm.weight"),
        W_UQ,
        W_QR,
        W["o_proj.weight"],
        SIZES["num_attention_heads"],
    )


def through(layer, rotary, X, start=0, cache=None):
    """Output and weights of the published layer, with a causal mask."""
    T = X.shape[1]
    places = torch.arange(start, start + T)[None]
    hidden = torch.tensor(~causal_mask(T, start + T))
    bias = torch.zeros(hidden.shape, dtype=X.dtype)
    bias = bias.masked_fill(hidden, -torch.inf)[None, None]
    return layer(
        X,
        position_embeddings=rotary(X, places),
        attention_mask=bias,
        cache=cache,
    )


def run(layer, rotary, X, start=0, cache=None):
    """The same of and as arrays."""
    with torch.no_grad():
        result = through(layer, rotary, torch.tensor(X), start, cache)
    return tuple(x.numpy() for x in result)


# Its softmax is in float32, and so are its norms and its angles.
CLOSE = {"rtol": 1e-5, "atol": 2e-6}
GRADIENTS = {"rtol": 1e-4, "atol": 2e-5}


@FORMS
@QUERIES
@MODELS
@pytest.mark.parametrize("T", [1, 7])
def test_it_equals_the_published_code(absorbed, q_lora_rank, model, T):
    layer, rotary = published(model, q_lora_rank)
    X = np.random.default_rng(1).normal(size=(2, T, SIZES["hidden_size"]))
    desired = run(layer, rotary, X)
    results = latent_attention(
        X, ours(layer), mask=causal_mask(T), absorbed=absorbed
    )
    for result, expected in zip(results, desired, strict=True):
        np.testing.assert_allclose(result, expected, **CLOSE)


@FORMS
@QUERIES
@MODELS
def test_steps_equal_the_published_steps(absorbed, q_lora_rank, model):
    layer, rotary = published(model, q_lora_rank)
    X = np.random.default_rng(2).normal(size=(2, 8, SIZES["hidden_size"]))
    theirs = transformers.DynamicCache()
    mine = KVCache(8, 1, SIZES["kv_lora_rank"], SIZES["qk_rope_head_dim"],
                   batch=(2,))  # fmt: skip
    start = 0
    for n in (3, 1, 1, 2, 1):
        rows = X[:, start : start + n]
        desired = run(layer, rotary, rows, start, theirs)
        results = latent_attention(
            rows,
            ours(layer),
            mask=causal_mask(n, start + n),
            cache=mine,
            absorbed=absorbed,
        )
        for result, expected in zip(results, desired, strict=True):
            np.testing.assert_allclose(result, expected, **CLOSE)
        start += n
    kept = theirs.layers[0]
    assert kept.keys.numel() + kept.values.numel() == mine.nbytes // 8


@QUERIES
@MODELS
def test_gradients_equal_those_of_the_published_code(q_lora_rank, model):
    layer, rotary = published(model, q_lora_rank)
    shape = (2, 7, SIZES["hidden_size"])
    X, upstream = np.random.default_rng(5).normal(size=(2, *shape))
    rows = torch.tensor(X, requires_grad=True)
    output, _ = through(layer, rotary, rows)
    output.backward(torch.tensor(upstream))
    p = ours(layer)
    weights = latent_attention(X, p, mask=causal_mask(7)).weights
    results = latent_attention_vjp(upstream, X, p, weights)
    desired = ours(layer, part=lambda w: w.grad)
    np.testing.assert_allclose(results.X, rows.grad.numpy(), **GRADIENTS)
    for name, expected in desired._asdict().items():
        result = getattr(results.projections, name)
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(
                result, expected, **GRADIENTS, err_msg=name
            )
        else:
            assert result == expected


@FORMS
def test_longer_texts_turn_more_slowly_and_have_larger_scores(absorbed):
    factor, trained, d_r = 40, 64, SIZES["qk_rope_head_dim"]
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": factor,
            "original_max_position_embeddings": trained, "beta_fast": 32,
            "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}  # fmt: skip
    layer, rotary = published("V3", 8, rope_parameters=rope)
    X = np.random.default_rng(4).normal(size=(1, 9, SIZES["hidden_size"]))
    more = {
        "frequencies": yarn_frequencies(d_r, factor, trained),
        "scale": yarn_attention_factor(factor) ** 2
        / np.sqrt(d_r + SIZES["qk_nope_head_dim"]),
    }
    desired = run(layer, rotary, X)
    shared = {"mask": causal_mask(9), "absorbed": absorbed}
    results = latent_attention(X, ours(layer), **shared, **more)
    for result, expected in zip(results, desired, strict=True):
        np.testing.assert_allclose(result, expected, **CLOSE)
    for name in more:
        less = {n: value for n, value in more.items() if n != name}
        other = latent_attention(X, ours(layer), **shared, **less).output
        assert np.abs(other - desired[0]).max() > 1e-3


def index_of(layer, X):
    """The scores of the layer's indexer, made with the helpers."""
    W = {n: w.detach().numpy().T for n, w in layer.named_parameters()}
    d_r = SIZES["qk_rope_head_dim"]

    def turned(x):  # halves turn here, the first columns alone
        return rotary_embedding(x, frequencies=rotary_frequencies(d_r))

    rows = rms_norm(
        X @ W["q_a_proj.weight"], W["q_a_layernorm.weight"], eps=1e-6
    )
    K = layer_norm(
        X @ W["indexer.wk.weight"],
        W["indexer.k_norm.weight"],
        W["indexer.k_norm.bias"],
        eps=1e-6,
    )
    Q = split_heads(rows @ W["indexer.wq_b.weight"], INDEX["index_n_heads"])
    weights = X @ W["indexer.weights_proj.weight"]
    return index_scores(turned(Q), turned(K), weights)


INDEX = {"index_topk": 4, "index_head_dim": 12, "index_n_heads": 10}


@FORMS
@pytest.mark.parametrize("seed", range(3))
def test_chosen_reading_equals_the_published_code(absorbed, seed):
    layer, rotary = published("V32", 8, **INDEX)
    X = np.random.default_rng(seed).normal(size=(2, 11, SIZES["hidden_size"]))
    desired = run(layer, rotary, X)
    causal = causal_mask(11)
    chosen = chosen_mask(index_of(layer, X), INDEX["index_topk"], mask=causal)
    assert (chosen[:, 4:] != causal[4:]).any()
    results = latent_attention(
        X, ours(layer), mask=chosen[:, None], absorbed=absorbed
    )
    for result, expected in zip(results, desired, strict=True):
        np.testing.assert_allclose(result, expected, **CLOSE)
    every = latent_attention(X, ours(layer), mask=causal).output
    assert np.abs(every - desired[0]).max() > 1e-2
