"""How the tests read a figure: as a reader does, from what is shown.

Numbers are taken from sentences, tables, colours and drawings, and compared
with what the helpers compute. The wording between them may change freely.
"""

import functools
import itertools
import json
import re

import numpy as np
import quickjs
from bs4 import BeautifulSoup

from course import figures
from course._colours import STOPS
from tests.figures.programs import program

# --- a module's own functions ----------------------------------------------


@functools.cache
def _inside(name):
    engine = quickjs.Context()
    engine.eval(figures.module(name).replace("export default", "const it ="))
    text = program("engine")
    names = re.findall(r"^const (\w+)", text, re.M)
    engine.eval(
        f"const tested = (() => {{ {text} return {{ {','.join(names)} }} }})()"
    )
    return engine.eval(
        "(what, all) => JSON.stringify("
        "(tested[what] ?? eval(what))(...eval(all)))"
    )


def call(function, *arguments, of="causal"):
    """What a function of js/engine.js, or of a figure's module, returns."""
    result = _inside(of)(function, json.dumps(arguments))
    return None if result is None else json.loads(result)


def narrow(name, state):
    """What a figure draws on a phone, which has 360 units across."""
    shown = on_phone(name, state)
    for svg in shown.select("svg"):
        assert float(svg["viewbox"].split()[2]) <= 360
    return shown


def on_phone(name, state):
    """What a figure draws on a phone, of any width."""
    html = json.loads(figures.engine(name)("narrow", json.dumps(state)))
    return BeautifulSoup(html, "html.parser")


# --- numbers in texts --------------------------------------------------------

NUMERAL = re.compile(r"−?(?:\d[\d,]*\d|\d)(?:\.\d+)?(?:e−?\d+)?|−∞")


def read(text):
    """The number that a text shows."""
    return float(text.replace("−", "-").replace("∞", "inf").replace(",", ""))


def says(text, x, digits=0):
    """A number is shown rounded to so many decimals, and with no more."""
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


def tells(text, *numbers):
    """Each numeral of a text, in order, shows its number.

    A number is a whole one, a pair with its most decimals, or a function that
    judges the numeral and the text before it.
    """
    result = list(NUMERAL.finditer(text))
    assert len(result) == len(numbers), (text, numbers)
    for numeral, expected in zip(result, numbers, strict=True):
        if callable(expected):
            expected(numeral[0], text[: numeral.start()])
        else:
            pair = expected if isinstance(expected, tuple) else (expected,)
            says(numeral[0], *pair)


def chance_says(text, p):
    """A rounded probability is printed neither as 0 nor as 1."""
    if 0.005 <= p < 0.995:
        says(text, p, 2)
    else:
        assert text.replace(" ", "") == (">0.99" if p > 0.5 else "<0.01")


def rounded_or_equal(x, digits):
    """What judges a numeral after "=" where it is exact, after "≈" else."""

    def judge(numeral, before):
        says(numeral, x, digits)
        exact = abs(x - round(x, digits)) < 1e-9
        assert before.endswith("= " if exact else "≈ "), (numeral, x)

    return judge


def significant(x, digits):
    """What judges a numeral that shows so many significant digits of `x`."""

    def judge(numeral, before=""):
        near = 0.5001 * 10.0 ** (1 - digits)
        assert abs(read(numeral) - x) <= near * abs(x), (numeral, x)

    return judge


def where(holds, *numbers):
    """Numbers that a text has only where something holds."""
    return numbers if holds else ()


def verdict(text, **words):
    """A word is in the text exactly where what it says is true.

    A blank in a word is written as `_`.
    """
    for word, holds in words.items():
        assert (word.replace("_", " ") in text) == bool(holds), (word, text)


def equal_where_it_says_so(text, exact):
    """A sign is "=" where its numbers are exact in four decimals, else "≈".

    `exact` has the numbers by the sign's place among all signs of the text.
    """
    signs = re.findall("[=≈]", text)
    for place, numbers in exact.items():
        short = all(abs(x - round(float(x), 4)) < 1e-9 for x in numbers)
        assert signs[place] == ("=" if short else "≈"), (text, place)


def sentence(shown):
    """The figure's sentence."""
    return shown.select_one(".av-say").text


def captions(shown):
    """The names of tables and drawings, which a screen reader hears."""
    return [
        part.get("aria-label") or part.text
        for part in shown.select("[aria-label], caption")
    ]


def rows(table):
    """The cells of a table, row by row, without the names of the rows."""
    body = table.select("tbody tr")
    return [[cell.text for cell in row.select("td")] for row in body]


# --- colours -----------------------------------------------------------------

SHARES = np.linspace(-1, 1, 2001)
PALETTES = [
    np.transpose([
        np.interp(SHARES, np.linspace(-1, 1, len(stops)), channel)
        for channel in zip(
            *([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in stops),
            strict=True,
        )
    ])
    for stops in STOPS.values()
]  # fmt: skip


@functools.cache
def depth(colour):
    """Where a colour stands from -1 over 0 to 1, the same in both schemes."""
    pair = re.fullmatch(r"light-dark\(#(\w{6}),#(\w{6})\)", colour).groups()
    result = []
    for text, palette in zip(pair, PALETTES, strict=True):
        rgb = [int(text[i : i + 2], 16) for i in (0, 2, 4)]
        distance = abs(palette - rgb).max(axis=1)
        assert distance.min() <= 1, colour
        result.append(SHARES[distance.argmin()])
    assert abs(result[0] - result[1]) < 0.02
    return sum(result) / 2


def style_of(element, name):
    """The number of a style such as width:12.5%."""
    return float(re.search(rf"\b{name}:([\d.]+)(?:%|px)", element["style"])[1])


def ground(cell):
    return re.match(r"background:(light-dark\([^)]*\));", cell["style"])[1]


def shade_shows(cell, share, near=0.5 / 48 + 0.01):
    assert abs(depth(ground(cell)) - share) < near


# --- matrices ----------------------------------------------------------------


def numbered(table, width):
    """Rows and columns are named by their numbers, if by numbers."""
    heads = [th.text for th in table.select("thead th")]
    names = [th.text for th in table.select("tbody th")]
    assert len(heads) >= width
    for some in (heads[-width:], names):
        for k, name in enumerate(some):
            last = re.search(r"\d+(?=\D*$)", name.partition(":")[0])
            assert last is None or int(last[0]) == k, name


def grid_shows(table, values, digits, shares, closed=None):
    """Every cell has its number and its shade, or is closed."""
    cells = [row.select("td") for row in table.select("tbody tr")]
    assert [len(row) for row in cells] == [len(row) for row in values]
    numbered(table, len(cells[0]))
    for i, j in np.ndindex(np.shape(values)):
        if closed is not None and closed[i, j]:
            assert cells[i][j].text == "·"
            continue
        says(cells[i][j].text, values[i][j], digits)
        assert abs(depth(ground(cells[i][j])) - shares[i][j]) < 0.01


def cells_show(svg, shares, closed=None, hatch=True):
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


def mosaic_shows(svg, shares, closed=None):
    """A large matrix: its cells, and numbers at the middles of their cells."""
    cells_show(svg, shares, closed)
    drawn = svg.g["transform"]
    wide, _, _, high, left, top = map(float, re.findall(r"[\d.]+", drawn))
    for anchor, key, start, unit in (
        ("middle", "x", left, wide),
        ("end", "y", top + 4, high),
    ):
        texts = [
            text
            for text in svg.find_all("text", {"text-anchor": anchor})
            if text["y" if key == "x" else "x"] in (f"{top - 6:g}", "34")
        ]
        assert texts
        for text in texts:
            middle = start + (int(text.text) + 0.5) * unit
            assert abs(float(text[key]) - middle) < 0.5


def matrix_shows(shown, values, digits, closed=None, far=1):
    """Small matrices are tables of numbers, large ones are mosaics."""
    table = shown.select_one("table.av-grid")
    shares = np.array(values) / far
    if table is not None:
        grid_shows(table, values, digits, shares, closed)
    else:
        mosaic_shows(shown.select_one(".av-mosaic"), shares, closed)


# --- chains of heat maps -----------------------------------------------------


def flow_depth(colour):
    """Where a colour of a gradient stands, whose sides are mixed."""
    mixed = re.fullmatch(r"color-mix\(in srgb,(.*) ([\d.]+)%,(.*)\)", colour)
    if mixed is None:
        return depth(colour)
    end, part, zero = mixed.groups()
    assert abs(depth(zero)) < 0.01
    side = 1 if end == "var(--av-gradient)" else np.sign(depth(end))
    return side * float(part) / 100


def box_of(rect):
    """The corners of a rectangle."""
    x, y, width, height = (
        float(rect[key]) for key in ("x", "y", "width", "height")
    )
    return np.array([[x, y], [x + width, y + height]])


def is_seen(part):
    return not any(
        "opacity:0" in it.get("style", "")
        for it in [part, *part.parents]
        if it.name
    )


class Chain:
    """What a chain of heat maps shows, read back from its drawing."""

    def __init__(self, svg):
        self.maps = {}
        for rect in svg.select("rect[data-handle]"):
            name, i, j = rect["data-handle"].split(",")
            self.maps.setdefault(name, {})[int(i), int(j)] = rect
        # A cell without a number is the one with a line across.
        lines = {tuple(path_of(p)[:2]) for p in svg.select("path.av-barred")}
        self.closed = {
            (name, *at)
            for name, cells in self.maps.items()
            for at, rect in cells.items()
            if (box_of(rect)[0, 0], box_of(rect)[1, 1]) in lines
        }
        assert len(self.closed) == len(lines)
        self.strips = []
        for group in svg.select(".av-operands"):
            words, *numbers = group.select("text")
            (*cells,) = group.select("rect:not(.av-frame)")
            frame = group.select_one(".av-frame")
            mark = frame and [
                k for k, cell in enumerate(cells) if holds(frame, cell)
            ]
            self.strips.append((words.text, numbers, cells, mark))
        self.big = svg.select_one(".av-big")
        (opened,) = svg.select(":scope > .av-open-cell")
        (self.opened,) = self.framed(opened)
        wires = svg.select(":scope > g > .av-joint")
        self.sources = []
        for wire in filter(is_seen, wires):
            frame = wire.find_previous_sibling("rect")
            self.sources.append(self.framed(frame))
            self.joins(wire, frame, len(self.sources) - 1)
        out = list(path_ends(svg.select_one(".av-leads")["d"]))
        near(out[0], box_of(opened))
        near(out[-1], box_of(self.big.rect))
        self.crosses_no_cell(filter(is_seen, svg.select(".av-joint")))
        chosen = svg.select_one(".av-chosen")
        self.chosen = chosen and self.framed(chosen)

    def framed(self, frame):
        """The cells that a frame is around."""
        return [
            (name, *at)
            for name, cells in self.maps.items()
            for at, rect in cells.items()
            if holds(frame, rect)
        ]

    def crosses_no_cell(self, wires):
        """Each step of a line passes beside the cells, or between two."""
        cells = np.array(
            [box_of(rect) for it in self.maps.values() for rect in it.values()]
        )
        for wire in wires:
            for step in itertools.pairwise(path_ends(wire["d"])):
                low, high = np.min(step, axis=0), np.max(step, axis=0)
                inside = (cells[:, 0] < high - 0.1) & (low + 0.1 < cells[:, 1])
                assert not inside.all(axis=1).any(), wire["d"]

    def leads(self, name):
        """The matrix to which an arrow above the titles leads."""
        cells = self.maps[name]
        own = cells[0, 0].find_parent("g")
        way = list(path_ends(own.select_one(".av-sign path[d*=v]")["d"]))
        top = box_of(cells[0, 0])[0, 1]
        assert max(y for _, y in way) < top
        assert self.over(name, way[0])
        (to,) = (
            it
            for it in self.maps
            if self.over(it, way[3])
            and abs(box_of(self.maps[it][0, 0])[0, 1] - top) < 0.01
        )
        return to

    def names(self, name, of="rows"):
        """The names beside the rows of a matrix, or over its columns."""
        texts = self.maps[name][0, 0].find_parent("g").select(".av-aside")
        beside = [it.get("text-anchor") == "end" for it in texts]
        return [
            text.text
            for text, row in zip(texts, beside, strict=True)
            if row == (of == "rows")
        ]

    def over(self, name, point):
        """A point is above or below the columns of a matrix."""
        boxes = np.array([box_of(it) for it in self.maps[name].values()])
        return boxes[:, 0, 0].min() < point[0] < boxes[:, 1, 0].max()

    def joins(self, wire, frame, k):
        """A line leads from a frame to the row of numbers that it is of."""
        ends = list(path_ends(wire["d"]))
        near(ends[0], box_of(frame))
        top, low = (box_of(self.strips[k][2][0])[n, 1] for n in (0, 1))
        assert top < ends[-1][1] < low

    def map_shows(self, name, values, most, closed=None, flows=False):
        """A heat map has a cell for each number, in its place and shade."""
        cells = self.maps[name]
        assert set(cells) == set(np.ndindex(np.shape(values)))
        first = box_of(cells[0, 0])
        size = first[1] - first[0] + 1
        for (i, j), rect in cells.items():
            off = box_of(rect) - first - [j, i] * size
            assert abs(off).max() < 0.01
            if closed is not None and closed[i, j]:
                assert (name, i, j) in self.closed
                continue
            assert (name, i, j) not in self.closed
            share = np.clip(values[i][j] / most, -1, 1)
            assert abs(flow_depth(rect["fill"]) - share) < 0.01
            assert flows == ("color-mix" in rect["fill"])
            if flows and share > 0:
                assert "--av-gradient" in rect["fill"]

    def strip_shows(self, k, values, most=None, mark=None):
        """A row of numbers, each on the shade of its heat map."""
        _, texts, cells, marked = self.strips[k]
        assert marked == (mark if mark is None else [mark])
        for text, cell, x in zip(texts, cells, values, strict=True):
            number_says(text.text, x, cell)
            if most and np.isfinite(x):
                share = np.clip(x / most, -1, 1)
                assert abs(flow_depth(cell["fill"]) - share) < 0.01

    def big_shows(self, x):
        """The opened cell, enlarged."""
        number_says(self.big.select("text")[-1].text, x, self.big.rect, 12.5)


def holds(frame, rect):
    """A frame is around the middle of a rectangle."""
    outer, middle = box_of(frame), box_of(rect).mean(axis=0)
    return bool((outer[0] < middle).all() and (middle < outer[1]).all())


def near(point, box):
    """A point lies on the border of a box, but for a line's width."""
    off = np.maximum(box[0] - point, point - box[1]).max()
    assert abs(off) < 1.1, (point, box)


def number_says(text, x, cell, letter=8):
    """A number has all its digits, or as many as its cell has room for."""
    if np.isinf(x):
        assert text == ("∞" if x > 0 else "−∞")
        return
    unit = {"K": 1e3, "M": 1e6}.get(text[-1])
    if unit:
        assert abs(unit * read(text[:-2]) - x) <= 0.006 * abs(x), (text, x)
        return
    digits = len(text.partition(".")[2])
    assert abs(read(text) - x) <= 0.5001 * 10.0**-digits, (text, x)
    whole = abs(x - round(float(x), digits)) < 1e-8
    if not whole and digits < (4 if abs(x) < 0.1 else 3):
        longer = len(text) + 1 + (digits == 0)
        assert longer * letter > float(cell["width"]) - 8, (text, x)


# --- charts and drawings -----------------------------------------------------


def path_of(element):
    """The numbers of a path, in order."""
    return [float(x) for x in re.findall(r"-?[\d.]+", element["d"])]


def sizes(parts, key="width"):
    """An attribute of each of some elements, as numbers."""
    return np.array([float(part[key]) for part in parts])


def spot(element):
    """Where a group is moved to, or where a circle is."""
    if element.name == "circle":
        return [float(element[key]) for key in ("cx", "cy")]
    return [float(x) for x in re.findall(r"-?[\d.]+", element["transform"])]


def on_one_scale(places, numbers, near=0.11, *, log=False, up=False):
    """Places are where one even scale puts their numbers.

    Give it the places and numbers of an axis as well, and what is drawn
    stands where a reader looks it up. Larger numbers are further to the
    right, or further `up`. Returns the scale as a function.
    """
    places, numbers = (np.ravel(x).astype(float) for x in (places, numbers))
    assert places.shape == numbers.shape
    if not numbers.size:
        return None
    x = np.log(numbers) if log else numbers
    off = x - x.mean()
    if np.ptp(x) < 1e-9:
        assert np.ptp(places) <= 2 * near
        return None
    unit = off @ places / (off @ off)
    start = places.mean() - unit * x.mean()
    np.testing.assert_allclose(start + unit * x, places, rtol=0, atol=near)
    assert (unit < 0) == up
    assert abs(unit) * np.ptp(x) > near, "numbers that differ stand apart"
    return lambda n: start + unit * (np.log(n) if log else np.asarray(n))


def in_proportion(lengths, numbers, near=0.11):
    """Lengths, areas or widths are as large as their numbers, from 0 on."""
    if np.any(numbers):
        on_one_scale([0, *np.ravel(lengths)], [0, *np.ravel(numbers)], near)
    else:
        assert np.max(lengths, initial=0) <= near


# How many numbers a step of a path takes, of which the last two are its end.
STEPS = {"m": 2, "l": 2, "h": 1, "v": 1, "c": 6, "s": 4, "q": 4, "t": 2,
         "a": 7, "z": 0}  # fmt: skip


def path_ends(path):
    """Where each step of a path ends."""
    here = start = np.zeros(2)
    for letter, text in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", path):
        kind, own = letter.lower(), letter.islower()
        n = STEPS[kind]
        numbers = [float(x) for x in re.findall(r"-?(?:\d*\.)?\d+", text)]
        assert n == 0 or len(numbers) % n == 0, path
        for k in range(0, len(numbers), n or 1):
            end = numbers[k : k + n][-2:]
            if kind in "hv":
                axis = "hv".index(kind)
                end = [0, 0] if own else here.copy()
                end[axis] = numbers[k]
            here = np.add(here, end) if own else np.array(end)
            if kind == "m" and k == 0:
                start = here
            yield here
        if kind == "z":
            here = start


def ends_of(part):
    """Points of one shape or text, in its own units."""
    if part.name == "path":
        return list(path_ends(part["d"]))

    def pair(*keys):
        return np.array([float(part.get(key, "0").split()[0]) for key in keys])

    if part.name == "circle":
        middle, radius = pair("cx", "cy"), pair("r")
        return [middle - radius, middle + radius]
    corner = pair("x", "y")
    return [corner, corner + pair("width", "height")]


def moved(group, points):
    """Points of a group in the units of what holds it."""
    for kind, text in re.findall(
        r"(\w+)\(([^)]*)\)", group.get("transform", "")
    )[::-1]:
        x = [float(n) for n in re.findall(r"-?[\d.]+", text)]
        if kind == "translate":
            points = points + np.array([*x, 0][:2])
        elif kind == "scale":
            points = points * np.array([x[0], x[-1]])
        elif kind == "rotate":
            turn = np.radians(x[0])
            a, b = np.cos(turn), np.sin(turn)
            points = points @ np.array([[a, b], [-b, a]])
        else:
            points = points @ np.reshape(x[:4], (2, 2)) + x[4:]
    return points


def points_of(svg):
    """Every point of the shapes of a drawing, each with its element."""
    for part in svg.select("path, rect, circle, text"):
        points = np.reshape(ends_of(part), (-1, 2))
        for group in [part, *part.parents]:
            if group is svg:
                break
            points = moved(group, points)
        yield part, points


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


def bars(edges, heights):
    return [
        [x, height]
        for left, right, height in zip(
            edges[:-1], edges[1:], heights, strict=True
        )
        for x in (left, right)
    ]
