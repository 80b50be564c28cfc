"""Model cards against the published code: parameters of attention.

Without weights; runs where PyTorch and `transformers` are installed.
"""

import pytest

from helpers.cards import layers_of

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.0")

# As published, by the defaults of their configurations.
NAMES = (
    *("llama", "mistral", "phi3", "qwen3", "smollm3", "minimax_m2"),
    *("gemma2", "gemma3_text", "gemma3n_text", "cohere2", "olmo3"),
    *("gpt_oss", "llama4_text", "deepseek_v2", "deepseek_v3"),
    *("qwen3_next", "qwen3_5_text", "kimi_linear"),
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
    found = [
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
    assert found == [layer.parameters for layer in layers]
