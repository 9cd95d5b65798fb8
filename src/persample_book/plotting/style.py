"""What every figure of the book shares."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

INK = "#22262b"
ARROW = {"arrowstyle": "-|>", "color": "#555", "linewidth": 1.4, "mutation_scale": 13}


def finished(figure: Figure) -> Figure:
    """Take the figure from pyplot, which would show it a second time."""
    plt.close(figure)
    return figure


def box(axes, x: float, y: float, width: float, height: float, style: Mapping) -> None:
    """Draw a rounded box about (x, y); width and height are half of the whole."""
    corner = (x - width, y - height)
    axes.add_patch(
        FancyBboxPatch(
            corner,
            2 * width,
            2 * height,
            boxstyle="round,pad=0,rounding_size=0.06",
            edgecolor=INK,
            **style,
        )
    )
