"""Draw the picture of the preface and the README: images/overview.svg."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import persample as ps
from persample.book import plotting
from persample.book.notebook import setup

PICTURE = Path(__file__).parent.parent / "images" / "overview.svg"


def draw(path: Path) -> None:
    """Draw four transitions, their rows, and the mean of these."""
    setup(frameworks=())
    plt.rcParams.update({"svg.hashsalt": "per-sample", "svg.fonttype": "none"})
    theta = np.array([0.2, -0.2, 0.1])
    s = np.array([[2.0, 1, -2], [1, 0, 1], [0, 3, 1], [-1, 1, 2]])
    r = np.array([2.0, 1, 0, -1])
    s_next = np.array([[1.0, 2, 0], [0, 1, 1], [0, 0, 0], [2, 1, -2]])
    rows = ps.per_sample_grad(ps.td_loss)(theta, s, r, s_next)
    figure = plotting.overview(np.column_stack([s, r, s_next]), rows)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(PICTURE)
