"""Stands for IPython on a page: only what chapters take from it."""


def get_ipython():
    """Return the shell that runs the cells; a page has none."""
    return None
