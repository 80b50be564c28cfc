"""The texts of a figure: its module, its scripts and its styles.

And its engine: Python runs the module in a small JavaScript engine to learn
its settings and to draw it.
"""

import json
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from helpers._extras import extra

from ._modules import joined, place_of

FOLDER = Path(__file__).resolve().parent


def _data(name, value):
    """A script that gives data to a module, which reads it with `known`."""
    start = "globalThis.attentionData ??= {};\nglobalThis.attentionData"
    return f'{start}["{name}"] = {json.dumps(value)};\n'


def _data_of(name):
    """The data.py of a figure, beside its module, or None.

    There, `first` returns what the module always has, and `later` what a page
    loads only when a state asks for it, by the names of files.
    """
    if (FOLDER / name / "data.py").exists():
        return import_module(f"{__package__}.{name}.data")
    return None


@cache
def _later(name):
    """The texts of a figure's later files, by name."""
    later = getattr(_data_of(name), "later", dict)
    return {file: _data(file, value) for file, value in later().items()}


def _text(name):
    """The module of a figure without the data that is loaded later."""
    data = _data_of(name)
    given = _data(name, data.first()) if data else ""
    return given + joined(FOLDER, f"{name}.js")


def path_of(file):
    """Return the path of a module or a style, of a figure or of the kit."""
    return place_of(FOLDER, file)


def module(name):
    """Return the complete ES module of a figure, as Jupyter runs it."""
    return "".join(_later(name).values()) + _text(name)


def script(name):
    """Return the module of a figure as a script that any page can load.

    A page that is opened from a folder without a server may load scripts but
    not modules. The script sets ``attentionFigures[name]``.
    """
    start = f"globalThis.attentionFigures ??= {{}};\nattentionFigures.{name} ="
    text = _text(name).replace("export default", start)
    # Strip comments, which would take three of a page's 250 KB.
    text = re.sub(r"^/\*\*.*?\*/\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
    # A module is strict and has its own scope, so the script gets both.
    return f'(() => {{\n"use strict";\n{text}\n}})();\n'


def scripts(name):
    """Return the files of a figure that a page loads, by their names.

    The first is the module's; the others hold data that some states need.
    """
    later = {f"{file}.js": text for file, text in _later(name).items()}
    return {f"{name}.js": script(name), **later}


def styles(*names):
    """Return the shared style rules, and those of the named figures."""
    shared = "tokens", "figures"
    files = [path_of(f"{name}.css") for name in (*shared, *names)]
    return "".join(f.read_text(encoding="utf-8") for f in files if f.exists())


@cache
def engine(name):
    """Return a function that calls a figure's module from Python.

    It takes the name of a function of the module, and its argument as JSON.
    """
    if sys.platform == "emscripten":
        return _engine_of_the_page(name)
    with extra("figures"):
        import quickjs
    context = quickjs.Context()
    context.set_max_stack_size(4 * 2**20)
    for text in scripts(name).values():
        context.eval(text)
    return context.eval(
        # Not JSON.parse, which does not accept NaN and Infinity.
        f"(what, state) => JSON.stringify("
        f"attentionFigures.{name}[what](eval(`(${{state}})`)))"
    )


def _engine_of_the_page(name):
    """An engine that is the browser's own, with the site's script."""
    import js
    from pyodide.ffi import to_js

    call, pairs = js.figureEngine(name), js.Object.fromEntries

    def run(what, state):
        # As floats, because to_js makes BigInt of large integers.
        given = json.loads(state, parse_int=float)
        return call(what, to_js(given, dict_converter=pairs))

    return run


def controls(name):
    """Return the settings of a figure, as its module lists them.

    Each has ``key``, ``kind`` and ``label``; ``first``, its initial value;
    ``about``, its meaning; and its limits.
    """
    return json.loads(engine(name)("controls", "null"))


def presets(name):
    """Return the ready-made settings of a figure, as listed by its module.

    Parameters
    ----------
    name : str
        The figure's name.

    Returns
    -------
    dict of str to dict
        The settings of each preset.

    Examples
    --------
    >>> presets("kvcache")["GPT-2 small"]["n_layers"]
    12
    """
    return json.loads(engine(name)("presets", "null"))


def on_card(name):
    """Return the part of a figure that its landing-page card shows, or None.

    ``part`` selects the drawing; ``which`` of several, the ``box`` that is cut
    out of it, and the ``state`` are given unless they are the first or whole.
    """
    return json.loads(engine(name)("card", "null"))
