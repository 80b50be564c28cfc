"""positions against loops, by property, and refused."""

import cmath
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.attention import attention
from helpers.masks import causal_mask
from helpers.positions import (
    alibi_bias,
    alibi_slopes,
    interpolated_frequencies,
    ntk_frequencies,
    relative_buckets,
    rotary_embedding,
    rotary_frequencies,
    sinusoidal_encoding,
    yarn_attention_factor,
    yarn_frequencies,
)
from tests.core import reference
from tests.core import reference_positions as loops
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SEEDS = st.integers(0, 2**32 - 1)
LENGTHS = st.sampled_from([1, 2, 3, 5, 7, 11])
WIDTHS = st.sampled_from([2, 4, 6, 10, 14])
LEADS = st.sampled_from([(), (3,), (2, 3)])
PAIRINGS = pytest.mark.parametrize("interleaved", [False, True])
RULES = pytest.mark.parametrize("rule", ["reference", "paper"])


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


@PAIRINGS
@pytest.mark.parametrize("pairs", [0, 1, 3, 4])
def test_fewer_frequencies_turn_the_first_columns(rng, pairs, interleaved):
    X, at = rng.normal(size=(2, 5, 8)), [0, 3, 1, 40, 2]
    result = rotary_embedding(
        X,
        at,
        frequencies=[1.0, 0.1, 0.7, 0.0][:pairs],
        interleaved=interleaved,
    )
    for b in range(2):
        for t, row in enumerate(X[b].tolist()):
            expected = list(row)
            for i in range(pairs):
                first, second = i, i + pairs
                if interleaved:
                    first, second = 2 * i, 2 * i + 1
                z = complex(row[first], row[second])
                z *= cmath.exp(1j * at[t] * [1.0, 0.1, 0.7, 0.0][i])
                expected[first], expected[second] = z.real, z.imag
            assert_close(result[b, t], np.array(expected), eps=256)


@PAIRINGS
def test_frequencies_of_a_base_are_that_base(rng, interleaved):
    X = rng.normal(size=(5, 6)).astype(np.float32)
    by_base = rotary_embedding(X, base=50.0, interleaved=interleaved)
    given_ = rotary_embedding(
        X,
        frequencies=rotary_frequencies(6, base=50.0),
        base=math.nan,  # not looked at
        interleaved=interleaved,
    )
    assert np.array_equal(by_base, given_)
    assert given_.dtype == np.float32


# Frequencies


BASES = st.sampled_from([50.0, 10000.0, 500000.0])
FACTORS = st.sampled_from([1.0, 1.5, 8.0, 40.0])


@given(st.sampled_from([4, 6, 16, 128]), BASES, FACTORS)
def test_frequencies_equal_the_loops(d, base, factor):
    theta = np.array([loops.frequency(i, d, base) for i in range(d // 2)])
    assert_close(rotary_frequencies(d, base=base), theta, eps=64)
    slower = interpolated_frequencies(d, factor, base=base)
    assert_close(slower, theta / factor, eps=64)
    # Pair i of d/2 is divided by factor^(i/(d/2 - 1)).
    steps = np.arange(d // 2) / (d // 2 - 1)
    larger = ntk_frequencies(d, factor, base=base)
    assert_close(larger, theta / factor**steps, eps=64)
    assert larger[0] == 1


def test_frequencies_in_fractions():
    quarters = [1, Fraction(1, 4), Fraction(1, 16), Fraction(1, 64)]
    assert rotary_frequencies(8, base=256).tolist() == quarters
    halved = [x / 2 for x in map(Fraction, quarters)]
    assert interpolated_frequencies(8, 2, base=256).tolist() == halved
    # 8^(8/6) = 16, and (256 * 16)^(1/4) = 8: each step divides by 8, not 4.
    eighths = [Fraction(1, 8**i) for i in range(4)]
    assert_close(
        ntk_frequencies(8, 8, base=256), np.array(eighths, float), eps=4
    )
    assert eighths[3] == quarters[3] / 8


def test_one_pair_turns_by_one_radian():
    assert rotary_frequencies(2).tolist() == [1.0]


def test_narrow_frequencies_make_no_narrow_angles(rng):
    x = rng.normal(size=(1, 4))
    narrow = np.array([0.1, 0.01], "f")
    far = np.array([1e6 + 1], "f")  # in 32 bits 1e5 is off by up to 0.004
    wide = rotary_embedding(x, far, frequencies=narrow.astype(float))
    assert_close(rotary_embedding(x, far, frequencies=narrow), wide)


YARN = given(
    st.sampled_from([4, 16, 64, 128]),
    FACTORS,
    st.sampled_from([32, 2048, 8192]),
    BASES,
    st.sampled_from([(1.0, 32.0), (1.0, 4.0), (0.5, 2.5), (1.0, 1.0)]),
)


@YARN
def test_yarn_equals_the_loops(d, factor, trained, base, bounds):
    slow, fast = bounds
    for rule, loop, more in (
        ("paper", loops.yarn_by_turns, {}),
        ("reference", loops.yarn_by_pair, {}),
        ("reference", loops.yarn_by_pair, {"truncate": False}),
    ):
        expected = [
            loop(i, d, factor, trained, base, slow, fast, **more)
            for i in range(d // 2)
        ]
        result = yarn_frequencies(
            d,
            factor,
            trained,
            base=base,
            beta_slow=slow,
            beta_fast=fast,
            rule=rule,
            **more,
        )
        assert_close(result, np.array(expected), eps=512)


def test_equal_limits_are_a_step():
    # Llama 4 Scout: 64 ln(8192 / (2 pi)) / ln(500000) is 34.98.
    limits = {"beta_slow": 1, "beta_fast": 1, "rule": "paper"}
    result = yarn_frequencies(128, 16, 8192, base=500000, **limits)
    ratio = rotary_frequencies(128, base=500000) / result
    assert ratio.round(9).tolist() == [1] * 35 + [16] * 29
    # A pair that makes just as many turns is divided, as with limits that
    # come together from above.
    result = yarn_frequencies(8, 4, 2 * math.pi, **limits)
    assert_close(result, rotary_frequencies(8) / 4)


def test_yarn_blends_up_to_the_last_column_at_most():
    # Half of 4 log10(1000) is 6: so few columns do not hold it.
    given = 4, 2.0, 2000 * math.pi, 10.0
    expected = [loops.yarn_by_pair(i, *given, 1.0, 900.0) for i in (0, 1)]
    result = yarn_frequencies(*given[:3], base=10, beta_fast=900)
    assert_close(result, np.array(expected))
    third = 10**-0.5 * (2 / 3 + 1 / 6)  # pair 1 is a third of the way to 3
    assert_close(result, np.array([1, third]))


def test_yarn_after_less_than_a_position_divides_all_but_the_codes_first():
    theta = rotary_frequencies(8)
    assert_close(yarn_frequencies(8, 2, 0.5, rule="paper"), theta / 2)
    code = yarn_frequencies(8, 2, 0.5, rule="reference")
    assert_close(code, np.append(1, theta[1:] / 2))


def test_yarn_takes_bounds_at_the_ends_of_float64():
    # No pair turns so rarely, or so often, within the trained length.
    few, many = (
        [yarn_frequencies(8, 4, 2048, **{name: x}) for x in both]
        for name, both in (
            ("beta_slow", (1e-100, 1e-320)),
            ("beta_fast", (1e100, 1e308)),
        )
    )
    assert_close(*few)
    assert_close(*many)


def test_yarn_in_fractions():
    # 2048 / (2 pi) = 325.9: pairs 0 and 1 make more than 32 turns, pair 2
    # makes 3.26 and stands half way from 1 to 3, pair 3 makes 0.33.
    theta = [1.0, 0.1, 0.01, 0.001]
    half = [1.0, 0.1, (0.01 + 0.0025) / 2, 0.00025]
    assert_close(yarn_frequencies(8, 4, 2048), np.array(half))
    share = (2048 * 0.01 / (2 * math.pi) - 1) / 31
    turned = [1.0, 0.1, share * 0.01 + (1 - share) * 0.0025, 0.00025]
    paper = yarn_frequencies(8, 4, 2048, rule="paper")
    assert_close(paper, np.array(turned))
    for rule in ("paper", "reference"):
        kept = yarn_frequencies(8, 1, 2048, rule=rule)
        assert_close(kept, np.array(theta))


def test_llama_3_1_is_the_paper_with_other_bounds():
    expected = [loops.llama_3_1(i) for i in range(64)]
    result = yarn_frequencies(
        128, 8, 8192, base=500000, beta_slow=1, beta_fast=4, rule="paper"
    )
    assert_close(result, np.array(expected), eps=64)
    # By hand: 64 ln(8192 / (2 pi w)) / ln(500000) is 28.2 for four turns
    # and 34.98 for one.
    ratio = rotary_frequencies(128, base=500000) / result
    assert (ratio.round(9) == 1).sum() == 29
    assert (ratio.round(9) == 8).sum() == 29
    code = yarn_frequencies(
        128, 8, 8192, base=500000, beta_slow=1, beta_fast=4
    )
    assert np.abs(code / result - 1).max() > 0.1


def test_gpt_oss_keeps_and_divides_the_pairs_that_its_ports_name():
    # 4,096 trained, times 32, base 150,000, width 64; ports of it print
    # "low=8, high=18, mscale=1.34657".
    result = yarn_frequencies(64, 32, 4096, base=150000)
    ratio = rotary_frequencies(64, base=150000) / result
    assert np.flatnonzero(ratio.round(9) == 1).tolist() == list(range(9))
    assert np.flatnonzero(ratio.round(9) == 32).tolist() == list(range(18, 32))
    assert (np.diff(ratio[8:19]) > 0).all()
    assert round(yarn_attention_factor(32), 5) == 1.34657
    # Its makers do not round: from pair 8.09 to 17.40, by their formula.
    first, last = (
        32 * math.log(4096 / (turns * 2 * math.pi)) / math.log(150000)
        for turns in (32, 1)
    )
    assert (round(first, 2), round(last, 2)) == (8.09, 17.40)
    exact = yarn_frequencies(64, 32, 4096, base=150000, truncate=False)
    kept = [min(max((last - i) / (last - first), 0), 1) for i in range(32)]
    expected = [
        150000 ** (-i / 32) * (k + (1 - k) / 32) for i, k in enumerate(kept)
    ]
    assert_close(exact, np.array(expected), eps=64)
    assert round(max(result / exact), 2) == 1.76


def test_yarn_scales_scores_more_the_further_it_reaches():
    assert yarn_attention_factor(1) == 1
    assert_close(np.float64(yarn_attention_factor(math.e**5)), np.float64(1.5))
    assert yarn_attention_factor(2) < yarn_attention_factor(3)


# T5's buckets


@given(
    st.integers(2, 40), st.sampled_from([1, 7, 100]), st.sampled_from([1, 33])
)
def test_relative_buckets_equal_the_loop(buckets, more, T):
    most = buckets // 2 + more
    result = relative_buckets(T, 90, num_buckets=buckets, max_distance=most)
    by_distance = [loops.bucket(n, buckets, most) for n in range(90)]
    for i in range(T):
        back = [max(90 - T + i - j, 0) for j in range(90)]
        assert result[i].tolist() == [by_distance[n] for n in back]


def test_relative_buckets_of_t5():
    # 32 buckets up to 128, in the formula of the published code.
    def published(n):
        if n < 16:
            return n
        return min(16 + int(math.log(n / 16) / math.log(8) * 16), 31)

    row = relative_buckets(1, 300)[0, ::-1].tolist()
    assert row == [published(n) for n in range(300)]
    assert row[113:] == [31] * 187  # 16 * 8^(15/16) = 112.4
    assert row[112] == 30
    assert relative_buckets(3).tolist() == [[0, 0, 0], [1, 0, 0], [2, 1, 0]]


def test_relative_buckets_have_exact_borders():
    # 8, 16, 32, 64: each starts a bucket, where logarithms may round down.
    row = relative_buckets(1, 70, num_buckets=12, max_distance=6 * 2**6)[
        0, ::-1
    ]
    starts = [n for n in range(1, 70) if row[n] > row[n - 1]]
    assert starts == [1, 2, 3, 4, 5, 6, 12, 24, 48][: len(starts)]
    assert row[48] == 9


@pytest.mark.parametrize(("T", "S"), [(5, 5), (2, 9), (1, 1), (0, 3)])
def test_relative_buckets_of_both_directions(T, S):
    result = relative_buckets(
        T, S, num_buckets=10, max_distance=6, bidirectional=True
    )
    assert result.shape == (T, S)
    for i in range(T):
        for j in range(S):
            n = S - T + i - j
            later = 5 if n < 0 else 0
            assert result[i, j] == loops.bucket(abs(n), 5, 6) + later


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


@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 6))
def test_later_rows_of_a_longer_bias_are_the_same(n_heads, T, shift):
    # Position i to position j costs what i + shift to j + shift costs.
    longer = alibi_bias(n_heads, T + shift)
    assert_close(longer[:, shift:, shift:], alibi_bias(n_heads, T))
    # One query at a time, as when decoding: the last row.
    assert_close(alibi_bias(n_heads, 1, T + shift), longer[:, -1:])


def test_a_largest_distance_may_be_far_away():
    bucket = relative_buckets(1, 4000, max_distance=10**12)[0, ::-1]
    # Sixteen steps from 16 to 10**12: each is a factor of 4.7.
    step = (10**12 / 16) ** (1 / 16)
    expected = [
        d if d < 16 else 16 + math.floor(math.log(d / 16, step) + 1e-12)
        for d in range(4000)
    ]
    assert bucket.tolist() == expected


def test_angles_that_overflow_are_said_to():
    refused(
        lambda: rotary_embedding([[1.0, 0.0]], [20], frequencies=[1e308]),
        "positions times frequencies overflow float64",
    )
    half = rotary_embedding(np.ones((2, 2)), np.float16([0, 1]))
    assert_close(half, rotary_embedding(np.ones((2, 2)), [0, 1]))


# Refused

X24, EVEN = np.ones((2, 4)), "must be even"
RULE = 'rule must be "reference" or "paper"; got'
EACH_ROW = "positions must hold one position for each of the T rows of X; got"
SEQUENCES = "positions must broadcast to the rows of X; got positions"
ONE_ROW = "frequencies must be one row, with at most one for two columns of X;"
YARN_RULE = (
    "original_length must be above 0, beta_slow above 0 and at most "
    "beta_fast, base above 1; got"
)


def yarn(original_length=32, **options):
    return lambda: yarn_frequencies(8, 2, original_length, **options)


def buckets(**options):
    return lambda: relative_buckets(3, **options)


REFUSED = {
    f"d_model {EVEN}, a sine and a cosine for each frequency; got 5": lambda: (
        sinusoidal_encoding(3, 5)
    ),
    "X must have an even width, as pairs rotate; got X (2, 3)": lambda: (
        rotary_embedding(np.ones((2, 3)))
    ),
    "X must have an even width, as pairs rotate; got X (2, 0)": lambda: (
        rotary_embedding(np.ones((2, 0)))
    ),
    "positions must be below 2**53, where float64 can represent each": (
        lambda: rotary_embedding(X24, [0, -(2.0**53)])
    ),
    f"{EACH_ROW} positions (3,) and X (2, 4)": lambda: rotary_embedding(
        X24, [0, 1, 2]
    ),
    # One position would broadcast over all rows without a word.
    f"{EACH_ROW} positions (1,) and X (2, 4)": lambda: rotary_embedding(
        X24, [7]
    ),
    f"{SEQUENCES} (2, 2) and the rows of X (3, 2)": lambda: rotary_embedding(
        np.ones((3, 2, 4)), [[0, 1], [2, 3]]
    ),
    f"{SEQUENCES} (3, 2) and the rows of X (2,)": lambda: rotary_embedding(
        X24, [[0, 1]] * 3
    ),
    "the rotated X overflows float16; pass X in a wider type": lambda: (
        rotary_embedding(np.full((2, 2), 60000, "e"), [0.7, 0.7])
    ),
    f"{ONE_ROW} got frequencies (3,) and X (2, 4)": lambda: rotary_embedding(
        X24, frequencies=[1.0] * 3
    ),
    f"{ONE_ROW} got frequencies (1, 1) and X (2, 4)": lambda: rotary_embedding(
        X24, frequencies=[[1.0]]
    ),
    f"{ONE_ROW} got frequencies () and X (2, 4)": lambda: rotary_embedding(
        X24, frequencies=1.0
    ),
    "base must be finite; got inf": lambda: ntk_frequencies(
        4, 1e300, base=1e300
    ),
    "factor must be at least 1; got 0.5": [
        lambda: interpolated_frequencies(8, 0.5),
        lambda: ntk_frequencies(8, 0.5),
        lambda: yarn_frequencies(8, 0.5, 32),
        lambda: yarn_attention_factor(0.5),
    ],
    f"{YARN_RULE} 0.0, 1.0, 32.0 and 10000.0": yarn(0),
    f"{YARN_RULE} 32.0, 0.0, 32.0 and 10000.0": yarn(beta_slow=0),
    f"{YARN_RULE} 32.0, 4.0, 3.0 and 10000.0": yarn(beta_slow=4, beta_fast=3),
    f"{YARN_RULE} 32.0, 1.0, 32.0 and 1.0": yarn(base=1),
    f"{RULE} 'code'": yarn(rule="code"),
    'truncate must be True with rule "paper"; got False': yarn(
        rule="paper", truncate=False
    ),
    f"num_buckets {EVEN}, half per side; got 5": buckets(
        num_buckets=5, bidirectional=True
    ),
    "max_distance must exceed the distances with a bucket each; got 16": (
        buckets(max_distance=16)
    ),
    f"{RULE} None": lambda: alibi_slopes(8, rule=None),
    f"{RULE} array([1, 2])": lambda: alibi_bias(8, 2, rule=np.array([1, 2])),
    "the T queries are the last of the S positions, so T <= S; got T 3": [
        lambda: alibi_bias(4, 3, 2),
        lambda: relative_buckets(3, 2),
    ],
}


@each(REFUSED)
def test_positions_refuse(message, call):
    refused(call, message)


@pytest.mark.parametrize(
    "function",
    [
        lambda **base: sinusoidal_encoding(2, 4, **base),
        lambda **base: rotary_embedding(X24, **base),
        lambda d=8, **base: rotary_frequencies(d, **base),
        lambda d=8, **base: interpolated_frequencies(d, 2, **base),
        lambda d=8, **base: ntk_frequencies(d, 1, **base),
        lambda d=8, **base: yarn_frequencies(d, 2, 32, **base),
    ],
)
def test_a_base_is_at_least_one_and_a_width_even(function):
    for base in (0, 0.5, -1):
        message = f"base must be at least 1; got {float(base)}"
        refused(lambda base=base: function(base=base), message)
    if "d" in function.__code__.co_varnames:
        refused(
            lambda: function(d=5), f"d {EVEN}, two columns per pair; got 5"
        )
