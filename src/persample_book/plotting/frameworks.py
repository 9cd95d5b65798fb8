"""Frameworks beside each other: the times of their rows, as bars."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import finished

LONGEST = 5.0  # in batch gradients: a longer bar is cut there, and ends in an arrow


def relative_times(ratios: Mapping[str, Sequence[float]], sizes: Sequence[str]) -> Figure:
    """Draw {framework: times of the rows, in batch gradients, one for each batch size}.

    One panel for each of the ``sizes``, with a bar and its number for each framework; that with
    the largest number comes first. The dotted line is the time of the batch gradient.
    """
    ordered = sorted(ratios.items(), key=lambda item: -max(item[1]))
    figure, panels = plt.subplots(
        1, len(sizes), figsize=(4.7, 1.2 + 0.36 * len(ordered)), sharey=True
    )
    for column, (axes, size) in enumerate(zip(panels, sizes, strict=True)):
        numbers = [row[column] for _, row in ordered]
        lengths = [min(number, LONGEST) for number in numbers]
        axes.barh(range(len(ordered)), lengths, height=0.5, color=COLOURS[0])
        for place, (number, length) in enumerate(zip(numbers, lengths, strict=True)):
            if number > LONGEST:
                axes.plot([LONGEST], [place], ">", color=COLOURS[0], markersize=11, clip_on=False)
            said = f"{number:.0f}" if number >= 10 else f"{number:.1f}"
            aside = 9 if number > LONGEST else 4
            axes.annotate(
                said, (length, place), (aside, 0), textcoords="offset points", va="center"
            )
        axes.axvline(1, color="#555", linewidth=1.2, linestyle=":")
        axes.set(title=size, xlim=(0, 1.75 * LONGEST), xticks=[1], xticklabels=["1×"])
        axes.grid(visible=False)
        axes.tick_params(axis="y", length=0)
    panels[0].set(yticks=range(len(ordered)), yticklabels=[name for name, _ in ordered])
    panels[0].set_ylim(len(ordered) - 0.4, -0.6)
    figure.supxlabel("1× = the time of the batch gradient", fontsize=11)
    return finished(figure)
