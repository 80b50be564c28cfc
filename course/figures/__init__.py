"""Interactive figures: one Python object, one JavaScript module each.

In Jupyter an object is a widget whose traits follow its sliders. On the
static page the same module runs with no kernel. Without scripts the page
shows the figure's first state, which the module itself has drawn: Python runs
it in a small JavaScript engine and stores what it returns. Where a browser
runs Python, that engine is the browser.

A module lists its settings once, as its ``controls``: each with what it sets,
its limits, and the value it starts with. Traits and docstrings are made from
that list when a figure is first asked for, so that one figure starts no engine
for the others. The folder of a figure has its module, its style, its class,
and its data, if it has any.
"""

from importlib import import_module

from ._again import shown_again
from ._figure import HIDDEN, SHOWN, InteractiveFigure, Moving, drawing
from ._scripts import (
    FOLDER,
    controls,
    engine,
    module,
    on_card,
    path_of,
    presets,
    script,
    scripts,
    styles,
)

# The classes of the figures, each with its folder.
FOLDERS = {
    "CausalHeatmap": "causal",
    "MaskPainter": "mask",
    "StepThrough": "step",
    "Saturation": "saturation",
    "TwoHeads": "objects",
    "HeadsAndGroups": "heads",
    "Positions": "positions",
    "KVCacheCalculator": "kvcache",
    "Tiles": "tiles",
    "Machines": "machines",
    "Balance": "balance",
    "Checks": "checks",
    "Digits": "digits",
    "FileBlock": "fileblock",
    "Induction": "induction",
    "Flow": "flow",
    "Words": "words",
    "Film": "film",
    "Roof": "roof",
    "Projections": "project",
    "Temperature": "temperature",
    "QuadraticCost": "quadratic",
    "TileTraffic": "traffic",
    "InfluenceTest": "influence",
    "FloatSoftmax": "floats",
    "Sinks": "sinks",
    "Backward": "backward",
    "Angles": "angles",
    "Pages": "pages",
    "Batch": "batch",
    "Schemes": "schemes",
    "Decode": "decode",
    "ResidualStream": "block",
    "ParameterAreas": "parameters",
    "EvidenceOfSeeds": "evidence",
    "RealHeads": "realheads",
    "LinearMemory": "linear",
    "LatentVector": "latent",
    "ChooseTokens": "sparse",
    "ModelCard": "card",
}
__all__ = [
    "InteractiveFigure",
    "Moving",
    *FOLDERS,
    "FOLDER",
    "HIDDEN",
    "SHOWN",
    "classes",
    "controls",
    "drawing",
    "engine",
    "module",
    "on_card",
    "path_of",
    "presets",
    "script",
    "scripts",
    "shown_again",
    "styles",
]


def __getattr__(name):
    if name not in FOLDERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{FOLDERS[name]}", __name__), name)


def __dir__():
    return [*globals(), *FOLDERS]


def classes():
    """Return the classes of all figures, by the names of their modules."""
    return {folder: __getattr__(name) for name, folder in FOLDERS.items()}
