"""Decisions as a column of questions: one answer leads on down, the other to the right."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..colours import COLOURS
from .style import ARROW, box, finished

Question = tuple[str, str, str]  # the question, what stands to its right, what to do there

WHICH_METHOD = (
    (
        "Is one gradient\nfor the batch enough?",
        "the ordinary backward pass:\nmean or sum, and nothing else",
        "loss.backward()",
    ),
    (
        "Are the rows few bytes,\nor are there no layers?",
        "compile the loss of one sample, best\nin JAX; for large rows out=rows",
        "per_sample_grad(loss, jit=True)",
    ),
    (
        "Are norms, a clipped sum\nor moments enough?",
        "one pass and a few products;\na few rows at a time, if any",
        "squared_norms(), clipped_sum(), moments()",
    ),
    (
        "Is B × parameters\nmore than the memory?",
        "a summary of your own, part by part:\nuse a chunk, then ask for the next",
        "chunks(size)",
    ),
)


def which_method() -> Figure:
    """Draw the four questions that choose a way to rows, or to what one wants of them."""
    end = ("rows(out=rows)", {"facecolor": "#bcdcf0", "linewidth": 3.0})
    return _questions(WHICH_METHOD, ("yes", "no"), end, half=0.27)


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
