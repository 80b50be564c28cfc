"""Write what a static host needs beside the pages, and an archive of the site.

* A page for unknown addresses.
* `.nojekyll`, so that GitHub Pages does not hide folders such as `_static`.
* A sitemap, if the site's address is known.
* The whole site as one file that can be read without a network.

Pages of an earlier build that are no longer in the book are removed.
"""

import shutil
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from xml.sax.saxutils import escape

from sphinx.addnodes import toctree

from .parsed import pages_of

ARCHIVE = "attention-verified.zip"
OWN = Path(__file__).resolve().parents[2] / "_static"
# What the archive leaves out: files for hosts, and what no page loads.
LEFT_OUT = (
    *(ARCHIVE, ".*", "404.html", "sitemap.xml", "objects.inv"),
    *("_static/*.map", "_static/vendor/*", "_static/locales/*"),
    *("_static/scripts/*", "_static/styles/*", "_static/images/logo_*"),
)

# Templates that do not use the theme's layout, and the names of its lists of
# parts.
BARE = ("404.html", "figure.html")
PARTS = ("bars", "_start", "_center", "_end", "_items", "_persistent")


def copy_own(app):
    """Copy our static files; Sphinx does so only if it writes a page."""
    static = Path(app.outdir, "_static")
    shutil.copytree(OWN, static, dirs_exist_ok=True)


def note(app, pagename, templatename, context, doctree):
    app.written.add(pagename)


def remove_old_pages(app):
    """Remove the pages of an earlier build, as Sphinx does not."""
    # If Sphinx wrote no page, not even the search is among the written.
    if app.written:
        out = Path(app.outdir)
        for page in pages_of(out) - app.written - app.env.found_docs:
            (out / f"{page}.html").unlink()


def parts_of(app):
    """Return the name of each part of the menu, and its first page."""
    root = app.env.get_doctree(app.config.root_doc)
    return [
        (part["caption"], app.builder.get_target_uri(part["entries"][0][1]))
        for part in root.findall(toctree)
        if part.get("caption")
    ]


def lost_page(app):
    """Yield the page that a host shows for an unknown address."""
    yield "404", {"parts": parts_of(app)}, "404.html"


def without_theme(app, pagename, templatename, context, doctree):
    """Empty the theme's lists of parts on a page that has a layout of its own.

    The theme would draw each part to find out whether it is empty.
    """
    if templatename in BARE:
        for name in context:
            if name.endswith(PARTS):
                context[name] = []


def sitemap(address, pages):
    """Return the sitemap of some pages, as XML."""
    urls = "".join(
        f"<url><loc>{escape(address + page)}</loc></url>\n"
        for page in sorted(pages)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{urls}</urlset>\n"
    )


def archive(out, left_out):
    """Write the site into one file, with equal bytes for equal sites."""
    names = (p.relative_to(out).as_posix() for p in out.rglob("*.*"))
    kept = sorted(
        name
        for name in names
        if (out / name).is_file()
        and not any(fnmatch(name, pattern) for pattern in left_out)
    )
    with zipfile.ZipFile(out / ARCHIVE, "w") as file:
        for name in kept:
            entry = zipfile.ZipInfo(f"{Path(ARCHIVE).stem}/{name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            file.writestr(entry, (out / name).read_bytes())


def write(app):
    out, address = Path(app.outdir), app.config.html_baseurl
    (out / ".nojekyll").touch()
    if address:
        pages = map(app.builder.get_target_uri, app.env.found_docs)
        (out / "sitemap.xml").write_text(
            sitemap(address, pages), encoding="utf-8"
        )
    archive(out, LEFT_OUT)


def setup(app):
    app.written = set()
    app.connect("html-page-context", note)
    app.connect("html-collect-pages", lost_page)
    app.connect("html-page-context", without_theme, priority=300)
