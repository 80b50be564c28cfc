"""Mark a folder of notebooks that were handed in for a practice page.

    python tools/mark.py book/practice/NAME.ipynb FOLDER [SEED]

The functions of each notebook are found by their names, in any cell and any
file. They run in a separate process, which receives arguments and returns
results. This process judges the results and runs no code of a student, so
stored outputs and checks in the notebook do not count. With a seed, the
arguments differ from those of the page.

The process is not isolated from files and the network: run this program in a
container, or under an account that can do no harm.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
from IPython.core.inputtransformer2 import TransformerManager

from course.practice import Reply, Task, numbers
from course.questions.task import told

SECONDS = 60
SOLUTION = "# Solution: click to open\n"  # the first line of a page's own
LARGEST = 10**8  # bytes of a notebook
# What compile raises for a text that is no program, or one too deep for it.
NO_PROGRAM = SyntaxError, ValueError, RecursionError, MemoryError


class Mark(NamedTuple):
    """The result for one function of one notebook."""

    who: str
    what: str  # empty if the file is not a notebook
    reply: Reply
    claims: bool  # its stored output says that it is right


class Code(NamedTuple):
    """What counts of a code cell."""

    source: str
    solves: bool  # it is a solution of the page
    outputs: str


class NoNotebook(Exception):
    """A file is not a notebook; the message says why."""


def codes(path):
    """Return the code cells of a notebook.

    Raises
    ------
    NoNotebook
        Whatever is wrong with the file.
    """
    try:
        if not Path(path).is_file():
            raise NoNotebook("it is not a regular file")
        if Path(path).stat().st_size > LARGEST:
            raise NoNotebook(f"it has more than {LARGEST:,} bytes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ids, which do not matter
            cells = nbformat.read(path, as_version=4).cells
        return [_code(cell) for cell in cells if cell.cell_type == "code"]
    except NoNotebook:
        raise
    except Exception as error:  # nbformat lets errors of all kinds pass
        said = getattr(error, "strerror", None) or str(error)
        why, *_ = said.strip().splitlines() or [""]
        kind = type(error).__name__
        raise NoNotebook(f"{kind}: {why}"[:200]) from None


def _code(cell):
    """What counts of a cell; any error if it has another form."""
    if not isinstance(cell.source, str):
        raise TypeError("the source of a cell is not a text")
    tags = cell.metadata.get("tags") or []
    return Code(
        cell.source,
        "hide-cell" in tags or cell.source.startswith(SOLUTION),
        json.dumps(cell.get("outputs"), ensure_ascii=False),
    )


def calls_of(source):
    """Yield the checks in a cell as pairs: (task, function)."""
    with contextlib.suppress(*NO_PROGRAM):
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "attr", None) == "check"
                and isinstance(node.func.value, ast.Name)
                and len(node.args) == 1
                and isinstance(node.args[0], ast.Name)
            ):
                yield node.func.value.id, node.args[0].id


def tasks(page):
    """Return the tasks of a page by the names of the requested functions."""
    space, found = {}, {}
    for cell in codes(page):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(cell.source, "cell", "exec"), space)
        for task, function in calls_of(cell.source):
            if isinstance(space.get(task), Task):
                found[function] = space[task]
    return found


def fresh(task, seed):
    """Return the task with other arguments, if it draws its arguments."""
    cases = task.drawn(len(task.cases), [seed, 1])  # a seed that no page uses
    try:
        return Task(
            task.solution, cases or task.cases, task.wrong,
            tolerance=task.tolerance,
        )  # fmt: skip
    except ValueError:  # the new arguments would miss a wrong answer
        return task


class Shell:
    """Stands for IPython: magics and shell lines do nothing.

    A cell magic such as ``%%time`` executes the cell below it.
    """

    def __init__(self, space):
        self.space = space

    def run_cell_magic(self, _name, _line, cell):
        execute(cell, self.space)

    def __getattr__(self, _name):
        return lambda *_, **__: None


def execute(source, space):
    """Execute a cell as Jupyter does."""
    code = compile(
        TransformerManager().transform_cell(source),
        *("cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT),
    )
    waits = eval(code, space)
    if inspect.iscoroutine(waits):
        asyncio.run(waits)


def run(notebook, cases):
    """Run a notebook's cells and then its functions, in this process."""
    space = {"__name__": "__main__"}
    shell = Shell(space)
    space |= {
        "get_ipython": lambda: shell,
        "display": lambda *_, **__: None,
        "input": lambda *_: "",
    }
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in codes(notebook):
            with contextlib.suppress(BaseException):
                if not cell.solves:
                    execute(cell.source, space)
        return {
            name: [_called(space.get(name), arguments) for arguments in some]
            for name, some in cases.items()
        }


def _called(function, arguments):
    """Return a result for JSON: a value, {} for none, or it in words."""
    if function is None:
        return {}
    arguments = [np.array(a)[()] for a in arguments]
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments)
        if result is None or result is ...:
            return {}
    except BaseException as error:
        return {"error": told(error)}
    try:
        found = numbers(result)
    except TypeError:
        return {"other": told(result)}
    return {"value": found.astype(float).tolist(), "width": str(found.dtype)}


class Raised(Exception):
    """An error of a student's function, with its original message."""

    def __repr__(self):
        return str(self)


class Other:
    """A result that is not made of numbers, in the words of its process."""

    def __init__(self, words):
        self.words = words

    def __repr__(self):
        return self.words


def _replayed(results):
    """Return a function that returns results computed elsewhere."""
    waiting = iter(results)

    def function(*_):
        result = next(waiting)
        if "error" in result:
            raise Raised(result["error"])
        if "other" in result:
            return Other(result["other"])
        if result.get("width") in ("float16", "float32"):
            return np.array(result["value"], dtype=result["width"])
        return result.get("value")

    return function


def results_of(notebook, asked, seconds=SECONDS):
    """Return the results of a notebook's functions; None after a time-out."""
    cases = {
        name: [[np.asarray(a).tolist() for a in case] for case in task.cases]
        for name, task in asked.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "cases"), Path(folder, "results")
        given.write_text(json.dumps(cases), encoding="utf-8")
        command = [sys.executable, __file__, "--run", notebook, given, found]
        try:
            subprocess.run(
                list(map(str, command)), timeout=seconds, check=False,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            return json.loads(found.read_text(encoding="utf-8"))
        except (subprocess.TimeoutExpired, OSError, ValueError):
            return None


def claimed(notebook):
    """Return the functions whose stored output says "right"."""
    return {
        function
        for cell in codes(notebook)
        for _, function in calls_of(cell.source)
        if "✓ Right" in cell.outputs
    }


def mark(notebook, asked, seconds=SECONDS):
    """Return the marks of one notebook, one per requested function."""
    who = notebook.stem
    try:
        claims = claimed(notebook)
    except NoNotebook as error:
        said = f"The file is not a notebook: {error}."
        yield Mark(who, "", Reply(False, said), False)
        return
    results = results_of(notebook, asked, seconds)
    for name, task in asked.items():
        if results is None:
            reply = Reply(False, "It stopped, or took too long.")
        else:
            try:
                reply = task.check(_replayed(results[name]))
            except (KeyError, TypeError, StopIteration):
                reply = Reply(False, "Its results cannot be read.")
        yield Mark(who, name, reply, name in claims)


def report(marks):
    """Yield the lines of the report: results, and frequent mistakes."""
    for who in dict.fromkeys(m.who for m in marks):
        own = [m for m in marks if m.who == who]
        if not own[0].what:
            yield f"{who}: {own[0].reply.text}"
            continue
        right = sum(bool(m.reply.right) for m in own)
        yield f"{who}: {right} of {len(own)}"
        for m in own:
            doubt = " (its stored output says right)"
            yield f"    {m.what}: {m.reply!r}" + doubt * (
                m.claims and not m.reply.right
            )
    yield "The most frequent replies to wrong answers:"
    said = Counter(
        (m.what, m.reply.text)
        for m in marks
        if m.what and m.reply.right is False
    )
    for (what, text), count in said.most_common():
        yield f"    {count} x {what}: {text}"


def plain(text):
    """Return a text on one line, without what a terminal cannot show."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in text
    )


def main(page, folder, seed=None):
    """Mark all notebooks below a folder, and print the report."""
    asked = tasks(page)
    if seed is not None:
        asked = {name: fresh(task, int(seed)) for name, task in asked.items()}
    marks = []
    for notebook in sorted(Path(folder).rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in notebook.parts:
            name = notebook.relative_to(folder).with_suffix("").as_posix()
            marks += [m._replace(who=name) for m in mark(notebook, asked)]
    print("\n".join(map(plain, report(marks))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        _, _, notebook, given, found = sys.argv
        cases = json.loads(Path(given).read_text(encoding="utf-8"))
        text = json.dumps(run(notebook, cases))
        Path(found).write_text(text, encoding="utf-8")
    else:
        main(*sys.argv[1:])
