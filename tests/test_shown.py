"""Interactive figures: what a reader sees is what was computed.

The numbers behind a figure are compared in `test_figures.py`. Here its words,
tables, colours and curves are read back, as a reader reads them, and compared
with what the helpers say.
"""

import functools
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from expected_figures import CASES, CLASSES, EXPECTED, states

from helpers.plotting import CMAP


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
        assert abs(read(text) - x) <= 0.500001 * 10.0**-digits, (text, x)


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


PALETTE = 255 * CMAP(np.linspace(0, 1, 1001))[:, :3]


@functools.cache
def depth(colour):
    """Where a colour stands between light, 0, and dark, 1."""
    rgb = np.array(re.findall(r"\d+", colour), float)
    distance = abs(PALETTE - rgb).max(axis=1)
    assert distance.min() <= 2, colour
    return distance.argmin() / 1000


def grid_shows(table, values, digits, low, high, closed=None):
    """Every cell has its number and its shade, or is closed."""
    cells = [row.select("td") for row in table.select("tbody tr")]
    assert [len(row) for row in cells] == [len(row) for row in values]
    for i, j in np.ndindex(np.shape(values)):
        if closed is not None and closed[i, j]:
            assert cells[i][j].text == "·"
            continue
        says(cells[i][j].text, values[i][j], digits)
        share = np.clip((values[i][j] - low) / (high - low), 0, 1)
        seen = depth(cells[i][j]["style"].split(";")[0])
        assert abs(seen - share) < 0.01


def mosaic_shows(svg, values, low, high, closed=None):
    """Every entry has its shade, one of 25, or is left out."""
    seen = np.full(np.shape(values), np.nan)
    for path in svg.select("path"):
        for j, i in re.findall(r"M(\d+) (\d+)h1v1h-1z", path["d"]):
            seen[int(i), int(j)] = depth(path["fill"])
    shares = (np.array(values) - low) / (high - low)
    if closed is None:
        closed = np.zeros(seen.shape, bool)
    np.testing.assert_array_equal(np.isnan(seen), closed)
    assert abs(seen - shares)[~closed].max(initial=0) < 0.5 / 24 + 0.01


def matrix_shows(shown, values, digits, low, high, closed=None):
    """Small matrices are tables of numbers, large ones are mosaics."""
    table = shown.select_one("table.av-grid")
    if table is not None:
        grid_shows(table, values, digits, low, high, closed)
    else:
        mosaic_shows(shown.select_one(".av-mosaic"), values, low, high, closed)


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
    matrix_shows(shown, weights, 2, 0, 1, closed)
    empty = [str(i) for i in np.flatnonzero(closed.all(axis=1))]
    part = (
        f"Queries that may attend to nothing: {', '.join(empty)}. "
        "Their weights are all zero."
        if empty
        else "Every query may attend to something."
    )
    detail = {
        "sliding": f", window {min(state['window'], state['T'])}",
        "padding": r", # real tokens?",
        "causal and left padding": r", # real tokens?",
    }.get(state["mask"], "")
    counted = ", where an empty row counts as 0" if empty else ""
    *length, T, slope, temperature, entropy = sentence(
        shown,
        rf"Mask {state['mask']}{detail}; # tokens, ALiBi slope #, "
        rf"temperature #\. {re.escape(part)} Mean entropy # nats{counted}\.",
    )
    all_say(length, [min(state["length"], state["T"])] * len(length))
    says(T, state["T"])
    says(slope, state["slope"], 4)
    says(temperature, state["temperature"], 4)
    says(entropy, np.mean(expected["entropies"]), 3)


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
    outline = [[edges[0], 0], *bars(edges, shares), [edges[-1], 0]]
    follows(scores[0], outline, near)
    edges = np.arange(S + 1)
    largest_first = np.sort(expected["weights"])[::-1]
    outline = [[0, 0], *bars(edges, largest_first), [S, 0]]
    follows(weights[0], outline, close)
    follows(weights[1], [[0, 1 / S], [S, 1 / S]], close)
    beyond = 1 - expected["counts"].sum() / (32 * S)
    outside = r" #% of them lie outside the picture\." if beyond > 0 else ""
    found = sentence(
        shown,
        rf"{'S' if state['scale'] else 'Not s'}caled, d_k = #, √d_k = #: "
        rf"the scores have standard deviation #\.{outside} Mean over 32 "
        r"queries: largest weight # \(even would be #\), entropy # nats "
        r"of at most #\.",
    )
    numbers = [(d_k, 0), (np.sqrt(d_k), 2), (expected["spread"], 2)]
    numbers += [(100 * beyond, 1)] if beyond > 0 else []
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
    if H * d_k <= 24:
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
    found = sentence(
        shown,
        r".*?: # bytes? a position\. # positions? in "
        r"(one sequence|each of [\d,]+ sequences) takes? # (.iB)"
        r"(?:, which is # MiB)?\. 1 GiB holds # positions?\..*",
    )
    per_token, S, batch, total, unit, mib, positions = found
    all_say((per_token, S), (expected["per_token"], state["S"]))
    says(batch.replace("one", "1").split()[-2], state["batch"])
    says(total, expected["total"] / UNITS[unit], 3)
    assert (mib is not None) == (expected["gib"] >= 1)
    if mib:
        says(mib, expected["mib"], 3)
    says(positions, expected["tokens_per_gib"])


def positions_show(state, expected, shown):
    {"sinusoid": waves_show, "RoPE": turns_show, "ALiBi": charges_show}[
        state["kind"]
    ](state, expected, shown)


def waves_show(state, expected, shown):
    pair = min(state["pair"], state["pairs"] - 1)
    table = expected["table"]
    matrix_shows(shown, table, 3, -1, 1)
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
    arrows = shown.select(".av-plane path.av-line")
    for arrow, key in zip(arrows, ("query", "key"), strict=True):
        x, y = re.fullmatch(r"M0 0L(\S+) (\S+)", arrow["d"]).groups()
        tip = expected[key][2 * pair : 2 * pair + 2]
        all_say((x, y), (100 * tip[0], -100 * tip[1]), 2)
    (line,), (dot,), near = curves(shown.select_one(".av-chart"))
    by_distance = zip(range(-32, 33), expected["by_distance"], strict=True)
    follows(line, list(by_distance), near)
    follows(dot, (m - n, expected["score"]), near)
    moved = r" \(moved by #\)" if shift else ""
    before = r"At # and # it is #\. " if shift else ""
    found = sentence(
        shown,
        rf"Query at #, key at #{moved}: distance #, score #\. {before}In pair "
        r"# the key was # degrees ahead before the two were turned\.",
    )
    numbers = [(m + shift, 0), (n + shift, 0)]
    numbers += [(shift, 0)] if shift else []
    numbers += [(m - n, 0), (expected["score"], 4)]
    numbers += [(m, 0), (n, 0), (expected["unmoved"], 4)] if shift else []
    numbers += [(pair, 0), (state["angle"], 4)]
    for text, (x, digits) in zip(found, numbers, strict=True):
        says(text, x, digits)


def charges_show(state, expected, shown):
    slopes, bias = expected["slopes"], expected["bias"]
    matrix_shows(shown, bias, 3, bias.min(), 0)
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
    numbers = [text.text for text in shown.select("svg text")]
    assert numbers in ([], [str(k + 1) for k in range(len(blocks))])

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
    assert ("av-long" in shown.select_one(".av-heads")["class"]) == (T > 20)


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


SHOWS = {
    "causal": causal_shows,
    "step": step_shows,
    "saturation": saturation_shows,
    "heads": heads_show,
    "kvcache": kvcache_shows,
    "positions": positions_show,
    "tiles": tiles_show,
    "induction": induction_shows,
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_shown_is_what_the_helpers_say(name):
    for settings in every_state(name):
        SHOWS[name](*look(name, settings))
