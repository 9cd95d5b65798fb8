"""Frameworks beside each other: their habits as a table with marks, their times as dots."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from ..colours import COLOURS
from .style import INK, finished

WIDTHS = (1.15, 1.34, 0.68, 0.92, 0.97)  # inches, of the columns of `habits`
LINE, HEAD = 0.285, 0.5
DOTS = ((5, "#ffffff"), (7.5, "#9cc8e4"), (10, COLOURS[0]))  # size and shade, by batch size


def habits(
    lines: Mapping[str, Sequence[str]], head: Sequence[str], marked: Collection[str]
) -> Figure:
    """Draw {framework: (its way to the rows, one word for each habit)} as a table.

    ``head`` names the columns after the first. A cell with one of the ``marked`` words is filled.
    """
    lefts = [sum(WIDTHS[:k]) for k in range(len(WIDTHS))]
    width, height = sum(WIDTHS), HEAD + LINE * len(lines)
    figure = plt.figure(figsize=(width, height), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    text = {"va": "center", "fontsize": 10.5, "color": INK}
    for left, words in zip(lefts[1:], head, strict=True):
        bold = text | {"weight": "bold", "va": "bottom", "linespacing": 1.1}
        axes.text(left + 0.06, HEAD - 0.06, words, **bold)
    for place, (name, words) in enumerate(lines.items()):
        middle = HEAD + LINE * (place + 0.5)
        axes.axhline(middle - LINE / 2, color="#88888866", linewidth=0.8)
        axes.text(0.03, middle, name, **text)
        for column, word in enumerate(words, 1):
            style = dict(text)
            if word in marked:
                corner = (lefts[column], middle - LINE / 2 + 0.02)
                size = WIDTHS[column] - 0.06, LINE - 0.04
                axes.add_patch(plt.Rectangle(corner, *size, facecolor=COLOURS[1]))
                style |= {"color": "white", "weight": "bold"}
            axes.text(lefts[column] + 0.06, middle, word, **style)
    return finished(figure)


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
