"""Rows that a program returned on several devices, as arrows."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import finished


def rows_by_devices(panels: Mapping[str, np.ndarray]) -> Figure:
    """Draw {title: rows (B, 2)} as arrows from 0, one panel for each, two side by side.

    Rows that are equal are one arrow; the numbers of their samples, from 0, stand at its tip.
    The first panel is blue, the others are orange. All have one scale.
    """
    everything = np.concatenate([*panels.values(), [[0.0, 0.0]]])
    low, high = everything.min(0), everything.max(0)
    room = np.array([0.24, 0.14]) * (high - low).max()  # for the names
    lines = -(-len(panels) // 2)
    width, height = high - low + 2 * room
    size = (5.2, lines * (2.3 * height / width + 0.55) + 0.25)
    figure, grid = plt.subplots(lines, 2, figsize=size, squeeze=False)
    for number, (axes, (title, rows)) in enumerate(zip(grid.flat, panels.items(), strict=False)):
        tips, which = np.unique(rows, axis=0, return_inverse=True)
        for k, tip in enumerate(tips):
            same = np.flatnonzero(which.ravel() == k)
            name = "all" if len(same) == len(rows) else ", ".join(map(str, same))
            _arrow(axes, tip, name, COLOURS[min(number, 1)])
        axes.set(aspect="equal", xlim=(low[0] - room[0], high[0] + room[0]))
        axes.set_ylim(low[1] - room[1], high[1] + room[1])
        axes.set_title(title, loc="left")
    figure.supxlabel("first number of a row", fontsize=12)
    figure.supylabel("second number", fontsize=12)
    return finished(figure)


def _arrow(axes, tip, name, colour):
    """Draw an arrow from 0 with its name beyond the tip."""
    line = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "mutation_scale": 12}
    axes.annotate("", tip, (0, 0), arrowprops={**line, "shrinkA": 0, "shrinkB": 0})
    axes.plot(*tip, ".", markersize=1, color=colour)
    flat = abs(tip[0]) > abs(tip[1])
    across = ("left" if tip[0] > 0 else "right") if flat else "center"
    beyond = 5 * tip / (np.hypot(*tip) or 1.0)
    up = "center" if flat else ("bottom" if tip[1] > 0 else "top")
    axes.annotate(name, tip, beyond, textcoords="offset points", ha=across, va=up, fontsize=11,
                  in_layout=False)  # fmt: skip
