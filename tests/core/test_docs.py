"""The helpers keep their contract: documented, small, and self-contained."""

import ast
import functools
import importlib
import inspect
import json
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import course
import helpers
from tests import budgets

FOLDER = Path(helpers.__file__).parent
PACKAGES = helpers, course
MODULES = [
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(
        package.__path__, f"{package.__name__}."
    )
]
# `distributed` needs Dask.
NUMERIC = [
    name
    for name in MODULES
    if name.startswith("helpers.") and name != "helpers.distributed"
]


def public(module):
    """The functions of a module; `transformer` is made of `model`."""
    own = {"helpers.transformer": "helpers.model."}.get(module, module)
    module = importlib.import_module(module)
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and inspect.isfunction(value)
        and value.__module__.startswith(own)
    }


def called_by_chapters():
    """What notebooks import from a module of the course, or take from one."""
    for path in (FOLDER.parent / "book").rglob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells)
        names = r"from (course[.\w]*) import (\([^)]*\)|.*)"
        for module, some in re.findall(names, code):
            yield from ((module, name) for name in re.findall(r"\w+", some))
        for module, name in re.findall(r"\b(plotting|practice)\.(\w+)", code):
            yield f"course.{module}", name


CALLED = [
    getattr(importlib.import_module(module), name, None)
    for module, name in sorted({*called_by_chapters()})
]
FUNCTIONS = [
    pytest.param(function, id=f"{module}.{name}")
    for module in MODULES
    if not re.search(r"\._|helpers\.model\.", module)
    for name, function in public(module).items()
    if module.startswith("helpers.") or function in CALLED
]


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_is(module):
    doc = importlib.import_module(module).__doc__
    assert doc.splitlines()[0].strip().endswith(".")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_is_documented(function):
    doc = inspect.getdoc(function)
    assert doc.splitlines()[0].endswith("."), doc
    takes = list(inspect.signature(function).parameters)
    if len(takes) < 2 and "Parameters" not in doc:
        return
    named = doc.split("Parameters\n")[1].split("\n\n")[0]
    for name in takes:
        assert name in named, (
            f"{function.__name__} does not document {name}: write "
            f"`{name} : TYPE` and what it is below Parameters"
        )


@pytest.mark.parametrize("module", NUMERIC)
def test_numeric_modules_import_numpy_and_the_standard_library(module):
    found = set()
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.split(".")[0])
    assert found <= {*sys.stdlib_module_names, "numpy"}


def test_helpers_import_nothing_of_the_course():
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in getattr(node, "names", [])]
            names += [getattr(node, "module", None) or ""]
            tops = {str(name).split(".")[0] for name in names}
            assert not tops & {"course", "research", "tools"}, path


def test_the_oracle_is_independent():
    for path in sorted(Path(__file__).parent.glob("reference*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        names = {a.name for node in imports for a in node.names}
        assert names <= {"math"}, f"{path.name} imports {names}"
        assert all(isinstance(node, ast.Import) for node in imports)


def test_functions_stay_short():
    paths = [
        path for it in PACKAGES for path in Path(*it.__path__).rglob("*.py")
    ]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                statements = [
                    n for n in ast.walk(node) if isinstance(n, ast.stmt)
                ]
                what = f"statements of {node.name} in {path.name}"
                budgets.keep(what, len(statements), 40)


TESTS = Path(__file__).resolve().parents[1]
# Modules of the course that compute.
COMPUTING = [
    f"course.{name}"
    for name in (
        *("broken", "cards", "evidence", "real_heads", "recall"),
        "sentences",
    )
]
# Their plain loops stand in their own tests.
OWN_LOOPS = {
    "training": "test_training",
    "evidence": "test_training",
    "broken": "test_labs",
}


@functools.cache
def independent():
    """Test modules with a second way: plain loops, or differences."""
    texts = {p.stem: p.read_text("utf-8") for p in TESTS.rglob("*.py")}
    second = r"^from tests\.core(\.| import )reference|\bassert_gradient\(loss"
    return {
        name: text
        for name, text in texts.items()
        if name.startswith("reference")
        or name in OWN_LOOPS.values()
        or re.search(second, text, re.MULTILINE)
    }


@functools.cache
def held_against(module):
    """What compares a module with plain loops, or with differences."""
    own = OWN_LOOPS.get(module.rpartition(".")[2])
    others = {*OWN_LOOPS.values()} - {own}
    return "".join(
        text for name, text in independent().items() if name not in others
    )


def lacking(module, name, function):
    """What a function of the package lacks, and where it belongs."""
    page = (FOLDER.parent / "book").glob("reference*.md")
    places = "".join(path.read_text("utf-8") for path in page)
    if ">>>" not in (inspect.getdoc(function) or ""):
        yield "an example in its docstring, which is run as a test"
    if not re.search(rf"\b{name}\b", held_against(module)):
        yield (
            "a test against an independent way: a loop in "
            "tests/core/reference*.py, and a test module that imports it "
            "and calls both"
        )
    if f".. automodule:: {module}\n" not in places:
        yield "a place in the reference: an automodule in book/reference*.md"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (m, name)
        for m in (*NUMERIC, *COMPUTING)
        if not re.search(r"\._|helpers\.model\.", m)
        for name in public(m)
    ],
)
def test_every_function_has_an_example_an_oracle_and_a_place(module, name):
    missing = list(lacking(module, name, public(module)[name]))
    assert not missing, f"{module}.{name} lacks {'; '.join(missing)}"


def private_imports(path):
    """The private names that a file takes from other modules of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            ours = node.level or node.module.split(".")[0] in OURS
            for name in (alias.name for alias in node.names if ours):
                if node.module in (None, "helpers", "course"):
                    modules.add(name)  # a module, which may be private
                elif name.startswith("_"):
                    yield name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(module), name) if module in modules:
                if name.startswith("_"):
                    yield f"{module}.{name}"


OURS = "helpers", "course", "research", "tools", "bench", "attention_site"
PRODUCT = [
    path
    for folder in (*OURS[:-1], "book/_ext")
    for path in sorted((FOLDER.parent / folder).rglob("*.py"))
]


def test_private_imports_are_found(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "from . import _core, tiled\nfrom .launch import _git\n"
        "from helpers import heads\nfrom os import _exit\n"
        "_core.softmax, tiled._finish, heads._project, self._x, _git\n"
    )
    found = ["_git", "tiled._finish", "heads._project"]
    assert sorted(private_imports(path)) == sorted(found)


@pytest.mark.parametrize(
    "path", PRODUCT, ids=lambda path: str(path.relative_to(FOLDER.parent))
)
def test_private_names_stay_in_their_module(path):
    assert not list(private_imports(path))
