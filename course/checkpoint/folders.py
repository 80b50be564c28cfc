"""Architectures in the form of Hugging Face: `config.json` and tensors."""

from helpers.model.configuration import (
    LatentWidths,
    MemoryWidths,
    TransformerConfig,
)

from .architectures import (
    BOTH,
    GAIN,
    LIKE_GPT_2,
    LIKE_LLAMA,
    QKV,
    Architecture,
    Stored,
    biased,
    matrices,
    norms,
)
from .rotations import Rotations, partial_rotations, read, rotations_of
from .settings import IGNORED

# --- Settings ----------------------------------------------------------------


def _sizes(settings):
    """The fields that all architectures similar to Llama have."""
    take = settings.take
    H = take("num_attention_heads", int)
    return LIKE_LLAMA | {
        "vocab": take("vocab_size", int),
        "max_len": take("max_position_embeddings", int),
        "d_model": take("hidden_size", int),
        "n_layers": settings.layers("num_hidden_layers"),
        "n_heads": H,
        "n_kv_heads": take("num_key_value_heads", int, H),
        "d_ff": take("intermediate_size", int),
        "eps": take("rms_norm_eps", float),
    }


def _width(settings, fields):
    """Return d_k, and add it to `fields` unless it is d_model / H."""
    d_k = settings.take("head_dim", int, 0)
    if d_k == 0 or d_k * fields["n_heads"] == fields["d_model"]:
        return TransformerConfig(**fields).d_k
    fields["head_width"] = d_k
    return d_k


def _close(settings, *, act="silu", key="hidden_act"):
    """Refuse unsupported settings: biases, dropout, other activations."""
    settings.expect(key, act)
    for name in ("attention_bias", "mlp_bias"):
        settings.expect(name, False)
    settings.left.pop("attention_dropout", None)  # affects only training
    settings.close(IGNORED)


def llama_folder(settings, tied):
    """The settings of Llama: those of Mistral, without a window."""
    settings.expect("sliding_window")  # its code ignores this
    return mistral_folder(settings, tied)


def mistral_folder(settings, tied):
    """The settings of Mistral."""
    fields = _sizes(settings) | {"tied": tied}
    d_k = _width(settings, fields)
    fields["window"] = settings.optional("sliding_window", int)
    rotations = rotations_of(settings, d_k, base=10000.0)
    config = TransformerConfig(**fields, **rotations.fields(d_k))
    _close(settings)
    return config


SLIDING, FULL = "sliding_attention", "full_attention"
LINEAR = "linear_attention"


def _kinds(settings, default, known=(SLIDING, FULL)):
    """The kind of layer of each block: as stated, or by default."""
    kinds = settings.left.pop("layer_types", None)
    if kinds is None:
        return default
    if not isinstance(kinds, list) or len(kinds) != len(default):
        settings.refuse("layer_types", f"a list of {len(default)}", kinds)
    for kind in kinds:
        if kind not in known:
            settings.refuse("layer_types", f"of {', '.join(known)}", kind)
    return kinds


def _by_block(blocks):
    """The fields of blocks, which may all be equal."""
    if all(block == blocks[0] for block in blocks):
        return blocks[0]
    return {"blocks": tuple(blocks)}


def _reach(settings, kinds, window):
    """The window of each block, or None."""
    if window is None and SLIDING in kinds:
        settings.refuse("sliding_window", f"stated for {SLIDING}", window)
    return [{"window": window} if kind == SLIDING else {} for kind in kinds]


def _used_window(settings):
    """The window, in files with a separate flag for its use."""
    window = settings.optional("sliding_window", int)
    used = settings.take("use_sliding_window", bool, False)
    return window if used else None


def qwen3_folder(settings, tied):
    """The settings of Qwen3: heads of any width, queries and keys normed."""
    fields = _sizes(settings) | {"tied": tied, "query_key_norm": "head"}
    d_k = _width(settings, fields)
    window, n = _used_window(settings), fields["n_layers"]
    first = settings.take("max_window_layers", int, n)
    default = [SLIDING if window and i >= first else FULL for i in range(n)]
    blocks = _reach(settings, _kinds(settings, default), window)
    rotations = rotations_of(settings, d_k, base=10000.0)
    fields |= rotations.fields(d_k) | _by_block(blocks)
    config = TransformerConfig(**fields)
    _close(settings)
    return config


def smollm3_folder(settings, tied):
    """The settings of SmolLM3, in which some blocks have no positions."""
    fields = _sizes(settings) | {"tied": tied}
    d_k, n = _width(settings, fields), fields["n_layers"]
    turns = _rotating(settings, n)
    window = _used_window(settings)
    default = [FULL if turn or not window else SLIDING for turn in turns]
    blocks = [
        block | ({} if turn else {"positions": None})
        for turn, block in zip(
            turns,
            _reach(settings, _kinds(settings, default), window),
            strict=True,
        )
    ]
    rotations = rotations_of(settings, d_k, base=2000000.0)
    fields |= rotations.fields(d_k) | _by_block(blocks)
    config = TransformerConfig(**fields)
    settings.left.pop("max_window_layers", None)  # its code ignores this
    _close(settings)
    return config


def _rotating(settings, n):
    """Whether queries and keys rotate, as 1 or 0 for each block."""
    every = settings.take("no_rope_layer_interval", int, 4)
    turns = settings.left.pop("no_rope_layers", None)
    if turns is None:
        if every < 1:
            settings.refuse("no_rope_layer_interval", "at least 1", every)
        return [int((i + 1) % every != 0) for i in range(n)]
    if not isinstance(turns, list) or len(turns) != n:
        settings.refuse("no_rope_layers", f"a list of {n}", turns)
    for turn in turns:
        if turn not in (0, 1):
            settings.refuse("no_rope_layers", "of 0 and 1", turn)
    return turns


def olmo2_folder(settings, tied):
    """The settings of OLMo 2: norms of layers' outputs and of heads."""
    fields = _sizes(settings) | {
        "tied": tied,
        "norm": "output",
        "query_key_norm": "whole",
    }
    d_k = _width(settings, fields)
    rotations = rotations_of(settings, d_k, base=10000.0)
    config = TransformerConfig(**fields, **rotations.fields(d_k))
    settings.expect("clip_qkv")
    _close(settings)
    return config


def _gemma(settings, tied):
    """The fields that Gemma 2 and 3 have in common."""
    fields = _sizes(settings) | {
        "tied": tied,
        "norm": "sandwich",
        "activation": "gelu_tanh",
        "logits_softcap": settings.optional("final_logit_softcapping", float),
    }
    fields["embedding_scale"] = fields["d_model"] ** 0.5
    scalar = settings.take("query_pre_attn_scalar", float)
    if not scalar > 0:
        settings.refuse("query_pre_attn_scalar", "above 0", scalar)
    fields["scale"] = scalar**-0.5
    return fields, _width(settings, fields)


def _close_gemma(settings):
    settings.expect("hidden_act", "gelu_pytorch_tanh")  # as in old files
    settings.expect("use_bidirectional_attention", False)
    _close(settings, act="gelu_pytorch_tanh", key="hidden_activation")


def gemma2_folder(settings, tied):
    """The settings of Gemma 2: scores and logits are capped."""
    fields, d_k = _gemma(settings, tied)
    fields["softcap"] = settings.optional("attn_logit_softcapping", float)
    default = [FULL if i % 2 else SLIDING for i in range(fields["n_layers"])]
    window = settings.take("sliding_window", int)
    blocks = _reach(settings, _kinds(settings, default), window)
    rotations = _unscaled(settings, rotations_of(settings, d_k, base=10000.0))
    fields |= rotations.fields(d_k) | _by_block(blocks)
    config = TransformerConfig(**fields)
    _close_gemma(settings)
    return config


def _unscaled(settings, rotations):
    """Refuse rotations that scale the scores if the file states a scale."""
    if rotations.factor != 1:
        settings.refuse(
            "query_pre_attn_scalar",
            "the one factor of the scores",
            f"rotations with {rotations.factor}",
        )
    return rotations


def gemma3_folder(settings, tied):
    """The settings of Gemma 3's text model: two kinds of rotations."""
    fields, d_k = _gemma(settings, tied)
    fields["query_key_norm"] = "head"
    settings.expect("attn_logit_softcapping")  # its code ignores this
    every = settings.take("_sliding_window_pattern", int, 6)
    every = settings.take("sliding_window_pattern", int, every)
    if every < 1:
        settings.refuse("sliding_window_pattern", "at least 1", every)
    default = [
        SLIDING if (i + 1) % every else FULL for i in range(fields["n_layers"])
    ]
    kinds = _kinds(settings, default)
    blocks = _reach(settings, kinds, settings.take("sliding_window", int))
    turns = _two_rotations(settings, d_k)
    blocks = [
        block | _unscaled(settings, turns[kind]).fields(d_k)
        for kind, block in zip(kinds, blocks, strict=True)
    ]
    config = TransformerConfig(**fields | _by_block(blocks))
    _close_gemma(settings)
    return config


def _two_rotations(settings, d_k):
    """The rotations of both kinds of layers, by kind."""
    inner = settings.left.pop("rope_parameters", None)
    bases = {FULL: 1000000.0, SLIDING: 10000.0}
    if inner is None:  # in an old file
        local = settings.take("rope_local_base_freq", float, bases[SLIDING])
        whole = rotations_of(settings, d_k, base=bases[FULL])
        return {FULL: whole, SLIDING: Rotations(local)}
    if not isinstance(inner, dict) or inner.keys() - bases.keys():
        settings.refuse("rope_parameters", f"of {FULL} and {SLIDING}", inner)
    found = {}
    for kind, base in bases.items():
        own = inner.get(kind) or {"rope_type": "default"}
        found[kind] = read(settings, f"rope_parameters.{kind}", own, d_k, base)
    return found


# Settings of mixtures of experts, in files without such a layer.
EXPERTS = (
    "aux_loss_alpha", "decoder_sparse_step", "ep_size", "mlp_only_layers",
    "moe_intermediate_size", "moe_layer_freq", "n_group", "n_routed_experts",
    "n_shared_experts", "norm_topk_prob", "num_experts",
    "num_experts_per_tok", "output_router_logits", "routed_scaling_factor",
    "router_aux_loss_coef", "scoring_func", "seq_aux",
    "shared_expert_intermediate_size", "topk_group", "topk_method",
)  # fmt: skip


def _no_experts(settings, key, rule, dense):
    """Refuse a mixture of experts, or drop its sizes if there is none."""
    if not dense:
        rule = f"{rule}: mixtures of experts are not known here"
        settings.refuse(key, rule, settings.left.get(key))
    for name in EXPERTS:
        settings.left.pop(name, None)


def deepseek_folder(settings, tied):
    """The settings of DeepSeek-V3 with dense layers only."""
    take, optional = settings.take, settings.optional
    fields = _sizes(settings) | {"tied": tied}
    H, H_kv = fields["n_heads"], fields.pop("n_kv_heads")
    if H_kv != H:
        settings.refuse("num_key_value_heads", f"{H}, the heads", H_kv)
    n, key = fields["n_layers"], "first_k_dense_replace"
    dense = take(key, int)
    settings.left[key] = dense  # for a message
    _no_experts(settings, key, f"at least {n}, all layers", dense >= n)
    del settings.left[key]
    latent = LatentWidths(
        d_c=take("kv_lora_rank", int),
        d_r=take("qk_rope_head_dim", int),
        d_v=take("v_head_dim", int),
        d_q=optional("q_lora_rank", int),
    )
    d_k = take("qk_nope_head_dim", int)
    settings.expect("qk_head_dim", d_k + latent.d_r)
    settings.expect("head_dim", latent.d_r)
    settings.expect("rope_interleave", True)
    rotations = rotations_of(settings, latent.d_r, base=10000.0)
    if rotations.factor != 1:
        rule = "without a factor of the rotated part alone"
        settings.refuse("rope_scaling", rule, rotations.factor)
    config = TransformerConfig(
        **fields,
        head_width=d_k,
        latent=latent,
        base=rotations.base,
        frequencies=rotations.frequencies,
        scale=rotations.of_scores / max(d_k + latent.d_r, 1) ** 0.5,
    )
    for name in ("num_nextn_predict_layers", "num_mtp_layers"):
        settings.left.pop(name, None)  # of modules outside the model
    _close(settings)
    return config


def qwen3_next_folder(settings, tied):
    """The settings of Qwen3-Next with dense layers only."""
    fields = _sizes(settings) | {
        "tied": tied,
        "query_key_norm": "head",
        "output_gate": True,
    }
    d_k, n = _width(settings, fields), fields["n_layers"]
    _dense_qwen(settings, n)
    every = settings.take("full_attention_interval", int, 4)
    if every < 1:
        settings.refuse("full_attention_interval", "at least 1", every)
    default = [FULL if (i + 1) % every == 0 else LINEAR for i in range(n)]
    kinds = _kinds(settings, default, (LINEAR, FULL))
    memory = _memory(settings)
    blocks = [{"memory": memory} if k == LINEAR else {} for k in kinds]
    fields["frequencies"] = partial_rotations(
        settings, d_k, share=0.25, base=10000.0
    )
    fields |= _by_block(blocks)
    config = TransformerConfig(**fields)
    _close(settings)
    return config


def _dense_qwen(settings, n):
    """Refuse files of Qwen3-Next that have experts in a layer."""
    step = settings.take("decoder_sparse_step", int, 1)
    count = settings.take("num_experts", int)
    named = settings.left.get("mlp_only_layers") or []
    if not isinstance(named, list):
        settings.refuse("mlp_only_layers", "a list", named)
    named = {i for i in named if isinstance(i, int)}
    sparse = [
        i for i in range(n) if i not in named and step and (i + 1) % step == 0
    ]
    dense = count == 0 or not sparse
    rule = "a list of all layers, or num_experts 0"
    _no_experts(settings, "mlp_only_layers", rule, dense)


def _memory(settings):
    """The sizes of the layers without a softmax."""
    names = ("num_key_heads", "num_value_heads", "key_head_dim",
             "value_head_dim", "conv_kernel_dim")  # fmt: skip
    return MemoryWidths(*(settings.take(f"linear_{n}", int) for n in names))


def gpt2_folder(settings, tied):
    """The settings of GPT-2."""
    take = settings.take
    d_model = take("n_embd", int)
    inner = settings.optional("n_inner", int)
    config = TransformerConfig(
        vocab=take("vocab_size", int),
        max_len=take("n_positions", int),
        d_model=d_model,
        n_layers=settings.layers("n_layer"),
        n_heads=take("n_head", int),
        d_ff=4 * d_model if inner is None else inner,
        eps=take("layer_norm_epsilon", float),
        tied=tied,
        **LIKE_GPT_2,
    )
    settings.expect("n_ctx", config.max_len)
    settings.expect("activation_function", "gelu_new")
    settings.expect("scale_attn_weights", True)
    for key in ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"):
        settings.expect(key, False)
    settings.close(IGNORED)
    return config


# --- Tensors -----------------------------------------------------------------

MATRICES = matrices(
    {
        "self_attn.q_proj": "W_Q",
        "self_attn.k_proj": "W_K",
        "self_attn.v_proj": "W_V",
        "self_attn.o_proj": "W_O",
        "mlp.gate_proj": "W_1",
        "mlp.down_proj": "W_2",
        "mlp.up_proj": "W_3",
    },
    transposed=True,
)
NETWORK = {k: v for k, v in MATRICES.items() if k.startswith("mlp")}
BEFORE = {"input_layernorm": "norm_1", "post_attention_layernorm": "norm_2"}
BEHIND = {
    "post_attention_layernorm": "norm_1_out",
    "post_feedforward_layernorm": "norm_2_out",
}
AROUND = BEHIND | {
    "input_layernorm": "norm_1",
    "pre_feedforward_layernorm": "norm_2",
}
OF_HEADS = {"self_attn.q_norm": "norm_Q", "self_attn.k_norm": "norm_K"}


def _transposed(*params, groups=1):
    """A matrix with one row per output, split into several parameters."""
    return Stored(params, transposed=True, groups=groups)


def _deepseek(config):
    """The tensors of a block of DeepSeek-V3."""
    H, names = config.n_heads, BEFORE | {"self_attn.kv_a_layernorm": "norm_KV"}
    if config.latent.d_q is None:
        queries = {"q_proj": _transposed("W_UQ", "W_QR", groups=H)}
    else:
        names = names | {"self_attn.q_a_layernorm": "norm_Q"}
        queries = {
            "q_a_proj": _transposed("W_DQ"),
            "q_b_proj": _transposed("W_UQ", "W_QR", groups=H),
        }
    own = queries | {
        "kv_a_proj_with_mqa": _transposed("W_DKV", "W_KR"),
        "kv_b_proj": _transposed("W_UK", "W_UV", groups=H),
        "o_proj": _transposed("W_O"),
    }
    rules = {f"self_attn.{name}.weight": x for name, x in own.items()}
    return NETWORK | norms(names, GAIN) | rules


def _qwen3_next(config):
    """The tensors of a block of Qwen3-Next, of either kind."""
    if config.memory is None:
        gated = _transposed("W_Q", "W_G", groups=config.n_heads)
        own = MATRICES | {"self_attn.q_proj.weight": gated}
        return own | norms(BEFORE | OF_HEADS, GAIN, plus=1)
    groups = config.memory.n_key_heads
    own = {
        "in_proj_qkvz.weight": _transposed(
            "W_Q", "W_K", "W_V", "W_G", groups=groups
        ),
        "in_proj_ba.weight": _transposed("W_B", "W_A", groups=groups),
        "conv1d.weight": _transposed("filters"),
        "dt_bias": Stored(("decay_bias",)),
        "A_log": Stored(("log_rate",)),
        "norm.weight": Stored(("norm_O.gain",)),  # this norm does not add 1
        "out_proj.weight": _transposed("W_O"),
    }
    rules = {f"linear_attn.{name}": x for name, x in own.items()}
    return NETWORK | norms(BEFORE, GAIN, plus=1) | rules


def _like_llama(config, inside, *, plus=0.0, tied=False):
    """An architecture with the names of Llama outside its blocks.

    Inside its blocks it has Llama's names and these norms, or the names that a
    function returns.
    """
    if not callable(inside):
        inside = MATRICES | norms(inside, GAIN, plus)
    return Architecture(
        config,
        "model.layers.{i}.",
        inside,
        norms({"model.norm": "norm"}, GAIN, plus)
        | {"model.embed_tokens.weight": Stored(("embedding",))},
        "lm_head.weight",
        tied,
        ("rotary_emb.inv_freq",),
    )


FOLDER = {
    "llama": _like_llama(llama_folder, BEFORE),
    "mistral": _like_llama(mistral_folder, BEFORE),
    "gpt2": Architecture(
        gpt2_folder,
        "h.{i}.",
        norms({"ln_1": "norm_1", "ln_2": "norm_2"}, BOTH)
        | biased(
            {
                "attn.c_attn": QKV,
                "attn.c_proj": ("W_O",),
                "mlp.c_fc": ("W_1",),
                "mlp.c_proj": ("W_2",),
            },
            transposed=False,
        ),
        norms({"ln_f": "norm"}, BOTH)
        | {
            "wte.weight": Stored(("embedding",)),
            "wpe.weight": Stored(("positions",)),
        },
        "lm_head.weight",
        True,
        (".attn.bias", ".attn.masked_bias"),  # the causal mask
    ),
    "qwen3": _like_llama(qwen3_folder, BEFORE | OF_HEADS),
    "smollm3": _like_llama(smollm3_folder, BEFORE, tied=True),
    "olmo2": _like_llama(olmo2_folder, BEHIND | OF_HEADS),
    # A gain of Gemma is stored minus 1.
    "gemma2": _like_llama(gemma2_folder, AROUND, plus=1, tied=True),
    "gemma3_text": _like_llama(
        gemma3_folder, AROUND | OF_HEADS, plus=1, tied=True
    ),
    "deepseek_v3": _like_llama(deepseek_folder, _deepseek),
    "qwen3_next": _like_llama(qwen3_next_folder, _qwen3_next, plus=1),
}
