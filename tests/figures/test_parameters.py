"""The parameters of a transformer by area, against the model's own count."""

import math
import re

import numpy as np

from course import figures
from helpers.transformer import (
    TransformerConfig,
    parameter_count,
    parameter_shapes,
)
from tests.figures.reading import (
    captions,
    read,
    rows,
    says,
    sentence,
    tells,
)

KEYS = [
    "embedding", "positions", "attention", "feed_forward", "norms", "output",
]  # fmt: skip
NAMES = dict(zip(KEYS, [
    "embedding", "positions", "attention", "feed-forward", "norms",
    "output matrix",
], strict=True))  # fmt: skip
CASES = [
    {"n_layers": 48, "heads": 25},  # GPT-2 XL
    {"tied": False, "vocab": 1_000_000, "heads": 1},
    {"n_layers": 96, "heads": 96, "shared": 32, "ratio": 8, "vocab": 1},
    {"n_layers": 1, "heads": 16, "shared": 16, "ratio": 0.5, "tied": False},
    {"ratio": 2.5},
]


def fitted(state):
    """Heads that can share, and a whole number of columns."""
    shared = math.gcd(state["heads"], state["shared"])
    ratio = round(2 * state["ratio"]) / 2
    return state | {"shared": shared, "ratio": ratio}


def config_of(state):
    d = 64 * state["heads"]
    return TransformerConfig(
        vocab=state["vocab"], max_len=1024, d_model=d,
        d_ff=int(state["ratio"] * d), n_layers=state["n_layers"],
        n_heads=state["heads"], n_kv_heads=state["heads"] // state["shared"],
        tied=state["tied"],
    )  # fmt: skip


def part_of(name):
    """The part to which a parameter of the model belongs, by its name."""
    if "norm" in name:
        return "norms"
    if re.search(r"W_[12]", name):
        return "feed_forward"
    if "W_" in name:
        return "attention"
    return name.removesuffix(".bias")


def expected(state):
    """Every parameter of the helpers' model, counted into its part."""
    config = config_of(state)
    parts, block = dict.fromkeys(KEYS, 0), 0
    for name, shape in parameter_shapes(config).items():
        parts[part_of(name)] += math.prod(shape)
        block += math.prod(shape) * name.startswith("0.")
    return {
        "parts": parts,
        "total": parameter_count(config),
        "block": block,
        "d_model": config.d_model,
        "d_ff": config.d_ff,
    }


def percent(text, share):
    """A share to a tenth of a percent; what is less, but not 0, says so."""
    assert text.startswith("under ") == (0 < share < 5e-4)
    if text.startswith("under "):
        assert text == "under 0.1%"
    else:
        says(text.removesuffix("%"), 100 * share, 1)


def shows(state, expected, shown):
    parts, total = expected["parts"], expected["total"]
    shares = {key: parts[key] / total for key in KEYS}
    svg = shown.svg
    left = 0
    for key in KEYS:
        area = svg.select(f".av-part-{key.replace('_', '-')}")
        assert len(area) == (parts[key] > 0)
        if area:
            assert abs(float(area[0]["x"]) - 400 * left) < 0.0051
            assert abs(float(area[0]["width"]) - 400 * shares[key]) < 0.0051
            assert (area[0]["y"], area[0]["height"]) == ("28", "170")
            left += shares[key]
    # Blocks of one height, one below the other.
    lines = re.findall(
        r"M(\S+) (\S+)H([\d.]+)", svg.select_one(".av-layers")["d"]
    )
    L = state["n_layers"]
    heights = [28 + 170 * k / L for k in range(1, L)]
    np.testing.assert_allclose(
        [float(y) for _, y, _ in lines], heights, atol=0.0051
    )
    # Many lines, three quarters of a pixel thick, leave an area its colour.
    faint = float(svg.select_one(".av-layers")["stroke-opacity"])
    assert faint * 0.75 * L / 170 < 0.06
    start = 400 * (shares["embedding"] + shares["positions"])
    end = start + 400 * (
        shares["attention"] + shares["feed_forward"] + shares["norms"]
    )
    for a, _, b in lines:
        assert abs(float(a) - start) < 0.0051
        assert abs(float(b) - end) < 0.0051
    # The dot of the whole model on an axis of powers of ten.
    where = svg.select_one('[data-handle="heads"]')["transform"]
    x = float(re.search(r"[\d.]+", where)[0])
    assert abs(10 ** (6 + 5 * x / 400) / total - 1) < 2e-4
    ticks = {
        "1 M": 6,
        "10 M": 7,
        "100 M": 8,
        "1 B": 9,
        "10 B": 10,
        "100 B": 11,
    }
    for text in svg.select("text"):
        if text.text in ticks:
            assert abs(float(text["x"]) - 80 * (ticks[text.text] - 6)) < 0.01
        elif "%" in text.text:
            assert any(
                abs(read(text.text[:-1]) - 100 * shares[key]) < 0.0501
                for key in KEYS
            )
    # No dot is cut off at an edge.
    x0, y0, wide, high = map(float, svg["viewbox"].split())
    for grip in svg.select("[data-handle]"):
        x, y = map(float, re.findall(r"[\d.]+", grip["transform"]))
        assert x0 + 7 < x < x0 + wide - 7
        assert y0 + 7 < y < y0 + high - 7
    (whole,) = [t.text for t in svg.select("text") if "whole" in t.text]
    tells(whole, round(total / 1e6))
    table = shown.table
    for cells, n in zip(rows(table), [*parts.values(), total], strict=True):
        assert cells[0] == f"{n:,}"
        percent(cells[1], n / total)
    names = [th.text for th in table.select("tbody th")]
    assert names == [*NAMES.values(), "all"]
    signs = [sign["class"][1] for sign in table.select(".av-part-sign")]
    assert signs == [f"av-part-{key.replace('_', '-')}" for key in KEYS]
    most = max(KEYS, key=parts.get)
    text = sentence(shown)
    model = next(
        (
            name
            for name, p in figures.presets("parameters").items()
            if p.items() <= state.items()
        ),
        "This model",
    )
    assert text.startswith(f"{model} has ")
    assert f"{NAMES[most]}, with" in text
    tells(
        text.removeprefix(model),
        total, expected["d_model"], L, expected["block"], expected["d_ff"],
        state["vocab"], (100 * shares[most], 1),
    )  # fmt: skip
    heard = captions(shown)[0]
    assert heard.startswith(f"{total:,} parameters by area: ")
    heard = heard.partition(": ")[2].split(", ")
    held = [key for key in KEYS if parts[key]]
    for said, key in zip(heard, held, strict=True):
        percent(said.removeprefix(f"{NAMES[key]} "), shares[key])


def test_parameters_presets_are_the_published_counts():
    """As a library that distributes the weights states them."""
    counts = {
        "GPT-2 small": 124_439_808,
        "GPT-2 medium": 354_823_168,
        "GPT-2 large": 774_030_080,
        "GPT-2 XL": 1_557_611_200,
    }
    presets = figures.presets("parameters")
    assert presets.keys() == counts.keys()
    for name, total in counts.items():
        figure = figures.ParameterAreas(**presets[name])
        assert figure.values["total"] == total


# --- hands -------------------------------------------------------------------
