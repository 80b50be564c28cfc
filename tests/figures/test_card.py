"""The model card: a configuration's layers, and what they keep and move."""

import json
import math
import re

import numpy as np
import pytest
from traitlets import TraitError

from course import cards, figures
from helpers.cost import (
    arithmetic_intensity,
    cache_bytes,
    step_bytes,
    step_flops,
)
from tests.core.test_cards import DSA, GLM5, M3, M3_OLD, NANO, STATED
from tests.figures.reading import (
    narrow,
    on_one_scale,
    path_of,
    read,
    rows,
    says,
    sentence,
    significant,
    sizes,
    spot,
    tells,
    verdict,
)
from tests.figures.tanks import decimal_shows, notes_of, tank_shows

GIB, MIB, GB = 2**30, 2**20, 10**9
PASTED = "pasted configuration"
# As the chapter of the roof cites them, with their memories.
MACHINES = {
    "A100": (312e12, 2e12, 80),
    "TPU v5e": (197e12, 820e9, 16),
    "H100": (989e12, 3.35e12, 80),
}


def dense(layers, heads, kv_heads, wide=128, d=None, **more):
    """A configuration of plain layers, as few keys as will do."""
    return {
        "hidden_size": d or heads * wide,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": wide,
        **more,
    }


def latent(layers, heads=128, d=4096, **more):
    """A configuration of latent layers of 512 and 64 numbers."""
    return {
        **dense(layers, heads, heads, 128, d),
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        **more,
    }


SHARED = dense(35, 8, 1, 256, num_kv_shared_layers=20)
GLOBAL_WIDER = {  # Gemma 4 31B: ten layers of 60 see all, with wider heads
    **dense(60, 32, 16, 256, 5376),
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
    "global_head_dim": 512,
    "num_global_key_value_heads": 4,
    "attention_k_eq_v": True,
}
KDA = {
    **latent(27, 32, 2304),
    "model_type": "kimi_linear",
    "linear_attn_config": {
        "kda_layers": [i for i in range(1, 27) if i % 4],
        "head_dim": 128,
        "num_heads": 32,
    },
}
NEXT = {
    **dense(8, 16, 2, 256, 2048),
    "model_type": "qwen3_next",
    "full_attention_interval": 4,
    **dict(zip(cards.STATE_KEYS, (16, 32, 128, 128), strict=True)),
}
ODD = {
    **{"text_config": dense(3, 4, 2, 8, moons=1, vocab_size=7)},
    **{"vision_config": {"hidden_size": 9}},
}


def stated(config):
    """A configuration without its nulls, which no page must show."""
    return {key: value for key, value in config.items() if value is not None}


TEXTS = [
    json.dumps(config)
    for config in (dense(2, 4, 1), latent(3), SHARED, GLOBAL_WIDER,
                   GLOBAL_WIDER | {"attention_k_eq_v": False}, KDA, NEXT,
                   *(stated(config) for config, _ in STATED.values()),
                   ODD, cards.MODELS["Llama 4 Scout"])
]  # fmt: skip
CASES = [
    *({"model": name, "S": 4096} for name in cards.MODELS),
    *({"model": PASTED, "config": text, "S": 2000} for text in TEXTS),
    {"S": 1, "batch": 1024, "weights": 79.5, "bits": 8},
    {"model": "DeepSeek-V3", "batch": 256, "weights": 900},
    {"model": "Kimi Linear 48B-A3B", "S": 1, "bits": 32, "machine": "A100"},
    {"model": "Llama 3.1 405B", "S": 10**7, "machine": "TPU v5e"},
    {"model": "gpt-oss-20b", "S": 128, "weights": 0.04},
]


def layers_in(state):
    """The layers of the model, or of the configuration that was pasted."""
    if state["model"] == PASTED:
        return cards.layers_of(json.loads(state["config"]))
    return cards.layers_of(cards.MODELS[state["model"]])


def expected(state):
    """What the card counts, by the helpers."""
    layers, S, B = layers_in(state), state["S"], state["batch"]
    peak, bandwidth, memory = MACHINES[state["machine"]]
    kept = cache_bytes(layers, S, state["bits"] // 8, batch=B)
    flops = sum(step_flops(layers, S, batch=B))
    moved = sum(step_bytes(layers, S, state["bits"] // 8, batch=B))
    free = max(memory * GB - state["weights"] * GB, 0)
    return {
        "kept": kept,
        "cache": sum(kept),
        "parameters": sum(layer.parameters for layer in layers),
        "flops": flops,
        "moved": moved,
        "intensity": arithmetic_intensity(flops, moved),
        "balance": peak / bandwidth,
        "seconds": max(flops / peak, moved / bandwidth),
        "room": math.floor(free * B / sum(kept)),
    }


UNITS = {"KiB": 2**10, "MiB": MIB, "GiB": GIB}


def size_shows(text, n):
    """A size has four digits and a binary unit."""
    number, unit = text.split(" ")
    assert read(number) == pytest.approx(n / UNITS[unit], rel=5.001e-4)


def worked(formula):
    """What a formula of the card gives, with the numbers it shows."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", formula).replace("×", "*")
    plain = re.sub(r"\b(?!min\b)[a-z]+\b", "", plain)
    assert re.fullmatch(r"[\d+*(), min]+", plain), formula
    return eval(plain, {"__builtins__": {}, "min": min})


KINDS = ("global", "window", "latent", "state", "shared", "other")


def shows(state, expected, shown):
    for drawing in (shown, narrow("card", state)):
        store_shows(state, expected, drawing.select_one(".av-tank"))
        layers_show(state, drawing.select_one(".av-card-layers"))
        product_shows(state, expected, drawing.select_one(".av-factors"))
    bars_show(state, expected, shown.select_one("details .av-card-bars"))
    plot_shows(state, expected, shown.select_one("details .av-card-plot"))
    tables_show(state, expected, shown)
    told(state, expected, sentence(shown))


def by_kind(state, expected):
    """The layers of each kind that there is, and the bytes of all of them."""
    layers = layers_in(state)
    found = {}
    for kind in KINDS:
        mine = [i for i, layer in enumerate(layers) if layer.kind == kind]
        if mine:
            kept = sum(expected["kept"][i] for i in mine)
            found[kind] = [layers[i] for i in mine], kept
    return found


def store_shows(state, expected, svg):
    """Weights, and on them what the layers of each kind keep."""
    _, _, memory = MACHINES[state["machine"]]
    weights, cache = state["weights"] * GB, expected["cache"]
    kinds = by_kind(state, expected)
    tank_shows(
        svg,
        memory * GB,
        [weights, *(kept for _, kept in kinds.values())],
        {"weights": weights, "positions": weights + cache},
        state["batch"],
    )
    rim, *names, below = (text.text for text in svg.select(".av-name-of"))
    assert rim.startswith(f"{state['machine']}: ")
    tells(rim.partition(": ")[2], memory)
    for name, (kind, (_, kept)) in zip(
        names[::-1], kinds.items(), strict=True
    ):
        assert name.startswith(f"{kind} ")
        decimal_shows(name.removeprefix(f"{kind} "), kept)
    if weights:
        decimal_shows(below.removeprefix("weights "), weights)
    else:
        assert below == "weights not counted"
    room, *notes = notes_of(svg)
    tells(room, expected["room"])
    over = weights + cache - memory * GB
    if over > 0:
        decimal_shows(notes.pop(0).removesuffix(" too much"), over)
    lines = sum("H" in path["d"] for path in svg.select(".av-bands"))
    # Each product, worked out, gives what its kind keeps.
    notes = re.split(r" (?=\d+ layers? )", " ".join(notes))
    if sum(kept > 0 for _, kept in kinds.values()) > 2:
        assert notes == [""]
        return
    for note, (layers, kept) in zip(notes[::-1], kinds.values(), strict=True):
        if "sizes" in note:
            tells(note, len(layers), len(set(layers)))
        else:
            assert worked(note) == kept
    assert sum("in bands" in note for note in notes) == lines


def layers_show(state, svg):
    """A cell for each layer, of its kind."""
    kinds = [layer.kind for layer in layers_in(state)]
    assert [cell["class"] for cell in svg("rect")] == [
        [f"av-kind-{kind}"] for kind in kinds
    ]
    left = sizes(svg("rect"), "x")
    assert (np.diff(left) > 0).all()
    counts = [kinds.count(kind) for kind in KINDS if kind in kinds]
    tells(svg["aria-label"], len(kinds), *counts)


def product_shows(state, expected, formula):
    keys = [part["data-handle"] for part in formula.select("[data-handle]")]
    assert keys == ["S", "bits", "batch"]
    numbers = state["S"], state["bits"] // 8, state["batch"]
    for part, x in zip(formula.select("b"), numbers, strict=True):
        says(part.text, x)
    parts = {kind: n for kind, (_, n) in by_kind(state, expected).items() if n}
    result = formula.select_one(".av-result-of")
    terms = [term.split(" ") for term in result.small.text.split(" + ")]
    if len(parts) > 1:
        assert {kind: read(n) for kind, n in terms} == parts
    else:
        assert terms == [["all", "in", *parts, "layers"]]
    tells(result.small.next_sibling, expected["cache"])


def bars_show(state, expected, svg):
    """A bar for each layer that keeps anything, on the axis of its texts."""
    layers = layers_in(state)
    kept = np.array(expected["kept"])
    bars = svg.select("[d]:not(.av-kind-mark, .av-rule)")
    assert [bar["class"] for bar in bars] == [
        [f"av-kind-{layer.kind}"]
        for layer, n in zip(layers, kept, strict=True)
        if n
    ]
    ticks = svg.select('text[text-anchor="end"]')[:5]
    assert [t.text for t in ticks] == ["1 kB", "1 MB", "1 GB", "1 TB", "1 PB"]
    on_one_scale(
        [*(sizes(ticks, "y") - 4), *(path_of(bar)[1] for bar in bars)],
        [*1000.0 ** np.arange(1, 6), *np.maximum(kept[kept > 0], 100)],
        log=True,
        up=True,
    )
    decimal_shows(re.search(r"most (.*)", svg("text")[0].text)[1], max(kept))
    assert str(len(layers)) in svg["aria-label"]


def tables_show(state, expected, shown):
    """Every formula, worked out, gives its result; and the results add up."""
    for name in ("kept", "work", "moved"):
        *parts, (_, total) = rows(shown.select_one(f"details .av-card-{name}"))
        for formula, result in parts:
            says(result, worked(formula))
        assert sum(read(result) for _, result in parts) == pytest.approx(
            read(total)
        )
        key = {"kept": "cache", "work": "flops"}.get(name, name)
        assert read(total) == pytest.approx(expected[key], rel=1e-12)
    step = [text for (text,) in rows(shown.select_one(".av-card-step"))]
    cache, same = step[0].split(" bytes, ")
    says(cache, expected["cache"])
    size_shows(same, expected["cache"])
    says(step[1], expected["room"])
    for text, key in zip(step[2:4], ("flops", "moved"), strict=True):
        assert read(text) == pytest.approx(expected[key], rel=1e-12)
    tells(step[4], significant(expected["intensity"], 3))
    tells(step[5], significant(expected["balance"], 3))
    number, unit = step[6].split(" ")
    scale = {"µs": 1e6, "ms": 1e3, "s": 1}[unit]
    tells(number, significant(expected["seconds"] * scale, 3))


def plot_shows(state, expected, svg):
    """The cache of every length and a dot, on two logarithmic axes."""
    layers = layers_in(state)
    lengths = [round(10 ** (k / 8)) for k in range(57)][::7]
    line = np.reshape(path_of(svg.select_one(".av-card-line")), (-1, 2))[::7]
    kept = [
        sum(cache_bytes(layers, S, state["bits"] // 8, batch=state["batch"]))
        for S in lengths
    ]
    x, y = spot(svg.circle)
    on_one_scale([*line[:, 0], x], [*lengths, state["S"]], log=True)
    inside = np.array([*kept, expected["cache"]])
    heights = np.array([*line[:, 1], y])
    there = (inside >= 1e3) & (inside <= 1e15)
    on_one_scale(heights[there], inside[there], log=True, up=True)
    number, unit = svg["aria-label"].split(" are ")[1].split(" ")
    size_shows(f"{number} {unit}", expected["cache"])


def told(state, expected, text):
    name, _, text = text.partition(": ")
    text, *rest = re.split(
        r" (?=Not stated|\d+ layers? without|Keys that were not)", text
    )
    pasted = state["model"] == PASTED
    assert name.startswith("This configuration" if pasted else state["model"])
    layers, bits = layers_in(state), state["bits"]
    longer = cache_bytes(layers, state["S"] + 1, bits // 8)
    tells(text, sum(longer) - sum(cache_bytes(layers, state["S"], bits // 8)))
    slow = expected["intensity"] < expected["balance"]
    verdict(text, for_memory=slow, for_arithmetic=not slow)
    config = json.loads(state["config"]) if pasted else {}
    others = sum(layer.kind == "other" for layer in layers)
    conditions = (
        ("Not stated", cards.filled(config or cards.MODELS[state["model"]])),
        (f"{others} layer", others),
        ("Keys that were not read", cards.unread(config)),
    )
    given = [start for start, there in conditions if there]
    assert all(map(str.startswith, rest, given))
    assert len(rest) == len(given)
    assert ("moons" in " ".join(rest)) == ("moons" in str(config))


# --- published figures ----------------------------------------------------


def kept(config, S, bits=16):
    """The bytes that the card shows, of a model or of a configuration."""
    given = {"model": config} if isinstance(config, str) else {
        "model": PASTED, "config": json.dumps(config)
    }  # fmt: skip
    return figures.ModelCard(S=S, bits=bits, **given).values["cache"]


def per_token(config):
    """What one more position adds, far beyond every window."""
    return kept(config, 10**6 + 1) - kept(config, 10**6)


LARGE = 2**17
# Half a unit of the last printed digit is allowed, as in the ledger.
PUBLISHED = [
    # Hugging Face's table of Llama 3.1, in GiB; its 405B halved.
    *(("Llama 3.1 8B", S, GIB, x)
      for S, x in ((1024, "0.125"), (16000, "1.95"), (128000, "15.62"))),
    *(("Llama 3.1 70B", S, GIB, x)
      for S, x in ((1024, "0.313"), (16000, "4.88"), (128000, "39.06"))),
    *(("Llama 3.1 405B", S, GIB, x)
      for S, x in ((1024, "0.492"), (16000, "7.69"), (128000, "61.52"))),
    ("gpt-oss-120b", LARGE, GIB, "4.504"),
    ("gpt-oss-20b", LARGE, GIB, "3.003"),
    # Jamba-1.5's table 1, at 256K, in GiB.
    (dense(32, 32, 8), 2 * LARGE, GIB, "32"),
    (dense(56, 48, 8), 2 * LARGE, GIB, "56"),
    (dense(88, 96, 8), 2 * LARGE, GIB, "88"),
    ("Llama 3.1 70B", 2 * LARGE, GIB, "80"),
    # Kimi K3's paper: 93 latent layers, and 24 of them.
    (latent(93), 2**20, GIB, "104.6"),
    (latent(24), 2**20, GIB, "27.0"),
    # A course on shared caches, in GB.
    (dense(35, 8, 8, 256), LARGE, GB, "37.58"),
    (dense(35, 8, 1, 256), LARGE, GB, "4.70"),
    (dense(35, 8, 8, 256, num_kv_shared_layers=20), LARGE, GB, "16.11"),
    (SHARED, LARGE, GB, "2.01"),
    # llama.cpp's log of Gemma 3 27B without windows.
    (dense(62, 32, 16, 128, 5376), 2**15, MIB, "15872"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "S", "unit", "printed"), PUBLISHED)
def test_the_card_gives_a_published_size(config, S, unit, printed):
    near = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    assert abs(kept(config, S) / unit - float(printed)) <= near * 1.0001


PER_TOKEN = [
    ("DeepSeek-V2", 34560 * 2),  # its paper's 34.6K elements
    (latent(27, 16), 15552 * 2),  # its small model's 15.6K
    ("DeepSeek-V3", 70272),  # 70.272 KB, in the paper on its hardware
    (dense(80, 64, 8), 327680),  # the same table: Qwen2.5 72B
    ("Llama 3.1 405B", 516096),  # and Llama 3.1 405B
    ("Qwen3-Next 80B-A3B", 24576),
    # The paper on cross-layer attention: six designs of 20 layers.
    (dense(20, 16, 16), 163840),
    (dense(20, 16, 4), 40960),
    (dense(20, 16, 1), 10240),
    (dense(20, 32, 1, 46), 3680),
    (dense(20, 32, 1, 90, num_kv_shared_layers=10), 3600),
    (dense(20, 16, 1, num_kv_shared_layers=13), 3584),
    # A census of 2026, in elements.
    ("gpt-oss-120b", 18432 * 2),
    ("Llama 4 Scout", 24576 * 2),
    (GLOBAL_WIDER, 40960 * 2),
]


@pytest.mark.parametrize(("config", "n_bytes"), PER_TOKEN)
def test_the_card_gives_what_a_token_adds(config, n_bytes):
    assert per_token(config) == n_bytes


def test_windows_and_states_keep_what_was_published():
    assert kept(GLOBAL_WIDER, 1024) - 1024 * 81920 == 409600 * 2 * 1024
    assert kept("Llama 4 Scout", 8192) - 8192 * 49152 == 73728 * 2 * 8192
    state = kept("Qwen3-Next 80B-A3B", 1) - 24576
    assert state == 75497472  # 75.5 MB
    assert state / (98304 - 24576) == 1024  # tokens, until it pays
    full = kept("Qwen3-Next 80B-A3B", 262144) - state
    assert f"{full / GB:.2f}" == "6.44"
    kimi = "Kimi Linear 48B-A3B"
    assert per_token(kimi) / (27 * 1152) == pytest.approx(1 - 0.7407, abs=1e-4)
    assert kept(kimi, 1) - 7 * 1152 == 20 * 32 * 128 * 128 * 4
    assert per_token(KDA) == per_token(kimi)


def test_the_card_gives_published_parameters_and_flops():
    value = figures.ModelCard(model="gpt-oss-120b").values
    assert f"{value['parameters'] / 1e9:.2f}" == "0.96"
    value = figures.ModelCard(model="gpt-oss-20b").values
    assert f"{value['parameters'] / 1e9:.2f}" == "0.64"
    # A latent layer that reads 131,072 positions: 36.5 GFLOP.
    flops = figures.ModelCard(model="DeepSeek-V3", S=LARGE).values["flops"]
    parts = (
        flops - 2 * figures.ModelCard(model="DeepSeek-V3").values["parameters"]
    )
    assert parts / 61 == 128 * (576 + 512) * 2 * LARGE


# --- what it refuses ------------------------------------------------------

ONE = dense(2, 4, 2, 8)
REFUSED = [
    {},
    {"num_hidden_layers": 2},
    ONE | {"num_hidden_layers": 0},
    ONE | {"num_hidden_layers": 257},
    ONE | {"num_hidden_layers": 1.5},
    ONE | {"num_hidden_layers": "2"},
    ONE | {"num_attention_heads": True},
    ONE | {"num_key_value_heads": 3},
    ONE | {"hidden_size": 33, "head_dim": None},
    ONE | {"hidden_size": 10**6},
    ONE | {"sliding_window": 8},
    ONE | {"sliding_window": 8, "sliding_window_pattern": 0},
    ONE | {"attention_chunk_size": 8},
    ONE | {"layer_types": "full_attention"},
    ONE | {"layer_types": ["full_attention"]},
    ONE | {"layer_types": ["full_attention", "heavily_compressed"]},
    ONE | {"layer_types": ["full_attention", "sliding_attention"]},
    ONE | {"layer_types": ["full_attention", "linear_attention"]},
    ONE | {"layer_types": ["full_attention", 7]},
    ONE | {"model_type": "qwen3_next", "full_attention_interval": 2},
    ONE | {"model_type": "kimi_linear", "linear_attn_config": 3},
    ONE | {"model_type": "kimi_linear",
           "linear_attn_config": {"kda_layers": [1], "num_heads": 2}},
    ONE | {"model_type": "kimi_linear",
           "linear_attn_config": {"kda_layers": [True]}},
    ONE | {"num_kv_shared_layers": 2},
    ONE | {"num_kv_shared_layers": []},
    ONE | {"index_topk": 2048},
    ONE | {"swa_head_dim": 8, "index_topk": 8, "num_kv": 1, "kv": 1, "q": 1},
    ONE | {"further": {"kv_heads": 1}},
    ONE | {"n_embd": 33},
    ONE | {"num_kv_heads": 4},
    ONE | {"model_type": "bert"},
    ONE | {"causal_attn": False},
    ONE | {"model_type": "qwen3_next"},
    ONE | {"model_type": "deepseek_v3"},
    ONE | {"attn_type_list": [1]},
    ONE | {"attn_type_list": [1, 0]},
    ONE | {"model_type": "mistral", "num_key_value_heads": None},
    ONE | {"model_type": "longcat_flash", "kv_lora_rank": 8},
    ONE | {"cross_attention_layers": [2]},
    ONE | {"use_cla": True},
    ONE | {"block_types": []},
    ONE | {"block_configs": [{"attention": {"n_heads_in_group": 3}}] * 2},
    ONE | {"block_configs": [{"attention": {"window_length": 8}}] * 2},
    ONE | {"block_configs": [{}] * 2},
    ONE | {"block_configs": [{"attention": {"no_op": True}}] * 2},
    ONE | {"cross_attention_layers": [0, 1]},
    ONE | {"attention_chunk_size": 8, "no_rope_layer_interval": 2,
           "no_rope_layers": [1, 2]},
    ONE | {"use_sliding_window": True, "sliding_window": 8,
           "max_window_layers": "1"},
    latent(2) | {"v_head_dim": None},
    latent(2) | {"q_lora_rank": -1},
    latent(2) | {"num_kv_shared_layers": 1},
    {"text_config": {"hidden_size": 8}},
    ONE | {"head_dim": [8]},
    DSA | {"index_topk_freq": 4},
    DSA | {"index_topk": None},
    DSA | {"q_lora_rank": None},
    DSA | {"layer_types": ["full_attention"] * 61},
    GLM5 | {"index_topk_freq": 0},
    GLM5 | {"indexer_types": ["shared"] * 78},
    GLM5 | {"indexer_types": ["full"]},
    GLM5 | {"index_topk_pattern": "FX" * 39},
    GLM5 | {"num_kv_shared_layers": 2},
    M3 | {"layer_types": None},
    M3 | {"index_local_blocks": 17},
    M3 | {"sparse_attention_config": {"sparse_index_dim": 64}},
    M3 | {"sparse_attention_config": {"sparse_init_block": 1}},
    M3 | {"sparse_attention_config": 3},
    M3_OLD | {"sparse_attention_config": {"sparse_attention_freq": [2]}},
    NANO | {"hybrid_override_pattern": "M*"},
    NANO | {"hybrid_override_pattern": "MX" * 26},
    NANO | {"layers_block_type": ["mamba"] * 52},
    NANO | {"mamba_ssm_cache_dtype": "bfloat16"},
    NANO | {"mamba_n_groups": 2},
]  # fmt: skip


@pytest.mark.parametrize("config", REFUSED, ids=str)
def test_what_is_not_said_is_not_guessed(config):
    """In both languages, and in the same words."""
    with pytest.raises(ValueError, match=r"config must .*; got") as in_python:
        cards.layers_of(config)
    with pytest.raises(TraitError) as on_page:
        kept(config, 8)
    assert str(on_page.value) == str(in_python.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", '"x"', "{'a': 1}"]
)
def test_what_is_no_configuration_is_refused(text):
    with pytest.raises(TraitError, match=r"config must be .*JSON"):
        figures.ModelCard(model=PASTED, config=text)


def test_a_configuration_that_is_not_chosen_is_not_read():
    assert figures.ModelCard(config="{").values["cache"] > 0


def test_keys_that_were_not_read_are_said():
    card = figures.ModelCard(model=PASTED, config=json.dumps(ODD))
    assert "Keys that were not read: moons" in card.html()
    plain = json.dumps(dense(2, 4, 1, vocab_size=9, rope_theta=1e4))
    assert (
        "not read" not in figures.ModelCard(model=PASTED, config=plain).html()
    )


def test_card_shows_no_old_number_after_a_refusal(page):
    """And the count again when the file is whole, or as it was."""
    good = json.dumps(ONE | {"quantization_config": {"ignore": ["x"] * 9000}})
    assert 6000 < len(good) < 65536
    page.open("card", model=PASTED, config=json.dumps(ONE))
    before, refused, again, long = page.run(
        "card.refuseAndRecover",
        json.dumps(ONE | {"swa_head_dim": 8}),
        json.dumps(ONE),
        good,
    )
    why = "config must be without swa_head_dim, which no rule counts; got it."
    message = "This configuration was refused, and nothing is counted: "
    assert refused == [message + why, why, False]
    assert before == again
    assert long == [True, len(good)]
