"""Published architectures, as `transformers` saves and runs them.

`make test-torch` runs this where PyTorch and transformers are installed.
"""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.checkpoint import load, smollm2_path
from helpers.checkpoint.gguf import read_header
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
    theirs = type(theirs).from_pretrained(tmp_path, dtype=torch.float32)
    with torch.no_grad():
        wanted = theirs(torch.tensor(tokens)).logits.numpy()
    size = abs(wanted).max()
    got = transformer(tokens, params, config)
    assert abs(got - wanted).max() < 1e-5 * size
    cache = new_cache(config, batch=(2,), dtype=np.float32)
    for t in range(LENGTH):
        one = transformer(tokens[:, t : t + 1], params, config, cache=cache)
        assert abs(one[:, 0] - wanted[:, t]).max() < 1e-5 * size


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
    for mine, wanted in zip(ours, maps, strict=True):
        np.testing.assert_allclose(mine, wanted[0].numpy(), atol=1e-5)


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
        wanted = theirs(torch.tensor(tokens[None])).logits[0].numpy()
    size = abs(wanted).max()
    assert (
        abs(transformer(tokens, params, config) - wanted).max() < 1e-4 * size
    )
    cache = new_cache(replace(config, max_len=64), dtype=np.float32)
    for t in range(len(tokens)):
        one = transformer(tokens[[t]], params, config, cache=cache)
        assert abs(one[0] - wanted[t]).max() < 1e-4 * size


# How GPT-2 cuts a text before the merges, and every digit alone before that.
WORDS = regex.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)


def byte_pairs(text, ranks, vocab, letters):
    """The tokens of a text by the rule alone: the first merge wins."""
    found = []
    for piece in regex.split(r"(\p{N})", text):
        for word in WORDS.findall(piece):
            parts = [letters[b] for b in word.encode()]
            while len(parts) > 1:
                pairs = list(itertools.pairwise(parts))
                best = min(pairs, key=lambda p: ranks.get(p, len(ranks)))
                if best not in ranks:
                    break
                at = pairs.index(best)
                parts[at : at + 2] = ["".join(best)]
            found += [vocab[part] for part in parts]
    return found


def lines():
    """Texts of many kinds: code, prose, blanks, accents, emoji, digits."""
    root = Path(__file__).resolve().parents[2]
    given = [
        line
        for pattern in ("helpers/**/*.py", "book/*.md", "helpers/js/*.js")
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
    tokenizer = load(file).tokenizer
    texts = lines()
    assert len(texts) > 1000
    for text in texts:
        tokens = tokenizer.encode(text).tolist()
        assert tokens == byte_pairs(text, ranks, vocab, letters), text
        assert tokenizer.decode(tokens) == text
