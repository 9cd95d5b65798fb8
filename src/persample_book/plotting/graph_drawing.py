"""Graphs of operations in one style, whatever framework they come from."""

from ..diagrams import CONSTANT, INPUT, LEAF, VALUE, Diagram

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


def _short(text: str) -> str:
    """Return the text of an edge without blanks, so that it fits between two boxes."""
    return text.replace(", ", ",")


def _arrow(axes, ends, colour, bend="arc3") -> None:
    dashes = (0, (3, 2)) if colour == BACKWARD else "-"
    style = {"arrowstyle": "-|>", "color": colour, "linestyle": dashes, "linewidth": 1.4}
    style |= {"shrinkA": 1, "shrinkB": 1, "connectionstyle": bend}
    axes.annotate("", ends[1], ends[0], arrowprops=style, zorder=1)
