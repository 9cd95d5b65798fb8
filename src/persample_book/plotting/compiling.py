"""What compiling changes: a cond that becomes a select, and calls until it has paid."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import BACKENDS
from .style import INK, finished

GREY, TAKEN = "#7a828b", "#cfe3f2"


def select(samples: Sequence[float], branches: Mapping[str, Sequence[float]], chosen) -> Figure:
    """Draw a select: a line for each branch with a value for each sample, the chosen ones boxed.

    samples : the inputs, one for each column
    branches : {name: its value for each sample}
    chosen : for each sample the name of its branch
    """
    lines = {"x": samples, **branches}
    picked = [branches[name][i] for i, name in enumerate(chosen)]
    figure, axes = plt.subplots(figsize=(4.8, 0.45 * (len(lines) + 2.6)))
    right = 2.1 + len(samples)
    text = {"ha": "center", "va": "center", "fontsize": 13}
    below = len(lines) + 0.5  # of the line "select": its arrows need room
    rows = [*zip(range(len(lines)), lines.items(), strict=True), (below, ("select", picked))]
    for y, (name, values) in rows:
        axes.text(1.4, y, name, ha="right", va="center", fontsize=13, family="monospace")
        for i, value in enumerate(values):
            boxed = name == "select" or name == chosen[i]
            if boxed:
                corner = (1.58 + i, y - 0.36)
                axes.add_patch(
                    plt.Rectangle(corner, 0.84, 0.72, facecolor=TAKEN, edgecolor=INK, zorder=0)
                )
            colour = INK if boxed or name == "x" else GREY
            axes.text(2 + i, y, f"{value:.3g}", color=colour, **text)
    for i, name in enumerate(chosen):
        start, end = list(lines).index(name) + 0.38, below - 0.38
        x = 2 + i + 0.36
        style = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.3}
        axes.annotate("", (x, end), (x, start), arrowprops=style, zorder=3)
    unused = len(branches) * len(samples) - len(samples)
    note = f"{len(branches) * len(samples)} values computed, {unused} of them (grey) for nothing"
    axes.text(right / 2, below + 0.85, note, **{**text, "fontsize": 12})
    axes.set(xlim=(0, right), ylim=(below + 1.2, -0.6))
    axes.axis("off")
    return finished(figure)


def break_even(costs: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw for each framework the total time of n calls, compiled and not, on axes of its own.

    costs : {backend: {"title", "first", "later", "break_even"}}, in calls without a compiler
    """
    figure, panels = plt.subplots(len(costs), 1, figsize=(4.6, 1.35 * len(costs)), squeeze=False)
    for axes, (name, cost) in zip(panels[:, 0], costs.items(), strict=True):
        even, colour = cost["break_even"], BACKENDS[name]
        n = np.array([1, 2 * even])
        axes.plot(n, n, color=GREY, linestyle="--")
        compiled = cost["first"] + (n - 1) * cost["later"]
        axes.plot(n, compiled, color=colour, linestyle="-")
        axes.plot([even], [even], "o", color=INK, markersize=7, zorder=3)
        axes.text(1.6 * even, 1.75 * even, "not compiled", color=GREY, ha="right", va="bottom")
        axes.text(
            2 * even, compiled[1] - 0.12 * even, "compiled", color=colour, ha="right", va="top"
        )
        axes.text(0.93 * even, 1.1 * even, f"{even:,} calls", ha="right", va="bottom")
        axes.set(xlim=(0, 2.05 * even), ylim=(0, 2.4 * even))
        axes.set_title(cost["title"], loc="left", fontweight="bold", color=colour)
        axes.locator_params(nbins=4)
    panels[-1, 0].set_xlabel("number of calls")
    figure.supylabel("total time, in uncompiled calls", fontsize="medium")
    return finished(figure)
