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
    in_proportion,
    on_one_scale,
    read,
    rows,
    says,
    sentence,
    sizes,
    spot,
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
    areas = {
        key: svg.select_one(f".av-part-{key.replace('_', '-')}")
        for key in KEYS
    }
    there = [key for key in KEYS if parts[key]]
    assert [key for key in KEYS if areas[key]] == there
    drawn = [areas[key] for key in there]
    in_proportion(sizes(drawn), [parts[key] for key in there])
    starts = np.cumsum([0, *(parts[key] for key in there)])[:-1]
    on_one_scale(sizes(drawn, "x"), starts)
    assert len({(area["y"], area["height"]) for area in drawn}) == 1
    # The dot of the whole model on an axis of powers of ten.
    ticks = {
        f"{n} {unit}": n * millions * 1e6
        for unit, millions in (("M", 1), ("B", 1000))
        for n in (1, 10, 100)
    }
    marks = [t for t in svg.select("text") if t.text in ticks]
    x, _ = spot(svg.select_one('[data-handle="heads"]'))
    on_one_scale(
        [*sizes(marks, "x"), x],
        [*(ticks[t.text] for t in marks), total],
        log=True,
    )
    for text in svg.select("text"):
        if "%" in text.text:
            assert any(
                abs(read(text.text[:-1]) - 100 * share) < 0.0501
                for share in shares.values()
            )
    (whole,) = [t.text for t in svg.select("text") if "whole" in t.text]
    tells(whole, round(total / 1e6))
    table = shown.table
    for cells, n in zip(rows(table), [*parts.values(), total], strict=True):
        assert cells[0] == f"{n:,}"
        percent(cells[1], n / total)
    names = [th.text for th in table.select("tbody th")]
    assert names == [*NAMES.values(), "all"]
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
    tells(text.removeprefix(model), total, (100 * shares[most], 1))
    tells(
        shown.select_one("details p").text,
        expected["d_model"], state["n_layers"], expected["block"],
        expected["d_ff"], state["vocab"],
    )  # fmt: skip
    heard = captions(shown)[0]
    assert heard.startswith(f"{total:,} parameters by area: ")
    for part, key in zip(heard.partition(": ")[2].split(", "), there,
                         strict=True):  # fmt: skip
        percent(part.removeprefix(f"{NAMES[key]} "), shares[key])


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
