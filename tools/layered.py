"""Draw what needs what: circles in rows, and lines that pass between them."""

import collections
import itertools

# The drawing: the room of a circle and of a line that passes its row.
CIRCLE, PASSING, ROW, RADIUS = 38, 14, 56, 15


def depths(wanted):
    """Return the row of each chapter: below all that it needs."""
    depth = {}
    for name in wanted:  # in the order of the book
        late = [need for need in wanted[name] if need not in depth]
        if late:
            raise ValueError(
                f"_toc.yml must list {', '.join(late)} before {name}, which "
                "needs it"
            )
        depth[name] = 1 + max((depth[n] for n in wanted[name]), default=-1)
    return depth


def strands(edges, depth):
    """Return the pieces of all lines, each from one row to the next.

    A line to a lower row than the next has a place of its own, (chapter, row),
    in every row that it passes, and the lines of one chapter share it.
    """
    pieces = {}
    for a, b in edges:
        passed = [(a, row) for row in range(depth[a] + 1, depth[b])]
        for piece in itertools.pairwise([a, *passed, b]):
            pieces[piece] = None
    return list(pieces)


def ordered(rows, pieces):
    """Return the rows in an order in which few pieces cross.

    The method is that of Sugiyama, Tagawa and Toda 1981: each row in turn is
    sorted by the mean of its neighbours in the row before, down and up.
    """
    above, below = collections.defaultdict(list), collections.defaultdict(list)
    for a, b in pieces:
        below[a].append(b)
        above[b].append(a)
    down = list(range(1, len(rows)))
    best = None
    for sweep in range(24):
        near, turn = (above, down) if sweep % 2 == 0 else (below, down[::-1])
        for row in turn:
            row = row if near is above else row - 1
            at = {x: i for line in rows for i, x in enumerate(line)}
            means = {
                x: sum(at[y] for y in near[x]) / len(near[x])
                if near[x]
                else at[x]
                for x in rows[row]
            }
            rows[row] = sorted(rows[row], key=means.get)
        at = {x: i for line in rows for i, x in enumerate(line)}
        count = crossings(pieces, at, rows)
        if best is None or count < best[0]:
            best = count, [list(line) for line in rows]
    return best[1]


def crossings(pieces, at, rows):
    """Count the pairs of pieces that cross."""
    row_of = {x: i for i, line in enumerate(rows) for x in line}
    return sum(
        row_of[a] == row_of[c] and (at[a] - at[c]) * (at[b] - at[d]) < 0
        for (a, b), (c, d) in itertools.combinations(pieces, 2)
    )


def placed(rows, pieces):
    """Return the middle of everything in the rows, and the width of all."""
    rooms = [
        [CIRCLE if isinstance(x, str) else PASSING for x in line]
        for line in rows
    ]
    width = max(map(sum, rooms))
    near = collections.defaultdict(list)
    for a, b in pieces:
        near[a].append(b)
        near[b].append(a)
    at = {}
    for line, room in zip(rows, rooms, strict=True):
        left = (width - sum(room)) / 2
        for x, wide in zip(line, room, strict=True):
            at[x] = left + wide / 2
            left += wide
    for _ in range(200):  # each to its neighbours, as far as there is room
        for line, room in zip(rows, rooms, strict=True):
            wish = [
                sum(at[y] for y in near[x]) / len(near[x])
                if near[x]
                else at[x]
                for x in line
            ]
            for x, u in zip(line, apart(wish, room, width), strict=True):
                at[x] = u
    return at, width


def apart(wish, room, width):
    """Move wished places as little as it takes to have all their room."""
    gaps = [(a + b) / 2 for a, b in itertools.pairwise(room)]
    before = list(itertools.accumulate(gaps, initial=0))
    # Without the gaps, the order is all that is left to keep: pool those
    # that are in the wrong order, and give them their mean.
    pools = []
    for target in (w - b for w, b in zip(wish, before, strict=True)):
        pools.append([target, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (u, m), (v, n) = pools[-2:]
            pools[-2:] = [[(u * m + v * n) / (m + n), m + n]]
    free = [mean for mean, n in pools for _ in range(n)]
    low, high = room[0] / 2, width - room[-1] / 2 - before[-1]
    return [
        min(max(x, low), high) + b for x, b in zip(free, before, strict=True)
    ]


def drawing(depth, edges):
    """Return the places of the circles, the lines, and the size of all."""
    pieces = strands(edges, depth)
    rows = [[] for _ in range(1 + max(depth.values()))]
    for x in dict.fromkeys([*depth, *itertools.chain(*pieces)]):
        rows[depth[x] if isinstance(x, str) else x[1]].append(x)
    rows = ordered(rows, pieces)
    across, width = placed(rows, pieces)
    at = {
        x: (round(across[x]), 20 + ROW * row)
        for row, line in enumerate(rows)
        for x in line
    }
    lines = []
    for a, b in pieces:
        (x, y), (u, v) = at[a], at[b]
        start, end, bend = y + RADIUS, v - RADIUS, (y + v) // 2
        straight = "" if isinstance(b, str) else f"V{v + RADIUS}"
        lines.append(f"M{x} {start}C{x} {bend} {u} {bend} {u} {end}{straight}")
    return at, lines, (width, ROW * (len(rows) - 1) + 40)
