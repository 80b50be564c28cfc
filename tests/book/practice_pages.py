"""What the practice pages make when their code runs, for the tests of them."""

import ast
import base64
import json
from functools import cache
from pathlib import Path
from unittest import mock

import nbformat
from bs4 import BeautifulSoup

from course import figures, practice

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "book" / "practice").glob("*.ipynb"))
LABS = sorted((ROOT / "book" / "labs").glob("*.ipynb"))
FILLED = "filled"  # the tag of a cell with its solution put in
# A function that gives answers to the questions of a page, for a browser.
GIVE = (Path(__file__).parent / "js" / "give.js").read_text("utf-8")
GIVE = f"(answers) => {{{GIVE.replace('export ', '')}return give(answers)}}"


@cache
def cells(path):
    """The code of a page after the cells that find package and weights."""
    found = nbformat.read(path, as_version=4).cells
    _, *rest = (cell for cell in found if cell.cell_type == "code")
    return [cell for cell in rest if cell.id != "weights"]


def stub(cell):
    """The name of the function that a cell leaves to be written, if any."""
    for node in ast.parse(cell.source).body:
        if isinstance(node, ast.FunctionDef):
            body = ast.unparse(node.body)
            if body.strip() == "...":
                return node.name
    return None


def definitions(code, name):
    """The functions that some code defines, if `name` is one of them."""
    nodes = [n for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)]
    named = name in [node.name for node in nodes]
    return "\n\n\n".join(map(ast.unparse, nodes)) if named else None


def called(code, name):
    """Of the functions of some code, one and those that it calls."""
    nodes = {node.name: node for node in ast.parse(code).body}
    wanted = [name]
    for found in wanted:  # it grows
        names = {getattr(n, "id", "") for n in ast.walk(nodes[found])}
        wanted += sorted(names & set(nodes) - set(wanted))
    return "\n\n\n".join(ast.unparse(nodes[n]) for n in nodes if n in wanted)


class Written:
    """A solution to a task, which may be written anew."""

    def __init__(self, code, name, asked, space):
        self.source = called(code, name)
        call = ast.parse(asked).body[-1].value
        self.task = space[call.func.value.id]
        self.name, self.given = name, ast.unparse(call.args[0])
        self.space = dict(space)

    def function(self, source, wrap=lambda function: function):
        """What the task gets if the solution reads so, and is wrapped."""
        space = dict(self.space)
        exec(source, space)
        space[self.name] = wrap(space[self.name])
        return eval(self.given, space)


def filled(path):
    """A page as one hands it in who wrote each solution where it belongs."""
    page = nbformat.read(path, as_version=4)
    pending = None
    for cell in [cell for cell in page.cells if cell.cell_type == "code"][1:]:
        name = stub(cell)
        if name:
            pending = name, cell
        elif pending and (solution := definitions(cell.source, pending[0])):
            (_, asked), pending = pending, None
            last = asked.source.splitlines()[-1]
            asked.source = f"{solution}\n\n\n{last}"
            asked.metadata.tags = [FILLED]
    assert pending is None, f"no solution for {pending}"
    return page


class Ran:
    """A page that was run: its questions, tasks, and what its stubs said."""

    def __init__(self, path):
        self.questions, self.tasks, self.unfilled, self.filled = {}, [], [], []
        self.written = []
        space = {}
        with mock.patch.object(practice.Question, "__init__", self._ask()):
            pending = None
            for cell in cells(path):
                exec(compile(cell.source, cell.id, "exec"), space)
                name = stub(cell)
                if name:
                    # What is defined below a stub is not there yet.
                    pending = name, cell.source, dict(space)
                    self.unfilled.append(self._said(space, cell.source))
                elif pending and (
                    code := definitions(cell.source, pending[0])
                ):
                    # The solution stands where the stub stood.
                    self.filled.append(self._said(space, pending[1]))
                    self.written.append(Written(code, *pending))
                    pending = None
        self.tasks = [
            value
            for value in space.values()
            if isinstance(value, practice.Task)
        ]
        self.pending, self.space = pending, space

    def _ask(self):
        made = practice.Question.__init__

        def init(question, name, *args, **options):
            made(question, name, *args, **options)
            assert name not in self.questions, f"two are named {name}"
            self.questions[name] = question

        return init

    @staticmethod
    def _said(space, source):
        """The value of the last line of a stub's cell."""
        last = ast.parse(source).body[-1]
        return eval(ast.unparse(last), space)


@cache
def ran(path):
    return Ran(path)


@cache
def forms(path):
    """The forms that a notebook has stored, by the names of the questions."""
    found = {}
    for cell in cells(path):
        for output in cell.outputs:
            html = output.get("data", {}).get("text/html", "")
            if "data-question=" in html:
                form = BeautifulSoup(html, "html.parser").form
                found[form["data-question"]] = form
    return found


def unpacked(form):
    """The record of a form, which its page has in base 64."""
    text = form["data-record"]
    return json.loads(base64.b64decode(text + "=" * (-len(text) % 4)))


def in_browser(packed, answer):
    """What the page's own script says of an answer, by a stored record."""
    state = json.dumps({"record": packed, "given": answer})
    said = json.loads(figures.engine("practice")("check", state))
    return practice.Reply(said["right"], said["text"])


def given(question, values):
    """An answer as the page has it: texts where numbers are typed."""
    typed = question.record["step"] is not None
    return [repr(value) for value in values] if typed else values


def defined(stem):
    """Return the names that a laboratory defines, without what it measures."""
    space = {}
    for cell in cells(ROOT / "book" / "labs" / f"{stem}.ipynb"):
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            exec(compile(cell.source, cell.id, "exec"), space)
    return space
