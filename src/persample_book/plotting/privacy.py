"""What private training promises, what accountants say of it, and what it costs in accuracy."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import INK, finished

WITHOUT, WITH = COLOURS[0], COLOURS[1]


def neighbours(noises: Sequence[float], epsilon: float) -> Figure:
    """Draw two normal outputs, 1 apart, for each size of noise, and what exceeds e^epsilon times.

    The hatched area is delta: how much more of the right curve there is than e^epsilon times the
    left one allows. The dashed curve is that allowance. Each panel names its delta.
    """
    figure, grid = plt.subplots(
        len(noises), 1, figsize=(5.2, 1.9 * len(noises)), squeeze=False, layout="constrained"
    )
    for axes, sigma in zip(grid.flat, noises, strict=True):
        _two_bells(axes, sigma)
        t, without = axes.lines[0].get_data()
        with_one = axes.lines[1].get_ydata()
        allowed, peak = np.exp(epsilon) * without, without.max()
        right = (t >= 0.5) & (allowed <= 1.15 * peak)  # to the left there is more than room enough
        axes.plot(t[right], allowed[right], color=WITHOUT, linestyle="--", linewidth=1.3)
        axes.fill_between(t, allowed, with_one, where=with_one > allowed, color=WITH, alpha=0.35,
                          hatch="///", lw=0)  # fmt: skip
        start = t[right][0], allowed[right][0]
        axes.annotate("$e^ε$ times blue", start, (6, 2), textcoords="offset points",
                      va="center", color=WITHOUT)  # fmt: skip
        delta = _hatched(1 / sigma, epsilon)
        shown = f"{delta:.2f}" if delta > 0.01 else f"{delta:.6f}"
        axes.set_title(f"σ = {sigma:g}: δ = {shown}", loc="left", fontsize=12)
        if delta > 0.01:
            middle = epsilon * sigma**2 + 0.5 + 0.5 * sigma  # well inside the area
            height = 0.5 * (np.interp(middle, t, allowed) + np.interp(middle, t, with_one))
            axes.annotate(
                "δ", (middle, height), (middle + 1.2 * sigma, 1.2 * height), color=INK,
                ha="center", va="center", fontsize=15,
                arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 1},
            )  # fmt: skip
    _named(grid[0, 0], noises[0])
    grid[-1, 0].set_xlabel("what is published")
    return finished(figure)


def threshold(sigma: float) -> Figure:
    """Draw two normal outputs, 1 apart, and how often each is above the middle between them."""
    figure, axes = plt.subplots(figsize=(5.2, 2.4))
    _two_bells(axes, sigma)
    _named(axes, sigma)
    t, without = axes.lines[0].get_data()
    with_one = axes.lines[1].get_ydata()
    above = t >= 0.5
    axes.fill_between(t[above], with_one[above], without[above], color=WITH, alpha=0.35, lw=0)
    axes.fill_between(t[above], 0, without[above], color=WITHOUT, alpha=0.35, lw=0)
    axes.axvline(0.5, color=INK, linewidth=1.2, linestyle=":")
    axes.annotate("says “with” →", (0.5, 1.12 * without.max()), (6, 0), color=INK, va="center",
                  textcoords="offset points")  # fmt: skip
    axes.annotate("$p_0$", (0.5 + 0.5 * sigma, 0.35 * without.max()), color=WITHOUT, ha="center")
    place = 0.5 + 1.25 * sigma
    inside = 0.5 * (np.interp(place, t, without) + np.interp(place, t, with_one))
    axes.annotate(
        "$p$ = orange + blue", (place, inside), (0.5 + 1.7 * sigma, 0.62 * without.max()),
        color=WITH, ha="left", va="center",
        arrowprops={"arrowstyle": "-", "color": WITH, "linewidth": 1},
    )  # fmt: skip
    axes.set_xlim(t[0], t[-1] + sigma)
    axes.set_xlabel("the noisy sum along the planted row, in units of C")
    return finished(figure)


def _two_bells(axes, sigma):
    """Draw what is published without the sample and with it, which moves it by 1."""
    t = np.linspace(-3.2 * sigma, 1 + 3.2 * sigma, 401)
    curves = [np.array([NormalDist(mean, sigma).pdf(x) for x in t]) for mean in (0.0, 1.0)]
    peak = curves[0].max()
    for curve, colour in zip(curves, (WITHOUT, WITH), strict=True):
        axes.plot(t, curve, color=colour, linestyle="-")
    axes.set(yticks=[], ylim=(0, 1.25 * peak), xlim=(t[0], t[-1]))
    axes.set_ylabel("how likely")
    axes.grid(visible=False)


def _named(axes, sigma):
    height = 0.8 * axes.lines[0].get_ydata().max()
    axes.annotate("without\nyour sample", (-0.95 * sigma, height), ha="right", va="center",
                  color=WITHOUT)  # fmt: skip
    axes.annotate("with it", (1 + 0.85 * sigma, height), ha="left", va="center", color=WITH)


def _hatched(shift, epsilon):
    """Return delta of two normal outputs of deviation 1 (Balle and Wang, 2018)."""
    area = NormalDist().cdf
    return area(shift / 2 - epsilon / shift) - np.exp(epsilon) * area(-shift / 2 - epsilon / shift)


def accountants(found: Mapping[str, float | Sequence[float]], xlabel: str) -> Figure:
    """Draw one number for each name as a dot, or three as an interval about its middle.

    Of an interval the upper end is printed, which is the bound. A name ending in "*" is an
    estimate without a guarantee and has a hollow marker.
    """
    figure, axes = plt.subplots(figsize=(4.6, 0.36 * len(found) + 0.75))
    for place, (name, value) in enumerate(found.items()):
        numbers = np.atleast_1d(value)
        colour = COLOURS[2] if name.endswith("*") else COLOURS[0]
        fill = "none" if name.endswith("*") else colour
        if len(numbers) == 3:
            axes.plot(numbers[[0, 2]], [place, place], "-", color=colour, linewidth=4, alpha=0.5)
        middle = numbers[len(numbers) // 2]
        axes.plot([middle], [place], "o", color=colour, markersize=8, markerfacecolor=fill)
        sign = "≤ " if len(numbers) == 3 else ""
        axes.annotate(f"{sign}{numbers[-1]:.3f}", (numbers[-1], place), (10, 0), va="center",
                      textcoords="offset points", fontsize=11)  # fmt: skip
    axes.set(yticks=range(len(found)), yticklabels=list(found), xlabel=xlabel)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high + 0.22 * (high - low))  # room for the numbers
    return finished(figure)


def accuracy(
    panels: Mapping[str, Mapping[float, Sequence[float]]], level: tuple[float, str]
) -> Figure:
    """Draw {what is varied: {its value: accuracies of repeated runs}}, panels one below another.

    Each run is a ring, and a line joins the means. The values stand at equal distances, and all
    panels have one scale. ``level`` draws a dotted horizontal line, named in the first.
    """
    figure, grid = plt.subplots(
        len(panels), 1, figsize=(4.6, 1.7 * len(panels)), squeeze=False, sharey=True,
        layout="constrained",
    )  # fmt: skip
    figure.get_layout_engine().set(h_pad=0.14)  # titles apart from the ticks above them
    for axes, (title, points) in zip(grid.flat, panels.items(), strict=True):
        places = np.arange(len(points))
        runs = 100 * np.array(list(points.values()))
        axes.plot(places, runs.mean(1), "-", color=COLOURS[0], linewidth=1.5)
        for run in runs.T:
            axes.plot(places, run, "o", color=COLOURS[0], markersize=4,
                      markerfacecolor="none", markeredgewidth=0.9)  # fmt: skip
        axes.axhline(100 * level[0], color=INK, linewidth=1.2, linestyle=":")
        axes.set_xticks(places, [f"{value:g}" for value in points])
        axes.set_title(title, loc="left", fontsize=12)
        axes.set_ylabel("right, in %")
    lowest = 100 * min(min(runs) for points in panels.values() for runs in points.values())
    grid[0, 0].set_ylim(10 * np.floor(0.1 * lowest), 109)
    grid[0, 0].set_yticks(np.arange(10 * np.floor(0.1 * lowest), 101, 10))
    place = {"xy": (0.01, 100 * level[0]), "xycoords": ("axes fraction", "data")}
    above = {"xytext": (0, 2), "textcoords": "offset points", "va": "bottom"}
    grid[0, 0].annotate(level[1], **place, **above, color=INK)
    return finished(figure)
