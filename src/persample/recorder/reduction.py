"""A backward pass of the user's own: ``loss.backward()`` on one number, a mean or a sum.

The loss must be a mean or a sum over the samples of the model's output, and the graph between
the two must prove it: what is reduced has the samples along axis 0, and so has the output.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .axes import Along
from .graph import Graph


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


def roots_of(
    loss: Tensor, graph: Graph, outputs: list[Tensor], reduction: str
) -> tuple[list[tuple[Any, int, Along]], int]:
    """Return where the samples are first told apart, and how many they are.

    ``outputs`` are those of the model inside the block, ``graph`` is that of the loss.
    """
    used = [x for x in outputs if x.grad_fn in graph.place]
    if not used:
        raise RuntimeError(
            "backward: the loss does not come from an output of the model that was called inside "
            "the with block; call the model there, or give record.backward(losses) one loss for "
            "each sample."
        )
    sizes = {x.shape[0] if x.ndim else 0 for x in used}
    if len(sizes) > 1:
        listed = ", ".join(str(tuple(x.shape)) for x in used)
        raise ValueError(
            f"backward: the outputs of the model have the shapes {listed}, so axis 0 cannot count "
            "the samples in all; give record.backward(losses) one loss for each sample."
        )
    size = sizes.pop()
    if not size:
        raise ValueError("backward: the batch is empty; give at least one sample.")
    edges = [edge for edge in graph.targets[0] if edge is not None]
    shapes = {graph.shape(*edge) for edge in edges}
    is_apart = len(shapes) == 1 and all(shape and shape[0] % size == 0 for shape in shapes)
    if not is_apart or _factor(loss.grad_fn, shapes) != reduction:
        refuse(f"the loss is made by {loss.grad_fn.name()}", reduction)
    places = {place for place, _ in edges}
    if any(places & graph.reach(place) - {place} for place in places):
        refuse("one input of the loss is made of the other", reduction)
    roots = [(graph.nodes[place], number, Along(0)) for place, number in edges]
    below = Graph(roots, {}, size)
    for x in used:
        place = below.place.get(x.grad_fn)
        along = below.along[place].get(x.output_nr) if place is not None else None
        if size > 1 and along != Along(0):
            refuse(f"the samples are not told apart from there to {x.grad_fn.name()}", reduction)
    return roots, size


MEANS = "MseLoss SmoothL1Loss HuberLoss BinaryCrossEntropy BinaryCrossEntropyWithLogits"


def _factor(node, shapes):
    """Return "mean" or "sum" for an operation that is one over all numbers, else None.

    It has given one number, so that what it worked along were all axes.
    """
    kind, _, number = node.name().rpartition("Backward")
    if not number.isdigit():
        return None
    if kind in ("Mean", "Sum"):
        return kind.lower()
    if kind in ("NllLoss", "NllLoss2D") and node._saved_reduction == 1:
        (shape,) = shapes
        return "mean" if _counts_all(node._saved_total_weight, shape) else None
    if kind in (*MEANS.split(), "SoftMarginLoss", "NllLoss", "NllLoss2D"):
        return {1: "mean", 2: "sum"}.get(node._saved_reduction)
    return None


def _counts_all(total, shape):
    """Say whether the weights of all losses of (N, classes, ...) add up to their number."""
    is_exact = len(shape) > 1 and total.dtype in (torch.float32, torch.float64)
    return is_exact and float(total) == prod(shape) // max(shape[1], 1)


def refuse(reason: str, reduction: str) -> None:
    """Refuse a loss that is not proved to be what the user says."""
    raise NotImplementedError(
        f"record: {reason}, so it is not proved to be the {reduction} of one loss for each "
        "sample; give one loss for each sample to record.backward(losses), without reduction=."
    )
