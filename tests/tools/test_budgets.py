"""A budget warns above its limit, and fails a tenth above."""

import warnings

import pytest

from tests import budgets


@pytest.mark.parametrize(
    ("measured", "limit", "warns"),
    [(99, 100, 0), (100, 100, 0), (101, 100, 1), (110, 100, 1), (2, 2, 0)],
)
def test_a_budget_is_told_and_kept(measured, limit, warns):
    """The project's rule, that a warning is an error, is in force here."""
    with warnings.catch_warnings(record=True) as told:
        budgets.keep("bytes of a page", measured, limit)
    said = [f"budget: bytes of a page: {measured} of {limit}"] * warns
    assert [str(warning.message) for warning in told] == said


@pytest.mark.parametrize(("measured", "limit"), [(111, 100), (3, 2)])
def test_far_over_a_budget_is_a_failure(measured, limit):
    with warnings.catch_warnings(record=True):
        told = f"budget: words: {measured} of {limit}"
        with pytest.raises(AssertionError, match=told):
            budgets.keep("words", measured, limit)


def test_a_length_of_prose_warns_and_never_fails():
    with warnings.catch_warnings(record=True) as warned:
        budgets.advise("words", 1000, 100)
    assert [str(w.message) for w in warned] == ["budget: words: 1,000 of 100"]
