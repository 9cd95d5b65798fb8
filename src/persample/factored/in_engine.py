"""Factors in the NumPy engine: uses of a parameter are read from the tape of ``grad``.

The tape lists every operation that leads from a parameter to the loss. The backward pass stops at
each product or lookup that makes a parameter factored; the cotangent there is delta.
"""

from collections.abc import Callable
from functools import partial
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from ..engine import namespace as xp
from ..engine.batching import vmap
from ..engine.contraction import split
from ..engine.core import new_trace
from ..engine.operations import product
from ..engine.primitives import apply
from ..engine.reverse import Node, ReverseTrace, backward, recorded
from . import Formed, Product, mapped

RESHAPING = {"reshape", "permute_dims", "broadcast_to", "astype"}


class Use(NamedTuple):
    """One use of a parameter: input ``operand`` of ``node``, after the nodes ``views``.

    ``at`` is the index of the node on the tape.
    """

    at: int
    node: Node
    operand: int
    views: tuple

    @property
    def kind(self) -> str:
        return "outer product" if self.node.primitive.name == "einsum" else "lookup"


def factors(loss: Callable, in_axes: Any, has_aux: bool = False) -> Callable:
    """Return a function of (parameters, *batch): ([`Formed` or `Product` of each parameter], aux).

    ``loss(parameters, *sample)`` returns a number, or (number, aux) with ``has_aux``; ``in_axes``
    is as in `vmap`.
    """
    return mapped(vmap, partial(_of_sample, loss, has_aux), in_axes)


def _of_sample(loss, has_aux, parameters, *sample):
    """Return (arrays of each parameter, aux, makers) for one sample, as `mapped` needs them."""
    with new_trace(ReverseTrace) as trace:
        output, aux, (leaves,) = recorded(trace, loss, (parameters, *sample), (0,), has_aux)
        uses = _uses(trace.tape, leaves, output.node)
        for use in uses:
            if use is not None:  # no cotangent is passed on to the parameter
                use.node.parents[use.operand] = None
        cts, deltas, end = {output.node: xp.ones_like(output.value)}, {}, len(trace.tape)
        for at in sorted((use.at for use in uses if use is not None), reverse=True):
            cts = backward(trace.tape[at + 1 : end][::-1], cts)
            deltas[at] = cts.get(trace.tape[at], xp.zeros_like(trace.tape[at].out))
            end = at + 1
        cts = backward(trace.tape[:end][::-1], cts)
    parts, makers = [], []
    for x, use in zip(leaves, uses, strict=True):
        if use is None:
            parts.append((cts.get(x.node, xp.zeros_like(x.value)),))
            makers.append(Formed)
        else:
            other = use.node.values[1 - use.operand]
            left, where = (np.float64(1.0), other) if use.kind == "lookup" else (other, None)
            parts.append((left, deltas[use.at], where))
            makers.append(partial(Product, total=partial(_total, use), kind=use.kind))
    return parts, aux, makers


def _uses(tape, leaves, output):
    """Return, for each leaf (a traced parameter), its `Use`, or None if it is not factored."""
    seen = {x.node: (n, ()) for n, x in enumerate(leaves)}  # node -> (number of a leaf, views)
    uses: list[list] = [[] for _ in leaves]
    for at, node in enumerate(tape):
        for i, parent in enumerate(node.parents):
            if parent in seen:
                leaf, views = seen[parent]
                if _is_view(node):
                    seen[node] = leaf, (*views, node)
                else:
                    uses[leaf].append(Use(at, node, i, views))
    if output in seen:
        uses[seen[output][0]].append(None)
    return [found[0] if len(found) == 1 and _is_factored(found[0]) else None for found in uses]


def _is_view(node):
    """Return whether a node only reshapes or casts its input, keeping every entry once."""
    return node.primitive.name in RESHAPING and node.out.size == node.values[0].size


def _is_factored(use):
    """Return whether a use is a product with one vector or a lookup of one entry."""
    if use is None:  # the loss is the parameter itself
        return False
    name, params = use.node.primitive.name, use.node.params
    other = use.node.values[1 - use.operand] if len(use.node.values) == 2 else None
    if name == "einsum":
        letters = split(params["subscripts"])
        sizes = zip(letters[1 - use.operand], other.shape, strict=True)
        return all(size == 1 for letter, size in sizes if letter in letters[2])
    return name == "take" and params["batch_dims"] == 0 and other.size == 1


def _total(use, beside, delta):
    """Return sum_i g_i: apply the transpose of the use, batched over ``beside``, to delta."""
    if use.kind == "outer product":
        letters = split(use.node.params["subscripts"])
        x, w, out = letters[1 - use.operand], letters[use.operand], letters[2]
        z = next(letter for letter in ascii_letters if letter not in x + w + out)
        total = product(f"{z}{x},{z}{out}->{w}", xp.astype(beside, delta.dtype), delta)
    else:
        length = use.node.values[0].shape[0]
        total = apply("scatter_add", delta, beside, length=length, batch_dims=0)
    for view in reversed(use.views):
        if view.primitive.name != "astype":
            ((_, total),) = view.pull(total)
    return total
