"""The autograd graph of a pass, with the layout of the samples in every cotangent.

``next_functions`` lead from the losses towards the parameters, whose leaves are AccumulateGrad
nodes. Nodes have indices, in the order in which they are found. A layout says how a cotangent's
entries belong to samples (see `layouts`); the rules of `axes` propagate layouts through the nodes.
A node is *proved* if the layouts of all its cotangents are known.
"""

from functools import cache
from typing import Any

from torch.autograd.function import BackwardCFunction

from .axes import AXES, PER_OUTPUT, SAMPLE_AXES, SLICING
from .layouts import Layout, OneSample, Piece, Propagation, SampleAxis, joined

Node = Any  # torch.autograd.graph.Node


@cache
def kind_of(name: str) -> str:
    """Return the kind of a node, "Mul" for MulBackward0; "" for a custom Function.

    A custom Function called Mul has nodes called "MulBackward", without a digit.
    """
    kind, _, overload = name.rpartition("Backward")
    return kind if overload.isdigit() else "CopySlices" * (name == "torch::autograd::CopySlices")


class Graph:
    """All nodes that can be reached from ``roots``, a list of (node, output index, layout).

    With ``trials`` nodes without a rule are tested numerically (see `trial`).
    """

    def __init__(
        self,
        roots: list[tuple[Node, int, SampleAxis]],
        names: dict[int, str],
        size: int,
        trials: Any = None,
    ) -> None:
        self.size = size
        self.tried: set[str] = set()  # names of the nodes that `trials` proved
        self.nodes: list[Node] = []
        # Lists with one entry for each node:
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.users: list[list[tuple[int, int]]] = []  # [(node above, its input index)]
        self.targets: list[list] = []  # [(next node, its output index), or None]
        self.layouts: list[dict[int, Layout]] = []  # output index -> layout, None if unknown
        self.leaves: dict[str, int] = {}  # parameter -> its AccumulateGrad node
        self.index_of: dict[Node, int] = {}
        self._shapes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._known_starts: dict[int, list] = {}
        self._memory: dict = {}
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
        self._walk(trials)

    def _add(self, node: Node) -> int:
        there = self.index_of.get(node)
        if there is None:
            there = self.index_of[node] = len(self.nodes)
            self.nodes.append(node)
            self.names.append(node.name())
            self.kinds.append(kind_of(self.names[-1]))
            self.users.append([])
            self.layouts.append({})
        return there

    def _walk(self, trials: Any) -> None:
        """Propagate the layouts, in topological order from the roots."""
        waiting, leaves = [len(users) for users in self.users], set(self.leaves.values())
        arriving: list[dict[int, list]] = [{} for _ in self.nodes]
        ready = [here for here, count in enumerate(waiting) if not count]
        for here in ready:  # grows while it is walked
            for output, parts in arriving[here].items():
                alone = len(parts) == 1 and not isinstance(parts[0], Piece)
                lies = parts[0] if alone else joined(parts, self.shape(here, output), self.size)
                self.layouts[here][output] = lies
            arriving[here], layout = {}, self.common_layout(here)
            for input_index, target in enumerate(self.targets[here]):
                if target is None or target[0] in leaves:
                    continue
                there, output = target
                parts = self._pass(here, input_index, layout, trials)
                arriving[there].setdefault(output, []).extend(parts)
                waiting[there] -= 1
                if not waiting[there]:
                    ready.append(there)

    def _pass(self, here, input_index, layout, trials):
        """Return the layouts of what a node adds to the cotangent of an input."""
        kind, outputs = self.kinds[here], self.layouts[here]
        rule = AXES.get(kind)
        if isinstance(layout, OneSample) and kind not in SLICING:
            return [layout]
        if kind in PER_OUTPUT and None not in outputs.values():
            return [rule(self.propagation(here, input_index, n, x)) for n, x in outputs.items()]
        if layout is None:
            return [None]
        if rule is None:
            if trials is None or not trials.proves(self, here, input_index, layout):
                return [None]
            self.tried.add(self.names[here])
            return [layout]
        propagation = self.propagation(here, input_index, next(iter(outputs)), layout)
        return [
            rule(propagation if len(outputs) == 1 else propagation._replace(output_index=None))
        ]

    def propagation(self, here: int, input_index: int, output: int, layout: Layout) -> Propagation:
        """Return what a rule gets: the cotangent of an output, on its way to an input."""
        out, into = self.shape(here, output), self.shape(*self.targets[here][input_index])
        start = self._starts(here, out)[input_index] if self.kinds[here] == "Cat" else None
        node = self.nodes[here]
        return Propagation(
            node, input_index, output, layout, out, into, self.size, start, self._memory
        )

    def _starts(self, here, out):
        """Return where each input of a `torch.cat` begins in the output; None if unknown.

        The shape of an input without a gradient is unknown, so count from both ends.
        """
        if here not in self._known_starts:
            targets, dim = self.targets[here], self.nodes[here]._saved_dim
            dim = (dim - 2**64 if dim >= 2**63 else dim) % len(out)
            shapes = [target and self.shape(*target) for target in targets]
            # torch.cat takes an empty vector among arrays of any number of axes.
            lengths = [x and (x[dim] if len(x) == len(out) else 0) for x in shapes]
            starts, start = [], 0
            for length in lengths:
                starts.append(start)
                start = None if None in (start, length) else start + length
            end = out[dim]
            for n, length in reversed(list(enumerate(lengths))):
                end = None if None in (end, length) else end - length
                starts[n] = end if starts[n] is None else starts[n]
            self._known_starts[here] = starts
        return self._known_starts[here]

    def common_layout(self, index: int) -> Layout:
        """Return the layout that the cotangents of all outputs have in common; None if none.

        If the outputs have different sample axes (`SAMPLE_AXES`), that of output 0.
        """
        outputs, axes = self.layouts[index], SAMPLE_AXES.get(self.kinds[index])
        found = list(outputs.values())
        if axes:
            found = [_in_output_0(layout, axes, n) for n, layout in outputs.items()]
        if len(found) == 1:
            return found[0]
        return found[0] if found and found.count(found[0]) == len(found) else None

    def is_of_one_sample(self, index: int) -> bool:
        """Whether all cotangents of a node belong to one sample."""
        return isinstance(self.common_layout(index), OneSample)

    def is_proved(self, index: int) -> bool:
        """Whether the layouts of all cotangents of a node are known."""
        found = self.layouts[index].values()
        return bool(found) and None not in found

    def shape(self, index: int, output_index: int = 0) -> tuple[int, ...]:
        """Return the shape of an output of a node."""
        key = index, output_index
        if key not in self._shapes:  # _input_metadata is slow
            self._shapes[key] = tuple(self.nodes[index]._input_metadata[output_index].shape)
        return self._shapes[key]

    def unknown(self) -> list[int]:
        """Return the nodes without a rule in `AXES`."""
        kinds = enumerate(self.kinds)
        return [here for here, kind in kinds if self.targets[here] and kind not in AXES]

    def opaque(self) -> list[str]:
        """Return the names of custom Functions, which may run a graph of their own inside."""
        return [node.name() for node in self.nodes if isinstance(node, BackwardCFunction)]

    def reach(self, index: int) -> set[int]:
        """Return all nodes that can be reached from a node, itself included."""
        seen, waiting = {index}, [index]
        while waiting:
            for target in self.targets[waiting.pop()]:
                if target is not None and target[0] not in seen:
                    seen.add(target[0])
                    waiting.append(target[0])
        return seen


def _in_output_0(layout, axes, output):
    """Return the layout of output 0 that agrees with the layout of another output."""
    if not isinstance(layout, SampleAxis):
        return layout
    return layout.at(axes[0]) if layout.axis == axes[output] else None
