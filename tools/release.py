"""Make a release, or report what is missing for one.

    python -m tools.release             check, write the files, and tag
    python -m tools.release --rehearse  write the files, report what is missing
    python -m tools.release --tagged    check and write; the tag exists already

The files of a release, in _build/release, are the site, the notebooks with the
files that they need, the PDFs (`make pdf`), the files of others that run pages
in a browser, and the checksums of all. Two
releases of one commit have the same bytes. The version is in pyproject.toml,
the changes for readers are in CHANGELOG.md, and facts that only the owner
knows are in owner.yml.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

from tools import live

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
MADE = BUILD / "release"
NAME = "attention-verified"
PAPERS = ("lessons.pdf", "practice-and-audits.pdf")
TITLE = "Attention, Verified: a course whose every number is recomputed"
NO_NAMES = "The authors of Attention, Verified"
KEYWORDS = [
    "attention mechanism",
    "transformer",
    "NumPy",
    "executable book",
]
# The chapters, and the files that they need to run.
NEEDED = (
    *("index.ipynb", "book", ":!book/_ext", ":!book/_static"),
    *("helpers", "course"),
    *("requirements.txt", "requirements-model.txt", "pyproject.toml"),
    *("runtime.txt", "postBuild", "tools/jupyter", "README.md"),
    *("LICENSE", "LICENSES", "NOTICE.md"),
)
# The files that may contain the marker, and the marker.
MARKED = ("paper/paper.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "SUPPORT.md")
MARK = re.compile(r"\{owner: ([^}]+)\}")
HEADING = re.compile(r"^## (\S+), (.+)$", re.M)


def project():
    """Return the version and the description of the package."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]


def owner():
    """Return the facts that the owner has filled in."""
    return yaml.safe_load((ROOT / "owner.yml").read_text("utf-8"))


def released():
    """Return the version and date of the newest entry in CHANGELOG.md."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return HEADING.search(text).groups()


def is_day(text):
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is not None


def citation():
    """Return CITATION.cff: how to cite the course."""
    authors = [
        {
            "name": author["name"],
            "orcid": f"https://orcid.org/{author['orcid']}",
            "affiliation": author["affiliation"],
        }
        for author in owner()["authors"]
    ]
    _, day = released()
    fields = {
        "cff-version": "1.2.0",
        "message": "To cite this course, use these details.",
        "type": "software",
        "title": TITLE,
        "authors": authors or [{"name": NO_NAMES}],
        "version": project()["version"],
        **({"date-released": day} if is_day(day) else {}),
        "license": ["BSD-3-Clause", "CC-BY-4.0"],
        "keywords": KEYWORDS,
    }
    return yaml.safe_dump(fields, sort_keys=False, width=100)


def zenodo():
    """Return .zenodo.json: how Zenodo describes the archived release."""
    creators = owner()["authors"] or [{"name": NO_NAMES}]
    fields = {
        "title": TITLE,
        "version": project()["version"],
        "upload_type": "lesson",
        "access_right": "open",
        "license": "CC-BY-4.0",
        "description": (
            "A course on the attention mechanism in executable NumPy "
            "chapters. Text and figures: CC BY 4.0. Code: BSD 3-Clause."
        ),
        "creators": creators,
        "keywords": KEYWORDS,
    }
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def write_metadata():
    """Write the two files that say how to cite the course."""
    (ROOT / "CITATION.cff").write_text(citation(), "utf-8")
    (ROOT / ".zenodo.json").write_text(zenodo(), "utf-8")


def git(*words):
    try:
        return subprocess.run(
            ["git", *words],
            cwd=ROOT,
            env={**os.environ, "TZ": "UTC"},  # archives contain local times
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    except FileNotFoundError:
        sys.exit("no release: it needs git, which is not installed")
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        sys.exit(f"no release: git {' '.join(words[:2])} failed: {said}")


def stem():
    return f"{NAME}-{project()['version']}"


def built():
    """Return the built files of a release and their names in it."""
    # Each build of the site writes this archive, with the same bytes each
    # time.
    site = {BUILD / "html" / f"{NAME}.zip": f"{stem()}-site.zip"}
    return site | {BUILD / "pdf" / it: f"{stem()}-{it}" for it in PAPERS}


def missing(tagged=False):
    """Return the obstacles to a release, one sentence each."""
    told = [
        f"owner.yml: {key} is empty" for key, it in owner().items() if not it
    ]
    for name in MARKED:
        for mark in MARK.findall((ROOT / name).read_text("utf-8")):
            told.append(f"{name}: {mark} is open")
    for path in built():
        if not path.exists():
            told.append(f"{path.name}: not built; make release builds it")
    for name in live.lacking(live.cache()):
        told.append(f"{name}: not there; python -m tools.live gets it")
    number, day = released()
    if number != project()["version"]:
        told.append(
            f"CHANGELOG.md begins with {number}, pyproject.toml has "
            f"{project()['version']}"
        )
    if not is_day(day):
        told.append(f"CHANGELOG.md: version {number} has no date")
    if git("status", "--porcelain"):
        told.append("git: there are uncommitted changes")
    at = git("tag", "--points-at", "HEAD", "--list", f"v{number}")
    if tagged and not at:
        told.append(f"git: this commit has no tag v{number}")
    if not tagged and git("tag", "--list", f"v{number}"):
        told.append(f"git: the tag v{number} exists already")
    return told


def write_files():
    """Write the files of a release and their checksums; return their paths."""
    MADE.mkdir(parents=True, exist_ok=True)
    for path in MADE.iterdir():
        path.unlink()
    target = MADE / f"{stem()}-notebooks.zip"
    prefix = f"--prefix={stem()}/"
    git("archive", prefix, f"--output={target}", "HEAD", *NEEDED)
    for path, name in built().items():
        if path.exists():  # a rehearsal has said what is not there
            shutil.copy(path, MADE / name)
    # Whoever sent them to us may stop.
    if not live.lacking(live.cache()):
        live.archive(live.cache(), MADE / f"{stem()}-pyodide.zip")
    made = sorted(MADE.iterdir())
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in made
    ]
    (MADE / "SHA256SUMS").write_text("".join(sums), "utf-8")
    return [*made, MADE / "SHA256SUMS"]


def notes():
    """Return what CHANGELOG.md says about the newest version."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    return HEADING.split(text)[3].strip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--tagged", action="store_true")
    asked = parser.parse_args()
    told = missing(asked.tagged)
    for line in told:
        print(f"missing: {line}")
    if told and not asked.rehearse:
        sys.exit("no release: fill in the missing facts, or add --rehearse")
    for path in write_files():
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path.relative_to(ROOT)}")
    (BUILD / "release-notes.md").write_text(notes(), "utf-8")
    if not (asked.rehearse or asked.tagged):
        tag = f"v{project()['version']}"
        git("tag", "--annotate", tag, "--message", f"Version {tag[1:]}")
        print(f"tagged {tag}; publish it with: git push origin {tag}")


if __name__ == "__main__":
    main()
