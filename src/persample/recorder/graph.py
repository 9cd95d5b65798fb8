"""The graph that autograd recorded, walked once from the losses down at every pass.

A node is one operation of the forward pass. ``next_functions`` lead from the loss towards the
parameters; a parameter ends in an AccumulateGrad node. The walk says of each cotangent where its
samples lie (see `axes`). A node is *proved* if that is known of all the cotangents it gets.
"""

from functools import cache
from typing import Any

from torch.autograd.function import BackwardCFunction

from .along import Along, Layout, OneSample, Passed, Piece, joined
from .axes import AXES, PER_OUTPUT, SAMPLE_AXES, SLICING

Node = Any  # torch.autograd.graph.Node


@cache
def kind_of(name: str) -> str:
    """Return the kind of an operation, "Mul" of MulBackward0; "" of somebody's own function.

    The number tells them apart: "MulBackward" is a ``torch.autograd.Function`` that someone wrote.
    """
    kind, _, number = name.rpartition("Backward")
    return kind if number.isdigit() else "CopySlices" * (name == "torch::autograd::CopySlices")


class Graph:
    """The nodes that can be reached from ``roots``, each once.

    ``roots`` are (node, number of its output, where the samples lie in its cotangent). With
    ``trials`` unknown operations are tried (see `trial`).
    """

    def __init__(
        self,
        roots: list[tuple[Node, int, Along]],
        names: dict[int, str],
        size: int,
        trials: Any = None,
    ) -> None:
        self.size = size
        self.tried: set[str] = set()  # names of operations that `trials` proved
        self.nodes: list[Node] = []
        self.names: list[str] = []  # of the nodes
        self.kinds: list[str] = []
        self._shapes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._known_starts: dict[int, list] = {}
        self._memory: dict = {}
        self.place: dict[Node, int] = {}
        self.uses: list[list[tuple[int, int]]] = []  # for each node: (consumer, input of it)
        self.targets: list[list] = []  # for each node: (place of the next node, its output)
        self.leaves: dict[str, int] = {}  # parameter -> its AccumulateGrad node
        # For each node: output -> where the samples lie in its cotangent, None if unknown.
        self.layouts: list[dict[int, Layout]] = []
        for node, number, along in roots:
            self.layouts[self._add(node)][number] = along
        for here, node in enumerate(self.nodes):  # grows while it is walked
            targets = []
            for slot, (other, number) in enumerate(node.next_functions):
                if other is None:
                    targets.append(None)
                    continue
                there = self._add(other)
                self.uses[there].append((here, slot))
                targets.append((there, number))
            self.targets.append(targets)
            if not targets and hasattr(node, "variable") and id(node.variable) in names:
                self.leaves[names[id(node.variable)]] = here
        self._walk(trials)

    def _add(self, node: Node) -> int:
        there = self.place.get(node)
        if there is None:
            there = self.place[node] = len(self.nodes)
            self.nodes.append(node)
            self.names.append(node.name())
            self.kinds.append(kind_of(self.names[-1]))
            self.uses.append([])
            self.layouts.append({})
        return there

    def _walk(self, trials: Any) -> None:
        """Say where the samples lie, each node after all that use it."""
        waiting, leaves = [len(uses) for uses in self.uses], set(self.leaves.values())
        arriving: list[dict[int, list]] = [{} for _ in self.nodes]
        ready = [here for here, count in enumerate(waiting) if not count]
        for here in ready:  # grows while it is walked
            for output, parts in arriving[here].items():
                alone = len(parts) == 1 and not isinstance(parts[0], Piece)
                lies = parts[0] if alone else joined(parts, self.shape(here, output), self.size)
                self.layouts[here][output] = lies
            arriving[here], along = {}, self.agreed(here)
            for slot, target in enumerate(self.targets[here]):
                if target is None or target[0] in leaves:
                    continue
                there, output = target
                parts = self._pass(here, slot, along, trials)
                arriving[there].setdefault(output, []).extend(parts)
                waiting[there] -= 1
                if not waiting[there]:
                    ready.append(there)

    def _pass(self, here, slot, along, trials):
        """Return where the samples lie in what a node passes to an input, part by part."""
        kind, outputs = self.kinds[here], self.layouts[here]
        rule = AXES.get(kind)
        if isinstance(along, OneSample) and kind not in SLICING:
            return [along]
        if kind in PER_OUTPUT and None not in outputs.values():
            return [rule(self.passed(here, slot, n, part, n)) for n, part in outputs.items()]
        if along is None:
            return [None]
        if rule is None:
            if trials is None or not trials.proves(self, here, slot, along):
                return [None]
            self.tried.add(self.names[here])
            return [along]
        first = next(iter(outputs))
        output = first if len(outputs) == 1 else None
        return [rule(self.passed(here, slot, output, along, first))]

    def passed(
        self, here: int, slot: int, output: int | None, along: Layout, like: int = 0
    ) -> Passed:
        """Return what a node passes from an output to an input; ``like`` is one of that shape."""
        out, into = self.shape(here, like), self.shape(*self.targets[here][slot])
        start = self._starts(here, out)[slot] if self.kinds[here] == "Cat" else None
        node = self.nodes[here]
        return Passed(node, slot, output, along, out, into, self.size, start, self._memory)

    def _starts(self, here, out):
        """Return where each input of a node stands that joins them; None if that is not known.

        Of an input without a gradient nothing is known.
        """
        if here not in self._known_starts:
            targets, dim = self.targets[here], self.nodes[here]._saved_dim
            dim = (dim - 2**64 if dim >= 2**63 else dim) % len(out)
            shapes = [target and self.shape(*target) for target in targets]
            # An empty vector joins arrays of any number of axes.
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

    def agreed(self, place: int) -> Layout:
        """Return where the samples lie in the cotangents of all outputs of a node, if they do.

        Of outputs that have them along different axes it says where in output 0.
        """
        outputs, axes = self.layouts[place], SAMPLE_AXES.get(self.kinds[place])
        found = list(outputs.values())
        if axes:
            found = [_in_output_0(along, axes, n) for n, along in outputs.items()]
        if len(found) == 1:
            return found[0]
        return found[0] if found and found.count(found[0]) == len(found) else None

    def is_proved(self, place: int) -> bool:
        """Say whether it is known where the samples lie in each cotangent that the node gets."""
        found = self.layouts[place].values()
        return bool(found) and None not in found

    def shape(self, place: int, number: int = 0) -> tuple[int, ...]:
        """Return the shape of one output of a node."""
        key = place, number
        if key not in self._shapes:  # to ask a node takes longer
            self._shapes[key] = tuple(self.nodes[place]._input_metadata[number].shape)
        return self._shapes[key]

    def unknown(self) -> list[int]:
        """Return the places of the operations that no table knows."""
        places = enumerate(self.kinds)
        return [here for here, kind in places if self.targets[here] and kind not in AXES]

    def opaque(self) -> list[str]:
        """Return the names of functions of someone's own, which may hide a graph."""
        return [node.name() for node in self.nodes if isinstance(node, BackwardCFunction)]

    def reach(self, place: int) -> set[int]:
        """Return the places of all nodes from here towards the parameters, this one included."""
        seen, waiting = {place}, [place]
        while waiting:
            for target in self.targets[waiting.pop()]:
                if target is not None and target[0] not in seen:
                    seen.add(target[0])
                    waiting.append(target[0])
        return seen


def _in_output_0(along, axes, output):
    """Return where the samples lie in output 0, if they lie in another as the table says."""
    if not isinstance(along, Along):
        return along
    return along.at(axes[0]) if along.axis == axes[output] else None
