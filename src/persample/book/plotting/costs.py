"""What things cost: bars of ratios, and the rows of one layer as the products they are."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

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
    size = (5.8, lines * (0.9 + 0.27 * len(names)))
    figure, grid = plt.subplots(
        lines, columns, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for axes, (title, values) in zip(grid.flat, panels.items(), strict=True):
        widths = [values.get(name, np.nan) for name in names]
        colours = [COLOURS[0] if name in dark else _PLAIN for name in names]
        drawn = axes.barh(range(len(names)), widths, color=colours, height=0.72)
        labels = ["" if np.isnan(x) else f"{x:.0f}" if x >= 10 else f"{x:.2g}" for x in widths]
        axes.bar_label(drawn, labels, padding=3, fontsize=11)
        axes.set(yticks=range(len(names)), yticklabels=names)
        _logarithmic(axes)
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


def changes(values: Mapping[str, Sequence[float]], states: Sequence[str], xlabel: str) -> Figure:
    """Draw {name: one value a state}: a line a name and a mark a state, logarithmic."""
    figure, axes = plt.subplots(figsize=(5.8, 1.1 + 0.36 * len(values)))
    places = range(len(values))
    for y, row in zip(places, values.values(), strict=True):
        axes.plot([min(row), max(row)], [y, y], color="#8a8f94", linewidth=1.5, linestyle="-")
    for state, column, marker, colour in zip(
        states, zip(*values.values(), strict=True), "os^D", COLOURS, strict=False
    ):
        axes.plot(
            column, places, marker, color=colour, markersize=8, linestyle="none", label=state
        )
    axes.set(xlabel=xlabel, yticks=places, yticklabels=list(values))
    _logarithmic(axes, steps=(1, 2, 5))
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.grid(False, axis="y")
    figure.legend(loc="outside upper right", ncols=len(states))
    return finished(figure)


def _logarithmic(axes, steps=(1,)) -> None:
    """Make the x axis logarithmic, its ticks plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def outer_products(delta: np.ndarray, images: np.ndarray, classes: str) -> Figure:
    """Draw rows of a linear layer on images: delta_i (p,) times image i (m, n), p pictures.

    One line per sample: the image, then its row; the last line is the mean of the rows. delta
    (B, p), images (B, m, n), one name in ``classes`` for each of the p outputs.
    """
    count, p = delta.shape
    rows = delta[:, :, None, None] * images[:, None]
    figure, grid = plt.subplots(count + 1, p + 1, figsize=(5.8, 0.82 * (count + 1) + 0.3))
    limit = np.abs(rows).max()
    for axes, image in zip(grid[:, 0], images, strict=False):
        axes.imshow(image, cmap="Greys")
    for line, parts in zip(grid[:, 1:], [*rows, rows.mean(0)], strict=True):
        scale = np.abs(parts).max() if line is grid[-1, 1:] else limit
        for axes, part in zip(line, parts, strict=True):
            axes.imshow(part, cmap=SIGNED, vmin=-scale, vmax=scale)
    for line, numbers in zip(grid[:, 1:], delta, strict=False):
        for axes, number in zip(line, numbers, strict=True):
            axes.set_xlabel(f"{number:+.2f}", fontsize=11, labelpad=2)
    for axes, name in zip(grid[0], ["h", *classes], strict=True):
        axes.set_title(name, fontsize=12)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)
    grid[-1, 0].text(0.5, 0.5, "mean", ha="center", va="center", fontsize=12)
    return finished(figure)
