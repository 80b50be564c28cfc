"""Build the site, serve it, and open it in a real browser."""

import collections
import contextlib
import functools
import gzip
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import yaml
from playwright.sync_api import Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from course.figures import classes
from tools import chapters, make_site

ROOT = Path(__file__).resolve().parent.parent


def listed(toc):
    """Return the pages of a table of contents, in order."""
    if isinstance(toc, dict):
        here = [toc[key] for key in ("root", "file") if key in toc]
        return here + listed(list(toc.values()))
    parts = toc if isinstance(toc, list) else []
    return [page for part in parts for page in listed(part)]


PAGES = listed(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
LESSONS = [f"book/{name}" for name in chapters.numbers()]
# Pages that the build adds to those of the table of contents. A test compares
# both lists with the built pages.
GENERATED = ["404", "search"]
# The pages of single figures, which tests/site/test_alone.py opens.
ALONE = [f"figure/{name}" for name in classes()]
EVERY_PAGE = PAGES + GENERATED
# The first is the same browser without windows, and needs a fifth less time.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
)
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


def is_notebook(page):
    return (ROOT / f"{page}.ipynb").exists()


def figures(page):
    """Return the kinds of interactive figures that a page has stored."""
    text = (ROOT / f"{page}.ipynb").read_text("utf-8")
    return set(re.findall(r'data-figure=\\"(\w+)', text))


def pages_with_figures():
    return [page for page in filter(is_notebook, PAGES) if figures(page)]


# Fields that are under the bar at the top become visible when the reader
# scrolls. They do not count as overlaps, so scroll until none is there.
CLEAR_OF_THE_BAR = """() => {
  const bar = document.querySelector(".bd-header-article");
  const under = () => {
    const { bottom } = bar.getBoundingClientRect();
    return [...document.querySelectorAll("article :is(input, button, select)")]
      .map((it) => it.getBoundingClientRect())
      .some((box) => box.height && box.top < bottom && box.bottom > 0);
  };
  for (let k = 0; k < 40 && bar && under(); k += 1)
    scrollBy({ top: -10, behavior: "instant" });
}"""

# One to lay a page out, and one in which it has been painted.
TWO_FRAMES = """return new Promise((done) => requestAnimationFrame(() =>
  requestAnimationFrame(() => done(null))))"""


def open_deeper(tab):
    """Open the deeper sections of a page, as its switch does."""
    opening = "(all) => all.forEach((it) => (it.open = true))"
    tab.locator("details.deeper").evaluate_all(opening)


def scroll_through(tab):
    """Start each interactive figure, and scroll to the end.

    Stop a little above the end, where the button to the top appears. Deeper
    sections are opened, as a reader opens them.
    """
    open_deeper(tab)
    tab.evaluate("document.fonts.ready.then(() => 0)")
    for figure in tab.locator("[data-figure]").all():
        figure.scroll_into_view_if_needed()
        # Not `expect`, which describes the whole page each time it waits.
        figure.locator(".av-controls").wait_for()
    for way in ("document.documentElement.scrollHeight", "-300"):
        tab.evaluate(f"scrollBy({{ top: {way}, behavior: 'instant' }})")
    tab.evaluate(CLEAR_OF_THE_BAR)


Build = collections.namedtuple("Build", "returncode said folder")


def build():
    """Build the site as `make book` does, with warnings as errors."""
    run = subprocess.run(
        [sys.executable, "-m", "tools.make_site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    return Build(run.returncode, run.stdout + run.stderr, str(make_site.SITE))


@functools.lru_cache(maxsize=64)
def _encoded(path, _changed):
    """Return the bytes to send, and their encoding."""
    body = path.read_bytes()
    if path.suffix == ".css":
        # A busy machine may leave out an optional font, which would move the
        # text.
        body = body.replace(b"font-display: optional", b"font-display: block")
    if path.suffix in (".woff2", ".woff", ".png"):
        return body, None
    return gzip.compress(body, 9), "gzip"


class _StaticHost(http.server.SimpleHTTPRequestHandler):
    """Answers as a static host: gzip, except for fonts and pictures."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body, coding = _encoded(path, path.stat().st_mtime_ns)
        self.send_response(200)
        self.send_header("Cache-Control", "no-store")  # each visit is a first
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Access-Control-Allow-Origin", "*")
        if coding:
            self.send_header("Content-Encoding", coding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.server.sent.append((self.path, len(body)))
        with contextlib.suppress(ConnectionError):  # the visitor has left
            self.wfile.write(body)


def serve(folder):
    """Serve `folder` on a free port of this machine; return the server.

    Its `sent` lists the path and the bytes of every answer, in order. The
    browser's own count comes late, and sometimes never.
    """
    handler = functools.partial(_StaticHost, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.sent = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


# The browser's own pages, two of them behind the address bar of every window,
# cost as much as a page of the book. The others are switched off by Playwright
# too, but Chromium uses only the last such list of a command.
UNUSED = [
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "AvoidUnnecessaryBeforeUnloadCheckSync", "AutoDeElevate",
    "BoundaryEventDispatchTracksNodeRemoval", "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider", "GlobalMediaControls", "HttpsUpgrades",
    "LensOverlay", "MediaRouter", "OptimizationHints", "PaintHolding",
    "RenderDocument", "ThirdPartyStoragePartitioning", "Translate",
]  # fmt: skip


def until(tab, expression, *, arg=None, timeout=30_000):
    """Wait until something is so in a page.

    Playwright's own way evaluates the text in the page, which the policy of a
    page forbids.
    """
    end = time.monotonic() + timeout / 1000
    while not (found := tab.evaluate(expression, arg)):
        if time.monotonic() > end:
            raise PlaywrightTimeout(f"never so: {expression}")
        tab.wait_for_timeout(50)
    return found


Page.wait_for_function = until


def launch(playwright):
    """Launch the system's Chromium if there is one, else Playwright's."""
    # Results that a page shows may take as long as its actions, and the
    # default of 5 s is too short on a busy machine.
    expect.set_options(timeout=30_000)
    return playwright.chromium.launch(
        executable_path=CHROMIUM,
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--font-render-hinting=none",  # letters as wide as on phones
            f"--disable-features={','.join(UNUSED)}",
        ],
    )


def no_browser():
    """Return what to do if there is no Chromium, or None if there is one."""
    if CHROMIUM:
        return None
    with sync_playwright() as playwright:
        if Path(playwright.chromium.executable_path).exists():
            return None
    return (
        "The tests of the pages need Chromium. Install it with\n"
        "    sudo apt-get install chromium\nor with\n"
        f"    {Path(sys.executable).with_name('playwright')} install chromium"
    )


@contextlib.contextmanager
def patience(seconds):
    """End the browsers of this process if the block takes longer.

    Some calls of Playwright have no time limit. After the browser has ended, a
    waiting call raises `TargetClosedError` at once.
    """

    def end_browsers():
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "chrom" in child.name():
                    child.kill()

    timer = threading.Timer(seconds, end_browsers)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


if __name__ == "__main__":
    sys.exit(no_browser())
