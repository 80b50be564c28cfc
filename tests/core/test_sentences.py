"""The grammar of the word model, its batches, and its stored weights."""

import itertools
import math

import numpy as np
import pytest

from course import sentences
from course.evidence import stored
from course.sentences import (
    LONGEST,
    WORD_MODEL,
    WORDS,
    as_batch,
    every_sentence,
    expected_loss,
    sentence_batches,
    token_ids_of,
    trained_words,
)
from helpers.transformer import (
    init_transformer,
    parameter_count,
    parameter_shapes,
    transformer,
)

EVERY = every_sentence()


def drawn(rng):
    """A sentence, drawn word by word as the notes of `every_sentence` say."""
    subject = rng.choice(list(sentences.DEEDS))
    deeds = sentences.DEEDS[subject]
    verb = rng.choice(list(deeds))
    way = str(rng.choice(deeds[verb]))
    kind = rng.choice(["because", "and", ""], p=[0.5, 0.3, 0.2])
    named, end = [subject], []
    if kind == "and":
        other = rng.choice([one for one in deeds if one != verb])
        end = ["and", other, *str(rng.choice(deeds[other])).split()]
    elif rng.random() < 0.25:
        named = [rng.choice(["old", "young", "small"]), subject]
    if kind == "because":
        pronoun = {"king": "he", "queen": "she"}.get(subject, "it")
        reason = sentences.REASONS[verb]
        end = ["because", pronoun, "was", reason]
    return tuple(map(str, ["the", *named, verb, *way.split(), *end, "."]))


def test_every_sentence_is_drawn_as_often_as_it_says():
    rng = np.random.default_rng(0)
    n = 8_000
    counts = dict.fromkeys(EVERY, 0)
    for _ in range(n):
        counts[drawn(rng)] += 1  # none that is not there
    assert abs(sum(EVERY.values()) - 1) < 1e-12
    for words, p in EVERY.items():
        assert abs(counts[words] - n * p) < 6 * math.sqrt(n * p)


def test_words_are_those_of_the_sentences():
    used = set(itertools.chain(*EVERY))
    assert used == set(WORDS)
    assert len(WORDS) == len(used) == WORD_MODEL.vocab
    assert max(map(len, EVERY)) == LONGEST == WORD_MODEL.max_len + 1
    assert all(words[-1] == "." for words in EVERY)
    assert all("." not in words[:-1] for words in EVERY)


def test_as_batch_reads_a_word_and_asks_for_the_next():
    some = list(EVERY)[::50]
    tokens, targets, where = as_batch(some)
    assert tokens.shape == (len(some), LONGEST - 1)
    for row, words in enumerate(some):
        n = len(words) - 1
        assert [WORDS[k] for k in tokens[row][:n]] == list(words[:-1])
        assert [WORDS[k] for k in targets[row][:n]] == list(words[1:])
        assert where[row].tolist() == [t < n for t in range(LONGEST - 1)]


@pytest.mark.parametrize("n", [0, LONGEST + 1])
def test_as_batch_refuses_a_length_without_a_row(n):
    with pytest.raises(ValueError, match=f"1 to {LONGEST} words; got {n}$"):
        as_batch([("the", "cat"), ("the",) * n])


def test_token_ids_of_names_a_word_that_is_not_known():
    assert [WORDS[k] for k in token_ids_of("the sea".split())] == [
        "the",
        "sea",
    ]
    with pytest.raises(ValueError, match="of the 50 in WORDS; got 'zebra'"):
        token_ids_of(["the", "zebra"])


def test_sentence_batches_are_drawn_by_probability():
    rng = np.random.default_rng(1)
    known = {tuple(row) for row in as_batch(EVERY).tokens}
    first, second = sentence_batches(rng, 3000, steps=2)
    assert not np.array_equal(first.tokens, second.tokens)
    assert {tuple(row) for row in first.tokens} <= known
    because = (first.tokens == WORDS.index("because")).any(axis=1).mean()
    assert abs(because - 0.5) < 0.05


def test_expected_loss_is_the_mean_over_all_sentences():
    params = init_transformer(np.random.default_rng(0), WORD_MODEL)
    total = words = 0.0
    for sentence, p in list(EVERY.items()):
        ids = token_ids_of(sentence)
        logits = transformer(ids[:-1], params, WORD_MODEL)
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        for t, target in enumerate(ids[1:]):
            total -= p * math.log(chances[t][target])
        words += p * (len(ids) - 1)
    loss, least = expected_loss(params)
    assert abs(loss - total / words) < 1e-12
    entropy = -sum(p * math.log(p) for p in EVERY.values())
    assert abs(least - entropy / words) < 1e-12


def test_trained_words_are_stored_with_two_decimals():
    params, kept = trained_words(), stored("words")
    assert {n: x.shape for n, x in params.items()} == parameter_shapes(
        WORD_MODEL
    )
    assert parameter_count(WORD_MODEL) < 20_000
    assert tuple(kept["vocabulary"]) == WORDS
    for x in params.values():
        np.testing.assert_array_equal(x, np.round(x, 2))
    loss, least = expected_loss(params)
    assert abs(loss - kept["loss"]) < 1e-4
    assert abs(least - kept["least"]) < 1e-4
    assert least < loss < 1.05 * least


def test_trained_words_go_on_as_the_grammar_does():
    """The likeliest word after each beginning is one that may come."""
    params = trained_words()
    follow = {}
    for words in EVERY:
        for t in range(1, len(words)):
            follow.setdefault(words[:t], set()).add(words[t])
    wrong = []
    for begun, may in follow.items():
        logits = transformer(token_ids_of(begun), params, WORD_MODEL)[-1]
        if WORDS[int(np.argmax(logits))] not in may:
            wrong.append(begun)
    assert len(wrong) <= 0.02 * len(follow), wrong[:5]
