"""Curves over steps, episodes and batch sizes."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

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
    marker: str = "",
) -> Figure:
    """Draw one curve for each entry of ``lines``; ``log`` names log axes: "x", "y", "xy".

    ``level`` draws a horizontal line with a name: what the curves should reach. ``legend`` is
    "best" (where it covers least), "above" the axes, or "ends": each name at its curve's end.
    ``colours`` gives some curves a colour of their own; ``marker`` marks their points.
    """
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    for name, y in lines.items():
        axes.plot(x[: len(y)], y, label=name, marker=marker)
        if name in (colours or {}):
            axes.lines[-1].set_color(colours[name])
    if level is not None:
        axes.axhline(level[0], color="grey", linewidth=1, linestyle=":")
        place = {"xy": (1, level[0]), "xycoords": ("axes fraction", "data")}
        axes.annotate(level[1], **place, ha="right", va="bottom", color="#555")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_xscale("log" if "x" in log else "linear")
    axes.set_yscale("log" if "y" in log else "linear")
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
    heights = [axes.transData.transform(ends[line.get_label()])[1] * pixels for line in lines]
    lowest = -float("inf")
    for height, line in sorted(zip(heights, lines, strict=True), key=lambda pair: pair[0]):
        place = max(height, lowest + 14)
        lowest = place
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
    """Draw {backend: {rung: {batch size: time}}} side by side on common log-log axes."""
    figure, panels = plt.subplots(1, len(times), figsize=(5.8, 3.2), sharey=True)
    for axes, (backend, rungs) in zip(panels, times.items(), strict=True):
        for rung, points in rungs.items():
            axes.plot([int(size) for size in points], list(points.values()), label=rung)
        axes.set(xscale="log", yscale="log", title=backend, xlabel="batch size B")
    panels[0].set_ylabel("time / one grad")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return finished(figure)
