"""One comparison for all numerical tests, and one for all gradients."""

import numpy as np

STEP = np.finfo(float).eps ** (1 / 3)


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


def assert_gradient(loss, x, gradient, rng, directions=4):
    """Compare with (loss(x + h u) - loss(x - h u)) / 2h, u of length one."""
    assert gradient.shape == x.shape
    for _ in range(directions):
        u = rng.normal(size=x.shape)
        u /= np.linalg.norm(u)
        measured = (loss(x + STEP * u) - loss(x - STEP * u)) / (2 * STEP)
        np.testing.assert_allclose(
            (gradient * u).sum(), measured, rtol=1e-7, atol=1e-8
        )
