"""Bytes and load times per page, against a default build of the same book.

The default build is Jupyter Book without our extension: its own math
renderer, scripts, style sheets and icon fonts. What it asks of other hosts is
counted as requests; those bytes are not in the table, because a benchmark
sends nothing over the network.
"""

import gzip
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import website  # noqa: E402

KINDS = ("document", "stylesheet", "script", "font", "image", "other")
SHOWN = ("index", "book/01-three-tokens", "book/06-mask", "book/ledger")
REPEATS = 5


def default_build(folder):
    """The same pages, built with Jupyter Book's own settings."""
    copy = folder / "source"
    shutil.copytree(
        ROOT,
        copy,
        ignore=shutil.ignore_patterns(".git", ".venv", "_build", ".*"),
    )
    config = yaml.safe_load((copy / "_config.yml").read_text("utf-8"))
    ours = config["sphinx"]["config"]
    config["sphinx"] = {
        "extra_extensions": [
            "sphinx.ext.autodoc",
            "sphinx.ext.napoleon",
            "sphinx_proof",
        ],
        "config": {
            key: ours[key]
            for key in ("nitpick_ignore_regex", "bibtex_default_style")
        },
    }
    (copy / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")
    command = Path(sys.executable).with_name("jupyter-book")
    subprocess.run(
        [str(command), "build", str(copy), "--path-output", str(folder / "d"),
         "--quiet"],
        capture_output=True,
        check=True,
    )  # fmt: skip
    return folder / "d" / "_build" / "html"


def visit(browser, address, page):
    """Bytes by kind, requests to other hosts, and milliseconds to load."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    tab = context.new_page()
    moved, outside, responses = dict.fromkeys(KINDS, 0), 0, []

    def own_host_only(route):
        nonlocal outside
        if route.request.url.startswith((address, "data:")):
            route.continue_()
        else:
            outside += 1
            route.abort()

    tab.route("**/*", own_host_only)
    tab.on("response", lambda response: responses.append(response))
    tab.goto(f"{address}/{page}.html", wait_until="load")
    tab.evaluate(website.SCROLL_THROUGH)
    tab.wait_for_load_state("networkidle")
    for response in responses:
        kind = response.request.resource_type
        body = response.body()
        packed = body if body[:4] == b"wOF2" else gzip.compress(body, 9)
        moved[kind if kind in KINDS else "other"] += len(packed)
    loaded = tab.evaluate(
        "performance.getEntriesByType('navigation')[0].loadEventEnd"
    )
    context.close()
    return moved, outside, loaded


def measure(browser, folder):
    server = website.serve(folder)
    address = f"http://127.0.0.1:{server.server_port}"
    rows = {}
    for page in SHOWN:
        runs = [visit(browser, address, page) for _ in range(REPEATS)]
        moved, outside, _ = runs[0]
        rows[page] = moved, outside, statistics.median(r[2] for r in runs)
    server.shutdown()
    return rows


def main():
    with (
        tempfile.TemporaryDirectory() as name,
        sync_playwright() as playwright,
    ):
        folder = Path(name)
        run, site = website.build(folder / "ours")
        if run.returncode:
            sys.exit(run.stdout + run.stderr)
        plain = default_build(folder)
        browser = website.launch(playwright)
        ours, theirs = measure(browser, site), measure(browser, plain)
        browser.close()
    print("compressed kB by kind, requests to other hosts, ms to load")
    head = "".join(f"{kind[:9]:>10}" for kind in KINDS)
    print(f"{'page':<24}{'build':<9}{head}{'sum':>9}{'outside':>9}{'ms':>7}")
    for page in SHOWN:
        for build, rows in (("ours", ours), ("default", theirs)):
            moved, outside, ms = rows[page]
            cells = "".join(f"{moved[kind] / 1e3:10.1f}" for kind in KINDS)
            total = sum(moved.values()) / 1e3
            print(
                f"{page:<24}{build:<9}{cells}{total:9.1f}{outside:9d}{ms:7.0f}"
            )
        bytes_ratio = sum(theirs[page][0].values()) / sum(
            ours[page][0].values()
        )
        time_ratio = theirs[page][2] / ours[page][2]
        print(
            f"{page:<24}ratio    default moves {bytes_ratio:.1f} times the "
            f"bytes and takes {time_ratio:.1f} times as long"
        )


if __name__ == "__main__":
    main()
