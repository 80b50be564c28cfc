"""An axis keeps its numbers while a slider moves, or the picture says more."""

import re

import numpy as np
import pytest
from traitlets import TraitError

from tests.figures.expected_figures import CLASSES, controls, look

NUMERAL = re.compile(r"(−?[\d,.]+)%?(?: ([KMGTP]))?")
# The axes that follow a slider, and what the picture then says.
SAID = {
    ("digits", "digits"): "the value of each mark, in units of the last digit",
    ("floats", "shift"): "which part of the line below is magnified",
    ("saturation", "S"): "a bar for each key",
    ("positions", "pairs"): "the period of each pair, beside it",
}


def is_scale(ticks):
    """Whether equal steps between four or more numbers are equal lengths."""
    places, values = np.array(sorted(ticks.items())).T
    for scale in (values, np.log(np.where(values > 0, values, 1))):
        steps = np.diff(scale) / np.diff(places)
        if len(steps) > 2 and np.ptp(steps) < 0.01 * abs(steps).max():
            return True
    return False


def axes(shown):
    """The numbers of each axis by their places."""
    lines = {}
    for text in shown.select("svg text[x][y]:not([data-handle] text)"):
        result, x, y = NUMERAL.fullmatch(text.text), text["x"], text["y"]
        if result and " " not in x + y:
            number = result[1].replace(",", "").replace("−", "-")
            power = " KMGTP".index(result[2] or " ")
            svg, side = (
                text.find_parent("svg")["class"][0],
                text.get("text-anchor"),
            )
            for line, place in (((svg, y), x), ((svg, x, side), y)):
                ticks = lines.setdefault(line, {})
                ticks[float(place)] = float(number) * 1000.0**power
    return {line: ticks for line, ticks in lines.items() if is_scale(ticks)}


@pytest.mark.parametrize("name", CLASSES)
def test_axis_keeps_its_numbers_while_a_slider_moves(name):
    before = axes(look(name, {})[2])
    for control in controls(name):
        key, ends = control["key"], (control.get("min"), control.get("max"))
        stops = control.get("stops", ends)
        if stops[0] is None or (name, key) in SAID:
            continue
        for end in (stops[0], stops[-1]):
            try:
                after = axes(look(name, {key: end})[2])
            except TraitError:  # it does not fit the other settings
                continue
            for line in before.keys() & after.keys():
                assert before[line] == after[line], (key, end, line)
