"""Graphs of tensors and what is kept in them: the figures about leaf tensors."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..colours import COLOURS, SIGNED
from .graph_drawing import BACKWARD, FORWARD
from .style import ARROW, INK, box, finished

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


def tensor_graph(
    tensors: Mapping[str, Any],
    layout: Sequence[str],
    inputs: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    row: float = 1.0,
    cotangents: Mapping[tuple[str, str], str] | None = None,
) -> Figure:
    """Draw tensors, in the style of their state, with their .grad, and arrows to their results.

    Parameters
    ----------
    layout : one string for each row of the picture, of names and dots: ("x . .", ". z loss").
    inputs : result -> the names it is computed from. labels : result -> the operation.
    row : distance of the rows.
    cotangents : (result, input) -> the derivative that is sent back along a dashed arrow.
    """
    cotangents = cotangents or {}
    step = 1.7 if cotangents else 1.35  # room for what is written at the arrows
    grid = [(name, j, -i) for i, line in enumerate(layout) for j, name in enumerate(line.split())]
    places = {name: (step * j, row * y) for name, j, y in grid if name != "."}
    figure, axes = plt.subplots(figsize=(5.8, 1.0 + 1.15 * row * (len(layout) - 1) + 0.8))
    for result, names in inputs.items():
        x1, y1 = places[result]
        for name in names.split():
            x0, y0 = places[name]
            shift = 0.07 if (result, name) in cotangents else 0.0
            start, end = (x0 + 0.4, y0), (x1 - 0.4, y1 + 0.15 * np.sign(y0 - y1))
            style = ARROW | {"color": FORWARD} if cotangents else ARROW
            axes.annotate("", _up(end, shift), _up(start, shift), arrowprops=style)
            if shift:
                _send_back(axes, _up(end, -shift), _up(start, -shift), cotangents[result, name])
        label = (labels or {}).get(result, "")
        above = 0.14 if (result, names) in cotangents else 0.1
        axes.text(x1 - step / 2, y1 + above, label, ha="center", color="#555", fontsize=11)
    for name, tensor in tensors.items():
        _tensor_box(axes, name, tensor, *places[name])
    xs, ys = np.array(list(places.values())).T
    axes.set(xlim=(xs.min() - 0.5, xs.max() + 0.5), ylim=(ys.min() - 0.52, ys.max() + 0.3))
    axes.axis("off")
    seen = [s for s in STATES if s in set(map(state, tensors.values()))]
    handles = [plt.Rectangle((0, 0), 1, 1, edgecolor=INK, **STATES[s][1]) for s in seen]
    names = [STATES[s][0] for s in seen]
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=len(seen),
        handleheight=1.1,
        title="filled: gets a .grad",
        title_fontsize=11,
    )
    return finished(figure)


def _up(point: tuple[float, float], by: float) -> tuple[float, float]:
    return point[0], point[1] + by


def _send_back(axes, start, end, text: str) -> None:
    """Draw a dashed arrow back from a result, with what it carries below its middle."""
    style = ARROW | {"color": BACKWARD, "linestyle": (0, (3, 2))}
    axes.annotate("", end, start, arrowprops=style)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    level = start[1] == end[1]
    place = (x, y - 0.04) if level else (x - 0.06, y - 0.06)
    side = "center" if level else "right"
    axes.text(*place, text, ha=side, va="top", color=BACKWARD, fontsize=11)


def _tensor_box(axes, name: str, tensor: Any, x: float, y: float) -> None:
    """Draw one tensor: name and numbers in a box in the style of its state, .grad below."""
    box(axes, x, y, 0.38, 0.25, STATES[state(tensor)][1])
    axes.text(x, y + 0.09, name, ha="center", va="center", fontweight="bold")
    axes.text(x, y - 0.1, _short(tensor.detach()), ha="center", va="center")
    kept = state(tensor) in ((True, True, False), (False, True, True))
    grad = _short(tensor.grad) if kept and tensor.grad is not None else "None"
    axes.text(x, y - 0.38, f".grad {grad}", ha="center", va="center", fontsize=11.5)


def shared_and_copies(theta: Sequence[float], rows: Sequence[Sequence[float]]) -> Figure:
    """Draw where gradients arrive: added up at a shared leaf, in rows at a leaf of copies.

    Parameters
    ----------
    theta : the parameters. rows : the gradient of each sample's loss, one row per sample.
    """
    count = len(rows)
    figure, panels = plt.subplots(2, 1, figsize=(5.2, 0.9 + 1.3 * count))
    titles = "theta: one leaf, shared", "copies: one leaf, a row for each sample"
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set(xlim=(-0.62, 3.0), ylim=(0.42 - count, 0.58))
        axes.axis("off")
    middle = -(count - 1) / 2
    leaf = STATES[True, True, False][1]
    box(panels[0], 0, middle, 0.6, 0.46, leaf)
    _leaf_text(panels[0], middle, theta, np.sum(rows, axis=0))
    box(panels[1], 0, middle, 0.6, count / 2, leaf)
    for i, row in enumerate(rows):
        if i:
            panels[1].plot([-0.6, 0.6], [0.5 - i] * 2, color=INK, linewidth=0.8, linestyle="-")
        _leaf_text(panels[1], -i, theta, row)
        for axes, y in ((panels[0], middle - 0.28 * (i + middle)), (panels[1], -i)):
            box(axes, 2.6, -i, 0.36, 0.2, {"facecolor": "white", "linewidth": 1.2})
            axes.text(2.6, -i, f"loss {i + 1}", ha="center", va="center")
            _send_row(axes, (2.22, -i), (0.64, y), _numbers(row))
    return finished(figure)


def _leaf_text(axes, y: float, values: Sequence[float], gradient: Sequence[float]) -> None:
    """Write values and, below them, what is in .grad, into a box at the left."""
    axes.text(0, y + 0.16, _numbers(values), ha="center", va="center")
    grad = f".grad {_numbers(gradient)}"
    axes.text(0, y - 0.18, grad, ha="center", va="center", weight="bold")


def _send_row(axes, start, end, text: str) -> None:
    """Draw a dashed arrow from a loss to a leaf, and what it carries, clear of the arrow."""
    style = ARROW | {"color": BACKWARD, "linestyle": (0, (3, 2))}
    axes.annotate("", end, start, arrowprops=style)
    left, right = 1.1, 1.8  # the text is narrower
    heights = np.interp([left, right], [end[0], start[0]], [end[1], start[1]])
    below = end[1] > start[1]  # above such an arrow is its neighbour's place
    level, side = (min(heights) - 0.05, "top") if below else (max(heights) + 0.05, "bottom")
    axes.text((left + right) / 2, level, text, ha="center", va=side, color=BACKWARD)


def _numbers(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{x:g}" for x in values) + "]"


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


def attack(
    images: np.ndarray,
    gradients: np.ndarray,
    step: float,
    before: Sequence[str],
    after: Sequence[str],
) -> Figure:
    """Draw one row per sample: the image, step times the sign of its gradient, and their sum."""
    count = len(images)
    figure, panels = plt.subplots(count, 3, figsize=(4.6, 1.75 * count), squeeze=False)
    grey = {"cmap": "gray_r", "vmin": -0.4, "vmax": 1.2}
    for i in range(count):
        change = step * np.sign(gradients[i])
        panels[i, 0].imshow(images[i], **grey)
        panels[i, 1].imshow(change, cmap=SIGNED, vmin=-1.6 * step, vmax=1.6 * step)
        panels[i, 2].imshow(images[i] + change, **grey)
        panels[i, 0].set_xlabel(f"read as {before[i]}")
        panels[i, 2].set_xlabel(f"read as {after[i]}", fontweight="bold")
    titles = "image", f"change: ±{step:g}", "sum"
    for axes, title in zip(panels[0], titles, strict=True):
        axes.set_title(title)
    for axes in panels.flat:
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(True)
        axes.spines[:].set_color("#bbb")
    return finished(figure)


def amounts(values: Mapping[str, float], xlabel: str, outlined: Collection[str] = ()) -> Figure:
    """Draw {name: amount} as horizontal bars from zero, with the amounts written at their ends.

    ``outlined`` names the bars that are drawn empty: what would be there and is not.
    """
    figure, axes = plt.subplots(figsize=(5.4, 0.9 + 0.62 * len(values)))
    for y, (name, amount) in enumerate(values.items()):
        empty = name in outlined
        look = {"facecolor": "none" if empty else FORWARD, "linestyle": "--" if empty else "-"}
        axes.barh(y, amount, height=0.6, edgecolor=INK, **look)
        axes.text(amount, y, f" {amount:.0f}", va="center", ha="left")
    axes.set_yticks(range(len(values)), values)
    axes.set(xlim=(0, 1.12 * max(values.values())), xlabel=xlabel)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    return finished(figure)


def _short(tensor: Any) -> str:
    """Write a tensor in a few signs: its numbers, or one number where all are equal."""
    numbers = np.asarray(tensor.detach().numpy())
    if numbers.ndim == 0:
        return f"{numbers:g}"
    if numbers.ndim > 1 and np.all(numbers == numbers.flat[0]):
        return f"all {numbers.flat[0]:g}"
    return "[" + ", ".join(f"{x:g}" for x in numbers.ravel()) + "]"
