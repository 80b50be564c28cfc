"""Traits and docstrings, which are made from the controls of each module."""

import re
import subprocess
import sys

import pytest

from course import figures
from tests.figures.expected_figures import CLASSES, controls

# A setting of each kind: the trait's type and first value, how the docs begin,
# and the limits that they state.
MADE = [
    ("causal", "T", 8, "int, default 8", ["2", "64"]),
    ("causal", "slope", 0.0, "float, default 0.0", ["0", "1"]),
    (
        *("kvcache", "dtype", "float16 or bfloat16"),
        'str, default "float16 or bfloat16"',
        ['"float32"', '"float16 or bfloat16"', '"8 bits"'],
    ),
    ("tiles", "causal", True, "bool, default True", []),
    ("saturation", "d_k", 64, "int, default 64", ["1", "1024"]),
    (
        *("induction", "step", 0, "int, default 0"),
        ["0", "20", "40", "60", "80", "100", "150", "300"],
    ),
    (
        *("induction", "symbols", "FLICKEDFLICK"),
        'str, default "FLICKEDFLICK"',
        ["1", "32"],
    ),
    (
        *("film", "words", "cat sat mat"),
        'str, default "cat sat mat"',
        ["2", "4", "7"],
    ),
    ("mask", "may", [[1] * 4] * 4, "(T, S) array", ["4", "4", "0", "1"]),
]


def documented(name, key):
    """The first line of a setting in the docs, and its description."""
    found = re.search(
        rf"^{key} : (.*)\n((?:    .*\n)+)", CLASSES[name].__doc__, re.M
    )
    return found[1], " ".join(found[2].split())


@pytest.mark.parametrize(("name", "key", "first", "begins", "limits"), MADE)
def test_trait_and_docs_follow_the_control(name, key, first, begins, limits):
    value = getattr(CLASSES[name](), key)
    assert (type(value), value) == (type(first), first)
    about = next(c["about"] for c in controls(name) if c["key"] == key)
    head, text = documented(name, key)
    assert head == begins
    assert text.startswith(about)
    stated = re.findall(r'\b\d+\b|"[^"]*"', text.removeprefix(about))
    assert stated == limits


@pytest.mark.parametrize("name", CLASSES)
def test_controls_say_what_they_set(name):
    """Each is a trait; its first value is right, and stored as a trait's."""
    figure = CLASSES[name]()
    assert set(figure._settings()) == {c["key"] for c in controls(name)}
    for control in controls(name):
        assert control["about"], control["key"]
        assert getattr(figure, control["key"]) == control["first"]


def test_declare_refuses_a_control_that_says_too_little():
    control = {"key": "T", "kind": "flag", "label": "T"}
    with pytest.raises(ValueError, match=r"'T' of .* needs first and about"):
        figures.InteractiveFigure._declare([control])


def test_classes_are_by_the_names_of_their_modules():
    modules = {
        path.stem
        for path in figures.FOLDER.rglob("*.js")
        if "export default figureModule(" in path.read_text("utf-8")
    }
    assert set(CLASSES) == modules, (
        "give it a class in course/figures/NAME/__init__.py, and a line in "
        "FOLDERS of course/figures/__init__.py"
    )


COUNT = """
import quickjs
engines, start = [], quickjs.Context
quickjs.Context = lambda: engines.append(start()) or engines[-1]
{}
print(len(engines))
"""
ASK = 'Number("half", "?", 0.5, "Yes.", places=1, wrong=[], otherwise="No.")'


@pytest.mark.parametrize(
    ("code", "engines"),
    [
        ("from course import figures", 0),
        ("from course.figures import MaskPainter; MaskPainter()", 1),
        ("from course.figures import RealHeads, Words; Words().html()", 2),
        (f"from course.practice import *; {ASK}._repr_mimebundle_()", 0),
    ],
)
def test_a_figure_starts_no_engine_for_another(code, engines):
    """An engine takes 20 ms, and there are 40 figures."""
    ran = subprocess.run(
        [sys.executable, "-c", COUNT.format(code)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ran.stdout) == engines
