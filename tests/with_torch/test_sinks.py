"""Sinks, caps, gates and differences against the published models' code.

Random weights; runs where PyTorch and `transformers` are installed.
"""

import numpy as np
import pytest

from helpers.attention import attention
from helpers.gradients import attention_vjp, sinks_vjp
from helpers.heads import merge_heads, repeat_kv, split_heads
from helpers.layers import rms_norm
from helpers.masks import causal_mask, window_mask
from helpers.tiled import tiled_attention
from tests.with_torch.layers import additive, close, filled, project

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.0")

T, D_MODEL, H, H_KV, D_K = 7, 24, 6, 2, 4
SIZES = {
    "hidden_size": D_MODEL,
    "num_attention_heads": H,
    "num_key_value_heads": H_KV,
    "head_dim": D_K,
    "attn_implementation": "eager",
}


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def no_turn():
    """The cosines and sines of rotations by nothing."""
    return torch.ones(1, T, D_K).double(), torch.zeros(1, T, D_K).double()


def rows(rng):
    return rng.normal(size=(1, T, D_MODEL))


@pytest.mark.parametrize("window", [None, 3])
def test_the_sinks_of_gpt_oss(rng, window):
    from transformers.models.gpt_oss import modeling_gpt_oss as published

    torch.manual_seed(0)
    config = transformers.GptOssConfig(**SIZES)
    # A rotation by nothing has the cosines of half of the columns here.
    turn = [x[..., : D_K // 2] for x in no_turn()]
    module = filled(published.GptOssAttention(config, 0))
    X = rows(rng)
    mask = (
        causal_mask(T)
        if window is None
        else window_mask(T, left=window - 1, right=0)
    )
    expected, weights = module(torch.tensor(X), turn, additive(mask))
    Q = split_heads(project(X, module.q_proj), H)
    K, V = (
        repeat_kv(split_heads(project(X, layer), H_KV), H // H_KV)
        for layer in (module.k_proj, module.v_proj)
    )
    sinks = module.sinks.detach().numpy()
    ours = attention(Q, K, V, mask=mask, sinks=sinks)
    close(ours.weights, weights)
    close(project(merge_heads(ours.output), module.o_proj), expected)
    if window is None:
        tiled = tiled_attention(Q, K, V, causal=True, sinks=sinks, block_k=3)
        close(project(merge_heads(tiled), module.o_proj), expected)


def eager(published, tensors, **options):
    """What a model's own function gives, one key/value head for each head."""

    class Module(torch.nn.Module):
        num_key_value_groups = 1

    module = Module()
    module.sinks = options.pop("sinks", None)
    output, weights = published.eager_attention_forward(
        module, *tensors, scaling=0.5, **options
    )
    return output.transpose(1, 2), weights


@pytest.mark.parametrize("kind", ["gpt_oss", "gemma2"])
def test_gradients_are_those_of_autograd(rng, kind):
    arrays = rng.normal(size=(3, 2, 3, T, D_K))
    upstream, sinks = rng.normal(size=(2, 3, T, D_K)), rng.normal(size=3)
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]
    mask = causal_mask(T)
    if kind == "gpt_oss":
        from transformers.models.gpt_oss import modeling_gpt_oss as published

        known = torch.tensor(sinks, requires_grad=True)
        theirs, ours, tolerance = {"sinks": known}, {"sinks": sinks}, 1e-12
    else:
        from transformers.models.gemma2 import modeling_gemma2 as published

        # Gemma 2 computes its softmax in float32.
        theirs = ours = {"softcap": 1.3}
        tolerance = 3e-6
    output, _ = eager(
        published, tensors, attention_mask=additive(mask), **theirs
    )
    output.backward(torch.tensor(upstream))
    Q, K, V = arrays
    mixed, weights = attention(Q, K, V, mask=mask, scale=0.5, **ours)
    close(mixed, output, tolerance)
    back = attention_vjp(upstream, Q, K, V, weights, scale=0.5, **ours)
    for name, x in zip("QKV", tensors, strict=True):
        close(getattr(back, name), x.grad, tolerance)
    if "sinks" in ours:
        slope = sinks_vjp(upstream, mixed, weights, sinks)
        close(slope, known.grad, tolerance)


def test_the_cap_of_gemma_2(rng):
    from transformers.models.gemma2 import modeling_gemma2 as published

    arrays = 10 * rng.normal(size=(3, 2, 3, T, D_K))
    mask = causal_mask(T)
    expected, weights = eager(
        published,
        [torch.tensor(x) for x in arrays],
        attention_mask=additive(mask),
        softcap=50.0,
    )
    ours = attention(*arrays, mask=mask, scale=0.5, softcap=50)
    close(ours.weights, weights, 3e-6)  # their softmax is in float32
    assert (
        abs(
            ours.output - attention(*arrays, mask=mask, scale=0.5).output
        ).max()
        > 1e-3
    )
    np.testing.assert_allclose(ours.output, expected.numpy(), atol=1e-4)


def test_the_gate_of_qwen3_next(rng):
    from transformers.models.qwen3_next import modeling_qwen3_next as published

    torch.manual_seed(0)
    config = transformers.Qwen3NextConfig(**SIZES)
    module = filled(published.Qwen3NextAttention(config, 0))
    X, mask = rows(rng), causal_mask(T)
    expected, _ = module(torch.tensor(X), no_turn(), additive(mask))
    both = split_heads(project(X, module.q_proj), H)  # (..., H, T, 2 d_k)
    Q, G = both[..., :D_K], both[..., D_K:]
    K, V = (
        split_heads(project(X, layer), H_KV)
        for layer in (module.k_proj, module.v_proj)
    )
    # Its norms multiply by one plus the gain.
    Q, K = (
        rms_norm(x, 1 + norm.weight.detach().numpy(), eps=config.rms_norm_eps)
        for x, norm in ((Q, module.q_norm), (K, module.k_norm))
    )
    K, V = repeat_kv(K, H // H_KV), repeat_kv(V, H // H_KV)
    gated = attention(Q, K, V, mask=mask).output / (1 + np.exp(-G))
    close(project(merge_heads(gated), module.o_proj), expected, 2e-6)


@pytest.mark.parametrize("kind", ["olmo2", "qwen3"])
def test_norms_of_queries_and_keys(rng, kind):
    """OLMo 2 over all heads together, Qwen3 over each head alone."""
    torch.manual_seed(0)
    if kind == "olmo2":
        from transformers.models.olmo2 import modeling_olmo2 as published

        config = transformers.Olmo2Config(**SIZES)
        module = filled(published.Olmo2Attention(config, 0))
    else:
        from transformers.models.qwen3 import modeling_qwen3 as published

        config = transformers.Qwen3Config(**SIZES)
        module = filled(published.Qwen3Attention(config, 0))
    X, mask = rows(rng), causal_mask(T)
    expected, _ = module(torch.tensor(X), no_turn(), additive(mask))

    def normed(X, layer, norm, heads):
        gain, eps = norm.weight.detach().numpy(), config.rms_norm_eps
        columns = project(X, layer)
        if kind == "olmo2":
            return split_heads(rms_norm(columns, gain, eps=eps), heads)
        return rms_norm(split_heads(columns, heads), gain, eps=eps)

    Q = normed(X, module.q_proj, module.q_norm, H)
    K = normed(X, module.k_proj, module.k_norm, H_KV)
    V = split_heads(project(X, module.v_proj), H_KV)
    K, V = repeat_kv(K, H // H_KV), repeat_kv(V, H // H_KV)
    mixed = attention(Q, K, V, mask=mask).output
    # Their norms and softmax are in float32.
    close(project(merge_heads(mixed), module.o_proj), expected, 2e-5)


@pytest.mark.parametrize("layer", [0, 3])
def test_the_difference_of_two_softmaxes(rng, layer):
    from transformers.models.diffllama import modeling_diffllama as published

    torch.manual_seed(0)
    config = transformers.DiffLlamaConfig(**SIZES)
    module = filled(published.DiffLlamaAttention(config, layer))
    X, mask = rows(rng), causal_mask(T)
    expected, _ = module(torch.tensor(X), no_turn(), additive(mask))
    Q = split_heads(project(X, module.q_proj), H)
    K = repeat_kv(split_heads(project(X, module.k_proj), H_KV), H // H_KV)
    V = split_heads(project(X, module.v_proj), H_KV)  # here two: halves of V
    V = np.concatenate([V[:, :1], V[:, 1:]], axis=-1)  # (1, 1, T, 2 d_k)
    first, second = (
        attention(Q[:, half], K[:, half], V, mask=mask).output
        for half in (slice(0, H // 2), slice(H // 2, H))
    )
    lam = {
        n: x.detach().numpy()
        for n, x in module.named_parameters()
        if n.startswith("lambda")
    }
    start = 0.8 - 0.6 * np.exp(-0.3 * layer)
    factor = (
        np.exp(lam["lambda_q1"] @ lam["lambda_k1"])
        - np.exp(lam["lambda_q2"] @ lam["lambda_k2"])
        + start
    )
    mixed = first - factor * second  # (1, H/2, T, 2 d_k)
    mixed = (1 - start) * rms_norm(
        mixed, np.ones(2 * D_K), eps=config.rms_norm_eps
    )
    close(project(merge_heads(mixed), module.o_proj), expected, 2e-5)
