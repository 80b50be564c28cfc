"""Model cards: layers from a configuration, and what they cost."""

import json

import pytest

from course.cards import MODELS, filled, layers_of, unread
from helpers.cost import (
    Layer,
    attention_flops,
    cache_bytes,
    kv_cache_bytes,
    projection_flops,
    step_bytes,
    step_flops,
)
from tests.core.reference_cost import decode_step

PLAIN = {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 16,
}
LAYERS = [
    Layer("global", 100, 8, None, 0, 16),
    Layer("window", 100, 8, 5, 0, 16),
    Layer("latent", 70, 9, None, 0, 34),
    Layer("state", 50, 0, None, 12, 0),
    Layer("shared", 60, 8, 5, 0, 16),
]


def test_plain_layers_cost_what_the_other_counts_say():
    layers = layers_of(PLAIN)
    assert sum(cache_bytes(layers, 77, 2, batch=3)) == kv_cache_bytes(
        77, 3, 2, 16, 16, 2, batch=3
    )
    flops = attention_flops(1, 77, 16, 16, n_heads=8, batch=3)
    projected = projection_flops(1, 64, 8, 2, d_k=16, batch=3)["total"]
    found = step_flops(layers, 77, batch=3)
    assert found == [projected + flops["scores"] + flops["values"]] * 3


@pytest.mark.parametrize("S", [1, 4, 5, 6, 40])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_step_is_what_a_loop_over_all_that_it_touches_counts(S, batch):
    for layer in LAYERS:
        kept, flops, moved = decode_step(layer, S, 2, batch)
        assert cache_bytes([layer], S, 2, batch=batch) == [kept]
        assert step_flops([layer], S, batch=batch) == [flops]
        assert step_bytes([layer], S, 2, batch=batch) == [moved]


def test_a_window_keeps_no_more_and_no_less_than_it_reaches():
    _, window, *_ = LAYERS
    sizes = [cache_bytes([window], S, 1)[0] for S in (0, 4, 5, 6)]
    assert sizes == [0, 32, 40, 40]


def test_every_model_reads_without_a_key_to_spare():
    for name, config in MODELS.items():
        assert len(layers_of(config)) == config["num_hidden_layers"], name
        assert unread(config) == []
        assert layers_of(json.loads(json.dumps(config))) == layers_of(config)


def test_shared_layers_have_no_keys_of_their_own():
    first, _, last = layers_of(PLAIN | {"num_kv_shared_layers": 1})
    assert (first.kind, last.kind) == ("global", "shared")
    assert last.width == first.width
    assert first.parameters - last.parameters == 2 * 64 * 2 * 16


@pytest.mark.parametrize(
    ("more", "heads"),
    [
        ({"attention_k_eq_v": True}, 1),
        ({"attention_k_eq_v": False}, 2),
        ({}, 1),
    ],
)
def test_key_heads_of_global_layers(more, heads):
    """As in the code of Gemma 4, unless there is no such key."""
    more = more | {"num_global_key_value_heads": 1}
    assert layers_of(PLAIN | more)[0].width == 2 * heads * 16


def per_token(config):
    """Bytes that one more position adds, in 16 bits, beyond every window."""
    layers = layers_of(config)
    sizes = [sum(cache_bytes(layers, S, 2)) for S in (2**25, 2**25 + 1)]
    return sizes[1] - sizes[0]


def sizes(d, layers, heads, **more):
    return {
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        **more,
    }


BLOCKS = [{"attention": {"n_heads_in_group": 8, "no_op": False}}] * 49 + [
    {"attention": {"no_op": True}}
] * 31
KIMI_K3 = {
    **sizes(7168, 93, 96, model_type="kimi_linear", kv_lora_rank=512),
    **{"q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128},
    "qk_nope_head_dim": 128,
    "linear_attn_config": {
        "kda_layers": [i for i in range(1, 93) if i % 4],
        "full_attn_layers": [*range(4, 93, 4), 93],
        **{"num_heads": 96, "head_dim": 128, "short_conv_kernel_size": 4},
    },
}
GEMMA3 = sizes(2560, 34, None, model_type="gemma3_text", sliding_window=1024)
del GEMMA3["num_attention_heads"]
# What files state, and the bytes that a token adds, counted by hand: layers x
# (keys and values) x heads x width x 2 bytes.
STATED = {
    "Falcon 7B: one head, whatever num_kv_heads says": (
        sizes(4544, 32, 71, model_type="falcon", num_kv_heads=71)
        | {"multi_query": True, "new_decoder_architecture": False},
        32 * 2 * 1 * 64 * 2,
    ),
    "Falcon 40B: the new architecture reads num_kv_heads": (
        sizes(8192, 60, 128, model_type="falcon", num_kv_heads=8)
        | {"multi_query": True, "new_decoder_architecture": True},
        60 * 2 * 8 * 64 * 2,
    ),
    "GLM-4 9B: heads in groups": (
        sizes(4096, 40, 32, model_type="chatglm", num_layers=40)
        | {"kv_channels": 128, "multi_query_attention": True}
        | {"multi_query_group_num": 2},
        40 * 2 * 2 * 128 * 2,
    ),
    "Nemotron Super 49B: 49 blocks of 80 with attention": (
        sizes(8192, 80, 64, model_type="nemotron-nas", block_configs=BLOCKS),
        49 * 2 * 8 * 128 * 2,
    ),
    "Hunyuan-Large: two layers share a cache": (
        sizes(6400, 64, 80, model_type="hunyuan", num_key_value_heads=8)
        | {"use_cla": True, "cla_share_factor": 2},
        32 * 2 * 8 * 80 * 2,
    ),
    "StarCoder, which does not say so": (
        {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40}
        | {"n_head": 48},
        40 * 2 * 1 * 128 * 2,
    ),
    "BLOOM: its own names": (
        {"model_type": "bloom", "n_embed": 1024, "n_layer": 2, "n_head": 16},
        2 * 2 * 16 * 64 * 2,
    ),
    "GPT-2: its own names": (
        {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12}
        | {
            "n_ctx": 1024,
            "n_positions": 1024,
            "reorder_and_upcast_attn": False,
        },
        12 * 2 * 12 * 64 * 2,
    ),
    "StarCoder: one head": (
        {"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40}
        | {"n_head": 48, "multi_query": True},
        40 * 2 * 1 * 128 * 2,
    ),
    "Gemma 2 2B: every second layer is full": (
        sizes(2304, 26, 8, model_type="gemma2", sliding_window=4096)
        | {"num_key_value_heads": 4, "head_dim": 256},
        13 * 2 * 4 * 256 * 2,
    ),
    "Gemma 3 4B: heads and width by its code": (
        {"text_config": GEMMA3, "vision_config": {"num_attention_heads": 16}},
        5 * 2 * 4 * 256 * 2,
    ),
    "Llama 4 Scout: every fourth layer does not rotate": (
        sizes(5120, 48, 40, model_type="llama4_text", no_rope_layers=[])
        | {"num_key_value_heads": 8, "attention_chunk_size": 8192},
        12 * 2 * 8 * 128 * 2,
    ),
    "Llama 4, its layers listed": (
        sizes(5120, 4, 40, model_type="llama4_text", num_key_value_heads=8)
        | {"no_rope_layers": [1, 0, 1, 0], "attention_chunk_size": 8192},
        2 * 2 * 8 * 128 * 2,
    ),
    "Llama 3.2 Vision 11B: eight layers of 40 read the picture": (
        sizes(4096, 40, 32, model_type="mllama_text_model")
        | {"num_key_value_heads": 8}
        | {"cross_attention_layers": [3, 8, 13, 18, 23, 28, 33, 38]},
        32 * 2 * 8 * 128 * 2,
    ),
    "Qwen2 with windows above a layer": (
        sizes(3584, 28, 28, model_type="qwen2", num_key_value_heads=4)
        | {"use_sliding_window": True, "sliding_window": 4096}
        | {"max_window_layers": 20},
        20 * 2 * 4 * 128 * 2,
    ),
    "Qwen2 with its windows switched off": (
        sizes(3584, 28, 28, model_type="qwen2", num_key_value_heads=4)
        | {"use_sliding_window": False, "sliding_window": 4096}
        | {"max_window_layers": 20},
        28 * 2 * 4 * 128 * 2,
    ),
    "MiniMax-M2.7: 62 of one type": (
        sizes(3072, 62, 48, model_type="minimax_m2", num_key_value_heads=8)
        | {"head_dim": 128, "attn_type_list": [1] * 62},
        62 * 2 * 8 * 128 * 2,
    ),
    "Gemma 2 9B: its window has two names": (
        sizes(3584, 42, 16, model_type="gemma2", sliding_window=4096)
        | {"num_key_value_heads": 8, "head_dim": 256}
        | {"sliding_window_size": 4096},
        21 * 2 * 8 * 256 * 2,
    ),
    "Mistral 7B without a window": (
        sizes(4096, 32, 32, model_type="mistral", num_key_value_heads=8)
        | {"sliding_window": None},
        32 * 2 * 8 * 128 * 2,
    ),
    "Mistral 7B, whose file says nothing of windows": (
        sizes(4096, 32, 32, model_type="mistral", num_key_value_heads=8),
        0,
    ),
    "LFM2 350M: attention at some places": (
        sizes(1024, 16, 16, model_type="lfm2", num_key_value_heads=8)
        | {"full_attn_idxs": [2, 5, 8, 10, 12, 14], "conv_L_cache": 3}
        | {"num_heads": 16, "block_dim": 1024},
        6 * 2 * 8 * 64 * 2,
    ),
    "LFM2 1.2B: convolutions beside attention": (
        sizes(2048, 16, 32, model_type="lfm2", num_key_value_heads=8)
        | {"layer_types": ["conv", "conv", "full_attention", "conv"] * 4}
        | {"conv_L_cache": 3, "block_dim": 2048},
        4 * 2 * 8 * 64 * 2,
    ),
    "Granite 4.0, its Mamba layers in a part of their own": (
        sizes(2560, 40, 40, num_key_value_heads=8, part={"mamba_d_state": 256})
        | {"layer_types": ["attention"] * 40},
        40 * 2 * 8 * 64 * 2,
    ),
    "Granite 4.0 without its Mamba layers": (
        sizes(2560, 40, 40, model_type="granitemoehybrid")
        | {"num_key_value_heads": 8, "layer_types": ["attention"] * 40}
        | {"mamba_d_state": 256, "mamba_n_heads": 80},
        40 * 2 * 8 * 64 * 2,
    ),
    "RecurrentGemma 2B: windows alone": (
        sizes(2560, 26, 10, model_type="recurrent_gemma", head_dim=256)
        | {"num_key_value_heads": 1, "attention_window_size": 2048}
        | {"_block_types": ["recurrent", "recurrent", "attention"]},
        0,
    ),
    "Qwen3.5 with experts: three states, one full layer": (
        sizes(2048, 40, 16, model_type="qwen3_5_moe_text", head_dim=256)
        | {"num_key_value_heads": 2, "full_attention_interval": 4}
        | {"linear_num_key_heads": 16, "linear_num_value_heads": 32}
        | {"linear_key_head_dim": 128, "linear_value_head_dim": 128}
        | {"attn_output_gate": True},
        10 * 2 * 2 * 256 * 2,
    ),
    "Kimi K3": (KIMI_K3, 24 * (512 + 64) * 2),
    "a text model within a model of speech and pictures": (
        {"thinker_config": {"text_config": PLAIN, "audio_config": {"d": 9}}},
        3 * 2 * 2 * 16 * 2,
    ),
    "one within llm_config": ({"llm_config": PLAIN}, 3 * 2 * 2 * 16 * 2),
    "one within language_config": (
        {"language_config": PLAIN},
        3 * 2 * 2 * 16 * 2,
    ),
}


@pytest.mark.parametrize("name", STATED)
def test_a_token_adds_what_the_file_says(name):
    config, expected = STATED[name]
    assert per_token(config) == expected


def test_matrices_of_gates_are_counted():
    """Kimi K3 states two: the attention of its card has 36.18 B entries."""
    gates = {"mla_use_output_gate": True} | {
        "linear_attn_config": KIMI_K3["linear_attn_config"]
        | {"use_full_rank_gate": True}
    }
    plain, gated = (
        sum(layer.parameters for layer in layers_of(config))
        for config in (KIMI_K3, KIMI_K3 | gates)
    )
    d, wide = 7168, 96 * 128
    full = d * wide - 128 * (d + wide)  # instead of two factors
    assert gated - plain == 69 * full + 24 * d * wide
    assert f"{gated / 1e9:.2f}" == "36.18"


# Keys that some published file has, each of which changes what is kept.
UNKNOWN = {
    **{"index_topk": 2048, "attn_layer_period": 8, "mamba_d_state": 16},
    **{"hybrid_layer_pattern": [0, 1], "swa_num_key_value_heads": 8},
    **{"layer_group_size": 5, "num_attention_groups": 8, "v_head_dim": 128},
    **{"num_key_value_heads_per_layer": [8, 4], "n_head_kv": 8},
    **{"compress_ratios": [4, 128], "n_heads": 8},
    **{"sparse_attention_config": {"topk": 16}, "attn_config": {"kv": 8}},
    **{"use_bidirectional_attention": True, "is_encoder_decoder": True},
    **{"attention_moons": 2, "further": {"kv_heads": 2}},
}


@pytest.mark.parametrize("key", UNKNOWN)
def test_a_key_that_could_change_the_count_is_refused(key):
    named = key if key != "further" else "further.kv_heads"
    with pytest.raises(ValueError, match=f"without {named}, which no rule"):
        layers_of(PLAIN | {key: UNKNOWN[key]})
    assert unread(PLAIN | {"moons": 1, key: UNKNOWN[key]}) == [named, "moons"]
    for nothing in (None, False, 0, [], {}):
        assert per_token(PLAIN | {key: nothing}) == 384


@pytest.mark.parametrize(
    "kind", ["a_new_model", "mixtral", "gemma2_of_another", ["llama"]]
)
def test_key_heads_of_an_unknown_model_are_not_guessed(kind):
    config = {k: v for k, v in PLAIN.items() if k != "num_key_value_heads"}
    with pytest.raises(ValueError, match="must state num_key_value_heads"):
        layers_of(config | {"model_type": kind})


@pytest.mark.parametrize("kind", ["qwen3_next", "jamba", "deepseek_v3"])
def test_layers_that_the_code_decides_are_asked_for(kind):
    with pytest.raises(ValueError, match=r"layer_types which|kv_lora_rank;"):
        layers_of(PLAIN | {"model_type": kind})


def test_what_is_filled_in_is_said():
    assert filled(PLAIN) == []
    with pytest.raises(ValueError, match="state num_hidden_layers"):
        filled({"hidden_size": 64})
    starcoder = STATED["StarCoder, which does not say so"][0]
    assert filled(starcoder) == ["multi_query true", "head_dim 128"]
    gpt_oss = {
        k: v for k, v in MODELS["gpt-oss-20b"].items() if k != "head_dim"
    }
    assert filled(gpt_oss) == ["head_dim 64"]
    assert filled(STATED["GPT-2: its own names"][0]) == [
        "num_key_value_heads 12",
        "head_dim 64",
    ]
    assert filled({"text_config": GEMMA3}) == [
        "head_dim 256",
        "num_attention_heads 8",
        "num_key_value_heads 4",
        "sliding_window_pattern 6",
    ]
    latent = MODELS["DeepSeek-V3"]
    assert filled({k: v for k, v in latent.items() if k != "head_dim"}) == []


def test_an_encoder_is_refused():
    for more in ({"model_type": "bert"}, {"is_causal": False}):
        with pytest.raises(ValueError, match=r"decodes.*; got (bert|no is_c)"):
            layers_of(PLAIN | more)
