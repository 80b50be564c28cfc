"""What every test shares."""

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run: a failure is a change, never luck.
settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")


@pytest.fixture
def rng():
    return np.random.default_rng(20170612)


@pytest.fixture(autouse=True)
def _floating_point_errors_raise():
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        yield
