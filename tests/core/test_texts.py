"""Sentences of the grammar, and heads as bytes, against plain loops."""

import base64

import numpy as np
import pytest

from course import real_heads, sentences
from course.evidence import stored
from tests.core import reference_texts as reference

LOOP = reference.sentences(
    sentences.DEEDS,
    sentences.ADJECTIVES,
    sentences.PRONOUNS,
    sentences.REASONS,
)


def test_every_sentence_has_its_probability():
    result = sentences.every_sentence()
    assert len(result) == len(LOOP)
    assert {" ".join(words): p for words, p in result.items()} == (
        pytest.approx(dict(LOOP), abs=1e-15)
    )
    assert sum(result.values()) == pytest.approx(1, abs=1e-12)
    assert max(map(len, result)) == sentences.LONGEST


def test_token_ids_of_every_sentence_and_as_batch():
    texts = [text.split() for text, _ in LOOP]
    batch = sentences.as_batch(texts)
    rows = zip(*batch, texts, strict=True)
    for tokens, targets, where, words in rows:
        n = len(words) - 1
        assert where.tolist() == [k < n for k in range(len(where))]
        ids = sentences.token_ids_of(words)
        assert [sentences.WORDS[k] for k in ids] == words
        assert tokens[:n].tolist() == ids[:-1]
        assert targets[:n].tolist() == ids[1:]


@pytest.mark.parametrize("call", ["token_ids_of", "as_batch"])
def test_a_word_of_another_language_is_refused(call):
    words = ["the", "Katze"]
    given = words if call == "token_ids_of" else [words]
    with pytest.raises(ValueError, match="Katze"):
        getattr(sentences, call)(given)


def test_sentence_batches_are_drawn_as_often_as_the_grammar_says():
    rng = np.random.default_rng(3)
    (batch,) = sentences.sentence_batches(rng, 40_000, steps=1)
    second = batch.targets[:, 0]
    for word in ("cat", "fish", "old"):
        share = sum(p for text, p in LOOP if text.split()[1] == word)
        drawn = (second == sentences.WORDS.index(word)).mean()
        # Five standard deviations of a share.
        assert abs(drawn - share) < 5 * (share * (1 - share) / 40_000) ** 0.5


def test_expected_loss_knows_the_least_and_trained_words_come_near():
    params = sentences.trained_words()
    loss, least = sentences.expected_loss(params)
    assert least == pytest.approx(reference.least_loss(LOOP), abs=1e-12)
    assert least < loss < 1.1 * least
    rows = stored("words")["hundredths"]
    stored_rows = [int(x) for x in rows["embedding"].split()]
    assert np.rint(100 * params["embedding"]).ravel().tolist() == stored_rows


def test_packed_and_unpacked_weights_of_a_causal_map():
    rng = np.random.default_rng(0)
    weights = np.tril(rng.random((2, 3, 5, 5)))
    weights /= weights.sum(-1, keepdims=True)
    packed = real_heads.packed(weights)
    loop = [
        b for w in weights.reshape(-1, 5, 5) for b in reference.bytes_of(w)
    ]
    assert list(base64.b64decode(packed)) == loop
    record = {"ids": range(5), "layers": 2, "heads": 3, "weights": packed}
    back = real_heads.unpacked(record)
    one = reference.weights_of(loop[15:30], 5)
    assert back[0, 1].tolist() == one
    assert np.abs(back - weights).max() <= 1 / 510 + 1e-15


@pytest.mark.parametrize(
    "weights", [[[1.0, 0.1], [0.4, 0.6]], [[1.1, 0.0], [0.4, 0.6]]]
)
def test_packed_refuses_what_is_no_causal_map(weights):
    with pytest.raises(ValueError, match="from 0 to 1, and 0 above"):
        real_heads.packed(weights)


@pytest.mark.parametrize("name", real_heads.NAMES)
def test_a_recorded_text_is_shown_whole(name):
    result = real_heads.recorded(name)
    assert result == stored(real_heads.file_of(name))
    shown = real_heads.shown(name)
    assert {key: result[key] for key in shown} == shown
    assert "".join(shown["pieces"]) == result["text"]
    rows = real_heads.unpacked(shown).sum(-1)
    # Each weight is off by half a step at most.
    assert np.abs(rows - 1).max() <= len(result["ids"]) / 510


def test_opening_has_the_sums_of_each_head():
    opening, record = real_heads.opening(), real_heads.recorded("a repeat")
    weights = real_heads.unpacked(record).reshape(-1, 16, 16).tolist()
    sums = [reference.sums_of(w, record["ids"]) for w in weights]
    for k, key in enumerate(("first", "previous", "followed")):
        loop = [255 * one[k] for one in sums]
        assert opening["sums"][key] == pytest.approx(loop, abs=1e-6)


def test_record_refuses_a_model_without_tokenizer():
    with pytest.raises(ValueError, match="tokenizer"):
        real_heads.record((sentences.WORD_MODEL, {}, None), "a b")
