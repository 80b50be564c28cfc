"""cost against loops that count, against published totals, and refused."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import attention
from helpers.cost import (
    Layer,
    arithmetic_intensity,
    attention_flops,
    cache_bytes,
    index_flops,
    kv_cache_bytes,
    latent_flops,
    projection_flops,
    roofline,
    scores_bytes,
    step_bytes,
    step_flops,
)
from helpers.heads import init_projections
from tests.core import reference
from tests.core import reference_cost as loops
from tests.core.refusals import refused

SIZES = st.integers(1, 5)
LENGTHS = st.integers(0, 5)
RATES = st.floats(1e-3, 1e15)


def matrix(rows, columns, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)).tolist()


def counted_attention(T, S, d_k, d_v, n_heads, batch):
    """Run every head of every sequence through the loop that counts."""
    total = dict.fromkeys(("scores", "scale", "softmax", "values"), 0)
    for _ in range(n_heads * batch):
        Q, K, V = matrix(T, d_k), matrix(S, d_k), matrix(S, d_v)
        for stage, count in loops.attention(Q, K, V)[1].items():
            total[stage] += count
    return total


# FLOPs


@given(SIZES, SIZES, SIZES, SIZES)
def test_the_loop_that_counts_is_attention(T, S, d_k, d_v):
    Q, K, V = matrix(T, d_k, 1), matrix(S, d_k, 2), matrix(S, d_v, 3)
    expected, _ = reference.attention(Q, K, V)
    output, _ = loops.attention(Q, K, V)
    np.testing.assert_allclose(output, expected, rtol=1e-13, atol=1e-15)


@given(SIZES, SIZES, SIZES, SIZES, st.integers(1, 3), st.integers(1, 3))
def test_attention_flops_are_what_the_loop_counts(T, S, d_k, d_v, H, B):
    counted = counted_attention(T, S, d_k, d_v, H, B)
    flops = attention_flops(T, S, d_k, d_v, n_heads=H, batch=B)
    assert list(flops) == ["scores", "scale", "softmax", "values", "total"]
    assert flops.pop("total") == sum(counted.values())
    assert flops == counted


@given(st.integers(0, 4), SIZES, st.integers(1, 3), SIZES, SIZES, SIZES)
def test_projection_flops_are_what_the_loop_counts(T, H_kv, G, d_k, d_v, B):
    d_model, H = 3, G * H_kv
    rng = np.random.default_rng(0)
    P = init_projections(rng, d_model, H, H_kv, d_k=d_k, d_v=d_v)
    counted = dict.fromkeys("QKVO", 0)
    for _ in range(B):
        X = matrix(T, d_model)
        for stage, W in zip("QKV", P[:3], strict=True):
            counted[stage] += loops.project(X, W.tolist())[1]
        joined = matrix(T, H * d_v)
        counted["O"] += loops.project(joined, P.W_O.tolist())[1]
    flops = projection_flops(T, d_model, H, H_kv, d_k=d_k, d_v=d_v, batch=B)
    assert list(flops) == ["Q", "K", "V", "O", "total"]
    assert flops.pop("total") == sum(counted.values())
    assert flops == counted


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ((5, 12, 3), {"n_kv_heads": 3, "d_k": 4, "d_v": 4}),
        ((5, 12, 6, 2), {"d_k": 2, "d_v": 2}),
    ],
)
def test_widths_that_are_not_given_follow_d_model(given, meant):
    assert projection_flops(*given) == projection_flops(*given, **meant)
    wider = projection_flops(5, 12, 3, d_k=7)
    assert wider == projection_flops(5, 12, 3, d_k=7, d_v=7)


def test_no_query_or_no_key_costs_nothing():
    assert set(attention_flops(0, 7, 2, 3).values()) == {0}
    assert set(attention_flops(7, 0, 2, 3).values()) == {0}
    assert set(projection_flops(0, 8, 2).values()) == {0}
    assert scores_bytes(0, 5, 2, 4) == scores_bytes(5, 0, 2, 4) == 0
    assert kv_cache_bytes(0, 2, 2, 4, 4, 2) == 0


# Published: karpathy/nanoGPT, transformer_sizing.ipynb (124M, 1024 tokens)


def test_a_model_counted_by_its_author():
    T, H, d_k, d_model = 1024, 12, 64, 768
    projections = projection_flops(T, d_model, H)
    core = attention_flops(T, T, d_k, d_k, n_heads=H)
    kqv = projections["Q"] + projections["K"] + projections["V"]
    assert kqv == 3_623_878_656
    assert core["scores"] == 1_610_612_736
    assert core["values"] == 1_610_612_736
    assert projections["O"] == 1_207_959_552
    products = core["scores"] + core["values"]
    assert projections["total"] + products == 8_053_063_680


# Bytes


@given(LENGTHS, LENGTHS, SIZES, SIZES, st.sampled_from([2, 4, 8]))
def test_scores_bytes_are_those_of_the_weights(T, S, H, B, itemsize):
    dtype = f"f{itemsize}"
    Q, K = np.zeros((B, H, T, 2), dtype), np.zeros((B, H, S, 2), dtype)
    weights = attention(Q, K, K).weights
    assert weights.dtype == dtype
    assert scores_bytes(T, S, H, itemsize, batch=B) == weights.nbytes


@given(LENGTHS, SIZES, SIZES, SIZES, SIZES, st.integers(1, 3))
def test_kv_cache_bytes_are_what_the_loop_stores(S, L, H_kv, d_k, d_v, B):
    stored = loops.cache(S, L, H_kv, d_k, d_v, B)
    for itemsize in (1, 2, 4):
        n_bytes = kv_cache_bytes(S, L, H_kv, d_k, d_v, itemsize, batch=B)
        assert n_bytes == stored * itemsize


@pytest.mark.parametrize(
    ("L", "H_kv", "d", "published"),
    [
        (12, 12, 64, 36 * 2**10),  # GPT-2 124M
        (48, 25, 64, 300 * 2**10),  # GPT-2 XL
        (40, 40, 128, 800 * 2**10),  # OPT-13B: vLLM paper, section 3
        (80, 8, 128, 327_680),  # Qwen-2.5 72B: arXiv 2505.09343, table 1
        (126, 8, 128, 516_096),  # Llama-3.1 405B: the same table
        (32, 8, 128, 128 * 2**10),  # Llama-3 8B
    ],
)
def test_bytes_a_token_as_published(L, H_kv, d, published):
    assert kv_cache_bytes(1, L, H_kv, d, d, 2) == published


def test_a_cache_as_published():
    # scaling-book, transformers: 8 GiB in int8, 64 layers, all heads 8192.
    assert kv_cache_bytes(8192, 64, 64, 128, 128, 1) == 8 * 2**30
    # The same book, inference: 6.7 (decimal) GB for LLaMA-13B at 8192.
    assert f"{kv_cache_bytes(8192, 40, 40, 128, 128, 2) / 1e9:.1f}" == "6.7"


# Exact


def test_counts_are_python_integers_of_any_size():
    n, d = np.int32(2**20), np.int32(2**7)
    flops = attention_flops(n, n, d, d, n_heads=d, batch=n)
    assert flops["scores"] == 2 * 2**20 * 2**20 * 2**7 * 2**7 * 2**20
    counts = [
        *flops.values(),
        *projection_flops(n, n, d, d, d_k=d, d_v=d, batch=n).values(),
        scores_bytes(n, n, d, np.int8(4), batch=n),
        kv_cache_bytes(n, d, d, d, d, np.int8(2), batch=n),
    ]
    assert {type(count) for count in counts} == {int}
    assert counts[9] == 4 * 2 * 2**20 * 2**20 * 2**20 * 2**14
    assert counts[-2] == 4 * 2**20 * 2**20 * 2**20 * 2**7
    assert counts[-1] == 2 * 2 * 2**20 * 2**20 * 2**7 * 2**7 * 2**7


@given(st.integers(0, 10**40), st.integers(1, 10**40))
def test_intensity_is_the_nearest_float(flops, n_bytes):
    exact = Fraction(flops, n_bytes)
    intensity = arithmetic_intensity(flops, n_bytes)
    error = abs(Fraction(intensity) - exact)
    for neighbour in (math.nextafter(intensity, s) for s in (0, math.inf)):
        assert error <= abs(Fraction(neighbour) - exact)


# The roofline


@given(st.integers(1, 10**15), st.integers(1, 10**15), RATES, RATES)
def test_the_roofline_is_the_slower_of_two_clocks(flops, n_bytes, peak, bw):
    bound = roofline(arithmetic_intensity(flops, n_bytes), peak, bw)
    least = loops.seconds(flops, n_bytes, peak, bw)
    assert math.isclose(bound, flops / least, rel_tol=1e-12)
    assert bound <= peak


def test_the_roofline_of_an_array():
    bound = roofline(np.array([[0, 1], [10, 64]]), 200, 20)
    assert bound.tolist() == [[0, 20], [200, 200]]
    assert roofline(0.5, 200, 20) == 10
    # Two small numbers in float16, whose product is not.
    assert roofline(np.float16(1000), 1e15, 1e9) == 1e12


def test_rates_of_any_size():
    assert roofline(1, 10**20, 10**19) == 1e19
    # The product leaves float64; the peak does not.
    assert roofline(1e300, 1e30, 1e20) == 1e30


# Refused


def test_a_ratio_beyond_every_float_is_refused():
    refused(
        lambda: arithmetic_intensity(10**400, 1),
        "flops / n_bytes must not exceed float64",
    )


LAYERS = [Layer("global", 1, 1, None, 1, 1)]
FUNCTIONS = {
    attention_flops: (
        {"T": 2, "S": 3, "d_k": 4, "d_v": 5, "n_heads": 2, "batch": 2},
        {"T", "S"},
    ),
    projection_flops: (
        {"T": 2, "d_model": 8, "n_heads": 4, "n_kv_heads": 1, "d_k": 4,
         "d_v": 5, "batch": 2},
        {"T"},
    ),
    scores_bytes: (
        {"T": 2, "S": 3, "n_heads": 2, "itemsize": 4, "batch": 2},
        {"T", "S"},
    ),
    kv_cache_bytes: (
        {"S": 2, "n_layers": 3, "n_kv_heads": 2, "d_k": 4, "d_v": 5,
         "itemsize": 2, "batch": 2},
        {"S"},
    ),
    latent_flops: (
        {"T": 2, "S": 3, "n_heads": 2, "d_c": 2, "d_r": 2, "d_k": 2, "d_v": 2,
         "batch": 2, "absorbed": True},
        {"T", "S"},
    ),
    index_flops: (
        {"T": 2, "S": 3, "n_heads": 2, "d_k": 2, "batch": 2}, {"T", "S"},
    ),
    cache_bytes: (
        {"layers": LAYERS, "S": 2, "itemsize": 2, "batch": 2}, {"S"},
    ),
    step_flops: ({"layers": LAYERS, "S": 2, "batch": 2}, {}),
    step_bytes: ({"layers": LAYERS, "S": 2, "itemsize": 2, "batch": 2}, {}),
    arithmetic_intensity: ({"flops": 3, "n_bytes": 4}, {"flops"}),
}  # fmt: skip
ARGUMENTS = [
    pytest.param(f, name, 0 if name in may_be_zero else 1,
                 id=f"{f.__name__}-{name}")
    for f, (sizes, may_be_zero) in FUNCTIONS.items()
    for name in sizes
    if name not in ("layers", "absorbed")
]  # fmt: skip


@pytest.mark.parametrize(("function", "name", "least"), ARGUMENTS)
def test_every_size_is_an_integer_of_a_least_size(function, name, least):
    sizes = FUNCTIONS[function][0]
    call = lambda value: function(**{**sizes, name: value})  # noqa: E731
    assert call(least + 1) != call(2 * least + 2)  # the size is used
    for wrong in (2.0, "3", [4]):
        message = f"{name} must be an integer; got {wrong!r}"
        refused(lambda wrong=wrong: call(wrong), message, TypeError)
    for wrong in (least - 1, -7):
        message = f"{name} must be at least {least}; got {wrong}"
        refused(lambda wrong=wrong: call(wrong), message)
    if least == 0:
        call(0)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_head_and_one_sequence_unless_more_are_given(function):
    sizes, takes = FUNCTIONS[function][0], inspect.signature(function)
    ones = {
        name: 1
        for name in ("n_heads", "batch")
        if name in sizes and takes.parameters[name].default is not takes.empty
    }
    needed = {name: n for name, n in sizes.items() if name not in ones}
    assert function(**needed) == function(**needed, **ones)


def test_heads_that_do_not_divide_are_refused():
    refused(
        lambda: projection_flops(2, 16, 8, 3),
        "n_kv_heads must divide n_heads; got n_kv_heads 3 and n_heads 8",
    )
    refused(
        lambda: projection_flops(2, 16, 3),
        "n_heads must divide d_model if d_k is not given; "
        "got n_heads 3 and d_model 16",
    )


def test_rates_and_intensities_are_in_their_range():
    for wrong in (0.0, -1.5):
        for name in ("peak_flops", "bandwidth"):
            rates = {"peak_flops": 200.0, "bandwidth": 20.0, name: wrong}
            refused(
                lambda rates=rates: roofline(1.0, **rates),
                f"{name} must be above 0; got {wrong}",
            )
    message = "intensity must be finite and at least 0; got"
    for wrong in (-0.5, math.inf, math.nan):
        call = lambda wrong=wrong: roofline(wrong, 200, 20)  # noqa: E731
        refused(call, f"{message} {wrong}")
    refused(lambda: roofline([1, -2], 200, 20), f"{message} [ 1. -2.]")
