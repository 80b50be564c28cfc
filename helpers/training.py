"""Training a transformer: batches, steps, scores of heads."""

from typing import NamedTuple

import numpy as np

from ._checks import as_finite_floats, as_size, as_sizes, check_generator
from .transformer import (
    TransformerConfig,
    adam_init,
    adam_step,
    loss_and_gradients,
)


class Batch(NamedTuple):
    """The inputs of a training step."""

    tokens: np.ndarray  #: (..., T) integers
    targets: np.ndarray  #: (..., T) integers, the tokens that come next
    where: np.ndarray  #: (..., T) boolean, which positions count


INDUCTION = TransformerConfig(
    vocab=12,
    max_len=32,
    d_model=32,
    n_layers=2,
    n_heads=2,
    norm_kind="rms",
    positions="rotary",
    bias=False,
    tied=False,
)


def induction_batch(rng, shape, *, T=32, vocab=12, shortest=6):
    """Draw sequences that repeat a row of different tokens.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    shape : tuple of int
        The number of sequences, as leading axes.
    T : int, default 32
        The number of tokens of each that the model reads.
    vocab : int, default 12
        The size of the vocabulary, and the length of the longest row.
    shortest : int, default 6
        The length of the shortest row.

    Returns
    -------
    Batch
        A position counts if its target follows from the earlier tokens, which
        is from the second occurrence of a token onward.

    Raises
    ------
    TypeError
        If a size is not an integer, `shape` is not a tuple, or `rng` is not
        a Generator.
    ValueError
        If a size is below one, or `shortest` above `vocab`.

    Notes
    -----
    The length of the row is drawn uniformly from `shortest` to `vocab`, and
    the row from all arrangements of that length. So the distance to the last
    occurrence differs from sequence to sequence, and only the tokens reveal
    it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batch = induction_batch(rng, (), T=7, vocab=3, shortest=3)
    >>> batch.tokens.tolist(), batch.where.astype(int).tolist()
    ([2, 0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1, 1])
    """
    check_generator(rng)
    shape = as_sizes(shape, "shape")
    T, vocab = as_size(T, "T", least=1), as_size(vocab, "vocab", least=1)
    shortest = as_size(shortest, "shortest", least=1)
    if shortest > vocab:
        raise ValueError(
            f"shortest must not exceed vocab; got {shortest} and {vocab}"
        )
    period = rng.integers(shortest, vocab + 1, shape)[..., None]
    rows = np.broadcast_to(np.arange(vocab), (*shape, vocab))
    at = np.arange(T + 1)
    tokens = np.take_along_axis(rng.permuted(rows, axis=-1), at % period, -1)
    return Batch(tokens[..., :-1], tokens[..., 1:], at[:-1] >= period)


def recall_batch(rng, shape, *, T=32, row=6, vocab=12):
    """Draw sequences with one row of tokens at the start and at the end.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    shape : tuple of int
        The number of sequences, as leading axes.
    T : int, default 32
        The number of tokens of each that the model reads.
    row : int, default 6
        The number of tokens in the row.
    vocab : int, default 12
        The size of the vocabulary.

    Returns
    -------
    Batch
        The last ``row - 1`` positions count: the right key of each is
        ``T - row`` positions back, and no other key follows its token.

    Raises
    ------
    TypeError
        If a size is not an integer, `shape` is not a tuple, or `rng` is not
        a Generator.
    ValueError
        If `row` is below two, two rows do not fit into `T`, or `vocab` is
        not above `row`.

    Notes
    -----
    Between the two, a row of the other tokens is repeated. So the distance
    grows with `T`, but the number of different tokens does not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> batch = recall_batch(rng, (), T=9, row=2, vocab=5)
    >>> batch.tokens.tolist(), batch.targets[-1].item()
    ([2, 4, 3, 0, 1, 3, 0, 1, 2], 4)
    """
    check_generator(rng)
    shape = as_sizes(shape, "shape")
    row = as_size(row, "row", least=2)
    T, vocab = (
        as_size(T, "T", least=2 * row),
        as_size(vocab, "vocab", least=row + 1),
    )
    symbols = np.broadcast_to(np.arange(vocab), (*shape, vocab))
    symbols = rng.permuted(symbols, axis=-1)
    between = row + np.arange(T + 1 - 2 * row) % (vocab - row)
    at = np.concatenate([np.arange(row), between, np.arange(row)])
    tokens = symbols[..., at]
    where = np.arange(T) > T - row
    return Batch(
        tokens[..., :-1],
        tokens[..., 1:],
        np.broadcast_to(where, (*shape, T)),
    )


COPYING = TransformerConfig(
    vocab=11,
    max_len=32,
    d_model=32,
    n_layers=1,
    n_heads=1,
    norm_kind="rms",
    positions="rotary",
    bias=False,
    tied=False,
)
# The distribution of the token after a plain token, whose entropy sets the
# least loss.
CHOICES = (1 / 8, 1 / 8, 3 / 8, 3 / 8)


def copying_batch(rng, shape, *, T=32):
    """Draw texts in which a head is needed only sometimes.

    Token 0 starts each text, 1 and 2 are *triggers*, and 3 to 10 are plain. A
    trigger is followed by a copy of the token before it. A plain token is
    followed by each trigger with probability 1/8, and by the plain tokens one
    and three further on, cyclically, with probability 3/8 each.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    shape : tuple of int
        The number of texts, as leading axes.
    T : int, default 32
        The number of tokens of each that the model reads.

    Returns
    -------
    Batch
        All positions count except the first, after which any token may come.

    Raises
    ------
    TypeError
        If a size is not an integer, `shape` is not a tuple, or `rng` is not
        a Generator.
    ValueError
        If `T` is below two, or another size below zero.

    Notes
    -----
    After Guo et al. 2024, section 2. The token after a plain token does not
    depend on earlier tokens, so attention cannot help there.

    Examples
    --------
    >>> batch = copying_batch(np.random.default_rng(0), (), T=10)
    >>> batch.tokens.tolist()
    [0, 9, 10, 1, 10, 5, 8, 9, 4, 5]
    """
    check_generator(rng)
    shape, T = as_sizes(shape, "shape"), as_size(T, "T", least=2)
    texts = np.zeros((*shape, T + 1), int)
    texts[..., 1] = rng.integers(3, 11, shape)
    for t in range(2, T + 1):
        before, last = texts[..., t - 2], texts[..., t - 1]
        kind = rng.choice(4, size=shape, p=CHOICES)
        on = 3 + (last - 3 + np.where(kind == 2, 1, 3)) % 8
        drawn = np.where(kind < 2, kind + 1, on)
        texts[..., t] = np.where(last < 3, before, drawn)
    where = np.broadcast_to(np.arange(T) > 0, (*shape, T))
    return Batch(texts[..., :-1], texts[..., 1:], where)


def least_copying_loss(batch):
    """Return the expected loss of the best predictor of such texts.

    Parameters
    ----------
    batch : Batch
        From `copying_batch`.

    Returns
    -------
    float
        In nats: the entropy of `CHOICES` after a plain token that counts, and
        0 after a trigger.

    Examples
    --------
    >>> batch = copying_batch(np.random.default_rng(0), (), T=10)
    >>> round(least_copying_loss(batch) / (8 / 9), 3)  # 8 of 9 are plain
    1.255
    """
    entropy = -float(np.dot(CHOICES, np.log(CHOICES)))
    return entropy * float((batch.tokens[batch.where] > 2).mean())


def train(params, config, batches, *, lr=0.01):
    """Take a step of Adam for each batch.

    Parameters
    ----------
    params : dict of str to array
        The parameters to start from.
    config : TransformerConfig
        The model.
    batches : iterable of Batch
        One for each step.
    lr : float, default 0.01
        The learning rate: `lr` of `adam_step`.

    Yields
    ------
    loss : float or array
        The loss on the batch, before the step.
    params : dict of str to array
        The parameters after it.

    Raises
    ------
    TypeError, ValueError
        As `loss_and_gradients` and `adam_step`.

    Examples
    --------
    >>> from helpers.transformer import init_transformer
    >>> rng = np.random.default_rng(0)
    >>> batches = (induction_batch(rng, (4,)) for _ in range(2))
    >>> params = init_transformer(rng, INDUCTION)
    >>> [round(loss, 1) for loss, params in train(params, INDUCTION, batches)]
    [2.5, 2.5]
    """
    state = adam_init(params)
    for tokens, targets, where in batches:
        loss, gradients = loss_and_gradients(
            tokens, targets, params, config, where=where
        )
        params, state = adam_step(params, gradients, state, lr=lr)
        yield loss, params


def accuracy(logits, batch):
    """Return the share of counted positions whose largest logit is right.

    Parameters
    ----------
    logits : (..., T, vocab) array
        The logits of a model.
    batch : Batch
        The batch that it read.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If no position counts, a logit is not finite, or the targets do not
        fit the rows of logits.

    Examples
    --------
    >>> batch = Batch(np.array([0, 1]), np.array([1, 0]), np.ones(2, bool))
    >>> accuracy(np.array([[0.0, 1.0], [0.0, 1.0]]), batch)
    0.5
    """
    if not batch.where.any():
        raise ValueError("at least one position must count; got none")
    logits = as_finite_floats(logits, "logits", ndim=1, axes="(..., T, vocab)")
    rows, targets = logits.shape[:-1], np.shape(batch.targets)
    if rows[len(rows) - len(targets) :] != targets:
        raise ValueError(
            "targets must have one token for each row of logits; "
            f"got targets {targets} and logits {logits.shape}"
        )
    right = np.argmax(logits, axis=-1) == batch.targets
    return float(right[np.broadcast_to(batch.where, right.shape)].mean())


def _on_average(weights, keys, counted):
    """The mean weight on one key of each counted row, for each head."""
    on_key = np.take_along_axis(weights, keys[..., None, :, None], -1)[..., 0]
    counted = np.broadcast_to(counted[..., None, :], on_key.shape)
    if not counted.any():
        raise ValueError("at least one position must count; got none")
    axes = (*range(on_key.ndim - 2), -1)
    return on_key.mean(axes, where=counted)


def previous_token_score(weights):
    """Return the mean weight that a head gives to the previous token.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Attention weights.

    Returns
    -------
    (H,) array
        The mean weight on the key before the query, from row 1 upward.

    Raises
    ------
    ValueError
        If there is no second row, the weights are not square, or an entry is
        not finite.

    Examples
    --------
    >>> previous_token_score([[[1.0, 0.0], [0.75, 0.25]]]).tolist()
    [0.75]
    """
    weights = _square(weights)
    at = np.arange(weights.shape[-2])
    keys = np.broadcast_to(np.maximum(at - 1, 0), _rows(weights))
    return _on_average(weights, keys, np.broadcast_to(at > 0, keys.shape))


def first_token_score(weights):
    """Return the mean weight that a head gives to the first token.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Attention weights.

    Returns
    -------
    (H,) array
        The mean weight on the first key, from the second row onward, because
        the first row has no other key.

    Raises
    ------
    ValueError
        If there is no second row, the weights are not square, or an entry is
        not finite.

    Notes
    -----
    Xiao et al. 2024, section 3.1: models give the first tokens much weight,
    independently of their content.

    Examples
    --------
    >>> first_token_score([[[1.0, 0.0], [0.75, 0.25]]]).tolist()
    [0.75]
    """
    weights = _square(weights)
    counted = np.broadcast_to(np.arange(weights.shape[-2]) > 0, _rows(weights))
    return _on_average(weights, np.zeros(counted.shape, int), counted)


def _square(weights):
    """Refuse rows that do not belong to all tokens, as those of a cache."""
    weights = as_finite_floats(
        weights, "weights", ndim=3, axes="(..., H, T, T)"
    )
    if weights.shape[-2] != weights.shape[-1]:
        raise ValueError(
            f"weights must be (..., H, T, T), square; got {weights.shape}"
        )
    return weights


def _rows(weights):
    return (*weights.shape[:-3], weights.shape[-2])


def induction_score(weights, tokens):
    """Return a head's mean weight on the token that followed last time.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Attention weights.
    tokens : (..., T) integers
        The tokens that were read.

    Returns
    -------
    (H,) array
        The mean weight on the key after the last earlier occurrence of the
        query's token, over the queries with such an occurrence.

    Raises
    ------
    ValueError
        If no token occurred before, shapes do not fit, or an entry is not
        finite.

    Notes
    -----
    Olsson et al. 2022, abstract: such a head completes ``A B ... A`` with
    ``B``.

    Examples
    --------
    >>> weights = [[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.7, 0.1]]]
    >>> induction_score(weights, [4, 5, 4]).tolist()
    [0.7]
    """
    weights, tokens = _square(weights), np.asarray(tokens)
    if tokens.shape[-1:] != weights.shape[-1:]:
        raise ValueError(
            "tokens and weights must share T; "
            f"got tokens {tokens.shape} and weights {weights.shape}"
        )
    at = np.arange(tokens.shape[-1])
    same = (tokens[..., :, None] == tokens[..., None, :]) & (
        at[:, None] > at
    )  # (..., T, T)
    last = np.where(same, at, -1).max(-1)
    return _on_average(weights, last + 1, last >= 0)
