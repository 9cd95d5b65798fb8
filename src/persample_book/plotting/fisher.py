"""The Fisher information: programs for it against the exact one, and steps that use it."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ..colours import COLOURS
from .curves import name_ends
from .style import INK, finished

LOWEST = 3e-7  # a ratio; a few dots far below it would squeeze the others


def against_fisher(
    exact: np.ndarray, panels: Mapping[str, np.ndarray], least: float = 0.0
) -> Figure:
    """Draw estimates of the Fisher of each weight (P,), divided by it, over the Fisher.

    One panel for each estimate, two in a line; all axes are logarithmic and the same. Only
    weights whose Fisher is above ``least`` are drawn, and ratios above ``LOWEST``.
    """
    lines = -(-len(panels) // 2)
    figure, grid = plt.subplots(
        lines, 2, figsize=(5.6, 2.1 * lines + 0.4), sharex=True, sharey=True, squeeze=False
    )
    kept = exact > least
    for axes, (title, estimate), colour in zip(grid.flat, panels.items(), COLOURS, strict=False):
        axes.axhline(1, color="#6b7280", linewidth=1.2, linestyle="-")
        ratio = estimate[kept] / exact[kept]
        axes.scatter(exact[kept], ratio, s=3, alpha=0.35, color=colour, linewidths=0)
        axes.set_title(title, fontsize=12, color=INK, loc="left")
        axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(numticks=5))
            axis.set_minor_formatter(NullFormatter())
    grid[0, 0].set_ylim(bottom=LOWEST)
    figure.supylabel("computed / Fisher", fontsize=12)
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
