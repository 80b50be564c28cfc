"""Every figure: its numbers by the helpers, its states, and what it shows.

What is specific to a figure is in `test_NAME.py`: `expected(state)` gives its
numbers by the helpers, `CASES` has states that chance seldom draws, and
`shows(state, expected, shown)` reads back what it shows. `fitted(state)` makes
a random state one whose settings fit together, or returns None.
"""

import functools
import importlib.util
import json
import random

from bs4 import BeautifulSoup

from course import figures

CLASSES = figures.classes()


def module_of(name):
    """What is specific to a figure; docs/figures.md says what that is."""
    file = f"tests.figures.test_{name}"
    if importlib.util.find_spec(file) is None:
        raise ModuleNotFoundError(f"write tests/figures/test_{name}.py")
    return importlib.import_module(file)


OF = {name: module_of(name) for name in CLASSES}
CASES = {name: module.CASES for name, module in OF.items()}


def remembered(compute):
    """The same function, which computes each state once in a run."""
    known = functools.cache(lambda state: compute(json.loads(state)))
    return lambda state: known(json.dumps(state))


EXPECTED = {name: remembered(module.expected) for name, module in OF.items()}


def controls(name):
    """The controls of a figure, as its module lists them."""
    return figures.controls(name)


def random_state(name, rng):
    """A state that every control allows, drawn at random."""
    state = {}
    for control in controls(name):
        low, high = control.get("min", 0), control.get("max", 1)
        kind = control["kind"]
        step = 1 if kind == "symbols" else control.get("step", 0)

        def number(low=low, high=high, step=step):
            if rng.random() < 0.15:
                return rng.choice([low, high])
            if step == 1:
                return rng.randint(low, high)
            return round(low + (high - low) * rng.random(), 3)

        if kind == "choice":
            value = rng.choice(control["options"])
        elif kind == "flag":
            value = rng.random() < 0.5
        elif kind == "symbols":
            length = number()
            # Rows that repeat, and any letters, one after another.
            row = rng.choices(control["letters"], k=rng.randint(1, 12))
            few = rng.choices(control["letters"], k=rng.randint(0, 3))
            value = "".join(((few + row) * length)[:length])
        elif kind == "words":
            value = ""  # as many as there are rows: below
        elif kind == "text":
            value = rng.choice(OF[name].TEXTS)
        elif kind == "stops":
            value = rng.choice(control["stops"])
        elif kind == "matrix":
            rows, columns = control["rows"], control["columns"]
            width = rng.randint(*columns)
            value = [
                [number() for _ in range(width)]
                for _ in range(rng.randint(*rows))
            ]
        elif kind == "power":
            ends = (max(end, 1).bit_length() - 1 for end in (low, high))
            value = 2 ** rng.randint(*ends)
        else:
            value = number()
        state[control["key"]] = value
    return state


def states(name, n):
    """`n` states that the figure accepts, drawn at random."""
    rng = random.Random(name)
    fitted = getattr(OF[name], "fitted", lambda state: state)
    while n:
        state = fitted(random_state(name, rng))
        if state is not None:
            n -= 1
            yield state


@functools.cache
def every_state(name):
    """The first state of a figure, chosen ones, and random ones."""
    return [{}, *CASES[name], *states(name, 12)]


@functools.cache
def _drawn(name, settings):
    figure = CLASSES[name](**json.loads(settings))
    state = {key: getattr(figure, key) for key in figure._settings()}
    return state, figure.html()


def drawn(name, settings):
    """A figure's state, and its HTML as a page receives it."""
    return _drawn(name, json.dumps(settings))


def result_of(name, settings):
    """The HTML of what a figure shows, without its controls."""
    _, html = drawn(name, settings)
    start, end = '<div class="av-result">', '<p class="av-spoken"'
    return html[html.index(start) : html.index(end)]


@functools.cache
def _parsed(html):
    return BeautifulSoup(html, "html.parser").div


def look(name, settings):
    """A figure's state, its numbers by the helpers, and its result."""
    state, _ = drawn(name, settings)
    shown = _parsed(result_of(name, settings))
    return state, EXPECTED[name](state), shown
