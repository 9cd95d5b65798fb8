"""What things cost: dots on logarithmic axes, and the rows of a layer as the products they are."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..colours import SIGNED
from .style import finished, for_text

MARKER = "o"
STATES = [{"marker": shape, "markersize": 6.5, "linestyle": ""} for shape in "os^D"]


def dots(
    panels: Mapping[str, Mapping[str, float | Sequence[float]]],
    xlabel: str,
    *,
    colours: Mapping[str, str],
    states: Sequence[str] = (),
    level: tuple[float, str] | None = None,
) -> Figure:
    """Draw {panel title: {name: number, or one number for each state}}, panels one below another.

    A name has a line of its own and its colour. A state has its marker, a little below that of
    the state before, so that states that agree do not hide one another. A single number is
    written beside its dot. ``level`` draws a vertical line with a name. The common axis is
    logarithmic. The figure is narrow, so that a phone shows its text nearly at full size.
    """
    heights = [len(values) for values in panels.values()]
    figure, grid = plt.subplots(
        len(panels),
        1,
        figsize=(4.6, 0.9 + 0.3 * sum(heights) + 0.45 * len(panels)),
        sharex=True,
        squeeze=False,
        height_ratios=heights,
    )
    for axes, (title, values) in zip(grid.flat, panels.items(), strict=True):
        for place, (name, numbers) in enumerate(values.items()):
            _line_of_dots(axes, place, np.atleast_1d(numbers), colours[name])
        axes.set(yticks=range(len(values)), yticklabels=list(values))
        axes.grid(visible=False, axis="y")
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
        figure.legend(
            loc="outside upper right", ncols=len(states), handletextpad=0.1, columnspacing=0.9
        )
    low, high = grid[0, 0].get_xlim()
    grid[0, 0].set_xlim(low, high * 1.5)  # room for the numbers
    grid[-1, 0].set_xlabel(xlabel)
    return finished(figure)


def _line_of_dots(axes, place: int, numbers: np.ndarray, colour: str) -> None:
    """Draw one marker for each number about the height ``place``, and a line over their range."""
    ends = [np.nanmin(numbers), np.nanmax(numbers)]
    axes.plot(ends, [place, place], "-", color=colour, linewidth=1.2)
    if len(numbers) > 1:
        below = np.linspace(-0.15, 0.15, len(numbers))  # of the rows, which are 1 apart
        for number, shift, marker in zip(numbers, below, STATES, strict=False):
            axes.plot([number], [place + shift], color=colour, **marker)
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


def outer_products(z_bar: np.ndarray, images: np.ndarray, classes: str) -> Figure:
    """Draw rows of a linear layer on images: z_bar_i (m,) times image i, m pictures for each.

    One line of pictures for each sample: the image, then its row; the last line is the mean of
    the rows. Each line has a scale of its own, on which the colour shows the cube root of a
    number, so that a weak picture is seen beside a strong one, on a dark page too. z_bar (B, m),
    images (B, height, width), one name in ``classes`` for each of the m outputs.
    """
    count, outputs = z_bar.shape
    rows = z_bar[:, :, None, None] * images[:, None]
    figure, grid = plt.subplots(
        count + 1, outputs + 1, figsize=(5.8, 0.96 * (count + 1) + 0.1), layout="constrained"
    )
    for axes, image in zip(grid[:, 0], images, strict=False):
        axes.imshow(image, cmap="Greys")
    for line, parts in zip(grid[:, 1:], [*rows, rows.mean(0)], strict=True):
        most = 0.5 * np.abs(parts).max()  # the strongest are cut, so that the pale are seen
        for axes, part in zip(line, parts, strict=True):
            scale = FuncNorm((np.cbrt, _cube), vmin=-most, vmax=most)
            axes.imshow(part, cmap=SIGNED, norm=scale)
    for line, numbers in zip(grid[:, 1:], z_bar, strict=False):
        for axes, number in zip(line, numbers, strict=True):
            axes.set_xlabel(f"{number:+.2f}", fontsize=13, labelpad=1)
    titles = ["image h", *(f"class {name}" for name in classes)]
    for axes, name in zip(grid[0], titles, strict=True):
        axes.set_title(name, fontsize=13)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)
    figure.get_layout_engine().set(h_pad=0.09)  # so that a number stands by its own picture
    grid[-1, 0].text(0.5, 0.5, "mean", ha="center", va="center", fontsize=13)
    return finished(figure)


def _cube(x):
    return x**3


# Where each curve's name stands: its batch size, how the text is aligned, and points to move it.
_NAMES = {
    "Opacus": (128, "right", (-6, 5)),
    "torch.func vmap": (512, "left", (9, -9)),
    "record": (256, "left", (9, -9)),
    "chunks of 32": (64, "left", (0, -11)),
    "clipped sum, Opacus": (32, "left", (0, 20)),
    "clipped sum": (1024, "left", (8, -9)),
}


def peak_memory(
    peaks: Mapping[str, Mapping[int, float]], colours: Mapping[str, str], limit: tuple[float, str]
) -> Figure:
    """Draw {method: {batch size: MiB}} on logarithmic axes, each curve named where it runs.

    ``limit`` draws a horizontal line with a name. A method that lies on the one before is drawn
    dashed over it, as "torch.func vmap" on "record".
    """
    figure, axes = plt.subplots(figsize=(4.6, 3.6))
    for name, points in peaks.items():
        over = name in ("torch.func vmap", "clipped sum, Opacus")
        axes.plot(
            *zip(*points.items(), strict=True),
            label=name,
            color=colours[name],
            linestyle="--" if over else "-",
            linewidth=1.6 if over else 3.2,
            zorder=3 if over else 2,
        )
        at, side, moved = _NAMES[name]
        axes.annotate(
            name.replace(", ", ",\n"),
            (at, points[at]),
            moved,
            textcoords="offset points",
            color=for_text(colours[name]),
            fontweight="bold",
            ha=side,
            va="center",
        )
    axes.set(xscale="log", yscale="log", xlabel="batch size B", ylabel="peak memory / MiB")
    axes.axhline(limit[0], color="grey", linewidth=1, linestyle=":")
    place = {"xy": (1, limit[0]), "xycoords": ("axes fraction", "data")}
    axes.annotate(limit[1], **place, ha="right", va="bottom", color="#555")
    return finished(figure)
