"""Where the samples of a batch lie in a cotangent, and what a node is asked when it hands them on.

A cotangent has its samples along one axis, if number i of that axis is a derivative of sample
i's loss alone.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

Shape = tuple[int, ...]


class Along(NamedTuple):
    """The samples lie along ``axis``, whose length is outer * B * inner (outer and inner: 1)."""

    axis: int
    outer: int = 1

    def split(self, x: Tensor, size: int) -> Tensor:
        """Return x with the samples first, (B, ...); the rest of their axis keeps its place."""
        axis, outer = self
        if outer == 1:
            return x.unflatten(axis, (size, -1)).movedim(axis, 0)
        x = x.unflatten(axis, (outer, size, -1)).movedim(axis + 1, 0)
        return x.flatten(axis + 1, axis + 2)

    def only(self, x: Tensor, sample: int, size: int) -> Tensor:
        """Return x with zeros for all samples but one."""
        kept = torch.zeros_like(x, memory_format=torch.contiguous_format)
        part = (slice(None),) * self.axis + (slice(None), sample)
        kept.unflatten(self.axis, (self.outer, size, -1))[part] = x.unflatten(
            self.axis, (self.outer, size, -1)
        )[part]
        return kept


class Passed(NamedTuple):
    """One cotangent on its way: from a node's output, shape ``out``, to one of its inputs."""

    node: Any  # torch.autograd.graph.Node
    slot: int  # which of its inputs, in next_functions
    output: int | None  # which of its outputs; None for several
    along: Along  # in the cotangent of the output
    out: Shape
    into: Shape
    size: int  # B

    def saved(self, name: str, default: Any = None) -> Any:
        """Return what autograd saved under a name; an axis may be saved as 2^64 less a number."""
        value = getattr(self.node, f"_saved_{name}", default)
        if isinstance(value, tuple | list):
            return tuple([_signed(x) for x in value])
        return _signed(value)

    def axes(self, name: str) -> set[int]:
        """Return the saved axes, counted from the first axis of the input; where none are saved,
        all of them.
        """
        value, count = self.saved(name), len(self.into)
        if value is None:
            return set(range(count))
        values = value if isinstance(value, tuple) else (value,)
        return {x % max(count, 1) for x in values}


def _signed(x):
    return x - 2**64 if isinstance(x, int) and x >= 2**63 else x
