"""The book's figures, one function a kind; each returns the matplotlib Figure.

Separate so that a chapter's cell names what it shows and holds no drawing code.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

SIGNED = "PuOr"  # orange negative, purple positive, white zero: told apart with any eye


def rows(values: np.ndarray, samples: Sequence[str], parameters: Sequence[str], title: str = ""):
    """Draw per-sample gradients (B, d) as a table of coloured numbers, one row a sample."""
    figure, axes = plt.subplots(figsize=(1.5 + 0.75 * len(parameters), 0.9 + 0.42 * len(samples)))
    limit = np.abs(values).max() or 1.0
    axes.imshow(values, cmap=SIGNED, vmin=-1.8 * limit, vmax=1.8 * limit, aspect="auto")
    for i, row in enumerate(values):
        for j, x in enumerate(row):
            axes.text(j, i, f"{x + 0.0:.2g}", ha="center", va="center")
    axes.set_xticks(range(len(parameters)), parameters)
    axes.set_yticks(range(len(samples)), samples)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_title(title)
    return _finished(figure)


def overview(batch: np.ndarray, gradients: np.ndarray) -> Figure:
    """Draw samples (B, k), their gradients (B, d), and below these their mean."""
    figure, axes = plt.subplots(figsize=(6.4, 3.5))
    count, width = len(batch), batch.shape[1]
    left = width + 3.2  # where the gradients begin
    _cells(axes, batch, 0, 0, "#eef1f4")
    for i in range(count):
        arrow = {"arrowstyle": "->", "color": "#555", "linewidth": 1.5}
        axes.annotate("", (left - 0.15, i + 0.5), (width + 0.15, i + 0.5), arrowprops=arrow)
    axes.text((width + left) / 2, 0.45, "grad", ha="center", va="bottom", style="italic")
    _cells(axes, gradients, left, 0, None)
    _cells(axes, gradients.mean(0, keepdims=True), left, count + 1.3, None)
    middle = left + gradients.shape[1] / 2
    axes.annotate("", (middle, count + 1.25), (middle, count + 0.05), arrowprops=arrow)
    axes.text(middle + 0.2, count + 0.65, "mean", va="center", style="italic")
    for x, y, text in [
        (width / 2, -0.3, f"{count} samples: s, r, s'"),
        (middle, -0.3, f"{count} gradients"),
    ]:
        axes.text(x, y, text, ha="center", va="bottom", fontweight="bold")
    axes.text(left - 0.3, count + 1.8, "their mean: one gradient for the batch", ha="right", va="center")
    axes.set(xlim=(-0.2, left + gradients.shape[1] + 0.8), ylim=(count + 2.5, -0.9))
    axes.axis("off")
    return _finished(figure)


def _cells(axes, values: np.ndarray, left: float, top: float, colour: str | None) -> None:
    """Draw a table of numbers with its corner at (left, top), coloured by sign or plainly."""
    shade = plt.get_cmap(SIGNED)
    limit = 3.6 * (np.abs(values).max() or 1.0)  # pale, so that the numbers read
    for (i, j), x in np.ndenumerate(values):
        face = colour or shade(0.5 + x / limit)
        box = plt.Rectangle((left + j, top + i), 1, 1, facecolor=face, edgecolor="white")
        axes.add_patch(box)
        axes.text(left + j + 0.5, top + i + 0.5, f"{x + 0.0:.2g}", ha="center", va="center")


def curves(
    x: Sequence,
    lines: Mapping[str, Sequence],
    xlabel: str,
    ylabel: str,
    *,
    log: str = "",
    level: tuple[float, str] | None = None,
) -> Figure:
    """Draw one curve an entry of ``lines``; ``log`` names logarithmic axes: "x", "y", "xy".

    ``level`` draws a horizontal line with a name: what the curves should reach.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    for name, y in lines.items():
        axes.plot(x[: len(y)], y, label=name)
    if level is not None:
        axes.axhline(level[0], color="grey", linewidth=1, linestyle=":")
        axes.annotate(
            level[1],
            (1, level[0]),
            ("axes fraction", "data"),
            ha="right",
            va="bottom",
            color="#555",
        )
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_xscale("log" if "x" in log else "linear")
    axes.set_yscale("log" if "y" in log else "linear")
    axes.legend()
    return _finished(figure)


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
    return _finished(figure)


def ladder(times: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Draw {backend: {rung: {batch size: time}}} side by side on common log-log axes."""
    figure, panels = plt.subplots(1, len(times), figsize=(6.6, 3.2), sharey=True)
    for axes, (backend, rungs) in zip(panels, times.items(), strict=True):
        for rung, points in rungs.items():
            axes.plot([int(size) for size in points], list(points.values()), label=rung)
        axes.set(xscale="log", yscale="log", title=backend, xlabel="batch size B")
    panels[0].set_ylabel("time / one grad")
    panels[0].legend()
    return _finished(figure)


def values_on_plane(
    points: np.ndarray, panels: Mapping[str, np.ndarray], xlabel: str, ylabel: str
):
    """Draw points (N, 2) once a panel, coloured by the panel's values (N,), on one scale."""
    figure, all_axes = plt.subplots(1, len(panels), figsize=(6.6, 3.0), sharey=True)
    low, high = (
        f(np.min(v) if f is min else np.max(v) for v in panels.values()) for f in (min, max)
    )
    for axes, (title, values) in zip(all_axes, panels.items(), strict=True):
        drawn = axes.scatter(*points.T, c=values, s=5, vmin=low, vmax=high)
        axes.set(title=title, xlabel=xlabel)
    all_axes[0].set_ylabel(ylabel)
    figure.colorbar(drawn, ax=all_axes, label="value")
    return _finished(figure)


def grid_paths(shape: tuple[int, int], paths: Mapping[str, Sequence[int]], cliff: Sequence[int]):
    """Draw paths through a grid of cells, numbered row by row, and the cells to avoid."""
    height, width = shape
    figure, axes = plt.subplots(figsize=(6.4, 0.6 + 0.5 * height))
    for cell in cliff:
        axes.add_patch(plt.Rectangle((cell % width, cell // width), 1, 1, color="#bbb"))
    axes.text(width / 2, height - 0.5, "cliff", ha="center", va="center")
    for shift, (name, cells) in zip(np.linspace(0.4, 0.6, len(paths)), paths.items(), strict=True):
        cells = np.asarray(cells)
        axes.plot(cells % width + shift, cells // width + shift, label=name, marker=".")
    ends = {name: cells for name, cells in (("S", 0), ("G", -1))}
    first = next(iter(paths.values()))
    for name, index in ends.items():
        axes.text(
            first[index] % width + 0.12, first[index] // width + 0.25, name, fontweight="bold"
        )
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.set_xticks(range(width + 1), [])
    axes.set_yticks(range(height + 1), [])
    axes.tick_params(length=0)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(paths))
    return _finished(figure)


def _finished(figure: Figure) -> Figure:
    """Take the figure from pyplot, which would show it a second time."""
    plt.close(figure)
    return figure
