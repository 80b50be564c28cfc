"""Published architectures, as `transformers` saves and runs them.

`make test-torch` runs this where PyTorch and transformers are installed.
"""

import numpy as np
import pytest

from helpers.checkpoint import load
from helpers.model.forward import forward
from helpers.transformer import new_cache, transformer

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5")

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
