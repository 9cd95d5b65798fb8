"""Draw the pictures that are no output of a notebook.

In chapters/images, overview.svg is a figure of chapter 1. outcomes-*.png open the README and the
landing page, as the figure does chapter 1: dark ink for light pages, light ink for dark ones.

python scripts/draw_pictures.py [FOLDER]      chapters/images without one
"""

import sys
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import persample as ps
from persample_book import plotting
from persample_book.colours import METHODS
from persample_book.notebook import setup
from persample_book.problems import unscaled

IMAGES = Path(__file__).parent.parent / "chapters" / "images"
DRAWS = range(12)
INKS = {"light": plotting.INK, "dark": "#e6edf3"}  # by the page that the picture is for


def overview() -> Figure:
    """Draw four transitions, their rows, and the mean of these: numbers of one decimal."""
    theta = np.array([0.2, -0.2, 0.1])
    s = np.array([[2.0, 1, -2], [1, 0, 1], [0, 3, 1], [-1, 1, 2]])
    r = np.array([2.0, 1, 0, -1])
    s_next = np.array([[0.0, 2, 0], [0, 2, 1], [0, 0, -1], [2, 1, -2]])
    rows = ps.per_sample_grad(ps.td_loss)(theta, s, r, s_next)
    return plotting.overview(np.column_stack([s, r, s_next]), rows)


@cache
def reached() -> dict[str, dict[str, list[float]]]:
    """Return the percentages that chapter 1 draws: {panel: {way: one for each draw}}."""
    return {
        f"{bad} bad images": {
            way: unscaled.accuracies(way, DRAWS, bad=bad) for way in unscaled.WAYS
        }
        for bad in (70, 140)
    }


def outcomes(page: str) -> Figure:
    """Draw how many new images are recognised after training in spite of bad ones."""
    marked = {"each image clipped": METHODS["vmap"]}
    label = "new images recognised, in percent"
    return plotting.outcomes(reached(), label, marked, ink=INKS[page])


def draw(folder: Path) -> None:
    """Write all pictures into a folder."""
    setup(frameworks=("torch",))
    plt.rcParams.update({"svg.hashsalt": "per-sample", "svg.fonttype": "none"})
    overview().savefig(folder / "overview.svg", metadata={"Date": None, "Creator": None})
    for page in INKS:
        # Two pixels for each of the page's, as in the notebooks.
        name = folder / f"outcomes-{page}.png"
        outcomes(page).savefig(name, dpi=220, metadata={"Software": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if sys.argv[1:] else IMAGES)
