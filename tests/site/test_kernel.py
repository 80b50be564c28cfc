"""The kernel of a page: it runs cells, and says what is not as stored."""

import importlib.util
import json

import nbformat
import pytest

from tests.book.practice_pages import PAGES, ROOT


@pytest.fixture(scope="module")
def kernel():
    """The module, as Python imports it here."""
    path = ROOT / "book/_live/kernel.py"
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_prints_here_what_is_stored(kernel):
    session, same = kernel.Session(), 0
    [path] = (path for path in PAGES if path.stem == "mask")
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            # The first output of a question is a widget here.
            found = kernel.checked(session, cell, cell.id)
            assert found["different"] == [], cell.source
            assert found["same"] == found["count"]
            same += found["same"]
    assert same > 10


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 1", [{"text/plain": "2"}]),
        ("1 + 1;", []),
        ("x = 1", []),
        ("None", []),
        (
            "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')",
            [{"stderr": "b\n"}, {"stdout": "a\nc\n"}],
        ),
        ("1 / 0", [{"error": "ZeroDivisionError: division by zero"}]),
        ("raise SystemExit(2)", [{"error": "SystemExit: 2"}]),
        ("for i in (1, 2):\n    i", []),
        # IPython breaks long values into lines.
        (
            "dict.fromkeys(range(30))",
            [
                {
                    "text/plain": "{"
                    + ",\n ".join(f"{i}: None" for i in range(30))
                    + "}"
                }
            ],
        ),
    ],
)
def test_a_cell_gives_what_it_gives_in_jupyter(kernel, source, expected):
    assert kernel.shown(kernel.Session().run(source)) == expected


def test_a_traceback_begins_in_the_cell(kernel):
    source = "def half(n):\n    return n / 0\n\nhalf(1)"
    [error] = kernel.Session().run(source, "cell 3")
    assert error["traceback"][1].startswith('  File "cell 3", line 4')
    assert "    return n / 0" in error["traceback"]


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def value(plain, **more):
    data = {"text/plain": plain, **more}
    return {"output_type": "execute_result", "data": data}


@pytest.mark.parametrize(
    ("stored", "now", "same", "different"),
    [
        ([stream(["a\n", "b"])], [stream("a\n"), stream("b")], 1, 0),
        ([stream("a")], [stream("b")], 0, 1),
        ([stream("a")], [stream("a", "stderr")], 0, 2),
        ([stream("a")], [], 0, 1),
        ([], [stream("a")], 0, 1),
        ([value("1")], [value("1")], 1, 0),
        ([value("1")], [value("2")], 0, 1),
        ([value("1", **{"text/html": "x"})], [value("1")], 0, 1),
        ([value("1"), value("2")], [value("2"), value("1")], 0, 2),
        # Of a drawing, the alternative text counts.
        ([value("a", **{"image/svg+xml": "x"})], [value("a")], 1, 0),
    ],
)
def test_outputs_are_compared_text_by_text(
    kernel, stored, now, same, different
):
    found = kernel.compared(stored, now)
    assert found["same"] == same
    assert len(found["different"]) == different


def cell(source, *outputs, tags=()):
    return {
        "source": source,
        "outputs": list(outputs),
        "metadata": {"tags": list(tags)},
    }


def test_what_a_page_lacks_counts_apart_with_all_that_reads_it(kernel):
    lack = "raise ModuleNotFoundError(\"No module named 'dask'\")"
    session = kernel.Session()

    def why(source):
        return kernel.checked(session, cell(source), "cell").get("why")

    assert why("import json\nx = 1") is None
    assert why(f"y = 2\n{lack}\nz = 3") == "several processes"
    assert why("w = z + 1") == "several processes"
    assert why("w") == "several processes"
    assert why("y") is None, "it was bound before the error"
    assert why("nobody") is None, "another error is a difference"


def test_an_error_that_is_not_stored_is_a_difference(kernel):
    session = kernel.Session()
    for tags in ((), ("nbval-ignore-output",), ("raises-exception",)):
        found = kernel.checked(session, cell("1 / 0", tags=tags), "cell")
        assert found["different"]


def test_the_worker_gets_texts(kernel):
    stored = json.dumps(cell("1 + 1", value("2")))
    assert json.loads(kernel.check_cell(stored, "a"))["same"] == 1
    found = json.loads(kernel.run_cell(stored, "1 + 2", "a"))
    assert found["different"] == [["2", "3"]]
    assert found["outputs"][0]["data"] == {"text/plain": "3"}
