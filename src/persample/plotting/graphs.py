"""Graphs of operations in one style, whatever framework they come from; and when they pay."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch

from ..graphs import CONSTANT, LEAF, OUTPUT, VALUE, Diagram
from .style import finished

FORWARD, BACKWARD = "#0072B2", "#B34700"
BOXES = {  # kind -> how its box looks: told apart by shape and edge, not by colour alone
    LEAF: {"boxstyle": "square,pad=0", "facecolor": "#cfe3f2", "edgecolor": "#222"},
    VALUE: {
        "boxstyle": "round,pad=0,rounding_size=0.17",
        "facecolor": "white",
        "edgecolor": "#222",
    },
    CONSTANT: {
        "boxstyle": "square,pad=0",
        "facecolor": "#eeeeee",
        "edgecolor": "#777",
        "linestyle": "--",
    },
}
NAMES = {LEAF: "input or leaf tensor", VALUE: "intermediate value", CONSTANT: "constant"}
COLUMN, ROW, HEIGHT = 1.36, 0.74, 0.4  # inches


def graph(diagram: Diagram) -> Figure:
    """Draw one graph: values flow along solid arrows, cotangents back along dashed ones."""
    return graphs({"": diagram})


def graphs(diagrams: Mapping[str, Diagram]) -> Figure:
    """Draw graphs below each other, each under its title."""
    places = [_places(diagram) for diagram in diagrams.values()]
    rows = [1 + max(row for _, row in place) for place in places]
    width = 1 + max(column for place in places for column, _ in place)
    above = [0.42 if any(diagrams) else 0.12 for _ in places]  # room for titles and for arcs
    for n, (diagram, place) in enumerate(zip(diagrams.values(), places, strict=True)):
        above[n] += 0.8 * any(_skips(place[e.source], place[e.target]) for e in diagram.edges)
    heights = [n * ROW + extra for n, extra in zip(rows, above, strict=True)]
    size = (COLUMN * (width - 0.42), sum(heights) + 0.62)
    figure, axes = plt.subplots(figsize=size)
    top = 0.0
    for (title, diagram), place, extra in zip(diagrams.items(), places, above, strict=True):
        axes.text(-0.42 * COLUMN, top + 0.16, title, ha="left", va="center", fontweight="bold")
        at = [(x * COLUMN, top + extra + HEIGHT / 2 + y * ROW) for x, y in place]
        _draw(axes, diagram, at)
        top += extra + ROW * (1 + max(row for _, row in place))
    axes.set(xlim=(-0.45 * COLUMN, size[0] - 0.45 * COLUMN), ylim=(top + 0.05, -0.05))
    axes.set_aspect("equal")
    axes.axis("off")
    _legend(figure, diagrams.values())
    return finished(figure)


def _places(diagram: Diagram) -> list[tuple[int, int]]:
    """Return (column, row): the depth, then operations above constants."""
    depths = diagram.depths()
    filled: dict[int, int] = {}
    place = [(0, 0)] * len(depths)
    order = sorted(range(len(depths)), key=lambda i: diagram.vertices[i].kind == CONSTANT)
    for i in order:
        place[i] = depths[i], filled.get(depths[i], 0)
        filled[depths[i]] = place[i][1] + 1
    return place


def _skips(start: Sequence[float], end: Sequence[float], column: float = 1) -> bool:
    """Say whether a level edge would run through the boxes of a column between."""
    return start[1] == end[1] and end[0] - start[0] > 1.5 * column


def _lines(name: str) -> str:
    """Break a long name in two: AddBackward0 before its second word, reduce_sum at the _."""
    if len(name) < 9:
        return name
    return name.replace("Backward", "\nBackward").replace("_", "_\n", 1)


def _half_width(vertex) -> float:
    """Return half the width of a vertex's box: its text at 10 points, and a margin."""
    letters = max(map(len, _lines(vertex.name).split("\n")))
    return 0.25 if vertex.kind == OUTPUT else max(0.2, 0.041 * letters + 0.07)


def _draw(axes, diagram: Diagram, at: Sequence[tuple[float, float]]) -> None:
    for edge in diagram.edges:
        source, target = diagram.vertices[edge.source], diagram.vertices[edge.target]
        _draw_edge(axes, edge, source, target, at[edge.source], at[edge.target])
    for vertex, (x, y) in zip(diagram.vertices, at, strict=True):
        half = _half_width(vertex)
        look = {"color": "#111"}
        if vertex.kind == OUTPUT:
            look = {"color": "#444", "style": "italic"}
        else:
            corner = (x - half, y - HEIGHT / 2)
            box = FancyBboxPatch(corner, 2 * half, HEIGHT, zorder=2, **BOXES[vertex.kind])
            axes.add_patch(box)
        axes.text(x, y, _lines(vertex.name), ha="center", va="center", fontsize=10, **look)


def _draw_edge(axes, edge, source, target, start, end) -> None:
    """Draw the arrows of one edge: level ones side to side, rising ones into the box's foot."""
    (x0, y0), (x1, y1) = start, end
    if _skips(start, end, COLUMN):
        _draw_arc(axes, edge, (x0, x1), y0 - HEIGHT / 2)
        return
    x0, flat = x0 + _half_width(source), y0 == y1
    if flat:
        x1 -= _half_width(target)
    else:
        x1, y1 = x1 - _half_width(target) / 2, y1 + HEIGHT / 2
    if edge.forward is None and edge.backward is None:
        axes.plot([x0, x1], [y0, y1], color="#777", linestyle=":", linewidth=1.2, zorder=1)
        return
    shift = 0.06 if edge.forward is not None and edge.backward is not None else 0.0
    along = 0.5 if flat else 0.2  # a rising arrow has its text near its start, below
    x, where = x0 + along * (x1 - x0), "center" if flat else "left"
    for text, sign, colour in ((edge.forward, -1, FORWARD), (edge.backward, 1, BACKWARD)):
        if text is None:
            continue
        y = [y0 + sign * shift, y1 + sign * shift]
        _arrow(axes, [(x0, y[0]), (x1, y[1])][::-sign], colour)
        below = sign > 0 or not flat
        level = y[0] + along * (y[1] - y[0]) + (0.05 if below else -0.05)
        look = {"ha": where, "va": "top" if below else "bottom", "fontsize": 9.5}
        axes.text(x, level, text, color=colour, **look)


def _draw_arc(axes, edge, ends, top) -> None:
    """Draw the arrows of an edge that skips a column, above the boxes."""
    x0, x1 = ends
    for text, sign, colour in ((edge.forward, -1, FORWARD), (edge.backward, 1, BACKWARD)):
        if text is None:
            continue
        inset, bend = 0.07 * (sign > 0), 0.40 - 0.05 * (sign > 0)
        points = [(x0 + inset, top), (x1 - inset, top)][::-sign]
        _arrow(axes, points, colour, f"arc3,rad={sign * bend}")
        level = top - bend * (x1 - x0 - 2 * inset) / 2 + 0.05 * sign
        va = "top" if sign > 0 else "bottom"
        axes.text((x0 + x1) / 2, level, text, color=colour, fontsize=9.5, ha="center", va=va)


def _arrow(axes, ends, colour, bend="arc3") -> None:
    dashes = (0, (3, 2)) if colour == BACKWARD else "-"
    style = {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "linewidth": 1.4}
    style |= {"shrinkA": 1, "shrinkB": 1, "connectionstyle": bend}
    axes.annotate("", ends[1], ends[0], arrowprops=style, zorder=1)


def _legend(figure: Figure, diagrams) -> None:
    kinds = {vertex.kind for diagram in diagrams for vertex in diagram.vertices}
    handles = []
    for kind in (LEAF, VALUE, CONSTANT):
        if kind in kinds:
            style = {key: x for key, x in BOXES[kind].items() if key != "boxstyle"}
            handles.append(Patch(label=NAMES[kind], **style))
    edges = [edge for diagram in diagrams for edge in diagram.edges]
    if any(edge.forward is not None for edge in edges):
        handles.append(Line2D([], [], color=FORWARD, linewidth=1.4, label="forward: values"))
    if any(edge.backward is not None for edge in edges):
        handles.append(
            Line2D(
                [],
                [],
                color=BACKWARD,
                linewidth=1.4,
                linestyle=(0, (3, 2)),
                label="backward: cotangents",
            )
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9.5)


def break_even(costs: Mapping[str, Mapping[str, float]], calls: int = 100_000) -> Figure:
    """Draw, against the number of calls, what compiling has cost so far over not compiling.

    costs : {backend: {"first": ..., "later": ...}}, in calls without a compiler.
    """
    figure, axes = plt.subplots(figsize=(5.8, 3.6))
    numbers = [max(1, round(10 ** (k / 20))) for k in range(101)]
    numbers = [n for n in dict.fromkeys(numbers) if n <= calls]
    for name, cost in costs.items():
        total = [(cost["first"] + (n - 1) * cost["later"]) / n for n in numbers]
        axes.plot(numbers, total, label=name)
    axes.axhline(1, color="#555", linewidth=1)
    axes.text(1.1, 0.9, "not compiled", va="top", color="#444", fontsize=11)
    axes.set(xscale="log", yscale="log", xlabel="number of calls")
    axes.set_ylabel("compiled / not compiled,\ntotal time")
    axes.legend()
    return finished(figure)


def timeline(systems: Sequence[tuple[str, int, int | None, str]], until: int) -> Figure:
    """Draw one bar a system: name, first year, last year (None: goes on), kind of graph.

    kind : "static", "dynamic" or "both".
    """
    looks = {
        "static": {"facecolor": "#0072B2", "edgecolor": "#222"},
        "dynamic": {"facecolor": "#f6d8a8", "edgecolor": "#222"},
        "both": {"facecolor": "#bfe3d5", "edgecolor": "#222", "hatch": "///"},
    }
    texts = {"static": "static", "dynamic": "dynamic", "both": "dynamic, compiled on request"}
    figure, axes = plt.subplots(figsize=(6.4, 0.9 + 0.3 * len({s[0] for s in systems})))
    rows = list(dict.fromkeys(name for name, *_ in systems))
    for name, first, last, kind in systems:
        end = until if last is None else last
        axes.barh(rows.index(name), end - first, left=first, height=0.62, **looks[kind])
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlim=(min(s[1] for s in systems) - 0.5, until), ylim=(len(rows) - 0.4, -0.6))
    axes.set_xlabel("year")
    axes.grid(axis="y", visible=False)
    handles = [Patch(label=texts[kind], **look) for kind, look in looks.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=10)
    return finished(figure)
