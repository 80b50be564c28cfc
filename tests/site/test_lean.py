"""Pages load what they use: no script twice, no icon that the site lacks."""

import re

import pytest
from attention_site import lean
from sphinx.errors import ExtensionError

THEME = '<script src="../_static/scripts/{}?digest=1"></script>'
HEADS = [
    (THEME.format("fontawesome.js"), ""),
    (THEME.format("bootstrap.js"), ""),
    (
        '<link rel="preload" as="script" href="_static/scripts/bootstrap.js">',
        "",
    ),
    ('<link href="_static/styles/theme.css" rel="stylesheet" />', ""),
    ('<link rel="stylesheet" href="_static/mystnb.8a.css?v=1" />', ""),
    ("<script>DOCUMENTATION_OPTIONS.pagename = 'a';</script>", ""),
    (
        '<script data-cfasync="false">\n'
        "document.documentElement.dataset.mode = 1;</script>",
        "",
    ),
    # What another extension or a newer theme loads stays.
    (
        '<link rel="stylesheet" href="_static/new.css" />',
        '<link rel="stylesheet" href="_static/new.css" />',
    ),
    (
        '<script src="searchindex.js"></script>',
        '<script defer src="searchindex.js"></script>',
    ),
    ("<script>own(1)</script>", "<script>own(1)</script>"),
]


@pytest.mark.parametrize(("head", "expected"), HEADS)
def test_a_page_loads_only_what_it_uses(head, expected):
    assert lean.lean(head) == expected


def test_a_theme_without_a_listed_file_stops_the_build(tmp_path):
    (tmp_path / "a.css").write_text("p{}")
    assert lean.joined(tmp_path, ["a.css", "a.*"]) == "p{}\np{}"
    with pytest.raises(ExtensionError, match=r"b\.\*\.css is not among"):
        lean.joined(tmp_path, ["a.css", "b.*.css"])


CHANGED = [
    (
        "bundle.css",
        "url(../vendor/fontawesome/webfonts/fa-a.woff2) format('x'),url(b);"
        * 3
        + "div.cell:has(> *:nth-child(2)) p:first-child{x:y}" * 4,
        'url(fonts/fa-a.woff2) format("woff2");'
        * 3
        + "div.cell > p:first-child:not(:only-child),"
        "div.cell > :not(:only-child) p:first-child{x:y}" * 4,
    ),
    (
        "bundle.js",
        'f(["pre",".a"]);\n//# sourceMappingURL=f.map\n//# sourceMappingURL=g',
        'f(["[data-none]"]);\n\n',
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), CHANGED)
def test_a_theme_that_a_change_does_not_fit_stops_the_build(
    name, text, expected
):
    assert lean.changed(text, name) == expected
    for other in ("", text + text):
        with pytest.raises(ExtensionError, match="has the theme changed"):
            lean.changed(other, name)


def test_icons_in_use_stay_and_are_silent():
    used = '.fa-bars:before,.fa-navicon:before{content:"\\f0c9"}'
    css = used + '.fa-0:before{content:"\\30 "}.fa-x:before{content:"\\f00d"}'
    expected = used.replace("}", ';content:"\\f0c9"/""}')
    assert lean.with_icons(css + "p{x:y}", {"fa-bars"}) == expected + "p{x:y}"


def test_a_remark_goes_and_a_notice_stays():
    notice = "/*! Licensed under MIT */"
    css = f"{notice}/* why */p{{x:y}}/* Copyright A */"
    assert lean.without_remarks(css) == css.replace("/* why */", "")


def test_no_page_asks_for_what_is_left_out(site):
    for name in ("index", "book/mask", "search", "figure/heads"):
        html = (site / f"{name}.html").read_text("utf-8")
        files = re.findall(r'<(?:script|link)[^>]*_static/([^"?]+)', html)
        styles = [file for file in files if file.endswith(".css")]
        scripts = [file for file in files if file.endswith(".js")]
        search = ["searchtools.js", "language_data.js"]
        formulas = ["math.css"] * ("<math" in html)
        assert styles == ["bundle.css", *formulas], name
        expected = ["site.js"] + ["bundle.js"] * (not name.startswith("fig"))
        assert scripts == expected + search * (name == "search"), name
