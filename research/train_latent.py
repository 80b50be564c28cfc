"""Train latent attention beside grouped heads that keep as many numbers.

    python -m research.train_latent          # two minutes
    python -m research.train_latent check    # as long; writes nothing

The first writes `course/evidence/latent.json`. The second trains all of it
again and fails where what was found no longer holds. Task, steps and
measures are those of grouped heads in `research/train.py`, which stored the
models to compare with.

The minutes are of one core, with OPENBLAS_NUM_THREADS=1. The products are
small, so that more threads mostly wait for each other: two took eight times
the processor time on a machine with other work.
"""

import sys
from collections import deque
from dataclasses import replace

import numpy as np

from course.evidence import stored
from helpers.training import INDUCTION, induction_batch, train
from helpers.transformer import (
    LatentWidths,
    init_transformer,
    parameter_count,
)
from research.train import SEED, TASK, moved, one, write

# By what a layer keeps per token, as one group and as two groups do.
WIDTHS = {
    "16": LatentWidths(d_c=12, d_r=4, d_v=8),
    "32": LatentWidths(d_c=28, d_r=4, d_v=8),
}


def model(widths):
    """Four heads of width 8, as the grouped heads; part of a key rotates."""
    head_width = 8 - widths.d_r
    return replace(INDUCTION, n_heads=4, head_width=head_width, latent=widths)


def trained(config, seed, task=TASK):
    """The parameters of one seed; its sequences are its own."""
    rng = np.random.default_rng([SEED, seed])
    params = init_transformer(rng, config)
    batches = (
        induction_batch(rng, (task["batch"],)) for _ in range(task["steps"])
    )
    after = train(params, config, batches, lr=task["rate"])
    ((_, params),) = deque(after, maxlen=1)
    return params


def measure(widths, task=TASK):
    """Train each seed, and try the unseen data of the grouped heads."""
    config = model(widths)
    unseen = induction_batch(np.random.default_rng(SEED + 1000), (256,))
    found = {"parameters": parameter_count(config), "accuracy": [], "loss": []}
    for seed in range(task["seeds"]):
        params = trained(config, seed, task)
        runs = {name: x[None] for name, x in params.items()}
        right, loss = one(runs, 0, config, unseen)
        found["accuracy"].append(round(right, 4))
        found["loss"].append(round(loss, 4))
    return found


def everything():
    results = {}
    for kept, widths in WIDTHS.items():
        results[kept] = measure(widths)
        print(kept, results[kept], flush=True)
    return results


def check():
    """Measure everything again; exit with 1 where a finding is another one.

    The wider vector learns so unevenly that its median tells little: what
    must hold is that it stays behind the worst seed of two groups.
    """
    before, now = stored("latent")["results"], everything()
    wrong = moved(before["16"]["accuracy"], now["16"]["accuracy"])
    (groups,) = [
        v["accuracy"]
        for v in stored("evidence")["variants"]
        if (v["group"], v["name"]) == ("grouped", "2 for 4")
    ]
    wrong |= np.median(now["32"]["accuracy"]) > min(groups)
    sys.exit(int(wrong))


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        check()
    else:
        made = "python -m research.train_latent"
        write("latent", made, task=TASK, results=everything())
