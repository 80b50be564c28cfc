"""The figure of tiles: blocks visited, and the memory that they need."""

import re

import numpy as np

from helpers.attention import attention
from helpers.masks import causal_mask
from tests.figures.reading import (
    all_say,
    captions,
    cells_show,
    rows,
    sentence,
    tells,
    verdict,
    where,
)

CASES = [
    {"T": 12, "block_q": 4, "block_k": 4, "step": 0, "row": 0},
    {"T": 12, "block_q": 2, "block_k": 6, "step": 7, "row": 7},
    {"T": 8, "block_q": 8, "block_k": 1, "step": 8, "row": 7},
    {"T": 9, "block_q": 9, "block_k": 1, "step": 9, "row": 8},
    {"T": 13, "block_q": 5, "block_k": 3, "step": 6, "row": 9},
    {"T": 9, "block_q": 64, "block_k": 2, "step": 3, "row": 63},
    {"T": 20, "block_q": 6, "block_k": 7, "step": 8, "causal": False},
    {"T": 4, "block_q": 64, "block_k": 64, "step": 1, "row": 3},
    {"T": 6, "block_q": 1, "block_k": 3, "step": 2, "causal": False},
    {"T": 64, "block_q": 1, "block_k": 9, "step": 70},
]


def expected(state):
    """What the tiles show; a row is summed anew after each of its blocks."""
    T, row = state["T"], min(state["row"], state["T"] - 1)
    q, k = min(state["block_q"], T), min(state["block_k"], T)
    mask = causal_mask(T) if state["causal"] else np.ones((T, T), bool)
    i, j = np.arange(T)[:, None], np.arange(T)
    scores = np.where(mask, (1 + j / 8) * np.cos(i - 2 * j), -np.inf)
    blocks = [
        [a, min(a + q, T), b, min(b + k, T)]
        for a in range(0, T, q)
        for b in range(0, T, k)
        if mask[a : a + q, b : b + k].any()
    ]
    done = blocks[: state["step"]]
    seen = [block[2:] for block in done if row in range(*block[:2])]
    maxima = np.array([scores[row, :end].max() for _, end in seen])
    before = np.array([-np.inf, *maxima])[: len(maxima)]
    exps = np.exp(scores[row] - maxima[:, None])
    zeros = np.zeros((T, 1))
    bias = np.where(mask, scores, 0)
    weights = attention(zeros, zeros, zeros, mask=mask, bias=bias).weights

    tile = None
    if done:
        a, b, c, d = done[-1]
        here = np.where(mask, scores, -np.inf)[a:b, :d]
        tops = here.max(axis=1)
        tile = {
            "scores": np.where(mask, scores, np.nan)[a:b, c:d],
            "maxima": tops,
            "sums": np.exp(here - tops[:, None]).sum(axis=1),
        }

    def touched(some):
        computed = np.zeros((T, T), int)
        for a, b, c, d in some:
            computed[a:b, c:d] += 1
        assert computed.max(initial=0) <= 1, "no score is computed twice"
        return computed.sum()

    def keys(some):
        return sum(d - c for _, _, c, d in some)

    return {
        "tile": tile,
        "blocks": blocks,
        "done": len(done),
        "of_row": [len(seen), sum(row in range(*b[:2]) for b in blocks)],
        "maxima": maxima,
        "factors": np.exp(before - maxima),
        "added": [e[c:d].sum() for e, (c, d) in zip(exps, seen, strict=True)],
        "sums": [e[:d].sum() for e, (_, d) in zip(exps, seen, strict=True)],
        # The largest weight of a row is exp(0) over the sum.
        "plain": {
            "maximum": scores[row].max(),
            "sum": 1 / weights[row].max(),
        },
        "held": {"plain": scores.size, "tiled": q * k + 2 * q},
        "computed": {
            "plain": scores.size,
            "tiled": touched(blocks),
            "so_far": touched(done),
        },
        "keys_read": {
            "plain": T,
            "tiled": keys(blocks),
            "so_far": keys(done),
        },
    }


def shows(state, expected, shown):
    row = min(state["row"], state["T"] - 1)
    done = expected["done"]
    drawn = {
        kind: [
            [int(x) for x in (a, b, c, d)]
            for c, a, d, b in re.findall(
                r"M(\d+) (\d+)H(\d+)V(\d+)H\d+z", path["d"]
            )
        ]
        for kind in ("open", "done")
        for path in shown.select(f".av-tile-{kind}")
    }
    blocks = expected["blocks"]
    assert drawn.get("open", []) == blocks
    assert drawn.get("done", []) == blocks[:done]
    now = shown.select_one(".av-tile-now")
    assert ("opacity:1" in now["style"]) == (done > 0)
    a, b, c, d = blocks[max(done - 1, 0)]
    assert [float(now[k]) for k in ("x", "y", "width", "height")] == [
        c, a, d - c, b - a,
    ]  # fmt: skip
    for text in shown.select(".av-tiles text"):  # inside of its block
        a, b, c, d = blocks[int(text.text) - 1]
        assert c < float(text["x"]) < d
        assert a < float(text["y"]) <= b
    small_shows(state, expected, shown.select_one(".av-small"))

    memory, costs = shown.select("table")
    *steps, plain = rows(memory)
    history = zip(
        *(expected[key] for key in ("maxima", "factors", "added", "sums")),
        strict=True,
    )
    history = list(history)
    names = [th.text for th in memory.select("tbody th")]
    # As many rows before the first step as after the last.
    tiles = -(-state["T"] // state["block_k"])
    assert len(names) == min(tiles, 9) + 1
    earlier = max(len(history) - 8, 0)
    if earlier:
        assert names.pop(0) == f"{earlier} earlier"
        history, steps = history[-8:], steps[1:]
    for texts, numbers in zip(steps, history, strict=False):
        all_say(texts, numbers, 4)
    assert not any(map("".join, steps[len(history) :]))
    for b, name in enumerate(names[:-1], start=earlier):
        first = b * state["block_k"]
        last = min(first + state["block_k"], state["T"]) - 1
        one = f"key {first}"
        assert name == (one if first == last else f"keys {first} to {last}")
    maximum, sum_ = expected["plain"]["maximum"], expected["plain"]["sum"]
    all_say((plain[0], plain[3]), (maximum, sum_), 4)
    for texts, key in zip(
        rows(costs), ("held", "computed", "keys_read"), strict=True
    ):
        all_say([text for text in texts if text], expected[key].values())
    text = sentence(shown)
    seen, own = expected["of_row"]
    last = [(expected[key][-1], 4) for key in ("maxima", "sums") if seen]
    held = expected["held"]
    tells(
        text,
        *(done, len(blocks), row, *where(seen, seen, own), *last),
        *(held["plain"], held["tiled"]),
    )
    verdict(text, not_reached=not seen, the_same=seen == own)
    tells(captions(shown)[0], state["T"], state["T"], done, len(blocks))
    tells(memory.caption.text, row)


def small_shows(state, expected, svg):
    """The block that is in the small memory, and what its queries keep."""
    T, tile = state["T"], expected["tile"]
    if tile is None:
        assert not svg.g.find_all()
        return
    scores = np.array(tile["scores"], float)
    open_ = np.argwhere(~np.isnan(scores))
    far = 1 + (T - 1) / 8  # from the least to the largest that there can be
    cells_show(svg.g, scores / far, np.isnan(scores), hatch=False)
    texts = [t.text for t in svg.select(".av-in-cell")]
    all_say(texts, [scores[i, j] for i, j in open_][: len(texts)], 2)
    assert len(texts) in (0, len(open_))
    first = expected["blocks"][expected["done"] - 1][0]
    row = min(state["row"], T - 1) - first
    columns = [svg.select(f'text[x="{x}"]')[1:] for x in (244, 294)]
    every = range(len(scores))
    rows = every if len(columns[0]) == len(scores) else [row]
    for column, key in zip(columns, ("maxima", "sums"), strict=True):
        numbers = [tile[key][i] for i in rows if i in every]
        all_say([t.text for t in column], numbers, 3)
