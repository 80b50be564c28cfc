"""Positions in plain loops: the specification of `helpers.positions`.

This file imports `math` only and the helpers never import it. Arrays are
nested lists.
"""

import math


def sinusoid(position, column, d_model, base=10000.0):
    """One entry of the encoding: an even column is a sine."""
    pair = column // 2
    wavelength = 2 * math.pi * base ** (2 * pair / d_model)
    angle = 2 * math.pi * position / wavelength
    return math.cos(angle) if column % 2 else math.sin(angle)


def partner(column, d, interleaved):
    """The other column of the pair, the pair's number, and who is first."""
    if interleaved:
        other = column - 1 if column % 2 else column + 1
        return other, column // 2, column % 2 == 0
    half = d // 2
    if column < half:
        return column + half, column, True
    return column - half, column - half, False


def frequency(pair, d, base=10000.0):
    """Radians from a position to the next, by way of the logarithm."""
    return math.exp(-2 * pair * math.log(base) / d)


def turns(pair, d, trained, base):
    """Full turns that a pair makes within the trained length."""
    return trained / (2 * math.pi / frequency(pair, d, base))


def yarn_by_turns(pair, d, factor, trained, base, slow, fast):
    """One frequency by the paper: by how often the pair turns."""
    theta, r = frequency(pair, d, base), turns(pair, d, trained, base)
    if r > fast:
        return theta
    if r < slow or slow == fast:
        return theta / factor
    share = (r - slow) / (fast - slow)
    return (1 - share) * theta / factor + share * theta


def place_of(expected, d, trained, base):
    """The real index at which a pair makes so many turns, by halving."""
    low, high = -4 * d, 4 * d
    for _ in range(100):
        middle = (low + high) / 2
        if turns(middle, d, trained, base) > expected:
            low = middle
        else:
            high = middle
    return low


def yarn_by_pair(pair, d, factor, trained, base, slow, fast, truncate=True):
    """One frequency by the authors' code: by where the pair stands."""
    last_fast = 4 * d  # of all integers, also below 0
    while turns(last_fast, d, trained, base) < fast:
        last_fast -= 1
    first_slow = -4 * d
    while turns(first_slow, d, trained, base) > slow:
        first_slow += 1
    if not truncate:
        last_fast = place_of(fast, d, trained, base)
        first_slow = place_of(slow, d, trained, base)
    first, last = max(last_fast, 0), min(first_slow, d - 1)
    theta = frequency(pair, d, base)
    if pair <= first:
        return theta
    if pair >= last:
        return theta / factor
    share = (last - pair) / (last - first)
    return (1 - share) * theta / factor + share * theta


def llama_3_1(pair, base=500000.0, d=128):
    """One frequency as Meta's code scales it: by wavelengths."""
    theta = frequency(pair, d, base)
    wavelength = 2 * math.pi / theta
    if wavelength > 8192:
        return theta / 8
    if wavelength < 8192 / 4:
        return theta
    smooth = (8192 / wavelength - 1) / (4 - 1)
    return (1 - smooth) * theta / 8 + smooth * theta


def bucket(distance, buckets, max_distance):
    """The bucket of a distance that is not negative, in exact integers."""
    near = buckets // 2
    if distance < near:
        return distance
    far, k = buckets - near, 0
    # (distance / near)^far against (max_distance / near)^(k + 1)
    reached = distance**far
    while k + 1 < far:
        border = max_distance ** (k + 1) * near ** (far - k - 1)
        if reached < border:
            break
        k += 1
    return near + k


def rotate(row, position, base=10000.0, interleaved=False):
    """One row, turned pair by pair."""
    d = len(row)
    turned = []
    for column in range(d):
        other, pair, is_first = partner(column, d, interleaved)
        angle = position / base ** (2 * pair / d)
        sign = -1.0 if is_first else 1.0
        turned.append(
            row[column] * math.cos(angle) + sign * row[other] * math.sin(angle)
        )
    return turned


def slope_exponents(n_heads, rule):
    """Each head's slope as a fraction: (p, q) stands for 2^(-p/q)."""
    if rule == "paper":
        return [(8 * head, n_heads) for head in range(1, n_heads + 1)]
    power = 1
    while 2 * power <= n_heads:
        power *= 2
    exponents = [(8 * head, power) for head in range(1, power + 1)]
    # Of 2 * power heads, the odd-numbered ones lie between those above.
    for head in range(1, 2 * (n_heads - power), 2):
        exponents.append((8 * head, 2 * power))
    return exponents


def power_of_two_slopes(n_heads):
    """The slopes of 2^a heads by square roots alone, from 1/256 for one."""
    first, heads = 1 / 256, 1
    while heads < n_heads:
        first, heads = math.sqrt(first), 2 * heads
    slopes = [first]
    while len(slopes) < n_heads:
        slopes.append(slopes[-1] * first)
    return slopes


def alibi(slope, T, S):
    """The bias of one head: how far each key is from each query."""
    bias = []
    for query in range(T):
        position = S - T + query
        row = []
        for key in range(S):
            row.append(-slope * abs(position - key))
        bias.append(row)
    return bias


def alibi_of_the_authors(slope, T, S):
    """The bias as the published code adds it: every row is the same."""
    return [[slope * key for key in range(S)] for _ in range(T)]
