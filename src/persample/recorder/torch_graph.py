"""The graph that autograd recorded: its nodes in order, who uses whom, and what makes two alike.

A node is one operation of the forward pass. ``next_functions`` lead from the loss towards the
parameters; a parameter ends in an AccumulateGrad node.
"""

import hashlib
import math
from functools import cache
from typing import Any

from torch import Tensor
from torch.autograd.function import BackwardCFunction

Node = Any  # torch.autograd.graph.Node

# Operations that choose among their input's numbers by an index or a mask: with another index
# the samples may lie elsewhere, so the index is part of what makes two graphs alike.
CHOOSING = (
    "Index",
    "Gather",
    "Scatter",
    "Take",
    "Put",
    "Sort",
    "Topk",
    "Masked",
    "Pack",
    "Unique",
)
INDICES = ("_saved_indices", "_saved_index", "_saved_mask")
LOOKUP = "EmbeddingBackward0"
SLICE = "SliceBackward0"
CUTS = ("SplitBackward0", "SplitWithSizesBackward0", SLICE)
# What says along which axes an operation works and where it begins: part of what makes two graphs
# alike, as with equal lengths the shapes do not tell. A mean over axis 0 is none over axis 1.
WHERE = ("dim", "dim0", "dim1", "dim2", "dims", "dimension", "shifts", "start", "end", "step")
WHERE = tuple(f"_saved_{name}" for name in (*WHERE, "split_size", "split_sizes", "index"))


def _kinds(*names: str) -> tuple[str, ...]:
    """Return how the names of these operations' nodes begin."""
    return tuple(f"{name}Backward" for name in names)


# Operations that may take samples beside parameters, and give no more numbers than these have.
TAKING = _kinds(
    *("Addmm", "Addmv", "Addbmm", "Baddbmm", "Convolution", "Embedding", "EmbeddingBag", "Index"),
    *("IndexSelect", "Gather", "Take", "MkldnnRnnLayer", "Trilinear"),
)
VECTOR = _kinds("Mv")  # a matrix times a vector: the samples, if any, are in the matrix
REPEATING = _kinds("Expand", "Repeat")  # once for each sample, or once for each of something else
# Operations that do so only where an input is no parameter's.
PRODUCTS = _kinds("Mm", "Bmm", "Dot", "Cat", "Stack")
ARITHMETIC = _kinds("Mul", "Div", "Add", "Sub")


class Graph:
    """The nodes that can be reached from ``root``, each once, in a fixed order."""

    def __init__(self, root: Node, names: dict[int, str]) -> None:
        self.nodes: list[Node] = [root]
        self.place: dict[Node, int] = {root: 0}
        self.uses: list[list[tuple[int, int]]] = [[]]  # for each node: (consumer, input of it)
        self.leaves: dict[str, int] = {}  # parameter -> its AccumulateGrad node
        self.targets: list[tuple] = []  # for each node: (place of the next node, its output)
        for here, node in enumerate(self.nodes):  # grows while it is walked
            targets = []
            for slot, (other, number) in enumerate(node.next_functions):
                if other is None:
                    targets.append(None)
                    continue
                there = self.place.get(other)
                if there is None:
                    there = self.place[other] = len(self.nodes)
                    self.nodes.append(other)
                    self.uses.append([])
                self.uses[there].append((here, slot))
                targets.append((there, number))
            self.targets.append(tuple(targets))
            if not targets and hasattr(node, "variable") and id(node.variable) in names:
                self.leaves[names[id(node.variable)]] = here

    def shape(self, place: int, number: int = 0) -> tuple[int, ...]:
        """Return the shape of one output of a node."""
        return tuple(self.nodes[place]._input_metadata[number].shape)

    def is_used(self, place: int, number: int) -> bool:
        """Say whether an operation of the graph took one output of a node."""
        return any(
            self.targets[above][slot] == (place, number) for above, slot in self.uses[place]
        )

    def below_own_functions(self) -> set[int]:
        """Return the places below a ``torch.autograd.Function``, which may give no cotangent."""
        own = [n for n, node in enumerate(self.nodes) if isinstance(node, BackwardCFunction)]
        return set().union(*map(self.reach, own))

    def of_parameters_alone(self, constants: set[int], repeated: bool = False) -> set[int]:
        """Return the places whose outputs are made of parameters and nothing of a sample.

        ``constants`` are the addresses of tensors that hold no samples: the model's buffers.
        ``repeated`` says whether parameters may be repeated, which may be for each sample.
        """
        alone = set(self.leaves.values())
        waiting = [above for here in alone for above, _ in self.uses[here]]
        while waiting:
            here = waiting.pop()
            if here not in alone and self._adds_no_samples(here, alone, constants, repeated):
                alone.add(here)
                waiting += [above for above, _ in self.uses[here]]
        return alone

    def _adds_no_samples(self, place, alone, constants, repeated):
        node, targets = self.nodes[place], self.targets[place]
        given = [target for target in targets if target is not None]
        if not all(here in alone for here, _ in given):
            return False
        name, count = node.name(), math.prod(self.shape(place))
        if count == 1:
            return True
        own = isinstance(node, BackwardCFunction)
        if (own or name.startswith(PRODUCTS + ARITHMETIC)) and len(given) == len(targets):
            return True
        if own or name.startswith(PRODUCTS):
            return _other_factor(node, targets) in constants
        if name.startswith(VECTOR):
            return targets[0] is not None
        if name.startswith(TAKING):
            return False
        if name.startswith(REPEATING):
            return repeated
        return count <= max(math.prod(self.shape(*target)) for target in given)

    def lines_up(self, place: int, axis: int, above: int, slot: int, axis_above: int) -> bool:
        """Say whether an axis of a node's output is an axis of what the node above makes of it."""
        name, shape = self.nodes[above].name(), self.shape(place)
        if name.startswith(ARITHMETIC):
            result = self.shape(above)
            is_same_axis = len(shape) - axis == len(result) - axis_above
            return is_same_axis and shape[axis] == result[axis_above]
        if name.startswith(_kinds("NativeBatchNorm", "CudnnBatchNorm")):  # as of InstanceNorm
            return slot > 0 and axis_above == 1
        first = name.startswith(_kinds("Mm", "Bmm")) and slot == 0
        first |= name.startswith(_kinds("Addmm", "Baddbmm")) and slot == 1
        return (first or name.startswith(_kinds("Cat"))) and axis == axis_above

    def exchanges_two_axes(self, place: int) -> bool:
        """Say whether a node transposes a matrix."""
        node = self.nodes[place]
        name = node.name()  # a negative axis is saved as 2^64 - 1 or - 2
        if name == "PermuteBackward0":
            return tuple([axis % 2 for axis in node._saved_dims]) == (1, 0)
        if name == "TransposeBackward0":
            is_matrix = len(self.shape(place)) == 2
            return is_matrix and (node._saved_dim0 - node._saved_dim1) % 2 == 1
        return name == "TBackward0"

    def looks_up(self, place: int, leaf: int) -> bool:
        """Say whether a node takes lines of a parameter, as an embedding does."""
        node = self.nodes[place]
        if node.name() != LOOKUP or self.targets[place] != ((leaf, 0),):
            return False
        return not node._saved_scale_grad_by_freq

    def cuts_lines(self, place: int, leaf: int) -> bool:
        """Say whether a node cuts a parameter into pieces of whole lines."""
        node = self.nodes[place]
        if node.name() not in CUTS or self.targets[place] != ((leaf, 0),) or node._saved_dim:
            return False
        return node.name() != SLICE or node._saved_step == 1

    def piece(self, place: int, number: int) -> slice:
        """Return which lines of a parameter an output of a node is made of."""
        while self.nodes[place].name() not in CUTS:
            ((place, number),) = self.targets[place]
        if self.nodes[place].name() == SLICE:
            ((leaf, _),) = self.targets[place]
            start = self.nodes[place]._saved_start  # a negative one is saved as 2^64 less
            start = start - 2**64 + len(self.nodes[leaf].variable) if start >= 2**63 else start
        else:
            start = sum(self.shape(place, n)[0] for n in range(number))
        return slice(start, start + self.shape(place, number)[0])

    def lookup_below(self, place: int) -> Node:
        """Return the embedding at this place, or the next one below."""
        while self.nodes[place].name() != LOOKUP:
            ((place, _),) = self.targets[place]
        return self.nodes[place]

    def key(self, roots: tuple) -> tuple:
        """Return what two passes of one structure and of equal shapes have in common."""
        parts = []
        for node, targets in zip(self.nodes, self.targets, strict=True):
            name, metadata = node.name(), node._input_metadata
            if len(metadata) == 1:  # nearly always, and this runs at every batch
                shapes = tuple(metadata[0].shape), metadata[0].dtype
            else:
                shapes = tuple([(tuple(x.shape), x.dtype) for x in metadata])
            parts += name, targets, shapes, _moves(node, name)
        return tuple(parts), tuple(self.leaves.items()), roots

    def reach(self, place: int) -> set[int]:
        """Return the places of all nodes from here towards the parameters, this one included."""
        seen, waiting = {place}, [place]
        while waiting:
            for target in self.targets[waiting.pop()]:
                if target is not None and target[0] not in seen:
                    seen.add(target[0])
                    waiting.append(target[0])
        return seen


def _other_factor(node, targets):
    """Return the address of what a product takes beside a parameter, if autograd has kept it."""
    name = "_saved_self" if targets[0] is None else "_saved_mat2"
    kept = getattr(node, name, None)
    return kept.data_ptr() if isinstance(kept, Tensor) else None


@cache
def _chooses(name):
    return name.startswith(CHOOSING)


_SAVED: dict[str, tuple[str, ...]] = {}  # name of a node -> those of WHERE that it has


def _moves(node, name):
    """Return which of its input's numbers a node takes, and along which axes."""
    saved = _SAVED.get(name)
    if saved is None:
        saved = tuple([attribute for attribute in WHERE if hasattr(node, attribute)])
        if _chooses(name):  # its index is an array, and in the fingerprint
            saved = tuple([attribute for attribute in saved if attribute not in INDICES])
        _SAVED[name] = saved
    places = tuple([getattr(node, attribute) for attribute in saved])
    return (places, _fingerprint(node)) if _chooses(name) else places


def _fingerprint(node):
    digest = hashlib.sha1(usedforsecurity=False)
    for attribute in INDICES:
        saved = getattr(node, attribute, None)
        for x in saved if isinstance(saved, list | tuple) else (saved,):
            if isinstance(x, Tensor):
                digest.update(x.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
