"""Decoding with and without a cache: time and FLOPs of one attention layer.

Run by `make bench`. Nothing here is asserted: times are of this machine.
Without a cache, each new token takes a full pass over everything so far.
One thread: on a busy machine, threads that wait for each other would slow
down the large products alone, and flatter the cache.
"""

import os
import statistics
import time

for library in ("OMP", "OPENBLAS", "MKL", "VECLIB"):
    suffix = "MAXIMUM_THREADS" if library == "VECLIB" else "NUM_THREADS"
    os.environ[f"{library}_{suffix}"] = "1"  # read when NumPy is imported

import numpy as np  # noqa: E402

from helpers.cache import KVCache  # noqa: E402
from helpers.cost import attention_flops, projection_flops  # noqa: E402
from helpers.heads import (  # noqa: E402
    Projections,
    init_projections,
    multi_head_attention,
    split_heads,
)
from helpers.masks import causal_mask  # noqa: E402

D_MODEL, HEADS, DTYPE = 256, 4, np.float32
D_K = D_MODEL // HEADS
LENGTHS = [256, 512, 1024, 2048]
SAMPLES = [1, 16, 32, 64, 128, *LENGTHS]

rng = np.random.default_rng(0)
made = init_projections(rng, D_MODEL, HEADS)
layer = Projections(*(W.astype(DTYPE) for W in made[:4]), HEADS, HEADS)
X = rng.normal(size=(max(SAMPLES), D_MODEL)).astype(DTYPE)


def median_seconds(step, prepare, repeats):
    """Median time of `step`, each time on what `prepare` makes."""
    times = []
    for _ in range(repeats + 1):
        argument = prepare()
        start = time.perf_counter()
        step(argument)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])  # the first one warms up


def seconds_uncached(t):
    """Time of token t, counted from 1, by a full pass over t tokens."""
    return median_seconds(
        lambda mask: multi_head_attention(X[:t], layer, mask=mask),
        lambda: causal_mask(t),
        repeats=5,
    )


def seconds_cached(t):
    """Time of token t with the t - 1 tokens before it in a cache."""

    def prepare():
        cache = KVCache(t, HEADS, D_K, dtype=DTYPE)
        K, V = X[: t - 1] @ layer.W_K, X[: t - 1] @ layer.W_V
        cache.append(split_heads(K, HEADS), split_heads(V, HEADS))
        return cache

    return median_seconds(
        lambda cache: multi_head_attention(X[t - 1 : t], layer, cache=cache),
        prepare,
        repeats=21,
    )


def flops(T, S):
    """FLOPs of a layer for T queries over S keys, T of them new."""
    projected = projection_flops(T, D_MODEL, n_heads=HEADS)["total"]
    return projected + attention_flops(T, S, D_K, D_K, n_heads=HEADS)["total"]


def up_to(T, seconds):
    """Time of tokens 1 to T: straight lines between the sampled ones."""
    known = [t for t in SAMPLES if t <= T]
    return np.interp(range(1, T + 1), known, [seconds[t] for t in known]).sum()


def report(title, rows, unit, form):
    print(f"\n{title}")
    head = f"{'T':>6}{'uncached ' + unit:>22}{'cached ' + unit:>22}"
    print(head + f"{'ratio':>10}")
    for T, uncached, cached in rows:
        print(f"{T:6}{uncached:22{form}}{cached:22{form}}", end="")
        print(f"{uncached / cached:9.1f}x")


def main():
    print(
        f"Decoding with one attention layer: d_model {D_MODEL}, "
        f"{HEADS} heads, {np.dtype(DTYPE)}, one thread, "
        f"numpy {np.__version__}"
    )
    uncached = {t: seconds_uncached(t) for t in SAMPLES}
    cached = {t: seconds_cached(t) for t in SAMPLES}
    report(
        "time of token T (median)",
        [(T, 1e3 * uncached[T], 1e3 * cached[T]) for T in LENGTHS],
        "ms",
        ",.3f",
    )
    report(
        "time of tokens 1 to T (integrated over sampled tokens)",
        [(T, up_to(T, uncached), up_to(T, cached)) for T in LENGTHS],
        "s",
        ",.3f",
    )
    report(
        "FLOPs of token T (counted)",
        [(T, flops(T, T), flops(1, T)) for T in LENGTHS],
        "FLOPs",
        ",",
    )
    report(
        "FLOPs of tokens 1 to T (counted)",
        [
            (
                T,
                sum(flops(t, t) for t in range(1, T + 1)),
                sum(flops(1, t) for t in range(1, T + 1)),
            )
            for T in LENGTHS
        ],
        "FLOPs",
        ",",
    )


if __name__ == "__main__":
    main()
