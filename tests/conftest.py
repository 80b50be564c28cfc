"""Fixtures of all tests: the order, the browser, and the site."""

import gc
import json
import os
from pathlib import Path

import nbval.kernel
import nbval.plugin
import numpy as np
import pytest
from hypothesis import settings

from tools import differences

# The same examples in every run: a failure is a change, never luck.
settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")

# Their tests share what takes seconds to make: a site, a window, a cluster.
SHARED = ("test_build", "test_distributed", "test_lab", "test_package")
# Tests of several files share a loaded model, or every figure's pictures.
TOGETHER = {
    "SmolLM2": (
        "test_ask_a_model", "test_checkpoint", "test_head_effects",
        "test_realheads",
    ),
    "every figure": (
        "test_every_figure", "test_figures", "test_figure_styles",
    ),
}  # fmt: skip
# Their tests of one page share what it makes when it runs, or its cells.
BY_PAGE = ("test_practice", "test_chapters")


def needs(item, fixture):
    return fixture in getattr(item, "fixturenames", ())


def pytest_addoption(parser):
    parser.addoption("--site", help="test this folder instead of a new build")


def started_again(start):
    """Start a kernel, and once more if the first did not come up.

    A kernel binds the ports that its manager found free a moment before, and
    any other process may take one in between: no verdict on a chapter.
    """

    def twice(*args, **options):
        try:
            return start(*args, **options)
        except RuntimeError:
            return start(*args, **options)

    return twice


nbval.kernel.start_new_kernel = started_again(nbval.kernel.start_new_kernel)


def tell_difference(cell, kind, stored, now):
    """Say of two outputs what a stranger can act on; they may be long."""
    cell.comparison_traceback += differences.tell(kind, stored, now)


nbval.plugin.IPyNbCell.format_output_compare = tell_difference


def pytest_configure(config):
    for mark in (
        "browser: opens a browser",
        "weekly: takes long, and runs in `make answers` alone",
    ):
        config.addinivalue_line("markers", mark)


def pytest_collection_modifyitems(config, items):
    if "weekly" not in config.option.markexpr:
        items[:] = [i for i in items if not i.get_closest_marker("weekly")]
    # A browser that died is no verdict on the page: such a test, and no
    # other, runs once more in a new one.
    again = pytest.mark.flaky(reruns=1, only_rerun="TargetClosedError")
    for item in items:
        if needs(item, "launch"):
            item.add_marker("browser")
            item.add_marker(again)
    # While one worker builds the site, the others execute notebooks.
    items.sort(key=lambda item: needs(item, "site") or needs(item, "launch"))


def pytest_collection_finish(session):
    # Modules and thousands of tests stay to the end. To look through them
    # again and again for garbage took a quarter of the time.
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker the next test, or the next notebook, in this order.

    `--dist loadgroup` cannot: a cell of nbval takes no group.
    """
    from xdist.scheduler import LoadScopeScheduling

    class InOrder(LoadScopeScheduling):
        def _pending_of(self, workload):
            # A worker is done with what it got first. To count all of it after
            # each test took four fifths of the time of 5,000 empty tests.
            pending = 0
            for tests in reversed(workload.values()):
                if all(tests.values()):
                    break
                pending += sum(not done for done in tests.values())
            return pending

        def _split_scope(self, nodeid):
            # What many tests share is made once: a kernel, a page that ran.
            file, _, test = nodeid.partition("::")
            stem = Path(file).stem
            if file.endswith(".ipynb") or stem in SHARED:
                return file
            page = test.partition("[")[2] if stem in BY_PAGE else ""
            if page == "labs/ask-a-model]":
                stem = "test_ask_a_model"
            for scope, stems in TOGETHER.items():
                if stem in stems:
                    return scope
            return f"{file}[{page}" if page else nodeid

    config.option.loadscopereorder = False
    return InOrder(config, log)


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
def built(tmp_path_factory):
    """The site of `make book`, built by the first worker that needs it."""
    from filelock import FileLock

    from tools import website

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    told = shared / "site.json"
    with FileLock(shared / "site.lock"):
        if not told.exists():
            build = website.build()
            told.write_text(json.dumps(build), encoding="utf-8")
    return website.Build(*json.loads(told.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def site(request):
    """The folder of the built pages."""
    from tools import website

    given = request.config.getoption("--site")
    if given:
        return website.ROOT / given
    built = request.getfixturevalue("built")
    assert built.returncode == 0, built.said
    return Path(built.folder)


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
