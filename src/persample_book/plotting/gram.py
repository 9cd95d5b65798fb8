"""What one step on one sample, or on one task, does to the losses of the others."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..colours import COLOURS, SIGNED
from .style import INK, finished


def one_step(
    estimated: np.ndarray,
    real: np.ndarray,
    was_wrong: np.ndarray,
    broken: np.ndarray,
    taken: int,
    quantity: str = "change of loss",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw a number of each sample after a step (B,) against its estimate, equal on the line.

    ``was_wrong`` and ``broken`` are True (B,) where an image was wrong before the step, drawn
    hollow, and where it is wrong since, drawn large. The step was ``taken`` on that sample.
    ``quantity`` is the number's name. With ``limits``, only what lies between them is shown, and
    lines mark 0.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.7))
    low, high = min(estimated.min(), real.min()), max(estimated.max(), real.max())
    room = 0.06 * (high - low)
    frame = limits or (low - room, high + room)
    axes.plot(frame, frame, color="#6b7280", linewidth=1, linestyle="-")
    right = ~(was_wrong | broken)
    axes.scatter(estimated[right], real[right], color=COLOURS[0], s=12, alpha=0.6)
    axes.scatter(estimated[was_wrong], real[was_wrong], facecolors="none", edgecolors=INK, s=22)
    axes.scatter(estimated[broken], real[broken], color=COLOURS[1], s=40, zorder=3)
    axes.set(xlim=frame, ylim=frame, xlabel=f"estimated {quantity}", ylabel=f"real {quantity}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5))
    if limits:
        axes.axhline(0, color=INK, linewidth=1.2, linestyle=":")
        axes.axvline(0, color=INK, linewidth=1.2, linestyle=":")
    key = (("wrong before", INK), ("wrong since the step", COLOURS[1]),
           ("correct before and after", COLOURS[0]))  # fmt: skip
    for line, (name, colour) in enumerate(key):
        axes.text(0.03, 0.96 - 0.09 * line, name, color=colour, transform=axes.transAxes, va="top")
    axes.annotate("the 8 of the step", (estimated[taken], real[taken]), (34, -16), color=INK,
                  textcoords="offset points", va="center",
                  arrowprops={"arrowstyle": "-", "color": INK})  # fmt: skip
    return finished(figure)


def conflicts(cosine: np.ndarray, names: Sequence) -> Figure:
    """Draw the cosines of all pairs of tasks (n, n), orange below 0, purple above.

    A task with itself is left blank.
    """
    figure, axes = plt.subplots(figsize=(4.6, 3.9))
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, cosine)
    most = np.nanmax(np.abs(shown))
    image = axes.imshow(shown, cmap=SIGNED, vmin=-most, vmax=most)
    axes.set(xticks=range(len(names)), yticks=range(len(names)), xlabel="digit", ylabel="digit")
    axes.set_xticklabels(names)
    axes.set_yticklabels(names)
    axes.grid(visible=False)
    bar = figure.colorbar(image, ax=axes, shrink=0.8)
    bar.set_label("cosine of their gradients")
    return finished(figure)
