"""Load one style sheet and one script, and no icon that the site lacks.

The theme and its neighbours would load 20 files, of a megabyte: scripts that
draw icons a second time or that `site.js` replaces in a few lines, fonts of
2,000 icons, and a rule for each icon. What is left of them is joined when all
pages are written, and links say which version of a file they mean.

What a newer theme loads besides passes through as it stands. A change below
that no longer fits it stops the build.
"""

import base64
import hashlib
import re
from fnmatch import fnmatch
from pathlib import Path

from sphinx.errors import ExtensionError

from . import policy, served
from .parsed import pages_of

# In the order of the theme's head; ours come last.
STYLES = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "proof.css",
    "exercise.css",
    "sphinx-design.min.css",
    "figures.css",
    "practice.css",
    "site.css",
)
SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "scripts/sphinx-book-theme.js",
    "scripts/pydata-sphinx-theme.js",
)
# The first draws as SVG the icons that fonts already draw; from the next four
# a page needs a menu, a mark and a button, which are in site.js. The style
# sheet only imports basic.css.
DROPPED = (
    "scripts/fontawesome.js",
    "scripts/bootstrap.js",
    "design-tabs.js",
    "clipboard.min.js",
    "copybutton.js",
    "styles/theme.css",
)
# A script or a link of the theme's head, and the file that it names.
LOADED = re.compile(
    r"<(?:script|link)\b[^>]*_static/([^\"?]+)[^>]*>(?:</script>)?"
)
# Scripts in the head that layout.html replaces, or that nothing reads.
INLINE = re.compile(
    r"<script[^>]*>\s*"
    r"(?:document\.documentElement\.dataset|DOCUMENTATION_OPTIONS\.).*?"
    r"</script>",
    re.S,
)
LINK = re.compile(
    r"(_static/(bundle\.css|math\.css|bundle\.js|site\.js)\?v=)[0-9a-f]{8}"
)
# What the theme does when two buttons are pressed; site.js does it.
PRESSED = re.compile(r' onclick="(?:toggleFullScreen|window\.print)\(\)"')
RIGHTS = re.compile(r"copyright|licen[cs]e", re.I)
ICON = re.compile(
    r'((?:\.fa-[\w-]+:before,?)+)\{content:("\\[^"]+"|"[^"\\]{1,2}")\}'
)
# What to change in the theme's files: a pattern, what replaces it, and how
# often it stands there.
CHANGES = {
    "bundle.css": (
        # Of each icon font only the icons in use: python -m tools.cut_fonts.
        (
            r"url\(\.\./vendor/fontawesome/webfonts/([\w-]+\.woff2)\)[^;}]*",
            r'url(fonts/\1) format("woff2")',
            3,
        ),
        # With `:has` a browser styles all code anew when a figure moves.
        (
            r"div\.cell:has\(> \*:nth-child\(2\)\) ([^,{]+)",
            r"div.cell > \1:not(:only-child),"
            r"div.cell > :not(:only-child) \1",
            4,
        ),
    ),
    "bundle.js": (
        # The theme measures each box that may scroll whenever anything
        # changes; site.js does so when that can matter.
        (r'\["pre",[^\]]*\]', '["[data-none]"]', 1),
        # A joined file has no map of its sources.
        (r"(?m)^//# sourceMappingURL=.*$", "", 2),
    ),
}


def lean(html):
    """Return a part of the theme's head without what pages need not load."""
    names = (*STYLES, *SCRIPTS, *DROPPED)

    def kept(found):
        dropped = any(fnmatch(found[1], name) for name in names)
        return "" if dropped else found[0]

    html = LOADED.sub(kept, INLINE.sub("", html))
    return re.sub(r"<script (?=[^>]*\bsrc=)", "<script defer ", html)


def joined(static, names, between="\n"):
    """Return the texts of some files, one after the other."""
    found = [sorted(static.glob(name)) for name in names]
    if [] in found:
        raise ExtensionError(
            f"attention_site.lean: {names[found.index([])]} is not among the "
            "static files; has the theme changed? Its files are listed in "
            "lean.py"
        )
    paths = [path for each in found for path in each]
    return between.join(path.read_text("utf-8") for path in paths)


def changed(text, name):
    """Return a joined file with its CHANGES."""
    for pattern, new, expected in CHANGES[name]:
        text, count = re.subn(pattern, new, text)
        if count != expected:
            raise ExtensionError(
                f"attention_site.lean: {pattern} stands {count} times in what "
                f"{name} joins, not {expected}; has the theme changed? See "
                "CHANGES in lean.py"
            )
    return text


def without_remarks(css):
    """Drop the comments of a style sheet that claim no rights."""
    return re.sub(
        r"/\*.*?\*/",
        lambda found: found[0] if RIGHTS.search(found[0]) else "",
        css,
        flags=re.S,
    )


def with_icons(css, used):
    """Keep the rules of the icons in use, which screen readers pass over.

    A browser that knows no alternative texts ignores the second value.
    """

    def kept(found):
        if used.isdisjoint(re.findall(r"fa-[\w-]+", found[1])):
            return ""
        return f'{found[1]}{{content:{found[2]};content:{found[2]}/""}}'

    return ICON.sub(kept, css)


RULE = re.compile(r"([^{}]+)\{[^{}]*\}")
ASKS = re.compile(r":(?:not|is|where|has)\(")
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
NAMED = re.compile(r'\bclass="([^"]*)"')
WORD = re.compile(r"-?[A-Za-z_][\w-]*")


def without_unused(css, words):
    """Drop each rule that asks for classes which stand nowhere.

    `words` are the classes of the pages and all words of their scripts. A
    selector that asks for a class conditionally is kept.

    Examples
    --------
    >>> without_unused(".a,.b .c{top:0}.d .c:not(.a){top:1}p{top:2}", {"b"})
    '.d .c:not(.a){top:1}p{top:2}'
    """

    def kept(rule):
        each = rule[1].split(",")
        if ASKS.search(rule[1]) or not all(map(CLASS.search, each)):
            return rule[0]
        met = (words.issuperset(CLASS.findall(selector)) for selector in each)
        return rule[0] if any(met) else ""

    return RULE.sub(kept, css)


def math_face(static):
    """Return a style sheet that holds the face of formulas.

    A page is not painted before its style sheets are there, so formulas have
    their face at once, and never move.
    """
    font = (static / "fonts" / "stix-two-math.woff2").read_bytes()
    data = base64.b64encode(font).decode()
    return (
        '@font-face{font-family:"STIX Two Math";'
        f'src:url(data:font/woff2;base64,{data}) format("woff2")}}'
    )


def write(app):
    """Write the joined files, and their digests into the links of pages."""
    out = Path(app.outdir)
    static = out / "_static"
    files = [out / f"{name}.html" for name in sorted(pages_of(out))]
    pages = {path: path.read_text("utf-8") for path in files}
    scripts = changed(joined(static, SCRIPTS, "\n;\n"), "bundle.js")
    used = set(re.findall(r"\bfa-[\w-]+", scripts + "".join(pages.values())))
    styles = changed(joined(static, STYLES), "bundle.css")
    (static / "bundle.js").write_text(scripts, "utf-8")
    ours = [*static.glob("figures/*.js"), *served.OWN.glob("*.js")]
    ours += [static / "site.js", static / "searchtools.js"]
    code = [scripts, *(path.read_text("utf-8") for path in ours)]
    words = set().union(*map(WORD.findall, code))
    for page in pages.values():
        words.update(*map(str.split, set(NAMED.findall(page))))
    styles = without_remarks(with_icons(styles, used))
    styles = without_unused(styles, words)
    (static / "bundle.css").write_text(styles, "utf-8")
    (static / "math.css").write_text(math_face(static), "utf-8")

    def link(found):
        digest = hashlib.sha256((static / found[2]).read_bytes()).hexdigest()
        return found[1] + digest[:8]

    for path, page in pages.items():
        linked = policy.stated(LINK.sub(link, PRESSED.sub("", page)))
        if linked != page:
            path.write_text(linked, "utf-8")


def add_to_layout(app, pagename, templatename, context, doctree):
    context["lean"] = lean


def setup(app):
    app.connect("html-page-context", add_to_layout)
