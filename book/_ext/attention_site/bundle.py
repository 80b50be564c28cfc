"""One small style sheet and one small script for the whole site.

The theme links ten style sheets and a dozen scripts, of which most bytes are
never used. After the pages are written, this joins the style sheets and
leaves out every rule that no page can match, cuts the icon fonts down to the
icons in use, joins the scripts, and links the results instead.
"""

import hashlib
import io
import logging
import re
from collections import Counter
from pathlib import Path

import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

STYLES = (
    "styles/theme.css",
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "proof.css",
    "sphinx-design.min.css",
    "figures.css",
    "site.css",
)
SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "scripts/sphinx-book-theme.js",
    "scripts/bootstrap.js",
    "scripts/pydata-sphinx-theme.js",
)
# Of these a page may load more: the search page needs them.
OTHERS = ("site.js", "bundle.js", "searchtools.js", "language_data.js")
# The icon web fonts show the icons; the script draws them once more as SVG.
DROPPED = ("scripts/fontawesome.js", "design-tabs.js")
ICON_FONTS = ("fa-solid-900", "fa-regular-400", "fa-brands-400")
CLASS = re.compile(r"[\w-]+")

logging.getLogger("fontTools").setLevel(logging.ERROR)


def find(static, pattern):
    """The one file of that name; a theme that moved it fails the build."""
    found = sorted(static.glob(pattern))
    if len(found) != 1:
        raise ExtensionError(
            f"attention_site.bundle expects one {pattern} among the static "
            f"files and found {len(found)}; has the theme changed?"
        )
    return found[0]


def vocabulary(pages, scripts):
    """Every word that a class, an id or a script of the site could be."""
    words, elements = set(), {"html", "body", "head"}
    for page in pages:
        elements |= set(re.findall(r"<([a-z][a-z0-9-]*)", page))
        for value in re.findall(r'\b(?:class|id)="([^"]*)"', page):
            words |= set(value.split())
    return words | set(CLASS.findall(scripts)), elements


def matches(selector, words, elements):
    """Whether any page could match one selector."""
    selector = re.sub(r"\[[^\]]*\]", "", selector)
    selector = re.sub(r":{1,2}[\w-]+(\([^)]*\))?", "", selector)
    names = re.findall(r"[.#]((?:[\w-]|\\.)+)", selector)
    tags = re.findall(r"(?:^|[\s>+~])([a-z][a-z0-9-]*)", selector)
    return all(n.replace("\\", "") in words for n in names) and all(
        tag in elements for tag in tags
    )


def split_selectors(prelude):
    """The selectors of a rule, split at commas outside brackets."""
    parts, current = [], []
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append(current)
            current = []
        else:
            current.append(token)
    return [tinycss2.serialize(part).strip() for part in [*parts, current]]


def purge(rules, words, elements):
    """The rules that some page could match, as text."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [
                s
                for s in split_selectors(rule.prelude)
                if matches(s, words, elements)
            ]
            if selectors:
                body = tinycss2.serialize(rule.content).strip()
                kept.append(f"{','.join(selectors)}{{{body}}}")
        elif rule.type == "at-rule":
            kept.append(purge_at_rule(rule, words, elements))
    return "\n".join(part for part in kept if part)


def purge_at_rule(rule, words, elements):
    """A media block without its unused rules; other at-rules as they are."""
    name, prelude = rule.lower_at_keyword, tinycss2.serialize(rule.prelude)
    if name in ("import", "charset"):
        return ""
    if name in ("media", "supports"):
        inner = purge(
            tinycss2.parse_rule_list(rule.content, True, True), words, elements
        )
        return f"@{name}{prelude}{{{inner}}}" if inner else ""
    if name == "font-face":
        return font_face(tinycss2.serialize(rule.content))
    return rule.serialize()


def font_face(content):
    """A font-face that loads the cut-down font, or nothing."""
    for font in ICON_FONTS:
        if font in content:
            source = f'src:url("{font}.woff2") format("woff2")'
            content = re.sub(r"src:[^;}]*", source, content)
    if "fa-v4compatibility" in content:
        return ""
    return f"@font-face{{{content}}}"


def icons(css):
    """The characters that the style sheet shows as icons."""
    escaped = re.findall(r"\\([ef][0-9a-f]{3})\b", css)
    return {chr(int(code, 16)) for code in escaped} | set(
        re.findall("[\ue000-\uf8ff]", css)
    )


def cut_font(source, characters, target):
    """Write the font with those characters only."""
    font = TTFont(source, recalcTimestamp=False)
    options = subset.Options(flavor="woff2", layout_features=[])
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(characters))
    cutter.subset(font)
    font.flavor = "woff2"
    buffer = io.BytesIO()
    font.save(buffer)
    target.write_bytes(buffer.getvalue())


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def bundle_styles(static, words, elements):
    """Write the one style sheet and the icon fonts it needs."""
    text = "\n".join(
        find(static, name).read_text(encoding="utf-8") for name in STYLES
    )
    css = purge(tinycss2.parse_stylesheet(text, True, True), words, elements)
    # Icons are either `content:` or a custom property that content uses.
    characters = icons(css)
    for font in ICON_FONTS:
        cut_font(
            find(static, f"vendor/fontawesome/webfonts/{font}.ttf"),
            characters,
            static / f"{font}.woff2",
        )
    (static / "bundle.css").write_text(css, encoding="utf-8")
    return digest(css)


def bundle_scripts(static):
    """Write the one script; return its text."""
    text = ";\n".join(
        re.sub(
            r"^//# sourceMappingURL.*$",
            "",
            find(static, name).read_text(encoding="utf-8"),
            flags=re.M,
        )
        for name in SCRIPTS
    )
    (static / "bundle.js").write_text(text, encoding="utf-8")
    return text


DESCRIPTION = (
    "The attention mechanism of transformers by hand, in NumPy, with every "
    "number re-checked by a machine."
)


def preview(page, root, base):
    """What a search engine or a chat shows of a link to the page."""
    title = re.search(r"<title>([^<]*)</title>", page)[1]
    image = f"{base or root}_static/preview.png"
    return "".join(
        f'<meta {kind}="{name}" content="{content}">\n'
        for kind, name, content in (
            ("name", "description", DESCRIPTION),
            ("property", "og:title", title),
            ("property", "og:description", DESCRIPTION),
            ("property", "og:type", "article"),
            ("property", "og:image", image),
            ("name", "twitter:card", "summary_large_image"),
        )
    )


def relink(page, name, css, js, base):
    """Link the bundles instead of what they hold."""
    root = re.search(r'data-content_root="([^"]*)"', page)[1]
    page = re.sub(r"<link [^>]*(?:rel=\"preload\")[^>]*>\s*", "", page)
    page, styles = re.subn(r'<link [^>]*rel="stylesheet"[^>]*>\s*', "", page)
    # Ours is linked anew, before the theme's: figures need not wait for it.
    for script in (*SCRIPTS, *DROPPED, "site.js"):
        page = re.sub(
            rf'<script [^>]*src="[^"]*_static/{re.escape(script)}[^"]*"[^>]*>'
            r"</script>\s*",
            "",
            page,
        )
    page = re.sub(r"<script>DOCUMENTATION_OPTIONS[^<]*</script>\s*", "", page)
    page = re.sub(r'<script src="', '<script defer src="', page)
    for part in (LATE_THEME, MODE, STATIC_THEME):
        if part not in page:
            raise ExtensionError(
                f"attention_site.bundle: {name} has no {part} in its head; "
                "has the theme changed?"
            )
    page = page.replace(LATE_THEME, EARLY_THEME)
    page = page.replace(MODE, STORAGE + MODE, 1)
    # What a page without scripts shows: the theme has no colours for "auto".
    page = page.replace(STATIC_THEME, 'data-theme="light"', 1)
    for source in re.findall(r'<script [^>]*src="([^"?]*)', page):
        if not source.endswith(("searchindex.js", *OTHERS)):
            raise ExtensionError(
                f"attention_site.bundle: {name} loads {source}, which is "
                "neither bundled nor known; has the theme changed?"
            )
    if not styles:
        raise ExtensionError(f"attention_site.bundle: {name} links no styles")
    head = (
        f'<link rel="stylesheet" href="{root}_static/bundle.css?v={css}">\n'
        f'<script defer src="{root}_static/site.js?v={js}"></script>\n'
        f'<script defer src="{root}_static/bundle.js?v={js}"></script>\n'
    ) + preview(page, root, base)
    if "<math" in page:
        head += (
            f'<link rel="preload" as="font" type="font/woff2" crossorigin '
            f'href="{root}_static/fonts/stix-two-math.woff2">\n'
        )
    return page.replace("<title>", head + "<title>", 1)


# The theme knows only after its scripts ran whether "auto" is dark: the page
# would be shown in light first, and then every element's style made anew.
MODE = "document.documentElement.dataset.mode ="
LATE_THEME = 'localStorage.getItem("theme") || "auto"'
# Where cookies are blocked, reading the storage stops the script that does.
STORAGE = (
    "try { localStorage; sessionStorage } catch { for (const name of "
    '["localStorage", "sessionStorage"]) Object.defineProperty(window, name, '
    "{ value: { getItem: () => null, setItem() {}, removeItem() {} } }) }\n"
)
STATIC_THEME = 'data-theme="auto"'
EARLY_THEME = (
    '{auto: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : '
    '"light"}[localStorage.getItem("mode") || "auto"] || '
    'localStorage.getItem("mode")'
)


def together(found):
    """A formula and what may not be parted from it."""
    alone = found[0].startswith("<") and found[0].endswith(">")
    return found[0] if alone else f'<span class="with-math">{found[0]}</span>'


# What is wrong in the theme's pages, and what stands there instead.
MENDINGS = {
    # Names, operators, punctuation and spaces are read as plain text: most
    # of the elements of a page would be there for them.
    "plain code": (
        r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>',
        r"\1",
    ),
    # A formula in a line, with the bracket before it or the comma after it.
    "formulas in a line": (
        r'\(?<span class="math">(?:(?!</span>).)*</span>[.,;:!?)]*',
        together,
    ),
    "icons read aloud": (
        r'<(i|span) class="((?:[^"]* )?fa[bsr]?[ -][^"]*)"',
        r'<\1 aria-hidden="true" class="\2"',
    ),
    "details under two names": (
        '<summary aria-label="Toggle hidden content">',
        "<summary>",
    ),
    "buttons without a name": (
        r'(<button\b(?![^>]*aria-label)[^>]*?)title="([^"]*)"',
        r'\1aria-label="\2" title="\2"',
    ),
}


def mend(page, done):
    """Mend a page; count in `done` what was found to mend."""
    for what, (wrong, right) in MENDINGS.items():
        page, n = re.subn(wrong, right, page, flags=re.S)
        done[what] += n
    return page


def check_mended(done):
    """After a whole build: a mending without work looks for the past."""
    for what in MENDINGS:
        if not done[what]:
            raise ExtensionError(
                f"attention_site.bundle: no page has {what} to mend; "
                "has the theme changed?"
            )


def finish(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    paths = [p for p in out.rglob("*.html") if static not in p.parents]
    pages = {p: p.read_text(encoding="utf-8") for p in paths}
    # A second build writes only what has changed since the first.
    done = Counter()
    fresh = {
        path: mend(page, done)
        for path, page in pages.items()
        if "_static/bundle.css" not in page and "data-content_root" in page
    }
    if fresh.keys() == pages.keys():
        check_mended(done)
    pages |= fresh
    scripts = bundle_scripts(static)
    modules = sorted(static.glob("figures/*.js"))
    modules.append(find(static, "site.js"))
    said = "\n".join(m.read_text(encoding="utf-8") for m in modules)
    words, elements = vocabulary(pages.values(), scripts + said)
    css = bundle_styles(static, words, elements)
    base = app.config.html_baseurl
    for path, page in fresh.items():
        page = relink(page, path.name, css, digest(scripts + said), base)
        path.write_text(page, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish, priority=900)
