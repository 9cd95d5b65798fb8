"""The autograd graph of a pass, with the layout of the samples in every cotangent.

``next_functions`` lead from the losses towards the parameters, whose leaves are AccumulateGrad
nodes. Nodes have indices, in the order in which they are found. A layout says how a cotangent's
entries belong to samples (see `layouts`); the rules of `axes` propagate layouts through the nodes.
A node is *proved* if the layouts of all its cotangents are known.
"""

from functools import cache
from itertools import accumulate
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from .axes import AXES, PER_OUTPUT, SAMPLE_AXES, SLICING
from .layouts import Layout, OneSample, Piece, Propagation, SampleAxis, Shape, joined

Node = Any  # torch.autograd.graph.Node


@cache
def kind_of(name: str) -> str:
    """Return the kind of nodes called ``name``: "Mul" for MulBackward0, "" if it has no digit.

    A custom Function called Mul has nodes called "MulBackward". CopySlices is its own kind.
    """
    kind, _, overload = name.rpartition("Backward")
    return kind if overload.isdigit() else "CopySlices" * (name == "torch::autograd::CopySlices")


class Graph:
    """All nodes that can be reached from ``roots``, a list of (node, output index, layout).

    ``names`` maps a parameter's id to its name; ``size`` is B. With ``trials``, a `Trials`, nodes
    without a rule are tested numerically.
    """

    def __init__(
        self,
        roots: list[tuple[Node, int, SampleAxis | None]],
        names: dict[int, str],
        size: int,
        trials: Any = None,
    ) -> None:
        self.size, self._trials = size, trials
        self.tried: set[str] = set()  # names of the nodes that `trials` proved
        self.leaves: dict[str, int] = {}  # parameter -> its AccumulateGrad node
        # Lists with one entry for each node:
        self.nodes: list[Node] = []
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.users: list[list[tuple[int, int]]] = []  # [(node above, its input index)]
        self.targets: list[list] = []  # [(next node, its output index), or None]
        self.layouts: list[dict[int, Layout]] = []  # output index -> layout, None if unknown
        self._shapes: list[list[Shape]] = []  # of the outputs
        self.dtypes: list[list[torch.dtype]] = []
        self._index_of: dict[Node, int] = {}
        self._memory: dict = {}  # of the rules
        for node, output_index, layout in roots:
            self.layouts[self._add(node)][output_index] = layout
        for here, node in enumerate(self.nodes):  # grows while it is walked
            targets = []
            for input_index, (other, output_index) in enumerate(node.next_functions):
                if other is None:
                    targets.append(None)
                    continue
                there = self._add(other)
                self.users[there].append((here, input_index))
                targets.append((there, output_index))
            self.targets.append(targets)
            if not targets and hasattr(node, "variable") and id(node.variable) in names:
                self.leaves[names[id(node.variable)]] = here
        self._walk()

    def _add(self, node: Node) -> int:
        there = self._index_of.get(node)
        if there is None:
            there = self._index_of[node] = len(self.nodes)
            self.nodes.append(node)
            self.names.append(node.name())
            self.kinds.append(kind_of(self.names[-1]))
            self.users.append([])
            self.layouts.append({})
            outputs = node._input_metadata
            self._shapes.append([tuple(x.shape) for x in outputs])
            self.dtypes.append([x.dtype for x in outputs])
        return there

    def _walk(self) -> None:
        """Fill ``layouts`` by propagation from the roots, in topological order."""
        waiting, leaves = [len(users) for users in self.users], set(self.leaves.values())
        arriving: list[dict[int, list]] = [{} for _ in self.nodes]
        ready = [here for here, count in enumerate(waiting) if not count]
        for here in ready:  # grows while it is walked
            for output, parts in arriving[here].items():
                alone = len(parts) == 1 and not isinstance(parts[0], Piece)
                lies = parts[0] if alone else joined(parts, self._shapes[here][output], self.size)
                self.layouts[here][output] = lies
            arriving[here], layout = {}, self.common_layout(here)
            for input_index, target in enumerate(self.targets[here]):
                if target is None or target[0] in leaves:
                    continue
                there, output = target
                parts = self._pass(here, input_index, layout)
                arriving[there].setdefault(output, []).extend(parts)
                waiting[there] -= 1
                if not waiting[there]:
                    ready.append(there)

    def _pass(self, here, input_index, layout):
        """Return a list: the layout of each summand that a node adds to an input's cotangent."""
        kind, outputs = self.kinds[here], self.layouts[here]
        if isinstance(layout, OneSample) and kind not in SLICING:
            return [layout]
        rule = AXES.get(kind)
        if kind in PER_OUTPUT and None not in outputs.values():
            return [rule(self.propagation(here, input_index, n, x)) for n, x in outputs.items()]
        if layout is None:
            return [None]
        if rule is None:
            if not (self._trials and self._trials.proves(self, here, input_index, layout)):
                return [None]
            self.tried.add(self.names[here])
            return [layout]
        p = self.propagation(here, input_index, next(iter(outputs)), layout)
        return [rule(p if len(outputs) == 1 else p._replace(output_index=None))]

    def propagation(self, here: int, input_index: int, output: int, layout: Layout) -> Propagation:
        """Return a rule's argument for an output and an input of the node ``here``."""
        node, targets, out = self.nodes[here], self.targets[here], self._shapes[here][output]
        into, start = self.shape(*targets[input_index]), None
        if self.kinds[here] == "Cat":
            if self._memory.get("cat") is not node:  # once for all of its inputs
                shapes = [target and self.shape(*target) for target in targets]
                self._memory.update(cat=node, starts=_starts(node._saved_dim, shapes, out))
            start = self._memory["starts"][input_index]
        return Propagation(
            node, input_index, output, layout, out, into, self.size, start, self._memory
        )

    def common_layout(self, index: int) -> Layout:
        """Return the layout that the cotangents of all outputs of a node share, or None.

        If the outputs have different sample axes (`SAMPLE_AXES`), return that of output 0.
        """
        outputs, axes = self.layouts[index], SAMPLE_AXES.get(self.kinds[index])
        found = list(outputs.values())
        if axes:
            found = [_in_output_0(layout, axes, n) for n, layout in outputs.items()]
        if len(found) == 1:
            return found[0]
        return found[0] if found and found.count(found[0]) == len(found) else None

    def is_of_one_sample(self, index: int) -> bool:
        """Return whether all cotangents of a node belong to one sample."""
        return isinstance(self.common_layout(index), OneSample)

    def is_proved(self, index: int) -> bool:
        """Return whether the layouts of all cotangents of a node are known."""
        found = self.layouts[index].values()
        return bool(found) and None not in found

    def shape(self, index: int, output_index: int = 0) -> Shape:
        """Return the shape of an output of a node."""
        return self._shapes[index][output_index]

    def opaque(self) -> list[str]:
        """Return the node names of custom Functions, which may run a graph of their own inside."""
        return [node.name() for node in self.nodes if isinstance(node, BackwardCFunction)]

    def reach(self, index: int) -> set[int]:
        """Return the indices of all nodes that can be reached from a node, itself included."""
        seen, waiting = {index}, [index]
        while waiting:
            for target in self.targets[waiting.pop()]:
                if target is not None and target[0] not in seen:
                    seen.add(target[0])
                    waiting.append(target[0])
        return seen


def _in_output_0(layout, axes, output):
    """Return output 0's layout from that of ``output``, or None if it is not on axes[output]."""
    if not isinstance(layout, SampleAxis):
        return layout
    return layout.at(axes[0]) if layout.axis == axes[output] else None


def _starts(dim, shapes, out):
    """Return, for each input of `torch.cat`, where it begins on axis ``dim`` of the output.

    ``shapes`` has None for an input without a gradient. The length of one such input follows from
    ``out``, the output's shape; with several, all entries returned are None.
    """
    dim = (dim - 2**64 if dim >= 2**63 else dim) % len(out)
    # torch.cat takes an empty vector among arrays of any number of axes.
    lengths = [x and (x[dim] if len(x) == len(out) else 0) for x in shapes]
    if lengths.count(None) == 1:
        lengths[lengths.index(None)] = out[dim] - sum(filter(None, lengths))
    if None in lengths:
        return [None] * len(lengths)
    return list(accumulate(lengths, initial=0))
