"""TODO."""

import zlib
from pathlib import Path

from . import bibliography, bundle, code, figures, host, launch, mathml, svg


PARTS = (mathml, code, svg, figures, launch, bundle, host, bibliography)
FOLDER = Path(__file__).resolve().parent


def add_templates(app, config):
    config.templates_path.insert(0, str(FOLDER / "templates"))


def setup(app):
    app.connect("config-inited", add_templates)
    for part in PARTS:
        part.setup(app)
    # Sphinx renews no page for a change of these.
    own = [*FOLDER.rglob("*.py"), *FOLDER.rglob("*.html")]
    own.append(FOLDER.parents[2] / "requirements.txt")
    state = zlib.crc32(b"".join(path.read_bytes() for path in sorted(own)))
    return {"version": "1", "env_version": state, "parallel_read_safe": True}
