"""Build the site once, serve it, and open it in a real browser."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = next(
    filter(
        None,
        map(shutil.which, ("chromium", "chromium-browser", "google-chrome")),
    ),
    None,
)


def is_notebook(page):
    return (ROOT / f"{page}.ipynb").exists()


def pages_with_figures():
    """The pages whose stored outputs hold an interactive figure."""
    found = [ROOT / "index.ipynb", *sorted((ROOT / "book").glob("*.ipynb"))]
    return [
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in found
        if "data-figure=" in path.read_text(encoding="utf-8")
    ]


# Whatever loads when it comes near the window is loaded after this.
SCROLL_THROUGH = """async () => {
  const { scrollHeight } = document.documentElement;
  for (let y = 0; y < scrollHeight; y += 1000) {
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(done));
  }
}"""


def build(folder):
    """Build every page into `folder`, with warnings as errors."""
    command = Path(sys.executable).with_name("jupyter-book")
    run = subprocess.run(
        [
            str(command), "build", str(ROOT),
            "--path-output", str(folder), "--all",
            "-W", "-n", "--keep-going", "--quiet",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    return run, Path(folder) / "_build" / "html"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    """Serve `folder` on a free port of this machine; return the server."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def launch(playwright):
    """The system's Chromium where there is one, else Playwright's own."""
    return playwright.chromium.launch(
        executable_path=CHROMIUM,
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ],
    )
