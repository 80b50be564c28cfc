"""softmax, logsumexp and entropy against loops, by property, and refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from helpers.softmax import entropy, logsumexp, softmax
from tests.core import reference
from tests.core.closeness import assert_close
from tests.core.refusals import each, refused

SCORES = arrays(
    np.float64,
    array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5),
    elements=st.floats(-50, 50),
)
FLOATS = [np.float16, np.float32, np.float64]


def rows(function, x):
    """Apply a row function of the reference along the last axis."""
    flat = [function(row.tolist()) for row in x.reshape(-1, x.shape[-1])]
    return np.array(flat)


@given(SCORES)
def test_softmax_equals_the_loop(x):
    expected = rows(reference.softmax, x).reshape(x.shape)
    assert_close(softmax(x), expected)


@given(SCORES)
def test_logsumexp_equals_the_loop(x):
    expected = rows(reference.logsumexp, x).reshape(x.shape[:-1])
    assert_close(logsumexp(x), expected)
    assert_close(logsumexp(x, keepdims=True), expected[..., None])


@given(SCORES)
def test_entropy_equals_the_loop(x):
    weights = softmax(x)
    expected = rows(reference.entropy, weights).reshape(x.shape[:-1])
    assert_close(entropy(weights), expected)


def test_softmax_of_a_fraction_known_by_hand():
    # exp(log 3) : exp(log 1) = 3 : 1.
    expected = [float(Fraction(3, 4)), float(Fraction(1, 4))]
    assert_close(softmax([math.log(3), 0.0]), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_every_axis(rng, axis):
    x = rng.normal(size=(2, 3, 5))
    moved = np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis)
    assert_close(softmax(x, axis=axis), moved)
    assert_close(softmax(x, axis=axis).sum(axis), np.ones_like(x.sum(axis)))
    assert logsumexp(x, axis=axis).shape == x.sum(axis).shape


@given(SCORES, st.floats(-1e3, 1e3))
def test_a_shift_changes_nothing_but_the_normaliser(x, shift):
    assert_close(softmax(x + shift), softmax(x), eps=1e5)
    assert_close(logsumexp(x + shift), logsumexp(x) + shift, eps=64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_dtype_is_kept(dtype):
    x = np.array([[1, 2, 3]], dtype)
    where = np.array([True, False, True])
    for result in (
        softmax(x),
        softmax(x, where=where),
        logsumexp(x),
        logsumexp(x, where=where),
        entropy(softmax(x)),
    ):
        assert result.dtype == dtype
    assert_close(softmax(x), softmax(x.astype(float)).astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_largest_numbers_do_not_overflow(dtype):
    top = np.finfo(dtype).max
    x = np.array([top, -top, top], dtype)
    assert_close(softmax(x), np.array([0.5, 0, 0.5], dtype))
    assert logsumexp(x) == top


def test_each_row_has_its_own_maximum():
    x = [[0.0, 0.0], [1000.0, 1000.0]]
    assert softmax(x).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert_close(logsumexp(x), np.array([0, 1000]) + math.log(2))


ORDERS = {
    "first axis": lambda x: (x, 0),
    "transposed": lambda x: (x.T, 1),
    "Fortran": lambda x: (np.asfortranarray(x.T), -1),
    "middle axis": lambda x: (x[:, :, None] + np.zeros(2, x.dtype), 0),
    "reversed": lambda x: (x[::-1], 0),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dtype", "n"), [("f2", 5000), ("f4", 100_000)])
def test_long_sums_keep_their_digits_along_every_axis(order, dtype, n):
    # One entry of 1 and many of a tenth, as seen from the maximum.
    x = np.full((n, 2), math.log(0.1), dtype)
    x[0] = 0
    moved, axis = ORDERS[order](x)
    tenth = math.exp(x[1, 0])
    total = 1 + (n - 1) * tenth
    weights = softmax(moved, axis)
    assert weights.dtype == dtype
    largest = np.full(np.sum(weights, axis).shape, 1 / total).astype(dtype)
    assert_close(weights.max(axis), largest, eps=4)
    assert_close(
        logsumexp(moved, axis),
        np.full(largest.shape, math.log(total)).astype(dtype),
        eps=4,
    )
    even = np.full(moved.shape, 1 / n, dtype)
    w = float(even.flat[0])
    spread = np.full(largest.shape, -n * w * math.log(w)).astype(dtype)
    assert_close(entropy(even, axis), spread, eps=4)


def test_float16_results_leave_their_range_with_an_error():
    # log(9e6) is 16: one row of two goes beyond 65504.
    top = np.broadcast_to(np.float16([[65504], [0]]), (2, 9_000_000))
    message = "the logarithm overflows float16; pass x in a wider type"
    with pytest.raises(ValueError, match=f"^{message}"):
        logsumexp(top)


@given(SCORES, st.data())
def test_where_is_the_same_as_deleting(x, data):
    where = data.draw(arrays(bool, x.shape))
    weights = softmax(x, where=where)
    flat = zip(
        x.reshape(-1, x.shape[-1]),
        where.reshape(-1, x.shape[-1]),
        weights.reshape(-1, x.shape[-1]),
        strict=True,
    )
    for row, may, result in flat:
        assert (result[~may] == 0).all()
        assert_close(
            result[may], np.array(reference.softmax(row[may].tolist()))
        )


@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf, 1e308])
def test_what_is_not_allowed_has_no_influence_at_all(garbage):
    where = np.array([True, False, True])
    clean = softmax([1.0, 0.0, 2.0], where=where)
    dirty = softmax([1.0, garbage, 2.0], where=where)
    np.testing.assert_array_equal(clean, dirty)
    assert logsumexp([1.0, garbage], where=[True, False]) == 1.0


def test_an_empty_row_gives_exactly_zero():
    nothing = np.zeros((2, 3), bool)
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(softmax(zeros + 7, where=nothing), zeros)
    np.testing.assert_array_equal(softmax(zeros - np.inf), zeros)
    np.testing.assert_array_equal(
        logsumexp(zeros, where=nothing), [-np.inf, -np.inf]
    )
    np.testing.assert_array_equal(entropy(zeros), [0.0, 0.0])


def test_an_axis_of_length_zero_is_an_empty_row():
    assert softmax(np.zeros((2, 0))).shape == (2, 0)
    np.testing.assert_array_equal(logsumexp(np.zeros((2, 0))), [-np.inf] * 2)
    np.testing.assert_array_equal(entropy(np.zeros((2, 0))), [0.0, 0.0])


def test_entropy_at_its_ends():
    assert entropy([1.0, 0.0]) == 0
    assert not np.signbit(entropy([1.0, 0.0]))
    # Rounding may leave a weight a little above one; nothing else may.
    assert entropy([1 + 8 * np.finfo(float).eps]) == 0
    assert entropy(np.array([1 + 2**-20], np.float32)) == 0
    assert_close(entropy(np.full(8, 1 / 8)), np.array(math.log(8)))


def test_no_floating_point_error_reaches_a_caller_who_raises_all():
    with np.errstate(all="raise"):
        assert softmax([0.0, -2000.0]).tolist() == [1.0, 0.0]
        assert logsumexp([0.0, -2000.0]) == 0
        assert logsumexp([-np.inf]) == -np.inf
        assert softmax([1e308, -1e308]).tolist() == [1.0, 0.0]
        assert softmax([np.nan, 1.0], where=[False, True])[1] == 1.0


def test_zero_weights_read_no_memory_that_nobody_wrote():
    weights = np.eye(200)[0]
    for _ in range(50):
        garbage = [np.full(200, np.nan) for _ in range(9)]
        del garbage  # what is allocated next holds NaN
        assert entropy(weights) == 0


REFUSED = {
    "x must not hold NaN or +inf": [
        lambda: softmax([np.nan, 1]),
        lambda: softmax([np.inf, 1]),
        lambda: logsumexp([np.nan]),
    ],
    "where must broadcast to x; got where (3,) and x (2,)": lambda: softmax(
        [1.0, 2.0], where=[True] * 3
    ),
}


@each(REFUSED)
def test_softmax_refuses(message, call):
    refused(call, message)


@pytest.mark.parametrize(
    "wrong", [[-0.1, 1.1], [np.nan], [1.5], [1 + 9 * np.finfo(float).eps]]
)
def test_entropy_refuses_impossible_weights(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        entropy(wrong)
