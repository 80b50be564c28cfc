"""The JavaScript that tests run: functions of the files in js."""

import functools
from pathlib import Path

FOLDER = Path(__file__).parent / "js"


@functools.cache
def program(name):
    """The functions of js/NAME.js, for a page or an engine without modules."""
    text = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    return text.replace("export ", "")
