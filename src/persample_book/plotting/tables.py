"""Rows as tables of coloured numbers."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import METHODS, SIGNED
from .style import ARROW, finished

_PALE = "#d9dde2"


def rows(
    values: np.ndarray, samples: Sequence[str], parameters: Sequence[str], *, key: bool = True
) -> Figure:
    """Draw per-sample gradients (B, d) as a table of coloured numbers, their mean below them.

    ``key`` says under the table what a sign does to a weight in a step of descent.
    """
    table = np.vstack([values, values.mean(0)]) + 0.0  # no -0
    names = [*samples, "mean"]
    figure, axes = plt.subplots(figsize=(4.7, 1.2 + 0.29 * len(names)))  # read on a phone
    shade, limit = plt.get_cmap(SIGNED), np.abs(values).max() or 1.0
    for (i, j), x in np.ndenumerate(table):
        top = i + 0.4 * (i == len(values))  # the mean stands apart
        # The square root, or small numbers would look like zeros.
        depth = np.sign(x) * np.sqrt(abs(x) / limit) if abs(x) > 1e-9 else 0.0
        place, look = (j - 0.5, top - 0.5), {"facecolor": shade(0.5 + depth / 3.6), "lw": 1}
        axes.add_patch(plt.Rectangle(place, 1, 1, edgecolor="white", **look))
        shown = f"{x:.2g}" if abs(x) > 1e-9 else "0"
        axes.text(j, top, shown, ha="center", va="center")
    axes.set_xticks(range(len(parameters)), parameters)
    axes.set_yticks([*range(len(values)), len(values) + 0.4], names)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.set(xlim=(-0.5, len(parameters) - 0.5), ylim=(len(names), -0.5))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    if key:
        _key(figure, shade)
    return finished(figure)


def _key(figure, shade) -> None:
    """Say below a table what its two colours mean for a step of descent."""
    meanings = {"negative: a step raises it": 0.25, "positive: lowers it": 0.75}
    patches = [plt.Rectangle((0, 0), 1, 1, facecolor=shade(at)) for at in meanings.values()]
    figure.legend(patches, meanings, loc="outside lower center", ncols=2, columnspacing=1.2,
                  handlelength=1.0)  # fmt: skip


def axes_of_arguments(arguments: Mapping[str, tuple[int, int, object]], chosen: int = 1) -> Figure:
    """Draw arguments as tables of cells, and the rows that ``vmap`` makes of them.

    Coloured cells belong to one sample: all of a shared argument, one line of a batched one.

    Parameters
    ----------
    arguments : {name: (lines, columns, entry of in_axes)}, the parameters first.
    chosen : the number of the coloured sample.
    """
    figure, axes = plt.subplots(figsize=(4.7, 1.6))  # read on a phone
    tables = dict(arguments)
    (_, width, _), *others = arguments.values()
    tables["rows"] = max(lines for lines, _, _ in others), width, ""
    left = 0.0
    for name, (lines, columns, entry) in tables.items():
        if name == "rows":
            axes.annotate("", (left + 1.3, 2), (left - 0.4, 2), arrowprops=ARROW)
            left += 1.8
        for line, column in np.ndindex(lines, columns):
            own = entry is None or line == chosen
            face = METHODS["vmap"] if own else _PALE
            place = left + column, line
            axes.add_patch(plt.Rectangle(place, 1, 1, facecolor=face, edgecolor="white"))
        middle = left + columns / 2
        axes.text(middle, -0.3, name, ha="center", va="bottom", family="monospace")
        axes.text(middle, 4.3, f"{entry}", ha="center", va="top", family="monospace")
        left += columns + 1.2
    axes.text(-0.4, 4.3, "in_axes", ha="right", va="top", family="monospace")
    axes.set(xlim=(-5.2, left - 1), ylim=(6.0, -2.0), aspect="equal")
    axes.axis("off")
    return finished(figure)


def overview(batch: np.ndarray, gradients: np.ndarray) -> Figure:
    """Draw samples (B, k), their gradients (B, d), and below these their mean."""
    figure, axes = plt.subplots(figsize=(5.8, 3.5))
    count, width = len(batch), batch.shape[1]
    left = width + 3.2  # where the gradients begin
    _cells(axes, batch, 0, 0)
    for i in range(count):
        arrow = {"arrowstyle": "->", "color": "#555", "linewidth": 1.5}
        axes.annotate("", (left - 0.15, i + 0.5), (width + 0.15, i + 0.5), arrowprops=arrow)
    axes.text((width + left) / 2, 0.45, "grad", ha="center", va="bottom", style="italic")
    largest = np.abs(gradients).max()
    _cells(axes, gradients, left, 0, largest)
    _cells(axes, gradients.mean(0, keepdims=True), left, count + 1.3, largest)
    middle = left + gradients.shape[1] / 2
    axes.annotate("", (middle, count + 1.25), (middle, count + 0.05), arrowprops=arrow)
    axes.text(middle + 0.2, count + 0.65, "mean", va="center", style="italic")
    for x, y, text in [
        (width / 2, -0.3, f"B = {count} samples"),
        (middle, -0.3, f"rows (B, {gradients.shape[1]})"),
    ]:
        axes.text(x, y, text, ha="center", va="bottom", fontweight="bold")
    axes.text(
        left - 0.3,
        count + 1.8,
        f"({gradients.shape[1]},): all that .grad keeps",
        ha="right",
        va="center",
    )
    axes.set(xlim=(-0.2, left + gradients.shape[1] + 0.8), ylim=(count + 2.5, -0.9))
    axes.axis("off")
    return finished(figure)


def _cells(axes, values: np.ndarray, left: float, top: float, largest: float = 0.0) -> None:
    """Draw a table of numbers with its corner at (left, top).

    With ``largest``, the size that gets the darkest colour, they are coloured by their sign.
    """
    shade = plt.get_cmap(SIGNED)
    for (i, j), x in np.ndenumerate(values):
        # Pale, so that the numbers read.
        face = shade(0.5 + x / (3.6 * largest)) if largest else "#eef1f4"
        box = plt.Rectangle((left + j, top + i), 1, 1, facecolor=face, edgecolor="white")
        axes.add_patch(box)
        axes.text(left + j + 0.5, top + i + 0.5, f"{x + 0.0:.2g}", ha="center", va="center")
