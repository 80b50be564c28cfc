"""The programs of the findings for others, run as a reader would run them."""

import re

import pytest

from tools import website

FOLDER = website.ROOT / "findings"
PAGES = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_program_of_a_finding_shows_it(path):
    (program,) = re.findall(
        r"```python\n(.*?)```", path.read_text("utf-8"), re.S
    )
    assert "assert" in program
    exec(compile(program, path.name, "exec"), {})


def test_the_list_has_each_finding():
    listed = re.findall(
        r"\(([\w.-]+\.md)\)", (FOLDER / "README.md").read_text("utf-8")
    )
    assert sorted(listed) == [path.name for path in PAGES]
