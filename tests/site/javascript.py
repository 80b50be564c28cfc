"""Programs that tests run in a page; they are the files of the folder js."""

import functools
from pathlib import Path

FOLDER = Path(__file__).parent / "js"


@functools.cache
def function(file, name):
    """The function `name` of js/FILE.js, for a page without modules."""
    text = (FOLDER / f"{file}.js").read_text("utf-8").replace("export ", "")
    return f"(...given) => {{\n{text}\nreturn {name}(...given);\n}}"
