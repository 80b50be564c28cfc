"""The weights of every head of a published model, for one text.

This module prepares the data of the figure `RealHeads`. A weight is stored as
a byte, in steps of 1/255, and a head as the triangle of weights that a causal
mask allows. `python -m research.real_heads` stores some texts in
`course/evidence`, with what the likeliest next tokens become without each
head.
"""

import base64

import numpy as np

from course.evidence import stored
from helpers._checks import as_finite_floats
from helpers.softmax import softmax
from helpers.training import (
    first_token_score,
    induction_score,
    previous_token_score,
)
from helpers.transformer import forward

LONGEST = 48  # the most tokens that fit into the figure
MOST_LAYERS, MOST_HEADS = 48, 16
SAID = 6  # the number of next tokens that are stored

#: The texts that are stored, in the order of the figure.
NAMES = (
    "a repeat",
    "capitals",
    "a pronoun",
    "code",
    "Spanish",
    "a bracket",
    "a chat",
)

OPENING = ((17, 5), (16, 0))  # layer and head of the first two


def file_of(name):
    """Return the name of a text's file in `course/evidence`, without ending.

    Examples
    --------
    >>> file_of("a repeat")
    'heads-a-repeat'
    """
    return f"heads-{name.lower().replace(' ', '-')}"


def recorded(name):
    """Return the stored record of a text, with the command that made it.

    Examples
    --------
    >>> found = recorded("a repeat")
    >>> found["layers"], found["heads"], found["pieces"][-1]
    (30, 9, ' copper')
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}; got {name}")
    return stored(file_of(name))


def record(checkpoint, text):
    """Run a model on a text, and record what its heads attend to.

    Parameters
    ----------
    checkpoint : Checkpoint
        A model with its tokenizer, from `course.checkpoint.load`.
    text : str
        The text for the model: 2 to 48 tokens.

    Returns
    -------
    dict
        ``text``; ``ids`` and ``pieces``, its tokens as numbers and as texts;
        ``layers`` and ``heads``, their numbers; ``next``, the most probable
        next tokens, each with its probability to four decimals; and
        ``weights``: for each head of each layer its rows up to the diagonal,
        with one byte per weight in steps of 1/255, in base 64.

    Raises
    ------
    ValueError
        If the text has too few or too many tokens, or if the model has no
        tokenizer or has more layers or heads than fit into the figure.

    Notes
    -----
    The stored weight is the nearest of 256, so it differs by at most 1/510.

    Examples
    --------
    Repeat a stored text with the model that `make model` installs:

    >>> from course.checkpoint import load, smollm2_path
    >>> text = recorded("a bracket")["text"]
    >>> found = record(load(smollm2_path()), text)
    >>> found["pieces"] == recorded("a bracket")["pieces"]
    True
    """
    config, params, tokenizer = checkpoint
    if tokenizer is None:
        raise ValueError("the checkpoint must have a tokenizer")
    if config.n_layers > MOST_LAYERS or config.n_heads > MOST_HEADS:
        raise ValueError(
            f"the figure has room for {MOST_LAYERS} layers of {MOST_HEADS} "
            f"heads; got {config.n_layers} of {config.n_heads}"
        )
    ids = tokenizer.encode(text)
    if not 2 <= len(ids) <= LONGEST:
        raise ValueError(
            f"text must have 2 to {LONGEST} tokens; got {len(ids)}"
        )
    kept = forward(np.array(ids), params, config)
    maps = [x.attended.weights for x in kept.layers if x.attended is not None]
    chances = softmax(kept.logits[-1].astype(float))
    likeliest = np.argsort(-chances, kind="stable")[:SAID]
    return {
        "text": text,
        "ids": [int(i) for i in ids],
        "pieces": [tokenizer.decode([i]) for i in ids],
        "layers": config.n_layers,
        "heads": config.n_heads,
        "next": [
            [tokenizer.decode([int(i)]), round(float(chances[i]), 4)]
            for i in likeliest
        ],
        "weights": packed(np.array(maps)),
    }


def packed(weights):
    """Convert causal weights to bytes, in base 64.

    Examples
    --------
    >>> packed([[1.0, 0.0], [0.4, 0.6]])
    '/2aZ'
    """
    weights = as_finite_floats(weights, "weights", ndim=2, axes="(..., T, T)")
    rows, columns = np.tril_indices(weights.shape[-1])
    steps = np.rint(255 * weights[..., rows, columns])
    if np.any((steps < 0) | (steps > 255)) or np.triu(weights, 1).any():
        raise ValueError(
            "weights must be from 0 to 1, and 0 above the diagonal"
        )
    return base64.b64encode(steps.astype(np.uint8).tobytes()).decode()


def unpacked(record):
    """Return the weights of a record, by layer and head.

    Examples
    --------
    >>> weights = unpacked(recorded("a repeat"))
    >>> weights.shape, weights[17, 5, 0, 0].item()
    ((30, 9, 16, 16), 1.0)
    """
    T = len(record["ids"])
    rows, columns = np.tril_indices(T)
    raw = np.frombuffer(base64.b64decode(record["weights"]), np.uint8)
    weights = np.zeros((record["layers"], record["heads"], T, T))
    weights[..., rows, columns] = raw.reshape(*weights.shape[:2], -1) / 255
    return weights


def shown(name):
    """Return the figure's data for a stored text.

    Examples
    --------
    >>> shown("a repeat")["ids"] == recorded("a repeat")["ids"]
    True
    """
    found = recorded(name)
    keys = ("ids", "pieces", "layers", "heads", "next", "weights", "without")
    return {key: found[key] for key in keys}


def opening():
    """Return the first picture's data: two heads, and scores of all heads.

    As `shown`, with ``sums`` in place of ``weights``: for each head the sums
    of the bytes of all queries on the first key, on the previous key, and on
    the key that followed last time; and with ``picked``: of the heads in
    `OPENING` the layer, the head, the weights, and what the next tokens become
    without it.

    Examples
    --------
    >>> found = opening()
    >>> len(found["sums"]["first"]), [head[:2] for head in found["picked"]]
    (270, [[17, 5], [16, 0]])
    """
    found = shown(NAMES[0])
    weights = unpacked(found)
    ids = found["ids"]
    T = len(ids)
    again = sum(token in ids[:i] for i, token in enumerate(ids))
    maps = weights.reshape(-1, T, T)
    sums = {
        "first": (T - 1) * first_token_score(maps),
        "previous": (T - 1) * previous_token_score(maps),
        "followed": again * induction_score(maps, ids),
    }
    del found["weights"]
    without = found.pop("without")
    return {
        **found,
        "sums": {
            key: np.rint(255 * x).astype(int).tolist()
            for key, x in sums.items()
        },
        "picked": [
            [*at, packed(weights[at]), without[found["heads"] * at[0] + at[1]]]
            for at in OPENING
        ],
    }
