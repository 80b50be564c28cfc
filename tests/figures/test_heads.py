"""The figure of heads: who owns which columns, and who shares keys."""

import re

import numpy as np

from helpers.cost import kv_cache_bytes, projection_flops
from helpers.heads import repeat_kv, split_heads
from tests.figures.reading import (
    all_say,
    captions,
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    rows,
    sentence,
    sizes,
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
    for drawing in (shown, narrow("heads", state)):
        cuts_show(state, expected, drawing.select_one(".av-cuts"))
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
        *(share, at, place, head, group, group),
        *where(share > 1, 1, share),
    )
    verdict(
        text.partition(":")[0],
        **{"Multi-query": H_kv == 1 < H, "Multi-head": H == H_kv},
        Grouped=1 < H_kv < H,
    )
    n = H * d_k
    message = captions(shown)
    tells(message[0], n, H, H_kv, at, head, group, group)
    assert [c.text for c in counts.select("thead th")] == [
        f"Hkv = {H_kv}", "multi-head",
    ]  # fmt: skip
    tells(counts.caption.text, n, 16)
    names = [t.text for t in shown.select(".av-cuts .av-name")]
    kv = [f"{c}{g}" for c in "KV" for g in range(H_kv)]
    assert names in ([], [*(f"Q{h}" for h in range(H)), *kv])


def cuts_show(state, expected, svg):
    """Lines lead from each query head to the head whose keys it reads."""
    H, H_kv = state["H"], state["H_kv"]
    kept, whole = (
        path_of(svg.select_one(f".av-cache-{kind}"))
        for kind in ("kept", "all")
    )
    in_proportion([kept[2] - kept[0], whole[2]], [H_kv, H])
    left, wide = sizes(svg("rect"), "x"), sizes(svg("rect"))
    queries, keys, values = np.split(left + wide / 2, [H, H + H_kv])
    readers = np.array(expected["kv_head"])
    on_one_scale(queries, np.arange(H))
    np.testing.assert_array_equal(keys, values)
    lines = re.findall(r"M(\S+) 46L(\S+) 96", svg.select_one(".av-reads")["d"])
    np.testing.assert_allclose(
        np.array(lines, float), np.c_[queries, keys[readers]], atol=0.02
    )
    # The column that is followed is inside of its head.
    _, head, *_ = expected["followed"]
    here = re.findall(
        r"M(\S+) 46L(\S+) 96", svg.select_one(".av-reads-here")["d"]
    )
    assert here == [lines[head]]
    x, _, width, *_ = path_of(svg.select_one(".av-ring"))
    ring = x + min(width, wide[0]) / 2
    assert left[head] - 0.1 <= ring <= left[head] + wide[0] + 2


def test_end_of_the_bar_snaps_to_a_number_that_fits(page):
    page.open("heads", H=12, H_kv=12, d_k=2)
    # 11 and 5 do not fit; 3 and 2 do.
    assert page.run("heads.moveEnd") == [
        [6, "H_kv is now 6: "[:15]], [4, "H_kv is now 4: "[:15]], [3, ""],
        [2, ""],
    ]  # fmt: skip
