"""Recall of pairs: a memory that is trained to return the value of a key.

A text shows pairs of a key and a value, and then asks for its keys. Four
memories of equal size are compared: softmax attention, linear attention, the
delta rule and the gated delta rule. Softmax attention may read a subset of the
pairs, and an indexer learns to predict which pairs matter.
"""

from typing import NamedTuple

import numpy as np

from helpers._checks import (
    as_size,
    as_sizes,
    check_choice,
    check_flag,
    check_generator,
)
from helpers._core import lookup
from helpers.attention import attention, attention_scores
from helpers.gradients import attention_vjp
from helpers.layers import cross_entropy, cross_entropy_vjp
from helpers.linear import (
    delta_rule,
    delta_rule_vjp,
    gated_delta_rule,
    gated_delta_rule_vjp,
    linear_attention,
    linear_attention_vjp,
)
from helpers.model.adam import adam_init, adam_step
from helpers.softmax import logsumexp
from helpers.sparse import index_scores

KINDS = ("softmax", "linear", "delta", "gated")


class Pairs(NamedTuple):
    """Texts of pairs, and the questions after all pairs."""

    keys: np.ndarray  #: (..., N) integers
    values: np.ndarray  #: (..., N) integers
    asked: np.ndarray  #: (..., M) integers, the requested keys
    targets: np.ndarray  #: (..., M) integers, the last value of each


def pairs_batch(rng, shape, n_pairs, *, again=False, n_keys=32, n_values=16):
    """Draw texts of pairs, in which each key has its own value.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    shape : tuple of int
        The number of texts, as leading axes.
    n_pairs : int
        The number of pairs in a text.
    again : bool, default False
        Whether the second half of the text has the keys of the first half in
        a new order, with new values.
    n_keys : int, default 32
        The number of different keys.
    n_values : int, default 16
        The number of different values.

    Returns
    -------
    Pairs
        Values are drawn independently. Each key is requested once, in the
        order of its last occurrence in the text.

    Raises
    ------
    TypeError
        If a size is not an integer, `shape` is not a tuple, `again` is not a
        bool, or `rng` is not a Generator.
    ValueError
        If a size is below one, there are more keys than `n_keys`, or an odd
        number of pairs with `again`.

    Examples
    --------
    >>> batch = pairs_batch(np.random.default_rng(0), (2,), 6, again=True)
    >>> batch.keys.shape, batch.asked.shape
    ((2, 6), (2, 3))
    """
    check_generator(rng)
    shape = as_sizes(shape, "shape")
    n_pairs = as_size(n_pairs, "n_pairs", least=1)
    n_keys = as_size(n_keys, "n_keys", least=1)
    n_values = as_size(n_values, "n_values", least=1)
    if check_flag(again, "again") and n_pairs % 2:
        raise ValueError(f"n_pairs must be even with again; got {n_pairs}")
    n_asked = n_pairs // 2 if again else n_pairs
    if n_asked > n_keys:
        raise ValueError(
            "the keys of a text must not exceed n_keys; "
            f"got {n_asked} and {n_keys}"
        )
    every = np.broadcast_to(np.arange(n_keys), (*shape, n_keys))
    asked = rng.permuted(every, axis=-1)[..., :n_asked]
    keys = asked
    if again:
        before = rng.permuted(asked, axis=-1)
        keys = np.concatenate([before, asked], axis=-1)
    values = rng.integers(n_values, size=keys.shape)
    return Pairs(keys, values, asked, values[..., -n_asked:])


def init_memory(rng, kind, *, runs=(), n_keys=32, n_values=16, d=8):
    """Draw the tables of a memory before training.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    kind : {"softmax", "linear", "delta", "gated"}
        The kind of memory.
    runs : tuple of int
        Leading axes: memories that are trained side by side.
    n_keys : int, default 32
        The number of different keys.
    n_values : int, default 16
        The number of different values.
    d : int, default 8
        Width of queries, keys and values.

    Returns
    -------
    dict of str to array
        ``queries`` and ``keys`` (n_keys, d), ``values`` (n_values, d) and
        ``answers`` (d, n_values), standard normal; with the delta rule
        ``beta`` (), initially 2, to which a sigmoid is applied; with a gate
        ``decay`` (), initially -5, whose softplus is subtracted.

    Raises
    ------
    TypeError
        If `rng` is not a Generator, a size is not an integer, or `runs` is
        not a tuple.
    ValueError
        If `kind` is none of the four, or a size is below one.

    Examples
    --------
    >>> params = init_memory(np.random.default_rng(0), "gated")
    >>> {name: x.shape for name, x in params.items() if x.ndim < 2}
    {'beta': (), 'decay': ()}
    """
    check_generator(rng)
    check_choice(kind, "kind", KINDS)
    runs = as_sizes(runs, "runs")
    n_keys, n_values, d = (
        as_size(n, name, least=1)
        for name, n in (("n_keys", n_keys), ("n_values", n_values), ("d", d))
    )
    shapes = {
        "queries": (n_keys, d),
        "keys": (n_keys, d),
        "values": (n_values, d),
        "answers": (d, n_values),
    }
    params = {n: rng.normal(size=(*runs, *s)) for n, s in shapes.items()}
    if kind in ("delta", "gated"):
        params["beta"] = np.full(runs, 2.0)
    if kind == "gated":
        params["decay"] = np.full(runs, -5.0)
    return params


def recall_logits(batch, params, kind, *, choose=None):
    """Compute a memory's answer for each key of a text, after all pairs.

    Parameters
    ----------
    batch : Pairs
        The texts; runs are their first axes, as in `params`.
    params : dict of str to array
        From `init_memory`.
    kind : {"softmax", "linear", "delta", "gated"}
        The kind of memory.
    choose : callable, optional
        With "softmax": takes the scores (..., M, N) and returns the mask of
        the pairs to read, as `helpers.sparse.chosen_mask` does. By default all
        are read.

    Returns
    -------
    (..., M, n_values) array
        One row for each requested key.

    Raises
    ------
    ValueError
        If `kind` is none of the four, or has no scores to `choose` by.

    Notes
    -----
    The queries and keys of a state are divided by their length, and its scale
    is 1; those of the softmax are not, and its scale is 1/sqrt(d). No memory
    has positions, and a key is requested after all pairs have been read.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batch, params = pairs_batch(rng, (2,), 3), init_memory(rng, "delta")
    >>> recall_logits(batch, params, "delta").shape
    (2, 3, 16)
    """
    check_choice(kind, "kind", KINDS)
    x = _inputs(batch, params, kind)
    read = _read(x, kind, _chosen(x, kind, choose))
    return read @ _per_run(params["answers"], 2, batch)


def recall_loss_and_gradients(batch, params, kind, *, choose=None):
    """Return the loss of a memory on a batch, and its gradients.

    Parameters
    ----------
    batch, params, kind, choose
        As in `recall_logits`. No gradient flows through the choice.

    Returns
    -------
    loss : float
        Mean cross-entropy of the answers, in nats, summed over the runs.
    gradients : dict of str to array
        The gradient for each parameter.

    Raises
    ------
    ValueError
        If `kind` is none of the four.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batch, params = pairs_batch(rng, (2,), 3), init_memory(rng, "gated")
    >>> loss, gradients = recall_loss_and_gradients(batch, params, "gated")
    >>> list(gradients) == list(params)
    True
    """
    check_choice(kind, "kind", KINDS)
    x = _inputs(batch, params, kind)
    chosen = _chosen(x, kind, choose)
    read = _read(x, kind, chosen)  # (..., M, d)
    answers = _per_run(params["answers"], 2, batch)
    logits, runs = read @ answers, params["answers"].shape[:-2]
    n_runs = int(np.prod(runs, dtype=int))
    # The mean is over all runs, so scale it; each run trains as if it were
    # alone.
    loss = cross_entropy(logits, batch.targets) * n_runs
    dlogits = cross_entropy_vjp(logits, batch.targets) * n_runs
    dread = dlogits @ answers.swapaxes(-1, -2)
    grads = _read_vjp(dread, x, kind, chosen)
    axes = tuple(range(len(runs), read.ndim - 2))
    found = {"answers": (read.swapaxes(-1, -2) @ dlogits).sum(axes)}
    for table, index, grad in (
        ("queries", batch.asked, grads["Q"]),
        ("keys", batch.keys, grads["K"]),
        ("values", batch.values, grads["V"]),
    ):
        found[table] = _scattered(grad, index, params[table].shape)
    texts = tuple(range(len(runs), batch.keys.ndim))
    if "beta" in params:
        beta = _sigmoid(params["beta"])
        found["beta"] = grads["beta"].sum(texts) * beta * (1 - beta)
    if "decay" in params:
        slope = -_sigmoid(params["decay"])
        found["decay"] = grads["log_decay"].sum(texts) * slope
    return loss, {name: found[name] for name in params}


def train_memory(
    rng,
    kind,
    n_pairs,
    *,
    steps,
    again=False,
    choose=None,
    runs=(),
    batch=32,
    lr=0.03,
):
    """Train a memory on texts of `n_pairs` pairs.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of parameters and texts.
    kind : {"softmax", "linear", "delta", "gated"}
        The kind of memory.
    n_pairs : int
        The number of pairs in a text.
    steps : int
        The number of steps of Adam, in which the learning rate falls linearly
        to 0.
    again : bool, default False
        As in `pairs_batch`.
    choose : callable, optional
        As in `recall_logits`.
    runs : tuple of int
        Leading axes: memories that are trained side by side, each on its own
        texts.
    batch : int, default 32
        The number of texts per step.
    lr : float, default 0.03
        The learning rate at the start.

    Returns
    -------
    dict of str to array
        The parameters after training.

    Raises
    ------
    TypeError, ValueError
        As `pairs_batch` and `init_memory`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> params = train_memory(rng, "linear", 2, steps=60, lr=0.1)
    >>> batch = pairs_batch(rng, (100,), 2)
    >>> float(recalled(batch, params, "linear").mean()) > 0.5
    True
    """
    params = init_memory(rng, kind, runs=runs)
    state = adam_init(params)
    for step in range(as_size(steps, "steps", least=1)):
        shape = (*runs, as_size(batch, "batch"))
        texts = pairs_batch(rng, shape, n_pairs, again=again)
        _, grads = recall_loss_and_gradients(
            texts, params, kind, choose=choose
        )
        rate = lr * (1 - step / steps)
        params, state = adam_step(params, grads, state, lr=rate)
    return params


def recalled(batch, params, kind, *, choose=None):
    """Return which answers of a memory are right.

    Parameters
    ----------
    batch, params, kind, choose
        As in `recall_logits`.

    Returns
    -------
    (..., M) boolean array
        Whether the largest logit for a requested key is its target's.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batch, params = pairs_batch(rng, (2,), 3), init_memory(rng, "linear")
    >>> recalled(batch, params, "linear").shape
    (2, 3)
    """
    logits = recall_logits(batch, params, kind, choose=choose)
    return logits.argmax(-1) == batch.targets


def indexed(batch, tables):
    """Score each pair of a text for each requested key.

    Parameters
    ----------
    batch : Pairs
        The texts; runs are their first axes, as in `tables`.
    tables : dict of str to array
        ``queries`` (n_keys, H d) and ``keys`` (n_keys, d), for H heads.

    Returns
    -------
    (..., M, N) array
        `helpers.sparse.index_scores`, each head with weight 1.

    Examples
    --------
    >>> batch = pairs_batch(np.random.default_rng(0), (), 2, n_keys=2)
    >>> keys = np.eye(2)
    >>> indexed(batch, {"queries": keys, "keys": keys}).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    Q, K = _index_inputs(batch, tables)
    return index_scores(Q, K, np.ones((*batch.asked.shape, Q.shape[-3])))


def index_loss_and_gradients(batch, tables, weights):
    """Return an indexer's divergence from the weights to predict.

    Parameters
    ----------
    batch, tables
        As in `indexed`.
    weights : (..., M, N) array
        The weights of attention over all pairs.

    Returns
    -------
    loss : float
        Mean divergence (Kullback-Leibler) of the softmax of the index scores
        from `weights`, in nats, summed over the runs.
    gradients : dict of str to array
        The gradient for each table.

    Notes
    -----
    DeepSeek-AI 2025 (DeepSeek-V3.2), equation 3.

    Examples
    --------
    >>> batch = pairs_batch(np.random.default_rng(0), (), 2, n_keys=2)
    >>> tables = {"queries": np.eye(2), "keys": np.eye(2)}
    >>> from helpers.softmax import softmax
    >>> alike = softmax(indexed(batch, tables))
    >>> bool(abs(index_loss_and_gradients(batch, tables, alike)[0]) < 1e-12)
    True
    """
    Q, K = _index_inputs(batch, tables)
    scores = indexed(batch, tables)
    runs = tables["keys"].shape[:-2]
    rows = np.prod(batch.asked.shape[len(runs) :], dtype=int)
    logs = scores - logsumexp(scores, keepdims=True)
    # A weight of 0 adds nothing, so its logarithm does not matter.
    known = np.log(np.where(weights > 0, weights, 1))
    loss = (weights * (known - logs)).sum() / rows
    grad = (np.exp(logs) - weights)[..., None, :, :] / rows
    positive = Q @ K[..., None, :, :].swapaxes(-1, -2) > 0  # (..., H, M, N)
    grad = grad * positive
    dQ = np.moveaxis(grad @ K[..., None, :, :], -3, -2)  # (..., M, H, d)
    dQ = dQ.reshape(*batch.asked.shape, -1)
    dK = (grad.swapaxes(-1, -2) @ Q).sum(-3)
    return loss, {
        "queries": _scattered(dQ, batch.asked, tables["queries"].shape),
        "keys": _scattered(dK, batch.keys, tables["keys"].shape),
    }


def train_indexer(
    rng, params, n_pairs, *, steps, n_heads=1, d=4, batch=32, lr=0.03
):
    """Train an indexer for a memory that does not change.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of tables and texts.
    params : dict of str to array
        A memory of kind "softmax", with its runs as leading axes.
    n_pairs : int
        The number of pairs in a text.
    steps : int
        The number of steps of Adam, in which the learning rate falls linearly
        to 0.
    n_heads, d : int
        The number of heads, and the width of queries and keys.
    batch : int, default 32
        The number of texts per step.
    lr : float, default 0.03
        The learning rate at the start.

    Returns
    -------
    dict of str to array
        Tables for `indexed`.

    Notes
    -----
    The first stage of training in DeepSeek-AI 2025 (DeepSeek-V3.2), section
    2.1.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> params = init_memory(rng, "softmax")
    >>> tables = train_indexer(rng, params, 4, steps=1, n_heads=2)
    >>> {name: x.shape for name, x in tables.items()}
    {'queries': (32, 8), 'keys': (32, 4)}
    """
    *runs, n_keys, _ = params["queries"].shape
    widths = {"queries": as_size(n_heads, "n_heads", least=1) * d, "keys": d}
    tables = {
        n: rng.normal(size=(*runs, n_keys, w)) for n, w in widths.items()
    }
    state = adam_init(tables)
    for step in range(as_size(steps, "steps", least=1)):
        texts = pairs_batch(rng, (*runs, batch), n_pairs, n_keys=n_keys)
        x = _inputs(texts, params, "softmax")
        weights = attention(x["Q"], x["K"], x["V"]).weights
        _, grads = index_loss_and_gradients(texts, tables, weights)
        rate = lr * (1 - step / steps)
        tables, state = adam_step(tables, grads, state, lr=rate)
    return tables


# The parts ------------------------------------------------------------------


def _per_run(table, ndim, batch):
    """A run's table or number, shaped to broadcast over the run's texts."""
    runs = table.shape[: table.ndim - ndim]
    between = (1,) * (batch.keys.ndim - 1 - len(runs))
    return table.reshape((*runs, *between, *table.shape[len(runs) :]))


def _scattered(grad, index, shape):
    """Gradients of rows, added up at the rows' indices in the table."""
    *runs, n, d = shape
    flat = index.reshape(*runs, -1)
    hot = (flat[..., None, :] == np.arange(n)[:, None]).astype(grad.dtype)
    return hot @ grad.reshape(*runs, -1, d)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _index_inputs(batch, tables):
    """An indexer's queries (..., H, M, d) and its keys (..., N, d)."""
    K = lookup(tables["keys"], batch.keys)
    Q = lookup(tables["queries"], batch.asked)
    Q = Q.reshape(*batch.asked.shape, -1, K.shape[-1])
    return np.moveaxis(Q, -2, -3), K


def _inputs(batch, params, kind):
    """Queries, keys and values of a text, and the rates of a state."""
    x = {
        "Q": lookup(params["queries"], batch.asked),
        "K": lookup(params["keys"], batch.keys),
        "V": lookup(params["values"], batch.values),
    }
    if kind != "softmax":
        for name in "QK":
            x["long " + name] = np.linalg.norm(x[name], axis=-1, keepdims=True)
            x[name] = x[name] / x["long " + name]
    gates = {
        "beta": ("beta", _sigmoid),
        "decay": ("log_decay", lambda g: -np.logaddexp(0, g)),
    }
    for name in gates.keys() & params.keys():
        argument, gate = gates[name]
        own = gate(_per_run(params[name], 0, batch)[..., None])
        x[argument] = np.broadcast_to(own, batch.keys.shape)
    return x


FORWARD = {
    "linear": linear_attention,
    "delta": delta_rule,
    "gated": gated_delta_rule,
}
BACKWARD = {
    "linear": linear_attention_vjp,
    "delta": delta_rule_vjp,
    "gated": gated_delta_rule_vjp,
}


def _given(x):
    """The arguments for the function of a state, whose output is not used."""
    gates = {name: x[name] for name in ("beta", "log_decay") if name in x}
    return {"Q": x["K"], "K": x["K"], "V": x["V"], **gates}


def _chosen(x, kind, choose):
    """The mask of the pairs that softmax attention reads."""
    if choose is None:
        return None
    if kind != "softmax":
        raise ValueError(f"choose needs kind 'softmax'; got {kind!r}")
    return choose(attention_scores(x["Q"], x["K"]))


def _read(x, kind, chosen):
    """The row that each key of a text reads, after all pairs."""
    if kind == "softmax":
        return attention(x["Q"], x["K"], x["V"], mask=chosen).output
    _, S = FORWARD[kind](**_given(x), chunk=x["K"].shape[-2])
    return x["Q"] @ S


def _read_vjp(dread, x, kind, chosen):
    """The gradients of the results of `_inputs`."""
    if kind == "softmax":
        weights = attention(x["Q"], x["K"], x["V"], mask=chosen).weights
        grads = attention_vjp(dread, x["Q"], x["K"], x["V"], weights)
        return {"Q": grads.Q, "K": grads.K, "V": grads.V}
    _, S = FORWARD[kind](**_given(x), chunk=x["K"].shape[-2])
    grads = BACKWARD[kind](
        np.zeros_like(x["V"]),
        **_given(x),
        grad_state=x["Q"].swapaxes(-1, -2) @ dread,
    )
    found = grads._asdict() | {"Q": dread @ S.swapaxes(-1, -2)}
    for name in "QK":  # through the normalisation
        g, unit = found[name], x[name]
        along = (g * unit).sum(-1, keepdims=True)
        found[name] = (g - along * unit) / x["long " + name]
    return found
