"""Interactive figures: whatever they are given, right or refused in words."""

import decimal
import fractions
import functools
import itertools
import json
import re
from html import escape

import numpy as np
import pytest
from traitlets import TraitError

from tests import budgets
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import CLASSES, EXPECTED, controls
from tests.figures.reading import call

NAN, INF = float("nan"), float("inf")
MASKED = np.ma.array(np.eye(2), mask=[[False, True], [False, False]])
HOSTILE = {
    "nothing": [None, "", b"", [], [[]], {}, (), set()],
    "flags": [True, False, np.True_, np.False_, [[True]], np.eye(2) > 0],
    "numbers": [0, 1, 3, -1, 3.0, 2.5, NAN, INF, -INF, 1e308, 2**53 + 1],
    "huge": [10**400, -(10**400), "x" * 10_000, [[1.0]] * 1000],
    "NumPy": [np.int64(3), np.float32(2.5), np.float64(NAN), np.array(3)],
    "arrays": [np.array([3]), np.eye(2), np.eye(2, dtype="i1"), np.eye(7)],
    "strange arrays": [np.eye(2) * 1j, MASKED, np.array([["1"]]),
                       np.array([[None, 1], [2, 3]])],
    "rows": [[3], [[1, 2], [3, 4]], ((1.0, 2.0),), [[1.0, 2.0], [3.0]],
             [[[1.0]]], [[NAN, 1.0]], [["1"]], [None, [1.0]], range(3)],
    "texts": ["3", "<b>&\"'", "causal", "none", np.str_("none"), "a\0b",
              "__proto__", "constructor", "${1}", "`", "\\", "−3"],
    "kinds": [1j, object(), len, decimal.Decimal(3), fractions.Fraction(3),
              np.datetime64("2020")],
}  # fmt: skip
ALL = list(itertools.chain.from_iterable(HOSTILE.values()))
SETTINGS = [(n, c["key"], c["kind"]) for n in CLASSES for c in controls(n)]


def at_once(name, key, value):
    return CLASSES[name](**{key: value})


@functools.cache
def figure_and_first(name):
    """One figure of each name for all: to make one takes milliseconds."""
    figure = CLASSES[name]()
    return figure, {key: getattr(figure, key) for key in figure._settings()}


def later(name, key, value):
    figure, first = figure_and_first(name)
    for setting, given in first.items():
        setattr(figure, setting, given)
    setattr(figure, key, value)
    return figure


@functools.cache
def drawn(name, state):
    """What a figure computes; and its page, which must be one."""
    figure = CLASSES[name](**json.loads(state))
    html = figure.html()
    assert not any(word in html for word in ("NaN", "undefined", "[object"))
    return figure.values


# Traits of one kind are judged by the same code: one of each kind. What each
# figure's own module refuses comes below.
OF_A_KIND = {kind: (name, key, kind) for name, key, kind in SETTINGS}


@pytest.mark.parametrize("way", [later, at_once])
@pytest.mark.parametrize(("name", "key", "kind"), OF_A_KIND.values())
def test_a_setting_is_right_or_refused_by_its_name(name, key, kind, way):
    for value in ALL:
        try:
            figure = way(name, key, value)
            figure._check()
        except TraitError as error:
            message = str(error)
            assert key in message, value
            assert "got " in message or "can share" in message, value
            budgets.keep("letters that people read", len(message), 250)
            continue
        state = {key: getattr(figure, key) for key in figure._settings()}
        taken = state[key]
        plain = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(plain, tuple):
            plain = [list(row) for row in plain]
        assert taken == plain, "what is taken is what was given"
        assert isinstance(taken, bool) == isinstance(plain, bool)
        if kind == "matrix":
            assert not any(isinstance(x, bool) for row in plain for x in row)
        assert_same(drawn(name, json.dumps(state)), EXPECTED[name](state))


@pytest.mark.parametrize("name", CLASSES)
def test_a_setting_that_there_is_not_is_refused(name):
    figure = CLASSES[name]()
    for unknown in ("colour", "t", "layers"):
        with pytest.raises(TraitError, match=f"no setting '{unknown}'; it "):
            setattr(figure, unknown, 1)
        with pytest.raises(TraitError, match=f"no setting '{unknown}'; it "):
            CLASSES[name](**{unknown: 1})


# --- the module itself ----------------------------------------------------


def first_state(name):
    figure = CLASSES[name]()
    return {key: getattr(figure, key) for key in figure._settings()}


def is_named(name, key, message):
    """Whether a message has the label of a control, or the symbol in it."""
    (label,) = (c["label"] for c in controls(name) if c["key"] == key)
    symbol = key in re.findall(r"\w+", label) and key in message
    return label in message or symbol


@pytest.mark.parametrize("name", CLASSES)
def test_a_module_names_the_setting_that_it_refuses(name):
    tried = call("judged", first_state(name), of=name)
    assert len(tried) > 30 * len(controls(name))
    for key, kind, message in tried:
        assert message == "" or is_named(name, key, message), (key, kind)
        budgets.keep("letters that people read", len(message), 250)


@pytest.mark.parametrize("name", CLASSES)
def test_a_state_that_a_kernel_sends_is_drawn_or_named(name):
    shown = call("shownAsSent", first_state(name), of=name)
    for value, message, html in shown:
        error, _, result = html.partition('<div class="av-result">')
        assert error.endswith(f'role="alert">{escape(message)}</p>'), value
        assert ('class="av-say"' not in result) == (message != ""), value
        assert "NaN" not in result
        assert "undefined" not in result


TEXTS = ["", " ", "0", "1", "-1", "−2", "2.5", "1e3", "1e999", "0x10", "NaN",
         "Infinity", "null", "undefined", "true", "false", "[]", "[[1]]",
         "1;2",
         "1 2;3", ";;", "1,5", "1,5 2", "<b>", "%00", "\0", "constructor",
         "__proto__", "toString", "1" * 5000, "1 " * 5000, ";1" * 5000, "٣",
         "½", "a=b&c", "none", "RoPE", "Q, K, V", "8 bits"]  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_an_address_is_right_or_refused(name):
    first = first_state(name)
    for key, text in itertools.product(first, TEXTS):
        pairs = [[f"{name}.{key}", text], ["other.T", "zwei"]]
        state, message, html = call("readFrom", pairs, first, of=name)
        if message:
            assert state == first
            assert is_named(name, key, message), text
            budgets.keep("letters that people read", len(message), 250)
            assert message.endswith(". The figure shows its first state.")
        else:
            assert 'class="av-say"' in html
            assert list(state) == list(first)
            figure = CLASSES[name](**state)  # Python takes it too
            assert state == {k: getattr(figure, k) for k in state}


@pytest.mark.parametrize("name", CLASSES)
def test_an_address_with_an_unknown_setting_is_refused(name):
    first = first_state(name)
    for key in ("gone", "", "__proto__", "<b>", "x" * 5000, "T.T"):
        pairs = [[f"{name}.{key}", "1"]]
        state, message, _ = call("readFrom", pairs, first, of=name)
        assert state == first
        assert message.startswith(
            f"the address has an unknown setting {name}."
        )
        budgets.keep("letters that people read", len(message), 150)
