"""Staging: run a function once and record its operations as a graph.

The trace also computes with the example arguments, so no primitive needs a shape rule. The graph
is valid for these shapes and dtypes only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from optree import tree_flatten, tree_flatten_with_path, tree_unflatten

from ..names import argument_names, free_name, short_names
from .core import Primitive, Trace, as_tracer, bind, new_trace, refuse
from .operations import constant, snapshot
from .primitives import PRIMITIVES
from .tracer import Tracer, is_array, plain


class Var:
    """A graph's input or the output of an equation: shape and dtype, compared by identity."""

    __slots__ = ("shape", "dtype")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype


@dataclass(frozen=True, eq=False)
class Equation:
    """``output = primitive(*inputs, **params)``; an input is a Var or a constant.

    A constant is an array or, if 0-d, a NumPy scalar.
    """

    primitive: Primitive
    inputs: tuple
    params: dict
    output: Var


@dataclass(frozen=True, eq=False)
class Graph:
    """Equations in an order in which they can run; ``print`` shows one on each line.

    ``names`` are those of the inputs. ``outputs`` (Vars or constants) are the leaves of the
    function's result, and ``structure`` is its tree structure.
    """

    name: str
    names: list[str]
    inputs: list[Var]
    equations: list[Equation]
    outputs: list
    structure: Any

    def __str__(self) -> str:
        names = dict(zip(self.inputs, self.names, strict=True))
        fresh = short_names(set(self.names))
        names.update((eq.output, next(fresh)) for eq in self.equations)
        header = ", ".join(f"{names[v]}: {describe(v)}" for v in self.inputs)
        lines = [f"{self.name}({header}):"]
        for eq in self.equations:
            params = ", ".join(f"{key}={value}" for key, value in eq.params.items())
            inputs = " ".join(names[x] if isinstance(x, Var) else literal(x) for x in eq.inputs)
            call = f"{eq.primitive.name}[{params}]" if params else eq.primitive.name
            lines.append(f"    {names[eq.output]}: {describe(eq.output)} = {call} {inputs}")
        outputs = [names[x] if isinstance(x, Var) else literal(x) for x in self.outputs]
        return "\n".join([*lines, f"    return {', '.join(outputs)}"])

    __repr__ = __str__


def describe(x: Any) -> str:
    """Return dtype and shape as text, such as "float64[2,3]"."""
    return f"{x.dtype}[{','.join(map(str, x.shape))}]"


def literal(x: np.ndarray) -> str:
    """Return a constant as it is printed: a number, or for an array "<float64[2,3]>"."""
    return f"<{describe(x)}>" if x.shape else str(x)


class StageTracer(Tracer):
    """A Var or a constant of the graph, ``atom``, with its value for the example arguments."""

    __slots__ = ("value", "atom")

    def __init__(self, trace, value, atom):
        self._trace, self.value, self.atom = trace, value, atom

    concrete = Tracer.no_value  # the example's value is not the value of the next call


class StageTrace(Trace):
    """Computes each operation on the example arguments and records it as an equation."""

    name = "jit"

    def __init__(self, level):
        super().__init__(level)
        self.equations: list[Equation] = []
        self.copies: dict = {}  # id of an array from outside -> (the array, its copy)

    def lift(self, value):
        value = constant(value)
        if isinstance(value, Tracer):
            raise TypeError(f"jit: the function uses {value!r} from outside; pass it as argument.")
        _, before = self.copies.get(id(value), (value, None))
        copy = snapshot(value, before)  # later writes to the array have no effect
        self.copies[id(value)] = value, copy
        return StageTracer(self, copy, copy)  # a constant is its own atom

    def process(self, primitive, inputs, params):
        out = bind(primitive, *[x.value for x in inputs], **params)
        var = Var(out.shape, out.dtype)
        self.equations.append(Equation(primitive, tuple([x.atom for x in inputs]), params, var))
        return StageTracer(self, out, var)


def make_graph(f: Callable) -> Callable[..., Graph]:
    """Return a function that traces ``f`` on example arguments and returns its Graph.

    Arrays become the graph's inputs; other leaves (numbers, strings) are fixed at their values.
    """

    def trace_it(*args, **keywords):
        refuse(keywords)
        paths, leaves, structure = tree_flatten_with_path(args)
        given = argument_names(f, args)
        names = ["_".join([given[first], *map(str, rest)]) for first, *rest in paths]
        taken = {"np", *PRIMITIVES}  # names that the generated program uses
        inputs = {}
        with new_trace(StageTrace) as trace:
            for i, (x, name) in enumerate(zip(leaves, names, strict=True)):
                if is_array(x):
                    x = plain(x)
                    var = Var(x.shape, x.dtype)
                    inputs[var] = free_name(name, taken)
                    leaves[i] = StageTracer(trace, x, var)
            outputs, structure = tree_flatten(f(*tree_unflatten(structure, leaves)))
            atoms = [as_tracer(trace, x).atom for x in outputs]
        name = getattr(f, "__name__", "function")
        name = free_name("function" if name == "<lambda>" else name, taken)
        return Graph(name, list(inputs.values()), list(inputs), trace.equations, atoms, structure)

    return trace_it
