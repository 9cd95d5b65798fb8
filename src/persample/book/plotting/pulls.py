"""What each answer adds to an expected policy gradient, and where its sign is wrong."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import INK, finished

_RIGHT, _WRONG = COLOURS[0], COLOURS[3]  # answers
_TURNED = COLOURS[1]  # a wrong sign


def pulls(names: Sequence[str], panels: Mapping[str, np.ndarray], right: Sequence[bool]) -> Figure:
    """Draw signed bars, one for each name, and their sum below; one panel for each {title: (K,)}.

    Bars of right and of wrong answers have two colours, with a key; the sum is dark. One scale for
    all panels; the lowest says which way is which.
    """
    figure, all_axes = plt.subplots(
        len(panels), 1, figsize=(5.2, 0.5 + 2.4 * len(panels)), sharex=True, squeeze=False
    )
    totals = {title: [*values, np.sum(values)] for title, values in panels.items()}
    reach = 1.8 * max(np.abs(numbers).max() for numbers in totals.values()) or 1.0
    colours = [_RIGHT if good else _WRONG for good in right] + [INK]
    for axes, (title, numbers) in zip(all_axes.flat, totals.items(), strict=True):
        places = [*range(len(names)), len(names) + 0.35]
        axes.barh(places, numbers, height=0.62, color=colours)
        for place, number in zip(places, numbers, strict=True):
            side = -1 if number < 0 else 1
            axes.annotate(f"{number:+.3f}".replace("-", "−"), (number, place), (4 * side, 0),
                          textcoords="offset points", va="center", fontsize=11,
                          ha="left" if side > 0 else "right")  # fmt: skip
        axes.axvline(0, color=INK, linewidth=1)
        axes.set_yticks(places, [*names, "sum"])
        axes.get_yticklabels()[-1].set_fontweight("bold")
        axes.set_title(title, loc="left", weight="bold", fontsize=12)
        axes.set(xlim=(-reach, reach), ylim=(len(names) + 0.85, -0.5), xticks=[])
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)
    all_axes[-1, 0].set_xlabel("fewer a  ←            →  more a")
    key = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in (_RIGHT, _WRONG)]
    figure.legend(key, ["right answer", "wrong answer"], loc="outside upper center", ncols=2)
    return finished(figure)


def sign_map(
    x: np.ndarray,
    y: np.ndarray,
    truth: np.ndarray,
    panels: Mapping[str, np.ndarray],
    xlabel: str,
    ylabel: str,
    point: tuple[float, float],
) -> Figure:
    """Draw where numbers (len(y), len(x)) have the sign opposite to ``truth``, a panel for each.

    A line shows where the truth is zero, a ring marks ``point``. Two panels stand in a line.

    Raises
    ------
    ValueError
        "sign_map: 'GRPO' has 3 numbers that are NaN or infinite, which have no sign"
    """
    figure, grid = plt.subplots(
        -(-len(panels) // 2), 2, figsize=(5.4, 0.35 + 2.65 * -(-len(panels) // 2)), sharex=True,
        sharey=True, squeeze=False,
    )  # fmt: skip
    for axes, (title, values) in zip(grid.flat, panels.items(), strict=False):
        product = np.asarray(values) * truth
        if bad := np.count_nonzero(~np.isfinite(product)):
            plt.close(figure)
            raise ValueError(
                f"sign_map: {title!r} has {bad} numbers that are NaN or infinite, "
                "which have no sign"
            )
        least = min(product.min(), 0.0) - 1.0
        axes.contourf(x, y, product, levels=[least, 0.0], colors=[_TURNED])
        axes.contour(x, y, truth, levels=[0], colors=INK, linewidths=1.4)
        axes.plot(*point, "o", mfc="none", mec=INK, markersize=9, mew=1.8)
        axes.set_title(title, fontsize=12)
        axes.grid(False)
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)
    for axes in grid[:, 0]:
        axes.set_ylabel(ylabel)
    key = [plt.Rectangle((0, 0), 1, 1, color=_TURNED), plt.Line2D([], [], color=INK, lw=1.4)]
    figure.legend(key, ["wrong sign", "true gradient is 0"], loc="outside lower center", ncols=2)
    return finished(figure)
