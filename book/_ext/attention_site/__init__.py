"""The one Sphinx extension of the site: what Jupyter Book does not do.

* `mathml`: formulas are rendered at build time and read without scripts.
* `svg`: figures stand in the page itself, so that they follow its colours,
  without the groups that draw nothing.
* `figures`: the script of each interactive figure is written beside the
  page, which loads it when the figure comes into view.
* `launch`: launch buttons point at the repository that the book is built
  from, and are left out where there is none.
* `bundle`: one small style sheet and one small script for the whole site,
  no request to any other host, and the theme chosen before the first paint.
* `bibliography`: citations lead to their work.

Each step checks that it found what it replaces, so that an update of the
theme that moves something fails the build and not the page.
"""

import zlib
from pathlib import Path

from . import bibliography, bundle, figures, launch, mathml, svg


def setup(app):
    for part in (mathml, svg, figures, launch, bundle, bibliography):
        part.setup(app)
    # Sphinx renews neither pages nor style sheets for a change of these.
    book = Path(__file__).resolve().parent.parent.parent
    own = ("_ext/**/*.py", "_static/*.*", "../helpers/js/*")
    sources = sorted(path for glob in own for path in book.glob(glob))
    state = zlib.crc32(b"".join(path.read_bytes() for path in sources))
    return {"version": "1", "env_version": state, "parallel_read_safe": True}
