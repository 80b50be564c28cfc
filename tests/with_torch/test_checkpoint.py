"""Published architectures, as `transformers` saves and runs them.

`make test-torch` runs this where PyTorch and transformers are installed.
"""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from course.checkpoint import load, smollm2_path
from course.checkpoint.gguf import read_header
from course.checkpoint.text import from_metadata
from helpers.model.forward import forward
from helpers.transformer import new_cache, transformer

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5")
regex = pytest.importorskip("regex")  # it comes with transformers

VOCAB, LENGTH = 50, 12
LLAMA = {
    "vocab_size": VOCAB,
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "max_position_embeddings": 32,
    # So large that a network without it differs in its first digits.
    "initializer_range": 0.3,
}


def gpt2(**more):
    config = transformers.GPT2Config(
        vocab_size=VOCAB,
        n_positions=32,
        n_embd=24,
        n_layer=3,
        n_head=4,
        initializer_range=0.3,
        **more,
    )
    return transformers.GPT2LMHeadModel(config)


def llama(**more):
    config = transformers.LlamaConfig(**LLAMA | more)
    return transformers.LlamaForCausalLM(config)


def mistral(**more):
    config = transformers.MistralConfig(**LLAMA | more)
    return transformers.MistralForCausalLM(config)


def causal(name, **more):
    """A model of the published code, of the sizes above."""
    config = getattr(transformers, f"{name}Config")
    model = getattr(transformers, name.removesuffix("Text") + "ForCausalLM")
    none = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    return model(config(**LLAMA | none | more))


def yarn(**more):
    return {
        "rope_type": "yarn",
        "rope_theta": 100.0,
        "factor": 4.0,
        "original_max_position_embeddings": 8,
    } | more


DEEPSEEK = {
    "num_key_value_heads": 6,
    "q_lora_rank": 9,
    "kv_lora_rank": 10,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 8,
    "v_head_dim": 5,
    "first_k_dense_replace": 3,
}
NEXT = {
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_experts": 0,
    "full_attention_interval": 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "linear_key_head_dim": 4,
    "linear_value_head_dim": 5,
    "linear_conv_kernel_dim": 4,
}
FULL, SLIDING = "full_attention", "sliding_attention"
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 100.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 24,
}
MODELS = {
    "GPT-2": lambda: gpt2(),
    "GPT-2, narrow": lambda: gpt2(n_inner=20, layer_norm_epsilon=0.1),
    "Llama": lambda: llama(),
    "Llama, grouped and tied": lambda: llama(
        num_key_value_heads=2, tie_word_embeddings=True, rms_norm_eps=0.1
    ),
    "Llama, another base": lambda: llama(
        num_key_value_heads=1,
        rope_parameters={"rope_type": "default", "rope_theta": 50.0},
    ),
    "Mistral": lambda: mistral(num_key_value_heads=2, sliding_window=4),
    "Mistral, no window": lambda: mistral(
        num_key_value_heads=3, sliding_window=None
    ),
    "Mistral, wide heads": lambda: mistral(head_dim=10, num_key_value_heads=2),
    "Llama 3.1": lambda: llama(rope_parameters=LLAMA3, head_dim=8),
    "Llama, equal limits": lambda: llama(
        rope_parameters=LLAMA3 | {"high_freq_factor": 1.0}, head_dim=8
    ),
    "Llama, interpolated": lambda: llama(
        rope_parameters={
            "rope_type": "linear",
            "rope_theta": 50.0,
            "factor": 3.0,
        }
    ),
    "Qwen3": lambda: causal("Qwen3", head_dim=8, num_key_value_heads=2),
    "Qwen3, windows, tied": lambda: causal(
        "Qwen3",
        head_dim=4,
        num_key_value_heads=3,
        use_sliding_window=True,
        sliding_window=3,
        max_window_layers=1,
        tie_word_embeddings=True,
        rms_norm_eps=0.1,
    ),
    "Qwen3, YaRN": lambda: causal(
        "Qwen3", head_dim=8, num_key_value_heads=6, rope_parameters=yarn()
    ),
    "Qwen3, YaRN not rounded": lambda: causal(
        "Qwen3",
        head_dim=8,
        num_key_value_heads=6,
        rope_parameters=yarn(
            truncate=False, beta_fast=2.5, original_max_position_embeddings=40
        ),
    ),
    "Qwen3, YaRN of two factors": lambda: causal(
        "Qwen3",
        head_dim=8,
        num_key_value_heads=6,
        rope_parameters=yarn(mscale=2.0, mscale_all_dim=0.5, beta_fast=4.0),
    ),
    "Qwen3, YaRN with its factor": lambda: causal(
        "Qwen3",
        head_dim=8,
        num_key_value_heads=6,
        rope_parameters=yarn(attention_factor=1.5),
    ),
    "SmolLM3": lambda: causal(
        "SmolLM3", num_key_value_heads=2, no_rope_layer_interval=2
    ),
    "SmolLM3, windows": lambda: causal(
        "SmolLM3",
        num_key_value_heads=3,
        no_rope_layers=[0, 1, 0],
        use_sliding_window=True,
        sliding_window=4,
        tie_word_embeddings=False,
    ),
    "OLMo 2": lambda: causal("Olmo2"),
    "OLMo 2, grouped": lambda: causal(
        "Olmo2", num_key_value_heads=2, tie_word_embeddings=True
    ),
    "Gemma 2": lambda: causal(
        "Gemma2",
        head_dim=8,
        num_key_value_heads=2,
        sliding_window=3,
        query_pre_attn_scalar=5,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    ),
    "Gemma 2, no caps": lambda: causal(
        "Gemma2",
        head_dim=4,
        num_key_value_heads=6,
        layer_types=[FULL, SLIDING, FULL],
        sliding_window=2,
        attn_logit_softcapping=None,
        final_logit_softcapping=None,
        tie_word_embeddings=False,
    ),
    "Gemma 3": lambda: causal(
        "Gemma3Text",
        head_dim=8,
        num_key_value_heads=2,
        sliding_window=3,
        sliding_window_pattern=2,
        query_pre_attn_scalar=5,
        rope_parameters={
            SLIDING: {"rope_type": "default", "rope_theta": 10.0},
            FULL: {
                "rope_type": "linear",
                "rope_theta": 1000.0,
                "factor": 8.0,
            },
        },
    ),
    "Gemma 3, logits capped": lambda: causal(
        "Gemma3Text",
        head_dim=10,
        num_key_value_heads=1,
        sliding_window=5,
        final_logit_softcapping=1.0,
    ),
    "DeepSeek-V3": lambda: causal("DeepseekV3", **DEEPSEEK),
    "DeepSeek-V3, whole queries": lambda: causal(
        "DeepseekV3", **DEEPSEEK | {"q_lora_rank": None, "rms_norm_eps": 0.1}
    ),
    "DeepSeek-V3, YaRN": lambda: causal(
        "DeepseekV3",
        **DEEPSEEK,
        rope_parameters=yarn(mscale=1.0, mscale_all_dim=1.0),
    ),
    "Qwen3-Next": lambda: causal("Qwen3Next", **NEXT),
    "Qwen3-Next, tied": lambda: causal(
        "Qwen3Next",
        **NEXT
        | {
            "tie_word_embeddings": True,
            "layer_types": [FULL, "linear_attention", FULL],
            "num_key_value_heads": 6,
            "linear_num_key_heads": 3,
            "linear_conv_kernel_dim": 2,
            "rms_norm_eps": 0.1,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 100.0,
                "partial_rotary_factor": 0.5,
            },
        },
    ),
}


def shaken(model):
    """No parameter at its first value: gains of 1 would hide a mistake."""
    torch.manual_seed(4)
    with torch.no_grad():
        for x in model.parameters():
            x += 0.1 * torch.randn_like(x)
    return model.eval()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_transformers(name, dtype, tmp_path):
    torch.manual_seed(3)
    theirs = shaken(MODELS[name]()).to(getattr(torch, dtype))
    theirs.save_pretrained(tmp_path)
    config, params, _ = load(tmp_path, tokenizer=False)
    tokens = np.random.default_rng(1).integers(0, VOCAB, (2, LENGTH))
    # Read again: rounded with the weights, the rotations would differ too.
    # Of its ways to compute attention, one alone knows all that it states.
    theirs = (
        type(theirs)
        .from_pretrained(
            tmp_path, dtype=torch.float32, attn_implementation="eager"
        )
        .double()
    )  # but for parts that it computes in float32 always
    with torch.no_grad():
        expected = theirs(torch.tensor(tokens)).logits.numpy()
    size = abs(expected).max()
    # The norm behind a memory divides by what may be small, and rounding
    # grows: in float32 their own code is off by 3e-5 with one set of weights.
    rounding = {np.float64: 1e-5, np.float32: 1e-5}
    if name.startswith("Qwen3-Next"):
        rounding[np.float32] = 1e-4
    for kind, close in rounding.items():
        p = {n: x.astype(kind) for n, x in params.items()}
        result = transformer(tokens, p, config)
        assert abs(result - expected).max() < close * size
        cache = new_cache(config, batch=(2,), dtype=kind)
        for t in range(LENGTH):
            one = transformer(tokens[:, t : t + 1], p, config, cache=cache)
            assert abs(one[:, 0] - expected[:, t]).max() < close * size


def test_weights_are_those_of_transformers(tmp_path):
    torch.manual_seed(5)
    theirs = shaken(llama(num_key_value_heads=2))
    theirs.save_pretrained(tmp_path)
    theirs.set_attn_implementation("eager")
    config, params, _ = load(tmp_path, tokenizer=False)
    tokens = np.arange(LENGTH) % VOCAB
    with torch.no_grad():
        maps = theirs(
            torch.tensor(tokens[None]), output_attentions=True
        ).attentions
    layers = forward(tokens, params, config).layers
    ours = [x.attended.weights for x in layers if x.attended is not None]
    for mine, expected in zip(ours, maps, strict=True):
        np.testing.assert_allclose(mine, expected[0].numpy(), atol=1e-5)


# --- SmolLM2, from the same file


@pytest.fixture(scope="module")
def file():
    return smollm2_path()


def test_smollm2_gives_the_logits_of_transformers(file):
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    ).eval()
    config, params, tokenizer = load(file)
    tokens = tokenizer.encode("In 1905 he wrote: E = mc², and\n\tthen rested.")
    with torch.no_grad():
        expected = theirs(torch.tensor(tokens[None])).logits[0].numpy()
    size = abs(expected).max()
    assert (
        abs(transformer(tokens, params, config) - expected).max() < 1e-4 * size
    )
    cache = new_cache(replace(config, max_len=64), dtype=np.float32)
    for t in range(len(tokens)):
        one = transformer(tokens[[t]], params, config, cache=cache)
        assert abs(one[0] - expected[t]).max() < 1e-4 * size


# How GPT-2 cuts a text before the merges, and every digit alone before that.
WORDS = regex.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)


# How Llama 3 cuts it, as llama.cpp writes the rule.
LLAMA_WORDS = regex.compile(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
    r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_pairs(text, ranks, vocab, letters, llama=False):
    """The tokens of a text by the rule alone: the first merge wins."""
    result = []
    for piece in [text] if llama else regex.split(r"(\p{N})", text):
        for word in (LLAMA_WORDS if llama else WORDS).findall(piece):
            parts = [letters[b] for b in word.encode()]
            if llama and "".join(parts) in vocab:
                parts = ["".join(parts)]
            while len(parts) > 1:
                pairs = list(itertools.pairwise(parts))
                best = min(pairs, key=lambda p: ranks.get(p, len(ranks)))
                if best not in ranks:
                    break
                at = pairs.index(best)
                parts[at : at + 2] = ["".join(best)]
            result += [vocab[part] for part in parts]
    return result


def lines():
    """Texts of many kinds: code, prose, blanks, accents, emoji, digits."""
    root = Path(__file__).resolve().parents[2]
    given = [
        line
        for pattern in (
            "helpers/**/*.py",
            "book/*.md",
            "course/figures/*/*.js",
        )
        for path in sorted(root.glob(pattern))
        for line in path.read_text("utf-8").splitlines()
        if line
    ]
    strange = [
        "  two  blanks\tand a tab ", "éàü ñ ß 你好 Привет", "👨‍👩‍👧 👍🏽",
        "1234567890 3.14 1,000", "I'm you're DON'T", "e\u0301 \u00a0",
        "a\r\nb",
        "٣٤٥ ½ ²", "        \n\n  x", "'s 's'", "_a_b__", "\u2028",
    ]  # fmt: skip
    return [*given[:: len(given) // 1500], *strange]


def test_smollm2_cuts_texts_by_the_rule(file):
    with file.open("rb") as opened:
        metadata = read_header(opened, file.name).metadata
    vocab = {t: i for i, t in enumerate(metadata["tokenizer.ggml.tokens"])}
    merges = metadata["tokenizer.ggml.merges"]
    ranks = {tuple(merge.split()): i for i, merge in enumerate(merges)}
    # GPT-2 writes a byte as its Latin letter; what has none, from Ā upward.
    odd = iter(range(256, 324))
    latin = set(range(33, 127)) | set(range(161, 256)) - {173}
    letters = [chr(b) if b in latin else chr(next(odd)) for b in range(256)]
    texts = lines()
    assert len(texts) > 1000
    for llama in (False, True):
        cut = {"tokenizer.ggml.pre": "llama-bpe"} if llama else {}
        tokenizer = from_metadata(metadata | cut, file.name)
        for text in texts:
            tokens = tokenizer.encode(text).tolist()
            expected = byte_pairs(text, ranks, vocab, letters, llama)
            assert tokens == expected, text
            assert tokenizer.decode(tokens) == text
