"""What things cost: dots on logarithmic axes, and the rows of a layer as the products they are."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..colours import SIGNED
from .curves import name_ends
from .style import finished

MARKER = "o"
# For each state: hollow and of falling size, so that where all agree each is still seen.
STATES = [
    {"marker": shape, "markersize": size, "linestyle": "", "fillstyle": "none", "mew": 1.8}
    for shape, size in zip("os^D", (14, 8.5, 5, 4), strict=True)
]


def dots(
    panels: Mapping[str, Mapping[str, float | Sequence[float]]],
    xlabel: str,
    *,
    colours: Mapping[str, str],
    states: Sequence[str] = (),
    level: tuple[float, str] | None = None,
) -> Figure:
    """Draw {panel title: {name: number, or one number for each state}}, panels one below another.

    A name has a line of its own and its colour, a state its marker; a single number is written
    beside its dot. ``level`` draws a vertical line with a name. The common axis is logarithmic.
    """
    heights = [len(values) for values in panels.values()]
    figure, grid = plt.subplots(
        len(panels),
        1,
        figsize=(5.8, 0.9 + 0.3 * sum(heights) + 0.45 * len(panels)),
        sharex=True,
        squeeze=False,
        height_ratios=heights,
    )
    for axes, (title, values) in zip(grid.flat, panels.items(), strict=True):
        for place, (name, numbers) in enumerate(values.items()):
            _line_of_dots(axes, place, np.atleast_1d(numbers), colours[name])
        axes.set(yticks=range(len(values)), yticklabels=list(values))
        axes.set_ylim(len(values) - 0.4, -0.6)
        axes.set_title(title, fontsize=12, loc="left")
        axes.tick_params(axis="y", length=0)
        if level is not None:
            axes.axvline(level[0], color="#555", linewidth=1.2, linestyle=":")
        _logarithmic(axes)
    if level is not None:
        place = {"xy": (level[0], 1), "xycoords": ("data", "axes fraction")}
        grid[0, 0].annotate(
            level[1], **place, xytext=(0, 3), textcoords="offset points", ha="center", color="#555"
        )
    for state, marker in zip(states, STATES, strict=False):
        grid[0, 0].plot([], [], color="#555", label=state, **marker)
    if states:
        figure.legend(loc="outside upper right", ncols=len(states), handletextpad=0.1)
    low, high = grid[0, 0].get_xlim()
    grid[0, 0].set_xlim(low, high * 1.5)  # room for the numbers
    grid[-1, 0].set_xlabel(xlabel)
    return finished(figure)


def _line_of_dots(axes, place: int, numbers: np.ndarray, colour: str) -> None:
    """Draw one marker for each number at the height ``place``, joined by a line."""
    ends = [np.nanmin(numbers), np.nanmax(numbers)]
    axes.plot(ends, [place, place], "-", color=colour, linewidth=1.5)
    if len(numbers) > 1:
        for number, marker in zip(numbers, STATES, strict=False):
            axes.plot([number], [place], color=colour, **marker)
    else:
        axes.plot(numbers, [place], MARKER, color=colour, markersize=8)
        text = f"{numbers[0]:.0f}" if numbers[0] >= 10 else f"{numbers[0]:.2g}"
        axes.annotate(
            text,
            (numbers[0], place),
            (9, 0),
            textcoords="offset points",
            va="center",
            fontsize=11,
        )


def _logarithmic(axes) -> None:
    """Make the x axis logarithmic, its ticks plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def gram_or_direct(positions: Sequence[float], ratios: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the cost of the Gram form relative to the direct form, and where which is cheaper."""
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    for name, ratio in ratios.items():
        axes.plot(positions, ratio, label=name)
    axes.axhline(1, color="#555", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="positions T", ylabel="Gram form / direct form")
    inside = {"transform": axes.transAxes, "fontweight": "bold"}
    axes.text(0.03, 0.97, "direct form cheaper", va="top", **inside)
    axes.text(0.97, 0.03, "Gram form cheaper", ha="right", va="bottom", **inside)
    name_ends(axes, {name: (positions[-1], ratio[-1]) for name, ratio in ratios.items()})
    return finished(figure)


def outer_products(z_bar: np.ndarray, images: np.ndarray, classes: str) -> Figure:
    """Draw rows of a linear layer on images: z_bar_i (m,) times image i, m pictures for each.

    One line of pictures for each sample: the image, then its row; the last line is the mean of
    the rows. Each line has a scale of its own, on which the colour shows the root of a number, so
    that a weak picture is seen beside a strong one. z_bar (B, m), images (B, height, width), one
    name in ``classes`` for each of the m outputs.
    """
    count, outputs = z_bar.shape
    rows = z_bar[:, :, None, None] * images[:, None]
    figure, grid = plt.subplots(count + 1, outputs + 1, figsize=(5.8, 0.95 * (count + 1) + 0.1))
    for axes, image in zip(grid[:, 0], images, strict=False):
        axes.imshow(image, cmap="Greys")
    for line, parts in zip(grid[:, 1:], [*rows, rows.mean(0)], strict=True):
        most = 0.5 * np.abs(parts).max()  # the strongest are cut, so that the pale are seen
        for axes, part in zip(line, parts, strict=True):
            scale = FuncNorm((_signed_root, _signed_square), vmin=-most, vmax=most)
            axes.imshow(part, cmap=SIGNED, norm=scale)
    for line, numbers in zip(grid[:, 1:], z_bar, strict=False):
        for axes, number in zip(line, numbers, strict=True):
            axes.set_xlabel(f"{number:+.2f}", fontsize=16, labelpad=2)
    for axes, name in zip(grid[0], ["h", *classes], strict=True):
        axes.set_title(name, fontsize=16)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)
    grid[-1, 0].text(0.5, 0.5, "mean", ha="center", va="center", fontsize=16)
    return finished(figure)


def _signed_root(x):
    return np.sign(x) * np.sqrt(np.abs(x))


def _signed_square(x):
    return np.sign(x) * x**2
