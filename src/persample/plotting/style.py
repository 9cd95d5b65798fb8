"""What every figure of the book shares."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

SIGNED = "PuOr"  # orange negative, purple positive, white zero: told apart with any eye


def finished(figure: Figure) -> Figure:
    """Take the figure from pyplot, which would show it a second time."""
    plt.close(figure)
    return figure
