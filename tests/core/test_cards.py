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
    Layer("latent", 70, 9, None, 0, 34, chosen=4, index=3, index_pair=6),
    Layer("latent", 70, 9, None, 0, 34, chosen=4),
    Layer("global", 70, 8, None, 0, 16, 6, 3, 6),
    Layer("state", 50, 0, None, 12, 0, update=5),
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
# DeepSeek-V3.2 and the two that GLM-5 and GLM-5.2 state, without the rest.
DSA = {
    **sizes(7168, 61, 128, model_type="deepseek_v32", kv_lora_rank=512),
    **{"q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128},
    **{"qk_nope_head_dim": 128, "index_head_dim": 128, "index_topk": 2048},
    "index_n_heads": 64,
}
GLM5 = {
    **DSA,
    **sizes(6144, 78, 64, model_type="glm_moe_dsa", q_lora_rank=2048),
    **{"qk_nope_head_dim": 192, "v_head_dim": 256, "index_n_heads": 32},
}
FREQUENT = GLM5 | {"index_topk_freq": 4, "index_skip_topk_offset": 3}
FULL_AT = [0, 1, *range(2, 78, 4)]
GLM52 = FREQUENT | {
    "indexer_types": ["full" if i in FULL_AT else "shared" for i in range(78)]
}
# The defaults of the published code, and the layers that its card names.
M3 = {
    **sizes(6144, 60, 64, model_type="minimax_m3_vl_text", head_dim=128),
    **{"num_key_value_heads": 4, "index_n_heads": 4, "index_head_dim": 128},
    **{"index_block_size": 128, "index_topk_blocks": 16},
    "index_local_blocks": 1,
    "layer_types": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 57,
}
M3_OLD = {k: v for k, v in M3.items() if "index" not in k} | {
    "layer_types": None,
    "sparse_attention_config": {
        **{"sparse_attention_freq": [0] * 3 + [1] * 57},
        **{"sparse_num_index_heads": 4, "sparse_index_dim": 128},
        **{"sparse_block_size": 128, "sparse_topk_blocks": 16},
        "sparse_local_block": 1,
    },
}
NANO = {
    **sizes(2688, 52, 32, model_type="nemotron_h", head_dim=128),
    **{"num_key_value_heads": 2, "mamba_num_heads": 64, "n_groups": 8},
    **{"mamba_head_dim": 64, "ssm_state_size": 128, "conv_kernel": 4},
    **{"chunk_size": 128, "expand": 2, "time_step_limit": [0.0, 1e9]},
    **{"mamba_ssm_cache_dtype": "float32", "sliding_window": None},
    "hybrid_override_pattern": (
        "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
    ),
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
    "DeepSeek-V3.2: an index key beside each latent vector": (
        DSA,
        61 * (512 + 64 + 128) * 2,
    ),
    "GLM-5: an indexer in each layer": (GLM5, 78 * (512 + 64 + 128) * 2),
    "GLM-5.2: 21 layers of 78 choose": (
        GLM52,
        (78 * (512 + 64) + 21 * 128) * 2,
    ),
    "GLM-5.2 by its schedule": (FREQUENT, (78 * (512 + 64) + 21 * 128) * 2),
    "a schedule in letters": (
        GLM5 | {"num_hidden_layers": 5, "index_topk_pattern": "FSSFS"},
        (5 * (512 + 64) + 2 * 128) * 2,
    ),
    "MiniMax-M3: an index key in 57 layers of 60": (
        M3,
        (60 * 2 * 4 * 128 + 57 * 128) * 2,
    ),
    "MiniMax-M3, its indexer in a part of its own": (
        M3_OLD,
        (60 * 2 * 4 * 128 + 57 * 128) * 2,
    ),
    "Nemotron 3 Nano: six layers of 52 attend": (NANO, 6 * 2 * 2 * 128 * 2),
    "its layers in words": (
        NANO
        | {"hybrid_override_pattern": None, "num_hidden_layers": 4}
        | {"layers_block_type": ["mamba", "moe", "attention", "mlp"]},
        2 * 2 * 128 * 2,
    ),
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


def test_an_indexer_chooses_what_a_layer_reads():
    """GLM-5.2 against GLM-5: 13.4 times becomes 31.8 at 131,072 tokens."""
    own, shared = layers_of(GLM52)[2:4]
    assert (own.chosen, own.index, own.index_pair) == (2048, 128, 2 * 32 * 128)
    assert (shared.chosen, shared.index, shared.index_pair) == (2048, 0, 0)
    indexer = 2048 * 32 * 128 + 6144 * 128 + 6144 * 32
    assert own.parameters - shared.parameters == indexer
    S = 2**17
    gains = []
    for config in (GLM5, GLM52):
        sparse = layers_of(config)
        dense = [
            one._replace(chosen=None, index=0, index_pair=0) for one in sparse
        ]
        all_of, some = (
            sum(step_flops(layers, S)) - 2 * sum(x.parameters for x in layers)
            for layers in (dense, sparse)
        )
        gains.append(f"{all_of / some:.1f}")
    assert gains == ["13.4", "31.8"]
    places = [layer.index > 0 for layer in layers_of(FREQUENT)]
    assert places == [layer.index > 0 for layer in layers_of(GLM52)]
    assert filled(GLM5) == ["index_topk_freq 1", "index_skip_topk_offset 2"]
    assert filled(GLM52) == filled(FREQUENT) == filled(DSA) == []


def test_an_indexer_of_blocks_reads_whole_blocks():
    first, *_, last = layers_of(M3)
    assert layers_of(M3_OLD) == layers_of(M3)
    assert first.chosen is None
    assert (last.chosen, last.index) == (16 * 128, 128)
    assert last.index_pair == 2 * 4 * 128
    assert last.pair == 32 * last.index_pair  # the limit of its gain
    indexer = 6144 * (4 * 128 + 128)
    assert last.parameters - first.parameters == indexer


def test_a_state_of_mamba_decays_and_adds():
    """In Nemotron 3 Nano they take what 7,850 positions of its keys take."""
    layers = layers_of(NANO)
    kinds = [layer.kind for layer in layers]
    assert [kinds.count(kind) for kind in ("state", "other", "global")] == [
        *(23, 23, 6)
    ]
    state = layers[0]
    assert state.state == 64 * 64 * 128
    wide = 64 * 64
    inside = 2 * wide + 2 * 8 * 128 + 64  # gate, input, B and C, steps
    assert state.parameters == 2688 * inside + wide * 2688 == 38_707_200
    flops = step_flops([state], 7)[0] - step_flops([state], 1)[0]
    assert flops == 0
    assert step_flops([state], 1) == [2 * state.parameters + 5 * state.state]
    held = 23 * state.state * 4
    assert sum(cache_bytes(layers, 0, 2)) == held == 46 * 2**20
    assert held // per_token(NANO) == 7850


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (DSA | {"index_topk_freq": 4}, "without index_topk_freq"),
        (DSA | {"index_topk": None}, "state index_topk"),
        (DSA | {"q_lora_rank": None}, "state q_lora_rank"),
        (DSA | {"layer_types": ["full_attention"] * 61}, "in layer_types"),
        (GLM5 | {"index_topk_freq": 0}, "index_topk_freq from 1"),
        (GLM5 | {"indexer_types": ["shared"] * 78}, "begin with full"),
        (GLM5 | {"indexer_types": ["full"]}, "full or shared"),
        (GLM5 | {"index_topk_pattern": "FX" * 39}, "full or shared"),
        (GLM5 | {"num_kv_shared_layers": 2}, "share keys and values"),
        (PLAIN | {"indexer_types": ["full"] * 3}, "without indexer_types"),
        (M3 | {"layer_types": None}, "say in layer_types"),
        (M3 | {"index_head_dim": None}, "state index_head_dim"),
        (M3 | {"index_local_blocks": 17}, "blocks nearby"),
        (M3 | {"sparse_attention_config": {"sparse_index_dim": 64}},
         "one value for index_head_dim and sparse_index_dim"),
        (M3 | {"sparse_attention_config": {"sparse_init_block": 1}},
         "without sparse_attention_config.sparse_init_block"),
        (M3 | {"sparse_attention_config": 3}, "keys in sparse_attention"),
        (M3_OLD | {"sparse_attention_config": {"sparse_attention_freq": [2]}},
         "0 or 1 in sparse_attention_freq"),
        (NANO | {"hybrid_override_pattern": "M*"}, "for each layer"),
        (NANO | {"hybrid_override_pattern": "MX" * 26}, "another"),
        (NANO | {"layers_block_type": ["mamba"] * 52}, "in each way"),
        (NANO | {"hybrid_override_pattern": None}, "say in layer_types"),
        (NANO | {"mamba_ssm_cache_dtype": "bfloat16"}, "float32"),
        (NANO | {"n_groups": None}, "state n_groups"),
        (NANO | {"mamba_n_groups": 2}, "without mamba_n_groups"),
    ],
)  # fmt: skip
def test_what_an_indexer_or_a_state_leaves_open_is_refused(config, why):
    with pytest.raises(ValueError, match=why):
        layers_of(config)


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
