"""The Sphinx extension of the site: everything that Jupyter Book does not do.

Pages:

* `mathml` renders formulas at build time, so that they need no script.
* `code` highlights code with few elements and joins neighbouring folds that
  have the same label.
* `roles` colours queries, keys, values and weights in formulas, in code and
  in sentences.
* `svg` inlines stored figures into the page, in the page's colours.
* `figures` and `practice` write the scripts of figures and questions beside
  the pages; `practice` also folds the text that follows a prediction; `alone`
  gives each figure a page of its own, to open or to embed.
* `live` names the cells of a page that runs in the reader's browser.
* `margin` puts captions beside their pictures.
* `deeper` folds the deeper sections of a lesson, and has the switch for them.
* `frame` adds a link to the next page and the imprint, `menu` adds names to
  the menu's buttons, and `launch` points the launch buttons at the repository
  and branch that the book is built from, or leaves them out.
* `ways` leads readers through the course, and draws its map.
* `chosen` lets a book with only some chapters link to the others.
* `bibliography` makes citations lead to the cited work.
* `report` lists the ways to report an error.

The search:

* `about` gives each page a description and ranks the pages.
* `sections` gives the search the text of each section.

Files beside the pages:

* `download` writes the repository's address into chapters to download.
* `notices` puts the licences beside the pages.
* `served` puts there what lets pages run in the reader's browser.
* `host` writes the page for lost addresses, the sitemap and the archive.

Builds that are fast and complete:

* `parallel` reads and writes pages in several processes.
* `shown` and `index` rewrite the pages and the search index that mention
  a page whose title has changed.
* `numbers` numbers figures without loading every page, and `trees` stores
  each page's tree by itself.
* `parsed` reads the prose of a written page, with the tags that `tags` reads;
  `kept` keeps results for the next build.
* `menu` draws the menu from titles, and `code` keeps the classes of tokens.

Fewer bytes:

* `lean` joins styles and scripts, and drops what no page uses. With `policy`
  it writes into each page what that page may load.

What to check for a new version of the theme
------------------------------------------------
1. `templates/layout.html` changes its blocks `htmltitle`, `css`, `extrahead`,
   `body_tag`, `scripts`, `scripts_end` and `templates/search.html` the block
   `scripts`. `templates/next-page.html` is in the theme's header.
2. The script in `layout.html` sets `data-mode` and `data-theme` from the
   storage's `mode`, as the theme's own script does; a page without scripts
   shows the `default_mode` of `_config.yml`.
3. `layout.html` writes the name of the page into the theme's body tag by
   replacing text, because the theme has no block there.
4. Outside the theme, `code` replaces the formatter of Sphinx's highlighter
   and the visitor of MyST-NB's hidden cells.
5. `lean` lists the theme's files and what it changes in them.

Regular expressions, and why they are not parsers
-------------------------------------------------
* `mathml.OPENING`, `CLOSING`: punctuation beside a formula in plain text.
* `mathml.FORM`, `BACK`: two replacements of characters, with a test for each.
* `svg`: the pinned Matplotlib writes SVG in one form, and a test compares each
  stored figure with its shortened version as pictures.
* `policy.INSIDE`: the scripts that our templates write into pages.
* `launch.web_address`: the forms in which git writes one address.
"""

import os
import zlib
from pathlib import Path

from . import (
    about,
    alone,
    bibliography,
    chosen,
    code,
    deeper,
    download,
    figures,
    frame,
    host,
    index,
    launch,
    lean,
    live,
    margin,
    mathml,
    menu,
    notices,
    numbers,
    parallel,
    practice,
    report,
    roles,
    sections,
    served,
    shown,
    svg,
    trees,
    ways,
)
from .kept import Kept

PARTS = (
    mathml,
    code,
    roles,
    chosen,
    svg,
    figures,
    margin,
    deeper,
    alone,
    practice,
    live,
    ways,
    menu,
    launch,
    frame,
    lean,
    about,
    host,
    bibliography,
    report,
    shown,
    index,
    numbers,
    trees,
    parallel,
)
# What is written beside the pages, in this order: `lean` joins styles, and the
# archive holds everything.
FILES = (
    host.copy_own,
    figures.write_scripts,
    practice.write_files,
    host.remove_old_pages,
    lean.write,
    about.rank,
    sections.write,
    download.fill_in,
    notices.copy,
    served.write,
    host.write,
)
FOLDER = Path(__file__).resolve().parent


def add_templates(app, config):
    config.templates_path.insert(0, str(FOLDER / "templates"))


def name_no_folder(app, config):
    """Make paths relative, so that two folders build the same bytes.

    Sphinx writes a digest of the configuration into the site.
    """
    here = Path(app.confdir).resolve()
    for name in ("html_static_path", "templates_path"):
        paths = [Path(here, path).resolve() for path in config[name]]
        config[name] = [
            os.path.relpath(path, here)
            if path.is_relative_to(here)
            else str(path)
            for path in paths
        ]


def write_files(app, exception):
    if exception is None and app.builder.format == "html":
        for write in FILES:
            write(app)
        app.kept.forget()


def setup(app):
    app.connect("config-inited", add_templates)
    app.connect("config-inited", name_no_folder)
    # Sphinx does not notice changes of these files by itself.
    kinds = ("*.py", "*.html", "*.js")
    own = [path for kind in kinds for path in FOLDER.rglob(kind)]
    own.append(FOLDER.parents[2] / "requirements.txt")
    state = zlib.crc32(b"".join(path.read_bytes() for path in sorted(own)))
    app.kept = Kept(Path(app.doctreedir, "attention_site"), state)
    for part in PARTS:
        part.setup(app)
    # After the theme has written its style of code.
    app.connect("build-finished", write_files, priority=900)
    return {
        "version": "1",
        "env_version": state,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
