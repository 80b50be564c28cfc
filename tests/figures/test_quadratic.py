"""The quadratic cost: one layer's FLOPs as areas, by the helpers' counts."""

import bisect

import numpy as np
import pytest

from helpers import cost
from tests.figures.reading import (
    captions,
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    rows,
    says,
    sentence,
    sizes,
    tells,
)

HEAD = 64  # columns of a head: how many heads there are cancels
PARTS = ["projections", "feed_forward", "products"]
MATRICES = {"none": 0, "two matrices": 2, "three matrices": 3}
NAMES = ["projections", "feed-forward", "two products"]
CASES = [
    {"T": 1024},
    {"T": 4608},
    {"T": 1, "d": 1024, "network": "three matrices"},
    {"T": 10240, "d": 128, "network": "none"},
    {"T": 10240, "skipped": True},
    {"T": 9216, "skipped": True, "network": "none", "d": 1024},
    {"T": 256, "d": 128, "skipped": True, "network": "three matrices"},
]


def flops(T, state):
    """By the helpers, which count products; hidden pairs one by one."""
    d = int(state["d"])
    core = cost.attention_flops(T, T, HEAD, HEAD, n_heads=d // HEAD)
    products = core["scores"] + core["values"]
    if state["skipped"]:
        per_pair, left = divmod(products, T * T)
        assert not left
        products = per_pair * T * (T + 1) // 2
    one = cost.projection_flops(T, d, 1, d_k=4 * d)["Q"]  # d by 4 d
    return {
        "projections": cost.projection_flops(T, d, d // HEAD)["total"],
        "feed_forward": MATRICES[state["network"]] * one,
        "products": products,
    }


class Ahead:
    """Whether the two products take as much as the rest, for each length."""

    def __init__(self, state):
        self.state = state

    def __getitem__(self, T):
        parts = flops(T, self.state)
        return (
            parts["products"] >= parts["projections"] + parts["feed_forward"]
        )


def expected(state):
    result = flops(state["T"], state)
    total = sum(result.values())
    # Per token the rest is constant and the products grow: halving finds it.
    crossing = bisect.bisect_left(Ahead(state), True, lo=1, hi=10**6)
    return {
        "flops": result,
        "total": total,
        "shares": [result[key] / total for key in PARTS],
        "crossing": crossing,
        "doubled": sum(flops(2 * state["T"], state).values()) / total,
    }


def area_of(element):
    if element.name == "rect":
        return float(element["width"]) * float(element["height"])
    _, _, wide, high, *_ = path_of(element)
    if element["d"].count("h"):  # a square
        return wide * high
    left, top, foot, right = path_of(element)
    return (right - left) * (foot - top) / 2  # half of one


def shows(state, expected, shown):
    for drawing in (shown, narrow("quadratic", state)):
        drawing_shows(state, expected, drawing)


def drawing_shows(state, expected, shown):
    svg, T = shown.select_one(".av-cost"), state["T"]
    flops_, shares = expected["flops"], expected["shares"]
    parts = {key: svg.select(f".av-cost-{key}") for key in PARTS}
    # Areas are in proportion: half a square is drawn without its diagonal.
    # Sides are drawn to a hundredth of a pixel, the least has four.
    areas = {
        key: sum(map(area_of, result[:-1])) for key, result in parts.items()
    }
    areas["products"] *= (T + 1) / T if state["skipped"] else 1
    unit = areas["projections"] / flops_["projections"]
    for key in PARTS:
        assert areas[key] == pytest.approx(
            unit * flops_[key], rel=0.012 + 0.6 / T
        )
    # The bar: one piece after another, as long as their shares.
    bar = [result[-1] for result in parts.values()]
    in_proportion(sizes(bar), shares)
    on_one_scale(sizes(bar, "x"), np.cumsum([0, *shares])[:-1])
    # The dashed square: where the two products take as much as the rest.
    dashed, ticks = svg.select(".av-crossing"), svg.select(".av-ticked")
    assert len(dashed) == (expected["crossing"] <= 10240)
    says(ticks[-1].text, 10240)
    far = float(ticks[-1]["x"]) - float(ticks[0]["x"])
    in_proportion(
        [far, *sizes(dashed), *sizes(dashed, "height")],
        [10240, *2 * len(dashed) * [expected["crossing"]]],
    )
    widths = {"projections": 8, "feed_forward": 8 * MATRICES[state["network"]]}
    for k, (cells, key) in enumerate(zip(rows(shown.table), [*PARTS, ""],
                                         strict=True)):  # fmt: skip
        n = flops_.get(key, expected["total"])
        assert cells[1] == f"{n:,}"
        says(cells[2][:-1], 100 * [*shares, 1][k], 1)
        if key in widths:
            assert cells[0] == f"{widths[key]} T d²"
            assert n == widths[key] * T * state["d"] ** 2
    tells(
        sentence(shown),
        T,
        state["d"],
        (100 * shares[2], 1),
        expected["crossing"],
        (expected["doubled"], 2),
    )
    tells(captions(shown)[0].partition(";")[0], T)
    # However narrow a part of the bar is, it has its name and its share.
    texts = [t.text for t in svg.select("text:not([class])")]
    for name, share in zip(NAMES, shares, strict=True):
        assert (name in texts) == (share > 0)
        if share > 0:
            says(texts[texts.index(name) + 1][:-1], 100 * share, 1)
    alone = next(t.text for t in svg.select("text") if "alone" in t.text)
    per_token = flops_["projections"] + flops_["feed_forward"]
    tells(alone, per_token / (4 * T * state["d"] ** 2))
