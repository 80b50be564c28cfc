"""Train the models whose weights and measurements ship with the book.

    python tools/train.py induction   # a minute
    python tools/train.py evidence    # half an hour
    python tools/train.py check       # as long; writes nothing

The first writes `helpers/trained/induction.json` (the last weights, 16 bits
each) and `induction-steps.json` (checkpoints, 8 bits each), the second
`evidence.json`, and the third trains for it again and fails where a result
differs. A result depends on the machine in its last digits, and training
magnifies them: what must hold of it is tested (tests/test_training.py),
digits are not.
"""

import json
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np

from helpers.training import (
    INDUCTION,
    accuracy,
    induction_batch,
    pack,
    stored,
    train,
)
from helpers.transformer import (
    cross_entropy,
    init_transformer,
    parameter_count,
    transformer,
)

FOLDER = Path(__file__).resolve().parents[1] / "helpers" / "trained"
STEPS = (0, 20, 40, 60, 80, 100, 150, 300)
SEED = 1


def write(name, made, **content):
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}.json"
    text = json.dumps({"made": made, **content}, indent=1)
    file.write_text(text + "\n", encoding="utf-8")


def induction(seed=SEED, steps=STEPS):
    """Train the model of the figure, and store it along the way."""
    rng = np.random.default_rng(seed)
    params = init_transformer(rng, INDUCTION)
    unseen = induction_batch(np.random.default_rng(seed + 1000), (256,))
    batches = (induction_batch(rng, (64,)) for _ in range(max(steps)))
    checkpoints = [checkpoint(0, params, unseen)]
    losses = []
    after = train(params, INDUCTION, batches)
    for step, (loss, params) in enumerate(after, start=1):
        losses.append(round(loss, 4))
        if step in steps:
            checkpoints.append(checkpoint(step, params, unseen))
    made = "python tools/train.py induction"
    write("induction-steps", made, seed=seed, checkpoints=checkpoints)
    write(
        "induction",
        made,
        seed=seed,
        steps=max(steps),
        losses=losses,
        weights=pack(params),
    )


def checkpoint(step, params, unseen):
    right = accuracy(transformer(unseen.tokens, params, INDUCTION), unseen)
    print(f"after {step} steps: {right:.1%} right")
    return {
        "step": step,
        "accuracy": round(right, 4),
        "weights": pack(params, bits=8),
    }


# Each group asks one question of the same task. What a variant does not name
# is as in the figure's model.
VARIANTS = {
    "layers": {
        "one": {"n_layers": 1},
        "two": {},
        "three": {"n_layers": 3},
    },
    "scale": {
        "1/sqrt(d_k)": {},
        "none": {"scale": 1.0},
        "1/sqrt(d_k), wide start": {"std": None},
        "none, wide start": {"scale": 1.0, "std": None},
    },
    "positions": {
        "none": {"positions": None},
        "learned": {"positions": "learned"},
        "sinusoidal": {"positions": "sinusoidal"},
        "rotary": {},
        "ALiBi": {"positions": "alibi"},
    },
    "heads": {
        "1 of 32": {"n_heads": 1},
        "2 of 16": {},
        "4 of 8": {"n_heads": 4},
    },
    "window": {
        "all": {},
        "16": {"window": 16},
        "4": {"window": 4},
    },
    "grouped": {
        "4 for 4": {"n_heads": 4},
        "2 for 4": {"n_heads": 4, "n_kv_heads": 2},
        "1 for 4": {"n_heads": 4, "n_kv_heads": 1},
    },
}
TASK = {"seeds": 5, "steps": 300, "batch": 32, "rate": 0.01}


def measure(change, task):
    """Train one variant with several seeds at once, and try unseen data."""
    change = dict(change)
    std = change.pop("std", 0.02)
    config = replace(INDUCTION, **change)
    rng = np.random.default_rng(SEED)
    shape = (task["seeds"], task["batch"])
    params = init_transformer(rng, config, runs=shape[:1], std=std)
    batches = (induction_batch(rng, shape) for _ in range(task["steps"]))
    after = train(params, config, batches, rate=task["rate"])
    ((_, params),) = deque(after, maxlen=1)
    unseen = induction_batch(np.random.default_rng(SEED + 1000), (256,))
    results = [one(params, r, config, unseen) for r in range(task["seeds"])]
    return {
        "parameters": parameter_count(config),
        "accuracy": [round(right, 4) for right, _ in results],
        "loss": [round(loss, 4) for _, loss in results],
    }


def one(params, run, config, unseen):
    """Accuracy and loss of one run on unseen sequences."""
    own = {name: x[run] for name, x in params.items()}
    logits = transformer(unseen.tokens, own, config)
    loss = cross_entropy(logits, unseen.targets, where=unseen.where)
    return accuracy(logits, unseen), loss


def variants(task=TASK):
    """Every variant measured; one that stands in several groups, once."""
    known = {}
    for group, members in VARIANTS.items():
        for name, change in members.items():
            key = json.dumps(change, sort_keys=True)
            if key not in known:
                known[key] = measure(change, task)
            print(f"{group}, {name}: {known[key]['accuracy']}", flush=True)
            yield {"group": group, "name": name, **known[key]}


def evidence():
    """Measure all variants, and store them."""
    made = "python tools/train.py evidence"
    write("evidence", made, task=TASK, variants=list(variants()))


def check():
    """Measure all variants again; exit with 1 where a median has moved."""
    before = {
        (v["group"], v["name"]): v for v in stored("evidence")["variants"]
    }
    moved = 0
    for new in variants():
        old = before[new["group"], new["name"]]["accuracy"]
        if abs(np.median(new["accuracy"]) - np.median(old)) > 0.05:
            print(f"  was {old}")
            moved += 1
    sys.exit(moved > 0)


if __name__ == "__main__":
    commands = {"induction": induction, "evidence": evidence, "check": check}
    commands[sys.argv[1]]()
