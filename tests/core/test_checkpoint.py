"""Files of weights: written here byte by byte, read by the helpers.

`tests/with_torch/test_checkpoint.py` compares with what others wrote.
"""

import codecs
import contextlib
import importlib.metadata
import json
import math
import os
import re
import struct
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import tokenizers
from safetensors.numpy import save_file
from tokenizers import decoders, models, pre_tokenizers

from course.checkpoint import (
    CheckpointError,
    gguf,
    load,
    smollm2_path,
    text,
)
from course.checkpoint.quantised import KINDS, bfloat16, dequantised
from helpers.transformer import (
    TransformerConfig,
    generate,
    init_transformer,
    new_cache,
    parameter_count,
    parameter_shapes,
    transformer,
)

# --- A writer of GGUF, which shares nothing with the reader ------------------

U32, F32, BOOL, TEXT, LIST, U64 = 4, 6, 7, 8, 9, 10


def text_bytes(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value_bytes(value):
    """The type and the bytes of a value of the metadata."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<B", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, str):
        return TEXT, text_bytes(value)
    kinds, parts = zip(*map(value_bytes, value), strict=True)
    start = struct.pack("<IQ", kinds[0], len(value))
    return LIST, start + b"".join(parts)


def tensor_bytes(array):
    """Type 0, float32."""
    return 0, array.astype("<f4").tobytes()


def gguf_bytes(metadata, tensors, *, store=tensor_bytes, version=3):
    head = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(metadata))]
    for key, value in metadata.items():
        kind, data = value_bytes(value)
        head += [text_bytes(key), struct.pack("<I", kind), data]
    offset, body = 0, []
    for name, array in tensors.items():
        kind, data = store(array)
        head += [text_bytes(name), struct.pack("<I", array.ndim)]
        head += [struct.pack("<Q", n) for n in reversed(array.shape)]
        head += [struct.pack("<IQ", kind, offset)]
        body.append(data + bytes(-len(data) % 32))
        offset += len(body[-1])
    head = b"".join(head)
    return head + bytes(-len(head) % 32) + b"".join(body)


TOKENS = ["<s>", "a", "b", "c", "ab", "abc", "Ġ", "Ġa"]
TOKENIZER = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3, 1, 1, 1, 1, 1, 1, 1],
    "tokenizer.ggml.merges": ["a b", "ab c", "Ġ a"],
}
CONFIG = TransformerConfig(
    vocab=8,
    max_len=16,
    d_model=32,
    n_layers=2,
    n_heads=4,
    n_kv_heads=2,
    d_ff=64,
    norm_kind="rms",
    positions="rotary",
    activation="silu",
    gated=True,
    eps=0.25,
    bias=False,
    base=100.0,
)
LLAMA = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.context_length": 16,
    "llama.embedding_length": 32,
    "llama.feed_forward_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 0.25,
    "llama.rope.freq_base": 100.0,
    "llama.rope.dimension_count": 8,
    "llama.vocab_size": 8,
} | TOKENIZER
NAMES = {
    "norm_1.gain": "attn_norm",
    "W_Q": "attn_q",
    "W_K": "attn_k",
    "W_V": "attn_v",
    "W_O": "attn_output",
    "norm_2.gain": "ffn_norm",
    "W_1": "ffn_gate",
    "W_3": "ffn_up",
    "W_2": "ffn_down",
}


def paired(W, d_k):
    """Columns i and i + d_k / 2 of a head side by side, entry by entry."""
    new = np.empty_like(W)
    for column in range(W.shape[1]):
        head, i = divmod(column, d_k)
        half, pair = divmod(i, d_k // 2)
        new[:, head * d_k + 2 * pair + half] = W[:, column]
    return new


def llama_tensors(params, config):
    """The parameters under the names and in the layout of GGUF."""
    tensors = {"token_embd.weight": params["embedding"]}
    for i in range(config.n_layers):
        for ours, theirs in NAMES.items():
            x = params[f"{i}.{ours}"]
            if ours in ("W_Q", "W_K"):
                x = paired(x, config.d_k)
            tensors[f"blk.{i}.{theirs}.weight"] = x.T
    tensors["output_norm.weight"] = params["norm.gain"]
    if not config.tied:
        tensors["output.weight"] = params["output"].T
    return tensors


def made(config, seed=0):
    """Parameters that float32 holds, none at its first value."""
    rng = np.random.default_rng(seed)
    params = init_transformer(rng, config, std=0.3)
    return {
        name: (x + 0.2 * rng.normal(size=x.shape)).astype(np.float32)
        for name, x in params.items()
    }


@pytest.fixture
def write(tmp_path):
    def write(data):
        path = tmp_path / "model.gguf"
        path.write_bytes(data)
        return path

    return write


def whole(**metadata):
    return gguf_bytes(LLAMA | metadata, llama_tensors(made(CONFIG), CONFIG))


# --- What is read is what was written ----------------------------------------


@pytest.mark.parametrize("tied", [True, False])
def test_load_gives_back_a_llama(write, tied):
    config = TransformerConfig(**{**vars(CONFIG), "tied": tied})
    params = made(config)
    path = write(gguf_bytes(LLAMA, llama_tensors(params, config)))
    found = load(path)
    assert found.config == config
    assert list(found.params) == list(parameter_shapes(config))
    for name, x in params.items():
        np.testing.assert_array_equal(found.params[name], x)
        assert found.params[name].dtype == np.float32
    tokens = found.tokenizer.encode("abc ab<s>")
    assert tokens.tolist() == [5, 6, 4, 0]  # a and b merge before Ġ and a
    assert found.tokenizer.decode(tokens) == "abc ab<s>"
    # In another order of memory, BLAS may round otherwise.
    same_order = {
        name: np.ascontiguousarray(x) for name, x in found.params.items()
    }
    logits = transformer(tokens, same_order, found.config)
    np.testing.assert_array_equal(logits, transformer(tokens, params, config))
    rng = np.random.default_rng(0)
    assert len(generate(rng, tokens, found.params, found.config, 3)) == 7


def test_load_gives_back_a_mistral_with_its_window(write):
    more = {"llama.attention.sliding_window": 3}
    assert load(write(whole(**more))).config.window == 3


def llama_3_factors(d, base, *, factor, low, high, trained):
    """What a file of Llama 3.1 divides by, as llama.cpp makes it."""
    factors = []
    for i in range(d // 2):
        length = 2 * math.pi * base ** (2 * i / d)
        if length < trained / high:
            factors.append(1.0)
        elif length > trained / low:
            factors.append(factor)
        else:
            smooth = (trained / length - low) / (high - low)
            factors.append(1 / ((1 - smooth) / factor + smooth))
    return factors


def test_load_divides_frequencies_by_the_factors_of_the_file(write, tmp_path):
    limits = {"factor": 8, "low": 1, "high": 4, "trained": 100}
    factors = llama_3_factors(8, 100.0, **limits)
    assert factors[:2] == [1, 1] < factors[2:3] < factors[3:] == [8]
    more = {"rope_freqs.weight": np.array(factors, np.float32)}
    tensors = llama_tensors(made(CONFIG), CONFIG) | more
    found = load(write(gguf_bytes(LLAMA, tensors)))
    wanted = [100 ** (-i / 4) / x for i, x in enumerate(factors)]
    np.testing.assert_allclose(found.config.frequencies, wanted, rtol=1e-7)
    assert replace(found.config, frequencies=None) == CONFIG
    np.testing.assert_array_equal(found.params["0.W_K"], made(CONFIG)["0.W_K"])
    # A folder states the same model by its settings.
    names = ("factor", "low_freq_factor", "high_freq_factor",
             "original_max_position_embeddings")  # fmt: skip
    inner = dict(zip(names, limits.values(), strict=True))
    path = folder(tmp_path, {"rope_scaling": {"rope_type": "llama3"} | inner})
    other = load(path, tokenizer=False).config.frequencies
    np.testing.assert_allclose(found.config.frequencies, other, rtol=1e-7)
    for bad, says in (
        (np.ones(3), "'rope_freqs.weight' must be (4,), a factor for each p"),
        (np.array([1, 2, 0, 1]), "'rope_freqs.weight' must be above 0; got 0"),
        (np.full(4, np.nan), "tensor 'rope_freqs.weight' must be finite"),
    ):
        tensors["rope_freqs.weight"] = bad
        with pytest.raises(CheckpointError, match=re.escape(says)):
            load(write(gguf_bytes(LLAMA, tensors)))


def test_load_gives_back_a_gpt_2(write):
    config = TransformerConfig(
        vocab=8,
        max_len=16,
        d_model=32,
        n_heads=4,
        d_ff=64,
        activation="gelu_tanh",
        eps=0.5,
    )
    params = made(config)
    names = {"W_O": "attn_output", "W_1": "ffn_up", "W_2": "ffn_down"}
    tensors = {
        "token_embd.weight": params["embedding"],
        "position_embd.weight": params["positions"],
        "output_norm.weight": params["norm.gain"],
        "output_norm.bias": params["norm.bias"],
    }
    for i in range(2):
        for n, theirs in (("norm_1", "attn_norm"), ("norm_2", "ffn_norm")):
            tensors[f"blk.{i}.{theirs}.weight"] = params[f"{i}.{n}.gain"]
            tensors[f"blk.{i}.{theirs}.bias"] = params[f"{i}.{n}.bias"]
        for ours, theirs in names.items():
            tensors[f"blk.{i}.{theirs}.weight"] = params[f"{i}.{ours}"].T
            tensors[f"blk.{i}.{theirs}.bias"] = params[f"{i}.{ours}.bias"]
        for end in ("", ".bias"):
            three = [params[f"{i}.W_{x}{end}"] for x in "QKV"]
            joined = np.concatenate(three, axis=-1)
            theirs = f"blk.{i}.attn_qkv.{'bias' if end else 'weight'}"
            tensors[theirs] = joined if end else joined.T
    metadata = {
        "general.architecture": "gpt2",
        "gpt2.block_count": 2,
        "gpt2.context_length": 16,
        "gpt2.embedding_length": 32,
        "gpt2.feed_forward_length": 64,
        "gpt2.attention.head_count": 4,
        "gpt2.attention.layer_norm_epsilon": 0.5,
    } | TOKENIZER
    found = load(write(gguf_bytes(metadata, tensors)))
    assert found.config == config
    for name, x in params.items():
        np.testing.assert_array_equal(found.params[name], x)


def test_load_takes_the_version_before(write):
    tensors = llama_tensors(made(CONFIG), CONFIG)
    assert load(write(gguf_bytes(LLAMA, tensors, version=2))).config == CONFIG


# --- Types of weights, against plain loops -----------------------------------


def half(data):
    return struct.unpack("<e", data)[0]


def in_loops(data, kind):
    """Every weight of some blocks, one after another."""
    found = []
    for start in range(0, len(data), KINDS_BY_NAME[kind].nbytes):
        block = data[start : start + KINDS_BY_NAME[kind].nbytes]
        if kind == "Q8_0":
            found += [
                half(block[:2]) * q for q in struct.unpack("<32b", block[2:])
            ]
            continue
        low = -8 * half(block[:2]) if kind == "Q4_0" else half(block[2:4])
        codes = block[-16:]
        for i in range(32):
            code = codes[i] % 16 if i < 16 else codes[i - 16] // 16
            found.append(half(block[:2]) * code + low)
    return found


KINDS_BY_NAME = {kind.name: kind for kind in KINDS.values()}


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
def test_dequantised_equals_plain_loops(kind, rng):
    n_bytes = KINDS_BY_NAME[kind].nbytes
    blocks = rng.integers(0, 256, (50, n_bytes), dtype=np.uint8)
    # Scales that are numbers: neither NaN nor infinite.
    scales = rng.normal(0, 3, (50, 2)).astype("<f2")
    blocks[:, :2] = scales[:, :1].view(np.uint8)
    if kind == "Q4_1":
        blocks[:, 2:4] = scales[:, 1:].copy().view(np.uint8)
    got = dequantised(blocks.tobytes(), kind)
    assert got.dtype == np.float32
    assert got.shape == (1600,)
    wanted = in_loops(blocks.tobytes(), kind)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


def test_dequantised_plain_types(rng):
    x = rng.normal(size=7).astype("<f4")
    np.testing.assert_array_equal(dequantised(x.tobytes(), "F32"), x)
    small = x.astype("<f2")
    np.testing.assert_array_equal(dequantised(small.tobytes(), "F16"), small)
    # A float's sign, exponent and first seven bits, by arithmetic.
    cut = [
        math.ldexp(math.trunc(m * 256) / 256, e) for m, e in map(math.frexp, x)
    ]
    data = b"".join(struct.pack("<f", value)[2:] for value in cut)
    np.testing.assert_array_equal(bfloat16(data), cut)
    for stored, kind in ((x, "F32"), (small, "F16"), (data, "BF16")):
        assert dequantised(bytes(stored), kind).dtype == np.float32
    np.testing.assert_array_equal(dequantised(data, "BF16"), cut)


# --- Folders -----------------------------------------------------------------

OURS = {
    "norm_1.gain": "input_layernorm",
    "W_Q": "self_attn.q_proj",
    "W_K": "self_attn.k_proj",
    "W_V": "self_attn.v_proj",
    "W_O": "self_attn.o_proj",
    "norm_2.gain": "post_attention_layernorm",
    "W_1": "mlp.gate_proj",
    "W_3": "mlp.up_proj",
    "W_2": "mlp.down_proj",
}
JSON = {
    "model_type": "llama",
    "vocab_size": 8,
    "max_position_embeddings": 16,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 0.25,
    "rope_theta": 100.0,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
}


def folder(path, changes=(), *, tensors=None, drop=()):
    settings = JSON | dict(changes)
    path.joinpath("config.json").write_text(
        json.dumps({k: v for k, v in settings.items() if k not in drop})
    )
    if tensors is None:
        tensors = folder_tensors(made(CONFIG))
    half_way = len(tensors) // 2
    for i, names in enumerate(
        (list(tensors)[:half_way], list(tensors)[half_way:])
    ):
        part = {n: np.ascontiguousarray(tensors[n]) for n in names}
        if part:
            save_file(part, path / f"model-{i}.safetensors")
    return path


def folder_tensors(params):
    tensors = {
        "model.embed_tokens.weight": params["embedding"],
        "model.norm.weight": params["norm.gain"],
    }
    for i in range(2):
        for ours, theirs in OURS.items():
            name = f"model.layers.{i}.{theirs}.weight"
            tensors[name] = params[f"{i}.{ours}"].T
    return tensors


@pytest.mark.parametrize(
    ("kind", "window"), [("llama", None), ("mistral", None), ("mistral", 3)]
)
def test_load_reads_a_folder(tmp_path, kind, window):
    path = folder(tmp_path, {"model_type": kind, "sliding_window": window})
    found = load(path, tokenizer=False)
    assert found.config == replace(CONFIG, window=window)
    assert found.tokenizer is None
    for name, x in made(CONFIG).items():
        np.testing.assert_array_equal(found.params[name], x)


def test_load_reads_new_settings_of_rotations(tmp_path):
    inner = {"rope_type": "default", "rope_theta": 100}
    path = folder(tmp_path, {"rope_parameters": inner}, drop=["rope_theta"])
    assert load(path, tokenizer=False).config == CONFIG


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "qwen2"}, "model_type .*llama.*'qwen2'"),
        ({"hidden_act": "gelu"}, "hidden_act .*'silu'.*'gelu'"),
        ({"attention_bias": True}, "attention_bias .*True"),
        ({"rope_scaling": {"type": "yarn"}}, "rope_scaling: factor"),
        (
            {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1.0}},
            "rope_parameters: factor",
        ),
        ({"head_dim": 16}, r"\(64, 32\)"),
        ({"intermediate_size": 63}, r"\(63, 32\)"),
        ({"sliding_window": 2}, "sliding_window"),
        ({"sparks": 3}, "'sparks' .*3"),
        ({"vocab_size": "8"}, "vocab_size .*int.*'8'"),
        ({"vocab_size": True}, "vocab_size .*int.*True"),
        ({"vocab_size": 2**70}, "vocab_size"),
        ({"hidden_size": None}, "hidden_size"),
        ({"num_attention_heads": 5}, "n_heads"),
        ({"num_hidden_layers": 3}, r"'model\.layers\.2\.input_lay.* missing"),
        ({"num_hidden_layers": 1}, r"'model\.layers\.1\.input_lay.* known"),
        ({"tie_word_embeddings": False}, r"'lm_head\.weight' is missing"),
    ],
)
def test_load_names_the_setting_that_it_refuses(tmp_path, changes, says):
    drop = [key for key, value in changes.items() if value is None]
    path = folder(tmp_path, changes, drop=drop)
    with pytest.raises(CheckpointError, match=says):
        load(path, tokenizer=False)


def test_load_refuses_a_folder_without_its_parts(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="the file must be JSON"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(CheckpointError, match="must hold an object"):
        load(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(JSON))
    with pytest.raises(CheckpointError, match=r"there must be a \*\.safe"):
        load(tmp_path)
    folder(tmp_path)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing"):
        load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="must be a tokenizer"):
        load(tmp_path)
    (tmp_path / "model-0.safetensors").write_bytes(b"12345678")
    with pytest.raises(CheckpointError, match="must be safetensors"):
        load(tmp_path)


INDEX = "model.safetensors.index.json"
FILES = ("model-0.safetensors", "model-1.safetensors")


def indexed(path, *names):
    """A folder whose index names these files, each for some tensor."""
    stated = {"weight_map": {f"{i}": name for i, name in enumerate(names)}}
    path.joinpath(INDEX).write_text(json.dumps(stated))
    return path


def test_an_index_says_which_of_several_files_are_read(tmp_path):
    path = folder(tmp_path)
    for stray, tensor, says in (
        ("again", "model.norm.weight", "must be there once; got another in a"),
        ("consolidated", "layers.0.wq.weight", "is not known"),
        ("zero", "model.norm.weight", "must be there once; got another in m"),
    ):
        other = path / f"{stray}.safetensors"
        save_file({tensor: np.zeros(32, np.float32)}, other)
        (path / INDEX).unlink(missing_ok=True)
        with pytest.raises(CheckpointError, match=says) as caught:
            load(path, tokenizer=False)
        assert f"{stray}.safetensors" in str(caught.value)
        found = load(indexed(path, *FILES, FILES[0]), tokenizer=False)
        for name, x in made(CONFIG).items():
            np.testing.assert_array_equal(found.params[name], x)
        other.unlink()


@pytest.mark.parametrize(
    ("names", "says"),
    [
        *(
            ((FILES[0], name), f"{INDEX}: weight_map must name, for each tens")
            for name in (
                "../model-1.safetensors", "{}/model-1.safetensors",
                "./model-1.safetensors", "model-2.safetensors", "config.json",
                "", "..", "\0.safetensors", "\ud800", "x" * 10**6, 3, None, [],
                {}, [FILES[1]],
            )
        ),
        (FILES[:1], "tensor 'model.layers.0.mlp.down_proj.weight' is missing"),
        ((), "there must be a *.safetensors with a tensor"),
    ],
)  # fmt: skip
def test_an_index_names_files_of_its_folder(names, says, tmp_path):
    path = tmp_path / "model"
    path.mkdir()
    (tmp_path / FILES[1]).write_bytes((folder(path) / FILES[1]).read_bytes())
    names = [n.format(tmp_path) if isinstance(n, str) else n for n in names]
    with pytest.raises(CheckpointError, match=re.escape(says)) as caught:
        load(indexed(path, *names), tokenizer=False)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("stated", [{}, {"weight_map": ["a"]}, [], 3])
def test_an_index_maps_tensors_to_files(stated, tmp_path):
    (folder(tmp_path) / INDEX).write_text(json.dumps(stated))
    with pytest.raises(CheckpointError, match=f"^{INDEX}: "):
        load(tmp_path, tokenizer=False)


def test_load_refuses_numbers_that_are_none(tmp_path):
    params = made(CONFIG)
    params["1.W_V"][3, 2] = np.nan
    path = folder(tmp_path, tensors=folder_tensors(params))
    with pytest.raises(CheckpointError, match=r"'model\.layers\.1\.self_at"):
        load(path, tokenizer=False)


def test_load_refuses_integers_as_weights(tmp_path):
    tensors = folder_tensors(made(CONFIG))
    tensors["model.norm.weight"] = np.ones(32, np.int32)
    path = folder(tmp_path, tensors=tensors)
    with pytest.raises(CheckpointError, match="F32, F16, BF16; got 'I32'"):
        load(path, tokenizer=False)


# --- Damaged files -----------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "must begin with the letters GGUF"),
        (b"GGML" + bytes(40), "must begin with the letters GGUF"),
        (b"GGUF\x00\x00\x00\x03" + bytes(40), "version must be 2 or 3"),
        (b"GGUF\x03\x00\x00\x00\x01", "long enough for the list of tensors"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0),
            f"the list of tensors; got {2**60} in 8 bytes",
        ),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
            f"the metadata; got {2**60} in 0 bytes",
        ),
        (
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60) + bytes(9),
            f"the letters of key 0 of the metadata; got {2**60} bytes at byte",
        ),
    ],
)
def test_load_refuses_a_header_it_cannot_believe(write, data, says):
    with pytest.raises(CheckpointError, match=re.escape(says)):
        load(write(data))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"general.architecture": "bert"}, "architecture .*'bert'"),
        ({"general.architecture": 3}, "architecture .*3"),
        ({"llama.expert_count": 8}, "expert_count .*8"),
        ({"llama.rope.scaling.type": "yarn"}, "scaling.type .*'yarn'"),
        ({"llama.attention.key_length": 16}, "key_length .*16"),
        ({"llama.colour": 1}, r"'llama\.colour'"),
        ({"llama.block_count": 3}, r"'blk\.2\.attn_k\.weight' is missing"),
        ({"llama.block_count": 1}, r"'blk\.1\.attn_k\.weight' is not known"),
        ({"llama.block_count": 2**31}, "block_count"),
        ({"llama.block_count": 2.0}, r"block_count .*2\.0"),
        ({"llama.vocab_size": 9}, r"\(9, 32\)"),
        ({"llama.rope.freq_base": 0.5}, r"base .*0\.5"),
        ({"general.alignment": 12}, "alignment .*12"),
        ({"general.alignment": 256}, "multiple of 256"),
        ({"tokenizer.ggml.model": "llama"}, "model .*'llama'"),
        ({"tokenizer.ggml.pre": "tekken"}, "pre .*'tekken'"),
        ({"tokenizer.ggml.tokens": 3}, "tokens .*3"),
        ({"tokenizer.ggml.tokens": ["a"] * 8}, "all differ"),
        ({"tokenizer.ggml.merges": ["a z"]}, "each merge"),
        ({"tokenizer.ggml.merges": ["ab"]}, "each merge"),
        ({"tokenizer.ggml.token_type": [1]}, "type"),
    ],
)
def test_load_names_the_key_that_it_refuses(write, more, says):
    with pytest.raises(CheckpointError, match=says):
        load(write(whole(**more)))


def changed(old, new):
    """The file of `whole` with some of its bytes replaced."""
    data = whole()
    assert data.count(old) == 1
    return data.replace(old, new)


def test_load_refuses_types_that_it_does_not_know(write):
    tensors = llama_tensors(made(CONFIG), CONFIG)
    for kind, name in ((12, "Q4_K"), (99, "99")):
        data = gguf_bytes(
            LLAMA,
            tensors,
            store=lambda x, kind=kind: (kind, tensor_bytes(x)[1]),
        )
        with pytest.raises(
            CheckpointError, match=f"Q4_1, Q8_0, BF16; got {name}"
        ):
            load(write(data))


def test_load_refuses_places_outside_or_taken(write):
    name = text_bytes("output_norm.weight") + struct.pack("<IQI", 1, 32, 0)
    data = whole()
    at = data.index(name) + len(name)
    last = struct.unpack("<Q", data[at : at + 8])[0]
    for offset, says in (
        (2**60, "must lie in the file; got bytes"),
        (last + 32, "must lie in the file; got bytes"),
        (last - 32, "must begin after the tensor before it"),
        (last + 1, "must begin at a multiple of 32; got offset"),
    ):
        moved = data[:at] + struct.pack("<Q", offset) + data[at + 8 :]
        with pytest.raises(CheckpointError, match=says):
            load(write(moved))


def test_load_refuses_shapes_that_are_none(write):
    name = text_bytes("blk.1.attn_q.weight")
    start = name + struct.pack("<I", 2)
    for axes, says in (
        ((0, 32), "axes of tensor 'blk.1.attn_q.weight' must be at least 1"),
        ((2**61, 2**61), "must lie in the file; got bytes"),
        ((32, 31), "must be (32, 32) to fit the settings; got (31, 32)"),
    ):
        data = changed(
            start + struct.pack("<QQ", 32, 32),
            start + struct.pack("<QQ", *axes),
        )
        with pytest.raises(CheckpointError, match=re.escape(says)):
            load(write(data))
    with pytest.raises(CheckpointError, match="must have 1 to 4 axes; got 5"):
        load(write(changed(start, name + struct.pack("<I", 5))))


@pytest.mark.parametrize(
    ("start", "key"), [("tokenizer", "model"), ("tokenizer.ggml.pre", "pre")]
)
def test_load_refuses_a_model_without_a_tokenizer(start, key, write):
    bare = {k: v for k, v in LLAMA.items() if not k.startswith(start)}
    path = write(gguf_bytes(bare, llama_tensors(made(CONFIG), CONFIG)))
    with pytest.raises(CheckpointError, match=rf"ggml\.{key} must be there"):
        load(path)
    assert load(path, tokenizer=False).tokenizer is None


@pytest.mark.parametrize("number", [1, 2, 3, 8])
@pytest.mark.parametrize("code", [0x00, 0x88])
def test_load_refuses_an_infinite_scale(number, code, write):
    kind = KINDS[number]
    block = struct.pack("<e", math.inf) + bytes([code] * (kind.nbytes - 2))

    def store(array):
        if array.ndim == 1:
            return tensor_bytes(array)
        return number, array.size // kind.weights * block

    tensors = llama_tensors(made(CONFIG), CONFIG)
    with pytest.raises(CheckpointError, match=r"embd.*' must be finite"):
        load(write(gguf_bytes(LLAMA, tensors, store=store)))


def peak_of(path):
    """The message of a refusal, and the most memory that it took."""
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError) as caught:
            load(path)
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ONE_KEY = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
LINEAR = {"rope_scaling": {"type": "linear", "factor": 2.0}}


def long_list(kind):
    return ONE_KEY + text_bytes("a") + struct.pack("<IIQ", LIST, kind, 10**8)


# Long files without contents, which take no place on a disk: how they begin.
LONG = [
    *(("model.gguf", long_list(kind)) for kind in (0, BOOL, TEXT, LIST)),
    ("model.gguf", ONE_KEY + struct.pack("<Q", 3 * 10**8)),
    (
        "model.gguf",
        ONE_KEY + text_bytes("a") + struct.pack("<IQ", TEXT, 3 * 10**8),
    ),
    ("model.gguf", b"GGUF" + struct.pack("<IQQ", 3, 10**7, 0)),
    *((name, b"") for name in ("config.json", "tokenizer.json", INDEX)),
    ("model-0.safetensors", struct.pack("<Q", 10**9)),
]


@pytest.mark.parametrize(("name", "start"), LONG)
def test_long_files_are_refused_without_being_read(name, start, tmp_path):
    path = folder(tmp_path)
    path.joinpath(name).write_bytes(start)
    os.truncate(path / name, 5 * 10**9)
    message, peak = peak_of(path / name if name.endswith("gguf") else path)
    assert message.startswith(f"{name}: ")
    assert "at most" in message or "largest" in message
    assert peak < 1e6


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"head_dim": 2 * 10**6} | LINEAR, "(8000000, 32)"),
        ({"head_dim": 10**400}, "head_dim"),
        ({"vocab_size": 10**12}, "(1000000000000, 32)"),
        ({"k" * 10**6: 1}, "kkk' is a setting that is not known"),
        ({"hidden_act": [[9] * 9] * 10**4}, "hidden_act"),
    ],
)
def test_settings_take_no_memory_before_they_fit(changes, says, tmp_path):
    message, peak = peak_of(folder(tmp_path, changes))
    assert says in message
    assert len(message) < 500
    # What the settings themselves take as Python's objects, and little more.
    assert peak < 0.2e6 + 20 * (tmp_path / "config.json").stat().st_size


def test_only_plain_files_are_opened(tmp_path):
    path = folder(tmp_path)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    for name in ("config.json", "tokenizer.json", FILES[0], INDEX):
        kept = path / "kept"
        if (path / name).exists():
            (path / name).rename(kept)
        for make, says in (
            (lambda x: x.mkdir(), "must be a file; got a folder"),
            (
                lambda x: x.symlink_to("none"),
                "must be a file; got a link to n",
            ),
            (os.mkfifo, "must be a file; got a special file"),
            (lambda x: x.write_bytes(pointer), "got a pointer of Git LFS to"),
        ):
            make(path / name)
            with pytest.raises(CheckpointError, match=f"^{name}: .*{says}"):
                load(path)
            if (path / name).is_dir():
                (path / name).rmdir()
            else:
                (path / name).unlink()
        if kept.exists():
            kept.rename(path / name)


def longer(path):
    with path.open("ab") as file:
        file.write(b"x")


CHANGES = {
    "shorter": (lambda path: os.truncate(path, 1000), "not become shorter"),
    "longer": (longer, "must not change while it is read"),
    "rewritten": (lambda path: path.write_bytes(path.read_bytes()),
                  "must not change while it is read"),
    "another in its place": (
        lambda path: (path.rename(path.with_suffix(".old")),
                      path.write_bytes(b"other")),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("format", ["gguf", "safetensors"])
def test_a_file_that_changes_while_it_is_read(
    kind, format, tmp_path, write, monkeypatch
):
    change, says = CHANGES[kind]
    path = write(whole())
    changed, loaded = path, path
    if format == "safetensors":
        loaded = folder(tmp_path)
        changed = loaded / "model-1.safetensors"
    os.utime(changed, (1, 1))
    read, calls = gguf.dequantised, []

    def disturbed(data, kind):
        if not calls:
            change(changed)
        calls.append(kind)
        return read(data, kind)

    monkeypatch.setattr(gguf, "dequantised", disturbed)
    if says is None:  # the open file stays what it was
        params = load(loaded, tokenizer=False).params
        for name, x in made(CONFIG).items():
            np.testing.assert_array_equal(params[name], x)
        return
    with pytest.raises(CheckpointError, match=f"^{changed.name}: .*{says}$"):
        load(loaded, tokenizer=False)


def safetensors_bytes(header, body=b""):
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(data)) + data + body


def one(**more):
    return {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} | more


# What is no header, no entry of one, and no place in the file.
NONE = [b"", bytes(7), struct.pack("<Q", 9) + bytes(8)]
NONE += [safetensors_bytes(header) for header in (b"{", b"\xff", [1])]
ENTRIES = [3, [], {}, None, one(shape=3), one(shape=[-1]), one(shape=[1.0]),
           one(shape=[True]), one(data_offsets=[4, 0]), one(data_offsets=[0]),
           one(data_offsets="04"), one(data_offsets=[0, 4.0])]  # fmt: skip
PLACES = [
    ({"a": one(data_offsets=[1, 5])}, 5, "'a' must begin"),
    ({"a": one(), "b": one()}, 8, "'b' must begin"),
    ({"a": one()}, 0, "must end with the file"),
    ({"a": one()}, 5, "must end with the file"),
    ({"a": one(data_offsets=[0, 10**400])}, 0, "must end with the file"),
]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        *((data, "safetensors") for data in NONE),
        *(
            (safetensors_bytes({"a": entry}, bytes(4)), "tensor 'a' must have")
            for entry in ENTRIES
        ),
        *(
            (safetensors_bytes(header, bytes(n)), says)
            for header, n, says in PLACES
        ),
    ],
)
def test_load_refuses_what_is_not_safetensors(data, says, tmp_path):
    (folder(tmp_path) / "model-1.safetensors").write_bytes(data)
    with pytest.raises(CheckpointError, match=says) as caught:
        load(tmp_path, tokenizer=False)
    assert str(caught.value).startswith("model-1.safetensors: ")


@pytest.mark.parametrize("kind", ["F64", "I32", "BOOL", 3, None, [1]])
def test_load_reads_three_types_of_safetensors(kind, tmp_path):
    path = folder(tmp_path) / "model-0.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["model.norm.weight"]["dtype"] = kind
    path.write_bytes(safetensors_bytes(header, data[8 + length :]))
    with pytest.raises(CheckpointError, match="of type F32, F16, BF16; got"):
        load(tmp_path, tokenizer=False)
    header["model.norm.weight"]["dtype"] = "F16"
    path.write_bytes(safetensors_bytes(header, data[8 + length :]))
    with pytest.raises(
        CheckpointError, match="must have 64 bytes, by its sha"
    ):
        load(tmp_path, tokenizer=False)


DAMAGED = 400
LARGE = (0, 1, 2**31, 2**32 - 1, 2**60, 2**64 - 1)


def damaged(rng, data, header):
    """The data cut, or with some bytes replaced, moved or doubled."""
    data = bytearray(data)
    kind = rng.integers(4)
    if kind == 0:
        return bytes(data[: rng.integers(len(data))])
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(header if rng.random() < 0.8 else len(data)))
        if kind == 1:
            data[at] = rng.integers(256)
        elif kind == 2:  # a number of 8 bytes
            large = LARGE[rng.integers(len(LARGE))]
            data[at : at + 8] = struct.pack("<Q", large)
        else:
            del data[at : at + int(rng.integers(1, 9))]
    return bytes(data)


@pytest.mark.parametrize("format", ["gguf", "safetensors"])
def test_no_damaged_file_is_anything_but_refused_or_read(
    format, tmp_path, rng
):
    """A clear error or a model that runs, and little memory in all cases."""
    name, data = "model.gguf", whole()
    header, path = data.index(b"output_norm.weight") + 60, tmp_path / name
    if format == "safetensors":
        path, name = folder(tmp_path), "model-1.safetensors"
        data = (path / name).read_bytes()
        header = 8 + int.from_bytes(data[:8], "little")
    messages = []
    tracemalloc.start()
    try:
        for _ in range(DAMAGED):
            (tmp_path / name).write_bytes(damaged(rng, data, header))
            try:
                found = load(path, tokenizer=format == "gguf")
            except CheckpointError as error:
                messages.append(str(error))
            else:
                # Weights may be so large by now that a norm refuses them.
                with contextlib.suppress(ValueError):
                    transformer([1, 2], found.params, found.config)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 < len(messages) / DAMAGED < 0.99
    starts = (f"{name}: ", f"{tmp_path.name}: tensor ")
    assert all(says.startswith(starts) for says in messages)
    assert max(map(len, messages)) < 400
    assert peak < 4e6  # the whole file has 0.1 MB


# --- What is asked of a model that was loaded --------------------------------


def test_tokenizer_refuses_what_it_would_lose(write):
    tokenizer = load(write(whole())).tokenizer
    assert repr(tokenizer) == "Tokenizer(8 tokens)"
    for given, error, says in (
        (b"a", TypeError, "text must be a str; got bytes"),
        ("ad", ValueError, "bytes that the vocabulary has; got 0x64"),
        ("a\ud800", ValueError, "half of a pair of surrogates"),
    ):
        with pytest.raises(error, match=says):
            tokenizer.encode(given)
    for given, error, says in (
        ([8], ValueError, "tokens must lie between 0 and 7"),
        ([-1], ValueError, "tokens must lie between 0 and 7"),
        ([0.5], TypeError, "tokens must be integers; got float64"),
        ([[1]], ValueError, r"tokens must be \(T,\); got \(1, 1\)"),
    ):
        with pytest.raises(error, match=says):
            tokenizer.decode(given)
    assert tokenizer.encode("").shape == (0,)
    assert tokenizer.decode([]) == ""


def byte_level(*more):
    """A vocabulary of all bytes and more tokens, the first for control."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return TOKENIZER | {
        "tokenizer.ggml.tokens": [*letters, *more],
        "tokenizer.ggml.token_type": [1] * 256 + [3] + [1] * (len(more) - 1),
        "tokenizer.ggml.merges": [],
    }


def rewritten(path, tokenizer, **changes):
    """A tokenizer.json of these rules, with other entries."""
    stated = json.loads(tokenizer._rules.to_str())
    for key, value in changes.items():
        *outer, last = key.split(".")
        inner = stated[outer[0]] if outer else stated
        inner[last] = value
    path.write_text(json.dumps(stated))
    return path


TRUNCATED = {"direction": "Right", "max_length": 2, "stride": 0,
             "strategy": "LongestFirst"}  # fmt: skip
PADDED = {"direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
          "pad_type_id": 0, "pad_token": "<s>"}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"truncation": TRUNCATED},
        {"truncation": TRUNCATED | {"stride": 2}},
        {"padding": PADDED | {"strategy": {"Fixed": 12}}},
        {"padding": PADDED | {"strategy": {"Fixed": 2**31}}},
        {"padding": PADDED | {"strategy": "BatchLongest",
                              "pad_to_multiple_of": 8}},
    ],
)  # fmt: skip
def test_a_tokenizer_file_neither_truncates_nor_pads(changes, tmp_path):
    made = text.from_metadata(TOKENIZER, "model.gguf")
    path = rewritten(tmp_path / "tokenizer.json", made, **changes)
    tokenizer = text.from_file(path)
    for control in (True, False):
        tokens = tokenizer.encode("abc abc abc abc", control=control)
        assert tokens.tolist() == [5, 6, 5, 6, 5, 6, 5]


STRIP = {"type": "Strip", "content": "a", "start": 1, "stop": 1}
PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
UNKNOWN = {"type": "WordLevel", "vocab": {}, "unk_token": "?"}
READ = "tokenizer.json: the file must be a tokenizer; got "


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"normalizer": PRECOMPILED}, READ),  # this and the next are panics
        ({"model.vocab": {"a": 0, "b": 0}}, READ),
        ({"model.vocab": 3}, READ),
        ({"model": UNKNOWN}, "text must fit the tokenizer's rules; got "),
        ({"decoder": STRIP}, "tokens must fit the tokenizer's rules; got "),
        (
            {"added_tokens": [{}] * 70_000},
            "tokenizer.json: the file must have at most 65,536 opening braces",
        ),
    ],
)
def test_failures_of_the_package_are_errors_of_ours(changes, says, tmp_path):
    made = text.from_metadata(TOKENIZER, "model.gguf")
    path = rewritten(tmp_path / "tokenizer.json", made, **changes)
    with pytest.raises(CheckpointError, match=f"^{re.escape(says)}"):
        text.from_file(path).decode(text.from_file(path).encode("a"))


def test_an_interruption_is_no_failure_of_the_package():
    class Rules:
        def get_vocab(self):
            return {"a": 0}

        def encode(self, *_, **__):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        text.Tokenizer(Rules()).encode("a")


def added(i, content, *, special=True):
    """An entry of a tokenizer.json."""
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    entry = {"id": i, "content": content, "special": special}
    return entry | dict.fromkeys(flags, False)


@pytest.mark.parametrize(
    ("vocab", "more"),
    [
        ({"a": 0, "b": 8}, []),
        ({"a": 9}, []),
        ({"a": 0, "b": 8}, [added(9, "<image>")]),
        ({"a": 0, "b": 8}, [added(0, "a")]),
    ],
)
def test_tokens_that_the_embedding_lacks_are_refused(vocab, more, tmp_path):
    made = text.from_metadata(TOKENIZER, "model.gguf")
    rewritten(folder(tmp_path) / "tokenizer.json", made,
              **{"model.vocab": vocab, "model.merges": [],
                 "added_tokens": more})  # fmt: skip
    says = "tokens must be below 8, the rows of the embedding; got "
    with pytest.raises(CheckpointError, match=f"{says}{max(vocab.values())}"):
        load(tmp_path)


@pytest.mark.parametrize("special", [True, False])
def test_an_added_token_needs_no_row_until_it_is_used(special, tmp_path):
    made = text.from_metadata(TOKENIZER, "model.gguf")
    rewritten(folder(tmp_path) / "tokenizer.json", made,
              added_tokens=[added(8, "<image>", special=special)])  # fmt: skip
    config, params, tokenizer = load(tmp_path)
    assert len(tokenizer) == 9
    assert tokenizer.encode("ab").tolist() == [4]
    tokens = tokenizer.encode("a<image>b")
    assert tokens.tolist() == [1, 8, 2]
    with pytest.raises(ValueError, match="tokens must lie between 0 and 7"):
        transformer(tokens, params, config)


@pytest.mark.parametrize(("kind", "special"), [(3, True), (4, False)])
def test_names_of_added_tokens_stay_text_on_request(kind, special, tmp_path):
    kinds = {"tokenizer.ggml.token_type": [1] * 256 + [kind]}
    made = text.from_metadata(byte_level("<s>") | kinds, "model.gguf")
    path = rewritten(tmp_path / "tokenizer.json", made,
                     added_tokens=[added(256, "<s>", special=special)],
    )  # fmt: skip
    for tokenizer in (made, text.from_file(path)):
        for given in ("a<s>b", "<s><s>", "<s", "< s>", "é<s>"):
            told = tokenizer.encode(given, control=False)
            assert tokenizer.decode(told) == given
            assert max(told) < 256  # a byte each
            assert len(told) == len(given.encode())
            with_names = tokenizer.encode(given)
            n = given.count("<s>")
            assert (with_names == 256).sum() == n
            assert len(with_names) == len(told) - 2 * n
    with pytest.raises(TypeError, match="control must be True or False; got"):
        made.encode("a", control=0)


def test_llama_3_cuts_digits_in_threes_and_takes_whole_words():
    more = ("<s>", "123", "1234", "Ġhello", "!ĊĊ")
    own = byte_level(*more) | {"tokenizer.ggml.pre": "llama-bpe"}
    tokenizer = text.from_metadata(own, "model.gguf")
    tokens = own["tokenizer.ggml.tokens"]
    for given, pieces in (
        ("1234 hello", ["123", "4", "Ġhello"]),
        ("1234!\n\na", ["123", "4", "!ĊĊ", "a"]),
        ("I'LL", ["I", "'", "L", "L"]),  # no merges, and no such word
    ):
        wanted = [tokens.index(piece) for piece in pieces]
        assert tokenizer.encode(given).tolist() == wanted
    # In GPT-2 a word that no merges make is no token.
    other = text.from_metadata(own | {"tokenizer.ggml.pre": "gpt-2"}, "x")
    assert len(other.encode("1234 hello")) == 10


def test_a_stream_holds_back_incomplete_characters():
    tokenizer = text.from_metadata(byte_level("<s>"), "model.gguf")
    for given in ("a🙂é", "👍🏽 \ufffd!", "", "\ufffd", "日本"):
        tokens = tokenizer.encode(given)
        pieces = list(tokenizer.stream(iter(tokens.tolist())))
        assert "".join(pieces) == given
        if "\ufffd" not in given:
            bit_by_bit = codecs.getincrementaldecoder("utf-8")()
            told = [bit_by_bit.decode(bytes([b])) for b in given.encode()]
            assert pieces == [piece for piece in told if piece]
    # The end of a text, and bytes that no text has, are not lost.
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    half = tokenizer.encode("a🙂").tolist()[:-1]
    assert list(tokenizer.stream(half)) == ["a", "\ufffd"]
    stray = [letters.index("ÿ"), *tokenizer.encode("b")]
    assert list(tokenizer.stream(stray)) == [tokenizer.decode(stray)]


BAD = "\ufffd"


@pytest.mark.parametrize(
    ("tokens", "pieces"),
    [
        ([256, 257, 10, 257], ["a", " b", "\n b"]),
        ([*"é🙂\n".encode(), 256, 256], ["é🙂\na", "a"]),
        ([*"é🙂".encode()], ["é🙂"]),
        # One wrong byte makes all bytes around it wrong.
        ([256, 10, 240, 159], ["a", BAD * 3]),
        ([*"𝛼".encode(), 240, 159], [BAD * 6]),
        ([10, 240, 159, 256, 257], [BAD * 3 + "a", " b"]),
    ],
)
def test_a_stream_holds_back_tokens_for_single_bytes(tokens, pieces):
    vocab = {f"<0x{b:02X}>": b for b in range(256)} | {"a": 256, "▁b": 257}
    rules = tokenizers.Tokenizer(models.BPE(vocab, [], byte_fallback=True))
    steps = decoders.Replace("▁", " "), decoders.ByteFallback()
    rules.decoder = decoders.Sequence([*steps, decoders.Fuse()])
    tokenizer = text.Tokenizer(rules)
    assert tokenizer.decode(tokens) == "".join(pieces)
    assert list(tokenizer.stream(tokens)) == pieces


def test_a_text_longer_than_the_context_is_refused(write):
    config, params, _ = load(write(whole()))
    with pytest.raises(ValueError, match="at most max_len = 16 tokens fit"):
        transformer([1] * 17, params, config)
    with pytest.raises(ValueError, match="tokens must lie between 0 and 7"):
        transformer([8], params, config)


def test_load_needs_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a GGUF file or a fo"):
        load(tmp_path / "none.gguf")


# --- A published model -------------------------------------------------------


@pytest.mark.parametrize("listed", [None, []])
def test_smollm2_path_says_how_to_get_the_file(monkeypatch, listed):
    def files(name):
        if listed is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return listed

    monkeypatch.setattr(importlib.metadata, "files", files)
    with pytest.raises(FileNotFoundError, match=r"be installed.*: run ma"):
        smollm2_path()


def test_smollm2_has_the_sizes_that_its_makers_state(smollm2):
    # The model's card: 135M, 30 layers, 9 heads on 3, width 576.
    assert parameter_count(smollm2.config) == 134_515_008
    assert all(x.dtype == np.float32 for x in smollm2.params.values())
    assert len(smollm2.tokenizer) == 49_152


def test_smollm2_knows_a_capital_with_a_cache_and_without(smollm2):
    config, params, tokenizer = smollm2
    prompt = tokenizer.encode("The capital of France is")
    logits = transformer(prompt, params, config)
    assert tokenizer.decode([logits[-1].argmax()]) == " Paris"
    short = replace(config, max_len=8)
    cache = new_cache(short, dtype=np.float32)
    parts = [
        transformer(prompt[[t]], params, config, cache=cache)
        for t in range(len(prompt))
    ]
    difference = abs(np.concatenate(parts) - logits).max()
    assert difference < 1e-4 * abs(logits).max()


def test_smollm2_counts_the_tokens_that_it_cannot_hold(smollm2):
    # Its vocabulary lacks some bytes of rare letters.
    with pytest.raises(ValueError, match="that the vocabulary has; got 0xf1"):
        smollm2.tokenizer.encode("\U00041f00")
    text = "Ünïcode, 12,345 and 👍🏽\n\n  def f(x):\treturn x**2  "
    assert smollm2.tokenizer.decode(smollm2.tokenizer.encode(text)) == text
