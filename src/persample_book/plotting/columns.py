"""Lines of text, each with bars for its numbers; and the path of a sum, term by term."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import finished

LETTERS = 18  # of a line that are drawn, so that a phone shows text and bars side by side


def text_and_bars(
    lines: Sequence[str], columns: Mapping[str, np.ndarray], marked: int | None = None
) -> Figure:
    """Draw the beginning of each line and, at its right, a bar for each of {title: (B,) numbers}.

    Each column has a scale of its own from 0, and is as wide as its title asks for; the
    ``marked`` sample has another colour.
    """
    places = np.arange(len(lines))
    colours = [COLOURS[1] if i == marked else COLOURS[0] for i in places]
    figure, grid = plt.subplots(
        1,
        1 + len(columns),
        figsize=(4.9, 0.3 * len(lines) + 0.5),
        sharey=True,
        width_ratios=[11.0, *(3 + 0.4 * len(title) for title in columns)],
    )
    for place, line in zip(places, lines, strict=True):
        shown = line if len(line) <= LETTERS else line[: LETTERS - 1] + "…"
        grid[0].text(0, place, shown, family="monospace", fontsize=11, va="center")
    for axes, (title, numbers) in zip(grid[1:], columns.items(), strict=True):
        bars = axes.barh(places, numbers, height=0.62, color=colours)
        axes.bar_label(bars, [f"{n:.1f}" for n in numbers], padding=4, fontsize=11)
        axes.set_title(title, fontsize=12, loc="left")
        axes.set_xlim(0, 1.5 * max(numbers))
    for axes in grid:
        axes.set(yticks=[], xticks=[], ylim=(len(lines) - 0.5, -0.5))
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return finished(figure)


def sum_of_terms(paths: Mapping[str, np.ndarray]) -> Figure:
    """Draw how sums of vectors grow, term by term: {name: (T, any) vectors}, one panel for each.

    A dot stands where a sum so far ends: along the whole sum, and at its distance from that line.
    Its distance from the start is therefore the norm of the sum so far. The unit is the root of
    the mean squared norm of the terms. One scale for all panels, the same in both directions.
    """
    places = {name: _places(np.asarray(terms)) for name, terms in paths.items()}
    right = max(place[:, 0].max() for place in places.values())
    tops = [1.3 + place[:, 1].max() for place in places.values()]
    unit = 4.7 / (1.16 * right)  # inches
    figure, grid = plt.subplots(
        len(paths),
        1,
        figsize=(4.9, unit * sum(tops) + 0.34 * len(paths) + 0.75),
        sharex=True,
        squeeze=False,
        height_ratios=tops,
    )
    for k, (axes, (name, place)) in enumerate(zip(grid.flat, places.items(), strict=True)):
        axes.plot(*place.T, "o-", color=COLOURS[k], markersize=3.6, linewidth=1.2)
        norm = place[-1, 0]
        axes.annotate(f"{norm:.1f}", (norm, 0), (8, 0), textcoords="offset points", va="center")
        axes.set_title(name, fontsize=12, loc="left", family="monospace")
        axes.set(xlim=(-0.03 * right, 1.13 * right), ylim=(-0.6, tops[k] - 0.6))
        axes.set(yticks=[], aspect="equal", anchor="W")
        axes.spines["left"].set_visible(False)
        axes.grid(visible=False)
    grid[-1, 0].set_xlabel("norm of the sum / typical norm of a letter's gradient")
    return finished(figure)


def _places(terms):
    """Return (1 + T, 2): the sums so far, along the whole sum and away from it."""
    sums = np.concatenate([np.zeros_like(terms[:1]), terms.cumsum(0)])
    sums = sums / np.sqrt(np.square(terms).sum(1).mean())
    whole = sums[-1] / np.linalg.norm(sums[-1])
    along = sums @ whole
    return np.stack([along, np.linalg.norm(sums - along[:, None] * whole, axis=1)], 1)
