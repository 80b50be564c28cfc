"""Recall of pairs: the texts, the gradients, and memories by hand."""

import numpy as np
import pytest

from course.recall import (
    KINDS,
    index_loss_and_gradients,
    indexed,
    init_memory,
    pairs_batch,
    recall_logits,
    recall_loss_and_gradients,
    recalled,
    train_indexer,
    train_memory,
)
from helpers.softmax import softmax
from helpers.sparse import chosen_mask
from tests.core import reference, reference_linear, reference_sparse
from tests.core.closeness import assert_close, assert_gradient

EACH = pytest.mark.parametrize("kind", KINDS)


def test_texts_have_keys_once(rng):
    batch = pairs_batch(rng, (50, 4), 10, n_keys=12, n_values=3)
    assert batch.keys.shape == batch.values.shape == (50, 4, 10)
    ordered = np.sort(batch.keys, axis=-1)
    assert (np.diff(ordered, axis=-1) > 0).all()
    assert set(batch.keys.ravel()) == set(range(12))
    assert set(batch.values.ravel()) == {0, 1, 2}
    np.testing.assert_array_equal(batch.asked, batch.keys)
    np.testing.assert_array_equal(batch.targets, batch.values)


def test_texts_have_keys_again(rng):
    batch = pairs_batch(rng, (200,), 8, again=True)
    first, second = batch.keys[:, :4], batch.keys[:, 4:]
    np.testing.assert_array_equal(np.sort(first), np.sort(second))
    assert (first != second).any()
    assert (batch.values[:, :4] != batch.values[:, 4:]).any()
    for text, keys in enumerate(batch.keys):
        last = dict(zip(keys, batch.values[text], strict=True))
        wanted = [last[key] for key in batch.asked[text]]
        assert wanted == batch.targets[text].tolist()


def memory(rng, kind, runs=()):
    params = init_memory(rng, kind, runs=runs, n_keys=6, n_values=3, d=4)
    if "beta" in params:
        params["beta"] = np.asarray(rng.normal(size=runs))
    if "decay" in params:
        params["decay"] = np.asarray(rng.normal(size=runs))
    return params


@EACH
@pytest.mark.parametrize("again", [False, True])
def test_answers_are_those_of_the_loops(kind, again, rng):
    params = memory(rng, kind)
    batch = pairs_batch(rng, (), 4, again=again, n_keys=6, n_values=3)
    Q = params["queries"][batch.asked]
    K, V = params["keys"][batch.keys], params["values"][batch.values]
    if kind == "softmax":
        read, _ = reference.attention(Q.tolist(), K.tolist(), V.tolist())
    else:
        Q, K = (x / np.sqrt((x**2).sum(-1, keepdims=True)) for x in (Q, K))
        beta = 1 / (1 + np.exp(-params.get("beta", np.inf)))
        decay = 1 / (1 + np.exp(params.get("decay", -np.inf)))
        _, S = reference_linear.gated_delta_rule(
            K.tolist(), K.tolist(), V.tolist(), [beta] * 4,
            [np.log(decay)] * 4, corrects=kind != "linear",
        )  # fmt: skip
        read = Q @ S
    logits = recall_logits(batch, params, kind)
    assert_close(logits, np.array(read) @ params["answers"], eps=256)
    np.testing.assert_array_equal(
        recalled(batch, params, kind), logits.argmax(-1) == batch.targets
    )


@EACH
@pytest.mark.parametrize("runs", [(), (2,)])
@pytest.mark.parametrize("again", [False, True])
def test_recall_loss_and_gradients(kind, runs, again, rng):
    params = memory(rng, kind, runs)
    batch = pairs_batch(rng, (*runs, 3), 4, again=again, n_keys=6, n_values=3)
    _, gradients = recall_loss_and_gradients(batch, params, kind)
    assert list(gradients) == list(params)
    for name in params:

        def loss(x, name=name):
            changed = params | {name: x}
            return recall_loss_and_gradients(batch, changed, kind)[0]

        gradient = np.asarray(gradients[name])
        if params[name].ndim:
            assert_gradient(loss, params[name], gradient, rng)
        else:
            h = 1e-5
            up, down = loss(params[name] + h), loss(params[name] - h)
            assert gradient == pytest.approx((up - down) / 2 / h, rel=1e-6)


def two_best(scores):
    return chosen_mask(scores, 2)


def test_a_choice_reads_what_the_loop_reads(rng):
    params = memory(rng, "softmax")
    batch = pairs_batch(rng, (), 4, n_keys=6, n_values=3)
    Q = params["queries"][batch.asked]
    K, V = params["keys"][batch.keys], params["values"][batch.values]
    chosen = reference_sparse.chosen_mask(
        (Q @ K.T).tolist(), 2, [[True] * 4] * 4
    )
    read = reference_sparse.chosen_attention(
        Q.tolist(), K.tolist(), V.tolist(), chosen
    )
    logits = recall_logits(batch, params, "softmax", choose=two_best)
    assert_close(logits, np.array(read) @ params["answers"], eps=256)
    np.testing.assert_array_equal(
        recalled(batch, params, "softmax", choose=two_best),
        logits.argmax(-1) == batch.targets,
    )


@pytest.mark.parametrize("runs", [(), (2,)])
def test_gradients_with_a_choice(runs, rng):
    params = memory(rng, "softmax", runs)
    batch = pairs_batch(rng, (*runs, 3), 4, n_keys=6, n_values=3)
    fixed = rng.random((*runs, 3, 4, 4)) < 0.6

    def loss_and_gradients(params):
        return recall_loss_and_gradients(
            batch, params, "softmax", choose=lambda scores: fixed
        )

    _, gradients = loss_and_gradients(params)
    for name, x in params.items():
        assert_gradient(
            lambda x, name=name: loss_and_gradients(params | {name: x})[0],
            x,
            gradients[name],
            rng,
        )


def tables_of(rng, runs, n_heads):
    widths = {"queries": n_heads * 3, "keys": 3}
    return {n: rng.normal(size=(*runs, 6, w)) for n, w in widths.items()}


@pytest.mark.parametrize("runs", [(), (2,)])
@pytest.mark.parametrize("n_heads", [1, 2])
def test_the_indexers_loss_and_gradients(runs, n_heads, rng):
    tables = tables_of(rng, runs, n_heads)
    batch = pairs_batch(rng, (*runs, 3), 4, n_keys=6)
    weights = softmax(rng.normal(size=(*runs, 3, 4, 4)))
    loss, gradients = index_loss_and_gradients(batch, tables, weights)
    guess = softmax(indexed(batch, tables))
    wanted = (weights * np.log(weights / guess)).sum((-1, -2)) / 4
    assert loss == pytest.approx(wanted.mean(-1).sum(), rel=1e-12)
    for name, x in tables.items():
        assert_gradient(
            lambda x, name=name: index_loss_and_gradients(
                batch, tables | {name: x}, weights
            )[0],
            x,
            gradients[name],
            rng,
        )


def test_index_scores_are_those_of_the_loop(rng):
    tables = tables_of(rng, (), 2)
    batch = pairs_batch(rng, (), 4, n_keys=6)
    rows = tables["queries"][batch.asked].reshape(4, 2, 3)
    wanted = reference_sparse.index_scores(
        rows.transpose(1, 0, 2).tolist(),
        tables["keys"][batch.keys].tolist(),
        [[1.0, 1.0]] * 4,
    )
    assert_close(indexed(batch, tables), np.array(wanted), eps=64)


def test_an_indexer_learns_what_a_trained_memory_reads():
    rng = np.random.default_rng(5)
    params = train_memory(rng, "softmax", 4, steps=100, lr=0.1, runs=(2,))
    tables = train_indexer(rng, params, 4, steps=100, n_heads=4, lr=0.1)
    unseen = pairs_batch(rng, (2, 200), 4)
    best = chosen_mask(indexed(unseen, tables), 1)
    right = best[..., np.eye(4, dtype=bool)].mean((1, 2))
    assert (right > 0.8).all()


@EACH
def test_train_memory_learns_and_runs_do_not_mix(kind):
    rng = np.random.default_rng(3)
    params = train_memory(rng, kind, 2, steps=100, lr=0.1, runs=(2,))
    unseen = pairs_batch(np.random.default_rng(4), (2, 200), 2)
    assert (recalled(unseen, params, kind).mean((1, 2)) > 0.5).all()
    both = recall_logits(unseen, params, kind)
    for run in range(2):
        own = {name: x[run] for name, x in params.items()}
        texts = type(unseen)(*(x[run] for x in unseen))
        assert_close(recall_logits(texts, own, kind), both[run], eps=256)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda rng: pairs_batch(rng, (), 33), "n_keys; got 33 and 32"),
        (lambda rng: pairs_batch(rng, (), 3, again=True), "even.*got 3"),
        (lambda rng: init_memory(rng, "other"), "kind .*'other'"),
        (
            lambda rng: recall_logits(
                pairs_batch(rng, (), 2),
                init_memory(rng, "delta"),
                "delta",
                choose=two_best,
            ),
            "choose .*'softmax'.*'delta'",
        ),
    ],
)
def test_recall_refuses_what_does_not_fit(call, says, rng):
    with pytest.raises(ValueError, match=says):
        call(rng)
