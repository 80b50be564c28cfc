"""How long a build of the site takes: cold, unchanged, one lesson edited.

Run by `make bench`. `python bench/build.py COMMIT` measures a commit as well,
in turns with this folder, and prints the ratios. Beside the time that passes
stands the time of the processors, which other work on the machine changes
less: it is the sum over all processes of a build.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 3
LESSON = "book/mask.ipynb"
KINDS = "cold", "unchanged", "one lesson"


def copy_of(commit, folder):
    """The files of a commit, or those of this folder."""
    if commit is None:
        apart = shutil.ignore_patterns(".*", "_build", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=apart)
        return folder
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, capture_output=True
    )
    subprocess.run(["tar", "x"], cwd=folder, input=archive.stdout, check=True)
    return folder


def seconds(folder):
    """The time that a build takes: what passes, and of all processors."""
    script = folder / "tools" / "make_site.py"
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "."]
    command += ["-W", "-n", "--keep-going", "--quiet"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(
        [sys.executable, script] if script.exists() else command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    passed = time.time() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return passed, used


def edited(notebook):
    """A notebook with one more sentence in its prose."""
    notebook = json.loads(notebook)
    prose = [c for c in notebook["cells"] if c["cell_type"] == "markdown"]
    prose[-1]["source"].append("\n\nThis sentence is new.")
    return json.dumps(notebook)


def builds(folder):
    """The three kinds of build, one after another."""
    shutil.rmtree(folder / "_build", ignore_errors=True)
    yield seconds(folder)
    yield seconds(folder)
    lesson = folder / LESSON
    text = lesson.read_text("utf-8")
    lesson.write_text(edited(text), "utf-8")
    yield seconds(folder)
    lesson.write_text(text, "utf-8")


def main(commits):
    with tempfile.TemporaryDirectory() as folder:
        copies = {
            commit or "this folder": copy_of(commit, Path(folder, str(place)))
            for place, commit in enumerate([*commits, None])
        }
        runs = [
            {name: list(builds(copy)) for name, copy in copies.items()}
            for _ in range(REPEATS)
        ]
    medians = {
        (name, kind): [
            statistics.median(column)
            for column in zip(*(run[name][place] for run in runs), strict=True)
        ]
        for name in copies
        for place, kind in enumerate(KINDS)
    }
    print(f"median of {REPEATS}, in s           passes  processors")
    for (name, kind), (passed, used) in medians.items():
        print(f"{name[:12]:12} {kind:12} {passed:9.1f} {used:11.1f}")
    for commit in commits:
        for kind in KINDS:
            now, then = medians["this folder", kind], medians[commit, kind]
            ratios = [a / b for a, b in zip(now, then, strict=True)]
            print(f"ratio        {kind:12} {ratios[0]:9.2f} {ratios[1]:11.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
