"""The tree and the ring: what the machines hold, and what they send."""

import copy
import math
import re

import numpy as np
import pytest

from course.figures import Machines
from helpers.attention import attention
from helpers.softmax import logsumexp, softmax
from helpers.tiled import merge_partials
from tests.figures.agreement import assert_same
from tests.figures.reading import (
    all_say,
    captions,
    curves,
    follows,
    path_of,
    sentence,
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


def middle(m, N):
    angle = 2 * math.pi * m / N
    return np.array([180 + 138 * math.sin(angle), 134 - 107 * math.cos(angle)])


def link(from_, to, N):
    """Both ends of a link, and the control point between them."""
    a, b = middle(from_, N), middle(to, N)
    c = (a + b) / 2
    around = N == 8 and abs(from_ - to) == 2  # a machine between the ends
    return a, (c + np.array([180, 134])) / 2 if around else c, b


def along(way, t):
    """A point of a link, and its direction there, by two cuts."""
    a, c, b = way
    p, q = a + t * (c - a), c + t * (b - c)
    return p + t * (q - p), q - p


def in_sight(way):
    """The first and the last hundredth of a link outside of both machines."""
    a, _, b = way
    points = np.array([along(way, t / 100)[0] for t in range(101)])
    away = np.abs(points[:, None] - np.array([a, b])) > [46, 29]
    free = np.flatnonzero(away.any(axis=2).all(axis=1)) / 100
    return free[0], free[-1]


def shows(state, expected, shown):
    N, T, plan = state["machines"], state["T"], state["plan"]
    steps, _, _, time = clock(state)
    done, every = expected["done"], len(steps)
    svg, chart = shown.select("svg")
    for m, box in enumerate(svg.select(".av-machine")):
        found = [float(box[k]) for k in ("x", "y")]
        assert found == pytest.approx(middle(m, N) - [40, 25], abs=0.051)
    assert len(svg.select(".av-machine")) == N
    # Results: the sum and the output of each machine's first query.
    texts = [t.text for t in svg.select("text:not([class])")]
    firsts = [
        (m, np.flatnonzero(~np.isnan(row)))
        for m, row in enumerate(np.array(expected["outputs"], float))
    ]
    wanted = [
        (i[0], math.exp(expected["logsumexps"][m][i[0]]),
         expected["outputs"][m][i[0]])
        for m, i in firsts if len(i)
    ]  # fmt: skip
    for k, (i, total, output) in enumerate(wanted):
        tells(texts[2 * k], i, (total, 3))
        tells(texts[2 * k + 1], (output, 3))
    assert len(texts) == 2 * len(wanted)
    idle = [t.text for t in svg.select(".av-idle")]
    assert len(idle) == N - len(wanted)
    levels = int(math.log2(N))
    word = "result sent on" if done > levels else "no query yet"
    assert set(idle) <= {"no query" if plan == "ring" else word}
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
    # What is on its way: three quarters of a step, slowly at both ends.
    p = min((time - done) / 0.75, 1)
    p = p * p * (3 - 2 * p)
    going = steps[done] if done < every and time > done else []
    labels = svg.select("text.av-goes")
    all_say([t.text for t in labels], [size for *_, size in going])
    for t, (from_, to, kind, _) in zip(labels, going, strict=True):
        assert f"av-{kind}" in t["class"]
        found = [float(t["x"]), float(t["y"]) - 4]
        way = link(from_, to, N)
        start, end = in_sight(way)
        wanted, _ = along(way, start + (end - start) * p)
        assert found == pytest.approx(wanted, abs=0.051)
    messages_show(svg, state, steps, done, going)
    for kind, some in (("", steps), (".av-used", steps[:done])):
        lines = {tuple(sorted(move[:2])) for step in some for move in step}
        drawn = svg.select(f".av-wire{kind}")[:1] if lines else []
        ways = np.reshape([path_of(d) for d in drawn], (-1, 3, 2))
        seen = {tuple(nearest(end, N) for end in way[::2]) for way in ways}
        assert {tuple(sorted(pair)) for pair in seen} == lines
        for way in ways:
            ends = [nearest(end, N) for end in way[::2]]
            assert way == pytest.approx(np.array(link(*ends, N)), abs=0.11)
            keeps_clear(way, set(range(N)) - set(ends), N)
    tells(captions(shown)[0], N, 8, done, every)
    # The chart: both plans, and the state's own count.
    both = expected["totals"]
    frame = copy.copy(chart)
    frame.select_one(".av-grip").extract()
    lines, dots, near = curves(frame)
    for found, count in zip(lines, ("tree", "ring"), strict=True):
        ends = [[n, totals(state | {"T": n})[count]] for n in (0, 12)]
        follows(found, ends, near)
    assert not dots
    dot = [54 + T / 12 * 204, 140 - both[plan] / 300 * 128]
    assert placed(chart) == pytest.approx(dot, abs=0.051)
    tells(captions(shown)[1], N, 8)
    # The line of the steps: each in the colour of what travels, and a knob.
    stages = [p["class"][1] for p in svg.select(".av-stage")]
    assert stages == [f"av-{step[0][2]}" for step in steps]
    ends = [path_of(p) for p in svg.select(".av-stage")]
    edges = np.linspace(40, 320, every + 1)
    assert ends == pytest.approx(
        np.c_[edges[:-1] + 1.5, [288] * every, edges[1:] - 1.5], abs=0.051
    )
    knob = [40 + time / every * 280, 288]
    assert placed(svg) == pytest.approx(knob, abs=0.051)
    sent = expected["sent"]
    all_ = sum(sent.values())
    tree = plan == "tree"
    output, lse = expected["outputs"][0][0], expected["logsumexps"][0][0]
    text = sentence(shown)
    finished = done == every
    tells(
        text,
        *(done, every, all_),
        *where(tree and all_, sent["queries"], sent["results"]),
        *(0, (math.exp(lse), 3), (output, 3), 0, *where(finished, 8)),
        *(T, both["tree"], both["ring"]),
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
    spots = [
        (h["class"][1], *map(float, re.findall(r"-?[\d.]+", h["transform"])))
        for h in heads
    ]
    for from_, to, kind, _ in (m for some in last.values() for m in some):
        a, _, b = way = link(from_, to, N)
        near = N == 8 and np.hypot(*(b - a)) < 107
        spot, ahead = along(way, 0.5 if near else 0.7)
        turn = math.degrees(math.atan2(*ahead[::-1]))
        assert any(
            other == f"av-of-{kind}"
            and rest == pytest.approx([*spot, turn], abs=0.06)
            for other, *rest in spots
        )
    words = [t for t in svg.select(".av-carried") if "number" in t.text]
    if N < 8:
        sent = [some[0][2:] for some in last.values()]
    else:
        sent = [step[0][2:] for step in steps[:done][-1:]]
    assert sorted((t["class"][1], int(t.text.split()[0])) for t in words) == (
        sorted((f"av-of-{kind}", size) for kind, size in sent)
    )
    told = " ".join(t.text for t in svg.select(".av-carried"))
    verdict(
        told,
        on_a_visit=state["plan"] == "ring",
        output=any(kind == "weight" for kind, _ in sent),
    )


def keeps_clear(way, others, N):
    """No link passes behind a machine that is not at one of its ends."""
    points = np.array([along(way, t)[0] for t in np.linspace(0, 1, 50)])
    for m in others:
        apart = np.abs(points - middle(m, N)) > [42, 27]
        assert apart.any(axis=1).all()


def placed(svg):
    """Where the handle of a drawing is."""
    grip = svg.select_one(".av-grip")["transform"]
    return [float(x) for x in re.findall(r"[\d.]+", grip)]


def nearest(point, N):
    distances = [np.abs(middle(m, N) - point).max() for m in range(N)]
    assert min(distances) < 0.06
    return int(np.argmin(distances))


def test_a_finished_plan_stays_finished_on_more_machines(page):
    page.open("machines")
    assert page.run("machines.changePlans") == [6, 7, 3, 3]


@pytest.mark.parametrize("plan", ["tree", "ring"])
@pytest.mark.parametrize("machines", [2, 4, 8])
def test_the_plans_send_what_their_formulas_say(plan, machines):
    """The formulas of the lesson: one number a query, a key, a value."""
    for T in range(1, 13):
        sent = Machines(plan=plan, machines=machines, T=T, step=7)
        sent = sent.values["sent"]
        queries = {"queries": T, "results": 2 * T, "keys": 0}
        keys = {"queries": 0, "results": 0, "keys": 16}
        each = queries if plan == "tree" else keys
        assert sent == {k: (machines - 1) * n for k, n in each.items()}


@pytest.mark.parametrize("machines", [2, 4, 8])
def test_every_query_ends_with_attention_over_all_keys(machines):
    Q, K = np.cos(np.arange(12))[:, None], np.log(SIZES)[:, None]
    whole = attention(Q, K, VALUES, scale=1.0).output[:, 0]
    for plan in ("tree", "ring"):
        values = Machines(plan=plan, machines=machines, T=12, step=7).values
        found = np.nanmax(np.array(values["outputs"], float), axis=0)
        np.testing.assert_allclose(found, whole, rtol=1e-9)
    assert values["whole"]["outputs"] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize(
    "state",
    [{}, {"machines": 8, "T": 3}, {"plan": "ring", "T": 5, "machines": 8}],
)
def test_a_step_takes_nine_tenths_of_a_second(state):
    """Playing gives what the bar gives, put where the film is."""
    figure = Machines(step=0, **state)
    settings = {key: getattr(figure, key) for key in figure._settings()}
    steps = figure.values["steps"]
    for ms in [-5, 0, 450, 899, 900, 2000, 900 * steps, 10**6]:
        frame = figure.frame(ms)
        step = min(max(ms, 0) / 900, steps)
        assert frame["own"] == pytest.approx({"step": step})
        here = settings | frame["own"]
        assert_same(frame["values"], expected(here))
        assert frame["html"] == Machines(**here).frame(0)["html"]
