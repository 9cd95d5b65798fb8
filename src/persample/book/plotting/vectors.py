"""Rows as arrows and clouds in the plane, and curves with the spread of repeated runs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .style import finished

# The first marked vector is broad and pale, so that the second shows on top of it.
MARKS = (
    {"color": "#56B4E9", "linewidth": 7, "linestyle": "-", "marker": "o"},
    {"color": "#D55E00", "linewidth": 2.5, "linestyle": "--", "marker": "D"},
)


def arrows(
    panels: Mapping[str, tuple[np.ndarray, Mapping[str, np.ndarray]]],
    xlabel: str,
    ylabel: str,
    *,
    circle: float | None = None,
) -> Figure:
    """Draw rows (B, 2) as thin arrows from 0, and up to two named vectors a panel on top.

    Parameters
    ----------
    panels : {title: (rows, {name: vector})}, side by side on one scale.
    circle : a radius to draw: the length that rows are clipped to.
    """
    everything = [
        np.array([[0.0, 0.0], *rows, *marked.values()]) for rows, marked in panels.values()
    ]
    reach = circle or 0.0
    low = np.minimum(np.min([points.min(0) for points in everything], axis=0), -reach) - 0.6
    high = np.maximum(np.max([points.max(0) for points in everything], axis=0), reach) + 0.6
    one = len(panels) == 1
    figure, all_axes = plt.subplots(
        1, len(panels), figsize=(5.0, 4.0) if one else (5.8, 3.4), sharey=True, squeeze=False
    )
    legend = {}
    for axes, (title, (rows, marked)) in zip(all_axes[0], panels.items(), strict=True):
        for i, row in enumerate(np.asarray(rows), start=1):
            _arrow(axes, row, "#444444", 1.5)
            outside = row + 0.28 * row / (np.hypot(*row) or 1.0)
            axes.text(*outside, str(i), ha="center", va="center")
        for style, (name, vector) in zip(MARKS, marked.items(), strict=False):
            (line,) = axes.plot(*zip((0, 0), vector, strict=True), markevery=[1], **style)
            line.set_label(name)
            legend[name] = line
        if circle is not None:
            turn = np.linspace(0, 2 * np.pi, 121)
            axes.plot(circle * np.cos(turn), circle * np.sin(turn), color="#777", lw=1, ls=":")
        axes.set(title=title, xlabel=xlabel, aspect="equal")
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    all_axes[0][0].set_ylabel(ylabel)
    figure.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=len(legend))
    return finished(figure)


def clouds(panels: Mapping[str, np.ndarray], xlabel: str, ylabel: str) -> Figure:
    """Draw rows (B, 2) as points, one panel a set, on one scale; a cross marks each mean."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(5.8, 3.0), sharex=True, sharey=True)
    for axes, (title, points) in zip(all_axes, panels.items(), strict=True):
        axes.scatter(*points.T, s=6, alpha=0.5, color="#0072B2", label="one episode")
        axes.plot(
            *points.mean(0), "P", markersize=11, color="#D55E00", mec="white", label="their mean"
        )
        axes.set(title=title, xlabel=xlabel)
    all_axes[0].set_ylabel(ylabel)
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return finished(figure)


def spread(
    x: Sequence,
    runs: Mapping[str, np.ndarray],
    xlabel: str,
    ylabel: str,
    *,
    level: tuple[float, str] | None = None,
) -> Figure:
    """Draw repeated runs (runs, len(x)): their median, and a band from quartile to quartile.

    ``level`` draws a horizontal line with a name: what the curves should reach.
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
    axes.legend(loc="lower right")
    return finished(figure)


def _arrow(axes, tip, colour, width):
    """Draw an arrow from 0: the shaft as a line, whose numbers a figure's fingerprint has."""
    axes.plot(*zip((0, 0), tip, strict=True), color=colour, linewidth=width, linestyle="-")
    properties = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0}
    axes.annotate("", tip, (0, 0), arrowprops={**properties, "shrinkB": 0})
