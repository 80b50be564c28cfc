"""Refuse a Python that cannot create the environment, and name the cure.

Old Pythons must be able to read this file.
"""

import sys

OTHER = "or name another: make PYTHON=python3.12, with the target after it"

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "Python 3.11 or newer is needed, but this is "
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
