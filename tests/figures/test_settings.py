"""Traits and docstrings, which are made from the controls of each module."""

import pytest

from course import figures
from tests.figures.expected_figures import CLASSES, controls

# One setting of each kind: the trait's type and first value, and its words.
MADE = [
    ("causal", "T", int, 8, "T : int, default 8\n    Tokens; from 2 to 64."),
    (
        *("causal", "slope", float, 0.0),
        "slope : float, default 0.0\n    The ALiBi slope; from 0 to 1.",
    ),
    (
        *("kvcache", "dtype", str, "float16 or bfloat16"),
        'dtype : str, default "float16 or bfloat16"\n    The numbers that are '
        'stored; one of "float32", "float16 or bfloat16",\n    "8 bits".',
    ),
    (
        *("tiles", "causal", bool, True),
        "causal : bool, default True\n    Leave out the tiles above the "
        "diagonal.",
    ),
    (
        *("saturation", "d_k", int, 64),
        "d_k : int, default 64\n    Width of queries and keys; a power of two "
        "from 1 to 1024.",
    ),
    (
        *("induction", "step", int, 0),
        "step : int, default 0\n    Steps of training; one of 0, 20, 40, "
        "60, 80, 100, 150, 300.",
    ),
    (
        *("induction", "symbols", str, "FLICKEDFLICK"),
        'symbols : str, default "FLICKEDFLICK"\n    What the model reads; '
        "1 to 32 letters from A to L.",
    ),
    (
        *("film", "words", str, "cat sat mat"),
        'words : str, default "cat sat mat"\n    A word for each row of `X`; '
        "from 2 to 4, each of at most 7 letters,\n    with a blank between "
        "them.",
    ),
    (
        *("mask", "may", list, [[1] * 4] * 4),
        "may : (T, S) array\n    A row per query, with 1 where it may attend "
        "to the key; 4 rows of 4\n    numbers from 0 to 1.",
    ),
]


@pytest.mark.parametrize(("name", "key", "kind", "first", "words"), MADE)
def test_trait_and_docstring_follow_the_control(name, key, kind, first, words):
    value = getattr(CLASSES[name](), key)
    assert (type(value), value) == (kind, first)
    assert f"\n{words}\n" in CLASSES[name].__doc__


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
    assert set(CLASSES) == modules, "give it a class in figures.py"
