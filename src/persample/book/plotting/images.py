"""Small images in a grid, and how many of the sought ones a ranking finds."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .curves import name_ends
from .style import finished


def gallery(images: np.ndarray, titles: Sequence[str], *, columns: int = 5) -> Figure:
    """Draw images (B, height, width), dark ink on the page's ground, each below its title."""
    lines = -(-len(images) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(5.6, (5.6 / columns + 0.25) * lines), squeeze=False
    )
    for axes in panels.flat:
        axes.axis("off")
    for axes, image, title in zip(panels.flat, images, titles, strict=False):
        axes.imshow(image, cmap="Greys")
        axes.set_title(title, fontsize=12, pad=3)
    return finished(figure)


def found(ranked: Mapping[str, np.ndarray], total: int, colours: Mapping[str, str]) -> Figure:
    """Draw for each ranking how many sought samples are among the first k.

    Parameters
    ----------
    ranked : {name: (B,) True where the sample at that place is sought}, best first.
    total : how many samples are sought; chance finds its share of them, and is drawn too.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    size = len(next(iter(ranked.values())))
    shown = 2 * total
    looked_at = np.arange(shown + 1)
    for name, hits in ranked.items():
        axes.plot(looked_at, np.cumsum([0, *hits[:shown]]), label=name, color=colours[name])
    axes.plot(looked_at, looked_at * total / size, label="chance", color="#6b7280")
    axes.set(xlabel="images looked at", ylabel="wrong labels found")
    axes.set(xlim=(0, shown), ylim=(0, total))
    name_ends(axes, {line.get_label(): tuple(line.get_xydata()[-1]) for line in axes.lines})
    return finished(figure)
