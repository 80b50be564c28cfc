"""Time each saving in the tiles, beside PyTorch where it is installed.

Each program but the first switches off one saving behind `helpers.tiled`, or
takes other blocks. A line says what the saving takes in lines of code, and
what its program takes in time: medians of five, of programs that take turns.
`make bench` prints it; with PyTorch: `PYTHONPATH=. python bench/tiles.py`.

The goal is 1.4 times PyTorch's time, and the helper does not reach it. On two
busy cores, in processor time and with PyTorch 2.15 = 1: helper 1.87; without
the copy of keys 2.09, the old memory 2.06, threads 1.96, small products 53;
with hidden tiles 3.35; blocks of other sizes 1.94 to 2.15.

`lazy_attend` comes closest; in the helper it would take 25 lines more. With
one thread each, in one run, in processor time: helper 1.82, lazy 1.50
(medians of seven; of the least times, 2.04 and 1.41). It
* lets products subtract the maximum, as one column more of the queries, and
  moves that maximum only when a score rises 16 powers of two above it: the
  passes for maximum and difference become one look at a whole tile;
* takes `exp2`, which needs half the time of NumPy's `exp`, with log2(e) in
  the scale;
* copies keys once for 1,024 queries (a copy for each 256 was 6 % of the time);
* makes products of 96 keys and 64 queries, multiples of a vector's length;
* looks for overflow in the largest numbers of queries and keys, not in each
  score.

The helper stays as it is, for more reasons than lines. `exp2` takes 8 to 180
times as long where its result is subnormal, below a score of -126:
hidden tiles are written twice to avoid that, and scores that lie far apart
are slower than with `exp`. Values above 1e33 may overflow a float32 that holds
them now. And a maximum that may be almost one is not what the chapter
explains. Of these savings the copies and the sizes of products alone (4 lines)
bring 1.74, within the noise of busy cores. Tried as well, and not faster: a
tile with one row a key, a column of ones beside the values for the sum
(products of 65 columns take a quarter more), tiles of 64 to 512 queries and
192 to 960 keys.
"""

import math
import os
import time
from contextlib import contextmanager
from functools import partial

import numpy as np

from helpers import _blas, tiled
from helpers.tiled import tiled_attention

try:
    import torch
except ImportError:
    torch = None

HEADS, T, D_K, REPEATS = 8, 4096, 64, 5
CORES = getattr(os, "process_cpu_count", os.cpu_count)() or 1


@contextmanager
def changed(module, name, value):
    """A module of the helpers with another `name`."""
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def transposed_as_it_lies(q, k, memory):
    """`products` without its copy of the keys."""
    g, r, n = *q.shape[:2], len(k)
    tile = memory[: g * r * n].reshape(g, r, n)
    for start in range(0, n, _blas.STRIP):
        keys = slice(start, start + _blas.STRIP)
        np.matmul(q, k[keys].T, out=tile[..., keys])
    return tile


def new_memory(q, k, memory):
    """`products` with an array of its own for each tile."""
    return PRODUCTS(q, k, np.empty_like(memory))


def one_core(function, tasks):
    """`on_all_cores` without threads."""
    for task in tasks:
        function(task)


def lazy_attend(Q, K, V, scale, first, block_k):
    """`_attend` whose maximum is raised by whole jumps only, with `exp2`."""
    dtype = np.result_type(Q, K, V, np.float32)
    g = -(-len(Q) // 64)  # strips of 64 queries; zeros fill the last one
    q = np.zeros((g * 64, Q.shape[-1] + 1), dtype)
    q[: len(Q), :-1] = Q * (scale * math.log2(math.e))
    q = q.reshape(g, 64, -1)
    q[..., -1] -= q[..., :-1] @ K[0]  # all may see key 0: the first maximum
    total = np.zeros((g, 64, 1), dtype)
    mix = np.zeros((g, 64, V.shape[-1]), dtype)
    end = len(K) if first is None else first + len(Q)
    buffer = np.empty(256 * min(block_k, end), dtype)
    largest = np.abs(q).max() * q.shape[-1]
    for start in range(0, end, block_k):
        keys = slice(start, min(start + block_k, end))
        columns = np.ones((q.shape[-1], len(K[keys])), dtype)
        columns[:-1] = K[keys].T
        if not largest * np.abs(columns).max() < np.inf:
            raise ValueError("scores may overflow")
        past = 0 if first is None else max(0, start - first) // 64
        for i in range(past, g, 4):
            few = slice(i, i + 4)
            tile = lazy_scores(q[few], columns, buffer)
            later = None if first is None else first + i * 64 - start
            lazy_take_in(
                tile, V[keys], q[few, :, -1:], total[few], mix[few], later
            )
    return (mix / total).reshape(-1, V.shape[-1])[: len(Q)]


def lazy_scores(q, columns, buffer):
    """Scores minus the maximum, in powers of two: columns end in a one."""
    g, r, n = *q.shape[:2], columns.shape[-1]
    tile = buffer[: g * r * n].reshape(g, r, n)
    for start in range(0, n, 96):
        part = slice(start, start + 96)
        np.matmul(q, columns[:, part], out=tile[..., part])
    return tile


def lazy_take_in(tile, v, minus_top, total, mix, position):
    """Add a tile, in place; its first query stands at column `position`."""
    g, r, n = tile.shape
    masked = position is not None and position + 1 < n
    if masked:
        later = ~np.tri(g * r, n, position, dtype=bool).reshape(tile.shape)
        np.copyto(tile, -125, where=later)  # a float still: exp2 stays fast
    if not tile.max() < 16:
        rise = np.maximum(tile.max(axis=-1, keepdims=True), 0)
        shrink = np.exp2(-rise)
        total *= shrink
        mix *= shrink
        tile -= rise
        minus_top -= rise
    np.exp2(tile, out=tile)
    if masked:
        np.copyto(tile, 0, where=later)
    total[..., 0] += np.einsum("grs->gr", tile)
    for start in range(0, n, 96):
        part = slice(start, start + 96)
        mix += tile[..., part] @ v[part]


PRODUCTS = tiled.products
# The saving, how many lines it takes, and what switches it off.
SAVINGS = [
    ("keys copied as columns", 1, (tiled, "products", transposed_as_it_lies)),
    ("memory of the tile before", 2, (tiled, "products", new_memory)),
    ("a thread for each core", 14, (tiled, "on_all_cores", one_core)),
    ("products too small to be split", 13, (_blas, "PRODUCT", 2**62)),
]


def attend(Q, K, V, change=None, **blocks):
    """Causal tiles, with one saving switched off."""
    if change is None:
        return tiled_attention(Q, K, V, causal=True, **blocks)
    with changed(*change):
        return tiled_attention(Q, K, V, causal=True, **blocks)


def hidden_too(Q, K, V):
    """All tiles, the hidden ones as well: the time of it, not the result."""
    return tiled_attention(Q, K, V)


def pytorch(Q, K, V):
    Q, K, V = map(torch.from_numpy, (Q, K, V))
    function = torch.nn.functional.scaled_dot_product_attention
    return function(Q, K, V, is_causal=True).numpy()


def medians(programs, arguments):
    """Wall and processor seconds of each program; they take turns."""
    times = {name: [] for name in programs}
    for turn in range(REPEATS + 1):
        for name, program in programs.items():
            time.sleep(0.1)  # idle threads of the last one spin for a while
            wall, cpu = time.perf_counter(), time.process_time()
            program(*arguments)
            spent = time.perf_counter() - wall, time.process_time() - cpu
            times[name] += [spent] * (turn > 0)  # the first is to warm up
    return {name: np.median(spent, axis=0) for name, spent in times.items()}


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=(3, 1, HEADS, T, D_K)).astype(np.float32)
    programs = {
        "the helper": attend,
        "without: hidden tiles left out": hidden_too,
    }
    lines = {"without: hidden tiles left out": 12}
    for saving, count, change in SAVINGS:
        programs[f"without: {saving}"] = partial(attend, change=change)
        lines[f"without: {saving}"] = count
    for block_q, block_k in ((128, 480), (512, 480), (256, 240), (256, 960)):
        name = f"blocks of {block_q} and {block_k}"
        programs[name] = partial(attend, block_q=block_q, block_k=block_k)
    lazy = partial(attend, change=(tiled, "_attend", lazy_attend))
    programs["a maximum in jumps, and exp2"] = partial(
        lazy, block_q=1024, block_k=288
    )
    lines["a maximum in jumps, and exp2"] = 25
    if torch is not None:
        torch.set_num_threads(CORES)
        programs["PyTorch"] = pytorch
    best = medians(programs, arguments)
    base = best["PyTorch" if torch is not None else "the helper"]
    print(
        f"{HEADS} heads, T = {T}, causal, float32, {CORES} cores; times in "
        f"ms, ratios to {'PyTorch' if torch is not None else 'the helper'}"
    )
    print(f"{'':43}lines  wall ratio    cpu ratio")
    for name, (wall, cpu) in best.items():
        print(
            f"{name:43}{lines.get(name, ''):5} {1e3 * wall:5.0f} "
            f"{wall / base[0]:5.2f} {1e3 * cpu:6.0f} {cpu / base[1]:5.2f}"
        )
