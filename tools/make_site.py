"""Build the site into _build/html, as far as something has changed.

python -m tools.make_site

* If nothing has changed, nothing is built.
* If pages, scripts or styles have changed, Sphinx reads and writes the pages
  affected.
* If anything else has changed, such as the table of contents or the package,
  everything is built anew. The same happens after a build that failed or did
  not finish, because Sphinx would not repeat its warnings about pages that it
  has already read.
"""

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tools import live

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
RECORD = BUILD / "built.json"
# Folders that contain no sources of pages.
APART = {"_build", "build", "tests", "tools", "bench", "__pycache__"}
# Files whose changes Sphinx and our extension notice, page by page.
BY_PAGE = (".ipynb", ".md", ".js", ".css")
# Copied at each build, and no page depends on it.
COPIED = "book/_live/"
# Loaded as a single file, because importing the whole extension imports
# Sphinx, which takes a second.
LAUNCH = runpy.run_path(ROOT / "book/_ext/attention_site/launch.py")


def files(folder):
    """Yield the files of a folder that a page could depend on."""
    for path, folders, names in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name not in APART
            and not name.startswith(".")
            and not name.endswith(".egg-info")
        ]
        yield from (Path(path, name) for name in names)


def packages(root):
    """Return the installed packages that the book needs, with versions."""
    lines = Path(root, "requirements.txt").read_text("utf-8").splitlines()
    # A pin with a condition may be for other systems, and here for the tests.
    pins = [line for line in lines if " ; " not in line]
    names = {re.split(r"[=\[]", pin)[0].replace("-", "_") for pin in pins}
    installed = os.listdir(sysconfig.get_path("purelib"))
    return sorted(
        name
        for name in installed
        if name.endswith(".dist-info")
        and re.sub(r"[-.]", "_", name.lower().partition("-")[0]) in names
    )


def given(root, runs=None):
    """Return the inputs of a build: a digest of each file, and versions.

    `runs` is the folder of what lets pages run, if there is one.
    """
    found = {
        path.relative_to(root).as_posix(): hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in files(root)
        if not path.name.startswith(".")
    }
    day = LAUNCH["git"](root, "log", "-1", "--format=%cs")
    git = [LAUNCH["repository"](root), LAUNCH["branch"](root), day]
    said = [sys.version, packages(root), git, bool(runs)]
    return {**found, "": repr(said)}


def made(site):
    """Return the files of the built site, with their sizes and times."""
    stats = {
        path.relative_to(site).as_posix(): path.stat()
        for path in site.rglob("*")
        if path.is_file()
    }
    return {name: [s.st_size, s.st_mtime_ns] for name, s in stats.items()}


def to_do(before, now):
    """Return how much has to be built: "nothing", "some" or "all"."""
    if before == now:
        return "nothing"
    if before is None or before["given"].keys() != now["given"].keys():
        return "all"
    old, new = before["given"], now["given"]
    changed = [name for name in new if new[name] != old[name]]
    by_page = all(
        name.endswith(BY_PAGE) or name.startswith(COPIED) for name in changed
    )
    return "some" if by_page and before["made"] == now["made"] else "all"


def main():
    try:
        runs = live.ready()
    except live.Missing as error:
        return f"No site: {error}"
    now = {"given": given(ROOT, runs), "made": made(SITE)}
    before = json.loads(RECORD.read_text()) if RECORD.exists() else None
    todo = to_do(before, now)
    if todo == "nothing":
        print("Nothing has changed. The site is", SITE / "index.html")
        return 0
    RECORD.unlink(missing_ok=True)
    if todo == "all":
        print("Building the site, less than a minute on two quiet cores ...")
        shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
        shutil.rmtree(SITE, ignore_errors=True)
    else:
        print("Building the pages that have changed ...")
    sys.stdout.flush()
    # Not its script, whose first line breaks at a quote in the folder's name.
    builder = "from jupyter_book.cli.main import main; main()"
    options = ("-W", "-n", "--keep-going", "--quiet")
    command = [sys.executable, "-c", builder, "build", ROOT, *options]
    env = {**os.environ, "ATTENTION_LIVE": str(runs or "")}
    run = subprocess.run(command, env=env, check=False)
    if run.returncode == 0:
        now["made"] = made(SITE)
        RECORD.write_text(json.dumps(now))
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
