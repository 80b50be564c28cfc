"""Add a link to the next page at the top, and the imprint at the end.

On a phone the theme's header has buttons but no link to the next page.
"""

import functools
import tomllib
from html import escape
from pathlib import Path

from .launch import git, repository

HEADER = ["article-header-buttons.html", "next-page.html"]
TEXT_LICENCE = "https://creativecommons.org/licenses/by/4.0/"
CODE_LICENCE = "https://opensource.org/license/bsd-3-clause"
REPORT = "book/report"
NOTICE = "NOTICE.txt"
repository_once = functools.cache(repository)  # every page asks


@functools.cache
def version(folder):
    """Return the version of the course and the date of its last commit."""
    project = Path(folder, "pyproject.toml")
    if not project.exists():
        return ""
    number = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
    day = git(folder, "log", "-1", "--format=%cs")
    return f"Version {number}, {day}" if day else f"Version {number}"


def links(address, report):
    """Return the links to the source and to the page of reports.

    `site.js` adds the page, section and version of a report to the second
    link.
    """
    source = [("Source", address, "")] if address else []
    return [
        *source,
        ("Report an error", report, "report"),
    ]


def imprint(folder, address, report, notice):
    """Return the last line of each page, as HTML."""
    licences = [
        ("Text and figures: CC BY 4.0", TEXT_LICENCE, ""),
        ("Code: BSD 3-Clause", CODE_LICENCE, ""),
        ("Others’ work", notice, ""),
    ]
    parts = [f"<span>{escape(version(folder))}</span>"] + [
        f'<a{kind and f" class={kind}"} href="{escape(target)}">{text}</a>'
        for text, target, kind in licences + links(address, report)
    ]
    return f'<p class="imprint">{" · ".join(filter(None, parts))}</p>'


def add_header(app, config):
    config.html_theme_options["article_header_end"] = HEADER


def add_imprint(app, pagename, templatename, context, doctree):
    """Add the imprint, whose links depend on the page."""
    if REPORT in app.env.found_docs:
        # Sphinx names the page itself "#".
        there = context["pathto"](REPORT).removesuffix("#")
        notice = context["pathto"](NOTICE, resource=True)
        context["theme_extra_footer"] = imprint(
            app.srcdir, repository_once(app.srcdir), there, notice
        )


def setup(app):
    app.connect("config-inited", add_header)
    app.connect("html-page-context", add_imprint)
