"""Who taught the model this: a wrong prediction, and estimates against real refits."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ..colours import COLOURS
from .curves import name_ends
from .style import INK, finished


def responsible(
    image: np.ndarray, said: str, images: np.ndarray, true: Sequence, given: Sequence
) -> Figure:
    """Draw one image below what was said of it, and right of it eight below "true → given"."""
    figure = plt.figure(figsize=(5.8, 2.9))
    grid = figure.add_gridspec(2, 6, width_ratios=[0.8, 0.8, 1, 1, 1, 1])
    axes = figure.add_subplot(grid[:, :2])
    _ink(axes, image)
    axes.set_title(said, fontsize=12, color=INK)
    for place, (shown, was, now) in enumerate(zip(images, true, given, strict=True)):
        axes = figure.add_subplot(grid[place // 4, 2 + place % 4])
        _ink(axes, shown)
        above = {"y": 1.06, "fontsize": 12, "va": "bottom", "transform": axes.transAxes}
        axes.text(0.72, s=f"{was} → ", ha="right", color=INK, **above)
        axes.text(0.72, s=f"{now}", ha="left", color=COLOURS[1], weight="bold", **above)
    return finished(figure)


def _ink(axes, image):
    opacity = 0.08 + 0.92 * np.asarray(image) / np.max(image)
    axes.imshow(np.dstack([np.broadcast_to(to_rgb(INK), (*opacity.shape, 3)), opacity]))
    axes.axis("off")


def left_out(
    points: np.ndarray,
    lines: Mapping[str, np.ndarray],
    leverage: np.ndarray,
    share: np.ndarray,
    marked: int,
) -> Figure:
    """Draw data with fitted lines, and below it the share of the true change that was foretold.

    Parameters
    ----------
    points : (B, 2), x and y. lines : {name: intercept and slope}.
    leverage, share : (B,); the second panel draws share against leverage, with 1 - leverage.
    marked : the sample that has another colour.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(5.2, 5.2))
    colours = [COLOURS[1] if i == marked else COLOURS[0] for i in range(len(points))]
    above.scatter(*points.T, c=colours, s=36, zorder=3)
    ends = np.array([points[:, 0].min(), points[:, 0].max()])
    styles = [("#6b7280", "-"), (COLOURS[2], "-"), (COLOURS[3], "--")]
    for (name, (intercept, slope)), (colour, dash) in zip(lines.items(), styles, strict=False):
        heights = intercept + slope * ends
        above.plot(ends, heights, color=colour, linestyle=dash, label=name)
    above.set(xlabel="x", ylabel="y")
    name_ends(above, {drawn.get_label(): drawn.get_xydata()[-1] for drawn in above.lines})
    line = np.linspace(0, 1, 2)
    below.plot(line, 1 - line, color="#6b7280", linewidth=1.2)
    below.scatter(leverage, share, c=colours, s=36, zorder=3)
    below.annotate(r"$1 - h$", (0.42, 0.58), (6, 4), textcoords="offset points", color="#6b7280")
    below.annotate("outlier", (leverage[marked], share[marked]), (9, 5), color=COLOURS[1],
                   textcoords="offset points")  # fmt: skip
    below.set(xlabel="leverage $h$ of the sample", ylabel="estimate / true change")
    below.set(xlim=(0, 1), ylim=(0, 1.04))
    return finished(figure)


def against_refits(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]],
    marked: Sequence[np.ndarray],
    name: str = "wrong label",
) -> Figure:
    """Draw estimates against real refits, a panel for each {title: (estimated, real)}, stacked.

    The line is where both are equal. ``marked`` has for each panel True where a point gets
    another colour; ``name`` says what these are.
    """
    figure, grid = plt.subplots(
        len(panels), 1, figsize=(4.8, 2.8 * len(panels) + 0.5), squeeze=False
    )
    figure.set_layout_engine("constrained", h_pad=0.12)
    for axes, title, chosen in zip(grid.flat, panels, marked, strict=True):
        estimated, real = panels[title]
        low, high = min(estimated.min(), real.min()), max(estimated.max(), real.max())
        room = 0.06 * (high - low)
        frame = (low - room, high + room)
        axes.plot(frame, frame, color="#6b7280", linewidth=1, linestyle="-")
        for which, colour in ((~chosen, COLOURS[0]), (chosen, COLOURS[1])):
            axes.scatter(estimated[which], real[which], color=colour, s=22, zorder=3)
        axes.set(xlim=frame, ylim=frame, xlabel="estimated change of loss", ylabel="real change")
        axes.set_title(title, loc="left", fontsize=12)
        if chosen.any():
            axes.text(0.04, 0.93, name, color=COLOURS[1], transform=axes.transAxes, va="top")
    return finished(figure)
