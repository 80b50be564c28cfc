"""The laboratory that asks a real model; it runs once for all tests."""

import re

import numpy as np
import pytest

from tests.book.practice_pages import ROOT, ran


@pytest.fixture(scope="module")
def asked():
    return ran(ROOT / "book/labs/ask-a-model.ipynb").space


def known(*off):
    """Losses in place of the model's, by how many heads are off."""
    return {0: 1.0, 3: 2.5, 2: 3.0, 5: 6.0}[len(set(off))]


@pytest.mark.parametrize(
    ("forecast", "right", "message"),
    [
        ((1.5, 2, 5), True, "3 of 3 within a factor of two."),
        ((0.76, 3.9, 2.6), True, "3 of 3"),
        ((0.7, 2, 5), False, "2 of 3 within a factor of two. layer 17: 1.5"),
        ((1.5, 4.1, 11), False, "1 of 3.* layer 18: 2.0; all five: 5.0"),
        ((-1.5, 0, 5), False, "layer 17: 1.5; layer 18: 2.0"),
        ((1.5, 2), None, "three numbers"),
        ((), None, "three numbers"),
    ],
)
def test_forecasts_of_ablations_are_held_against_the_model(
    asked, forecast, right, message
):
    reply = asked["judged"](*forecast, loss=known)
    assert reply.right is right
    assert re.search(message, reply.text)


def test_switching_a_copying_head_off_costs_what_is_stored(asked):
    from course.evidence import stored

    result = stored("head-effects")
    for head in ((), (18, 6), (17, 3)):
        loss = asked["loss_without"](*([head] if head else []))
        stated = (
            result["without"][head[0]][head[1]] if head else result["loss"]
        )
        assert abs(loss - stated[5]) < 0.01


def test_a_name_just_outside_the_window_is_lost(asked):
    assert asked["keeps"](35)
    assert not asked["keeps"](34)
    seen = asked["window_of"](35, 42)
    assert np.flatnonzero(seen[41]).tolist() == [0, 1, 2, 3, *range(7, 42)]
