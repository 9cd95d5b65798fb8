"""The Fisher information: programs for it against the exact one, and steps that use it."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ..colours import COLOURS
from .curves import name_ends
from .style import INK, finished


def against_fisher(
    exact: np.ndarray, panels: Mapping[str, np.ndarray], least: float = 0.0
) -> Figure:
    """Draw estimates of the Fisher of each weight (P,) against the exact ones, a panel each.

    Both axes are logarithmic and the same in all panels; on the line both are equal. Only weights
    whose Fisher is above ``least`` are drawn, and estimates above a hundred-thousandth of that.
    """
    figure, grid = plt.subplots(1, len(panels), figsize=(5.8, 2.7), sharex=True, sharey=True)
    kept = exact > least
    frame = np.array([exact[kept].min(), exact.max()]) * [0.5, 2]
    for axes, (title, estimate), colour in zip(grid, panels.items(), COLOURS, strict=False):
        axes.plot(frame, frame, color="#6b7280", linewidth=1, linestyle="-")
        axes.scatter(exact[kept], estimate[kept], s=3, alpha=0.35, color=colour, linewidths=0)
        axes.set_title(title, fontsize=12, color=INK, loc="left")
        axes.set(xscale="log", yscale="log")
        if least:
            axes.set_ylim(1e-5 * least, 2 * frame[1])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(numticks=3))
            axis.set_minor_formatter(NullFormatter())
    grid[0].set_ylabel("what it computes")
    figure.supxlabel("Fisher of a weight", fontsize=12)
    return finished(figure)


def steps_of_a_line(points: np.ndarray, lines: Mapping[str, np.ndarray]) -> Figure:
    """Draw points (B, 2) and lines {name: (intercept, slope)}, each named at its right end."""
    figure, axes = plt.subplots(figsize=(5.2, 2.9))
    axes.scatter(*points.T, c=INK, s=26, zorder=3)
    ends = np.array([points[:, 0].min(), points[:, 0].max()])
    for (name, (intercept, slope)), colour in zip(
        lines.items(), ["#6b7280", *COLOURS], strict=False
    ):
        axes.plot(ends, intercept + slope * ends, color=colour, label=name, linestyle="-")
    axes.set(xlabel="x", ylabel="y")
    name_ends(axes, {line.get_label(): line.get_xydata()[-1] for line in axes.lines})
    return finished(figure)
