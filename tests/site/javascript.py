"""Programs that tests run in a page; they are the files of the folder js."""

import functools
from pathlib import Path

FOLDER = Path(__file__).parent / "js"


@functools.cache
def program(file):
    """The functions of js/FILE.js, for a page without modules."""
    return (FOLDER / f"{file}.js").read_text("utf-8").replace("export ", "")


def function(file, name):
    """One of these functions, which Playwright calls."""
    return f"(...given) => {{\n{program(file)}\nreturn {name}(...given);\n}}"
