"""Change the figures' JavaScript in every small way; the checks must notice.

Each mutant is one change of one place of `helpers/js`: an operator, a number,
a text, a condition, two arguments in the wrong order, a statement left out.
The checks run on it in a process of their own, from the fastest to the
slowest, and stop at the first that fails. A mutant that none of them notices
survives; `tests/survivors_js.yml` says of each why that is right. A survivor
that is not explained, or an explanation without a survivor, is an error.

    python tools/mutate_js.py                 all, about half an hour
    python tools/mutate_js.py --every 20      one in twenty
    python tools/mutate_js.py --only chart    those of one function
"""

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Parser

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "book" / "_ext")]

from helpers import figures

EXPLAINED = ROOT / "tests" / "survivors_js.yml"
LEAST = 0.90
SECONDS = 300  # a mutant may loop for ever
# The fastest first. What only a browser runs is left to the browser's.
ENGINE = ("test_figure_forms.py", "test_shown.py", "test_figures.py")
BROWSER = ("test_figure_page.py",)
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

    def name(self, source):
        """The changed line, as `survivors_js.yml` names it."""
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


def checks(mutant):
    """The arguments of pytest for a mutant."""
    folder = ROOT / "tests"
    if ON_PAGE.intersection(mutant.within):
        return [str(folder / name) for name in BROWSER]
    files = [str(folder / name) for name in ENGINE]
    stem = mutant.file.removesuffix(".js")
    # A figure's own file shows in the tests of that figure alone.
    only = ["-k", stem] if stem != "common" else []
    return [*files, "-m", "not flaky", *only]


def run(mutant):
    """Run the checks on the mutant; 0 if none of them notices."""
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(figures.FOLDER, folder, dirs_exist_ok=True)
    path = folder / mutant.file
    path.write_bytes(mutant.apply(path.read_bytes()))
    figures.FOLDER = folder
    figures._engine.cache_clear()
    signal.alarm(SECONDS)
    try:
        return quietly(checks(mutant))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def quietly(arguments):
    """Run pytest in this process to the first failure, and print nothing."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    with open(os.devnull, "w") as nowhere:
        kept = [os.dup(1), os.dup(2)]
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
        try:
            return int(pytest.main([*options, *arguments]))
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)


def survivors(todo, workers):
    """The mutants that no check notices, each tried in its own process."""
    running, alive = {}, []
    waiting = list(reversed(todo))
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            child = os.fork()
            if not child:
                os._exit(run(mutant))
            running[child] = mutant
        child, status = os.wait()
        mutant = running.pop(child)
        if status == 0:
            alive.append(mutant)
        done = len(todo) - len(waiting) - len(running)
        if sys.stderr.isatty() or done % 100 == 0:
            print(f"\r{done} of {len(todo)}", end="", file=sys.stderr)
    return alive


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    paths = sorted(figures.FOLDER.glob("*.js"))
    todo = [m for path in paths for m in mutants(path)]
    if options.only:
        todo = [m for m in todo if {*m.within, m.file} & {options.only}]
    todo = todo[:: options.every]
    sources = {path.name: path.read_bytes() for path in paths}
    if options.list:
        for m in todo:
            print(m.name(sources[m.file]))
        return 0
    files = [str(ROOT / "tests" / name) for name in ENGINE]
    if quietly(files + ["-m", "not flaky"]):
        return "the checks fail before anything is changed"
    alive = survivors(todo, options.workers)
    names = [m.name(sources[m.file]) for m in alive]
    for name in names:
        print(name)
    print(len(todo), len(alive))
    return 0


if __name__ == "__main__":
    sys.exit(main())
