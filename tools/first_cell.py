# Finds the package of the course. On Colab it installs what is missing.
import sys

from IPython import get_ipython

COURSE = "attention-verified[all] @ git+ADDRESS"
try:
    import helpers.attention  # noqa: F401
except ImportError as error:
    if "google.colab" not in sys.modules or COURSE.endswith("ADDRESS"):
        raise ImportError(
            f"{error}\nOpen this chapter in its course's folder (make lab), "
            f'or install the course:\n    pip install "{COURSE}"\n'
            "`pip install helpers` would fetch a stranger's package."
        ) from None
    sys.modules.pop("helpers", None)
    get_ipython().run_line_magic("pip", f'install -q "{COURSE}"')
