"""A table whose cells have a colour and a symbol or number."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .style import finished


def table(
    rows: Mapping[str, Sequence[str]], columns: Sequence[str], colours: Mapping[str, str]
) -> Figure:
    """Draw {name of a row: text of each cell}; ``colours`` gives a cell's colour by its text.

    A cell whose text has no colour stays empty behind it.
    """
    figure, axes = plt.subplots(figsize=(5.0, 0.9 + 0.27 * len(rows)))
    for height, texts in enumerate(rows.values()):
        for place, text in enumerate(texts):
            if colour := colours.get(text):
                axes.add_patch(Rectangle((place - 0.46, height - 0.44), 0.92, 0.88, color=colour))
            ink = {"color": "#111"} if colour else {}
            axes.text(place, height, text, ha="center", va="center_baseline", fontsize=12, **ink)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticks(range(len(rows)), list(rows), fontsize=12)
    axes.set_xticks(range(len(columns)), columns, fontsize=12, ha="left")
    axes.tick_params(axis="x", labelrotation=45, pad=1)
    for label in axes.get_xticklabels():
        label.set_rotation_mode("anchor")
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)
    return finished(figure)
