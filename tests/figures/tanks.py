"""How the tests read a tank of memory (course/figures/kit/tank.js)."""

import re

import numpy as np

from tests.figures.reading import (
    on_one_scale,
    path_of,
    read,
    significant,
    sizes,
    tells,
)

DECIMAL = {
    name: 1000**k for k, name in enumerate(("B", "kB", "MB", "GB", "TB", "PB"))
}


TOO_THIN = "too thin to be seen"


def notes_of(svg):
    """The lines below the names, without what is said of thin parts."""
    notes = svg.select(".av-note-of[text-anchor=start]")
    return [note.text for note in notes if note.text != TOO_THIN]


def decimal_shows(text, n):
    """A number of bytes, in the largest unit that leaves at least one."""
    number, unit = text.split()
    tells(number, significant(n / DECIMAL[unit], 3))
    assert read(number) < 1000 or unit == "PB"
    assert read(number) >= 1 or n < 1


def tank_shows(svg, memory, contents, handles, bands):
    """What lies in it, in bytes and from the bottom, is on one scale.

    `contents` has a number of bytes for each drawn part, or a list of those
    that lie beside each other, and `handles` bytes by the names of handles.
    All but the lowest part lie in so many equal `bands`.
    Above the rim all is spilt, and a fifth beyond the memory it is cut.
    """
    beside = [np.atleast_1d(part) for part in contents]
    ends = np.cumsum([0, *map(np.sum, beside)])
    low = np.concatenate([
        np.full(len(b), e) for b, e in zip(beside, ends, strict=False)
    ])  # fmt: skip
    high = np.concatenate(
        [np.full(len(b), e) for b, e in zip(beside, ends[1:], strict=True)]
    )
    parts = svg.select(".av-in-tank")
    tops = sizes(parts, "y")
    bottoms = tops + sizes(parts, "height")
    rim = path_of(svg.select_one(".av-glass"))[1]
    spilt, *drips = svg.select("rect.av-spilt")
    total, most = ends[-1], 1.2 * memory
    grips = [
        float(svg.select_one(f"[data-handle={id_}]")["transform"][:-1].split()[1])
        for id_ in handles
    ]  # fmt: skip
    scale = on_one_scale(
        [*bottoms, *tops, rim, float(spilt["y"]), *grips],
        [
            *np.minimum([*low, *high], memory),
            *(memory, np.clip(total, memory, most)),
            *np.minimum([*handles.values()], most),
        ],
        up=True,
    )
    assert abs(float(spilt["y"]) + float(spilt["height"]) - rim) < 0.02
    lines = [
        [float(y) for y in re.findall(r" (\S+)H", path["d"])]
        for path in svg.select(".av-bands")
    ]
    for k, (b, below) in enumerate(zip(beside, ends, strict=False)):
        between = below + b.sum() * np.arange(1, bands) / bands
        cut = [] if k == 0 else scale(between[between < memory])
        if lines[k]:
            np.testing.assert_allclose(lines[k], cut, atol=0.2)
        else:
            most_apart = abs(scale(b.sum()) - scale(0)) / bands
            assert len(cut) == 0 or most_apart < 4.2
    # What is thinner than the lines around it is said to be.
    thin = [0 < abs(scale(x) - scale(0)) < 2 for x in map(np.sum, beside)]
    assert svg.text.count(TOO_THIN) == sum(thin)
    assert "without weights" in svg.text or "free" not in svg.text or ends[1]
    over = total > memory
    assert (svg.select_one(".av-spill")["opacity"] == "1") == over
    assert all((float(drip["height"]) > 0) == over for drip in drips)
    assert bool(svg.select(".av-torn")) == (total > most)
    # What lies beside another part has its share of the width.
    left, wide = sizes(parts, "x"), sizes(parts)
    across = wide[: len(beside[0])].sum()
    start = 0
    for b in beside:
        mine = slice(start, start := start + len(b))
        if b.sum():
            np.testing.assert_allclose(
                wide[mine], across * b / b.sum(), atol=0.02
            )
        np.testing.assert_allclose(
            left[mine][1:], (left + wide)[mine][:-1], atol=0.02
        )
    names_stand_apart(svg, tops, bottoms, rim)


def names_stand_apart(svg, tops, bottoms, rim):
    """Each name's line begins at its part, and no two names touch."""
    names = svg.select(".av-name-of")
    rows = sizes(svg.select(".av-name-of, .av-name-of ~ .av-note-of"), "y")
    aside = [
        float(t["y"])
        for t in svg.select("text[text-anchor=start]")
    ]  # fmt: skip
    assert (np.diff(np.sort(aside)) >= 16.9).all()
    assert len(rows) >= len(names)
    first, *others = [path_of(lead)[1] for lead in svg.select(".av-lead")]
    assert first == rim
    knobs = [
        [float(x) for x in re.findall(r"[-\d.]+", grip["transform"])]
        + [float(grip.rect["x"]), float(grip.rect["width"])]
        for grip in svg.select(".av-grip")
    ]
    (x, y, start, wide), (x2, y2, start2, _) = sorted(knobs)
    assert abs(y - y2) > 20 or x + start + wide <= x2 + start2
    spans = {(a, b) for a, b in zip(tops, bottoms, strict=True)}
    assert len(others) == len(names) - 1
    for y in others:
        assert any(a - 0.02 <= y <= b + 0.02 for a, b in spans)
