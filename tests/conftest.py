"""What every test shares: order, browser, site, and where the time goes."""

import collections
import itertools
import json
import os
import time
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

ROOT = Path(__file__).resolve().parent.parent
# In the order in which they run: what an author waits for comes first. The
# site is built before the chapters, so that one core executes them meanwhile.
KINDS = {
    "core": "helpers, ledger and questions",
    "figures": "what figures compute and draw",
    "tools": "the package, its tools, the form of notebooks",
    "site": "the site is built, and its pages say and do what they should",
    "notebooks": "every chapter executed, its outputs compared",
    "book": "the rules of chapters; questions, laboratories, a training run",
}
NEEDS = {
    "browser": "opens a browser",
    "weekly": "takes long, and runs in `make answers` alone",
}
# Their tests share what takes seconds to make: a site, a window, a cluster.
SHARED = ("test_build", "test_package", "test_lab", "test_distributed")


def kind(item):
    """The kind of check that a test is: the folder it is in."""
    if item.path.suffix == ".ipynb":
        return "notebooks"
    folder = item.path.relative_to(ROOT).parts[:2]
    return folder[1] if folder[0] == "tests" else "core"  # an example


def needs(item, *fixtures):
    """Whether a test uses one of some fixtures."""
    return not set(fixtures).isdisjoint(getattr(item, "fixturenames", ()))


def order(item):
    """Where a test comes: those that open pages of the site come last."""
    return needs(item, "site", "launch"), [*KINDS].index(kind(item))


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


class FailuresAtOnce:
    """Says at once what fails: a run that is ended has no summary."""

    def __init__(self, config):
        self.plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report):
        if report.failed:
            lines = report.longreprtext.splitlines()[-30:]
            terminal = self.plugins.get_plugin("terminalreporter")
            terminal.write_line("\n".join(["", report.nodeid, *lines]))


def pytest_configure(config):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(FailuresAtOnce(config))
    for name, meaning in (KINDS | NEEDS).items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.started = time.monotonic()


def pytest_collection_modifyitems(config, items):
    if "weekly" not in config.option.markexpr:
        items[:] = [i for i in items if not i.get_closest_marker("weekly")]
    # A browser that died is no verdict on the page: such a test, and no
    # other, runs once more in a new one.
    again = pytest.mark.flaky(reruns=1, only_rerun="TargetClosedError")
    for item in items:
        item.add_marker(kind(item))
        item.user_properties.append(("kind", kind(item)))
        if needs(item, "launch"):
            item.add_marker("browser")
            item.add_marker(again)
    items.sort(key=order)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker the next test, or the next notebook, in our order."""
    from xdist.scheduler import LoadScopeScheduling

    class InOrder(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            # What many tests share is made once, a kernel too.
            file = nodeid.partition("::")[0]
            shared = file.endswith(".ipynb") or Path(file).stem in SHARED
            return file if shared else nodeid

    config.option.loadscopereorder = False
    return InOrder(config, log)


def pytest_collection_finish(session):
    # At once, and not for each test. (`make` asks before it starts workers.)
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    if alone and any(needs(item, "launch") for item in session.items):
        from tools import website

        if missing := website.no_browser():
            pytest.exit(missing, returncode=1)


def pytest_terminal_summary(terminalreporter, config):
    """Say where the time went, and how much of it was work."""
    spent, counted = collections.Counter(), collections.Counter()
    for report in itertools.chain(*terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            name = dict(report.user_properties).get("kind")
            spent[name] += report.duration
            counted[name] += report.when == "call"
    workers = getattr(config.option, "numprocesses", None) or 1
    wall = time.monotonic() - config.started
    work = sum(os.times()[:4])
    terminalreporter.section("where the time went")
    for name in filter(spent.get, KINDS):
        terminalreporter.line(
            f"{spent[name]:7.1f} s in {counted[name]:5} tests: {KINDS[name]}"
        )
    terminalreporter.line(
        f"{wall:7.1f} s from start to end; {work:.1f} s of work, so at least "
        f"{work / workers:.1f} s for {workers} at a time"
    )


@pytest.fixture
def rng():
    return np.random.default_rng(20170612)


@pytest.fixture(autouse=True)
def _floating_point_errors_raise():
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The site, built by the first worker that needs it, for all of them."""
    from filelock import FileLock

    from tools import website

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    told = shared / "site.json"
    with FileLock(shared / "site.lock"):
        if not told.exists():
            build = website.build(shared / "site")
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
