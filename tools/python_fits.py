"""Refuse a Python that cannot create the environment, and name the cure.

Old Pythons must be able to read this file.
"""

import sys

OTHER = "or name another: make PYTHON=python3.12, with the target after it"

# As in pyproject.toml: some pins have no wheels for a newer one.
if not (3, 11) <= sys.version_info[:2] < (3, 15):
    sys.exit(
        "Python 3.11 to 3.14 is needed, but this is "
        + sys.version.split()[0]
        + ".\nInstall one, "
        + OTHER
    )
try:
    import ensurepip  # noqa: F401
    import venv  # noqa: F401
except ImportError:
    sys.exit(
        "This Python cannot create environments. On Debian and Ubuntu,\n"
        "run sudo apt-get install python3-venv, " + OTHER
    )
