"""Store the attention weights of every head of SmolLM2-135M-Instruct.

    python -m research.real_heads         # five minutes
    python -m research.real_heads check   # the same; writes nothing

The first command writes `course/evidence/heads-*.json`, one file per text.
The figure `RealHeads` shows the weights for a few texts, and how the next
token changes without one head. `check` fails if a weight differs by more than
half a step of its byte, or an effect by more than float32 can differ. The
weekly workflow checks all texts, and `tests/figures/test_realheads.py` checks
one.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

from course.checkpoint import load, smollm2_path
from course.real_heads import (
    NAMES,
    SAID,
    file_of,
    record,
    recorded,
    unpacked,
)
from helpers.softmax import softmax
from helpers.transformer import forward
from research.head_effects import rest

FOLDER = Path(__file__).resolve().parents[1] / "course" / "evidence"
MADE = "python -m research.real_heads"
TEXTS = {
    "a repeat": (
        "The quiet blue harbour sold nine copper lamps. "
        "The quiet blue harbour sold nine copper"
    ),
    "capitals": (
        "Paris is the capital of France, Rome is the capital of Italy, and "
        "Madrid is the capital of"
    ),
    "a pronoun": (
        "The cat drank the milk because it was thirsty, and the dog ate the "
        "bone because it was"
    ),
    "code": (
        "def mean(values):\n    total = sum(values)\n"
        "    return total / len(values"
    ),
    "Spanish": (
        "El gato bebe agua porque tiene sed, y el perro come carne porque "
        "tiene"
    ),
    "a bracket": (
        "The answer (which nobody in the whole room had expected, not even "
        "the teacher"
    ),
    "a chat": (
        "<|im_start|>user\nWhat is the capital of Peru?<|im_end|>\n"
        "<|im_start|>assistant\nThe"
    ),
}
# Half a step of a byte, plus a possible float32 difference between processors.
NEAR = 1 / 510 + 1e-4
CLOSE = 0.02  # of probabilities, and of logits


def without_each(checkpoint, ids, blocks=None):
    """Return what the likeliest next tokens become without each head.

    For each head, layer by layer: their probabilities, and the changes of
    their logits.
    """
    config, params, _ = checkpoint
    whole = forward(np.array(ids), params, config)
    before = whole.logits[-1].astype(float)
    said = np.argsort(-softmax(before), kind="stable")[:SAID]
    found = []
    for block in range(config.n_layers) if blocks is None else blocks:
        own, left = rest(params, config, block, whole.layers[2 * block].normed)
        for head in range(config.n_heads):
            heads = np.ones((left.n_layers, left.n_heads))
            heads[0, head] = 0
            kept = forward(np.arange(len(ids)), own, left, heads=heads)
            after = kept.logits[-1].astype(float)
            found.append(
                [
                    np.round(softmax(after)[said], 4).tolist(),
                    np.round((after - before)[said], 2).tolist(),
                ]
            )
    return found


def largest_difference(checkpoint, name):
    """Return the largest difference of stored weights from the model's."""
    stored = recorded(name)
    kept = forward(
        np.array(stored["ids"]), checkpoint.params, checkpoint.config
    )
    maps = [x.attended.weights for x in kept.layers if x.attended is not None]
    return float(np.abs(np.array(maps) - unpacked(stored)).max())


def check(checkpoint):
    """Run all texts again, and exit with the names of those that differ."""
    wrong = []
    for name in NAMES:
        far = largest_difference(checkpoint, name)
        print(f"{name}: at most {far:.5f} from the model's weights")
        stored = recorded(name)
        effects = np.array(without_each(checkpoint, stored["ids"]))
        off = abs(effects - stored["without"]).max()
        print(f"{name}: at most {off:.3f} from the effects of its heads")
        if far > NEAR or off > CLOSE or stored["text"] != TEXTS[name]:
            wrong.append(name)
    if wrong:
        raise SystemExit(f"differ: {', '.join(wrong)}; run: {MADE}")


def write(checkpoint):
    for name in NAMES:
        found = {"made": MADE, "name": name, **record(checkpoint, TEXTS[name])}
        found["without"] = without_each(checkpoint, found["ids"])
        text = json.dumps(found, ensure_ascii=False, indent=1)
        # A list of numbers is one line.
        text = re.sub(
            r"\[[-\d.,\s]+\]", lambda row: " ".join(row[0].split()), text
        )
        file = FOLDER / f"{file_of(name)}.json"
        file.write_text(f"{text}\n", encoding="utf-8")
        print(f"{file.name}: {len(found['ids'])} tokens")


if __name__ == "__main__":
    model = load(smollm2_path())
    (check if sys.argv[1:] == ["check"] else write)(model)
