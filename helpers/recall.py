"""Recall of pairs: a memory that is trained to give the value of a key.

A text shows pairs of a key and a value, and then asks for its keys. Four
memories of equal size are compared: softmax attention, linear attention, the
delta rule and the gated delta rule. Softmax attention may read a part of the
pairs, and an indexer learns to foresee which.
"""

from typing import NamedTuple

import numpy as np

from ._checks import flag, generator, one_of, size
from .attention import attention, attention_scores
from .gradients import attention_vjp
from .layers import cross_entropy, cross_entropy_vjp
from .linear import (
    delta_rule,
    delta_rule_vjp,
    gated_delta_rule,
    gated_delta_rule_vjp,
    linear_attention,
    linear_attention_vjp,
)
from .model.adam import adam_init, adam_step
from .softmax import logsumexp
from .sparse import index_scores

KINDS = ("softmax", "linear", "delta", "gated")


class Pairs(NamedTuple):
    """Texts of pairs, and what each asks for after all of them."""

    keys: np.ndarray  #: (..., N) integers
    values: np.ndarray  #: (..., N) integers
    asked: np.ndarray  #: (..., M) integers, the keys that are asked for
    targets: np.ndarray  #: (..., M) integers, the last value of each


def pairs_batch(rng, shape, n_pairs, *, again=False, n_keys=32, n_values=16):
    """Texts of pairs, each key with a value of its own.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    shape : tuple of int
        How many texts, as leading axes.
    n_pairs : int
        Pairs in a text.
    again : bool, default False
        Whether the second half of the text has the keys of the first half in
        a new order, with new values.
    n_keys : int, default 32
        How many keys there are.
    n_values : int, default 16
        How many values there are.

    Returns
    -------
    Pairs
        Values are drawn independently. Each key is asked for once, in the
        order in which the text had it last.

    Raises
    ------
    TypeError
        If a size is not an integer, `again` not a bool, or `rng` no
        Generator.
    ValueError
        If a size is below one, there are more keys than `n_keys`, or an odd
        number of pairs with `again`.

    Examples
    --------
    >>> batch = pairs_batch(np.random.default_rng(0), (2,), 6, again=True)
    >>> batch.keys.shape, batch.asked.shape
    ((2, 6), (2, 3))
    """
    generator(rng)
    n_pairs = size(n_pairs, "n_pairs", least=1)
    n_keys = size(n_keys, "n_keys", least=1)
    n_values = size(n_values, "n_values", least=1)
    if flag(again, "again") and n_pairs % 2:
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
    """The tables of a memory before training.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    kind : {"softmax", "linear", "delta", "gated"}
        Which memory.
    runs : tuple of int
        Leading axes: memories that are trained side by side.
    n_keys : int, default 32
        How many keys there are.
    n_values : int, default 16
        How many values there are.
    d : int, default 16
        Width of queries, keys and values.

    Returns
    -------
    dict of str to array
        ``queries`` and ``keys`` (n_keys, d), ``values`` (n_values, d) and
        ``answers`` (d, n_values), standard normal; with the delta rule
        ``beta`` (), of which the sigmoid is taken, at 2; with a gate
        ``decay`` (), of which the softplus is subtracted, at -5.

    Raises
    ------
    TypeError
        If `rng` is no Generator, or a size not an integer.
    ValueError
        If `kind` is none of the four, or a size below one.

    Examples
    --------
    >>> params = init_memory(np.random.default_rng(0), "gated")
    >>> {name: x.shape for name, x in params.items() if x.ndim < 2}
    {'beta': (), 'decay': ()}
    """
    generator(rng)
    one_of(kind, "kind", KINDS)
    n_keys, n_values, d = (
        size(n, name, least=1)
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
    """What a memory answers for each key of a text, after all pairs.

    Parameters
    ----------
    batch : Pairs
        The texts; runs are their first axes, as in `params`.
    params : dict of str to array
        From `init_memory`.
    kind : {"softmax", "linear", "delta", "gated"}
        Which memory.
    choose : callable, optional
        With "softmax": takes the scores (..., M, N) and returns the mask of
        the pairs that are read, such as `helpers.sparse.chosen_mask` does.
        All are read without it.

    Returns
    -------
    (..., M, n_values) array
        One row for each key that is asked for.

    Raises
    ------
    ValueError
        If `kind` is none of the four, or has no scores to `choose` by.

    Notes
    -----
    Queries and keys of a state are divided by their length, and its scale is
    1; those of the softmax keep theirs, and its scale is 1/sqrt(d). No memory
    has positions, and a key is asked for when all pairs were read.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batch, params = pairs_batch(rng, (2,), 3), init_memory(rng, "delta")
    >>> recall_logits(batch, params, "delta").shape
    (2, 3, 16)
    """
    one_of(kind, "kind", KINDS)
    x = _inputs(batch, params, kind)
    read = _read(x, kind, _chosen(x, kind, choose))
    return read @ _over(params["answers"], 2, batch)


def recall_loss_and_gradients(batch, params, kind, *, choose=None):
    """The loss of a memory on a batch, and its gradients.

    Parameters
    ----------
    batch, params, kind, choose
        As in `recall_logits`. No gradient flows through the choice.

    Returns
    -------
    loss : float
        Mean cross-entropy of the answers, in nats, summed over the runs.
    gradients : dict of str to array
        For each parameter.

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
    one_of(kind, "kind", KINDS)
    x = _inputs(batch, params, kind)
    chosen = _chosen(x, kind, choose)
    read = _read(x, kind, chosen)  # (..., M, d)
    answers = _over(params["answers"], 2, batch)
    logits, runs = read @ answers, params["answers"].shape[:-2]
    n_runs = int(np.prod(runs, dtype=int))
    # The mean is over all runs; each trains as if it were alone.
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
    """Train a memory on texts of so many pairs.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where parameters and texts come from.
    kind : {"softmax", "linear", "delta", "gated"}
        Which memory.
    n_pairs : int
        Pairs in a text.
    steps : int
        Steps of Adam. Over them the learning rate falls to 0 evenly.
    again : bool, default False
        As in `pairs_batch`.
    choose : callable, optional
        As in `recall_logits`.
    runs : tuple of int
        Leading axes: memories that are trained side by side, each on texts
        of its own.
    batch : int, default 32
        Texts in a step.
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
    for step in range(size(steps, "steps", least=1)):
        shape = (*runs, size(batch, "batch"))
        texts = pairs_batch(rng, shape, n_pairs, again=again)
        _, grads = recall_loss_and_gradients(
            texts, params, kind, choose=choose
        )
        rate = lr * (1 - step / steps)
        params, state = adam_step(params, grads, state, lr=rate)
    return params


def recalled(batch, params, kind, *, choose=None):
    """Which answers of a memory are right.

    Parameters
    ----------
    batch, params, kind, choose
        As in `recall_logits`.

    Returns
    -------
    (..., M) boolean array
        Whether the largest logit of a key that is asked for is its target's.

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
    """Score each pair of a text for each key that is asked for.

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
    """How far an indexer is from the weights that it should foresee.

    Parameters
    ----------
    batch, tables
        As in `indexed`.
    weights : (..., M, N) array
        Those of attention over all pairs.

    Returns
    -------
    loss : float
        Mean divergence (Kullback-Leibler) of the softmax of the index scores
        from `weights`, in nats, summed over the runs.
    gradients : dict of str to array
        For each table.

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
    # A weight of 0 adds nothing, whatever its logarithm.
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
    """Train an indexer for a memory that stays as it is.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where tables and texts come from.
    params : dict of str to array
        A memory of kind "softmax", with its runs as leading axes.
    n_pairs : int
        Pairs in a text.
    steps : int
        Steps of Adam. Over them the learning rate falls to 0 evenly.
    n_heads, d : int
        Heads of the indexer, and the width of its queries and keys.
    batch : int, default 32
        Texts in a step.
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
    widths = {"queries": size(n_heads, "n_heads", least=1) * d, "keys": d}
    tables = {
        n: rng.normal(size=(*runs, n_keys, w)) for n, w in widths.items()
    }
    state = adam_init(tables)
    for step in range(size(steps, "steps", least=1)):
        texts = pairs_batch(rng, (*runs, batch), n_pairs, n_keys=n_keys)
        x = _inputs(texts, params, "softmax")
        weights = attention(x["Q"], x["K"], x["V"]).weights
        _, grads = index_loss_and_gradients(texts, tables, weights)
        rate = lr * (1 - step / steps)
        tables, state = adam_step(tables, grads, state, lr=rate)
    return tables


# The parts ------------------------------------------------------------------


def _over(table, ndim, batch):
    """A run's table or number, so that it broadcasts over the run's texts."""
    runs = table.shape[: table.ndim - ndim]
    between = (1,) * (batch.keys.ndim - 1 - len(runs))
    return table.reshape((*runs, *between, *table.shape[len(runs) :]))


def _rows(table, index):
    """A row of each run's table for each of the run's indices."""
    runs = table.shape[:-2]
    flat = index.reshape(*runs, -1, 1)
    rows = np.take_along_axis(table, flat, axis=-2)
    return rows.reshape(*index.shape, table.shape[-1])


def _scattered(grad, index, shape):
    """Gradients of rows, added up where the table has them."""
    *runs, n, d = shape
    flat = index.reshape(*runs, -1)
    hot = (flat[..., None, :] == np.arange(n)[:, None]).astype(grad.dtype)
    return hot @ grad.reshape(*runs, -1, d)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _index_inputs(batch, tables):
    """An indexer's queries (..., H, M, d) and its keys (..., N, d)."""
    K = _rows(tables["keys"], batch.keys)
    Q = _rows(tables["queries"], batch.asked)
    Q = Q.reshape(*batch.asked.shape, -1, K.shape[-1])
    return np.moveaxis(Q, -2, -3), K


def _inputs(batch, params, kind):
    """Queries, keys and values of a text, and its writing and decay."""
    x = {
        "Q": _rows(params["queries"], batch.asked),
        "K": _rows(params["keys"], batch.keys),
        "V": _rows(params["values"], batch.values),
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
        own = gate(_over(params[name], 0, batch)[..., None])
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
    """What the function of a state takes; what it outputs is not used."""
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
    """What each key of a text reads, after all pairs."""
    if kind == "softmax":
        return attention(x["Q"], x["K"], x["V"], mask=chosen).output
    _, S = FORWARD[kind](**_given(x), chunk=x["K"].shape[-2])
    return x["Q"] @ S


def _read_vjp(dread, x, kind, chosen):
    """The gradients of what `_inputs` gave."""
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
    for name in "QK":  # through the division by the length
        g, unit = found[name], x[name]
        along = (g * unit).sum(-1, keepdims=True)
        found[name] = (g - along * unit) / x["long " + name]
    return found
