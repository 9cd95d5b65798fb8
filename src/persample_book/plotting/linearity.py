"""What happens to the losses of a list: walks through graphs, graphs' lives, tokens' weights."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..colours import METHODS
from .style import ARROW, box, finished

# How the losses of a list are back-propagated: a colour each.
_LISTS = {
    "in a list": METHODS["one pass"],
    "immediately": METHODS["loop"],
    "one forward": "#000000",
}
_ZERO = "#d9dde2"


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
