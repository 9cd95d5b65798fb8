"""Curves over steps, episodes and batch sizes."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

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
    marker: str | Mapping[str, str] = "",
    height: float = 3.4,
    width: float = 5.6,
    level_side: str = "right",
    yticks: Sequence[float] = (),
) -> Figure:
    """Draw one curve for each entry of ``lines``; ``log`` names log axes: "x", "y", "xy".

    ``level`` draws a horizontal line with a name: what the curves should reach. ``legend`` is
    "best" (where it covers least), "above" the axes, or "ends": each name at its curve's end.
    ``colours`` gives some curves a colour of their own; ``marker`` marks the points of all or, as
    a mapping, of some. ``height`` and ``width`` are the figure's, in inches. ``level_side`` is
    where the level's name stands, "left" or "right". ``yticks`` writes these numbers alone at
    the y axis, as they are.
    """
    figure, axes = plt.subplots(figsize=(width, height))
    for name, y in lines.items():
        mark = marker if isinstance(marker, str) else marker.get(name, "")
        axes.plot(x[: len(y)], y, label=name, marker=mark)
        if name in (colours or {}):
            axes.lines[-1].set_color(colours[name])
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
