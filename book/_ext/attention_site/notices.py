"""Put the licences beside the pages, those of others' work included."""

import shutil
from pathlib import Path

from sphinx.errors import ExtensionError

NOTICE = "NOTICE.md"
FOLDER = "LICENSES"


def copy(app):
    root, out = Path(app.srcdir), Path(app.outdir)
    if not (root / NOTICE).is_file():
        raise ExtensionError(
            f"attention_site.notices: {NOTICE} is missing; the licences of "
            "fonts, theme and data ask that it comes with the site"
        )
    # With a suffix, as hosts send a text that a browser shows.
    for name in (NOTICE, "LICENSE"):
        target = out / Path(name).with_suffix(".txt")
        shutil.copy(root / name, target)
    shutil.copytree(root / FOLDER, out / FOLDER, dirs_exist_ok=True)
