"""The figure of decoding: what is computed again, and what is kept."""

import numpy as np

from course.figures import Decode
from helpers.attention import attention
from helpers.cache import KVCache
from helpers.masks import causal_mask
from tests.figures.reading import (
    captions,
    sentence,
    sizes,
    tells,
    verdict,
    where,
)

WORDS = "a rose is a rose is a rose".split()
ROWS = {"a": [1, 0], "rose": [0, 1], "is": [1, 1]}
X = np.array([ROWS[word] for word in WORDS], dtype=float)
Q, K, V = np.sqrt(2) * np.log(2) * X, X, X @ [[1.0], [2.0]]
CASES = [{"step": t, "cache": on} for t in (1, 2, 5) for on in (True, False)]


def counted(steps, cache):
    """A program that decodes and notes each score and each key it computes."""
    scores, keys = np.zeros((8, 8), dtype=int), 0
    for t in range(1, steps + 1):
        queries = [t - 1] if cache else range(t)
        keys += 1 if cache else t
        for i in queries:
            for j in range(t):
                scores[i, j] += 1
    return scores, keys


def expected(state):
    step, cache = state["step"], state["cache"]
    scores, keys = counted(step, cache)
    others, other_keys = counted(step, not cache)
    before, keys_before = counted(step - 1, cache)
    full = attention(Q[:step], K[:step], V[:step], mask=causal_mask(step))
    return {
        "counts": scores,
        "keys": keys,
        "newKeys": keys - keys_before,
        "otherKeys": other_keys,
        "scores": scores.sum(),
        "newScores": scores.sum() - before.sum(),
        "otherScores": others.sum(),
        "output": full.output[-1, 0],
    }


def shows(state, expected, shown):
    step, cache = state["step"], state["cache"]
    texts = shown.select(".av-decoding text[style]")
    rows, columns = (
        np.unique(sizes(texts, key), return_inverse=True)[1] for key in "yx"
    )
    seen = np.zeros((8, 8), dtype=int)
    seen[rows, columns] = [int(t.text) for t in texts]
    np.testing.assert_array_equal(seen, expected["counts"])
    assert len(shown.select(".av-in-step")) == expected["newScores"]
    kept, new = (
        len(shown.select(f"rect.av-{k}")) for k in ("kept-row", "decoded")
    )
    assert (kept, new) == ((step - 1, 1) if cache else (0, step))
    (label,) = [c for c in captions(shown) if c.startswith("How often")]
    tells(label, 1, *where(step > 1, step))
    verdict(label, without=not cache, computes=step == 1)
    text = sentence(shown)
    names = ("keys", "scores", "otherKeys", "otherScores")
    tells(
        text,
        *where(step > 1, step),
        *(expected[name] for name in names),
        (expected["output"], 3),
    )
    verdict(text, **{"Without a cache": not cache, "without one": cache})


def test_decode_has_the_output_of_a_real_cache():
    cache = KVCache(8, 1, 2, 1)
    for t in range(8):
        keys, values = cache.append(K[None, t : t + 1], V[None, t : t + 1])
        output = attention(Q[None, t : t + 1], keys, values).output
        shown = Decode(step=t + 1).values["output"]
        assert abs(shown - output[0, 0, 0]) < 1e-12
