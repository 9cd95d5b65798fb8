"""A graph's equations as a list: which ones the optimiser takes away, and which pass does."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import INK, box, finished

ROW, WIDTH, MIDDLE = 0.3, 4.42, 2.02  # inches: from line to line, of the figure, of its left part
GREY = "#33383e"
PASS_COLOURS = {
    "identities": COLOURS[0],
    "common subexpressions": COLOURS[1],
    "broadcasts": COLOURS[5],
    "dead code": COLOURS[2],
}


def equations(fates: Sequence[tuple[str, str]]) -> Figure:
    """Draw equations below each other: boxed if they stay, else with the pass and its round.

    fates : (equation, which pass takes it away and when, or ""), as ``diagrams.fates`` returns
    """
    height = ROW * len(fates) + 0.1
    figure = plt.figure(figsize=(WIDTH, height), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    text = {"va": "center", "fontsize": 11.5}
    for n, (equation, fate) in enumerate(fates):
        y = 0.05 + ROW * (n + 0.5)
        stays = not fate
        if stays:
            style = {"facecolor": "#cfe3f2", "linewidth": 1.2, "zorder": 0}
            box(axes, MIDDLE / 2, y, MIDDLE / 2 - 0.05, 0.13, style)
        colour = INK if stays else GREY
        axes.text(0.12, y, equation, family="monospace", color=colour, **text)
        name = fate.split(",")[0]
        look = {"color": PASS_COLOURS.get(name, INK), "weight": "bold" if stays else "normal"}
        reason = fate.replace(", round ", " (") + ")" if fate else "stays"
        axes.text(MIDDLE + 0.08, y, reason, **text, **look)
    return finished(figure)
