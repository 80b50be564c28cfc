"""Folders of today's architectures: written here, read by the helpers.

`tests/with_torch/test_checkpoint.py` compares with what others wrote.
"""

import contextlib
import json
import math
import re
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from course import checkpoint
from course.checkpoint import CheckpointError, folders, load
from course.checkpoint.architectures import GGUF, rules_of
from course.checkpoint.settings import Settings
from helpers.positions import yarn_frequencies
from helpers.transformer import (
    LatentWidths,
    MemoryWidths,
    TransformerConfig,
    init_transformer,
    parameter_shapes,
    transformer,
)

SIZES = {
    "vocab": 8,
    "max_len": 16,
    "d_model": 12,
    "n_layers": 3,
    "n_heads": 2,
    "n_kv_heads": 1,
    "d_ff": 10,
    "norm_kind": "rms",
    "positions": "rotary",
    "activation": "silu",
    "gated": True,
    "eps": 0.25,
    "bias": False,
    "base": 100.0,
}
JSON = {
    "vocab_size": 8,
    "max_position_embeddings": 16,
    "hidden_size": 12,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "rms_norm_eps": 0.25,
    "rope_theta": 100.0,
    "hidden_act": "silu",
    "attention_bias": False,
}
GEMMA = JSON | {
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh",
    "head_dim": 4,
    "query_pre_attn_scalar": 16,
    "sliding_window": 3,
}
LIKE_GEMMA = SIZES | {
    "norm": "sandwich",
    "activation": "gelu_tanh",
    "head_width": 4,
    "embedding_scale": 12**0.5,
    "scale": 0.25,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 100.0,
    "factor": 1.0,
    "original_max_position_embeddings": 8,
}
MEMORY = MemoryWidths(n_key_heads=1, n_value_heads=2, d_k=3, d_v=2, width=4)
# By architecture: what its file says, and the model that this makes.
KNOWN = {
    "qwen3": (
        JSON
        | {
            "head_dim": 4,
            "use_sliding_window": True,
            "sliding_window": 3,
            "max_window_layers": 2,
            "rope_parameters": YARN,
            "tie_word_embeddings": True,
        },
        SIZES
        | {
            "head_width": 4,
            "query_key_norm": "head",
            "frequencies": tuple(yarn_frequencies(4, 1, 8, base=100.0)),
            "blocks": ({}, {}, {"window": 3}),
        },
    ),
    "smollm3": (
        JSON | {"no_rope_layers": [1, 0, 1], "use_sliding_window": False},
        SIZES | {"blocks": ({}, {"positions": None}, {})},
    ),
    "olmo2": (
        JSON,
        SIZES | {"norm": "output", "query_key_norm": "whole", "tied": False},
    ),
    "gemma2": (
        GEMMA
        | {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0},
        LIKE_GEMMA
        | {
            "softcap": 5.0,
            "logits_softcap": 3.0,
            "blocks": ({"window": 3}, {}, {"window": 3}),
        },
    ),
    "gemma3_text": (
        GEMMA | {"rope_local_base_freq": 10.0, "sliding_window_pattern": 2},
        LIKE_GEMMA
        | {
            "base": 10000.0,
            "query_key_norm": "head",
            "blocks": (
                {"window": 3, "base": 10.0, "frequencies": None},
                {"base": 100.0, "frequencies": None},
                {"window": 3, "base": 10.0, "frequencies": None},
            ),
        },
    ),
}
KNOWN |= {
    "deepseek_v3": (
        JSON
        | {
            "num_key_value_heads": 2,
            "q_lora_rank": 5,
            "kv_lora_rank": 6,
            "qk_nope_head_dim": 3,
            "qk_rope_head_dim": 2,
            "v_head_dim": 4,
            "first_k_dense_replace": 3,
            "n_routed_experts": 256,
            "num_nextn_predict_layers": 1,
        },
        SIZES
        | {
            "n_kv_heads": None,
            "tied": False,
            "head_width": 3,
            "scale": 5**-0.5,
            "latent": LatentWidths(d_c=6, d_r=2, d_v=4, d_q=5),
        },
    ),
    "qwen3_next": (
        JSON
        | {
            "head_dim": 8,
            "num_experts": 512,
            "mlp_only_layers": [0, 1, 2],
            "full_attention_interval": 2,
            "partial_rotary_factor": 0.5,
            "linear_num_key_heads": 1,
            "linear_num_value_heads": 2,
            "linear_key_head_dim": 3,
            "linear_value_head_dim": 2,
            "linear_conv_kernel_dim": 4,
        },
        SIZES
        | {
            "base": 10000.0,
            "tied": False,
            "head_width": 8,
            "query_key_norm": "head",
            "output_gate": True,
            "frequencies": (1.0, 0.1),
            "blocks": ({"memory": MEMORY}, {}, {"memory": MEMORY}),
        },
    ),
}
EACH = pytest.mark.parametrize("kind", KNOWN)

MATRICES = {
    "W_Q": "self_attn.q_proj",
    "W_K": "self_attn.k_proj",
    "W_V": "self_attn.v_proj",
    "W_O": "self_attn.o_proj",
    "W_1": "mlp.gate_proj",
    "W_3": "mlp.up_proj",
    "W_2": "mlp.down_proj",
    "norm_Q.gain": "self_attn.q_norm",
    "norm_K.gain": "self_attn.k_norm",
}
GEMMAS = ("gemma2", "gemma3_text")


def name_of(param, kind):
    """The tensor of a parameter inside of a block."""
    second = "pre_feedforward" if kind in GEMMAS else "post_attention"
    names = MATRICES | {
        "norm_1.gain": "input_layernorm",
        "norm_2.gain": f"{second}_layernorm",
        "norm_1_out.gain": "post_attention_layernorm",
        "norm_2_out.gain": "post_feedforward_layernorm",
    }
    return names[param]


def made(config):
    """Parameters that float32 holds, none at its first value."""
    rng = np.random.default_rng(0)
    return {
        # Eighths, which stay exact when Gemma's gains lose their 1.
        name: rng.integers(-16, 17, x.shape).astype(np.float32) / 8
        for name, x in init_transformer(rng, config).items()
    }


# Tensors that hold several parameters: their names, and in how many groups
# these take turns, column by column.
JOINED = {
    "deepseek_v3": {
        "self_attn.kv_a_proj_with_mqa": ("W_DKV W_KR", 1),
        "self_attn.kv_b_proj": ("W_UK W_UV", 2),
        "self_attn.q_b_proj": ("W_UQ W_QR", 2),
        "self_attn.q_a_proj": ("W_DQ", 1),
        "self_attn.kv_a_layernorm": ("norm_KV.gain", 1),
        "self_attn.q_a_layernorm": ("norm_Q.gain", 1),
    },
    "qwen3_next": {
        "linear_attn.in_proj_qkvz": ("W_Q W_K W_V W_G", 1),
        "linear_attn.in_proj_ba": ("W_B W_A", 1),
        "linear_attn.conv1d": ("filters", 1),
        "linear_attn.norm": ("norm_O.gain", 1),
        "linear_attn.out_proj": ("W_O", 1),
        "linear_attn.dt_bias": ("decay_bias", 1),
        "linear_attn.A_log": ("log_rate", 1),
        "self_attn.q_proj": ("W_Q W_G", 2),
    },
}
PLUS = (*GEMMAS, "qwen3_next")  # whose files hold what a gain exceeds 1 by


def in_turns(arrays, groups):
    """Their columns, some of each, then the next of each, and so on."""
    columns = []
    for group in range(groups):
        for x in arrays:
            n = x.shape[-1] // groups
            columns += [x[..., group * n + i] for i in range(n)]
    return np.stack(columns, axis=-1)


def block_tensors(own, kind):
    """The tensors of a block, and which of its parameters they hold."""
    memory = "filters" in own
    for theirs, (names, groups) in JOINED.get(kind, {}).items():
        held = names.split()
        if set(held) <= own.keys() and memory == ("linear" in theirs):
            whole = in_turns([own.pop(n) for n in held], groups)
            alone = theirs.endswith(("dt_bias", "A_log"))
            yield theirs if alone else f"{theirs}.weight", whole
    for name, x in own.items():
        yield f"{name_of(name, kind)}.weight", x


def tensors_of(params, kind):
    outside = {
        "embedding": "model.embed_tokens.weight",
        "norm.gain": "model.norm.weight",
        "output": "lm_head.weight",
    }
    tensors, blocks = {}, {}
    for name, x in params.items():
        plain = "norm_O" in name or not name.endswith("gain")
        x = x if kind not in PLUS or plain else x - 1
        if name in outside:
            tensors[outside[name]] = x if name == "embedding" else x.T
        else:
            block, _, inside = name.partition(".")
            blocks.setdefault(block, {})[inside] = x
    for block, own in blocks.items():
        for theirs, x in block_tensors(own, kind):
            tensors[f"model.layers.{block}.{theirs}"] = x.T
    return {n: np.ascontiguousarray(x) for n, x in tensors.items()}


def folder(path, kind, **changes):
    """A folder of this architecture; a change to ... leaves a key out."""
    stated, fields = KNOWN[kind]
    stated = {"model_type": kind} | stated | changes
    (path / "config.json").write_text(
        json.dumps({k: v for k, v in stated.items() if v is not ...})
    )
    tensors = tensors_of(made(TransformerConfig(**fields)), kind)
    save_file(tensors, path / "model.safetensors")
    return path


@EACH
def test_load_gives_back_what_was_written(kind, tmp_path):
    config = TransformerConfig(**KNOWN[kind][1])
    result = load(folder(tmp_path, kind), tokenizer=False)
    assert result.config == config
    assert list(result.params) == list(parameter_shapes(config))
    for name, x in made(config).items():
        np.testing.assert_array_equal(result.params[name], x, err_msg=name)
        assert result.params[name].dtype == np.float32


ROPE = "rope_parameters"
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "factor": 4.0,
    "low_freq_factor": 10.0,
    "high_freq_factor": 10.0,
    "original_max_position_embeddings": 200,
}


def test_load_reads_limits_that_are_not_rounded_or_equal(tmp_path):
    # Width 4: the pairs make 31.8 and 3.18 turns in 200 positions, and pair
    # 2 ln(31.8) / ln(100) = 1.503 makes one.
    exact = {"rope_type": "yarn", "truncate": False, "attention_factor": 1.0}
    last = 2 * math.log(200 / (2 * math.pi)) / math.log(100)
    kept = 1 - 1 / last
    limits = ("low_freq_factor", "high_freq_factor")
    yarn = {k: v for k, v in LLAMA_3.items() if k not in limits}
    for inner, second in (
        (LLAMA_3, 0.1 / 4),
        (yarn | exact, kept * 0.1 + (1 - kept) * 0.1 / 4),
        (yarn | exact | {"truncate": True}, (0.1 + 0.1 / 4) / 2),
    ):
        path = folder(tmp_path, "qwen3", **{ROPE: inner})
        result = load(path, tokenizer=False).config.frequencies
        np.testing.assert_allclose(result, (1, second), rtol=1e-12)


REFUSED = [
    ("qwen3", {"attention_bias": True}, "attention_bias must be False"),
    ("qwen3", {"num_experts": 8}, "'num_experts' is a setting that is not"),
    (
        "qwen3",
        {"head_dim": 6},
        "must be (12, 12) to fit the settings",
    ),
    ("qwen3", {"num_hidden_layers": 0}, "must be from 1 to 1000; got 0"),
    ("qwen3", {"layer_types": ["a"]}, "layer_types must be a list of 3; got"),
    (
        "qwen3",
        {"layer_types": ["full_attention", "chunked", 3]},
        "must be of sliding_attention, full_attention; got 'chunked'",
    ),
    (
        "qwen3",
        {
            "use_sliding_window": False,
            "layer_types": ["sliding_attention"] * 3,
        },
        "sliding_window must be stated for sliding_attention; got None",
    ),
    ("qwen3", {ROPE: 3}, "rope_parameters must be an object; got 3"),
    (
        "qwen3",
        {ROPE: {"rope_type": "longrope"}},
        "rope_type must be one of default, linear, llama3, yarn; got 'long",
    ),
    ("qwen3", {ROPE: YARN | {"colour": 1}}, "'colour' is a setting that is"),
    ("qwen3", {ROPE: YARN | {"factor": 0.5}}, "factor must be at least 1; go"),
    (
        "qwen3",
        {ROPE: YARN | {"beta_fast": 0.5}},
        "beta_fast must be at least b",
    ),
    (
        "qwen3",
        {ROPE: LLAMA_3 | {"low_freq_factor": 0}},
        "low_freq_factor must be above 0; got 0",
    ),
    (
        "qwen3",
        {ROPE: LLAMA_3 | {"high_freq_factor": 9.5}},
        "high_freq_factor must be at least low_freq_factor, 10.0; got 9.5",
    ),
    (
        "qwen3",
        {
            ROPE: YARN
            | {"factor": math.exp(10), "mscale": 1}
            | {"mscale_all_dim": -1}
        },
        "mscale_all_dim must be a value whose factor is not 0; got -1",
    ),
    ("qwen3", {ROPE: YARN | {"truncate": 0}}, "truncate must be of type bool"),
    (
        "qwen3",
        {ROPE: YARN | {"type": "linear"}},
        "type must be 'yarn', as rope_type; got 'linear'",
    ),
    ("qwen3", {"rope_theta": 50.0}, "rope_theta must be 100.0, the one that"),
    ("smollm3", {"no_rope_layers": [1, 0, 2]}, "must be of 0 and 1; got 2"),
    ("smollm3", {"mlp_bias": True}, "mlp_bias must be False, the one that i"),
    ("olmo2", {"clip_qkv": 8.0}, "clip_qkv must be None, the one th"),
    ("gemma2", {"hidden_activation": "silu"}, "must be 'gelu_pytorch_tanh'"),
    ("gemma2", {"use_bidirectional_attention": True}, "must be False, the on"),
    ("gemma2", {"query_pre_attn_scalar": 0}, "must be above 0; got 0"),
    ("gemma2", {"sliding_window": None}, "sliding_window is missing"),
    (
        "gemma2",
        {ROPE: YARN | {"factor": 4.0}, "rope_theta": 100.0},
        "query_pre_attn_scalar must be the one factor of the scores; got",
    ),
    ("gemma3_text", {"attn_logit_softcapping": 2.0}, "attn_logit_softcapp"),
    (
        "gemma3_text",
        {ROPE: {"rope_type": "default"}, "rope_local_base_freq": ...},
        "must be of full_attention and sliding_attention; got",
    ),
    (
        "gemma3_text",
        {ROPE: {"full_attention": 1}, "rope_local_base_freq": ...},
        "rope_parameters.full_attention must be an object; got 1",
    ),
    (
        "deepseek_v3",
        {"first_k_dense_replace": 2},
        "mixtures of experts are not known here; got 2",
    ),
    ("deepseek_v3", {"num_key_value_heads": 1}, "num_key_value_heads must be"),
    ("deepseek_v3", {"rope_interleave": False}, "rope_interleave must be Tru"),
    ("deepseek_v3", {"head_dim": 5}, "head_dim must be 2, the one that is kn"),
    ("deepseek_v3", {"attention_bias": True}, "attention_bias must be False"),
    ("deepseek_v3", {"quantization_config": {}}, "'quantization_config' is a"),
    (
        "deepseek_v3",
        {"rope_scaling": YARN | {"factor": 4.0}},
        "rope_scaling must be without a factor of the rotated part alone; got",
    ),
    ("qwen3_next", {"mlp_only_layers": [0, 2]}, "a list of all layers, or nu"),
    (
        "qwen3_next",
        {"mlp_only_layers": None},
        "mixtures of experts are not known here; got None",
    ),
    ("qwen3_next", {"mlp_only_layers": 3}, "mlp_only_layers must be a list; "),
    ("qwen3_next", {"partial_rotary_factor": 0.0}, "must be above 0 and at m"),
    ("qwen3_next", {"partial_rotary_factor": 0.4}, "d must be even, two colu"),
    (
        "qwen3_next",
        {"layer_types": ["sliding_attention"] * 3},
        "must be of linear_attention, full_attention; got 'sliding_attention",
    ),
    (
        "qwen3_next",
        {"linear_num_key_heads": 3},
        "memory.n_key_heads must divide memory.n_value_heads; got 3 and 2",
    ),
    (
        "qwen3_next",
        {"linear_conv_kernel_dim": 3},
        "conv1d.weight' must be (10, 1, 3) to fit the settings; got (10, 1, 4",
    ),
    ("gemma3_text", {"model_type": "gemma3"}, "model_type must be one of ll"),
    ("qwen3", {"model_type": "qwen3_moe"}, "model_type must be one of llama"),
]


@pytest.mark.parametrize(("kind", "changes", "message"), REFUSED)
def test_load_refuses_by_name(kind, changes, message, tmp_path):
    path = folder(tmp_path, kind, **changes)
    with pytest.raises(CheckpointError, match=re.escape(message)) as caught:
        load(path, tokenizer=False)
    assert str(caught.value).startswith(("config.json: ", path.name))


# --- Every key, with values of every kind ------------------------------------

GGUFS = {
    "llama": {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": 16,
        "llama.embedding_length": 12,
        "llama.feed_forward_length": 10,
        "llama.attention.head_count": 3,
        "llama.attention.head_count_kv": 1,
        "llama.attention.layer_norm_rms_epsilon": 0.25,
        "llama.vocab_size": 8,
    },
    "gpt2": {
        "gpt2.block_count": 1,
        "gpt2.context_length": 16,
        "gpt2.embedding_length": 12,
        "gpt2.feed_forward_length": 10,
        "gpt2.attention.head_count": 3,
        "gpt2.attention.layer_norm_epsilon": 0.25,
        "gpt2.vocab_size": 8,
    },
}
GPT_2 = {
    "n_embd": 12,
    "vocab_size": 8,
    "n_positions": 16,
    "n_layer": 1,
    "n_head": 3,
    "layer_norm_epsilon": 0.25,
}
# The settings of each architecture: of folders, and of GGUF.
STATED = {
    (name, "config.json"): {k: v for k, v in stated.items() if k[:3] != "tie"}
    for name, (stated, _) in KNOWN.items()
}
STATED |= {
    ("llama", "config.json"): JSON,
    ("gpt2", "config.json"): GPT_2,
} | {(name, "model.gguf"): stated for name, stated in GGUFS.items()}
LIMITS = {
    "factor": 2.0,
    "original_max_position_embeddings": 8,
    "rope_theta": 100.0,
}
TURNS = (
    {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0},
    LIMITS
    | {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 2.0},
    LIMITS
    | {"rope_type": "yarn", "beta_slow": 1.0, "beta_fast": 2.0}
    | {"mscale": 1.0, "mscale_all_dim": 0.5, "attention_factor": 1.0},
)
NAN, INFINITE, HUGE = float("nan"), float("inf"), 10**400
NEVER = (HUGE, -HUGE, NAN, INFINITE, -INFINITE, 2**53, 1e300)
ODD = (*NEVER, None, True, "x", "", -1, 0, 1, 7, 0.5, -0.0, 5e-324, 1e15,
       [], {}, [1, "a"], [[]], {"a": 1})  # fmt: skip


def model(architecture, stated, shapes=None):
    """The model, and the keys that it was asked for, of a file's settings."""
    name, file = architecture
    table, start = folders.FOLDER, ""
    if file == "model.gguf":
        table, start = GGUF, f"{name}."
    known, source = table[name], SimpleNamespace(name=file, holders={})
    source.shapes = shapes
    settings = Settings(stated, file, start)
    if shapes is None:  # those that the settings ask for
        config = known.config(settings.copied(sizes_only=True), False)
        ours = parameter_shapes(config)
        source.shapes = {
            tensor: stored.shape(ours)
            for tensor, stored in rules_of(known, config).items()
        }
    config, _ = checkpoint._model(known, settings, False, source)
    return config, source.shapes


def asked(architecture, stated, monkeypatch):
    """The keys of settings that are read, and of the object inside them."""
    keys = set()

    def noting(own):
        def noted(self, key, *args, **more):
            inside = self.name.partition(": ")[2]
            keys.add((inside, key) if inside else (self.start + key,))
            return own(self, key, *args, **more)

        return noted

    with monkeypatch.context() as patched:
        for name in ("take", "optional", "expect", "layers"):
            patched.setattr(Settings, name, noting(getattr(Settings, name)))
        model(architecture, stated)
    listed = ("layer_types", "no_rope_layers", "mlp_only_layers", ROPE)
    return keys | {(key,) for key in listed if key in stated}


def changed(stated, place, value):
    """The settings with another value at a place."""
    if len(place) == 1:
        return stated | {place[0]: value}
    outer, _, kind = place[0].partition(".")  # Gemma 3 has two such objects
    inner = stated[outer][kind] if kind else stated[outer]
    inner = inner | {place[1]: value}
    new = stated[outer] | {kind: inner} if kind else inner
    return stated | {outer: new}


def variants(architecture):
    """The settings, and the same with each kind of rotations."""
    stated = STATED[architecture]
    yield stated
    if "hidden_act" in stated:
        bare = {k: v for k, v in stated.items() if k[:4] != "rope"}
        for inner in TURNS:
            if architecture[0] == "gemma3_text":
                inner = {"full_attention": inner, "sliding_attention": inner}
            yield bare | {ROPE: inner}


@pytest.mark.parametrize("architecture", STATED, ids="-".join)
def test_no_number_takes_memory_before_it_fits(architecture, monkeypatch):
    for stated in (*variants(architecture),)[:2]:
        _, shapes = model(architecture, stated)
        places = asked(architecture, stated, monkeypatch)
        for (key,) in (place for place in places if len(place) == 1):
            tracemalloc.start()
            with contextlib.suppress(CheckpointError):
                model(architecture, stated | {key: 2_000_000}, shapes)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 2e5, key


@pytest.mark.parametrize("architecture", STATED, ids="-".join)
def test_odd_settings_are_refused_or_make_a_model(architecture, monkeypatch):
    rng, done, messages, tries = np.random.default_rng(0), set(), [], 0
    for stated in variants(architecture):
        config, shapes = model(architecture, stated)
        params = init_transformer(rng, config)
        for place in sorted(asked(architecture, stated, monkeypatch) - done):
            done.add(place)
            for odd in ODD:
                tries += 1
                new = changed(stated, place, odd)
                try:
                    result, _ = model(architecture, new, shapes)
                except CheckpointError as error:
                    messages.append(str(error))
                    if any(odd is never for never in NEVER):
                        assert f"{place[-1]} must be" in messages[-1]
                    continue
                assert not any(odd is never for never in NEVER), place
                with contextlib.suppress(ValueError):  # numbers may overflow
                    logits = transformer([1, 2], params, result)
                    assert np.isfinite(logits).all()
    assert len(done) >= 8
    assert 0.5 < len(messages) / tries < 0.99
    assert max(map(len, messages)) < 400
