"""What holds for a model of every form, whatever its layers are."""

import numpy as np

from helpers.transformer import (
    cross_entropy,
    init_transformer,
    loss_and_gradients,
    new_cache,
    transformer,
)
from tests.core.closeness import assert_close, assert_gradient


def of_a_size(rng, config, std, more):
    """Parameters of which none is zero, so that each of them matters."""
    return {
        name: x + more * rng.normal(size=x.shape)
        for name, x in init_transformer(rng, config, std=std).items()
    }


def expect_gradients(tokens, targets, params, config, rng, where, mask=None):
    """The loss is that of the logits, and each gradient that of the loss."""
    loss, gradients = loss_and_gradients(
        tokens, targets, params, config, where=where, mask=mask
    )

    def loss_at(changed):
        logits = transformer(tokens, changed, config, mask=mask)
        return cross_entropy(logits, targets, where=where)

    assert type(loss) is float
    assert_close(loss, np.float64(loss_at(params)))
    assert list(gradients) == list(params)
    for name, x in params.items():

        def loss_of(x, name=name):
            return loss_at(params | {name: x})

        assert_gradient(loss_of, x, gradients[name], rng, directions=1)


def expect_same_with_a_cache(config, params, rng, eps):
    tokens = rng.integers(0, config.vocab, (2, 6))
    whole = transformer(tokens, params, config)
    for cuts in ([1] * 6, [2, 3, 1], [6], [0, 5, 1]):
        cache, at, parts = new_cache(config, batch=(2,)), 0, []
        for n in cuts:
            part = tokens[:, at : at + n]
            parts.append(transformer(part, params, config, cache=cache))
            at += n
            assert {len(stored) for stored in cache} == {at}
        assert_close(np.concatenate(parts, 1), whole, eps=eps)


def expect_no_look_ahead(config, params, rng, eps):
    tokens = rng.integers(0, config.vocab, 6)
    before = transformer(tokens, params, config)
    for t in range(1, 6):
        changed = tokens.copy()
        changed[t] = (changed[t] + 1) % config.vocab
        after = transformer(changed, params, config)
        assert_close(after[:t], before[:t], eps=eps)
        assert abs(after[t] - before[t]).max() > 1e-3


def expect_single_precision(config, params, rtol):
    """Logits and caches of float32 parameters, which it returns."""
    params = {name: x.astype(np.float32) for name, x in params.items()}
    logits = transformer([1, 2, 3], params, config)
    assert logits.dtype == np.float32
    cache = new_cache(config, dtype=np.float32)
    transformer([1, 2], params, config, cache=cache)
    assert cache[0].nbytes * 2 == new_cache(config)[0].nbytes
    last = transformer([3], params, config, cache=cache)
    np.testing.assert_allclose(last[0], logits[2], rtol=rtol, atol=1e-4)
    return params
