"""One small style sheet and one small script for the whole site.

The theme links ten style sheets and a dozen scripts, of which most bytes are
never used. Our templates link one of each instead; this writes them when all
pages are known: the style sheets are joined, without the rules that no page
can match, the icon fonts cut down to the icons in use, the scripts joined.
"""

import hashlib
import re
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from sphinx.errors import ExtensionError

from .. import parsed
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
# Ours name what a figure's script or a reader's finger brings about: whole.
OWN_STYLES = ("figures.css", "practice.css", "site.css")
SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "scripts/sphinx-book-theme.js",
    "scripts/pydata-sphinx-theme.js",
)
# The search page loads these besides.
OTHERS = ("searchtools.js", "language_data.js", "searchindex.js")
# The icon web fonts show the icons; the script draws them once more as SVG. Of
# Bootstrap a page needs a menu and a marked entry: site.js has them.
DROPPED = ("scripts/fontawesome.js", "scripts/bootstrap.js", "design-tabs.js")
# Scripts in the theme's head, by their beginning: ours choose the colours,
# and what the others say of the page, no script of the site asks.
INLINE = ("document.documentElement.dataset.mode", "DOCUMENTATION_OPTIONS.")
ICON_FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")
UNUSED_FONT = "fa-v4compatibility"
# What scrolls, by the theme's script: see `unmeasured`.
MEASURED = re.compile(r'\["pre",[^\]]*\]')
# The name of a page, which our layout.html writes into the theme's tag.
BODY = re.compile(r"<body [^>]*data-page=")
# Who has the rights is still said, in the form that each script has.
RIGHTS = re.compile(r"copyright|licen[cs]e|©", re.I)
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?s:.*?)\*/[ \t]*)(?:\n|\Z)", re.M)


def changed(what):
    """The error of a theme that is no longer as this extension expects."""
    return ExtensionError(
        f"attention_site.lean: {what}; has the theme changed? With `lean: "
        "false` in _config.yml the site is built all the same, of more bytes"
    )


def find(static, pattern):
    """The one file of that name; a theme that moved it fails the build."""
    found = sorted(static.glob(pattern))
    if len(found) != 1:
        raise changed(
            f"expects one {pattern} among the static files and found "
            f"{len(found)}"
        )
    return found[0]


class _Head(HTMLParser):
    """What a piece of a theme's head loads."""

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
    """What the theme asks for, page by page, held against what is bundled."""

    def __init__(self):
        self.asked = set()

    def page_scripts(self, html):
        """Of what `html`, a part of the theme's head, loads: the scripts
        that the page must load itself, as they are no part of the bundle.
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
        """After a build that wrote pages: nothing is bundled for nobody."""
        bundled = {*THEME_STYLES, *SCRIPTS, *DROPPED}
        unasked = sorted(bundled - self.asked)
        if self.asked and unasked:
            raise changed(f"no page loads {', '.join(unasked)}")


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def bundle_styles(static, words, elements):
    """The one style sheet, and the icons that it draws."""
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
    purged = styles.parse(styles.purge(theirs, words, elements), "bundle.css")
    styles.drop_unasked(purged, ours, words)
    purged = styles.played(purged, ours)
    icons = "".join(sorted(styles.icons(purged)))
    return styles.written([*purged, *ours]), icons


def write_styles(static, words, elements, kept):
    """Write the one style sheet and the icon fonts it needs."""
    sheets = tuple(
        (path.as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(static.rglob("*.css"))
        if path.name != "bundle.css"
    )
    # The names of pages that no style sheet has make no other one.
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
        part = kept(faces.cut, whole.read_bytes(), icons)
        (static / f"{font}.woff2").write_bytes(part)
    (static / "bundle.css").write_text(css, encoding="utf-8")
    return css


def _bundle_of(_, static, words, elements):
    """What is kept by the texts of the style sheets, which it reads."""
    return bundle_styles(Path(static), set(words), set(elements))


def bundle_scripts(static):
    """Write the one script; return its text."""
    texts = (
        find(static, name).read_text(encoding="utf-8") for name in SCRIPTS
    )
    text = unmeasured("\n".join(uncommented(text) + "\n;" for text in texts))
    (static / "bundle.js").write_text(text, encoding="utf-8")
    return text


def unmeasured(script):
    """The theme's script, which no longer looks for boxes that scroll.

    It measures all of them, those in closed folds as well, whenever anything
    on the page has changed. site.js does it instead.
    """
    script, found = MEASURED.subn('["[data-none]"]', script)
    if found != 1:
        raise changed(f"its script names what scrolls {found} times, not once")
    return script


def uncommented(script):
    """A script without comments that have lines of their own.

    A map of a part, which the last line names, would lead astray in the whole.
    """
    return COMMENT.sub(
        lambda found: found[0] if RIGHTS.search(found[0]) else "", script
    ).rstrip("\n")


def link(page, name, digests):
    """`page` with the digests of what its head links, made by our layout."""
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
        """Let layout.html load the bundle in the place of all scripts."""
        if app.config.lean:
            context["page_scripts"] = self.loaded.page_scripts

    def finish(self, app, exception):
        if exception is None and app.builder.format == "html":
            if app.config.lean:
                self.loaded.check()
                bare = {"404", *app.config.moved_pages}
                link_pages(app, sorted(pages_of(Path(app.outdir)) - bare))


def link_pages(app, names):
    """Write the bundles for those pages, and their digests into them."""
    out, kept = Path(app.outdir), app.kept
    static = out / "_static"
    pages = {
        path: path.read_text(encoding="utf-8")
        for path in (out / f"{name}.html" for name in names)
    }
    modules = [*sorted(static.glob("figures/*.js")), find(static, "site.js")]
    own = "\n".join(m.read_text(encoding="utf-8") for m in modules)
    scripts = bundle_scripts(static)
    found = [parsed.of(app, page) for page in pages.values()]
    vocabulary = styles.vocabulary(found, scripts + own)
    fonts = {p.stem: p for p in (static / "fonts").glob("*.woff2")}
    faces.cut_faces(fonts, found, own, kept)
    digests = {
        "bundle.css": digest(write_styles(static, *vocabulary, kept)),
        "site.js": digest(own),
        "bundle.js": digest(scripts),
    }
    for path, page in pages.items():
        linked = link(page, path.name, digests)
        if linked != page:
            path.write_text(linked, encoding="utf-8")


def setup(app):
    bundle = Bundle()
    app.add_config_value("lean", True, "html", bool)
    app.connect("html-page-context", bundle.add_context, priority=900)
    app.connect("build-finished", bundle.finish, priority=900)
