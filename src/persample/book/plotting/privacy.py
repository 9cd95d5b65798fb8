"""What private training promises, what accountants say of it, and what it costs in accuracy."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import INK, finished

WITHOUT, WITH = COLOURS[0], COLOURS[1]


def neighbours(shift: float, epsilon: float) -> Figure:
    """Draw two normal outputs of deviation 1, ``shift`` apart, and what exceeds e^epsilon times.

    The hatched area is delta: how much more of the right curve there is than e^epsilon times the
    left one allows. The dashed curve is that allowance.
    """
    figure, axes = plt.subplots(figsize=(5.2, 3.4))
    t = np.linspace(-3.2, shift + 3.2, 401)
    without, with_one = (
        np.array([NormalDist(mean).pdf(x) for x in t]) for mean in (0.0, float(shift))
    )
    allowed = np.exp(epsilon) * without
    axes.plot(t, without, color=WITHOUT, linestyle="-")
    axes.plot(t, with_one, color=WITH, linestyle="-")
    right = t >= 0.5 * shift  # to the left there is more than room enough
    axes.plot(t[right], allowed[right], color=WITHOUT, linestyle="--", linewidth=1.3)
    axes.fill_between(t, allowed, with_one, where=with_one > allowed, color=WITH, alpha=0.35,
                      hatch="///", lw=0)  # fmt: skip
    edge = epsilon / shift + shift / 2  # where the right curve begins to exceed the allowance
    axes.annotate("without\nyour sample", (-0.95, 0.33), ha="right", va="center", color=WITHOUT)
    axes.annotate("with it", (edge + 0.3, 0.31), ha="left", va="center", color=WITH)
    axes.annotate("$e^ε$ times blue", (edge, 0.42), ha="left", va="center", color=WITHOUT)
    axes.annotate(
        "δ", (edge + 0.65, 0.06), (edge + 1.35, 0.17), color=INK, ha="center", va="center",
        fontsize=15, arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 1},
    )  # fmt: skip
    axes.set(xlabel="what is published", yticks=[], ylim=(0, 0.45), xlim=(t[0], t[-1]))
    axes.set_ylabel("how likely")
    axes.grid(visible=False)
    return finished(figure)


def accountants(found: Mapping[str, float | Sequence[float]], xlabel: str) -> Figure:
    """Draw one number for each name as a dot, or three as an interval about its middle.

    A name ending in "*" is an estimate without a guarantee and has a hollow marker.
    """
    figure, axes = plt.subplots(figsize=(4.6, 0.42 * len(found) + 0.8))
    for place, (name, value) in enumerate(found.items()):
        numbers = np.atleast_1d(value)
        colour = COLOURS[2] if name.endswith("*") else COLOURS[0]
        fill = "none" if name.endswith("*") else colour
        if len(numbers) == 3:
            axes.plot(numbers[[0, 2]], [place, place], "-", color=colour, linewidth=4, alpha=0.5)
        middle = numbers[len(numbers) // 2]
        axes.plot([middle], [place], "o", color=colour, markersize=8, markerfacecolor=fill)
        axes.annotate(f"{middle:.3f}", (numbers[-1], place), (10, 0), va="center",
                      textcoords="offset points", fontsize=11)  # fmt: skip
    axes.set(yticks=range(len(found)), yticklabels=list(found), xlabel=xlabel)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high + 0.18 * (high - low))  # room for the numbers
    return finished(figure)


def accuracy(
    panels: Mapping[str, Mapping[float, Sequence[float]]], level: tuple[float, str]
) -> Figure:
    """Draw {what is varied: {its value: accuracies of repeated runs}}, panels one below another.

    Each run is a ring, and a line joins the means. The values stand at equal distances, and each
    panel has a scale of its own. ``level`` draws a dotted horizontal line, named in the first.
    """
    figure, grid = plt.subplots(
        len(panels), 1, figsize=(4.6, 2.0 * len(panels)), squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(h_pad=0.14)  # titles apart from the ticks above them
    for axes, (title, points) in zip(grid.flat, panels.items(), strict=True):
        places = np.arange(len(points))
        runs = 100 * np.array(list(points.values()))
        axes.plot(places, runs.mean(1), "-", color=COLOURS[0], linewidth=1.5)
        for run, aside in zip(runs.T, np.linspace(-0.12, 0.12, runs.shape[1]), strict=True):
            axes.plot(places + aside, run, "o", color=COLOURS[0], markersize=4,
                      markerfacecolor="none", markeredgewidth=0.9)  # fmt: skip
        axes.axhline(100 * level[0], color=INK, linewidth=1.2, linestyle=":")
        axes.set_xticks(places, [f"{value:g}" for value in points])
        axes.set_title(title, loc="left", fontsize=12)
        axes.set_ylim(10 * np.floor(0.1 * runs.min()), 102)
    place = {"xy": (0.01, 100 * level[0]), "xycoords": ("axes fraction", "data")}
    below = {"xytext": (0, -3), "textcoords": "offset points", "va": "top"}
    grid[0, 0].annotate(level[1], **place, **below, color=INK)
    figure.supylabel("right, in %", fontsize=12)
    return finished(figure)
