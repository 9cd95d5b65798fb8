"""Rows as tables of coloured numbers."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import SIGNED
from .style import finished


def rows(values: np.ndarray, samples: Sequence[str], parameters: Sequence[str], title: str = ""):
    """Draw per-sample gradients (B, d) as a table of coloured numbers, one row per sample."""
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
    return finished(figure)


def overview(batch: np.ndarray, gradients: np.ndarray) -> Figure:
    """Draw samples (B, k), their gradients (B, d), and below these their mean."""
    figure, axes = plt.subplots(figsize=(5.8, 3.5))
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
    axes.text(
        left - 0.3, count + 1.8, "their mean: one gradient for the batch", ha="right", va="center"
    )
    axes.set(xlim=(-0.2, left + gradients.shape[1] + 0.8), ylim=(count + 2.5, -0.9))
    axes.axis("off")
    return finished(figure)


def _cells(axes, values: np.ndarray, left: float, top: float, colour: str | None) -> None:
    """Draw a table of numbers with its corner at (left, top), coloured by sign or plainly."""
    shade = plt.get_cmap(SIGNED)
    limit = 3.6 * (np.abs(values).max() or 1.0)  # pale, so that the numbers read
    for (i, j), x in np.ndenumerate(values):
        face = colour or shade(0.5 + x / limit)
        box = plt.Rectangle((left + j, top + i), 1, 1, facecolor=face, edgecolor="white")
        axes.add_patch(box)
        axes.text(left + j + 0.5, top + i + 0.5, f"{x + 0.0:.2g}", ha="center", va="center")
