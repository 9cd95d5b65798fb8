"""Reverse mode: the trace that records a tape, the backward pass, and ``grad``.

The forward pass computes values and records a node for each result that depends on parameters. The
backward pass walks the tape once, from the loss to the inputs, and applies the rules of ``vjps``.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
from optree import tree_flatten, tree_map, tree_structure, tree_unflatten

from . import namespace as xp
from .core import Trace, as_tracer, bind, new_trace, transformed
from .operations import constant
from .tracer import Tracer, is_array, unshared
from .vjps import vjp_rules


class Node:
    """One operation on the tape: its primitive, params, input values, output and parents.

    The parents are the inputs' nodes (None: a constant). A parameter's node has no primitive.
    """

    __slots__ = ("primitive", "params", "values", "out", "parents")

    def __init__(self, primitive, params, values, out, parents):
        self.primitive, self.params, self.values = primitive, params, values
        self.out, self.parents = out, parents

    def __repr__(self):
        return f"<{self.primitive.name} node>" if self.primitive else "<leaf node>"

    def pull(self, ct: Any):
        """Yield (parent, cotangent) for each parent with a rule; ct is the output's cotangent."""
        rules = vjp_rules.get(self.primitive.name)
        if rules is None:
            raise NotImplementedError(
                f"grad: {self.primitive.name} has no VJP rule; add a row to vjps.vjp_rules "
                f"(there are rows for {', '.join(vjp_rules)})."
            )
        for i, parent in enumerate(self.parents):
            if parent is not None and rules[i] is not None:
                yield parent, rules[i](ct, self.out, *self.values, **self.params)


class ReverseTracer(Tracer):
    """A value and the node that made it (None: a constant of this trace)."""

    __slots__ = ("value", "node")

    def __init__(self, trace, value, node):
        self._trace, self.value, self.node = trace, value, node

    def __float__(self):
        number = super().__float__()
        if self.node is None:
            return number
        raise TypeError(
            f"float() of {self!r}: the gradient would end there unnoticed; compute with x itself "
            "(np.exp(x) for math.exp(x)), compare it as it is (x < 1), or hold it fixed first: "
            "stop_gradient(x)."
        )


class ReverseTrace(Trace):
    """Computes each operation, and records a node where the result depends on a parameter."""

    name = "grad"

    def __init__(self, level):
        super().__init__(level)
        self.tape: list[Node] = []

    def lift(self, value):
        return ReverseTracer(self, constant(value), None)

    def process(self, primitive, inputs, params):
        values = [x.value for x in inputs]
        out = bind(primitive, *values, **params)
        parents = [x.node for x in inputs]
        rules = vjp_rules.get(primitive.name, (True,))  # pull names a missing row
        if not any(rules) or out.dtype.kind != "f" or all(p is None for p in parents):
            return ReverseTracer(self, out, None)
        self.tape.append(Node(primitive, params, values, out, parents))
        return ReverseTracer(self, out, self.tape[-1])


def backward(nodes: Iterable[Node], cts: dict) -> dict:
    """Propagate the cotangents ``cts`` (node -> array) through nodes, each before its parents.

    Return ``cts``, which then holds the cotangents of the parents that are not among ``nodes``.
    """
    for node in nodes:
        ct = cts.pop(node, None)
        if ct is None:
            continue  # the output does not depend on it
        for parent, more in node.pull(ct):
            cts[parent] = cts[parent] + more if parent in cts else more
    return cts


def value_and_grad(
    f: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """Return a function computing ``f`` and its gradient: ``(value, gradient)``.

    ``f`` returns one real number (a 0-d array); with ``has_aux`` it returns a pair of this number
    and a tree, and the result is ``((value, aux), gradient)``. The gradient has the structure,
    shapes and dtypes of argument ``argnums``; for a tuple of argnums it is a tuple of gradients.
    It is zero where ``f`` does not depend on the argument.

    Raises
    ------
    ValueError : there is no argument ``argnums``, or ``f`` does not return one number.
    TypeError : a leaf of the argument or the value of ``f`` is not floating-point.
    """
    several = isinstance(argnums, tuple)

    def run(*args):
        wanted = argnums if several else (argnums,)
        if not all(isinstance(n, int) and -len(args) <= n < len(args) for n in wanted):
            raise ValueError(
                f"grad: argnums={argnums!r} for {len(args)} arguments; give the number of one "
                "(the first is 0, the last -1) or a tuple of such numbers."
            )
        with new_trace(ReverseTrace) as trace:
            output, aux, parameters = recorded(trace, f, args, wanted, has_aux)
            # output.node is None if the loss does not depend on the parameters.
            cts = backward(trace.tape[::-1], {output.node: xp.ones_like(output.value)})
        found = [
            [cts.get(x.node, xp.zeros_like(x.value)) for x in leaves] for leaves in parameters
        ]
        value = output.value if isinstance(output.value, Tracer) else np.array(output.value)
        leaves = iter(unshared(sum(found, [])))
        grads = [
            tree_unflatten(tree_structure(args[n]), islice(leaves, len(part)))
            for n, part in zip(wanted, found, strict=True)
        ]
        return (value, aux) if has_aux else value, tuple(grads) if several else grads[0]

    return transformed(f, run)


def recorded(
    trace: ReverseTrace, f: Callable, args: tuple, wanted: tuple[int, ...], has_aux: bool
) -> tuple:
    """Trace ``f``; return (output tracer, aux, leaf tracers of each argument ``wanted``)."""
    flat = [tree_flatten(arg) for arg in args]
    lifted = [[trace.lift(x) if is_array(x) else x for x in xs] for xs, _ in flat]
    for n in wanted:
        lifted[n] = [_parameter(trace, x, n % len(args)) for x in flat[n][0]]
    parts = zip(flat, lifted, strict=True)
    result = f(*[tree_unflatten(structure, xs) for (_, structure), xs in parts])
    result, aux = result if has_aux else (result, None)
    aux = tree_map(lambda x: x.value if getattr(x, "_trace", None) is trace else x, aux)
    return as_tracer(trace, _scalar(result)), aux, [lifted[n] for n in wanted]


def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """Return a function computing the gradient of ``f``, without its value; see value_and_grad."""
    both = value_and_grad(f, argnums)
    return transformed(f, lambda *args: both(*args)[1])


def _parameter(trace, x, n):
    """Return x, a leaf of argument n, as a parameter: a tracer with a node without parents."""
    x = xp.asarray(x)
    if x.dtype.kind != "f":
        raise TypeError(
            f"grad: argument {n} is {x.dtype}{list(x.shape)}; gradients need floating-point "
            "arrays: convert it, or choose another argument with argnums."
        )
    return ReverseTracer(trace, x, Node(None, None, (), x, ()))


def _scalar(result):
    if isinstance(result, int | float):
        result = np.asarray(float(result))
    if not is_array(result) or result.shape != ():
        what = f"an array of shape {result.shape}" if is_array(result) else type(result).__name__
        raise ValueError(
            f"grad: the function returned {what}; gradients are defined for one number, a 0-d "
            "array: sum or average it, or use vmap for one loss per sample."
        )
    if result.dtype.kind != "f":
        raise TypeError(f"grad: the function returned {result.dtype}; it must be floating-point.")
    return result
