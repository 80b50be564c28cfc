"""Interactive figures: what a reader sees is what was computed.

The numbers behind a figure are compared in `test_figures.py`. Here its words,
tables, colours and curves are read back, as a reader reads them, and compared
with what the helpers say.
"""

import functools
import itertools
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from helpers.plotting import _STOPS
from tests.figures.expected_figures import (
    CASES,
    CLASSES,
    DEVICES,
    EXPECTED,
    KEYS_OF_WORDS,
    states,
)


def look(name, settings):
    """The figure's state, what the helpers say of it, and what it shows."""
    figure = CLASSES[name](**settings)
    state = {key: getattr(figure, key) for key in figure._settings()}
    html = figure.html()
    shown = BeautifulSoup(html, "html.parser").select_one(".av-result")
    return state, EXPECTED[name](state), shown


def every_state(name):
    """The first state of a figure, chosen ones, and random ones."""
    return [{}, *CASES.get(name, ()), *states(name, 25)]


# --- reading back ---------------------------------------------------------


def read(text):
    return float(text.replace("−", "-").replace("∞", "inf").replace(",", ""))


def says(text, x, digits=0):
    """A number is shown rounded to so many digits, and with no more."""
    x = float(x)
    assert len(text.partition(".")[2]) <= digits, text
    if np.isinf(x):
        assert read(text) == x
    else:
        # What is read back is the nearest double to the text.
        near = 0.500001 * 10.0**-digits + np.spacing(abs(x))
        assert abs(read(text) - x) <= near, (text, x)


def all_say(texts, numbers, digits=0):
    for text, x in zip(texts, numbers, strict=True):
        says(text, x, digits)


def sentence(shown, pattern):
    """What stands at the gaps of the figure's sentence."""
    text = shown.select_one(".av-say").text
    found = re.fullmatch(pattern.replace("#", r"(−?[\d.,]*\d|−∞)"), text)
    assert found, text
    return found.groups()


def rows(table):
    """The cells of a table, row by row, without the names of the rows."""
    body = table.select("tbody tr")
    return [[cell.text for cell in row.select("td")] for row in body]


SHARES = np.linspace(-1, 1, 2001)
PALETTES = [
    np.transpose([
        np.interp(SHARES, np.linspace(-1, 1, len(stops)), channel)
        for channel in zip(
            *([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in stops),
            strict=True,
        )
    ])
    for stops in _STOPS.values()
]  # fmt: skip


@functools.cache
def depth(colour):
    """Where a colour stands from -1 over 0 to 1, the same in both schemes."""
    pair = re.fullmatch(r"light-dark\(#(\w{6}),#(\w{6})\)", colour).groups()
    found = []
    for text, palette in zip(pair, PALETTES, strict=True):
        rgb = [int(text[i : i + 2], 16) for i in (0, 2, 4)]
        distance = abs(palette - rgb).max(axis=1)
        assert distance.min() <= 1, colour
        found.append(SHARES[distance.argmin()])
    assert found[0] == pytest.approx(found[1], abs=0.02)
    return sum(found) / 2


def ground(cell):
    return re.match(r"background:(light-dark\([^)]*\));", cell["style"])[1]


def grid_shows(table, values, digits, shares, closed=None):
    """Every cell has its number and its shade, or is closed."""
    cells = [row.select("td") for row in table.select("tbody tr")]
    assert [len(row) for row in cells] == [len(row) for row in values]
    for i, j in np.ndindex(np.shape(values)):
        if closed is not None and closed[i, j]:
            assert cells[i][j].text == "·"
            continue
        says(cells[i][j].text, values[i][j], digits)
        assert abs(depth(ground(cells[i][j])) - shares[i][j]) < 0.01


def mosaic_shows(svg, shares, closed=None, hatch=True):
    """Every entry has its shade, a 24th of each side, or is hatched."""
    seen = np.full(np.shape(shares), np.nan)
    hatched = re.findall(r"M(\d+) (\d+)l1 -1", str(svg.select(".av-shut")))
    for path in svg.select("path"):
        for j, i in re.findall(r"M(\d+) (\d+)h1v1h-1z", path["d"]):
            seen[int(i), int(j)] = depth(path["fill"])
    if closed is None:
        closed = np.zeros(seen.shape, bool)
    np.testing.assert_array_equal(np.isnan(seen), closed)
    at = [[int(i) - 1, int(j)] for j, i in hatched]
    assert at == (np.argwhere(closed).tolist() if hatch else [])
    assert abs(seen - shares)[~closed].max(initial=0) < 0.5 / 24 + 0.01


def matrix_shows(shown, values, digits, closed=None, far=1):
    """Small matrices are tables of numbers, large ones are mosaics."""
    table = shown.select_one("table.av-grid")
    shares = np.array(values) / far
    if table is not None:
        grid_shows(table, values, digits, shares, closed)
    else:
        mosaic_shows(shown.select_one(".av-mosaic"), shares, closed)


def curves(svg):
    """The lines and the dots of a chart, in the units of its axes.

    The third part says how far a number that is drawn to a tenth of a pixel
    may be off.
    """
    texts = [t for t in svg.select("text:not(.av-name)") if t.has_attr("x")]
    numbers = [t for t in texts if re.fullmatch(r"−?[\d.e]+", t.text)]
    across = [t for t in numbers if t["text-anchor"] == "middle"]
    up = [t for t in numbers if t["text-anchor"] == "end"]
    rules = svg.select("path.av-rule")
    heights = [re.match(r"M\S+ (\S+?)H", rule["d"])[1] for rule in rules]

    def axis(ticks, pixels):
        pixels, ticks = np.array(pixels, float), [read(t.text) for t in ticks]
        assert len(ticks) == 5
        x0, x1 = pixels[0], pixels[-1]
        a = (ticks[-1] - ticks[0]) / (x1 - x0)
        # Ticks between show three digits of where they stand.
        np.testing.assert_allclose(
            ticks[0] + a * (pixels - x0), ticks, rtol=6e-3, atol=1e-9
        )
        return lambda p: ticks[0] + a * (np.array(p, float) - x0), abs(a)

    x_of, x_pixel = axis(across, [t["x"] for t in across])
    y_of, y_pixel = axis(up, heights)
    lines = []
    for path in svg.select("path.av-line"):
        points = re.findall(r"[ML](\S+?) (-?[\d.]+)", path["d"])
        px, py = zip(*points, strict=True)
        lines.append(np.stack([x_of(px), y_of(py)], axis=1))
    dots = [(x_of(c["cx"]), y_of(c["cy"])) for c in svg.select("circle")]
    return lines, dots, 0.0501 * np.array([x_pixel, y_pixel])


def follows(line, points, near):
    """A line goes through the points."""
    points = np.array(points, float)
    assert np.shape(line) == points.shape
    assert (abs(line - points) <= near).all()


# --- the figures ----------------------------------------------------------


def causal_shows(state, expected, shown):
    weights = np.array(expected["weights"])
    closed = weights == 0  # a weight that is allowed is never zero here
    matrix_shows(shown, weights, 2, closed)
    detail = {
        "sliding": f", window {min(state['window'], state['T'])}",
        "padding": r", # real tokens?",
        "causal and left padding": r", # real tokens?",
    }.get(state["mask"], "")
    caption = shown.select(".av-caption")[-1].text
    found = re.fullmatch(
        rf"Mask {state['mask']}{detail}; # tokens, ALiBi slope #, "
        r"temperature #\.".replace("#", r"(−?[\d.,]*\d)"),
        caption,
    )
    *length, T, slope, temperature = found.groups()
    all_say(length, [min(state["length"], state["T"])] * len(length))
    says(T, state["T"])
    says(slope, state["slope"], 4)
    says(temperature, state["temperature"], 4)
    i, j = expected["picked"]
    shut = closed[i, j]
    read_ = (
        "the mask forbids it, weight 0\\."
        if shut
        else r"score cos\(#\) / # − # · # = #, weight #\."
    )
    empty = np.flatnonzero(closed.all(axis=1))
    assert empty.tolist() == list(range(len(empty))), "they stand together"
    last = f" to {len(empty) - 1}" * (len(empty) > 1)
    part = f" Queries that may attend to nothing: 0{last}; their weights are "
    part = re.escape(part + "all zero.") * (len(empty) > 0)
    counted = ", where an empty row counts as 0" * (len(empty) > 0)
    query, key, *terms, mean = sentence(
        shown,
        rf"Query #, key #: {read_}{part} Mean entropy # nats{counted}\.",
    )
    all_say([query, key], [i, j])
    if not shut:
        angle, divisor, rate, steps, score, weight = terms
        says(angle, i - 2 * j)
        says(divisor, state["temperature"], 4)
        says(rate, state["slope"], 4)
        says(steps, abs(i - j))
        says(score, expected["score"], 4)
        says(weight, weights[i, j], 4)
    says(mean, np.mean(expected["entropies"]), 3)
    # The entry that is read is marked, in the table as in the picture.
    picked = [
        [
            cell.parent.parent.select("tr").index(cell.parent),
            cell.parent.select("td").index(cell),
        ]
        for cell in shown.select("td.av-picked")
    ]
    for ring in shown.select(".av-ring"):
        x, y, width, height, _ = path_of(ring)
        sx = 294 / state["T"]
        sy = min(sx, 22)
        assert [width, height] == pytest.approx([sx + 2, sy + 2], abs=0.01)
        picked.append([round((y + 1 - 34) / sy), round((x + 1 - 40) / sx)])
    assert picked == [[i, j]]


def step_shows(state, expected, shown):
    tables = {
        table.caption.text.split(" ")[0]: table
        for table in shown.select("table")
    }
    names = [["Q", "K", "V"], ["X"]][state["what"] == "X"]
    names += ["dots", *["scores"] * state["scale"]]
    names += [*["masked"] * state["causal"], "weights", "output"]
    assert list(tables) == names
    T, S = np.shape(expected["dots"])
    later = np.arange(S) > np.arange(T)[:, None] + S - T
    closed = later & state["causal"]
    masked = np.where(closed, -np.inf, expected["scores"])
    given = {name: state[name] for name in names if name in state}
    for name, values in {**given, **expected, "masked": masked}.items():
        if name not in tables:
            continue
        texts = rows(tables[name])
        finite = [t for row in texts for t in row if t != "−∞"]
        (digits,) = {len(text.partition(".")[2]) for text in finite}
        for row, numbers in zip(texts, np.array(values), strict=True):
            all_say(row, numbers, digits)
        exact = np.array(values)[np.isfinite(values)]
        short = np.allclose(exact, exact.round(digits), rtol=0, atol=1e-11)
        assert digits == 3 or short, "too few digits"


def saturation_shows(state, expected, shown):
    S, d_k = state["S"], state["d_k"]
    (scores, _, near), (weights, _, close) = map(curves, shown.select("svg"))
    shares = expected["counts"] / (32 * S)
    edges = np.arange(-64, 65)
    cut = np.minimum(shares, 0.5)
    outline = [[edges[0], 0], *bars(edges, cut), [edges[-1], 0]]
    follows(scores[0], outline, near)
    edges = np.arange(S + 1)
    largest_first = np.sort(expected["weights"])[::-1]
    outline = [[0, 0], *bars(edges, largest_first), [S, 0]]
    follows(weights[0], outline, close)
    follows(weights[1], [[0, 1 / S], [S, 1 / S]], close)
    beyond = 1 - expected["counts"].sum() / (32 * S)
    outside = r" #% of them lie outside the picture\." if beyond > 0 else ""
    high = r" The highest bar, #, is cut\." if max(shares) > 0.5 else ""
    found = sentence(
        shown,
        rf"{'S' if state['scale'] else 'Not s'}caled, d_k = #, √d_k = #: "
        rf"the scores have standard deviation #\.{outside}{high} Mean over 32 "
        r"queries: largest weight # \(even would be #\), entropy # nats "
        r"of at most #\.",
    )
    numbers = [(d_k, 0), (np.sqrt(d_k), 2), (expected["spread"], 2)]
    numbers += [(100 * beyond, 1)] if beyond > 0 else []
    numbers += [(max(shares), 3)] if high else []
    numbers += [(expected["largest"], 3), (1 / S, 3)]
    numbers += [(expected["entropy"], 3), (np.log(S), 3)]
    for text, (x, digits) in zip(found, numbers, strict=True):
        says(text, x, digits)


def bars(edges, heights):
    return [
        [x, height]
        for left, right, height in zip(
            edges[:-1], edges[1:], heights, strict=True
        )
        for x in (left, right)
    ]


def heads_show(state, expected, shown):
    H, H_kv, d_k = state["H"], state["H_kv"], state["d_k"]
    split, readers = expected["split"], expected["kv_head"]
    tables = shown.select("table")
    cuts_show(state, expected, shown.select_one(".av-cuts"))
    if H * d_k <= 10:
        merged, *per_head, counts = tables
        for table, columns in zip(
            [merged, *per_head], [split.ravel(), *split], strict=True
        ):
            tokens = "abcdef"[: state["T"]]
            assert rows(table) == [
                [f"{t}{c}" for c in columns] for t in tokens
            ]
            followed = f"a{expected['followed'][0]}"
            marks = [mark.text for mark in table.select("mark")]
            assert (followed in marks) == (expected["followed"][0] in columns)
    else:
        (counts,) = tables
    for group, item in enumerate(shown.select(".av-groups li")):
        of_group, *of_heads = re.findall(r"\(([\d–]+)\)", item.text)
        assert ends(of_group) == (group * d_k, group * d_k + d_k - 1)
        heads = np.flatnonzero(readers == group)
        assert [f"Q{h}" for h in heads] == re.findall(r"Q\d+", item.text)
        columns = [(split[h, 0], split[h, -1]) for h in heads]
        assert [ends(text) for text in of_heads] == columns
    assert len(shown.select(".av-groups li")) == H_kv
    sizes, full = expected["parameters"], expected["multi_head"]
    lines = [[sizes[name], full["total"] / 4] for name in list(sizes)[:4]]
    lines += [[sizes["total"], full["total"]]]
    lines += [[expected["cache"], full["cache"]]]
    for texts, numbers in zip(rows(counts), lines, strict=True):
        all_say(texts, numbers)
    text = shown.select_one(".av-say").text
    at, head, place, group = expected["followed"]
    assert f"Column {at} is place {place} of query head {head}" in text
    assert f"reads K{group} and V{group}." in text
    assert f"takes {expected['cache']:,} bytes a token" in text
    kinds = {1: "Multi-query", H: "Multi-head"}
    assert text.startswith(kinds.get(H_kv, "Grouped-query"))


def cuts_show(state, expected, svg):
    """Columns of heads to scale, and lines to what each head reads."""
    H, H_kv = state["H"], state["H_kv"]
    n, wide = H * state["d_k"], 336 / H
    rects = [[float(r[a]) for a in ("x", "y", "width")] for r in svg("rect")]
    colours = [r["class"][1] for r in svg("rect")]
    queries, keys, values = rects[:H], rects[H : H + H_kv], rects[H + H_kv :]
    readers = np.array(expected["kv_head"])
    middles = [
        2 + wide * (np.flatnonzero(readers == g).mean() + 0.5)
        for g in range(H_kv)
    ]
    for some, at in ((keys, 96), (values, 144)):
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


def ends(text):
    """First and last of "4–7", or of "4"."""
    first, _, last = text.partition("–")
    return int(first), int(last or first)


UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def kvcache_shows(state, expected, shown):
    sizes, models = shown.select("table")
    keys = ("per_layer", "per_token", "per_sequence", "total")
    for (count, size), key in zip(rows(sizes), keys, strict=True):
        says(count, expected[key])
        number, unit = size.split(" ")
        says(number, expected[key] / UNITS[unit], 3)
    bytes_of = {
        row.th.text.replace("▸ ", ""): row for row in models.select("tbody tr")
    }
    own = bytes_of.pop("own numbers", None)
    named = {**expected["models"]}
    assert list(bytes_of) == list(named)
    if own is not None:
        bytes_of["own numbers"] = own
        named["own numbers"] = expected["per_token"]
    most = max(named.values())
    for name, row in bytes_of.items():
        count, bar = row.select("td")
        assert bar.text == "", "a bar has no words"
        says(count.text, named[name])
        width = re.search(r"width:([\d.]+)%", bar.i["style"])[1]
        says(width, 100 * named[name] / most, 2)
    store_shows(state, expected, shown.select_one(".av-store"))
    found = sentence(
        shown,
        r".*?: # bytes? a position\. # positions? in "
        r"(one sequence|each of [\d,]+ sequences) takes? # (.iB)"
        r"(?:, which is # MiB)?\. # GB (have room for all of them, and for|"
        r"are full after) #(?: of #)? positions?(?: in each sequence)?\..*",
    )
    per_token, filled, batch, size, unit, mib, *rest = found
    memory, verdict, room, S = rest
    now = sum(expected["now"])
    all_say((per_token, filled), (expected["per_token"], expected["filled"]))
    says(batch.replace("one", "1").split()[-2], state["batch"])
    says(size, now / UNITS[unit], 3)
    assert (mib is not None) == (now >= 2**30)
    if mib:
        says(mib, now / 2**20, 3)
    all_say((memory, room), (state["memory"], expected["room"]))
    fits = expected["total"] <= state["memory"] * 10**9
    assert (verdict[0] == "h") == fits == (S is None)
    if not fits:
        says(S, state["S"])


def store_shows(state, expected, svg):
    """Bars of keys and values: one sequence, and all in the memory."""
    now, total = expected["now"], expected["total"]
    memory = state["memory"] * 10**9
    scale = 336 / max(total, memory)
    long = 336 * expected["filled"] / state["S"]
    keys, values = now[0] * scale, now[1] * scale
    wanted = [
        ("av-key", 2, 22, long),
        ("av-value", 2, 44, long),
        ("av-key", 2, 100, keys),
        ("av-value", 2 + keys, 100, values),
    ]
    for bar, (kind, x, y, width) in zip(svg("rect"), wanted, strict=True):
        assert bar["class"] == [kind]
        found = [float(bar[a]) for a in ("x", "y", "width", "height")]
        assert found == pytest.approx([x, y, width, 22], abs=0.0051)
    edge = path_of(svg.select_one(".av-edge"))[0]
    assert edge == pytest.approx(2 + scale * memory, abs=0.0051)
    one, room = (path_of(p) for p in svg.select(".av-frame"))
    assert one == [2, 22, 336, 44, -336]
    assert room[:2] == [2, 100]
    assert room[2] == pytest.approx(edge - 2, abs=0.0051)
    # The film's edge: full to the byte is still inside.
    inside = sum(now) <= memory
    over = 2 + keys + values - edge
    assert over <= 0.01 if inside else over >= -0.01


def positions_show(state, expected, shown):
    {"sinusoid": waves_show, "RoPE": turns_show, "ALiBi": charges_show}[
        state["kind"]
    ](state, expected, shown)


def waves_show(state, expected, shown):
    pair = min(state["pair"], state["pairs"] - 1)
    table = expected["table"]
    matrix_shows(shown, table, 3)
    at = np.arange(state["T"])
    lines, _, near = curves(shown.select_one(".av-chart"))
    for line, column in zip(lines, (2 * pair, 2 * pair + 1), strict=True):
        follows(line, np.stack([at, table[:, column]], axis=1), near)
    found = sentence(
        shown,
        r"Pair # is columns # and #\. It turns by # degrees a position and "
        r"repeats after # positions\.",
    )
    wavelength = expected["wavelength"]
    all_say(found[:3], (pair, 2 * pair, 2 * pair + 1))
    says(found[3], 360 / wavelength, 3)
    says(found[4], wavelength, 2)


def turns_show(state, expected, shown):
    m, n, shift = state["m"], state["n"], state["shift"]
    pair = min(state["pair"], state["pairs"] - 1)
    arrows = shown.select(".av-plane path.av-hand")
    for arrow, key in zip(arrows, ("query", "key"), strict=True):
        x, y = re.fullmatch(r"M0 0L(\S+) (\S+)", arrow["d"]).groups()
        tip = expected[key][2 * pair : 2 * pair + 2]
        all_say((x, y), (100 * tip[0], -100 * tip[1]), 2)
    (line,), (dot,), near = curves(shown.select_one(".av-chart"))
    by_distance = zip(range(-32, 33), expected["by_distance"], strict=True)
    fine = zip(np.arange(-256, 257) / 8, expected["curve"], strict=True)
    follows(line, list(fine), near)
    # Dots at whole distances, on the curve.
    spots = shown.select_one(".av-points")["d"]
    svg = BeautifulSoup(str(shown.select_one(".av-chart")), "html.parser")
    svg.select_one(".av-line")["d"] = re.sub("h0", "", spots).replace("M", "L")
    (dots,), *_ = curves(svg)
    follows(dots, list(by_distance), near)
    follows(dot, (m - n, expected["score"]), near)
    moved = r" \(moved by #\)" if shift else ""
    before = r"At # and # it is #\. " if shift else ""
    found = sentence(
        shown,
        rf"Query at #, key at #{moved}: distance #, score #\. {before}In pair "
        r"# the key is # − \(?#\)? · # = # degrees ahead\.",
    )
    numbers = [(m + shift, 0), (n + shift, 0)]
    numbers += [(shift, 0)] if shift else []
    numbers += [(m - n, 0), (expected["score"], 4)]
    numbers += [(m, 0), (n, 0), (expected["unmoved"], 4)] if shift else []
    step, at, to = expected["turns"]
    numbers += [(pair, 0), (state["angle"], 4)]
    numbers += [(m - n, 0), (step, 3), (to - at, 3)]
    for text, (x, digits) in zip(found, numbers, strict=True):
        says(text, x, digits)


def charges_show(state, expected, shown):
    slopes, bias = expected["slopes"], expected["bias"]
    matrix_shows(shown, bias, 3, far=-bias.min())
    lines, _, near = curves(shown.select_one(".av-chart"))
    steep, flat = slopes.argmax(), slopes.argmin()
    at = np.arange(state["T"])
    for line, head in zip(lines, dict.fromkeys((steep, flat)), strict=True):
        follows(line, np.stack([at, bias[head]], axis=1), near)
    text = shown.select_one(".av-say").text
    listed = re.search(r"Slopes: (.*?)\.(?: Head|$)", text)[1].split(", ")
    np.testing.assert_allclose(list(map(read, listed)), slopes, rtol=5.001e-4)
    both = f"Head {steep} is the steepest, head {flat} the flattest."
    assert text.endswith(both) == (steep != flat)


def tiles_show(state, expected, shown):
    row = min(state["row"], state["T"] - 1)
    done = expected["done"]
    drawn = {
        kind: [
            [int(x) for x in (a, b, c, d)]
            for c, a, d, b in re.findall(
                r"M(\d+) (\d+)H(\d+)V(\d+)H\d+z", path["d"]
            )
        ]
        for kind in ("open", "done", "last")
        for path in shown.select(f".av-tile-{kind}")
    }
    blocks = expected["blocks"]
    assert drawn.get("open", []) == blocks
    assert drawn.get("done", []) == blocks[:done]
    assert drawn.get("last", []) == blocks[max(done - 1, 0) : done]
    numbers = [text.text for text in shown.select(".av-tiles text")]
    assert numbers in ([], [str(k + 1) for k in range(len(blocks))])
    small_shows(state, expected, shown.select_one(".av-small"))

    memory, costs = shown.select("table")
    *steps, plain = rows(memory)
    history = zip(
        *(expected[key] for key in ("maxima", "factors", "added", "sums")),
        strict=True,
    )
    history = list(history)
    if len(history) > 8:
        assert f"{len(history) - 8} earlier" in memory.text
        history, steps = history[-8:], steps[1:]
    for texts, numbers in zip(steps, history, strict=True):
        all_say(texts, numbers, 4)
    own = [block for block in blocks[:done] if row in range(*block[:2])][-8:]
    names = [th.text for th in memory.select("tbody th")][-len(own) - 1 : -1]
    assert names == [f"keys {c} to {d - 1}" for _, _, c, d in own]
    maximum, sum_ = expected["plain"]["maximum"], expected["plain"]["sum"]
    all_say((plain[0], plain[3]), (maximum, sum_), 4)
    for texts, key in zip(
        rows(costs), ("held", "computed", "keys_read"), strict=True
    ):
        all_say([text for text in texts if text], expected[key].values())
    text = shown.select_one(".av-say").text
    assert re.match(rf"{done} of {len(blocks):,} blocks? visited\. ", text)
    seen, own = expected["of_row"]
    if seen:
        known = re.search(
            rf"Query {row} has seen {seen} of its {own} blocks?: "
            r"maximum (\S+), sum (\S+)\. ", text
        )  # fmt: skip
        last = expected["maxima"][-1], expected["sums"][-1]
        all_say(known.groups(), last, 4)
    else:
        assert f"Query {row} was not reached yet." in text
    assert ("Plain attention has the same." in text) == (seen == own)


def small_shows(state, expected, svg):
    """The block that is in the small memory, and what its queries keep."""
    T, tile = state["T"], expected["tile"]
    wide = min(190 / min(state["block_k"], T), 48)
    high = min(190 / min(state["block_q"], T), 24)
    frame = path_of(svg.select_one(".av-frame"))
    size = wide * min(state["block_k"], T), high * min(state["block_q"], T)
    assert frame == pytest.approx([34, 40, *size, -size[0]], abs=0.0051)
    units = re.findall(r"[\d.]+", svg.g["transform"])
    wanted = [wide, 0, 0, high, 34, 40]
    assert [float(x) for x in units] == pytest.approx(wanted, abs=0.0051)
    if tile is None:
        assert not svg.g.find_all()
        return
    scores = np.array(tile["scores"], float)
    open_ = np.argwhere(~np.isnan(scores))
    far = 1 + (T - 1) / 8  # from the least to the largest that there can be
    mosaic_shows(svg.g, scores / far, np.isnan(scores), hatch=False)
    written_ = svg.select(".av-in-cell")
    if wide >= 34 and high >= 13:
        numbers = [scores[i, j] for i, j in open_]
        all_say([t.text for t in written_], numbers, 2)
    else:
        assert not written_
    first = expected["blocks"][expected["done"] - 1][0]
    row = min(state["row"], T - 1) - first
    rows_ = [i for i in range(len(scores)) if high >= 13 or i == row]
    for column, key in ((268, "maxima"), (318, "sums")):
        texts = svg.select(f'text[x="{column}"]')[1:]
        all_say([t.text for t in texts], [tile[key][i] for i in rows_], 3)
        middles = [40 + (i + 0.5) * high + 4 for i in rows_]
        found = [float(t["y"]) for t in texts]
        assert found == pytest.approx(middles, abs=0.0051)
    bold = [t.text for t in svg.select("g.av-here text:first-child")]
    assert bold == [f"q{first + row}"] * (0 <= row < len(scores))


def induction_shows(state, expected, shown):
    query, T = expected["query"], len(state["symbols"])
    weights = [w for layer in expected["weights"] for w in layer]
    panels = shown.select(".av-head")
    for panel, w, key in zip(panels, weights, HEADS, strict=True):
        assert ("av-off" in panel["class"]) == (not state[key])
        seen = {}
        for path in panel.select(".av-arc-picked"):
            found, level = arcs(path)
            assert level
            assert {i for i, _ in found} == {query}
            thin = "av-thin" in path["class"]
            width = path["stroke-width"]
            seen |= {j: (None if thin else width) for _, j in found}
            assert not thin or width == "0.5"
        assert sorted(seen) == list(range(query + 1))
        for j, width in seen.items():
            assert (width is None) == (w[query][j] < 0.02)
            says(width or "0", 6 * w[query][j] if width else 0, 2)
        faint = np.zeros((T, T))
        for path in panel.select(".av-arc"):
            for i, j in arcs(path)[0]:
                faint[i, j] = float(path["stroke-width"]) / 6
        near = np.where(w >= 0.1, w, 0)
        near[query] = 0
        assert abs(faint - near).max() <= 0.0501
        assert ((faint > 0) == (near > 0)).all()
        numbers = panel.select(".av-weight")
        keys = [j for j in range(T) if w[query][j] >= 0.1]
        assert [float(t["x"]) / 20 - 0.5 for t in numbers] == keys
        all_say([t.text for t in numbers], w[query][keys], 2)
        assert panel.select_one("text").text == state["symbols"]
        assert marks(panel, 20) == [query]
    bars = [
        re.fullmatch(r"M(\S+) (\S+)h18v(\S+)h-18z", path["d"]).groups()
        for path in shown.select(".av-guess")
    ]
    for (_, top, height), x in zip(bars, expected["chances"], strict=True):
        says(height, 80 * x, 1)
        assert abs(float(top) + float(height) - 96) < 1e-9, "stands on a line"
    (said,) = shown.select(".av-said")
    assert shown.select(".av-guess").index(said) == expected["said"]
    answers = [expected["answer"]] * (expected["answer"] is not None)
    assert marks(shown.select_one(".av-next"), 24) == answers
    above, below = shown.select(".av-heads")
    for box in (above, below):
        assert ("av-long" in box["class"]) == (T > 20)
    # A block's heads stand below what the block reads.
    heads = ["av-head" in part.get("class", ()) for part in above("div")]
    assert heads == [False, True, True] * 2
    strips = [*above.select("svg:has(g)"), *below.select("svg:has(g)")]
    for svg, rows_ in zip(strips, expected["stream"], strict=True):
        strip_shows(svg, rows_)
        assert marks(svg, 20) == [query]
    assert below.select("svg")[1]["class"] == ["av-next"]


def strip_shows(svg, rows_):
    """A column a position, a cell a number, all of them in their shade."""
    seen = np.full(np.shape(rows_), np.nan)
    for path in svg.select("g.av-strip path"):
        cells = re.findall(r"M(\d+) (\d+)h1(?=M|$)", path["d"])
        assert path["d"] == "".join(f"M{t} {j}h1" for t, j in cells)
        for t, j in cells:
            assert np.isnan(seen[int(t), int(j)]), "drawn once"
            seen[int(t), int(j)] = depth(path["stroke"])
    largest = np.abs(rows_).max()
    shares = np.array(rows_) / largest
    assert abs(seen - shares).max() < 0.5 / 24 + 0.01
    least, most = re.findall(r"−?[\d.]+(?= \()", svg["aria-label"])
    assert least == f"−{most}"
    says(most, largest, 2)
    # A row of cells is as high as its stroke is wide, and nothing is cut off.
    T, width = np.shape(rows_)
    a, b, c, d, e, f = map(
        float, re.findall(r"[\d.]+", svg.g["transform"].removeprefix("matrix"))
    )
    assert (a, b, c, e, f) == (20, 0, 0, 0, d / 2)
    _, _, wide, high = map(float, svg["viewbox"].split())
    assert wide == 20 * T
    baseline = float(svg.select_one("text")["y"])
    assert d * width + 10 < baseline < high - 5


def marks(svg, width):
    """The places of the symbols that are underlined."""
    places = [
        (float(re.match(r"M(\S+) ", path["d"])[1]) + 6) / width - 0.5
        for path in svg.select(".av-mark")
    ]
    letters = [t for t in svg.select("text") if not t.has_attr("class")]
    (across,) = [[float(x) for x in t["x"].split()] for t in letters]
    assert across == [width * (k + 0.5) for k in range(len(across))]
    assert len(letters[0].text) == len(across)
    return places


HEADS = [f"head_{i}_{h}" for i in (0, 1) for h in (0, 1)]


def arcs(path):
    """The query and the key of each arc, and whether they stand level."""
    found, level = [], set()
    for x, y, rx, _, x2, y2 in re.findall(
        r"M(\S+) (\S+?)A(\S+) (\S+) 0 [01] 1 (\S+) ([\d.]+)", path["d"]
    ):
        key, query = float(x) / 20 - 0.5, float(x2) / 20 - 0.5
        if rx == "4":  # a loop ends four to the left and to the right
            key, query = key + 0.2, query - 0.2
        found.append([round(query), round(key)])
        assert abs(found[-1][0] - query) + abs(found[-1][1] - key) < 1e-9
        level |= {y, y2}
    return found, len(level) == 1


def path_of(element):
    """The numbers of a path, in order."""
    return [float(x) for x in re.findall(r"-?[\d.]+", element["d"])]


def words_show(state, expected, shown):
    weights = expected["weights"]
    sentence_, plane = shown.select("svg")
    all_say([t.text for t in sentence_.select(".av-weight")], weights, 2)
    places = [float(t["x"]) for t in sentence_.select("text:not(.av-part)")][
        ::2
    ]
    assert places == sorted(places), "the words stand in their order"
    for link, w, place in zip(
        sentence_.select(".av-link"), weights, places, strict=True
    ):
        says(link["stroke-width"], max(17 * w, 0.8), 2)
        assert link.has_attr("stroke-dasharray") == (w < 0.02)
        start, *_, end, _ = path_of(link)
        if place == places[-1]:  # a loop
            assert start > place > end
        else:
            assert end == place
            assert abs(start - places[-1]) < 8
    parts = sentence_.select("rect.av-value")
    ends = np.cumsum([0, *weights]) * 360
    all_say([p["width"] for p in parts], np.diff(ends), 1)
    all_say([p["x"] for p in parts], ends[:-1], 1)
    # The plane: 230 wide, from -3.35 to 3.35 each way, upwards.
    unit = 115 / 3.35
    for key, dot in zip(
        KEYS_OF_WORDS.values(), plane.select("circle.av-key"), strict=True
    ):
        says(dot["cx"], 115 + unit * key[0], 1)
        says(dot["cy"], 115 - unit * key[1], 1)
    here = [115 + unit * state["x"], 115 - unit * state["y"]]
    for dot in plane.select("circle.av-query, .av-reach"):
        says(dot["cx"], here[0], 1)
        says(dot["cy"], here[1], 1)
    (arrow,) = plane.select("path.av-query")
    assert path_of(arrow)[2:] == pytest.approx(here, abs=0.051)
    said = sentence(
        shown,
        r"query of it · key of \w+ = #×\(?#\)? \+ \(?#×\(?#\)?\)? = #; "
        r"exp\(# / √2\) ≈ # of # in all ≈ #",
    )
    most = expected["most"]
    x, a, y, b, dot, again, *_ = map(read, said)
    assert (x, y) == (state["x"], state["y"])
    assert (a, b) == list(KEYS_OF_WORDS.values())[most]
    assert abs(dot - expected["dots"][most]) < 1e-9
    assert again == dot
    says(said[6], expected["exponentials"][most], 2)
    says(said[7], sum(expected["exponentials"]), 2)
    says(said[8], weights[most], 2)


def written(texts, kind):
    """The texts of a kind that are there in full, with their places."""
    return [
        (t.text, float(t["x"]), float(t["y"]))
        for t in texts
        if kind in t["class"] and not t.has_attr("opacity")
    ]


def chips(shown, kind):
    """The chips of a kind that stand whole: where each is, and its text."""
    found = []
    for box in shown.select(f"rect.av-{kind}:not(.av-passing)"):
        text = box.find_next_sibling("text")
        assert f"av-chip-{kind}" in text["class"]
        if not box.has_attr("opacity"):
            found.append((float(box["x"]), float(box["y"]), text.text))
    return found


def row_of(found, y, left=0, right=360):
    """The numbers of one row of chips, from the left to the right."""
    return [t for x, at, t in sorted(found) if at == y and left <= x < right]


def all_near(texts, numbers):
    """Chips have two decimals, or one from 10 on."""
    for text, x in zip(texts, numbers, strict=True):
        says(text, x, 2 if abs(x) < 9.995 else 1)


def film_makes(state, expected, shown):
    """Before the query meets the keys: rows, a matrix, and what they make."""
    X, time = np.array(state["X"], float), expected["time"]
    n, width = X.shape
    query, keys = expected["q"], expected["K"]
    made = [query, *keys, *expected["V"]]
    rows = [min(state["query"], n - 1), *range(n), *range(n)]
    kinds = ["query", *["key"] * n, *["value"] * n]
    top = 60 + 19 * (width + 1) + 24  # where the rows of X stand
    step = min(int(np.ceil(time)) - 1, len(made)) if time else 0
    # What was made stands whole in its place.
    places = [28, *[top + 22 * j for j in range(n)] * 2]
    for k in range(min(int(time), len(made))):
        if time <= len(made):
            here = row_of(chips(shown, kinds[k]), places[k])
            all_near(here, made[k])
    if time >= len(made) + 1:  # all take their places
        low = {"query": [28], "key": [88 + 58 * j for j in range(n)]}
        low["value"] = [y + 19 for y in low["key"]]
        for kind, rows_ in (("key", keys), ("value", expected["V"])):
            for y, row in zip(low[kind], rows_, strict=True):
                all_near(row_of(chips(shown, kind), y)[: len(row)], row)
        assert not shown.select("rect.av-token")
        return
    if step == len(made):
        return  # on their way
    kind, row = kinds[step], rows[step]
    W = np.array(state[f"W_{kind[0].upper()}"], float)
    # The matrix, row by row, and the rows of X below it.
    grid = chips(shown, f"w-{kind}")
    if time - step > 0.12 or step in (0, *range(2, n + 1)):
        for a in range(width):
            all_near(row_of(grid, 60 + 19 * a), W[a])
    for j in range(n):
        all_near(row_of(chips(shown, "token"), top + 22 * j), X[j])
    # Each product stands beside its factors, each sum below its products.
    said = written(shown.select(".av-film text"), "av-number")
    columns = {}
    for text, x, _ in sorted(said, key=lambda t: t[1:]):
        columns.setdefault(x, []).append(text.removeprefix("= "))
    if time - step > 0.12:  # those of the row before are gone
        for c, texts in enumerate(columns.values()):
            all_near(texts, X[row] * W[:, c])
    done = 0.16 + 0.62 * np.arange(1, len(made[step]) + 1) / len(made[step])
    here = time - step if time else 0
    assert len(columns) >= (done <= here).sum()
    sums = row_of(chips(shown, kind), 64 + 19 * width)
    if 0.12 < here <= 0.8 or here == 1:
        total = (done <= here + 1e-9).sum()
        all_near(sums[:total], made[step][:total])
        assert len(sums) == total
        # Until all are there none of them leaves.
        before = sum(
            len(row)
            for row, other in zip(made[:step], kinds, strict=False)
            if other == kind
        )
        if here < 1:
            assert len(chips(shown, kind)) == before + total
    # The row of X stands upright beside the column that it visits.
    if here == 1:
        last = max(x for x, _, _ in grid)
        upright = [t for t in chips(shown, "token") if t[1] < top]
        assert {round(last - x) for x, _, _ in upright} <= {31, 35}
        all_near([t for *_, t in sorted(upright, key=lambda t: t[1])], X[row])


def film_shows(state, expected, shown):
    X = np.array(state["X"], float)
    (n, d), time = X.shape, expected["time"]
    texts = shown.select(".av-film text")
    pitch, ahead, d = 41, 0, len(expected["q"])
    if state["what"] != "X":
        film_makes(state, expected, shown)
        pitch, ahead = 58, 2 * n + 2
    told = shown.select_one(".av-say").text
    assert told == film_told(state)[int(np.ceil(time))]
    time -= ahead  # from here on since all rows are there
    if time < 0:
        return
    rows_ = [101 + pitch * j for j in range(n)]
    # What each step brings is there, whole, from its end on.
    steps = [*range(1, n + 1), n + 1, n + 2, n + 3]
    columns = [["dots", j] for j in range(n)]
    columns += [["scores", None], ["exponentials", None], ["weights", None]]
    due = []
    for end, (name, j) in zip(steps, columns, strict=True):
        if time >= end:
            keys = range(n) if j is None else [j]
            due += [(rows_[k], expected[name][k], name) for k in keys]
    numbers = [
        (text, y)
        for text, _, y in written(texts, "av-number")
        + written(texts, "av-weight")
    ]
    assert len(numbers) == len(due)
    for y in rows_:
        here = [text for text, at in numbers if at == y]
        there = [(x, name) for at, x, name in due if at == y]
        # dots, scores and exponentials from left to right; weights last.
        for text, (x, name) in zip(here, there, strict=True):
            if name == "exponentials":
                if "e" in text:
                    assert abs(read(text) / x - 1) < 0.051
                else:
                    assert abs(read(text) - x) < (0.51 if x > 99 else 0.051)
            elif state["what"] == "X":
                says(text, x, 4 if name == "dots" else 3)
            else:
                # As many decimals as the largest of the column has room for.
                far = max(map(abs, expected[name]))
                says(text, x, 3 if far < 10 else 2 if far < 100 else 1)
    output = row_of(chips(shown, "value"), 102 + pitch * n)
    if time >= n + 4:
        all_near(output, expected["output"])
    bars = shown.select(".av-grow")
    wide = (360 - 74 - 30 * d) / 4 - 6
    exps, weights = expected["exponentials"], expected["weights"]
    if n + 1 < time <= n + 2:  # they grow, smoothly, in the first 60 %
        grown = min((time - n - 1) / 0.6, 1)
        grown *= grown * (3 - 2 * grown)
        full = wide * exps / exps.max()
        all_say([b["width"] for b in bars], grown * full, 1)
    if time >= n + 3:
        all_say([b["width"] for b in bars[1::2]], wide * weights, 1)
    # The query is copied: it stays, and its copy meets one key after another.
    places = sorted({float(r["y"]) for r in shown.select("rect.av-query")})
    assert places[0] == 28
    if time in range(1, n + 1):
        assert places == [28, rows_[int(time) - 1] - 13 - 17]


@functools.cache
def stills(settings):
    """The strip of a film, as a page without scripts shows it."""
    html = CLASSES["film"](**json.loads(settings)).html()
    return BeautifulSoup(html, "html.parser").select_one(".av-stills")


def film_told(state):
    """The sentences of all steps: each stands once below the stills."""
    strip = stills(json.dumps(state | {"at": 0}))
    return [li.text for li in strip.select(".av-steps li")]


@pytest.mark.parametrize("settings", every_state("film")[:-8:-1])
def test_stills_are_frames_of_their_film(settings):
    """Four to seven pictures, each what the film shows at its time."""
    figure = CLASSES["film"](**settings)
    state = {key: getattr(figure, key) for key in figure._settings()}
    n, made = len(state["X"]), state["what"] != "X"
    pictures = stills(json.dumps(state)).find_all("li", recursive=False)
    assert 4 <= len(pictures) <= 7
    told, times = 0, []
    for picture in pictures:
        steps = picture.select_one(".av-steps")
        assert int(steps["start"]) == told, "no step is left out"
        told += len(steps.select("li"))
        times.append(told - 1)
        here = CLASSES["film"](**state | {"at": float(told - 1)}).html()
        drawn = BeautifulSoup(here, "html.parser").select_one(".av-result svg")
        assert str(picture.svg) == str(drawn)
    assert times[-1] == (3 * n + 6 if made else n + 4), "the end is shown"
    assert len(pictures) == (7 if made else 5)


def roof_shows(state, expected, shown):
    """Points and roof are read back from where they stand on the axes."""
    svg = shown.select_one(".av-roof")
    numbers = [t for t in svg.select("text:not([class])") if t.has_attr("x")]
    ticks = [t for t in numbers if re.fullmatch(r"[\d.,]+", t.text)]
    across = {read(t.text): float(t["x"]) for t in ticks[:5]}
    up = {read(t.text): float(t["y"]) - 4 for t in ticks[5:]}
    assert list(across) == [1, 10, 100, 1000, 10000]
    assert list(up) == [0.1, 1, 10, 100, 1000]

    def axis(places):
        """Tens stand at equal distances: the logarithm is the scale."""
        steps = np.diff(list(places.values()))
        assert abs(steps - steps[0]).max() < 0.11
        first = next(iter(places.items()))
        return lambda x: first[1] + steps.mean() * np.log10(x / first[0])

    px, py = axis(across), axis(up)
    peak, bandwidth = DEVICES[state["device"]]
    corner = px(peak / bandwidth), py(peak / 1e12)
    x, y, *bend = path_of(svg.select_one(".av-top"))[:4]
    assert bend == pytest.approx(corner, abs=0.3)
    reached = 10 ** ((x - across[1]) / (across[10] - across[1])) * bandwidth
    assert y == pytest.approx(py(reached / 1e12), abs=0.3), "the slope"
    line = path_of(svg.select_one(".av-balance"))
    assert line[:2] == pytest.approx(corner, abs=0.3)

    order = sorted(WORKS, key=lambda k: expected["points"][k]["intensity"])
    hanging = svg.select(".av-hang")
    names = svg.select(".av-named")
    assert [t.text for t in names] == [WORKS[key] for key in order]
    lows = [float(t["y"]) for t in names]
    assert (np.diff(lows) == -15).all(), "no name lies over another"
    for key, hang, name in zip(order, hanging, names, strict=True):
        point = expected["points"][key]
        mark = hang.find_next_sibling(["path", "circle"])
        if key in ("decode", "write"):
            assert mark["class"] == ["av-decode"]
            a, top, _, b, _, low, _, _ = path_of(mark)
            here = [a, (top + low) / 2]
            assert b == pytest.approx(here[1], abs=0.11)
        else:
            assert mark["class"] == ["av-prefill"]
            here = [float(mark["cx"]), float(mark["cy"])]
        there = px(point["intensity"]), py(point["speed"] / 1e12)
        assert here == pytest.approx(there, abs=0.3)
        x, y, end = path_of(hang)
        assert (x, end) == (here[0], up[0.1])
        # From the point, or from its name where that stands higher.
        top = min(here[1], float(name["y"]) - 10)
        assert y == pytest.approx(top, abs=0.11)
        # On the right, where a name of 5.1 a letter does not run out there.
        late = x + 6 + 5.1 * len(name.text) > 360
        assert name["text-anchor"] == ("end" if late else "start")
        side = -6 if late else 6
        assert float(name["x"]) == pytest.approx(x + side, abs=0.11)
    table = rows(shown.select_one(".av-works"))
    for texts, key in zip(table, WORKS, strict=True):
        point = expected["points"][key]
        for text, x in zip(texts, list(point.values()), strict=True):
            number, _, unit = text.partition(" ")
            factor = 1000.0 ** " KMGTP".index(unit or " ")
            factor *= 1e12 if x == point["speed"] else 1
            assert read(number) * factor == pytest.approx(x, rel=5.001e-3)


def plane_of(svg, end):
    """What turns a place of a plane, 230 wide, into a vector."""
    assert svg["viewbox"] == "0 0 230 230"
    unit = 115 / (end + 0.35)
    return lambda x, y: [(float(x) - 115) / unit, (115 - float(y)) / unit]


def arrow_is(svg, kind, vector, end):
    """An arrow goes from the middle to its tip, where its head is."""
    of = plane_of(svg, end)
    (path,) = svg.select(f"path.av-{kind}")
    points = path_of(path)
    assert points[:2] == [115, 115]
    assert of(*points[2:]) == pytest.approx(list(vector), abs=2e-3 * end)
    (head,) = svg.select(f"circle.av-{kind}, rect.av-{kind}")
    half = float(head.get("width", 0)) / 2
    x, y = (head.get(a) or head[b] for a, b in (("cx", "x"), ("cy", "y")))
    tip = of(float(x) + half, float(y) + half)
    assert tip == pytest.approx(list(vector), abs=2e-3 * end)


# In the order in which names are placed: each keeps clear of those before it.
TURNS = {
    "given": [("y", -0.9), ("x", 0.9)],
    "made": [("v", -0.9), ("k", 0.9), ("q", 0)],
}


def names_stand_clear(svg, arrows):
    """A name stands beyond its arrow, 15 from other tips and from names.

    It is turned no farther than that takes, and where nothing does as far as
    helps most; above the middle where there is no arrow.
    """
    tips = [path_of(svg.select_one(f"path.av-{a[1]}"))[2:] for a in arrows]
    taken = []
    for k, (name, _, vector, first) in enumerate(arrows):
        none = np.hypot(*vector) < 1e-9
        way = np.pi / 2 if none else np.arctan2(*vector[::-1])
        turns = way + first + np.array([0, 0.9, -0.9, 1.8, -1.8, 2.7, -2.7])
        spots = tips[k] + 14 * np.stack([np.cos(turns), -np.sin(turns)], 1)
        others = np.array([*tips[:k], *tips[k + 1 :], *taken])
        far = np.hypot(*(spots[:, None] - others).T).min(axis=0)
        (text,) = svg.find_all("text", string=name)
        there = np.array([float(text["x"]), float(text["y"]) - 5])
        (here,) = np.flatnonzero(np.hypot(*(spots - there).T) < 0.16)[:1]
        if far.max() > 15.3:
            assert far[here] > 14.7
            assert (far[:here] < 15.3).all(), "no farther than it takes"
        else:
            assert far[here] > far.max() - 0.4
        taken.append(there)


def project_shows(state, expected, shown):
    given, made = shown.select("svg")
    tokens = {n: [state[f"{n}1"], state[f"{n}2"]] for n in "xy"}
    kinds = {"q": "query", "k": "key", "v": "value"}
    for name, token in tokens.items():
        arrow_is(given, f"token-{name}", token, 2)
        (hold,) = given.select(f".av-hold-{name}")
        here = plane_of(given, 2)(hold["cx"], hold["cy"])
        assert here == pytest.approx(token, abs=4e-3)
    for name, kind in kinds.items():
        arrow_is(made, kind, expected[name], 4)
    of = plane_of(made, 4)
    shadow, drop = (path_of(made.select_one(f".av-{k}"))
                    for k in ("shadow", "drop"))  # fmt: skip
    assert shadow[:2] == [115, 115]
    assert shadow[2:] == drop[2:]
    foot, k = of(*drop[2:]), of(*drop[:2])
    assert foot == pytest.approx(list(expected["foot"]), abs=8e-3)
    assert k == pytest.approx(list(expected["k"]), abs=8e-3)
    names_stand_clear(
        given, [(n, f"token-{n}", tokens[n], t) for n, t in TURNS["given"]]
    )
    names_stand_clear(
        made, [(n, kinds[n], expected[n], t) for n, t in TURNS["made"]]
    )
    # What the eye sees: the drop is at a right angle to the query.
    assert abs(np.subtract(k, foot) @ expected["q"]) < 0.1
    names = [(t.text, [float(t["x"]), float(t["y"])])
             for t in made.select("text")]  # fmt: skip
    for (a, here), (b, there) in itertools.combinations(names, 2):
        same = np.allclose(expected[a], expected[b], atol=1e-9)
        apart = np.hypot(*np.subtract(here, there))
        assert apart > 8 or not same, "names of equal arrows stand apart"


def temperature_shows(state, expected, shown):
    svg = shown.select_one(".av-warm")
    low, *_, high = (path_of(p)[1] for p in svg.select(".av-rule"))
    bars_, ghosts = svg.select("rect.av-tall"), svg.select("rect.av-ghost")
    for boxes, key in ((bars_, "weights"), (ghosts, "ghost")):
        for box, w in zip(boxes, expected[key], strict=True):
            assert float(box["height"]) == pytest.approx(
                w * (low - high), abs=0.11
            )
            foot = float(box["y"]) + float(box["height"])
            assert foot == pytest.approx(low, abs=0.11), "it stands"
    for bar, ghost in zip(bars_, ghosts, strict=True):
        middles = [float(b["x"]) + float(b["width"]) / 2
                   for b in (bar, ghost)]  # fmt: skip
        assert middles[0] == pytest.approx(middles[1], abs=0.11)
        thick = min(0.62 * 308 / len(bars_), 46)
        assert float(bar["width"]) == pytest.approx(thick, abs=0.06)
        assert float(ghost["width"]) > float(bar["width"]), "around it"
    all_say([t.text for t in svg.select(".av-weight")],
            expected["weights"], 2)  # fmt: skip
    even = path_of(svg.select_one(".av-even"))[1]
    n = len(expected["weights"])
    assert even == pytest.approx(low - (low - high) / n, abs=0.11)


def backward_shows(state, expected, shown):
    tables = {t.caption.text.split(" ")[0]: t for t in shown.select("table")}
    given = {**expected, "dY": state["dY"], "A": expected["weights"]}
    assert list(tables) == ["dY", "A", "dV", "dA", "dS", "dQ", "dK"]
    T, S = np.shape(expected["weights"])
    later = np.arange(S) > np.arange(T)[:, None] + S - T
    closed = later & state["causal"]
    grads = [given[k] for k in tables if k != "A"]
    most = max(np.abs(g).max() for g in grads)
    for name, table in tables.items():
        values = np.array(given[name], float)
        cells = [row.select("td") for row in table.select("tbody tr")]
        assert np.shape(cells)[:2] == values.shape
        for i, j in np.ndindex(*values.shape):
            if name in ("A", "dA", "dS") and closed[i, j]:
                assert cells[i][j].text == "·"
                continue
            says(cells[i][j].text, values[i, j], 3)
            share = values[i, j] / (1 if name == "A" else most or 1)
            seen = depth(ground(cells[i][j]))
            assert abs(seen - share) < 0.01, "strong is far from zero"
    wide = len(state["dY"][0])
    entry = min(state["entry"], T * wide - 1)
    (picked,) = shown.select(".av-picked")
    assert picked["data-at"] == f"dY,{entry // wide},{entry % wide}"
    rows_ = {cell.find_parent("tr").th.text
             for cell in shown.select(".av-source")}  # fmt: skip
    assert rows_ == {f"q{entry // wide}"}


WORKS = {
    "prefill": "prefill, attention",
    "stored": "prefill, scores stored",
    "read": "prefill, projections",
    "decode": "decode, attention",
    "write": "decode, projections",
}
SHOWS = {
    "project": project_shows,
    "temperature": temperature_shows,
    "backward": backward_shows,
    "roof": roof_shows,
    "film": film_shows,
    "causal": causal_shows,
    "step": step_shows,
    "saturation": saturation_shows,
    "heads": heads_show,
    "kvcache": kvcache_shows,
    "positions": positions_show,
    "tiles": tiles_show,
    "induction": induction_shows,
    "words": words_show,
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_shown_is_what_the_helpers_say(name):
    for settings in every_state(name):
        SHOWS[name](*look(name, settings))
