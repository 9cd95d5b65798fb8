"""A backward pass of the user's own: ``loss.backward()`` on one number, a mean or a sum.

The samples are then told apart at the model's output, whose axis 0 has to count them.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge
from torch.overrides import TorchFunctionMode

from .torch_graph import Graph
from .torch_owners import Along
from .torch_retained import retained_gradients


class OwnBackward(TorchFunctionMode):
    """Hand each call of ``Tensor.backward`` inside the block to the capture."""

    def __init__(self, capture: Any) -> None:
        super().__init__()
        self.capture = capture

    def __torch_function__(
        self, function: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        if function is Tensor.backward:
            # PyTorch names every argument but the loss, however the user gave them.
            return self.capture.own_backward(args[0], kwargs)
        return function(*args, **(kwargs or {}))

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.capture = None  # no circle: the batch goes with the last reference to the record


def batch_of(outputs: list[tuple[GradientEdge, tuple]], graph: Graph) -> tuple[list, int]:
    """Return the outputs of the model that the loss is made from, and how many samples they have.

    ``outputs`` are (edge, shape) of all that the model returned inside the block.
    """
    used = [(edge, shape) for edge, shape in outputs if edge.node in graph.place]
    if not used:
        raise RuntimeError(
            "backward: the loss does not come from an output of the model that was called inside "
            "the with block; call the model there, or give record.backward(losses) one loss for "
            "each sample."
        )
    sizes = {shape[0] for _, shape in used}
    if len(sizes) > 1:
        listed = ", ".join(str(shape) for _, shape in used)
        raise ValueError(
            f"backward: the outputs of the model have the shapes {listed}, so axis 0 cannot count "
            "the samples in all; give record.backward(losses) one loss for each sample."
        )
    if 0 in sizes:
        raise ValueError("backward: the batch is empty; give at least one sample.")
    return [edge for edge, _ in used], sizes.pop()


def output_cotangents(
    loss: Tensor, gradient: Tensor | None, edges: list[GradientEdge]
) -> list[tuple[GradientEdge, Tensor, Along]]:
    """Return (output, its cotangent, where the samples lie)."""
    with retained_gradients():
        cotangents = torch.autograd.grad(
            loss, edges, gradient, retain_graph=True, allow_unused=True
        )
    return [
        (edge, ct.detach(), Along(0, 1))
        for edge, ct in zip(edges, cotangents, strict=True)
        if ct is not None
    ]
