"""The figure of a choice: what is read, what is missed, and what it costs."""

import numpy as np
import pytest

from course.figures import ChooseTokens
from helpers import cost
from helpers.attention import attention
from helpers.sparse import (
    chosen_attention,
    chosen_blocks,
    chosen_mask,
    index_scores,
    pooled_blocks,
)
from tests.figures.reading import (
    all_say,
    call,
    in_proportion,
    narrow,
    on_one_scale,
    path_of,
    read,
    says,
    sentence,
    sizes,
    spot,
    tells,
    verdict,
)

BLOCKS = {"way": "blocks"}
EXACT = {"way": "exact scores"}
WINDOW = {"way": "window"}
CASES = [
    {"k": 1},
    {"k": 16, "error": 3},
    {"error": 0},
    {"error": 2},
    *(BLOCKS | {"k": k, "length": n} for k in (1, 8, 15) for n in (2, 4, 8)),
    *(kind | {"k": k} for kind in (EXACT, WINDOW) for k in (1, 4, 16)),
    *(
        kind | {"query": query}
        for kind in ({}, BLOCKS, EXACT, WINDOW)
        for query in ("the last few words", "the whole text")
    ),
]
SCORES = call("() => QUERIES", of="sparse")
DISTURBANCE = call("() => DISTURBANCE", of="sparse")
VALUES = call("() => VALUES", of="sparse")
# DeepSeek-V3.2: 128 heads, whose keys have 512 + 64 columns and whose values
# have 512; 64 index heads of 128.
SIZES = {"d_k": 576, "d_v": 512, "n_heads": 128}


def read_with(state, k):
    """Where a budget of k leads, by the helpers; and the numbers it is by."""
    scores = np.array([SCORES[state["query"]]])
    way = state["way"]
    if way == "indexer":
        keys = np.stack([scores[0], DISTURBANCE], axis=1)
        picks = index_scores([[[1, state["error"]]]], keys, [[1.0]])
    elif way == "blocks":
        n = state["length"]
        means = pooled_blocks(scores.T, n).T
        picks = np.repeat(means, n, axis=-1)
        return chosen_blocks(means, max(1, k // n), n, 16), picks
    else:
        picks = scores if way == "exact scores" else 1 + np.arange(16.0)[None]
    return chosen_mask(picks, k), picks


def costs(state, n_read):
    """FLOPs of products alone: choosing, reading, and reading all."""
    all_, read = (cost.attention_flops(1, n, **SIZES) for n in (16, n_read))
    blocks = cost.attention_flops(1, 16 // state["length"], **SIZES)
    index = cost.index_flops(1, 16, n_heads=64, d_k=128)
    choosing = {
        "indexer": index["products"],
        "blocks": blocks["scores"],
        "window": 0,
        "exact scores": all_["scores"],
    }[state["way"]]
    exact = state["way"] == "exact scores"
    reading = read["values"] + (0 if exact else read["scores"])
    return choosing, reading, all_["scores"] + all_["values"]


def expected(state):
    keys = np.array(SCORES[state["query"]], float)[:, None]
    values = np.array(VALUES, float)[:, None]
    whole = attention([[1.0]], keys, values)
    weights = whole.weights[0]
    sets = [read_with(state, k)[0][0] for k in range(1, 17)]
    chosen, picks = read_with(state, state["k"])
    choosing, reading, all_ = costs(state, int(chosen.sum()))
    return {
        "weights": weights,
        "picks": picks[0],
        "chosen": chosen[0].tolist(),
        "answer": chosen_attention([[1.0]], keys, values, chosen)[0, 0],
        "whole": whole.output[0, 0],
        "missed": weights[~chosen[0]].sum(),
        "covered": [weights[read].sum() for read in sets],
        "best": np.cumsum(np.sort(weights)[::-1]),
        "choosing": choosing,
        "reading": reading,
        "all": all_,
    }


def shows(state, expected, shown):
    for drawing in (shown, narrow("sparse", state)):
        drawing_shows(state, expected, drawing.select_one(".av-sparse"))
    total = expected["choosing"] + expected["reading"]
    tells(
        sentence(shown),
        *([state["length"]] if state["way"] == "blocks" else []),
        sum(expected["chosen"]),
        16,
        (expected["missed"], 2),
        (expected["answer"], 3),
        (expected["whole"], 3),
        100 * total / expected["all"],
    )


def drawing_shows(state, expected, svg):
    chosen = np.array(expected["chosen"])
    columns = svg.select(".av-token-read")
    assert [part["opacity"] == "1" for part in columns] == chosen.tolist()
    most = 16 if state["way"] == "window" else 6
    for kind, name, high in (
        ("av-share", "weights", 0.8), ("av-pick", "picks", most)
    ):  # fmt: skip
        zero, top = svg.select(f".{kind}-tick")
        assert [read(zero.text), read(top.text)] == [0, high]
        bars = svg.select(f"rect.{kind}")
        axis = float(zero["y"]) - float(top["y"])
        in_proportion(
            [*sizes(bars, "height"), axis], [*np.abs(expected[name]), high]
        )
        skipped = ["av-skipped" in bar["class"] for bar in bars]
        assert skipped == (~chosen).tolist()
    all_say([t.text for t in svg.select(".av-sparse-value")], VALUES)
    says(svg.select_one(".av-loss").text.split()[1], expected["missed"], 2)
    verdict(
        " ".join(t.text for t in svg.select(".av-sparse-label")),
        index_score=state["way"] == "indexer",
        mean_score=state["way"] == "blocks",
        position=state["way"] == "window",
        score_of_attention=state["way"] == "exact scores",
    )
    # Budgets from 0 to 16, and the shares that they cover.
    numbers = [t for t in svg.select(".av-sparse-label") if t.text in "01"]
    budgets = svg.select(".av-budget")
    curves = np.array([path_of(path) for path in svg.select(".av-cover")])
    x, y = spot(svg.select_one("[data-handle=k]"))
    on_one_scale(
        [*sizes(budgets, "x"), *curves[:, ::2].ravel(), x],
        [*(int(t.text) for t in budgets), *np.tile(range(17), 2), state["k"]],
    )
    covered = [[0, *expected[key]] for key in ("best", "covered")]
    on_one_scale(
        [*(sizes(numbers, "y") - 4), *curves[:, 1::2].ravel(), y],
        [*(int(t.text) for t in numbers), *np.ravel(covered),
         expected["covered"][state["k"] - 1]],
        up=True,
    )  # fmt: skip
    bars_show(expected, svg)


def bars_show(expected, svg):
    """What choosing and reading cost: one bar after another, and all."""
    whole, part = svg.select("rect.av-reading")
    choosing = svg.select("rect.av-choosing")
    in_proportion(
        sizes([whole, part, *choosing]),
        [expected["all"], expected["reading"],
         *[expected["choosing"]] * len(choosing)],
    )  # fmt: skip
    assert len(choosing) == (expected["choosing"] > 0)
    shares = 1, (expected["choosing"] + expected["reading"]) / expected["all"]
    percents = [t.text.removesuffix("%") for t in svg.select(".av-percent")]
    all_say(percents, 100 * np.array(shares))


def test_the_budget_of_all_costs_more_than_reading_all_with_an_indexer():
    result = ChooseTokens(k=16).values
    assert result["missed"] == 0
    assert result["answer"] == pytest.approx(result["whole"], abs=1e-12)
    # A token costs 17 times as much to read as to index.
    assert result["reading"] == result["all"] == 17 * result["choosing"]
