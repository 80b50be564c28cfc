"""Latent attention against the code of DeepSeek-V3, whole and by steps.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import numpy as np
import pytest

from helpers.cache import KVCache
from helpers.latent import LatentProjections, latent_attention
from helpers.masks import causal_mask

torch = pytest.importorskip("torch", minversion="2.4")
deepseek = pytest.importorskip(
    "transformers.models.deepseek_v3.modeling_deepseek_v3"
)
transformers = pytest.importorskip("transformers")

SIZES = {
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_key_value_heads": 3,
    "kv_lora_rank": 10,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 5,
    "num_hidden_layers": 1,
    "first_k_dense_replace": 1,
}
FORMS = pytest.mark.parametrize("absorbed", [False, True])
QUERIES = pytest.mark.parametrize("q_lora_rank", [None, 8])


def published(q_lora_rank):
    """A layer of the published code with random weights, in float64."""
    torch.manual_seed(0)
    config = deepseek.DeepseekV3Config(
        **SIZES, q_lora_rank=q_lora_rank, attn_implementation="eager"
    )
    layer = deepseek.DeepseekV3Attention(config, 0).double().eval()
    with torch.no_grad():
        for weight in layer.parameters():
            spread = weight.shape[-1] ** -0.5 if weight.ndim == 2 else 0.3
            weight.normal_(0 if weight.ndim == 2 else 1, spread)
    return layer, deepseek.DeepseekV3RotaryEmbedding(config)


def columns(W, first):
    """The first columns of each head, and the others."""
    cut = W.reshape(len(W), SIZES["num_attention_heads"], -1)
    return (x.reshape(len(W), -1) for x in np.split(cut, [first], axis=-1))


def ours(layer):
    """Its weights: rows are positions here, and both parts are apart."""
    W = {n: w.detach().numpy().T for n, w in layer.named_parameters()}
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


def run(layer, rotary, X, start=0, cache=None):
    """Output and weights of the published layer, with a causal mask."""
    X = torch.tensor(X)
    T = X.shape[1]
    places = torch.arange(start, start + T)[None]
    hidden = torch.tensor(~causal_mask(T, start + T))
    bias = torch.zeros(hidden.shape, dtype=X.dtype)
    bias = bias.masked_fill(hidden, -torch.inf)[None, None]
    with torch.no_grad():
        output, weights = layer(X, rotary(X, places), bias, cache)
    return output.numpy(), weights.numpy()


# Its softmax is in float32, and so are its norms and its angles.
CLOSE = {"rtol": 1e-5, "atol": 2e-6}


@FORMS
@QUERIES
@pytest.mark.parametrize("T", [1, 7])
def test_it_equals_the_published_code(absorbed, q_lora_rank, T):
    layer, rotary = published(q_lora_rank)
    X = np.random.default_rng(1).normal(size=(2, T, SIZES["hidden_size"]))
    wanted = run(layer, rotary, X)
    found = latent_attention(
        X, ours(layer), mask=causal_mask(T), absorbed=absorbed
    )
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, **CLOSE)


@FORMS
@QUERIES
def test_steps_equal_the_steps_of_the_published_code(absorbed, q_lora_rank):
    layer, rotary = published(q_lora_rank)
    X = np.random.default_rng(2).normal(size=(2, 8, SIZES["hidden_size"]))
    theirs = transformers.DynamicCache()
    mine = KVCache(8, 1, SIZES["kv_lora_rank"], SIZES["qk_rope_head_dim"],
                   batch=(2,))  # fmt: skip
    start = 0
    for n in (3, 1, 1, 2, 1):
        rows = X[:, start : start + n]
        wanted = run(layer, rotary, rows, start, theirs)
        found = latent_attention(
            rows,
            ours(layer),
            mask=causal_mask(n, start + n),
            cache=mine,
            absorbed=absorbed,
        )
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, **CLOSE)
        start += n
    kept = theirs.layers[0]
    assert kept.keys.numel() + kept.values.numel() == mine.nbytes // 8


@pytest.mark.parametrize(
    "name", [n for n in LatentProjections._fields if n != "n_heads"]
)
def test_a_changed_weight_would_be_noticed(name):
    layer, rotary = published(8)
    X = np.random.default_rng(3).normal(size=(1, 6, SIZES["hidden_size"]))
    wanted, _ = run(layer, rotary, X)
    p = ours(layer)
    W = getattr(p, name).copy()
    W[..., 0] = 0
    p = p._replace(**{name: W})
    found = latent_attention(X, p, mask=causal_mask(6)).output
    assert np.abs(found - wanted).max() > 1e-3
