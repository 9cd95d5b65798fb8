"""What things cost: bars of ratios, and the rows of one layer as the products they are."""

from collections.abc import Collection, Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS, SIGNED
from .style import finished

_PLAIN = "#b9bec4"  # beside COLOURS[0] also in grey: light beside dark


def bars(
    panels: Mapping[str, Mapping[str, float]],
    xlabel: str,
    *,
    dark: Collection[str] = (),
    level: float | None = None,
) -> Figure:
    """Draw {panel title: {name: ratio}} as horizontal bars on one logarithmic axis a panel.

    Names run down in the order of the first panel that has them; one that a panel lacks stays
    empty there. ``dark`` names the bars in colour, ``level`` is where a dotted line stands.
    """
    names = list(dict.fromkeys(name for values in panels.values() for name in values))
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    size = (6.6, lines * (0.9 + 0.27 * len(names)))
    figure, grid = plt.subplots(
        lines, columns, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for axes, (title, values) in zip(grid.flat, panels.items(), strict=True):
        widths = [values.get(name, np.nan) for name in names]
        colours = [COLOURS[0] if name in dark else _PLAIN for name in names]
        drawn = axes.barh(range(len(names)), widths, color=colours, height=0.72)
        labels = ["" if np.isnan(x) else f"{x:.0f}" if x >= 10 else f"{x:.2g}" for x in widths]
        axes.bar_label(drawn, labels, padding=3, fontsize=11)
        axes.set(xscale="log", yticks=range(len(names)), yticklabels=names)
        axes.set_title(title, fontsize=11.5)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        if level is not None:
            axes.axvline(level, color="black", linewidth=1.2, linestyle=":")
    largest, smallest = (
        pick(x for values in panels.values() for x in values.values()) for pick in (max, min)
    )
    grid[0, 0].set_xlim(min(0.5, 0.8 * smallest), 5 * largest)  # room for the numbers
    grid[0, 0].invert_yaxis()
    figure.supxlabel(xlabel, fontsize=12)
    return finished(figure)


def changes(pairs: Mapping[str, tuple[float, float]], states: tuple[str, str], xlabel: str):
    """Draw {name: (before, after)}: two points a line and an arrow between, logarithmic."""
    figure, axes = plt.subplots(figsize=(6.4, 1.1 + 0.36 * len(pairs)))
    places = range(len(pairs))
    for y, (before, after) in zip(places, pairs.values(), strict=True):
        axes.plot([before, after], [y, y], color="#8a8f94", linewidth=1.5, linestyle="-")
    for column, (state, marker, colour) in enumerate(zip(states, "os", COLOURS, strict=False)):
        x = [pair[column] for pair in pairs.values()]
        axes.plot(x, places, marker, color=colour, markersize=8, linestyle="none", label=state)
    axes.set(xscale="log", xlabel=xlabel, yticks=places, yticklabels=list(pairs))
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.grid(False, axis="y")
    figure.legend(loc="outside upper right", ncols=2)
    return finished(figure)


def outer_products(delta: np.ndarray, images: np.ndarray, classes: str) -> Figure:
    """Draw rows of a linear layer on images: delta_i (p,) times image i (m, n), p pictures.

    One line a sample: the image, then its row; the last line is the mean of the rows. delta
    (B, p), images (B, m, n), one name in ``classes`` for each of the p outputs.
    """
    count, p = delta.shape
    rows = delta[:, :, None, None] * images[:, None]
    figure, grid = plt.subplots(count + 1, p + 1, figsize=(6.6, 0.82 * (count + 1) + 0.3))
    limit = np.abs(rows).max()
    for axes, image in zip(grid[:, 0], images, strict=False):
        axes.imshow(image, cmap="Greys")
    for line, parts in zip(grid[:, 1:], [*rows, rows.mean(0)], strict=True):
        scale = np.abs(parts).max() if line is grid[-1, 1:] else limit
        for axes, part in zip(line, parts, strict=True):
            axes.imshow(part, cmap=SIGNED, vmin=-scale, vmax=scale)
    for line, numbers in zip(grid[:, 1:], delta, strict=False):
        for axes, number in zip(line, numbers, strict=True):
            axes.set_xlabel(f"{number:+.2f}", fontsize=10, labelpad=2)
    for axes, name in zip(grid[0], ["h", *classes], strict=True):
        axes.set_title(name, fontsize=12)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)
    grid[-1, 0].text(0.5, 0.5, "mean", ha="center", va="center", fontsize=12)
    return finished(figure)
