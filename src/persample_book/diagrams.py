"""Graphs as the frameworks keep them, read from running code into one form.

Separate from the drawing (plotting/graph_drawing.py), so that tests and chapters can also count.
Nothing here builds a graph: each function walks one that exists already.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from persample.engine.optimise import PASSES
from persample.engine.staging import Graph
from persample.tape import Tensor

LEAF, INPUT, VALUE, CONSTANT, OUTPUT = "leaf", "input", "value", "constant", "output"


@dataclass(frozen=True)
class Vertex:
    """What a box says, and its kind: LEAF (requires grad), INPUT, VALUE, CONSTANT or OUTPUT."""

    name: str
    kind: str


@dataclass(frozen=True)
class Edge:
    """From vertex ``source`` to vertex ``target``, by position, and what flows there, as text.

    "" is something without a text, None is nothing.
    """

    source: int
    target: int
    forward: str | None = None
    backward: str | None = None


@dataclass(frozen=True)
class Diagram:
    """Vertices and edges; every edge leads from an earlier computed value to its reader."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]

    @property
    def operations(self) -> int:
        """How many operations were recorded."""
        return sum(vertex.kind == VALUE for vertex in self.vertices)

    def depths(self) -> list[int]:
        """Return for each vertex a column: after all that it reads, just before its reader."""
        readers: list[list[int]] = [[] for _ in self.vertices]
        for edge in self.edges:
            readers[edge.source].append(edge.target)
        height: dict[int, int] = {}  # steps from here to the end, the longest way

        def climb(i):
            if i not in height:
                height[i] = 1 + max((climb(j) for j in readers[i]), default=-1)
            return height[i]

        last = max(climb(i) for i in range(len(self.vertices)))
        return [last - height[i] for i in range(len(self.vertices))]


class _Builder:
    """Collects vertices and edges; ``place`` remembers which object has which vertex."""

    def __init__(self):
        self.vertices, self.edges, self.places = [], [], {}

    def place(self, key: Any, name: str, kind: str) -> int:
        self.vertices.append(Vertex(name, kind))
        self.places[id(key)] = len(self.vertices) - 1
        return len(self.vertices) - 1

    def edge(self, *args: Any) -> None:
        self.edges.append(Edge(*args))

    def diagram(self) -> Diagram:
        return Diagram(tuple(self.vertices), tuple(self.edges))


def of_tape(result: Tensor, **tensors: Tensor) -> Diagram:
    """Read the tape behind a 0-d engine Tensor, with its values and its cotangents.

    Call it before ``backward()``, which frees what the nodes saved. It changes nothing.

    Parameters
    ----------
    tensors : names for the tensors that went in, ``v1=v1``; others are called by their values.
    """
    built, root = _Builder(), result.node
    leaves = {id(x.node): name for name, x in tensors.items() if x.node is not None}
    data = {id(x.data): name for name, x in tensors.items()}
    order = _inputs_first(root, lambda node: [p for p in node.parents if p is not None])
    cts = {id(root): np.ones(())}
    pulled: dict = {}  # (node, which input) -> cotangent
    for node in reversed(order):
        inputs = [i for i, parent in enumerate(node.parents) if parent is not None]
        flows = node.pull(cts[id(node)]) if inputs else ()
        for i, (parent, ct) in zip(inputs, flows, strict=True):
            pulled[id(node), i] = ct
            cts[id(parent)] = cts[id(parent)] + ct if id(parent) in cts else ct
    for node in order:
        if node.primitive is None:
            built.place(node, leaves.get(id(node), number(node.out)), LEAF)
            continue
        here = built.place(node, node.primitive.name, VALUE)
        for i, (value, parent) in enumerate(zip(node.values, node.parents, strict=True)):
            if parent is not None:
                built.edge(
                    built.places[id(parent)], here, number(value), number(pulled[id(node), i])
                )
                continue
            if id(value) in data:
                built.edge(built.place(value, data[id(value)], INPUT), here, number(value))
            else:
                built.edge(built.place(value, number(value), CONSTANT), here, "")
    end = built.place(result, "result", OUTPUT)
    built.edge(built.places[id(root)], end, number(root.out), number(cts[id(root)]))
    return built.diagram()


def of_grad_fn(result: Any, **tensors: Any) -> Diagram:
    """Read the chain of ``grad_fn`` nodes behind a 0-d torch tensor.

    The chain leads from the result back to the leaf tensors. An input that needs no gradient is
    None there; in its place stands the value that the node has saved, if any.
    """
    built, root = _Builder(), result.grad_fn
    nexts = lambda node: [after for after, _ in node.next_functions if after is not None]  # noqa: E731
    names = {id(x): name for name, x in tensors.items()}
    for node in _inputs_first(root, nexts):
        if hasattr(node, "variable"):
            name = names.get(id(node.variable), number(node.variable.detach()))
            built.place(node, name, LEAF)
            continue
        here = built.place(node, node.name(), VALUE)
        for before, _ in node.next_functions:
            if before is None:
                built.edge(built.place(object(), _saved(node), CONSTANT), here)
            else:
                built.edge(built.places[id(before)], here, None, "")
    end = built.place(result, "result", OUTPUT)
    built.edge(built.places[id(root)], end, None, "")
    return built.diagram()


def _saved(node: Any) -> str:
    """Return the array that a grad_fn node has saved, as text; "None" if there is none."""
    values = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
    arrays = [number(value.detach()) for value in values if hasattr(value, "detach")]
    return arrays[0] if arrays else "None"


def of_jaxpr(closed: Any, *names: str) -> Diagram:
    """Read a jaxpr of JAX, as ``jax.make_jaxpr(f)(*args)`` returns it; name its inputs."""
    built = _Builder()
    for i, var in enumerate(closed.jaxpr.invars):
        built.place(var, names[i] if i < len(names) else f"input {i}", INPUT)
    for var in closed.jaxpr.constvars:
        built.place(var, "constant", CONSTANT)

    def source(x):
        if hasattr(x, "val"):  # a number, in place of a variable
            return built.place(x, number(x.val), CONSTANT)
        return built.places[id(x)]

    for eq in closed.jaxpr.eqns:
        here = built.place(eq.outvars[0], eq.primitive.name, VALUE)
        for x in eq.invars:
            built.edge(source(x), here, "" if hasattr(x, "val") else kind_of(x))
    for x in closed.jaxpr.outvars:
        start, end = source(x), len(built.vertices)
        built.vertices.append(Vertex("result", OUTPUT))
        built.edge(start, end, kind_of(x))
    return built.diagram()


def _inputs_first(root: Any, inputs: Callable) -> list:
    """Return the nodes that ``root`` depends on, each after its inputs, without recursion."""
    order, done, stack = [], set(), [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(inputs(node)) if id(x) not in done)
    return order


def number(x: Any) -> str:
    """Return a small array as text, and of a larger one its shape.

    >>> number(np.array([3.0, 3.0])), number(2), number(np.ones((40, 2)))
    ('[3, 3]', '2', '(40, 2)')
    """
    x = np.asarray(x)
    if x.size > 4:
        return str(x.shape)
    return "[" + ", ".join(f"{v:.3g}" for v in x.ravel()) + "]" if x.shape else f"{x:.3g}"


def kind_of(x: Any) -> str:
    """Return dtype and shape of a variable of a jaxpr, "f64[2]"."""
    dtype = str(x.aval.dtype).replace("float", "f").replace("int", "i")
    return f"{dtype}[{','.join(map(str, x.aval.shape))}]"


def fates(graph: Graph) -> list[tuple[str, str]]:
    """Return each equation as text, and which pass of the optimiser takes its result away.

    The passes run in turn, round after round, as ``optimise`` runs them. The second text is
    empty for a result that is still computed at the end.

    Example
    -------
    >>> from persample import engine
    >>> fates(engine.make_graph(lambda x: 1.0 * x + x)(np.ones(2)))
    [('a = multiply 1.0 x', 'identities, round 1'), ('b = add a x', '')]
    """
    lines = str(graph).splitlines()[1:-1]
    short = [re.sub(r"^ *(\w+): \S+ = (\w+)(\[.*\])?", r"\1 = \2", line) for line in lines]
    outputs = [eq.output for eq in graph.equations]
    fate, before, turn = dict.fromkeys(outputs, ""), None, 0
    while graph is not before:
        before, turn = graph, turn + 1
        for name, run in PASSES.items():
            graph = run(graph)
            computed = {eq.output for eq in graph.equations}
            gone = [x for x in outputs if not fate[x] and x not in computed]
            fate.update(dict.fromkeys(gone, f"{name.replace('_', ' ')}, round {turn}"))
    return list(zip(short, fate.values(), strict=True))
