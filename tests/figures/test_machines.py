"""The tree and the ring: what the machines hold, and what they send."""

import copy
import math

import numpy as np

from helpers.attention import attention
from helpers.softmax import logsumexp, softmax
from helpers.tiled import merge_partials
from tests.figures.reading import (
    all_say,
    captions,
    curves,
    follows,
    on_one_scale,
    path_of,
    sentence,
    spot,
    tells,
    verdict,
    where,
)

SIZES = [2, 1, 3, 3, 1, 5, 4, 5]
VALUES = np.array([[3.0], [0], [4], [2], [6], [0], [0], [9]])
CASES = [
    {"step": 0},
    {"step": 2.5},
    {"step": 3, "machines": 8},
    {"step": 5.2, "machines": 8, "T": 12},
    {"plan": "ring", "T": 5, "step": 1.4},
    {"plan": "ring", "T": 6, "machines": 8, "step": 7},
    {"plan": "ring", "T": 1, "machines": 2, "step": 0.3},
    {"plan": "ring", "T": 12, "machines": 8, "step": 6.999},
]


def simulate(state):
    """The plan as programs that hold arrays and send them to one another.

    Returns the steps of the plan, each a list of (from, to, kind, numbers),
    and what every machine holds after each step: (output, logsumexp) by query.
    """
    N, T = state["machines"], state["T"]
    Q = np.cos(np.arange(T))[:, None]
    K = np.log(SIZES)[:, None]
    keys = np.array_split(np.arange(8), N)

    def attend(rows, at):
        scores = Q[rows] @ K[at].T
        return softmax(scores) @ VALUES[at], logsumexp(scores)

    def merge(a, b):
        both = [np.stack(pair) for pair in zip(a, b, strict=True)]
        return tuple(merge_partials(*both))

    rows = np.arange(T)
    if state["plan"] == "tree":
        held = {0: attend(rows, keys[0])}
        steps, after = [], [dict(held)]
        gap = N // 2
        while gap:
            sent = [(m, m + gap, "query", Q.size) for m in sorted(held)]
            for _, to, *_ in sent:
                held[to] = attend(rows, keys[to])
            steps.append(sent)
            after.append(dict(held))
            gap //= 2
        while len(held) > 1:
            pairs = np.array(sorted(held)).reshape(-1, 2).tolist()
            numbers = sum(x.size for x in held[0])
            for to, from_ in pairs:
                held[to] = merge(held[to], held.pop(from_))
            steps.append([(b, a, "weight", numbers) for a, b in pairs])
            after.append(dict(held))
        own = dict.fromkeys(range(N), rows)
    else:
        own = dict(enumerate(np.array_split(rows, N)))
        visits = list(range(N))  # whose shard a machine holds
        held = {m: attend(own[m], keys[m]) for m in own}
        steps, after = [], [dict(held)]
        for _ in range(N - 1):
            steps.append(
                [(m, (m + 1) % N, "key", 2 * len(keys[visits[m]]))
                 for m in range(N)]
            )  # fmt: skip
            visits = [visits[m - 1] for m in range(N)]
            held = {
                m: merge(held[m], attend(own[m], keys[visits[m]])) for m in own
            }
            after.append(dict(held))
    return steps, after, own


def clock(state):
    steps, after, own = simulate(state)
    time = min(state["step"], len(steps))
    return steps, after[math.floor(time + 1e-9)], own, time


def totals(state):
    """Numbers that each plan sends, by the sizes of what it sends."""
    return {
        plan: sum(
            size
            for step in simulate(state | {"plan": plan})[0]
            for *_, size in step
        )
        for plan in ("tree", "ring")
    }


def expected(state):
    steps, held, own, time = clock(state)
    N, T = state["machines"], state["T"]
    done = math.floor(time + 1e-9)
    outputs, sums = np.full((2, N, T), np.nan)
    for m, (output, lse) in held.items():
        outputs[m, own[m]] = output[:, 0]
        sums[m, own[m]] = lse
    sent = {"query": 0, "weight": 0, "key": 0}
    for step in steps[:done]:
        for *_, kind, size in step:
            sent[kind] += size
    Q, K = np.cos(np.arange(T))[:, None], np.log(SIZES)[:, None]
    ring = totals(state)["ring"]
    return {
        "steps": len(steps),
        "done": done,
        "time": time,
        "sent": {
            "queries": sent["query"],
            "results": sent["weight"],
            "keys": sent["key"],
        },
        "totals": totals(state),
        "ring_from": next(
            n for n in range(99) if totals(state | {"T": n})["tree"] > ring
        ),
        "outputs": outputs,
        "logsumexps": sums,
        "whole": {
            "outputs": attention(Q, K, VALUES, scale=1.0).output[:, 0],
            "logsumexps": logsumexp(Q @ K.T),
        },
    }


def shows(state, expected, shown):
    N, T, plan = state["machines"], state["T"], state["plan"]
    steps, _, _, time = clock(state)
    done, every = expected["done"], len(steps)
    svg, chart = shown.select("svg")
    results_show(state, expected, svg)
    # Keys: a machine's own, and those that visit it.
    names = [
        f"k{a[0]}–{a[-1]}" if len(a) > 1 else f"k{a[0]}"
        for a in np.array_split(np.arange(8), N)
    ]
    chips = [t.text for t in svg.select("text.av-key:not(.av-goes)")]
    assert chips == [
        name
        for m in range(N)
        for name in (
            names[m],
            *where(plan == "ring" and done, names[(m - done) % N]),
        )
    ]
    going = steps[done] if done < every and time > done else []
    all_say(
        [t.text for t in svg.select("text.av-goes")],
        [size for *_, size in going],
    )
    messages_show(svg, state, steps, done, going)
    tells(captions(shown)[0], N, 8, done, every)
    # The chart: both plans, and the state's own count.
    both = expected["totals"]
    frame = copy.copy(chart)
    grip = frame.select_one(".av-grip").extract()
    lines, _, near = curves(frame)
    for line, count in zip(lines, ("tree", "ring"), strict=True):
        ends = [[n, totals(state | {"T": n})[count]] for n in (0, 12)]
        follows(line, ends, near)
    paths = [path_of(p) for p in frame.select("path.av-line")]
    places = np.array([[p[:2], p[-2:]] for p in paths])
    x, y = spot(grip)
    on_one_scale([*places[0, :, 0], x], [0, 12, T])
    on_one_scale(
        [*places[..., 1].ravel(), y],
        [*np.ravel([np.array(line)[[0, -1], 1] for line in lines]),
         both[plan]],
        near=0.11,
        up=True,
    )  # fmt: skip
    tells(captions(shown)[1], N, 8)
    sentence_tells(state, expected, sentence(shown))


def results_show(state, expected, svg):
    """The sum and the output of each machine's first query."""
    N, done = state["machines"], expected["done"]
    texts = [t.text for t in svg.select("text:not([class])")]
    rows = np.array(expected["outputs"], float)
    firsts = [
        (m, np.flatnonzero(~np.isnan(row))[0])
        for m, row in enumerate(rows)
        if not np.isnan(row).all()
    ]
    for (m, i), one, other in zip(
        firsts, texts[::2], texts[1::2], strict=True
    ):
        tells(one, i, (math.exp(expected["logsumexps"][m][i]), 3))
        tells(other, (rows[m, i], 3))
    idle = [t.text for t in svg.select(".av-idle")]
    assert len(idle) == N - len(firsts)
    sent_on = state["plan"] == "tree" and done > int(math.log2(N))
    assert set(idle) <= {"sent on" if sent_on else
                         "no query" if state["plan"] == "ring" else
                         "no query yet"}  # fmt: skip


def sentence_tells(state, expected, text):
    done, every, both = (expected[k] for k in ("done", "steps", "totals"))
    all_, finished = sum(expected["sent"].values()), done == every
    output, tree = expected["outputs"][0][0], state["plan"] == "tree"
    tells(
        text,
        *(done, every, all_),
        *(0, (output, 3), *where(finished, 8)),
        *(both["tree"], both["ring"]),
    )
    same = abs(output - expected["whole"]["outputs"][0]) < 1e-9
    assert same or not finished
    verdict(text, so_far=not finished, one_place=finished)
    verdict(text, Tree=tree, Ring=not tree)


def messages_show(svg, state, steps, done, going):
    """What each link took last, unless something is on its way there."""
    N, last = state["machines"], {}
    for step in steps[:done]:
        for pair in {frozenset(move[:2]) for move in step}:
            last[pair] = [m for m in step if frozenset(m[:2]) == pair]
    for move in going:
        last.pop(frozenset(move[:2]), None)
    heads = svg.select(".av-arrowhead")
    assert len(heads) == sum(len(messages) for messages in last.values())
    words = [t for t in svg.select(".av-carried") if "number" in t.text]
    if N < 8:
        sent = [some[0][2:] for some in last.values()]
    else:
        sent = [step[0][2:] for step in steps[:done][-1:]]
    sizes_ = sorted(int(t.text.split()[0]) for t in words)
    assert sizes_ == sorted(size for _, size in sent)
    verdict(
        " ".join(t.text for t in svg.select(".av-carried")),
        on_a_visit=state["plan"] == "ring",
        output=any(kind == "weight" for kind, _ in sent),
    )


def test_a_finished_plan_stays_finished_on_more_machines(page):
    page.open("machines")
    assert page.run("machines.changePlans") == [6, 7, 3, 3]
