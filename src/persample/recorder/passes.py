"""Run autograd: to read saved tensors, and to compute cotangents inside the graph."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from .graph import Graph


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause Python's cyclic garbage collector, which slows down walks of large graphs."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class CallDuringBackward(torch.autograd.Function):
    """The identity; its backward calls ``function``.

    It is used in place of a hook, which `_has_hooks` would take for one of the user's.
    """

    @staticmethod
    def forward(ctx: Any, number: Tensor, function: Callable) -> Tensor:
        ctx.function = function
        return number.clone()

    @staticmethod
    def backward(ctx: Any, ct: Tensor) -> tuple:
        ctx.function()
        return ct, None


def during_a_pass(read: Callable) -> Any:
    """Return ``read()``, called inside a backward pass of a dummy scalar.

    Reading a saved tensor of a checkpointed block recomputes the block: inside a backward pass
    once for the whole pass, outside at every access.
    """
    found: list = []
    with torch.enable_grad():
        number = torch.zeros((), requires_grad=True)
        called = CallDuringBackward.apply(number, lambda: found.append(read()))
        called.backward()  # autograd.grad would mark the nodes as not needed
    return found[0]


def cotangents(
    graph: Graph,
    edges: list[tuple[int, int]],
    losses: Tensor,
    retain_graph: bool,
    accumulate: bool,
) -> dict[tuple[int, int], Tensor | None]:
    """Return {(node index, output index): cotangent or None} for all ``edges``.

    A cotangent is the gradient of the sum of the losses; None if they do not depend on that
    output. The pass ends at these nodes or, with ``accumulate``, goes on and adds to ``.grad``.
    """
    ones = torch.ones_like(losses)
    if not accumulate:
        ends = [GradientEdge(graph.nodes[index], n) for index, n in edges]
        found = torch.autograd.grad(
            losses, ends, ones, retain_graph=retain_graph, allow_unused=True
        )
        return dict(zip(edges, found, strict=True))
    arrived: dict = {}
    handles = [
        graph.nodes[index].register_prehook(partial(arrived.__setitem__, index))
        for index in {index for index, _ in edges}
    ]
    try:
        losses.backward(ones, retain_graph=retain_graph)
    finally:
        for handle in handles:
            handle.remove()
    return {(index, n): arrived[index][n] if index in arrived else None for index, n in edges}
