"""Curves over steps, episodes and batch sizes."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ..colours import METHODS
from .style import finished


def curves(
    x: Sequence,
    lines: Mapping[str, Sequence],
    xlabel: str,
    ylabel: str,
    *,
    log: str = "",
    level: tuple[float, str] | None = None,
    legend: str = "best",
    colours: Mapping[str, str] | None = None,
    dashes: Mapping[str, object] | None = None,
    marker: str | Mapping[str, str] = "",
    height: float = 3.4,
    width: float = 5.6,
    level_side: str = "right",
    yticks: Sequence[float] = (),
) -> Figure:
    """Draw one curve for each entry of ``lines``; ``log`` names log axes: "x", "y", "xy".

    ``level`` draws a horizontal line with a name: what the curves should reach. ``legend`` is
    "best" (where it covers least), "above" the axes, or "ends": each name at its curve's end.
    ``colours`` and ``dashes`` give some curves a colour and a line style of their own; ``marker``
    marks the points of all or, as a mapping, of some. ``height`` and ``width`` are the figure's,
    in inches. ``level_side`` is where the level's name stands, "left" or "right". ``yticks``
    writes these numbers alone at the y axis, as they are.
    """
    figure, axes = plt.subplots(figsize=(width, height))
    for name, y in lines.items():
        mark = marker if isinstance(marker, str) else marker.get(name, "")
        axes.plot(x[: len(y)], y, label=name, marker=mark)
        if name in (colours or {}):
            axes.lines[-1].set_color(colours[name])
        if name in (dashes or {}):
            axes.lines[-1].set_linestyle(dashes[name])
    if level is not None:
        axes.axhline(level[0], color="grey", linewidth=1, linestyle=":")
        edge = 1 if level_side == "right" else 0.01
        place = {"xy": (edge, level[0]), "xycoords": ("axes fraction", "data")}
        axes.annotate(level[1], **place, ha=level_side, va="bottom", color="#555")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_xscale("log" if "x" in log else "linear")
    axes.set_yscale("log" if "y" in log else "linear")
    if len(yticks):
        axes.set_yticks(yticks, [f"{y:g}" for y in yticks])
        axes.yaxis.set_minor_formatter(NullFormatter())
    if legend == "above":
        figure.set_figheight(4.0)
        figure.legend(loc="outside upper center", ncols=2)
    elif legend == "ends":
        name_ends(axes, {name: (x[len(y) - 1], y[-1]) for name, y in lines.items()})
    else:
        axes.legend()
    return finished(figure)


def name_ends(axes, ends: Mapping[str, tuple[float, float]]) -> None:
    """Write each curve's name at its end, to the right of the axes, in the curve's colour.

    Names that would overlap are moved apart. Set the scales and limits of the axes beforehand.
    """
    axes.get_ylim()  # or what was drawn last has not changed the limits yet
    pixels = 72 / axes.figure.dpi  # to points
    lines = [line for line in axes.lines if line.get_label() in ends]
    points = [axes.transData.transform(ends[line.get_label()]) * pixels for line in lines]
    placed = []  # ends more than 60 points apart leave room for a name between them
    for (x, height), line in sorted(zip(points, lines, strict=True), key=lambda pair: pair[0][1]):
        place = max([height, *(other + 14 for at, other in placed if abs(at - x) < 60)])
        placed.append((x, place))
        axes.annotate(
            line.get_label(),
            ends[line.get_label()],
            (6, place - height),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            annotation_clip=False,
        )


def ladder(times: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Draw {backend: {rung: {batch size: time}}}, one panel below the other, log-log.

    Rungs are named at their curves' ends. A dotted line marks the unit: one gradient. The figure
    is narrow, so that a phone shows its text nearly at full size.
    """
    figure, panels = plt.subplots(
        len(times), 1, figsize=(4.5, 1.65 * len(times) + 0.3), sharex=True, sharey=True
    )
    for axes, (backend, rungs) in zip(panels, times.items(), strict=True):
        ends = {}
        for rung, points in rungs.items():
            sizes, values = [int(size) for size in points], list(points.values())
            name = "vmap + jit" if rung == "jit" else rung
            axes.plot(sizes, values, label=name, color=METHODS[name])
            ends[name] = sizes[-1], values[-1]
        axes.axhline(1, color="grey", linewidth=1, linestyle=":")
        axes.set(xscale="log", yscale="log")
        axes.set_title(backend, loc="left")
        name_ends(axes, ends)
    place = {"xy": (0.01, 1), "xycoords": ("axes fraction", "data")}
    panels[-1].annotate(  # below the line, where the last panel has room
        "one gradient", **place, xytext=(0, -2), textcoords="offset points",
        ha="left", va="top", color="#555",
    )  # fmt: skip
    panels[-1].set_xlabel("batch size B")
    figure.supylabel("time of all rows / time of one gradient", fontsize=12)
    return finished(figure)
