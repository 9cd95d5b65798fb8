"""Small images in a grid."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

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
