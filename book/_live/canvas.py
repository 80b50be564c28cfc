"""Where Matplotlib draws on a page: as Agg, and `show` shows the drawings."""

from kernel import show_figures
from matplotlib.backends.backend_agg import FigureCanvasAgg

FigureCanvas = FigureCanvasAgg


def show(*_, **__):
    """Show each open figure below the cell."""
    show_figures()
