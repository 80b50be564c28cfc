"""Fixtures of all tests: random numbers, the browser, and the site."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tools import differences

# The same examples in every run: a failure is a change, never luck.
settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")


def pytest_configure(config):
    for mark in (
        "browser: opens a browser",
        "weekly: takes long, and runs in `make answers` alone",
    ):
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(config, items):
    if "weekly" not in config.option.markexpr:
        items[:] = [i for i in items if not i.get_closest_marker("weekly")]
    for item in items:
        if "launch" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def pytest_collection_finish(session):
    # Modules and thousands of tests stay to the end. To look through them
    # again and again for garbage took a quarter of the time.
    gc.freeze()


def pytest_assertrepr_compare(op, left, right):
    """Say of two long texts, such as outputs of a cell, where they differ."""
    if op != "==" or not isinstance(left, str) or not isinstance(right, str):
        return None
    drawing = "<svg" in left[:400]
    if not drawing and max(len(left), len(right)) < 200:
        return None
    kind = "image/svg+xml" if drawing else "text/plain"
    return ["two texts", *differences.tell(kind, left, right)]


@pytest.fixture
def rng():
    return np.random.default_rng(20170612)


@pytest.fixture(autouse=True)
def _floating_point_errors_raise():
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        yield


@pytest.fixture(scope="session")
def smollm2():
    from course.checkpoint import load, smollm2_path

    return load(smollm2_path())


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built pages, built as far as it is out of date."""
    from filelock import FileLock

    from tools import website

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with FileLock(shared / "site.lock"):
        build = website.build()
    assert build.returncode == 0, build.said
    return Path(build.folder)


@pytest.fixture(scope="session")
def host(site):
    """A server of the site: its `address`, and what it `sent`."""
    from tools import website

    server = website.serve(site)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def launch():
    """Return the browser, started anew where it has gone."""
    from playwright.sync_api import sync_playwright

    from tools import website

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
def browser(launch, request):
    """The browser, for as long as a test may take on a slow machine."""
    from tools import website

    weekly = request.node.get_closest_marker("weekly")
    with website.patience(1200 if weekly else 300):
        yield launch()


@pytest.fixture(scope="session")
def empty_tab(launch):
    """Return the tab of empty pages, opened anew where it has gone."""
    from tests.empty_page import DESK, Page

    pages = []

    def tab():
        if not pages or pages[-1].tab.is_closed():
            pages.append(Page(launch().new_page(viewport=DESK)))
        return pages[-1]

    return tab


@pytest.fixture
def page(empty_tab, browser):
    """An empty page for one test."""
    page = empty_tab()
    yield page
    page.reset()
