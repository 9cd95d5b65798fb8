"""Bars in columns: several numbers for each of a few lines of text."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import finished


def two_columns(
    lines: Sequence[str], columns: Mapping[str, np.ndarray], marked: int | None = None
) -> Figure:
    """Draw one line of text above two bars for each sample; {title: (B,) numbers}.

    Each column has a scale of its own from 0; the ``marked`` sample has another colour. Narrow,
    so that a phone shows the text nearly at full size.
    """
    figure, grid = plt.subplots(
        1, len(columns), figsize=(4.6, 0.62 * len(lines) + 0.5), sharey=True, squeeze=False
    )
    places = np.arange(len(lines))
    colours = [COLOURS[1] if i == marked else COLOURS[0] for i in places]
    for axes, (title, numbers) in zip(grid.flat, columns.items(), strict=True):
        bars = axes.barh(places, numbers, height=0.34, color=colours)
        axes.bar_label(bars, [f"{n:.1f}" for n in numbers], padding=4, fontsize=11)
        axes.set_title(title, fontsize=12, loc="left")
        axes.set(yticks=[], xticks=[], xlim=(0, 1.22 * max(numbers)))
        axes.set_ylim(len(lines) - 0.6, -0.75)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    for place, line in zip(places, lines, strict=True):
        grid[0, 0].text(0, place - 0.28, line, family="monospace", fontsize=11, va="bottom")
    return finished(figure)
