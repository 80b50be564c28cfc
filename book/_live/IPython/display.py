"""Display objects among the outputs of the cell that runs."""

import sys


class HTML:
    """A piece of HTML to display."""

    def __init__(self, data):
        self.data = data

    def __repr__(self):
        return "<IPython.core.display.HTML object>"

    def _repr_html_(self):
        return self.data


def display(*objects):
    """Display each object below the cell that runs."""
    for one in objects:
        sys.displayhook.display(one)
