"""Frameworks beside each other: the times of their rows, as dots."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from ..colours import COLOURS
from .style import finished

DOTS = ((5, "#ffffff"), (7.5, "#9cc8e4"), (10, COLOURS[0]))  # size and shade, by batch size


def relative_times(ratios: Mapping[str, Sequence[float]], sizes: Sequence[str]) -> Figure:
    """Draw {framework: times of the rows, in batch gradients, one for each batch size}.

    The framework with the largest comes first, and its dots carry the names of the ``sizes``; at
    the end of each line stands its largest number. The axis is logarithmic.
    """
    ordered = sorted(ratios.items(), key=lambda item: -max(item[1]))
    figure, axes = plt.subplots(figsize=(4.7, 1.0 + 0.34 * len(ordered)))
    axes.plot([1, 1], [-0.35, len(ordered)], color="#555", linewidth=1.2, linestyle=":")
    points = {"textcoords": "offset points", "va": "center", "fontsize": 11}
    for place, (_, numbers) in enumerate(ordered):
        most = max(numbers)
        axes.plot([min(numbers), most], [place, place], "-", color="#9aa3ad", linewidth=1.5)
        for layer, (number, (size, shade)) in enumerate(zip(numbers, DOTS, strict=True)):
            look = {"markerfacecolor": shade, "markersize": size, "zorder": 9 - layer}
            axes.plot([number], [place], "o", markeredgecolor=COLOURS[0], **look)
        said = f"{most:.0f}" if most >= 10 else f"{most:.1f}"
        axes.annotate(said, (most, place), (10, 0), **points)
    for number, size in zip(ordered[0][1], sizes, strict=True):
        axes.annotate(size, (number, 0), (0, 13), **points | {"ha": "center"})
    axes.set(yticks=range(len(ordered)), yticklabels=[name for name, _ in ordered])
    axes.set_ylim(len(ordered) - 0.4, -0.9)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    axes.set_xlim(low * 0.8, high * 1.4)  # room for what is written at the ends
    axes.set_xlabel("times as long as the batch gradient", loc="right")
    return finished(figure)
