"""Put beside the pages what they need to run in the reader's browser.

`tools.live` has fetched the files of others and checked them, and gives their
folder in the variable ATTENTION_LIVE. Without it a site is built whose pages
do not run.

`_static/live` gets the files of others, what we wrote for the browser, and
`course.zip`: the modules of the course as they are, with what the kernel of a
page needs. `files.json` has the SHA-256 of each, and the scripts of figures.
"""

import hashlib
import json
import os
import re
import shutil
import zipfile
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

from course import figures

ROOT = Path(__file__).resolve().parents[3]
OWN = ROOT / "book/_live"
PACKAGES = ("course", "helpers")
LEDGERS = "course/ledgers"
EVIDENCE = "course/evidence"
# Only a figure's script asks for what they say, and pages have the scripts.
OF_SCRIPTS = ("course/figures/*/data.py", "course/real_heads.py")
QUOTED = re.compile(r"""["']([\w.-]+)["']""")


def folder():
    """Return the folder of the files of others, or None."""
    given = os.environ.get("ATTENTION_LIVE")
    return Path(given) if given else None


def data():
    """Return what is known of the files of others."""
    return json.loads((OWN / "files.json").read_text("utf-8"))


def cells(path):
    """Yield the code of a notebook, cell by cell."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def modules():
    """Return the modules of the course: their paths, by their names."""
    return {
        path.relative_to(ROOT).as_posix(): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }


def evidence():
    """Return the stored results that a cell or a module names."""
    codes = [
        path.read_text("utf-8")
        for name, path in modules().items()
        if not any(fnmatch(name, it) for it in OF_SCRIPTS)
    ]
    for path in [ROOT / "index.ipynb", *(ROOT / "book").rglob("*.ipynb")]:
        codes += cells(path)
    named = set(QUOTED.findall("\n".join(codes)))
    return {
        path.relative_to(ROOT).as_posix(): path
        for path in (ROOT / EVIDENCE).glob("*.*")
        if {path.name, path.stem if path.suffix == ".json" else ""} & named
    }


def of_kernel():
    """Return what the kernel of a page needs besides the course."""
    own = OWN.rglob("*.py")
    found = {path.relative_to(OWN).as_posix(): path for path in own}
    python = Path(find_spec("IPython").origin).parent
    found["IPython/lib/pretty.py"] = python / "lib/pretty.py"
    for path in Path(find_spec("yaml").origin).parent.glob("*.py"):
        found[f"yaml/{path.name}"] = path
    return found


def course():
    """Return all that `course.zip` holds: paths, by names in it."""
    ledgers = {
        path.relative_to(ROOT).as_posix(): path
        for path in (ROOT / LEDGERS).glob("*.yml")
    }
    return {**modules(), **ledgers, **evidence(), **of_kernel()}


def zipped(texts, target):
    """Write an archive; equal files give equal bytes."""
    with zipfile.ZipFile(target, "w", compresslevel=9) as file:
        for name in sorted(texts):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, texts[name])


def cut(wheel, change, target):
    """Write a wheel without some files, and with some of ours instead."""
    with zipfile.ZipFile(wheel) as file:
        kept = {
            name: file.read(name)
            for name in file.namelist()
            if not any(fnmatch(name, it) for it in change["without"])
        }
    for name, ours in change.get("instead", {}).items():
        kept[name] = (OWN / ours).read_bytes()
    zipped(kept, target)


def lock(known, sums):
    """Return Pyodide's list of packages, with those that the site serves."""
    packages = {
        it["package"]: {
            "name": it["package"],
            "version": it["version"],
            "file_name": name,
            "install_dir": "site",
            "sha256": sums[name]["sha256"],
            "package_type": "package",
            "imports": it["imports"],
            "depends": it["depends"],
            "unvendored_tests": False,
        }
        for name, it in known["files"].items()
        if "package" in it
    }
    return {"info": known["info"], "packages": packages}


def sums(folder):
    """Return the size and the SHA-256 of each file of a folder."""
    return {
        path.name: {
            "size": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(folder.iterdir())
    }


def as_text(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def write(app):
    target = Path(app.outdir, "_static/live")
    shutil.rmtree(target, ignore_errors=True)
    if not folder():
        return
    target.mkdir(parents=True)
    known = data()
    for name, it in known["files"].items():
        if "without" in it:
            cut(folder() / name, it, target / name)
        else:
            shutil.copy(folder() / name, target / name)
    listed = lock(known, sums(target))
    (target / "pyodide-lock.json").write_text(as_text(listed), "utf-8")
    texts = {name: path.read_bytes() for name, path in course().items()}
    zipped(texts, target / "course.zip")
    for path in [*OWN.glob("*.js"), *OWN.glob("*.css")]:
        shutil.copy(path, target)
    scripts = {name: list(figures.scripts(name)) for name in figures.classes()}
    made = {
        "pyodide": known["pyodide"],
        "files": sums(target),
        "scripts": scripts,
    }
    (target / "files.json").write_text(as_text(made), "utf-8")
