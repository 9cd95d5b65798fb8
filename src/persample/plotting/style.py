"""What every figure of the book shares."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure


def finished(figure: Figure) -> Figure:
    """Take the figure from pyplot, which would show it a second time."""
    plt.close(figure)
    return figure
