"""Check a function from the command line: see `course.check`."""

import argparse
import importlib
import inspect
import operator
import runpy
import sys
from types import SimpleNamespace

from course.check import CHOICES, Verdict, check

STATUS = {True: 0, False: 1, None: 2}


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
    if not module:
        raise LookupError(f"Say where it is, for example mymodule:{place}.")
    try:
        if module.endswith(".py"):
            space = SimpleNamespace(**runpy.run_path(module))
        else:
            space = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise LookupError(f"{module} cannot be read. {said}") from None
    try:
        return operator.attrgetter(name)(space)
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
    try:
        for option in ("cache", "gradients"):
            if given[option] not in (None, "auto"):
                given[option] = found(f"{module}:{given[option]}")
        if str(given["scale"]).replace(".", "").isdigit():
            given["scale"] = float(given["scale"])
        verdict = check(found(place), **given)
    except LookupError as why:
        verdict = Verdict(None, str(why))
    print(verdict)
    return STATUS[verdict.right]


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # where it lacks ✓ and √
    sys.exit(main())
