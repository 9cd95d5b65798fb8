"""The losses that the graph figure of the book steps through, as the engine's graph has them.

Boxes, edges and the program of the page all come from the graph; only what a box is called, and
how it is written, is added here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from persample.arrays import array_namespace
from persample.engine import grad, make_graph
from persample.engine.core import bind
from persample.engine.staging import Graph, Var

from .diagrams import LEAF, VALUE, Diagram, Edge, Vertex


def times_five(v1: Any, v2: Any) -> Any:
    """Return ``((v1 + v2) * 5).sum()``."""
    return array_namespace(v1).sum((v1 + v2) * 5.0)


def network(x: Any, w1: Any, b1: Any, w2: Any, y: Any) -> Any:
    """Return half the squared error of a network with one hidden unit, for one sample."""
    p = w2 * array_namespace(x).tanh(w1 * x + b1)
    return 0.5 * (p - y) ** 2


@dataclass(frozen=True)
class Box:
    """A result: its name, how it is computed, and its derivative for each box that it reads."""

    name: str
    formula: str
    slopes: dict[str, str]


@dataclass(frozen=True)
class Stepped:
    """A loss whose graph is stepped through.

    ``leaves``: name -> value at the start, and whether it is marked. ``results``: a box for each
    equation of the graph, or None for one that is computed inside the box that reads it.
    ``limits``: the smallest and largest number of a leaf, and the step of its field.
    ``moral``: a sentence for the end of the walk.
    """

    name: str
    title: str
    loss: Callable
    leaves: dict[str, tuple[Any, bool]]
    results: list[Box | None]
    limits: tuple[float, float, float]
    moral: str

    @property
    def arguments(self) -> list[np.ndarray]:
        """The leaves' values at the start."""
        return [np.array(value, float) for value, _ in self.leaves.values()]

    def graph(self) -> Graph:
        """Stage the loss."""
        return make_graph(self.loss)(*self.arguments)

    def walk(self, *leaves: Any) -> tuple:
        """Go forward and backward: return the results' values, then a derivative for each box.

        The derivative of the loss with respect to each leaf comes first, then to each result.
        """
        graph = self.graph()
        equations = list(zip(graph.equations, self.results, strict=True))

        def forward(leaves, added):
            known, results = dict(zip(graph.inputs, leaves, strict=True)), []
            for eq, box in equations:
                inputs = [known[x] if isinstance(x, Var) else x for x in eq.inputs]
                known[eq.output] = bind(eq.primitive, *inputs, **eq.params)
                if box:  # a zero is added: the derivative with respect to it is the one here
                    known[eq.output] = known[eq.output] + (added[len(results)] if added else 0.0)
                    results.append(known[eq.output])
            return results

        values = forward(leaves, [])
        zeros = [array_namespace(leaves[0]).zeros_like(x) for x in values]
        to_leaves, to_results = grad(lambda *xs: forward(*xs)[-1], (0, 1))(list(leaves), zeros)
        return *values, *to_leaves, *to_results

    def diagram(self) -> Diagram:
        """Return boxes and edges: the leaves, then the results."""
        graph = self.graph()
        vertices = [Vertex(name, LEAF) for name in self.leaves]
        edges, behind = [], {v: [i] for i, v in enumerate(graph.inputs)}
        for eq, box in zip(graph.equations, self.results, strict=True):
            read = [i for x in eq.inputs if isinstance(x, Var) for i in behind[x]]
            read = list(dict.fromkeys(read))
            if box:
                edges += [Edge(i, len(vertices)) for i in read]
                read = [len(vertices)]
                vertices.append(Vertex(box.name, VALUE))
            behind[eq.output] = read
        return Diagram(tuple(vertices), tuple(edges))

    def places(self) -> list[tuple[int, float]]:
        """Return column and row of each box, for a drawing from left to right.

        Results stand in row 0. Leaves of the first column stand around it, those of later columns
        by turns above and below.
        """
        depths, turns, places = self.diagram().depths(), cycle([-1, 1]), []
        for i, depth in enumerate(depths):
            around = (2 * i - depths.count(0) + 1) / 2
            row = 0 if i >= len(self.leaves) else next(turns) if depth else around
            places.append((depth, row))
        return places

    def data(self) -> dict:
        """Return what the page has to know besides the program, of plain lists and texts.

        ``boxes``: of each, the leaves first, its name, formula and place; the step at which it has
        its value, and at which the derivative reaches it; which boxes it reads, and its derivative
        for each of these.
        """
        edges, results = self.diagram().edges, [box for box in self.results if box]
        leaves, boxes = [Box(name, "", {}) for name in self.leaves], []
        every = leaves + results
        readers = {edge.source: edge.target for edge in edges}
        for i, (box, place) in enumerate(zip(every, self.places(), strict=True)):
            ready = max(0, i + 1 - len(leaves))
            back = len(results) + 1 + len(every) - readers.get(i, len(every))
            reads = [edge.source for edge in edges if edge.target == i]
            slopes = [box.slopes[every[source].name] for source in reads]
            boxes.append([box.name, box.formula, place, ready, back, reads, slopes])
        start = [[value, int(marked)] for value, marked in self.leaves.values()]
        names = {"name": self.name, "title": self.title, "moral": self.moral}
        return {**names, "start": start, "limits": self.limits, "boxes": boxes}


SUM = Stepped(
    name="sum",
    title="the sum",
    loss=times_five,
    leaves={"v1": ([1, 1], True), "v2": ([2, 2], False)},
    results=[
        Box("v_sum", "v1 + v2", {"v1": "1", "v2": "1"}),
        Box("product", "v_sum * 5", {"v_sum": "5"}),
        Box("v_res", "product.sum()", {"product": "1"}),
    ],
    limits=(-99, 99, 1),
    moral="Change the numbers: v_res changes, .grad stays [5, 5],"
    " as the slope is 5 in each element.",
)
NETWORK = Stepped(
    name="network",
    title="a small network",
    loss=network,
    leaves={
        "x": (2, False),
        "w1": (1, True),
        "b1": (-1, True),
        "w2": (2, True),
        "y": (1, False),
    },
    results=[
        None,
        Box("z", "w1 * x + b1", {"w1": "x", "x": "w1", "b1": "1"}),
        Box("h", "tanh(z)", {"z": "(1 - h²)"}),
        Box("p", "w2 * h", {"w2": "h", "h": "w2"}),
        None,
        None,
        Box("loss", "(p - y)² / 2", {"p": "(p - y)", "y": "(y - p)"}),
    ],
    limits=(-9, 9, 0.1),
    moral="A marked weight's .grad is the derivative at the box that it leads to, times its input"
    " there: x for w1, h for w2, 1 for b1.",
)
GRAPHS = [SUM, NETWORK]
