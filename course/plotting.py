"""One style for every figure of the book, and the figures that it repeats.

Figures are SVG. Text and lines are drawn in `INK`, and queries, keys, values
and weights in `ROLES`; the site replaces these by the page's own colours, so
that figures are readable on light and dark pages.
"""

import hashlib
import io
import math
import re

import numpy as np

from helpers._extras import extra

with extra("plots"):
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from IPython.display import display

from helpers._checks import (
    as_array,
    as_finite_floats,
    as_integer,
    as_real,
    check_flag,
)

from . import _narrow
from ._colours import (
    COLORS,
    DARK,
    GROUND,
    INK,
    LEVELS,
    NARROW,
    ROLES,
    SIGNED_LEVELS,
    STOPS,
    TURNS_BLACK,
    TURNS_WHITE,
)


def _map(name, stops, levels):
    """A colour map as stored, for white."""
    return mpl.colors.LinearSegmentedColormap.from_list(name, stops, levels)


CMAP = _map("book", STOPS["light"][3:], LEVELS)
SIGNED = _map("book signed", STOPS["light"], SIGNED_LEVELS)  # 0 in the middle

# The width of a column of prose, in inches. For a phone, figures are laid out
# anew (_narrow.py).
WIDEST = 6.4

_STYLE = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.prop_cycle": mpl.cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 72,
    "figure.figsize": (6.4, 3.6),
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.size": 11,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "hatch.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "patch.edgecolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "attention-verified",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def use_book_style():
    """Draw all later figures in the style of the book.

    The settings of a reader's own `matplotlibrc` do not count, except where
    figures are shown.
    """
    where = "backend", "backend_fallback", "interactive"
    defaults = {k: v for k, v in mpl.rcParamsDefault.items() if k not in where}
    mpl.rcParams.update(defaults | _STYLE)


class _Figure:
    """An SVG with its alt text, as a notebook stores it.

    `narrow` is the same figure for a phone, if it is another drawing.
    """

    def __init__(self, svg, narrow, alt):
        self.svg, self.narrow, self.alt = svg, narrow, alt

    def __repr__(self):
        return f"Figure: {self.alt}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"image/svg+xml": self.svg, "text/plain": repr(self)}
        return data | ({NARROW: self.narrow} if self.narrow else {})


def show(fig, *, alt, narrow=None):
    """Display a figure as SVG and close it.

    Parameters
    ----------
    fig : matplotlib Figure
    alt : str
        A description of the figure, for readers who cannot see it.
    narrow : dict of str, optional
        Texts, and what is written in their place where the figure is drawn
        for a phone.

    Raises
    ------
    TypeError
        If `alt` is not a text.
    ValueError
        If `alt` is empty.

    Examples
    --------
    >>> fig, ax = plt.subplots()
    >>> show(fig, alt="An empty pair of axes.")
    Figure: An empty pair of axes.
    """
    if not isinstance(alt, str):
        raise TypeError(f"alt must be a text; got {alt!r}")
    if not alt.strip():
        raise ValueError("alt must describe the figure")
    _write_numbers_out(fig)
    _keep_legends(fig)
    wide, phone = _svg(fig, alt), None
    if fig.get_figwidth() > _narrow.ENOUGH:
        anew = _narrow.narrow(fig, narrow or {})
        phone = _svg(anew, alt)
        plt.close(anew)
    plt.close(fig)
    display(_Figure(wide, phone, alt))


def _svg(fig, alt):
    """A figure as the book stores it."""
    buffer = io.StringIO()
    fig.savefig(
        buffer,
        format="svg",
        transparent=True,
        metadata={"Date": None, "Creator": None},
    )
    svg = _normal(_longhand(buffer.getvalue()), alt)
    svg = _colour_roles(_accessible(svg, alt))
    return _typeset(svg.replace(_LEGEND, INK))


# How Matplotlib 3.8, which a page has, writes the style of a text.
_FONT = re.compile(
    r'style="((?:[^;"]*; )*)font: ([\d.]+px) ([^;"]*)(; text-anchor: \w+)?"'
)


def _longhand(svg):
    """The styles of texts as Matplotlib 3.10 writes them."""

    def rewritten(match):
        color, size, family, anchor = match.groups(default="")
        style = f"font-size: {size}; font-family: {family}{anchor}; {color}"
        return f'style="{style.removesuffix("; ")}"'

    return _FONT.sub(rewritten, svg)


class _Plain(mpl.ticker.LogFormatterSciNotation):
    """Powers in one form per axis, because exponents are too small for phones.

    Up to 10,000 they are written as in the text. If an axis goes further,
    thousands are written with k and millions with M, because long rows of
    small zeros are hard to count. Below a thousandth they are written as 1e-6.
    """

    def __call__(self, x, pos=None):
        if not super().__call__(x, pos):
            return ""  # a tick without a label
        low, high = sorted(self.axis.get_view_interval())
        if x < 1 and low < 0.9e-3:
            return re.sub(r"e-0?", "e-", f"{x:.0e}")
        if x < 1000 or high < 1e5 or self._base != 10:
            return f"{x:,g}"
        power = min(int(math.log10(x) + 1e-9) // 3, 5)
        return f"{x / 1000**power:g}{' kMGTP'[power]}"


class _Grouped(mpl.ticker.ScalarFormatter):
    """Numbers of a linear axis, with commas from 1,000 upward."""

    def __call__(self, x, pos=None):
        text = super().__call__(x, pos)
        return re.sub(r"\d{4,}", lambda m: f"{int(m[0]):,}", text, count=1)


def _write_numbers_out(fig):
    """Label all axes with numbers as in the text, in one type size."""
    for axis in (axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)):
        for kind in ("major", "minor"):
            old = getattr(axis, f"get_{kind}_formatter")()
            if type(old) is mpl.ticker.LogFormatterSciNotation:
                new = _Plain(axis.get_transform().base, old.labelOnlyBase)
                getattr(axis, f"set_{kind}_formatter")(new)
            elif type(old) is mpl.ticker.ScalarFormatter and (
                max(map(abs, axis.get_view_interval())) >= 1000
            ):
                getattr(axis, f"set_{kind}_formatter")(_Grouped())


# Labels that consist of the name of a role; ∂Q has the colour of Q.
_NAMES = {
    "query": "query|queries|∂?Q[0-9]*",
    "key": "keys?|∂?K[0-9]*",
    "value": "values?|∂?V[0-9]*",
    "weight": "weights?",
}


# Ink that no eye can tell from `INK`, for words that a role must not colour.
_LEGEND = "#1f2934"


def _keep_legends(fig):
    """Keep the words of legends black; the swatch beside them has a colour."""
    legends = [*fig.legends, *(ax.get_legend() for ax in fig.axes)]
    for text in (t for it in legends if it for t in it.get_texts()):
        if mpl.colors.to_hex(text.get_color()) == INK:
            text.set_color(_LEGEND)


def _colour_roles(svg):
    """Give each label that names a role the colour of that role."""
    for role, names in _NAMES.items():
        line = rf'fill: {INK}("[^<>]*>(?:{names})</text>)'
        svg = re.sub(line, rf"fill: {ROLES[role]}\1", svg)
    return svg


_WORDS = re.compile(
    r'(<text style="font-size: ([\d.]+)px[^>]*>)([^<]*)</text>'
)
_INDEX = re.compile(r"([A-Za-z])_([A-Za-z0-9]+)")
_HYPHEN = re.compile(r"(?<![\w.)])-(?=\d|\.\d|inf\b)|(?<= )-(?= )")


def _typeset(svg):
    """Write minus signs, and d_k and K^T as in formulas.

    A letter with an index is larger, so that its index keeps the size of the
    other letters.
    """
    return _WORDS.sub(_typeset_words, svg)


def _typeset_words(match):
    start, size, words = match.groups()
    words = _HYPHEN.sub("\N{MINUS SIGN}", words).replace("^T", "ᵀ")
    text, *parts = _INDEX.split(words)
    low, big = f"{float(size) / 4:g}", f"{float(size) * 1.2:g}px"
    for letter, index, after in zip(*[iter(parts)] * 3, strict=True):
        text += (
            f'<tspan style="font-size: {big}; font-style: italic">{letter}'
            f'</tspan><tspan dy="{low}">{index}</tspan>'
        )
        if after:
            text += f'<tspan dy="-{low}">{after}</tspan>'
    return f"{start}{text}</text>"


# The parts of a figure that a last bit could change: digits inside tags, and
# the ids that Matplotlib makes by hashing them.
_TAG = re.compile(r"<\w[^>]*>")
_NUMBER = re.compile(r"-?\b\d+\.\d+\b|-0\b")
_ID = re.compile(r'(\bid="|\bhref="#|\burl\(#)([^")]+)')
# A regular layout places things at halves, thirds and tenths of a hundredth.
# The rounding threshold is therefore as far from simple fractions as possible.
_GOLDEN = (math.sqrt(5) - 1) / 2


def _hundredths(number):
    """A number of points rounded to a hundredth, which no eye can see."""
    places = math.floor(100 * float(number) + 1 - _GOLDEN)
    return f"{places / 100:.2f}".rstrip("0").rstrip(".")


def _normal(svg, alt):
    """`svg` in a form that is the same on processors that differ in last bits.

    Coordinates are rounded, and ids are numbered in order of appearance. They
    begin with a digest of the alt text, so that figures on one page share no
    ids.
    """
    start, counted = hashlib.sha256(alt.encode()).hexdigest()[:6], {}

    def counting(match):
        number = counted.setdefault(match[2], len(counted) + 1)
        return f"{match[1]}f{start}-{number}"

    def rounding(tag):
        return _NUMBER.sub(lambda number: _hundredths(number[0]), tag[0])

    return _ID.sub(counting, _TAG.sub(rounding, svg))


def _accessible(svg, alt):
    """Only the `<svg>` element, named by its alt text."""
    alt = alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)
    named = f'<svg role="img" aria-label="{alt}"'
    return svg.replace("<svg", f"{named} {GROUND}", 1)


def _luminance(color):
    """The relative luminance of a colour, as defined by WCAG 2.2.

    Black text on a luminance above 0.179, and white text below, both have a
    contrast of at least 4.5 to 1.
    """
    rgb = np.array(mpl.colors.to_rgb(color))
    linear = np.where(
        rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4
    )
    return linear @ [0.2126, 0.7152, 0.0722]


def _ink(color):
    """Black or white, whichever is readable on a cell, in both schemes."""
    color = mpl.colors.to_hex(color)
    light, dark = (
        _luminance(ground) > 0.179
        for ground in (color, DARK.get(color, color))
    )
    if light == dark:
        return "black" if light else "white"
    return TURNS_WHITE if light else TURNS_BLACK


def _drawn(weights):
    """`weights` as finite floats; a mask is drawn as zeros and ones."""
    weights = as_array(weights, "weights")
    weights = weights.astype(float) if weights.dtype == bool else weights
    return as_finite_floats(weights, "weights").astype(float)


def _names(names, what):
    """The names of rows or columns, as a list."""
    try:
        return list(names)
    except TypeError:
        raise TypeError(f"{what} must be names; got {names!r}") from None


def show_weights(
    weights,
    *,
    queries,
    keys,
    ax=None,
    fmt="z.2f",
    words=None,
    vmin=0,
    vmax=1,
    cbar=False,
    cmap=None,
):
    """Draw a matrix with one row per query and one column per key.

    Parameters
    ----------
    weights : (T, S) array
        Weights, scores, or a gradient of either.
    queries : list of str
        Names of the T rows.
    keys : list of str
        Names of the S columns.
    ax : matplotlib Axes, optional
        The axes to draw on; a new figure by default.
    fmt : str, default "z.2f"
        Format of the numbers in the cells; "" for no numbers.
    words : (T, S) array of str, optional
        What to write in the cells instead of numbers.
    vmin : float
        The value at the faint end of the colour scale.
    vmax : float
        The value at its strong end.
    cbar : bool, default False
        Draw the colour scale.
    cmap : str or Colormap, optional
        The colour map; by default that of the book, in which large values
        contrast with the page. `SIGNED` is its twin for values of both signs.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    TypeError
        If `weights` does not hold real numbers or booleans, an end of the
        scale is not a number, or `cbar` is not a bool.
    ValueError
        If there are not T queries and S keys, `words` has another shape than
        `weights`, or an entry is not finite.

    Examples
    --------
    >>> show_weights([[1.0]], queries=["a"], keys=["a"]).get_ylabel()
    'queries'
    """
    with extra("plots"):  # it brings pandas, 45 MB that few chapters need
        import seaborn as sns

    weights, cbar = _drawn(weights), check_flag(cbar, "cbar")
    queries, keys = _names(queries, "queries"), _names(keys, "keys")
    vmin, vmax = as_real(vmin, "vmin"), as_real(vmax, "vmax")
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            "weights must have one row per query and one column per key; got "
            f"{weights.shape}, {len(queries)} queries and {len(keys)} keys"
        )
    if weights.size == 0:
        raise ValueError(f"weights must hold entries; got {weights.shape}")
    if words is not None and np.shape(words) != weights.shape:
        raise ValueError(
            f"words must have the shape of weights, {weights.shape}; got "
            f"{np.shape(words)}"
        )
    written = bool(fmt) if words is None else np.array(words, dtype=str)
    # Colours change at a quarter or a half, so drop the last bits of the
    # weights.
    six_digits = np.vectorize(lambda w: float(f"{w:.6g}"))
    weights, vmin, vmax = map(six_digits, (weights, vmin, vmax))
    if ax is None:
        T, S = weights.shape
        _, ax = plt.subplots(
            figsize=(min(WIDEST, 1.2 + 0.75 * S), 0.8 + 0.5 * T)
        )
    sns.heatmap(
        weights,
        ax=ax,
        annot=written,
        fmt=fmt if words is None else "s",
        vmin=vmin,
        vmax=vmax,
        cbar=cbar,
        cmap=CMAP if cmap is None else cmap,
        linewidths=1,
        linecolor="none",
        xticklabels=keys,
        yticklabels=queries,
    )
    for text, color in zip(
        ax.texts,
        ax.collections[0].get_facecolors(),
        strict=written is not False,
    ):
        text.set_color(_ink(color))
    ax.set(xlabel="keys", ylabel="queries")
    ax.tick_params(length=0)
    ax.tick_params(axis="y", rotation=0)
    return ax


def show_heads(weights, *, queries, keys, labels=None, **style):
    """Draw one heatmap per head, side by side on one colour scale.

    Parameters
    ----------
    weights : (H, T, S) array
        The weights of each head.
    queries : list of str
        Names of the T rows.
    keys : list of str
        Names of the S columns.
    labels : list of str, optional
        A name for each head; "head 0" and so on by default.
    **style
        As `show_weights`.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    TypeError
        As `show_weights`.
    ValueError
        If `weights` does not have three axes or has no entries, or if `labels`
        does not have one name per head.

    Examples
    --------
    >>> len(show_heads(np.ones((2, 1, 1)), queries="a", keys="a").axes)
    2
    """
    weights = _drawn(weights)
    if weights.ndim != 3 or not weights.size:
        raise ValueError(f"weights must be (H, T, S); got {weights.shape}")
    H, T, S = weights.shape
    labels = [f"head {h}" for h in range(H)] if labels is None else labels
    labels = _names(labels, "labels")
    if len(labels) != H:
        raise ValueError(f"{H} heads need {H} labels; got {len(labels)}")
    columns = min(H, max(1, int(12 // S)))
    rows = math.ceil(H / columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(
            min(WIDEST, 0.8 + 0.62 * S * columns),
            rows * (1.0 + 0.5 * T),
        ),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for ax, head, label in zip(axes.flat, weights, labels, strict=False):
        show_weights(head, queries=queries, keys=keys, ax=ax, **style)
        ax.set_xlabel(f"keys\n{label}")
        ax.label_outer(remove_inner_ticks=False)
        ax.set_xlabel(f"keys\n{label}")
    for ax in axes.flat[H:]:
        ax.remove()
    return fig


def _role_color(label):
    """The colour of an array named Q, K, V or A, as ∂Q, Kᵀ and W_V are too."""
    name = label.strip("∂ᵀ").removeprefix("W_")
    role = dict(zip("QKVA", ROLES, strict=False)).get(name)
    return ROLES[role] if role else INK


_CENTER = {"ha": "center", "va": "center"}


def show_shapes(stages):
    """Draw the arrays of a computation as rectangles, with signs between them.

    All rectangles are drawn to one scale.

    Arrays that are named Q, K, V or A, or their gradients, such as ∂Q, have
    the colours of their roles.

    Parameters
    ----------
    stages : list of str and (str, (int, int))
        From left to right. A text is a sign, such as "·" or "=". A tuple holds
        the label and the shape (rows first) of an array.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If there is nothing to draw, a shape does not have two axes, or a size
        is below one.

    Examples
    --------
    >>> fig = show_shapes([("X", (3, 4)), "·", ("W_Q", (4, 2))])
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['X', '3 × 4', '·', 'W_Q', '4 × 2']
    """
    arrays = [stage for stage in stages if not isinstance(stage, str)]
    if not arrays or any(len(shape) != 2 for _, shape in arrays):
        raise ValueError(
            f"stages must hold labels with shapes of two axes; got {stages}"
        )
    for label, shape in arrays:
        for n in shape:
            as_integer(n, f"a size of {label}", least=1)
    fig = _draw_shapes([stages])
    fig.drawn_narrow = lambda: _draw_shapes(
        _narrow.in_lines(stages, lambda part: 1.35 * (not _is_sign(part)))
    )
    return fig


def _is_sign(part):
    return isinstance(part, str)


def _draw_shapes(lines):
    """A figure of lines of shapes and signs."""
    shapes = [p[1] for line in lines for p in line if not _is_sign(p)]
    largest = max(n for shape in shapes for n in shape)
    most = max(sum(not _is_sign(p) for p in line) for line in lines)
    wide = min(WIDEST, 1.35 * most)
    fig, ax = plt.subplots(figsize=(wide, 2.2 * len(lines)))
    for row, line in enumerate(lines):
        i, y = 0, -1.5 * row  # where the next array is
        for stage in line:
            if _is_sign(stage):
                ax.text(i - 0.5, y, stage, size=16, **_CENTER)
            else:
                _draw_shape(ax, i, y, *stage, 0.7 / largest)
                i += 1
    ax.set(xlim=(-0.6, most - 0.4), ylim=(y - 0.75, 0.75), aspect="equal")
    ax.axis("off")
    return fig


def _draw_shape(ax, x, y, label, shape, scale):
    rows, columns = shape
    w, h = scale * columns, scale * rows
    color = _role_color(label)
    face = mpl.colors.to_rgba(color, 0.3)
    box = plt.Rectangle((x - w / 2, y - h / 2), w, h, fc=face, ec=INK)
    ax.add_patch(box)
    ax.text(x, y + 0.45, label, ha="center", va="bottom", color=color)
    ax.text(x, y - 0.45, f"{rows} × {columns}", ha="center", va="top")


# The height of a row and the width of a digit, in points, for 11-point type.
_ROW, _DIGIT = 21, 7


def _entry(entry, fmt):
    """A name or an integer as it is, a yes as 1, any other number by `fmt`."""
    if isinstance(entry, np.bool_ | np.integer):
        return str(int(entry))
    return entry if isinstance(entry, str) else format(entry, fmt)


def _matrix(part, fmt):
    """The label, texts and marks of a matrix, and the width of a column."""
    label, entries, *marks = part
    entries = np.asarray(entries)
    if entries.ndim != 2 or not entries.size:
        raise ValueError(
            f"{label} must be a matrix with entries; got {entries.shape}"
        )
    texts = np.array([[_entry(x, fmt) for x in row] for row in entries])
    marks = np.broadcast_to(marks[0] if marks else 1, texts.shape)
    return label, texts, marks, 8 + _DIGIT * max(map(len, texts.flat))


def _span(part):
    """How wide a sign or a matrix is."""
    if _is_sign(part):
        return 14 + _DIGIT * len(part)
    label, texts, _, wide = part
    return max(wide * texts.shape[1], _DIGIT * len(label))


def _draw_matrix(ax, x, y, part, high):
    """Draw a matrix whose space begins at `x`, its middle at `y`."""
    label, texts, marks, wide = part
    color, top = _role_color(label), y + len(texts) / 2 * high
    first, *others = COLORS
    colors = {1: color if color != INK else first}
    colors |= dict(enumerate(others, 2)) | ROLES
    left = x + (_span(part) - wide * texts.shape[1]) / 2
    above = top + (7 if "_" in label else 4)  # room for an index
    ax.text(x + _span(part) / 2, above, label, ha="center", color=color)
    for (i, j), text in np.ndenumerate(texts):
        mark = marks[i, j].item()
        edge = colors[mark] if mark else mpl.colors.to_rgba(INK, 0.2)
        fill = mpl.colors.to_rgba(edge, 0.3) if mark else "none"
        x0, y0 = left + j * wide, top - (i + 1) * high
        box = plt.Rectangle((x0, y0), wide - 2, high - 2, lw=0.8)
        box.set(facecolor=fill, edgecolor=edge)
        ax.add_patch(box)
        middle = x0 + wide / 2 - 1, y0 + high / 2 - 1
        ax.text(*middle, text, alpha=1 if mark else 0.75, **_CENTER)


def _draw_line(ax, y, parts, rows, high):
    """Draw parts side by side, their middles at `y`; return where they end."""
    for i, name in enumerate(rows):
        at = y + (len(rows) / 2 - i - 0.5) * high - 1
        ax.text(0, at, name, va="center")
    x = _names_span(rows)
    for part, before in zip(parts, ["", *parts], strict=False):
        if _is_sign(part):
            ax.text(x + _span(part) / 2, y - 1, part, **_CENTER)
        else:
            x += 0 if _is_sign(before) else _DIGIT
            _draw_matrix(ax, x, y, part, high)
        x += _span(part)
    return x


def _names_span(rows):
    """How wide the names of rows are, with a gap."""
    words = [word for name in rows for word in name.split("\n")]
    return _DIGIT * max(map(len, words), default=0) + (6 if rows else 0)


def _draw_arrays(lines, rows):
    """A figure of lines of matrices and signs."""
    high = _ROW + (7 if any("\n" in name for name in rows) else 0)
    counts = [[len(p[1]) for p in line if not _is_sign(p)] for line in lines]
    fig = plt.figure(layout="none")
    ax = fig.add_axes((0, 0, 1, 1))
    x, y = 0, max(counts[0]) / 2 * high + 20
    top = y
    for line, count in zip(lines, counts, strict=True):
        half = max(count) / 2 * high
        y -= half + 20
        names = rows if len(rows) == count[0] else ()
        x = max(x, _draw_line(ax, y, line, names, high))
        y -= half + 2
    ax.set(xlim=(-1, x + 1), ylim=(y, top))
    ax.axis("off")
    fig.set_size_inches((x + 2) / 72, (top - y) / 72)
    return fig


def show_arrays(parts, *, rows=(), fmt="zg"):
    """Draw matrices entry by entry, with signs between them.

    Parameters
    ----------
    parts : list of str and tuple
        From left to right. A text is a sign, such as "=" or "→". A tuple holds
        the label of a matrix, its entries (numbers or names) and, if only some
        of these matter, an array of marks: 0 for an entry without a colour,
        1 for the first colour, 2 for the second. The first colour of a matrix
        named Q, K, V, A, Kᵀ or W_Q is that of its role. Or an array of names
        of roles, such as "kept" and "new", and "" without a colour.
    rows : list of str, optional
        Names of the rows of the first matrix.
    fmt : str, default "zg"
        Format of the numbers that are not integers.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        If an array does not have two axes or has no entries, if there is not
        one name per row, or if the parts are wider than the column of prose.

    Examples
    --------
    >>> product = [("Q", [[1, 0]]), "·", ("k", [[2], [3]]), "=", ("", [[2]])]
    >>> fig = show_arrays(product)
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['Q', '1', '0', '·', 'k', '2', '3', '=', '', '2']
    """
    drawn = [p if isinstance(p, str) else _matrix(p, fmt) for p in parts]
    heights = [len(part[1]) for part in drawn if not isinstance(part, str)]
    if not heights or (rows and len(rows) != heights[0]):
        raise ValueError(
            f"rows must name the rows of the first matrix; got {rows} for "
            f"{heights[:1]}"
        )
    fig = _draw_arrays([drawn], rows)
    wide = 72 * fig.get_figwidth() - 2
    if wide > 72 * WIDEST:
        plt.close(fig)  # Jupyter would draw it: gigabytes, at this scale
        raise ValueError(
            f"parts must fit into {72 * WIDEST:.0f} points; got {wide}"
        )
    fig.drawn_narrow = lambda: _draw_arrays(*_on_a_phone(drawn, rows))
    return fig


def _on_a_phone(parts, rows):
    """Parts in lines that fit, and the names of rows, broken if need be."""
    room = 72 * _narrow.WIDTH / _narrow.SCALE
    widest = max(map(_span, parts))
    if _names_span(rows) + widest > room:
        rows = [_narrow.in_two(name.strip()) for name in rows]
    lines = _narrow.in_lines(
        parts,
        lambda part: _span(part) + _DIGIT * (not _is_sign(part)),
        room - _names_span(rows),
    )
    return lines, rows
