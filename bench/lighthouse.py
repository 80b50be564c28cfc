"""Lighthouse (mobile) for every page, where Node's `lighthouse` is installed.

Lighthouse is not a dependency of the book. `npm install --global lighthouse`
puts it on the path; without it this script says so and ends. `python -m
bench.lighthouse index book/mask` visits these pages alone.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import website

ROOT = Path(__file__).resolve().parent.parent

SCORES = ("performance", "accessibility", "best-practices", "seo")
TIMES = (
    "first-contentful-paint",
    "largest-contentful-paint",
    "total-blocking-time",
)
REPEATS = 3


def audit(command, address, report):
    """The scores out of 100, milliseconds and layout shift of one visit."""
    subprocess.run(
        [
            command, address, "--quiet", "--output=json",
            f"--output-path={report}",
            "--chrome-flags=--headless --no-sandbox --disable-gpu"
            " --disable-background-networking",
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "CHROME_PATH": website.CHROMIUM or ""},
    )  # fmt: skip
    found = json.loads(report.read_text("utf-8"))
    return [
        *(100 * found["categories"][name]["score"] for name in SCORES),
        *(found["audits"][name]["numericValue"] for name in TIMES),
        found["audits"]["cumulative-layout-shift"]["numericValue"],
    ]


def main():
    command = shutil.which("lighthouse")
    if command is None:
        print("lighthouse is not installed: nothing measured")
        return
    build = website.build()
    if build.returncode:
        sys.exit(build.said)
    with tempfile.TemporaryDirectory() as name:
        address = website.serve(build.folder).address
        print(f"median of {REPEATS}; in brackets the least performance; ms")
        names = "  a11y  best   seo   FCP   LCP   TBT   CLS"
        print(f"{'page':<32}performance{names}")
        for page in sys.argv[1:] or website.PAGES:
            runs = [
                audit(command, f"{address}/{page}.html", Path(name, "r.json"))
                for _ in range(REPEATS)
            ]
            *numbers, shift = map(statistics.median, zip(*runs, strict=True))
            least = min(run[0] for run in runs)
            cells = "".join(f"{number:6.0f}" for number in numbers[1:])
            print(f"{page:<32}{numbers[0]:5.0f} ({least:3.0f}){cells}"
                  f"{shift:6.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
