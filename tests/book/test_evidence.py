"""Stored measurements: of the models that they name, and a part made anew.

The weekly workflow makes all of them again (`python research/train.py check`).
"""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from course.evidence import stored, trained_induction
from course.recall import KINDS, pairs_batch, recalled, train_memory
from course.sentences import expected_loss, trained_words
from helpers.model.forward import forward
from helpers.training import (
    INDUCTION,
    Batch,
    accuracy,
    induction_batch,
    recall_batch,
    train,
)
from helpers.transformer import (
    init_transformer,
    new_cache,
    parameter_count,
    transformer,
)
from research import train as command
from research import train_latent as latents
from research import train_linear as memories
from research import train_sparse as choices


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


def fitted(config, *, steps=200):
    """Parameters after a short training."""
    rng = np.random.default_rng(11)
    params = init_transformer(rng, config)
    batches = (induction_batch(rng, (32,)) for _ in range(steps))
    ((_, params),) = deque(train(params, config, batches), maxlen=1)
    return params


def right(params, config, batch):
    return accuracy(transformer(batch.tokens, params, config), batch)


def test_two_layers_learn_it_and_one_does_not():
    # `book/training.ipynb` trains both anew.
    assert min(by_name("layers")["two"]["accuracy"]) > 0.95
    assert max(by_name("layers")["one"]["accuracy"]) < 0.6


def check_bias(bias):
    """Far keys get less than some near ones, but far more than with ALiBi."""
    last = bias[..., 15, :]
    assert (bias[..., :8, :].max(-2) - last > 0.5).all()
    assert (last > -255 / 16 / 4).all()  # ALiBi's at 255, a quarter of it


def test_evidence_of_longer_texts_is_of_the_kinds_it_names():
    longer = stored("longer")
    assert longer["task"] == command.REACH
    results = {(r["kind"], r["rescaled"]): r for r in longer["results"]}
    assert len(results) == len(longer["results"])
    assert {kind for kind, _ in results} == set(command.KINDS)
    for (kind, _), result in results.items():
        for test in ("near", "far"):
            shares = np.array(result[test])
            assert shares.shape == (4, 4)  # lengths, seeds
            assert ((shares >= 0) & (shares <= 1)).all()
            # At the trained length a rescaling changes nothing.
            assert result[test][0] == results[kind, "as trained"][test][0]
            weight = np.array(result["weight"][test])
            assert weight.shape == (4, 4, 2)  # on right keys, on others
            assert (weight >= 0).all()
            assert (weight.sum(-1) <= 1).all()
            assert (weight[0, :, 1] == 0).all(), "none is too far back"
        bias = np.array(result.get("bias", np.zeros((4, 16, 2))))
        assert bias.shape == (4, 16, 2)  # seeds, buckets, heads
        assert ("bias" in result) == (kind == "T5's bias")
        if "bias" in result:
            check_bias(bias)
        # Shares of the questions that were asked: 5 of each far text.
        asked = 5 * 8192 / np.array(command.REACH["lengths"])[:, None]
        counts = np.array(result["far"]) * asked
        assert np.abs(counts - counts.round()).max() < asked.max() * 1e-4


def test_right_keys_follow_a_copy_of_the_query_and_are_the_answer():
    tokens, targets = np.array([[0, 1, 2, 0, 1]]), np.array([[1, 2, 0, 1, 2]])
    result = command.right_keys(Batch(tokens, targets, tokens >= 0))
    assert np.argwhere(result[0] & np.tri(5, dtype=bool)).tolist() == [
        [3, 1],
        [4, 2],
    ]


def test_weight_on_right_and_far_keys_is_counted_by_loops():
    params = trained_induction()
    config = replace(INDUCTION, max_len=40)
    batch = induction_batch(np.random.default_rng(2), (2,), T=40)
    right, parts = command.answered(params, config, batch)
    assert right == accuracy(transformer(batch.tokens, params, config), batch)
    kept = forward(batch.tokens, params, config)
    weights = kept.layers[1].attended.weights
    result = []
    for b, t in np.argwhere(batch.where):
        sums = [0, 0]
        for h in range(2):
            for j in range(t + 1):
                before = batch.tokens[b, j - 1] if j else None
                holds = batch.tokens[b, j] == batch.targets[b, t]
                if holds and before == batch.tokens[b, t]:
                    sums[0] += weights[b, h, t, j] / 2
                elif t - j > 31:
                    sums[1] += weights[b, h, t, j] / 2
        result.append(sums)
    assert parts == pytest.approx(np.mean(result, axis=0), abs=6e-5)
    assert parts[1] > 0


def asked(params, config, T):
    """Near and far answers, of other texts than the evidence."""
    rng = np.random.default_rng(13)
    config = replace(config, max_len=T)
    near, far = induction_batch(rng, (30,), T=T), recall_batch(rng, (60,), T=T)
    return right(params, config, near), right(params, config, far)


def test_rescaling_the_stored_model_helps_as_the_evidence_says():
    params = trained_induction()
    near, far = np.transpose(
        [
            asked(params, change(INDUCTION, 2), 64)
            for change in command.RESCALED.values()
        ]
    )
    plain, interpolated, ntk, yarn = range(4)
    assert near[interpolated] + 0.1 < near[plain] < near[ntk]
    assert near[plain] < near[yarn]
    assert far[plain] + 0.1 < far[ntk] < far[interpolated] < far[yarn]
    for test, shares in (("near", near), ("far", far)):
        medians = [
            np.median(result[test][1])
            for result in stored("longer")["results"]
            if result["kind"] == "RoPE, base 10,000"
        ]
        assert np.abs(shares - medians).max() < 0.25


@pytest.mark.weekly
def test_t5_reaches_further_anew():
    config = replace(INDUCTION, **command.KINDS["T5's bias"])
    params = fitted(config, steps=300)
    near, far = asked(params, config, 128)
    assert min(near, far) > 0.9
    check_bias(params["positions"])
    near, far = asked(trained_induction(), INDUCTION, 128)
    assert near < 0.9
    assert far < 0.3


def of_memory(kind, n, again=False):
    """What is stored of a memory that was trained on so many pairs."""
    (found,) = [
        result
        for result in stored("linear")["results"]
        if (result["kind"], result["pairs"], result["again"])
        == (kind, n, again)
    ]
    return found


def test_evidence_of_memories_is_of_the_texts_it_names():
    linear = stored("linear")
    assert linear["task"] == memories.TASK
    assert len(linear["results"]) == len(memories.TEXTS) * len(KINDS)
    for n, again in memories.TEXTS:
        asked = n // 2 if again else n
        for kind in KINDS:
            result = of_memory(kind, n, again)
            assert ("beta" in result) == (kind in ("delta", "gated"))
            assert ("decay" in result) == (kind == "gated")
            shares = np.array([result[p] for p in ("right", "oldest")])
            assert shares.shape == (2, memories.TASK["seeds"])
            counts = shares[0] * asked * memories.TASK["unseen"]
            if asked <= 8:  # four digits tell how many were right
                assert np.abs(counts - counts.round()).max() < 0.03 * asked


def test_memories_trained_anew_are_as_the_evidence_says():
    # Another seed, one run, fewer steps.
    for kind, n, again in (("linear", 8, False), ("delta", 8, True)):
        rng = np.random.default_rng(21)
        params = train_memory(rng, kind, n, again=again, steps=200, batch=16)
        unseen = pairs_batch(rng, (400,), n, again=again)
        anew = recalled(unseen, params, kind).mean()
        old = np.median(of_memory(kind, n, again)["right"])
        assert abs(anew - old) < 0.1, (kind, n, again)


def of_choice(way, k, part="right"):
    """What is stored of models that chose so, seed by seed."""
    (found,) = [
        result[part]
        for result in stored("sparse")["results"]
        if (result["way"], result["k"]) == (way, k)
    ]
    return np.array(found)


def test_evidence_of_choices_is_of_the_budgets_it_names():
    kept, task = stored("sparse"), choices.TASK
    assert kept["task"] == task
    named = [(r["way"], r["k"]) for r in kept["results"]]
    ways = [(w, k) for w in choices.WAYS for k in choices.BUDGETS]
    assert named == [("all", task["pairs"]), *ways]
    sizes = [(r["heads"], r["width"]) for r in kept["indexers"]]
    assert sizes == list(choices.INDEXERS)
    budgets = [str(k) for k in choices.BUDGETS]
    for result in (kept["after"], *(r["right"] for r in kept["indexers"])):
        assert list(result) == budgets
    parts = kept["results"], kept["indexers"], kept["after"]
    for shares in (x for part in parts for x in choices.lists(part)):
        assert len(shares) == task["seeds"]
        assert 0 <= min(shares) <= max(shares) <= 1
    # A choice that knows nothing of the question reads the right pair in k
    # of 16 questions, and of the others at most one in eight is guessed.
    for way in ("newest", "random"):
        for k in choices.BUDGETS:
            shares = of_choice(way, k)
            assert (shares > k / 16 - 0.01).all()
            assert (shares < k / 16 + (1 - k / 16) / 8).all()


def test_choices_trained_anew_are_as_the_evidence_says():
    # Another seed, one run.
    task = choices.TASK | {"seeds": 1, "unseen": 400}
    for way, k in (("own", 8), ("random", 4)):
        anew = choices.measure(way, k, task, seed=21)
        for part in ("right", "reads all", "reads one"):
            old = np.median(of_choice(way, k, part))
            assert abs(anew[part][0] - old) < 0.15, (way, k, part)


def test_an_indexer_trained_anew_is_as_the_evidence_says():
    task = choices.TASK | {"seeds": 1, "unseen": 400}
    params = choices.trained(task, 21)
    result = choices.measure_indexer(4, 2, params, task, seed=21)
    (kept,) = [
        r
        for r in stored("sparse")["indexers"]
        if (r["heads"], r["width"]) == (4, 2)
    ]
    for k in ("1", "2", "4"):
        old = np.median(kept["right"][k])
        assert abs(result["right"][k][0] - old) < 0.15, k


def test_evidence_of_latent_attention_is_beside_groups_of_equal_caches():
    kept = stored("latent")
    assert kept["task"] == latents.TASK == stored("evidence")["task"]
    assert set(kept["results"]) == set(latents.WIDTHS)
    for numbers, result in kept["results"].items():
        config = latents.model(latents.WIDTHS[numbers])
        assert result["parameters"] == parameter_count(config)
        assert len(result["accuracy"]) == len(result["loss"]) == 5
        groups = int(numbers) // 16  # a key and a value of width 8 each
        change = command.VARIANTS["grouped"][f"{groups} for 4"]
        beside = replace(INDUCTION, **change)
        assert beside.d_k == config.d_k + config.latent.d_r
        sizes = {new_cache(c)[0].nbytes for c in (config, beside)}
        assert sizes == {8 * INDUCTION.max_len * int(numbers)}


def test_the_first_steps_on_words_fare_as_stored():
    """The training behind the page on a sentence, as far as it is cheap."""
    kept = stored("words")
    for key in ("seed", "batch", "steps", "rates"):
        assert kept[key] == command.WORD_TASK[key]
    early, _ = expected_loss(command.trained_on_words(command.WORD_START))
    assert abs(early - kept["early"]) < 0.02
    assert kept["early"] > kept["loss"] + 0.1


def test_the_check_notices_a_word_model_that_fares_otherwise():
    params = trained_words()
    assert not command.fares_otherwise(params)
    table = params["embedding"]
    worse = params | {"embedding": np.roll(table, 1, axis=0)}
    assert command.fares_otherwise(worse)


def test_evidence_of_the_weight_is_of_the_forms_it_names():
    kept = stored("sinks")
    assert kept["task"] == command.SPENDING
    assert set(kept["results"]) == set(command.OUTLETS)
    for name, runs in kept["results"].items():
        assert {len(x) for x in runs.values()} == {kept["task"]["seeds"]}
        assert min(runs["excess"]) > 0
        whole = name != "sink"
        assert (runs["spent, plain"] == [1.0] * 5) == whole
        assert ("gate, plain" in runs) == (name == "gate")
    on_first = np.array(stored("first")["weights"])
    assert on_first.shape == (30, 9)
    assert ((on_first >= 0) & (on_first <= 1)).all()


def test_a_sink_and_a_gate_take_the_weight_anew():
    # A part of the evidence, with one seed and fewer steps.
    task = command.SPENDING | {"seeds": 1, "steps": 150}
    sink, gate = (
        {n: x[0] for n, x in command.spending({form: True}, task).items()}
        for form in ("sinks", "output_gate")
    )
    assert sink["first, plain"] < 0.3
    assert sink["spent, plain"] < 0.9 < sink["spent, trigger"]
    assert gate["gate, plain"] < 0.3 < 0.6 < gate["gate, trigger"]
    assert max(sink["excess"], gate["excess"]) < 0.15
