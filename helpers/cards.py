"""Model cards: what a published configuration says about attention.

`layers_of` reads a ``config.json`` in the form of Hugging Face. It names keys
that are missing, and keys whose effect it cannot count. It fills in two, as
Hugging Face does: without a number of key/value heads each query head has its
own, and without a head width the heads divide the width of the model. `unread`
lists the keys that it does not use.
"""

import re
from collections.abc import Mapping

from .cost import Layer

LONGEST = 256  # layers
WIDEST = 65536

FULL, SLIDING, CHUNKED, LINEAR = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "linear_attention",
)
# Models whose code applies its window to every layer.
ALL_SLIDING = ("mistral", "mixtral", "phi3")
# Models whose heads have a gate, which is as wide as the output.
GATED = ("qwen3_next", "qwen3_5_text")
# Models with layers of fixed state that are counted: a gated delta rule with
# one decay per head, and a rule with one decay per column of the keys.
DELTA = ("qwen3_next", "qwen3_5_text")
KIMI = ("kimi_linear",)
# Keys that change the count in a way that this module does not support.
REFUSED = (
    "attn_layer_period",
    "attn_type_list",
    "compress_ratios",
    "hybrid_override_pattern",
    "index_topk",
    "is_encoder_decoder",
    "layers_block_type",
    "mamba_d_state",
    "per_layer_config",
    "ssm_state_size",
)
READ = (
    "attention_chunk_size",
    "attention_k_eq_v",
    "full_attention_interval",
    "global_head_dim",
    "head_dim",
    "hidden_size",
    "kv_lora_rank",
    "layer_types",
    "linear_attn_config",
    "linear_head_dim",
    "linear_key_head_dim",
    "linear_num_heads",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_value_head_dim",
    "model_type",
    "num_attention_heads",
    "num_global_key_value_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_kv_shared_layers",
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "sliding_window",
    "sliding_window_pattern",
    "text_config",
    "use_sliding_window",
    "v_head_dim",
)
# Keys of other parts of a model, or keys that do not change these counts.
IDLE = (
    r"_.*|.*(_token_id|_dropout|_eps|epsilon|_bias|_act|activation|_version)",
    r"(rope|partial_rotary|router|moe|mlp|initializer|expert|norm_topk).*",
    r".*(experts|experts_per_tok(en)?|intermediate_size|vocab_size).*",
    r".*(softcapping|torch_dtype|dtype|quantization_config|_range|pdrop)",
    r"(architectures|auto_map|tie_word_embeddings|use_cache|pretraining_tp)",
    r"(max_position_embeddings|model_max_length|original_max_position.*)",
    r"(query_pre_attn_scalar|no_rope_layers|no_rope_layer_interval)",
    r"(first_k_dense_replace|n_group|topk_group|topk_method|scoring_func)",
    r"(routed_scaling_factor|seq_aux|aux_loss_alpha|decoder_sparse_step)",
    r"(max_window_layers|linear_conv_kernel_dim|qk_head_dim|swiglu_limit)",
    r"(output_.*|return_dict|id2label|label2id|problem_type|chunk_size.*)",
    r"(swiglu_alpha|use_qk_norm|logit_scale|num_nextn_predict_layers)",
    r"(num_expert_group|interleave_moe_layer_step|use_bidirectional.*)",
    r"(vision_config|image_.*|.*image_.*|mm_tokens.*|ep_size|transformers.*)",
)


# The sizes of a state, by key: heads of keys and of values, and their widths.
STATE_KEYS = (
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
)


def _refuse(rule, got):
    raise ValueError(f"config must {rule}; got {got}")


def _size(config, key, most=WIDEST, default=None):
    """A whole number that the configuration must state."""
    value = default if config.get(key) is None else config[key]
    if value is None:
        _refuse(f"state {key}", "no such key")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number:
        _refuse(f"have a number as {key}", "something else")
    if not (value % 1 == 0 and 1 <= value <= most):
        _refuse(f"have {key} from 1 to {most}, whole", value)
    return int(value)


def _slides(config):
    """Whether some layers have a window, or a chunk."""
    window = config.get("sliding_window") is not None
    used = config.get("use_sliding_window") is not False
    return (window and used) or config.get("attention_chunk_size") is not None


def _every(n, L, other):
    """Types of layers of which every n-th is full."""
    return [FULL if (i + 1) % n == 0 else other for i in range(L)]


def _types(config):
    """The type of each layer, as stated by the configuration."""
    L = _size(config, "num_hidden_layers", LONGEST)
    types, linear = config.get("layer_types"), config.get("linear_attn_config")
    if types is not None:
        if not isinstance(types, list) or len(types) != L:
            _refuse("have a name in layer_types for each layer", "others")
        known = (FULL, SLIDING, CHUNKED, LINEAR)
        if any(name not in known for name in types):
            _refuse(f"have {', '.join(known)} in layer_types", "another")
        return types
    if linear is not None:
        places = linear.get("kda_layers") if _is_map(linear) else None
        if not isinstance(places, list):
            _refuse("list kda_layers in linear_attn_config", "no list")
        if any(type(place) not in (int, float) for place in places):
            _refuse("have numbers in kda_layers", "something else")
        return [LINEAR if i + 1 in places else FULL for i in range(L)]
    if config.get("full_attention_interval") is not None:
        n = _size(config, "full_attention_interval", LONGEST)
        return _every(n, L, LINEAR)
    if not _slides(config):
        return [FULL] * L
    if config.get("sliding_window_pattern") is not None:
        n = _size(config, "sliding_window_pattern", LONGEST)
        return _every(n, L, SLIDING)
    if config.get("model_type") in ALL_SLIDING:
        return [SLIDING] * L
    return _refuse("say in layer_types which layers have a window", "no list")


def _is_map(value):
    return isinstance(value, Mapping)


def _grouped(config, kind, shared):
    """A layer of query heads that share key/value heads."""
    d = _size(config, "hidden_size")
    H = _size(config, "num_attention_heads", 1024)
    own = kind == FULL  # some models have other heads in full layers
    alike = config.get("attention_k_eq_v")
    n = _size(config, "num_key_value_heads", 1024, H)
    wide = d / H if config.get("head_dim") is None else None
    if wide is not None and d % H:
        _refuse("state head_dim where heads do not divide the width", "none")
    wide = _size(config, "head_dim", 1024, wide)
    if own:
        # Gemma 4 reads it only where keys are values; others have no such key.
        if alike is not False:
            n = _size(config, "num_global_key_value_heads", 1024, n)
        wide = _size(config, "global_head_dim", 1024, wide)
    if H % n:
        _refuse("have key/value heads that divide the query heads", n)
    queries = 3 if config.get("model_type") in GATED else 2
    values = 1 if own and alike is True else 2
    reach = None
    if kind == SLIDING:
        reach = _size(config, "sliding_window", 2**24)
    if kind == CHUNKED:
        reach = _size(config, "attention_chunk_size", 2**24)
    name = "global" if reach is None else "window"
    values = 0 if shared else values
    name = "shared" if shared else name
    matrices = d * wide * (queries * H + values * n)
    return Layer(name, matrices, 2 * n * wide, reach, 0, 4 * H * wide)


def _latent(config):
    """A layer with a latent vector and one rotary key, absorbed."""
    d = _size(config, "hidden_size")
    H = _size(config, "num_attention_heads", 1024)
    r = _size(config, "kv_lora_rank")
    rope = _size(config, "qk_rope_head_dim", 1024)
    plain = _size(config, "qk_nope_head_dim", 1024)
    v = _size(config, "v_head_dim", 1024)
    queries = d * H * (plain + rope)
    if config.get("q_lora_rank") is not None:
        q = _size(config, "q_lora_rank")
        queries = q * (d + H * (plain + rope))
    keys = d * (r + rope) + r * H * (plain + v)
    pair = 2 * H * (r + rope + r)
    matrices = queries + keys + H * v * d
    return Layer("latent", matrices, r + rope, None, 0, pair)


def _state(config):
    """A layer with a gated delta rule: one matrix per head."""
    d, kind = _size(config, "hidden_size"), config.get("model_type")
    if kind in DELTA:
        keys, values, d_k, d_v = (_size(config, k, 1024) for k in STATE_KEYS)
        matrices = d * (2 * keys * d_k + 3 * values * d_v + 2 * values)
    elif kind in KIMI:
        given = config.get("linear_attn_config")
        if given is None:
            values = _size(config, "linear_num_heads", 1024)
            d_k = d_v = _size(config, "linear_head_dim", 1024)
        else:
            given = given if _is_map(given) else {}
            values = _size(given, "num_heads", 1024)
            d_k = d_v = _size(given, "head_dim", 1024)
        wide = values * d_k
        matrices = 4 * d * wide + d * values + 2 * d_k * (d + wide)
    else:
        known = ", ".join(DELTA + KIMI)
        _refuse(f"be of {known} where a layer has a state", "another")
    return Layer("state", matrices, 0, None, values * d_k * d_v, 0)


def layers_of(config):
    """Read the layers of a model from its configuration.

    Parameters
    ----------
    config : dict
        The content of ``config.json``; if it has a ``text_config``, that part
        is read.

    Returns
    -------
    list of helpers.cost.Layer
        The layers in order. Matrices are counted without biases, norms,
        sinks and short convolutions.

    Raises
    ------
    TypeError
        If `config` is not a mapping.
    ValueError
        If a required key is missing or its value does not fit, or if a key
        changes the count in a way that is not supported.

    Examples
    --------
    >>> one = {"hidden_size": 64, "num_attention_heads": 4}
    >>> layers_of(one | {"num_hidden_layers": 1})[0].width
    128
    """
    if not _is_map(config):
        raise TypeError(f"config must be a dict; got {type(config).__name__}")
    config = _inner(config)
    for key in REFUSED:
        if config.get(key) is not None and config[key] is not False:
            _refuse(f"be without {key}, which is not counted here", "it")
    types = _types(config)
    shared, own = config.get("num_kv_shared_layers"), len(types)
    if shared not in (None, 0):
        own -= _size(config, "num_kv_shared_layers", len(types) - 1)
    return [_layer(config, kind, i >= own) for i, kind in enumerate(types)]


def _layer(config, kind, shared):
    latent = config.get("kv_lora_rank") is not None
    if shared and (kind == LINEAR or latent):
        _refuse("share keys and values of plain layers", "another layer")
    if kind == LINEAR:
        return _state(config)
    if kind == FULL and latent:
        return _latent(config)
    return _grouped(config, kind, shared)


def _inner(config):
    inner = config.get("text_config")
    return inner if _is_map(inner) else config


def unread(config):
    """List the keys of a configuration that do not affect the counts.

    Keys of other parts of a model, such as its vocabulary, are left out. The
    remaining keys might affect attention, but were not read.

    Parameters
    ----------
    config : dict
        The content of ``config.json``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> unread({"hidden_size": 64, "vocab_size": 9, "attention_moons": 2})
    ['attention_moons']
    """
    known = re.compile("|".join(f"(?:{pattern})" for pattern in IDLE))
    return [
        key
        for key in _inner(config)
        if key not in READ and key not in REFUSED and not known.fullmatch(key)
    ]


def _repeated(*kinds, layers):
    """Types of layers in a repeating pattern, cut off at `layers`."""
    return [kinds[i % len(kinds)] for i in range(layers)]


def _plain(kind, d, layers, heads, kv_heads, wide=128, **more):
    return {
        "model_type": kind,
        "hidden_size": d,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": wide,
        **more,
    }


def _mla(kind, d, layers, heads, q_rank, **more):
    return {
        **_plain(kind, d, layers, heads, heads, 64),
        "kv_lora_rank": 512,
        "q_lora_rank": q_rank,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        **more,
    }


def _mixed(*kinds, layers, **more):
    return {"layer_types": _repeated(*kinds, layers=layers), **more}


_FIVE = (SLIDING,) * 5 + (FULL,)
_HYBRID = (LINEAR,) * 3 + (FULL,)
_DELTA = dict(zip(STATE_KEYS, (16, 32, 128, 128), strict=True))
# What each configuration says about attention, as published.
MODELS = {
    "Llama 2 7B": _plain("llama", 4096, 32, 32, 32),
    "Llama 3.1 8B": _plain("llama", 4096, 32, 32, 8),
    "Llama 3.1 70B": _plain("llama", 8192, 80, 64, 8),
    "Llama 3.1 405B": _plain("llama", 16384, 126, 128, 8),
    "Mistral 7B": _plain("mistral", 4096, 32, 32, 8, sliding_window=4096),
    "Gemma 2 2B": _plain(
        *("gemma2", 2304, 26, 8, 4, 256),
        **_mixed(SLIDING, FULL, layers=26, sliding_window=4096),
    ),
    "Gemma 3 27B": _plain(
        *("gemma3_text", 5376, 62, 32, 16),
        **_mixed(*_FIVE, layers=62, sliding_window=1024),
    ),
    "gpt-oss-20b": _plain(
        *("gpt_oss", 2880, 24, 64, 8, 64),
        **_mixed(SLIDING, FULL, layers=24, sliding_window=128),
    ),
    "gpt-oss-120b": _plain(
        *("gpt_oss", 2880, 36, 64, 8, 64),
        **_mixed(SLIDING, FULL, layers=36, sliding_window=128),
    ),
    "SmolLM3 3B": _plain("smollm3", 2048, 36, 16, 4),
    "Llama 4 Scout": _plain(
        *("llama4_text", 5120, 48, 40, 8),
        **_mixed(CHUNKED, CHUNKED, CHUNKED, FULL, layers=48),
        attention_chunk_size=8192,
    ),
    "MiniMax-M2": _plain("minimax_m2", 3072, 62, 48, 8),
    "DeepSeek-V2": _mla("deepseek_v2", 5120, 60, 128, 1536),
    "DeepSeek-V3": _mla("deepseek_v3", 7168, 61, 128, 1536),
    "Qwen3-Next 80B-A3B": _plain(
        *("qwen3_next", 2048, 48, 16, 2, 256),
        **_mixed(*_HYBRID, layers=48),
        **_DELTA,
    ),
    "Kimi Linear 48B-A3B": _mla(
        *("kimi_linear", 2304, 27, 32, None),
        layer_types=[*_repeated(*_HYBRID, layers=26), FULL],
        linear_num_heads=32,
        linear_head_dim=128,
    ),
}
