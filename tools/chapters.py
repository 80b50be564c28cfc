"""Number the chapters by their order in `_toc.yml`, the only source.

Parts of the table of contents with `numbered: 1` hold chapters, which are
numbered consecutively. A text refers to a chapter by a link, `[chapter
6](mask.ipynb)`, and `make texts` fills in the number, so adding a chapter
needs no renaming.
"""

import re
from functools import lru_cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
# [chapter 6](mask.ipynb), [Chapters 9](...) to [11](...), also with a folder
# before the name and a heading after it.
LINK = re.compile(
    r"\[((?:[Cc]hapters?[ \n])?)\d+\]"
    r"(\((?:\.\./|book/)?([\w-]+)\.ipynb(?:#[^)]*)?\))"
)


@lru_cache
def numbers():
    """Return the number of each chapter, by the name of its notebook."""
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    files = [
        chapter["file"]
        for part in yaml.safe_load(text)["parts"]
        for chapter in part["chapters"]
        if part.get("numbered")
    ]
    return {Path(file).name: place for place, file in enumerate(files, 1)}


@lru_cache
def left_out():
    """Return the lessons that a book with only some chapters leaves out."""
    text = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"file: book/([\w-]+)$", text, re.MULTILINE))
    return {path.stem for path in ROOT.glob("book/*.ipynb")} - listed


def number(path):
    """Return the number of the chapter in a file; or None for other pages."""
    if path is None or path.parent != ROOT / "book":
        return None
    return numbers().get(path.stem)


def number_chapters(markdown):
    """Write the correct number into each link to a chapter.

    Raises
    ------
    ValueError
        If a link with a number leads to no numbered chapter. A book with only
        some chapters may link to the others, which keep their numbers: the
        site shows their titles instead.
    """

    def numbered(link):
        if link[3] in left_out():
            return link[0]
        if link[3] not in numbers():
            raise ValueError(
                f"{link[0]}: no part with `numbered` lists {link[3]!r}"
            )
        return f"[{link[1]}{numbers()[link[3]]}]{link[2]}"

    return LINK.sub(numbered, markdown)
