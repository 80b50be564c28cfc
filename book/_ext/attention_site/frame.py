"""Add a link to the next page at the top, and the imprint at the end.

On a phone the theme's header has buttons but no link to the next page.
"""

import tomllib
from html import escape
from pathlib import Path

from .launch import git, repository

HEADER = ["article-header-buttons.html", "next-page.html"]
TEXT_LICENCE = "https://creativecommons.org/licenses/by/4.0/"
CODE_LICENCE = "https://opensource.org/license/bsd-3-clause"


def version(folder):
    """Return the version of the course and the date of its last commit."""
    project = Path(folder, "pyproject.toml")
    if not project.exists():
        return ""
    number = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
    day = git(folder, "log", "-1", "--format=%cs")
    return f"Version {number}, {day}" if day else f"Version {number}"


def links(address):
    """Return the links to the source and to the form for reporting errors.

    The class of the form's link says which fields the host's form has;
    `site.js` fills in the page, the section and the version.
    """
    if address is None:
        return []
    host, new = (
        ("github", "issues/new")
        if "//github.com/" in address
        else ("gitlab", "-/issues/new")
    )
    return [
        ("Source", address, ""),
        ("Report an error", f"{address}/{new}", f"report-{host}"),
    ]


def imprint(folder, address):
    """Return the last line of each page, as HTML."""
    licences = [
        ("Text and figures: CC BY 4.0", TEXT_LICENCE, ""),
        ("Code: BSD 3-Clause", CODE_LICENCE, ""),
    ]
    parts = [f"<span>{escape(version(folder))}</span>"] + [
        f'<a{kind and f" class={kind}"} href="{escape(target)}">{text}</a>'
        for text, target, kind in licences + links(address)
    ]
    return f'<p class="imprint">{" · ".join(filter(None, parts))}</p>'


def add_frame(app, config):
    config.html_theme_options["article_header_end"] = HEADER
    config.html_theme_options["extra_footer"] = imprint(
        app.srcdir, repository(app.srcdir)
    )


def setup(app):
    app.connect("config-inited", add_frame)
