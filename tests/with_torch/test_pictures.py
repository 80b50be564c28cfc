"""Pictures: the lab's functions and the audit's counts, and published code.

ViT is a whole model with random weights, and larger ones without weights for
the counts; positions of three numbers are those of Qwen2-VL. What the pages
define is read from them.

Runs where PyTorch and transformers are installed (`make test-torch`).
"""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from helpers.heads import Projections, attention_layer, multi_head_attention
from helpers.layers import feed_forward, layer_norm
from helpers.masks import causal_mask
from helpers.positions import rotary_frequencies
from tests.with_torch.layers import array, close, scaled, weight

torch = pytest.importorskip("torch", minversion="2.4")
transformers = pytest.importorskip("transformers", minversion="5.24")
counter = pytest.importorskip("torch.utils.flop_counter")

ROOT = Path(__file__).resolve().parents[2]
LAB = "labs/other-inputs.ipynb"
SIDE, H = 4, 3
# Its softmax is in float32, of which numbers near 1 are 1.2e-7 apart.
CLOSE = 5e-6


def defined(page, *names, **known):
    """Functions and constants that one cell of a page defines."""
    notebook = (ROOT / "book" / page).read_text(encoding="utf-8")
    (text,) = [
        text
        for cell in json.loads(notebook)["cells"]
        if cell["cell_type"] == "code"
        and f"def {names[0]}(" in (text := "".join(cell["source"]))
    ]
    # The definitions, without what the cell does with them.
    end = text.index("\n\n\n", text.index(f"def {names[0]}("))
    exec(text[:end], space := {"np": np, **known})  # the page's own text
    return [space[name] for name in names]


def vit():
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=H,
        intermediate_size=40,
        image_size=[12, 20],
        patch_size=SIDE,
        attn_implementation="eager",
    )
    return scaled(transformers.ViTModel(config, add_pooling_layer=False))


def pictures(seed):
    return np.random.default_rng(seed).normal(size=(2, 12, 20, 3))


def theirs(X):
    """That code has the channels in front of the points."""
    return torch.tensor(X).permute(0, 3, 1, 2)


def embedded(model, X):
    """A row for the class, and one for each patch, with their positions."""
    (patches,) = defined(LAB, "patches")
    part = model.embeddings
    kernel = array(part.patch_embeddings.projection.weight)
    W = kernel.transpose(2, 3, 1, 0).reshape(-1, len(kernel))
    b = array(part.patch_embeddings.projection.bias)
    rows = np.stack([patches(x, SIDE) @ W + b for x in X])
    first = np.broadcast_to(array(part.cls_token), (len(X), 1, rows.shape[-1]))
    rows = np.concatenate([first, rows], axis=1)
    return rows + array(part.position_embeddings)


def matrices(layer):
    part = layer.attention
    names = dict(zip(("W_Q", "W_K", "W_V", "W_O"),
                     (part.q_proj, part.k_proj, part.v_proj, part.o_proj),
                     strict=True))  # fmt: skip
    biases = {f"{name}.bias": array(x.bias) for name, x in names.items()}
    return {name: weight(x) for name, x in names.items()} | biases


def normed(x, norm):
    return layer_norm(x, array(norm.weight), array(norm.bias), eps=norm.eps)


def through(model, X, *, mask=None):
    """The last rows, and the weights of each layer."""
    x, maps = embedded(model, X), []
    for layer in model.layers:
        rows = normed(x, layer.layernorm_before)
        added, attended = attention_layer(
            rows, matrices(layer), H, H, mask=mask
        )
        maps.append(attended.weights)
        x = x + added
        wide, narrow = layer.mlp.fc1, layer.mlp.fc2
        x = x + feed_forward(
            normed(x, layer.layernorm_after),
            *(weight(wide), array(wide.bias)),
            *(weight(narrow), array(narrow.bias)),
        )
    return normed(x, model.layernorm), maps


def test_the_patches_of_the_lab():
    model, X = vit(), pictures(1)
    close(embedded(model, X), model.embeddings(theirs(X)))


def test_a_model_that_reads_to_both_sides():
    model, X = vit(), pictures(2)
    with torch.no_grad():
        desired = model(theirs(X), output_attentions=True)
    results, maps = through(model, X)
    close(results, desired.last_hidden_state, CLOSE)
    for result, expected in zip(maps, desired.attentions, strict=True):
        close(result, expected, CLOSE)
        assert (result > 0).all()  # every patch reads every other one
    causal, _ = through(model, X, mask=causal_mask(maps[0].shape[-1]))
    assert abs(causal - array(desired.last_hidden_state)).max() > 0.1


def test_the_helper_of_the_lab_without_biases():
    model = vit()
    part = model.layers[0].attention
    W = [matrices(model.layers[0])[f"W_{x}"] for x in "QKVO"]
    with torch.no_grad():
        for x in (part.q_proj, part.k_proj, part.v_proj, part.o_proj):
            x.bias.zero_()
    X = np.random.default_rng(3).normal(size=(2, 16, 24))
    with torch.no_grad():
        desired = part(torch.tensor(X))
    results = multi_head_attention(X, Projections(*W, H, H))
    for result, expected in zip(results, desired, strict=True):
        close(result, expected, CLOSE)


# --- Counts

# Layers, width, side of a patch and heads, in the order of the ledger.
MODELS = [
    (12, 768, 16, 12),
    (12, 768, 32, 12),
    (24, 1024, 16, 16),
    (24, 1024, 32, 16),
    (32, 1280, 14, 16),
]


def counted(layers, d, side, heads, classes):
    """Parameters and multiply-adds of the published code, by PyTorch."""
    config = transformers.ViTConfig(
        hidden_size=d,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * d,
        patch_size=side,
        num_labels=classes,
        attn_implementation="eager",
    )
    with torch.device("meta"):  # sizes alone, no memory
        model = transformers.ViTForImageClassification(config)
        picture = torch.zeros(1, 3, 224, 224)
        with counter.FlopCounterMode(display=False) as flops:
            model(picture)
    parameters = sum(x.numel() for x in model.parameters())
    return parameters, flops.get_total_flops() // 2


@pytest.mark.parametrize("classes", [0, 1000])
@pytest.mark.parametrize("sizes", MODELS)
def test_the_counts_of_the_audit(sizes, classes):
    (count,) = defined("audit/literature.ipynb", "vit")
    assert count(*sizes[:3], classes) == counted(*sizes, classes)


def test_the_printed_counts_are_those_of_the_published_code():
    ledger = ROOT / "course" / "ledgers" / "literature.yml"
    entries = yaml.safe_load(ledger.read_text(encoding="utf-8"))["entries"]
    printed = {entry["id"]: entry.get("printed") for entry in entries}
    result = [counted(*sizes, 1000) for sizes in MODELS]
    parameters = [n for n, _ in result]
    assert printed["torchvision-vit-parameters"] == parameters
    assert printed["vit-sizes"] == parameters
    operations = printed["torchvision-vit-operations"]
    for giga, (_, products) in zip(operations, result, strict=True):
        assert round(products / 10**9, 3) == giga


# --- Positions of three numbers, in the code of Qwen2-VL


def qwen():
    code = pytest.importorskip(
        "transformers.models.qwen2_vl.modeling_qwen2_vl"
    )
    config = transformers.Qwen2VLConfig(
        # In the lab, each patch is a row.
        vision_config={"depth": 1, "spatial_merge_size": 1},
        text_config={
            "hidden_size": 256,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
        },
    )
    with torch.device("meta"):  # no memory
        model = code.Qwen2VLModel(config)
    return code, config.text_config, model


@pytest.mark.parametrize("seed", range(3))
def test_each_section_of_pairs_turns_by_its_own_stream(seed):
    code, config, _ = qwen()
    three_streams, sections = defined(
        LAB, "three_streams", "SECTIONS", rotary_frequencies=rotary_frequencies
    )
    rotary = code.Qwen2VLRotaryEmbedding(config)
    assert tuple(rotary.mrope_section) == sections
    rng = np.random.default_rng(seed)
    X, places = rng.normal(size=(7, 128)), rng.integers(0, 40, (3, 7))
    one = torch.tensor(X)[None, None]  # a head of one text
    turns = rotary(one, torch.tensor(places)[:, None])
    # Its angles are in float32, in which numbers near 40 are 4e-6 apart.
    expected, _ = code.apply_rotary_pos_emb(one, one, *turns)
    close(three_streams(X, places), expected[0, 0], 3e-5)
    other = three_streams(X, places[[1, 0, 2]])
    assert abs(other - array(expected[0, 0])).max() > 0.1


@pytest.mark.parametrize("sizes", [(2, 2, 3, 2), (5, 4, 6, 1), (1, 5, 2, 4)])
def test_a_text_a_picture_and_a_text_have_these_positions(sizes):
    (places_of,) = defined(LAB, "places_of")
    before, height, width, after = sizes
    kinds = [0] * before + [1] * (height * width) + [0] * after
    expected, _ = qwen()[-1].get_rope_index(
        torch.tensor([kinds]),
        torch.tensor([kinds]),
        image_grid_thw=torch.tensor([[1, height, width]]),
    )
    np.testing.assert_array_equal(places_of(*sizes), expected[:, 0].numpy())
