"""Masks against a comparison of positions, and refused."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.masks import (
    causal_mask,
    padding_mask,
    window_mask,
)
from tests.core import reference
from tests.core.refusals import each, refused


@st.composite
def lengths(draw):
    S = draw(st.integers(0, 9))
    return draw(st.integers(0, S)), S


@given(lengths(), st.integers(1, 9))
def test_masks_equal_the_loop(sizes, window):
    T, S = sizes
    causal = [
        [reference.may_attend(t, s, T, S) for s in range(S)] for t in range(T)
    ]
    sliding = [
        [reference.may_attend(t, s, T, S, window) for s in range(S)]
        for t in range(T)
    ]
    shape = (T, S)
    for mask, expected in (
        (causal_mask(T, S), causal),
        (window_mask(T, S, left=window - 1, right=0), sliding),
    ):
        assert mask.dtype == bool
        np.testing.assert_array_equal(
            mask, np.array(expected, bool).reshape(shape)
        )


REACH = st.none() | st.integers(0, 9)


@given(lengths(), REACH, REACH)
def test_a_window_equals_the_loop(sizes, left, right):
    T, S = sizes
    expected = [
        [reference.in_reach(t, s, T, S, left, right) for s in range(S)]
        for t in range(T)
    ]
    mask = window_mask(T, S, left=left, right=right)
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, np.array(expected, bool).reshape(T, S))


def test_a_window_has_the_other_masks_as_cases():
    for T, S in ((4, 4), (2, 5), (0, 3), (0, 0)):
        np.testing.assert_array_equal(
            window_mask(T, S, left=None, right=0), causal_mask(T, S)
        )
        np.testing.assert_array_equal(
            window_mask(T, S, left=10**30, right=0), causal_mask(T, S)
        )
        assert window_mask(T, S, left=None, right=None).all()


def test_square_by_default():
    np.testing.assert_array_equal(causal_mask(3), np.tri(3, dtype=bool))


def test_the_last_queries_see_the_last_keys():
    # Cut from the bottom of the square mask, not from its top.
    np.testing.assert_array_equal(causal_mask(2, 5), causal_mask(5)[3:])
    np.testing.assert_array_equal(causal_mask(1, 4), np.ones((1, 4), bool))


def test_padding_counts_from_the_left():
    assert padding_mask([], 3).shape == (0, 1, 1, 3)
    mask = padding_mask([0, 2, 3], 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask.dtype == bool
    for row, length in zip(mask[:, 0, 0], [0, 2, 3], strict=True):
        assert row.tolist() == [s < length for s in range(3)]


def test_masks_combine():
    both = causal_mask(3) & padding_mask([2], 3)
    assert both.shape == (1, 1, 3, 3)
    assert both[0, 0].astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


LAST = "the T queries are the last of the S positions, so T <= S; got T"
REFUSED = {
    f"{LAST} 4 and S 3": lambda: causal_mask(4, 3),
    f"{LAST} 3 and S 2": lambda: window_mask(3, 2, left=1, right=1),
    "lengths must lie between 0 and S = 3; got [1, 9]": lambda: padding_mask(
        [1, 9], 3
    ),
    "lengths must lie between 0 and S = 3; got [-1, 1]": lambda: padding_mask(
        [-1, 1], 3
    ),
    "lengths must have axes (B,); got ()": lambda: padding_mask(2, 3),
}


@each(REFUSED)
def test_masks_refuse(message, call):
    refused(call, message)
