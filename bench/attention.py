"""The helper against five plain lines, tiles and PyTorch where installed.

Prints times and peak extra memory, with ratios from one run. Run it with
`make bench`. To compare with PyTorch, run it with a Python that has NumPy and
PyTorch, in the root of the project: `PYTHONPATH=. python bench/attention.py`.
"""

import functools
import math
import os
import time
import timeit
import tracemalloc

import numpy as np

from helpers.attention import attention
from helpers.masks import causal_mask
from helpers.tiled import tiled_attention

try:
    import torch
except ImportError:
    torch = None

HEADS, D_K = 8, 64
# (..., T, d): a lesson's matrices, a small batch, a layer of a model.
SIZES = (6, 8), (4, 64, 32), (8, 512, 64)
LENGTHS = [256, 512, 1024, 2048, 4096, 8192]
CORES = getattr(os, "process_cpu_count", os.cpu_count)() or 1
HEAD = (
    "                  time in ms            plain  tiled/     extra MiB"
    "         plain\n    T causal   plain   tiled pytorch  /tiled pytorch"
    "     plain    tiled  /tiled"
)
ROW = (
    "{:5} {:>6} " + "{:7.1f} " * 3 + "{:7.2f} " * 2 + "{:9.2f} {:8.2f} {:7.0f}"
)


def five_lines(Q, K, V):
    """Attention without checks, masks and other types."""
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ V, weights


def checked_row(shape):
    """How much longer the helper takes than five plain lines."""
    arguments = np.random.default_rng(0).normal(size=(3, *shape))
    number = max(3, 2**16 // math.prod(shape))
    best = {}
    for _ in range(15):  # they take turns
        for program in (five_lines, attention):
            call = functools.partial(program, *arguments)
            spent = timeit.timeit(call, number=number) / number
            best[program] = min(spent, best.get(program, np.inf))
    plain, checked = (1e6 * best[p] for p in (five_lines, attention))
    return f"{shape!s:>12} {plain:12.1f} {checked:9.1f} {checked / plain:7.2f}"


def plain(Q, K, V, causal):
    mask = causal_mask(Q.shape[-2]) if causal else None
    return attention(Q, K, V, mask=mask).output


def tiled(Q, K, V, causal):
    return tiled_attention(Q, K, V, causal=causal)


def pytorch(Q, K, V, causal):
    Q, K, V = map(torch.from_numpy, (Q, K, V))
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(Q, K, V, is_causal=causal).numpy()


def seconds(programs, arguments, budget=4.0):
    """The best time of each program; they take turns."""
    best, start = dict.fromkeys(programs, np.inf), time.perf_counter()
    while time.perf_counter() - start < budget:
        for program in programs:
            time.sleep(0.1)  # idle threads of the last one spin for a while
            begin = time.perf_counter()
            program(*arguments)
            best[program] = min(best[program], time.perf_counter() - begin)
    return best


def extra_bytes(program, arguments):
    """Peak memory during a call, without what it returns."""
    tracemalloc.start()
    output = program(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - output.nbytes


def enough_memory(T):
    """Whether the plain program's arrays of scores fit into free memory."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    return 3.5 * 4 * HEADS * T * T < 0.9 * free


def row(T, causal):
    """One line of the table."""
    rng = np.random.default_rng(T)
    Q, K, V = rng.normal(size=(3, 1, HEADS, T, D_K)).astype(np.float32)
    arguments = Q, K, V, causal
    programs = [plain] * enough_memory(T) + [tiled]
    extra = {p: extra_bytes(p, arguments) / 2**20 for p in programs}
    best = seconds(programs + [pytorch] * (torch is not None), arguments)
    ms = [1e3 * best.get(p, np.nan) for p in (plain, tiled, pytorch)]
    mib = [extra.get(p, np.nan) for p in (plain, tiled)]
    ratios = ms[0] / ms[1], ms[1] / ms[2], mib[0] / mib[1]
    cells = T, "yes" if causal else "no", *ms, *ratios[:2], *mib, ratios[2]
    return ROW.format(*cells).replace("nan", "  -")


if __name__ == "__main__":
    version = "not installed"
    if torch is not None:
        torch.set_num_threads(CORES)
        version = torch.__version__
    print("(..., T, d)    five lines attention, us   ratio")
    for shape in SIZES:
        print(checked_row(shape), flush=True)
    print(f"{HEADS} heads, d_k = d_v = {D_K}, float32, {CORES} cores")
    print(f"NumPy {np.__version__}, PyTorch {version}")
    print(HEAD)
    for causal in (False, True):
        for T in LENGTHS:
            print(row(T, causal), flush=True)
