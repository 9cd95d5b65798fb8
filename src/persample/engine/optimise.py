"""Optimise a graph: passes that return a simpler graph with the same results.

Every pass is a function Graph -> Graph and a row of PASSES; each can be left out. A pass that
finds nothing to do returns the graph that it was given. No pass reorders a sum or rounds
differently: results keep their bits (up to the sign of a zero and, for factors that are powers
of two, overflow and underflow).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import is_

import numpy as np

from .contraction import split
from .core import ELEMENTWISE
from .operations import only_number
from .primitives import PRIMITIVES
from .staging import Equation, Graph, Var


def rewrite(graph: Graph, rule: Callable) -> Graph:
    """Return the graph with each equation, in order, replaced by ``rule(equation, made_by)``.

    The rule returns the equation itself, another equation with the same output, or an atom (Var
    or constant) that takes the output's place from there on. ``made_by`` maps each output so far
    to its new equation.
    """
    replaced: dict = {}
    made_by: dict = {}
    for old in graph.equations:
        inputs = tuple(_replace_all(old.inputs, replaced)) if replaced else old.inputs
        eq = old if all(map(is_, inputs, old.inputs)) else replace(old, inputs=inputs)
        new = rule(eq, made_by)
        if isinstance(new, Equation):
            made_by[new.output] = new
        else:
            replaced[old.output] = new
    equations = list(made_by.values())
    if not replaced and all(map(is_, equations, graph.equations)):
        return graph
    return replace(graph, equations=equations, outputs=_replace_all(graph.outputs, replaced))


def _replace_all(atoms: Iterable, replaced: dict) -> list:
    return [replaced.get(x, x) if isinstance(x, Var) else x for x in atoms]


def dead_code(graph: Graph) -> Graph:
    """Remove the equations on which no output of the graph depends."""
    read = {id(x) for x in graph.outputs}
    kept = []
    for eq in reversed(graph.equations):
        if id(eq.output) in read:
            read.update(map(id, eq.inputs))
            kept.append(eq)
    same = len(kept) == len(graph.equations)
    return graph if same else replace(graph, equations=kept[::-1])


def common_subexpressions(graph: Graph) -> Graph:
    """Keep only the first of the equations with the same primitive, inputs and parameters."""
    seen: dict = {}

    def rule(eq, made_by):
        atoms = tuple([x if isinstance(x, Var) else _constant_key(x) for x in eq.inputs])
        key = (eq.primitive, atoms, repr(eq.params))
        first = seen.setdefault(key, eq.output)
        return eq if first is eq.output else first

    return rewrite(graph, rule)


def _constant_key(x):
    return (x.dtype, x.shape, x.tobytes()) if x.size <= 16 else id(x)


def broadcasts(graph: Graph) -> Graph:
    """Remove broadcasts before elementwise operations, which broadcast by themselves."""

    def rule(eq, made_by):
        if eq.primitive.kind != ELEMENTWISE or len(eq.inputs) == 1:
            return eq
        inputs = list(eq.inputs)
        for i, x in enumerate(inputs):
            repeated = _maker(x, made_by, "broadcast_to")
            others = [y.shape for j, y in enumerate(inputs) if j != i]
            if repeated and np.broadcast_shapes(*others) == eq.output.shape:
                inputs[i] = repeated.inputs[0]
        return _make(eq, eq.primitive.name, *inputs, **eq.params)

    return rewrite(graph, rule)


def identities(graph: Graph) -> Graph:
    """Remove operations that change nothing, and merge pairs into one operation."""

    def rule(eq, made_by):
        simplify = IDENTITIES.get(eq.primitive.name)
        new = simplify(eq, made_by) if simplify else eq
        if isinstance(new, Equation):
            return new
        if new.dtype != eq.output.dtype:  # integers: x / 1 is a real number
            return eq
        if new.shape == eq.output.shape:
            return new
        return _make(eq, "broadcast_to", new, shape=eq.output.shape)

    return rewrite(graph, rule)


def _make(eq, name, *inputs, **params):
    """Return the equation ``eq.output = name(*inputs, **params)``, or ``eq`` if it equals it."""
    same = eq.primitive.name == name and eq.params == params and all(map(is_, inputs, eq.inputs))
    return eq if same else Equation(PRIMITIVES[name], inputs, params, eq.output)


def _maker(x, made_by, name):
    """Return the equation whose output is x if its primitive has this name, else None."""
    eq = made_by.get(x) if isinstance(x, Var) else None
    return eq if eq is not None and eq.primitive.name == name else None


def _number_and_rest(eq):
    """Return (number, rest) if ``eq`` computes number * rest in floating point, else None."""
    if eq is None or eq.output.dtype.kind != "f":
        return None
    name, x, y = eq.primitive.name, eq.inputs[0], eq.inputs[-1]
    if name == "negative":
        return -1.0, x
    if name == "add" and x is y:
        return 2.0, x
    if name not in ("multiply", "einsum"):
        return None
    # A multiply has no letters to compare.
    *letters, out = split(eq.params["subscripts"]) if name == "einsum" else ("", "", "")
    for number, rest, axes in ((only_number(x), y, letters[1]), (only_number(y), x, letters[0])):
        if number is not None and rest.shape == eq.output.shape and axes == out:
            return number.item(), rest  # a float, but of a long double with all its bits
    return None


def _scaling(eq, made_by):
    """Simplify number * rest, where rest may be such a product itself.

    Two numbers are multiplied only if one of them is a power of two, so that nothing is rounded.
    """
    product = _number_and_rest(eq)
    if product is None:
        return eq
    number, rest = product
    inner = _number_and_rest(made_by.get(rest)) if isinstance(rest, Var) else None
    if inner and (_is_power_of_two(number) or _is_power_of_two(inner[0])):
        number, rest = number * inner[0], inner[1]
    if number == 1.0:
        return rest
    if number == -1.0:
        difference = _maker(rest, made_by, "subtract")
        if difference:
            return _make(eq, "subtract", *difference.inputs[::-1])
        return _make(eq, "negative", rest)
    if eq.primitive.name == "multiply" and rest is eq.inputs[1]:
        return eq  # already in this form
    return _make(eq, "multiply", eq.output.dtype.type(number), rest)


def _is_power_of_two(number):
    return np.isfinite(number) and abs(np.frexp(number)[0]) == 0.5


def _add(eq, made_by):
    for x, y in (eq.inputs, eq.inputs[::-1]):
        minus = _maker(y, made_by, "negative")
        if only_number(y) == 0:
            return x
        if minus:
            return _make(eq, "subtract", x, minus.inputs[0])
    return _scaling(eq, made_by)  # x + x


def _stop_gradient(eq, made_by):
    return eq.inputs[0]  # nothing is differentiated after staging


def _einsum(eq, made_by):
    """Simplify a product with a number; undo transposes of operands by reordering letters."""
    if _number_and_rest(eq):
        return _scaling(eq, made_by)
    *letters, out = split(eq.params["subscripts"])
    inputs = list(eq.inputs)
    for i in (0, 1):
        turned = _maker(inputs[i], made_by, "permute_dims")
        if turned:
            order = turned.params["axes"]
            letters[i] = "".join(letters[i][order.index(axis)] for axis in range(len(order)))
            inputs[i] = turned.inputs[0]
    return _make(eq, "einsum", *inputs, subscripts=f"{letters[0]},{letters[1]}->{out}")


def _same_shape(eq, made_by):
    x = eq.inputs[0]
    if x.shape == eq.output.shape:
        return x
    inner = _maker(x, made_by, eq.primitive.name)  # reshape of reshape, broadcast of broadcast
    return _make(eq, eq.primitive.name, inner.inputs[0], **eq.params) if inner else eq


# One row for each primitive: rule(equation, made_by) returns the equation itself where nothing is
# gained, else an equation with the same output, a Var or a constant.
IDENTITIES = {
    "stop_gradient": _stop_gradient,
    "multiply": _scaling,
    "negative": _scaling,
    "add": _add,
    "einsum": _einsum,
    "reshape": _same_shape,
    "broadcast_to": _same_shape,
}

# By name, in the order in which they run.
_IN_ORDER = (identities, common_subexpressions, broadcasts, dead_code)
PASSES = {function.__name__: function for function in _IN_ORDER}


def optimise(graph: Graph, passes: Iterable[str] = tuple(PASSES)) -> Graph:
    """Return the graph after the named passes, repeated until none changes it."""
    passes = tuple(passes)
    unknown = set(passes) - set(PASSES)
    if unknown:
        raise ValueError(f"optimise: no pass {sorted(unknown)}; the passes are {list(PASSES)}.")
    before = None
    while graph is not before:
        before = graph
        for name in passes:
            graph = PASSES[name](graph)
    return graph
