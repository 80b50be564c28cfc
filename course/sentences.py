"""Sentences of a small grammar: who did what where, and why.

A model that is trained on them must read more than the last word, because the
continuation of a sentence depends on its subject, and its reason on the verb,
several words earlier.
"""

import numpy as np

from course.evidence import stored
from helpers._checks import as_size, check_generator
from helpers.softmax import entropy
from helpers.training import Batch
from helpers.transformer import (
    TransformerConfig,
    parameter_shapes,
    token_losses,
    transformer,
)

ADJECTIVES = ("old", "young", "small")
PRONOUNS = {"king": "he", "queen": "she"}  # all others: it
REASONS = {
    "drank": "thirsty",
    "ate": "hungry",
    "sat": "tired",
    "slept": "tired",
    "swam": "hot",
    "ran": "late",
}
# The verbs of each subject, and the words that follow the verb.
DEEDS = {
    "cat": {
        "drank": ["the milk"],
        "ate": ["the fish"],
        "sat": ["on the mat"],
        "slept": ["on the mat", "by the fire"],
    },
    "dog": {
        "drank": ["the water"],
        "ate": ["the meat"],
        "slept": ["by the fire"],
        "ran": ["to the river"],
        "swam": ["in the river"],
    },
    "bird": {
        "drank": ["the water"],
        "ate": ["the seeds"],
        "sat": ["in the tree"],
        "slept": ["in the tree"],
    },
    "fish": {"ate": ["the seeds"], "swam": ["in the sea", "in the river"]},
    "horse": {
        "drank": ["the water"],
        "ate": ["the grass"],
        "slept": ["in the barn"],
        "ran": ["to the castle"],
    },
    "king": {
        "drank": ["the wine"],
        "ate": ["the bread"],
        "sat": ["on the throne"],
        "slept": ["in the castle"],
        "ran": ["to the queen"],
    },
    "queen": {
        "drank": ["the tea"],
        "ate": ["the cake"],
        "sat": ["on the throne"],
        "slept": ["in the castle"],
        "swam": ["in the sea"],
    },
}


def _words():
    """All words of the grammar, in order of their first occurrence."""
    text = ["the", *ADJECTIVES, *DEEDS, *REASONS]
    for deeds in DEEDS.values():
        for ways in deeds.values():
            text += " ".join(ways).split()
    text += ["and", "because", "he", "she", "it", "was", *REASONS.values()]
    return tuple(dict.fromkeys([*text, "."]))


WORDS = _words()
LONGEST = 12  # tokens of a sentence, including its full stop

WORD_MODEL = TransformerConfig(
    vocab=len(WORDS),
    max_len=LONGEST - 1,  # nothing follows the full stop
    d_model=16,
    n_layers=2,
    n_heads=2,
    d_ff=32,
    norm_kind="rms",
    activation="relu",
    bias=False,
)


def every_sentence():
    """Return all sentences of the grammar, each with its probability.

    Returns
    -------
    dict of tuple of str to float
        The words of each sentence, including its full stop, and the
        probability of the sentence; these sum to one.

    Notes
    -----
    A subject is drawn, then one of its deeds, then one of the ways to name the
    place or the thing, all with equal probability. Half of the sentences
    continue with a reason, three in ten with another deed, and the others end.
    One in four of the sentences without another deed names the subject with an
    adjective.

    Examples
    --------
    >>> found = every_sentence()
    >>> round(found["the", "fish", "swam", "in", "the", "sea", "."], 4)
    0.0054
    """
    found = {}
    for subject, deeds in DEEDS.items():
        for verb, ways in deeds.items():
            for way in ways:
                p = 1 / (len(DEEDS) * len(deeds) * len(ways))
                did = (verb, *way.split())
                for share, end in _endings(subject, deeds, verb):
                    for part, named in _names(subject, end):
                        words = ("the", *named, *did, *end, ".")
                        found[words] = p * share * part
    return found


def _endings(subject, deeds, verb):
    """The continuations after the first deed, with their probabilities."""
    yield 0.2, ()
    pronoun = PRONOUNS.get(subject, "it")
    yield 0.5, ("because", pronoun, "was", REASONS[verb])
    others = [other for other in deeds if other != verb]
    for other in others:
        for way in deeds[other]:
            share = 0.3 / (len(others) * len(deeds[other]))
            yield share, ("and", other, *way.split())


def _names(subject, end):
    """The names of the subject; with two deeds an adjective does not fit."""
    if end[:1] == ("and",):
        yield 1, (subject,)
        return
    yield 0.75, (subject,)
    for adjective in ADJECTIVES:
        yield 0.25 / len(ADJECTIVES), (adjective, subject)


def as_batch(sentences):
    """Convert sentences to tokens and the tokens that come next.

    Parameters
    ----------
    sentences : iterable of tuple of str
        Sentences of at most `LONGEST` words each.

    Returns
    -------
    helpers.training.Batch
        One row per sentence, ``LONGEST - 1`` tokens long. Positions after the
        end do not count.

    Raises
    ------
    ValueError
        If a word is not one of `WORDS`, or a sentence has no word or more
        than `LONGEST`.

    Examples
    --------
    >>> batch = as_batch([("the", "cat", "ran")])
    >>> batch.tokens[0, :2].tolist(), batch.targets[0, :2].tolist()
    ([0, 4], [4, 16])
    """
    ids = [token_ids_of(words) for words in sentences]
    for some in ids:
        if not 1 <= len(some) <= LONGEST:
            raise ValueError(
                f"each of sentences must have 1 to {LONGEST} words; "
                f"got {len(some)}"
            )
    tokens = np.zeros((len(ids), LONGEST), int)
    where = np.zeros((len(ids), LONGEST - 1), bool)
    for row, open_, some in zip(tokens, where, ids, strict=True):
        row[: len(some)] = some
        open_[: len(some) - 1] = True
    return Batch(tokens[:, :-1], tokens[:, 1:], where)


def token_ids_of(words):
    """Return the token numbers of some words.

    Parameters
    ----------
    words : iterable of str
        Words of `WORDS`.

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        If a word is not one of `WORDS`.

    Examples
    --------
    >>> token_ids_of(["the", "cat", "."])
    [0, 4, 49]
    """
    words = list(words)
    unknown = [word for word in words if word not in WORDS]
    if unknown:
        raise ValueError(
            f"words must be of the {len(WORDS)} in WORDS; got {unknown[0]!r}"
        )
    return [WORDS.index(word) for word in words]


def sentence_batches(rng, n, *, steps):
    """Draw sentences of the grammar at random, for each step of a training.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of random numbers.
    n : int
        The number of sentences in a batch.
    steps : int
        The number of batches.

    Yields
    ------
    helpers.training.Batch
        A batch of `n` rows.

    Raises
    ------
    TypeError
        If a size is not an integer, or `rng` is not a Generator.
    ValueError
        If a size is below one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [b.tokens.shape for b in sentence_batches(rng, 4, steps=2)]
    [(4, 11), (4, 11)]
    """
    check_generator(rng)
    n, steps = as_size(n, "n", least=1), as_size(steps, "steps", least=1)
    every = every_sentence()
    whole, shares = as_batch(every), list(every.values())
    for _ in range(steps):
        drawn = rng.choice(len(shares), n, p=shares)
        yield Batch(*(part[drawn] for part in whole))


def expected_loss(params):
    """Return the mean loss per word of the grammar, and the least possible.

    Parameters
    ----------
    params : dict of str to array
        For `WORD_MODEL`.

    Returns
    -------
    loss, least : float
        In nats per word, over all sentences instead of a sample. The least is
        the loss of a model that knows the grammar.

    Examples
    --------
    >>> loss, least = expected_loss(trained_words())
    >>> bool(least < loss < 1.1 * least)
    True
    """
    every = every_sentence()
    shares = np.array(list(every.values()))
    tokens, targets, where = as_batch(every)
    losses = token_losses(transformer(tokens, params, WORD_MODEL), targets)
    words = (shares * where.sum(axis=1)).sum()
    loss = (shares * (losses * where).sum(axis=1)).sum() / words
    return float(loss), float(entropy(shares) / words)


def trained_words():
    """Return the stored parameters of the word model.

    Returns
    -------
    dict of str to array
        For `WORD_MODEL`. Each number has two decimals.

    Examples
    --------
    >>> trained_words()["embedding"].shape
    (50, 16)
    """
    rows = stored("words")["hundredths"]
    return {
        name: np.array(rows[name].split(), float).reshape(shape) / 100
        for name, shape in parameter_shapes(WORD_MODEL).items()
    }
