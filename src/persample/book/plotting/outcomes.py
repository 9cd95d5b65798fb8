"""Outcomes of several ways to do one thing, a dot for each run."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .style import INK, finished

OTHERS = "#7b8490"


def outcomes(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    xlabel: str,
    colours: Mapping[str, str],
    *,
    ink: str = INK,
) -> Figure:
    """Draw {panel: {way: one number for each run}}, a line for each way, from 0 to 100.

    A way named in ``colours`` has that colour and a bold name. The runs of a way are see-through
    dots on its line, so that several alike look darker.
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
            axes.plot(runs[way], [place] * len(runs[way]), "o", ms=7, mew=0, label=way, **style)
        axes.set_title(title, fontsize=12, loc="left", color=ink)
        axes.set(xlim=(0, 100), ylim=(len(ways) - 0.5, -0.5), xticks=(0, 50, 100))
        axes.set_yticks(range(len(ways)), ways)
        axes.tick_params(colors=ink, length=0)
        axes.spines[:].set_visible(False)
    for label, way in zip(grid[0, 0].get_yticklabels(), ways, strict=True):
        label.set(color=colours.get(way, ink), weight="bold" if way in colours else "normal")
    figure.get_layout_engine().set(wspace=0.08)
    figure.supxlabel(xlabel, fontsize=12, color=ink)
    return finished(figure)
