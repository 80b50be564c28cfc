"""Sentences of a small grammar: who did what where, and why.

A model that is trained on them has to read more than the last word. Where a
sentence goes on depends on its subject, and its reason on the verb, several
words before.
"""

import numpy as np

from ._checks import generator, size
from .softmax import entropy
from .training import Batch, stored
from .transformer import (
    TransformerConfig,
    parameter_shapes,
    token_losses,
    transformer,
)

ADJECTIVES = ("old", "young", "small")
PRONOUNS = {"king": "he", "queen": "she"}  # of all others: it
REASONS = {
    "drank": "thirsty",
    "ate": "hungry",
    "sat": "tired",
    "slept": "tired",
    "swam": "hot",
    "ran": "late",
}
# What each subject does, and the words that follow the verb.
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
    """All words of the grammar, each where it is met first."""
    text = ["the", *ADJECTIVES, *DEEDS, *REASONS]
    for deeds in DEEDS.values():
        for ways in deeds.values():
            text += " ".join(ways).split()
    text += ["and", "because", "he", "she", "it", "was", *REASONS.values()]
    return tuple(dict.fromkeys([*text, "."]))


WORDS = _words()
LONGEST = 12  # tokens of a sentence, its full stop included

WORD_MODEL = TransformerConfig(
    vocab=len(WORDS),
    max_len=LONGEST - 1,  # what follows the full stop nobody asks
    d_model=16,
    n_layers=2,
    n_heads=2,
    d_ff=32,
    norm_kind="rms",
    activation="relu",
    bias=False,
)


def every_sentence():
    """All sentences of the grammar, each with its probability.

    Returns
    -------
    dict of tuple of str to float
        The words of each sentence, its full stop among them, and how often it
        is drawn; these sum to one.

    Notes
    -----
    A subject is drawn, then one of its deeds, then one of the ways to name
    the place or the thing, all alike. Half of the sentences go on with a
    reason, three of ten with another deed, and the others end. One of four
    that have no other deed names the subject with an adjective.

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
    """How a sentence may go on after its first deed, and how often."""
    yield 0.2, ()
    pronoun = PRONOUNS.get(subject, "it")
    yield 0.5, ("because", pronoun, "was", REASONS[verb])
    others = [other for other in deeds if other != verb]
    for other in others:
        for way in deeds[other]:
            share = 0.3 / (len(others) * len(deeds[other]))
            yield share, ("and", other, *way.split())


def _names(subject, end):
    """What the subject may be called; with two deeds there is no room."""
    if end[:1] == ("and",):
        yield 1, (subject,)
        return
    yield 0.75, (subject,)
    for adjective in ADJECTIVES:
        yield 0.25 / len(ADJECTIVES), (adjective, subject)


def as_batch(sentences):
    """Sentences as what a model reads and what comes next.

    Parameters
    ----------
    sentences : iterable of tuple of str
        Of at most `LONGEST` words each.

    Returns
    -------
    helpers.training.Batch
        Of one row for each, ``LONGEST - 1`` tokens long. What stands after the
        end does not count.

    Raises
    ------
    ValueError
        If a word is not one of `WORDS`.

    Examples
    --------
    >>> batch = as_batch([("the", "cat", "ran")])
    >>> batch.tokens[0, :2].tolist(), batch.targets[0, :2].tolist()
    ([0, 4], [4, 16])
    """
    ids = [token_ids_of(words) for words in sentences]
    tokens = np.zeros((len(ids), LONGEST), int)
    where = np.zeros((len(ids), LONGEST - 1), bool)
    for row, open_, some in zip(tokens, where, ids, strict=True):
        row[: len(some)] = some
        open_[: len(some) - 1] = True
    return Batch(tokens[:, :-1], tokens[:, 1:], where)


def token_ids_of(words):
    """The numbers of some words.

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
    """Sentences of the grammar, drawn at random, for each step of a training.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the random numbers come from.
    n : int
        Sentences of a batch.
    steps : int
        How many batches.

    Yields
    ------
    helpers.training.Batch
        Of `n` rows.

    Raises
    ------
    TypeError
        If a size is not an integer, or `rng` no Generator.
    ValueError
        If a size is below one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [b.tokens.shape for b in sentence_batches(rng, 4, steps=2)]
    [(4, 11), (4, 11)]
    """
    generator(rng)
    n, steps = size(n, "n", least=1), size(steps, "steps", least=1)
    every = every_sentence()
    whole, shares = as_batch(every), list(every.values())
    for _ in range(steps):
        drawn = rng.choice(len(shares), n, p=shares)
        yield Batch(*(part[drawn] for part in whole))


def expected_loss(params):
    """The mean loss on a word of the grammar, and the least that there is.

    Parameters
    ----------
    params : dict of str to array
        For `WORD_MODEL`.

    Returns
    -------
    loss, least : float
        In nats per word, over all sentences and not over a sample. The least
        is that of a model that knows the grammar.

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
    """The stored parameters of the word model.

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
