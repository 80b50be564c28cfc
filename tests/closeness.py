"""One comparison for all numerical tests."""

import numpy as np


def assert_close(actual, desired, *, eps=16):
    """Same shape, same dtype, and equal within `eps` units of rounding.

    The allowed difference is ``eps * machine epsilon * (1 + |desired|)`` in
    the dtype of `desired`.
    """
    actual, desired = np.asarray(actual), np.asarray(desired)
    assert actual.shape == desired.shape, (actual.shape, desired.shape)
    assert actual.dtype == desired.dtype, (actual.dtype, desired.dtype)
    tolerance = eps * float(np.finfo(desired.dtype).eps)
    np.testing.assert_allclose(
        actual, desired, rtol=tolerance, atol=tolerance, equal_nan=False
    )
