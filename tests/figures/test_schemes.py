"""The figure of schemes: the race of the stored answers, and mechanisms."""

import numpy as np
import pytest

from course.evidence import stored
from helpers.positions import (
    alibi_bias,
    relative_buckets,
    rotary_frequencies,
    yarn_frequencies,
)
from tests.figures.reading import (
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
    where,
)

LENGTHS = [32, 64, 128, 256]
STORED = {
    "T5 bias": "T5's bias",
    "ALiBi": "ALiBi",
    "no positions": "no positions",
    "RoPE 10k": "RoPE, base 10,000",
    "YaRN 10k": "RoPE, base 10,000, YaRN",
    "RoPE 500k": "RoPE, base 500,000",
    "YaRN 500k": "RoPE, base 500,000, YaRN",
    "RoPE on half": "RoPE, half of the columns",
}
CASES = [
    {"length": n, "questions": test, "scheme": scheme, "yarn": scheme < "S"}
    for n in LENGTHS
    for test in ("near", "far")
    for scheme in STORED
]


def name_of(row):
    return row["kind"] + (", YaRN" if row["rescaled"] == "YaRN" else "")


BY_NAME = {
    name_of(row): row
    for row in stored("longer")["results"]
    if row["rescaled"] in ("as trained", "YaRN")
}
ROWS = [BY_NAME[name] for name in STORED.values()]
NAMES = list(STORED)


def biases():
    """What T5's bias adds: a row of 16 numbers per head of each seed."""
    (stored_bias,) = [r["bias"] for r in ROWS if r["kind"] == "T5's bias"]
    return [
        [bucket[head] for bucket in seed]
        for seed in stored_bias
        for head in range(2)
    ]


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


def expected(state):
    T, test = state["length"], state["questions"]
    seeds = np.array([row[test] for row in ROWS])
    weights = [row["weight"][test][LENGTHS.index(T)] for row in ROWS]
    buckets = relative_buckets(1, T, num_buckets=16, max_distance=32)
    return {
        "seeds": seeds,
        "medians": np.median(seeds, axis=2),
        "weights": np.mean(weights, axis=1).round(4),
        "buckets": buckets[0, ::-1],
        "biases": biases(),
        "angles": [angles(name, T) for name in STORED.values()],
        "trainedAngles": [angles(name, 32) for name in STORED.values()],
    }


def shows(state, expected, shown):
    T, chosen = state["length"], NAMES.index(state["scheme"])
    shares = 100 * expected["medians"][chosen]
    longer = T > 32
    now = shares[LENGTHS.index(T)]
    tells(sentence(shown), *where(longer, (now, 1), T), (shares[0], 1),
          *where(longer, 32))  # fmt: skip
    for drawing in (shown, narrow("schemes", state)):
        svg = drawing.svg
        head = " ".join(text.text for text in svg.select("text")[:2])
        near = state["questions"] == "near"
        tells(head.partition(";")[0], *((5, 11) if near else [T - 6]))
        assert state["questions"] in head
        assert head.endswith(f"runs of {state['scheme']}")
        race_shows(state, expected, svg, chosen)
        mechanism_shows(state, expected, svg, chosen)


def ticks(svg, unit):
    """Each number of an axis, and where it is."""
    key = "y" if unit else "x"
    return [
        (float(text[key]) - (4 if unit else 0), read(text.text.strip("%")))
        for text in svg.select("text:not([class]), text.av-scheme")
        if text.text.endswith("%" if unit else tuple("2468"))
        and text.text.strip("%").isdigit()
    ]


def race_shows(state, expected, svg, chosen):
    """Lines, heads and seeds stand on the axes, and names in their order."""
    at = LENGTHS.index(state["length"])
    reached = [*range(at + 1), *[at] * (3 - at)]
    runs = svg.select(".av-run")
    shown = [run.parent["opacity"] == "1" for run in runs]
    assert shown == [
        row["rescaled"] == "as trained" or state["yarn"] or k == chosen
        for k, row in enumerate(ROWS)
    ]
    lines = [*runs, *svg.select(".av-seed-run"), svg.select_one(".av-raced")]
    medians = expected["medians"]
    numbers = [*medians, *expected["seeds"][chosen].T, medians[chosen]]
    across, up = np.moveaxis(
        np.reshape([path_of(line) for line in lines], (-1, 4, 2)), 2, 0
    )
    places, shares = np.transpose(ticks(svg, "%"))
    on_one_scale(
        [*up.ravel(), *places],
        [*np.array(numbers)[:, reached].ravel(), *shares / 100],
        near=0.02, up=True,
    )  # fmt: skip
    places, lengths = np.transpose(ticks(svg, ""))
    assert list(lengths) == LENGTHS
    on_one_scale(
        [*across.ravel(), *places],
        [*np.tile(np.array(LENGTHS)[reached], len(lines)), *LENGTHS],
        near=0.06, log=True,
    )  # fmt: skip
    ends = [(run[-2], run[-1]) for run in map(path_of, runs)]
    heads = svg.select(".av-head")
    np.testing.assert_allclose([spot(h) for h in heads], ends, atol=0.02)
    named = [svg.select(".av-runner")[k] for k in np.flatnonzero(shown)]
    names = [g.text.rsplit(" ", 1) for g in named]
    assert [name for name, _ in names] == [
        NAMES[k] for k in np.flatnonzero(shown)
    ]
    for (_, share), x in zip(names, medians[shown, at], strict=True):
        says(share.removesuffix("%"), 100 * x)
    heights = [spot(g)[1] for g in named]
    order = np.argsort(-medians[shown, at], kind="stable")
    assert (np.diff(np.array(heights)[order]) > 20).all(), "apart, in order"
    (on,) = svg.select(".av-is-on")
    assert on.text.startswith(f"{state['scheme']} ")


def mechanism_shows(state, expected, svg, chosen):
    T, scheme = state["length"], state["scheme"]
    rotates = "RoPE" in STORED[scheme]
    added, dials = (svg.select_one(kind) for kind in (".av-adds", ".av-turns"))
    assert [added["opacity"], dials["opacity"]] == (
        ["0", "1"] if rotates else ["1", "0"]
    )
    met, new = svg.select(".av-key-line tspan")
    fresh = T > 32 and (rotates or scheme == "ALiBi")
    if rotates:
        fresh = dials_show(expected, dials, chosen)
    else:
        lines_show(state, added)
    tells(new.text, *where(fresh, 32, T - 1))
    numbers = {"ALiBi": [31], "T5 bias": [27, T - 1],
               "no positions": [T, 1, T]}  # fmt: skip
    tells(met.text, *numbers.get(scheme, []))
    # The weight on right keys, on others, and on those too far back.
    right, far = expected["weights"][chosen]
    bars = svg.select("rect[class^=av-goes]")
    in_proportion(sizes(bars), [right, 1 - right - far, far], near=0.02)
    on_one_scale(sizes(bars, "x"), [0, right, 1 - far], near=0.02)
    for kind, *numbers in (
        (".av-is-answer", 100 * right),
        ("text.av-is-met", 31, 100 * (1 - right - far)),
        ("text.av-is-new", *where(T > 32, 32, T - 1), 100 * far),
    ):
        tells(svg.select_one(kind).text, *numbers)


def dials_show(expected, dials, chosen):
    """Return whether an angle is new that is wide enough to be seen."""
    met, now = (
        np.minimum(np.divide(expected[key][chosen], 2 * np.pi), 1)
        for key in ("trainedAngles", "angles")
    )
    for kind, start, share in (
        ("met", 0 * met, met),
        ("new", met, now - met),
    ):
        parts = dials.select(f".av-angle-{kind}")
        drawn = [
            [float(p["stroke-dasharray"].split()[0]),
             -float(p["stroke-dashoffset"])]
            for p in parts
        ]  # fmt: skip
        drawn = np.minimum(drawn, np.transpose([1 - start, start + 1]))
        np.testing.assert_allclose(drawn, np.transpose([share, start]),
                                   rtol=0, atol=1e-4)  # fmt: skip
        assert all(p["pathlength"] == "1" for p in parts)
        # The stroke of half the radius fills the sector to its middle.
        assert all(
            float(p["stroke-width"]) == 2 * float(p["r"]) for p in parts
        )
    still = len(dials.select(".av-unturned"))
    assert still == sum(expected["trainedAngles"][chosen] == 0)
    return (now - met > 0.002).any()


def lines_show(state, added):
    """What is added at each distance, where the axes say so."""
    T, scheme = state["length"], state["scheme"]
    bucket = relative_buckets(1, 256, num_buckets=16, max_distance=32)[0, ::-1]
    bias = {
        "T5 bias": np.array(biases())[:, bucket],
        "ALiBi": np.tile(alibi_bias(2, 256)[:, -1, ::-1], (4, 1)),
        "no positions": np.zeros((8, 256)),
    }[scheme]
    texts = added.select("text")
    named = [t for t in texts if "back" not in t.text]
    rules = [path_of(rule)[1] for rule in added.select(".av-rule")]
    np.testing.assert_allclose(sizes(named, "y") - 4, rules, atol=0.06)
    level = on_one_scale(rules, [read(t.text) for t in named], 0.02, up=True)
    far = [t for t in texts if "back" in t.text]
    assert [read(t.text.split()[0]) for t in far] == (
        [31, T - 1] if T > 32 else [31]
    )
    left = float(added.rect["x"])
    unit = (float(far[0]["x"]) - left) / 31
    paths = added.select("path:not(.av-rule)")
    met, unmet = (
        np.reshape([path_of(p) for p in paths[k::2]], (8, -1, 2))
        for k in (0, 1)
    )
    for line, own in zip(met, bias, strict=True):
        # A step holds the bias of the distance that it begins at.
        x, y = line.T
        d = np.round((x - left) / unit).astype(int)
        np.testing.assert_allclose(left + unit * d, x, atol=0.06)
        begin = d if scheme == "ALiBi" else np.repeat(d[::2], 2)
        np.testing.assert_allclose(y, level(own[begin]), atol=0.02)
        assert (d[0], d[-1]) == (0, 31)
        assert set(np.flatnonzero(np.diff(bucket[:32])) + 1) <= set(d)
    np.testing.assert_allclose(
        unmet[:, :, 0], left + unit * np.tile([31, T - 1], (8, 1)), atol=0.3
    )
    np.testing.assert_allclose(
        unmet[:, :, 1], level(bias[:, [31, T - 1]]), atol=0.02
    )
    new = scheme == "ALiBi"
    assert len(added.select(".av-unmet")) == (8 if new else 0)
    wide = unit * ((32 if new else T) - 1)
    assert float(added.rect["width"]) == pytest.approx(wide, abs=0.3)


def test_far_keys_take_what_the_answer_loses():
    """What the sentence says: as far keys gain weight, the answer loses it."""
    for row in ROWS:
        if row["rescaled"] == "as trained":
            right, far = np.mean(row["weight"]["near"], axis=1).T
            assert (np.diff(far) > 0).all()
            assert right[-1] < right[0]
    # ALiBi's far keys take less than those of all schemes but T5's bias.
    far = {
        name_of(row): np.mean(row["weight"]["near"], axis=1)[-1, 1]
        for row in ROWS
    }
    assert sorted(far, key=far.get)[:2] == ["T5's bias", "ALiBi"]
