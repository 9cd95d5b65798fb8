"""Graphs of tensors and what is kept in them: the figures about leaf tensors."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import ARROW, box, finished

FILLED = "#bcdcf0"

# (is_leaf, requires_grad, retains_grad) -> its name, and how its box looks. Filled: backward
# fills .grad; thick: a leaf that requires grad; dashed: outside every graph.
STATES = {
    (True, False, False): ("data", {"facecolor": "white", "linestyle": "--", "linewidth": 1.5}),
    (True, True, False): ("parameter", {"facecolor": FILLED, "linewidth": 3.0}),
    (False, True, False): ("result", {"facecolor": "white", "linewidth": 1.2}),
    (False, True, True): ("kept result", {"facecolor": FILLED, "linewidth": 1.2}),
}

WHY_NONE = (  # question, what a no means, what to do then
    ("x.requires_grad ?", "nobody asked for a gradient", "x.requires_grad_() first"),
    ("x.is_leaf ?", "x is a result: x * 2, x[0], x.to(...)", "read the leaf, or x.retain_grad()"),
    ("backward() called ?", "torch.func.grad, autograd.grad return", "use what they return"),
    ("loss leads to x ?", "x unused, cut off, or a copy was used", "follow loss.grad_fn back"),
    ("read before zero_grad() ?", "zero_grad() sets None", "read, or clone, before it"),
)


def state(tensor: Any) -> tuple[bool, bool, bool]:
    """Return (is_leaf, requires_grad, retains_grad) of a tensor of PyTorch or of the engine."""
    return tensor.is_leaf, tensor.requires_grad, tensor.retains_grad


def why_none() -> Figure:
    """Draw numbered questions, one below the other: the usual reasons for no ``.grad``."""
    figure, axes = plt.subplots(figsize=(4.4, 0.82 * len(WHY_NONE) + 0.5))
    for row, (question, reason, cure) in enumerate(WHY_NONE):
        y = -1.1 * row
        box(axes, 1.5, y, 1.5, 0.2, {"facecolor": "#f3f3f3", "linewidth": 1.4})
        axes.text(1.5, y, f"{row + 1}. {question}", ha="center", va="center", fontweight="bold")
        axes.annotate("", (0.25, y - 0.88), (0.25, y - 0.22), arrowprops=ARROW)
        axes.text(0.2, y - 0.53, "yes", ha="right", va="center", fontsize=11)
        axes.text(0.5, y - 0.4, f"no: {reason}", va="center", fontsize=11)
        axes.text(0.5, y - 0.66, f"→ {cure}", va="center", fontsize=11, color=COLOURS[0])
    last = -1.1 * len(WHY_NONE)
    box(axes, 1.5, last, 1.5, 0.2, {"facecolor": FILLED, "linewidth": 3.0})
    axes.text(1.5, last, "one of the rarer reasons", ha="center", va="center", fontweight="bold")
    axes.set(xlim=(-0.15, 4.25), ylim=(last - 0.25, 0.25))
    axes.axis("off")
    return finished(figure)


def _short(tensor: Any) -> str:
    """Write a tensor in a few signs: its numbers, or one number where all are equal."""
    numbers = np.asarray(tensor.detach().numpy())
    if numbers.ndim == 0:
        return f"{numbers:g}"
    if numbers.ndim > 1 and np.all(numbers == numbers.flat[0]):
        return f"all {numbers.flat[0]:g}"
    return "[" + ", ".join(f"{x:g}" for x in numbers.ravel()) + "]"
