"""Figures where a browser runs Python: they are drawn by its own engine.

No package is there that starts processes or was compiled for a machine.
"""

import json
import subprocess
import sys

import pytest
from traitlets import TraitError

from course import figures

# Stands for the page: `figureEngine` is the site's, `to_js` Pyodide's.
PAGE = """
import json, sys, types
from quickjs import Context

sys.platform = "emscripten"
for absent in "anywidget", "dask", "IPython", "quickjs", "tokenizers":
    sys.modules[absent] = None


def figure_engine(name):
    context = Context()
    for text in figures.scripts(name).values():
        context.eval(text)
    call = f"attentionFigures.{name}[what]"
    return lambda what, state: context.eval(
        f"((what) => JSON.stringify({call}({state})))({json.dumps(what)})"
    )


def to_js(value, *, dict_converter):
    assert dict_converter == "object, not Map"
    return json.dumps(value)


pairs = types.SimpleNamespace(fromEntries="object, not Map")
sys.modules["js"] = js = types.ModuleType("js")
js.figureEngine, js.Object = figure_engine, pairs
sys.modules["pyodide"] = types.ModuleType("pyodide")
sys.modules["pyodide.ffi"] = ffi = types.ModuleType("pyodide.ffi")
ffi.to_js = to_js

import course.checkpoint, course.practice
from course import figures

shown = {}
for name in sys.argv[1:]:
    shown[name], _ = getattr(figures, name)()._repr_mimebundle_()
try:
    figures.Tiles(T=-1)
except Exception as error:
    shown["refused"] = str(error)
figure = figures.CausalHeatmap(T=3)
figure.T = 4
shown["moved"] = figure.values
print(json.dumps(shown))
"""
ALL = sorted(figures.FOLDERS)


def test_a_browser_shows_what_is_stored():
    ran = subprocess.run(
        [sys.executable, "-c", PAGE, *ALL],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    shown = json.loads(ran.stdout)
    for name in ALL:
        stored, _ = getattr(figures, name)()._repr_mimebundle_()
        del stored["application/vnd.jupyter.widget-view+json"]
        assert shown[name] == stored, name
    with pytest.raises(TraitError) as refused:
        figures.Tiles(T=-1)
    assert shown["refused"] == str(refused.value)
    assert shown["moved"] == figures.CausalHeatmap(T=4).values
