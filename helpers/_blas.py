"""How matrix products get fast: threads, and sizes that suit OpenBLAS.

These functions are independent of attention. OpenBLAS starts its own threads
for products of 2**19 multiply-adds and more. Our products are kept below that
limit, because two sets of threads slow each other down.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

PRODUCT = 2**19 - 1  # multiply-adds in one product
STRIP = 120  # columns, or terms, in one product


def cores():
    """The number of cores this process may use, if the system reports it."""
    if sys.platform == "emscripten":  # a browser, where no thread can start
        return 1
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_all_cores(function, tasks):
    """Call `function` for every task, on all cores."""
    workers, queue = min(cores(), len(tasks)), iter(tasks)

    def work(_):
        # A new thread has NumPy's default error settings, not the caller's.
        with np.errstate(over="ignore", invalid="ignore"):
            for task in queue:
                function(task)

    if workers < 2:
        return work(None)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))  # raises the error of a worker


def strips(X, width):
    """Rows of X in equal strips (g, r, d); zero rows fill the last one.

    The product of a strip and of `STRIP` rows of this width is small enough.
    """
    most = max(1, PRODUCT // (STRIP * width))
    g = -(-len(X) // most)
    r = -(-len(X) // g)
    padded = np.zeros((g * r, X.shape[-1]), X.dtype)
    padded[: len(X)] = X
    return padded.reshape(g, r, -1)


def products(q, k, memory):
    """``q @ k.T`` for strips q (g, r, d) and rows k (n, d), in `memory`."""
    g, r, n = *q.shape[:2], len(k)
    out = memory[: g * r * n].reshape(g, r, n)
    columns = np.ascontiguousarray(k.T)  # products read these faster
    for start in range(0, n, STRIP):
        part = slice(start, start + STRIP)
        np.matmul(q, columns[:, part], out=out[..., part])
    return out


def add_products(total, weights, v):
    """Add ``weights @ v`` to `total`, in place."""
    for start in range(0, len(v), STRIP):
        part = slice(start, start + STRIP)
        total += weights[..., part] @ v[part]
