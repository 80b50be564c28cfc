"""Change the figures' JavaScript in every small way; the checks must notice.

Each mutant is one change of one place of `helpers/js`: an operator, a number,
a text, a condition, two arguments in the wrong order, a statement left out.
The checks run on it until one fails. A mutant that none of them notices
survives; `tests/survivors_js.yml` says of each why that is right. A survivor
that is not explained, or an explanation without a survivor, is an error.

    python tools/mutate_js.py                 every mutant
    python tools/mutate_js.py --every 20      one in twenty
    python tools/mutate_js.py --only chart    those of one file or function
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
import tree_sitter_javascript
import yaml
from _pytest.runner import runtestprotocol
from tree_sitter import Language, Parser

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "book" / "_ext")]

from helpers import figures  # noqa: E402

FOLDER = figures.FOLDER
EXPLAINED = ROOT / "tests" / "survivors_js.yml"
LEAST = 0.90
SECONDS = 300  # a mutant may loop for ever
# What only a browser runs is left to the checks of the page.
PAGE = "test_figure_page.py"
CHECKS = ("test_figure_forms.py", "test_shown.py", "test_figures.py", PAGE)
# The functions that only a browser calls.
ON_PAGE = {"attach", "fromAddress", "toAddress", "held", "tell", "put"}
ON_PAGE |= {"enhance", "render"}

PARSER = Parser(Language(tree_sitter_javascript.language()))
OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===",
    "&&": "||", "||": "&&", "??": "&&", "+=": "-=", "^": "|", "|": "^",
    ">>>": "<<", "^=": "|=",
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "floor": "ceil", "ceil": "floor",
    "sin": "cos", "cos": "sin", "some": "every", "every": "some",
    "first": "last", "true": "false", "false": "true",
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: in `file`, the bytes from `start` to `end`."""

    file: str
    start: int
    end: int
    text: str
    within: tuple  # the functions around it, outermost first

    def apply(self, source):
        return source[: self.start] + self.text.encode() + source[self.end :]

    def name(self):
        """The changed line, as `survivors_js.yml` names it."""
        source = (FOLDER / self.file).read_bytes()
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        line = source[first : self.start] + self.text.encode()
        words = (line + source[self.end : last]).decode().split()
        return f"{self.file}: {' '.join(words)}"


def text(node):
    return node.text.decode()


def changes(node):
    """What a node may become: (node, text) for each change."""
    kind, parts = node.type, node.named_children
    operator = node.child_by_field_name("operator")
    if operator is not None and text(operator) in OPERATORS:
        if kind in ("binary_expression", "augmented_assignment_expression"):
            yield operator, OPERATORS[text(operator)]
    if kind == "unary_expression" and text(operator) in "!-+":
        yield operator, ""
    if kind in ("if_statement", "ternary_expression"):
        asked = node.child_by_field_name("condition")
        # Of a comparison the operator is changed, which is the same.
        if not re.search("[!=]=", text(asked)):
            yield asked, f"(!({text(asked)}))"
    if kind == "number":
        yield node, f"({text(node)} + 1)" if "x" not in text(node) else "7"
    if kind in ("true", "false"):
        yield node, NAMES[kind]
    if kind == "property_identifier" and text(node) in NAMES:
        if node.parent.type == "member_expression":
            yield node, NAMES[text(node)]
    if kind in ("string", "template_string"):
        yield from changed_text(node)
    if kind == "arguments" and len(parts) > 1:
        a, b = parts[:2]
        called = text(node.parent.child_by_field_name("function"))
        # Which of two is larger does not depend on their order.
        if called in ("Math.min", "Math.max"):
            return
        if "spread_element" not in (a.type, b.type):
            yield node, f"({', '.join(map(text, [b, a, *parts[2:]]))})"
    if kind == "array" and len(parts) == 2:
        yield node, f"[{text(parts[1])}, {text(parts[0])}]"
    if kind in ("expression_statement", "continue_statement"):
        yield node, ";"
    if kind == "return_statement" and not parts:
        yield node, ";"
    if kind == "optional_chain":
        yield node, "." if node.next_sibling.type != "[" else ""


def changed_text(node):
    """A text with one character more, in each of its parts."""
    if node.parent.type == "pair_pattern":
        return
    parts = [
        child
        for child in node.named_children
        if child.type == "string_fragment"
    ]
    for part in parts:
        yield part, f"{text(part)}~"
    if not node.named_children:
        yield node, '"~"'


NAMED = {"variable_declarator": "name", "pair": "key"}


def within(node):
    """The names of the functions and properties around a node."""
    names = []
    while node is not None:
        name = node.child_by_field_name(NAMED.get(node.type, ""))
        if name is not None:
            names.append(text(name))
        node = node.parent
    return tuple(reversed(names))


def mutants(path):
    """Every mutant of a file, in the order of their places."""
    source = path.read_bytes()
    found = []

    def visit(node):
        for place, new in changes(node):
            where = (place.start_byte, place.end_byte)
            found.append(Mutant(path.name, *where, new, within(node)))
        for child in node.children:
            visit(child)

    visit(PARSER.parse(source).root_node)
    found.sort(key=lambda mutant: mutant.start)
    # Some changes are no JavaScript: they tell nothing about the checks.
    return [m for m in found if parses(m.apply(source))]


def parses(source):
    return not PARSER.parse(source).root_node.has_error


class Trial:
    """Runs the checks that pytest has collected on each mutant.

    The first run, of the files as they are, must be without a failure. What
    a test computes in Python it then knows for every mutant.
    """

    def __init__(self, todo, workers):
        self.todo, self.workers = todo, workers
        self.alive, self.tried = [], 0
        self.last = {}  # which check noticed a change there

    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item
            for item in items
            if item.path.name == PAGE or not needs_browser(item)
        ]

    def pytest_runtestloop(self, session):
        self.checks = session.items
        for item, after in zip_longest(self.checks, self.checks[1:]):
            if not passes(item, after):
                pytest.exit(f"fails before any change: {item.nodeid}")
        here, page = [], []
        for mutant in self.todo:
            on_page = ON_PAGE.intersection(mutant.within)
            (page if on_page else here).append(mutant)
        self.in_turn(page)
        # The browser goes: a copy of this process could not close it.
        session._setupstate.teardown_exact(None)
        self.side_by_side(here)
        return True

    def order(self, mutant):
        """The checks for a mutant; first the one that may well notice."""
        on_page = bool(ON_PAGE.intersection(mutant.within))
        stem = mutant.file.removesuffix(".js")
        chosen = [
            k
            for k, item in enumerate(self.checks)
            if needs_browser(item) == on_page
            # A figure's own file shows in the tests of that figure alone.
            and (stem == "common" or on_page or stem in item.nodeid)
        ]
        last = self.last.get((mutant.file, mutant.within))
        return sorted(chosen, key=lambda k: k != last)

    def noticed_by(self, mutant):
        """The number of the check that notices a mutant, or None."""
        with changed(mutant):
            order = [self.checks[k] for k in self.order(mutant)]
            for item, after in zip_longest(order, order[1:]):
                # The browser stays for the next mutant.
                stays = item if needs_browser(item) else after
                if not passes(item, stays):
                    return self.checks.index(item)
        return None

    def note(self, mutant, noticed):
        self.tried += 1
        if noticed is None:
            self.alive.append(mutant)
            print("survives:", mutant.name(), file=sys.stderr, flush=True)
        else:
            self.last[mutant.file, mutant.within] = noticed
        if self.tried % 50 == 0:
            told = f"{self.tried} of {len(self.todo)}, {len(self.alive)} alive"
            print(told, file=sys.stderr, flush=True)

    def in_turn(self, todo):
        for mutant in todo:
            self.note(mutant, self.noticed_by(mutant))

    def side_by_side(self, todo):
        """Each mutant in a process of its own: it may never end."""
        waiting, running = todo[::-1], {}
        while waiting or running:
            while waiting and len(running) < self.workers:
                mutant = waiting.pop()
                answer, question = os.pipe()
                child = os.fork()
                if not child:
                    signal.alarm(SECONDS)
                    noticed = self.noticed_by(mutant)
                    os.write(question, str(noticed).encode())
                    os._exit(0)
                os.close(question)
                running[child] = mutant, answer
            child, _ = os.wait()
            mutant, answer = running.pop(child)
            with open(answer) as pipe:
                said = pipe.read()
            noticed = int(said) if said.isdigit() else -1  # never ended
            self.note(mutant, None if said == "None" else noticed)


def needs_browser(item):
    return "browser" in item.fixturenames


def passes(item, after):
    """Run one check; what `after` needs too stays set up."""
    reports = runtestprotocol(item, nextitem=after, log=False)
    return not any(report.failed for report in reports)


@contextlib.contextmanager
def changed(mutant):
    """The figures with the mutant, as Python and the pages load them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        path = Path(folder) / mutant.file
        path.write_bytes(mutant.apply(path.read_bytes()))
        figures.FOLDER = Path(folder)
        figures._engine.cache_clear()
        try:
            yield
        finally:
            figures.FOLDER = FOLDER
            figures._engine.cache_clear()


def report(names, tried, whole):
    """Print the score; 1 where a survivor is not explained."""
    known = {
        name: entry["why"]
        for entry in yaml.safe_load(EXPLAINED.read_text(encoding="utf-8"))
        for name in entry["mutants"]
    }
    new = sorted(set(names) - set(known))
    gone = sorted(set(known) - set(names)) if whole else []
    for name in new:
        print("survives, not explained:", name)
    for name in gone:
        print("explained, but no survivor:", name)
    killed = 1 - len(names) / tried
    print(
        f"{tried} mutants of the figures' JavaScript: {killed:.1%} killed, "
        f"{len(names)} survive, {len(names) - len(new)} explained"
    )
    return int(bool(new or gone or killed < LEAST))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    paths = sorted(figures.FOLDER.glob("*.js"))
    todo = [m for path in paths for m in mutants(path)]
    if options.only:
        todo = [m for m in todo if options.only in (m.file, *m.within)]
    todo = todo[:: options.every]
    trial = Trial(todo, options.workers)
    files = [str(ROOT / "tests" / name) for name in CHECKS]
    ended = pytest.main(["-q", "-p", "no:cacheprovider", *files], [trial])
    if trial.tried < len(todo):
        return ended or 1
    names = [mutant.name() for mutant in trial.alive]
    return report(names, len(todo), options.every == 1 and not options.only)


if __name__ == "__main__":
    sys.exit(main())
