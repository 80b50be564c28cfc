"""What every test shares."""

import numpy as np
import pytest
import website
from hypothesis import settings
from playwright.sync_api import sync_playwright

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


@pytest.fixture(scope="module")
def launch():
    """Return the browser, started anew where it has gone."""
    with sync_playwright() as playwright:
        browsers = []

        def launch():
            if not browsers or not browsers[-1].is_connected():
                browsers.append(website.launch(playwright))
            return browsers[-1]

        yield launch
        if browsers:
            browsers[-1].close()


@pytest.fixture
def browser(launch):
    """The browser, for as long as a test may take on a slow machine."""
    with website.patience(300):
        yield launch()


def pytest_collection_modifyitems(items):
    # A browser that died is no verdict on the page: such a test, and no
    # other, runs once more in a new one.
    again = pytest.mark.flaky(reruns=1, only_rerun="TargetClosedError")
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker(again)
