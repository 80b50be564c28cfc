"""One text of each look finds what axe finds when it judges every text."""

import re

import pytest

from tests.site import accessibility

PALE = "color: #999"
# A wrong text stands among right ones, and differs from them in one thing.
WRONG = {
    "its colour": f'<p style="{PALE}" id=wrong>text</p>',
    "its ground": '<div style="background: #333"><p id=wrong>text</p></div>',
    "a veil": '<div style="background: #333"><div style="background: #fff">'
    '<p>text</p></div><div style="background: rgb(255 255 255 / 0.3)">'
    "<p id=wrong>text</p></div></div>",
    "its size": '<p style="color: #888; font-size: 40px">text</p>'
    '<p style="color: #888" id=wrong>text</p>',
    "its weight": '<p style="color: #888; font: bold 19px serif">text</p>'
    '<p style="color: #888; font: 19px serif" id=wrong>text</p>',
    "its opacity": '<p style="opacity: 0.4" id=wrong>text</p>',
    "what fades it": '<div style="opacity: 0.4"><div style="background: #fff">'
    "<p id=wrong>text</p></div></div>",
    "its place": '<div style="background: #333; height: 4rem"></div>'
    '<p style="position: relative; top: -3rem" id=wrong>text</p>',
    "its box": '<div style="background: #333; width: 9rem; color: #ddd">'
    '<p>text</p><p style="margin-left: 12rem; width: 4rem" id=wrong>text</p>'
    "</div>",
    "its float": '<div style="background: #333; height: 4rem"></div>'
    '<p style="float: left; margin-top: -3rem" id=wrong>text</p>',
    "what lies across": '<div style="position: absolute; z-index: -1; '
    'background: #333; width: 9rem; height: 3rem"></div><p id=wrong>text</p>',
    "its letters": f'<p style="{PALE}">x</p><p style="{PALE}">∑</p>'
    f'<p style="{PALE}" id=wrong>text</p>',
    "no picture": f'<svg style="{PALE}"><text y="20">text</text></svg>'
    f'<p style="{PALE}" id=wrong>text</p>',
    "its field": "<input aria-label=a value=text><input aria-label=b "
    f'style="{PALE}; background: #fff" value=text id=wrong>',
}


def opened(browser, body):
    tab = browser.new_page()
    tab.set_content(
        "<!doctype html><html lang=en><title>T</title>"
        f'<body style="background: #fff; color: #000"><main>{body}</main>'
    )
    return tab


def wrong_ones(tab, known=None):
    found = accessibility.problems(tab, accessibility.COLOURS, known)
    return [re.search(r"id=\"(\w+)\"", problem)[1] for problem in found]


@pytest.mark.parametrize("thing", WRONG)
def test_one_text_of_each_look_finds_the_wrong_one(browser, thing):
    twins = "<p>text</p>" * 30
    with opened(browser, f"{twins}{WRONG[thing]}{twins}") as tab:
        assert wrong_ones(tab) == ["wrong"]
        judged = tab.locator("[data-look]").count()
    assert judged < 10, "and not every text is judged"


def test_one_link_of_each_look_finds_the_wrong_one(browser):
    sentence = "<p>Some words, <a href=#>a link</a>, and more words.</p>"
    plain = "<a style='text-decoration: none; color: #111' id=wrong "
    body = sentence * 5 + sentence.replace("<a ", plain) + sentence * 5
    with opened(browser, body) as tab:
        assert wrong_ones(tab) == ["wrong"]
        assert tab.locator("[data-link]").count() == 2


def test_a_look_is_known_once_it_was_found_good(browser):
    known = set()
    wrong = f'<p>text</p><p style="{PALE}" id=wrong>text</p>'
    for body, found, judged in [
        (wrong, ["wrong"], 2),
        (wrong, ["wrong"], 2),
        ("<p>text</p>", [], 1),
        (wrong, ["wrong"], 1),
        ("<p>text</p>", [], 0),
    ]:
        with opened(browser, body) as tab:
            assert wrong_ones(tab, known) == found
            assert tab.locator("[data-look]").count() == judged


def test_what_a_closed_fold_hides_covers_no_text(browser):
    floats = '<p style="float: left">text</p>' * 3
    below = f'<div style="display: flow-root">{floats}</div>'
    code = '<pre style="background: #333; height: 40rem">code</pre>'
    closed = f"<details><summary>more</summary>{code}</details>"
    opened_out = f'<div style="height: 0">{code}</div>'
    for above, judged in ((closed, 1), (opened_out, 4)):
        with opened(browser, f"{above}{below}") as tab:
            accessibility.problems(tab, accessibility.COLOURS)
            assert tab.locator("[data-look]").count() == judged
