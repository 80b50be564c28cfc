"""Lay a figure out anew for a phone.

A page that is narrower than a figure would shrink it, and its letters with it.
`plotting.show` therefore draws it once more, after `narrow` has changed it.
"""

import itertools
import math
import re
import textwrap

from helpers._extras import extra

with extra("plots"):
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

# Inches. A phone of 390 pixels has room for 382 (site.css), and one of 360
# still shows letters of 12 pixels.
WIDTH = 3.9
# A figure that is no wider keeps letters of 12 pixels when it is shrunk.
ENOUGH = 4.8
_NUMBER = re.compile(r"[-\N{MINUS SIGN}]?[\d.,]+(e-?\d+)?[kMGTP]?")
# Letters of 11 points, 14.7 pixels, become 12.8 pixels high.
SCALE = 9.6 / 11


def narrow(fig, words):
    """Return a figure `WIDTH` inches wide, made from one that was drawn.

    `words` maps texts to what is written in their place.
    """
    if hasattr(fig, "drawn_narrow"):
        fig = fig.drawn_narrow()
        _write_smaller(fig)
        fig.set_size_inches(SCALE * fig.get_size_inches())
        return fig
    tall = fig.get_figheight()
    _write_smaller(fig)
    lines = _stack(fig)
    tall *= lines * (SCALE if lines > 1 else 1)
    fig.set_size_inches(WIDTH, tall)
    fig.set_figheight(tall + _lift_legends(fig, lines) / 72)
    _write_otherwise(fig, words)
    _break_names(fig)
    _break_texts(fig)
    _close_up(fig)
    _break_titles(fig)
    _part_ticks(fig)
    _close_up(fig)
    return fig


def in_lines(parts, span, room=WIDTH / SCALE):
    """Divide signs and what they join into lines that fit, signs first."""
    lines, signs, used = [[]], [], 0
    for part in parts:
        signs.append(part)
        if isinstance(part, str):
            continue
        wide = sum(map(span, signs))
        if lines[-1] and used + wide > room:
            lines.append([])
            used = 0
        lines[-1] += signs
        used += wide
        signs = []
    lines[-1] += signs
    return lines


def _write_smaller(fig):
    for text in fig.findobj(Text):
        text.set_fontsize(SCALE * text.get_fontsize())
    for axis in _every_axis(fig):
        size = axis.get_major_ticks(1)[0].label1.get_fontsize()
        axis.set_tick_params(which="both", labelsize=size)


def _write_otherwise(fig, words):
    for axis in _every_axis(fig) if words else ():
        if words.keys() & {label.get_text() for label in _labels(axis)}:
            _rename(axis, lambda name: words.get(name, name))
    for text in fig.findobj(Text) if words else ():
        text.set_text(words.get(text.get_text(), text.get_text()))


def _every_axis(fig):
    return [axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]


def _stack(fig):
    """Put axes that stand side by side below one another.

    Returns how many lines there are in place of one.
    """
    old = [ax for ax in fig.axes if ax.get_subplotspec()]
    if not old:
        return 1
    grid = old[0].get_subplotspec().get_gridspec()
    wide = fig.get_figwidth() / grid.ncols
    columns = min(grid.ncols, max(1, int(WIDTH / (SCALE * wide))))
    ratios = {*(grid.get_width_ratios() or [1])}
    if columns == grid.ncols or len(ratios) > 1:  # as beside a colour scale
        return 1
    lines = math.ceil(grid.ncols / columns)
    new = fig.add_gridspec(grid.nrows * lines, columns)
    left = {}
    for ax in old:
        place = ax.get_subplotspec()
        row, column = place.rowspan.start, place.colspan.start
        left.setdefault(row, ax)
        line, at = divmod(column, columns)
        ax.set_subplotspec(new[row * lines + line, at])
        if at == 0:
            ax.tick_params(axis="y", labelleft=True)
            if not ax.get_ylabel():
                ax.set_ylabel(left[row].get_ylabel())
    return lines


def _lift_legends(fig, lines):
    """Put legends above the axes; return the points that they need."""
    legends = [(ax, ax.get_legend()) for ax in fig.axes if ax.get_legend()]
    if lines > 1 and len(legends) == 1:
        legends = [(fig, legends[0][1])]
    legends += [(fig, legend) for legend in fig.legends]
    return sum(_lifted(fig, *pair) for pair in legends)


def _lifted(fig, owner, old):
    """Draw a legend anew, in as many columns as fit; return its height."""
    place = {"loc": "outside upper center"}
    if owner is not fig:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1)}
    labels = [text.get_text() for text in old.get_texts()]
    size = old.get_texts()[0].get_fontsize()
    old.remove()
    for columns in range(len(labels), 0, -1):
        new = owner.legend(
            old.legend_handles,
            labels,
            ncols=columns,
            fontsize=size,
            columnspacing=1.2,
            handlelength=1.6,
            **place,
        )
        box = new.get_window_extent()
        if box.width < 0.85 * 72 * WIDTH or columns == 1:
            return box.height
        new.remove()


def _break_names(fig):
    """Break the names of rows that take more than a third of the width."""
    fig.draw_without_rendering()
    for ax in fig.axes:
        labels = _labels(ax.yaxis)
        room = 0.33 * 72 * WIDTH
        if not labels or not _are_words(ax.yaxis):
            continue
        if ax.get_window_extent().height < 26 * len(labels):
            continue  # no room for two lines
        widest = max(label.get_window_extent().width for label in labels)
        if widest <= room:
            continue
        letters = max(len(label.get_text()) for label in labels)
        _rename(
            ax.yaxis,
            lambda name, most=letters / 2: (
                in_two(name) if len(name) > most else name
            ),
        )


def in_two(words):
    """Break a text at the blank that makes its longer line shortest."""
    blanks = [i for i, letter in enumerate(words) if letter == " "]
    if not blanks:
        return words
    at = min(blanks, key=lambda i: max(i, len(words) - i - 1))
    return f"{words[:at]}\n{words[at + 1 :]}"


def _break_texts(fig):
    """Break texts beside the data that touch, or reach far out of the axes."""
    fig.draw_without_rendering()
    for ax in fig.axes:
        if _turned(ax):
            continue
        frame = ax.get_window_extent().padded(72 * WIDTH / 4)
        texts = [text for text in ax.texts if text.get_text().strip()]
        # Without the arrow of an annotation.
        boxes = {text: Text.get_window_extent(text) for text in texts}
        for text, box in boxes.items():
            others = [boxes[it] for it in boxes if it is not text]
            if (
                box.count_overlaps(others)
                or box.x1 > frame.x1
                or box.x0 < frame.x0
            ):
                text.set_text(in_two(text.get_text()))


def _turned(ax):
    """Turn the numbers in narrow and high cells; say whether there are any."""
    boxes = [text.get_window_extent() for text in ax.texts if str(text)]
    if not ax.collections or not boxes:
        return False
    wide = max(box.width for box in boxes)
    cells = ax.get_window_extent()
    across, up = (abs(b - a) for a, b in (ax.get_xlim(), ax.get_ylim()))
    turned = cells.width / across < wide < cells.height / up - 4
    for text in ax.texts if turned else ():
        text.set_rotation(90)
    return turned


def _break_titles(fig):
    """Break titles and names of axes that reach out of their room."""
    fig.draw_without_rendering()
    for ax in fig.axes:
        box = ax.get_window_extent()
        middle = (box.x0 + box.x1) / 2
        spec = ax.get_subplotspec()
        columns = spec.get_gridspec().ncols if spec else 1
        room = 2 * min(middle, 72 * WIDTH - middle, 36 * WIDTH / columns)
        for text in (ax.title, ax.xaxis.label):
            _break(text, room, text.get_window_extent().width)
        label = ax.yaxis.label
        _break(label, 1.1 * box.height, label.get_window_extent().height)


def _break(text, room, long):
    """Break the lines of a text that is longer than its room."""
    lines = text.get_text().split("\n")
    if not any(lines) or long <= room:
        return
    letters = max(8, int(max(map(len, lines)) * room / long))
    text.set_text("\n".join(textwrap.fill(line, letters) for line in lines))


def _labels(axis):
    """The labels of an axis that are seen."""
    low, high = sorted(axis.get_view_interval())
    ticks = axis.get_major_ticks()
    shown = [t.label1 for t in ticks if low <= t.get_loc() <= high]
    return [it for it in shown if it.get_visible() and it.get_text()]


def _are_words(axis):
    texts = (label.get_text() for label in _labels(axis))
    return not all(_NUMBER.fullmatch(text) for text in texts)


def _rename(axis, change, **style):
    """Change the names of all ticks."""
    names = [tick.label1.get_text() for tick in axis.get_major_ticks()]
    size = axis.get_major_ticks()[0].label1.get_fontsize()
    style = {"fontsize": size} | style
    axis.set_ticks(axis.get_majorticklocs(), map(change, names), **style)


def _touch(axis):
    """Whether labels of an axis, as drawn, are less than a point apart."""
    boxes = [label.get_window_extent() for label in _labels(axis)]
    side = "xy".index(axis.axis_name)
    spans = sorted((box.min[side], box.max[side]) for box in boxes)
    return any(
        b[0] - a[1] < 1 - 3 * side for a, b in itertools.pairwise(spans)
    )


def _part_ticks(fig):
    """Break or turn names that touch, and leave out numbers that do."""
    fig.draw_without_rendering()
    for axis in _every_axis(fig):
        if not _are_words(axis):
            while len(_labels(axis)) > 2 and _touch(axis):
                every_other = axis.get_majorticklocs()[::2]
                axis.set_major_locator(FixedLocator(every_other))
                fig.draw_without_rendering()
        elif axis.axis_name == "x" and _touch(axis):
            before = _highest(axis)
            _break_names_across(fig, axis)
            more = (_highest(axis) - before) / 72
            fig.set_figheight(fig.get_figheight() + more)


def _break_names_across(fig, axis):
    """Give names as many lines as they need, or else turn them."""
    names = [" ".join(it.get_text().split()) for it in _labels(axis)]
    words = [word for name in names for word in name.split()]
    longest = max(map(len, words))
    for letters in range(max(map(len, names)), longest - 1, -2):
        _rename(axis, lambda name, n=letters: textwrap.fill(name, n))
        fig.draw_without_rendering()
        if not _touch(axis):
            return
    _rename(axis, lambda name: " ".join(name.split()), rotation=90)
    fig.draw_without_rendering()


def _highest(axis):
    return max(it.get_window_extent().height for it in _labels(axis))


def _close_up(fig):
    """Take away the height that axes of a fixed shape leave empty."""
    most = fig.get_figheight()
    for _ in range(4):
        fig.draw_without_rendering()
        more = {}
        for ax in (ax for ax in fig.axes if ax.get_subplotspec()):
            row = ax.get_subplotspec().rowspan.start
            more[row] = max(more.get(row, -1), _lacks(ax))
        share = sum(more.values())
        if abs(share) < 0.001:
            return
        fig.set_figheight(min(fig.get_figheight() * (1 + share), most))


def _lacks(ax):
    """The part of the figure's height that axes need; below 0, have left."""
    given, taken = (ax.get_position(original=o) for o in (True, False))
    shape = taken.height / taken.width
    return shape * (given.width - taken.width) + taken.height - given.height
