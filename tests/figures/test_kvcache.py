"""The cache calculator: bytes, exactly, and what a memory has room for."""

import re

import pytest

from course import figures
from helpers.cost import kv_cache_bytes
from tests.empty_page import PHONE
from tests.figures.reading import (
    captions,
    narrow,
    rows,
    says,
    sentence,
    significant,
    style_of,
    tells,
    verdict,
    where,
)
from tests.figures.tanks import decimal_shows, notes_of, tank_shows

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
    {"S": 610351, "weights": 0},
    {"S": 610352, "weights": 0, "memory": 80},
    {"dtype": "float32", "d_k": 3, "d_v": 5, "S": 1},
    {"n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1023, "S": 10**7},
    *({**sizes} for sizes in figures.presets("kvcache").values()),
    *({**sizes, "S": 10**6, "memory": 640, "batch": 3}
      for sizes in figures.presets("kvcache").values()),
    {"S": 1, "n_layers": 1, "n_kv_heads": 1, "d_k": 1, "d_v": 1},
    {"S": 2, "batch": 2},
    # Full to the byte, which is not too full; and one position more.
    *({"n_layers": 1, "n_kv_heads": 1, "d_k": 125, "d_v": 125, "memory": 1,
       "weights": 0.25, "S": S, "dtype": "8 bits"}
      for S in (3 * 10**6, 3 * 10**6 + 1)),
    {"S": 8192, "n_layers": 1, "n_kv_heads": 1, "d_k": 32, "d_v": 32},
    {"S": 8193, "batch": 2, "dtype": "float32"},
    {"S": 2**20, "batch": 7, "n_layers": 33},
    {"S": 2**23, "batch": 1024, "dtype": "8 bits"},
    {"S": 1, "weights": 10000, "memory": 1},
]  # fmt: skip


def fitted(state):
    """The state, if the figure goes so far."""
    return state if expected(state)["total"] <= 2**50 else None


def expected(state):
    """What the calculator shows, by the helper that counts bytes."""
    itemsize, S, batch = ITEM[state["dtype"]], state["S"], state["batch"]
    L, *sizes = (state[k] for k in ("n_layers", "n_kv_heads", "d_k", "d_v"))
    heads, d_k, d_v = sizes
    total = kv_cache_bytes(S, L, *sizes, itemsize, batch=batch)
    token = kv_cache_bytes(1, L, *sizes, itemsize)
    models = {
        names: {model_bytes(name, itemsize) for name in names.split(", ")}
        for names in figures.presets("kvcache")
    }
    # A quarter of a GB is a whole number of bytes.
    free = int((state["memory"] - state["weights"]) * 10**9)
    numbers = S * L * heads * batch * itemsize
    return {
        "per_layer": kv_cache_bytes(1, 1, *sizes, itemsize),
        "per_token": token,
        "per_sequence": kv_cache_bytes(S, L, *sizes, itemsize),
        "total": total,
        "mib": total / 2**20,
        "gib": total / 2**30,
        "tokens_per_gib": 2**30 // token,
        "halves": [numbers * d_k, numbers * d_v],
        "room": max(free // (token * batch), 0),
        # Models that share a line agree, or there are two to unpack.
        "models": {names: n for names, (n,) in models.items()},
    }


ITEM = {"float32": 4, "float16 or bfloat16": 2, "8 bits": 1}
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def shows(state, expected, shown):
    tables_show(state, expected, shown)
    for drawing in (shown, narrow("kvcache", state)):
        store_shows(state, expected, drawing)
        formula_shows(state, expected, drawing)
    told(state, expected, sentence(shown))


def tables_show(state, expected, shown):
    sizes, models = shown.select("details table")
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
    assert marked == [f"▸ {preset_of(state) or 'own numbers'}"]
    tells(sizes.caption.text, *factors(state))
    assert state["dtype"] in models.caption.text


def factors(state):
    """The numbers whose product the cache is, as they are written."""
    keys = ("n_layers", "n_kv_heads", "d_k", "d_v", "dtype", "S", "batch")
    return [ITEM.get(state[key], state[key]) for key in keys]


def preset_of(state):
    """The model whose sizes a calculator holds, in a memory of any size."""
    for name, preset in figures.presets("kvcache").items():
        if state | preset | {"memory": state["memory"]} == state:
            return name
    return None


def store_shows(state, expected, shown):
    """Weights, and on them keys and values; and their names."""
    svg = shown.select_one(".av-tank")
    weights, total = state["weights"] * 10**9, expected["total"]
    memory, room = state["memory"], expected["room"]
    tank_shows(
        svg,
        memory * 10**9,
        [weights, expected["halves"]],
        {"weights": weights, "cache": weights + total},
        state["batch"],
    )
    rim, cache, below = (text.text for text in svg.select(".av-name-of"))
    tells(rim, memory)
    decimal_shows(cache.partition(" ")[2], total)
    if weights:
        decimal_shows(below.partition(" ")[2], weights)
    else:
        assert below == "no weights"
    full, *over, sequences = notes_of(svg)
    tells(full, min(room, 10**7))
    assert full.startswith("full beyond" if room > 10**7 else "full at")
    assert len(over) == (weights + total > memory * 10**9)
    for text in over:
        decimal_shows(text.removesuffix(" too much"),
                      weights + total - memory * 10**9)  # fmt: skip
    tells(sequences, state["batch"])
    lines = any("H" in path["d"] for path in svg.select(".av-bands"))
    verdict(sequences, bands=lines)
    free = svg.select(".av-note-of[text-anchor=middle]")
    for text in free[:1]:
        decimal_shows(text.text.removesuffix(" free"),
                      memory * 10**9 - weights - total)  # fmt: skip
    parts = {text.text for text in svg.select(".av-on")}
    latent = preset_of(state) == "DeepSeek-V3"
    assert parts <= ({"latent vectors", "rotary keys"} if latent
                     else {"keys", "values"})  # fmt: skip
    assert str(memory) in captions(shown)[0].replace(",", "")


def formula_shows(state, expected, shown):
    """The factors to drag, each with its number, and their product."""
    numbers = shown.select(".av-factors [data-handle]")
    for number, x in zip(numbers, factors(state), strict=True):
        says(number.b.text, x)
    keys = [number["data-handle"] for number in numbers]
    assert keys == ["n_layers", "n_kv_heads", "d_k", "d_v", "dtype", "S",
                    "batch"]  # fmt: skip
    tells(shown.select_one(".av-result-of").text, expected["total"])


def told(state, expected, text):
    name, _, message = text.partition(": ")
    chosen = preset_of(state)
    assert (chosen or "These sizes").endswith(name)
    message, _, latent = message.partition(" It keeps")
    assert bool(latent) == (chosen == "DeepSeek-V3")
    weights = state["weights"] * 10**9
    times = expected["total"] / weights if weights else 0
    little = 0 < times < 0.01
    tells(
        message,
        expected["per_token"],
        *where(weights and not little, significant(times, 3)),
        *where(little, (0.01, 2)),
    )
    verdict(
        message,
        each_sequence=state["batch"] > 1,
        not_counted=not weights,
        less_than=little,
    )


def test_a_model_chosen_in_the_picture_is_pressed():
    """Also where its name or its memory is one of several."""
    for name, preset in figures.presets("kvcache").items():
        for more in ({}, {"memory": 200}):
            figure = figures.KVCacheCalculator(**preset | more)
            picks = [it for it in figure._call("handles") if "presses" in it
                     and it.get("group")]  # fmt: skip
            pressed = [it for it in picks if it["on"]]
            assert len(pressed) == (preset in [it["presses"] for it in picks])
            assert all(it["presses"] == preset for it in pressed), name


def test_kvcache_presets_have_the_sizes_of_their_models():
    keys = ("n_layers", "n_kv_heads", "d_k", "d_v")
    for names, preset in figures.presets("kvcache").items():
        for name in names.split(", "):
            sizes = dict(zip(keys, model_sizes(name), strict=True))
            assert preset == preset | sizes, name


# Billions of parameters, by the models' names and papers, in 16 bits, but
# DeepSeek-V3 in the 8 in which it is released.
WEIGHTS = {"GPT-2 small": 2 * 0.124, "GPT-3": 2 * 175, "DeepSeek-V3": 671}


def test_kvcache_presets_have_the_weights_of_their_models():
    """In the fewest machines of 80 GB, by powers of two, that hold them."""
    for names, preset in figures.presets("kvcache").items():
        for name in names.split(", "):
            billions = re.search(r"(\d+)B$", name)
            weights = 2 * int(billions[1]) if billions else WEIGHTS[name]
            assert abs(preset["weights"] - weights) <= 0.005, name
        machines = preset["memory"] / 80
        assert machines in (1, 2, 8, 16)
        assert weights < preset["memory"]
        assert weights > preset["memory"] / 2 or machines == 1


def test_a_finger_lifts_the_surface_and_no_page(page):
    """A drag up and down is the hardest, since it scrolls elsewhere."""
    page.tab.set_viewport_size(PHONE)
    page.open("kvcache", S=150_000)
    page.do("document.body.style.height = '3000px'; return null")
    x, y = page.do("""
      const box = handle("cache").getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2]""")
    hand = page.tab.context.new_cdp_session(page.tab)
    hand.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def touch(kind, *at):
        points = [{"x": x, "y": y + dy} for dy in at]
        hand.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
        )

    touch("touchStart", 0)
    for step in range(1, 9):
        touch("touchMove", -8 * step)
    touch("touchEnd")
    hand.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    hand.detach()
    longer, scrolled = page.do("[m.state.S, scrollY]")
    assert scrolled == 0
    # 96 GB are as high as the tank; a position takes 131,072 bytes.
    high = page.do("el.querySelector('.av-tank').getScreenCTM().d")
    tank = (290 - 24) * high
    assert longer - 150_000 == pytest.approx(
        64 / tank * 96e9 / 131_072, rel=0.05
    )
