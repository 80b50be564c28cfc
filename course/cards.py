"""Model cards: what a published configuration says about attention.

`layers_of` reads a ``config.json`` in the form of Hugging Face. Each key is
counted, passed over because it cannot change the count, or refused by name.
`filled` lists what a file leaves to the published code, `unread` the keys that
were not used.
"""

import json
import re
from collections.abc import Mapping

from helpers.cost import Layer

LONGEST = 256  # layers
WIDEST = 65536
# Decay the state, add the new product, and read the answer: 1, 2 and 2 FLOPs.
MAMBA_FLOPS = 5

FULL, SLIDING, CHUNKED, LINEAR, INDEXED, OTHER = (
    "full_attention",
    "sliding_attention",
    "chunked_attention",
    "linear_attention",
    "indexed_attention",
    "no_attention",
)
# Other names of these kinds. A convolution or a recurrence keeps a state of
# fixed size and no key of a position.
KINDS = {
    **{kind: kind for kind in (FULL, SLIDING, CHUNKED, LINEAR)},
    "attention": FULL,
    "conv": OTHER,
    "recurrent": OTHER,
}
_CHOOSING = {INDEXED: INDEXED, "deepseek_sparse_attention": INDEXED}
# The names of kinds in types of models that have names of their own; a letter
# stands for a layer where all are in one text.
KINDS_OF = {
    "deepseek_v32": _CHOOSING,
    "glm_moe_dsa": _CHOOSING,
    "minimax_m3_vl_text": {FULL: FULL, "minimax_m3_sparse": INDEXED},
    "nemotron_h": {
        **{FULL: FULL, "attention": FULL, "*": FULL},
        **{LINEAR: LINEAR, "mamba": LINEAR, "M": LINEAR},
        **{"moe": OTHER, "mlp": OTHER, "E": OTHER, "-": OTHER},
    },
}
# Parts of a configuration that hold the text model.
PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
# Keys under their usual name, and the names that other files use.
NAMES = {
    "hidden_size": ("n_embd", "n_embed"),
    "num_hidden_layers": ("n_layer", "num_layers"),
    "num_attention_heads": ("n_head", "num_heads"),
    "head_dim": ("kv_channels", "attention_head_dim"),
    "sliding_window": ("attention_window_size", "sliding_window_size"),
    "no_rope_layer_interval": ("nope_layer_interval",),
    "sliding_window_pattern": ("_sliding_window_pattern",),
    "block_types": ("_block_types",),
}
_GEMMA = {"num_attention_heads": 8, "num_key_value_heads": 4}
# Widths of a head that do not follow from the width of the model.
_WIDTHS = {
    64: ("gpt_oss",),
    128: (
        *("afmoe", "cwm", "ernie4_5", "glm", "glm4", "helium", "internlm3"),
        *("llama4_text", "minimax_m2", "ministral3", "qwen3"),
        *("qwen3_vl_text", "seed_oss", "solar_open"),
    ),
    256: (
        *("gemma", "gemma2", "gemma3_text", "gemma3n_text", "qwen3_next"),
        *("qwen3_5_text", "qwen3_5_moe_text", "vaultgemma"),
    ),
}
# What the published code fills in where the file is silent, by type of model.
# Source: the configuration classes of transformers 5.24.
FILLED = {
    name: {"head_dim": width}
    for width, names in _WIDTHS.items()
    for name in names
}
for _name, _more in {
    "gemma2": {**_GEMMA, "sliding_window": 4096, "sliding_window_pattern": 2},
    "gemma3_text": {
        **_GEMMA,
        "sliding_window": 4096,
        "sliding_window_pattern": 6,
    },
    "llama4_text": {
        "attention_chunk_size": 8192,
        "no_rope_layer_interval": 4,
    },
    "falcon": {"multi_query": True},
    "gpt_bigcode": {"multi_query": True},
    "minicpm3": {"v_head_dim": 64},
    "mistral": {"sliding_window": 4096},
    "glm_moe_dsa": {"index_topk_freq": 1, "index_skip_topk_offset": 2},
}.items():
    FILLED[_name] = FILLED.get(_name, {}) | _more
# Models in which each query head has its own keys unless the file says more.
OWN = (
    *("baichuan", "bloom", "chatglm", "codegen", "cohere", "falcon", "gpt2"),
    *("gpt_bigcode", "gpt_neox", "gptj", "internlm", "llama", "olmo"),
    *("olmo2", "opt", "phi", "phi-msft", "phi3", "qwen", "xverse"),
)
# Models whose code applies its window to every layer.
ALL_SLIDING = (
    *("mistral", "mixtral", "phi3", "phi3_v", "phimoe", "starcoder2"),
)
# Models with layers of several kinds, which the file must list.
MIXED = (
    *("afmoe", "bamba", "cohere2", "cwm", "exaone4", "falcon_h1"),
    *("gemma3n_text", "gemma4_text", "gpt_oss", "granitemoehybrid", "jamba"),
    *("kimi_linear", "lfm2", "lfm2_moe", "mimo_v2_flash", "minimax"),
    *(
        "minimax_m3_vl_text",
        "ministral",
        "nemotron_h",
        "olmo3",
        "olmo_hybrid",
        "qwen3_5_moe_text",
    ),
    *("qwen3_5_text", "qwen3_next", "recurrent_gemma", "vaultgemma"),
    *("zamba", "zamba2"),
)
# Models whose heads have a gate as wide as the output, with no key for it.
GATED = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
# Models with layers of fixed state that are counted: a gated delta rule with
# one decay per head, and a rule with one decay per column of the keys.
DELTA = GATED
KIMI = ("kimi_linear",)
# Layers whose state only decays and adds, without a correction (Mamba-2).
MAMBA = ("nemotron_h",)
# Models whose latent vectors are those of DeepSeek.
LATENT = (
    *("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite"),
    *("glm_moe_dsa", "kimi_k2", "kimi_linear", "minicpm3", "youtu"),
)
# Models in which an indexer chooses the latent vectors that a query reads.
DSA = ("deepseek_v32", "glm_moe_dsa")
# Models that read all tokens at once and keep nothing.
ENCODERS = (
    r".*bert(?!.*decoder).*",
    r"(albert|big_bird|electra|ernie|funnel|longformer|mpnet|xlnet)",
    r"(Dream|[Ll][Ll]a[Dd][Aa].*)",
)
# The sizes of a state, by key: heads of keys and of values, and their widths.
# Keys that list the layers one by one.
LISTS = ("block_types", "full_attn_idxs", "layer_types")
# Keys that say which layers are of which kind.
PLACES = (
    *("block_configs", "block_types", "full_attention_interval"),
    *("full_attn_idxs", "layer_types", "linear_attn_config"),
    *("no_rope_layer_interval", "sliding_window_pattern"),
)
STATE_KEYS = (
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
)
# Keys that are read beside a latent vector, and by no other rule.
LATENT_KEYS = (
    "q_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
)
# Keys that say in which layers the indexer chooses; the first two list them.
CHOICES = (
    *("indexer_types", "index_topk_pattern"),
    *("index_topk_freq", "index_skip_topk_offset"),
)
# An indexer of blocks: its keys, and their names in a part of their own.
BLOCKS = {
    "index_n_heads": "sparse_num_index_heads",
    "index_head_dim": "sparse_index_dim",
    "index_block_size": "sparse_block_size",
    "index_topk_blocks": "sparse_topk_blocks",
    "index_local_blocks": "sparse_local_block",
}
_INDEX = ("index_head_dim", "index_n_heads", "index_topk")
SPARSE = "sparse_attention_config"
ORDERS = ("layer_types", "layers_block_type", "hybrid_override_pattern")
# Keys that are read in some types of models, and by no other rule.
KEYS_OF = {
    "deepseek_v32": _INDEX,
    "glm_moe_dsa": (*_INDEX, *CHOICES),
    "minimax_m3_vl_text": (
        *(SPARSE, *BLOCKS, f"{SPARSE}.sparse_attention_freq"),
        *(f"{SPARSE}.{name}" for name in BLOCKS.values()),
    ),
    "nemotron_h": (
        *(*ORDERS, "mamba_num_heads", "mamba_head_dim", "ssm_state_size"),
        *("n_groups", "mamba_ssm_cache_dtype"),
    ),
}
# Keys of a fixed state that do not change its size in these types of models.
IDLE_OF = {
    "nemotron_h": (
        r"(conv_kernel|chunk_size|expand|time_step_\w+|use_mamba_kernels"
        r"|mamba_hidden_act|mamba_proj_bias)",
    ),
}
READ = (
    *("attention_chunk_size", "attention_k_eq_v", "attn_output_gate"),
    *("attn_type_list", "full_attn_idxs"),
    *("block_configs", "block_types", "cla_share_factor"),
    *("cross_attention_layers", "full_attention_interval", "global_head_dim"),
    *("head_dim", "hidden_size", "kv_lora_rank", "layer_types"),
    *("linear_attn_config", "linear_attn_config.full_attn_layers"),
    *("linear_attn_config.head_dim", "linear_attn_config.kda_layers"),
    *("linear_attn_config.num_heads", "linear_head_dim", "linear_num_heads"),
    *("linear_attn_config.use_full_rank_gate", "max_window_layers"),
    *("mla_use_output_gate", "model_type", "multi_query"),
    *("multi_query_attention", "multi_query_group_num"),
    *("new_decoder_architecture", "no_rope_layer_interval", "no_rope_layers"),
    *("num_attention_heads", "num_global_key_value_heads"),
    *("num_hidden_layers", "num_key_value_heads", "num_kv_heads"),
    *("num_kv_shared_layers", "sliding_window", "sliding_window_pattern"),
    *("use_cla", "use_sliding_window"),
    *STATE_KEYS,
)
# Words of a key that could change heads, widths, layers, windows, sharing or
# what is kept. A key with such a word is refused unless it is read or idle.
MATTERS = (
    r"(?:.*_)?(?:attn|attention|mla|mqa|gqa|swa|cla|nsa|dsa|kda|gla|mamba\d?"
    r"|ssm|lru|rwkv|rnn|conv\d?d?|kv|q|k|v|o|keys?|values?|query|queries"
    r"|heads?|layers?|blocks?|groups?|windows?|sliding|chunk(?:s|ed)?|local"
    r"|global|sparse|sparsity|linear|delta|dense|hybrid|mixers?|recurr\w*"
    r"|loops?|passes|repeats?|states?|cache|shared?|sharing|latent|lora|rank"
    r"|index(?:er|ed)?|indices|idxs|compress\w*|memory|mem|gated?|encoder"
    r"|decoder|cross|depth|dims?|width|size|channels|period|interval|pattern"
    r"|stride|skip|types|expand|ratios?|hash\w*)(?:_.*)?"
)
# Keys of a fixed state, which are passed over if the layers are listed.
FIXED = (
    r".*(mamba|ssm)_.*|(conv|conv1d|lru|time_step)_.*|use_conv_bias|expand"
    r"|n_groups"
    r"|block_(auto_adjust|dim|ff|mlp|multiple|norm|out|use)_.*",
    r"block_(dim|multiple_of)",
)
# Keys of other parts of a model, of training and of sampling, and keys that
# change what attention computes but not what these counts count.
IDLE = (
    r"_(name_or_path|attn_implementation.*|commit_hash|experts_impl.*)",
    r".*(_token|_token_ids?|dropout|dropout_prob|_eps|epsilon|_act|activation"
    r"|_bias|_version|pdrop|_range|softcapping|_soft_?cap|_std|_dtype|_fp32)",
    r".*(vision|visual|image|video|audio|speech|quant\w*|mtp|nextn|moe|experts?"
    r"|router|routed|mlp|ffn?|rope|rotary|mrope|vocab|intermediate|loss"
    r"|embedding|compression_config|norm|layernorm|alibi)(_.*)?",
    r"(mm|init|initializer|summary|rms|hc|altup|activation|act|forced)_.*",
    r"(attention|attn)_(multiplier|out_multiplier|in_multiplier|scale|type"
    r"|logit.*|value_scale|implementation|res_block_size|temperature_tuning)",
    r"(architectures|auto_map|dtype|torch_dtype|is_decoder|ep_size|bias)",
    r"(use_cache|cache_implementation|pretraining_tp|id2label|label2id|alibi)",
    r"(max_position.*|model_max_length|max_sequence_length|original_max_.*)",
    r"(n_(ctx|positions|inner)|initial_context_length|seq_(aux|length))",
    r"(scale_attn.*|reorder_and_upcast_attn|query_pre_attn_scalar|attn_scale)",
    r"(first_k_dense_replace|n_group|topk_group|topk_method|scoring_func)",
    r"(decoder_sparse_step|interleave_.*_step|qk_head_dim|swiglu_.*|logit.*)",
    r"(linear_conv_kernel_dim|linear_attn_config\.(short_conv_kernel_size"
    r"|gate_lower_bound)|mla_use_nope|parallel_attn|num_ln_in_parallel_attn)",
    r"(output_(attentions|hidden_states|scores|router_logits|gate_type)"
    r"|return_dict.*|use_grouped_topk)",
    r"(chunk_size_feed_forward|problem_type|tie_.*|tokenizer_class|torchscript)",
    r"(num_beams|num_beam_groups|num_return_sequences|num_logits_to_keep)",
    r"(bad_words_ids|.*suppress_tokens|.*_penalty|do_sample|early_stopping"
    r"|.*no_repeat_ngram_size|finetuning_task|max_length|min_length|prefix"
    r"|remove_invalid_values|task_specific_params|temperature|top_k|top_p"
    r"|typical_p|use_bfloat16)",
    r"(apply_residual_connection_post_layernorm|add_bias_linear|dim_model_base"
    r"|scale_depth|scale_emb|residual_.*|use_parallel_residual|laurel_rank"
    r"|.*_per_layer_input|word_embed_proj_dim|do_layer_norm_before|.*qk_norm.*"
    r"|apply_query_key_layer_scaling|pad_key_length|for_llm_compressor"
    r"|embd_layer|lm_head|skip_bias_add|use_(flash|logn)_attn|patch_size"
    r"|query_num|slice_config|img_.*|anyres_.*|dense_list|embeddings_.*"
    r"|n_layers_per_attn_res_block|floor_scale|num_dense_layers|rescale_.*)",
)


def _refuse(rule, got):
    raise ValueError(f"config must {rule}; got {got}")


def _is_map(value):
    return isinstance(value, Mapping)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_one_of(config, names):
    """Whether the type of the model is among some."""
    kind = config.get("model_type")
    return isinstance(kind, str) and kind in names


def _size(config, key, most=WIDEST, default=None):
    """A whole number that the configuration must state."""
    value = config.get(key, default)
    if value is None:
        _refuse(f"state {key}", "no such key")
    if not _is_number(value):
        _refuse(f"have a number as {key}", "something else")
    if not (value % 1 == 0 and 1 <= value <= most):
        _refuse(f"have {key} from 1 to {most}, whole", value)
    return int(value)


def _indices(config, key, L):
    """The layers that a list names, counted from zero."""
    given = config.get(key, [])
    listed = isinstance(given, list) and all(map(_is_number, given))
    if not listed or not all(i in range(L) for i in given):
        _refuse(f"list layers from 0 to {L - 1} in {key}", "something else")
    return [int(i) for i in given]


# --- which keys there are ---------------------------------------------------


def _inner(config):
    """The part of a configuration that holds the text model."""
    for part in PARTS:
        if _is_map(config.get(part)):
            return _inner(config[part])
    return config


def _by_type(config):
    """The fields that the code of this type of model fills in."""
    known = FILLED[config["model_type"]] if _is_one_of(config, FILLED) else {}
    return {k: v for k, v in known.items() if k not in config}


def _text(config):
    """The text model, filled in, without nulls and under usual names."""
    config = _inner(config)
    config = {**_by_type(config), **config}
    config = {k: v for k, v in config.items() if v is not None}
    for name, others in NAMES.items():
        keys = [key for key in (name, *others) if key in config]
        numbers = {config[key] for key in keys if _is_number(config[key])}
        if len(numbers) > 1:
            _refuse(f"have one value for {' and '.join(keys)}", "two")
        if keys:
            config[name] = config[keys[0]]
    if _is_one_of(config, ("minimax_m3_vl_text",)):
        config |= _flat(config)
    return config


def _flat(config):
    """An indexer's keys that a file states in a part of their own."""
    given = config.get(SPARSE, {})
    if not _is_map(given):
        _refuse(f"have keys in {SPARSE}", "something else")
    more = {k: given[name] for k, name in BLOCKS.items() if name in given}
    for key, value in more.items():
        if config.get(key, value) != value:
            _refuse(f"have one value for {key} and {BLOCKS[key]}", "two")
    if "sparse_attention_freq" in given and "layer_types" not in config:
        places = given["sparse_attention_freq"]
        if not isinstance(places, list) or any(
            not _is_number(x) or x not in (0, 1) for x in places
        ):
            _refuse("have 0 or 1 in sparse_attention_freq", "others")
        more["layer_types"] = [
            "minimax_m3_sparse" if x else FULL for x in places
        ]
    return more


def _changes_nothing(key, value):
    if key == "use_bidirectional_attention" and value == "vision":
        return True  # among the patches of a picture
    return not value


def _strange(config, path="", top=None):
    """The keys, nested ones too, that are neither read nor known as idle."""
    top = config if top is None else top
    names = {other for others in NAMES.values() for other in others}
    known = [*READ, *names]
    if "kv_lora_rank" in top:
        known += LATENT_KEYS
    idle = [*IDLE, *(FIXED if {*LISTS} & {*top} else ())]
    if _is_one_of(top, KEYS_OF):
        known += KEYS_OF[top["model_type"]]
        idle += IDLE_OF.get(top["model_type"], ())
    idle = re.compile("|".join(f"(?:{pattern})" for pattern in idle))
    found = []
    for key, value in config.items():
        name = path + key
        if value is None or _changes_nothing(key, value):
            continue
        mine = name in known
        if not mine and name not in LATENT_KEYS and idle.fullmatch(name):
            continue
        if _is_map(value) and (mine or not _matters(key)):
            found += _strange(value, f"{name}.", top)
        elif not mine:
            found.append(name)
    return found


def _matters(name):
    return re.fullmatch(MATTERS, name.rpartition(".")[2]) is not None


# --- which layers there are -------------------------------------------------


def _every(n, L, other):
    """Kinds of layers of which every n-th is full."""
    return [FULL if (i + 1) % n == 0 else other for i in range(L)]


def _slides(config):
    """Whether some layers have a window, or a chunk."""
    window = "sliding_window" in config
    used = config.get("use_sliding_window") is not False
    return (window and used) or "attention_chunk_size" in config


def _listed(config, key, L, repeat=False):
    """The kinds of layers that a list names."""
    names = config[key]
    if not isinstance(names, list) or not names:
        _refuse(f"have a name in {key} for each layer", "others")
    if len(names) != L and not repeat:
        _refuse(f"have a name in {key} for each layer", "others")
    known = KINDS
    if _is_one_of(config, KINDS_OF):
        known = KINDS_OF[config["model_type"]]
    if not all(isinstance(name, str) and name in known for name in names):
        _refuse(f"have {', '.join(known)} in {key}", "another")
    return [known[names[i % len(names)]] for i in range(L)]


def _ordered(config, L):
    """The kinds of layers of a file that may list them in three ways."""
    kinds = []
    for key in (key for key in ORDERS if key in config):
        text = isinstance(config[key], str)
        given = {**config, key: [*config[key]] if text else config[key]}
        kinds.append(_listed(given, key, L))
    if any(other != kinds[0] for other in kinds):
        _refuse("list the same layers in each way", "others")
    return kinds[0]


def _among_convolutions(config, L):
    full = _indices(config, "full_attn_idxs", L)
    return [FULL if i in full else OTHER for i in range(L)]


def _delta_places(config, L):
    given = config["linear_attn_config"]
    places = given.get("kda_layers") if _is_map(given) else None
    if not isinstance(places, list):
        _refuse("list kda_layers in linear_attn_config", "no list")
    if not all(map(_is_number, places)):
        _refuse("have numbers in kda_layers", "something else")
    return [LINEAR if i + 1 in places else FULL for i in range(L)]


def _chunks(config, L):
    """Layers that rotate attend within a chunk, the others everywhere."""
    rotates = config.get("no_rope_layers", [])
    if rotates == []:
        n = _size(config, "no_rope_layer_interval", LONGEST)
        return _every(n, L, CHUNKED)
    listed = isinstance(rotates, list) and all(map(_is_number, rotates))
    if not listed or len(rotates) != L or not {0, 1}.issuperset(rotates):
        _refuse("have 0 or 1 in no_rope_layers for each layer", "others")
    return [CHUNKED if x else FULL for x in rotates]


def _stated(config, L):
    """The kind of each layer, as the configuration states it."""
    if _is_one_of(config, MAMBA) and {*ORDERS} & {*config}:
        return _ordered(config, L)
    if "layer_types" in config:
        return _listed(config, "layer_types", L)
    if "linear_attn_config" in config:
        return _delta_places(config, L)
    if "full_attention_interval" in config:
        n = _size(config, "full_attention_interval", LONGEST)
        return _every(n, L, LINEAR)
    if "block_types" in config:
        kinds = _listed(config, "block_types", L, repeat=True)
        windows = "sliding_window" in config
        return [SLIDING if windows and k == FULL else k for k in kinds]
    if "full_attn_idxs" in config:
        return _among_convolutions(config, L)
    if _is_one_of(config, MIXED) and not {*PLACES} & {*config}:
        _refuse("say in layer_types which layers are of which kind", "no list")
    if _is_one_of(config, DSA):
        return [INDEXED] * L
    if not _slides(config):
        return [FULL] * L
    if "attention_chunk_size" in config and "no_rope_layer_interval" in config:
        return _chunks(config, L)
    if "sliding_window_pattern" in config:
        n = _size(config, "sliding_window_pattern", LONGEST)
        return _every(n, L, SLIDING)
    if config.get("use_sliding_window") is True and (
        "max_window_layers" in config
    ):
        n = config["max_window_layers"]
        if not _is_number(n):
            _refuse("have a number as max_window_layers", "something else")
        return [SLIDING if i >= n else FULL for i in range(L)]
    if _is_one_of(config, ALL_SLIDING):
        return [SLIDING] * L
    return _refuse("say in layer_types which layers have a window", "no list")


def _kinds(config, L):
    """The kind of each layer, with those that attend to something else."""
    kinds = _stated(config, L)
    for i in _indices(config, "cross_attention_layers", L):
        kinds[i] = OTHER  # keys of a picture, and none of the text
    return kinds


def _sharing(config, L):
    """Which layers read what another layer keeps."""
    last, each = 0, 1
    if config.get("num_kv_shared_layers", 0) not in (0, False):
        last = _size(config, "num_kv_shared_layers", L - 1)
    if config.get("use_cla", False) is not False:
        each = _size(config, "cla_share_factor", L)
    return [i >= L - last or i % each > 0 for i in range(L)]


def _choosing(config, L):
    """Which layers have an indexer; the others read what the last one chose.

    As in the code of GLM-5.2: a list, letters, or every so many layers.
    """
    if not _is_one_of(config, ("glm_moe_dsa",)):
        return [True] * L
    key = next((key for key in CHOICES[:2] if key in config), None)
    if key is None:
        n, first = (_size(config, key, LONGEST) for key in CHOICES[2:])
        return [max(i - first + 1, 0) % n == 0 for i in range(L)]
    names = config[key]
    if isinstance(names, str):
        names = [{"F": "full", "S": "shared"}.get(name) for name in names]
    fits = isinstance(names, list) and len(names) == L
    if not fits or any(name not in ("full", "shared") for name in names):
        _refuse(f"have full or shared in {key} for each layer", "others")
    if names[0] != "full":
        _refuse(f"begin with full in {key}", "shared")
    return [name == "full" for name in names]


# --- what a layer keeps and computes ----------------------------------------


def _stated_heads(config):
    """The number of key/value heads, under each of its names, or None."""
    new = config.get("new_decoder_architecture") is True
    if config.get("multi_query") is True and not new:
        return 1  # whatever num_kv_heads says: Falcon's code does not read it
    keys = ["num_key_value_heads", "num_kv_heads"]
    if config.get("multi_query_attention") is True:
        keys.append("multi_query_group_num")
    keys = [key for key in keys if key in config]
    numbers = {_size(config, key, 1024) for key in keys}
    if len(numbers) > 1:
        _refuse(f"have one value for {' and '.join(keys)}", "two")
    return numbers.pop() if numbers else None


def _kv_heads(config, H):
    """The number of key/value heads: as stated, or one per query head."""
    stated = _stated_heads(config)
    own = "model_type" not in config or _is_one_of(config, OWN)
    if stated is None and not own:
        _refuse("state num_key_value_heads", "no such key")
    return H if stated is None else stated


def _grouped(config, kind, shared):
    """A layer of query heads that share key/value heads."""
    d = _size(config, "hidden_size")
    H = _size(config, "num_attention_heads", 1024)
    n = _kv_heads(config, H)
    if "head_dim" not in config and d % H:
        _refuse("state head_dim where heads do not divide the width", "none")
    wide = _size(config, "head_dim", 1024, d // H)
    alike = kind == FULL and config.get("attention_k_eq_v")
    if kind == FULL:  # some models have other heads in full layers
        # Gemma 4 reads it only where keys are values; others have no such key.
        if alike is not False:
            n = _size(config, "num_global_key_value_heads", 1024, n)
        wide = _size(config, "global_head_dim", 1024, wide)
    if H % n:
        _refuse("have key/value heads that divide the query heads", n)
    gated = config.get("attn_output_gate", _is_one_of(config, GATED)) is True
    reach = {SLIDING: "sliding_window", CHUNKED: "attention_chunk_size"}
    reach = _size(config, reach[kind], 2**24) if kind in reach else None
    values = 0 if shared else 1 if alike is True else 2
    name = "shared" if shared else "global" if reach is None else "window"
    matrices = d * wide * ((3 if gated else 2) * H + values * n)
    return Layer(name, matrices, 2 * n * wide, reach, 0, 4 * H * wide)


def _latent(config):
    """A layer with a latent vector and one rotary key, absorbed."""
    if "model_type" in config and not _is_one_of(config, LATENT):
        _refuse(f"be of {', '.join(LATENT)} where keys are latent", "another")
    d = _size(config, "hidden_size")
    H = _size(config, "num_attention_heads", 1024)
    r = _size(config, "kv_lora_rank")
    rope = _size(config, "qk_rope_head_dim", 1024)
    plain = _size(config, "qk_nope_head_dim", 1024)
    v = _size(config, "v_head_dim", 1024)
    queries = d * H * (plain + rope)
    if "q_lora_rank" in config:
        queries = _size(config, "q_lora_rank") * (d + H * (plain + rope))
    keys = d * (r + rope) + r * H * (plain + v)
    outputs = (2 if config.get("mla_use_output_gate") is True else 1) * H * v
    pair = 2 * H * (r + rope + r)
    matrices = queries + keys + outputs * d
    return Layer("latent", matrices, r + rope, None, 0, pair)


def _with_index(layer, config, chosen, rows):
    """A layer with an indexer, whose queries are made of `rows` numbers."""
    d = _size(config, "hidden_size")
    wide = _size(config, "index_head_dim", 1024)
    pairs = _size(config, "index_n_heads", 1024) * wide
    return layer._replace(
        parameters=layer.parameters + rows * pairs + d * wide,
        **{"chosen": chosen, "index": wide, "index_pair": 2 * pairs},
    )


def _indexed(config, chooses):
    """A layer that reads what an indexer chooses, its own or another's."""
    if "kv_lora_rank" not in config:  # whole blocks
        size = _size(config, "index_block_size")
        blocks = _size(config, "index_topk_blocks")
        if _size(config, "index_local_blocks") > blocks:
            _refuse("choose the blocks nearby too", "more of these")
        layer, rows = _grouped(config, FULL, False), config["hidden_size"]
        return _with_index(layer, config, blocks * size, int(rows))
    chosen = _size(config, "index_topk", 2**24)
    layer = _latent(config)
    if not chooses:
        return layer._replace(chosen=chosen)
    layer = _with_index(layer, config, chosen, _size(config, "q_lora_rank"))
    weights = config["hidden_size"] * config["index_n_heads"]
    return layer._replace(parameters=layer.parameters + int(weights))


def _mamba(config):
    """A layer of Mamba-2: one matrix per head, which decays and adds."""
    if config.get("mamba_ssm_cache_dtype", "float32") != "float32":
        _refuse("keep states in float32", "another mamba_ssm_cache_dtype")
    d = _size(config, "hidden_size")
    H = _size(config, "mamba_num_heads", 1024)
    wide = H * _size(config, "mamba_head_dim", 1024)
    n = _size(config, "ssm_state_size", 1024)
    groups = _size(config, "n_groups", 1024)
    matrices = d * (2 * wide + 2 * groups * n + H) + wide * d
    return Layer("state", matrices, 0, None, wide * n, 0, update=MAMBA_FLOPS)


def _state(config):
    """A layer with a gated delta rule: one matrix per head."""
    if _is_one_of(config, MAMBA):
        return _mamba(config)
    d = _size(config, "hidden_size")
    if _is_one_of(config, DELTA):
        keys, values, d_k, d_v = (_size(config, k, 1024) for k in STATE_KEYS)
        matrices = d * (2 * keys * d_k + 3 * values * d_v + 2 * values)
    elif _is_one_of(config, KIMI):
        given = config.get("linear_attn_config")
        start = "linear_" if given is None else ""
        given = config if given is None else given if _is_map(given) else {}
        values = _size(given, f"{start}num_heads", 1024)
        d_k = d_v = _size(given, f"{start}head_dim", 1024)
        wide = values * d_k
        low = d_k * (d + wide)  # two factors: a decay, and a gate
        gate = d * wide if given.get("use_full_rank_gate") is True else low
        matrices = 4 * d * wide + d * values + low + gate
    else:
        known = ", ".join(DELTA + KIMI + MAMBA)
        _refuse(f"be of {known} where a layer has a state", "another")
    return Layer("state", matrices, 0, None, values * d_k * d_v, 0)


def _block(config, block):
    """A layer of a list in which each layer states its own attention."""
    own = block.get("attention") if _is_map(block) else None
    if not _is_map(own):
        _refuse("state attention in each of block_configs", "no such key")
    own = {key: value for key, value in own.items() if value}
    if own.get("no_op") is True:
        return Layer("other", 0, 0, None, 0, 0)
    more = [key for key in own if key != "n_heads_in_group"]
    if more:
        _refuse_keys([f"block_configs.attention.{key}" for key in more])
    H = _size(config, "num_attention_heads", 1024)
    group = _size(own, "n_heads_in_group", H)
    if H % group:
        _refuse("have groups that divide the query heads", group)
    return _grouped({**config, "num_key_value_heads": H // group}, FULL, False)


def _refuse_keys(names):
    shown = names[:6] + ([f"and {len(names) - 6} more"] if names[6:] else [])
    them = "them" if names[1:] else "it"
    _refuse(f"be without {', '.join(shown)}, which no rule counts", them)


def layers_of(config):
    """Read the layers of a model from its configuration.

    Parameters
    ----------
    config : dict
        The content of ``config.json``; a ``text_config`` or a part of a
        similar name is read in place of the whole.

    Returns
    -------
    list of helpers.cost.Layer
        The layers in order. Matrices are counted without biases, norms,
        sinks and short convolutions. A layer of kind "other" has no keys of
        the text: a convolution, a recurrence, attention to a picture, or
        nothing. Its matrices and its state are not counted.

    Raises
    ------
    TypeError
        If `config` is not a mapping.
    ValueError
        If a required key is missing or its value does not fit, or if a key
        that is not read could change the count.

    Examples
    --------
    >>> one = {"hidden_size": 64, "num_attention_heads": 4}
    >>> layers_of(one | {"num_hidden_layers": 1})[0].width
    128
    """
    if not _is_map(config):
        raise TypeError(f"config must be a dict; got {type(config).__name__}")
    config = _text(config)
    kind = config.get("model_type")
    if isinstance(kind, str) and re.fullmatch("|".join(ENCODERS), kind):
        _refuse("be of a model that decodes, token by token", kind)
    for key in ("is_causal", "causal_attn"):
        if config.get(key) is False:
            _refuse("be of a model that decodes, token by token", f"no {key}")
    odd = [name for name in _strange(config) if _matters(name)]
    if odd:
        _refuse_keys(odd)
    latent = _is_one_of(config, LATENT) and config.get("use_mla") is not False
    if latent and "kv_lora_rank" not in config:
        _refuse("state kv_lora_rank", "no such key")
    layers = _blocks(config) or _by_kind(config)
    if all(layer.kind == "other" for layer in layers):
        _refuse("have a layer that attends to the text", "none")
    return layers


def _blocks(config):
    """The layers of a file that states each of them, or None."""
    blocks = config.get("block_configs")
    if blocks is None:
        return None
    L = _size(config, "num_hidden_layers", LONGEST)
    if not isinstance(blocks, list) or len(blocks) != L:
        _refuse("have one of block_configs for each layer", "others")
    return [_block(config, block) for block in blocks]


def _by_kind(config):
    L = _size(config, "num_hidden_layers", LONGEST)
    if (config.get("attn_type_list") or [1] * L) != [1] * L:
        _refuse_keys(["attn_type_list"])
    kinds, shared = _kinds(config, L), _sharing(config, L)
    layers = zip(kinds, shared, _choosing(config, L), strict=True)
    return [_layer(config, *layer) for layer in layers]


def _layer(config, kind, shared, chooses):
    latent = "kv_lora_rank" in config
    if shared and (kind in (LINEAR, INDEXED, OTHER) or latent):
        _refuse("share keys and values of plain layers", "another layer")
    if kind == OTHER:
        return Layer("other", 0, 0, None, 0, 0)
    if kind == LINEAR:
        return _state(config)
    if kind == INDEXED:
        return _indexed(config, chooses)
    if kind == FULL and latent:
        return _latent(config)
    return _grouped(config, kind, shared)


def filled(config):
    """List what `layers_of` fills in where a configuration is silent.

    Parameters
    ----------
    config : dict
        A configuration that `layers_of` reads.

    Returns
    -------
    list of str
        Keys that the file does not state, each with its value, by the code of
        this type of model.

    Examples
    --------
    >>> one = {"hidden_size": 64, "num_attention_heads": 4}
    >>> filled(one | {"num_hidden_layers": 1})
    ['num_key_value_heads 4', 'head_dim 16']
    """
    layers_of(config)  # refuses what it cannot read
    more, config = _by_type(_inner(config)), _text(config)
    if {*LISTS} & {*config}:
        more = {k: v for k, v in more.items() if k not in PLACES}
    if {*CHOICES[:2]} & {*config}:
        more = {k: v for k, v in more.items() if k not in CHOICES}
    if "kv_lora_rank" not in config and "block_configs" not in config:
        H = config["num_attention_heads"]
        if _stated_heads(config) is None:
            more["num_key_value_heads"] = H
        if "head_dim" not in config:
            more["head_dim"] = config["hidden_size"] // H
    return [f"{key} {json.dumps(value)}" for key, value in more.items()]


def unread(config):
    """List the keys of a configuration that do not affect the counts.

    Keys of other parts of a model, such as its vocabulary, are left out.

    Parameters
    ----------
    config : dict
        The content of ``config.json``.

    Returns
    -------
    list of str
        First the keys for which `layers_of` refuses a configuration, then the
        others; a key within another has both names.

    Examples
    --------
    >>> unread({"hidden_size": 64, "moons": 1, "attention_moons": 2})
    ['attention_moons', 'moons']
    """
    return sorted(_strange(_text(config)), key=lambda name: not _matters(name))


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
