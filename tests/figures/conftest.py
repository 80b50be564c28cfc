"""What the tests of one figure ask for: states, and how they are shown."""

import pytest

from tests.figures import expected_figures


@pytest.fixture(scope="session")
def look():
    """State, numbers by the helpers, and result of a figure's settings."""
    return expected_figures.look


@pytest.fixture(scope="session")
def drawn_states():
    """First, chosen and random states of a figure, each with its numbers."""
    return lambda name, n=None: [
        expected_figures.look(name, settings)[:2]
        for settings in expected_figures.every_state(name)[:n]
    ]
