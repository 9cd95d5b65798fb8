"""Small problems as diagrams: states in circles, transitions as arrows."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from .style import ARROW, INK, finished

Place = tuple[float, float]


def a_presplit() -> Figure:
    """Draw the A-presplit: the coin falls before A, in two states that share one feature."""
    places = {"A1": (0, 0.6), "A2": (0, -0.6), "B": (2, 0.6), "C": (2, -0.6)}
    moves = [("A1", "B", ""), ("A2", "C", "")]
    return _states(
        places, moves, {"B": "reward 1", "C": "reward 0"}, group=("A1", "A2", "one weight")
    )


def _states(
    places: Mapping[str, Place],
    moves: Sequence[tuple[str, str, str]],
    exits: Mapping[str, str],
    group: tuple[str, str, str] | None = None,
) -> Figure:
    """Draw states at their places, named moves between them, and exits with a reward."""
    figure, axes = plt.subplots(figsize=(5.0, 1.9))
    for start, end, name in moves:
        _move(axes, places[start], places[end], name)
    for state, reward in exits.items():
        x, y = places[state]
        _move(axes, (x, y), (x + 1.9, y), reward)
        axes.add_patch(plt.Rectangle((x + 1.6, y - 0.1), 0.2, 0.2, color="#555"))
    for name, place in places.items():
        axes.add_patch(plt.Circle(place, 0.3, facecolor="white", edgecolor=INK, zorder=2))
        axes.text(*place, name, ha="center", va="center", zorder=3)
    if group is not None:
        first, last, text = group
        (x, high), (_, low) = places[first], places[last]
        corner, size = (x - 0.42, low - 0.4), (0.84, high - low + 0.8)
        axes.add_patch(FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=0.2",
                                      facecolor="none", edgecolor="#555", ls="--"))  # fmt: skip
        axes.text(x - 0.52, (low + high) / 2, text, ha="right", va="center", color="#555")
    left = -1.5 if group else -0.4
    axes.set(xlim=(left, 4.0), ylim=(-1.05, 1.05), aspect="equal")
    axes.axis("off")
    return finished(figure)


def _move(axes, start: Place, end: Place, name: str) -> None:
    """Draw an arrow from one state to another, its name above its middle."""
    axes.annotate("", end, start, arrowprops={**ARROW, "shrinkA": 21, "shrinkB": 21})
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    above = end[1] >= start[1]
    axes.annotate(name, middle, (0, 4 if above else -4), textcoords="offset points",
                  ha="center", va="bottom" if above else "top")  # fmt: skip


def seven_states() -> Figure:
    """Draw Baird's counterexample: seven states with their values, every move to the seventh."""
    figure, axes = plt.subplots(figsize=(5.8, 2.9))
    seventh, large = (2.5, -1.5), 16  # points: a label has two lines, to be read on a phone
    for i in range(6):
        _circle(axes, (i, 0), str(i + 1))
        value = f"$2\\theta_{i + 1}$\n$+\\theta_8$"
        axes.text(i, 0.38, value, ha="center", va="bottom", fontsize=large)
        axes.annotate("", seventh, (i, 0), arrowprops={**ARROW, "shrinkA": 14, "shrinkB": 16})
    _circle(axes, seventh, "7")
    axes.text(2.95, -1.56, r"$\theta_7+2\theta_8$", ha="left", va="center", fontsize=large)
    loop = {**ARROW, "connectionstyle": "arc3,rad=1.6", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (2.64, -1.76), (2.36, -1.76), arrowprops=loop)
    axes.set(xlim=(-0.55, 5.55), ylim=(-2.25, 1.15), aspect="equal")
    axes.axis("off")
    return finished(figure)


def _circle(axes, place: Place, name: str) -> None:
    """Draw a state with its name."""
    axes.add_patch(plt.Circle(place, 0.28, facecolor="white", edgecolor=INK, zorder=2))
    axes.text(*place, name, ha="center", va="center", zorder=3)
