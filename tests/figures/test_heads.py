"""The figure of heads: who owns which columns, and who shares keys."""

import re

import numpy as np
import pytest

from helpers.cost import kv_cache_bytes, projection_flops
from helpers.heads import repeat_kv, split_heads
from tests.figures.reading import (
    all_say,
    captions,
    path_of,
    rows,
    sentence,
    tells,
    verdict,
    where,
)

CASES = [
    {"H": 4, "H_kv": 2, "d_k": 3, "column": 7},
    {"H": 24, "H_kv": 1, "d_k": 1, "column": 23},
    {"H": 12, "H_kv": 4, "d_k": 3, "column": 17},
    {"H": 6, "H_kv": 3, "d_k": 128, "column": 8191},
    {"H": 64, "H_kv": 16, "d_k": 2, "column": 0},
    {"H": 1, "H_kv": 1},
    {"H": 4, "H_kv": 1},
    {"H": 4, "H_kv": 4},
    {"H": 10, "H_kv": 5, "d_k": 1},
    {"H": 25, "H_kv": 5, "d_k": 1},  # a column too many to be drawn
]


def fitted(state):
    """The state, if its heads can share keys."""
    return state if state["H"] % state["H_kv"] == 0 else None


def expected(state):
    """What the heads show: column numbers are split, groups repeated."""
    H, H_kv, d = state["H"], state["H_kv"], state["d_k"]
    split = split_heads(np.arange(H * d)[None], H)[:, 0]
    readers = repeat_kv(np.arange(H_kv)[:, None, None], H // H_kv).ravel()
    column = min(state["column"], split.size - 1)
    ((head, place),) = np.argwhere(split == column)
    # Two FLOPs for each weight that one token meets.
    flops = {n: projection_flops(1, H * d, H, n) for n in (H_kv, H)}
    weights = {f"W_{key}": n // 2 for key, n in flops[H_kv].items()}
    weights["total"] = weights.pop("W_total")
    cache = {n: kv_cache_bytes(1, 1, n, d, d, 2) for n in (H_kv, H)}
    return {
        "split": split,
        "kv_head": readers,
        "followed": [column, head, place, readers[head]],
        "parameters": weights,
        "cache": cache[H_kv],
        "multi_head": {"total": flops[H]["total"] // 2, "cache": cache[H]},
    }


def shows(state, expected, shown):
    H, H_kv, d_k = state["H"], state["H_kv"], state["d_k"]
    tables = shown.select("table")
    cuts_show(state, expected, shown.select_one(".av-cuts"))
    (counts,) = tables
    sizes, full = expected["parameters"], expected["multi_head"]
    lines = [[sizes[name], full["total"] / 4] for name in list(sizes)[:4]]
    lines += [[sizes["total"], full["total"]]]
    lines += [[expected["cache"], full["cache"]]]
    for texts, numbers in zip(rows(counts), lines, strict=True):
        all_say(texts, numbers)
    at, head, place, group = expected["followed"]
    share = H // H_kv
    cache, full_cache = expected["cache"], full["cache"]
    assert full_cache == share * cache
    text = sentence(shown)
    tells(
        text,
        *(share, at, place, head, at, head, d_k, place, group, group, cache),
        *where(share > 1, 1, share),
    )
    verdict(
        text.partition(":")[0],
        **{"Multi-query": H_kv == 1 < H, "Multi-head": H == H_kv},
        Grouped=1 < H_kv < H,
    )
    n = H * d_k
    told = captions(shown)
    tells(told[0], n, H, H_kv, at, head, group, group)
    assert [c.text for c in counts.select("thead th")] == [
        f"H_kv = {H_kv}", "multi-head",
    ]  # fmt: skip
    tells(counts.caption.text, n, 16)
    names = [t.text for t in shown.select(".av-cuts .av-name")]
    kv = [f"{c}{g}" for c in "KV" for g in range(H_kv)]
    assert names in ([], [*(f"Q{h}" for h in range(H)), *kv])


def cuts_show(state, expected, svg):
    """Columns of heads to scale, and lines to what each head reads."""
    H, H_kv = state["H"], state["H_kv"]
    n, wide = H * state["d_k"], 336 / H
    rects = [[float(r[a]) for a in ("x", "y", "width")] for r in svg("rect")]
    colours = [r["class"][1] for r in svg("rect")]
    queries, keys, values = rects[:H], rects[H : H + H_kv], rects[H + H_kv :]
    kept, whole = (
        path_of(svg.select_one(f".av-cache-{kind}"))
        for kind in ("kept", "all")
    )
    share = (kept[2] - kept[0]) / whole[2]
    assert share == pytest.approx(H_kv / H, abs=1e-4)
    readers = np.array(expected["kv_head"])
    middles = [
        2 + wide * (np.flatnonzero(readers == g).mean() + 0.5)
        for g in range(H_kv)
    ]
    for some, at in ((keys, 96), (values, 120)):
        wanted = [[x - wide / 2, at, wide] for x in middles]
        np.testing.assert_allclose(some, wanted, atol=0.0051)
    wanted = [[2 + h * wide, 22, wide] for h in range(H)]
    np.testing.assert_allclose(queries, wanted, atol=0.0051)
    assert colours[H:] == 2 * colours[H : H + H_kv]
    assert colours[:H] == [colours[H + g] for g in readers]
    ends_ = re.findall(r"M(\S+) 46L(\S+) 96", svg.select_one(".av-reads")["d"])
    wanted = [
        [2 + (h + 0.5) * wide, middles[g]] for h, g in enumerate(readers)
    ]
    np.testing.assert_allclose(np.array(ends_, float), wanted, atol=0.0051)
    at, head, *_ = expected["followed"]
    here = re.findall(
        r"M(\S+) 46L(\S+) 96", svg.select_one(".av-reads-here")["d"]
    )
    assert here == [ends_[head]]
    x, y, width, *_ = path_of(svg.select_one(".av-ring"))
    assert [x, y, width] == pytest.approx(
        [2 + 336 * at / n, 22, max(336 / n, 2)], abs=0.0051
    )
    fine = svg.select(".av-fine")
    assert len(fine) == (n > 1 and 336 / n >= 4)
    for path in fine:
        cuts = [float(x) for x in re.findall(r"M(\S+) 22v5", path["d"])]
        wanted = [2 + 336 * c / n for c in range(1, n)]
        np.testing.assert_allclose(cuts, wanted, atol=0.0051)


def test_end_of_the_bar_snaps_to_a_number_that_fits(page):
    page.open("heads", H=12, H_kv=12, d_k=2)
    assert page.run("heads.moveEnd") == [
        # 11 and 5 do not fit; 3 and 2 do.
        [6, "H_kv is now 6: "[:15]], [4, "H_kv is now 4: "[:15]], [3, ""],
        [2, ""],
    ]  # fmt: skip
    box = page.tab.locator("[data-handle=share] .av-cache-end").bounding_box()
    svg = page.tab.locator(".av-cuts").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.tab.mouse.move(x, y)
    page.tab.mouse.down()
    # Five of twelve heads do not fit: the next on the way is six.
    page.tab.mouse.move(x + svg["width"] * 336 / 350 * 3 / 12, y)
    page.tab.mouse.up()
    assert page.do("await frame(); return [m.state.H_kv, error()]") == [
        6,
        "H_kv is now 6: it must divide H = 12, "
        "so it can be 1, 2, 3, 4, 6, 12.",
    ]  # fmt: skip
