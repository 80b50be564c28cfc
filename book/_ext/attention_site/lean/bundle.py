"""Write one small style sheet and one small script for the whole site.

The theme links ten style sheets and a dozen scripts, and pages use few of
their bytes. Our templates link one of each. Both are written once all pages
are known: the style sheet without rules that no page can match, the script
joined from its parts, and the icon fonts with only the icons in use.
"""

import hashlib
import re
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.errors import ExtensionError

from .. import alone, parsed
from ..parsed import LINKED, pages_of
from . import faces, styles

THEME_STYLES = (
    "styles/theme.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "proof.css",
    "exercise.css",
    "sphinx-design.min.css",
)
# Kept whole, because scripts and readers create states that no page shows yet.
OWN_STYLES = ("figures.css", "practice.css", "site.css")
SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "scripts/sphinx-book-theme.js",
    "scripts/pydata-sphinx-theme.js",
)
# More scripts of the search page.
OTHERS = ("searchtools.js", "language_data.js", "searchindex.js")
# Font Awesome's script draws as SVG the icons that its web fonts already draw.
# From Bootstrap a page needs only a menu and a marked entry, and from the copy
# buttons a few lines; site.js provides both.
DROPPED = (
    "scripts/fontawesome.js",
    "scripts/bootstrap.js",
    "design-tabs.js",
    "clipboard.min.js",
    "copybutton.js",
)
# Words in scripts that are not classes of anything that scripts create: they
# belong to a list of versions and an announcement, which the book does not
# have, or have another meaning there. If a page has one of them as a class,
# its rules are kept.
UNSET = {
    "alert",
    "bd-header-announcement",
    "card",
    "list-group-item",
    "list-group-item-action",
    "pst-button-link-to-stable-version",
    "tooltip",
    "version-switcher__button",
    "version-switcher__menu",
}
# The first words of inline scripts in the theme's head that may be left out:
# our layout sets the colours, and no script of the site reads the options.
INLINE = ("document.documentElement.dataset.mode", "DOCUMENTATION_OPTIONS.")
ICON_FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")
UNUSED_FONT = "fa-v4compatibility"
# Cells of two parts or more: see `unhad`.
TWO_PARTS = re.compile(r"div\.cell:has\(> \*:nth-child\(2\)\) ([^,{]+)")
# The theme's list of elements that may scroll: see `unmeasured`.
MEASURED = re.compile(r'\["pre",[^\]]*\]')
# The name of a page, which layout.html writes into the theme's body tag.
BODY = re.compile(r"<body [^>]*data-page=")
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?s:.*?)\*/[ \t]*)(?:\n|\Z)", re.M)


def changed(what):
    """Return the error for a theme that differs from the expected one."""
    return ExtensionError(
        f"attention_site.lean: {what}; has the theme changed? With `lean: "
        "false` in _config.yml the site can still be built, with more bytes"
    )


def find(static, pattern):
    """Return the one file that matches; otherwise the build fails."""
    found = sorted(static.glob(pattern))
    if len(found) != 1:
        raise changed(
            f"expects one {pattern} among the static files and found "
            f"{len(found)}"
        )
    return found[0]


class _Head(HTMLParser):
    """Collects the files that a part of the theme's head loads."""

    def __init__(self):
        super().__init__()
        self.styles, self.scripts, self.inline = [], [], []
        self._inside = False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "link" and attributes.get("rel") == "stylesheet":
            self.styles.append(attributes["href"])
        self._inside = tag == "script" and "src" not in attributes
        if tag == "script" and "src" in attributes:
            self.scripts.append(attributes["src"])

    def handle_data(self, data):
        if self._inside:
            self.inline.append(data.strip())
        self._inside = False


def _known(url, names):
    name = urlsplit(url).path.rpartition("_static/")[2].lstrip("./")
    return next((known for known in names if fnmatch(name, known)), None)


class Loaded:
    """Compares the files that the theme loads on each page with the bundle."""

    def __init__(self):
        self.asked = set()

    def page_scripts(self, html):
        """Return the scripts of `html` that are not in the bundle.

        `html` is a part of the theme's head. The page then loads them itself.
        """
        head = _Head()
        head.feed(html)
        for url in head.styles:
            self._ask(url, (*THEME_STYLES, *OWN_STYLES))
        for text in head.inline:
            if not text.startswith(INLINE):
                raise changed(f"a page has the unknown script {text[:60]!r}")
        names = (*SCRIPTS, *DROPPED, *OTHERS, "site.js")
        kinds = {url: self._ask(url, names) for url in head.scripts}
        return [url for url, kind in kinds.items() if kind in OTHERS]

    def _ask(self, url, names):
        name = _known(url, names)
        if name is None:
            raise changed(
                f"a page loads {url}, which is neither bundled nor known"
            )
        self.asked.add(name)
        return name

    def check(self):
        """Refuse bundled files that no page of this build loads."""
        bundled = {*THEME_STYLES, *SCRIPTS, *DROPPED}
        unasked = sorted(bundled - self.asked)
        if self.asked and unasked:
            raise changed(f"no page loads {', '.join(unasked)}")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def unhad(css):
    """Say without `:has` which cells have two parts.

    With it a browser styles all code of a page anew when a figure moves.
    """
    return TWO_PARTS.sub(
        r"div.cell > \1:not(:only-child),div.cell > :not(:only-child) \1", css
    )


def bundle_styles(static, words, elements):
    """Return the style sheet and the icons that it draws."""
    theirs = [
        rule
        for name in THEME_STYLES
        for rule in styles.read(find(static, name), static)
        if not styles.is_font(rule, UNUSED_FONT)
    ]
    for font in ICON_FONTS:
        loading = [r for r in theirs if styles.is_font(r, font)]
        if not loading:
            raise changed(f"no style sheet of the theme loads {font}")
        for rule in loading:
            styles.load_instead(rule, f"{font}.woff2")
    if not sum(styles.hush(rule) for rule in theirs):
        raise changed("no style sheet of the theme draws an icon")
    ours = [
        rule
        for name in OWN_STYLES
        for rule in styles.read(find(static, name), static)
    ]
    texts = (find(static, name).read_text("utf-8") for name in THEME_STYLES)
    if len(TWO_PARTS.findall("".join(texts))) != 4:
        raise changed("the rules of the corners of cells are not the known")
    text = unhad(styles.purge(theirs, words, elements))
    purged = styles.parse(text, "bundle.css")
    styles.drop_unasked(purged, ours, words)
    purged = styles.played(purged, ours)
    icons = "".join(sorted(styles.icons(purged)))
    rights = dict.fromkeys(
        notice
        for name in THEME_STYLES
        for notice in styles.notices(find(static, name))
    )
    return "".join(rights) + styles.written([*purged, *ours]), icons


def write_styles(static, words, elements, kept):
    """Write the style sheet and the icon fonts that it needs."""
    sheets = tuple(
        (path.as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(static.rglob("*.css"))
        if path.name != "bundle.css"
    )
    # The cache ignores names that occur in no style sheet.
    names = kept(styles.names, "\n".join(text for _, text in sheets))
    css, icons = kept(
        _bundle_of,
        sheets,
        static.as_posix(),
        tuple(sorted(words & names)),
        tuple(sorted(elements & names)),
    )
    for font in ICON_FONTS:
        whole = find(static, f"vendor/fontawesome/webfonts/{font}.woff2")
        part = kept(faces.cut, whole.read_bytes(), icons, (), "Icons")
        (static / f"{font}.woff2").write_bytes(part)
    (static / "bundle.css").write_text(css, encoding="utf-8")
    return css


def _bundle_of(_, static, words, elements):
    """Call `bundle_styles`. The first argument serves only as `kept`'s key."""
    return bundle_styles(Path(static), set(words), set(elements))


def bundle_scripts(static):
    """Write the script, and return its text."""
    texts = (
        find(static, name).read_text(encoding="utf-8") for name in SCRIPTS
    )
    bare = (unindented(uncommented(text)) + "\n;" for text in texts)
    text = unmeasured("\n".join(bare))
    (static / "bundle.js").write_text(text, encoding="utf-8")
    return text


def unmeasured(script):
    """Keep the theme's script from measuring elements that may scroll.

    The script measures all of them, even in closed folds, whenever anything on
    the page changes. site.js does so less often.
    """
    script, found = MEASURED.subn('["[data-none]"]', script)
    if found != 1:
        raise changed(f"its script names what scrolls {found} times, not once")
    return script


def uncommented(script):
    """Drop comments that are on lines of their own.

    The last line of a script may name its source map, which does not fit the
    bundle.
    """
    return COMMENT.sub(
        lambda found: found[0] if styles.RIGHTS.search(found[0]) else "",
        script,
    ).rstrip("\n")


def unindented(script):
    """Drop indents and blank lines, unless a template has several lines."""
    if any(text.count("`") % 2 for text in script.splitlines()):
        return script
    return re.sub(r"\n\s+", "\n", script)


def link(page, name, digests):
    """Write the digests into the links of a page's head."""
    page, found = LINKED.subn(
        lambda m: m[1] + digests[m[1].split("/")[1].split("?")[0]], page
    )
    if found != len(digests):
        raise changed(
            f"{name} links {found} of {', '.join(digests)}: layout.html of "
            "this extension was not used"
        )
    if not BODY.search(page):
        raise changed(f"the body of {name} does not say which page it is")
    return page


class Bundle:
    """The bundle of one build."""

    def __init__(self):
        self.loaded = Loaded()

    def add_context(self, app, pagename, templatename, context, doctree):
        """Let layout.html load the bundle instead of all other scripts."""
        if app.config.lean:
            context["page_scripts"] = self.loaded.page_scripts

    def finish(self, app, exception):
        if exception is None and app.builder.format == "html":
            if app.config.lean:
                self.loaded.check()
                link_pages(app, sorted(pages_of(Path(app.outdir)) - {"404"}))


def link_pages(app, names):
    """Write the bundles for some pages, and the digests into the pages."""
    out, kept = Path(app.outdir), app.kept
    static = out / "_static"
    pages = {
        path: path.read_text(encoding="utf-8")
        for path in (out / f"{name}.html" for name in names)
    }
    site = find(static, "site.js")
    site.write_text(
        unindented(uncommented(site.read_text(encoding="utf-8"))), "utf-8"
    )
    modules = [*sorted(static.glob("figures/*.js")), site]
    own = "\n".join(m.read_text(encoding="utf-8") for m in modules)
    scripts = bundle_scripts(static)
    found = [parsed.of(app, page) for page in pages.values()]
    vocabulary = styles.vocabulary(found, scripts + own, UNSET)
    fonts = {p.stem: p for p in (static / "fonts").glob("*.woff2")}
    cuts = faces.cuts(fonts, found, own)
    with kept.ahead(faces.cut, cuts.values()):
        styled = write_styles(static, *vocabulary, kept)
    for path, font in cuts.items():
        path.write_bytes(kept(faces.cut, *font))
    digests = {
        "bundle.css": digest(styled),
        "site.js": digest(own),
        "bundle.js": digest(scripts),
    }
    # The page of a single figure needs none of the theme's scripts.
    without = {k: digests[k] for k in ("bundle.css", "site.js")}
    for path, page in pages.items():
        bare = path.parent == out / alone.FOLDER
        linked = link(page, path.name, without if bare else digests)
        if linked != page:
            path.write_text(linked, encoding="utf-8")


def setup(app):
    bundle = Bundle()
    app.add_config_value("lean", True, "html", bool)
    app.connect("html-page-context", bundle.add_context, priority=900)
    app.connect("build-finished", bundle.finish, priority=900)
