"""What PyTorch's graphs keep alive, counted without a profiler: saved bytes and nodes.

Separate because only chapters count. The numbers are exact and the same on every machine.
"""

from collections.abc import Callable
from typing import Any


def bytes_saved(run: Callable, *arguments: Any) -> tuple[int, int]:
    """Run a function; return the most bytes that autograd held for it, and what is left.

    Autograd calls a hook for each tensor that it saves for the backward pass, and lets go of what
    the hook returned when the graph is freed. So the bytes are counted in when they are saved and
    out when they are let go. Leaf tensors (weights, data) exist anyway and are not counted. A
    tensor that two operations save counts twice.

    Returns
    -------
    (peak, left) : in bytes. What ``run`` returns is alive while ``left`` is read.

    Example
    -------
    >>> import torch
    >>> w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    >>> bytes_saved(lambda: (2 * w).exp().sum())  # exp saves its result, three numbers
    (24, 24)
    >>> bytes_saved(lambda: (2 * w).exp().sum().backward())
    (24, 0)
    """
    from torch.autograd.graph import saved_tensors_hooks

    held, peak = 0, 0

    class Box:
        """What autograd keeps in place of a tensor; it counts itself in and out."""

        def __init__(self, tensor):
            nonlocal held, peak
            self.tensor, held = tensor.detach(), held + tensor.nbytes
            peak = max(peak, held)

        def __del__(self):
            nonlocal held
            held -= self.tensor.nbytes

    def pack(tensor):
        return tensor if tensor.is_leaf else Box(tensor)

    def unpack(saved):
        return saved.tensor if isinstance(saved, Box) else saved

    with saved_tensors_hooks(pack, unpack):
        result = run(*arguments)
        left = held
    del result
    return peak, left


def nodes_kept(value: Any) -> int:
    """Return how many nodes of a graph a PyTorch tensor keeps alive; a number keeps none.

    Example
    -------
    >>> import torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> loss = (2 * w).sum()  # a sum, a product, and where w's gradient is added up
    >>> nodes_kept(loss), nodes_kept(loss.item())
    (3, 0)
    """
    seen, waiting = set(), [getattr(value, "grad_fn", None)]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [below for below, _ in node.next_functions]
    return len(seen)
