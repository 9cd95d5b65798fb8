"""Numerical test of the sample axis at nodes without a rule, such as a custom Function.

The node's backward is called once per sample, with the cotangents of all other samples set to 0.
The result must equal that sample's part of the batch's result, and be 0 elsewhere. If this holds
for all samples, the node keeps the samples separate, at the values of this batch.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from .axes import AXES, as_tuple
from .graph import Graph
from .layouts import SampleAxis
from .passes import cotangents

ROUNDING = 64  # tolerance, in machine epsilons: two runs may sum in another order


class Trials:
    """Tests of the nodes without a rule, on cotangents from one backward pass of ``losses``."""

    def __init__(self, losses: Tensor) -> None:
        self.losses = losses
        self._arrived: dict | None = None
        self._proved: dict[int, list[bool]] = {}  # node index -> for each input

    def proves(self, graph: Graph, index: int, input_index: int, layout: SampleAxis) -> bool:
        """Return whether the test found that an input's cotangent has the outputs' ``layout``."""
        if self._arrived is None:
            unknown = [n for n, kind in enumerate(graph.kinds) if kind not in AXES]
            inner = [here for here in unknown if graph.targets[here]]
            edges = [(here, n) for here in inner for n in range(len(graph.dtypes[here]))]
            self._arrived = cotangents(graph, edges, self.losses, True, False)
        if index not in self._proved:
            node, cts, used = graph.nodes[index], [], []
            for n, like in enumerate(node._input_metadata):
                ct = self._arrived[index, n]
                used.append(ct is not None)
                zeros = {"dtype": like.dtype, "device": like.device}
                cts.append(torch.zeros(like.shape, **zeros) if ct is None else ct)
            shapes = [target and graph.shape(*target) for target in graph.targets[index]]
            self._proved[index] = _tried(node, cts, used, shapes, layout, graph.size)
        return self._proved[index][input_index]


def _tried(node, cts, used, shapes, layout, size):
    """Return a list with a bool per input: whether its cotangent keeps the samples separate."""
    whole = _passed(node, cts)
    length = cts[used.index(True)].shape[layout.axis]
    fine = [
        x is not None
        and x.layout == torch.strided
        and x.shape == shape  # else autograd sums over broadcast axes
        and x.shape[layout.axis :][:1] == (length,)
        for x, shape in zip(whole, shapes, strict=True)
    ]
    for sample in range(size):
        if not any(fine):
            break
        mine = [layout.only(x, sample, size) if u else x for x, u in zip(cts, used, strict=True)]
        for n, x in enumerate(_passed(node, mine)):
            fine[n] = fine[n] and _is_part(x, whole[n], layout, sample, size)
    return fine


def _passed(node: Any, cts: list[Tensor]) -> list[Tensor | None]:
    """Call a node; return its inputs' cotangents (or None), in the order of next_functions."""
    if not isinstance(node, BackwardCFunction):
        return list(as_tuple(node(*cts)))
    # A custom Function returns one for each argument of its forward.
    gradients = zip(as_tuple(node.apply(*cts)), node.needs_input_grad, strict=False)
    wanted = iter([x for x, is_needed in gradients if is_needed])
    return [None if other is None else next(wanted) for other, _ in node.next_functions]


def _is_part(x, whole, layout, sample, size):
    """Return whether x equals ``whole`` in a sample's part, and is 0 elsewhere."""
    if x is None or x.shape != whole.shape:
        return False
    rtol = ROUNDING * torch.finfo(x.dtype).eps
    return torch.allclose(x, layout.only(whole, sample, size), rtol=rtol, atol=0.0)
