"""Where the Gram form of a norm is cheaper than the row."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .curves import name_ends
from .style import finished


def gram_or_direct(positions: Sequence[float], ratios: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the cost of the Gram form relative to the direct form, and where which is cheaper."""
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    for name, ratio in ratios.items():
        axes.plot(positions, ratio, label=name)
    axes.axhline(1, color="#555", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="positions T", ylabel="Gram form / direct form")
    inside = {"transform": axes.transAxes, "fontweight": "bold"}
    axes.text(0.03, 0.97, "direct form cheaper", va="top", **inside)
    axes.text(0.97, 0.03, "Gram form cheaper", ha="right", va="bottom", **inside)
    name_ends(axes, {name: (positions[-1], ratio[-1]) for name, ratio in ratios.items()})
    return finished(figure)
