"""Rows that a program returned on several devices, as arrows."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import finished

DEVICES, WRONG = (COLOURS[0], COLOURS[2]), COLOURS[1]


def rows_by_devices(rows: np.ndarray, returned: np.ndarray) -> Figure:
    """Draw the rows (B, 2) of two devices, and what a program returned for them, side by side.

    The first half of the samples lies on device 0 (blue), the rest on device 1 (green). On the
    right their rows are pale behind the returned ones (orange); equal ones are one arrow. The
    numbers of the samples, from 0, stand at the tips. Both panels have one scale.
    """
    own = [DEVICES[2 * k // len(rows)] for k in range(len(rows))]
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.6, 2.9), sharex=True, sharey=True)
    for k, row in enumerate(rows):
        _arrow(left, row, str(k), own[k])
        _arrow(right, row, "", own[k], alpha=0.45)
    tips, which = np.unique(returned, axis=0, return_inverse=True)
    for k, tip in enumerate(tips):
        _arrow(right, tip, ", ".join(map(str, np.flatnonzero(which.ravel() == k))), WRONG)
    half = len(rows) // 2
    _key(left, f"device 0: samples 0 to {half - 1}", DEVICES[0], 1)
    _key(left, f"device 1: samples {half} to {len(rows) - 1}", DEVICES[1], 0)
    _key(right, "what shard_map returns", WRONG, 0)
    everything = np.concatenate([rows, returned, [[0.0, 0.0]]])
    low, high = everything.min(0), everything.max(0)
    room = (high - low).max()  # for the names, and for the key at the bottom
    left.set(xlim=(low[0] - 0.3 * room, high[0] + 0.3 * room))
    left.set(ylim=(low[1] - 0.6 * room, high[1] + 0.22 * room))
    for axes, title in ((left, "right"), (right, "shard_map, 2 devices")):
        axes.set(aspect="equal")
        axes.set_title(title, loc="left")
    figure.supxlabel("first number of a row", fontsize=12)
    left.set_ylabel("second number", fontsize=12)
    return finished(figure)


def _key(axes, text, colour, line):
    """Say at the bottom of a panel what a colour means."""
    axes.text(0.03, 0.03 + 0.11 * line, text, color=colour, fontsize=11, transform=axes.transAxes)


def _arrow(axes, tip, name, colour, alpha=1.0):
    """Draw an arrow from 0 with its name beyond the tip."""
    line = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "mutation_scale": 12}
    line["alpha"] = alpha
    axes.annotate("", tip, (0, 0), arrowprops={**line, "shrinkA": 0, "shrinkB": 0})
    axes.plot(*tip, ".", markersize=1, color=colour)
    flat = abs(tip[0]) > abs(tip[1])
    across = ("left" if tip[0] > 0 else "right") if flat else "center"
    beyond = 5 * tip / (np.hypot(*tip) or 1.0)
    up = "center" if flat else ("bottom" if tip[1] > 0 else "top")
    axes.annotate(name, tip, beyond, textcoords="offset points", ha=across, va=up, fontsize=11,
                  in_layout=False)  # fmt: skip
