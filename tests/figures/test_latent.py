"""The latent figure: what is kept of a token, and what two forms multiply."""

import re

import numpy as np
import pytest

from helpers.cost import kv_cache_bytes, latent_flops
from tests.figures.reading import (
    captions,
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    read,
    rows,
    sentence,
    sizes,
    spot,
    tells,
)

CASES = [
    {"form": "absorbed"},
    {"form": "absorbed", "queries": 256},
    {"queries": 131072, "tokens": 131072},
    {"latent": 64, "width": 256},
    {"latent": 128, "width": 128},
    {"latent": 64, "width": 32, "rotated": 16, "tokens": 256},
    {"heads": 1, "tokens": 256, "queries": 512},
    {"heads": 4, "latent": 1024, "form": "absorbed"},
]
UNITS = " KMGTP"


def counted(state, form, T):
    """Multiply-adds by stage: half of the FLOPs that the helper counts.

    The division by the root and the softmax, which both forms do alike, are
    no multiply-adds.
    """
    sizes = [state[k] for k in ("heads", "latent", "rotated", "width")]
    flops = latent_flops(
        T, state["tokens"], *sizes, state["width"], absorbed=form == "absorbed"
    )
    stages = {
        stage: flops[stage] // 2
        for stage in ("projections", "scores", "values")
    }
    return stages | {"total": sum(stages.values())}


def fewer(state, T):
    plain, absorbed = (
        counted(state, form, T)["total"] for form in ("plain", "absorbed")
    )
    return plain < absorbed


def first_fewer(state):
    """The least number of queries with which the plain form takes fewer."""
    low, high = 0, state["tokens"]
    if not fewer(state, high):
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fewer(state, middle) else (middle, high)
    return high


def expected(state):
    H, d = state["heads"], state["width"]
    kept = [kv_cache_bytes(1, 1, n, d, d, 1) for n in (H, min(H, 8), 1)]
    kept.append(kv_cache_bytes(1, 1, 1, state["latent"], state["rotated"], 1))
    T = min(state["queries"], state["tokens"])
    return {
        "kept": kept,
        "heads": kept[-1] * H / kept[0],
        "plain": counted(state, "plain", T),
        "absorbed": counted(state, "absorbed", T),
        "from": first_fewer(state),
    }


def sized(text):
    """The number that a text with a unit shows."""
    number, _, unit = text.partition(" ")
    return read(number) * 1000.0 ** UNITS.index(unit or " ")


def sides(rect):
    return [float(rect[k]) for k in ("x", "y", "width", "height")]


def shows(state, expected, shown):
    for drawing in (shown, narrow("latent", state)):
        svg = drawing.select_one(".av-latent")
        vectors_show(state, svg)
        bars_show(expected["kept"], svg)
        plot_shows(state, expected, svg)
    captions(shown)
    words_show(expected, sentence(shown))
    table_shows(state, expected, shown.select_one("details table"))


def words_show(expected, text):
    kept = expected["kept"]
    last = [expected["from"]] if expected["from"] else []
    tells(text, kept[3], (expected["heads"], 2), *last)
    assert ("No number" in text) == (expected["from"] == 0)


def table_shows(state, expected, table):
    T = min(state["queries"], state["tokens"])
    tells(table.caption.text, T, state["tokens"])
    for form, cells in zip(("plain", "absorbed"), rows(table), strict=True):
        stages = ("projections", "scores", "values", "total")
        for text, stage in zip(cells, stages, strict=True):
            assert sized(text) == pytest.approx(
                expected[form][stage], rel=5.001e-3
            )


def vectors_show(state, svg):
    """Each vector is as high as it has numbers, each head has a column."""
    plain = state["form"] == "plain"
    made = {
        "av-made-key": ["width", "rotated"] if plain else [],
        "av-made-value": ["width"] if plain else [],
        "av-made-query": [] if plain else ["latent", "rotated"],
    }
    highs = [sides(r)[3] for r in svg.select("rect.av-kept")[:2]]
    numbers = [state["latent"], state["rotated"]]
    for kind, keys in made.items():
        for path, key in zip(svg.select(f"path.{kind}"), keys, strict=True):
            columns = re.findall(r"v-(\S+?)h", path["d"])
            assert len(columns) == state["heads"]
            highs += map(float, columns)
            numbers += [state[key]] * len(columns)
    in_proportion(highs, numbers, near=0.02)
    texts = [t.text for t in svg.select("text")]
    for text in texts:
        if re.search(r"of \d+ head", text):
            tells(text, state["heads"])
        if text.startswith("made for each of"):
            tells(text, state["tokens"])


def bars_show(kept, svg):
    bars = svg.select("rect.av-other, rect.av-kept")
    left = sizes(bars, "x")
    in_proportion(sizes(bars)[left == left[-1]], kept, near=0.02)
    texts = [t.text for t in svg.select(".av-kept-number")]
    assert [read(t) for t in texts] == kept
    [grouped] = [t.text for t in svg.select("text") if "grouped," in t.text]
    tells(grouped, kept[1] // kept[2])


def plot_shows(state, expected, svg):
    """Both forms, where they cross and the handle, on logarithmic axes."""
    across, up = svg.select(".av-across"), svg.select(".av-up")
    rules = [path_of(p)[1] for p in svg.select(".av-rule")]
    counts = 2 ** np.arange(int(np.log2(state["tokens"])) + 1)
    T = min(state["queries"], state["tokens"])
    grip = svg.select_one("[data-handle=queries]")
    places, queries = [spot(grip)], [T]
    totals = [expected[state["form"]]["total"]]
    cross = svg.select_one(".av-cross")
    assert (cross is not None) == (expected["from"] > 0)
    if cross:
        places.append(spot(cross))
        queries.append(expected["from"])
        totals.append(counted(state, "plain", expected["from"])["total"])
    for form in ("plain", "absorbed"):
        line = path_of(svg.select_one(f".av-form-{form}"))
        places += np.reshape(line, (-1, 2)).tolist()
        queries += counts.tolist()
        totals += [counted(state, form, int(n))["total"] for n in counts]
    x, y = np.transpose(places)
    steps = [read(t.text) for t in across]
    on_one_scale([*sizes(across, "x"), *x], [*steps, *queries], log=True)
    on_one_scale(
        [rules[0], rules[-1], *y],
        [sized(up[0].text), sized(up[-1].text), *totals],
        log=True, up=True,
    )  # fmt: skip
    assert read(grip.select_one("text").text) == T
