"""What the figure `Words` is given: sentences, and a model's view of them."""

import numpy as np

from course import sentences
from helpers.softmax import softmax
from helpers.transformer import forward

# Sentences of the landing page whose next word follows from one before.
ASKED = (
    "the queen ate the cake because",
    "the horse ran to the castle because it was",
    "the bird sat in the",
)


def first():
    """The sentences."""
    return ASKED


def later():
    """The word model's result for each sentence."""
    return {"words-trained": {text: _read(text) for text in ASKED}}


def _read(text):
    """The head that gives some word the most of the last word's weight.

    Its rows, and after each word the four likeliest next ones.
    """
    ids = np.array(sentences.token_ids_of(text.split()))
    run = forward(ids, sentences.trained_words(), sentences.WORD_MODEL)
    heads = {
        (block, head): weights.tolist()
        for block, layer in enumerate(
            x.attended for x in run.layers if x.attended is not None
        )
        for head, weights in enumerate(layer.weights)
    }
    best = max(heads, key=lambda head: max(heads[head][-1]))
    return {
        "head": best,
        "rows": [row[: i + 1] for i, row in enumerate(heads[best])],
        "next": [_likeliest(row) for row in softmax(run.logits)],
    }


def _likeliest(chances):
    order = np.argsort(-chances, kind="stable")[:4]
    return [(sentences.WORDS[i], float(chances[i])) for i in order]
