"""The two kinds of layers of Kimi Linear against the published code.

Latent attention without rotations, and the delta rule with a decay of its own
for each row of the state. `helpers.linear` has one decay for all rows: with
equal decays it gives the same, and otherwise one step of it does, for a state
whose rows have decayed before.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import numpy as np
import pytest

from course.cards import FULL, LINEAR, MODELS, layers_of
from helpers.cache import KVCache
from helpers.heads import merge_heads, split_heads
from helpers.latent import latent_attention
from helpers.layers import rms_norm, silu
from helpers.linear import delta_rule, gated_delta_rule, short_convolution
from helpers.masks import causal_mask
from tests.with_torch import test_linear
from tests.with_torch.layers import (
    additive,
    array,
    close,
    project,
    scaled,
)
from tests.with_torch.test_latent import SIZES, ours

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.24")
kimi = pytest.importorskip(
    "transformers.models.kimi_linear.modeling_kimi_linear"
)

T, H, D = 9, 3, 8
STATE = {
    "linear_num_heads": H,
    "linear_head_dim": D,
    "linear_conv_kernel_dim": 4,
    "num_hidden_layers": 2,
    "layer_types": [LINEAR, FULL],
}
# That code has its norms, its softmax and the whole delta rule in float32, of
# which numbers near 1 are 1.2e-7 apart.
CLOSE = 5e-6
RULE = {"rtol": 2e-5, "atol": 2e-5}  # through 130 positions
FORMS = {
    "step": kimi.recurrent_kimi_delta_attention,
    "chunks": kimi.chunk_kimi_delta_attention,
}


def configured(**more):
    sizes = SIZES | STATE | more
    return transformers.KimiLinearConfig(**sizes, attn_implementation="eager")


def rows(seed):
    return np.random.default_rng(seed).normal(size=(2, T, 24))


# --- Latent attention


def latent(**more):
    torch.manual_seed(0)
    return scaled(kimi.KimiLinearAttention(configured(**more), 1))


def unrotated(X, layer, start=0, **more):
    """All rows at position 0, so that nothing turns."""
    mask = causal_mask(X.shape[1], start + X.shape[1])
    return latent_attention(
        X, ours(layer), mask=mask, positions=np.zeros(X.shape[1]), **more
    )


@pytest.mark.parametrize("absorbed", [False, True])
@pytest.mark.parametrize("q_lora_rank", [None, 8])
def test_its_latent_attention_rotates_nothing(absorbed, q_lora_rank):
    layer, X = latent(q_lora_rank=q_lora_rank), rows(1)
    desired = layer(torch.tensor(X), additive(causal_mask(T)))
    results = unrotated(X, layer, absorbed=absorbed)
    for result, expected in zip(results, desired, strict=True):
        close(result, expected, CLOSE)
    turned = latent_attention(X, ours(layer), mask=causal_mask(T)).output
    assert abs(turned - array(desired[0])).max() > 1e-2


@pytest.mark.parametrize("absorbed", [False, True])
def test_steps_of_its_latent_attention(absorbed):
    layer, X, start = latent(), rows(2), 0
    theirs = transformers.DynamicCache()
    mine = KVCache(T, 1, SIZES["kv_lora_rank"], SIZES["qk_rope_head_dim"],
                   batch=(2,))  # fmt: skip
    for n in (4, 1, 3, 1):
        part = X[:, start : start + n]
        mask = additive(causal_mask(n, start + n))
        expected, _ = layer(torch.tensor(part), mask, cache=theirs)
        result = unrotated(part, layer, start, cache=mine, absorbed=absorbed)
        close(result.output, expected, CLOSE)
        start += n
    kept = theirs.layers[1]  # which has the index of its layer
    assert kept.keys.numel() + kept.values.numel() == mine.nbytes // 8


# --- The delta rule


def arguments(seed, T, H, d_k, d_v):
    """As of the gated delta rule, but a decay for each row of a state."""
    result = test_linear.arguments(seed, T, H, H, d_k, d_v)
    drawn = np.random.default_rng([seed, 1]).normal(size=result["K"].shape)
    return result | {"log_decay": -np.log1p(np.exp(drawn))}


def published(form, x):
    """That code has the heads after the positions, and computes in float32."""
    tensor = {n: torch.tensor(a, dtype=torch.float32) for n, a in x.items()}
    state = tensor.pop("state")
    Q, K, V, beta, log_decay = (t.transpose(1, 2) for t in tensor.values())
    output, last = FORMS[form](
        Q, K, V, g=log_decay, beta=beta, initial_state=state,
        output_final_state=True,
    )  # fmt: skip
    return output.transpose(1, 2).numpy(), last.numpy()


def decayed_by_row(Q, K, V, beta, log_decay, state):
    """Steps of the delta rule, before each of which the state's rows decay."""
    output = []
    for t in range(Q.shape[-2]):
        state = np.exp(log_decay[..., t, :, None]) * state
        at = np.s_[..., t : t + 1, :]
        row, state = delta_rule(
            Q[at], K[at], V[at], beta[..., t : t + 1], state=state
        )
        output.append(row)
    return np.concatenate(output, axis=-2), state


SHAPES = [(1, 1, 1, 1), (5, 2, 4, 3), (130, 2, 8, 6)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", SHAPES)
def test_a_decay_for_each_row_of_the_state(form, sizes):
    for seed in range(3):
        x = arguments(seed, *sizes)
        desired = published(form, x)
        for result, expected in zip(decayed_by_row(**x), desired, strict=True):
            np.testing.assert_allclose(result, expected, **RULE)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", SHAPES)
def test_with_equal_decays_it_is_the_gated_delta_rule(form, sizes):
    x = arguments(7, *sizes)
    one = x["log_decay"][..., :1]  # of the first row, for all rows
    desired = published(form, x | {"log_decay": one + 0 * x["log_decay"]})
    for chunk in (None, 7, 200):
        results = gated_delta_rule(
            **x | {"log_decay": one[..., 0]}, chunk=chunk
        )
        for result, expected in zip(results, desired, strict=True):
            np.testing.assert_allclose(result, expected, **RULE)


# --- The whole layer of it


def layer_of_states():
    torch.manual_seed(0)
    return scaled(kimi.KimiLinearDeltaAttention(configured(), 0))


def remembered(X, layer, *, before=None, state=None):
    """The rows that the layer adds, the last rows and the state."""
    parts = (layer.q_proj, layer.k_proj, layer.v_proj)
    mixed = np.concatenate([project(X, part) for part in parts], axis=-1)
    filters = array(layer.conv1d.weight)[:, 0].T
    mixed, before = short_convolution(mixed, filters, before=before)
    Q, K, V = (split_heads(x, H) for x in np.split(silu(mixed), 3, axis=-1))
    Q, K = (x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6) for x in (Q, K))
    forget = layer.forget_gate
    steps = project(project(X, forget.f_a_proj), forget.f_b_proj)
    steps = np.log1p(np.exp(steps + array(forget.dt_bias)))
    rate = np.exp(array(forget.A_log)).reshape(H, 1, 1)
    beta = 1 / (1 + np.exp(-project(X, layer.b_proj)))
    if state is None:
        state = np.zeros((*X.shape[:-2], H, D, D))
    output, state = decayed_by_row(
        *(Q, K, V, beta.swapaxes(-1, -2)),
        -rate * split_heads(steps, H),
        state,
    )
    gate = split_heads(project(project(X, layer.g_a_proj), layer.g_b_proj), H)
    output = rms_norm(output, array(layer.o_norm.weight), eps=1e-5)
    output = merge_heads(output / (1 + np.exp(-gate)))
    return project(output, layer.o_proj), before, state


def test_the_layer_with_states():
    layer, X = layer_of_states(), rows(4)
    close(remembered(X, layer)[0], layer(torch.tensor(X)), CLOSE)


def test_steps_of_the_layer_with_states():
    layer, X = layer_of_states(), rows(5)
    theirs = transformers.DynamicCache(config=configured())
    before = state = None
    start = 0
    for n in (3, 1, 1, 4):
        part = X[:, start : start + n]
        expected = layer(torch.tensor(part), cache=theirs)
        result, before, state = remembered(
            part, layer, before=before, state=state
        )
        close(result, expected, CLOSE)
        start += n
    known = theirs.get_recurrent_state(0, state_idx=0)
    close(state, known, CLOSE)
    card = layers_of(configured().to_dict())
    assert known[0].numel() == card[0].state


def test_27_layers_of_which_7_have_a_cache():
    """Numbers of layers count from 1 in the published configuration."""
    full = [4, 8, 12, 16, 20, 24, 27]
    config = transformers.KimiLinearConfig(
        linear_attn_config={
            "full_attn_layers": full,
            "kda_layers": [i for i in range(1, 28) if i not in full],
            "head_dim": 128,
            "num_heads": 32,
            "short_conv_kernel_size": 4,
        }
    )
    card = MODELS["Kimi Linear 48B-A3B"]
    assert config.layer_types == card["layer_types"]
    assert config.layer_types.count(FULL) == 7
    assert layers_of(config.to_dict()) == layers_of(card)
