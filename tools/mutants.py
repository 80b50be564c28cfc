"""Change the code in one small place and see whether a test notices.

    python tools/mutants.py                  every group of mutants.toml
    python tools/mutants.py helpers          one group
    python tools/mutants.py helpers entropy  changes whose name holds a text

A tool of our own: mutmut 3.8 collects all tests anew for each change and
gives doctests the unchanged copies; cosmic-ray starts a process for each.
Here the tests are collected once. For each change the process forks, puts
new code into the changed function, and runs the tests that reach it, the
fastest first, until one fails.

What is changed: operators, comparisons, conditions, constants, texts of
errors, arguments of calls, pairs of names such as any and all; calls are
left out and statements deleted. What is not: docstrings, annotations, and
what stands outside functions. A change that no test notices must be
explained in mutants.toml: as `equivalent`, with a reason that it makes no
difference, or as `accepted`, which counts against the score.
"""

import ast
import contextlib
import copy
import importlib
import inspect
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SWAPS = {
    ast.Add: [ast.Sub], ast.Sub: [ast.Add],
    ast.Mult: [ast.Div], ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Mult], ast.Mod: [ast.Mult], ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd],
    ast.LShift: [ast.RShift], ast.RShift: [ast.LShift],
    ast.And: [ast.Or], ast.Or: [ast.And],
    ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn], ast.NotIn: [ast.In],
}  # fmt: skip
NAMES = {
    "any": "all", "min": "max", "maximum": "minimum", "floor": "ceil",
    "isnan": "isinf", "isposinf": "isneginf", "sin": "cos", "exp": "log",
    "zeros": "ones", "first": "second",
}  # fmt: skip
NAMES |= {new: old for old, new in NAMES.items()}


def swapped(node, field):
    """The node with another operator in `field`, once for each."""
    for operator in SWAPS.get(type(getattr(node, field)), []):
        new = copy.deepcopy(node)
        setattr(new, field, operator())
        yield new


def without_arguments(call):
    """The call with one argument less, once for each."""
    for i in range(len(call.args)):
        new = copy.deepcopy(call)
        del new.args[i]
        yield new
    for i in range(len(call.keywords)):
        new = copy.deepcopy(call)
        del new.keywords[i]
        yield new


def changes(node):
    """What may stand in the place of a node: one small change each."""
    match node:
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            yield from swapped(node, "op")
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                for new in SWAPS[type(operator)]:
                    other = copy.deepcopy(node)
                    other.ops[i] = new()
                    yield other
        case ast.UnaryOp():
            yield node.operand
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.Constant(value=str()):
            yield ast.Constant("XX")
        case ast.Call():
            yield from without_arguments(node)
            if isinstance(node.func, ast.Attribute):
                yield node.func.value  # x.copy() becomes x
            if len(node.args) == 1:
                yield node.args[0]  # abs(x) becomes x
    match node:
        case ast.Name(id=name) if name in NAMES:
            yield ast.Name(NAMES[name], node.ctx)
        case ast.Attribute(attr=name) if name in NAMES:
            yield ast.Attribute(node.value, NAMES[name], node.ctx)
        case ast.AugAssign() | ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.If() | ast.While():
            new = copy.copy(node)
            new.test = ast.UnaryOp(ast.Not(), node.test)
            yield new


def shown(node):
    """A node in one line; of a statement with a body, its head."""
    return ast.unparse(node).split("\n")[0][:200]


def places(node):
    """Every (parent, field, index) of what may change in a node."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for i, child in enumerate(
            value if isinstance(value, list) else [value]
        ):
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.Expr) and isinstance(
                child.value, ast.Constant
            ):
                continue  # a docstring
            yield node, field, i if isinstance(value, list) else None
            yield from places(child)


def functions(tree):
    """The functions of a module and of its classes, and where each stands."""
    for top in tree.body:
        if isinstance(top, ast.FunctionDef):
            yield top.name, top, top
        for node in top.body if isinstance(top, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef):
                yield f"{top.name}.{node.name}", node, top


class Mutant:
    """A function, or the class around it, with one change."""

    def __init__(self, module, function, line, name, top):
        self.module, self.function, self.line = module, function, line
        self.name = name
        tree = ast.fix_missing_locations(ast.Module([top], []))
        self.code = compile(tree, module, "exec")

    def target(self, names=None):
        """The function itself, in its module or in other names."""
        found = names or vars(sys.modules[self.module])
        for part in self.function.split("."):
            found = (found if isinstance(found, dict) else vars(found))[part]
        found = getattr(found, "fget", None) or found  # a property
        return getattr(found, "__func__", found)  # a class method

    def apply(self):
        """Put the changed code into the function that everybody imported."""
        names = dict(vars(sys.modules[self.module]))
        exec(self.code, names)
        kept = self.target()
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()  # what it gave before the change
        # What a decorator wraps is what was changed.
        old, new = map(inspect.unwrap, (kept, self.target(names)))
        old.__code__ = new.__code__
        old.__defaults__ = new.__defaults__
        old.__kwdefaults__ = new.__kwdefaults__


def mutants(path, part=""):
    """Every mutant of a file. Equal names are told apart by a number."""
    module = ".".join(Path(path).with_suffix("").parts)
    seen = Counter()
    for function, node, top in functions(ast.parse((ROOT / path).read_text())):
        for parent, field, i in places(node):
            value = getattr(parent, field)
            old = value if i is None else value[i]
            # Constants and names say little: show what they stand in.
            whole = not isinstance(parent, ast.FunctionDef | ast.stmt)
            for new in changes(old):
                before = shown(parent if whole else old)
                set_(parent, field, i, new)
                after = shown(parent if whole else new)
                name = f"{Path(path).stem}.{function}: {before} => {after}"
                seen[name] += 1
                name += f" #{seen[name]}" if seen[name] > 1 else ""
                try:
                    if part in name and before != after:
                        yield Mutant(module, function, old.lineno, name, top)
                except (SyntaxError, TypeError, ValueError):
                    pass  # no program
                finally:
                    set_(parent, field, i, old)


def set_(parent, field, i, node):
    """Put a node into its place."""
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node


def pairs(items):
    """Each test with the one that follows, which pytest asks for."""
    return zip(items, [*items[1:], None], strict=True)


def protocol(item, following):
    """Run one test, which must be able to run again in a fork."""
    names = item.dtest.globs if hasattr(item, "dtest") else {}
    kept = dict(names)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    names.update(kept)  # a doctest forgets its names when it has run


@contextlib.contextmanager
def watched(found):
    """A set that the functions which hold mutants write their names into."""
    reached, kept = set(), {}
    for module, name in {(m.module, m.function) for m in found}:
        path = Path(sys.modules[module].__file__)
        for function, node, top in functions(ast.parse(path.read_text())):
            if function == name:
                node.body[:0] = ast.parse(f"_reached({(module, name)})").body
                watcher = Mutant(module, name, 0, name, top)
        kept[watcher] = inspect.unwrap(watcher.target()).__code__
        vars(sys.modules[module])["_reached"] = reached.add
        watcher.apply()
    yield reached
    for watcher, code in kept.items():
        inspect.unwrap(watcher.target()).__code__ = code


class Runner:
    """The pytest plugin that runs the tests once, then for each mutant."""

    def __init__(self, found, workers):
        self.found, self.workers = found, workers
        self.failed, self.tried, self.ended = False, 0, 0
        self.survivors = []
        self.reached = defaultdict(list)  # of each function: (seconds, test)
        self.useful = defaultdict(set)  # of each function: tests that failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self):
        from hypothesis import Phase, settings  # not before pytest's hooks

        # A failure is enough: the smallest one would take long to find. With
        # fewer examples than `make test` tries, the score is a lower bound.
        settings.register_profile(
            "mutants",
            settings.get_profile("book"),
            phases=[Phase.explicit, Phase.generate],
            max_examples=20,
        )
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report):
        self.failed |= report.failed

    def pytest_runtestloop(self, session):
        with watched(self.found) as reached:
            for item, following in pairs(session.items):
                reached.clear()
                start = time.perf_counter()
                protocol(item, following)
                seconds = time.perf_counter() - start
                for function in reached:
                    self.reached[function].append((seconds, item))
        if self.failed:
            raise pytest.UsageError("a test fails without any change")
        print(f"\n{len(self.found)} mutants", flush=True)
        self.check()
        running = {}
        for mutant in self.found:
            pid, pipe = self.fork(mutant)
            running[pid] = mutant, pipe
            if len(running) == self.workers:
                self.wait(running)
        while running:
            self.wait(running)
        return True

    def check(self):
        """Put a function's own code into it: no test may fail for that."""
        same = copy.copy(max(self.found, key=lambda m: len(self.tests(m))))
        source = Path(sys.modules[same.module].__file__).read_text("utf-8")
        same.code = compile(source, same.module, "exec")
        pid, pipe = self.fork(same)
        os.close(pipe)
        if os.waitpid(pid, 0)[1]:
            raise pytest.UsageError("a test fails though nothing was changed")

    def tests(self, mutant):
        """The tests that reach the changed function, in the order to run.

        Those that noticed another change in it come first, then the fastest.
        """
        function = mutant.module, mutant.function
        useful = self.useful[function]
        return sorted(
            self.reached[function],
            key=lambda test: (test[1].nodeid not in useful, test[0]),
        )

    def fork(self, mutant):
        """Try one change in a process, which writes the test that failed."""
        tests = self.tests(mutant)
        pipe, end = os.pipe()
        if pid := os.fork():
            os.close(end)
            return pid, pipe
        # A loop without end, or memory without end, is noticed too. Time is
        # that of the processor: a busy machine is no reason to stop.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        limit = 20 + 5 * sum(seconds for seconds, _ in tests)
        signal.setitimer(signal.ITIMER_PROF, limit)
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)
        try:
            mutant.apply()
            for item, following in pairs([item for _, item in tests]):
                item.config.pluginmanager.unregister(name="terminalreporter")
                protocol(item, following)
                if self.failed:
                    os.write(end, item.nodeid.encode())
                    break
        except BaseException:
            self.failed = True
        os._exit(self.failed)

    def wait(self, running):
        """Wait for one of the forks; whether its change went unnoticed."""
        pid, status = os.wait()
        mutant, pipe = running.pop(pid)
        with open(pipe, encoding="utf-8") as file:
            self.useful[mutant.module, mutant.function].add(file.read())
        self.tried += 1
        self.ended += os.WIFSIGNALED(status)
        if status == 0:
            self.survivors.append(mutant)
            print(f"\nnobody notices, line {mutant.line}: {mutant.name}")
        if self.tried % 100 == 0:
            print(f" {self.tried}", end="", flush=True)


def report(group, plan, runner, part):
    """Print the score; whether it is as high, and explained, as it must."""
    reasons = plan.get("equivalent", {}) | plan.get("accepted", {})
    survived = {mutant.name for mutant in runner.survivors}
    stale = [] if part else sorted(set(reasons) - survived)
    unexplained = sorted(survived - set(reasons))
    equivalent = survived & set(plan.get("equivalent", {}))
    total = len(runner.found) - len(equivalent)
    killed = len(runner.found) - len(survived)
    score = 100 * killed / max(1, total)
    print(
        f"{group}: {killed} of {total} killed, {score:.1f} % "
        f"(at least {plan['threshold']} %); {len(equivalent)} more make no "
        f"difference, {len(survived) - len(equivalent)} survive; "
        f"{runner.ended} of those killed took too long or died"
    )
    for name in unexplained:
        print(f"  no test notices, and no reason is given: {name}")
    for name in stale:
        print(f"  explained, and gone or noticed now: {name}")
    fine = bool(part) or score >= plan["threshold"]
    return fine and not unexplained and not stale


def main(groups):
    """Run the groups of mutants.toml that are named, or all."""
    plans = tomllib.loads((ROOT / "tools/mutants.toml").read_text("utf-8"))
    part = groups[1] if len(groups) > 1 else ""
    os.chdir(ROOT)
    good = True
    for group in groups[:1] or plans:
        plan, start = plans[group], time.monotonic()
        found = [m for path in plan["modules"] for m in mutants(path, part)]
        for module in {m.module for m in found}:
            importlib.import_module(module)
        runner = Runner(found, os.cpu_count() or 1)
        code = pytest.main(
            ["-q", "-p", "no:cacheprovider", "--doctest-modules",
             *plan["tests"]],
            plugins=[runner],
        )  # fmt: skip
        good &= code == 0 and report(group, plan, runner, part)
        print(f"{group}: {(time.monotonic() - start) / 60:.1f} minutes")
    return not good


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))
