"""The rules for arguments that helpers share, each once, by its message.

`test_hostile` shows for each function which of its arguments have a rule.
"""

import importlib

import numpy as np
import pytest

from helpers import _checks as checks
from helpers._extras import extra
from helpers.cache import KVCache
from helpers.masks import padding_mask
from tests.core.refusals import each, refused

TYPES = {
    "x must hold real numbers; got complex128": lambda: checks.as_floats(
        [1j], "x"
    ),
    "x must be boolean, True = may attend; got int64": lambda: (
        checks.as_booleans([1], "x", (1,), "scores")
    ),
    "x must be boolean, True = counts; got int64": lambda: checks.as_booleans(
        [1], "x", (1,), "targets", true="counts"
    ),
    "n must be an integer; got 2.5": lambda: checks.as_integer(2.5, "n"),
    "n must be a tuple of sizes; got [2]": lambda: checks.as_sizes([2], "n"),
    "n[1] must be an integer; got '2'": lambda: checks.as_sizes((1, "2"), "n"),
    "x must be a number; got '1'": lambda: checks.as_real("1", "x"),
    "x must be True or False; got 1": lambda: checks.check_flag(1, "x"),
    "cache must be a KVCache, or append keys and values like one; got list": (
        lambda: checks.check_cache([])
    ),
    "cache must be a KVCache, or append keys and values like one; got dict": (
        lambda: checks.check_cache({})
    ),
}
VALUES = {
    "x must have axes (..., T, d); got x (3,)": lambda: checks.as_floats(
        np.ones(3), "x", ndim=2, axes="(..., T, d)"
    ),
    "x must be finite; got nan at x[(0, 1)]": lambda: checks.as_finite_floats(
        [[1, np.nan]], "x"
    ),
    "x must be finite; got -inf at x[(1, 0)]": lambda: checks.as_finite_matrix(
        [[1], [-np.inf]], "x", "(m, n)"
    ),
    "n must be at least 3; got 2": lambda: checks.as_size(2, "n", least=3),
    "n must be below 2**53; got 9007199254740992": lambda: checks.as_size(
        2**53, "n"
    ),
    "x must be finite; got inf": lambda: checks.as_real(np.inf, "x"),
    "x must be one of None, 'a'; got 'b'": lambda: checks.check_choice(
        "b", "x", (None, "a")
    ),
    "x must be one of 'a'; got ['a']": lambda: checks.check_choice(
        ["a"], "x", ("a",)
    ),
    "x must broadcast to scores; got x (3,) and scores (2,)": lambda: (
        checks.as_broadcast(np.ones(3), "x", (2,), "scores")
    ),
    "mask must broadcast to scores; got mask (5, 2, 2) and scores (2, 2)": (
        lambda: checks.check_mask(np.ones((5, 2, 2), bool), (2, 2))
    ),
    "bias must not hold NaN or +inf": lambda: checks.check_bias(
        [np.inf], (1,)
    ),
    "bias must broadcast to scores; got bias (3,) and scores (2,)": lambda: (
        checks.check_bias(np.ones(3), (2,))
    ),
    "sinks must not hold NaN or +inf": lambda: checks.check_sinks(
        [np.nan], (1,), "d"
    ),
    "sinks must broadcast to the leading axes of the scores; got sinks (3,)": (
        lambda: checks.check_sinks(np.ones(3), (2,), "d")
    ),
    "sinks overflow float32; pass Q and K in a wider type": lambda: (
        checks.check_sinks(-1e39, (), np.dtype("f"))
    ),
    "softcap must be above 0; got 0.0": lambda: checks.check_softcap(0, "d"),
    "softcap must be in the range of float32, in which the scores are "
    "computed; got 1e-39": lambda: checks.check_softcap(1e-39, np.dtype("f")),
    "softcap must be in the range of float32, in which the scores are "
    "computed; got 1e+39": lambda: checks.check_softcap(1e39, np.dtype("f")),
    "the leading axes of Q and K must broadcast; got Q (2, 1, 1) and K (3,": (
        lambda: checks.common_leading_axes(Q=(2, 1, 1), K=(3, 1, 1))
    ),
}


@each(TYPES)
def test_a_rule_about_types(message, call):
    refused(call, message, TypeError)


@each(VALUES)
def test_a_rule_about_values(message, call):
    refused(call, message)


def test_a_mask_may_have_an_axis_of_heads_that_scores_lack():
    mask = padding_mask([1, 2], 2)  # (2, 1, 1, 2)
    by_sequence = checks.check_mask(mask, (2, 3, 2), spare=-3)
    assert by_sequence.tolist() == [[[True, False]] * 3, [[True, True]] * 3]
    by_head = checks.check_mask(mask[:1], (4, 3, 2))
    assert by_head.tolist() == [[[True, False]] * 3] * 4


def test_a_failure_undoes_what_was_appended():
    rows = np.ones((1, 1, 1))
    first, second = KVCache(3, 1, 1), KVCache(3, 1, 1)
    first.append(rows, rows)

    def fail(error):
        with checks.undone_on_failure(first, second):
            first.append(rows, rows)
            second.append(rows, rows)
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
        assert (len(first), len(second)) == (1, 0)


def test_a_package_that_is_missing_is_named_with_its_extra():
    def ask():
        with extra("plots"):
            importlib.import_module("no_such_package")

    message = (
        "No module named 'no_such_package'; it belongs to the extra 'plots': "
        'in the course\'s folder, pip install ".[plots]"'
    )
    refused(ask, message, ModuleNotFoundError)
