"""The figures' JavaScript as the browser gets it: each name is known."""

import json
import subprocess
import sys
from pathlib import Path

from helpers import figures
from tools import website

FILES = [
    *sorted(figures.FOLDER.glob("*.js")),
    website.ROOT / "book" / "_static" / "site.js",
]
PARTS = ("common", "transformer", "site")  # of other modules, or of none
ALONE = ("practice",)  # shares nothing with the figures
NAMES = [path.stem for path in FILES if path.stem not in PARTS]


def tool(name, *arguments):
    """What a tool of this environment says of the project's files."""
    command = Path(sys.executable).with_name(name)
    return subprocess.run(
        [str(command), *map(str, arguments)],
        cwd=website.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_browser_runs_knows_its_names(tmp_path):
    """Each module as it is joined: no name is unknown, none is for nothing."""
    for name in NAMES:
        (tmp_path / f"{name}.js").write_text(figures.module(name), "utf-8")
    config = website.ROOT / ".oxlintrc.json"
    run = tool(
        "oxlint", "-c", config, "-D", "no-undef", "--format=json", tmp_path
    )
    unused = {name: set() for name in NAMES}
    for found in json.loads(run.stdout)["diagnostics"]:
        if found["code"] != "eslint(no-unused-vars)":
            raise AssertionError(f"{found['filename']}: {found['message']}")
        unused[Path(found["filename"]).stem].add(found["message"])
    assert not any(unused.pop(name) for name in ALONE)
    # A figure may leave out what another one uses; all may not.
    assert not set.intersection(*unused.values())
