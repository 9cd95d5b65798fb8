"""Rows on several devices: what a program returns, what is sent, what fits."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from ..colours import COLOURS
from .curves import name_ends
from .style import ARROW, INK, box, finished

DEVICES, WRONG = (COLOURS[0], COLOURS[2]), COLOURS[1]
_STAYS, _SENT = {"facecolor": "#cfe3f2"}, {"facecolor": "#f5c9a8"}
_SHORT = {**ARROW, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
_STEP, _HALF, _TITLE = 0.4, 0.135, 0.32  # inches from stage to stage, half a box, above a panel
_NAMES, _WIDE = 1.22, 0.84  # inches for the names at the left, and for each process


def rows_by_devices(rows: np.ndarray, returned: np.ndarray, chosen: int = 0) -> Figure:
    """Draw the rows (B, 2) of two devices, and what a program returned for them, side by side.

    The first half of the samples lies on device 0 (blue), the rest on device 1 (green). On the
    right stand the rows returned for sample ``chosen`` and for its partner in the same place of
    the other device (orange), both of their own rows, and the parallelogram of these two. All
    other arrows there are pale; equal ones are one arrow. The numbers of the samples, from 0,
    stand at the tips. Both panels have one scale.
    """
    half = len(rows) // 2
    pair = {chosen % half, chosen % half + half}
    own = [DEVICES[k // half] for k in range(len(rows))]
    everything = np.concatenate([rows, returned, [[0.0, 0.0]]])
    wide = [_limits(rows[:, 0], 1.3), _limits(everything[:, 0], 2.7)]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(4.7, 2.6), width_ratios=[high - low for low, high in wide]
    )
    tips, which = np.unique(returned, axis=0, return_inverse=True)
    holders = [np.flatnonzero(which.ravel() == k) for k in range(len(tips))]
    for tip, samples in zip(tips, holders, strict=True):
        if not pair & set(samples):
            _arrow(right, tip, ", ".join(map(str, samples)), WRONG, alpha=0.5)
    for k, row in enumerate(rows):
        _arrow(left, row, str(k), own[k])
        if k in pair:  # its number stands outside the parallelogram
            _arrow(right, row, str(k), own[k], outwards=row - returned[k] / 2)
    for tip, samples in zip(tips, holders, strict=True):
        if pair & set(samples):
            for k in pair & set(samples):
                sides = np.array([rows[k], tip])
                right.plot(*sides.T, "--", color=INK, linewidth=1.2)
            _arrow(right, tip, ", ".join(map(str, samples)), WRONG)
    down, up = _limits(everything[:, 1], 1.6)
    ticks = max(1, round(np.ptp(everything) / 4))
    for axes, title, limits in ((left, "correct", wide[0]), (right, "shard_map", wide[1])):
        axes.set(aspect="equal", xlim=limits, ylim=(down, up))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MultipleLocator(ticks))
        axes.set_title(title, fontsize=12, weight="bold", loc="left")
    right.set(yticklabels=[])
    left.set_ylabel("second number", fontsize=11)
    figure.supxlabel("first number of a row", fontsize=11)
    key = [plt.Line2D([], [], color=colour, lw=3) for colour in (*DEVICES, WRONG)]
    figure.legend(key, ["device 0", "device 1", "returned"], loc="outside upper center", ncols=3)
    return finished(figure)


def _limits(numbers: np.ndarray, room: float) -> tuple[float, float]:
    """Return the range of some numbers and 0, with room on both sides for the names at tips."""
    return min(numbers.min(), 0.0) - room, max(numbers.max(), 0.0) + room


def _arrow(axes, tip, name, colour, alpha=1.0, outwards=None):
    """Draw an arrow from 0 with its name beyond the tip, or ``outwards`` from there."""
    way = tip if outwards is None else outwards
    line = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "mutation_scale": 12}
    line["alpha"] = alpha
    axes.annotate("", tip, (0, 0), arrowprops={**line, "shrinkA": 0, "shrinkB": 0})
    axes.plot(*tip, ".", markersize=1, color=colour)
    flat = abs(way[0]) > abs(way[1])
    across = ("left" if way[0] > 0 else "right") if flat else "center"
    beyond = 5 * way / (np.hypot(*way) or 1.0)
    up = "center" if flat else ("bottom" if way[1] > 0 else "top")
    axes.annotate(name, tip, beyond, textcoords="offset points", ha=across, va=up, fontsize=11,
                  color=INK if alpha == 1 else "#777", in_layout=False)  # fmt: skip


def exchanges(panels: Mapping[str, Sequence[tuple[str | None, str | Sequence[str]]]]) -> Figure:
    """Draw what each process has, stage by stage, and what they send; panels below each other.

    Parameters
    ----------
    panels : {title: stages}; a stage is (name, texts). A sequence of texts has one for each
        process and is drawn as boxes that stay where they are (blue). One text is a bar across
        all processes (orange): what it names is sent. Without a name (None) it has no box: it
        says what is done on the way from the stage above to the one below.
    """
    stages = [stage for panel in panels.values() for stage in panel]
    processes = max(len(texts) for _, texts in stages if not isinstance(texts, str))
    size = _NAMES + processes * _WIDE, len(panels) * _TITLE + len(stages) * _STEP + 0.05
    figure, axes = plt.subplots(figsize=size)
    top = 0.0
    for title, panel in panels.items():
        axes.text(0.02, top + 0.15, title, weight="bold", va="center", fontsize=12)
        top += _TITLE
        for number, (name, texts) in enumerate(panel):
            level = top + 0.45 * _STEP
            axes.text(0.02, level, name or "", va="center", fontsize=11)
            if name is None:
                _filled(axes, _NAMES, level, processes * _WIDE, texts, None)
            elif isinstance(texts, str):
                _filled(axes, _NAMES, level, processes * _WIDE, texts, _SENT)
            else:
                for k, text in enumerate(texts):
                    _filled(axes, _NAMES + k * _WIDE, level, _WIDE, text, _STAYS)
            if number:
                for k in range(processes):
                    x = _NAMES + (k + 0.5) * _WIDE
                    axes.annotate("", (x, level - _HALF), (x, level - _STEP + _HALF),
                                  arrowprops=_SHORT)  # fmt: skip
            top += _STEP
    axes.set(xlim=(0, size[0]), ylim=(top, 0), aspect="equal")
    axes.axis("off")
    return finished(figure)


def _filled(axes, left, level, width, text, style):
    """Draw a text, in a box with a little room on both sides if there is a style."""
    if style:
        box(axes, left + width / 2, level, width / 2 - 0.04, _HALF, style)
    weight = "normal" if style else "bold"
    axes.text(left + width / 2, level, text, ha="center", va="center", fontsize=11, weight=weight)


def memory_by_devices(
    devices: Sequence[int], lines: Mapping[str, Sequence[float]], limit: float
) -> Figure:
    """Draw GB on each device against the number of devices, on logarithmic axes.

    What is above ``limit``, in GB, lies in a coloured area that says "does not fit". Where a
    line leaves it, a ring is marked with the number of devices, rounded up.
    """
    figure, axes = plt.subplots(figsize=(4.7, 3.4))
    for name, amounts in lines.items():
        axes.plot(devices, amounts, marker="o", label=name)
    highest = 10 * max(map(max, lines.values()))
    axes.set(xscale="log", yscale="log", xlabel="devices", ylabel="GB on each device")
    axes.set_ylim(top=highest)
    axes.axhspan(limit, highest, color=WRONG, alpha=0.15, linewidth=0)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "color": INK}
    axes.annotate(f"does not fit in {limit:g} GB", (1, highest), (-6, -6), ha="right", va="top",
                  **place)  # fmt: skip
    axes.annotate("fits", (1, limit), (-6, -6), ha="right", va="top", **place)
    for amounts in lines.values():
        logs = np.log([amounts[::-1], devices[::-1]])
        if amounts[-1] <= limit < amounts[0]:
            n = float(np.exp(np.interp(np.log(limit), *logs)))
            axes.plot(n, limit, "o", markersize=9, color=INK, fillstyle="none")
            axes.annotate(f"{np.ceil(n):,.0f} devices", (n, limit), (7, 7), color=INK,
                          textcoords="offset points")  # fmt: skip
    axes.set_xticks(devices, [f"{n:,}" for n in devices])
    axes.set_xticks([], minor=True)
    name_ends(axes, {name: (devices[-1], amounts[-1]) for name, amounts in lines.items()})
    return finished(figure)
