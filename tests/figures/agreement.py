"""Whether a figure computes what the helpers compute."""

import numpy as np


def flat(value):
    """Every number in nested lists, in order; None and text apart."""
    if isinstance(value, np.ndarray):
        value = value.tolist()  # an array of no axes is a number
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in flat(value[key])]
    if isinstance(value, list | tuple):
        return [x for part in value for x in flat(part)]
    return [value]


def assert_same(seen, expected):
    """The same names and shapes, and numbers within 1e-9."""
    assert sorted(seen) == sorted(expected)
    for key in expected:
        assert np.shape(seen[key]) == np.shape(expected[key]), key
        np.testing.assert_allclose(
            np.array(flat(seen[key]), float),
            np.array(flat(expected[key]), float),
            rtol=1e-9,
            atol=1e-9,
            err_msg=key,
        )
