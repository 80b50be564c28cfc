"""The model against plain loops, differences, and its own laws."""

import math
import re
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import transformer as model
from helpers.masks import padding_mask
from helpers.model import sampling
from helpers.softmax import softmax
from helpers.transformer import (
    TransformerConfig,
    adam_init,
    adam_step,
    forward,
    generate,
    init_transformer,
    loss_and_gradients,
    new_cache,
    next_token_probabilities,
    parameter_count,
    parameter_shapes,
    transformer,
)
from tests.core import laws
from tests.core import reference_transformer as reference
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SMALL = TransformerConfig(
    vocab=7, max_len=6, d_model=8, n_layers=2, n_heads=2, d_ff=5
)
FORMS = {
    "as GPT-2": {"activation": "gelu_tanh"},
    "as Llama": {
        "norm_kind": "rms",
        "positions": "rotary",
        "bias": False,
        "tied": False,
        "n_kv_heads": 1,
        "activation": "silu",
        "gated": True,
        "eps": 0.01,
    },
    "gated": {"gated": True, "eps": 0.1, "activation": "gelu"},
    "as 2017": {
        "norm": "post",
        "positions": "sinusoidal",
        "base": 100.0,
        "activation": "relu",
    },
    "attention alone": {"d_ff": None, "positions": "rotary", "base": 100.0},
    "ALiBi": {"positions": "alibi", "n_heads": 4, "n_kv_heads": 2},
    "T5": {"positions": "t5", "num_buckets": 4, "max_distance": 5},
    "partial": {"positions": "rotary", "frequencies": (0.7,), "norm": "post"},
    "no positions": {"positions": None, "norm": "post", "norm_kind": "rms"},
    "window": {"window": 2, "scale": 0.7, "tied": False},
    "one head": {"n_heads": 1, "n_layers": 1, "bias": False},
    "untied post": {"norm": "post", "tied": False, "positions": "rotary"},
    "sinks": {"sinks": True, "positions": "rotary", "n_heads": 4},
    "gate": {"output_gate": True, "norm_kind": "rms", "n_kv_heads": 1},
    "as Qwen3": {
        "head_width": 6,
        "query_key_norm": "head",
        "norm_kind": "rms",
        "n_kv_heads": 1,
        "positions": "rotary",
        "bias": False,
    },
    "as OLMo 2": {
        "norm": "output",
        "query_key_norm": "whole",
        "norm_kind": "rms",
        "n_heads": 4,
        "n_kv_heads": 2,
        "positions": "rotary",
    },
    "as SmolLM3": {
        "positions": "rotary",
        "blocks": ({"positions": None, "window": 2}, {"base": 50.0}),
    },
    "as Gemma": {
        "norm": "sandwich",
        "norm_kind": "rms",
        "head_width": 6,
        "query_key_norm": "head",
        "positions": "rotary",
        "embedding_scale": 1.7,
        "softcap": 2.0,
        "logits_softcap": 1.5,
        "blocks": ({"window": 3, "frequencies": (0.7, 0.2)}, {}),
    },
    "sandwich": {"norm": "sandwich", "output_gate": True, "head_width": 3},
    "all of them": {
        "sinks": True,
        "output_gate": True,
        "softcap": 0.7,
        "bias": False,
        "positions": "alibi",
    },
}
EACH = pytest.mark.parametrize("form", FORMS)


def made(form, rng):
    config = replace(SMALL, **FORMS[form])
    return config, laws.of_a_size(rng, config, 0.4, 0.2)


def lists(params):
    return {name: x.tolist() for name, x in params.items()}


def fields(config):
    names = TransformerConfig.__dataclass_fields__
    filled = {name: getattr(config, name) for name in names}
    return filled | {"n_kv_heads": config.kv_heads}


@EACH
def test_every_form_equals_plain_loops(form, rng):
    config, params = made(form, rng)
    tokens = rng.integers(0, config.vocab, (3, 6))
    kept = forward(tokens, params, config)
    attended = [x.attended for x in kept.layers if x.attended is not None]
    for row, sequence in enumerate(tokens):
        expected, maps = reference.logits(
            sequence.tolist(), lists(params), fields(config)
        )
        assert_close(kept.logits[row], np.array(expected), eps=512)
        weights = [a.weights[row] for a in attended]
        assert_close(np.array(weights), np.array(maps), eps=512)
    np.testing.assert_array_equal(
        transformer(tokens, params, config), kept.logits
    )


@EACH
def test_gradients_equal_differences(form, rng):
    config, params = made(form, rng)
    tokens, targets = rng.integers(0, config.vocab, (2, 3, 5))
    where = np.arange(15).reshape(3, 5) % 3 > 0
    laws.expect_gradients(tokens, targets, params, config, rng, where)


@EACH
def test_a_cache_changes_nothing(form, rng):
    laws.expect_same_with_a_cache(*made(form, rng), rng, eps=512)


LENGTHS = (2, 5, 4)


def padded(config, rng, at_the_start=False):
    """Sequences of unequal lengths, and one batch of them with its mask."""
    S = max(LENGTHS)
    batch = rng.integers(0, config.vocab, (len(LENGTHS), S))
    mask = padding_mask(LENGTHS, S)
    if at_the_start:
        mask = mask[..., ::-1]
    return (
        batch,
        mask,
        [row[real] for row, real in zip(batch, mask[:, 0, 0], strict=True)],
    )


ADDED, BY_COLUMN = ("learned", "sinusoidal"), ("alibi", "t5")


def numbered(mask, config):
    """The position of each token among its sequence's own, or None."""
    if config.positions in BY_COLUMN:
        return None
    rows = mask[:, 0, 0].tolist()
    return [[sum(row[:t]) for t in range(len(row))] for row in rows]


@EACH
@pytest.mark.parametrize("at_the_start", [False, True])
def test_a_padded_batch_gives_what_each_sequence_gives(
    form, at_the_start, rng
):
    config, params = made(form, rng)
    batch, mask, alone = padded(config, rng, at_the_start)
    choices = [None, numbered(mask, config)]
    if at_the_start and config.positions in ADDED:
        choices.pop(0)  # refused, as a test below shows
    for positions in choices:
        more = {"mask": mask, "positions": positions}
        logits = transformer(batch, params, config, **more)
        for row, sequence in enumerate(alone):
            expected = transformer(sequence, params, config)
            assert_close(logits[row][mask[row, 0, 0]], expected, eps=512)
    kept = forward(batch, params, config, **more)
    for layer in kept.layers:
        if layer.attended is not None:
            hidden = ~np.broadcast_to(mask, layer.attended.weights.shape)
            assert not layer.attended.weights[hidden].any()


@EACH
def test_a_padded_batch_is_continued_from_its_caches(form, rng):
    config, params = made(form, rng)
    batch, mask, alone = padded(config, rng)
    # The new token comes behind the padding, which stays hidden.
    tokens = np.append(batch, [[1], [2], [3]], axis=1)
    longer = np.append(mask, np.ones((len(LENGTHS), 1, 1, 1), bool), axis=-1)
    at = numbered(longer, config)
    more = {"mask": longer, "positions": at}
    whole = transformer(tokens, params, config, **more)
    cache = new_cache(config, batch=(len(LENGTHS),))
    transformer(batch, params, config, cache=cache, mask=mask)
    if at is not None:
        more["positions"] = [row[-1:] for row in at]
    last = transformer(tokens[:, -1:], params, config, cache=cache, **more)
    assert_close(last[:, 0], whole[:, -1], eps=512)
    windows = [config.of_block(i).window for i in range(config.n_layers)]
    if config.positions in BY_COLUMN or any(windows):
        return  # they count columns, of padding too
    for row, sequence in enumerate(alone):
        expected = transformer([*sequence, row + 1], params, config)
        assert_close(last[row, 0], expected[-1], eps=512)


@pytest.mark.parametrize("kind", ADDED)
def test_a_mask_that_moves_positions_is_refused(kind, rng):
    config = replace(SMALL, positions=kind)
    params, tokens = init_transformer(rng, config), [[3, 1, 2], [1, 2, 3]]
    by_head = np.ones((2, 3, 3), bool)
    by_head[0, :, 0] = False
    rule = f"if mask hides a token before .*: {kind} positions count it$"
    for mask, moved in (
        ([False, True, True], True),
        ([True, False, True], True),
        ([[[[True] * 3]], [[[False, False, True]]]], True),
        ([True, False, False], False),
        ([False, False, False], False),
        (~np.eye(3, dtype=bool), False),
        (by_head, False),  # the other head attends to it
    ):
        transformer(tokens, params, config, mask=mask, positions=[0, 1, 2])
        if not moved:
            transformer(tokens, params, config, mask=mask)
            continue
        with pytest.raises(ValueError, match=rule):
            transformer(tokens, params, config, mask=mask)
        # The same where the hidden tokens are in the cache.
        cache = new_cache(config, batch=(2,))
        transformer([row[:2] for row in tokens], params, config, cache=cache)
        with pytest.raises(ValueError, match=rule):
            transformer([[1], [1]], params, config, cache=cache, mask=mask)
        assert len(cache[0]) == 2


@EACH
def test_gradients_of_a_padded_batch_equal_differences(form, rng):
    config, params = made(form, rng)
    batch, mask, _ = padded(config, rng, config.positions not in ADDED)
    targets, where = rng.integers(0, config.vocab, batch.shape), mask[:, 0, 0]
    laws.expect_gradients(batch, targets, params, config, rng, where, mask)


def test_a_mask_that_does_not_fit_leaves_the_caches(rng):
    params = init_transformer(rng, SMALL)
    cache = new_cache(SMALL, batch=(3,))
    mask = padding_mask(LENGTHS, 4 + 1)
    with pytest.raises(ValueError, match=re.escape("got mask (3, 1, 1, 5)")):
        transformer(
            np.ones((3, 4), int), params, SMALL, cache=cache, mask=mask
        )
    with pytest.raises(TypeError, match="mask must be boolean"):
        transformer([1, 2], params, SMALL, mask=[1, 1])
    assert [len(stored) for stored in cache] == [0, 0]


@EACH
def test_float32_is_kept(form, rng):
    config, params = made(form, rng)
    params = laws.expect_single_precision(config, params, rtol=1e-4)
    _, gradients = loss_and_gradients([1, 2], [2, 3], params, config)
    state = adam_init(params)
    params, state = adam_step(params, gradients, state)
    for arrays in (gradients, params, state.mean, state.square):
        assert {x.dtype for x in arrays.values()} == {np.dtype(np.float32)}


@EACH
def test_no_token_sees_a_later_one(form, rng):
    laws.expect_no_look_ahead(*made(form, rng), rng, eps=512)


@EACH
def test_runs_are_models_apart(form, rng):
    config, _ = made(form, rng)
    params = init_transformer(rng, config, runs=(3,), std=0.4)
    tokens, targets = rng.integers(0, config.vocab, (2, 3, 4, 5))
    where = rng.random((3, 4, 5)) < 0.6
    loss, gradients = loss_and_gradients(
        tokens, targets, params, config, where=where
    )
    assert loss.shape == (3,)
    for r in range(3):
        own = {name: x[r] for name, x in params.items()}
        alone, d = loss_and_gradients(
            tokens[r], targets[r], own, config, where=where[r]
        )
        assert_close(loss[r], np.float64(alone))
        for name in params:
            assert_close(gradients[name][r], d[name], eps=256)


def test_frequencies_take_the_place_of_the_base(rng):
    config, params = made("as Llama", rng)
    tokens = rng.integers(0, 7, 6)
    same = replace(config, frequencies=(1.0, 0.01))  # 10000^(-2/4)
    expected = transformer(tokens, params, config)
    assert_close(transformer(tokens, params, same), expected, eps=256)
    slower = replace(config, frequencies=(0.5, 0.005))
    assert abs(transformer(tokens, params, slower) - expected).max() > 0.01


def test_blocks_share_the_table_of_t5(rng):
    config, params = made("T5", rng)
    assert params["positions"].shape == (4, 2)
    none = replace(config, positions=None)
    rest = {n: x for n, x in params.items() if n != "positions"}
    # A number that all buckets of a head share drops out of the softmax.
    level = params | {"positions": np.array([[3.0, -2.0]] * 4)}
    tokens = rng.integers(0, 7, (2, 6))
    assert_close(
        transformer(tokens, level, config),
        transformer(tokens, rest, none),
        eps=512,
    )


def test_t5_has_32_buckets_up_to_128_positions():
    # Raffel et al. 2020, section 2.1.
    config = replace(SMALL, positions="t5")
    assert parameter_shapes(config)["positions"] == (32, config.n_heads)
    assert config.max_distance == 128


def test_a_switched_off_head_adds_nothing(rng):
    config, params = made("as GPT-2", rng)
    tokens = rng.integers(0, 7, (2, 5))
    off = np.array([[1.0, 0.0], [1.0, 1.0]])
    without = dict(params)
    without["0.W_O"] = params["0.W_O"].copy()
    without["0.W_O"][4:] = 0  # the rows of W_O that head 1 meets
    assert_close(
        forward(tokens, params, config, heads=off).logits,
        forward(tokens, without, config).logits,
    )
    ones = forward(tokens, params, config, heads=np.ones((2, 2))).logits
    np.testing.assert_array_equal(ones, transformer(tokens, params, config))


def test_what_is_kept_is_what_was_computed(rng):
    config, params = made("as GPT-2", rng)
    kept = forward(rng.integers(0, 7, (2, 5)), params, config)
    assert [layer.block for layer in kept.layers] == [0, 0, 1, 1]
    assert [layer.attended is None for layer in kept.layers] == [
        False,
        True,
        False,
        True,
    ]
    first = kept.layers[0]
    gain, bias = params["0.norm_1.gain"], params["0.norm_1.bias"]
    assert_close(first.read, model.layer_norm(first.normed, gain, bias))
    np.testing.assert_array_equal(first.read, first.attended.X)
    final = model.layer_norm(
        kept.stream, params["norm.gain"], params["norm.bias"]
    )
    assert_close(kept.logits, final @ params["embedding"].T)


# Parameters ---------------------------------------------------------------

# "GPT-2" in Hugging Face's and Karpathy's counts; the total of each is
# what those models have when the output matrix is the embedding.
GPT_2 = {
    "small": ({"d_model": 768, "n_layers": 12, "n_heads": 12}, 124_439_808),
    "medium": ({"d_model": 1024, "n_layers": 24, "n_heads": 16}, 354_823_168),
    "large": ({"d_model": 1280, "n_layers": 36, "n_heads": 20}, 774_030_080),
    "XL": ({"d_model": 1600, "n_layers": 48, "n_heads": 25}, 1_557_611_200),
}


@pytest.mark.parametrize("name", GPT_2)
def test_the_counts_of_gpt_2(name):
    sizes, expected = GPT_2[name]
    config = TransformerConfig(
        vocab=50257, max_len=1024, d_ff=4 * sizes["d_model"], **sizes
    )
    assert parameter_count(config) == expected


def test_the_count_of_llama_2_7b():
    config = TransformerConfig(
        vocab=32000,
        max_len=4096,
        d_model=4096,
        n_layers=32,
        n_heads=32,
        d_ff=11008,
        norm_kind="rms",
        positions="rotary",
        bias=False,
        tied=False,
    )
    # Its feed-forward network has a third matrix, which gates.
    assert parameter_count(config) + 32 * 4096 * 11008 == 6_738_415_616


@EACH
def test_initial_parameters_have_their_shapes_and_spreads(form, rng):
    config = replace(SMALL, **FORMS[form] | {"vocab": 70, "blocks": None})
    config = replace(config, d_model=64, n_heads=4, n_kv_heads=2, n_layers=8)
    config = replace(config, max_len=60)
    config = replace(config, num_buckets=40, max_distance=60)
    params = init_transformer(rng, config)
    shapes = parameter_shapes(config)
    assert {name: x.shape for name, x in params.items()} == shapes
    assert parameter_count(config) == sum(x.size for x in params.values())
    wide = init_transformer(rng, config, std=None)
    for name, x in params.items():
        if name.endswith("gain"):
            assert (x == 1).all()
        elif name.endswith(("bias", "sinks")):
            assert (x == 0).all()
        else:
            summed = name.endswith(("W_O", "W_2"))
            usual = 0.02 / (4 if summed else 1)  # sqrt(2 * 8)
            inside = "W_" in name
            rows = math.sqrt(len(x)) if inside else 50
            assert 0.85 < x.std() / usual < 1.15, name
            assert 0.85 < wide[name].std() * rows * (4 if summed else 1) < 1.15
            assert abs(x.mean()) < usual / 3


def test_runs_start_apart(rng):
    params = init_transformer(rng, SMALL, runs=(2, 3))
    assert params["0.W_Q"].shape == (2, 3, 8, 8)
    assert params["norm.gain"].shape == (2, 3, 8)
    table = params["embedding"].reshape(6, -1)
    assert len(np.unique(table, axis=0)) == 6


# Adam -----------------------------------------------------------------------


def plain_adam(x, gradients, lr, keep_1, keep_2, eps):
    """One number through Adam, as sums over all steps so far."""
    for t in range(1, len(gradients) + 1):
        m = v = 0.0
        for i, g in enumerate(gradients[:t]):
            m += (1 - keep_1) * keep_1 ** (t - 1 - i) * g
            v += (1 - keep_2) * keep_2 ** (t - 1 - i) * g * g
        m, v = m / (1 - keep_1**t), v / (1 - keep_2**t)
        x -= lr * m / (math.sqrt(v) + eps)
    return x


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"lr": 0.1, "betas": (0.5, 0.7), "eps": 0.3},
        {"betas": (0, 0.9)},  # no memory of the gradients
    ],
)
def test_adam_equals_its_sums(rng, more):
    gradients = rng.normal(size=(7, 4))
    params = {"x": rng.normal(size=4), "y": rng.normal(size=4)}
    start, state = params, adam_init(params)
    for g in gradients:
        params, state = adam_step(params, {"x": g, "y": -2 * g}, state, **more)
    full = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8} | more
    rest = (full["lr"], *full["betas"], full["eps"])
    for name, factor in (("x", 1), ("y", -2)):
        expected = [
            plain_adam(
                start[name][i], (factor * gradients[:, i]).tolist(), *rest
            )
            for i in range(4)
        ]
        assert_close(params[name], np.array(expected), eps=64)
    assert state.step == 7


def test_adam_changes_nothing_in_place(rng):
    params, gradients = {"x": np.ones(2)}, {"x": np.ones(2)}
    state = adam_init(params)
    adam_step(params, gradients, state)
    np.testing.assert_array_equal(params["x"], 1)
    np.testing.assert_array_equal(gradients["x"], 1)
    assert state.step == 0
    np.testing.assert_array_equal(state.mean["x"], 0)
    np.testing.assert_array_equal(state.square["x"], 0)


# Generation ---------------------------------------------------------------


@EACH
def test_generation_equals_the_loop_without_a_cache(form, rng):
    config, params = made(form, rng)
    config = replace(config, positions=config.positions)
    prompt = rng.integers(0, 7, (2, 2))
    for options in ({}, {"temperature": 0}, {"top_k": 3, "top_p": 0.8}):
        draws = np.random.default_rng(5)
        result = generate(draws, prompt, params, config, 4, **options)
        draws, tokens = np.random.default_rng(5), prompt
        for _ in range(4):
            logits = transformer(tokens, params, config)[:, -1]
            chances = next_token_probabilities(logits, **options)
            u = draws.random(2)
            new = [
                np.searchsorted(np.cumsum(row) / row.sum(), x, "right")
                for row, x in zip(chances, u, strict=True)
            ]
            tokens = np.column_stack([tokens, new])
        np.testing.assert_array_equal(result, tokens)


def test_a_stop_token_ends_each_sequence(rng):
    config = replace(SMALL, max_len=40, vocab=4)
    params = laws.of_a_size(rng, config, 0.4, 0.2)
    for shape in ((6, 3), (3,), (2, 2, 1)):
        prompt = rng.integers(0, 4, shape)
        for n in (0, 1, 8, 30):
            whole, result = (
                generate(np.random.default_rng(7), prompt, params, config, n,
                         **more)
                for more in ({}, {"stop": 2})
            )  # fmt: skip
            rows = whole.reshape(-1, shape[-1] + n).tolist()
            ends = []
            for row in rows:
                new = row[shape[-1] :]
                ends.append(new.index(2) + 1 if 2 in new else n)
                row[shape[-1] + ends[-1] :] = [2] * (n - ends[-1])
            expected = [row[: shape[-1] + max(ends)] for row in rows]
            assert result.reshape(len(rows), -1).tolist() == expected
    assert len(set(ends)) > 1  # some go on when others have ended
    assert max(ends) < n


def peak(function, *arguments):
    """The most bytes that a call takes at any moment."""
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_logits_alone_keep_no_layers(rng):
    config = replace(SMALL, max_len=64, d_model=32, d_ff=64, n_layers=16)
    params, tokens = init_transformer(rng, config), rng.integers(0, 7, 64)
    kept = peak(forward, tokens, params, config)
    # Sixteen blocks: what is kept grows with them, and one does not.
    assert peak(transformer, tokens, params, config) < kept / 4


def test_generation_scores_the_last_token_alone(rng):
    config = replace(SMALL, vocab=20_000, max_len=80)
    params, tokens = init_transformer(rng, config), rng.integers(0, 7, 79)
    table = 79 * 20_000 * 8
    assert peak(transformer, tokens, params, config) > table
    assert peak(generate, rng, tokens, params, config, 1) < table / 2


def test_tokens_are_drawn_as_often_as_they_should(rng):
    chances = np.tile([0.5, 0.0, 0.3, 0.2], (20000, 1))
    drawn = sampling._draw(rng, chances)
    share = np.bincount(drawn, minlength=4) / 20000
    assert share[1] == 0
    np.testing.assert_allclose(share, chances[0], atol=0.015)  # 4 deviations


def test_a_token_without_a_chance_is_never_drawn():
    for number, chances, token in (
        (0.0, [0.0, 1.0], 1),  # the least that a generator gives
        (0.99, [0.25, 0.25], 1),  # rounded sums may end below 1
        (0.0, [0.5, 0.5], 0),
    ):
        rng = SimpleNamespace(random=lambda shape, u=number: np.full(shape, u))
        assert sampling._draw(rng, np.array([chances, chances])).tolist() == [
            token, token,
        ]  # fmt: skip


def wanted_chances(logits, temperature, top_k, top_p):
    """Sort, keep, cut and share out again, in plain Python."""
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    if temperature == 0:
        return [float(i == order[0]) for i in range(len(logits))]
    order = order[: top_k or len(order)]
    size = {
        i: math.exp((logits[i] - max(logits)) / temperature) for i in order
    }
    total = sum(size.values())
    kept, so_far = [], 0.0
    for i in order:
        if so_far / total >= (top_p or 1):
            break
        kept.append(i)
        so_far += size[i]
    total = sum(size[i] for i in kept)
    return [size[i] / total if i in kept else 0.0 for i in range(len(logits))]


@pytest.mark.parametrize("temperature", [0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("top_k", [None, 1, 3, 8, 99])
@pytest.mark.parametrize("top_p", [None, 0.01, 0.5, 0.9, 1])
def test_next_token_probabilities_equal_the_loop(
    rng, temperature, top_k, top_p
):
    logits = rng.normal(0, 2, size=(5, 8))
    logits[1, 2:5] = logits[1].max()  # equal ones
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    result = next_token_probabilities(logits, **options)
    expected = [wanted_chances(row.tolist(), **options) for row in logits]
    assert_close(result, np.array(expected))
    np.testing.assert_allclose(result.sum(-1), 1, rtol=1e-14)
    alone = next_token_probabilities(logits[1], **options)
    assert alone.tolist() == result[1].tolist()


def test_of_many_equal_logits_the_first_are_kept():
    logits = np.tile([1.0, 2.0], 5000)
    one = next_token_probabilities(logits, temperature=0)
    assert np.flatnonzero(one).tolist() == [1]
    three = next_token_probabilities(logits, top_k=3)
    assert np.flatnonzero(three).tolist() == [1, 3, 5]


def test_a_sum_of_just_top_p_is_enough():
    half = next_token_probabilities([0.0, 0.0], top_p=0.5)
    assert half.tolist() == [1, 0]
    # All of them are all of them, also where a sum is rounded to 1 before.
    assert next_token_probabilities([0.0, -40.0], top_p=1)[1] > 0


def test_a_tiny_temperature_is_nearly_none():
    logits = np.array([1.0, 2.0, 1.5])
    for temperature in (1e-3, 1e-300, 5e-324):
        result = next_token_probabilities(logits, temperature=temperature)
        np.testing.assert_allclose(result, [0, 1, 0], atol=1e-12)
        rows = next_token_probabilities(
            [logits, logits + 10], temperature=temperature
        )
        np.testing.assert_array_equal(rows, [result, result])


def test_a_temperature_as_large_or_small_as_the_logits():
    for logits, temperature, apart in (
        ([1.7e308, -1.7e308], 1e308, 3.4),
        ([1.5e308, -1.5e308], 1.0, math.inf),
        ([5e-324, 0.0], 5e-324, 1),  # the least number, whose half is 0
    ):
        result = next_token_probabilities(logits, temperature=temperature)
        odds = math.exp(-apart)
        expected = [1 / (1 + odds), odds / (1 + odds)]
        np.testing.assert_allclose(result, expected, rtol=1e-12)


# Refusals -------------------------------------------------------------------

ONE_OF = (
    "positions, where blocks have their own, must be one of 'rotary', None"
)
IMPOSSIBLE = {
    "n_heads must divide d_model; got 3 and 8": {"n_heads": 3},
    "n_kv_heads must divide n_heads; got n_kv_heads 3 and n_heads 4": {
        "n_heads": 4,
        "n_kv_heads": 3,
    },
    "norm must be one of 'pre', 'post', 'output', 'sandwich'; got 'both'": {
        "norm": "both"
    },
    "query_key_norm must be one of None, 'head', 'whole'; got 'heads'": {
        "query_key_norm": "heads"
    },
    "norm_kind must be one of 'layer', 'rms'; got ['layer']": {
        "norm_kind": ["layer"]
    },
    "positions must be one of 'learned', 'sinusoidal', 'rotary', 'alibi', "
    "'t5', None; got 'rope'": {"positions": "rope"},
    "activation must be one of 'gelu', 'gelu_tanh', 'relu', 'silu'; got": {
        "activation": "swish"
    },
    "2, for pairs of columns, must divide d_k; got 2 and 3": {
        "head_width": 3,
        "positions": "rotary",
    },
    "2, for pairs of columns, must divide d_model; got 2 and 9": {
        "d_model": 9,
        "n_heads": 3,
        "positions": "sinusoidal",
    },
    "logits_softcap must be above 0; got -1.0": {"logits_softcap": -1},
    "softcap must be above 0; got 0.0": {"softcap": 0},
    'softcap must be None with positions "t5"': {
        "softcap": 5,
        "positions": "t5",
    },
    "base must be at least 1; got 0.5": {"base": 0.5},
    "eps must be at least 0; got -1": {"eps": -1},
    "frequencies must have at most one per two columns of a head; got 3 and "
    "d_k 4": {"frequencies": (1.0, 0.1, 0.01)},
    "frequencies[1] must be finite; got inf": {"frequencies": (1.0, math.inf)},
    "max_distance must exceed the distances with a bucket each; got 16 and": {
        "max_distance": 16
    },
    "blocks must have one dict per layer; got 1 and 2": {"blocks": ({},)},
    "a name in blocks[1] must be one of 'positions', 'window', 'base', "
    "'frequencies', 'memory'; got 'd_ff'": {"blocks": ({}, {"d_ff": 3})},
    f"{ONE_OF}; got 'learned'": {"blocks": ({}, {"positions": None})},
    f"{ONE_OF}; got 'alibi'": {
        "positions": None,
        "blocks": ({"positions": "alibi"}, {}),
    },
}
OF_ANOTHER_TYPE = {
    "blocks must be a tuple of dicts; got ['a']": {"blocks": ["a"]},
    "blocks must be a tuple of dicts; got (1, 2)": {"blocks": (1, 2)},
    "frequencies must be a tuple; got [1.0]": {"frequencies": [1.0]},
    "frequencies[0] must be a number; got '1'": {"frequencies": ("1",)},
}


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_a_configuration_refuses(message):
    refused(lambda: replace(SMALL, **IMPOSSIBLE[message]), message)


@pytest.mark.parametrize("message", OF_ANOTHER_TYPE)
def test_a_configuration_refuses_a_type(message):
    change = OF_ANOTHER_TYPE[message]
    refused(lambda: replace(SMALL, **change), message, TypeError)


PARAMS = init_transformer(np.random.default_rng(0), SMALL)
RUNS = init_transformer(np.random.default_rng(0), SMALL, runs=(2,))
WITHOUT = {name: x for name, x in PARAMS.items() if name != "0.W_Q"}
OUTSIDE = "must lie between 0 and 6, the last of the vocabulary; got"
PLACES = "positions must be at least 0 and below max_len, 6; got"
BETAS = "betas must be at least 0 and below 1; got"


def run(tokens, params=PARAMS, **more):
    return lambda: transformer(tokens, params, SMALL, **more)


def go_on(tokens, n, params=PARAMS, **more):
    rng = np.random.default_rng(0)
    return lambda: generate(rng, tokens, params, SMALL, n, **more)


def draw(**options):
    return [
        lambda: next_token_probabilities([1.0], **options),
        go_on([1], 1, **options),
    ]


def by_columns(kind):
    config = replace(SMALL, positions=kind)
    params = init_transformer(np.random.default_rng(0), config)
    return lambda: transformer([1, 2], params, config, positions=[0, 1])


def step(x=1.0, g=1.0, dtype="d", **options):
    """A step of Adam from these numbers, in this type."""
    params, slopes = ({"x": np.array([n], dtype)} for n in (x, g))
    return lambda: adam_step(params, slopes, adam_init(params), **options)


TWO, THREE = {"x": np.ones(2)}, {"x": np.ones(3)}
REFUSED = {
    f"tokens {OUTSIDE} 7": [run([7]), go_on([7], 1)],
    f"stop {OUTSIDE} 7": go_on([1], 2, stop=7),
    "at most max_len = 6 tokens fit; got tokens (7,)": run([0] * 7),
    "at most max_len = 6 tokens fit; got tokens (5,) and n 2": go_on(
        [1] * 5, 2
    ),
    "tokens must hold at least one token; got (0,)": go_on([], 1),
    "tokens must hold at least one token; got ()": go_on(3, 1),
    "tokens must have axes (..., T), the runs of the parameters first; got "
    "tokens ()": run(3),
    "tokens must have axes (2, ..., T), the runs of the parameters first; got "
    "tokens (3, 4)": run(np.zeros((3, 4), int), RUNS),
    "tokens must have axes (2, ..., T), the runs of the parameters first; got "
    "tokens (2,)": run([1, 2], RUNS),
    f"{PLACES} 6": run([1, 2], positions=[0, 6]),
    f"{PLACES} -1": run([1, 2], positions=[-1, 0]),
    "positions must broadcast to tokens; got positions (3,) and tokens (2,)": (
        run([1, 2], positions=[0, 1, 2])
    ),
    "positions must be None with 'alibi', which counts columns; pad before "
    "the sequences instead": by_columns("alibi"),
    "positions must be None with 't5', which counts columns": by_columns("t5"),
    "params must have the names of parameter_shapes; 0.W_Q is missing": [
        run([1], WITHOUT),
        go_on([1], 1, WITHOUT),
    ],
    "params must have the names of parameter_shapes; W is not one": run(
        [1], PARAMS | {"W": np.ones(2)}
    ),
    "0.W_Q must be (8, 8) to fit config and embedding; got (8, 4)": run(
        [1], PARAMS | {"0.W_Q": np.ones((8, 4))}
    ),
    "positions must be (9, 6, 8) to fit config and embedding; got (6, 8)": run(
        [1], PARAMS | {"embedding": np.ones((9, 7, 8))}
    ),
    "std must be above 0; got 0": lambda: init_transformer(
        np.random.default_rng(0), SMALL, std=0
    ),
    "runs[1] must be at least 1; got 0": lambda: init_transformer(
        np.random.default_rng(0), SMALL, runs=(2, 0)
    ),
    "heads must have a factor for each head of each layer; got heads (2,) and "
    "(n_layers, n_heads) (2, 2)": lambda: forward(
        [1], PARAMS, SMALL, heads=[1.0, 1.0]
    ),
    "at least one position must count; got targets (2, 4) and where (2, 4)": (
        lambda: loss_and_gradients(
            *np.ones((2, 2, 4), int),
            RUNS,
            SMALL,
            where=np.repeat([[True], [False]], 4, axis=1),
        )
    ),
    "logits must have axes (..., vocab); got logits ()": lambda: (
        next_token_probabilities(1.0)
    ),
    "the number of logits must be at least 1; got 0": lambda: (
        next_token_probabilities(np.zeros((2, 0)))
    ),
    "temperature must be at least 0; got -1.0": draw(temperature=-1),
    "top_k must be at least 1; got 0": draw(top_k=0, temperature=0),
    "top_p must be above 0 and at most 1; got 0": draw(top_p=0),
    "top_p must be above 0 and at most 1; got 1.5": draw(top_p=1.5),
    # In float16 the default is 0, and 0 / 0 is no number.
    "eps must be above 0 in float16; got 1e-08": step(g=0, dtype="e"),
    "eps must be above 0 in float32; got 1e-50": step(
        g=0, dtype="f", eps=1e-50
    ),
    "eps must be above 0 in float64; got 0.0": step(eps=0),
    "the square of the gradient of x overflows float16": step(
        g=300, dtype="e", betas=(0.0, 0.0), eps=1e-4
    ),
    "the square of the gradient of x overflows float64": step(g=1e200),
    "gradients['x'] must be finite; got nan at gradients['x'][(0,)]": step(
        g=np.nan
    ),
    "x must be finite": step(x=np.nan),
    "the step of x overflows float32": step(3e38, -1, dtype="f", lr=3e38),
    "lr must be above 0; got 0": step(lr=0),
    "betas must be two numbers; got (0.9,)": step(betas=(0.9,)),
    "betas must be two numbers; got 0.9": step(betas=0.9),
    f"{BETAS} (0.9, 1.0)": step(betas=(0.9, 1.0)),
    f"{BETAS} (-0.1, 0.9)": step(betas=(-0.1, 0.9)),
    "params and gradients must have the same names; x is in only one": (
        lambda: adam_step(TWO, {"y": np.ones(2)}, adam_init(TWO))
    ),
    "gradients must have the shapes of params; got x (3,) and (2,)": lambda: (
        adam_step(TWO, THREE, adam_init(TWO))
    ),
    "state must have the shapes of params; got x (3,) and (2,)": lambda: (
        adam_step(TWO, TWO, adam_init(THREE))
    ),
}


@each(REFUSED)
def test_a_model_refuses(message, call):
    refused(call, message)


NO_CONFIG = "config must be a TransformerConfig; got "
NO_NUMBER = "must be a number; got 'a'"
REFUSED_TYPES = {
    f"{NO_CONFIG}dict": [
        lambda: parameter_count({}),
        lambda: generate(np.random.default_rng(0), [1], PARAMS, {}, 2),
    ],
    f"{NO_CONFIG}NoneType": lambda: new_cache(None),
    "positions must be integers; got float64": run(
        [1, 2], positions=[0.0, 1.0]
    ),
    "runs must be a tuple; got 2": lambda: init_transformer(
        np.random.default_rng(0), SMALL, runs=2
    ),
    f"std {NO_NUMBER}": lambda: init_transformer(
        np.random.default_rng(0), SMALL, std="a"
    ),
    f"top_p {NO_NUMBER}": draw(top_p="a"),
    f"betas {NO_NUMBER}": step(betas=(0.9, "a")),
}


@each(REFUSED_TYPES)
def test_a_model_refuses_a_type(message, call):
    refused(call, message, TypeError)


def test_a_refused_call_leaves_the_cache():
    cache = new_cache(SMALL)
    transformer([1, 2], PARAMS, SMALL, cache=cache)
    refused(
        run([0] * 5, cache=cache),
        "at most max_len = 6 tokens fit; got tokens (5,) after 2 in the cache",
    )
    assert [len(stored) for stored in cache] == [2, 2]


def test_refuses_nan_in_a_parameter(rng):
    params = init_transformer(rng, SMALL)
    for name in ("embedding", "positions", "0.W_Q", "1.W_O", "0.W_1",
                 "0.norm_1.gain"):  # fmt: skip
        bad = params | {name: np.full_like(params[name], np.nan)}
        named = name.rpartition(".")[2]
        with pytest.raises(ValueError, match=f"^{named} must be finite; got"):
            transformer([1], bad, SMALL)


def test_caches_are_what_they_were_when_a_call_fails(rng):
    params = init_transformer(rng, SMALL)
    cache = new_cache(SMALL)
    transformer([1, 2], params, SMALL, cache=cache)
    large = params | {"1.W_K": np.full((8, 8), 1e308)}
    with pytest.raises(ValueError, match="overflow"):
        transformer([3], large, SMALL, cache=cache)
    assert [len(stored) for stored in cache] == [2, 2]
    last = transformer([3], params, SMALL, cache=cache)
    whole = transformer([1, 2, 3], params, SMALL)
    assert_close(last[0], whole[2], eps=512)


def test_caches_that_do_not_belong_together_are_refused(rng):
    params = init_transformer(rng, SMALL)

    def call(cache):
        return lambda: transformer([1], params, SMALL, cache=cache)

    first, second = new_cache(SMALL)
    transformer([1, 2], params, SMALL, cache=[first, new_cache(SMALL)[0]])
    rule = "caches must hold equally many tokens, and none may come twice; got"
    refused(call([first, second]), f"{rule} [2, 0]")
    refused(call([second, second]), f"{rule} [0, 0]")
    rule = "cache must be a list of 2 KVCache, one for each block; got"
    refused(call([second]), f"{rule} 1 of them", TypeError)
    refused(call(second), f"{rule} KVCache", TypeError)
    assert len(second) == 0


def test_parameters_are_arrays_of_floats(rng):
    params = init_transformer(rng, SMALL)
    for other, kind in (
        (params["positions"].astype(int), "int64"),
        (params["positions"].tolist(), "list"),
        (params["positions"] > 0, "bool"),
    ):
        refused(
            lambda p=params | {"positions": other}: transformer([1], p, SMALL),
            f"positions must be an array of floats; got {kind}",
            TypeError,
        )
    # Each gradient is of the type of its parameter, whatever the others are.
    mixed = params | {"0.W_Q": params["0.W_Q"].astype("f")}
    _, gradients = loss_and_gradients([1, 2], [2, 3], mixed, SMALL)
    assert {n for n, g in gradients.items() if g.dtype == "f"} == {"0.W_Q"}


def test_whole_numbers_of_any_kind_are_tokens(rng):
    params = init_transformer(rng, SMALL)
    for kind in (np.uint64, np.int8):
        given = np.array([3, 1], kind)
        for n in (0, 2):
            made = generate(rng, given, params, SMALL, n, temperature=0)
            assert made.dtype == np.int64
            assert made[:2].tolist() == [3, 1]
            assert not np.shares_memory(made, given)


@pytest.mark.parametrize("base", [1.0, 1.5])
def test_a_base_may_be_as_low_as_one(base, rng):
    config = replace(SMALL, positions="rotary", base=base)
    params = init_transformer(rng, config)
    assert np.isfinite(transformer([1, 2], params, config)).all()


def test_adam_step_keeps_the_type_of_the_parameters():
    params = {"x": np.float32([1, 2])}
    some = {"x": np.float32([0.5, -1])}
    for more in (
        {"lr": np.float64(0.1)},
        {"eps": np.float64(1e-8)},
        {"betas": (np.float64(0.9), np.float64(0.99))},
    ):
        new, state = adam_step(params, some, adam_init(params), **more)
        arrays = (new["x"], state.mean["x"], state.square["x"])
        assert {x.dtype for x in arrays} == {np.dtype(np.float32)}
    params, _ = step(g=0, dtype="e", eps=1e-4)()
    assert params["x"].tolist() == [1]  # an eps that float16 holds


def test_a_half_precise_nucleus_is_that_of_the_same_logits():
    # In float16 a running sum of 32,000 chances stands still before 0.9.
    logits = np.random.default_rng(1).normal(0, 1.5, 32000).astype(np.float16)
    result = next_token_probabilities(logits, top_p=0.9)
    wide = next_token_probabilities(logits.astype(float), top_p=0.9)
    assert result.dtype == next_token_probabilities(logits).dtype == np.float16
    assert result.tolist() == wide.astype(np.float16).tolist()
    chances = sorted(softmax(logits.astype(float)), reverse=True)
    assert (wide > 0).sum() == 1 + (np.cumsum(chances) < 0.9).sum()
    tiny = next_token_probabilities(np.float16([1, 2]), temperature=1e-8)
    assert tiny.tolist() == [0, 1]


def test_generate_in_half_precision_draws_late_tokens_too(rng):
    # In float16 a running sum of 8,192 equal chances ends at a quarter.
    config = replace(SMALL, vocab=8192)
    params = {
        name: np.zeros(x.shape, np.float16)
        for name, x in init_transformer(rng, config).items()
    }
    drawn = generate(rng, np.zeros((2000, 1), int), params, config, 1)[:, 1]
    assert abs((drawn < 2048).mean() - 0.25) < 0.05
    assert drawn.max() > 8000
