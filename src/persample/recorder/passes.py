"""Run autograd for a record: to read what it saved, and to bring the cotangents."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from .graph import Graph


class CallDuringBackward(torch.autograd.Function):
    """Call a function when a backward pass comes by. (A hook would count as the user's.)"""

    @staticmethod
    def forward(ctx: Any, number: Tensor, function: Callable) -> Tensor:
        ctx.function = function
        return number.clone()

    @staticmethod
    def backward(ctx: Any, ct: Tensor) -> tuple:
        ctx.function()
        return ct, None


def during_a_pass(read: Callable) -> Any:
    """Return ``read()``, called while a backward pass runs, if only that of one number.

    A block that is checkpointed is computed again once for each backward pass that reads what it
    saved, but without one at each reading.
    """
    found: list = []
    with torch.enable_grad():
        number = torch.zeros((), requires_grad=True)
        called = CallDuringBackward.apply(number, lambda: found.append(read()))
        called.backward()  # autograd.grad would tell nodes that nobody wants what they compute
    return found[0]


def cotangents(
    graph: Graph,
    edges: list[tuple[int, int]],
    losses: Tensor,
    retain_graph: bool,
    accumulate: bool,
) -> dict[tuple[int, int], Tensor | None]:
    """Return (place, output) -> cotangent: of a pass that ends there, or that fills ``.grad``."""
    ones = torch.ones_like(losses)
    if not accumulate:
        ends = [GradientEdge(graph.nodes[place], n) for place, n in edges]
        found = torch.autograd.grad(
            losses, ends, ones, retain_graph=retain_graph, allow_unused=True
        )
        return dict(zip(edges, found, strict=True))
    arrived: dict = {}
    handles = [
        graph.nodes[place].register_prehook(partial(arrived.__setitem__, place))
        for place in {place for place, _ in edges}
    ]
    try:
        losses.backward(ones, retain_graph=retain_graph)
    finally:
        for handle in handles:
            handle.remove()
    return {(place, n): arrived[place][n] if place in arrived else None for place, n in edges}
