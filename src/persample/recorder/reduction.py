"""A backward pass of the user's own: ``loss.backward()`` on one number, a mean or a sum.

The loss must be a mean or a sum over the samples of the model's output, and the graph between
the two must prove it: what is reduced has the samples along axis 0, and so has the output.
"""

from collections.abc import Callable
from typing import Any

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


def root_of(
    loss: Tensor, graph: Graph, outputs: list[Tensor], reduction: str
) -> tuple[tuple[Any, int, Along], int]:
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
    sizes = {x.shape[0] for x in used}
    if len(sizes) > 1:
        listed = ", ".join(str(tuple(x.shape)) for x in used)
        raise ValueError(
            f"backward: the outputs of the model have the shapes {listed}, so axis 0 cannot count "
            "the samples in all; give record.backward(losses) one loss for each sample."
        )
    size = sizes.pop()
    if not size:
        raise ValueError("backward: the batch is empty; give at least one sample.")
    node, number = loss.grad_fn.next_functions[0]
    shape = tuple(node._input_metadata[number].shape) if node is not None else ()
    is_apart = len(shape) > 0 and shape[0] % size == 0
    if not is_apart or _factor(loss.grad_fn, size) != reduction:
        _refuse(f"the loss is made by {loss.grad_fn.name()}", reduction)
    root = node, number, Along(0)
    below = Graph([root], {}, size)
    for x in used:
        place = below.place.get(x.grad_fn)
        along = below.along[place].get(x.output_nr) if place is not None else None
        if size > 1 and along != Along(0):
            _refuse(f"the samples are not told apart from there to {x.grad_fn.name()}", reduction)
    return root, size


MEANS = ("MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy")
MEANS = (*MEANS, "BinaryCrossEntropyWithLogits", "SoftMarginLoss", "KlDiv")


def _factor(node, size):
    """Return "mean" or "sum" for an operation that is one over all samples, else None."""
    kind = node.name().partition("Backward")[0]
    if kind in ("Mean", "Sum"):
        return kind.lower()
    if kind in ("NllLoss", "NllLoss2D"):
        counted = node._saved_reduction == 2 or float(node._saved_total_weight) == size
        counted = counted and node._saved_weight is None
        return {1: "mean", 2: "sum"}.get(node._saved_reduction) if counted else None
    if kind in MEANS:
        return {1: "mean", 2: "sum"}.get(node._saved_reduction)
    return None


def _refuse(reason, reduction):
    raise NotImplementedError(
        f"record: {reason}, so it is not proved to be the {reduction} of one loss for each "
        "sample; give one loss for each sample to record.backward(losses), without reduction=."
    )
