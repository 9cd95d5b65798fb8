"""Graphs of tensors and what is kept in them: the figures about leaf tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS, SIGNED
from .style import ARROW, INK, box, finished

# (is_leaf, requires_grad, retains_grad) -> its name, and how its box looks. Filled: backward
# fills .grad; thick: a leaf; dashed: outside every graph.
STATES = {
    (True, False, False): ("data", {"facecolor": "white", "linestyle": "--", "linewidth": 1.5}),
    (True, True, False): ("parameter", {"facecolor": "#bcdcf0", "linewidth": 3.0}),
    (False, True, False): ("result", {"facecolor": "white", "linewidth": 1.2}),
    (False, True, True): ("kept result", {"facecolor": "#bcdcf0", "linewidth": 1.2}),
}


def state(tensor: Any) -> tuple[bool, bool, bool]:
    """Return (is_leaf, requires_grad, retains_grad) of a tensor of PyTorch or of the engine."""
    return tensor.is_leaf, tensor.requires_grad, tensor.retains_grad


def tensor_graph(
    tensors: Mapping[str, Any],
    layout: Sequence[str],
    inputs: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    row: float = 1.0,
) -> Figure:
    """Draw tensors, in the style of their state, with their .grad, and arrows to their results.

    Parameters
    ----------
    layout : one string a row of the picture, with names and dots: ("x . .", ". z loss").
    inputs : result -> the names it is computed from. labels : result -> the operation.
    row : distance of the rows.
    """
    grid = [(name, j, -i) for i, line in enumerate(layout) for j, name in enumerate(line.split())]
    places = {name: (1.35 * j, row * y) for name, j, y in grid if name != "."}
    figure, axes = plt.subplots(figsize=(5.8, 1.0 + 1.15 * row * (len(layout) - 1) + 0.8))
    for result, names in inputs.items():
        x1, y1 = places[result]
        for name in names.split():
            x0, y0 = places[name]
            end = (x1 - 0.4, y1 + 0.15 * np.sign(y0 - y1))
            axes.annotate("", end, (x0 + 0.4, y0), arrowprops=ARROW)
        label = (labels or {}).get(result, "")
        axes.text(x1 - 0.68, y1 + 0.1, label, ha="center", color="#555", fontsize=11)
    for name, tensor in tensors.items():
        x, y = places[name]
        box(axes, x, y, 0.38, 0.25, STATES[state(tensor)][1])
        axes.text(x, y + 0.09, name, ha="center", va="center", fontweight="bold")
        axes.text(x, y - 0.1, _short(tensor.detach()), ha="center", va="center")
        kept = state(tensor) in ((True, True, False), (False, True, True))
        grad = _short(tensor.grad) if kept and tensor.grad is not None else "None"
        axes.text(x, y - 0.38, f".grad {grad}", ha="center", va="center", fontsize=11.5)
    xs, ys = np.array(list(places.values())).T
    axes.set(xlim=(xs.min() - 0.5, xs.max() + 0.5), ylim=(ys.min() - 0.52, ys.max() + 0.3))
    axes.axis("off")
    seen = [s for s in STATES if s in set(map(state, tensors.values()))]
    handles = [plt.Rectangle((0, 0), 1, 1, edgecolor=INK, **STATES[s][1]) for s in seen]
    names = [STATES[s][0] for s in seen]
    figure.legend(handles, names, loc="outside lower center", ncols=len(seen), handleheight=1.1)
    return finished(figure)


def leaf_states() -> Figure:
    """Draw the four states a tensor can be in and the calls that lead from one to another."""
    figure, axes = plt.subplots(figsize=(5.8, 4.3))
    places = {
        (True, False, False): (0.0, 1.0),
        (True, True, False): (1.9, 1.0),
        (False, True, False): (1.9, 0.0),
        (False, True, True): (0.0, 0.0),
    }
    for key, (x, y) in places.items():
        name, style = STATES[key]
        box(axes, x, y, 0.5, 0.25, style)
        axes.text(x, y + 0.15, name, ha="center", va="center", fontweight="bold", fontsize=13)
        flags = zip(("is_leaf", "requires_grad", "retains_grad"), key, strict=True)
        text = "\n".join(f"{flag} {value}" for flag, value in flags)
        axes.text(x, y - 0.07, text, ha="center", va="center", fontsize=11)
    _labelled(axes, (0.53, 1.1), (1.37, 1.1), "requires_grad_()", (0.95, 1.12), "center")
    _labelled(axes, (1.37, 0.95), (0.53, 0.95), "detach()", (0.95, 0.97), "center")
    _labelled(axes, (1.9, 0.72), (1.9, 0.28), "any operation", (1.94, 0.5), "left")
    _labelled(axes, (1.37, 0.0), (0.53, 0.0), "retain_grad()", (0.95, 0.05), "center")
    _labelled(axes, (0.0, 0.28), (0.0, 0.72), "detach()", (-0.04, 0.5), "right")
    _labelled(axes, (1.45, 0.28), (0.48, 0.72), "detach()", (1.13, 0.53), "center")
    axes.set(xlim=(-0.62, 2.52), ylim=(-0.3, 1.3))
    axes.axis("off")
    return finished(figure)


def attack(
    images: np.ndarray,
    gradients: np.ndarray,
    changed: np.ndarray,
    before: Sequence[str],
    after: Sequence[str],
) -> Figure:
    """Draw one column per sample: the image, the gradient of its loss, the changed image."""
    count = len(images)
    figure, panels = plt.subplots(3, count, figsize=(5.8, 4.7))
    limit = np.abs(gradients).max(axis=(1, 2))
    for j in range(count):
        grey = {"cmap": "gray_r", "vmin": -0.3, "vmax": 1.15}
        panels[0, j].imshow(images[j], **grey)
        panels[1, j].imshow(gradients[j], cmap=SIGNED, vmin=-limit[j], vmax=limit[j])
        panels[2, j].imshow(changed[j], **grey)
        panels[0, j].set_title(f"read as {before[j]}", fontsize=11)
        panels[2, j].set_title(f"read as {after[j]}", fontsize=11, color=COLOURS[1])
    names = ("image", "gradient", "changed")
    for row, name in zip(panels, names, strict=True):
        row[0].set_ylabel(name)
        for axes in row:
            axes.set(xticks=[], yticks=[])
            axes.grid(False)
            axes.spines[:].set_visible(True)
            axes.spines[:].set_color("#bbb")
    return finished(figure)


def stacked(parts: Mapping[str, Mapping[str, float]], xlabel: str) -> Figure:
    """Draw {bar: {part: amount}} as horizontal bars whose parts add up; amounts are written in."""
    figure, axes = plt.subplots(figsize=(5.8, 1.1 + 0.55 * len(parts)))
    kinds = list(dict.fromkeys(kind for bar in parts.values() for kind in bar))
    shades = ("#0b3c5d", "#5b9bc8", "#d9e7f2")
    left = dict.fromkeys(parts, 0.0)
    for k, kind in enumerate(kinds):
        for name, bar in parts.items():
            amount = bar.get(kind, 0.0)
            axes.barh(name, amount, left=left[name], color=shades[k], edgecolor=INK)
            if amount:
                ink = "white" if k == 0 else INK
                middle = left[name] + amount / 2
                axes.text(middle, name, f"{amount:.0f}", ha="center", va="center", color=ink)
            left[name] += amount
    axes.invert_yaxis()
    axes.set_xlabel(xlabel)
    axes.grid(visible=False, axis="y")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=c, edgecolor=INK) for c in shades]
    figure.legend(handles[: len(kinds)], kinds, loc="outside upper center", ncols=len(kinds))
    return finished(figure)


def _labelled(axes, start, end, text: str, place, side: str) -> None:
    axes.annotate("", end, start, arrowprops=ARROW)
    axes.text(*place, text, ha=side, va="bottom" if side == "center" else "center", fontsize=11)


def _short(tensor: Any) -> str:
    """Write a tensor in a few signs: its numbers, or one number where all are equal."""
    numbers = np.asarray(tensor.detach().numpy())
    if numbers.ndim == 0:
        return f"{numbers:g}"
    if numbers.ndim > 1 and np.all(numbers == numbers.flat[0]):
        return f"all {numbers.flat[0]:g}"
    return "[" + ", ".join(f"{x:g}" for x in numbers.ravel()) + "]"
