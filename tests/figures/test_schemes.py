"""The figure of schemes: every stored seed, ranks, and clear differences."""

import itertools

import numpy as np

from course.evidence import stored
from course.figures import Schemes
from helpers.positions import (
    alibi_bias,
    relative_buckets,
    rotary_frequencies,
    yarn_frequencies,
)
from tests.figures.reading import (
    all_say,
    captions,
    in_proportion,
    on_one_scale,
    path_of,
    sentence,
    sizes,
    tells,
    verdict,
)

LENGTHS = [32, 64, 128, 256]
# The places of the rows, from above.
PLACES = [
    "T5's bias",
    "ALiBi",
    "no positions",
    "RoPE, base 10,000",
    "RoPE, base 10,000, YaRN",
    "RoPE, base 500,000",
    "RoPE, base 500,000, YaRN",
    "RoPE, half of the columns",
]
CASES = [
    {"length": n, "questions": test, "yarn": yarn}
    for n in LENGTHS
    for test in ("near", "far")
    for yarn in (False, True)
]


def rows(state):
    """The stored results that a state shows, as the lesson shows them."""
    ways = ("as trained", "YaRN") if state["yarn"] else ("as trained",)
    return [r for r in stored("longer")["results"] if r["rescaled"] in ways]


def name_of(row):
    return row["kind"] + (", YaRN" if row["rescaled"] == "YaRN" else "")


def expected(state):
    """The seeds of each scheme, and how the schemes compare."""
    k = LENGTHS.index(state["length"])
    shares = np.array([row[state["questions"]] for row in rows(state)])
    seeds, medians = shares[:, k], np.median(shares, axis=2)
    ranks = np.argsort(-medians, axis=0, kind="stable")
    wins = [
        (a[:, None] > b).all()
        for a, b in itertools.permutations(seeds, 2)
    ]  # fmt: skip
    T = state["length"]
    spread = [row["weight"][state["questions"]] for row in rows(state)]
    weights = np.mean(spread, axis=2).round(4)
    buckets = relative_buckets(1, T, num_buckets=16, max_distance=32)
    names = [name_of(row) for row in rows(state)]
    return {
        "seeds": seeds,
        "medians": medians[:, k],
        "trained": medians[:, 0],
        "order": ranks[:, k],
        "ranks": ranks[:, 0],
        "better": sum(wins),
        "moved": (ranks[:, k] != ranks[:, 0]).sum(),
        "buckets": buckets[0, ::-1],
        "penalties": alibi_bias(2, T)[:, -1, 0],
        "share": 1 / T,
        "weights": weights[:, k],
        "opposed": opposed(medians[:, k], weights[:, k, 1]),
        "biases": biases(),
        "angles": [angles(name, T) for name in names],
        "trainedAngles": [angles(name, 32) for name in names],
    }


def opposed(medians, far):
    """In how many pairs more weight on far keys goes with a lower median."""
    return sum(
        (m - n) * (a - b) < 0
        for (m, a), (n, b) in itertools.combinations(
            zip(medians, far, strict=True), 2
        )
    )


def biases():
    """What T5's bias adds: a row of 16 numbers per head of each seed."""
    (stored_bias,) = [r["bias"] for r in stored("longer")["results"]
                      if r["kind"] == "T5's bias"]  # fmt: skip
    return [
        [bucket[head] for bucket in seed]
        for seed in stored_bias
        for head in range(2)
    ]


def test_the_axis_holds_all_that_is_added():
    assert -16 < np.min(biases())
    assert np.max(biases()) < 2
    assert -16 < alibi_bias(2, 256).min()


def angles(name, T):
    """The angle of each of eight pairs at the longest distance."""
    result = np.zeros(8)
    if "RoPE" in name:
        base = 500_000 if "500" in name else 10_000
        d = 8 if "half" in name else 16
        theta = rotary_frequencies(d, base=base)
        if "YaRN" in name:
            theta = yarn_frequencies(d, T / 32, 32, base=base)
        result[: d // 2] = (T - 1) * theta
    return result


def shows(state, expected, shown):
    some, order = rows(state), expected["order"]
    names = [name_of(some[i]) for i in order]
    text = sentence(shown)
    first, last = (100 * expected["medians"][i] for i in order[[0, -1]])
    plain = text
    for name in sorted(names, key=len, reverse=True):
        plain = plain.replace(name, "a scheme")
    n = len(some)
    pairs = n * (n - 1) // 2
    tells(
        plain,
        *(state["length"], (first, 1), (last, 1), expected["better"]),
        *(pairs, expected["moved"], n, 32),
    )
    assert text.index(f"({names[0]}), the low") < text.index(f"({names[-1]}).")
    assert text.lower().startswith(state["questions"])
    tells(captions(shown)[0], state["length"] - 1, n, state["length"])
    svg = shown.select_one(".av-schemes")
    # The rows keep their places, and each has its rank.
    there = [name for name in PLACES if name in names]
    assert [t.text for t in svg.select("tspan.av-scheme")] == there
    of = [[name_of(row) for row in some].index(name) for name in there]
    now, before = (
        [list(expected[key]).index(i) + 1 for i in of]
        for key in ("order", "ranks")
    )
    assert [t.text for t in svg.select("text.av-rank")] == [
        str(a) if a == b else f"{b} → {a}"
        for a, b in zip(now, before, strict=True)
    ]
    # Seeds, medians, and where each began stand on one scale of shares; the
    # first of each kind of mark is in the key.
    middles, fell = (
        [path_of(p) for p in svg.select(f".av-{kind}")[1:]]
        for kind in ("middle", "fell")
    )
    medians, trained = (expected[key][of] for key in ("medians", "trained"))
    on_one_scale(
        [*sizes(svg.select(".av-seed")[1:], "cx"), *(p[0] for p in middles),
         *(p[0] for p in fell), *(p[2] for p in fell)],
        [*expected["seeds"][of].ravel(), *medians, *trained, *medians],
        near=0.02,
    )  # fmt: skip
    bars_show(expected, svg, of)
    message = svg.select_one("tspan.av-scheme + tspan").text
    biases = [bias[-1] for bias in expected["biases"]]
    # The last bucket begins 27 back, and training reached 31 back.
    tells(message, 27, 31, (min(biases), 1), (max(biases), 1))
    longer, near = state["length"] > 32, state["questions"] == "near"
    caption = shown.select_one("p.av-caption").text
    tells(caption, *([expected["opposed"], pairs] if longer else [32]))
    verdict(
        caption, a_near_one=longer and near, a_far_key_too=longer and not near
    )
    (back,) = [t.text for t in svg.select("text") if "back, " in t.text][1:]
    tells(back, *((5, 11) if near else [state["length"] - 6]))
    verdict(back, farther=longer and not near)


def bars_show(expected, svg, of):
    """The weight on right keys, on others, and on those too far back."""
    # The first of each colour is in the heading.
    kinds = ("right", "near", "far")
    bars = [svg.select(f".av-goes-{kind}")[1:] for kind in kinds]
    right, far = expected["weights"][of].T
    shares = np.array([right, 1 - right - far, far])
    in_proportion([sizes(some) for some in bars], shares, near=0.02)
    starts = np.cumsum([0 * right, *shares[:-1]], axis=0)
    on_one_scale([sizes(some, "x") for some in bars], starts, near=0.02)
    for kind, numbers in (("av-is-answer", right), ("av-is-far", far)):
        texts = svg.select(f"text > tspan.{kind}:not([dx])")[1:]
        all_say([t.text.removesuffix("%") for t in texts], 100 * numbers)


def test_far_keys_take_what_the_answer_loses():
    """What the figure says: as far keys gain weight, the answer loses it."""
    for row in stored("longer")["results"]:
        if row["rescaled"] == "as trained":
            right, far = np.mean(row["weight"]["near"], axis=1).T
            assert (np.diff(far) > 0).all()
            assert right[-1] < right[0]
    # With near questions most pairs of schemes agree with it at each length.
    for n in (64, 128, 256):
        assert Schemes(length=n).values["opposed"] >= 13
    # As Figure 25.1 says of ALiBi.
    state = {"length": 256, "questions": "near", "yarn": False}
    names = [name_of(row) for row in rows(state)]
    far = expected(state)["weights"][:, 1]
    order = [names[k] for k in np.argsort(far)]
    assert order[:2] == ["T5's bias", "ALiBi"]


def test_differences_are_those_that_the_lesson_lists():
    """At 256 tokens it lists eleven near and six far."""
    result = [
        Schemes(questions=test).values["better"] for test in ("near", "far")
    ]
    assert result == [11, 6]
