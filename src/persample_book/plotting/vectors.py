"""Rows as arrows and clouds in the plane, and curves with the spread of repeated runs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerLine2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.patheffects import withStroke

from .curves import name_ends
from .style import finished

# The second marked vector is broad, so that it shows on top of a first in the same direction.
# All are dark enough to stay bright where a dark page turns light and dark round.
MARKS = (
    {"colour": "#0072B2", "width": 2.5},
    {"colour": "#D55E00", "width": 4},
    {"colour": "#009E73", "width": 2.5},
)


def clouds(
    panels: Mapping[str, np.ndarray],
    xlabel: str,
    ylabel: str,
    *,
    point: str = "one sample",
    columns: int = 2,
) -> Figure:
    """Draw vectors (B, 2) as points, one panel for each set, all on one scale.

    An arrow leads from 0 to a set's mean. A circle about the mean has the root mean square
    distance of the points from it as its radius. ``point`` says what one point is, ``columns``
    how many panels stand side by side.
    Stacked panels (1) show only the heights that their own points need.
    """
    everything = np.concatenate([[[0.0, 0.0]], *panels.values()])
    low, high = everything.min(0), everything.max(0)
    room = 0.05 * (high - low).max()
    width = high[0] - low[0] + 2 * room
    columns = min(len(panels), columns)
    lines = -(-len(panels) // columns)
    ends = dict.fromkeys(panels, (low[1] - room, high[1] + room))
    if stacked := columns == 1:  # each panel as tall as its own points, on the same scale
        ends = {title: (min(0, *points[:, 1]) - room, max(0, *points[:, 1]) + room)
                for title, points in panels.items()}  # fmt: skip
    side = 4.0 if stacked else 2.8
    heights = [max(np.ptp(of) for of in list(ends.values())[first : first + columns])
               for first in range(0, len(panels), columns)]  # fmt: skip
    tall = (side - 0.75) * sum(heights) / width + 0.35 * lines + 0.7
    figure, grid = plt.subplots(
        lines, columns, figsize=(side * columns, tall), height_ratios=heights,
        sharex=True, sharey=not stacked, squeeze=False,
    )  # fmt: skip
    turn = np.linspace(0, 2 * np.pi, 121)
    for axes, (title, points) in zip(grid.flat, panels.items(), strict=False):
        mean = points.mean(0)
        radius = np.sqrt(points.var(0).sum())
        axes.scatter(*points.T, s=14, alpha=0.3, color="#0072B2", lw=0, label=point)
        around = mean[:, None] + radius * np.array([np.cos(turn), np.sin(turn)])
        axes.plot(*around, color="#22262b", lw=1.5, ls="--", label="noise")
        arrow = _arrow(axes, mean, "#D55E00", 2, head=6)
        arrow.arrow_patch.set_path_effects([withStroke(linewidth=4, foreground="white")])
        axes.lines[-1].set_label("mean")
        axes.set(aspect="equal", xlim=(low[0] - room, high[0] + room))
        axes.set(ylim=ends[title])
        axes.set_title(title, loc="left")
        axes.locator_params(nbins=5)
        axes.tick_params(labelbottom=True)
    for axes in grid[:, 0]:
        axes.set_ylabel(ylabel)
    for axes in grid.flat[len(panels) - columns : len(panels)]:  # with none below
        axes.set_xlabel(xlabel)
    _explain(figure, grid, len(panels))
    return finished(figure)


def _explain(figure, grid, used):
    """Put the legend of clouds where a panel is missing, or above them all."""
    handles, labels = grid.flat[0].get_legend_handles_labels()
    keys = {handles[-1]: _ArrowKey()}
    if used < grid.size:
        grid.flat[-1].set_axis_off()
        grid.flat[-1].legend(handles, labels, loc="center", handler_map=keys)
    else:
        figure.legend(handles, labels, loc="outside upper center", ncols=3, handler_map=keys,
                      columnspacing=1.2, handletextpad=0.5)  # fmt: skip


class _ArrowKey(HandlerLine2D):
    """Draw an arrow in a legend, where the line of the plot is only its thin core."""

    def create_artists(self, legend, orig_handle, xdescent, ydescent, width, height, fontsize,
                       trans):  # fmt: skip
        """Return the arrow, as long as the key is wide."""
        y = height / 2 - ydescent
        arrow = FancyArrowPatch(
            (-xdescent, y), (width - xdescent, y), transform=trans, arrowstyle="-|>",
            color=orig_handle.get_color(), linewidth=2, shrinkA=0, shrinkB=0,
            mutation_scale=8, joinstyle="miter",
        )  # fmt: skip
        return [arrow]


def spread(
    x: Sequence,
    runs: Mapping[str, np.ndarray],
    xlabel: str,
    ylabel: str,
    *,
    level: tuple[float, str] | None = None,
) -> Figure:
    """Draw repeated runs (runs, len(x)): their median, and a band from quartile to quartile.

    Each name stands at its median's end. ``level`` draws a horizontal line with a name: what
    the curves should reach.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.6))
    for (name, values), hatch in zip(runs.items(), ("//", "", "\\\\", ".."), strict=False):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        (line,) = axes.plot(x, middle, label=name)
        axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2, hatch=hatch, lw=0)
    if level is not None:
        axes.axhline(level[0], color="grey", linewidth=1, linestyle=":")
        axes.annotate(
            level[1],
            (0.01, level[0]),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="bottom",
            color="#555",
        )
    axes.set(xlabel=xlabel, ylabel=ylabel)
    name_ends(axes, {name: (x[-1], np.median(values[:, -1])) for name, values in runs.items()})
    return finished(figure)


def _arrow(axes, tip, colour, width, head=11):
    """Draw and return an arrow from 0; a thin line in it gives a fingerprint its numbers."""
    axes.plot(*zip((0, 0), tip, strict=True), color=colour, linewidth=0.5, linestyle="-")
    properties = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0}
    properties |= {"shrinkB": 0, "mutation_scale": head + width, "joinstyle": "miter"}
    return axes.annotate("", tip, (0, 0), arrowprops=properties)
