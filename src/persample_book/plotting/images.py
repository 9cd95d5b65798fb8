"""Small images in a grid."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..colours import COLOURS
from .style import INK, finished


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


def relabelled(
    images: np.ndarray,
    true: Sequence,
    given: Sequence,
    *,
    columns: int = 10,
    ink: str = INK,
    framed: int | None = None,
) -> Figure:
    """Draw images (B, height, width) below "true → given", the given label in a colour.

    The image ``framed`` stands in a frame of another colour, which its label has too.

    Each image is ink of one colour on a faint tile, both see-through: the picture fits a light
    page with dark ink and a dark page with light ink.
    """
    lines = -(-len(images) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(5.8, (5.8 / columns + 0.2) * lines), squeeze=False
    )
    for axes in panels.flat:
        axes.axis("off")
    shade = 0.08 + 0.92 * np.asarray(images) / np.max(images)
    for n, (axes, opacity, was, now) in enumerate(
        zip(panels.flat, shade, true, given, strict=False)
    ):
        colour = COLOURS[0] if n == framed else COLOURS[1]
        if n == framed:
            axes.add_patch(
                Rectangle((0, 0), 1, 1, transform=axes.transAxes, clip_on=False, fill=False,
                          edgecolor=colour, linewidth=2.5)
            )  # fmt: skip
        axes.imshow(np.dstack([np.broadcast_to(to_rgb(ink), (*opacity.shape, 3)), opacity]))
        above = {"y": 1.06, "fontsize": 12, "va": "bottom", "transform": axes.transAxes}
        axes.text(0.8, s=f"{was} → ", ha="right", color=ink, **above)
        axes.text(0.8, s=f"{now}", ha="left", color=colour, weight="bold", **above)
    return finished(figure)
