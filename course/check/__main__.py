"""Check a function from the command line: see `course.check`."""

import argparse
import contextlib
import functools
import importlib
import inspect
import operator
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

from course.check import CHOICES, Verdict, check

STATUS = {True: 0, False: 1, None: 2}


PLACE = "Say where it is as module:name, or as folder/file.py:name"


@functools.cache
def space(module):
    """Return what a module has, read once."""
    try:
        with argv(module):
            if module.endswith(".py"):
                sys.path.insert(0, str(Path(module).parent.resolve()))
                return SimpleNamespace(**runpy.run_path(module))
            return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise LookupError(f"{module} cannot be read. {said}") from None


@contextlib.contextmanager
def argv(module):
    """Keep the words of this command from what a module reads on its own."""
    kept, sys.argv = sys.argv, [module]
    try:
        yield
    finally:
        sys.argv = kept


def found(place):
    """Return the object at `module:name`, or at `file.py:name`.

    Examples
    --------
    >>> found("math:sqrt")
    <built-in function sqrt>
    >>> found("math:square")
    Traceback (most recent call last):
    LookupError: math has no square.
    """
    module, _, name = place.rpartition(":")
    dotted = all(part.isidentifier() for part in module.split("."))
    if not name or not (dotted or module.endswith(".py")):
        raise LookupError(f"{PLACE}; got {place}.")
    try:
        return operator.attrgetter(name)(space(module))
    except AttributeError:
        raise LookupError(f"{module} has no {name}.") from None


def parser():
    """Read the options of `check`, whose own text explains them."""
    line = argparse.ArgumentParser(
        prog="python -m course.check",
        usage="%(prog)s mymodule:attention [--OPTION VALUE ...]",
        description="Exit status: 0 right, 1 wrong, 2 not callable.",
        epilog=inspect.getdoc(check),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    line.add_argument("function", help="mymodule:attention, or a file.py:name")
    for name, option in inspect.signature(check).parameters.items():
        flag = option.default is False
        more = {} if flag else {"choices": CHOICES.get(name)}
        if name != "function":
            line.add_argument(
                f"--{name.replace('_', '-')}", default=option.default,
                action="store_true" if flag else "store", **more,
            )  # fmt: skip
    return line


def main(words=None):
    """Print the verdict on a function, and return the exit status."""
    given = vars(parser().parse_args(words))
    place = given.pop("function")
    module = place.rpartition(":")[0]
    with contextlib.suppress(TypeError, ValueError):
        given["scale"] = float(given["scale"])
    try:
        # What the function prints is not the verdict.
        with contextlib.redirect_stdout(sys.stderr):
            for option in ("cache", "gradients"):
                if given[option] not in (None, "auto"):
                    given[option] = found(f"{module}:{given[option]}")
            verdict = check(found(place), **given)
    except (LookupError, ValueError) as why:
        verdict = Verdict(None, str(why))
    except KeyboardInterrupt:
        verdict = Verdict(None, "It was interrupted.")
    print(verdict)
    return STATUS[verdict.right]


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # where it lacks ✓ and √
    sys.exit(main())
