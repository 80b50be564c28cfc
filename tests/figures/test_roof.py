"""The roof: which work of a layer is bound by memory, and which is not."""

import re

import numpy as np
import pytest

from helpers.cost import (
    arithmetic_intensity,
    attention_flops,
    projection_flops,
    roofline,
    scores_bytes,
)
from tests.figures.reading import (
    captions,
    on_one_scale,
    path_of,
    read,
    rows,
    sentence,
    significant,
    sizes,
    tells,
)

# The most FLOPs and bytes a second, in 16 bits, as chapter 9 cites them.
DEVICES = {
    "A100": (312e12, 2.0e12),
    "TPU v5e": (1.97e14, 8.2e11),
    "H100": (9.89e14, 3.35e12),
}
CASES = [
    {"T": 1, "heads": 1, "shared": 1},
    {"T": 1, "batch": 256},
    {"T": 32768, "batch": 256, "heads": 64, "shared": 64},
    {"device": "TPU v5e", "T": 256, "heads": 8, "shared": 64},
    {"device": "H100", "batch": 256, "shared": 8},
    {"T": 8, "batch": 256, "heads": 64, "shared": 1},
    {"T": 2048, "batch": 1, "heads": 8, "shared": 8},
    {"T": 1, "batch": 1, "heads": 1, "shared": 1, "device": "A100"},
]


def kv_heads(state):
    """The key/value heads that the query heads of a layer share."""
    return state["heads"] // min(state["shared"], state["heads"])


def read_once(arrays, batch):
    """Bytes of arrays of 16 bits, as NumPy counts them without making them."""
    one = np.empty((), np.float16)
    return batch * sum(np.broadcast_to(one, a).nbytes for a in arrays)


def expected(state):
    """Five kinds of work of a layer on its device, by the counting helpers."""
    peak, bandwidth = DEVICES[state["device"]]
    T, B, H, H_kv = state["T"], state["batch"], state["heads"], kv_heads(state)
    points = {}

    def put(name, flops, moved):
        intensity = arithmetic_intensity(flops, moved)
        points[name] = {
            "flops": flops,
            "bytes": moved,
            "intensity": intensity,
            "speed": float(roofline(intensity, peak, bandwidth)),
        }

    K = (H_kv, T, 128)
    for name, n in (("prefill", T), ("decode", 1)):
        flops = attention_flops(n, T, 128, 128, n_heads=H, batch=B)
        products = flops["scores"] + flops["values"]
        Q = (H, n, 128)
        put(name, products, read_once([Q, K, K, Q], B))
        if name == "prefill":
            square = scores_bytes(T, T, H, 2, batch=B)
            moved = read_once([Q, K, K, Q], B) + 6 * square
            put("stored", flops["total"], moved)
    for name, n in (("read", B * T), ("write", B)):
        flops = projection_flops(n, H * 128, H, H_kv, d_k=128)
        arrays = []
        for wide in (H * 128, H_kv * 128, H_kv * 128, H * 128):
            arrays += [(n, H * 128), (H * 128, wide), (n, wide)]
        put(name, flops["total"], read_once(arrays, 1))

    def least(*names):
        return sum(
            max(points[n]["flops"] / peak, points[n]["bytes"] / bandwidth)
            for n in names
        )

    return {
        "balance": peak / bandwidth,
        "points": points,
        "prompt": least("prefill", "read"),
        "token": least("decode", "write"),
    }


WORKS = {
    "prefill": "prefill, attention",
    "stored": "prefill, scores stored",
    "read": "prefill, projections",
    "decode": "decode, attention",
    "write": "decode, projections",
}


def shows(state, expected, shown):
    """Points and roof are read back from where they stand on the axes."""
    svg = shown.select_one(".av-roof")
    numbers = [t for t in svg.select("text:not([class])") if t.has_attr("x")]
    ticks = [t for t in numbers if re.fullmatch(r"[\d.,]+", t.text)]
    tens = [read(t.text) for t in ticks]
    assert tens == [1, 10, 100, 1000, 10000, 0.01, 0.1, 1, 10, 100, 1000]
    order = sorted(WORKS, key=lambda k: expected["points"][k]["intensity"])
    points = [expected["points"][key] for key in order]
    names = svg.select(".av-named")
    assert [t.text for t in names] == [WORKS[key] for key in order]
    # From each point a line leads to its name.
    starts = [path_of(hang)[:2] for hang in svg.select(".av-hang")]
    peak, bandwidth = DEVICES[state["device"]]
    x, y, *corner = path_of(svg.select_one(".av-top"))[:4]
    line = path_of(svg.select_one(".av-balance"))[0]
    px = on_one_scale(
        [*sizes(ticks[:5], "x"), *(s[0] for s in starts), corner[0], line],
        [*tens[:5], *(p["intensity"] for p in points),
         *[peak / bandwidth] * 2],
        near=0.3, log=True,
    )  # fmt: skip
    slope = (px(10) - px(1)) / np.log(10)
    reached = np.exp((x - px(1)) / slope) * bandwidth
    on_one_scale(
        [*(sizes(ticks[5:], "y") - 4), *(s[1] for s in starts), corner[1], y],
        np.array([*(1e12 * np.array(tens[5:])), *(p["speed"] for p in points),
                  peak, reached]),
        near=0.3, log=True, up=True,
    )  # fmt: skip
    table = rows(shown.select_one(".av-works"))
    for texts, key in zip(table, WORKS, strict=True):
        point = expected["points"][key]
        for text, n in zip(texts, list(point.values()), strict=True):
            number, _, unit = text.partition(" ")
            factor = 1000.0 ** " KMGTP".index(unit or " ")
            factor *= 1e12 if n == point["speed"] else 1
            assert read(number) * factor == pytest.approx(n, rel=5.001e-3)
    tells_of(state, expected, shown, order)


def significant_time(seconds, text):
    """A duration is shown in three digits and the unit that fits it."""
    number, unit = re.fullmatch(r"([\d.,]+) (µs|ms|s)", text).groups()
    factor = {"µs": 1e6, "ms": 1e3, "s": 1}[unit]
    significant(seconds * factor, 3)(number)
    assert unit == "s" or read(number) < 1000


def tells_of(state, expected, shown, order):
    """The sentence: how long a layer takes at least."""
    balance = expected["balance"]
    H, device = state["heads"], state["device"]
    label, text = captions(shown)[0], sentence(shown)
    assert device in label
    assert device in text
    places = [label.index(WORKS[key]) for key in order]
    assert places == sorted(places), "from the left to the right"
    text = text.replace(device, "")
    prompt, token = re.findall(r"[\d.,]+ (?:µs|ms|s)\b", text)
    significant_time(expected["prompt"], prompt)
    significant_time(expected["token"], token)
    for part in (prompt, token):
        text = text.replace(part, "")
    tells(text, balance, state["batch"], state["T"])
    shared = H // min(state["shared"], H)
    tells(shown.table.caption.text, H, shared, 16)
