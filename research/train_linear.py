"""Train memories of pairs, and store how many pairs they recall.

    python -m research.train_linear          # three minutes
    python -m research.train_linear check    # as long; writes nothing

The first command writes `course/evidence/linear.json`. The second trains
everything again and fails if a median over the seeds has changed. Single
results depend on the machine in their last digits, and training magnifies such
differences.
"""

import sys

import numpy as np

from course.evidence import stored
from course.recall import KINDS, pairs_batch, recalled, train_memory
from research.train import moved, write

# The number of pairs in a text, and whether its keys are repeated. Every kind
# of memory is trained separately for each.
TEXTS = [(n, False) for n in (2, 4, 8, 16, 32)] + [(8, True), (16, True)]
TASK = {
    "seeds": 5,
    "steps": 300,
    "batch": 16,
    "rate": 0.03,
    "keys": 32,
    "values": 16,
    "width": 8,
    "unseen": 500,
}


def measure(kind, n_pairs, again, task=TASK, seed=1):
    """Train a memory with several seeds at once, and test unseen texts."""
    runs = (task["seeds"],)
    params = train_memory(
        np.random.default_rng([seed, n_pairs]),
        kind,
        n_pairs,
        again=again,
        steps=task["steps"],
        runs=runs,
        batch=task["batch"],
        lr=task["rate"],
    )
    rng = np.random.default_rng([seed + 1000, n_pairs])
    unseen = pairs_batch(rng, (*runs, task["unseen"]), n_pairs, again=again)
    right = recalled(unseen, params, kind).mean(1)  # (seeds, asked)
    quarter = max(1, right.shape[1] // 4)
    parts = {
        "right": right,
        "oldest": right[:, :quarter],
        "newest": right[:, -quarter:],
    }
    return {
        "kind": kind,
        "pairs": n_pairs,
        "again": again,
        **{n: x.mean(1).round(4).tolist() for n, x in parts.items()},
        **{
            name: params[name].round(2).tolist()
            for name in ("beta", "decay")
            if name in params
        },
    }


def results(task=TASK):
    for n_pairs, again in TEXTS:
        for kind in KINDS:
            found = measure(kind, n_pairs, again, task)
            print(found, flush=True)
            yield found


def check():
    """Measure everything again; exit with 1 if a median has changed."""
    before = stored("linear")["results"]
    wrong = sum(
        moved(old[part], new[part])
        for old, new in zip(before, results(), strict=True)
        for part in ("right", "oldest", "newest")
    )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        check()
    else:
        made = "python -m research.train_linear"
        write("linear", made, task=TASK, results=list(results()))
