"""The problems that agents live in: chains, planes, grids."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .curves import name_ends
from .style import finished


def against_truth(counted: np.ndarray, learned: np.ndarray, what: str) -> Figure:
    """Draw what was learned against what was counted, one point each, and where they are equal."""
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    low, high = min(counted.min(), learned.min()), max(counted.max(), learned.max())
    axes.plot([low, high], [low, high], color="#555", linewidth=1.2, linestyle=":")
    at = low + 0.75 * (high - low)  # beside the line, as points lie on it
    axes.annotate("equal", (at, at), (10, -6), textcoords="offset points", ha="left", va="top",
                  color="#555")  # fmt: skip
    axes.scatter(counted, learned, s=9, alpha=0.35, color=COLOURS[0], lw=0)
    axes.set(xlabel=f"counted {what}", ylabel=f"learned {what}", aspect="equal")
    return finished(figure)


def rewards(totals: Mapping[str, np.ndarray], block: int, level: tuple[float, str]) -> Figure:
    """Draw the sum of rewards in an episode, for {name: (seeds, episodes)}, and a level to reach.

    A line is the mean over the seeds and over ``block`` episodes; the area about it spans the
    seeds, from the least to the largest of their means over a block.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.0))
    ends = {}
    for (name, each), colour in zip(totals.items(), COLOURS, strict=False):
        means = np.reshape(each, (len(each), -1, block)).mean(axis=2)
        last = block * np.arange(1, means.shape[1] + 1)
        style = {"color": colour, "alpha": 0.2, "linewidth": 0}
        axes.fill_between(last, means.min(axis=0), means.max(axis=0), **style)
        axes.plot(last, means.mean(axis=0), label=name)
        ends[name] = last[-1], means[:, -1].mean()
    axes.axhline(level[0], color="grey", linewidth=1, linestyle=":")
    axes.annotate(level[1], (1, level[0]), xycoords=("axes fraction", "data"), ha="right",
                  va="bottom", color="#555")  # fmt: skip
    axes.set(xlabel="episode", ylabel="sum of rewards")
    name_ends(axes, ends)
    return finished(figure)


def grid_paths(shape: tuple[int, int], paths: Mapping[str, Sequence[int]], cliff: Sequence[int]):
    """Draw paths through a grid of cells, numbered row by row, and the cells to avoid.

    Each path has its name above its topmost row; the letters S and G stand below the paths' ends.
    """
    figure, axes = _grid(shape, cliff)
    width = shape[1]
    for shift, (name, cells) in zip(np.linspace(0.4, 0.6, len(paths)), paths.items(), strict=True):
        cells = np.asarray(cells)
        x, y = cells % width + shift, cells // width + shift
        (line,) = axes.plot(x, y, label=name, marker=".")
        top = y.min()
        axes.annotate(name, (x[y == top].mean(), top), (0, 5), textcoords="offset points",
                      ha="center", va="bottom", color=line.get_color())  # fmt: skip
    first = next(iter(paths.values()))
    for name, index in (("S", 0), ("G", -1)):
        cell = first[index]
        place = cell % width + 0.5, cell // width + 1.12
        axes.text(*place, name, fontweight="bold", ha="center", va="top")
    return finished(figure)


def grid_policy(shape: tuple[int, int], policy: np.ndarray, cliff: Sequence[int], goal: int):
    """Draw an arrow in each cell for a policy whose actions are up, right, down, left."""
    figure, axes = _grid(shape, cliff)
    cells = np.setdiff1d(np.arange(policy.size), [*cliff, goal])
    across, down = np.array([0, 1, 0, -1])[policy[cells]], np.array([-1, 0, 1, 0])[policy[cells]]
    centre = cells % shape[1] + 0.5, cells // shape[1] + 0.5
    style = {"angles": "xy", "pivot": "mid", "scale_units": "xy", "scale": 1.6, "width": 0.005}
    axes.quiver(*centre, across, down, color="#0072B2", **style)
    axes.text(goal % shape[1] + 0.5, goal // shape[1] + 0.5, "G", ha="center", va="center")
    return finished(figure)


def _grid(shape, cliff):
    """Return a figure with a grid of cells and a cliff in it."""
    height, width = shape
    figure, axes = plt.subplots(figsize=(5.8, 0.6 + 0.5 * height))
    for cell in cliff:
        axes.add_patch(plt.Rectangle((cell % width, cell // width), 1, 1, color="#bbb"))
    axes.text(width / 2, height - 0.5, "cliff", ha="center", va="center")
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.set_xticks(range(width + 1), [])
    axes.set_yticks(range(height + 1), [])
    axes.tick_params(length=0)
    return figure, axes
