"""Machines under a causal mask: work by round, and who waits."""

import re

import numpy as np

from helpers.masks import causal_mask
from tests.figures.reading import (
    captions,
    on_one_scale,
    path_of,
    sentence,
    sizes,
    spot,
    tells,
    verdict,
)

PLANS = ["contiguous", "striped", "zigzag"]
CASES = [
    {"plan": "striped", "time": 20},
    {"plan": "zigzag", "time": 17, "follow": 3},
    {"machines": 8, "S": 64, "plan": "zigzag", "time": 100, "follow": 7},
    {"machines": 2, "S": 32, "time": 0, "follow": 5},
    {"machines": 8, "time": 25},
]


def owners(plan, N, S):
    """The machine of each position."""
    p = np.arange(S)
    if plan == "striped":
        return p % N
    if plan == "zigzag":
        block = p // (S // (2 * N))
        return np.minimum(block, 2 * N - 1 - block)
    return p // (S // N)


def work(plan, N, S):
    """Pairs of machine w in round r, by the mask: [r, w]."""
    owner, mask = owners(plan, N, S), causal_mask(S)
    rounds = np.zeros((N, N), int)
    for p, k in np.argwhere(mask):
        w = owner[p]
        rounds[(w - owner[k]) % N, w] += 1
    return rounds


def expected(state):
    plan, N, S = state["plan"], state["machines"], state["S"]
    owner, rounds = owners(plan, N, S), work(plan, N, S)
    lengths = rounds.max(axis=1)
    starts = np.cumsum([0, *lengths[:-1]])
    ends = {p: work(p, N, S).max(axis=1).sum() for p in PLANS}
    time = min(state["time"], ends[plan])
    when = np.full((S, S), np.nan)
    past = starts[:, None] + np.zeros(N)  # how far each machine is
    for p, k in np.argwhere(causal_mask(S)):
        r, w = (owner[p] - owner[k]) % N, owner[p]
        past[r, w] += 1
        when[p, k] = past[r, w]
    pairs = causal_mask(S).sum()
    return {
        "owner": owner,
        "rounds": rounds,
        "lengths": lengths,
        "starts": starts,
        "ends": ends,
        "time": time,
        "when": when,
        "pairs": pairs,
        "perfect": pairs / N,
        "busy": rounds.sum() / (N * lengths.sum()),
        "done": (when <= time).sum(),
    }


def cells(path):
    """The pairs in the bars of a path, each once."""
    bars = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path["d"])
    result = [
        (int(p), int(first) + k)
        for first, p, wide, back in bars
        for k in range(int(wide))
        if wide == back
    ]
    assert len(result) == len(set(result))
    return set(result)


def shows(state, expected, shown):
    N, S, plan = state["machines"], state["S"], state["plan"]
    follow = min(state["follow"], N - 1)
    owner, when = np.array(expected["owner"]), np.array(expected["when"])
    time, ends = expected["time"], expected["ends"]
    triangle, bars = shown.select("svg")
    for w in range(N):
        drawn = set().union(*map(cells, triangle.select(f".av-m{w}")))
        mine = (when <= time) & (owner == w)[:, None]
        assert drawn == {tuple(at) for at in np.argwhere(mine).tolist()}
    names = triangle.select("text")[2:]
    rows = np.rint((sizes(names, "y") - float(names[0]["y"])) * S / 200)
    assert [int(t.text) for t in names] == owner[rows.astype(int)].tolist()
    times_show(expected, bars)
    numbers = [t.text for t in bars.select("text") if "machine" not in t.text]
    perfect = expected["perfect"]
    tells(numbers[1], (perfect, 0 if perfect == int(perfect) else 1))
    tells(numbers[3], ends[plan])
    assert bars.select_one(".av-here").text == f"machine {follow}"
    tells(captions(shown)[0], S, S)
    tells(captions(shown)[1], N, N)
    others = [p for p in PLANS if p != plan]
    mine = expected["rounds"][:, follow]
    text = sentence(shown)
    tells(
        text,
        *(ends[plan], (100 * (1 - expected["busy"]), 0)),
        *(ends[p] for p in others),
        *(follow, ends[plan] - mine.sum()),
    )
    verdict(text, **{f"With {plan}": True})
    assert [p for p in re.findall(r"[a-z]+", text) if p in others] == others


def times_show(expected, bars):
    """Work, waiting, walls and the handle stand on one scale of times."""
    starts, lengths = expected["starts"], expected["lengths"]
    till = starts[:, None] + expected["rounds"]  # [round, machine]
    until = np.broadcast_to((starts + lengths)[:, None], till.shape)
    begun = np.broadcast_to(starts[:, None], till.shape)

    def ends_by_machine(kind):
        paths = map(path_of, bars.select(f"path.{kind}"))
        return [p[:3:2] for p in sorted(paths, key=lambda p: (p[1], p[0]))]

    work = [p for w in range(len(starts)) for p in ends_by_machine(f"av-m{w}")]
    walls = [path_of(path)[0] for path in bars.select(".av-cut")]
    ideal = path_of(bars.select_one(".av-ideal"))[0]
    x, _ = spot(bars.select_one('[data-handle="time"]'))
    on_one_scale(
        [*np.ravel(work), *np.ravel(ends_by_machine("av-wait")),
         *walls, ideal, x],
        [*np.stack([begun.T, till.T], -1).ravel(),
         *np.stack([till.T, until.T], -1).ravel(),
         *starts[1:], expected["perfect"], expected["time"]],
    )  # fmt: skip


def test_another_plan_is_shown_done_where_all_was_done(page):
    page.open("balance")
    assert page.run("balance.changePlans") == [100, 50, 50]
