"""What happens to the losses of a list: walks through graphs, graphs' lives, tokens' weights."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import METHODS
from .curves import curves
from .style import ARROW, INK, box, finished

# How the losses of a list are back-propagated: a colour each.
_LISTS = {
    "in a list": METHODS["one pass"],
    "immediately": METHODS["loop"],
    "one forward": "#000000",
}
_ZERO = "#d9dde2"


def held(counts: Sequence[int], peaks: Mapping[str, np.ndarray]) -> Figure:
    """Draw the most bytes that each way held, over the number of losses, on log axes."""
    figure = curves(
        counts,
        {name: np.asarray(peak) / 1024 for name, peak in peaks.items()},
        "number of losses (log)",
        "held at the peak (KiB, log)",
        log="xy",
        legend="ends",
        colours=_LISTS,
    )
    figure.set_size_inches(4.2, 3.0)  # narrow, for large names on a phone
    (axes,) = figure.axes
    for axis, ticks in (axes.xaxis, (1, 4, 16, 64)), (axes.yaxis, (3, 10, 30, 100)):
        axis.set_ticks(ticks, [str(tick) for tick in ticks])
        axis.set_ticks([], minor=True)
    return figure


def walks(samples: int) -> Figure:
    """Draw what each backward pass carries for each sample: a loop over one graph, and vmap.

    A dark square is a cotangent of 1, a pale one a cotangent of 0, which is multiplied as well.
    """
    figure, (top, below) = plt.subplots(
        2, 1, figsize=(3.4, 3.3), gridspec_kw={"height_ratios": [samples, 1.2]}
    )
    _squares(top, np.eye(samples), METHODS["loop"])
    top.set_title(f"Loop: {samples} passes, {samples * (samples - 1)} zeros", weight="bold")
    top.set_ylabel("backward pass")
    top.set_yticks(range(samples), range(1, samples + 1))
    _squares(below, np.ones((1, samples)), METHODS["vmap"])
    below.set_title("vmap: 1 pass, no zeros", weight="bold")
    below.set_xlabel("sample")
    below.set_yticks([0], ["1"])
    for axes in (top, below):
        axes.set_xticks(range(samples), range(1, samples + 1))
    return finished(figure)


def _squares(axes, values, colour):
    """Draw a table of zeros and ones as squares with their number in them."""
    for (line, column), value in np.ndenumerate(values):
        corner = column - 0.44, line - 0.44
        axes.add_patch(plt.Rectangle(corner, 0.88, 0.88, color=colour if value else _ZERO))
        ink = "white" if value else INK
        axes.text(column, line, f"{value:.0f}", ha="center", va="center", color=ink)
    height, width = values.shape
    axes.set(xlim=(-0.6, width - 0.4), ylim=(height - 0.4, -0.6), aspect="equal")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def lifetimes(panels: Mapping[str, Sequence[tuple[float, float, float]]]) -> Figure:
    """Draw when graphs are alive: {title: [(built, walked, freed), ...]}, two panels or three.

    A bar lasts from the building of a graph until it is freed; a triangle marks a backward
    pass through it; ``walked`` is a time or several.
    """
    figure, all_axes = plt.subplots(
        len(panels), 1, figsize=(5.6, 1.0 * len(panels) + 0.4), sharex=True
    )
    end = max(freed for lives in panels.values() for _, _, freed in lives)
    for axes, colour, (title, lives) in zip(
        all_axes, _LISTS.values(), panels.items(), strict=False
    ):
        for i, (built, walked, freed) in enumerate(lives):
            axes.plot([built, freed], [i, i], color=colour, linewidth=8, linestyle="-",
                      solid_capstyle="butt")  # fmt: skip
            times = np.atleast_1d(walked)
            axes.plot(times, np.full(len(times), i), marker=">", color="white", mec=INK,
                      markersize=8, linestyle="none")  # fmt: skip
        axes.set_title(title, loc="left")
        axes.set_yticks(range(len(lives)), range(1, len(lives) + 1))
        axes.set(ylim=(len(lives) - 0.4, -0.6), xlim=(0, end), ylabel="graph")
        axes.set_xticks([])
        axes.grid(False)
    all_axes[-1].set_xlabel("time")
    return finished(figure)


def running_total(steps: int, saved: int) -> Figure:
    """Draw what a running total holds after some steps: tensors with graphs, and numbers.

    Parameters
    ----------
    saved : the bytes that the graph of one loss has saved.
    """
    figure, panels = plt.subplots(2, 1, figsize=(4.9, 4.0), gridspec_kw={"hspace": 0.15})
    kept = {"facecolor": "#f6d3bd", "linewidth": 1.4}
    number = {"facecolor": "none", "linewidth": 1.4}
    freed = {"facecolor": "none", "linewidth": 1.2, "linestyle": "--"}
    for axes, tensors in zip(panels, (True, False), strict=True):
        for k in range(1, steps + 1):
            # The last total is still there, as a tensor or as a number.
            total = kept if tensors else number if k == steps else freed
            texts = "total", f"loss {k}", f"graph:\n{saved:,} B"
            for y, text in zip((2.2, 1.2, 0.0), texts, strict=True):
                style = total if text == "total" else kept if tensors else freed
                box(axes, k, y, 0.38, 0.43 if "\n" in text else 0.25, style)
                axes.text(k, y, text, ha="center", va="center")
            if tensors:
                axes.annotate("", (k, 1.47), (k, 1.93), arrowprops=ARROW)
                axes.annotate("", (k, 0.45), (k, 0.93), arrowprops=ARROW)
            if tensors and k > 1:
                axes.annotate("", (k - 0.61, 2.2), (k - 0.39, 2.2), arrowprops=ARROW)
        name = "total += loss" if tensors else "total += loss.item()"
        held = f"{steps} graphs, {steps * saved:,} B" if tensors else "nothing is held"
        axes.set_title(f"{name}: {held}", loc="left", weight="bold")
        axes.set(xlim=(0.55, steps + 0.45), ylim=(-0.47, 2.5))
        axes.axis("off")
    return finished(figure)


def token_weights(lengths: Sequence[int], level: str) -> Figure:
    """Draw the weight of each token in a mean of means, and as a line what it has in the mean.

    Parameters
    ----------
    lengths : the number of tokens in each micro-batch. level : a name for the line.
    """
    each = [1 / (len(lengths) * length) for length in lengths]
    weights, wanted = np.repeat(each, lengths), 1 / sum(lengths)
    figure, axes = plt.subplots(figsize=(5.6, 2.6))
    start, colours = 0, (METHODS["vmap"], METHODS["one pass"])
    for i, length in enumerate(lengths):
        places = np.arange(start, start + length)
        axes.bar(places, weights[places], width=0.8, color=colours[i % 2])
        # A broad group has room for its name in one line, between its bars and the dashed line.
        name = f"micro-batch {i + 1}:" + (" " if length > 3 else "\n") + f"{length} tokens"
        axes.annotate(name, (places.mean(), weights[places[0]]), (0, 3),
                      textcoords="offset points", ha="center", va="bottom")  # fmt: skip
        start += length
    axes.axhline(wanted, color=INK, linewidth=1.5, linestyle="--")
    axes.annotate(level, (start - 0.5, wanted), (0, 3), textcoords="offset points",
                  ha="right", va="bottom")  # fmt: skip
    axes.set(ylabel="weight of a token", ylim=(0, 1.32 * weights.max()), xlabel="token")
    axes.set_xticks(range(start), range(1, start + 1))
    axes.grid(False)
    return finished(figure)
