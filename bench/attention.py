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
# The plain program holds about five arrays of scores at its peak.
ENOUGH = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / 1.5


def plain(Q, K, V, causal):
    mask = causal_mask(Q.shape[-2]) if causal else None
    return attention(Q, K, V, mask=mask).output


def tiled(Q, K, V, causal):
    return tiled_attention(Q, K, V, causal=causal)


def pytorch(Q, K, V, causal):
    Q, K, V = map(torch.from_numpy, (Q, K, V))
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(Q, K, V, is_causal=causal).numpy()


def seconds(programs, arguments, budget=3.0):
    """The best time of each program; they take turns."""
    best, start = dict.fromkeys(programs, np.inf), time.perf_counter()
    for _ in range(20):
        for program in programs:
            time.sleep(0.02)  # let another program's threads go to sleep
            begin = time.perf_counter()
            program(*arguments)
            best[program] = min(best[program], time.perf_counter() - begin)
        if time.perf_counter() - start > budget:
            break
    return best


def extra_bytes(program, arguments):
    """Peak memory during a call, without what it returns."""
    tracemalloc.start()
    output = program(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - output.nbytes


def row(T, causal):
    """One line of the table."""
    rng = np.random.default_rng(T)
    Q, K, V = rng.normal(size=(3, 1, HEADS, T, D_K)).astype(np.float32)
    arguments = Q, K, V, causal
    enough = 5 * 4 * HEADS * T * T < ENOUGH
    programs = [tiled] + [plain] * enough + [pytorch] * (torch is not None)
    best = seconds(programs, arguments)
    extra = {p: extra_bytes(p, arguments) for p in programs if p != pytorch}
    cells = [f"{T:5d} {'yes' if causal else 'no':>6}"]
    for program in (plain, tiled, pytorch):
        cells.append(ratio("{:10.1f}", best.get(program, np.nan) * 1e3))
    for program in (plain, pytorch):
        times = best.get(program, np.nan) / best[tiled]
        cells.append(ratio("{:9.2f}", times if program == plain else 1 / times))
    for program in (plain, tiled):
        cells.append(ratio("{:11.2f}", extra.get(program, np.nan) / 2**20))
    cells.append(ratio("{:8.0f}", extra.get(plain, np.nan) / extra[tiled]))
    return " ".join(cells)


def ratio(form, number):
    """`number` as text, or a dash of the same width where there is none."""
    text = form.format(number)
    return "-".rjust(len(text)) if np.isnan(number) else text


if __name__ == "__main__":
    if torch is not None:
        torch.set_num_threads(CORES)
    print(f"{HEADS} heads, d_k = d_v = {D_K}, float32, {CORES} cores, NumPy")
    print(f"{np.__version__}, PyTorch {getattr(torch, '__version__', None)}")
    print("                 time in ms                     plain/    tiled/")
    print(
        "    T causal      plain      tiled    pytorch     tiled   pytorch"
        "   plain MiB   tiled MiB    ratio"
    )
    for causal in (False, True):
        for T in LENGTHS:
            print(row(T, causal), flush=True)
