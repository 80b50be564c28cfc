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


def test_what_is_printed_is_told_before_a_cell_ends(kernel):
    """Also the last piece, after which it may run for ever."""
    session, told, seen = kernel.Session(), [], []
    vars(session.module).update(told=told, seen=seen)
    session.run(
        "print('a')\n"
        "for i in range(3000): print(i % 10, end='')\n"
        "seen += told",
        tell=lambda name, text, left: told.append(text),
    )
    assert "".join(seen) == "a\n" + "0123456789" * 300


@pytest.mark.parametrize(
    ("text", "times"), [("x", 50_000), ("a line\n", 50_000), ("x" * 30_000, 9)]
)
def test_of_endless_output_the_beginning_is_kept_and_the_rest_counted(
    kernel, text, times
):
    session, told = kernel.Session(), []
    vars(session.module).update(text=text, times=times)
    [output] = session.run(
        "for _ in range(times): print(text, end='')",
        tell=lambda *it: told.append(it),
    )
    whole = times * len(text)
    kept = output["text"]
    assert len(kept) == kernel.MOST
    assert kept == (text * kernel.MOST)[: kernel.MOST]
    assert session.left == whole - kernel.MOST
    assert "".join(piece for _, piece, _ in told) == kept
    assert len(told) <= kernel.MOST + 100, "no flood"


def test_no_stored_output_is_longer_than_what_is_kept(kernel):
    for path in (ROOT / "book").rglob("*.ipynb"):
        for each in nbformat.read(path, as_version=4).cells:
            for output in each.get("outputs", ()):
                assert len(output.get("text", "")) < kernel.MOST


@pytest.mark.parametrize(
    ("text", "large"),
    [
        ("704982704", True),  # sum(range(100_000)), in 32 bits
        ("[-1,243,309,312]", True),
        ("np.int32(6)", True),
        ("RuntimeWarning: overflow encountered in scalar add", True),
        ("4999950000", False),
        ("RuntimeWarning: overflow encountered in exp", False),
        ("3000000", False),
        ("120", False),
        ("0.70498270", False),
        ("7049827.04", False),
        ("x7049827", False),
    ],
)
def test_what_may_come_of_an_integer_that_overflowed(kernel, text, large):
    assert kernel.is_large(text) == large


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
    told = []
    found = kernel.run_cell(stored, "1 + 2", "a", lambda *it: told.append(it))
    found = json.loads(found)
    assert told == []
    assert found["different"] == [["2", "3"]]
    assert found["outputs"][0]["data"] == {"text/plain": "3"}


def test_a_figure_is_shown_as_a_drawing(kernel):
    code = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nfig"
    [output] = kernel.Session().run(code)
    assert output["data"][kernel.SVG].startswith("<svg")
    assert output["data"]["text/plain"].startswith("<Figure size")


def test_what_a_reader_s_own_code_raises_is_an_error_of_the_cell(kernel):
    odd = (
        "class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\n"
    )
    for code, name in [
        (odd + "raise Odd", "Odd"),
        ("class A:\n    def __repr__(self):\n        1 / 0\nA()",
         "ZeroDivisionError"),
        ("input()", "EOFError"),
    ]:  # fmt: skip
        [error] = kernel.Session().run(code)
        assert error["ename"] == name
        assert not [it for it in error["traceback"] if "kernel.py" in it]
