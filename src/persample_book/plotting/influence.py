"""Who taught the model this: a wrong prediction, and estimates against real refits."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..colours import COLOURS
from .curves import name_ends
from .style import INK, finished


def responsible(
    image: np.ndarray,
    said: str,
    images: np.ndarray,
    true: Sequence,
    given: Sequence,
    amounts: Sequence[float],
) -> Figure:
    """Draw one image below what was said of it, and right of it eight below "true → given".

    ``amounts`` (8,) stand below these, with a sign and two digits.
    """
    figure = plt.figure(figsize=(5.8, 3.2))
    grid = figure.add_gridspec(2, 6, width_ratios=[0.8, 0.8, 1, 1, 1, 1])
    axes = figure.add_subplot(grid[:, :2])
    _ink(axes, image)
    axes.set_title(said, fontsize=12, color=INK)
    for place, shown in enumerate(zip(images, true, given, amounts, strict=True)):
        axes = figure.add_subplot(grid[place // 4, 2 + place % 4])
        _labelled(axes, *shown[:3], middle=0.72)
        below = f"{shown[3]:+.2f}".replace("-", "−")
        axes.text(0.5, -0.05, below, ha="center", va="top", color=INK, fontsize=12,
                  transform=axes.transAxes)  # fmt: skip
    return finished(figure)


def blamed_by(
    image: np.ndarray,
    said: str,
    lines: Mapping[str, tuple[np.ndarray, Sequence, Sequence]],
) -> Figure:
    """Draw one image below what was said of it, and lines of eight below "true→given".

    ``lines`` is {what stands above a line: (images (8, 8, 8), true labels, given labels)}.
    """
    height = 1.25 * len(lines)
    figure = plt.figure(figsize=(5.8, height), layout="none")
    edges = {"left": 0.01, "right": 0.99, "top": 1 - 0.58 / height, "bottom": 0.02}
    grid = figure.add_gridspec(len(lines), 10, wspace=0.12, hspace=1.15, **edges)
    axes = figure.add_subplot(grid[:, :2])
    _ink(axes, image)
    axes.set_title(said, fontsize=12, color=INK)
    for line, (name, shown) in enumerate(lines.items()):
        for column, one in enumerate(zip(*shown, strict=True)):
            axes = figure.add_subplot(grid[line, 2 + column])
            _labelled(axes, *one, middle=0.68, arrow="→")
            if column == 0:
                axes.text(0, 1.48, name, fontsize=12, va="bottom", color=INK, weight="bold",
                          transform=axes.transAxes)  # fmt: skip
    return finished(figure)


def _labelled(axes, image, true, given, middle, arrow=" → "):
    """Draw an image below "true → given"; a given label that is wrong has another colour."""
    _ink(axes, image)
    above = {"y": 1.06, "fontsize": 12, "va": "bottom", "transform": axes.transAxes}
    wrong = true != given
    axes.text(middle, s=f"{true}{arrow}", ha="right", color=INK, **above)
    axes.text(middle, s=f"{given}", ha="left", color=COLOURS[1] if wrong else INK,
              weight="bold" if wrong else "normal", **above)  # fmt: skip


def _ink(axes, image):
    opacity = 0.08 + 0.92 * np.asarray(image) / np.max(image)
    axes.imshow(np.dstack([np.broadcast_to(to_rgb(INK), (*opacity.shape, 3)), opacity]))
    axes.axis("off")


def left_out(points: np.ndarray, lines: Mapping[str, np.ndarray], marked: int) -> Figure:
    """Draw data with fitted lines, in the colours of the live figure below it.

    Parameters
    ----------
    points : (B, 2), x and y. lines : {name: intercept and slope}: of all points, of those that
    are left, and an estimate. marked : the sample that is left out.
    """
    figure, axes = plt.subplots(figsize=(5.4, 2.5))
    left = np.delete(points, marked, axis=0)
    axes.scatter(*left.T, c=COLOURS[0], s=36, zorder=3)
    axes.scatter(*points[marked], facecolors="none", edgecolors=INK, linestyle="--", s=110,
                 linewidths=1.8, zorder=3)  # fmt: skip
    ends = np.array([points[:, 0].min(), points[:, 0].max()])
    styles = [(INK, "-"), (COLOURS[2], "-"), (COLOURS[1], "--")]
    for (name, (intercept, slope)), (colour, dash) in zip(lines.items(), styles, strict=False):
        heights = intercept + slope * ends
        axes.plot(ends, heights, color=colour, linestyle=dash, label=name)
    axes.set(xlabel="x", ylabel="y")
    name_ends(axes, {drawn.get_label(): drawn.get_xydata()[-1] for drawn in axes.lines})
    axes.annotate("left out", points[marked], (0, -10), color=INK, textcoords="offset points",
                  ha="center", va="top")  # fmt: skip
    return finished(figure)


def against_refits(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]],
    marked: Sequence[np.ndarray],
    name: str = "wrong label",
    ringed: tuple[str, np.ndarray] | None = None,
) -> Figure:
    """Draw estimates against real refits, a square for each {title: (estimated, real)}.

    The line is where both are equal. ``marked`` has for each panel True where a point gets
    another colour; ``name`` says what these are. ``ringed`` is a name, and True for the points
    of the first panel that get a ring.
    """
    figure, grid = plt.subplots(1, len(panels), figsize=(5.8, 3.3), squeeze=False)
    for axes, title, chosen in zip(grid.flat, panels, marked, strict=True):
        estimated, real = panels[title]
        low, high = min(estimated.min(), real.min()), max(estimated.max(), real.max())
        room = 0.06 * (high - low)
        frame = (low - room, high + room)
        axes.plot(frame, frame, color="#6b7280", linewidth=1, linestyle="-")
        for which, colour in ((~chosen, COLOURS[0]), (chosen, COLOURS[1])):
            axes.scatter(estimated[which], real[which], color=colour, s=22, zorder=3)
        axes.set(xlim=frame, ylim=frame, xlabel="estimated change", aspect="equal")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4))
        axes.set_title(title, loc="left", fontsize=12)
        if chosen.any():
            axes.text(0.04, 0.93, name, color=COLOURS[1], transform=axes.transAxes, va="top")
    grid[0, 0].set_ylabel("real change of loss")
    if ringed:
        (_, which), (estimated, real) = ringed, next(iter(panels.values()))
        around = np.column_stack([estimated, real])[which]
        grid[0, 0].scatter(*around.T, facecolors="none", edgecolors=INK, s=70, linewidths=1.2)
        grid[0, 0].annotate(ringed[0], around.mean(0), (12, -6), textcoords="offset points",
                            color=INK, va="top")  # fmt: skip
    return finished(figure)
