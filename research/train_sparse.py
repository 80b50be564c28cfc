"""Train attention that reads a subset of the pairs, and an indexer for it.

    python -m research.train_sparse          # two minutes
    python -m research.train_sparse check    # as long; writes nothing

The first command writes `course/evidence/sparse.json`. The second trains
everything again and fails if a median over the seeds has changed.
"""

import itertools
import sys

import numpy as np

from course.evidence import stored
from course.recall import (
    indexed,
    pairs_batch,
    recalled,
    train_indexer,
    train_memory,
)
from helpers.sparse import chosen_mask
from research.train import moved, write

TASK = {
    "seeds": 5,
    "steps": 300,
    "batch": 16,
    "rate": 0.03,
    "pairs": 16,
    "keys": 32,
    "values": 16,
    "width": 8,
    "unseen": 500,
}
BUDGETS = 1, 2, 4, 8
WAYS = ("own", "warm", "random", "newest")
# The number of heads and the width of each indexer.
INDEXERS = (1, 1), (1, 2), (1, 4), (1, 8), (4, 2)


def best(k):
    """Read the pairs with the highest scores."""
    return lambda scores: chosen_mask(scores, k)


def newest(k):
    """Read the last pairs of the text."""
    return lambda scores: chosen_mask(
        np.broadcast_to(np.arange(float(scores.shape[-1])), scores.shape), k
    )


def any_of(k, rng):
    """Read random pairs, drawn separately for each question."""
    return lambda scores: chosen_mask(rng.normal(size=scores.shape), k)


def all_at_first(k, steps):
    """Read all pairs in the first steps of training, and then the best."""
    calls = itertools.count()
    return lambda scores: chosen_mask(
        scores, k if next(calls) >= steps else scores.shape[-1]
    )


def choices(way, k, task, seed):
    """Return the choices of pairs during training and after it."""
    if way == "random":
        rng = np.random.default_rng([seed + 2000, k])
        return any_of(k, rng), any_of(k, rng)
    return {
        "all": (None, None),
        "own": (best(k), best(k)),
        "warm": (all_at_first(k, task["steps"] // 2), best(k)),
        "newest": (newest(k), newest(k)),
    }[way]


def trained(task, seed, choose=None):
    return train_memory(
        np.random.default_rng([seed, task["pairs"]]),
        "softmax",
        task["pairs"],
        steps=task["steps"],
        choose=choose,
        runs=(task["seeds"],),
        batch=task["batch"],
        lr=task["rate"],
    )


def unseen_texts(task, seed):
    rng = np.random.default_rng([seed + 1000, task["pairs"]])
    return pairs_batch(rng, (task["seeds"], task["unseen"]), task["pairs"])


def share(answers):
    """Return the share of right answers of each seed."""
    return answers.mean((1, 2)).round(4).tolist()


def measure(way, k, task=TASK, seed=1):
    """Train several seeds at once, and test with three choices of pairs."""
    learn, read = choices(way, k, task, seed)
    params, texts = trained(task, seed, learn), unseen_texts(task, seed)
    return {
        "way": way,
        "k": k,
        "right": share(recalled(texts, params, "softmax", choose=read)),
        "reads all": share(recalled(texts, params, "softmax")),
        "reads one": share(recalled(texts, params, "softmax", choose=best(1))),
    }


def measure_indexer(n_heads, d, params, task=TASK, seed=1):
    """Train an indexer for memories that read all pairs, and test it."""
    tables = train_indexer(
        np.random.default_rng([seed + 3000, n_heads, d]),
        params,
        task["pairs"],
        steps=task["steps"],
        n_heads=n_heads,
        d=d,
        batch=task["batch"],
        lr=task["rate"],
    )
    texts = unseen_texts(task, seed)
    scores = indexed(texts, tables)
    # The requested pair is on the diagonal.
    asked = np.diagonal(scores, axis1=-2, axis2=-1)
    found = {"heads": n_heads, "width": d, "silent": share(asked == 0)}
    found |= {"right": {}, "picked": {}}
    for k in BUDGETS:
        chosen = chosen_mask(scores, k)
        answers = recalled(
            texts, params, "softmax", choose=lambda _, mask=chosen: mask
        )
        found["right"][str(k)] = share(answers)
        picked = np.diagonal(chosen, axis1=-2, axis2=-1)
        found["picked"][str(k)] = share(picked)
    return found


def results(task=TASK, seed=1):
    """Yield all ways and budgets, first the memory that reads all pairs."""
    ways = [("all", task["pairs"])]
    ways += [(way, k) for way in WAYS for k in BUDGETS]
    for way, k in ways:
        found = measure(way, k, task, seed)
        print(found, flush=True)
        yield found


def after(task=TASK, seed=1):
    """Test a memory that was trained on all pairs with its best pairs only."""
    params, texts = trained(task, seed), unseen_texts(task, seed)
    return {
        str(k): share(recalled(texts, params, "softmax", choose=best(k)))
        for k in BUDGETS
    }


def indexers(task=TASK, seed=1):
    params = trained(task, seed)
    for n_heads, d in INDEXERS:
        found = measure_indexer(n_heads, d, params, task, seed)
        print(found, flush=True)
        yield found


def everything():
    return {
        "results": list(results()),
        "after": after(),
        "indexers": list(indexers()),
    }


def lists(found):
    """Return all lists of shares in a nested result."""
    if isinstance(found, dict):
        return [x for part in found.values() for x in lists(part)]
    if isinstance(found, list) and isinstance(found[0], dict):
        return [x for part in found for x in lists(part)]
    return [found] if isinstance(found, list) else []


def check():
    """Measure everything again; exit with 1 if a median has changed."""
    before, now = stored("sparse"), everything()
    wrong = sum(
        moved(old, new)
        for part in now
        for old, new in zip(lists(before[part]), lists(now[part]), strict=True)
    )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        check()
    else:
        write(
            "sparse",
            "python -m research.train_sparse",
            task=TASK,
            **everything(),
        )
