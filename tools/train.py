"""Train the models whose weights and measurements ship with the book.

    python tools/train.py induction

writes `helpers/trained/induction.json` (the last weights, 16 bits each) and
`induction-steps.json` (checkpoints, 8 bits each). A result depends on the
machine in its last digits, and training magnifies them: what must hold of it
is tested (tests/test_training.py), digits are not.
"""

import json
import sys
from pathlib import Path

import numpy as np

from helpers.training import (
    INDUCTION,
    accuracy,
    induction_batch,
    pack,
    train,
)
from helpers.transformer import init_transformer, transformer

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


if __name__ == "__main__":
    {"induction": induction}[sys.argv[1]]()
