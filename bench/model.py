"""A published model: time and bytes of a token, with a cache and without.

Run by `make bench`. Nothing here is asserted: times are of this machine. To
compare with PyTorch, which then runs the same file on one thread as well, take
a Python with the packages of this project, torch, transformers, gguf and
accelerate, in the root of the project: `PYTHONPATH=. python -m bench.model`.
"""

import os
import resource
import statistics
import sys
import time
from dataclasses import replace

for library in ("OMP", "OPENBLAS", "MKL", "VECLIB"):
    suffix = "MAXIMUM_THREADS" if library == "VECLIB" else "NUM_THREADS"
    os.environ[f"{library}_{suffix}"] = "1"  # read when NumPy is imported

import numpy as np  # noqa: E402

from course.checkpoint import load, smollm2_path  # noqa: E402
from helpers.transformer import (  # noqa: E402
    new_cache,
    parameter_count,
    transformer,
)

LENGTHS = [16, 64, 256]
REPEATS = 5


def seconds(run, repeats=REPEATS):
    """The median time of a call, after a first one that warms up.

    It is time of the processor: one thread runs, and other programs may.
    """
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def peak():
    """The most memory that this process has had, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def counted(config, T, S):
    """FLOPs, and bytes of float32, of T tokens of which the last is S-th."""
    matrices = parameter_count(config)
    attention = 4 * config.n_layers * T * S * config.d_model
    row = config.kv_heads * config.d_k
    kept = 4 * 2 * config.n_layers * S * row
    return 2 * T * matrices + attention, 4 * matrices + kept


def with_cache(tokens, params, config):
    """A call that runs one token after those before it."""
    cache = new_cache(replace(config, max_len=len(tokens)), dtype=np.float32)
    transformer(tokens[:-1], params, config, cache=cache)

    def step():
        for stored in cache:
            stored.truncate(len(tokens) - 1)
        transformer(tokens[-1:], params, config, cache=cache)

    return step


def theirs(path, lengths, text):
    """Seconds of PyTorch by length: with a cache and without; or None."""
    try:
        import torch
        import transformers
    except ImportError:
        return None
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).eval()
    found = {}
    with torch.no_grad():
        for n in lengths:
            ids = torch.tensor(text[None, :n])
            cache = model(ids[:, :-1], use_cache=True).past_key_values

            def step(ids=ids, cache=cache):
                model(ids[:, -1:], past_key_values=cache)
                cache.crop(-1)  # gives up the last token

            def full(ids=ids):
                model(ids, use_cache=False)

            found[n] = seconds(step), seconds(full, 2)
    return found


def main():
    path = smollm2_path()
    start = time.perf_counter()
    config, params, _ = load(path)
    took = time.perf_counter() - start
    print(f"{path.name}, one thread, float32, numpy {np.__version__}")
    print(f"loaded in {took:.1f} s; the most memory so far: {peak():.2f} GB")
    text = np.random.default_rng(0).integers(0, config.vocab, max(LENGTHS))
    ours = {}
    print(f"\n{'tokens':>6}{'':9}{'GFLOP':>9}{'MB':>7}{'ms':>9}{'GB/s':>7}")
    for n in LENGTHS:
        step = with_cache(text[:n], params, config)
        ours[n] = (
            seconds(step),
            seconds(lambda n=n: transformer(text[:n], params, config), 2),
        )
        for name, T, took in zip(
            ("cached", "whole"), (1, n), ours[n], strict=True
        ):
            flops, moved = counted(config, T, n)
            print(
                f"{n:6} {name:8}{flops / 1e9:9.2f}{moved / 1e6:7.0f}"
                f"{1e3 * took:9.0f}{moved / took / 1e9:7.1f}"
            )
    print(f"the most memory: {peak():.2f} GB")
    other = theirs(path, LENGTHS, text)
    if other is None:
        print("PyTorch and transformers are not installed: no ratio")
        return
    print("\ntime here over time in PyTorch, from the same file")
    print(f"{'tokens':>6}{'cached':>9}{'whole':>9}")
    for n in LENGTHS:
        pairs = zip(ours[n], other[n], strict=True)
        print(f"{n:6}", *(f"{a / b:8.1f}x" for a, b in pairs))


if __name__ == "__main__":
    main()
