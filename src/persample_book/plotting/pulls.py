"""What answers add to an expected policy gradient, where its sign is wrong, where it leads."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import INK, finished

_RIGHT, _WRONG = COLOURS[0], COLOURS[3]  # answers
_TURNED = COLOURS[1]  # a wrong sign
WALKS = COLOURS[2], COLOURS[1], COLOURS[4]  # of walks in a valley


def pulls(
    names: Sequence[str],
    panels: Mapping[str, np.ndarray],
    right: Sequence[bool],
    notes: Mapping[str, Sequence[str]] | None = None,
) -> Figure:
    """Draw signed bars, one for each name, and their sum below; one panel for each {title: (K,)}.

    Bars of right and of wrong answers have two colours, with a key; the sum is dark. One scale for
    all panels; each says which way is which. ``notes`` writes a text beside each bar of a panel,
    at the right edge.
    """
    figure, all_axes = plt.subplots(
        len(panels), 1, figsize=(4.7, 0.5 + 2.25 * len(panels)), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    figure.get_layout_engine().set(hspace=0.06)
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
        for place, note in enumerate((notes or {}).get(title, ())):
            axes.annotate(note, (1, place), xycoords=("axes fraction", "data"), ha="right",
                          va="center", fontsize=12, weight="bold", color=_TURNED)  # fmt: skip
        axes.set_title(title, weight="bold", fontsize=12)
        axes.set(xlim=(-reach, reach), ylim=(len(names) + 0.85, -0.5), xticks=[])
        axes.set_xlabel("fewer a  ←            →  more a")
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)
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

    A line shows where the truth is zero, a dot marks ``point``. All panels stand in a line.

    Raises
    ------
    ValueError
        "sign_map: 'GRPO' has 3 numbers that are NaN or infinite, which have no sign"
    """
    figure, (line,) = plt.subplots(
        1, len(panels), figsize=(5.4, 3.2), sharex=True, sharey=True, squeeze=False
    )
    for axes, (title, values) in zip(line, panels.items(), strict=True):
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
        axes.plot(*point, "o", mfc=INK, mec="white", markersize=8, mew=1.2)
        axes.set_title(title, fontsize=12)
        axes.grid(False)
    line[len(line) // 2].set_xlabel(xlabel)
    line[0].set_ylabel(ylabel)
    key = [plt.Rectangle((0, 0), 1, 1, color=_TURNED), plt.Line2D([], [], color=INK, lw=1.4)]
    figure.legend(key, ["wrong sign", "true gradient is 0"], loc="outside lower center", ncols=2)
    return finished(figure)


def valley(
    x: np.ndarray,
    height: np.ndarray,
    walks: Mapping[str, tuple[np.ndarray, np.ndarray]],
    xlabel: str,
    ylabel: str,
) -> Figure:
    """Draw a curve, and on it walks {name: (x, height)} of dots that begin at one point.

    The common start is a ring. Each walk has a colour, and its name beside its last dot: at the
    right of a walk that ends left of its start, and at the left of one that ends right of it.
    """
    figure, axes = plt.subplots(figsize=(4.7, 3.0))
    axes.plot(x, height, color=INK, linewidth=1.2, linestyle="-", zorder=1)
    for (name, (along, up)), colour in zip(walks.items(), WALKS, strict=False):
        axes.plot(along[1:], up[1:], "o", color=colour, markersize=7, mec="white", mew=0.8)
        side = 1 if along[-1] < along[0] else -1
        axes.annotate(name, (along[-1], up[-1]), (14 * side, 0), textcoords="offset points",
                      va="center", ha="left" if side > 0 else "right", color=colour,
                      weight="bold")  # fmt: skip
        start = along[0], up[0]
    axes.plot(*start, "o", mfc="white", mec=INK, markersize=10, mew=1.8)
    axes.annotate("start", start, (0, 10), textcoords="offset points", ha="center", va="bottom")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return finished(figure)
