"""The one Sphinx extension of the site: what Jupyter Book does not do.

* `mathml`: formulas are rendered at build time and read without scripts.
* `code`: highlighted code with few elements; folds with one name, and
  neighbours of the same name in one.
* `roles`: queries, keys, values and weights have their colours in formulas,
  in code and in sentences.
* `svg`: figures stand in the page itself, so that they follow its colours,
  without the groups that draw nothing.
* `figures`: the script of each interactive figure is written beside the
  page, which loads it when the figure comes into view.
* `practice`: so is the script of the questions; what follows a prediction
  is folded.
* `menu`: the buttons of the menu have names.
* `launch`: launch buttons point at the repository and the branch that the
  book is built from, and are left out where there is none.
* `frame`: a link to the next page, and what the last line of each page says.
* `download`: a chapter to download names the repository it comes from.
* `about`: each page has its own description; the search ranks the pages.
* `parallel`: pages are read and written by several processes at once.
* `shown`: pages are written anew where another one's title changes.
* `index`: so is what the search has of the other pages.
* `parsed`, `kept`: what is asked of each written page, from one parse; what
  a build has worked out is kept for the next.
* `sections`: the search knows the text of each section.
* `host`: the page for lost addresses, moved pages, sitemap, archive.
* `bibliography`: citations lead to their work.
* `lean`: the same in fewer bytes. It alone depends on the theme's files, and
  it can be switched off: `lean: false` in `_config.yml`.

What is asked of the theme, and what to look at for a newer one
---------------------------------------------------------------
1. `templates/layout.html` replaces its blocks `htmltitle`, `css`, `extrahead`,
   `body_tag`, `scripts`, `scripts_end` and `templates/search.html` the block
   `scripts`. `templates/next-page.html` stands in the theme's header.
2. The script in `layout.html` sets `data-mode` and `data-theme` from the
   storage's `mode`, as the theme's own; `default_mode` in `_config.yml` is
   what a page without scripts shows.
3. The name of a page is put into the theme's body tag in `layout.html`, where
   a template has text only.
4. Outside the theme: the formatter that Sphinx's highlighter uses, and the
   nodes of MyST-NB's hidden cells and of docutils' citations.
5. `lean` asks for more, and says what in its own docstring.

Patterns over text, and why no parser does their work
-----------------------------------------------------
* `mathml.OPENING`, `CLOSING`: punctuation beside a formula, in plain text.
* `mathml.FORM`, `BACK`: two replacements of characters, tested by formula.
* `svg`: Matplotlib's output has one form, pinned; a test draws each stored
  figure with and without what is left out, and compares the pictures.
* `launch.web_address`: the forms that git has for one address.
"""

import zlib
from pathlib import Path

from . import (
    about,
    bibliography,
    code,
    download,
    figures,
    frame,
    host,
    index,
    launch,
    mathml,
    menu,
    parallel,
    practice,
    roles,
    sections,
    shown,
    svg,
)
from .kept import Kept
from .lean import bundle

# What is archived is complete: `download` comes before `host`.
PARTS = (
    mathml,
    code,
    roles,
    svg,
    figures,
    practice,
    menu,
    launch,
    frame,
    bundle,
    about,
    sections,
    download,
    host,
    bibliography,
    shown,
    index,
    parallel,
)
FOLDER = Path(__file__).resolve().parent


def add_templates(app, config):
    config.templates_path.insert(0, str(FOLDER / "templates"))


def forget(app, exception):
    if exception is None and app.builder.format == "html":
        app.kept.forget()


def setup(app):
    app.connect("config-inited", add_templates)
    # Sphinx renews no page for a change of these.
    kinds = ("*.py", "*.html", "*.js")
    own = [path for kind in kinds for path in FOLDER.rglob(kind)]
    own.append(FOLDER.parents[2] / "requirements.txt")
    state = zlib.crc32(b"".join(path.read_bytes() for path in sorted(own)))
    app.kept = Kept(Path(app.doctreedir, "attention_site"), state)
    for part in PARTS:
        part.setup(app)
    app.connect("build-finished", forget, priority=960)
    return {
        "version": "1",
        "env_version": state,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
