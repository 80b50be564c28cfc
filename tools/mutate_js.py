"""Change the figures' JavaScript in every small way; the checks must notice.

Each mutant is one change of one place of `helpers/js`: an operator, a number,
a text, a condition, two arguments in the wrong order, a statement left out.
The checks run on it until one fails. A mutant that none of them notices
survives; `tests/survivors_js.yml` says of each why that is right. A survivor
that is not explained, or an explanation without a survivor, is an error.

    python tools/mutate_js.py                 every mutant
    python tools/mutate_js.py --every 20      one in twenty
    python tools/mutate_js.py --only chart    those of one function
    python tools/mutate_js.py --only heads.js those of some files
    python tools/mutate_js.py --no-browser    those that need no browser
    python tools/mutate_js.py --browser       those that need one
    python tools/mutate_js.py --sample 150    so many of each file, by chance

One file after another gives the whole, and can be stopped in between.
"""

import argparse
import collections
import contextlib
import gc
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
import quickjs
import tree_sitter_javascript
import yaml
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser
from tree_sitter import Language, Parser

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "book" / "_ext")]

import website  # noqa: E402

from helpers import figures  # noqa: E402

FOLDER = figures.FOLDER
EXPLAINED = ROOT / "tests" / "survivors_js.yml"
LEAST = 0.90
# A mutant may loop for ever, or fill the memory.
SECONDS, SECONDS_A_CALL, BYTES = 60, 5, 2**29
SECONDS_IN_BROWSER, SECONDS_A_STEP = 30, 3
OWN = "test_induction_figure.py"  # its tests ask a module of their own
# First what is quick, and notices most.
CHECKS = ("test_figures_stored.py", "test_figure_forms.py", "test_shown.py")
CHECKS += ("test_figures.py", "test_figures_in_time.py")
CHECKS += ("test_figures_rebuilt.py", "test_figure_words.py")
CHECKS += ("test_figures_of_film.py", "test_figure_page.py")
CHECKS += ("test_figure_motion.py", OWN)
# Its real keys and taps take seconds, for each figure: what it says of a page
# the checks of an empty page must say too.
SLOW = "test_figures.py"
# The questions have a module of their own, and tests that nothing else needs.
QUESTIONS = {"practice.js": ("test_practice.py", "test_practice_form.py")}
# The functions that only a browser calls.
ON_PAGE = {
    "common.js": {
        *("attach", "fromAddress", "toAddress", "held", "tell", "put"),
        *("render", "setApart", "addSteppers"),
    },
    "player.js": {"player"},
    "backward.js": {"enhance", "live", "NUDGE"},
    "causal.js": {"enhance", "live"},
    "film.js": {"figure.live", "play"},
    "kvcache.js": {"figure.live"},
    "project.js": {"enhance"},
    "saturation.js": {"live"},
    "step.js": {"enhance"},
    "temperature.js": {"live"},
    "tiles.js": {"enhance", "figure.live"},
    "words.js": {"enhance", "live", "LENGTH"},
    "induction.js": {
        *("enhance", "live", "workerOf", "RUN", "KEYS", "TRAIN"),
    },
    "practice.js": {
        *("WORDS", "storageKey", "remember", "recall", "fill", "WAYS"),
        *("wayOf", "move", "compare", "CHANGED", "tally", "attach", "render"),
    },
}

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


# The larger of two, products and sets: their order changes nothing.
ANY_ORDER = {"Math.min", "Math.max", "Math.imul", "dot", "only"}


class Mutant(NamedTuple):
    """One change: in `file`, the bytes from `start` to `end`."""

    file: str
    start: int
    end: int
    text: str
    within: tuple  # the functions around it, outermost first
    function: str  # the innermost of them, as `watched` names it

    def on_page(self):
        return not ON_PAGE.get(self.file, set()).isdisjoint(self.within)

    def apply(self, source):
        return source[: self.start] + self.text.encode() + source[self.end :]

    def name(self):
        """The changed line, as `survivors_js.yml` names it."""
        source = (FOLDER / self.file).read_bytes()
        if self.text == ";":
            words = source[self.start : self.end].decode().split()
            return f"{self.file}: without {' '.join(words)}"
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
        called = node.parent.child_by_field_name("function")
        # Of `new`, which makes an object, there is no function.
        if called is not None and text(called) in ANY_ORDER:
            return
        if "spread_element" not in (a.type, b.type) and text(a) != text(b):
            yield node, f"({', '.join(map(text, [b, a, *parts[2:]]))})"
    if kind == "array" and len(parts) == 2 and len({*map(text, parts)}) == 2:
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


NAMED = {
    "variable_declarator": "name",
    "pair": "key",
    "assignment_expression": "left",
}


def around(node):
    """A node and what it stands in, innermost first."""
    while node is not None:
        yield node
        node = node.parent


def within(node):
    """The names of the functions and properties around a node."""
    names = [
        part.child_by_field_name(NAMED.get(part.type, ""))
        for part in around(node)
    ]
    return tuple(text(name) for name in reversed(names) if name is not None)


def function_of(path, node):
    """The name of the innermost function around a node, or ""."""
    for part in around(node):
        if part.type == "arrow_function":
            return f"{path.name}:{part.start_byte}"
    return ""


def tree(source):
    return PARSER.parse(source).root_node


def walk(node):
    yield node
    for child in node.children:
        yield from walk(child)


def mutants(path):
    """Every mutant of a file, in the order of their places."""
    source = path.read_bytes()
    found = []
    for node in walk(tree(source)):
        # A statement is within what it sets.
        first = node.type == "expression_statement" and node.named_children[0]
        for place, new in changes(node):
            where = (place.start_byte, place.end_byte)
            about = (within(first or node), function_of(path, place))
            found.append(Mutant(path.name, *where, new, *about))
    found.sort(key=lambda mutant: mutant.start)
    # Some changes are no JavaScript: they tell nothing about the checks.
    return [m for m in found if not tree(m.apply(source)).has_error]


def watched(path):
    """A file whose functions note in `ran` that they run."""
    source = path.read_bytes()
    added = []
    for node in walk(tree(source)):
        if node.type != "arrow_function":
            continue
        body = node.child_by_field_name("body")
        # A worker is a place of its own, where nobody asks what ran.
        note = f'globalThis.ran?.add("{function_of(path, node)}")'
        if body.type == "statement_block":
            added += [(body.start_byte + 1, f"{note};")]
        else:
            added += [(body.start_byte, f"({note}, "), (body.end_byte, ")")]
    for place, new in sorted(added, reverse=True):
        source = source[:place] + new.encode() + source[place:]
    return b"globalThis.ran ??= new Set();\n" + source


WHAT_RAN = """(() => {
  const all = [...ran];
  ran.clear();
  return all.join();
})()"""


class Answers:
    """Stands between the checks and the modules, and keeps what these say.

    Of the files as they are it notes each call, its answer and the functions
    that ran. On a mutant a call that does not run the changed function has
    the answer that is known.
    """

    def __init__(self):
        self.known, self.ran = {}, {}  # of each call
        self.asked = {}  # the calls, in turn, since this was emptied
        self.change(None)
        self.make = {}  # how to load a module, in two ways

    def listen(self):
        """Take the place of what the checks ask."""
        forms = sys.modules["test_figure_forms"]
        inside, real = forms.inside.__wrapped__, quickjs.Context
        self.make["whole"] = figures._engine.__wrapped__
        self.make["inside"] = lambda name: inside(figures.FOLDER, name)

        def context():
            self.newest = real()
            self.newest.set_memory_limit(BYTES)
            self.newest.set_time_limit(SECONDS_A_CALL)
            return self.newest

        quickjs.Context = context
        figures._engine = lambda name: self.engine("whole", name)
        forms.inside = lambda _, name: self.engine("inside", name)

    def change(self, mutant):
        """Ask the files anew: `mutant` is what differs in them."""
        self.mutant = mutant
        self.engines, self.now = {}, {}

    def engine(self, *module):
        def ask(*words):
            answer = self.answer((module, *words))
            if isinstance(answer, Exception):
                raise answer
            return answer

        return ask

    def answer(self, call):
        self.asked[call] = None
        if call not in self.now:
            same = call in self.known and not self.reaches(call)
            self.now[call] = self.known[call] if same else self.run(call)
        return self.now[call]

    def reaches(self, call):
        """Whether a call runs what is changed."""
        if self.mutant is None:
            return True
        (_, name), *_ = call
        if self.mutant.file not in files_of(name):
            return False
        where = self.mutant.function
        return not where or where in self.ran[call]

    def run(self, call):
        module, *words = call
        try:
            if module not in self.engines:
                made = self.make[module[0]](module[1])
                self.engines[module] = made, self.newest, self.just_ran()
            engine, context, loaded = self.engines[module]
            answer = engine(*words)
        except quickjs.JSException as error:
            return error
        if self.mutant is None:
            self.newest = context
            self.known[call] = answer
            self.ran[call] = loaded | self.just_ran()
        return answer

    def just_ran(self):
        """The functions that ran since the last time."""
        if self.mutant is not None:
            return frozenset()
        return frozenset(self.newest.eval(WHAT_RAN).split(","))

    def differs(self, call):
        answer, known = self.answer(call), self.known.get(call)
        return answer is not known and repr(answer) != repr(known)


# Of each function that runs in a page, once.
TELL = """{
  const told = new Set();
  globalThis.ran = {
    add: (name) => {
      if (!told.has(name)) console.debug(name);
      told.add(name);
    },
  };
}"""


def overhear(hear):
    """Let each page tell `hear` which functions run, and be impatient."""

    def listening(real):
        def open_one(*args, **options):
            opened = real(*args, **options)
            context = getattr(opened, "context", opened)
            context.set_default_timeout(1000 * SECONDS_A_STEP)
            context.add_init_script(TELL)
            context.on("console", lambda said: hear(said.text))
            return opened

        return open_one

    for way in ("new_page", "new_context"):
        setattr(Browser, way, listening(getattr(Browser, way)))
    patience = website.patience
    website.patience = lambda _: patience(SECONDS_IN_BROWSER)


class Trial:
    """Runs the checks that pytest has collected on each mutant.

    The first run, of the files as they are, must be without a failure. What
    a test computes in Python it then knows for every mutant, and a test that
    a mutant gives the same answers need not run again.
    """

    def __init__(self, todo, workers):
        self.todo, self.workers = todo, workers
        self.alive, self.tried = [], 0
        self.last = {}  # which check noticed a change there
        self.often = collections.Counter()  # and in its file
        self.answers = Answers()
        self.calls = {}  # of each check
        self.ran = {}  # the functions that a check ran in a browser
        self.took = {}  # how long it took there
        self.heard = set()

    def pytest_collection_modifyitems(self, items):
        items[:] = [
            item
            for item in items
            if item.path.name != SLOW or not needs_browser(item)
        ]

    def pytest_runtestloop(self, session):
        here = [m for m in self.todo if not m.on_page()]
        page = [m for m in self.todo if m.on_page()]
        self.checks = [
            item
            for item in session.items
            if (page if needs_browser(item) else here) and self.concerns(item)
        ]
        self.answers.listen()
        overhear(self.heard.add)
        with replaced(lambda path: path.write_bytes(watched(path))):
            self.first_run()
        self.in_turn(page)
        # The browser goes: a copy of this process could not close it.
        session._setupstate.teardown_exact(None)
        self.side_by_side(here)
        return True

    def concerns(self, item):
        """Whether a check may run a file with a mutant."""
        callspec = getattr(item, "callspec", None)
        name = callspec and callspec.params.get("name")
        changed = {mutant.file for mutant in self.todo}
        if changed <= set(QUESTIONS):
            return item.path.name in chain(*QUESTIONS.values())
        return name is None or not changed.isdisjoint(files_of(name))

    def first_run(self):
        drawn = sys.modules["test_figure_forms"].drawn
        for k, item in enumerate(self.checks):
            drawn.cache_clear()  # each check asks for itself
            self.answers.asked = self.calls[k] = {}
            self.heard.clear()
            begun = time.monotonic()
            if not passes(item):
                pytest.exit(f"fails before any change: {item.nodeid}")
            self.ran[k] = frozenset(self.heard)
            if needs_browser(item):
                self.took[k] = time.monotonic() - begun

    def order(self, mutant):
        """The checks for a mutant; first those that may well notice."""
        chosen = [
            k
            for k, item in enumerate(self.checks)
            if needs_browser(item) == mutant.on_page()
        ]
        last = self.last.get((mutant.file, mutant.within))
        return sorted(
            chosen,
            key=lambda k: (
                *(k != last, -self.often[mutant.file, k]),
                self.took.get(k, 0),
            ),
        )

    def may_notice(self, k, mutant):
        """Whether anything is changed for a check."""
        check = self.checks[k]
        if needs_browser(check):
            return any(
                name == (mutant.function or name)
                for name in self.ran[k]
                if name.startswith(f"{mutant.file}:")
            )
        return check.path.name == OWN or any(
            self.answers.differs(call) for call in self.calls[k]
        )

    def noticed_by(self, mutant):
        """The number of the check that notices a mutant, or None."""
        with self.changed(mutant):
            for k in self.order(mutant):
                if self.may_notice(k, mutant) and not passes(self.checks[k]):
                    return k
        return None

    @contextlib.contextmanager
    def changed(self, mutant):
        """The figures with the mutant, as Python and the pages load them."""

        def change(path):
            if path.name == mutant.file:
                path.write_bytes(mutant.apply(path.read_bytes()))

        self.answers.change(mutant)
        with replaced(change):
            yield

    def note(self, mutant, noticed):
        self.tried += 1
        if noticed is None:
            self.alive.append(mutant)
            print("survives:", mutant.name(), file=sys.stderr, flush=True)
        else:
            self.last[mutant.file, mutant.within] = noticed
            self.often[mutant.file, noticed] += 1
        if self.tried % 50 == 0:
            told = f"{self.tried} of {len(self.todo)}, {len(self.alive)} alive"
            print(told, file=sys.stderr, flush=True)

    def in_turn(self, todo):
        for mutant in todo:
            self.note(mutant, self.noticed_by(mutant))

    def side_by_side(self, todo):
        """Each mutant in a process of its own: it may never end."""
        gc.freeze()  # or each process would copy what is there already
        waiting, running = todo[::-1], {}
        while waiting or running:
            while waiting and len(running) < self.workers:
                mutant = waiting.pop()
                answer, question = os.pipe()
                child = os.fork()
                if not child:
                    self.answer_and_end(mutant, question)
                os.close(question)
                running[child] = mutant, answer
            child, status = os.wait()
            mutant, answer = running.pop(child)
            if os.waitstatus_to_exitcode(status) == 1:
                pytest.exit(f"the tool failed on {mutant.name()}")
            with open(answer) as pipe:
                said = pipe.read()
            noticed = int(said) if said.isdigit() else -1  # never ended
            self.note(mutant, None if said == "None" else noticed)

    def answer_and_end(self, mutant, question):
        """Try a mutant in this process, which ends whatever happens."""
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        try:
            noticed = self.noticed_by(mutant)
            os.write(question, str(noticed).encode())
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)


def files_of(name):
    """The files that the module of a figure is made of."""
    return figures.PARTS.get(name, ("common.js", f"{name}.js"))


def needs_browser(item):
    return "browser" in item.fixturenames


def passes(item):
    """Run one check; what the whole session shares, a browser, stays."""
    reports = runtestprotocol(item, nextitem=item.session, log=False)
    return not any(report.failed for report in reports)


@contextlib.contextmanager
def replaced(change):
    """The figures' files after `change` of each of the JavaScript."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        for path in Path(folder).glob("*.js"):
            change(path)
        figures.FOLDER = Path(folder)
        try:
            yield
        finally:
            figures.FOLDER = FOLDER


def sampled(todo, count, lots):
    """So many mutants of each file, drawn by chance, in their order."""
    of_file = collections.defaultdict(list)
    for k, mutant in enumerate(todo):
        of_file[mutant.file].append(k)
    drawn = {
        k
        for places in of_file.values()
        for k in lots.sample(places, min(count, len(places)))
    }
    return [mutant for k, mutant in enumerate(todo) if k in drawn]


def report(names, tried, untried, files):
    """Print the score; 1 where a survivor is not explained.

    And where an explanation of one of the files has no survivor, unless it
    is of one `untried`.
    """
    known = {
        name
        for entry in yaml.safe_load(EXPLAINED.read_text(encoding="utf-8"))
        for name in entry["mutants"]
        if name.partition(":")[0] in files
    }
    new = sorted(name for name in names if name not in known)
    gone = sorted(known - untried - set(names))
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
    parser.add_argument("--only", nargs="+")
    parser.add_argument(
        "--browser", action=argparse.BooleanOptionalAction, default=None
    )
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    paths = sorted(figures.FOLDER.glob("*.js"))
    asked = set(options.only or ())
    if asked and all(name.endswith(".js") for name in asked):
        paths = [path for path in paths if path.name in asked]
    todo = every = [m for path in paths for m in mutants(path)]
    if asked:
        todo = [m for m in todo if asked.intersection((m.file, *m.within))]
    if options.browser is not None:
        todo = [m for m in todo if m.on_page() == options.browser]
    todo = todo[:: options.every]
    if options.sample:
        todo = sampled(todo, options.sample, random.Random(options.seed))
    trial = Trial(todo, options.workers)
    files = [str(ROOT / "tests" / name) for name in CHECKS]
    for path in paths:
        if path.name in QUESTIONS:
            files += [str(ROOT / "tests" / f) for f in QUESTIONS[path.name]]
    # Nobody reads why a check fails: that it does is enough.
    quick = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=native"]
    ended = pytest.main([*quick, *files], [trial])
    if trial.tried < len(todo):
        return ended or 1
    names = [mutant.name() for mutant in trial.alive]
    tried = {mutant.name() for mutant in todo}
    untried = {mutant.name() for mutant in every} - tried
    return report(names, len(todo), untried, {path.name for path in paths})


if __name__ == "__main__":
    sys.exit(main())
