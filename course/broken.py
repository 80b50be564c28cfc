"""Twelve small bugs for readers to find, each in its own copy of the helpers.

Reading on reveals the answers: each bug of `BUGS` names the line that it
changes and its replacement. A patient is a copy of the package's modules in
which one line is changed; the package itself is not changed.
"""

import math
import sys
from importlib.resources import files
from types import ModuleType
from typing import NamedTuple

import numpy as np

from helpers import training

from . import evidence

# In an order in which each module's imports come before it.
MODULES = (
    "_checks", "_blas", "_core", "_shapes", "softmax", "attention", "masks",
    "cache", "layers", "heads", "positions", "tiled", "gradients", "latent",
    "linear", "model.configuration", "model.parts", "model.mixers",
    "model.forward", "model.backward", "model.adam", "model.sampling",
    "transformer",
)  # fmt: skip
# The private modules that a module uses: their lines count as its own.
PARTS = {"transformer": ["model.forward", "model.mixers"]}


class Bug(NamedTuple):
    """A line of a helper, and its replacement."""

    module: str  #: the module's name
    right: str  #: text that occurs there once
    wrong: str  #: its replacement


_WEIGHTS = "weights = softmax(scores, where=mask)  # (..., T, S)"
# The first twelve are the patients' bugs, in their order. The others are
# rivals, which a reader may suspect.
BUGS = {
    "repeat": Bug(
        "heads",
        'np.repeat(X, as_size(n_rep, "n_rep", least=1), axis=-3)',
        'np.concatenate([X] * as_size(n_rep, "n_rep", least=1), axis=-3)',
    ),
    "later": Bug(
        "masks",
        "return key_distances(T, S) >= 0",
        "return key_distances(T, S) >= -1",
    ),
    "term": Bug(
        "gradients",
        "scores = weights * (grad - total(grad * weights, axis))",
        "scores = weights * grad",
    ),
    "root": Bug(
        "_checks",
        "return 1 / math.sqrt(d_k) if scale is None",
        "return 1 / d_k if scale is None",
    ),
    "top": Bug(
        "softmax",
        "return np.exp(x - top), top",
        "return np.exp(x), top",
    ),
    "after": Bug(
        "attention",
        _WEIGHTS,
        "weights = softmax(scores) * (True if mask is None else mask)",
    ),
    "start": Bug(
        "transformer",
        "start = 0 if cache is None else len(cache[0])",
        "start = 0 if cache is None else max(len(cache[0]) - 1, 0)",
    ),
    "cut": Bug(
        "heads",
        "return cut.swapaxes(-3, -2)",
        "return X.reshape(*lead, n_heads, T, width // n_heads)",
    ),
    "mix": Bug("tiled", "    mix *= shrink\n", "    mix *= 1\n"),
    "zero": Bug(
        "attention",
        _WEIGHTS,
        "weights = softmax(scores * (True if mask is None else mask))",
    ),
    "pairs": Bug("positions", "if interleaved:", "if not interleaved:"),
    "axis": Bug(
        "attention",
        _WEIGHTS,
        "weights = softmax(scores, axis=-2, where=mask)",
    ),
    # Rivals.
    "bare": Bug(
        "_checks",
        "return 1 / math.sqrt(d_k) if scale is None",
        "return 1.0 if scale is None",
    ),
    "self": Bug(
        "masks",
        "return key_distances(T, S) >= 0",
        "return key_distances(T, S) > 0",
    ),
    "sum": Bug("tiled", "    norm *= shrink\n", "    norm *= 1\n"),
    "ahead": Bug(
        "transformer",
        "start = 0 if cache is None else len(cache[0])",
        "start = 0 if cache is None else len(cache[0]) + 1",
    ),
    "factor": Bug(
        "gradients",
        "scores = weights * (grad - total(grad * weights, axis))",
        "scores = grad - total(grad * weights, axis)",
    ),
    "join": Bug(
        "heads",
        "return X.swapaxes(-3, -2).reshape(*lead, T, H * d)",
        "return X.reshape(*lead, T, H * d)",
    ),
    "turn": Bug(
        "positions",
        "rotated[..., first] = a * cos - b * sin",
        "rotated[..., first] = a * cos + b * sin",
    ),
}
COUNT = 12


def bug_of(number):
    """The name of a patient's bug.

    Parameters
    ----------
    number : int
        From 1 to 12.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there is no such patient.

    Examples
    --------
    >>> bug_of(13)
    Traceback (most recent call last):
    ValueError: patients are numbered from 1 to 12; got 13
    """
    if number not in range(1, COUNT + 1):
        raise ValueError(
            f"patients are numbered from 1 to {COUNT}; got {number!r}"
        )
    return list(BUGS)[number - 1]


def planted(*bugs):
    """Make a copy of the helpers with some bugs in it.

    Parameters
    ----------
    *bugs : Bug
        Without bugs, the copy is healthy.

    Returns
    -------
    module
        A package, whose attribute `attention` is the module of that name.

    Raises
    ------
    ValueError
        If the text of a bug does not occur exactly once in its module.

    Examples
    --------
    >>> planted().softmax.softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    >>> sick = planted(Bug("softmax", "x - top", "x + top"))
    >>> sick.softmax.softmax([0.0, 3.0]).round(2).tolist()
    [0.05, 0.95]
    """
    texts = _patched(bugs)
    name = "helpers_in_bed"
    made = [name, f"{name}.model"]
    try:
        package = sys.modules[name] = ModuleType(name)
        package.model = sys.modules[made[1]] = ModuleType(made[1])
        package.__path__ = package.model.__path__ = []
        for module in MODULES:
            made.append(f"{name}.{module}")
            part = sys.modules[made[-1]] = ModuleType(made[-1])
            part.__package__, _, last = made[-1].rpartition(".")
            exec(
                compile(texts[module], f"<{module} in bed>", "exec"),
                vars(part),
            )
            setattr(sys.modules[part.__package__], last, part)
    finally:  # hide the copies, whose imports are done
        for entry in made:
            del sys.modules[entry]
    return package


def _patched(bugs):
    """The text of each module, with the bugs inserted."""
    folder = files("helpers")
    texts = {
        module: (folder / f"{module.replace('.', '/')}.py").read_text("utf-8")
        for module in MODULES
    }
    for bug in bugs:
        if bug.module not in MODULES:
            raise ValueError(f"module must be one of {', '.join(MODULES)}")
        places = [bug.module, *PARTS.get(bug.module, ())]
        times = [texts[place].count(bug.right) for place in places]
        if sum(times) != 1:
            raise ValueError(
                f"{bug.right!r} must occur in {bug.module} once; it occurs "
                f"{sum(times)} times"
            )
        place = places[times.index(1)]
        texts[place] = texts[place].replace(bug.right, bug.wrong)
    return texts


def patient(number):
    """Make a copy of the helpers with the bug of this number in it.

    Parameters
    ----------
    number : int
        From 1 to 12.

    Returns
    -------
    module
        As `planted`.

    Raises
    ------
    ValueError
        If there is no such patient.

    Examples
    --------
    >>> sick = patient(5)
    >>> sick.softmax.softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    return planted(BUGS[bug_of(number)])


# The measurements. Each takes a copy of the helpers and returns a number. ----


def _inputs(T=6, d=8, seed=0):
    return np.random.default_rng(seed).normal(size=(3, T, d))


def _rows(h):
    """Sum of the weights of a causal row that is furthest from one"""
    Q, K, V = _inputs()
    sums = h.attention.attention(Q, K, V, mask=h.masks.causal_mask(6))
    sums = sums.weights.sum(-1)
    return sums[np.argmax(abs(sums - 1))]


def _first(h):
    """Weight of the first token on itself, under the causal mask"""
    Q, K, V = _inputs()
    mask = h.masks.causal_mask(6)
    return h.attention.attention(Q, K, V, mask=mask).weights[0, 0]


def _told(h):
    """Earlier outputs that change with the last token, of 5"""
    Q, K, V = _inputs()
    mask = h.masks.causal_mask(6)
    before = h.attention.attention(Q, K, V, mask=mask).output
    other = [np.vstack([X[:-1], 3 * X[-1:]]) for X in (Q, K, V)]
    after = h.attention.attention(*other, mask=mask).output
    return int((abs(after - before).max(-1)[:-1] > 1e-9).sum())


def _alone(h):
    """Change of a query's output when it is asked alone"""
    Q, K, V = _inputs()
    together = h.attention.attention(Q, K, V).output[2]
    return abs(h.attention.attention(Q[2:3], K, V).output[0] - together).max()


def _entropy(h):
    """Mean entropy of the weights, 64 keys of width 64, in nats"""
    Q, K, V = _inputs(64, 64)
    weights = h.attention.attention(Q, K, V).weights
    logs = np.log(np.where(weights > 0, weights, 1))
    return -(weights * logs).sum(-1).mean()


def _large(h):
    """Weights of the scores 999 and 1000 that are numbers, of 2"""
    return int(np.isfinite(h.softmax.softmax([999.0, 1000.0])).sum())


def _heads(h, n_kv_heads, X):
    rng = np.random.default_rng(7)
    weights = h.heads.init_projections(rng, 8, 4, n_kv_heads)
    return h.heads.multi_head_attention(X, weights).output, weights


def _shuffled(h):
    """Four heads, no mask: change of the outputs when rows change places"""
    X, order = _inputs()[0], [3, 1, 5, 0, 2, 4]
    return abs(_heads(h, 4, X[order])[0] - _heads(h, 4, X)[0][order]).max()


def _groups(h):
    """Two key heads for four: difference to their columns written twice"""
    X = _inputs()[0]
    shared, w = _heads(h, 2, X)
    columns = [0, 1, 0, 1, 2, 3, 2, 3]  # two of a head, for two heads each
    whole = w._replace(
        W_K=w.W_K[:, columns], W_V=w.W_V[:, columns], n_kv_heads=4
    )
    return abs(h.heads.multi_head_attention(X, whole).output - shared).max()


def _moved(h):
    """Rotary: change of the scores when all positions move by 5"""
    Q, K, _ = _inputs()
    turn, at = h.positions.rotary_embedding, np.arange(6)
    here = turn(Q, at) @ turn(K, at).T
    return abs(turn(Q, at + 5) @ turn(K, at + 5).T - here).max()


def _tiles(h):
    """Tiles of two keys: largest difference to attention in one piece"""
    Q, K, V = 2 * _inputs()
    whole = h.attention.attention(Q, K, V).output
    return abs(h.tiled.tiled_attention(Q, K, V, block_k=2) - whole).max()


def _slopes(h):
    """Gradient of the scores: largest difference to a measured one"""
    scores, grad = np.array([0.5, -1.0, 2.0]), np.array([1.0, 3.0, -2.0])
    step, softmax = 1e-6 * np.eye(3), h.softmax.softmax
    measured = (softmax(scores + step) - softmax(scores - step)) @ grad / 2e-6
    found = h.gradients.softmax_vjp(grad, softmax(scores))
    return abs(found - measured).max()


def _model(h):
    """The stored induction model, in the classes of a copy."""
    fields = vars(training.INDUCTION)
    config = h.transformer.TransformerConfig(**fields)
    return evidence.trained_induction(), config


def _loss(h):
    """Loss of the trained induction model, in nats"""
    params, config = _model(h)
    tokens, targets, where = training.induction_batch(
        np.random.default_rng(1), (8,)
    )
    logits = h.transformer.transformer(tokens, params, config)
    return float(h.layers.cross_entropy(logits, targets, where=where))


def _decoded(h):
    """The same model with a cache: largest difference of a logit"""
    params, config = _model(h)
    tokens = training.induction_batch(np.random.default_rng(2), ()).tokens
    whole = h.transformer.transformer(tokens, params, config)
    cache = h.transformer.new_cache(config)
    parts = [tokens[:24], *tokens[24:, None]]
    parts = [
        h.transformer.transformer(part, params, config, cache=cache)
        for part in parts
    ]
    return abs(np.concatenate(parts) - whole).max()


PROBES = {
    "row sum": _rows,
    "first token": _first,
    "told the future": _told,
    "asked alone": _alone,
    "entropy": _entropy,
    "large scores": _large,
    "shuffled": _shuffled,
    "shared keys": _groups,
    "moved": _moved,
    "tiles": _tiles,
    "gradient": _slopes,
    "loss": _loss,
    "with a cache": _decoded,
}


def examine(helpers):
    """Measure a copy of the helpers.

    Parameters
    ----------
    helpers : module
        From `patient` or `planted`.

    Returns
    -------
    dict of str to float
        One number for each of `PROBES`. NaN if a number could not be computed.

    Examples
    --------
    >>> found = examine(planted())
    >>> found["row sum"], found["large scores"], round(found["entropy"], 2)
    (1.0, 2.0, 3.68)
    """
    found = {}
    with np.errstate(all="ignore"):
        for name, probe in PROBES.items():
            try:
                found[name] = round(float(probe(helpers)), 4)
            except (TypeError, ValueError):
                found[name] = math.nan
    return found


def symptoms(found, healthy):
    """Return the numbers in which two examinations differ.

    Parameters
    ----------
    found, healthy : dict of str to float
        From `examine`.

    Returns
    -------
    dict of str to float
        The numbers in `found` that differ by more than 0.002, in the order of
        `PROBES`.

    Examples
    --------
    >>> symptoms({"a": 1.0, "b": math.nan}, {"a": 1.001, "b": 1.0})
    {'b': nan}
    """
    return {
        name: value
        for name, value in found.items()
        if not abs(value - healthy[name]) <= 0.002
    }
