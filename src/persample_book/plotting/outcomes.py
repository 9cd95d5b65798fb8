"""Outcomes of several ways to do one thing, a dot for each run."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .style import INK, finished

OTHERS = "#7b8490"
SPREAD = 0.24  # of the dots about their line, of the distance between lines


def outcomes(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    xlabel: str,
    colours: Mapping[str, str],
    *,
    ink: str = INK,
) -> Figure:
    """Draw {panel: {way: one number for each run}}, a line for each way, from 0 to 100.

    A way named in ``colours`` has that colour and a bold name. The runs of a way are see-through
    dots, the first a little above its line and the last below, so that several alike can be told
    apart.
    """
    ways = list(next(iter(panels.values())))
    figure, grid = plt.subplots(
        1,
        len(panels),
        figsize=(5.8, 0.34 * len(ways) + 0.95),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, (title, runs) in zip(grid.flat, panels.items(), strict=True):
        for place, way in enumerate(ways):
            style = {"color": colours.get(way, OTHERS), "alpha": 0.55, "clip_on": False}
            heights = place + np.linspace(-SPREAD, SPREAD, len(runs[way]))
            axes.plot(runs[way], heights, "o", ms=5, mew=0, label=way, **style)
        axes.set_title(title, fontsize=12, loc="left", color=ink)
        axes.set(xlim=(0, 100), ylim=(len(ways) - 0.5, -0.5), xticks=(0, 50, 100))
        axes.set_yticks(range(len(ways)), ways)
        axes.tick_params(colors=ink, length=0)
        axes.spines[:].set_visible(False)
    for label, way in zip(grid[0, 0].get_yticklabels(), ways, strict=True):
        label.set(color=colours.get(way, ink), weight="bold" if way in colours else "normal")
    figure.get_layout_engine().set(wspace=0.14)
    figure.supxlabel(xlabel, fontsize=12, color=ink)
    return finished(figure)
