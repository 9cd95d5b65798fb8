"""One operation on its way through a stack of traces, and what each of them leaves behind."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import INK, finished

WIDTH, TOP, STEP, HALF = 4.2, 0.34, 0.72, 0.23  # inches; HALF of a box's height
LEFT, RIGHT = 1.85, 2.2  # where the boxes end, where what is left behind begins
FILLS = ("#ffffff", "#cfe3f2", "#f6d8a8", "#dfe5ea")


def stack_of_traces(layers: Sequence[tuple[str, str, str]]) -> Figure:
    """Draw layers below each other: who gets the operation, what it sees, what it leaves.

    The first layer is the code that asks for the operation, the last computes it. Solid arrows
    lead down, one for each call of ``bind``; dashed ones carry the result up.
    """
    height = TOP + STEP * len(layers) - 0.08
    figure = plt.figure(figsize=(WIDTH, height), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    text = {"va": "center", "fontsize": 11, "color": INK, "linespacing": 1.25}
    axes.text(RIGHT, TOP / 2, "leaves behind", weight="bold", **text)
    axes.text(0.05, TOP / 2, "sees the operation", weight="bold", **text)
    for n, (who, sees, leaves) in enumerate(layers):
        y = TOP + STEP * (n + 0.38)
        corner, size = (0.05, y - HALF), (LEFT - 0.05, 2 * HALF)
        fill = FILLS[n % len(FILLS)]
        axes.add_patch(plt.Rectangle(corner, *size, facecolor=fill, edgecolor=INK, zorder=2))
        axes.text(LEFT / 2 + 0.025, y - 0.1, who, ha="center", weight="bold", **text)
        axes.text(LEFT / 2 + 0.025, y + 0.1, sees, ha="center", **text)
        axes.text(RIGHT, y, leaves, **text)
        if leaves:
            axes.plot([LEFT, RIGHT - 0.06], [y, y], color="#777", linestyle=":", linewidth=1.2)
        if n + 1 < len(layers):
            ends = y + HALF, y + STEP - HALF
            _arrow(axes, 0.6, ends, COLOURS[0], "-")
            _arrow(axes, 1.25, ends[::-1], COLOURS[1], (0, (3, 2)))
            look = {**text, "color": COLOURS[0]}
            axes.text(0.54, sum(ends) / 2, "bind", ha="right", **look)
            look["color"] = COLOURS[1]
            axes.text(1.32, sum(ends) / 2, "result", **look)
    return finished(figure)


def _arrow(axes, x: float, ends: Sequence[float], colour: str, dashes) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "linewidth": 1.4}
    axes.annotate("", (x, ends[1]), (x, ends[0]), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
