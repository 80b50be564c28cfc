"""The cache calculator: bytes, exactly, and what a memory has room for."""

import re

import numpy as np

from course import figures
from helpers.cost import kv_cache_bytes
from tests.figures.reading import (
    captions,
    in_proportion,
    on_one_scale,
    path_of,
    rows,
    says,
    sentence,
    sizes,
    spot,
    style_of,
    tells,
    verdict,
    where,
)

# Layers, d_model, H and H_kv, as each model's paper or configuration says.
MODELS = {
    "GPT-2 small": (12, 768, 12, 12),
    "GPT-3": (96, 12288, 96, 96),
    "Llama 2 7B": (32, 4096, 32, 32),
    "Llama 2 13B": (40, 5120, 40, 40),
    "Llama 2 70B": (80, 8192, 64, 8),
    "Llama 3 8B": (32, 4096, 32, 8),
    "Llama 3 70B": (80, 8192, 64, 8),
    "Llama 3.1 405B": (126, 16384, 128, 8),
    "Mistral 7B": (32, 4096, 32, 8),
    "Qwen2.5 72B": (80, 8192, 64, 8),
}


def model_sizes(name):
    """Layers, key/value heads, and widths of a key and of a value."""
    if name == "DeepSeek-V3":
        return 61, 1, 512, 64  # a latent and a rotary key
    L, d_model, H, H_kv = MODELS[name]
    return L, H_kv, d_model // H, d_model // H


def model_bytes(name, itemsize):
    """Bytes of one position in the cache of a named model."""
    L, H_kv, d_k, d_v = model_sizes(name)
    return L * H_kv * (d_k + d_v) * itemsize


CASES = [
    {"dtype": "8 bits", "S": 131072, "batch": 7},
    *({"S": 20, "filled": n, "batch": 3} for n in (0, 1, 7, 20)),
    {"S": 610351, "filled": 300000},
    {"S": 610352, "filled": 610352, "memory": 80},
    {"dtype": "float32", "d_k": 3, "d_v": 5, "S": 1},
    {"n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1023, "S": 10**7},
    *({**sizes} for sizes in figures.presets("kvcache").values()),
    {"S": 1, "n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1},
    {"S": 2, "batch": 2},
    {"S": 8192, "n_layers": 1, "n_kv_heads": 1, "d_k": 32, "d_v": 32},
    {"S": 8193, "batch": 2, "dtype": "float32"},
    {"S": 2**20, "batch": 7, "n_layers": 33},
    {"S": 2**23, "batch": 1024, "dtype": "8 bits"},
]


def fitted(state):
    """The state, if the figure goes so far."""
    return state if expected(state)["total"] <= 2**50 else None


def expected(state):
    """What the calculator shows, by the helper that counts bytes."""
    kinds = {"float32": 4, "float16 or bfloat16": 2, "8 bits": 1}
    itemsize, S = kinds[state["dtype"]], state["S"]
    L, *sizes = (state[k] for k in ("n_layers", "n_kv_heads", "d_k", "d_v"))
    batch = state["batch"]
    total = kv_cache_bytes(S, L, *sizes, itemsize, batch=batch)
    filled = min(state["filled"], S)
    now = kv_cache_bytes(filled, L, *sizes, itemsize, batch=batch)
    _, d_k, d_v = sizes
    token = kv_cache_bytes(1, L, *sizes, itemsize)
    models = {
        names: {model_bytes(name, itemsize) for name in names.split(", ")}
        for names in figures.presets("kvcache")
    }
    return {
        "per_layer": kv_cache_bytes(1, 1, *sizes, itemsize),
        "per_token": token,
        "per_sequence": kv_cache_bytes(S, L, *sizes, itemsize),
        "total": total,
        "mib": total / 2**20,
        "gib": total / 2**30,
        "tokens_per_gib": 2**30 // token,
        "filled": filled,
        "now": [now * d_k // (d_k + d_v), now * d_v // (d_k + d_v)],
        "room": state["memory"] * 10**9 // (token * batch),
        # Models that share a line agree, or there are two to unpack.
        "models": {names: n for names, (n,) in models.items()},
    }


ITEM = {"float32": 4, "float16 or bfloat16": 2, "8 bits": 1}
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def shows(state, expected, shown):
    sizes, models = shown.select("table")
    keys = ("per_layer", "per_token", "per_sequence", "total")
    for (count, size), key in zip(rows(sizes), keys, strict=True):
        says(count, expected[key])
        number, unit = size.split(" ")
        says(number, expected[key] / UNITS[unit], 3)
    bytes_of = {
        row.th.text.replace("▸ ", ""): row for row in models.select("tbody tr")
    }
    own = bytes_of.pop("own numbers", None)
    named = {**expected["models"]}
    assert list(bytes_of) == list(named)
    if own is not None:
        bytes_of["own numbers"] = own
        named["own numbers"] = expected["per_token"]
    # On the scale of four bytes a number, unless own sizes take more.
    whole = 4 / ITEM[state["dtype"]] * max(expected["models"].values())
    most = max(whole, expected["per_token"])
    for name, row in bytes_of.items():
        count, bar = row.select("td")
        says(count.text, named[name])
        assert abs(style_of(bar.i, "width") - 100 * named[name] / most) < 6e-3
    marked = [row.th.text for row in models.select("tbody tr")
              if row.th.text.startswith("▸ ")]  # fmt: skip
    chosen = preset_of(state)
    assert marked == [f"▸ {chosen or 'own numbers'}"]
    store_shows(state, expected, shown.select_one(".av-store"))
    names_show(state, expected, shown)
    L, H, d_k, d_v, S, B = (
        state[k] for k in ("n_layers", "n_kv_heads", "d_k", "d_v", "S",
                           "batch")
    )  # fmt: skip
    tells(sizes.caption.text, L, H, d_k, d_v, ITEM[state["dtype"]], S, B)
    assert state["dtype"] in models.caption.text
    filled, now = expected["filled"], sum(expected["now"])
    fits = expected["total"] <= state["memory"] * 10**9
    text = sentence(shown)
    name, _, message = text.partition(": ")
    assert (chosen or "These sizes") == name
    message, _, latent = message.partition(" It keeps")
    assert bool(latent) == (chosen == "DeepSeek-V3")
    unit = UNITS[re.search(r" (.iB|bytes)(?=\.|,)", message)[1]]
    tells(
        message,
        *(expected["per_token"], filled, *where(B > 1, B), (now / unit, 3)),
        *where(now >= 2**30, (now / 10**9, 3)),
        state["memory"],
        *([S, expected["room"]] if fits else [expected["room"], S]),
    )
    verdict(message, have_room=fits, are_full=not fits)


def preset_of(state):
    """The model whose sizes a calculator holds, if there is one."""
    for name, preset in figures.presets("kvcache").items():
        if state | preset == state:
            return name
    return None


def names_show(state, expected, shown):
    """The names of the drawing: positions so far, and gigabytes."""
    S, filled, memory = state["S"], expected["filled"], state["memory"]
    held = sum(expected["now"]) / 10**9

    def gb(number):
        return number, 0 if held >= 1000 else 3

    tells(captions(shown)[0], filled, S, gb(held), memory)
    parts = {"keys", "values", "latent", "rotary"}
    texts = [t.text for t in shown.select(".av-store text")]
    texts = [text for text in texts if text not in parts]
    one, scale, all_, last, end = texts
    tells(one, filled, S)
    tells(scale, S)
    tells(end, (1.25 * memory, 3))
    over = held - memory
    tells(all_, state["batch"], gb(held), *where(over > 0, gb(over)))
    verdict(all_, too_many=over > 0)
    assert bool(shown.select(".av-burst")) == (over > 0)
    tells(last, memory)


def store_shows(state, expected, svg):
    """Bars of keys and values: one sequence, and all in the memory.

    The second bar is on a fixed scale, to a quarter beyond the memory, where
    it is cut.
    """
    (keys, values), memory = expected["now"], state["memory"] * 10**9
    one_key, one_value, key, value = svg("rect")
    in_proportion(
        [one_key["height"], one_value["height"]], [state["d_k"], state["d_v"]]
    )
    edge = path_of(svg.select_one(".av-edge"))[0]
    x, _ = spot(svg.select_one("[data-handle=cache]"))
    left, wide = sizes([key, value], "x"), sizes([key, value])
    on_one_scale(
        [*left, *(left + wide), edge, x],
        np.minimum(
            [0, keys, keys, keys + values, memory, expected["total"]],
            1.25 * memory,
        ),
    )
    # Full to the byte is still inside.
    over = left[1] + wide[1] - edge
    assert over <= 0.01 if keys + values <= memory else over >= -0.01


def test_kvcache_presets_have_the_sizes_of_their_models():
    keys = ("n_layers", "n_kv_heads", "d_k", "d_v")
    for names, preset in figures.presets("kvcache").items():
        for name in names.split(", "):
            sizes = dict(zip(keys, model_sizes(name), strict=True))
            assert preset == sizes, name
