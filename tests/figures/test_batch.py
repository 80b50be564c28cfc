"""The figure of a batch: bytes, work and time of one decoding step."""

import functools
from math import prod

import numpy as np

from helpers.cost import (
    arithmetic_intensity,
    attention_flops,
    kv_cache_bytes,
    roofline,
)
from helpers.transformer import (
    TransformerConfig,
    parameter_count,
    parameter_shapes,
)
from tests.figures.reading import (
    captions,
    on_one_scale,
    path_of,
    says,
    sentence,
    sizes,
    spot,
    tells,
)

LENGTHS = [512, 1024, 2048, 4096, 8192]
CASES = [
    {"batch": 1},
    {"batch": 13},
    {"batch": 55, "S": 2048},
    {"batch": 56, "S": 2048},
    {"batch": 512, "S": 512},
    {"batch": 512},
    {"batch": 224, "S": 512},
]
# Llama 3 8B: three matrices of 14,336 where the helper's model has two.
LLAMA = TransformerConfig(
    vocab=128_256, max_len=8192, d_model=4096, n_layers=32, n_heads=32,
    n_kv_heads=8, d_ff=3 * 14_336 // 2, norm_kind="rms",
    positions="rotary", base=500_000.0, bias=False, tied=False)  # fmt: skip
PEAK, BANDWIDTH = 312e12, 2e12


@functools.cache
def model():
    """Bytes of the weights that a step reads, and FLOPs per token in them."""
    shapes = parameter_shapes(LLAMA)
    table = prod(shapes["embedding"])
    matrices = [
        shape
        for name, shape in shapes.items()
        if len(shape) == 2 and name != "embedding"
    ]
    return 2 * (parameter_count(LLAMA) - table), 2 * sum(map(prod, matrices))


def cost(B, S):
    """FLOPs, and the bytes of the weights and of the caches."""
    weights, per_token = model()
    stages = attention_flops(1, S, 128, 128, n_heads=32, batch=B)
    flops = B * per_token + 32 * (stages["scores"] + stages["values"])
    return flops, weights, kv_cache_bytes(S, 32, 8, 128, 128, 2, batch=B)


def work(B, S):
    flops, weights, caches = cost(B, S)
    return arithmetic_intensity(flops, weights + caches)


def expected(state):
    """A step of a batch, by the helpers."""
    B, S = state["batch"], state["S"]
    flops, weights, caches = cost(B, S)
    alone = cost(1, S)
    seconds = flops / roofline(work(B, S), PEAK, BANDWIDTH)
    return {
        "weights": weights,
        "caches": caches,
        "flops": flops,
        "intensity": work(B, S),
        "limit": alone[0] / alone[2],
        "balance": 156,
        "crossing": next(n for n in range(1, 999) if cost(n, S)[2] >= weights),
        "seconds": seconds,
        "per_second": B / seconds,
        "curves": [[work(2**k, n) for k in range(10)] for n in LENGTHS],
    }


def gigabytes(n):
    return n / 1e9, int(n < 1e11)


def shows(state, expected, shown):
    B, S = state["batch"], state["S"]
    weights, caches = expected["weights"], expected["caches"]
    rate = expected["per_second"]
    text = sentence(shown)
    tells(
        text,
        *(B, S, expected["crossing"]),
        *((1e3 * expected["seconds"], 1), rate, (rate / B, 1)),
    )
    tells(captions(shown)[0], (expected["intensity"], 1), B, S)
    svg = shown.select_one(".av-batch")
    texts = [t.text for t in svg.select("text")]
    tells(texts[0], gigabytes(weights + caches))
    named = {t.partition(" GB")[0].split()[0]: t for t in texts if " GB" in t}
    tells(named["weights"], gigabytes(weights))
    tells(named["caches"], gigabytes(caches))
    # The bar: what is read once, then the caches, on the scale that it names.
    (scale,) = [t for t in texts if t.startswith("scale: ")]
    end = min(n for n in (40, 160, 640) if n * 1e9 >= weights + caches)
    tells(scale, end, end // 4)
    parts = [svg.select_one(f".av-{kind}") for kind in ("shared", "own")]
    left, wide = sizes(parts, "x"), sizes(parts)
    ticks = path_of(svg.select_one(".av-bar-end"))[3::3]
    on_one_scale(
        [*ticks, *left, *(left + wide)],
        [*np.linspace(0, end * 1e9, 5), 0, weights, weights, weights + caches],
    )
    plot_shows(state, expected, svg, texts)


def plot_shows(state, expected, svg, texts):
    """Both axes are logarithmic, the same for curves, lines and the point."""
    lines = [np.reshape(path_of(p), (-1, 2)) for p in svg.select(".av-climb")]
    places, (x, y) = np.array(lines), spot(svg.select_one(".av-grip"))
    batches = np.tile(2.0 ** np.arange(10), len(LENGTHS))
    on_one_scale(
        [*places[..., 0].ravel(), x], [*batches, state["batch"]], log=True
    )
    levels = [
        path_of(svg.select_one(f".av-{kind}"))[1]
        for kind in ("busy", "ceiling")
    ]
    names = ("intensity", "balance", "limit")
    on_one_scale(
        [*places[..., 1].ravel(), y, *levels],
        [*np.ravel(expected["curves"]), *(expected[name] for name in names)],
        log=True,
        up=True,
    )
    says(svg.select_one(".av-grip text").text, expected["intensity"], 1)
    (chosen,) = svg.select(".av-climbs")
    assert svg.select(".av-climb").index(chosen) == LENGTHS.index(state["S"])
    (needs,) = [t for t in texts if "needs" in t]
    (limit,) = [t for t in texts if "reaches" in t]
    assert needs.endswith(f" {expected['balance']}")
    tells(limit, (expected["limit"], 1))
