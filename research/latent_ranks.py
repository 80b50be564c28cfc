"""Measure how many directions the keys and values of SmolLM2 need.

    python -m research.latent_ranks          # a minute
    python -m research.latent_ranks check    # the same; writes nothing

The first command writes `course/evidence/latent-ranks.json`: for each layer,
the number of directions that contain 99% of the variance of its keys and
values, before and after the keys are rotated. The second fails if a number
differs by more than one, which float32 may cause. `make model` installs the
weights.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from course.checkpoint import load, smollm2_path
from course.evidence import stored
from helpers.heads import merge_heads
from helpers.transformer import forward
from research.head_effects import write

TEXT = (
    Path(__file__).resolve().parents[1] / "course" / "evidence" / "alice.txt"
)
LENGTH = 768  # tokens, twice as many as a layer has columns
SHARE = 0.99


def tokens_of(tokenizer):
    text = TEXT.read_text("utf-8")[: 8 * LENGTH]
    return np.array(tokenizer.encode(text)[:LENGTH])


def directions(rows, share=SHARE):
    """Count the directions that contain a share of the rows' variance."""
    rows = np.asarray(rows, float) - np.mean(rows, axis=0, dtype=float)
    variances = np.linalg.svd(rows, compute_uv=False) ** 2
    parts = np.cumsum(variances) / variances.sum()
    return int(np.searchsorted(parts, share)) + 1


def kept(layer, params, group):
    """Return keys and values of a layer, with unrotated and rotated keys.

    Attention received each key once for every query head of its group.
    """
    names = (f"{layer.block}.W_{name}" for name in "KV")
    still, values = (layer.read @ params[name] for name in names)
    rotated = merge_heads(layer.attended.K[::group])
    return [np.hstack([keys, values]) for keys in (still, rotated)]


def first_layers(model, n):
    """Return the model without the blocks from the n-th upward."""
    params = {
        name: array
        for name, array in model.params.items()
        if not name.partition(".")[0].isdigit()
        or int(name.partition(".")[0]) < n
    }
    return params, replace(model.config, n_layers=n)


def measured(model, n_layers=None):
    """Count the directions, (n_layers, 2): unrotated and rotated keys."""
    n_layers = model.config.n_layers if n_layers is None else n_layers
    params, config = first_layers(model, n_layers)
    group = config.n_heads // config.kv_heads
    run = forward(tokens_of(model.tokenizer), params, config)
    return [
        [directions(rows) for rows in kept(layer, params, group)]
        for layer in run.layers
        if layer.attended is not None
    ]


def main():
    model = load(smollm2_path())
    found = measured(model)
    if sys.argv[1:] == ["check"]:
        off = np.abs(np.array(found) - stored("latent-ranks")["directions"])
        print("differs by at most", off.max())
        if off.max() > 1:
            raise SystemExit("run: python -m research.latent_ranks")
        return
    width = 2 * model.config.kv_heads * model.config.d_k
    write(
        "latent-ranks",
        "latent_ranks",
        text=TEXT.name,
        tokens=LENGTH,
        share=SHARE,
        columns=width,
        directions=found,
    )


if __name__ == "__main__":
    main()
