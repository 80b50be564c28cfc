"""Interactive figures: whatever they are given, right or refused in words."""

import decimal
import fractions
import functools
import itertools
import json
from html import escape

import numpy as np
import pytest
import quickjs
from traitlets import TraitError

from course import figures
from tests import budgets
from tests.figures.agreement import assert_same
from tests.figures.expected_figures import CLASSES, EXPECTED, controls

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

STRANGE = """[undefined, null, true, false, 0, -1, 0.5, 2, 1e308, NaN,
  Infinity, "", "2", "x", "<b>", "constructor", "__proto__", [], [[]], [1],
  [[1, 2], [3]], [[1], [2]], [["1"]], [[NaN]], [[[1]]], [[null]], [[true]],
  {}, { length: 1 }, [{}], [undefined], 10n ** 30n, () => 1]"""
# What a kernel can send: a trait has its type, and may be out of range.
SENT = """{ choice: ["", "x", "<b>", "constructor"], flag: [true, false],
  matrix: [[], [[]], [[1, 2], [3]], [[1], [2]], [[NaN]], [[1e308]], [[101]]],
  number: NUMBERS, range: NUMBERS, power: NUMBERS, stops: NUMBERS,
  text: ["", "x", "{}", "[]", "null", "<b>", '{"a": 1}', "x".repeat(6001)],
  words: ["", "a", "a b c", "<b> <i> <p>", "a  b c", "abcdefgh b c"],
  symbols: ["", "M", "a", "<b>", "A B", "AB", "\u00c4", "A".repeat(33)] }"""
SENT = SENT.replace("NUMBERS", "[0, -1, 0.5, 2, 3, 1e9, 1e308, NaN, Infinity]")


def context(name, more=""):
    engine = quickjs.Context()
    engine.eval(figures.module(name).replace("export default", "const it ="))
    return engine.eval(more)


def first_state(name):
    figure = CLASSES[name]()
    return {key: getattr(figure, key) for key in figure._settings()}


JUDGE = f"""(state) => JSON.stringify(figure.controls.flatMap(({{ key }}) =>
  {STRANGE}.map((value) => {{
    const tried = {{ ...JSON.parse(state), [key]: value }};
    return [key, String(typeof value), problem(figure, tried)];
  }})))"""
SHOW = f"""(state) => JSON.stringify(figure.controls.flatMap((control) =>
  ({SENT})[control.kind].map((value) => {{
    const tried = {{ ...JSON.parse(state), [control.key]: value }};
    return [String(value), problem(figure, tried), shell(figure, tried)];
  }})))"""


@pytest.mark.parametrize("name", CLASSES)
def test_a_module_names_the_setting_that_it_refuses(name):
    judge = context(name, JUDGE)
    tried = json.loads(judge(json.dumps(first_state(name))))
    assert len(tried) == 33 * len(controls(name))
    for key, kind, wrong in tried:
        assert wrong == "" or key in wrong, (key, kind)
        budgets.keep("letters that people read", len(wrong), 250)


@pytest.mark.parametrize("name", CLASSES)
def test_a_state_that_a_kernel_sends_is_drawn_or_named(name):
    show = context(name, SHOW)
    for value, wrong, html in json.loads(show(json.dumps(first_state(name)))):
        error, _, result = html.partition('<div class="av-result">')
        assert error.endswith(f'role="alert">{escape(wrong)}</p>'), value
        assert ('class="av-say"' not in result) == (wrong != ""), value
        assert "NaN" not in result
        assert "undefined" not in result


# An engine has no address: this one holds pairs of a name and a text.
ADDRESS = """
globalThis.location = { search: [] };
globalThis.URLSearchParams = class {
  constructor(pairs) { this.pairs = pairs; }
  get(key) { return this.pairs.find(([name]) => name === key)?.[1] ?? null; }
  keys() { return this.pairs.map(([name]) => name); }
};
(search, state) => {
  location.search = JSON.parse(search);
  const found = fromAddress(figure, JSON.parse(state));
  // What is refused leaves the first state, which other tests draw.
  const html = found.wrong ? "" : shell(figure, found.state);
  return JSON.stringify([found.state, found.wrong, html]);
}"""
TEXTS = ["", " ", "0", "1", "-1", "−2", "2.5", "1e3", "1e999", "0x10", "NaN",
         "Infinity", "null", "undefined", "true", "false", "[]", "[[1]]",
         "1;2",
         "1 2;3", ";;", "1,5", "1,5 2", "<b>", "%00", "\0", "constructor",
         "__proto__", "toString", "1" * 5000, "1 " * 5000, ";1" * 5000, "٣",
         "½", "a=b&c", "none", "RoPE", "Q, K, V", "8 bits"]  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_an_address_is_right_or_refused(name):
    read, first = context(name, ADDRESS), first_state(name)
    for key, text in itertools.product(first, TEXTS):
        pairs = [[f"{name}.{key}", text], ["other.T", "zwei"]]
        state, wrong, html = json.loads(
            read(json.dumps(pairs), json.dumps(first))
        )
        if wrong:
            assert state == first
            assert key in wrong, text
            budgets.keep("letters that people read", len(wrong), 250)
            assert wrong.endswith(". The figure shows its first state.")
        else:
            assert 'class="av-say"' in html
            assert list(state) == list(first)
            figure = CLASSES[name](**state)  # Python takes it too
            assert state == {k: getattr(figure, k) for k in state}


@pytest.mark.parametrize("name", CLASSES)
def test_an_address_with_an_unknown_setting_is_refused(name):
    read, first = context(name, ADDRESS), first_state(name)
    for key in ("gone", "", "__proto__", "<b>", "x" * 5000, "T.T"):
        pairs = [[f"{name}.{key}", "1"]]
        state, wrong, _ = json.loads(
            read(json.dumps(pairs), json.dumps(first))
        )
        assert state == first
        assert wrong.startswith(f"the address has an unknown setting {name}.")
        budgets.keep("letters that people read", len(wrong), 150)
