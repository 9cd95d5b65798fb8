"""Decisions as a column of questions: one answer leads on down, the other to the right."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import ARROW, box, finished

Question = tuple[str, str, str]  # the question, what stands to its right, what to do there

WHY_NONE = (
    (
        "x.requires_grad ?",
        "nothing asked for: created without it,\ndetached, made under no_grad, integers",
        "x.requires_grad_() before the forward pass",
    ),
    (
        "x.is_leaf ?",
        "a result: .to(), .cuda(), x * 2, x[0],\ntheta = theta - step",
        "read the original, or x.retain_grad()",
    ),
    (
        "loss.grad_fn ?",
        "no graph: all of it under no_grad, or\ncut by detach(), .item(), a new tensor",
        "compute the loss with recording on",
    ),
    (
        "x in leaves_of(loss) ?",
        "not used, or a copy was used, or the\nway from x to the loss was cut",
        "follow grad_fn from the loss back",
    ),
    (
        "x.grad is not None ?",
        "no backward() since the last zero_grad();\ntorch.func.grad and autograd.grad fill none",
        "call backward(), or use what they return",
    ),
)


def why_none() -> Figure:
    """Draw the five questions that find out why a ``.grad`` is None, with the cures."""
    end = ("x.grad is filled", {"facecolor": "#bcdcf0", "linewidth": 3.0})
    return _questions(WHY_NONE, ("no", "yes"), end, half=0.2)


def _questions(
    questions: Sequence[Question], words: tuple[str, str], end: tuple[str, dict], half: float
) -> Figure:
    """Draw the questions; ``words`` lead to the right and down, ``half`` a box's half height."""
    figure, axes = plt.subplots(figsize=(6.6, 1.28 * len(questions)))
    for row, (question, answer, action) in enumerate(questions):
        y = -float(row)
        box(axes, 0.0, y, 0.78, half, {"facecolor": "#f3f3f3", "linewidth": 1.4})
        axes.text(0, y, question, ha="center", va="center", fontweight="bold", fontsize=10)
        axes.annotate("", (1.02, y), (0.8, y), arrowprops=ARROW)
        axes.text(0.91, y + 0.07, words[0], ha="center", fontsize=11)
        axes.text(1.06, y + 0.16, answer, va="center", fontsize=11, linespacing=1.15)
        axes.text(1.06, y - 0.17, "→ " + action, va="center", fontsize=11, color=COLOURS[0])
        axes.annotate("", (0, y + half - 0.98), (0, y - half - 0.02), arrowprops=ARROW)
        axes.text(0.04, y - 0.52, words[1], fontsize=11)
    last = -float(len(questions))
    box(axes, 0.0, last, 0.78, half, end[1])
    axes.text(0, last, end[0], ha="center", va="center", fontweight="bold", fontsize=10)
    axes.set(xlim=(-0.8, 3.0), ylim=(last - half - 0.05, half + 0.12))
    axes.axis("off")
    return finished(figure)
