"""The problems that agents live in: chains, planes, grids."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .style import finished


def chain(names: Sequence[str], left: str, right: str) -> Figure:
    """Draw a row of states with steps to both sides and an exit at either end."""
    figure, axes = plt.subplots(figsize=(5.6, 1.1))
    for i, name in enumerate(["", *names, ""]):
        inner = 0 < i <= len(names)
        style = {"facecolor": "white" if inner else "#555", "edgecolor": "#222"}
        size = 0.3 if inner else 0.2
        kind = (
            plt.Circle
            if inner
            else lambda c, s, **k: plt.Rectangle((c[0] - s / 2, -s / 2), s, s, **k)
        )
        axes.add_patch(kind((i, 0), size, zorder=2, **style))
        axes.text(i, 0, name, ha="center", va="center", zorder=3)
    arrow = {"arrowstyle": "<->", "color": "#555", "shrinkA": 13, "shrinkB": 13}
    for i in range(len(names) + 1):
        axes.annotate("", (i + 1, 0), (i, 0), arrowprops=arrow)
    axes.text(0, -0.62, left, ha="center", va="center")
    axes.text(len(names) + 1, -0.62, right, ha="center", va="center")
    axes.set(xlim=(-0.7, len(names) + 1.7), ylim=(-0.85, 0.45), aspect="equal")
    axes.axis("off")
    return finished(figure)


def values_on_plane(
    points: np.ndarray, panels: Mapping[str, np.ndarray], xlabel: str, ylabel: str
):
    """Draw points (N, 2) once a panel, coloured by the panel's values (N,), on one scale."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(5.8, 3.0), sharey=True)
    low, high = (
        f(np.min(v) if f is min else np.max(v) for v in panels.values()) for f in (min, max)
    )
    for axes, (title, values) in zip(all_axes, panels.items(), strict=True):
        drawn = axes.scatter(*points.T, c=values, s=5, vmin=low, vmax=high)
        axes.set(title=title, xlabel=xlabel)
    all_axes[0].set_ylabel(ylabel)
    figure.colorbar(drawn, ax=all_axes, label="value")
    return finished(figure)


def grid_paths(shape: tuple[int, int], paths: Mapping[str, Sequence[int]], cliff: Sequence[int]):
    """Draw paths through a grid of cells, numbered row by row, and the cells to avoid."""
    figure, axes = _grid(shape, cliff)
    width = shape[1]
    for shift, (name, cells) in zip(np.linspace(0.4, 0.6, len(paths)), paths.items(), strict=True):
        cells = np.asarray(cells)
        axes.plot(cells % width + shift, cells // width + shift, label=name, marker=".")
    first = next(iter(paths.values()))
    for name, index in (("S", 0), ("G", -1)):
        axes.text(
            first[index] % width + 0.12, first[index] // width + 0.25, name, fontweight="bold"
        )
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(paths))
    return finished(figure)


def grid_policy(shape: tuple[int, int], policy: np.ndarray, cliff: Sequence[int], goal: int):
    """Draw one arrow a cell for a policy whose actions are up, right, down, left."""
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
