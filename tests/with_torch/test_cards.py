"""Model cards against the published code: parameters of attention.

Without weights; runs where PyTorch and `transformers` are installed.
"""

import json

import pytest

from course.cards import layers_of
from helpers.cost import cache_bytes
from tests.core.test_cards import GLM52, M3, NANO

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.0")
modeling_auto = transformers.models.auto.modeling_auto

# As published, by the defaults of their configurations.
NAMES = (
    *("llama", "mistral", "phi3", "qwen3", "smollm3", "minimax_m2"),
    *("gemma2", "gemma3_text", "gemma3n_text", "cohere2", "olmo3"),
    *("gpt_oss", "llama4_text", "deepseek_v2", "deepseek_v3"),
    *("qwen3_next", "qwen3_5_text", "kimi_linear"),
    *("deepseek_v32", "glm_moe_dsa"),
)


@pytest.mark.parametrize("name", NAMES)
def test_attention_has_as_many_parameters_as_in_the_published_code(name):
    config = transformers.CONFIG_MAPPING[name]()
    layers = layers_of(config.to_dict())
    for key in ("num_local_experts", "num_experts"):
        if getattr(config, key, None):
            setattr(config, key, 8)  # they are no part of attention
    with torch.device("meta"):  # sizes alone, no memory
        model = transformers.AutoModelForCausalLM.from_config(config)
    result = [
        sum(
            matrix.numel()
            for part, module in layer.named_children()
            if "attn" in part and "norm" not in part
            for key, matrix in module.named_parameters()
            if matrix.dim() == 2
        )
        for layer in model.modules()
        if type(layer).__name__.endswith("DecoderLayer")
    ]
    assert result == [layer.parameters for layer in layers]


def built(config, **more):
    """A model of the published code, with few experts and no memory."""
    given = {k: v for k, v in config.items() if v is not None}
    kind = given.pop("model_type")
    given.pop("time_step_limit", None)
    config = transformers.CONFIG_MAPPING[kind](**(given | more))
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(config)


def matrices(module):
    return sum(x.numel() for x in module.parameters() if x.dim() == 2)


def test_layers_that_share_a_choice_have_no_indexer():
    model = built(GLM52, n_routed_experts=8)
    result = [
        matrices(module)
        for name, module in model.named_modules()
        if name.endswith("self_attn")
    ]
    assert result == [layer.parameters for layer in layers_of(GLM52)]
    kept = held(model.config)
    assert kept == sum(cache_bytes(layers_of(GLM52), 3, 2))


def test_layers_of_mamba_have_the_matrices_of_the_published_code():
    few = {"n_routed_experts": 4, "num_experts_per_tok": 2}
    model = built(NANO, **few)
    layers = layers_of(NANO)
    mixers = [block.mixer for block in model.base_model.layers]
    result = [
        0 if "MoE" in type(mixer).__name__ else matrices(mixer)
        for mixer in mixers
    ]
    assert result == [layer.parameters for layer in layers]
    first = model.config
    wide = first.mamba_num_heads * first.mamba_head_dim
    assert layers[0].state == wide * first.ssm_state_size


def test_an_indexer_of_blocks_has_the_matrices_of_the_published_code():
    sparse = pytest.importorskip(
        "transformers.models.minimax_m3_vl.modeling_minimax_m3_vl"
    )
    given = {k: v for k, v in M3.items() if k != "model_type"}
    config = transformers.CONFIG_MAPPING[M3["model_type"]](**given)
    layers = layers_of(json.loads(json.dumps(config.to_dict())))
    assert layers == layers_of(M3)
    with torch.device("meta"):
        for i in (0, 3):
            module = sparse.MiniMaxM3VLAttention(config, i)
            assert matrices(module) == layers[i].parameters


def held(config):
    """Bytes of three positions in the cache that the model's code fills."""
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
        tokens = torch.zeros((1, 3), dtype=torch.long)
        cache = model(tokens, use_cache=True).past_key_values
    arrays = (
        getattr(layer, name, None)
        for layer in cache.layers
        for name in ("keys", "values", "indexer_keys")
    )
    return sum(array.numel() * 2 for array in arrays if array is not None)


def test_the_cache_holds_what_the_card_says_or_the_card_refuses():
    """For each type of model whose code runs at its defaults."""
    compared = {}
    for name in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        try:
            config = transformers.CONFIG_MAPPING[name]()
        except Exception:  # its defaults do not fit together
            continue
        try:
            layers = layers_of(json.loads(json.dumps(config.to_dict())))
        except ValueError:
            continue
        try:
            result = held(config)
        except Exception:  # it needs data, a package, or other settings
            continue
        kept = [layer for layer in layers if layer.kind != "state"]
        compared[name] = sum(cache_bytes(kept, 3, 2)) - result
    assert not any(compared.values()), compared
    assert len(compared) > 80
