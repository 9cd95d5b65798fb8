"""From a graph to a smaller graph that computes the same numbers.

Every pass is a function Graph -> Graph and a row of PASSES; each can be left out. No pass
reorders a sum or rounds differently: results keep their bits (up to the sign of a zero and,
for factors that are powers of two, overflow and underflow).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from .contraction import split
from .core import ELEMENTWISE
from .primitives import PRIMITIVES, uniform
from .staging import Equation, Graph, Var


def rewrite(graph: Graph, rule: Callable) -> Graph:
    """Walk forward; ``rule(equation, made_by)`` returns an equation with the same output, or an
    atom (Var or constant) that replaces the output from there on."""
    replaced: dict = {}
    made_by: dict = {}
    equations = []
    for eq in graph.equations:
        inputs = tuple([replaced.get(id(x), x) for x in eq.inputs])
        new = rule(replace(eq, inputs=inputs), made_by)
        if isinstance(new, Equation):
            made_by[new.output] = new
            equations.append(new)
        else:
            replaced[id(eq.output)] = new
    outputs = [replaced.get(id(x), x) for x in graph.outputs]
    return replace(graph, equations=equations, outputs=outputs)


def dead_code(graph: Graph) -> Graph:
    """Drop equations whose output nobody reads."""
    needed = {x for x in graph.outputs if isinstance(x, Var)}
    kept = []
    for eq in reversed(graph.equations):
        if eq.output in needed:
            needed.update(x for x in eq.inputs if isinstance(x, Var))
            kept.append(eq)
    return replace(graph, equations=kept[::-1])


def common_subexpressions(graph: Graph) -> Graph:
    """Compute once what several equations compute alike."""
    seen: dict = {}

    def rule(eq, made_by):
        atoms = tuple([x if isinstance(x, Var) else _constant_key(x) for x in eq.inputs])
        key = (eq.primitive, atoms, repr(sorted(eq.params.items())))
        first = seen.setdefault(key, eq.output)
        return eq if first is eq.output else first

    return rewrite(graph, rule)


def _constant_key(x):
    return (x.dtype, x.shape, x.tobytes()) if x.size <= 16 else id(x)


def constants(graph: Graph) -> Graph:
    """Compute now what depends on constants only, unless the result is larger than its inputs."""

    def rule(eq, made_by):
        if any(isinstance(x, Var) for x in eq.inputs):
            return eq
        if np.prod(eq.output.shape) > max(x.size for x in eq.inputs):
            return eq
        return np.asarray(eq.primitive.numpy(*eq.inputs, **eq.params))

    return rewrite(graph, rule)


def broadcasts(graph: Graph) -> Graph:
    """Let elementwise operations broadcast by themselves, as NumPy does."""

    def rule(eq, made_by):
        if eq.primitive.kind != ELEMENTWISE or len(eq.inputs) == 1:
            return eq
        inputs = list(eq.inputs)
        for i, x in enumerate(inputs):
            small = _before_broadcast(x, made_by)
            shapes = [small.shape, *[y.shape for j, y in enumerate(inputs) if j != i]]
            if small is not x and np.broadcast_shapes(*shapes) == eq.output.shape:
                inputs[i] = small
        return replace(eq, inputs=tuple(inputs))

    return rewrite(graph, rule)


def _before_broadcast(x, made_by):
    if isinstance(x, Var):
        maker = made_by.get(x)
        return maker.inputs[0] if maker and maker.primitive.name == "broadcast_to" else x
    number = uniform(x)
    return x if number is None or x.ndim == 0 else np.asarray(number, x.dtype)


def identities(graph: Graph) -> Graph:
    """Drop operations that change nothing, and join those that are one."""

    def rule(eq, made_by):
        simplify = IDENTITIES.get(eq.primitive.name)
        new = simplify(eq, made_by) if simplify else None
        if new is None or not isinstance(new, Equation) and new.shape != eq.output.shape:
            return eq
        return new

    return rewrite(graph, rule)


def _make(eq, name, *inputs, **params):
    return Equation(PRIMITIVES[name], inputs, params, eq.output)


def _uniform(x):
    return None if isinstance(x, Var) else uniform(x)


def _maker(x, made_by, *names):
    eq = made_by.get(x) if isinstance(x, Var) else None
    return eq if eq is not None and eq.primitive.name in names else None


def _factor(x, made_by):
    """Read x as (factor, rest), so that x = factor * rest exactly."""
    eq = _maker(x, made_by, "multiply", "negative")
    if eq is None or x.dtype.kind != "f":
        return 1.0, x
    return (-1.0, eq.inputs[0]) if eq.primitive.name == "negative" else _product(eq) or (1.0, x)


def _product(eq):
    """Read a product as (number, rest), or None."""
    for x, rest in (eq.inputs, eq.inputs[::-1]):
        number = _uniform(x)
        if number is not None and rest.shape == eq.output.shape:
            return float(number), rest
    return None


def _scaled(eq, number, x, made_by):
    """Return the equation number * x, joined with a factor that x already carries."""
    inner, rest = _factor(x, made_by)
    if not (_exact(number) or _exact(inner)):
        inner, rest = 1.0, x
    number = number * inner
    if number == 1.0:
        return rest
    if number == -1.0:
        return _negated(eq, rest, made_by)
    return _make(eq, "multiply", np.asarray(number, eq.output.dtype), rest)


def _exact(number):
    """Say whether multiplying by ``number`` never rounds: a power of two."""
    return np.isfinite(number) and abs(np.frexp(number)[0]) == 0.5


def _negated(eq, x, made_by):
    difference = _maker(x, made_by, "subtract")
    if difference is not None and eq.output.shape == x.shape:
        return _make(eq, "subtract", *difference.inputs[::-1])
    return _make(eq, "negative", x)


def _multiply(eq, made_by):
    product = _product(eq) if eq.output.dtype.kind == "f" else None
    return _scaled(eq, *product, made_by) if product else None


def _add(eq, made_by):
    x, y = eq.inputs
    if x is y and eq.output.dtype.kind == "f":
        return _scaled(eq, 2.0, x, made_by)
    if _uniform(y) == 0 or _uniform(x) == 0:
        return x if _uniform(y) == 0 else y
    for other, minus in ((x, _maker(y, made_by, "negative")), (y, _maker(x, made_by, "negative"))):
        if minus:
            return _make(eq, "subtract", other, minus.inputs[0])
    return None


def _neutral(number):
    """x op number = x."""
    return lambda eq, made_by: eq.inputs[0] if _uniform(eq.inputs[1]) == number else None


def _where(eq, made_by):
    condition, x, y = eq.inputs
    number = _uniform(condition)
    return None if number is None else (x if number else y)


def _einsum(eq, made_by):
    """A product with a constant is a scaling; a transposed operand is other letters."""
    *names, out = split(eq.params["subscripts"])
    inputs, product = list(eq.inputs), _product(eq)
    if product and eq.output.dtype.kind == "f" and names[product[1] is inputs[1]] == out:
        return _scaled(eq, *product, made_by)
    for i in (0, 1):
        turned = _maker(inputs[i], made_by, "permute_dims")
        if turned is not None:
            order = turned.params["axes"]
            names[i] = "".join(names[i][order.index(axis)] for axis in range(len(order)))
            inputs[i] = turned.inputs[0]
    subscripts = f"{names[0]},{names[1]}->{out}"
    return _make(eq, "einsum", *inputs, subscripts=subscripts)


def _same_shape(eq, made_by):
    x = eq.inputs[0]
    if x.shape == eq.output.shape:
        return x
    inner = _maker(x, made_by, eq.primitive.name)  # reshape of reshape, broadcast of broadcast
    return _make(eq, eq.primitive.name, inner.inputs[0], **eq.params) if inner else None


def _permute(eq, made_by):
    axes = eq.params["axes"]
    inner = _maker(eq.inputs[0], made_by, "permute_dims")
    if inner:
        axes = tuple([inner.params["axes"][a] for a in axes])
        return _make(eq, "permute_dims", inner.inputs[0], axes=axes)
    return eq.inputs[0] if axes == tuple(range(len(axes))) else None


# One row a primitive: rule(equation, made_by) -> Var, constant, equation with the same output,
# or None where nothing is gained.
IDENTITIES = {
    "stop_gradient": lambda eq, made_by: eq.inputs[0],  # its work is done once rules have run
    "multiply": _multiply,
    "negative": lambda eq, made_by: _scaled(eq, -1.0, eq.inputs[0], made_by),
    "add": _add,
    "subtract": _neutral(0),
    "divide": _neutral(1),
    "power": _neutral(1),
    "where": _where,
    "einsum": _einsum,
    "reshape": _same_shape,
    "broadcast_to": _same_shape,
    "permute_dims": _permute,
}

PASSES = {
    "constants": constants,
    "identities": identities,
    "common_subexpressions": common_subexpressions,
    "broadcasts": broadcasts,
    "dead_code": dead_code,
}


def optimise(graph: Graph, passes: Iterable[str] = tuple(PASSES)) -> Graph:
    """Run the named passes in turn until none finds anything more.

    ``graph.removed`` of the result says how many equations each pass took away.
    """
    passes = tuple(passes)
    unknown = set(passes) - set(PASSES)
    if unknown:
        raise ValueError(f"optimise: no pass {sorted(unknown)}; the passes are {list(PASSES)}.")
    removed = dict.fromkeys(passes, 0)
    before = None
    while before != str(graph):
        before = str(graph)
        for name in passes:
            smaller = PASSES[name](graph)
            removed[name] += len(graph.equations) - len(smaller.equations)
            graph = smaller
    return replace(graph, removed=removed)
