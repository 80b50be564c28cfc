"""Plain against tiled attention, and PyTorch where it is installed.

Prints times and peak extra memory, with ratios from one run. Run it with
`make bench`. To compare with PyTorch, run it with a Python that has NumPy and
PyTorch, in the root of the project: `PYTHONPATH=. python bench/attention.py`.
"""

import os
import time
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
    print(f"{HEADS} heads, d_k = d_v = {D_K}, float32, {CORES} cores")
    print(f"NumPy {np.__version__}, PyTorch {version}")
    print(HEAD)
    for causal in (False, True):
        for T in LENGTHS:
            print(row(T, causal), flush=True)
