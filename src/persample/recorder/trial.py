"""An operation that no table knows, most often a Function of one's own: it is tried.

It is run backward alone, for one sample after the other: with the sample's own cotangent, and
zeros for all others. What comes out must be the sample's part of what comes out for the whole
batch, and zeros elsewhere. If this holds for every sample, then the samples lie in what the
operation passes on as in what it gets, for the numbers of this batch, whatever the operation is.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from .along import Along
from .graph import Graph
from .passes import cotangents

ROUNDING = 64  # units of the last place: two runs may add up in another order


class Trials:
    """The unknown operations of one pass; one run of autograd brings all their cotangents."""

    def __init__(self, losses: Tensor) -> None:
        self.losses = losses
        self._arrived: dict | None = None
        self._proved: dict[int, list[bool]] = {}  # place -> for each input

    def proves(self, graph: Graph, place: int, slot: int, along: Along) -> bool:
        """Say whether an input has the samples where the operation's outputs have them."""
        if self._arrived is None:
            edges = [
                (here, n)
                for here in graph.unknown()
                for n in range(len(graph.nodes[here]._input_metadata))
            ]
            self._arrived = cotangents(graph, edges, self.losses, True, False)
        if place not in self._proved:
            node, cts, used = graph.nodes[place], [], []
            for n, like in enumerate(node._input_metadata):
                ct = self._arrived[place, n]
                used.append(ct is not None)
                zeros = {"dtype": like.dtype, "device": like.device}
                cts.append(torch.zeros(like.shape, **zeros) if ct is None else ct)
            shapes = [target and graph.shape(*target) for target in graph.targets[place]]
            self._proved[place] = _tried(node, cts, used, shapes, along, graph.size)
        return self._proved[place][slot]


def _tried(node, cts, used, shapes, along, size):
    """Return for each input whether each sample's numbers depend on its own cotangent alone."""
    whole = _passed(node, cts)
    length = cts[used.index(True)].shape[along.axis]
    fine = [
        x is not None
        and x.layout == torch.strided
        and x.shape == shape  # else autograd sums over what was repeated
        and x.shape[along.axis :][:1] == (length,)
        for x, shape in zip(whole, shapes, strict=True)
    ]
    for sample in range(size):
        if not any(fine):
            break
        mine = [along.only(x, sample, size) if u else x for x, u in zip(cts, used, strict=True)]
        for slot, x in enumerate(_passed(node, mine)):
            fine[slot] = fine[slot] and _is_part(x, whole[slot], along, sample, size)
    return fine


def _passed(node: Any, cts: list[Tensor]) -> list[Tensor | None]:
    """Return what a node passes to its inputs. A Function answers for all its arguments."""
    if not isinstance(node, BackwardCFunction):
        return list(_tuple(node(*cts)))
    answers = zip(_tuple(node.apply(*cts)), node.needs_input_grad, strict=False)
    wanted = iter([x for x, is_needed in answers if is_needed])
    return [None if other is None else next(wanted) for other, _ in node.next_functions]


def _is_part(x, whole, along, sample, size):
    """Say whether an array has a sample's part of another one, and zeros elsewhere."""
    if x is None or x.shape != whole.shape:
        return False
    part = along.part(x.shape[along.axis], sample, size)
    rtol, others = ROUNDING * torch.finfo(x.dtype).eps, x.clone()
    others[part] = 0
    if torch.linalg.vector_norm(others, ord=1) != 0:
        return False
    return torch.allclose(x[part], whole[part], rtol=rtol, atol=0.0)


def _tuple(passed):
    return passed if isinstance(passed, tuple) else (passed,)
