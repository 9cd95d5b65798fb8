"""The ``.grad`` of tensors inside a graph, kept as it is while backward runs as an experiment.

A tensor on which ``retain_grad()`` was called has its gradient added up in every backward pass.
No node of the graph leads to that tensor, and to look for it among all objects of the program
takes long, so the passes are watched first: mostly there is none.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary


class _Sums(TorchDispatchMode):
    """Remember each copy and each sum that a backward pass makes, as long as somebody holds it.

    A retained gradient is such a copy, or the sum of the one before and a new one; the pass drops
    all others as soon as it has used them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before = WeakIdKeyDictionary()  # what was made -> what it takes the place of

    def __torch_dispatch__(
        self, function: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten.clone.default:
            self.before[result] = None
        elif function is torch.ops.aten.add.Tensor:
            self.before[result] = args[0]
        return result


@contextmanager
def retained_gradients() -> Iterator[None]:
    """Give tensors inside the graph the ``.grad`` back that they had before the block."""
    sums = _Sums()
    try:
        with sums:
            yield
    finally:
        if len(sums.before):
            _restore(sums.before)


def _restore(before):
    """Only the garbage collector knows all tensors; one that nobody holds has no reader."""
    for x in gc.get_objects():
        if issubclass(type(x), Tensor) and x.retains_grad:
            while x.grad is not None and x.grad in before:
                x.grad = before[x.grad]
