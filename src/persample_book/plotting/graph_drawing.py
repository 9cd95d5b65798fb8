"""Graphs of operations in one style, whatever framework they come from."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ..diagrams import CONSTANT, INPUT, LEAF, OUTPUT, VALUE, Diagram
from .style import finished

FORWARD, BACKWARD = "#0072B2", "#B34700"
BOXES = {  # kind -> how its box looks: told apart by shape and edge, not by colour alone
    LEAF: {"boxstyle": "square,pad=0", "facecolor": "#cfe3f2", "edgecolor": "#222"},
    INPUT: {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "#222"},
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
GAP, ROW, HEIGHT = 0.66, 0.78, 0.46  # inches between columns, from row to row, of a box
BOX_FONT, LABEL_FONT = 13, 13


def graph(diagram: Diagram) -> Figure:
    """Draw one graph: values flow along solid arrows, cotangents back along dashed ones.

    Operations are rounded boxes, what requires a gradient is blue, constants are dashed.
    """
    return graphs({"": diagram})


def graphs(diagrams: Mapping[str, Diagram]) -> Figure:
    """Draw graphs below each other, each under its title."""
    places = [_places(diagram) for diagram in diagrams.values()]
    rows = [1 + max(row for _, row in place) for place in places]
    above = [0.42 if any(diagrams) else 0.1 for _ in places]  # room for titles and for arcs
    for n, (diagram, place) in enumerate(zip(diagrams.values(), places, strict=True)):
        above[n] += 0.72 * any(_skips(place[e.source], place[e.target]) for e in diagram.edges)
    centres = list(map(_centres, diagrams.values(), places))
    size = (max(map(max, centres)) + 0.35, sum(rows) * ROW + sum(above))
    figure, axes = plt.subplots(figsize=size)
    top = 0.0
    for n, (title, diagram) in enumerate(diagrams.items()):
        axes.text(0.02, top + 0.2, title, ha="left", va="center", fontweight="bold")
        first = top + above[n] + HEIGHT / 2
        at = [(centres[n][column], first + row * ROW) for column, row in places[n]]
        _draw(axes, diagram, at, places[n])
        top += above[n] + rows[n] * ROW
    axes.set(xlim=(0, size[0]), ylim=(top, 0))
    axes.set_aspect("equal")
    axes.axis("off")
    return finished(figure)


def _centres(diagram: Diagram, place: Sequence[tuple[int, int]]) -> list[float]:
    """Return the middle of each column in inches: columns as wide as their widest box."""
    halves = [0.0] * (1 + max(column for column, _ in place))
    for vertex, (column, _) in zip(diagram.vertices, place, strict=True):
        halves[column] = max(halves[column], _half_width(vertex))
    written = any(edge.forward or edge.backward for edge in diagram.edges)
    gap = GAP if written else GAP / 2  # arrows without texts may be short
    centres = [0.05 + halves[0]]
    for before, half in zip(halves, halves[1:], strict=False):
        centres.append(centres[-1] + before + gap + half)
    return centres


def _places(diagram: Diagram) -> list[tuple[int, int]]:
    """Return (column, row): the depth; a constant goes below its reader where there is room."""
    depths = diagram.depths()
    filled: dict[int, int] = {}
    place = [(0, 0)] * len(depths)
    order = sorted(range(len(depths)), key=lambda i: diagram.vertices[i].kind == CONSTANT)
    for i in order:
        column = depths[i]
        if diagram.vertices[i].kind == CONSTANT and filled.get(column + 1) == 1:
            column += 1
        place[i] = column, filled.get(column, 0)
        filled[column] = place[i][1] + 1
    return place


def _skips(start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Say whether a level edge would run through the boxes of a column between."""
    return start[1] == end[1] and end[0] - start[0] > 1


def _lines(name: str) -> str:
    """Break a long name in two: AddBackward0 before its second word, reduce_sum at the _."""
    if len(name) < 9:
        return name
    return name.replace("Backward", "\nBackward").replace("_", "_\n", 1)


def _short(text: str) -> str:
    """Return the text of an edge without blanks, so that it fits between two boxes."""
    return text.replace(", ", ",")


def _half_width(vertex) -> float:
    """Return half the width of a vertex's box: its text, and a margin."""
    letters = max(map(len, _lines(vertex.name).split("\n")))
    letter = 0.053 if "\n" not in _lines(vertex.name) else 0.047  # two lines, smaller letters
    if vertex.kind == OUTPUT:
        return 0.32
    return max(0.2 + 0.04 * (vertex.kind == VALUE), letter * letters + 0.06)


def _draw(axes, diagram: Diagram, at: Sequence[tuple[float, float]], place: Sequence) -> None:
    for edge in diagram.edges:
        ends = at[edge.source], at[edge.target]
        if _skips(place[edge.source], place[edge.target]):
            _draw_arc(axes, edge, (ends[0][0], ends[1][0]), ends[0][1] - HEIGHT / 2)
        else:
            source, target = diagram.vertices[edge.source], diagram.vertices[edge.target]
            _draw_edge(axes, edge, source, target, *ends)
    for vertex, (x, y) in zip(diagram.vertices, at, strict=True):
        half = _half_width(vertex)
        look = {"color": "#111"}
        if vertex.kind == OUTPUT:
            look = {"color": "#444", "style": "italic"}
        else:
            corner = (x - half, y - HEIGHT / 2)
            box = FancyBboxPatch(corner, 2 * half, HEIGHT, zorder=2, **BOXES[vertex.kind])
            axes.add_patch(box)
        text = _lines(vertex.name)
        look["fontsize"] = BOX_FONT - 1.5 * ("\n" in text)
        axes.text(x, y, text, ha="center", va="center", linespacing=1.0, **look)


def _draw_edge(axes, edge, source, target, start, end) -> None:
    """Draw the arrows of one edge: level ones side to side, others into the box's foot."""
    (x0, y0), (x1, y1) = start, end
    upright, flat = x0 == x1, y0 == y1
    if upright:
        y0, y1 = y0 - HEIGHT / 2, y1 + HEIGHT / 2
    elif flat:
        x0, x1 = x0 + _half_width(source), x1 - _half_width(target)
    else:
        x0, x1 = x0 + _half_width(source), x1 - _half_width(target) / 2
        y1 += HEIGHT / 2
    if edge.forward is None and edge.backward is None:
        axes.plot([x0, x1], [y0, y1], color="#777", linestyle=":", linewidth=1.2, zorder=1)
        return
    shift = 0.06 if edge.forward is not None and edge.backward is not None else 0.0
    x = (x0 + x1) / 2 if flat else x0 + 0.2  # a rising arrow has its text on its right
    for text, sign, colour in ((edge.forward, -1, FORWARD), (edge.backward, 1, BACKWARD)):
        if text is None:
            continue
        y = [y0 + sign * shift, y1 + sign * shift]
        _arrow(axes, [(x0, y[0]), (x1, y[1])][::-sign], colour)
        look = {"ha": "center", "va": "top" if sign > 0 else "bottom", "fontsize": LABEL_FONT}
        if not flat:
            look |= {"ha": "left", "va": "center"}
        away = 0.05 if flat else 0.02
        axes.text(x, y[0] + sign * away, _short(text), color=colour, **look)


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
        axes.text(
            (x0 + x1) / 2,
            level,
            _short(text),
            color=colour,
            fontsize=LABEL_FONT,
            ha="center",
            va=va,
        )


def _arrow(axes, ends, colour, bend="arc3") -> None:
    dashes = (0, (3, 2)) if colour == BACKWARD else "-"
    style = {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "linewidth": 1.4}
    style |= {"shrinkA": 1, "shrinkB": 1, "connectionstyle": bend}
    axes.annotate("", ends[1], ends[0], arrowprops=style, zorder=1)
