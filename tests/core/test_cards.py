"""Model cards: layers from a configuration, and what they cost."""

import json

import pytest

from helpers.cards import MODELS, layers_of, unread
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


def test_what_is_no_configuration_is_refused():
    with pytest.raises(TypeError, match="config must be a dict; got list"):
        layers_of([PLAIN])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((-1, 2), "S must be at least 0; got -1"),
        ((1, 0), "itemsize must be at least 1; got 0"),
    ],
)
def test_sizes_that_do_not_exist_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        cache_bytes(LAYERS, *sizes)
    with pytest.raises(ValueError, match=r"itemsize|S must"):
        step_bytes(LAYERS, *sizes)
    with pytest.raises(ValueError, match="S must be at least 1; got 0"):
        step_flops(LAYERS, 0)
    with pytest.raises(TypeError, match=r"batch must be an integer; got 1.5"):
        cache_bytes(LAYERS, 1, 2, batch=1.5)
