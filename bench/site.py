"""Bytes, load times and repaints, against a default build of the same book.

The default build is Jupyter Book without our extension: its own scripts,
style sheets and icon fonts, MathJax, and for every interactive figure an
`ipywidgets` heatmap with its widget manager. Nothing of it is self-hosted.
What it asks of other hosts is taken from the packages of the same name and
version, which `npm pack` brings once, and served by a second local server:
the bytes are counted and the pages work. Where npm is missing those requests
fail, and the table counts them.

Load times are of a phone as Lighthouse imagines it: 150 ms to the server and
back, 1.6 Mbit/s, a processor four times as slow as this one.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import yaml
from nbclient import NotebookClient
from playwright.sync_api import sync_playwright

from bench.figures import MOVES, measure
from course import figures
from tools import website

ROOT = Path(__file__).resolve().parent.parent

TIMED = ("index", *(f"book/{name}" for name in ("derivation", "mask")))
KINDS = ("document", "stylesheet", "script", "font", "image", "other")
REPEATS = 3
SETTLED = 2_000  # ms, in which MathJax and the widgets ask for what they lack
PHONE = {"width": 390, "height": 844}
MODEM = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 750e3 / 8,
}

# The causal heatmap as a course would write it with the default widgets.
TWIN = """\
import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import interact
from helpers.attention import attention
from helpers.masks import causal_mask

def show(T=8, slope=0.0, temperature=1.0, causal=True):
    i, j = np.arange(T)[:, None], np.arange(T)
    zeros = np.zeros((T, 1))
    bias = np.cos(i - 2 * j) / temperature - slope * abs(i - j)
    mask = causal_mask(T) if causal else None
    weights = attention(zeros, zeros, zeros, mask=mask, bias=bias).weights
    plt.imshow(weights, vmin=0, vmax=1)
    plt.colorbar()
    plt.show()
"""
SLIDERS = """\
interact(show, T=(1, 64), slope=(0.0, 1.0), temperature=(0.1, 4.0));
"""

# A jsDelivr address names the npm package that it shows.
PACKAGE = re.compile(
    r"https://cdn\.jsdelivr\.net/npm/((?:@[\w-]+/)?[\w-]+@[\w.^]+)/"
)
REQUIRE = re.compile(
    r"https://cdnjs\.[\w.]+/ajax/libs/require\.js/([\d.]+)/require\.min\.js"
)
INTEGRITY = re.compile(r'\bintegrity="[^"]*"')


# --- the default build ----------------------------------------------------


def with_default_widgets(path):
    """Write `ipywidgets` where the notebook has our figures; count them."""
    notebook = nbformat.read(path, 4)
    ours = [
        cell
        for cell in notebook.cells
        if "data-figure=" in json.dumps(cell.get("outputs", ()))
    ]
    if not ours:
        return 0
    twins = [nbformat.v4.new_code_cell(TWIN + SLIDERS) for _ in ours]
    small = nbformat.v4.new_notebook(cells=twins)
    client = NotebookClient(small, store_widget_state=True)
    client.execute(stderr=subprocess.DEVNULL)
    for cell, twin in zip(ours, small.cells, strict=True):
        cell.source, cell.outputs = twin.source, twin.outputs
    notebook.metadata["widgets"] = small.metadata["widgets"]
    nbformat.write(notebook, path)
    return len(ours)


def default_build(folder):
    """The same pages, built with Jupyter Book's own settings."""
    copy = folder / "source"
    shutil.copytree(
        ROOT,
        copy,
        ignore=shutil.ignore_patterns(".git", ".venv", "_build", ".*"),
    )
    replaced = sum(map(with_default_widgets, copy.rglob("*.ipynb")))
    print(f"default build: {replaced} figures replaced by ipywidgets")
    config = yaml.safe_load((copy / "_config.yml").read_text("utf-8"))
    ours = config["sphinx"]["config"]
    config["sphinx"] = {
        "extra_extensions": [
            "sphinx.ext.autodoc",
            "sphinx.ext.napoleon",
            "sphinx_proof",
        ],
        "config": {"nitpick_ignore_regex": ours["nitpick_ignore_regex"]},
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


def third_parties(site, folder):
    """Serve what the pages ask of other hosts; return the server, or None."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    folder.mkdir()
    server = website.serve(folder)
    local = {}

    def bring(found):
        if found[1] not in local:
            target = folder / str(len(local))
            target.mkdir()
            subprocess.run(
                [npm, "pack", "--silent", found[1]],
                cwd=target,
                check=True,
                capture_output=True,
            )
            with tarfile.open(next(target.glob("*.tgz"))) as packed:
                packed.extractall(target, filter="data")
            local[found[1]] = f"{server.address}/{target.name}/package/"
        return local[found[1]]

    for path in site.rglob("*.html"):
        page = path.read_text("utf-8")
        jsdelivr = r"https://cdn.jsdelivr.net/npm/requirejs@\1/require.js"
        page = PACKAGE.sub(bring, REQUIRE.sub(jsdelivr, page))
        path.write_text(INTEGRITY.sub("", page), "utf-8")
    return server


# --- visits ---------------------------------------------------------------


def weigh(browser, hosts, page):
    """Compressed bytes by kind, and failed requests, scrolled through."""
    tab = browser.new_page(viewport=PHONE)
    moved, failed, kinds = dict.fromkeys(KINDS, 0), [], {}
    tab.on("requestfailed", lambda request: failed.append(request))
    tab.on(
        "request",
        lambda request: kinds.update({request.url: request.resource_type}),
    )
    for host in hosts:
        host.sent.clear()
    tab.goto(f"{hosts[0].address}/{page}.html", wait_until="load")
    website.scroll_through(tab)
    tab.wait_for_timeout(SETTLED)
    for host in hosts:
        for path, size in host.sent:
            # The package has no minified copy of this one: not counted.
            if not path.endswith("/require.js"):
                kind = kinds.get(host.address + path)
                moved[kind if kind in KINDS else "other"] += size
    tab.close()
    return moved, len(failed)


def load(browser, address, page):
    """Milliseconds to the first content and to the end of loading."""
    context = browser.new_context(viewport=PHONE)
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", MODEM)
    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    tab.goto(f"{address}/{page}.html", wait_until="load", timeout=120_000)
    times = tab.evaluate(
        "[performance.getEntriesByName('first-contentful-paint')[0].startTime,"
        " performance.getEntriesByType('navigation')[0].loadEventEnd]"
    )
    context.close()
    return times


# --- repaints -------------------------------------------------------------


def kernel_work():
    """Milliseconds that a kernel needs for each move of the twin's slider."""
    scope, times = {}, []
    exec(TWIN.replace("plt.show()", "plt.savefig(picture)"), scope)
    for n in range(MOVES // 5):
        with tempfile.TemporaryFile() as scope["picture"]:
            start = time.perf_counter()
            scope["show"](T=64, slope=(n % 10) / 10)
            times.append(1e3 * (time.perf_counter() - start))
        plt.close("all")
    return times


def moves_without_kernel(browser, address):
    """Whether the default page's figure follows its own slider."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto(f"{address}/book/mask.html", wait_until="networkidle")
    handle = tab.locator(".widget-slider .noUi-handle").first
    if not handle.count():
        return "the slider does not appear"
    picture = tab.locator(".jupyter-widgets img").first
    label = tab.locator(".widget-slider .widget-readout").first
    before = picture.get_attribute("src"), label.inner_text()
    handle.focus()
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    tab.wait_for_timeout(1000)
    after = picture.get_attribute("src"), label.inner_text()
    tab.close()
    figure = "follows" if before[0] != after[0] else "is never repainted"
    return f"slider goes from {before[1]} to {after[1]}, figure {figure}"


# --- the tables -----------------------------------------------------------


def table_of_bytes(browser, builds):
    print("\ncompressed kB by kind, and requests that fail, scrolled through")
    head = "".join(f"{kind[:9]:>10}" for kind in KINDS)
    print(f"{'page':<32}{'build':<9}{head}{'sum':>9}{'failed':>8}{'ratio':>7}")
    for page in website.PAGES:
        sums = []
        for build, hosts in builds.items():
            moved, failed = weigh(browser, hosts, page)
            sums.append(sum(moved.values()))
            cells = "".join(f"{moved[kind] / 1e3:10.1f}" for kind in KINDS)
            print(
                f"{page:<32}{build:<9}{cells}{sums[-1] / 1e3:9.1f}{failed:8d}"
                f"{sums[-1] / sums[0]:7.1f}"
            )


def table_of_times(browser, builds):
    print("\nms on a slow phone, median of", REPEATS)
    head = f"{'first content':>14}{'loaded':>8}{'ratio':>7}"
    print(f"{'page':<32}{'build':<9}{head}")
    for page in TIMED:
        ours = None
        for build, (host, *_) in builds.items():
            runs = [load(browser, host.address, page) for _ in range(REPEATS)]
            paint, loaded = map(statistics.median, zip(*runs, strict=True))
            ours = ours or loaded
            cells = f"{paint:14.0f}{loaded:8.0f}{loaded / ours:7.1f}"
            print(f"{page:<32}{build:<9}{cells}")


def table_of_repaints(browser, builds):
    print("\nms for one move of a slider, causal heatmap, T = 64")
    ours = measure(browser, figures.CausalHeatmap(T=64), "slope")["busy"]
    kernel = kernel_work()
    for name, times in (("ours", ours), ("default, kernel's part", kernel)):
        p50, p95 = np.percentile(times, [50, 95])
        print(f"{name:<32}p50 {p50:6.1f}  p95 {p95:6.1f}")
    ratio = np.percentile(kernel, [50, 95]) / np.percentile(ours, [50, 95])
    print(f"{'ratio':<32}p50 {ratio[0]:6.1f}  p95 {ratio[1]:6.1f}")
    said = moves_without_kernel(browser, builds["default"][0].address)
    print(f"{'default, on the page':<32}{said}")


def main():
    with (
        tempfile.TemporaryDirectory() as name,
        sync_playwright() as playwright,
    ):
        folder = Path(name)
        build = website.build()
        if build.returncode:
            sys.exit(build.said)
        plain = default_build(folder)
        others = third_parties(plain, folder / "others")
        if others is None:
            print("npm is missing: the default build lacks its third parties")
        builds = {
            "ours": [website.serve(build.folder)],
            "default": [website.serve(plain), *filter(None, [others])],
        }
        browser = website.launch(playwright)
        table_of_bytes(browser, builds)
        table_of_times(browser, builds)
        table_of_repaints(browser, builds)
        browser.close()


if __name__ == "__main__":
    main()
