"""The residual stream: what each part of two blocks adds to a row."""

import re

import numpy as np
import pytest

from course.figures import ResidualStream
from helpers import transformer as whole
from helpers.attention import attention
from helpers.heads import merge_heads, split_heads
from helpers.masks import causal_mask
from tests.figures.reading import (
    captions,
    narrow,
    on_one_scale,
    path_ends,
    path_of,
    read,
    says,
    sentence,
    sizes,
)

# The hand-made numbers of the lesson on blocks.
E = np.array([[1.0, 0, 1, 0], [0, 2, 0, 2], [1, 1, 0, 0]])
WORDS = ["the", "cat", "sat"]
ASK = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]])
ANSWER = np.array([[1.0, 1], [1, 0], [0, 1], [1, 0]])
OVER = np.array([[1.0, 0], [0, 1], [1, 1], [0, 1]])
MATRICES = {
    "W_Q": np.hstack([ASK, ANSWER]),
    "W_K": np.hstack([ANSWER, ASK]),
    "W_V": np.hstack([OVER, OVER[::-1]]),
    "W_O": np.eye(4) / 2,
    "W_1": np.hstack([np.eye(4), -np.eye(4)]),
    "W_1.bias": np.full(8, -0.5),
    "W_2": np.vstack([np.eye(4), np.eye(4)]),
}
PARTS = ["attention_0", "feed_forward_0", "attention_1", "feed_forward_1"]
OFF = dict.fromkeys(PARTS, False)
CASES = [
    {"place": "post-norm", "token": "sat"},
    {"norms": False, "token": "sat", "column": 0},  # numbers up to 9
    {"norms": False, "place": "post-norm"},
    {"stream": False, "column": 1},
    {"stream": False, "place": "post-norm", "attention_0": False},
    {**OFF, "token": "the"},
    {"attention_0": False},
    {"feed_forward_0": False, "attention_1": False, "place": "post-norm"},
    {"passed": 2.5, "column": 1},
]


def norm(X):
    return whole.layer_norm(X, np.ones(4), np.zeros(4))


def attend(X):
    Q, K, V = (split_heads(X @ MATRICES[f"W_{r}"], 2) for r in "QKV")
    heads = attention(Q, K, V, mask=causal_mask(len(X)))
    return merge_heads(heads.output) @ MATRICES["W_O"]


def feed(X):
    hidden = MATRICES["W_1"], MATRICES["W_1.bias"]
    return whole.feed_forward(
        X, *hidden, MATRICES["W_2"], None, activation="relu"
    )


def run(state):
    """Reads, changes, sums and rows after each part, of all tokens."""
    X, pre = E, state["place"] == "pre-norm"
    kept = []
    for part, f in zip(PARTS, [attend, feed, attend, feed], strict=True):
        read = norm(X) if pre and state["norms"] else X
        change = f(read) * state[part]
        total = change + X if state["stream"] else change
        X = norm(total) if not pre and state["norms"] else total
        kept.append((read, change, total, X))
    return [np.array(some) for some in zip(*kept, strict=True)]


def expected(state):
    """The row of one token through both blocks, by the helpers."""
    i = WORDS.index(state["token"])
    reads, changes, sums, rows = (x[:, i] for x in run(state))
    on = dict.fromkeys([*PARTS, "norms", "stream"], True)
    # The slope of a norm along the row, with its mean and its root held.
    post = state["place"] == "post-norm" and state["norms"]
    roots = np.sqrt(sums.var(axis=1) + 1e-5) if post else np.ones(4)
    return {
        "rows": np.array([E[i], *rows]),
        "reads": reads,
        "changes": changes,
        "sums": sums,
        "kept": state["stream"] / roots.prod(),
        "whole": np.array([E[i], *run(state | on)[3][:, i]]),
        "wholeSums": run(state | on)[2][:, i],
    }


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("off", [[], PARTS[:1], PARTS[1:3], PARTS])
def test_block_is_the_model_with_matrices_of_zeros(place, off):
    """The model of the helpers, where a part that is off adds nothing."""
    config = whole.TransformerConfig(
        vocab=3, max_len=3, d_model=4, n_layers=2, n_heads=2, d_ff=8,
        norm=place, activation="relu", positions=None,
    )  # fmt: skip
    params = {
        name: np.ones(s) if name.endswith("gain") else np.zeros(s)
        for name, s in whole.parameter_shapes(config).items()
    }
    params["embedding"] = E
    for i in range(2):
        for name, W in MATRICES.items():
            params[f"{i}.{name}"] = W
        if f"attention_{i}" in off:
            params[f"{i}.W_O"] = np.zeros((4, 4))
        if f"feed_forward_{i}" in off:
            params[f"{i}.W_2"] = np.zeros((8, 4))
    stream = whole.forward([0, 1, 2], params, config).stream
    for i, token in enumerate(WORDS):
        figure = ResidualStream(
            place=f"{place}-norm", token=token, **dict.fromkeys(off, False)
        )
        result = figure.values["rows"][-1]
        np.testing.assert_allclose(result, stream[i], rtol=0, atol=1e-9)


# --- the picture -------------------------------------------------------------


def moves(sums, rows, stream):
    """Where each number is carried, kicked and rescaled: from and to."""
    before, after = rows[:-1], rows[1:]
    return np.stack(
        [[before, before], [before * stream, sums], [sums, after]]
    ).transpose(2, 0, 1, 3)  # part, kind of move, end, number


def way_shows(paths, state, steps, ticks=((), ())):
    """The way of one number, as far as the row has come."""
    times = np.add.outer(range(4), [0, 0.25, 0.65, 1])
    places, numbers = map(list, ticks)
    for path, (k, kind), (start, end) in zip(
        paths, np.ndindex(4, 3), steps.reshape(12, 2), strict=True
    ):
        begun = state["passed"] > times[k, kind] + 1e-9
        assert path["opacity"] == ("1" if begun else "0")
        part = PARTS[k].rpartition("_")[0].replace("_", "-")
        assert (f"av-of-{part}" in path["class"]) == (
            kind == 1 and state[PARTS[k]]
        )
        (x, *_), *_, (last, _) = list(path_ends(path["d"]))
        if begun:
            places.append(x)
            numbers.append(start)
        if state["passed"] >= times[k, kind + 1]:
            places.append(last)
            numbers.append(end)
    return places, numbers


def shows(state, expected, shown):
    rail_shows(state, expected, shown.svg)
    rail_shows(state, expected, narrow("block", state).svg)
    words_show(state, expected, shown)


def rail_shows(state, expected, svg):
    rows, changes, c = expected["rows"], expected["changes"], state["column"]
    done = state["passed"] - 0.45 > np.arange(4)
    for text, part, x, passed in zip(
        svg.select(".av-change"), PARTS, changes[:, c], done, strict=True
    ):
        says(text.text.replace("+", ""), x, 2)
        assert text.text.startswith("+") == (round(x, 2) > 0)
        assert (text.get("opacity") != "0") == (passed and state[part])
    name, enters, leaves = (t.text for t in svg.select(".av-end"))
    assert name == f"number {c} of the row of {state['token']}"
    says(enters.split()[-1], rows[0, c], 2)
    says(leaves.split()[-1], rows[-1, c], 2)
    steps = moves(expected["sums"], rows, state["stream"])
    all_on = moves(expected["wholeSums"], expected["whole"], True)
    labels = svg.select(".av-notch")
    ticks = sizes(labels, "x"), [read(t.text) for t in labels]
    own = svg.find_all("path", recursive=False)
    paths = [
        p for p in own if re.match("av-(carry|kick|rescale)", p["class"][0])
    ]
    places, numbers = way_shows(paths, state, steps[..., c], ticks)
    ghost = svg.find("path", "av-ghost", recursive=False)
    ends = [x for x, _ in path_ends(ghost["d"])]
    scale = on_one_scale([*places, *ends],
                         [*numbers, *all_on[..., c].ravel()])  # fmt: skip
    arrows_show(state, rows[:, c], expected["sums"][:, c], svg, scale)
    (token,) = svg.select(".av-mover")
    if state["passed"] == 4:
        assert float(token["cx"]) == pytest.approx(
            scale(rows[-1, c]), abs=0.11
        )
    for k, mini in enumerate(svg.select(".av-mini")):
        small = mini.select(".av-carry, .av-kick, .av-rescale")
        zero = path_of(mini.select_one(".av-rule"))[:1], [0]
        on_one_scale(*way_shows(small, state, steps[..., k], zero))
        says(mini.select_one(".av-left").text, rows[-1, k], 2)
        assert bool(mini.select(".av-enlarged")) == (k == c)
    off = [p["data-handle"] for p in svg.select("g:has(> rect.av-away)")]
    assert off == [part for part in PARTS if not state[part]]


def arrows_show(state, rows, sums, svg, scale):
    """A part that is on reads the row, and its kick leads to the curve."""
    arrows = svg.select(":scope > .av-cord")
    shown = [a for a in arrows if "av-away" not in a["class"]]
    kicked = [k for k, part in enumerate(PARTS) if state[part]]
    ends = [[x for x, _ in path_ends(a["d"])][:2] for a in shown]
    box = min(x for end in ends for x in end) if ends else 0
    for k, (row, back), (out, tip) in zip(
        kicked, ends[0 : 2 * len(kicked) : 2],
        ends[1 : 2 * len(kicked) : 2], strict=True,
    ):  # fmt: skip
        from_ = rows[k] * state["stream"]
        assert row == pytest.approx(scale(rows[k]), abs=4.11)
        assert out == box < back < box + 4
        assert 5 < scale((from_ + sums[k]) / 2) - tip < 40


def words_show(state, expected, shown):
    c, rows = state["column"], expected["rows"]
    text = sentence(shown)
    post = state["place"] == "post-norm" and state["norms"]
    if not state["stream"] or post:
        assert "≈" not in text
        entered, left = re.match(
            r"(\S+) enters and (\S+) leaves", text
        ).groups()
        says(entered, rows[0, c], 2)
        says(left, rows[-1, c], 2)
        if state["stream"]:
            says(
                re.search(r"factor of (\S+)\.$", text)[1], expected["kept"], 3
            )
        else:
            assert "takes the place" in text
    else:
        sum_, after = text.split(". Press")[0].split(" ≈ ")
        signs = re.findall(r"([+−]) (\d[\d.]*)", sum_)
        result = [float(n) * (1 if s == "+" else -1) for s, n in signs]
        np.testing.assert_allclose(
            result, expected["changes"][:, c], atol=0.00501
        )
        says(sum_.split()[0], rows[0, c], 2)
        says(after, rows[-1, c], 2)
        assert (
            abs(expected["changes"].sum(0) + rows[0] - rows[-1]).max() < 1e-9
        )
    label = captions(shown)[0]
    result = [read(n) for n in re.findall(r"−?\d+(?:\.\d+)?", label)]
    np.testing.assert_allclose(result, [*rows[0], *rows[-1]], atol=0.00501)
    assert f"row of {state['token']} through" in label
