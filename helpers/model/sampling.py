"""From logits to the next token, and then to a text."""

from dataclasses import replace

import numpy as np

from .._checks import as_finite_floats, as_real, as_size, check_generator
from ..layers import token_ids
from ..softmax import softmax
from .configuration import expect_config, expect_params
from .forward import new_cache, next_logits


def next_token_probabilities(
    logits, *, temperature=1.0, top_k=None, top_p=None
):
    """Return the probabilities from which the next token is drawn.

    Parameters
    ----------
    logits : (..., vocab) array
        Scores of the next token.
    temperature : float, default 1.0
        The divisor of the logits. Towards 0 the largest logit takes all the
        probability; at 0 it does, and of equal logits the first.
    top_k : int, optional
        Keep the k largest logits; of equal logits, those of lower tokens.
    top_p : float, optional
        Keep the fewest tokens, from the most probable down, whose
        probabilities sum to `top_p` (if a sum equals it, rounding decides),
        but at least one. Applied after `top_k`.

    Returns
    -------
    (..., vocab) array
        Probabilities that sum to one, computed in float64 and rounded to the
        type of the logits.

    Raises
    ------
    TypeError
        If the logits are not numbers, or `top_k` is not an integer.
    ValueError
        If `temperature` is negative, `top_k` below one, `top_p` not above 0
        and at most 1, or a logit is not finite.

    Notes
    -----
    `top_p`: Holtzman et al. 2020, section 3.1.

    Examples
    --------
    >>> next_token_probabilities([2.0, 1.0, 0.0], top_k=1).tolist()
    [1.0, 0.0, 0.0]
    """
    logits = as_finite_floats(logits, "logits", ndim=1, axes="(..., vocab)")
    dtype, logits = logits.dtype, logits.astype(np.float64)
    vocab = as_size(logits.shape[-1], "the number of logits", least=1)
    top_k = as_size(vocab if top_k is None else top_k, "top_k", least=1)
    temperature = as_real(temperature, "temperature")
    if temperature < 0:
        raise ValueError(f"temperature must be at least 0; got {temperature}")
    if top_p is not None and not 0 < as_real(top_p, "top_p") <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")
    order = np.argsort(-logits, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1)  # 0 at the largest
    if temperature == 0:
        return (rank == 0).astype(dtype)
    # Subtract the largest logit, so that a small temperature overflows only to
    # -inf; with a large one, subtract halves, which do not overflow.
    half = 0.5 if temperature > 1 else 1.0
    with np.errstate(over="ignore"):
        scaled = half * logits - half * logits.max(-1, keepdims=True)
        scaled /= half * temperature
    keep = rank < top_k
    chances = softmax(scaled, where=keep)
    if top_p is None or top_p == 1:
        return chances.astype(dtype)
    falling = np.take_along_axis(chances, order, -1)
    before = np.cumsum(falling, -1) - falling  # of all more probable ones
    enough = np.take_along_axis(before, rank, -1) >= top_p
    return softmax(scaled, where=keep & ~enough).astype(dtype)


def generate(
    rng,
    tokens,
    params,
    config,
    n,
    *,
    temperature=1.0,
    top_k=None,
    top_p=None,
    stop=None,
):
    """Continue sequences token by token, with a cache.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers: one per sequence and token.
    tokens : (..., T) integers
        The sequences to continue, of at least one token.
    params : dict of str to array
        Parameters as from `init_transformer`.
    config : TransformerConfig
        The model.
    n : int
        The number of tokens to add, or with `stop` the largest number.
    temperature, top_k, top_p
        As `next_token_probabilities`.
    stop : int, optional
        The token with which a continuation ends. In a batch, a sequence that
        has ended is filled with this token until all have ended. Its draws
        continue, so it changes nothing in the other sequences.

    Returns
    -------
    (..., T + n) integers
        The tokens and their continuation; fewer if all sequences ended.

    Raises
    ------
    TypeError, ValueError
        As `transformer` and `next_token_probabilities`; and ValueError if
        there is no token to start from, ``T + n`` is above `max_len`, or
        `stop` is outside the vocabulary.

    Examples
    --------
    >>> from helpers.transformer import TransformerConfig, init_transformer
    >>> config = TransformerConfig()
    >>> rng = np.random.default_rng(0)
    >>> params = init_transformer(rng, config)
    >>> generate(rng, [3, 1], params, config, 2, temperature=0).shape
    (4,)
    """
    check_generator(rng)
    expect_config(config)
    expect_params(params, config)
    tokens = token_ids(tokens, config.vocab).astype(np.int64)
    n = as_size(n, "n")
    if stop is not None:
        stop = int(token_ids(as_size(stop, "stop"), config.vocab, "stop"))
    if tokens.ndim == 0 or tokens.shape[-1] == 0:
        raise ValueError(
            f"tokens must hold at least one token; got {tokens.shape}"
        )
    if tokens.shape[-1] + n > config.max_len:
        raise ValueError(
            f"at most max_len = {config.max_len} tokens fit; "
            f"got tokens {tokens.shape} and n {n}"
        )
    # Only as large as this text needs, in the type of the parameters.
    short = replace(config, max_len=tokens.shape[-1] + n)
    dtype = params["embedding"].dtype
    cache = new_cache(short, batch=tokens.shape[:-1], dtype=dtype)
    new, ended = tokens, np.zeros(tokens.shape[:-1], bool)
    for _ in range(n):
        logits = next_logits(new, params, config, cache)
        chances = next_token_probabilities(
            logits, temperature=temperature, top_k=top_k, top_p=top_p
        )
        new = _draw(rng, chances)[..., None]
        if stop is not None:
            new = np.where(ended[..., None], stop, new)
            ended = new[..., 0] == stop
        tokens = np.concatenate([tokens, new], -1)
        if stop is not None and ended.all():
            break
    return tokens


def _draw(rng, chances):
    """One token for each row of probabilities."""
    # The first token whose running sum exceeds a random number from 0 to 1.
    # A sum in float16 would stop growing.
    running = np.cumsum(chances, -1, dtype=np.float64)
    u = rng.random(chances.shape[:-1])[..., None] * running[..., -1:]
    return (running <= u).sum(-1)
