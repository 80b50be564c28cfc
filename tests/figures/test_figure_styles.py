"""The figures' style sheets: no rule for nothing, and none for another."""

import functools
import re

import pytest
import tinycss2

from course import figures
from tests.figures.expected_figures import CLASSES, drawn, every_state

SCRIPTS = "".join(
    path.read_text(encoding="utf-8") for path in figures.FOLDER.rglob("*.js")
)


@functools.cache
def shown_classes(name):
    """Every class that a figure has in many states, chosen and random."""
    found = set()
    for settings in every_state(name):
        _, html = drawn(name, settings)
        for names in re.findall(r'\sclass="([^"]*)"', html):
            found.update(names.split())
    return found


def rules(css, media=""):
    """Each selector of a style sheet with what it sets, one by one."""
    for rule in css:
        if rule.type == "at-rule" and rule.lower_at_keyword == "media":
            within = tinycss2.parse_rule_list(rule.content, True, True)
            yield from rules(within, squeezed(rule.prelude))
        if rule.type == "qualified-rule":
            body = tinycss2.parse_blocks_contents(rule.content, True, True)
            for selector in selectors(rule.prelude):
                for part in body:
                    value = squeezed(part.value)
                    yield media, selector, part.lower_name, value


def selectors(prelude):
    """The selectors of a rule: commas part them, but not inside brackets."""
    parts = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return [squeezed(part) for part in parts]


def squeezed(tokens):
    """The text of a selector or a value, however it is laid out."""
    text = " ".join(tinycss2.serialize(tokens).split())
    return re.sub(r"\s*([,>+(){}:])\s*", r"\1", text)


def style_sheet(text):
    return list(rules(tinycss2.parse_stylesheet(text, True, True)))


def own_rules():
    return style_sheet(figures.styles(*CLASSES))


def classes_in(text):
    return set(re.findall(r"\bav-[\w-]+", text))


@functools.cache
def known_classes(name):
    """Every class that a figure shows, or that its module names."""
    return shown_classes(name) | classes_in(figures.module(name))


def styled():
    return {
        name
        for _, selector, *_ in own_rules()
        for name in re.findall(r"\.(av-[\w-]+)", selector)
    }


def test_every_class_of_the_style_sheet_is_one_of_a_figure():
    """Shown in one of many states, or given by a script to what it adds."""
    shown = set().union(*map(shown_classes, CLASSES))
    assert not [
        name
        for name in styled() - shown
        if name.rstrip("0123456789") not in SCRIPTS  # lines are counted
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_styles_of_a_figure_match_no_other(name):
    """In Jupyter a figure has no styles but its own: else it looked other."""
    path = figures.path_of(f"{name}.css")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    others = set().union(*(known_classes(n) for n in CLASSES if n != name))
    for _, selector, *_ in style_sheet(text):
        if f'[data-figure="{name}"]' not in selector:
            assert classes_in(selector) - others, selector


STRAYS = """() => {
  const moving = [];
  const selectors = (rules) => [...rules].flatMap((rule) => {
    if (rule instanceof CSSKeyframesRule) moving.push(rule.name);
    return rule.selectorText ?? selectors(rule.cssRules ?? []);
  });
  const strays = [...document.styleSheets].flatMap((sheet) => {
    const { of } = sheet.ownerNode.dataset;
    return selectors(sheet.cssRules)
      .flatMap((selector) => [
        ...document.querySelectorAll(selector.replace(/::[\\w-]+/g, ""))])
      .map((it) => it.closest("[data-figure]")?.dataset.figure)
      .filter((found) => found !== of)
      .map((found) => `${of} styles ${found}`);
  });
  return [strays, moving];
}"""


def test_styles_of_a_figure_match_nothing_of_another(page):
    """The site joins all of them, and a page has several figures."""
    styles, drawings = "", ""
    for name in CLASSES:
        path = figures.path_of(f"{name}.css")
        if path.exists():
            text = path.read_text(encoding="utf-8")
            styles += f"<style data-of={name}>{text}</style>"
        drawings += drawn(name, {})[1]
    page.visit(f"{styles}<main>{drawings}</main>")
    strays, moving = page.tab.evaluate(STRAYS)
    assert strays == []
    assert len(moving) == len(set(moving)), "movements have names of their own"
    stray = "<style data-of=step>@media all { .av-say::before { top: 0 } }"
    page.visit(f"{stray}</style><main>{drawings}</main>")
    strays, _ = page.tab.evaluate(STRAYS)
    assert len(strays) >= len(CLASSES) - 1, "a rule of all figures is found"
