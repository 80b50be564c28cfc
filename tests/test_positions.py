"""positions against loops, by property, and refused."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import reference
import reference_positions as loops
from closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import attention
from helpers.masks import causal_mask
from helpers.positions import (
    alibi_bias,
    alibi_slopes,
    rotary_embedding,
    sinusoidal_encoding,
)

SEEDS = st.integers(0, 2**32 - 1)
LENGTHS = st.sampled_from([1, 2, 3, 5, 7, 11])
WIDTHS = st.sampled_from([2, 4, 6, 10, 14])
LEADS = st.sampled_from([(), (3,), (2, 3)])
PAIRINGS = pytest.mark.parametrize("interleaved", [False, True])
RULES = pytest.mark.parametrize("rule", ["reference", "paper"])


def refused(error, message, call):
    with pytest.raises(error, match=re.escape(message)):
        call()


# Sinusoids


@given(LENGTHS, WIDTHS, st.sampled_from([1.0, 2.5, 10000.0]))
def test_sinusoids_equal_the_loop(T, d, base):
    expected = [
        [loops.sinusoid(t, c, d, base) for c in range(d)] for t in range(T)
    ]
    result = sinusoidal_encoding(T, d, base=base)
    assert_close(result, np.array(expected), eps=64)


def test_sinusoids_by_hand():
    # Section 3.5 of the paper with d_model = 4: 10000^(2/4) = 100.
    row = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
    assert_close(sinusoidal_encoding(4, 4)[3], np.array(row))
    assert sinusoidal_encoding(0, 6).shape == (0, 6)


@given(st.integers(0, 40), st.integers(0, 40), WIDTHS)
def test_one_rotation_moves_every_position_by_the_offset(t, offset, d):
    table = sinusoidal_encoding(t + offset + 1, d)
    for i in range(d // 2):
        angle = offset / 10000 ** (2 * i / d)
        cos, sin = math.cos(angle), math.sin(angle)
        turn = np.array([[cos, sin], [-sin, cos]])  # acts on (sine, cosine)
        pair = slice(2 * i, 2 * i + 2)
        assert_close(turn @ table[t, pair], table[t + offset, pair], eps=512)


@given(LENGTHS, WIDTHS)
def test_all_sinusoids_have_the_same_length(T, d):
    squared = (sinusoidal_encoding(T, d) ** 2).sum(-1)
    assert_close(squared, np.full(T, d / 2))


# RoPE


@given(
    SEEDS,
    LENGTHS,
    WIDTHS,
    LEADS,
    st.booleans(),
    st.sampled_from([np.float64, np.float32, np.float16]),
    st.sampled_from([10000.0, 500.0]),
)
def test_rotary_equals_the_loop(seed, T, d, lead, interleaved, dtype, base):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(*lead, T, d)).astype(dtype)
    positions = rng.integers(0, 2000, size=T)
    kept = X.copy()
    result = rotary_embedding(X, positions, base=base, interleaved=interleaved)
    expected = [
        loops.rotate(row, int(positions[i % T]), base, interleaved)
        for i, row in enumerate(X.reshape(-1, d).tolist())
    ]
    # Angles go up to 2000, so float64 keeps about 2000 eps of them. The
    # narrow types are rounded once.
    eps = 4096 if dtype is np.float64 else 2
    assert_close(
        result, np.array(expected).reshape(X.shape).astype(dtype), eps=eps
    )
    assert np.array_equal(X, kept)


@PAIRINGS
def test_positions_default_to_the_row_numbers(rng, interleaved):
    X = rng.normal(size=(2, 5, 6))
    plain = rotary_embedding(X, interleaved=interleaved)
    given_ = rotary_embedding(X, range(5), interleaved=interleaved)
    assert np.array_equal(plain, given_)
    assert_close(plain[:, 0], X[:, 0])
    assert np.abs(plain[:, 1] - X[:, 1]).max() > 0.1


@PAIRINGS
def test_each_sequence_can_have_its_own_positions(rng, interleaved):
    X = rng.normal(size=(2, 3, 5, 4))
    positions = np.array([[[0, 1, 2, 3, 4]], [[7, 8, 9, 10, 40]]])
    result = rotary_embedding(X, positions, interleaved=interleaved)
    for b in range(2):
        for h in range(3):
            alone = rotary_embedding(
                X[b, h], positions[b, 0], interleaved=interleaved
            )
            assert np.array_equal(result[b, h], alone)


def test_positions_may_lie_between_the_integers():
    # Half of a quarter turn, and a quarter turn backwards.
    assert_close(
        rotary_embedding([[1.0, 0.0]], [math.pi / 4]),
        np.full((1, 2), math.sqrt(0.5)),
    )
    assert_close(
        rotary_embedding([[1.0, 0.0]], [-math.pi / 2]), np.array([[0.0, -1.0]])
    )


@PAIRINGS
@pytest.mark.parametrize("d", [2, 6, 64])
def test_a_dot_product_depends_on_the_difference_alone(rng, d, interleaved):
    q, k = rng.normal(size=(2, 1, d)) / math.sqrt(d)

    def dot(m, n):
        q_m = rotary_embedding(q, [m], interleaved=interleaved)
        k_n = rotary_embedding(k, [n], interleaved=interleaved)
        return float((q_m @ k_n.T).item())

    for m, n in [(0, 0), (3, 1), (1, 3), (11, 5)]:
        for shift in (1, 17, 1000):
            assert abs(dot(m + shift, n + shift) - dot(m, n)) < 1e-12
    # The direction counts, not only the distance.
    assert abs(dot(3, 1) - dot(1, 3)) > 1e-3


@given(SEEDS, LENGTHS, WIDTHS, st.booleans())
def test_turning_keeps_the_length(seed, T, d, interleaved):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, d))
    turned = rotary_embedding(
        X, rng.integers(0, 5000, size=T), interleaved=interleaved
    )
    assert_close((turned**2).sum(-1), (X**2).sum(-1))


@given(SEEDS, LENGTHS, WIDTHS)
def test_turning_back_undoes_it(seed, T, d):
    X = np.random.default_rng(seed).normal(size=(T, d))
    positions = np.arange(T) * 31
    there = rotary_embedding(X, positions)
    assert_close(rotary_embedding(there, -positions), X)


@given(SEEDS, LENGTHS, WIDTHS)
def test_the_pairings_differ_by_an_order_of_columns(seed, T, d):
    X = np.random.default_rng(seed).normal(size=(T, d))
    order = [*range(0, d, 2), *range(1, d, 2)]
    neighbours = rotary_embedding(X, interleaved=True)
    halves = rotary_embedding(X[:, order])
    assert_close(halves, neighbours[:, order])


def test_the_pairings_are_not_interchangeable(rng):
    Q, K = rng.normal(size=(2, 5, 6))
    halves = rotary_embedding(Q) @ rotary_embedding(K).T
    neighbours = (
        rotary_embedding(Q, interleaved=True)
        @ rotary_embedding(K, interleaved=True).T
    )
    assert np.abs(halves - neighbours).max() > 0.1
    # With one pair there is nothing to pair differently.
    X = rng.normal(size=(5, 2))
    assert np.array_equal(
        rotary_embedding(X), rotary_embedding(X, interleaved=True)
    )


def test_late_positions_are_not_spoilt_by_a_narrow_type():
    # In float32 the second of 32 pairs would be off by 0.02 radians here.
    X = np.zeros((1, 64), dtype=np.float32)
    X[0, 1] = 1
    turned = rotary_embedding(X, np.array([1_000_003], dtype=np.int32))
    angle = 1_000_003 / 10000 ** (2 / 64)
    expected = np.zeros((1, 64), dtype=np.float32)
    expected[0, [1, 33]] = math.cos(angle), math.sin(angle)
    assert_close(turned, expected, eps=2)


def test_an_empty_sequence_stays_empty():
    assert rotary_embedding(np.zeros((3, 0, 4))).shape == (3, 0, 4)


# ALiBi


@RULES
@pytest.mark.parametrize("n_heads", range(1, 65))
def test_slopes_equal_the_exact_fractions(n_heads, rule):
    pairs = loops.slope_exponents(n_heads, rule)
    exact = [Fraction(*pair) for pair in pairs]
    slopes = alibi_slopes(n_heads, rule=rule)
    assert_close(slopes, np.array([2.0 ** -float(e) for e in exact]), eps=4)
    # Where the exponent is whole, so is the power of two.
    for slope, e in zip(slopes, exact, strict=True):
        if e.denominator == 1:
            assert slope == math.ldexp(1.0, -e.numerator)
    # No head is there twice, and all are between 0 and 1.
    assert len(set(exact)) == n_heads
    assert ((slopes > 0) & (slopes < 1)).all()


@RULES
@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16, 32, 64])
def test_powers_of_two_follow_from_square_roots(n_heads, rule):
    assert_close(
        alibi_slopes(n_heads, rule=rule),
        np.array(loops.power_of_two_slopes(n_heads)),
        eps=64,
    )


def test_the_rules_agree_at_powers_of_two_and_nowhere_else():
    agree = [
        n
        for n in range(1, 65)
        if np.allclose(alibi_slopes(n), alibi_slopes(n, rule="paper"))
    ]
    assert agree == [1, 2, 4, 8, 16, 32, 64]


def test_published_slopes():
    # Press et al. 2022, section 3: 1/2, 1/4, ..., 1/256 for eight heads.
    eight = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert alibi_slopes(8).tolist() == eight
    # The authors' code for twelve heads: those, then powers of sqrt(2).
    extra = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert_close(alibi_slopes(12), np.array(eight + extra))
    paper = alibi_slopes(12, rule="paper")
    assert_close(paper, np.array([2 ** (-2 * h / 3) for h in range(1, 13)]))


@RULES
@pytest.mark.parametrize(
    ("n_heads", "T", "S"), [(1, 1, 1), (3, 5, 5), (5, 3, 7), (12, 1, 11)]
)
def test_the_bias_equals_the_loop(n_heads, T, S, rule):
    slopes = alibi_slopes(n_heads, rule=rule).tolist()
    expected = np.array([loops.alibi(slope, T, S) for slope in slopes])
    assert_close(alibi_bias(n_heads, T, S, rule=rule), expected)
    if T == S:
        assert_close(alibi_bias(n_heads, T, rule=rule), expected)


def test_the_bias_is_zero_at_home_and_never_a_reward():
    bias = alibi_bias(2, 3)
    assert bias.max() == 0
    home = np.diagonal(bias, axis1=-2, axis2=-1)
    assert not home.any()
    assert not np.signbit(home).any()


@pytest.mark.parametrize(("T", "S"), [(5, 5), (2, 5), (1, 7)])
def test_behind_a_causal_mask_the_weights_are_the_authors(rng, T, S):
    H, d = 3, 4
    Q, K, V = (rng.normal(size=(H, n, d)) for n in (T, S, S))
    mask = causal_mask(T, S)
    result = attention(Q, K, V, mask=mask, bias=alibi_bias(H, T, S))
    for h, slope in enumerate(alibi_slopes(H).tolist()):
        output, weights = reference.attention(
            Q[h].tolist(),
            K[h].tolist(),
            V[h].tolist(),
            allowed=mask.tolist(),
            bias=loops.alibi_of_the_authors(slope, T, S),
        )
        assert_close(result.weights[h], np.array(weights), eps=64)
        assert_close(result.output[h], np.array(output), eps=64)


def test_without_the_mask_the_authors_bias_rewards_later_keys(rng):
    Q = np.zeros((4, 2))
    symmetric = attention(Q, Q, Q, bias=alibi_bias(1, 4)[0]).weights
    slope = alibi_slopes(1)[0]
    published = np.array(loops.alibi_of_the_authors(slope, 4, 4))
    bare = attention(Q, Q, Q, bias=published).weights
    assert (symmetric.argmax(-1) == np.arange(4)).all()
    assert (bare.argmax(-1) == 3).all()


def test_a_constant_per_row_does_not_matter(rng):
    Q, K, V = rng.normal(size=(3, 2, 5, 4))
    bias = alibi_bias(2, 5)
    moved = bias + rng.normal(size=(2, 5, 1))
    per_key = bias + rng.normal(size=(2, 1, 5))
    plain = attention(Q, K, V, bias=bias)
    assert_close(attention(Q, K, V, bias=moved).output, plain.output, eps=64)
    changed = attention(Q, K, V, bias=per_key).output
    assert np.abs(changed - plain.output).max() > 0.01


@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 6))
def test_later_rows_of_a_longer_bias_are_the_same(n_heads, T, shift):
    # Position i to position j costs what i + shift to j + shift costs.
    longer = alibi_bias(n_heads, T + shift)
    assert_close(longer[:, shift:, shift:], alibi_bias(n_heads, T))
    # One query at a time, as when decoding: the last row.
    assert_close(alibi_bias(n_heads, 1, T + shift), longer[:, -1:])


# Refused


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "T must be an integer; got 2.5", (2.5, 4)),
        (ValueError, "T must be at least 0; got -1", (-1, 4)),
        (TypeError, "d_model must be an integer; got '4'", (3, "4")),
        (ValueError, "d_model must be at least 2; got 0", (3, 0)),
        (
            ValueError,
            "d_model must be even, a sine and a cosine for each frequency; "
            "got 5",
            (3, 5),
        ),
    ],
)
def test_sinusoids_refuse(error, message, call):
    refused(error, message, lambda: sinusoidal_encoding(*call))


@pytest.mark.parametrize("base", [0, 0.5, -1, math.inf, math.nan])
def test_a_base_below_one_is_refused(base):
    rule = "at least 1" if np.isfinite(base) else "finite"
    message = f"base must be {rule}; got {float(base)}"
    X = np.ones((2, 4))
    refused(ValueError, message, lambda: sinusoidal_encoding(2, 4, base=base))
    refused(ValueError, message, lambda: rotary_embedding(X, base=base))


@pytest.mark.parametrize(
    ("error", "message", "X", "positions"),
    [
        (TypeError, "X must hold real numbers; got complex128", 1j, None),
        (
            ValueError,
            "X must have axes (..., T, d); got X (4,)",
            [1.0] * 4,
            None,
        ),
        (
            ValueError,
            "X must have an even width, to turn in pairs; got X (2, 3)",
            np.ones((2, 3)),
            None,
        ),
        (
            ValueError,
            "X must have an even width, to turn in pairs; got X (2, 0)",
            np.ones((2, 0)),
            None,
        ),
        (
            ValueError,
            "X must be finite; got nan at X[(0, 1)]",
            [[1.0, math.nan]],
            None,
        ),
        (
            TypeError,
            "positions must hold real numbers; got bool",
            np.ones((2, 4)),
            [True, False],
        ),
        (
            ValueError,
            "positions must be finite; got inf at positions[(1,)]",
            np.ones((2, 4)),
            [0, math.inf],
        ),
        (
            ValueError,
            "positions must be below 2**53, where float64 tells each from "
            "the next",
            np.ones((2, 4)),
            [0, -(2.0**53)],
        ),
        (
            ValueError,
            "positions must have axes (..., T); got positions ()",
            np.ones((2, 4)),
            3,
        ),
        (
            ValueError,
            "positions must hold one position for each of the T rows of X; "
            "got positions (3,) and X (2, 4)",
            np.ones((2, 4)),
            [0, 1, 2],
        ),
        (
            # One position would broadcast over all rows without a word.
            ValueError,
            "positions must hold one position for each of the T rows of X; "
            "got positions (1,) and X (2, 4)",
            np.ones((2, 4)),
            [7],
        ),
        (
            ValueError,
            "positions must broadcast to the rows of X; "
            "got positions (2, 2) and the rows of X (3, 2)",
            np.ones((3, 2, 4)),
            [[0, 1], [2, 3]],
        ),
        (
            ValueError,
            "positions must broadcast to the rows of X; "
            "got positions (3, 2) and the rows of X (2,)",
            np.ones((2, 4)),
            [[0, 1]] * 3,
        ),
        (
            ValueError,
            "the turned X overflows float16; pass X in a wider type",
            np.full((2, 2), 60000, dtype=np.float16),
            [0.7, 0.7],
        ),
    ],
)
def test_rotary_refuses(error, message, X, positions):
    refused(error, message, lambda: rotary_embedding(X, positions))


@pytest.mark.parametrize(
    ("error", "message", "n_heads", "rule"),
    [
        (ValueError, "n_heads must be at least 1; got 0", 0, "paper"),
        (ValueError, "n_heads must be at least 1; got -8", -8, "reference"),
        (TypeError, "n_heads must be an integer; got 8.0", 8.0, "paper"),
        (
            ValueError,
            'rule must be "reference" or "paper"; got \'code\'',
            8,
            "code",
        ),
        (
            ValueError,
            'rule must be "reference" or "paper"; got None',
            8,
            None,
        ),
        (
            ValueError,
            'rule must be "reference" or "paper"; got array([1, 2])',
            8,
            np.array([1, 2]),
        ),
    ],
)
def test_alibi_refuses(error, message, n_heads, rule):
    refused(error, message, lambda: alibi_slopes(n_heads, rule=rule))
    refused(error, message, lambda: alibi_bias(n_heads, 2, rule=rule))


def test_more_queries_than_keys_are_refused():
    refused(
        ValueError,
        "the T queries are the last of the S positions, so T <= S; "
        "got T 3 and S 2",
        lambda: alibi_bias(4, 3, 2),
    )
    refused(
        TypeError,
        "S must be an integer; got 2.0",
        lambda: alibi_bias(4, 2, 2.0),
    )
    refused(
        ValueError, "T must be at least 0; got -2", lambda: alibi_bias(4, -2)
    )
