"""The model against PyTorch's own layers, its autograd and its Adam.

`make test-torch` runs this where PyTorch is installed.
"""

from dataclasses import replace

import numpy as np
import pytest

from helpers import layers
from helpers.transformer import (
    TransformerConfig,
    adam_init,
    adam_step,
    init_transformer,
    loss_and_gradients,
    transformer,
)

torch = pytest.importorskip("torch", minversion="2.4")
functional = torch.nn.functional

SMALL = TransformerConfig(
    vocab=11, max_len=9, d_model=8, n_layers=3, n_heads=2, d_ff=12
)
FORMS = {
    "as GPT-2": {"activation": "gelu_tanh"},
    "as 2017": {"norm": "post", "activation": "relu", "positions": None},
    "as Llama": {
        "norm_kind": "rms",
        "positions": "rotary",
        "bias": False,
        "tied": False,
        "n_heads": 4,
        "n_kv_heads": 2,
    },
    "attention alone": {"d_ff": None, "positions": "alibi", "tied": False},
    "window": {"window": 3, "scale": 0.3},
}


def close(result, expected):
    expected = expected.detach().numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-13)


def tensors(params):
    return {
        name: torch.tensor(x, dtype=torch.float64, requires_grad=True)
        for name, x in params.items()
    }


def normed(x, p, name, config):
    shape, gain = (config.d_model,), p[f"{name}.gain"]
    if config.norm_kind == "rms":
        return functional.rms_norm(x, shape, gain, eps=1e-5)
    return functional.layer_norm(x, shape, gain, p[f"{name}.bias"], 1e-5)


def turned(x):
    """Complex numbers turn: column i is real, column i + d/2 imaginary."""
    half = x.shape[-1] // 2
    pairs = torch.complex(x[..., :half], x[..., half:])
    rate = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    at = torch.arange(x.shape[-2], dtype=torch.float64)
    angle = at[:, None] * rate
    pairs = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([pairs.real, pairs.imag], -1)


def attended(x, p, config):
    B, T, _ = x.shape
    H, H_kv, d_k = config.n_heads, config.kv_heads, config.d_k

    def heads(name, n):
        rows = functional.linear(x, p[name].T, p.get(f"{name}.bias"))
        return rows.view(B, T, n, d_k).transpose(1, 2)

    Q, K, V = heads("W_Q", H), heads("W_K", H_kv), heads("W_V", H_kv)
    if config.positions == "rotary":
        Q, K = turned(Q), turned(K)
    at = torch.arange(T)
    back = at[:, None] - at
    allowed = back >= 0
    if config.window is not None:
        allowed = allowed & (back < config.window)
    bias = torch.zeros(H, T, T, dtype=torch.float64)
    if config.positions == "alibi":
        slopes = 2.0 ** (-8 * torch.arange(1, H + 1) / H)
        bias = bias - slopes[:, None, None] * back
    bias = bias.masked_fill(~allowed, -torch.inf)
    mixed = functional.scaled_dot_product_attention(
        Q, K, V, attn_mask=bias, scale=config.scale, enable_gqa=H != H_kv
    )
    rows = mixed.transpose(1, 2).reshape(B, T, H * d_k)
    return functional.linear(rows, p["W_O"].T, p.get("W_O.bias"))


def widened(x, p, config):
    hidden = functional.linear(x, p["W_1"].T, p.get("W_1.bias"))
    bend = {
        "gelu": functional.gelu,
        "gelu_tanh": lambda h: functional.gelu(h, approximate="tanh"),
        "relu": functional.relu,
    }[config.activation]
    return functional.linear(bend(hidden), p["W_2"].T, p.get("W_2.bias"))


def logits_of(tokens, params, config):
    """The same model, of PyTorch's layers."""
    x = functional.embedding(tokens, params["embedding"])
    if config.positions == "learned":
        x = x + params["positions"][: tokens.shape[-1]]
    for i in range(config.n_layers):
        start = f"{i}."
        p = {
            name.removeprefix(start): x
            for name, x in params.items()
            if name.startswith(start)
        }
        layers_of_block = [("norm_1", attended)]
        if config.d_ff is not None:
            layers_of_block.append(("norm_2", widened))
        for name, layer in layers_of_block:
            if config.norm == "pre":
                x = x + layer(normed(x, p, name, config), p, config)
            else:
                x = normed(x + layer(x, p, config), p, name, config)
    if config.norm == "pre":
        x = normed(x, params, "norm", config)
    table = params["embedding"] if config.tied else params["output"].T
    return functional.linear(x, table, params.get("output.bias"))


@pytest.mark.parametrize("form", FORMS)
def test_logits_loss_gradients_and_steps(form):
    rng = np.random.default_rng(3)
    config = replace(SMALL, **FORMS[form])
    params = init_transformer(rng, config, std=0.3)
    theirs = tensors(params)
    optimizer = torch.optim.Adam(theirs.values(), lr=0.01)
    state = adam_init(params)
    for step in range(4):
        tokens, targets = rng.integers(0, 11, (2, 3, 7))
        logits = logits_of(torch.tensor(tokens), theirs, config)
        loss = functional.cross_entropy(
            logits.flatten(0, 1), torch.tensor(targets).flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        ours, gradients = loss_and_gradients(tokens, targets, params, config)
        # Adam divides by the size of a gradient, and so magnifies the
        # rounding of those that are nearly zero.
        loose = 1e-13 if step == 0 else 1e-7
        np.testing.assert_allclose(ours, loss.item(), rtol=max(loose, 1e-13))
        for name, x in theirs.items():
            np.testing.assert_allclose(
                gradients[name], x.grad.numpy(), rtol=1e-9, atol=loose
            )
        if step == 0:
            close(transformer(tokens, params, config), logits)
        params, state = adam_step(params, gradients, state, lr=0.01)
        optimizer.step()


def test_activations():
    x = np.linspace(-9, 9, 101)
    t = torch.tensor(x)
    close(layers.gelu(x), functional.gelu(t))
    close(
        layers.gelu(x, approximate="tanh"),
        functional.gelu(t, approximate="tanh"),
    )
