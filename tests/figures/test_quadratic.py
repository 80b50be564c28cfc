"""The quadratic cost: one layer's FLOPs as areas, by the helpers' counts."""

import bisect

import numpy as np
import pytest

from helpers import cost
from tests.figures.reading import (
    captions,
    path_of,
    rows,
    says,
    sentence,
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
    found = flops(state["T"], state)
    total = sum(found.values())
    # Per token the rest is constant and the products grow: halving finds it.
    crossing = bisect.bisect_left(Ahead(state), True, lo=1, hi=10**6)
    return {
        "flops": found,
        "total": total,
        "shares": [found[key] / total for key in PARTS],
        "crossing": crossing,
        "doubled": sum(flops(2 * state["T"], state).values()) / total,
    }


def sides(element):
    return [float(element[k]) for k in ("x", "y", "width", "height")]


def area_of(element):
    if element.name == "rect":
        _, _, wide, high = sides(element)
        return wide * high
    numbers = path_of(element)
    if element["d"].count("h"):  # a square
        _, _, wide, high, _ = numbers
        return wide * high
    left, top, foot, right = numbers  # half of one
    return (right - left) * (foot - top) / 2


def shows(state, expected, shown):
    svg = shown.select_one(".av-cost")
    drawn, shares = {}, []
    for key in PARTS:
        found = svg.select(f".av-cost-{key}")
        drawn[key] = found[:-1]
        shares.append(found[-1])
    # Areas are in proportion: half a square is drawn without its diagonal.
    ratio = {
        key: sum(map(area_of, drawn[key])) / expected["flops"][key]
        for key in PARTS
        if expected["flops"][key]
    }
    T = state["T"]
    if state["skipped"]:
        ratio["products"] *= (T + 1) / T
    assert bool(drawn["feed_forward"]) == (state["network"] != "none")
    # Sides are drawn to a hundredth of a pixel, the least has four.
    near = ratio["projections"]
    thin = 0.012 + 0.6 / T  # a side may have few hundredths
    assert all(r == pytest.approx(near, rel=thin) for r in ratio.values())
    # The bar: one piece after another, as long as their shares.
    left = 8
    for rect, share in zip(shares, expected["shares"], strict=True):
        x, _, wide, _ = sides(rect)
        assert (x, wide) == pytest.approx((left, 450 * share), abs=0.011)
        left += 450 * share
    # The dashed square: where the two products take as much as the rest.
    dashed = svg.select(".av-crossing")
    assert len(dashed) == (expected["crossing"] <= 10240)
    ticks = svg.select(".av-ticked")
    says(ticks[-1].text, 10240)
    unit = (float(ticks[-1]["x"]) - float(ticks[0]["x"])) / 10240
    for rect in dashed:
        x, _, wide, high = sides(rect)
        assert (
            wide
            == high
            == pytest.approx(unit * expected["crossing"], abs=0.011)
        )
        assert x == float(ticks[0]["x"])
    table = rows(shown.table)
    for k, (cells, key) in enumerate(zip(table, [*PARTS, ""], strict=True)):
        n = expected["flops"].get(key, expected["total"])
        assert cells[1] == f"{n:,}"
        says(cells[2][:-1], 100 * [*expected["shares"], 1][k], 1)
        factor = {
            "projections": 8,
            "feed_forward": 8 * MATRICES[state["network"]],
        }
        if key in factor:
            assert cells[0] == f"{factor[key]} T d²"
            assert n == factor[key] * T * state["d"] ** 2
    names = [th.text for th in shown.table.select("tbody th")]
    assert names == [*NAMES, "layer"]
    tells(
        sentence(shown),
        T,
        state["d"],
        (100 * expected["shares"][2], 1),
        expected["crossing"],
        (expected["doubled"], 2),
    )
    tokens = f"{T:,} token{'s' if T > 1 else ''}"
    assert f"for each of {tokens};" in captions(shown)[0]
    assert sentence(shown).startswith(f"With {tokens} and width")
    # However narrow a part of the bar is, it has its name and its share.
    texts = [t.text for t in svg.select("text:not([class])")]
    for name, share in zip(NAMES, expected["shares"], strict=True):
        assert (name in texts) == (share > 0)
        if share > 0:
            says(texts[texts.index(name) + 1][:-1], 100 * share, 1)
    # The area has the parts in the order of the bar.
    left = {key: sides(drawn[key][0])[0] for key in PARTS[:2] if drawn[key]}
    assert [*left.values()] == sorted(left.values())
    alone = next(t.text for t in svg.select("text") if "alone" in t.text)
    per_token = (
        expected["flops"]["projections"] + expected["flops"]["feed_forward"]
    )
    tells(alone, per_token / (4 * T * state["d"] ** 2))


def test_quadratic_crossings_are_those_of_the_lesson():
    for network, widths in zip(MATRICES, (2, 6, 8), strict=True):
        state = {"d": 768, "network": network, "skipped": False, "T": 256}
        assert expected(state)["crossing"] == widths * 768
        state["skipped"] = True
        assert expected(state)["crossing"] == 2 * widths * 768 - 1
        assert np.isfinite(expected(state)["doubled"])
