"""Stored measurements: of the models that they name, and a part made anew.

The weekly workflow makes all of them again (`python tools/train.py check`).
"""

from collections import deque
from dataclasses import replace

import numpy as np

from helpers.training import (
    INDUCTION,
    accuracy,
    induction_batch,
    stored,
    train,
)
from helpers.transformer import (
    init_transformer,
    parameter_count,
    transformer,
)


def by_name(group):
    variants = stored("evidence")["variants"]
    return {v["name"]: v for v in variants if v["group"] == group}


def test_evidence_is_of_the_models_it_names():
    layers, heads = by_name("layers"), by_name("heads")
    assert layers["two"]["parameters"] == parameter_count(INDUCTION)
    one = replace(INDUCTION, n_layers=1)
    assert layers["one"]["parameters"] == parameter_count(one)
    assert len({v["parameters"] for v in heads.values()}) == 1
    task = stored("evidence")["task"]
    for v in stored("evidence")["variants"]:
        assert len(v["accuracy"]) == len(v["loss"]) == task["seeds"] >= 5


def reached(config, steps=200):
    """Accuracy on unseen sequences after a short training."""
    rng = np.random.default_rng(11)
    params = init_transformer(rng, config)
    batches = (induction_batch(rng, (32,)) for _ in range(steps))
    ((_, params),) = deque(train(params, config, batches), maxlen=1)
    batch = induction_batch(rng, (100,))
    return accuracy(transformer(batch.tokens, params, config), batch)


def test_two_layers_learn_it_anew_and_one_does_not():
    # A part of the evidence, with another seed and fewer steps.
    assert reached(INDUCTION) > 0.9
    assert reached(replace(INDUCTION, n_layers=1)) < 0.6
    assert min(by_name("layers")["two"]["accuracy"]) > 0.95
    assert max(by_name("layers")["one"]["accuracy"]) < 0.6
